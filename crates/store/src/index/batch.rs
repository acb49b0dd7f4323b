//! What is settled in an index at once: entries, the commits that hold them, where these were seen, and events.
//!
//! The engine makes it of what the store has; what its numbers mean is the engine's.

use stemmata_model::{CommitId, LedgerId};

use crate::seam::StoredAt;
use crate::write::SessionKey;

/// How far an index has followed the order of storing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Watermark {
    /// The last commit that was looked at; none: start with the first.
    pub through: Option<(StoredAt, CommitId)>,
}

/// Commits and events to settle, in one transaction.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexBatch {
    /// Where the index has to be.
    pub expected: Watermark,
    /// Where it is afterwards.
    pub next: Watermark,
    /// Entries that are not in the index yet, each once.
    pub entries: Vec<IndexEntry>,
    /// Commits in the order of storing, parents first.
    pub commits: Vec<IndexedCommit>,
    /// Where commits and events were seen.
    pub places: Vec<IndexPlace>,
    /// Commits that the index may hold already and that were seen since, by their places in [`IndexBatch::places`].
    pub seen: Vec<(usize, Vec<CommitId>)>,
    /// Events that are not in the index yet.
    pub events: Vec<IndexedEvent>,
    /// How far ledgers are followed now.
    pub ledgers: Vec<IndexedLedger>,
}

/// An entry as it is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// What makes it the same entry wherever it is. Its day is in the highest bits: keys in any order have each batch write
    /// pages all over the table of keys.
    pub key: u64,
    /// Its terms, each once, with how often it has them: 1 or more.
    pub terms: Vec<(String, u16)>,
    /// Its length in terms.
    pub length: u16,
    /// Role and kind.
    pub class: u8,
    /// What else it is.
    pub marks: u8,
    /// Minutes since 1970; 0 where it has no time.
    pub minute: u32,
    /// Who spoke.
    pub author: Option<String>,
}

/// An entry of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryRef {
    /// One that the index has, by its number.
    Known(u32),
    /// One of [`IndexBatch::entries`].
    New(usize),
}

/// A commit that the order of storing brings and that is not covered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedCommit {
    /// Where it stands.
    pub stored: StoredAt,
    /// Its id.
    pub id: CommitId,
    /// What it continues.
    pub parent: Option<CommitId>,
    /// What is indexed of it.
    pub state: IndexedState,
    /// Its entries in order; `None` for an entry that search leaves out.
    pub entries: Vec<Option<EntryRef>>,
    /// Positions of entries that begin a group, ascending.
    pub starts: Vec<u32>,
    /// Where it was seen, in [`IndexBatch::places`].
    pub places: Vec<usize>,
    /// Provisional commits that the index holds beside it and that are covered by now: it takes the place of the one
    /// whose entries it has.
    pub covers: Vec<CommitId>,
}

/// What is indexed of a commit. Rows hold its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexedState {
    /// All of it.
    Closed,
    /// All of it, and a later commit may cover it.
    Provisional,
    /// Nothing: its content was forgotten, or cannot be read.
    Skipped,
}

/// Where commits were seen: a session's transcript, or a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPlace {
    /// The session's key; for a ledger any that names it and its session.
    pub key: SessionKey,
    /// The session's id.
    pub session: String,
    /// The name of the runtime.
    pub client: String,
    /// Where it worked.
    pub cwd: Option<String>,
    /// On which branch.
    pub branch: Option<String>,
}

/// An event of a ledger. It is a group of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedEvent {
    /// The ledger.
    pub ledger: LedgerId,
    /// Its sequence number.
    pub seq: u64,
    /// Where it belongs, in [`IndexBatch::places`].
    pub place: usize,
    /// What it says; it has no author.
    pub entry: IndexEntry,
}

/// How far a ledger is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedLedger {
    /// The ledger.
    pub id: LedgerId,
    /// The last sequence number that was looked at.
    pub through: u64,
    /// The ledger's epoch at that time.
    pub epoch: u64,
}
