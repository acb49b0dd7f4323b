//! What an index follows, which never fails.

use stemmata_model::Commit;
use stemmata_store::{DueKey, Follow, SessionKey, Store, StoreError, StoredAt, UnseenKey};

use super::FaultyStore;

impl<S: Store> Follow for FaultyStore<S> {
    fn stored_after(
        &self,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError> {
        self.read().stored_after(after, limit)
    }

    fn seen_by(
        &self,
        session: &SessionKey,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError> {
        self.read().seen_by(session, after, limit)
    }

    fn index_due(&self) -> Result<Vec<DueKey>, StoreError> {
        self.inner.index_due()
    }

    fn leave_index_due(&self) -> Result<(), StoreError> {
        self.write(|| self.inner.leave_index_due())
    }

    fn index_done(&self, keys: &[DueKey]) -> Result<(), StoreError> {
        self.write(|| self.inner.index_done(keys))
    }

    fn index_unseen(&self, limit: usize) -> Result<Vec<UnseenKey>, StoreError> {
        self.read().index_unseen(limit)
    }

    fn index_unseen_done(&self, keys: &[UnseenKey]) -> Result<(), StoreError> {
        self.write(|| self.inner.index_unseen_done(keys))
    }
}
