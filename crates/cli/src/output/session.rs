//! Sessions for people.
//!
//! Tables and trees are laid out elsewhere; here is what one session says of itself.

use stemmata_api::v1::{OverviewTurn, SearchHit, Session};

use crate::output::size::many;
use crate::output::style::tame;

/// Says how many sessions there are, in the same words everywhere: what `list` shows, and what it leaves out or folds.
pub(crate) fn counted(listed: u64, subagents: u64, copies: u64) -> String {
    let others = [(subagents, "subagent"), (copies, "copy")];
    let mut parts: Vec<String> =
        others.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| many(count, word)).collect();
    let listed = many(listed, "session");
    match parts.pop() {
        None => listed,
        Some(last) => format!("{} and {last}", [vec![listed], parts].concat().join(", ")),
    }
}

/// Returns what stands before a session's title: what it is besides a session of its own.
pub(crate) const fn mark(session: &Session) -> &'static str {
    match (&session.parent_session, &session.copy_of) {
        (Some(_), _) => "⚙ ",
        (None, Some(_)) => "⑂ ",
        (None, None) => "",
    }
}

/// Returns a session's title on one line.
pub(crate) fn title(session: &Session) -> String {
    title_of(session.title.as_deref().unwrap_or_default())
}

/// Returns a title of a response on one line.
pub(crate) fn title_of(text: &str) -> String {
    let line = tame(text);
    if line.is_empty() { "(no prompt)".to_owned() } else { line }
}

/// Returns a prompt on one line: its title, or where that is cut and nothing need be, all of it.
pub(crate) fn prompt(turn: &OverviewTurn, is_whole: bool) -> Option<String> {
    let title = turn.title.as_deref()?;
    let whole = turn.prompt.as_deref().filter(|_| is_whole && title.ends_with('…'));
    Some(title_of(whole.unwrap_or(title)))
}

/// Returns the shortest reference that means a session, as the service gives it.
pub(crate) fn short(session: &Session) -> String {
    tame(session.short_id.as_deref().unwrap_or(session.session_id.as_str()))
}

/// Returns the client that a session is of.
pub(crate) fn client(session: &Session) -> &str {
    &session.client
}

/// Returns the name of a session's project.
pub(crate) fn project(session: &Session) -> String {
    session.project.as_deref().map_or_else(|| project_of(session.cwd.as_deref()), tame)
}

/// Returns the project of a hit.
pub(crate) fn project_of_hit(hit: &SearchHit) -> String {
    hit.project.as_deref().map_or_else(|| project_of(hit.cwd.as_deref()), tame)
}

/// Returns the last part of a directory.
pub(crate) fn project_of(cwd: Option<&str>) -> String {
    let cwd = cwd.unwrap_or_default();
    let name = cwd.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("–");
    tame(name)
}
