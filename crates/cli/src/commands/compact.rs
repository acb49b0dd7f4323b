//! `compact`: a summary in the place of everything before a commit, or one that is only printed.

use stemmata_api::v1::{CompactRequest, SUMMARY_BYTES_MAX, SummarizeRequest};

use crate::args::give::Compact;
use crate::commands::read_input;
use crate::errors::{CliError, Exit};
use crate::output::size;
use crate::output::style::Style;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Compact) -> Result<Exit, CliError> {
    let ctx = app.ctx(&args.reference)?;
    // Without a file there is `--print`: one of the two is required.
    let Some(file) = &args.summary_file else { return print(app, args, ctx) };
    let bytes = read_input(file, SUMMARY_BYTES_MAX)?;
    let summary =
        String::from_utf8(bytes).map_err(|error| CliError::Usage(format!("{}: {error}", file.display())))?;
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

/// Prints a summary that no model made; stores nothing.
fn print(app: &App, args: &Compact, ctx: String) -> Result<Exit, CliError> {
    let request = SummarizeRequest {
        ctx,
        stop: app.stop(&args.stop)?,
        at: args.at.clone(),
        recent_from: args.recent_from.clone(),
        ratio_permille: args.ratio,
        exclude_user: args.exclude_user,
    };
    let made = app.service()?.summarize(&request)?;
    let exit = app.answer(&made, || Ok(made.text.clone()))?;
    if !app.console.json {
        app.console.say(&format!(
            "about {} tokens of {} instead of {}, of {}",
            size::count(made.token_count),
            size::count(made.tokens_max),
            size::count(made.tokens_before),
            size::many(made.entries, "entry")
        ));
    }
    Ok(exit)
}
