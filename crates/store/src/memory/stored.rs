//! The order of storing in memory, and what an index of it has to take back.
//!
//! A commit's place is looked for in the whole order: this is a model, not a fast store.

use stemmata_model::{Commit, CommitId};

use super::State;
use crate::stored::{DueKey, StoredAt};

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

    /// Has an index be cut before a commit; for none, only places go.
    pub(super) fn index_due_from(&mut self, first: Option<StoredAt>) {
        self.index_due.put(DueKey::new(first), ());
    }
}
