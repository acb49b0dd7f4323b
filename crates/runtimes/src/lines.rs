//! Formats of JSON lines in which each line stands for itself: what they share.
//!
//! A format says what one line is ([`Dialect::read`]); where commits end, what a line counts, how bytes become
//! entries and which lines a linear context holds follows from that here. Claude Code has its own: its lines are
//! large, and its tree needs more than one line tells.

pub(crate) mod count;
pub(crate) mod decode;
pub(crate) mod emit;
pub(crate) mod facts;
pub(crate) mod history;
#[cfg(test)]
mod joined_tests;
pub(crate) mod linear;
pub(crate) mod own;
pub(crate) mod split;
pub(crate) mod unknown;

use std::ops::Range;

use stemmata_model::{
    Body, Entry, EntryId, EntryKind, EntryMeta, NativeSpan, Part, Role, Timestamp, Visibility,
};

use crate::adapter::IdKind;
use crate::json::{Field, RecordError, Salvaged};
use facts::{Hints, Templates, TitleRank};
use history::Back;
use own::Own;

/// The kind of the opaque part that carries what a compaction kept word for word.
pub(crate) const OPAQUE_REPLACEMENT: &str = "replacement_history";

/// A format of JSON lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// The runtime's name, as in [`Part::Opaque`] and in templates.
    pub(crate) runtime: &'static str,
    pub(crate) templates: Templates,
    /// Says what one line is, by itself alone.
    pub(crate) read: fn(&[u8]) -> Result<Line, RecordError>,
    /// Takes a line apart that `read` refuses; its parts follow each other without a gap.
    pub(crate) rescue: fn(&[u8]) -> Vec<Salvaged<'_>>,
}

/// A part of a line that [`Dialect::read`] refuses.
#[derive(Debug, Clone)]
pub(crate) struct Rescued {
    /// Its bytes of the line.
    pub(crate) range: Range<usize>,
    /// What it says; `None` where it is no record.
    pub(crate) line: Option<Line>,
}

impl Dialect {
    /// Hands out what a line says, or what each part of a line says that is not one record, with its bytes of the line.
    /// Where commits end, [`Dialect::read`] alone decides.
    pub(crate) fn each(&self, line: &[u8], take: &mut dyn FnMut(Range<usize>, Option<Line>)) {
        if let Ok(read) = (self.read)(line) {
            return take(0..line.len(), Some(read));
        }
        let parts = self.rescued(line);
        if parts.is_empty() {
            take(0..line.len(), None);
        }
        for part in parts {
            take(part.range, part.line);
        }
    }

    /// Returns the format without rescue. Artifacts of compactions are hashed: they must not depend on what is rescued.
    pub(crate) fn strict(&self) -> Self {
        Self { rescue: no_rescue, ..*self }
    }

    /// Splits a line that [`Dialect::read`] refuses into the records that are still whole and the bytes between them. Returns an
    /// empty list if no record is whole.
    pub(crate) fn rescued(&self, line: &[u8]) -> Vec<Rescued> {
        let read = |part: Salvaged<'_>| {
            let read = part.record.and_then(|record| (self.read)(record.as_bytes()).ok());
            // Places in the record are not those in the line.
            Rescued { range: part.range, line: read.map(|read| Line { listed: Vec::new(), ..read }) }
        };
        let parts: Vec<Rescued> = (self.rescue)(line).into_iter().map(read).collect();
        if parts.iter().any(|part| part.line.is_some()) { parts } else { Vec::new() }
    }
}

/// Rescues nothing.
pub(crate) fn no_rescue(_line: &[u8]) -> Vec<Salvaged<'_>> {
    Vec::new()
}

/// What a line is to the rules of turns and of contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A session begins or goes on: a turn ends before it, and contexts keep the first one.
    Header,
    /// A turn begins ahead of its prompt.
    Start,
    /// What is set for a turn, ahead of its prompt: where nothing says that a turn begins, it does.
    Settings,
    /// A real user record.
    Prompt,
    /// Any other part of the conversation.
    Conversation,
    /// A compaction, whole in this line: it stands for everything before.
    Compaction,
    /// A compaction begins: it is whole with the summary that follows, or with what is said next where none does.
    CompactionMark,
    /// The conversation goes back to before that many of its last prompts.
    Rewind(u64),
    /// The conversation goes back to before the record that [`Line::target`] names.
    RewindTo,
    /// What was said before is gone, and no summary stands for it.
    Clear,
    /// The client says again what was said: the messages that [`Line::restates`] names are the conversation.
    Restated,
    /// Shown behind what it is about, and no part of the conversation itself: it closes no commit, and a context from the root
    /// leaves it out.
    Aside,
    /// Nothing to turns.
    Other,
}

/// What a compaction leaves of what was said before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Leaves {
    /// Nothing: it stands for all of it.
    #[default]
    Nothing,
    /// The newest of the user's prompts, word for word.
    Prompts {
        /// Whether the client takes the summary for another one.
        is_prompt: bool,
    },
    /// All of it: the client drops the compaction's record.
    All,
}

/// A message that stands within a line, with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) id: Option<EntryId>,
    /// Where it stands: bytes of the line.
    pub(crate) at: Range<usize>,
    /// Whether a model sees it.
    pub(crate) is_message: bool,
}

