//! Results that answer nothing: said when they are stored, since every provider refuses them.
//!
//! What the model is given instead is `guard::window`'s.

use std::collections::HashMap;

use stemmata_model::{Entry, EventSeq, Note, NoteCode, Payload, Role, topics};
use stemmata_store::{EventQuery, Order};

use super::TurnOf;
use super::guard::said_of;
use crate::engine::Engine;
use crate::error::Result;
use crate::prompts::entry_of;

/// Entries among which a call is looked for before the whole window is read.
const NEAR_MAX: usize = 64;

/// Calls less results, by their id.
#[derive(Default)]
struct Open(HashMap<String, i64>);

impl Open {
    fn see(&mut self, entry: &Entry) {
        for id in entry.calls() {
            *self.0.entry(id.to_owned()).or_default() += 1;
        }
        for id in entry.answers() {
            *self.0.entry(id.to_owned()).or_default() -= 1;
        }
    }

    fn has(&self, id: &str) -> bool {
        self.0.get(id).is_some_and(|open| *open > 0)
    }
}

impl Engine {
    /// Says which results of new entries answer no call, or one that is answered, of a session with its events up to `last`.
    pub(super) fn unanswering(&self, turn: &TurnOf, entries: &[Entry], last: u64) -> Result<Option<Note>> {
        let (mut own, mut elsewhere) = (Open::default(), Vec::new());
        for entry in entries {
            let is_reply = entry.role == Role::Tool;
            elsewhere.extend(entry.answers().filter(|id| is_reply && !own.has(id)).map(str::to_owned));
            own.see(entry);
        }
        if elsewhere.is_empty() {
            return Ok(None);
        }
        let query = EventQuery {
            session: Some(turn.session.clone()),
            topics: [topics::ASSISTANT_TURN, topics::TOOL_EVENT].map(topics::topic).to_vec(),
            through: EventSeq::new(last),
            order: Order::NewestFirst,
            ..EventQuery::after(None, NEAR_MAX)
        };
        let mut near = Open::default();
        for event in if last > 0 { self.log.events(&turn.ledger, &query)? } else { Vec::new() } {
            // The text is searched first: to decode all of them at each step would cost more than the step.
            let Payload::Line { line, .. } = &event.payload else { continue };
            if elsewhere.iter().any(|id| line.as_str().contains(id.as_str()))
                && let Some(entry) = entry_of(&event)
            {
                near.see(&entry);
            }
        }
        elsewhere.retain(|id| !near.has(id));
        if elsewhere.is_empty() {
            return Ok(None);
        }
        let mut all = Open::default();
        for entry in &self.session_window(turn, &[], last)?.entries {
            all.see(entry);
        }
        elsewhere.retain(|id| !all.has(id));
        Ok(said_of(&elsewhere, NoteCode::OrphanResult, ANSWER_NOTHING))
    }
}

/// What is said of results that answer nothing.
pub(super) const ANSWER_NOTHING: &str = "results answer no call of the session, or one that is answered: they are stored, the entries of the window leave them out, and \
     for a client that reads the session they are a message of the user";
