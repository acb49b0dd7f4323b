//! Where commits stand in the order of storing, and what an index of them has to take back.
//!
//! The index itself is `index`'s, and what is done with it is the engine's.

use crate::write::SessionKey;

/// The place of a commit in the order of storing: 1 or more, not without gaps, and below 2^63.
///
/// A place may be given again after the commit that had it was removed and no later one was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredAt(pub u64);

/// One reason for which an index of the commits has to be cut: see [`Store::index_due`](crate::Store::index_due).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DueKey {
    pub(crate) row: DueRow,
    /// Another one each time that the reason is left again: only what was seen is taken back.
    pub(crate) left: i64,
}

/// What a reason is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DueRow(u64);

/// The row of a reason that is about no commit: no commit can stand there.
const NO_COMMIT: u64 = i64::MAX.cast_unsigned();

impl DueKey {
    /// Returns the first commit that the index must drop, or `None` if only sessions or events were forgotten.
    pub const fn first(self) -> Option<StoredAt> {
        if self.row.0 == NO_COMMIT { None } else { Some(StoredAt(self.row.0)) }
    }
}

impl DueRow {
    pub(crate) fn new(least: Option<StoredAt>) -> Self {
        Self(least.map_or(NO_COMMIT, |at| at.0))
    }

    pub(crate) const fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(u64::from_be_bytes(bytes.try_into().ok()?)))
    }
}

/// A session that saw a commit after it was stored: see [`Store::index_unseen`](crate::Store::index_unseen).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnseenKey {
    /// The session.
    pub session: SessionKey,
    /// What the store finds it by, and when it was left: only what was seen is taken back.
    pub(crate) left: (i64, i64),
}
