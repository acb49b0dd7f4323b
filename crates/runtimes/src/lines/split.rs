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
use super::facts::{Facts, Hints, Templates};
use super::unknown::Unknown;
use super::{Dialect, Line, Turn};
use crate::adapter::{Cut, SegmentFacts, SessionFacts, Splitter};
use crate::json::{RecordError, is_blank};

/// The version of the state that [`Splitter::state`] returns; another one is treated as none.
const STATE_VERSION: u64 = 1;

/// Notes about unreadable lines that one splitter gives: a file of garbage should not fill the memory.
const UNREADABLE_NOTES_MAX: u64 = 100;

/// Where commits of a format end whose transcripts are lines.
pub(crate) trait Rule: Send {
    fn templates(&self) -> Templates;

    /// Takes the next line that is not blank: advances `split` and says where a commit ends.
    fn line(&self, split: &mut Split, line: &[u8], notes: &mut Vec<Note>) -> Cut;
}

/// Everything that decides future cuts, at a closed boundary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ground {
    pub(crate) facts: Facts,
    /// Complete lines so far, for notes.
    pub(crate) lines: u64,
    /// Hash of the last answer's message id; ids are foreign and so of any length.
    pub(crate) message: Option<String>,
}

/// What the open commit holds so far; nothing at a closed boundary.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Open {
    /// Whether the turn at its end holds a part of the conversation.
    pub(crate) has_conversation: bool,
    /// Whether a compaction began in it whose summary has not come.
    pub(crate) awaits_summary: bool,
    /// Places in it where a turn ended.
    turns: u32,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) counts: Counts,
}

impl Open {
    pub(crate) const fn holds_conversation(&self) -> bool {
        self.has_conversation || self.turns > 0
    }

    const fn facts(&self, commit_type: CommitType) -> SegmentFacts {
        SegmentFacts { commit_type, timestamp: self.timestamp, counts: self.counts }
    }
}

/// How far a transcript is split.
pub(crate) struct Split {
    pub(crate) granularity: Granularity,
    pub(crate) ground: Ground,
    pub(crate) open: Open,
    /// The ground at the last closed boundary.
    closed: Ground,
    pub(crate) unreadable: u64,
    /// Lines that a note would be about.
    noted: u64,
    pub(crate) unknown: Unknown,
}

impl Split {
    /// Counts the turn that ends here, and returns whether a commit ends with it.
    pub(crate) fn ends_turn(&mut self) -> bool {
        self.open.has_conversation = false;
        self.open.turns += 1;
        match self.granularity {
            Granularity::Turn | Granularity::Message => true,
            Granularity::Every(turns) => self.open.turns >= turns,
        }
    }

    /// Ends a commit behind the lines so far.
    pub(crate) fn close(&mut self, commit_type: CommitType) -> SegmentFacts {
        self.closed = self.ground.clone();
        std::mem::take(&mut self.open).facts(commit_type)
    }

    pub(crate) fn count(&mut self, counts: Counts) {
        self.open.counts = add(self.open.counts, counts);
    }

    pub(crate) fn note_unreadable(&mut self, line: &[u8], error: &RecordError, notes: &mut Vec<Note>) {
        self.note(NoteCode::UnparsableLine, &kept_as_it_is(line, error), notes);
    }

    pub(crate) fn note(&mut self, code: NoteCode, message: &str, notes: &mut Vec<Note>) {
        self.noted += 1;
        if self.noted > UNREADABLE_NOTES_MAX {
            return;
        }
        let more =
            if self.noted == UNREADABLE_NOTES_MAX { "; further unreadable lines are not listed" } else { "" };
        notes.push(Note::at_line(code, self.ground.lines, format!("{message}{more}")));
    }
}

/// Says of a line that is no record why, and how large it is.
pub(super) fn kept_as_it_is(line: &[u8], why: &dyn std::fmt::Display) -> String {
    let bytes = line.len();
    let nul = if line.contains(&0) { " with NUL bytes" } else { "" };
    format!("{why}: {bytes} bytes{nul} kept as they are")
}

/// Splits a transcript by the rule of its format.
pub(crate) struct LineSplitter<R> {
    rule: R,
    split: Split,
}

impl<R: Rule> LineSplitter<R> {
    /// Starts at the beginning, or where `state` was left; a state that cannot be read is none.
    pub(crate) fn new(rule: R, granularity: Granularity, state: Option<&[u8]>) -> Self {
        let ground = state.and_then(|state| Ground::read(state, rule.templates())).unwrap_or_default();
        let closed = ground.clone();
        let (open, unknown) = (Open::default(), Unknown::default());
        Self { rule, split: Split { granularity, closed, ground, open, unreadable: 0, noted: 0, unknown } }
    }
}

