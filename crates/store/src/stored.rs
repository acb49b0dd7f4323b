//! Where commits stand in the order of storing, and what an index of them has to take back.
//!
//! The index itself is `index`'s, and what is done with it is the engine's.

/// The place of a commit in the order of storing: 1 or more, not without gaps, and below 2^63.
///
/// A place may be given again after the commit that had it was removed and no later one was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredAt(pub u64);

/// One reason for which an index of the commits has to be cut: see [`Store::index_due`](crate::Store::index_due).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DueKey(u64);

/// The key where a session went and no commit did: no commit can stand there.
const NO_COMMIT: u64 = i64::MAX.cast_unsigned();

impl DueKey {
    pub(crate) fn new(least: Option<StoredAt>) -> Self {
        Self(least.map_or(NO_COMMIT, |at| at.0))
    }

    /// Returns the first commit that the index must drop, or `None` if only a session was forgotten.
    pub const fn first(self) -> Option<StoredAt> {
        if self.0 == NO_COMMIT { None } else { Some(StoredAt(self.0)) }
    }

    pub(crate) const fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(u64::from_be_bytes(bytes.try_into().ok()?)))
    }
}
