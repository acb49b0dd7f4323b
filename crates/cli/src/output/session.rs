//! Sessions for people and for scripts.
//!
//! Tables and trees are laid out elsewhere; here is what one session says of itself.

use stemmata_model::MachineId;
use stemmata_store::{Session, SessionOrigin};

use crate::output::style::tame;
use crate::output::v1;

/// Columns of another machine's name before a title.
const FOREIGN_COLUMNS: usize = 16;

/// Returns the wire form of a session.
pub(crate) fn wire(session: &Session) -> v1::Session {
    let (origin, placed_from) = match session.origin {
        SessionOrigin::Imported => ("imported", None),
        SessionOrigin::Placed(ctx) => ("placed", Some(ctx.to_string())),
        SessionOrigin::Api => ("api", None),
    };
    v1::Session {
        session_id: session.session.to_string(),
        path: session.key.path.clone(),
        machine: session.key.machine.to_string(),
        parent_session: session.parent_session.as_ref().map(ToString::to_string),
        format: session.format.to_string(),
        template: session.template.to_string(),
        principal: session.principal.to_string(),
        granularity: session.granularity.to_string(),
        origin: origin.to_owned(),
        placed_from,
        title: session.title.clone(),
        cwd: session.cwd.clone(),
        git_branch: session.git_branch.clone(),
        version: session.version.clone(),
        started_at: session.started_at.map(|point| point.to_string()),
        last_at: session.last_at.map(|point| point.to_string()),
        tip: session.tip.map(|tip| tip.to_string()),
        commits: session.commits,
        messages: session.messages,
        bytes: session.bytes,
    }
}

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
