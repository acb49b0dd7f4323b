//! Sessions for people.
//!
//! Tables and trees are laid out elsewhere; here is what one session says of itself.

use stemmata_model::MachineId;
use stemmata_store::Session;

use crate::output::style::tame;

/// Columns of another machine's name before a title.
const FOREIGN_COLUMNS: usize = 16;

/// Returns a session's title on one line.
pub(crate) fn title(session: &Session) -> String {
    let text = session.title.as_deref().unwrap_or_default();
    let line = tame(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() { "(no prompt)".to_owned() } else { line }
}

/// Returns the first characters of a session's id, enough for a person to tell sessions apart.
pub(crate) fn short(session: &Session) -> String {
    let id = session.session.as_str();
    let is_uuid = id.len() == 36 && id.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    if is_uuid { id.chars().take(8).collect() } else { crate::output::table::fit(&tame(id), 16) }
}

/// Returns the name of the machine that a session came from, where that is another one.
pub(crate) fn foreign(session: &Session, own: &MachineId) -> Option<String> {
    if session.key.machine == *own {
        return None;
    }
    // `user@machine/runtime`; a principal of another shape is shown whole.
    let principal = session.principal.as_str();
    let label = principal.split_once('@').and_then(|(_, rest)| rest.rsplit_once('/')).map(|(label, _)| label);
    Some(crate::output::table::fit(&tame(label.unwrap_or(principal)), FOREIGN_COLUMNS))
}

/// Returns the last part of a session's working directory.
pub(crate) fn project(session: &Session) -> String {
    let cwd = session.cwd.as_deref().unwrap_or_default();
    let name = cwd.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or("–");
    tame(name)
}
