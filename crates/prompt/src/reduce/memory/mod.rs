//! The memory of a project: recent turns, decisions and facts, tasks, open threads, files, and errors with what resolved them.
//!
//! Each session is folded by itself, from a ledger's events or from a transcript's entries; the project's memory is what
//! its sessions say together, in whatever order they came. No model is asked. Normative: `docs/format/state.md`.

mod acts;
mod block;
mod both;
mod bounds;
mod events;
mod families;
mod items;
mod naming;
mod pending;
mod phrases;
mod project;
mod prose;
pub(crate) use prose::{is_of_client, theirs};
mod recent;
mod replaced;
pub(crate) use replaced::Replaced;
mod said;
mod session;
mod slips;
mod text;
mod threads;
pub mod v1;
mod wishes;
mod words;

use stemmata_model::{Event, Json, LedgerId, topics};

use super::{LoadError, Reducer};
use v1::{Items, LedgerState};

pub use block::Block;
pub use bounds::Bounds;
pub use project::ProjectMemory;
pub use session::SessionMemory;

/// Turns of a window at most.
pub const WINDOW_TURNS_MAX: usize = 24;
/// Characters of a turn in a window at most.
pub const TURN_CHARS_MAX: usize = 500;
/// Calls without results that are remembered at most.
pub const PENDING_MAX: usize = 16;
/// Sessions of a ledger that are folded side by side at most. What lasts of the half that was silent longest is kept
/// when it makes room; their windows and their calls without results are not.
pub const SESSIONS_MAX: usize = 8;

/// The memory of the sessions of one ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryReducer {
    /// The one whose last event is newest last.
    sessions: Vec<SessionMemory>,
    settled: Items,
}

impl MemoryReducer {
    /// Returns the sessions, the one whose last event is newest last.
    pub fn sessions(&self) -> &[SessionMemory] {
        &self.sessions
    }

    /// Returns what lasts of sessions that made room for others.
    pub fn settled(&self) -> &Items {
        &self.settled
    }

    /// Returns what the ledger says.
    pub fn memory(&self) -> ProjectMemory {
        ProjectMemory::merge(self.sessions.iter(), [&self.settled])
    }

    fn settle(&mut self) {
        if self.sessions.len() <= SESSIONS_MAX {
            return;
        }
        // Several at once, so that many sessions that take turns do not merge with every event.
        let silent = self.sessions.drain(..SESSIONS_MAX / 2).map(|session| session.into_state().items);
        let settled = std::mem::take(&mut self.settled);
        self.settled = Items::merged(std::iter::once(settled).chain(silent), &Bounds::PROJECT);
    }
}

impl Reducer for MemoryReducer {
    const NAME: &'static str = "memory";
    const VERSION: u32 = 6;

    fn new(_: &LedgerId) -> Self {
        Self { sessions: Vec::new(), settled: Items::default() }
    }

    fn apply(&mut self, event: &Event) {
        if !matches!(
            event.topic.as_str(),
            topics::USER_TURN
                | topics::ASSISTANT_TURN
                | topics::TOOL_EVENT
                | topics::DECISION_EVENT
                | topics::ERROR_EVENT
                | topics::STATUS_EVENT
                | topics::SESSION_STARTED
        ) {
            return;
        }
        let id = event.session.as_str();
        let is_last = self.sessions.last().is_some_and(|last| last.session() == id);
        if !is_last {
            let known = self.sessions.iter().position(|session| session.session() == id);
            let session = match known {
                Some(at) => self.sessions.remove(at),
                None => SessionMemory::new(&event.session, None),
            };
            self.sessions.push(session);
            self.settle();
        }
        if let Some(session) = self.sessions.last_mut() {
            session.event(event);
        }
    }

    fn save(&self) -> Json {
        let sessions = self.sessions.iter().map(|session| session.state().clone()).collect();
        let state = LedgerState { sessions, settled: self.settled.clone() };
        Json::of(&serde_json::to_value(state).expect("a state has only text keys"))
    }

    fn load(_: &LedgerId, version: u32, state: &Json) -> Result<Self, LoadError> {
        LoadError::check_version::<Self>(version)?;
        let read: LedgerState = serde_json::from_str(state.as_str())
            .map_err(|error| LoadError::nonsense::<Self>(error.to_string()))?;
        let beyond = || LoadError::nonsense::<Self>("it is beyond its bounds");
        if read.sessions.len() > SESSIONS_MAX || !read.settled.is_within(&Bounds::PROJECT) {
            return Err(beyond());
        }
        let sessions: Option<Vec<SessionMemory>> =
            read.sessions.into_iter().map(SessionMemory::of_state).collect();
        let read = Self { sessions: sessions.ok_or_else(beyond)?, settled: read.settled };
        if read.save() != *state {
            return Err(LoadError::nonsense::<Self>("it does not say what was read from it"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod laws_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod threads_tests;
