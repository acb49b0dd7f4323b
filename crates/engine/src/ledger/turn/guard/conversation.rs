//! What the model of a session is given when a turn has begun: what was said before, and what the user says now.
//!
//! Changes nothing. What is left out of a window is decided by the guard, before.

use stemmata_model::{Entry, EventSeq, Note, NoteCode};
use stemmata_prompt::window::named_apart;
use stemmata_store::{EventQuery, Order};

use super::window::{SessionWindow, said_of};
use super::{CALLS_NAMED_APART, Engine};
use crate::error::{EngineError, Result, Wanted};
use crate::ledger::turn::TurnOf;
use crate::prompts::entry_of;

/// A conversation at the beginning of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnConversation {
    /// What was said before, oldest first, as a provider takes it: each call with its result behind it.
    pub before: Vec<Entry>,
    /// What the user says.
    pub said: Entry,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl Engine {
    /// Fails where the conversation of a session cannot be read: before a turn is stored whose answer needs it.
    ///
    /// # Errors
    /// Those of reading the session's window.
    pub fn check_conversation(&self, turn: &TurnOf) -> Result<()> {
        let last = self.log.ledger(&turn.ledger)?.map_or(0, |known| known.last);
        self.session_window(turn, &[], last).map(drop)
    }

    /// Returns the conversation of a session up to what its user said in an event. A turn that is repeated gets the same, also where it
    /// has been answered since: what came later is not in it.
    ///
    /// # Errors
    /// `NotFound` for an event that says nothing, or nothing any more; store errors.
    pub fn turn_conversation(&self, turn: &TurnOf, said: EventSeq) -> Result<TurnConversation> {
        let own = EventQuery {
            session: Some(turn.session.clone()),
            through: Some(said),
            order: Order::NewestFirst,
            ..EventQuery::after(None, 1)
        };
        let event = self.log.events(&turn.ledger, &own)?.pop().filter(|event| event.seq == said);
        let missing =
            || EngineError::NotFound { what: Wanted::EventWithText, text: format!("{}/{said}", turn.ledger) };
        let own = event.as_ref().and_then(entry_of).ok_or_else(missing)?;
        let last = self.log.ledger(&turn.ledger)?.map_or(0, |known| known.last);
        let SessionWindow { entries: mut before, notes, .. } = self.session_window(turn, &[], last)?;
        let at = before.iter().rposition(|entry| entry.id == own.id);
        before.truncate(at.unwrap_or(before.len()));
        let renamed = said_of(&named_apart(&mut before), NoteCode::Conflict, CALLS_NAMED_APART);
        Ok(TurnConversation { before, said: own, notes: notes.into_iter().chain(renamed).collect() })
    }
}
