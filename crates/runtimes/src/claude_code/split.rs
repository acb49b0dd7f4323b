//! Where commits end in a Claude Code transcript: the normative turn rule of `claude-code-v1`.
//!
//! Decides boundaries only; what lines mean is in `decode`. Changing a rule here needs a new format id,
//! for the same bytes must give the same commits everywhere.
//!
//! - A commit closes before a *real user record* (`Kind::Prompt`), provided that the open turn
//!   already holds a `user` or `assistant` record; so metadata ahead of the first prompt is part of its turn.
//! - It closes before a compaction's boundary record, where it holds a `user` or `assistant` record, and
//!   after the summary that follows; that commit is the compaction. Where the next real user record
//!   comes first, the boundary is part of a delta. A summary without a boundary, as old versions
//!   write it, is a compaction of its own.
//! - `message` closes before each record that begins a message as well: a user record, or an assistant
//!   record of another `message.id` than the assistant record before. `every:N` closes at each N-th place
//!   where `turn` would. Between a boundary and its summary only a real user record closes.
//! - In a main transcript, records of subagents neither open turns nor compact.

use serde_json::{Value, json};
use stemmata_model::{CommitType, Counts, EntryKind, Granularity, Note, NoteCode, Template, Timestamp};

use super::apart::apart;
use super::count::{UNSEEN, add, counts};
use super::facts::{FactKeeper, template};
use super::kind::{Class, each_unknown};
use super::record::Record;
use super::whole::Whole;
use crate::adapter::{Cut, SegmentFacts, SessionFacts, Splitter};
use crate::apart::told;
use crate::json::{is_blank, text};
use crate::lines::unknown::Unknown;

/// The version of the state that [`Splitter::state`] returns; another one is treated as none.
const STATE_VERSION: u64 = 1;

/// Notes about unreadable lines that one splitter gives: a file of garbage should not fill the memory.
const UNREADABLE_NOTES_MAX: u64 = 100;

/// Everything that decides future cuts, at a closed boundary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Ground {
    keeper: FactKeeper,
    /// Complete lines so far, for notes.
    lines: u64,
    /// Hash of the last assistant record's `message.id`; ids are foreign and so of any length.
    message: Option<String>,
}

/// What the open commit holds so far; nothing at a closed boundary.
#[derive(Debug, Clone, Copy, Default)]
struct Open {
    /// Whether the turn at its end holds a `user` or `assistant` record.
    has_conversation: bool,
    /// Places in it where a turn ended.
    turns: u32,
    /// Whether it began with a compaction's boundary whose summary has not come.
    awaits_summary: bool,
    timestamp: Option<Timestamp>,
    counts: Counts,
}

/// Splits a transcript; see the module.
#[derive(Debug)]
pub(super) struct LineSplitter {
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
    pub(super) fn new(granularity: Granularity, state: Option<&[u8]>) -> Self {
        let ground = state.and_then(Ground::read).unwrap_or_default();
        let closed = ground.clone();
        let (open, unknown) = (Open::default(), Unknown::default());
        Self { granularity, closed, ground, open, unreadable: 0, noted: 0, unknown }
    }

    fn note_unreadable(&mut self, line: &[u8], error: &dyn std::fmt::Display, notes: &mut Vec<Note>) {
        let bytes = line.len();
        let nul = if line.contains(&0) { " with NUL bytes" } else { "" };
        let message = format!("{error}: {bytes} bytes{nul} kept as they are");
        self.note_line(NoteCode::UnparsableLine, &message, notes);
    }

    fn note_line(&mut self, code: NoteCode, message: &str, notes: &mut Vec<Note>) {
        self.noted += 1;
        if self.noted > UNREADABLE_NOTES_MAX {
            return;
        }
        let more =
            if self.noted == UNREADABLE_NOTES_MAX { "; further unreadable lines are not listed" } else { "" };
        notes.push(Note::at_line(code, self.ground.lines, format!("{message}{more}")));
    }

    /// Takes a line that is no single record: it cuts nothing and dates nothing, but its records are counted, and say what they
    /// say of the session.
    fn take_parts(&mut self, line: &[u8], error: &dyn std::fmt::Display, notes: &mut Vec<Note>) {
        let parts = apart(line, false);
        if parts.iter().all(|part| part.record.is_none()) {
            self.unreadable += 1;
            self.note_unreadable(line, error, notes);
        } else {
            self.note_line(NoteCode::Degraded, &told(&parts), notes);
        }
        for part in &parts {
            let whole = part.record.as_ref().and_then(|record| Whole::parse(record.as_bytes()).ok());
            let Some(whole) = whole else {
                self.open.counts = add(self.open.counts, UNSEEN);
                continue;
            };
            each_unknown(&whole, &mut |name| self.unknown.count(name));
            let Whole { record, inside } = whole;
            let class = Class::of(&record, inside);
            self.open.counts = add(self.open.counts, counts(&class));
            self.ground.keeper.learn_beside(&record, record.time());
            if Kind::of(&record, &class, self.ground.keeper.is_subagent()) == Kind::Prompt {
                self.ground.keeper.learn_prompt(&class);
            }
        }
    }

