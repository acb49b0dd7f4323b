//! JSON objects in the shape of opencode's export, written from what its records say.
//!
//! What a record says stays as it is spelled; only ids that stand beside it are added.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::value::RawValue;
use stemmata_runtimes::clients::UNREADABLE;

/// A message of a session in the form of versions 1.x: what it says of itself, and its parts by their ids.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) about: String,
    pub(crate) parts: BTreeMap<String, String>,
}

impl Message {
    pub(crate) fn render(&self) -> String {
        let parts: Vec<&str> = self.parts.values().map(String::as_str).collect();
        format!("{{\"info\":{},\"parts\":[{}]}}", self.about, parts.join(","))
    }

    /// Returns when it was made, as it says itself.
    fn created(&self) -> Option<i64> {
        serde_json::from_str::<serde_json::Value>(&self.about).ok()?["time"]["created"].as_i64()
    }
}

/// Joins the messages of a session that its client keeps in two places, in the order of their times, else of their ids. A message
/// or part that both have is as `newer` has it. Returns how many messages are in `older` alone, or have parts there alone.
pub(crate) fn joined(newer: Vec<Message>, older: Vec<Message>) -> (Vec<Message>, u64) {
    let mut lacking = 0;
    let mut rest: BTreeMap<String, Message> =
        older.into_iter().map(|message| (message.id.clone(), message)).collect();
    let mut all = Vec::with_capacity(newer.len() + rest.len());
    for mut message in newer {
        if let Some(twin) = rest.remove(&message.id) {
            let own = message.parts.len();
            for (id, part) in twin.parts {
                message.parts.entry(id).or_insert(part);
            }
            lacking += u64::from(message.parts.len() > own);
        }
        all.push((message.created(), message));
    }
    lacking += rest.len() as u64;
    // One that does not say when it was made follows the one before it, by the ids.
    let mut last = None;
    let timed = rest.into_values().map(|message| {
        last = message.created().or(last);
        (last, message)
    });
    let mut rest: Vec<(Option<i64>, Message)> = timed.collect();
    rest.sort_by_key(|(created, _)| *created);
    let is_before =
        |(created, message): &(Option<i64>, Message), (other, next): &(Option<i64>, Message)| match (
            other, created,
        ) {
            (Some(other), Some(created)) if other != created => other > created,
            _ => next.id > message.id,
        };
    // The others keep the order that their database gives them.
    let mut rest = rest.into_iter().peekable();
    let mut both = Vec::with_capacity(all.len() + rest.len());
    for next in all {
        while let Some((_, message)) = rest.next_if(|message| is_before(message, &next)) {
            both.push(message);
        }
        both.push(next.1);
    }
    both.extend(rest.map(|(_, message)| message));
    (both, lacking)
}

/// An object that is being written.
pub(crate) struct Info {
    json: String,
}

impl Info {
    pub(crate) fn new() -> Self {
        Self { json: "{".to_owned() }
    }

    pub(crate) fn put(&mut self, key: &str, json: Option<String>) {
        let Some(json) = json else { return };
        let comma = if self.json.len() > 1 { "," } else { "" };
        let _written = write!(self.json, "{comma}{}:{json}", quoted(key));
    }

    pub(crate) fn finish(self) -> String {
        self.json + "}"
    }
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Returns a row's object with ids behind it; what is no object is carried as a text. The splitter counts and names such.
pub(crate) fn with(data: &str, ids: &[(&str, &str)]) -> String {
    let own = data.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).filter(|_| is_json(data));
    let carried = format!("\"type\":\"{UNREADABLE}\",\"text\":{}", quoted(data));
    let mut object = Info { json: format!("{{{}", own.map_or(carried.as_str(), str::trim)) };
    for (key, id) in ids {
        // A second type would make a text of what cannot be read.
        if own.is_some() || *key != "type" {
            object.put(key, Some(quoted(id)));
        }
    }
    object.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, created: Option<i64>, parts: &[&str]) -> Message {
        let about = created.map_or("{}".to_owned(), |at| format!("{{\"time\":{{\"created\":{at}}}}}"));
        let parts = parts.iter().map(|part| ((*part).to_owned(), format!("\"{id} {part}\""))).collect();
        Message { id: id.to_owned(), about, parts }
    }

    #[test]
    fn messages_of_two_places_are_one_conversation() {
        let newer =
            || vec![message("b", Some(2), &["2"]), message("d", Some(4), &[]), message("0", Some(9), &["1"])];
        for (older, wanted, lacking) in [
            (vec![], "b d 0", 0),
            (vec![message("b", Some(2), &["2"])], "b d 0", 0),
            (vec![message("a", Some(1), &[]), message("c", Some(3), &[])], "a b c d 0", 2),
            (vec![message("c", None, &["1"]), message("z", None, &[])], "b c d 0 z", 2),
            (vec![message("d", Some(4), &["1", "2"]), message("e", Some(4), &[])], "b d e 0", 2),
            (vec![message("a", Some(1), &[]), message("x", None, &[])], "a x b d 0", 2),
            (vec![message("c", Some(3), &[]), message("x", None, &[])], "b c x d 0", 2),
        ] {
            let (all, count) = joined(newer(), older);
            let ids: Vec<&str> = all.iter().map(|message| message.id.as_str()).collect();
            assert_eq!((ids.join(" ").as_str(), count), (wanted, lacking));
        }
        let (all, _) =
            joined(vec![message("b", Some(2), &["2"])], vec![message("b", Some(8), &["1", "2", "3"])]);
        let wanted = "{\"info\":{\"time\":{\"created\":2}},\"parts\":[\"b 1\",\"b 2\",\"b 3\"]}";
        assert_eq!(all.iter().map(Message::render).collect::<Vec<_>>(), [wanted]);
    }
}
