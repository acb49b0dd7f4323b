//! The mailbox of an agent: what people told it since the last prompt that was delivered.
//!
//! Which events are for whom is the cluster's.

use stemmata_model::{EventSeq, Json, LedgerId, Party};
use stemmata_prompt::select::Message;
use stemmata_store::{CURSOR_STATES, SavedState};

use super::reader::message_of;
use super::v1::{self, KEPT_VERSION};
use crate::engine::Engine;
use crate::error::Result;

/// For what an agent's mailbox is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct MailWanted {
    /// The event that began the turn.
    pub(super) said: Option<EventSeq>,
    /// The last event that the model was given, where that is for the caller to know, and not for the mailbox.
    pub(super) after: Option<EventSeq>,
    /// The last event that counts.
    pub(super) through: Option<EventSeq>,
}

/// What an agent has not been given yet.
pub(super) struct Mailbox {
    pub(super) messages: Vec<Message>,
    /// What is saved once it is delivered.
    name: String,
    moved: v1::Mailbox,
}

impl Engine {
    /// Reads what people told an agent. The turn that got it last gets the same again: its prompt may never have arrived.
    pub(super) fn mailbox(
        &self,
        ledger: &LedgerId,
        agent: &Party,
        MailWanted { said, after: given, through }: MailWanted,
    ) -> Result<Mailbox> {
        let name = format!("{CURSOR_STATES}guidance/{agent}/");
        let saved = self.log.saved_states(ledger, &name)?.into_iter().find(|saved| saved.name == name);
        let saved = saved.filter(|saved| saved.version == KEPT_VERSION);
        let known: v1::Mailbox =
            saved.and_then(|saved| serde_json::from_str(saved.state.as_str()).ok()).unwrap_or_default();
        let said = said.map_or(0, EventSeq::get);
        let is_again = said != 0 && said == known.said;
        let after = EventSeq::new(if is_again { known.before } else { known.after }).max(given);
        let guidance = self.guidance(ledger, Some(agent), after, through)?;
        let number = |cursor: Option<EventSeq>| cursor.map_or(0, EventSeq::get);
        let moved = v1::Mailbox { said, before: number(after), after: number(guidance.cursor) };
        Ok(Mailbox { messages: guidance.events.iter().filter_map(message_of).collect(), name, moved })
    }

    /// Says that an agent got what was in its mailbox.
    pub(super) fn deliver(&self, ledger: &LedgerId, mailbox: Mailbox) -> Result<()> {
        let Mailbox { name, moved, messages } = mailbox;
        if messages.is_empty() {
            // Reading over the same events again costs one query, and a save a sync.
            return Ok(());
        }
        let state = Json::of(&serde_json::to_value(&moved).expect("a mailbox has only text keys"));
        let state = SavedState { name, version: KEPT_VERSION, through: moved.after, position: None, state };
        Ok(self.log.save_states(ledger, vec![state])?)
    }
}
