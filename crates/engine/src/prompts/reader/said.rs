//! What one event or entry says to an agent, as a message of a prompt.
//!
//! Which events are read is the parent's.

use stemmata_model::{Entry, Event, FormatId, Part, Payload};
use stemmata_prompt::select::{Message, call_pieces, entry_text};

use super::super::images::images_of;
use crate::engine::Engine;
use crate::error::FormatUse;

/// Returns the entry that an event says as a line; nothing for other events.
pub(crate) fn entry_of(event: &Event) -> Option<Entry> {
    let Payload::Line { line, .. } = &event.payload else { return None };
    let format = FormatId::new("stemmata-v1").expect("a constant name is a name");
    let adapter = Engine::adapter(&format, FormatUse::Read).ok()?;
    adapter.decode(format!("{line}\n").as_bytes()).entries.into_iter().next()
}

/// Returns what an event says to an agent; nothing for one whose payload is gone, and for an entry that is for people only.
pub(crate) fn message_of(event: &Event) -> Option<Message> {
    if !matches!(event.payload, Payload::Line { .. }) {
        return Message::of(event);
    }
    message_of_entry(event, &entry_of(event)?)
}

/// Returns what an event that says an entry says to an agent.
pub(super) fn message_of_entry(event: &Event, entry: &Entry) -> Option<Message> {
    let (calls, answers) = tied(entry);
    let text = entry_text(entry);
    // Reasoning alone says nothing to anybody, and what the agent may not see nothing to it: neither takes a place of an amount.
    let is_silent = text.is_empty() && calls.is_empty() && answers.is_empty();
    if is_silent || !entry.meta.visibility.agent {
        return None;
    }
    Some(Message {
        id: event.seq.to_string(),
        at: Some(event.at),
        sender: event.sender.clone(),
        text: Some(text),
        data: None,
        calls,
        pieces: call_pieces(entry),
        answers,
        images: images_of(entry),
    })
}

/// Returns the calls that an entry makes, and those that it answers.
pub(super) fn tied(entry: &Entry) -> (Vec<String>, Vec<String>) {
    let calls = entry.parts.iter().filter_map(|part| match part {
        Part::ToolCall { call_id, .. } => Some(call_id.clone()),
        _ => None,
    });
    (calls.collect(), entry.answers().map(str::to_owned).collect())
}
