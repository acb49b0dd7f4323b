//! `pack`: moves contents to where they take least room; and the packing that an import ends with.

use stemmata_api::Control;
use stemmata_api::v1::{PackRequest, Packing};

use crate::args::maintain::Pack;
use crate::errors::{CliError, Exit};
use crate::output::size::{self, many};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Pack) -> Result<Exit, CliError> {
    let request = PackRequest { level: args.level.map(u64::from) };
    let packed = app.service()?.pack(&request, &Control::none())?;
    app.answer(&packed, || Ok(told(&packed)))
}

/// Returns what packing did, in one line.
pub(crate) fn line(packed: &Packing) -> String {
    format!(
        "Packed {}: {} instead of {} ({} uncompressed)",
        many(packed.contents, "content"),
        size::bytes(packed.pack_bytes),
        size::bytes(packed.inbox_bytes),
        size::bytes(packed.content_bytes),
    )
}

fn told(packed: &Packing) -> String {
    let mut lines = Vec::new();
    if packed.busy {
        lines.push("Another process is packing; that was left to it.".to_owned());
    } else if packed.contents == 0 {
        lines.push("Nothing to pack.".to_owned());
    } else {
        lines.push(line(packed));
        let (before, now) = (size::bytes(packed.physical_bytes_before), size::bytes(packed.physical_bytes));
        lines.push(format!("  the store: {before} before, {now} now"));
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
