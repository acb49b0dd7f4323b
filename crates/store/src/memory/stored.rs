//! The order of storing in memory, and what an index of it has to take back.
//!
//! A commit's place is looked for in the whole order: this is a model, not a fast store.

use stemmata_model::{Commit, CommitId};

use super::State;
use crate::stored::{DueKey, DueRow, StoredAt, UnseenKey};
use crate::write::SessionKey;

impl State {
    pub(super) fn stored_after(
        &self,
        after: Option<StoredAt>,
        is_meant: &dyn Fn(CommitId) -> bool,
        limit: usize,
    ) -> Vec<(StoredAt, Commit)> {
        let from = after.map_or(0, |after| after.0.saturating_add(1));
        let found = self.stored.range(from..).filter(|(_, id)| is_meant(**id));
        let found = found.filter_map(|(at, id)| Some((StoredAt(*at), self.commits.get(id)?.clone())));
        found.take(limit).collect()
    }

    /// Returns where the first of some commits stands.
    pub(super) fn first_stored(&self, of: &[CommitId]) -> Option<StoredAt> {
        self.stored.iter().find(|(_, id)| of.contains(id)).map(|(at, _)| StoredAt(*at))
    }

    /// Has an index be cut before a commit; for none, only places and events go.
    pub(super) fn index_due_from(&mut self, first: Option<StoredAt>) {
        let left = self.order().cast_signed();
        self.index_due.put(DueRow::new(first), left);
    }

    pub(super) fn index_done(&mut self, keys: &[DueKey]) {
        for key in keys {
            if self.index_due.get(&key.row) == Some(&key.left) {
                self.index_due.remove(&key.row);
            }
        }
    }

    /// Returns whether the batch that is being applied stored a commit.
    pub(super) fn is_of_batch(&self, id: CommitId) -> bool {
        self.stored.range(self.batch_from.saturating_add(1)..).any(|(_, of)| *of == id)
    }

    /// Notes that a session saw a commit after it was stored.
    pub(super) fn see_later(&mut self, session: SessionKey) {
        let left = self.order().cast_signed();
        self.index_unseen.put(session, left);
    }

    pub(super) fn index_unseen(&self, limit: usize) -> Vec<UnseenKey> {
        let keys = self.index_unseen.iter().take(limit);
        keys.map(|(session, left)| UnseenKey { session: session.clone(), left: (0, *left) }).collect()
    }

    pub(super) fn index_unseen_done(&mut self, keys: &[UnseenKey]) {
        for key in keys {
            if self.index_unseen.get(&key.session) == Some(&key.left.1) {
                self.index_unseen.remove(&key.session);
            }
        }
    }
}
