//! `log`: sessions, one line each, by their first prompt; with a REF, the commits behind it.

use stemmata_api::PageRequest;
use stemmata_api::v1::{Commit, Session, SessionDetails, SessionPage, SessionsRequest};

use crate::args::browse::Log;
use crate::commands::{history, list, rows};
use crate::errors::{CliError, Exit};
use crate::output::commit::{ShortIds, mark, names};
use crate::output::style::{Style, tame};
use crate::output::table::{Cell, Column, Table, cell, fit, pieces};
use crate::output::{session, size, time};
use crate::wiring::App;

/// Columns of a tag.
const NAME_COLUMNS: usize = 20;

/// Columns of a git branch.
const BRANCH_COLUMNS: usize = 14;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Log) -> Result<Exit, CliError> {
    let Some(reference) = &args.reference else {
        let page = newest(app, rows(args.limit, app.console.json))?;
        return list::shown(app, &page, None, || session_table(app, &page.sessions));
    };
    let page = history::page(app, reference, 0, args.limit)?;
    let exit = app.answer(&page, || commit_table(app, &page.commits))?;
    list::say_rest(app, page.next_skip.is_some());
    Ok(exit)
}

/// Reads the newest sessions that are no subagents.
fn newest(app: &App, wanted: usize) -> Result<SessionPage, CliError> {
    // Nobody sees the newest commits in the lines, and describing them takes the longest.
    let details = if app.console.json { SessionDetails::CountsAndTip } else { SessionDetails::Counts };
    let request = SessionsRequest {
        project: None,
        session_prefix: None,
        with_subagents: false,
        with_emptied: true,
        details: Some(details),
        page: PageRequest::first(),
    };
    list::sessions(app, &request, wanted)
}

/// Returns the newest sessions as `log` shows them, and the newest commit.
pub(crate) fn newest_lines(app: &App, wanted: usize) -> Result<(String, Option<String>), CliError> {
    let page = newest(app, wanted)?;
    let tips: Vec<&str> = page.sessions.iter().filter_map(|session| session.tip.as_deref()).collect();
    let ids = app.short_ids(tips.iter().copied())?;
    Ok((session_table(app, &page.sessions)?, tips.first().map(|tip| ids.cut(tip))))
}

fn session_table(app: &App, shown: &[Session]) -> Result<String, CliError> {
    let named = shown.iter().flat_map(|session| [&session.tip, &session.copy_of]);
    let ids = app.short_ids(named.flatten().map(String::as_str))?;
    let mut table = lines();
    for session in shown {
        table.row(row(app, ids, session));
    }
    Ok(table.render(app.console.width))
}

/// Returns the table of all lines: id, when, size, what it is about, what there is to know at a glance.
fn lines() -> Table {
    Table::new(&[
        ("", Column::Left),
        ("", Column::Left),
        ("", Column::Right),
        ("", Column::Flexible),
        ("", Column::Left),
    ])
}

fn row(app: &App, ids: ShortIds, session: &Session) -> Vec<Cell> {
    let mut facts = Vec::new();
    if session.placed_from.is_some() {
        facts.push((Style::Faint, "placed".to_owned()));
    }
    if let Some(original) = &session.copy_of {
        facts.push((Style::Faint, format!("⑂ {}", ids.cut(original))));
    }
    // A detached head is no branch that says anything.
    let branch = session.git_branch.as_deref().filter(|branch| !branch.is_empty() && *branch != "HEAD");
    if let Some(branch) = branch {
        facts.push((Style::Branch, format!("⎇ {}", fit(&tame(branch), BRANCH_COLUMNS))));
    }
    if let Some(compactions) = session.compactions.filter(|count| *count > 0) {
        let more = if session.compactions_cut == Some(true) { "+" } else { "" };
        facts.push((Style::Compaction, format!("◆{compactions}{more}")));
    }
    if let Some(subagents) = session.subagents.filter(|count| *count > 0) {
        facts.push((Style::Subagent, format!("⚙{subagents}")));
    }
    vec![
        cell(Style::Id, session.tip.as_deref().map_or_else(|| "(empty)".to_owned(), |tip| ids.cut(tip))),
        cell(Style::Faint, list::active(app, session)),
        cell(Style::Faint, size::bytes(session.bytes)),
        cell(Style::Plain, session::title(session)),
        pieces(&facts),
    ]
}

/// Returns commits one line each: mark, id, when, size, summary, tags.
pub(crate) fn commit_table(app: &App, shown: &[Commit]) -> Result<String, CliError> {
    let ids = app.short_ids(shown.iter().map(|commit| commit.id.as_str()))?;
    let mut table = lines();
    for commit in shown {
        let (mark, style) = mark(commit);
        table.row(vec![
            pieces(&[(style, mark.to_owned()), (Style::Id, ids.cut(&commit.id))]),
            cell(Style::Faint, time::ago(time::of_text(&commit.created_at), app.now())),
            cell(Style::Faint, size::bytes(commit.native_bytes)),
            cell(Style::Plain, tame(&commit.summary.text)),
            pieces(&names(commit, NAME_COLUMNS)),
        ]);
    }
    Ok(table.render(app.console.width))
}
