//! `log`: sessions, one line each, by their first prompt; with a REF, the commits behind it.

use std::collections::HashMap;

use stemmata_api::v1;
use stemmata_engine::HistoryRow;
use stemmata_model::{CommitId, CommitType};
use stemmata_store::{PAGE_ROWS_MAX, Page, Session, SessionFilter, SessionOrigin};

use crate::args::browse::Log;
use crate::commands::list::{nothing, say_cut};
use crate::commands::{history, rows};
use crate::errors::{CliError, Exit};
use crate::output::commit::{ShortIds, mark};
use crate::output::style::{Style, tame};
use crate::output::table::{Cell, Column, Table, cell, fit, pieces};
use crate::output::{session, size, time};
use crate::wiring::App;
use stemmata_service::wire;

/// Sessions that are looked at to count subagents, however old the shown ones are.
const COUNTED_MAX: usize = 200_000;

/// Sessions that are read at once: a few screens.
const PAGE_ROWS: usize = 128;

/// Commits of one chain that are looked at for its marks; a longer one says so with a `+`.
const MARKED_COMMITS_MAX: usize = 2_000;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Log) -> Result<Exit, CliError> {
    match &args.reference {
        None => of_sessions(app, args.limit),
        Some(reference) => of_commits(app, reference, args.limit),
    }
}

/// What a line of the log says beside the session itself.
struct Marks {
    compactions: u64,
    is_more: bool,
    subagents: u64,
    copy_of: Option<CommitId>,
}

fn of_sessions(app: &App, limit: Option<usize>) -> Result<Exit, CliError> {
    let (shown, is_cut) = newest(app, rows(limit, app.console.json))?;
    if app.console.json {
        return as_json(app, &shown);
    }
    if shown.is_empty() {
        nothing(app, None);
        return Ok(Exit::Done);
    }
    app.console.long_text(&session_table(app, &shown)?)?;
    if is_cut {
        say_cut(app);
    }
    Ok(Exit::Done)
}

/// Returns the newest sessions that are no subagents, and whether there are more.
fn newest(app: &App, wanted: usize) -> Result<(Vec<(Session, Marks)>, bool), CliError> {
    let all = reaching_back(app, wanted)?;
    let mut subagents: HashMap<String, u64> = HashMap::new();
    for parent in all.iter().filter_map(|session| session.parent_session.as_ref()) {
        *subagents.entry(parent.to_string()).or_default() += 1;
    }
    let main: Vec<Session> = all.into_iter().filter(|session| session.parent_session.is_none()).collect();
    let is_cut = main.len() > wanted;
    let mut shown = Vec::new();
    for session in main.into_iter().take(wanted) {
        let count = subagents.get(session.session.as_str()).copied().unwrap_or(0);
        let marks = marks(app, &session, count)?;
        shown.push((session, marks));
    }
    Ok((shown, is_cut))
}

/// Reads sessions, the latest active first, until there are enough that are no subagents and all of those'
/// subagents are among them: a subagent is never active before its session began.
fn reaching_back(app: &App, wanted: usize) -> Result<Vec<Session>, CliError> {
    let store = app.engine()?.store();
    let mut all: Vec<Session> = Vec::new();
    while all.len() < COUNTED_MAX {
        let page = Page {
            skip: u64::try_from(all.len()).unwrap_or(u64::MAX),
            rows_max: PAGE_ROWS.max(wanted.min(PAGE_ROWS_MAX)),
        };
        let rows = store.sessions(&SessionFilter::default(), page)?;
        let is_last = rows.len() < page.rows_max;
        all.extend(rows);
        let main: Vec<&Session> = all.iter().filter(|session| session.parent_session.is_none()).collect();
        let began = main.iter().take(wanted).filter_map(|session| session.started_at).min();
        let reached = all.last().and_then(|session| session.last_at);
        if is_last || (main.len() > wanted && reached < began) {
            break;
        }
    }
    Ok(all)
}

/// Returns the newest sessions as `log` shows them, and the newest commit.
pub(crate) fn newest_lines(app: &App, wanted: usize) -> Result<(String, Option<String>), CliError> {
    let (shown, _) = newest(app, wanted)?;
    let tips: Vec<CommitId> = shown.iter().filter_map(|(session, _)| session.tip).collect();
    let ids = ShortIds::of(app.engine()?, &tips)?;
    Ok((session_table(app, &shown)?, tips.first().map(|tip| ids.text(*tip))))
}

fn session_table(app: &App, shown: &[(Session, Marks)]) -> Result<String, CliError> {
    let named = shown.iter().flat_map(|(session, marks)| [session.tip, marks.copy_of]);
    let ids = ShortIds::of(app.engine()?, &named.flatten().collect::<Vec<CommitId>>())?;
    let mut table = Table::new(&[
        ("", Column::Left),
        ("", Column::Left),
        ("", Column::Right),
        ("", Column::Flexible),
        ("", Column::Left),
    ]);
    for (session, marks) in shown {
        table.row(row(app, ids, session, marks));
    }
    Ok(table.render(app.console.width))
}

