//! Which events were made of others, and may say what those said.
//!
//! How a log finds and forgets them is its own; that one rule holds in all of them is here.

use std::collections::BTreeSet;

use stemmata_model::{SessionId, Topic, topics};

/// The events of a ledger that go, read in their order: what comes after them and was made of them goes, too.
#[derive(Debug, Default)]
pub struct DerivedEvents {
    sessions: BTreeSet<SessionId>,
}

impl DerivedEvents {
    /// Takes in an event that goes because it is meant, not because it was made of another.
    pub fn goes(&mut self, session: &SessionId) {
        if !self.sessions.contains(session) {
            self.sessions.insert(session.clone());
        }
    }

    /// Returns whether an event behind those that go may say what they said: a snapshot is of the whole ledger, the state of the
    /// work at a checkpoint of its own session.
    pub fn hold(&self, topic: &Topic, session: &SessionId) -> bool {
        match topic.as_str() {
            topics::STATE_SNAPSHOT => !self.sessions.is_empty(),
            topics::CHECKPOINT_STATE => self.sessions.contains(session),
            _ => false,
        }
    }
}
