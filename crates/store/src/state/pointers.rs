//! Named pointers to commits: what programs keep by a key and move.
//!
//! Not tags: those are said of a commit, lie in the store and travel with it.

use stemmata_model::{CommitId, PointerKey, Principal, Timestamp};

use super::error::StateError;

/// Pointers at most: a name for each agent of a large fleet, and no table that grows with every request.
pub const POINTERS_MAX: u64 = 100_000;

/// A pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// Its name.
    pub key: PointerKey,
    /// What it points to. It may be forgotten since, or be in no store.
    pub commit: CommitId,
    /// When it was set.
    pub set_at: Timestamp,
    /// Who set it.
    pub by: Principal,
}

/// What a pointer must point to before it is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// Whatever it points to, or nothing.
    Anything,
    /// Nothing: there is no such pointer.
    Nothing,
    /// This commit.
    Commit(CommitId),
}

impl Expected {
    /// Says whether a pointer is as expected.
    pub fn holds(self, found: Option<CommitId>) -> bool {
        match self {
            Self::Anything => true,
            Self::Nothing => found.is_none(),
            Self::Commit(commit) => found == Some(commit),
        }
    }
}

/// A pointer that is to be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPointer {
    /// The pointer.
    pub pointer: Pointer,
    /// What it must point to now.
    pub expected: Expected,
}

/// Which pointers are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointerQuery {
    /// What their names begin with; empty for all.
    pub prefix: String,
    /// After this name.
    pub after: Option<PointerKey>,
    /// At most so many, and [`STATE_PAGE_MAX`](super::STATE_PAGE_MAX).
    pub rows_max: usize,
}

/// Named pointers to commits.
///
/// A change is compared and made in one step, so that of two that expect the same one fails.
pub trait Pointers: Send + Sync {
    /// Returns a pointer.
    ///
    /// # Errors
    /// `Storage`, as for all below.
    fn pointer(&self, key: &PointerKey) -> Result<Option<Pointer>, StateError>;

    /// Sets a pointer and returns what it pointed to.
    ///
    /// # Errors
    /// `PointerMoved`, `TooMany`; nothing is changed then.
    fn set_pointer(&self, new: &NewPointer) -> Result<Option<CommitId>, StateError>;

    /// Deletes a pointer and returns it; none where it was not there and nothing else was expected.
    ///
    /// # Errors
    /// `PointerMoved`.
    fn delete_pointer(&self, key: &PointerKey, expected: Expected) -> Result<Option<Pointer>, StateError>;

    /// Lists pointers in the order of their names' bytes.
    fn pointers(&self, query: &PointerQuery) -> Result<Vec<Pointer>, StateError>;
}
