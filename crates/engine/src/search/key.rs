//! The key of an entry: what makes two copies of it one.
//!
//! Not its id: clients that fork a session give every entry a new one.

use stemmata_model::{CanonicalEncoder, Entry, Part, Role};

use super::groups::author_of;

/// Separates keys from every other use of the hash.
const KEY_CONTEXT: &str = "stemmata search entry v1";

/// The version byte of what is hashed.
const KEY_ENCODING_VERSION: u8 = 1;

/// Added to the role where a name follows: two people may say the same at once.
const NAMED: u8 = 8;

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Bits of the hash where the day is before it: what is indexed together has its keys together, too.
const HASH_BITS: u32 = 48;

/// Returns the key: the day since 1970 and 48 bits of a hash over when it was said, by whom, and what; without a day 64 bits of
/// it. Ids, call ids, signatures and whether the
/// body was one string are no part of it, for a copy may have others.
pub(crate) fn key_of(entry: &Entry) -> u64 {
    let encoder = CanonicalEncoder::new(KEY_ENCODING_VERSION);
    let encoder = match entry.timestamp {
        Some(at) => encoder.tag(1).signed(at.as_micros()),
        None => encoder.tag(0),
    };
    let role = match entry.role {
        Role::System => 0,
        Role::User => 1,
        Role::Assistant => 2,
        Role::Tool => 3,
    };
    let encoder = match author_of(entry) {
        Some(author) => encoder.tag(role + NAMED).bytes(author.as_bytes()),
        None => encoder.tag(role),
    };
    let hash = hashed(&entry.parts.iter().fold(encoder, add).finish());
    match entry.timestamp.and_then(|at| u16::try_from(at.as_micros() / DAY).ok()) {
        Some(day) => u64::from(day) << HASH_BITS | hash >> (u64::BITS - HASH_BITS),
        None => hash,
    }
}

/// Returns the key of event `sequence` of a ledger.
pub(crate) fn event_key(ledger: &str, sequence: u64) -> u64 {
    hashed(
        &CanonicalEncoder::new(KEY_ENCODING_VERSION)
            .tag(2)
            .bytes(ledger.as_bytes())
            .number(sequence)
            .finish(),
    )
}

fn hashed(encoded: &[u8]) -> u64 {
    let hash = blake3::derive_key(KEY_CONTEXT, encoded);
    hash.iter().take(8).fold(0, |key, byte| key << 8 | u64::from(*byte))
}

fn add(encoder: CanonicalEncoder, part: &Part) -> CanonicalEncoder {
    let two = |encoder: CanonicalEncoder, tag, one: &str, other: &str| {
        encoder.tag(tag).bytes(one.as_bytes()).bytes(other.as_bytes())
    };
    match part {
        Part::Text(text) => two(encoder, 0, text, ""),
        Part::Thinking { text, .. } => two(encoder, 1, text, ""),
        Part::ToolCall { name, arguments, .. } => two(encoder, 2, name, arguments),
        Part::ToolResult { is_error, parts, .. } => {
            let encoder = encoder.tag(3).tag(u8::from(*is_error)).number(parts.len() as u64);
            parts.iter().fold(encoder, add)
        }
        Part::Image { media_type, .. } => two(encoder, 4, media_type, ""),
        Part::File { name, data, .. } => two(encoder, 5, name, data.as_deref().unwrap_or_default()),
        Part::Summary { text, .. } => two(encoder, 6, text, ""),
        Part::Opaque { kind, json, .. } => two(encoder, 7, kind, json),
    }
}

#[cfg(test)]
mod tests {
    use stemmata_model::{EntryId, EntryMeta, Timestamp};

    use super::*;

    #[test]
    fn two_people_who_say_the_same_at_once_say_two_things() {
        let by = |author: &str| {
            let meta = EntryMeta { author: Some(author.to_owned()), ..EntryMeta::default() };
            key_of(&Entry { meta, ..entry("a", vec![Part::Text("yes".to_owned())]) })
        };
        assert_ne!(by("Ann"), by("Bob"));
        assert_eq!(by("Ann"), by(" Ann "));
        assert_ne!(by("Ann"), key_of(&entry("a", vec![Part::Text("yes".to_owned())])));
    }

    fn entry(id: &str, parts: Vec<Part>) -> Entry {
        Entry::said(EntryId::new(id).expect("an id"), Role::Assistant, parts)
    }

    fn call(call_id: &str, arguments: &str) -> Part {
        Part::ToolCall {
            call_id: call_id.to_owned(),
            name: "Bash".to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    #[test]
    fn keys_go_by_days() {
        let on = |day: i64, text: &str| {
            let said = entry("a", vec![Part::Text(text.to_owned())]);
            key_of(&Entry { timestamp: Some(Timestamp::from_micros(day * DAY + 5)), ..said })
        };
        for text in ["x", "y", "z"] {
            assert!(on(20_000, text) < on(20_001, "x") && on(20_000, text) > on(19_999, "x"), "{text}");
        }
        assert_ne!(on(-1, "x"), on(70_000, "x"), "no day that fits");
    }

    #[test]
    fn copies_have_one_key_and_others_their_own() {
        let text = |text: &str| vec![Part::Text(text.to_owned())];
        assert_eq!(key_of(&entry("a", text("x"))), key_of(&entry("b", text("x"))));
        assert_eq!(key_of(&entry("a", vec![call("1", "{}")])), key_of(&entry("b", vec![call("2", "{}")])));
        let said = Entry { timestamp: Some(Timestamp::from_micros(7)), ..entry("a", text("x")) };
        let user = Entry { role: Role::User, ..entry("a", text("x")) };
        let nested = Part::ToolResult { call_id: String::new(), is_error: false, parts: text("x") };
        let all = [
            key_of(&entry("a", text("x"))),
            key_of(&entry("a", text("y"))),
            key_of(&entry("a", [text("x"), text("y")].concat())),
            key_of(&entry("a", text("xy"))),
            key_of(&entry("a", vec![nested.clone()])),
            key_of(&entry("a", [vec![nested], text("x")].concat())),
            key_of(&entry("a", vec![call("1", "{\"a\":1}")])),
            key_of(&said),
            key_of(&user),
            event_key("ledger", 1),
            event_key("ledger", 2),
        ];
        let distinct: std::collections::BTreeSet<u64> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
