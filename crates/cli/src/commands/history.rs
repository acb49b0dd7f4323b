//! `history`: the commits from one towards the root, with what each holds.

use stemmata_api::v1;
use stemmata_engine::HistoryRow;
use stemmata_model::CommitId;

use crate::args::browse::History;
use crate::commands::list::say_cut;
use crate::commands::rows;
use crate::errors::{CliError, Exit};
use crate::output::commit::{ShortIds, mark};
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::time;
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &History) -> Result<Exit, CliError> {
    let (shown, next_skip) = page(app, &args.reference, args.skip, args.limit)?;
    if app.console.json {
        return as_json(app, &shown, next_skip);
    }
    let found: Vec<CommitId> = shown.iter().map(|row| row.commit.id).collect();
    let ids = ShortIds::of(app.engine()?, &found)?;
    let lines: String = shown.iter().map(|row| lines(app, ids, row)).collect();
    app.console.long_text(&lines)?;
    if next_skip.is_some() {
        say_cut(app);
    }
    Ok(Exit::Done)
}

/// Reads a page of a commit's history, and says where it goes on.
pub(crate) fn page(
    app: &App,
    reference: &str,
    skip: usize,
    limit: Option<usize>,
) -> Result<(Vec<HistoryRow>, Option<usize>), CliError> {
    let ctx = app.find(reference)?;
    let wanted = rows(limit, app.console.json);
    let mut shown = app.engine()?.history(ctx, skip, wanted.saturating_add(1))?;
    let next_skip = (shown.len() > wanted).then_some(skip + wanted);
    shown.truncate(wanted);
    Ok((shown, next_skip))
}

/// Prints a page of commits as JSON.
pub(crate) fn as_json(app: &App, shown: &[HistoryRow], next_skip: Option<usize>) -> Result<Exit, CliError> {
    let commits = shown.iter().map(wire::commit::commit).collect();
    let next_skip = next_skip.and_then(|skip| u64::try_from(skip).ok());
    app.console.json(&v1::CommitPage { commits, next_skip })?;
    Ok(Exit::Done)
}

fn lines(app: &App, ids: ShortIds, row: &HistoryRow) -> String {
    let commit = &row.commit;
    let (mark, style) = mark(commit);
    let facts = [
        time::exact(commit.core.created_at),
        many(commit.counts.messages, "message"),
        format!("~{} tokens", size::count(commit.counts.tokens)),
        size::bytes(commit.native_bytes),
    ];
    let summary = fit(&tame(&row.summary.text), app.console.width.saturating_sub(2));
    format!(
        "{} {}  {}\n  {summary}\n",
        style.paint(mark),
        ids.shown(commit.id),
        Style::Faint.paint(&facts.join("  "))
    )
}
