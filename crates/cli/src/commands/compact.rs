//! `compact`: a summary in the place of everything before a commit.

use stemmata_api::v1;

use crate::args::give::Compact;
use crate::commands::read_input;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::size;
use crate::output::style::Style;
use crate::wiring::App;

/// Bytes of a summary at most: far more than any model takes as one message.
const SUMMARY_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Compact) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let bytes = read_input(&args.summary_file, SUMMARY_BYTES_MAX)?;
    let summary = String::from_utf8(bytes)
        .map_err(|error| CliError::Usage(format!("{}: {error}", args.summary_file.display())))?;
    let engine = app.engine()?;
    let made = engine.compact(ctx, &summary)?;
    if app.console.json {
        app.console.json(&v1::Compacted {
            id: made.id.to_string(),
            parent: ctx.to_string(),
            format: made.format.to_string(),
            tokens_before: made.tokens_before,
            tokens_after: made.tokens_after,
            bytes: made.bytes.0,
        })?;
        return Ok(Exit::Done);
    }
    let ids = ShortIds::of(engine, &[made.id, ctx])?;
    app.console.text(&format!(
        "{} {}: about {} tokens instead of {}\n",
        Style::Compaction.paint("◆"),
        ids.shown(made.id),
        size::count(made.tokens_after),
        size::count(made.tokens_before)
    ))?;
    let hint = Style::Hint.paint("hint");
    app.console.say(&format!(
        "{hint}: `stemma resume {}` carries on from the summary, `stemma diff {}` shows what it lost",
        ids.text(made.id),
        ids.text(made.id)
    ));
    Ok(Exit::Done)
}
