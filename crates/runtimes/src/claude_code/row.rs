//! One line as a node of the conversation's tree: ids, parent, what kind of record, which calls.
//!
//! Not the line itself: an index of a transcript of a gigabyte keeps some hundred bytes a line.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use stemmata_model::Timestamp;

use super::apart::apart;
use super::ids::fork_of;
use super::kept::{self, Kept};
use super::message::{Block, Content};
use super::record::{ParentLink, Record};
use super::whole::{Inside, Whole};
use crate::json::{Field, Salvaged, is_blank, is_string, is_true, text};
use crate::repair::uuid_text;

/// Stands for an id of a record: the 16 bytes of a UUID, or a hash of a text that is none.
///
/// Ids that are no UUIDs are hashed to 128 bits: chance makes two of them equal less often than a disk lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key([u8; 16]);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (halves, _) = self.0.as_chunks();
        for half in halves {
            state.write_u64(u64::from_ne_bytes(*half));
        }
    }
}

impl Key {
    /// Returns the key of an id, and whether the text can be had back from it.
    pub(super) fn of(id: &str) -> (Self, bool) {
        Self::of_uuid(id).map_or_else(|| (Self::hashed(id), false), |key| (key, true))
    }

    fn hashed(id: &str) -> Self {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(blake3::hash(id.as_bytes()).as_bytes().split_at(16).0);
        Self(bytes)
    }

    /// Lower case only: another spelling of the same number is another id to the client.
    fn of_uuid(id: &str) -> Option<Self> {
        let text: &[u8; 36] = id.as_bytes().try_into().ok()?;
        let digit = |at: usize| text.get(at).map_or(NO_DIGIT, |byte| digit_of(*byte));
        let mut bytes = [0; 16];
        let mut all = 0;
        for (byte, at) in bytes.iter_mut().zip([0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]) {
            let (high, low) = (digit(at), digit(at + 1));
            all |= high | low;
            *byte = high << 4 | low;
        }
        let has_dashes = [8, 13, 18, 23].iter().all(|at| text.get(*at) == Some(&b'-'));
        (has_dashes && all & NO_DIGIT == 0).then_some(Self(bytes))
    }

    /// Returns the UUID's text; only right for a key that was made from one.
    pub(super) fn uuid_text(self) -> String {
        uuid_text(self.0)
    }
}

/// What stands for a character that is no digit.
const NO_DIGIT: u8 = 0xf0;

/// Returns the value of a hexadecimal digit in lower case.
const fn digit_of(character: u8) -> u8 {
    match character {
        b'0'..=b'9' => character - b'0',
        b'a'..=b'f' => character - b'a' + 10,
        _ => NO_DIGIT,
    }
}

/// What a line is to the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A user's own prompt: where a turn starts.
    Prompt,
    /// A user message that the runtime wrote.
    Meta,
    /// A user message that holds results of tools.
    Result,
    /// A part of an assistant's message.
    Assistant,
    /// A note of the runtime: durations, hooks, errors.
    System,
    /// What the runtime attached for the model.
    Attachment,
    /// Progress of a tool or hook: newer clients read over it.
    Progress,
    /// The start of a compaction.
    Boundary,
    /// The summary that a compaction left.
    Summary,
    /// A line about the session, outside the tree.
    Metadata,
    /// `last-prompt`: where the session goes on.
    Checkpoint,
    /// A line that is no record.
    Unreadable,
    /// A line of white space.
    Blank,
    /// A leading entry of a snapshot that says again what the chain before it says.
    Restated,
}

impl Kind {
    /// Returns whether it is a message of the conversation.
    pub(super) const fn is_message(self) -> bool {
        matches!(self, Self::Prompt | Self::Meta | Self::Result | Self::Assistant | Self::Summary)
    }

    /// Returns whether it can be the end of a conversation: notes of the runtime may come late and hang anywhere.
    pub(super) const fn is_end(self) -> bool {
        matches!(self, Self::Prompt | Self::Result | Self::Assistant | Self::Summary)
    }

    /// Returns whether it stands in the tree.
    pub(super) const fn is_node(self) -> bool {
        !matches!(self, Self::Metadata | Self::Checkpoint | Self::Unreadable | Self::Blank)
    }

    /// Returns whether it only hangs on a message: nothing is lost to the conversation's shape without it.
    pub(super) const fn is_hanging(self) -> bool {
        matches!(self, Self::System | Self::Attachment | Self::Progress | Self::Meta)
    }
}

