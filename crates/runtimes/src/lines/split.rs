//! Where commits end: the turn rule of formats whose lines stand for themselves.
//!
//! Normative for every format that is read this way; changing a rule here needs new format ids, for the same bytes
//! must give the same commits everywhere.
//!
//! - A commit closes before a prompt, or before what begins a turn ahead of it, provided that the open turn already
//!   holds a part of the conversation; so what stands ahead of a prompt is part of its turn.
//! - It closes before a compaction where it holds a part of the conversation, and after it; that commit is the
//!   compaction.
//! - The mark of a compaction closes before itself as a compaction does. Its commit is the compaction: it closes behind the
//!   summary that follows, or, where none does, before the next line that is said or that changes what was said.
//! - `message` closes before each part of a conversation as well, lines of one message kept together.
//!   `every:N` closes at each N-th place where `turn` would.

use serde_json::{Value, json};
use stemmata_model::{CommitType, Counts, Granularity, Note, NoteCode, Template, Timestamp};

use super::count::{UNSEEN, add, counts};
use super::facts::{Facts, Hints};
use super::unknown::Unknown;
use super::{Dialect, Line, Turn};
use crate::adapter::{Cut, SegmentFacts, SessionFacts, Splitter};
use crate::json::is_blank;

/// The version of the state that [`Splitter::state`] returns; another one is treated as none.
const STATE_VERSION: u64 = 1;

/// Notes about unreadable lines that one splitter gives: a file of garbage should not fill the memory.
const UNREADABLE_NOTES_MAX: u64 = 100;

/// Everything that decides future cuts, at a closed boundary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Ground {
    facts: Facts,
    /// Complete lines so far, for notes.
    lines: u64,
    /// Hash of the last answer's message id; ids are foreign and so of any length.
    message: Option<String>,
}

/// What the open commit holds so far; nothing at a closed boundary.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    /// Whether the turn at its end holds a part of the conversation.
    has_conversation: bool,
    /// Whether it is a compaction whose summary may still follow.
    is_marked: bool,
    /// Places in it where a turn ended.
    turns: u32,
    timestamp: Option<Timestamp>,
    counts: Counts,
}

impl Open {
    const fn facts(&self, commit_type: CommitType) -> SegmentFacts {
        SegmentFacts { commit_type, timestamp: self.timestamp, counts: self.counts }
    }
}

/// Splits a transcript; see the module.
pub(crate) struct LineSplitter {
    dialect: &'static Dialect,
    granularity: Granularity,
    ground: Ground,
    open: Open,
    /// The ground at the last closed boundary.
    closed: Ground,
    unreadable: u64,
    /// Lines that a note would be about.
    noted: u64,
    unknown: Unknown,
}

impl LineSplitter {
    /// Starts at the beginning, or where `state` was left; a state that cannot be read is none.
    pub(crate) fn new(dialect: &'static Dialect, granularity: Granularity, state: Option<&[u8]>) -> Self {
        let ground = state.and_then(Ground::read).unwrap_or_default();
        let closed = ground.clone();
        let (open, unknown) = (Open::default(), Unknown::default());
        Self { dialect, granularity, closed, ground, open, unreadable: 0, noted: 0, unknown }
    }

    /// Returns whether a commit ends before this line, and counts the turn that ends there.
    fn closes_before(&mut self, turn: Turn, begins_message: bool) -> bool {
        match turn {
            Turn::Prompt | Turn::Start | Turn::Settings | Turn::Clear | Turn::Header
                if self.open.has_conversation =>
            {
                self.open.has_conversation = false;
                self.open.turns += 1;
                match self.granularity {
                    Granularity::Turn | Granularity::Message => true,
                    Granularity::Every(turns) => self.open.turns >= turns,
                }
            }
            Turn::Compaction | Turn::CompactionMark => self.open.has_conversation || self.open.turns > 0,
            Turn::Conversation => begins_message && self.open.has_conversation,
            Turn::Prompt
            | Turn::Start
            | Turn::Settings
            | Turn::Clear
            | Turn::Header
            | Turn::Restated
            | Turn::Rewind(_)
            | Turn::RewindTo
            | Turn::Aside
            | Turn::Other => false,
        }
    }