fn marks(app: &App, session: &Session, subagents: u64) -> Result<Marks, CliError> {
    let mut marks = Marks { compactions: 0, is_more: false, subagents, copy_of: None };
    let Some(tip) = session.tip else { return Ok(marks) };
    marks.copy_of = app.engine()?.copied_from(tip)?.map(|link| link.to);
    let chain = app.engine()?.store().ancestors(tip, MARKED_COMMITS_MAX)?;
    let compactions = chain.iter().filter(|commit| commit.core.commit_type == CommitType::Compaction).count();
    marks.compactions = u64::try_from(compactions).unwrap_or(u64::MAX);
    marks.is_more = chain.len() >= MARKED_COMMITS_MAX;
    Ok(marks)
}

/// One line: id, when, size, title, and what there is to know at a glance.
fn row(app: &App, ids: ShortIds, session: &Session, marks: &Marks) -> Vec<Cell> {
    let mut facts = Vec::new();
    if let SessionOrigin::Placed(_) = session.origin {
        facts.push((Style::Faint, "placed".to_owned()));
    }
    if let Some(original) = marks.copy_of {
        facts.push((Style::Faint, format!("⑂ {}", ids.text(original))));
    }
    // A detached head is no branch that says anything.
    let branch = session.git_branch.as_deref().filter(|branch| !branch.is_empty() && *branch != "HEAD");
    if let Some(branch) = branch {
        facts.push((Style::Branch, format!("⎇ {}", fit(&tame(branch), 14))));
    }
    if marks.compactions > 0 {
        let more = if marks.is_more { "+" } else { "" };
        facts.push((Style::Compaction, format!("◆{}{more}", marks.compactions)));
    }
    if marks.subagents > 0 {
        facts.push((Style::Subagent, format!("⚙{}", marks.subagents)));
    }
    let when = session.last_at.map(|point| time::ago(point, app.now())).unwrap_or_default();
    vec![
        cell(Style::Id, session.tip.map_or_else(|| "(empty)".to_owned(), |tip| ids.text(tip))),
        cell(Style::Faint, when),
        cell(Style::Faint, size::bytes(session.bytes)),
        cell(Style::Plain, session::title(session)),
        pieces(&facts),
    ]
}

fn as_json(app: &App, shown: &[(Session, Marks)]) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    let tips: Vec<CommitId> = shown.iter().filter_map(|(session, _)| session.tip).collect();
    let mut there = Vec::new();
    for page in tips.chunks(PAGE_ROWS) {
        there.extend(engine.store().described(page)?.into_iter().map(|described| described.commit.id));
    }
    let tips: HashMap<CommitId, v1::Commit> =
        engine.describe(&there)?.iter().map(|row| (row.commit.id, wire::commit::commit(row))).collect();
    let mut sessions = Vec::new();
    for (session, marks) in shown {
        sessions.push(v1::Session {
            tip_commit: session.tip.and_then(|tip| tips.get(&tip)).cloned(),
            compactions: Some(marks.compactions),
            subagents: Some(marks.subagents),
            copy_of: marks.copy_of.map(|original| original.to_string()),
            ..wire::session::session(session)
        });
    }
    app.console.json(&v1::SessionPage { sessions, next: None })?;
    Ok(Exit::Done)
}

fn of_commits(app: &App, reference: &str, limit: Option<usize>) -> Result<Exit, CliError> {
    let (shown, next_skip) = history::page(app, reference, 0, limit)?;
    if app.console.json {
        return history::as_json(app, &shown, next_skip);
    }
    app.console.long_text(&commit_table(app, &shown)?)?;
    if next_skip.is_some() {
        say_cut(app);
    }
    Ok(Exit::Done)
}

/// Returns commits one line each: mark, id, when, size, summary, tags.
pub(crate) fn commit_table(app: &App, shown: &[HistoryRow]) -> Result<String, CliError> {
    let engine = app.engine()?;
    let found: Vec<CommitId> = shown.iter().map(|row| row.commit.id).collect();
    let ids = ShortIds::of(engine, &found)?;
    let mut table = Table::new(&[
        ("", Column::Left),
        ("", Column::Left),
        ("", Column::Right),
        ("", Column::Flexible),
        ("", Column::Left),
    ]);
    for HistoryRow { commit, summary, annotations, .. } in shown {
        let (mark, style) = mark(commit);
        let mut names: Vec<(Style, String)> =
            annotations.tags.iter().map(|tag| (Style::Branch, format!("#{}", fit(&tame(tag), 20)))).collect();
        if annotations.pinned {
            names.push((Style::Faint, "pinned".to_owned()));
        }
        table.row(vec![
            pieces(&[(style, mark.to_owned()), (Style::Id, ids.text(commit.id))]),
            cell(Style::Faint, time::ago(commit.core.created_at, app.now())),
            cell(Style::Faint, size::bytes(commit.native_bytes)),
            cell(Style::Plain, tame(&summary.text)),
            pieces(&names),
        ]);
    }
    Ok(table.render(app.console.width))
}
