//! `compact`: a summary in the place of everything before a commit.

use stemmata_api::v1::{CompactRequest, SUMMARY_BYTES_MAX};

use crate::args::give::Compact;
use crate::commands::read_input;
use crate::errors::{CliError, Exit};
use crate::output::size;
use crate::output::style::Style;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Compact) -> Result<Exit, CliError> {
    let ctx = app.ctx(&args.reference)?;
    let bytes = read_input(&args.summary_file, SUMMARY_BYTES_MAX)?;
    let summary = String::from_utf8(bytes)
        .map_err(|error| CliError::Usage(format!("{}: {error}", args.summary_file.display())))?;
    let made = app.service()?.compact(&CompactRequest { ctx, summary })?;
    let ids = app.short_ids([made.id.as_str(), &made.parent])?;
    let exit = app.answer(&made, || {
        Ok(format!(
            "{} {}: about {} tokens instead of {}\n",
            Style::Compaction.paint("◆"),
            ids.painted(&made.id),
            size::count(made.tokens_after),
            size::count(made.tokens_before)
        ))
    })?;
    if !app.console.json {
        let (hint, id) = (Style::Hint.paint("hint"), ids.cut(&made.id));
        app.console.say(&format!(
            "{hint}: `stemma resume {id}` carries on from the summary, `stemma diff {id}` shows what it lost"
        ));
    }
    Ok(exit)
}
