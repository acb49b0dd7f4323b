//! `pack`: moves contents to where they take least room; and the packing that an import ends with.

use stemmata_store::{PackOptions, Packed};

use crate::args::maintain::Pack;
use crate::errors::{CliError, Exit};
use crate::output::size::{self, many};
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Pack) -> Result<Exit, CliError> {
    let options = PackOptions { level: args.level.map(i32::from), ..PackOptions::new(app.now()) };
    let before = app.engine()?.store().usage()?.physical_bytes;
    let packed = app.engine()?.store().pack(&options)?;
    let after = app.engine()?.store().usage()?.physical_bytes;
    if app.console.json {
        app.console.json(&wire::maintain::packed(&packed, after))?;
    } else {
        app.console.text(&told(&packed, before, after))?;
    }
    Ok(Exit::Done)
}

/// Packs what an import left in the inbox, where that is much, and says so.
pub(crate) fn after_import(app: &App) -> Result<(), CliError> {
    let Some(inbox_bytes_min) = app.settings.pack_after_import_bytes else { return Ok(()) };
    let options = PackOptions { inbox_bytes_min, ..PackOptions::new(app.now()) };
    let packed = app.engine()?.store().pack(&options)?;
    if packed.contents > 0 {
        app.console.say(&line(&packed));
    }
    Ok(())
}

fn line(packed: &Packed) -> String {
    format!(
        "Packed {}: {} instead of {} ({} uncompressed)",
        many(packed.contents, "content"),
        size::bytes(packed.pack_bytes),
        size::bytes(packed.inbox_bytes),
        size::bytes(packed.content_bytes),
    )
}

fn told(packed: &Packed, before: u64, after: u64) -> String {
    let mut lines = Vec::new();
    if packed.busy {
        lines.push("Another process is packing; that was left to it.".to_owned());
    } else if packed.contents == 0 {
        lines.push("Nothing to pack.".to_owned());
    } else {
        lines.push(line(packed));
        lines.push(format!("  the store: {} before, {} now", size::bytes(before), size::bytes(after)));
    }
    if packed.based_blocks > 0 {
        lines.push(format!(
            "  {} of {} compressed against the conversations that they are copies of",
            packed.based_blocks,
            many(packed.blocks, "block"),
        ));
    }
    if packed.damaged > 0 {
        lines.push(format!(
            "  {} left where they are: `stemma verify` names them",
            many(packed.damaged, "damaged content")
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}