impl Dialect {
    fn take(&self, split: &mut Split, line: Line) -> Cut {
        line.unknown_names().for_each(|name| split.unknown.count(name));
        let message = match &line.meta.message_id {
            Some(id) if split.granularity == Granularity::Message => {
                Some(blake3::hash(id.as_bytes()).to_hex().to_string())
            }
            _ => None,
        };
        let is_same = message.is_some() && message == split.ground.message;
        let begins_message = split.granularity == Granularity::Message && !is_same;
        let mut cut = Cut::default();
        if split.open.awaits_summary && ends_mark(line.turn) {
            cut.before = Some(split.close(CommitType::Compaction));
        } else if closes_before(split, line.turn, begins_message) {
            // The state at this boundary knows nothing of the line after it.
            cut.before = Some(split.close(CommitType::Delta));
        }
        split.ground.lines += 1;
        if line.turn == Turn::Conversation && split.granularity == Granularity::Message {
            split.ground.message = message;
        }
        split.open.timestamp = split.open.timestamp.max(line.time);
        // What a line lists was said in it alone where nothing was said before.
        let listed = line.listed.iter().filter(|listed| listed.is_message).count() as u64;
        let is_alone = split.closed.lines == 0 && split.open.counts.messages == 0;
        let own = counts(&line);
        let messages = if is_alone { own.messages.max(listed) } else { own.messages };
        split.count(Counts { messages, ..own });
        split.ground.facts.learn(self.templates, line.hints, line.time);
        match line.turn {
            Turn::Prompt | Turn::Conversation => split.open.has_conversation = true,
            Turn::CompactionMark => split.open.awaits_summary = true,
            Turn::Compaction => {
                cut.after = Some(split.close(CommitType::Compaction));
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
}

/// Returns whether a commit ends before this line, and counts the turn that ends there.
fn closes_before(split: &mut Split, turn: Turn, begins_message: bool) -> bool {
    match turn {
        Turn::Prompt | Turn::Start | Turn::Settings | Turn::Clear | Turn::Header
            if split.open.has_conversation =>
        {
            split.ends_turn()
        }
        Turn::Compaction | Turn::CompactionMark => split.open.holds_conversation(),
        Turn::Conversation => begins_message && split.open.has_conversation,
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

/// Returns whether no summary can follow the mark of a compaction now.
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

impl Rule for &Dialect {
    fn templates(&self) -> Templates {
        self.templates
    }

    fn line(&self, split: &mut Split, line: &[u8], notes: &mut Vec<Note>) -> Cut {
        let error = match (self.read)(line) {
            Ok(read) => return self.take(split, read),
            Err(error) => error,
        };
        split.ground.lines += 1;
        let before = split.open.counts.entries;
        // What people are shown of the session, and nothing that decides a commit.
        for part in self.rescued(line) {
            split.count(part.line.as_ref().map_or(UNSEEN, counts));
            let Some(read) = part.line else { continue };
            read.unknown_names().for_each(|name| split.unknown.count(name));
            let hints = Hints { is_subagent: None, ..read.hints };
            split.ground.facts.learn(self.templates, hints, read.time);
        }
        if split.open.counts.entries == before {
            split.count(UNSEEN);
            split.unreadable += 1;
        }
        split.note_unreadable(line, &error, notes);
        Cut::default()
    }
}

impl<R: Rule> Splitter for LineSplitter<R> {
    fn line(&mut self, line: &[u8], notes: &mut Vec<Note>) -> Cut {
        if is_blank(line) {
            self.split.ground.lines += 1;
            return Cut::default();
        }
        self.rule.line(&mut self.split, line, notes)
    }

    fn facts(&self) -> &SessionFacts {
        self.split.ground.facts.session()
    }

    fn template(&self) -> Template {
        self.split.ground.facts.template(self.rule.templates())
    }

    fn open(&self) -> SegmentFacts {
        self.split.open.facts(CommitType::Delta)
    }

    fn state(&self) -> Vec<u8> {
        self.split.closed.write()
    }

    fn unknown(&self) -> &[(String, u64)] {
        self.split.unknown.types()
    }

    fn unreadable(&self) -> u64 {
        self.split.unreadable
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

    fn read(state: &[u8], templates: Templates) -> Option<Self> {
        let state: Value = serde_json::from_slice(state).ok()?;
        if state.get("v")?.as_u64()? != STATE_VERSION {
            return None;
        }
        Some(Self {
            facts: Facts::from_json(state.get("facts")?, templates)?,
            lines: state.get("lines")?.as_u64()?,
            message: state.get("message")?.as_str().map(str::to_owned),
        })
    }
}