    fn take(&mut self, line: Line) -> Cut {
        line.unknown_names().for_each(|name| self.unknown.count(name));
        let message = match &line.meta.message_id {
            Some(id) if self.granularity == Granularity::Message => {
                Some(blake3::hash(id.as_bytes()).to_hex().to_string())
            }
            _ => None,
        };
        let is_same = message.is_some() && message == self.ground.message;
        let begins_message = self.granularity == Granularity::Message && !is_same;
        let mut cut = Cut::default();
        if self.open.is_marked && ends_mark(line.turn) {
            cut.before = Some(self.close(CommitType::Compaction));
        } else if self.closes_before(line.turn, begins_message) {
            // The state at this boundary knows nothing of the line after it.
            cut.before = Some(self.close(CommitType::Delta));
        }
        self.ground.lines += 1;
        if line.turn == Turn::Conversation && self.granularity == Granularity::Message {
            self.ground.message = message;
        }
        self.open.timestamp = self.open.timestamp.max(line.time);
        // What a line lists was said in it alone where nothing was said before.
        let listed = line.listed.iter().filter(|listed| listed.is_message).count() as u64;
        let is_alone = self.closed.lines == 0 && self.open.counts.messages == 0;
        let own = counts(&line);
        let messages = if is_alone { own.messages.max(listed) } else { own.messages };
        self.open.counts = add(self.open.counts, Counts { messages, ..own });
        self.ground.facts.learn(self.dialect, line.hints, line.time);
        match line.turn {
            Turn::Prompt | Turn::Conversation => self.open.has_conversation = true,
            Turn::CompactionMark => self.open.is_marked = true,
            Turn::Compaction => {
                cut.after = Some(self.close(CommitType::Compaction));
            }
            Turn::Header
            | Turn::Start
            | Turn::Settings
            | Turn::Clear
            | Turn::Restated
            | Turn::Rewind(_)
            | Turn::RewindTo
            | Turn::Aside
            | Turn::Other => {}
        }
        cut
    }

    /// Ends a commit behind the lines so far.
    fn close(&mut self, commit_type: CommitType) -> SegmentFacts {
        self.closed = self.ground.clone();
        std::mem::take(&mut self.open).facts(commit_type)
    }

    fn note_unreadable(&mut self, line: &[u8], error: &dyn std::fmt::Display, notes: &mut Vec<Note>) {
        self.noted += 1;
        if self.noted > UNREADABLE_NOTES_MAX {
            return;
        }
        let bytes = line.len();
        let nul = if line.contains(&0) { " with NUL bytes" } else { "" };
        let more =
            if self.noted == UNREADABLE_NOTES_MAX { "; further unreadable lines are not listed" } else { "" };
        let message = format!("{error}: {bytes} bytes{nul} kept as they are{more}");
        notes.push(Note::at_line(NoteCode::UnparsableLine, self.ground.lines, message));
    }
}

/// Returns whether no summary follows the mark of a compaction any more.
const fn ends_mark(turn: Turn) -> bool {
    match turn {
        Turn::Prompt
        | Turn::Start
        | Turn::Settings
        | Turn::Clear
        | Turn::Conversation
        | Turn::Restated
        | Turn::Rewind(_)
        | Turn::RewindTo => true,
        // A client says its header again when it goes on.
        Turn::Compaction | Turn::CompactionMark | Turn::Header | Turn::Aside | Turn::Other => false,
    }
}

impl Splitter for LineSplitter {
    fn line(&mut self, line: &[u8], notes: &mut Vec<Note>) -> Cut {
        if is_blank(line) {
            self.ground.lines += 1;
            return Cut::default();
        }
        match (self.dialect.read)(line) {
            Ok(read) => self.take(read),
            Err(error) => {
                self.ground.lines += 1;
                let before = self.open.counts.entries;
                // What people are shown of the session, and nothing that decides a commit.
                for part in self.dialect.rescued(line) {
                    self.open.counts = add(self.open.counts, part.line.as_ref().map_or(UNSEEN, counts));
                    let Some(read) = part.line else { continue };
                    read.unknown_names().for_each(|name| self.unknown.count(name));
                    let hints = Hints { is_subagent: None, ..read.hints };
                    self.ground.facts.learn(self.dialect, hints, read.time);
                }
                if self.open.counts.entries == before {
                    self.open.counts = add(self.open.counts, UNSEEN);
                    self.unreadable += 1;
                }
                self.note_unreadable(line, &error, notes);
                Cut::default()
            }
        }
    }

    fn facts(&self) -> &SessionFacts {
        self.ground.facts.session()
    }

    fn template(&self) -> Template {
        self.ground.facts.template(self.dialect)
    }

    fn open(&self) -> SegmentFacts {
        self.open.facts(CommitType::Delta)
    }

    fn state(&self) -> Vec<u8> {
        self.closed.write()
    }

    fn unknown(&self) -> &[(String, u64)] {
        self.unknown.types()
    }

    fn unreadable(&self) -> u64 {
        self.unreadable
    }
}

impl Ground {
    fn write(&self) -> Vec<u8> {
        let state = json!({
            "v": STATE_VERSION,
            "lines": self.lines,
            "message": self.message,
            "facts": self.facts.to_json(),
        });
        state.to_string().into_bytes()
    }

    fn read(state: &[u8]) -> Option<Self> {
        let state: Value = serde_json::from_slice(state).ok()?;
        if state.get("v")?.as_u64()? != STATE_VERSION {
            return None;
        }
        Some(Self {
            facts: Facts::from_json(state.get("facts")?)?,
            lines: state.get("lines")?.as_u64()?,
            message: state.get("message")?.as_str().map(str::to_owned),
        })
    }
}
