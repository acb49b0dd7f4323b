//! What is planned of a chain: contexts, and what a compaction keeps. How each format plans them is not said here.

use std::collections::HashSet;

use stemmata_model::{Entry, EntryId, Note};

use super::{Decoded, Piece};

/// Where a materialization stops, as a planner needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanStop {
    /// At the nearest compaction or snapshot on the active path.
    Compaction,
    /// At the beginning: all real entries, compactions skipped.
    Root,
    /// At the segment that is marked `is_stop`, inclusive.
    Ancestor,
}

/// How to make a context from a chain, with reasons.
#[derive(Debug, Clone, Default)]
pub struct ContextPlan {
    /// What to emit, in order.
    pub pieces: Vec<Piece>,
    /// Entries that were left out because they are on abandoned branches.
    pub abandoned_entries: u64,
    /// Entries that got another parent: (entry, new parent).
    pub reparented: Vec<(EntryId, Option<EntryId>)>,
    /// Entries that are marked as a subagent's and stand in the way of the conversation: they are sent as a part of it.
    pub adopted: HashSet<EntryId>,
    /// Entries whose parent is missing from the transcript and was made up for.
    pub recovered: u64,
    /// Compactions that were skipped.
    pub skipped_compactions: u64,
    /// Entries that visibility lines hide from the model.
    pub hidden_entries: u64,
    /// Hashes of the ids of messages that the context holds in a line which lists several; the messages' own lines may be left
    /// out. Asked by [`ContextPlan::says_within`].
    pub(crate) within: HashSet<[u8; 32]>,
    /// Segments that were looked at.
    pub segments_read: usize,
    /// What else the user should know.
    pub notes: Vec<Note>,
}

impl ContextPlan {
    /// Returns whether a line of the context that lists several messages holds this one.
    pub fn says_within(&self, id: &EntryId) -> bool {
        !self.within.is_empty() && self.within.contains(blake3::hash(id.as_str().as_bytes()).as_bytes())
    }
}

/// A compaction within a document: what stood before it, and what a context begins with since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentCompaction {
    /// Bytes that end the last entry before it; 0 where the document begins with what it keeps.
    pub before: usize,
    /// Entries within them.
    pub entries_before: u64,
    /// A document by itself: what a context begins with since, the compaction last.
    pub artifact: Vec<u8>,
    /// Entries of the document up to and with the compaction.
    pub entries_through: u64,
    /// What tells it from others: a later state of the document has it again, with the same name.
    pub name: [u8; 32],
}

/// The records of a compaction that a runtime wrote, as ranges.
#[derive(Debug, Clone, Default)]
pub struct CompactionPlan {
    /// What the compaction's artifact is made of: its own boundary and summary (segment number 0, native),
    /// then preserved records of earlier segments.
    pub pieces: Vec<Piece>,
    /// What could not be found.
    pub notes: Vec<Note>,
}

/// What a compaction of ours keeps, and where in its chain.
#[derive(Debug, Clone, Copy)]
pub struct Keeps<'a> {
    /// The first entry that the summary stands for, or `None` if it stands for the context from its beginning.
    pub covers_from: Option<&'a EntryId>,
    /// The first entry that is kept behind the summary, or `None` if nothing is.
    pub keeps_from: Option<&'a EntryId>,
    /// The kept entries that a model sees, oldest first.
    pub kept: &'a [Entry],
    /// What stands last on the chain, or the context where something is kept: the record follows it.
    pub last: &'a Decoded,
}

impl<'a> Keeps<'a> {
    /// Keeps nothing: the summary stands for the whole context.
    pub const fn nothing(last: &'a Decoded) -> Self {
        Self { covers_from: None, keeps_from: None, kept: &[], last }
    }
}

/// How a compaction of ours keeps what was said last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// As ranges of what is stored, before the summary and behind it: `plan_compaction` finds them again.
    Slices,
    /// The same, behind the summary only: it stands for the context from its beginning.
    Recent,
    /// Written once more, inside the compaction's record.
    Restated,
    /// Not at all.
    Nothing,
}
