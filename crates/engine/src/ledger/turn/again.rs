//! Tries that are repeated: what a session said last is not said once more.
//!
//! A caller that heard of an error, or died before it heard anything, cannot know what was stored. It calls again with the
//! same entries, and their ids tell.

use stemmata_model::{Entry, FormatId, Json, NewEvent, NewPayload, Part, Payload, topics};
use stemmata_prompt::tool_output::noticed_artifact;
use stemmata_store::{Appended, EventQuery, Order, PAGE_ROWS_MAX};

use super::{FORMAT, TurnOf};
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

/// Events that end what was said last: a turn that one of them follows was answered, or is another one.
const SAID_TOPICS: [&str; 4] =
    [topics::USER_TURN, topics::ASSISTANT_TURN, topics::TOOL_EVENT, topics::SESSION_ENDED];

impl Engine {
    /// Returns where the entries of events are, if they are the last ones that the session said: an earlier try stored them.
    pub(super) fn said_already(&self, turn: &TurnOf, events: &[NewEvent]) -> Result<Option<Appended>> {
        let lines: Vec<(&str, &Json)> = events
            .iter()
            // A whole output and a pin stand beside what is said.
            .filter(|event| {
                ![topics::TOOL_OUTPUT, topics::CONTEXT_VISIBILITY].contains(&event.topic.as_str())
            })
            .filter_map(|event| match &event.payload {
                NewPayload::Line(line) => Some((event.topic.as_str(), line)),
                NewPayload::Plain { .. } => None,
            })
            .collect();
        if lines.is_empty() || lines.len() > PAGE_ROWS_MAX {
            return Ok(None);
        }
        let query = EventQuery {
            session: Some(turn.session.clone()),
            // An alert or a compaction behind the prompt makes it no other prompt.
            topics: SAID_TOPICS.map(topics::topic).to_vec(),
            order: Order::NewestFirst,
            ..EventQuery::after(None, lines.len())
        };
        let known = self.log.events(&turn.ledger, &query)?;
        let (Some(last), Some(first)) = (known.first(), known.last()) else { return Ok(None) };
        if known.len() < lines.len() {
            return Ok(None);
        }
        for (known, (topic, line)) in known.iter().zip(lines.iter().rev()) {
            let Payload::Line { line: told, .. } = &known.payload else { return Ok(None) };
            if known.topic.as_str() != *topic || !is_same(entry_of(told)?.as_ref(), entry_of(line)?.as_ref())
            {
                return Ok(None);
            }
        }
        Ok(Some(Appended { first: first.seq, last: last.seq, last_at: last.at }))
    }
}

/// Returns whether two entries are one. Its time is that of the try.
fn is_same(known: Option<&Entry>, new: Option<&Entry>) -> bool {
    matches!((known, new), (Some(known), Some(new))
        if (&known.id, known.role) == (&new.id, new.role) && are_same(&known.parts, &new.parts))
}

fn are_same(known: &[Part], new: &[Part]) -> bool {
    known.len() == new.len() && known.iter().zip(new).all(|(known, new)| is_same_part(known, new))
}

/// Returns whether two parts are one. Two notices of one whole output are, whatever temporary folder they name.
fn is_same_part(known: &Part, new: &Part) -> bool {
    match (known, new) {
        (Part::Text(known), Part::Text(new)) if known != new => {
            noticed_artifact(known).is_some_and(|artifact| noticed_artifact(new) == Some(artifact))
        }
        (
            Part::ToolResult { call_id, is_error, parts },
            Part::ToolResult { call_id: new_id, is_error: new_error, parts: new_parts },
        ) => (call_id, is_error) == (new_id, new_error) && are_same(parts, new_parts),
        (known, new) => known == new,
    }
}

/// Returns the entry of a line.
fn entry_of(line: &Json) -> Result<Option<Entry>> {
    let adapter = Engine::adapter(&FormatId::new(FORMAT)?, FormatUse::Read)?;
    Ok(adapter.decode(format!("{line}\n").as_bytes()).entries.into_iter().next())
}
