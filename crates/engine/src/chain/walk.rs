//! Walks from a commit towards the root, a page at a time.

use std::collections::VecDeque;

use stemmata_model::{Commit, CommitId};
use stemmata_store::{Commits, StoreError};

/// Commits fetched at once: enough that the cost of a query vanishes.
const PAGE_COMMITS: usize = 512;

/// Commits fetched first: most walks end at a near compaction.
const FIRST_PAGE_COMMITS: usize = 32;

/// A walk towards the root; the start comes first.
pub(crate) struct Walk<'s> {
    store: &'s dyn Commits,
    page: VecDeque<Commit>,
    next: Option<CommitId>,
    page_commits: usize,
}

impl<'s> Walk<'s> {
    pub(crate) fn new(store: &'s dyn Commits, from: Option<CommitId>) -> Self {
        Self { store, page: VecDeque::new(), next: from, page_commits: FIRST_PAGE_COMMITS }
    }

    /// Returns the next commit towards the root, none after the root.
    pub(crate) fn next(&mut self) -> Result<Option<Commit>, StoreError> {
        if self.page.is_empty()
            && let Some(from) = self.next.take()
        {
            self.page = self.store.ancestors(from, self.page_commits)?.into();
            self.next = self.page.back().and_then(|last| last.core.parent);
            self.page_commits = PAGE_COMMITS;
        }
        Ok(self.page.pop_front())
    }
}
