//! Tries that are repeated: what a session said last is not said once more.
//!
//! A caller that heard of an error, or died before it heard anything, cannot know what was stored. It calls again with the
//! same entries, and their ids tell.

use std::collections::HashMap;

use stemmata_model::{Entry, EventSeq, FormatId, Json, NewEvent, NewPayload, Part, Payload, topics};
use stemmata_prompt::tool_output::noticed_artifact;
use stemmata_store::{Appended, EventQuery, Order, PAGE_ROWS_MAX};

use super::{FORMAT, TurnOf};
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Refusal, Result};

/// Events that end what was said last: a turn that one of them follows was answered, or is another one.
const SAID_TOPICS: [&str; 4] =
    [topics::USER_TURN, topics::ASSISTANT_TURN, topics::TOOL_EVENT, topics::SESSION_ENDED];

/// Entries of a session that a new one's id is compared with at most.
const IDS_COMPARED_MAX: usize = 64;

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

    /// Refuses an entry whose id the session gave to other content: a pin, a prune or a summary could not say which of the
    /// two it means. Only the newest [`IDS_COMPARED_MAX`] entries are compared, so that a step costs the same in a long
    /// session.
    pub(super) fn refuse_taken_ids(&self, turn: &TurnOf, events: &[NewEvent]) -> Result<()> {
        let mut new = Vec::new();
        for event in events.iter().filter(|event| SAID_TOPICS.contains(&event.topic.as_str())) {
            if let NewPayload::Line(line) = &event.payload {
                new.extend(entry_of(line)?);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let query = EventQuery {
            session: Some(turn.session.clone()),
            topics: SAID_TOPICS.map(topics::topic).to_vec(),
            order: Order::NewestFirst,
            ..EventQuery::after(None, IDS_COMPARED_MAX)
        };
        // A ledger that is not there yet has said nothing.
        let known = if self.log.ledger(&turn.ledger)?.is_some() {
            self.log.events(&turn.ledger, &query)?
        } else {
            Vec::new()
        };
        let quoted: Vec<String> =
            new.iter().map(|entry| serde_json::Value::from(entry.id.as_str()).to_string()).collect();
        let mut same_ids = Vec::new();
        for event in &known {
            let Payload::Line { line, .. } = &event.payload else { continue };
            // The text is searched first: to decode all of them at each step would cost more than the step.
            if quoted.iter().any(|id| line.as_str().contains(id.as_str()))
                && let Some(entry) = entry_of(line)?
                && new.iter().any(|one| one.id == entry.id)
            {
                same_ids.push((Some(event.seq), entry));
            }
        }
        check_ids(same_ids.iter().map(|(seq, entry)| (*seq, entry)), &new)
    }
}

/// Returns an error that names the first id which stands for other content among known entries or earlier ones of the list.
fn check_ids<'e>(known: impl Iterator<Item = (Option<EventSeq>, &'e Entry)>, new: &'e [Entry]) -> Result<()> {
    let mut first: HashMap<&str, (Option<EventSeq>, &Entry)> = HashMap::new();
    for (seq, entry) in known.chain(new.iter().map(|entry| (None, entry))) {
        let (seq, other) = *first.entry(entry.id.as_str()).or_insert((seq, entry));
        if is_same(Some(other), Some(entry)) {
            continue;
        }
        let place = seq.map_or_else(|| "in the same request".to_owned(), |seq| format!("as event {seq}"));
        let reason = format!("the session has an entry `{}` with other content already, {place}", entry.id);
        return Err(EngineError::Refused { what: Refusal::EntryTaken, reasons: vec![reason] });
    }
    Ok(())
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