    /// Ends a commit behind the lines so far.
    fn close(&mut self, commit_type: CommitType) -> SegmentFacts {
        self.closed = self.ground.clone();
        std::mem::take(&mut self.open).facts(commit_type)
    }

    /// Returns whether a commit ends before this record, and counts the turn that ends there.
    fn closes_before(&mut self, kind: Kind, begins_message: bool) -> bool {
        match kind {
            Kind::Prompt if self.open.awaits_summary => true,
            Kind::Prompt if self.open.has_conversation => {
                self.open.has_conversation = false;
                self.open.turns += 1;
                match self.granularity {
                    Granularity::Turn | Granularity::Message => true,
                    Granularity::Every(turns) => self.open.turns >= turns,
                }
            }
            Kind::Boundary => self.open.holds_conversation(),
            // A summary of an old version, without a boundary.
            Kind::Summary => !self.open.awaits_summary && self.open.holds_conversation(),
            Kind::Conversation => begins_message && self.open.has_conversation && !self.open.awaits_summary,
            Kind::Prompt | Kind::Other => false,
        }
    }
}

impl Open {
    const fn holds_conversation(&self) -> bool {
        self.has_conversation || self.turns > 0
    }

    const fn facts(&self, commit_type: CommitType) -> SegmentFacts {
        SegmentFacts { commit_type, timestamp: self.timestamp, counts: self.counts }
    }
}

/// Returns the hash of a record's `message.id`.
fn message_hash(class: &Class<'_>) -> Option<String> {
    let id = text(class.message?.id)?;
    Some(blake3::hash(id.as_bytes()).to_hex().to_string())
}

/// What a record is to the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A real user record.
    Prompt,
    /// Any other user or assistant record.
    Conversation,
    /// A compaction begins.
    Boundary,
    /// A compaction's summary.
    Summary,
    Other,
}

impl Kind {
    fn of(record: &Record<'_>, class: &Class<'_>, in_subagent_file: bool) -> Self {
        let is_own = in_subagent_file || !record.is_sidechain_record();
        if is_own && record.is_compact_boundary() {
            Self::Boundary
        } else if is_own && record.is_compaction_summary() {
            Self::Summary
        } else if record.is_user_besides_results(in_subagent_file) && class.kind != EntryKind::ToolResult {
            Self::Prompt
        } else if record.is_type("user") || record.is_type("assistant") {
            Self::Conversation
        } else {
            Self::Other
        }
    }
}

impl Splitter for LineSplitter {
    fn line(&mut self, line: &[u8], notes: &mut Vec<Note>) -> Cut {
        if is_blank(line) {
            self.ground.lines += 1;
            return Cut::default();
        }
        let whole = match Whole::parse(line) {
            Ok(whole) => whole,
            Err(error) => {
                self.ground.lines += 1;
                self.take_parts(line, &error, notes);
                return Cut::default();
            }
        };
        each_unknown(&whole, &mut |name| self.unknown.count(name));
        let Whole { record, inside } = whole;
        let class = Class::of(&record, inside);
        let kind = Kind::of(&record, &class, self.ground.keeper.is_subagent_with(&record));
        // Only `message` needs the second look into every answer.
        let message = (self.granularity == Granularity::Message && record.is_type("assistant"))
            .then(|| message_hash(&class));
        let begins_message = match &message {
            Some(id) => id.is_none() || *id != self.ground.message,
            None => self.granularity == Granularity::Message,
        };
        let mut cut = Cut::default();
        if self.closes_before(kind, begins_message) {
            // The state at this boundary knows nothing of the line after it.
            cut.before = Some(self.close(CommitType::Delta));
        }
        let time = record.time();
        self.ground.lines += 1;
        self.ground.keeper.learn(&record, time);
        if kind == Kind::Prompt {
            self.ground.keeper.learn_prompt(&class);
        }
        if let Some(id) = message {
            self.ground.message = id;
        }
        self.open.timestamp = self.open.timestamp.max(time);
        self.open.counts = add(self.open.counts, counts(&class));
        match kind {
            Kind::Prompt | Kind::Conversation => self.open.has_conversation = true,
            Kind::Boundary => self.open.awaits_summary = true,
            Kind::Summary => {
                cut.after = Some(self.close(CommitType::Compaction));
            }
            Kind::Other => {}
        }
        cut
    }

    fn facts(&self) -> &SessionFacts {
        self.ground.keeper.facts()
    }

    fn template(&self) -> Template {
        template(self.ground.keeper.is_subagent())
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
            "facts": self.keeper.to_json(),
        });
        state.to_string().into_bytes()
    }

    fn read(state: &[u8]) -> Option<Self> {
        let state: Value = serde_json::from_slice(state).ok()?;
        if state.get("v")?.as_u64()? != STATE_VERSION {
            return None;
        }
        Some(Self {
            keeper: FactKeeper::from_json(state.get("facts")?)?,
            lines: state.get("lines")?.as_u64()?,
            message: state.get("message")?.as_str().map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests;
