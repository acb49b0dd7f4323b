//! The order of storing in memory, and what an index of it has to take back.
//!
//! A commit's place is looked for in the whole order: this is a model, not a fast store.

use std::ops::Bound;

use stemmata_model::{Commit, CommitId};
use stemmata_store::{DueKey, DueStamp, Follow, SessionKey, StoreError, StoredAt, UnseenKey};

use super::{MemoryStore, State, forget};

impl Follow for MemoryStore {
    fn stored_after(
        &self,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError> {
        Ok(self.lock().stored_after(after, &|_| true, limit))
    }

    fn seen_by(
        &self,
        session: &SessionKey,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError> {
        let state = self.lock();
        let is_seen = |id| state.sightings_of(id).any(|sighting| forget::key_of(sighting) == *session);
        Ok(state.stored_after(after, &is_seen, limit))
    }

    fn index_due(&self) -> Result<Vec<DueKey>, StoreError> {
        let state = self.lock();
        Ok(state
            .index_due
            .iter()
            .map(|(first, left)| DueKey { first: *first, stamp: stamp(*left) })
            .collect())
    }

    fn leave_index_due(&self) -> Result<(), StoreError> {
        self.maintain("an index", |state| state.index_due_from(None))
    }

    fn index_done(&self, keys: &[DueKey]) -> Result<(), StoreError> {
        self.maintain("an index", |state| state.index_done(keys))
    }

    fn index_unseen(&self, limit: usize) -> Result<Vec<UnseenKey>, StoreError> {
        Ok(self.lock().index_unseen(limit))
    }

    fn index_unseen_done(&self, keys: &[UnseenKey]) -> Result<(), StoreError> {
        self.maintain("an index", |state| state.index_unseen_done(keys))
    }
}

fn stamp(left: u64) -> DueStamp {
    DueStamp(u128::from(left).to_be_bytes())
}

pub(super) fn place_of(order: u64) -> StoredAt {
    StoredAt::from_bytes(&order.to_be_bytes()).expect("eight bytes are few enough")
}

impl State {
    pub(super) fn stored_after(
        &self,
        after: Option<StoredAt>,
        is_meant: &dyn Fn(CommitId) -> bool,
        limit: usize,
    ) -> Vec<(StoredAt, Commit)> {
        let from = Bound::Excluded(after.unwrap_or(StoredAt::START));
        let found = self.stored.range((from, Bound::Unbounded)).filter(|(_, id)| is_meant(**id));
        let found = found.filter_map(|(at, id)| Some((*at, self.commits.get(id)?.clone())));
        found.take(limit).collect()
    }

    /// Returns where the first of some commits stands.
    pub(super) fn first_of(&self, of: &[CommitId]) -> Option<StoredAt> {
        self.stored.iter().find(|(_, id)| of.contains(id)).map(|(at, _)| *at)
    }

    /// Has an index be cut before a commit; for none, only places and events go.
    pub(super) fn index_due_from(&mut self, first: Option<StoredAt>) {
        let left = self.order();
        self.index_due.put(first, left);
    }

    pub(super) fn index_done(&mut self, keys: &[DueKey]) {
        for key in keys {
            if self.index_due.get(&key.first).is_some_and(|left| stamp(*left) == key.stamp) {
                self.index_due.remove(&key.first);
            }
        }
    }

    /// Returns whether the batch that is being applied stored a commit.
    pub(super) fn is_of_batch(&self, id: CommitId) -> bool {
        self.stored.range(place_of(self.batch_from.saturating_add(1))..).any(|(_, of)| *of == id)
    }

    /// Notes that a session saw a commit after it was stored.
    pub(super) fn see_later(&mut self, session: SessionKey) {
        let left = self.order();
        self.index_unseen.put(session, left);
    }

    pub(super) fn index_unseen(&self, limit: usize) -> Vec<UnseenKey> {
        let keys = self.index_unseen.iter().take(limit);
        keys.map(|(session, left)| UnseenKey { session: session.clone(), stamp: stamp(*left) }).collect()
    }

    pub(super) fn index_unseen_done(&mut self, keys: &[UnseenKey]) {
        for key in keys {
            if self.index_unseen.get(&key.session).is_some_and(|left| stamp(*left) == key.stamp) {
                self.index_unseen.remove(&key.session);
            }
        }
    }
}
