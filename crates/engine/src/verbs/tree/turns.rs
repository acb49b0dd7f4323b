//! The turns of a tree: what happened in each commit, with the numbers of its prompts, and the branches within a transcript.
//!
//! The trunk is read as the path of its tip, so that its numbers are those of `numbered_prompts`. What branches off it
//! counts on from where it does. Two that wrote one transcript, or a person who went back, left branches in one chain.

use std::collections::HashMap;
use std::ops::ControlFlow;

use stemmata_model::{Closure, CommitId, Entry, EntryId, EntryKind};
use stemmata_prompt::story::{Frame, SessionTurn, is_main, outlines, prompt_text, sidechain_of};

use super::Tree;
use crate::chain::path::PathCommit;
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::Result;

/// Bytes of the commits of a tree that are read for their turns; of a larger tree none are.
const READ_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// The turns of commits, and the branches within their transcript.
#[derive(Debug, Default)]
pub struct TurnsOfCommits {
    /// A turn without a number comes before the first prompt of its commit.
    pub turns: HashMap<CommitId, Vec<SessionTurn<CommitId>>>,
    /// Of a transcript with branches: what commits continue that do not continue their parent, and all commits beside the trunk.
    pub branches: HashMap<CommitId, BranchPlace>,
}

/// Where a commit belongs in a transcript with branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BranchPlace {
    /// The commit that it continues.
    pub continues: CommitId,
    /// Whether it begins on a branch beside the way to the end of the trunk.
    pub is_beside: bool,
}

/// Finds the branches of a chain while it is read from its beginning.
#[derive(Default)]
struct Branches {
    /// The commit of each entry so far. What another branch wrote meanwhile belongs to a commit of that branch.
    holders: HashMap<EntryId, CommitId>,
    /// The newest commit on the way to the end.
    trunk: Option<CommitId>,
    found: HashMap<CommitId, BranchPlace>,
}

impl Branches {
    fn see(&mut self, commit: &PathCommit, main: Option<&str>) {
        let entries = || commit.entries.iter().zip(&commit.is_active);
        let prompt = entries().find(|(entry, _)| prompt_text(entry, main).is_some());
        // A summary stands for what was said, and is on no branch.
        let is_said = |entry: &Entry| {
            let kinds = matches!(entry.kind, EntryKind::Message | EntryKind::ToolResult);
            kinds && entry.meta.visibility.agent && is_main(entry, main)
        };
        let said = || entries().filter(|(entry, _)| is_said(entry));
        // Where several wrote at once, a commit has records of each; the prompt that it begins with is what it is shown by.
        let first = prompt.or_else(|| said().find(|(_, is_active)| **is_active)).or_else(|| said().next());
        let id = commit.commit.id;
        let is_beside = matches!(first, Some((_, false)));
        let parent = first.and_then(|(entry, _)| self.holders.get(entry.parent.as_ref()?)).copied();
        let continues = if is_beside { parent.or(self.trunk) } else { self.trunk };
        if let Some(continues) = continues
            && (is_beside || Some(continues) != commit.commit.core.parent)
        {
            self.found.insert(id, BranchPlace { continues, is_beside });
        }
        if !is_beside || self.trunk.is_none() {
            self.trunk = Some(id);
        }
        for (entry, is_active) in entries() {
            let above = || self.holders.get(entry.parent.as_ref()?).copied();
            let holder = if *is_active == is_beside { above().unwrap_or(id) } else { id };
            self.holders.insert(entry.id.clone(), holder);
        }
    }
}

impl Engine {
    /// Returns the turns of a tree's commits. Commits that cannot be read, and all of a tree that is too large, are left out.
    ///
    /// # Errors
    /// Store errors.
    pub fn tree_turns(&self, tree: &Tree) -> Result<TurnsOfCommits> {
        let bytes: u64 = tree.nodes.iter().map(|node| node.commit.native_bytes).sum();
        let Some(tip) = tree.trunk_tip().filter(|_| bytes <= READ_BYTES_MAX) else {
            return Ok(TurnsOfCommits::default());
        };
        let session = self.first_session(tip)?;
        let root = session.as_ref().and_then(|session| session.cwd.as_deref());
        let mut turns = HashMap::new();
        let mut branches = Branches::default();
        let mut main: Option<Option<String>> = None;
        let mut number = 0;
        let read = self.each_of_path(tip, &mut |commit| {
            let main = main.get_or_insert_with(|| sidechain_of(&commit.entries));
            let id = commit.commit.id;
            branches.see(&commit, main.as_deref());
            turns.insert(
                id,
                numbered(
                    id,
                    &commit.entries,
                    (&commit.is_active, Frame { main: main.as_deref(), root }),
                    &mut number,
                ),
            );
            Ok(ControlFlow::Continue(()))
        });
        // A chain with a hole or in an unknown format is drawn by its summaries.
        if read.is_err() {
            return Ok(TurnsOfCommits::default());
        }
        let main = main.flatten();
        let mut last: HashMap<CommitId, u64> = HashMap::new();
        for node in &tree.nodes {
            let id = node.commit.id;
            let before = node.commit.core.parent.and_then(|parent| last.get(&parent).copied()).unwrap_or(0);
            if !turns.contains_key(&id) && node.commit.closure != Closure::Forgotten {
                let mut number = before;
                let bytes = read_whole(self, node.commit.core.native_artifact())?;
                if let Ok(entries) = self.own_entries(&node.commit, &bytes) {
                    turns.insert(
                        id,
                        numbered(id, &entries, (&[], Frame { main: main.as_deref(), root }), &mut number),
                    );
                }
            }
            let own = turns.get(&id).and_then(|turns: &Vec<SessionTurn<CommitId>>| {
                turns.iter().filter_map(|turn| turn.number).max()
            });
            last.insert(id, own.unwrap_or(before));
        }
        Ok(TurnsOfCommits { turns, branches: branches.found })
    }
}

fn numbered(
    commit: CommitId,
    entries: &[Entry],
    (is_active, frame): (&[bool], Frame<'_>),
    number: &mut u64,
) -> Vec<SessionTurn<CommitId>> {
    let of = outlines(entries, is_active, frame).into_iter().map(|outline| {
        *number += u64::from(outline.prompt.is_some());
        SessionTurn { number: outline.prompt.as_ref().map(|_| *number), commit, outline }
    });
    of.collect()
}

impl Tree {
    /// Returns the end of the trunk: of the branch that goes on longest, of several the newest.
    pub fn trunk_tip(&self) -> Option<CommitId> {
        let mut best: HashMap<CommitId, (u64, i64, CommitId)> = HashMap::new();
        // Parents stand before children, so that backwards every child is known before its parent.
        for node in self.nodes.iter().rev() {
            let below = node
                .children
                .iter()
                .filter_map(|child| best.get(child))
                .max_by_key(|(long, at, _)| (*long, *at));
            let own = (1, node.commit.core.created_at.as_micros(), node.commit.id);
            let (long, at, tip) = below.map_or(own, |(long, at, tip)| (long + 1, *at, *tip));
            best.insert(node.commit.id, (long, at, tip));
        }
        let root = self.nodes.first()?;
        best.get(&root.commit.id).map(|(_, _, tip)| *tip)
    }
}
