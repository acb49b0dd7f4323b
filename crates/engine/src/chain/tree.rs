//! All that continues a commit, a page at a time: as much of it as there is.
//!
//! A cut that passed over a part would leave there what was to be forgotten, scrubbed or sent; who shows a tree cuts it itself.

use std::collections::{HashSet, VecDeque};

use stemmata_model::{Commit, CommitId};
use stemmata_store::{Commits, StoreError};

use crate::engine::Engine;
use crate::error::Result;

/// Commits of one page: enough that the cost of a query vanishes. One whose children are more than that has them in its page too.
const PAGE_COMMITS: usize = 1_024;

/// A walk away from the root; the start comes first, and each commit before those that continue it.
pub(crate) struct TreeWalk<'s> {
    store: &'s dyn Commits,
    root: Option<CommitId>,
    /// Commits that were handed out, and whose children were not.
    open: VecDeque<CommitId>,
    page_commits: usize,
}

impl<'s> TreeWalk<'s> {
    pub(crate) fn new(store: &'s dyn Commits, root: CommitId) -> Self {
        Self { store, root: Some(root), open: VecDeque::new(), page_commits: PAGE_COMMITS }
    }

    /// Returns the next page; none where nothing is left. Children of one commit are together, in the order they were stored.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Commit>>, StoreError> {
        loop {
            let root = self.root.take();
            let is_first = root.is_some();
            let count = self.open.len().min(self.page_commits);
            let from: Vec<CommitId> = root.into_iter().chain(self.open.drain(..count)).collect();
            if from.is_empty() {
                return Ok(None);
            }
            // Those that it begins with come out again.
            let limit = from.len() + self.page_commits;
            let mut page = self.store.below(&from, limit)?;
            if page.len() == limit {
                self.leave_open(&mut page)?;
            }
            if !is_first {
                let from: HashSet<CommitId> = from.into_iter().collect();
                page.retain(|commit| !from.contains(&commit.id));
            }
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
    }

    /// Completes the children among which a page was cut, and remembers the commits whose children it does not have.
    fn leave_open(&mut self, page: &mut Vec<Commit>) -> Result<(), StoreError> {
        let Some(parent) = page.last().and_then(|last| last.core.parent) else { return Ok(()) };
        let with_it = page.iter().rev().take_while(|commit| commit.core.parent == Some(parent));
        let known: HashSet<CommitId> = with_it.map(|commit| commit.id).collect();
        let all = self.store.children(parent, usize::MAX)?;
        page.extend(all.into_iter().filter(|child| !known.contains(&child.id)));
        let after = page.iter().position(|commit| commit.id == parent).map_or(0, |at| at + 1);
        let open: Vec<CommitId> = page.iter().skip(after).map(|commit| commit.id).collect();
        open.into_iter().rev().for_each(|id| self.open.push_front(id));
        Ok(())
    }
}

impl Engine {
    /// Returns a commit with all that continues it, for callers that need all of it at once.
    pub(crate) fn whole_tree(&self, root: CommitId) -> Result<Vec<Commit>> {
        let mut walk = TreeWalk::new(self.store.as_ref(), root);
        let mut tree = Vec::new();
        while let Some(page) = walk.next()? {
            tree.extend(page);
        }
        Ok(tree)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::{Closure, CommitCore, CommitType, Counts, FormatId, RulesHash, Template, Timestamp};
    use stemmata_store::{NewCommit, NewContent, SqliteOptions, SqliteStore, Write};
    use stemmata_testkit::memory::MemoryStore;

    use super::*;

    /// Stores a commit for each number, below one that was stored before; the first below none.
    fn grow(store: &dyn Commits, parents: &[usize]) -> Vec<CommitId> {
        let content = NewContent::literal(b"{}\n".to_vec());
        let artifact = content.id();
        store.commit_batch(vec![Write::Content(content)]).expect("a content");
        let mut ids: Vec<CommitId> = Vec::new();
        let mut batch = Vec::new();
        for (at, parent) in parents.iter().enumerate() {
            let core = CommitCore {
                parent: ids.get(*parent).copied(),
                commit_type: CommitType::Delta,
                artifact,
                native: None,
                format: FormatId::new("claude-code-v1").expect("a name"),
                template: Template::new("claude-code/main").expect("a name"),
                created_at: Timestamp::from_micros(i64::try_from(at).expect("small")),
            };
            ids.push(core.id());
            let counts = Counts { messages: 1, entries: 1, tokens: 1 };
            let rules = RulesHash([7; 32]);
            batch.push(Write::Commit(NewCommit { core, rules, closure: Closure::Closed, counts }));
        }
        store.commit_batch(batch).expect("commits");
        ids
    }

    fn check(store: &dyn Commits, parents: &[usize], page_commits: usize) {
        let ids = grow(store, parents);
        let mut walk = TreeWalk { page_commits, ..TreeWalk::new(store, ids[0]) };
        let mut met: Vec<Commit> = Vec::new();
        let mut queries = 0;
        while let Some(page) = walk.next().expect("a page") {
            queries += 1;
            let widest =
                page.iter().map(|one| page.iter().filter(|two| two.core.parent == one.core.parent).count());
            assert!(page.len() <= page_commits + widest.max().unwrap_or(0), "a page has a bound");
            met.extend(page);
        }
        assert!(queries <= 1 + 2 * ids.len().div_ceil(page_commits), "{queries} of {}", ids.len());
        for (at, commit) in met.iter().enumerate() {
            let is_after = |parent| met.iter().take(at).any(|before| before.id == parent);
            assert!(at == 0 || commit.core.parent.is_some_and(is_after), "a parent comes first");
        }
        for id in &ids {
            let of = |found: &[Commit]| -> Vec<CommitId> {
                found.iter().filter(|one| one.core.parent == Some(*id)).map(|one| one.id).collect()
            };
            assert_eq!(of(&met), of(&store.children(*id, usize::MAX).expect("a read")));
        }
        assert_eq!(met.len(), ids.len());
        assert!(TreeWalk::new(store, CommitId::from_bytes([9; 16])).next().expect("a read").is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(4)))]

        #[test]
        fn law_a_walk_in_pages_meets_all_of_a_tree_once_and_parents_first(
            numbers in proptest::collection::vec(any::<usize>(), 1..60),
            shape in 0_u8..3,
            page_commits in 1_usize..12,
        ) {
            // Any, a chain behind the first ones, all below the first one.
            let parent = |(at, number): (usize, usize)| match shape {
                1 if at > 5 => at - 1,
                2 if at > 5 => 0,
                _ => number % at.max(1),
            };
            let parents: Vec<usize> = numbers.into_iter().enumerate().map(parent).collect();
            check(&MemoryStore::default(), &parents, page_commits);
            let home = tempfile::tempdir().expect("a folder");
            let store = SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store");
            check(&store, &parents, page_commits);
        }
    }
}
