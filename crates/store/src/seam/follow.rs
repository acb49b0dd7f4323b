//! The part of the seam for what follows a store, as an index of its commits does.
//!
//! The index itself is `index`'s, and what is done with it is the engine's.

use stemmata_model::Commit;

use super::Commits;
use crate::error::StoreError;
use crate::write::SessionKey;

/// Bytes of a place in the order of storing at most: an id of a transaction and a number within it.
pub const STORED_AT_BYTES_MAX: usize = 16;

/// The place of a commit in the order of storing: bytes of the backend's own, which mean nothing elsewhere.
///
/// Places are compared as bytes are, and all places of one store have the same length, so that an index can keep and compare what
/// it cannot read. They are no count: a backend whose writers do not wait for each other cannot number commits without holding
/// back who follows it, and one that numbers them leaves gaps. A place may be given again after the commit that had it was removed
/// and no later one was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoredAt {
    /// Zero behind `length`, so that the derived order is that of the bytes.
    bytes: [u8; STORED_AT_BYTES_MAX],
    length: u8,
}

impl StoredAt {
    /// The place before all others: no commit is there.
    pub const START: Self = Self { bytes: [0; STORED_AT_BYTES_MAX], length: 0 };

    /// Returns the place of these bytes; `None` for more than [`STORED_AT_BYTES_MAX`].
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut own = [0; STORED_AT_BYTES_MAX];
        own.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { bytes: own, length: u8::try_from(bytes.len()).ok()? })
    }

    /// Returns the place's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// Returns the greatest place below this one, whether or not a commit is there: what comes after it begins with this one.
    /// [`StoredAt::START`] where none is below.
    #[must_use]
    pub fn before(mut self) -> Self {
        let places = usize::from(self.length);
        for byte in self.bytes.iter_mut().take(places).rev() {
            let (less, borrows) = byte.overflowing_sub(1);
            *byte = less;
            if !borrows {
                return self;
            }
        }
        Self::START
    }
}

/// The stamp of a reason, in bytes of the backend's own: another one each time that the reason is left again.
/// [`Follow::index_done`] removes only the stamp that it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DueStamp(pub [u8; 16]);

/// One reason for which an index of the commits has to be cut: see [`Follow::index_due`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DueKey {
    /// The first commit that the index must drop, or `None` if only sessions or events were forgotten.
    pub first: Option<StoredAt>,
    /// Another one each time that the reason is left again.
    pub stamp: DueStamp,
}

/// A session that saw a commit after it was stored: see [`Follow::index_unseen`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnseenKey {
    /// The session.
    pub session: SessionKey,
    /// Another one each time that the session is left again.
    pub stamp: DueStamp,
}

/// The order of storing, and what has to be taken back of a copy that followed it.
///
/// - **Nothing is passed**: a commit that was stored after a reader had a place is behind that place, whoever wrote it and however
///   long that took. A backend with several writers holds back what an open transaction may still precede.
/// - **Reasons outlive the process**: they are left in the transaction that makes them due, and stay until they are taken back.
pub trait Follow: Commits {
    /// Returns all commits in the order that they were stored, after a place, with the place of each: for what follows the
    /// store, as an index does. A commit that is closed, covered, cut or filled again stays where it is; one that was
    /// removed and is stored again stands at the end.
    fn stored_after(
        &self,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError>;

    /// Returns the commits that a session saw, as [`Follow::stored_after`] does. A commit comes after those of them that it
    /// continues.
    fn seen_by(
        &self,
        session: &SessionKey,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError>;

    /// Returns the reasons for which an index of the commits has to be cut, in the order of the first commit concerned. Forgetting
    /// (of events, too), collecting and filling a hole leave one, in their own transaction.
    fn index_due(&self) -> Result<Vec<DueKey>, StoreError>;

    /// Leaves what a forgetting leaves that removes no commit: before events are forgotten in a log that is not this store.
    fn leave_index_due(&self) -> Result<(), StoreError>;

    /// Removes reasons that [`Follow::index_due`] returned, and none that was left again meanwhile. The caller holds the lock of the
    /// index, and has removed what they are about from the index's files under it.
    fn index_done(&self, keys: &[DueKey]) -> Result<(), StoreError>;

    /// Returns sessions, at most `limit`, that saw a commit which was stored before: an index may have passed it.
    fn index_unseen(&self, limit: usize) -> Result<Vec<UnseenKey>, StoreError>;

    /// Takes back what [`Follow::index_unseen`] returned, and nothing that was left again meanwhile.
    fn index_unseen_done(&self, keys: &[UnseenKey]) -> Result<(), StoreError>;
}
