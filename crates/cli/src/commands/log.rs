//! `log`: sessions, one line each, by their first prompt; with a REF, the commits behind it.

use std::collections::HashMap;

use stemmata_engine::HistoryRow;
use stemmata_model::{Closure, CommitId, CommitType};
use stemmata_store::{Session, SessionFilter};

use crate::args::browse::Log;
use crate::commands::list::{nothing, say_cut, sessions};
use crate::commands::{history, rows};
use crate::errors::{CliError, Exit};
use crate::output::commit::{ShortIds, mark};
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::{commit, session, size, time, v1};
use crate::wiring::App;

/// Sessions that are looked at to count subagents: all of a large home, in one pass.
const COUNTED_MAX: usize = 20_000;

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
    is_open: bool,
    subagents: u64,
}

fn of_sessions(app: &App, limit: Option<usize>) -> Result<Exit, CliError> {
    let wanted = rows(limit, app.console.json);
    let all = sessions(app, &SessionFilter::default(), COUNTED_MAX.max(wanted))?;
    let mut subagents: HashMap<&str, u64> = HashMap::new();
    for session in &all {
        if let Some(parent) = &session.parent_session {
            *subagents.entry(parent.as_str()).or_default() += 1;
        }
    }
    let main: Vec<&Session> = all.iter().filter(|session| session.parent_session.is_none()).collect();
    let is_cut = main.len() > wanted;
    let mut shown = Vec::new();
    for session in main.into_iter().take(wanted) {
        let count = subagents.get(session.session.as_str()).copied().unwrap_or(0);
        shown.push((session, marks(app, session, count)?));
    }
    if app.console.json {
        return as_json(app, &shown);
    }
    if shown.is_empty() {
        nothing(app, None);
        return Ok(Exit::Done);
    }
    let tips: Vec<CommitId> = shown.iter().filter_map(|(session, _)| session.tip).collect();
    let ids = ShortIds::of(app.engine()?, &tips)?;
    let lines: String = shown.iter().map(|(session, marks)| line(app, ids, session, marks)).collect();
    app.console.long_text(&lines)?;
    if is_cut {
        say_cut(app);
    }
    Ok(Exit::Done)
}

fn marks(app: &App, session: &Session, subagents: u64) -> Result<Marks, CliError> {
    let mut marks = Marks { compactions: 0, is_more: false, is_open: false, subagents };
    let Some(tip) = session.tip else { return Ok(marks) };
    let chain = app.engine()?.store().ancestors(tip, MARKED_COMMITS_MAX)?;
    let compactions = chain.iter().filter(|commit| commit.core.commit_type == CommitType::Compaction).count();
    marks.compactions = u64::try_from(compactions).unwrap_or(u64::MAX);
    marks.is_more = chain.len() >= MARKED_COMMITS_MAX;
    marks.is_open = chain.first().is_some_and(|commit| commit.closure == Closure::Provisional);
    Ok(marks)
}

/// One line: id, when, title, and what there is to know at a glance.
fn line(app: &App, ids: ShortIds, session: &Session, marks: &Marks) -> String {
    let id = session.tip.map_or_else(|| "(empty)     ".to_owned(), |tip| ids.text(tip));
    let when = session.last_at.map(|point| time::ago(point, app.now())).unwrap_or_default();
    let mut facts = vec![(Style::Faint, size::bytes(session.bytes))];
    if let Some(branch) = session.git_branch.as_deref().filter(|branch| !branch.is_empty()) {
        facts.push((Style::Branch, format!("⎇ {}", fit(&tame(branch), 16))));
    }
    if marks.compactions > 0 {
        let more = if marks.is_more { "+" } else { "" };
        facts.push((Style::Compaction, format!("◆{}{more}", marks.compactions)));
    }
    if marks.subagents > 0 {
        facts.push((Style::Subagent, format!("⚙{}", marks.subagents)));
    }
    if marks.is_open {
        facts.push((Style::Open, "○".to_owned()));
    }
    let plain: Vec<&str> = facts.iter().map(|(_, text)| text.as_str()).collect();
    let used = unicode_width::UnicodeWidthStr::width(plain.join(" ").as_str()) + id.len() + 10 + 6;
    let title = fit(&session::title(session), app.console.width.saturating_sub(used).max(16));
    let painted: Vec<String> = facts.iter().map(|(style, text)| style.paint(text)).collect();
    format!(
        "{} {}  {title}  {}\n",
        Style::Id.paint(&id),
        Style::Faint.paint(&format!("{when:>10}")),
        painted.join(" ")
    )
}

fn as_json(app: &App, shown: &[(&Session, Marks)]) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    let mut sessions = Vec::new();
    for (session, marks) in shown {
        let tip = session.tip.map(|tip| engine.store().commit(tip)).transpose()?.flatten();
        sessions.push(v1::SessionRow {
            session: session::wire(session),
            tip_commit: tip.map(|tip| commit::wire(engine, &tip)).transpose()?,
            compactions: marks.compactions,
            subagents: marks.subagents,
        });
    }
    app.console.json(&v1::SessionLog { sessions })?;
    Ok(Exit::Done)
}

fn of_commits(app: &App, reference: &str, limit: Option<usize>) -> Result<Exit, CliError> {
    let (shown, next_skip) = history::page(app, reference, 0, limit)?;
    if app.console.json {
        return history::as_json(app, &shown, next_skip);
    }
    let tips: Vec<CommitId> = shown.iter().map(|row| row.commit.id).collect();
    let ids = ShortIds::of(app.engine()?, &tips)?;
    let mut lines = String::new();
    for row in &shown {
        lines.push_str(&commit_line(app, ids, row)?);
    }
    app.console.long_text(&lines)?;
    if next_skip.is_some() {
        say_cut(app);
    }
    Ok(Exit::Done)
}

/// One line of a chain: mark, id, when, summary, size, tags.
pub(crate) fn commit_line(app: &App, ids: ShortIds, row: &HistoryRow) -> Result<String, CliError> {
    let commit = &row.commit;
    let annotations = app.engine()?.store().annotations(commit.id)?;
    let (mark, style) = mark(commit);
    let when = time::ago(commit.core.created_at, app.now());
    let mut tail = size::bytes(commit.native_bytes);
    if annotations.pinned {
        tail.push_str(" pinned");
    }
    let tags: Vec<String> = annotations.tags.iter().map(|tag| format!("#{}", tame(tag))).collect();
    let tags = tags.join(" ");
    let id = ids.text(commit.id);
    let used = 2 + id.len() + 1 + 10 + 2 + 2 + tail.len() + tags.len() + 1;
    let summary = fit(&tame(&row.summary.text), app.console.width.saturating_sub(used).max(16));
    let tags = if tags.is_empty() { tags } else { format!(" {}", Style::Branch.paint(&tags)) };
    Ok(format!(
        "{} {} {}  {summary}  {}{tags}\n",
        style.paint(mark),
        Style::Id.paint(&id),
        Style::Faint.paint(&format!("{when:>10}")),
        Style::Faint.paint(&tail),
    ))
}
