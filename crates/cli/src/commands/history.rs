//! `history`: the commits from one towards the root, with what each holds.

use stemmata_api::v1::{Commit, CommitPage, HistoryRequest};

use crate::args::browse::History;
use crate::commands::list::say_rest;
use crate::commands::{gather, rows};
use crate::errors::{CliError, Exit};
use crate::output::commit::{ShortIds, mark};
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::time;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &History) -> Result<Exit, CliError> {
    let page = page(app, &args.reference, args.skip, args.limit, false)?;
    let exit = app.answer(&page, || {
        let ids = app.short_ids(page.commits.iter().map(|commit| commit.id))?;
        Ok(page.commits.iter().map(|commit| lines(app, ids, commit)).collect())
    })?;
    say_rest(app, page.next_skip.is_some());
    Ok(exit)
}

/// Reads a page of a commit's history.
pub(crate) fn page(
    app: &App,
    reference: &str,
    skip: usize,
    limit: Option<usize>,
    numbered: bool,
) -> Result<CommitPage, CliError> {
    let ctx = app.ctx(reference)?;
    let service = app.service()?;
    let (commits, next_skip) = gather(rows(limit, app.console.json), Some(skip as u64), |limit, skip| {
        let request =
            HistoryRequest { ctx: ctx.clone(), numbered, skip: skip.unwrap_or(0), limit: Some(limit) };
        let page = service.history(&request)?;
        Ok((page.commits, page.next_skip))
    })?;
    Ok(CommitPage { commits, next_skip })
}

fn lines(app: &App, ids: ShortIds, commit: &Commit) -> String {
    let (mark, style) = mark(commit);
    let facts = [
        time::exact(commit.created_at),
        many(commit.message_count, "message"),
        format!("~{} tokens", size::count(commit.token_count)),
        size::bytes(commit.native_bytes),
    ];
    let summary = fit(&tame(&commit.summary.text), app.console.width.saturating_sub(2));
    format!(
        "{} {}  {}\n  {summary}\n",
        style.paint(mark),
        ids.painted(commit.id),
        Style::Faint.paint(&facts.join("  "))
    )
}
