//! What two tries of one call have in common, as hashes: of what the caller gave, before any rule replaced something of it.
//!
//! The store's secret is part of each hash, so that nobody can try out what a short secret was. Stores of before have hashes of what
//! was left by the rules of their day, without the secret; these are compared, too.

use std::collections::HashMap;

use serde_json::Value;
use stemmata_model::{Entry, EntryId, FormatId, Json, NewEvent, NewPayload, Part, topics};
use stemmata_prompt::tool_output::noticed_artifact;
use stemmata_store::EventKey;

use super::SAID_TOPICS;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::ledger::turn::{FORMAT, TurnOf};

/// How content is hashed.
#[derive(Clone, Copy)]
pub(super) enum Hashing<'a> {
    /// With the store's secret, and JSON by its value.
    Keyed(&'a [u8; 32]),
    /// As it was before that.
    Former,
}

impl Hashing<'_> {
    fn of<T: AsRef<[u8]>>(self, parts: impl IntoIterator<Item = T>) -> EventKey {
        match self {
            Self::Keyed(secret) => EventKey::keyed(secret, parts),
            Self::Former => EventKey::of(parts),
        }
    }

    /// Returns a text that all spellings of one JSON value share.
    fn json(self, text: &str) -> String {
        match self {
            Self::Keyed(_) => {
                Json::value_of(text).map_or_else(|_| text.to_owned(), |value| value.to_string())
            }
            Self::Former => text.to_owned(),
        }
    }

    /// Returns the hash of what an entry says, without its id and the time of the try. A notice of a whole output says what the
    /// output does, whatever temporary folder it names.
    pub(super) fn of_entry(self, entry: &Entry) -> Result<EventKey> {
        let id = EntryId::new("entry").expect("a constant name is a name");
        let parts = entry.parts.iter().map(|part| self.plain(part)).collect();
        let adapter = Engine::adapter(&FormatId::new(FORMAT)?, FormatUse::Write)?;
        let mut said = Entry { kind: entry.kind.clone(), ..Entry::said(id, entry.role, parts) };
        said.meta.visibility = entry.meta.visibility;
        let bytes = adapter.encode(&[said]);
        Ok(self.of([bytes]))
    }

    fn plain(self, part: &Part) -> Part {
        match part {
            Part::Text(text) => {
                Part::Text(noticed_artifact(text).map_or_else(|| text.clone(), |id| id.to_string()))
            }
            Part::ToolCall { call_id, name, arguments } => Part::ToolCall {
                call_id: call_id.clone(),
                name: name.clone(),
                arguments: self.json(arguments),
            },
            Part::ToolResult { call_id, is_error, parts } => {
                let (call_id, parts) = (call_id.clone(), parts.iter().map(|part| self.plain(part)).collect());
                Part::ToolResult { call_id, is_error: *is_error, parts }
            }
            other => other.clone(),
        }
    }

    /// Returns the hash of all that two tries of one call have in common. Left out are times, the temporary folder that a notice
    /// names, and ids that the caller did not give: these are other ones in each try.
    pub(super) fn of_call(
        self,
        about: &[String],
        said: &[(&NewEvent, Option<(&EntryId, EventKey)>)],
        names_entries: bool,
    ) -> EventKey {
        let ids = said.iter().filter_map(|(_, line)| line.map(|(id, _)| id.as_str())).zip(0_usize..);
        let made_up: HashMap<&str, usize> = ids.filter(|_| !names_entries).collect();
        let mut told: Vec<Vec<u8>> = about.iter().map(|about| about.as_bytes().to_vec()).collect();
        for (event, line) in said {
            let topic = event.topic.as_str();
            let [name, content] = match (line, &event.payload) {
                (Some((id, digest)), _) => {
                    let id = if names_entries { id.as_str() } else { "" };
                    [id.as_bytes().to_vec(), digest.as_bytes().to_vec()]
                }
                (None, NewPayload::Plain { text, data }) => {
                    let data = data
                        .as_ref()
                        .map_or_else(String::new, |data| self.json(&with_places(topic, data, &made_up)));
                    [text.clone().unwrap_or_default().into_bytes(), data.into_bytes()]
                }
                // A pin, which says when. That there is one is said of the call.
                (None, NewPayload::Line(_)) => [Vec::new(), Vec::new()],
            };
            told.extend([topic.as_bytes().to_vec(), name, content]);
        }
        self.of(told)
    }
}

/// Returns an event's data. Hints name entries: those whose ids the caller did not give are named by their places.
fn with_places(topic: &str, data: &Json, made_up: &HashMap<&str, usize>) -> String {
    if topic != topics::CONTEXT_HINTS || made_up.is_empty() {
        return data.as_str().to_owned();
    }
    let mut data = data.to_value();
    for hint in data.get_mut("entries").and_then(Value::as_array_mut).into_iter().flatten() {
        let place = hint.get("id").and_then(Value::as_str).and_then(|id| made_up.get(id)).copied();
        if let (Some(place), Some(id)) = (place, hint.get_mut("id")) {
            *id = Value::from(place);
        }
    }
    data.to_string()
}

/// An entry of a call.
pub(super) struct Line {
    /// As it is stored.
    pub(super) entry: Entry,
    pub(super) key: EventKey,
    /// Of what the caller gave.
    pub(super) digest: EventKey,
}

impl Line {
    /// Returns the entry of an event that is one, `given` and as it is `stored`.
    pub(super) fn of(
        turn: &TurnOf,
        (given, stored): (&NewEvent, &NewEvent),
        hashing: Hashing<'_>,
    ) -> Result<Option<Self>> {
        let (Some(given), Some(entry)) = (entry_of_new(given)?, entry_of_new(stored)?) else {
            return Ok(None);
        };
        let key = EventKey::of(["entry", turn.session.as_str(), entry.id.as_str()]);
        Ok(Some(Self { digest: hashing.of_entry(&given)?, key, entry }))
    }

    /// Says whether a hash is one of what it says.
    pub(super) fn says(&self, digest: EventKey) -> Result<bool> {
        Ok(self.digest == digest || Hashing::Former.of_entry(&self.entry)? == digest)
    }
}

/// Returns the entry that an event says.
fn entry_of_new(event: &NewEvent) -> Result<Option<Entry>> {
    let NewPayload::Line(line) = &event.payload else { return Ok(None) };
    if !SAID_TOPICS.contains(&event.topic.as_str()) {
        return Ok(None);
    }
    let adapter = Engine::adapter(&FormatId::new(FORMAT)?, FormatUse::Read)?;
    Ok(adapter.decode(format!("{line}\n").as_bytes()).entries.into_iter().next())
}
