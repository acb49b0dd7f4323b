//! What else holds the entries of some commits: copies that clients made, and what was written after them.
//!
//! Entries are the same where they share an entry's id or a tool call's.

use std::collections::{BTreeSet, HashSet};

use stemmata_model::{Commit, CommitId, Part};
use stemmata_store::{LinkKind, Session, SessionKey};

use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::tree::TREE_COMMITS_MAX;

/// Links of one commit that are followed.
const LINKS_MAX: usize = 10_000;

/// Children of one commit that are looked at.
const CHILDREN_MAX: usize = 10_000;

/// Another chain, or another part of the same tree, that holds entries of what was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Copy {
    /// The root of its tree.
    pub root: CommitId,
    /// Its commits that hold some of the entries.
    pub commits: Vec<CommitId>,
    /// The session that it was first read from.
    pub session: Option<Session>,
}

impl Engine {
    /// Finds commits outside of `wanted` that share entries with it: in its own trees, and in all that are linked as
    /// copies, of copies too.
    pub(crate) fn copies_of(&self, wanted: &[Commit]) -> Result<Vec<Copy>> {
        let own: HashSet<CommitId> = wanted.iter().map(|commit| commit.id).collect();
        let mut marks: HashSet<String> = HashSet::new();
        for commit in wanted {
            marks.extend(self.marks_of(commit)?);
        }
        let mut roots: Vec<CommitId> = Vec::new();
        for commit in wanted {
            // Only where a chain begins outside of what is known is there another root.
            if commit.core.parent.is_none_or(|parent| !own.contains(&parent)) {
                let root = self.root_from(commit)?;
                if !roots.contains(&root) {
                    roots.push(root);
                }
            }
        }
        let mut copies = Vec::new();
        let mut next = 0;
        while let Some(root) = roots.get(next).copied() {
            next += 1;
            let tree = self.tree_from(root)?;
            let mut copy = Copy { root, commits: Vec::new(), session: None };
            for commit in &tree {
                for link in self.store.links(commit.id, LINKS_MAX)? {
                    if link.kind != LinkKind::DerivedFrom {
                        continue;
                    }
                    let other = if link.from == commit.id { link.to } else { link.from };
                    if let Some(other) = self.store.commit(other)? {
                        let root = self.root_from(&other)?;
                        if !roots.contains(&root) {
                            roots.push(root);
                        }
                    }
                }
                if !own.contains(&commit.id) && self.marks_of(commit)?.iter().any(|mark| marks.contains(mark))
                {
                    copy.commits.push(commit.id);
                }
            }
            if let Some(first) = copy.commits.first() {
                copy.session = self.first_session(*first)?;
                copies.push(copy);
            }
        }
        Ok(copies)
    }

    pub(crate) fn root_from(&self, commit: &Commit) -> Result<CommitId> {
        let mut walk = Walk::new(self.store.as_ref(), Some(commit.id));
        let mut root = commit.id;
        while let Some(commit) = walk.next()? {
            root = commit.id;
        }
        Ok(root)
    }

    pub(crate) fn tree_from(&self, root: CommitId) -> Result<Vec<Commit>> {
        let mut tree: Vec<Commit> = self.store.commit(root)?.into_iter().collect();
        let mut next = 0;
        while let Some(commit) = tree.get(next).filter(|_| next < TREE_COMMITS_MAX) {
            next += 1;
            let children = self.store.children(commit.id, CHILDREN_MAX)?;
            tree.extend(children);
        }
        Ok(tree)
    }

    /// Returns the ids of a commit's entries and tool calls; none where they cannot be read any more.
    fn marks_of(&self, commit: &Commit) -> Result<BTreeSet<String>> {
        let mut marks = BTreeSet::new();
        if commit.closure == stemmata_model::Closure::Forgotten {
            return Ok(marks);
        }
        let Ok(adapter) = Self::adapter(&commit.core.format, "read") else {
            return Ok(marks);
        };
        let mut contents = vec![commit.core.artifact];
        contents.extend(commit.core.native);
        for content in contents {
            for entry in adapter.decode(&read_whole(self, content)?).entries {
                for part in &entry.parts {
                    match part {
                        Part::ToolCall { call_id, .. } | Part::ToolResult { call_id, .. } => {
                            marks.insert(call_id.clone());
                        }
                        _ => {}
                    }
                }
                marks.insert(entry.id.to_string());
            }
        }
        Ok(marks)
    }

    pub(crate) fn first_session(&self, id: CommitId) -> Result<Option<Session>> {
        let Some(first) = self.store.sightings(id, 1)?.into_iter().next() else { return Ok(None) };
        let path = match first.source {
            Some(source) => source.path,
            None => format!("api:{}", first.session),
        };
        Ok(self.store.session(&SessionKey { machine: first.machine, path })?)
    }
}
