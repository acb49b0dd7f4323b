//! Which sessions and which commits a listing holds. The order of a listing and its pages are the store's.

use stemmata_model::{
    Commit, FormatId, Principal, SessionId, Sighting, SummarySource, ThreadId, TicketId, Timestamp,
};

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
    /// Only tips that this one ran.
    pub principal: Option<Principal>,
}

impl TipFilter {
    /// Returns whether a sighting has all that is given.
    pub fn holds(&self, sighting: &Sighting) -> bool {
        let is = |wanted: &Option<String>, own: Option<&str>| wanted.is_none() || wanted.as_deref() == own;
        self.session.as_ref().is_none_or(|session| *session == sighting.session)
            && self.principal.as_ref().is_none_or(|principal| *principal == sighting.principal)
            && is(&self.ticket, sighting.ticket.as_ref().map(TicketId::as_str))
            && is(&self.thread, sighting.thread.as_ref().map(ThreadId::as_str))
    }
}

/// Which commits a listing holds. Covered commits and those of sidecars are never in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitFilter {
    /// One sighting must have all of this.
    pub seen: TipFilter,
    /// Only those in this format.
    pub format: Option<FormatId>,
    /// Only those of this time or later.
    pub since: Option<Timestamp>,
    /// Only those from before this time.
    pub until: Option<Timestamp>,
    /// Only those whose summary is from here; [`SummarySource::Heuristic`]: those that nobody and no model wrote one for.
    pub summary: Option<SummarySource>,
}

impl CommitFilter {
    /// Returns whether a listing holds a commit with this summary, its sightings and its closure aside.
    pub fn holds(&self, commit: &Commit, summary: Option<SummarySource>) -> bool {
        let at = commit.core.created_at;
        self.format.as_ref().is_none_or(|format| *format == commit.core.format)
            && self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at < until)
            && self.summary.is_none_or(|wanted| summary.unwrap_or(SummarySource::Heuristic) == wanted)
    }
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