/// What `parentUuid` says, or for a line outside the tree, which record it speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// Nothing.
    Absent,
    /// `null`: no parent, and for a checkpoint, before the first record.
    Root,
    /// This record.
    Of(Key),
}

/// A line as a node.
#[expect(clippy::struct_excessive_bools, reason = "independent facts of a line, one bit each")]
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// Which bytes it is in, as `Piece::segment` counts them.
    pub(super) segment: usize,
    /// Bytes from their start.
    pub(super) offset: u64,
    /// Bytes, newline included.
    pub(super) length: u64,
    /// What it is.
    pub(super) kind: Kind,
    /// Its own id.
    pub(super) key: Option<Key>,
    /// Its parent; for a line outside the tree, what it speaks of.
    pub(super) parent: Link,
    /// For a boundary: `logicalParentUuid`; for a checkpoint: what was cut off.
    pub(super) other: Option<Key>,
    /// Where the value of `parentUuid` stands in the line: offset and length.
    pub(super) parent_span: Option<(usize, usize)>,
    /// Stands for the API message's id; lines that share it are one message.
    pub(super) message: Option<u64>,
    /// Whether it belongs to a subagent.
    pub(super) sidechain: bool,
    /// Whether it names a subagent, as the files of subagents do in every line.
    pub(super) has_agent: bool,
    /// For a checkpoint: whether the user chose it.
    pub(super) explicit: bool,
    /// Of a record that a later line repeats: what it was before it became `Restated`.
    pub(super) again: Option<Kind>,
    /// Where the value of `isSidechain` stands in the line, where that is `true`: offset and length.
    pub(super) side_span: Option<(usize, usize)>,
    /// The record that it says it was copied from.
    pub(super) origin: Option<Key>,
    /// Whether its client does not read it: something else stands before it on its line.
    pub(super) is_unread: bool,
    /// Whether another record follows on the same line.
    pub(super) is_joined: bool,
    /// Whether it is a message that its client drops: it finds nothing in it that could be sent.
    pub(super) is_empty: bool,
    /// Whether it is of a compaction's artifact, which is taken whole and as it is.
    pub(super) of_artifact: bool,
    /// Whether it says what files were: it ends no conversation, and stands in for no parent.
    pub(super) is_snapshot: bool,
    /// Whether it is what a fork is told, which ends no conversation.
    pub(super) is_briefing: bool,
    /// When it was written: microseconds since 1970.
    pub(super) time: Option<i64>,
    /// Calls it makes, hashed.
    pub(super) calls: Box<[u64]>,
    /// Calls it answers, hashed.
    pub(super) answers: Box<[u64]>,
    /// For a boundary: the records that its compaction keeps, oldest first.
    pub(super) preserved: Box<[Key]>,
    /// For a boundary in a copy: what it says it keeps, by the ids that the records had where they were copied from.
    pub(super) stated: Option<Box<[Key]>>,
    /// For a boundary: whether `preserved` names the first and the last of a chain only.
    pub(super) keeps_chain: bool,
    /// For a boundary: what it says of its compaction.
    pub(super) metadata: Option<Box<Metadata>>,
}

/// Ids of a line that are no UUIDs, with their keys: only such texts must be remembered.
pub(super) type Names = Vec<(Key, Box<str>)>;

/// Hashes a short id to 64 bits: calls and messages of one transcript are thousands, not billions. Never stored.
pub(super) fn short(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(id.as_bytes());
    hasher.finish()
}

/// What a boundary says of its compaction.
#[derive(Debug, Clone)]
pub(super) struct Metadata {
    /// Where the value of `compactMetadata` stands in its line.
    pub(super) span: Range<usize>,
    /// What it is: of a boundary that stands there again, what the last copy says.
    pub(super) said: String,
    /// Whether it says what is kept, if only that it is nothing.
    pub(super) lists: bool,
    /// The record that what is kept hangs below.
    pub(super) anchor: Option<Key>,
    /// Whether it is what stands in the line.
    pub(super) is_own: bool,
}

/// A row, and what it was read from.
pub(super) struct RowRead<'r> {
    pub(super) row: Row,
    pub(super) whole: Option<&'r Whole<'r>>,
    /// The part of its line, where that is no single record.
    pub(super) part: Option<&'r Salvaged<'r>>,
}

