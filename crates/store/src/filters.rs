//! Which sessions and which tips a listing holds. The order of a listing and its pages are the store's.

use stemmata_model::SessionId;

use crate::rules::project;
use crate::write::Session;

/// Which commits a listing of tips holds: one sighting of the tip must have all that is given. What goes on from it elsewhere
/// leaves it a tip.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TipFilter {
    /// Only tips seen in this session.
    pub session: Option<SessionId>,
    /// Only tips seen for this ticket.
    pub ticket: Option<String>,
    /// Only tips seen in this thread.
    pub thread: Option<String>,
}

/// Which sessions a listing holds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionFilter {
    /// Only those whose working directory is this one or below it.
    pub project: Option<String>,
    /// Only those whose session id starts so.
    pub session_prefix: Option<String>,
    /// Only those that are no subagents.
    pub main_only: bool,
    /// Only those that belong to this one: its subagents', and with `with_sidecars` its sidecars.
    pub parent: Option<SessionId>,
    /// Also those that are a sidecar of another one ([`Session::is_sidecar`]).
    pub with_sidecars: bool,
}

impl SessionFilter {
    /// Returns whether a listing holds a session.
    pub fn holds(&self, session: &Session) -> bool {
        let prefix = self.session_prefix.as_deref().unwrap_or_default();
        let project = self.project.as_deref();
        session.session.as_str().starts_with(prefix)
            && project.is_none_or(|project| project::holds(project, session.cwd.as_deref()))
            && !(self.main_only && session.parent_session.is_some())
            && (self.parent.is_none() || self.parent == session.parent_session)
            && (self.with_sidecars || !session.is_sidecar())
    }
}
