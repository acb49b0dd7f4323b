//! `tree`: a chain with everything that branches off it.

mod fold;
mod turns;

pub use turns::{BranchPlace, TurnsOfCommits};

use std::collections::{HashMap, HashSet};

use stemmata_api::v1::TreeSubagent;
use stemmata_model::{Commit, CommitId};
use stemmata_store::{Described, Link, LinkKind, SessionOrigin};

use crate::chain::beside::PAGE_COMMITS;
use crate::chain::tree::TreeWalk;
use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::sessions::shown::session_shown;

/// Commits that a tree shows at most.
pub const TREE_COMMITS_MAX: usize = 100_000;

/// Copies that are looked at for one tree.
const COPIES_MAX: usize = 10_000;

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
    /// In a folded tree: the commits between the node before and this one.
    pub run: Option<TreeRun>,
}

impl TreeNode {
    /// Returns the first commits of the subagents that it started.
    pub fn started(&self) -> impl Iterator<Item = CommitId> {
        let own =
            self.links.iter().filter(|link| link.kind == LinkKind::Subagent && link.to == self.commit.id);
        own.map(|link| link.from)
    }
}

/// Commits of which each continues the one before, and nothing else happened: a drawing sums them up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeRun {
    /// How many; more than one.
    pub commits: u64,
    /// Their messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The first commits of the subagents that they started.
    pub started: Vec<CommitId>,
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
        let mut walk = TreeWalk::new(self.store.as_ref(), root);
        let mut found = Vec::new();
        while found.len() <= TREE_COMMITS_MAX
            && let Some(page) = walk.next()?
        {
            found.extend(page);
        }
        let mut tree = Tree { is_cut: found.len() > TREE_COMMITS_MAX, ..Tree::default() };
        found.truncate(TREE_COMMITS_MAX);
        let mut children: HashMap<CommitId, Vec<CommitId>> = HashMap::new();
        for commit in found.iter().skip(1) {
            let Some(parent) = commit.core.parent else { continue };
            let known = children.entry(parent).or_default();
            tree.is_cut |= known.len() == CHILDREN_MAX;
            if known.len() < CHILDREN_MAX {
                known.push(commit.id);
            }
        }
        let mut order = Vec::with_capacity(found.len());
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            open.extend(children.get(&id).into_iter().flatten().rev());
            order.push(id);
        }
        for page in order.chunks(PAGE_COMMITS) {
            let node = |described: Described| TreeNode {
                children: children.remove(&described.commit.id).unwrap_or_default(),
                links: described.links,
                commit: described.commit,
                run: None,
            };
            tree.nodes.extend(self.described(page)?.into_iter().map(node));
        }
        Ok(tree)
    }

    /// Leaves out of a tree what was made for copies that nobody went on with, unless it is `here`: it says what the commits above
    /// it say.
    ///
    /// # Errors
    /// Store errors.
    pub fn without_idle_copies(&self, mut tree: Tree, here: CommitId) -> Result<Tree> {
        let placed: HashSet<CommitId> = self
            .store
            .unused_sessions(COPIES_MAX)?
            .into_iter()
            .filter_map(|session| match session.origin {
                SessionOrigin::Placed(from) if from != here => Some(from),
                _ => None,
            })
            .collect();
        let mut gone = HashSet::new();
        // Children stand behind their parents.
        for TreeNode { commit, children, .. } in tree.nodes.iter().rev().filter(|_| !placed.is_empty()) {
            // What a client writes when it opens a copy, and no more.
            let is_opening = || -> Result<bool> {
                let session = if commit.counts.messages == 0 { self.first_session(commit.id)? } else { None };
                Ok(commit.id != here && session.is_some_and(|session| session.is_unused()))
            };
            let is_made =
                || -> Result<bool> { Ok(placed.contains(&commit.id) && self.is_translation(commit)?) };
            if children.iter().all(|child| gone.contains(child)) && (is_made()? || is_opening()?) {
                gone.insert(commit.id);
            }
        }
        tree.nodes.retain(|node| !gone.contains(&node.commit.id));
        tree.nodes.iter_mut().for_each(|node| node.children.retain(|child| !gone.contains(child)));
        Ok(tree)
    }

    /// Returns the subagent whose first commit this is.
    ///
    /// # Errors
    /// Store errors.
    pub fn subagent(&self, first: CommitId) -> Result<TreeSubagent> {
        let session = self.first_session(first)?;
        Ok(TreeSubagent {
            tip: session.as_ref().and_then(|session| session.tip).unwrap_or(first),
            session: session.as_ref().map(session_shown),
        })
    }
}