/// Where a line is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Which bytes, as `Piece::segment` counts them.
    pub(super) segment: usize,
    /// Bytes from their start.
    pub(super) offset: u64,
}

impl Row {
    /// Looks at one line, with its newline if it has one. Never fails: what cannot be read is `Unreadable`.
    #[cfg(test)]
    pub(super) fn read(line: &[u8], place: Place, names: &mut Names) -> Self {
        Self::of((line, Whole::parse(line).ok().as_ref()), place, names)
    }

    /// Looks at one line and hands out each record of it, with what was read of it; most lines are one, others are taken apart.
    /// `begins_file` says whether it is the first of a transcript.
    pub(super) fn each(
        (line, begins_file): (&[u8], bool),
        place: Place,
        names: &mut Names,
        take: &mut dyn FnMut(RowRead<'_>),
    ) {
        let whole = Whole::parse(line).ok();
        if whole.is_some() || is_blank(line) {
            let row = Self::of((line, whole.as_ref()), place, names);
            return take(RowRead { row, whole: whole.as_ref(), part: None });
        }
        for part in apart(line, begins_file) {
            let Range { start, end } = part.range;
            let record = part.record.as_ref().and_then(|record| Whole::parse(record.as_bytes()).ok());
            let offset = place.offset + start as u64;
            let bytes = line.get(start..end).unwrap_or_default();
            let mut row = Self::of((bytes, record.as_ref()), Place { offset, ..place }, names);
            let place = |(at, length): (usize, usize)| {
                let (from, to) = (part.place(line, at), part.place(line, at + length));
                (from - start, to - from)
            };
            row.parent_span = row.parent_span.map(place);
            row.side_span = row.side_span.map(place);
            if let Some(metadata) = row.metadata.as_deref_mut() {
                let (at, length) = place((metadata.span.start, metadata.span.len()));
                metadata.span = at..at + length;
            }
            row.is_unread = record.is_some() && !part.is_first;
            row.is_joined = end < line.len();
            take(RowRead { row, whole: record.as_ref(), part: Some(&part) });
        }
    }

    /// Lets a boundary keep what another copy of it keeps.
    pub(super) fn say_again(&mut self, copy: &Self) {
        if let (Some(metadata), Some(last)) = (self.metadata.as_deref_mut(), copy.metadata.as_deref())
            && metadata.said != last.said
        {
            *metadata = Metadata { span: metadata.span.clone(), is_own: false, ..last.clone() };
            self.preserved.clone_from(&copy.preserved);
            self.keeps_chain = copy.keeps_chain;
        }
    }

    /// Looks at one line and what was read of it.
    pub(super) fn of((line, whole): (&[u8], Option<&Whole<'_>>), place: Place, names: &mut Names) -> Self {
        let mut row = Self {
            segment: place.segment,
            offset: place.offset,
            length: line.len() as u64,
            kind: Kind::Unreadable,
            key: None,
            parent: Link::Absent,
            other: None,
            parent_span: None,
            message: None,
            sidechain: false,
            has_agent: false,
            explicit: false,
            again: None,
            side_span: None,
            origin: None,
            is_unread: false,
            is_joined: false,
            is_empty: false,
            of_artifact: false,
            is_snapshot: false,
            is_briefing: false,
            time: None,
            calls: Box::default(),
            answers: Box::default(),
            preserved: Box::default(),
            stated: None,
            keeps_chain: false,
            metadata: None,
        };
        if let Some(whole) = whole {
            row.fill(whole, names);
        } else if is_blank(line) {
            row.kind = Kind::Blank;
        }
        row
    }

    fn fill(&mut self, Whole { record, inside }: &Whole<'_>, names: &mut Names) {
        self.kind = kind_of(record);
        self.sidechain = record.is_sidechain_record();
        self.has_agent = record.agent_id.is_some();
        self.time = record.time().map(Timestamp::as_micros);
        if !self.kind.is_node() {
            let about = record.leaf_uuid.or(record.message_id);
            let is_nothing = record.leaf_uuid.is_some_and(|field| field.is_null());
            self.parent =
                key_of(about, names).map_or(if is_nothing { Link::Root } else { Link::Absent }, Link::Of);
            self.other = key_of(record.cut_uuid, names);
            self.explicit = is_true(record.explicit);
            return;
        }
        self.key = key_of(record.uuid, names);
        self.parent = match record.parent() {
            ParentLink::Absent => Link::Absent,
            ParentLink::Root => Link::Root,
            ParentLink::Of(_) => key_of(record.parent_uuid, names).map_or(Link::Absent, Link::Of),
        };
        let span = |field: Field<'_>| (field.span().start, field.span().len());
        self.parent_span = record.parent_uuid.map(span);
        self.side_span = record.is_sidechain.filter(|_| self.sidechain).map(span);
        self.origin = key_of(fork_of(record), names);
        if self.kind == Kind::Boundary {
            self.other = key_of(record.logical_parent_uuid, names);
            let kept = Kept::of(record);
            self.metadata = record.compact_metadata.map(|field| {
                let said = field.raw().to_owned();
                let anchor = kept.as_ref().and_then(|kept| kept.anchor.as_deref()).map(|id| named(id, names));
                Box::new(Metadata { span: field.span(), said, lists: kept.is_some(), anchor, is_own: true })
            });
            if let Some(kept) = kept {
                self.preserved = kept.ids.iter().map(|id| named(id, names)).collect();
                self.keeps_chain = kept.is_chain;
            }
        }
        if self.kind == Kind::Prompt {
            self.other = key_of(record.sent_as_uuid, names);
        }
        let is_one = |field: Option<Field<'_>>, name: &str| field.is_some_and(|field| is_string(field, name));
        self.is_snapshot = self.kind == Kind::System && is_one(record.subtype, "file_snapshot");
        let kind = record.attachment.filter(|_| self.kind == Kind::Attachment);
        self.is_briefing =
            is_one(kind.and_then(|attachment| kept::member(attachment, "type")), "fork_briefing");
        self.read_message(inside);
        self.is_empty = self.kind.is_message() && !is_sendable(inside, self.kind);
    }

    fn read_message(&mut self, inside: &Inside<'_>) {
        if self.kind == Kind::Assistant {
            let id = inside.message.and_then(|message| text(message.id));
            self.message = id.map(|id| short(&id));
        }
        let (mut calls, mut answers) = (Vec::new(), Vec::new());
        for block in inside.content.blocks() {
            if block.is_type("tool_use") && self.kind == Kind::Assistant {
                calls.extend(text(block.id).map(|id| short(&id)));
            } else if block.is_type("tool_result") {
                answers.extend(text(block.tool_use_id).map(|id| short(&id)));
                if matches!(self.kind, Kind::Prompt | Kind::Meta) {
                    self.kind = Kind::Result;
                }
            }
        }
        self.calls = calls.into_boxed_slice();
        self.answers = answers.into_boxed_slice();
    }
}

fn kind_of(record: &Record<'_>) -> Kind {
    let kind = match &*record.type_text() {
        "user" if record.is_compaction_summary() => Kind::Summary,
        "user" if is_true(record.is_meta) => Kind::Meta,
        "user" => Kind::Prompt,
        "assistant" => Kind::Assistant,
        "system" if record.is_compact_boundary() => Kind::Boundary,
        "system" => Kind::System,
        "attachment" => Kind::Attachment,
        "progress" => Kind::Progress,
        "last-prompt" => return Kind::Checkpoint,
        _ => return Kind::Metadata,
    };
    // Without an id of its own nothing can hang on it, and it hangs on nothing: the loader reads over it.
    if record.uuid_text().is_some() { kind } else { Kind::Metadata }
}

/// Returns whether the client finds something in a message that it can send: a text, or a block that says what it is.
fn is_sendable(inside: &Inside<'_>, kind: Kind) -> bool {
    match &inside.content {
        Content::Text(text) => {
            kind != Kind::Assistant || text.text().is_some_and(|text| !text.trim().is_empty())
        }
        Content::List(elements) => {
            let has_type = |block: &Block<'_>| text(block.block_type).is_some();
            (elements.is_empty() && kind == Kind::Assistant)
                || elements.iter().any(|element| element.block.as_ref().is_some_and(has_type))
        }
        Content::Absent | Content::Other(_) => false,
    }
}

fn key_of(field: Option<Field<'_>>, names: &mut Names) -> Option<Key> {
    let id = text(field)?;
    Some(named(&id, names))
}

fn named(id: &str, names: &mut Names) -> Key {
    let (key, is_uuid) = Key::of(id);
    if !is_uuid {
        names.push((key, id.into()));
    }
    key
}