/// What one line says.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    /// The record's own id.
    pub(crate) id: Option<EntryId>,
    pub(crate) parent: Option<EntryId>,
    pub(crate) time: Option<Timestamp>,
    pub(crate) role: Role,
    pub(crate) kind: EntryKind,
    pub(crate) body: Body,
    pub(crate) parts: Vec<Part>,
    pub(crate) meta: EntryMeta,
    pub(crate) turn: Turn,
    pub(crate) hints: Hints,
    /// Ids by which copies of the record are known, besides its own.
    pub(crate) ids: Vec<(IdKind, String)>,
    /// The record's type, where this version does not know it.
    pub(crate) unknown: Option<String>,
    /// What stands inside the record and is of a type that this version does not know: `assistant/hologram`.
    pub(crate) unknown_parts: Vec<String>,
    /// The record that a rewind goes back to before.
    pub(crate) target: Option<EntryId>,
    /// The messages that it says again.
    pub(crate) restates: Vec<EntryId>,
    /// The messages that stand within it, in their order.
    pub(crate) listed: Vec<Listed>,
    /// What only lines of our own format say, and condensations of `OpenHands`.
    pub(crate) own: Option<Box<Own>>,
    /// Of a compaction: what the client still reads of what is older. Commits end at it in any case.
    pub(crate) leaves: Leaves,
    /// What going back makes of it.
    pub(crate) back: Back,
}

impl Line {
    /// Returns a part of the conversation.
    pub(crate) fn said(role: Role, kind: EntryKind, parts: Vec<Part>, time: Option<Timestamp>) -> Self {
        Self {
            id: None,
            parent: None,
            time,
            role,
            kind,
            body: Body::Blocks,
            parts,
            meta: EntryMeta::default(),
            turn: Turn::Conversation,
            hints: Hints::default(),
            ids: Vec::new(),
            unknown: None,
            unknown_parts: Vec::new(),
            target: None,
            restates: Vec::new(),
            listed: Vec::new(),
            own: None,
            leaves: Leaves::default(),
            back: Back::default(),
        }
    }

    /// Returns a real user record: it begins a turn, and its text is a title where nothing better is.
    pub(crate) fn prompt(parts: Vec<Part>, time: Option<Timestamp>) -> Self {
        let mut line = Self::said(Role::User, EntryKind::Message, parts, time);
        line.turn = Turn::Prompt;
        line.entitle();
        line
    }

    /// Makes the first text of a prompt that says something a title.
    pub(crate) fn entitle(&mut self) {
        let text = self.parts.iter().filter_map(Part::as_text).find(|text| !text.trim().is_empty());
        self.hints.title = text.map(|text| (TitleRank::Prompt, text.to_owned()));
    }

    /// Returns a line that no model sees, carried whole.
    pub(crate) fn metadata(runtime: &str, kind: &str, json: &str, time: Option<Timestamp>) -> Self {
        let visibility = Visibility { agent: false, user: false };
        Self {
            meta: EntryMeta { visibility, ..EntryMeta::default() },
            turn: Turn::Other,
            ..Self::said(Role::System, EntryKind::Metadata, vec![opaque(runtime, kind, json)], time)
        }
    }

    /// Returns the names of all that this version does not know of the record.
    pub(crate) fn unknown_names(&self) -> impl Iterator<Item = &str> {
        self.unknown.iter().chain(&self.unknown_parts).map(String::as_str)
    }

    /// Returns whether a model sees the line as a message.
    pub(crate) fn is_message(&self) -> bool {
        self.meta.visibility.agent && self.role != Role::System
    }

    pub(crate) fn into_entry(self, id: EntryId, native: NativeSpan) -> Entry {
        Entry {
            id,
            parent: self.parent,
            timestamp: self.time,
            role: self.role,
            kind: self.kind,
            body: self.body,
            parts: self.parts,
            meta: self.meta,
            native,
        }
    }
}

/// Reads a message's content: a text, or a list of blocks.
pub(crate) fn content(
    runtime: &str,
    field: Option<Field<'_>>,
    block: fn(Field<'_>) -> Part,
) -> (Body, Vec<Part>) {
    let Some(field) = field else { return (Body::Blocks, Vec::new()) };
    if let Some(text) = field.text() {
        return (Body::Text, vec![Part::Text(text.into_owned())]);
    }
    match field.elements() {
        Some(elements) => (Body::Blocks, elements.into_iter().map(block).collect()),
        None if field.is_null() => (Body::Blocks, Vec::new()),
        None => (Body::Blocks, vec![opaque(runtime, "content", field.raw())]),
    }
}

/// Returns the first text of a message.
pub(crate) fn first_text(parts: &[Part]) -> Option<&str> {
    parts.iter().find_map(Part::as_text)
}

/// Returns whether the first text of a message begins with one of these.
pub(crate) fn begins_with(parts: &[Part], starts: &[&str]) -> bool {
    first_text(parts).is_some_and(|text| starts.iter().any(|start| text.trim_start().starts_with(start)))
}

/// Returns JSON that is carried without being understood.
pub(crate) fn opaque(runtime: &str, kind: &str, json: &str) -> Part {
    Part::Opaque { runtime: runtime.to_owned(), kind: kind.to_owned(), json: json.to_owned() }
}

/// Returns a text as an id, where it can be one.
pub(crate) fn entry_id(text: Option<std::borrow::Cow<'_, str>>) -> Option<EntryId> {
    EntryId::new(text?.into_owned()).ok()
}

/// Returns a timestamp as clients write it: to the millisecond, or finer where it is.
pub(crate) fn iso(at: Timestamp) -> String {
    let shown = at.to_string();
    let shown = if Timestamp::parse(&shown).is_ok() { shown } else { Timestamp::EPOCH.to_string() };
    match shown.strip_suffix("000Z") {
        Some(millis) => format!("{millis}Z"),
        None => shown,
    }
}
