//! What a summary needs of one entry, counted once: names, lines, what its calls do and how they ended.
//!
//! Everything in it follows from the entry. How it is read is decided in `read`, and which of it goes into a summary in `compose`.

use std::ops::Range;

use stemmata_acts::{Certainty, Judged, TaskAct};

use super::limits::CHARS_A_TOKEN;
use crate::compact::names::Class;

/// The counters of one entry.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    /// All texts that the rest points into.
    pub(super) text: String,
    /// The names of the entry, each once, in the order of their first place.
    pub(super) names: Vec<LocalName>,
    pub(super) lines: Vec<Line>,
    /// Positions in `names`, for ranges of `lines` and `sentences`.
    pub(super) line_names: Vec<u32>,
    pub(super) sentences: Vec<Sentence>,
    pub(super) pieces: Vec<Piece>,
}

/// A piece of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    pub start: u32,
    pub length: u32,
}

/// A name within the entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LocalName {
    pub span: Span,
    pub class: Class,
    /// Of its text; the same name of any entry has the same.
    pub hash: u64,
}

/// A line with at least one name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// None where it is too short or too long to be quoted, and where the entry has it before.
    pub text: Option<Span>,
    /// Of its text with single blanks: the same line of any entry has the same.
    pub key: u64,
    pub names: Range<u32>,
}

/// A sentence of the assistant.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sentence {
    pub text: Span,
    pub key: u64,
    pub names: Range<u32>,
    /// Whether it has a word of decisions and results.
    pub decides: bool,
}

/// Who speaks in a piece of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    /// What clients put in: instructions, reminders.
    Client,
    Assistant,
    Call,
    Result,
}

impl Speaker {
    /// Whether the agent wrote it.
    pub(super) const fn is_agent(self) -> bool {
        matches!(self, Self::Assistant | Self::Call)
    }
}

/// A part of an entry: a text, a call or a result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub speaker: Speaker,
    pub chars: u32,
    pub lines: Range<u32>,
    pub sentences: Range<u32>,
    /// The file that a call is about, where it is one.
    pub head: Option<u32>,
    pub call: Option<CallRecord>,
    pub result: Option<ResultRecord>,
    /// What a user said, whole.
    pub prompt: Option<Span>,
}

/// What a call does.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallRecord {
    /// Hash of its id.
    pub id: u64,
    pub judged: Judged,
    pub commands: Vec<Span>,
    pub files: Vec<FileRecord>,
    pub tasks: Vec<TaskAct>,
    /// Hash of the name of the call that this one goes on with.
    pub follows: Option<u64>,
}

/// What a call does to a file that it changes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileRecord {
    /// Position in the names.
    pub path: u32,
    pub change: Change,
    pub certainty: Certainty,
    /// Names that the change puts there.
    pub added: Vec<u32>,
    /// A line that it puts there.
    pub line: Option<Span>,
}

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Created,
    Edited,
    Deleted,
}

/// What a call returned.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ResultRecord {
    /// Hash of the call's id.
    pub id: u64,
    /// How the call ended, by each way to judge it: the call is in another entry.
    pub ended: [Ended; 4],
    /// Hash of the name by which later calls go on with it.
    pub handle: Option<u64>,
    pub complains_of_files: bool,
    pub errors: Vec<Span>,
    /// The text, where it says how tasks stand.
    pub tasks: Option<Span>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Passed,
    Failed,
    Refused,
    Stopped,
    Running,
    Unclear,
}

impl Counted {
    /// Returns the estimated tokens of what the entry says; of users only where `of_users`, else of all others too.
    pub fn tokens(&self, of_users: bool) -> u64 {
        let own = self.pieces.iter().filter(|piece| !of_users || piece.speaker == Speaker::User);
        own.map(|piece| u64::from(piece.chars)).sum::<u64>().div_ceil(CHARS_A_TOKEN)
    }

    pub(super) fn text(&self, span: Span) -> &str {
        let start = usize::try_from(span.start).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(span.length).unwrap_or(usize::MAX));
        self.text.get(start..end).unwrap_or_default()
    }

    pub(super) fn lines_of(&self, piece: &Piece) -> &[Line] {
        slice(&self.lines, &piece.lines)
    }

    pub(super) fn sentences_of(&self, piece: &Piece) -> &[Sentence] {
        slice(&self.sentences, &piece.sentences)
    }

    pub(super) fn names_of(&self, range: &Range<u32>) -> &[u32] {
        slice(&self.line_names, range)
    }
}

fn slice<'a, T>(all: &'a [T], range: &Range<u32>) -> &'a [T] {
    let at = |position: u32| usize::try_from(position).unwrap_or(usize::MAX);
    all.get(at(range.start)..at(range.end)).unwrap_or_default()
}

/// Returns which of the four ways of a [`ResultRecord`] a judgement is.
pub(super) const fn way(judged: Judged) -> usize {
    match judged {
        Judged::Command { is_checking: true } => 0,
        Judged::Command { is_checking: false } => 1,
        Judged::Change => 2,
        Judged::Tool => 3,
    }
}

/// The ways of a [`ResultRecord`] in their order.
pub(super) const WAYS: [Judged; 4] = [
    Judged::Command { is_checking: true },
    Judged::Command { is_checking: false },
    Judged::Change,
    Judged::Tool,
];

/// Returns a hash of a text, the same on every machine: the low bits of FNV-1a, mixed, since tables take them as they are.
pub(in crate::compact) fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64;
    let folded = bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    mixed(folded)
}

/// Spreads what differs in some bits over all of them.
pub(super) const fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) ^ (hash >> 29)
}
