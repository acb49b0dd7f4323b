//! What else holds the entries of some commits: copies that clients made, and what was written after them.
//!
//! Entries are the same where they share an entry's id or a tool call's.

use std::collections::HashSet;

use stemmata_model::{ArtifactId, Commit, CommitId, Part};
use stemmata_store::{Described, LinkKind, Session};

use crate::chain::beside::PAGE_COMMITS;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

/// Links of one commit that are followed.
const LINKS_MAX: usize = 10_000;

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
        self.each_mark(wanted, &mut |_, mark| {
            marks.insert(mark);
        })?;
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
            for beside in self.roots_beside(root)? {
                if !roots.contains(&beside) {
                    roots.push(beside);
                }
            }
            let mut others = self.whole_tree(root)?;
            let mut copy = Copy { root, commits: Vec::new(), session: None };
            self.each_described(&others, &mut |described| {
                for other in self.derived_with(&described)? {
                    let root = self.root_from(&other)?;
                    if !roots.contains(&root) {
                        roots.push(root);
                    }
                }
                Ok(())
            })?;
            others.retain(|commit| !own.contains(&commit.id));
            self.each_mark(&others, &mut |id, mark| {
                if copy.commits.last() != Some(&id) && marks.contains(&mark) {
                    copy.commits.push(id);
                }
            })?;
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

    /// Returns commits that a commit is a copy of, or that are copies of it.
    fn derived_with(&self, described: &Described) -> Result<Vec<Commit>> {
        let id = described.commit.id;
        let all = self.links_of(described, LINKS_MAX)?;
        let mut found = Vec::new();
        for link in all.iter().filter(|link| link.kind == LinkKind::DerivedFrom) {
            found.extend(self.store.commit(if link.from == id { link.to } else { link.from })?);
        }
        Ok(found)
    }

    /// Hands out the ids of commits' entries and tool calls, with the commit of each; none of those that cannot be read any
    /// more. Contents are read a page at a time.
    fn each_mark(&self, of: &[Commit], take: &mut dyn FnMut(CommitId, String)) -> Result<()> {
        let is_read = |commit: &&Commit| {
            commit.closure != stemmata_model::Closure::Forgotten
                && Self::adapter(&commit.core.format, FormatUse::Read).is_ok()
        };
        let read: Vec<&Commit> = of.iter().filter(is_read).collect();
        for page in read.chunks(PAGE_COMMITS) {
            let contents = page.iter().flat_map(|commit| {
                std::iter::once(commit.core.artifact)
                    .chain(commit.core.native)
                    .map(move |content| (*commit, content))
            });
            let (owners, contents): (Vec<&Commit>, Vec<ArtifactId>) = contents.unzip();
            self.each_whole(&contents, &mut |number, bytes| {
                let Some(commit) = owners.get(number) else { return Ok(()) };
                for entry in Self::adapter(&commit.core.format, FormatUse::Read)?.decode(bytes).entries {
                    for part in &entry.parts {
                        if let Part::ToolCall { call_id, .. } | Part::ToolResult { call_id, .. } = part {
                            take(commit.id, call_id.clone());
                        }
                    }
                    take(commit.id, entry.id.to_string());
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Returns the session that a commit was captured in first.
    ///
    /// # Errors
    /// Store errors.
    pub fn first_session(&self, id: CommitId) -> Result<Option<Session>> {
        self.session_of_sightings(id)
    }
}
