//! Costs: what commits take in storage, each content counted once.
//!
//! Which chain a commit belongs to is the engine's.

use std::collections::HashSet;

use stemmata_model::CommitId;

/// Commits of one question for costs at most.
pub const COSTED_COMMITS_MAX: usize = 1_000;

/// What earlier questions counted, so that a walk in pages counts every content once. Belongs to one store, and to
/// one walk: what is packed meanwhile may be counted by either of its costs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counted(HashSet<[u8; 8]>);

impl Counted {
    /// Notes a content by what its store tells it apart by; says whether it is new.
    pub fn is_new(&mut self, key: [u8; 8]) -> bool {
        self.0.insert(key)
    }
}

/// What a commit's contents take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentCost {
    /// The commit.
    pub commit: CommitId,
    /// Bytes of the literal contents that were not counted before, uncompressed.
    pub distinct_bytes: u64,
    /// Bytes that they take: frames of the inbox, and shares of pack blocks by their lengths, rounded down.
    pub stored_bytes: u64,
    /// Of these, bytes in packs.
    pub packed_bytes: u64,
}

impl ContentCost {
    /// Nothing yet.
    pub const fn nothing(commit: CommitId) -> Self {
        Self { commit, distinct_bytes: 0, stored_bytes: 0, packed_bytes: 0 }
    }

    /// Adds another one's bytes.
    pub const fn add(&mut self, distinct: u64, stored: u64, packed: u64) {
        self.distinct_bytes = self.distinct_bytes.saturating_add(distinct);
        self.stored_bytes = self.stored_bytes.saturating_add(stored);
        self.packed_bytes = self.packed_bytes.saturating_add(packed);
    }
}
