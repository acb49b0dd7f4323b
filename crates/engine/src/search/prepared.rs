//! An entry made ready to be found: its key, terms, class and marks.
//!
//! Pure; what keeps and finds them is the store's index and the scan.

use stemmata_acts::{Act, Call, acts, decides};
use stemmata_model::{Entry, EntryKind, Part, Role, Timestamp};
use stemmata_prompt::search::{class, date_terms, entry_terms, marks};
use stemmata_store::IndexEntry;

use super::groups::author_of;
use super::key::key_of;
use super::text::text_of;

/// Microseconds of a minute.
const MINUTE: i64 = 60_000_000;

/// What the index holds of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prepared {
    pub(crate) key: u64,
    /// Its terms, those of its date included, each once and ascending.
    pub(crate) terms: Vec<(String, u16)>,
    /// The sum of the counts without those of the date.
    pub(crate) length: u16,
    pub(crate) class: u8,
    pub(crate) marks: u8,
    /// Its minute since 1970, 0 without a time.
    pub(crate) minute: u32,
    /// Who said it, where the format knows.
    pub(crate) author: Option<String>,
}

impl From<Prepared> for IndexEntry {
    fn from(found: Prepared) -> Self {
        let Prepared { key, terms, length, class, marks, minute, author } = found;
        Self { key, terms, length, class, marks, minute, author }
    }
}

/// Prepares an entry. Returns `None` for an entry without text and for one that is not part of the conversation.
pub(crate) fn prepare(entry: &Entry) -> Option<Prepared> {
    let class = class(entry.role, &entry.kind)?;
    let text = text_of(entry);
    if text.trim().is_empty() {
        return None;
    }
    let found = entry_terms(&text);
    let mut terms = found.terms;
    if let Some(at) = entry.timestamp {
        terms.extend(date_terms(at).map(|term| (term, 1)));
        terms.sort_unstable();
    }
    let traits = traits_of(entry, class);
    let asks = if found.asks && may_ask(entry) { marks::ASKS } else { 0 };
    Some(Prepared {
        key: key_of(entry),
        terms,
        length: found.length,
        class,
        marks: traits.marks | asks,
        minute: traits.minute,
        author: author_of(entry).map(str::to_owned),
    })
}

/// What filters ask of an entry: no words are needed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Traits {
    pub(crate) class: u8,
    pub(crate) marks: u8,
    /// Its minute since 1970, 0 without a time.
    pub(crate) minute: u32,
}

fn traits_of(entry: &Entry, class: u8) -> Traits {
    Traits { class, marks: marks_of(entry), minute: entry.timestamp.map_or(0, minute_of) }
}

/// Returns the traits of an entry, or `None` if it is not part of the conversation.
pub(crate) fn traits(entry: &Entry) -> Option<Traits> {
    class(entry.role, &entry.kind).map(|class| traits_of(entry, class))
}

impl Prepared {
    /// Returns what filters ask of it.
    pub(crate) fn traits(&self) -> Traits {
        Traits { class: self.class, marks: self.marks, minute: self.minute }
    }
}

/// Returns the minute since 1970 of a point in time; 0 before.
pub(crate) fn minute_of(at: Timestamp) -> u32 {
    u32::try_from(at.as_micros() / MINUTE).unwrap_or(0)
}

/// Only what people and models say asks; the output of a tool has question marks of other meanings.
fn may_ask(entry: &Entry) -> bool {
    entry.kind == EntryKind::Message && matches!(entry.role, Role::User | Role::Assistant)
}

fn marks_of(entry: &Entry) -> u8 {
    let prompt = if entry.is_prompt() { marks::PROMPT } else { 0 };
    entry.parts.iter().fold(prompt, |all, part| {
        all | match part {
            Part::ToolCall { name, arguments, .. } => {
                let is_edit = acts(Call { name, arguments }).iter().any(changes_a_file);
                let edit = if is_edit { marks::EDIT } else { 0 };
                let decision = if decides(name) { marks::DECISION } else { 0 };
                marks::CALL | edit | decision
            }
            Part::ToolResult { is_error: true, .. } => marks::ERROR,
            Part::Thinking { .. } => marks::THINKING,
            _ => 0,
        }
    })
}

fn changes_a_file(act: &Act) -> bool {
    match act {
        Act::File(file) => file.is_change(),
        Act::OpenFile(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use stemmata_model::EntryId;

    use super::*;

    fn entry(role: Role, parts: Vec<Part>) -> Entry {
        Entry::said(EntryId::new("e").expect("an id"), role, parts)
    }

    #[test]
    fn entries_are_marked_by_what_they_are() {
        let call = |name: &str, arguments: &str| Part::ToolCall {
            call_id: String::new(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let result = Part::ToolResult {
            call_id: String::new(),
            is_error: true,
            parts: vec![Part::Text("really?".to_owned())],
        };
        for (entry, wanted) in [
            (entry(Role::User, vec![Part::Text("why?".to_owned())]), marks::PROMPT | marks::ASKS),
            (entry(Role::Assistant, vec![Part::Text("so".to_owned())]), 0),
            (entry(Role::Assistant, vec![call("Bash", "{\"command\":\"ls\"}")]), marks::CALL),
            (
                entry(Role::Assistant, vec![call("Write", "{\"file_path\":\"/a\",\"content\":\"b\"}")]),
                marks::CALL | marks::EDIT,
            ),
            (entry(Role::Tool, vec![result]), marks::ERROR),
        ] {
            let prepared = prepare(&entry).expect("it says something");
            assert_eq!(prepared.marks, wanted, "{entry:?}");
        }
    }

    #[test]
    fn days_are_terms_and_no_part_of_the_length() {
        let said = entry(Role::User, vec![Part::Text("kiln".to_owned())]);
        let at = Timestamp::parse("2026-03-09T12:00:30Z").expect("a time");
        let found = prepare(&Entry { timestamp: Some(at), ..said.clone() }).expect("it says something");
        let terms: Vec<&str> = found.terms.iter().map(|(term, _)| term.as_str()).collect();
        assert_eq!(terms, ["@2026", "@9", "@march", "kiln"]);
        assert_eq!((found.length, found.minute), (1, 29_550_960));
        assert_eq!(prepare(&said).map(|found| found.minute), Some(0));
        assert_eq!(prepare(&entry(Role::User, vec![Part::Text(" \n".to_owned())])), None);
        assert_eq!(prepare(&Entry { kind: EntryKind::Metadata, ..said }), None);
    }
}
