//! `tree`: a chain with everything that branches off it.

use std::collections::HashSet;

use stemmata_model::{Commit, CommitId};
use stemmata_store::Link;

use crate::engine::Engine;
use crate::error::Result;

/// Commits that a tree shows at most.
pub const TREE_COMMITS_MAX: usize = 100_000;

/// Children of one commit that a tree shows at most.
const CHILDREN_MAX: usize = 1_000;

/// One commit of a tree, before its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNode {
    /// The commit.
    pub commit: Commit,
    /// Its children, in the order they were stored.
    pub children: Vec<CommitId>,
    /// Links from and to it: subagents, copies.
    pub links: Vec<Link>,
}

/// A tree, parents before children.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// The nodes; the first is the root.
    pub nodes: Vec<TreeNode>,
    /// Whether there is more than is shown.
    pub is_cut: bool,
}

impl Engine {
    /// Returns the whole tree that a commit belongs to.
    ///
    /// # Errors
    /// `CommitMissing`, store errors.
    pub fn tree(&self, ctx: CommitId) -> Result<Tree> {
        let root = self.root_of(ctx)?.unwrap_or(ctx);
        let mut tree = Tree::default();
        let mut seen = HashSet::new();
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            if tree.nodes.len() >= TREE_COMMITS_MAX {
                tree.is_cut = true;
                break;
            }
            let commit = self.store.commit(id)?.ok_or(stemmata_store::StoreError::CommitMissing(id))?;
            let children = self.store.children(id, CHILDREN_MAX + 1)?;
            tree.is_cut |= children.len() > CHILDREN_MAX;
            let children: Vec<CommitId> =
                children.into_iter().take(CHILDREN_MAX).map(|child| child.id).collect();
            open.extend(children.iter().rev());
            tree.nodes.push(TreeNode { commit, children, links: self.store.links(id, CHILDREN_MAX)? });
        }
        Ok(tree)
    }
}
