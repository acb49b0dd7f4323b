//! The turns of a tree: what happened in each commit, with the numbers of its prompts.
//!
//! The trunk is read as the path of its tip, so that its numbers are those of `numbered_prompts`. What branches off it
//! counts on from where it does.

use std::collections::HashMap;
use std::ops::ControlFlow;

use stemmata_model::{Closure, CommitId, Entry};
use stemmata_prompt::story::{Frame, SessionTurn, outlines, sidechain_of};

use super::Tree;
use crate::chain::path::own_entries;
use crate::chain::segments::read_whole;
use crate::engine::Engine;
use crate::error::Result;

/// Bytes of the commits of a tree that are read for their turns; of a larger tree none are.
const READ_BYTES_MAX: u64 = 512 * 1024 * 1024;

/// The turns of commits. A turn without a number comes before the first prompt of its commit.
pub type TurnsOfCommits = HashMap<CommitId, Vec<SessionTurn<CommitId>>>;

impl Engine {
    /// Returns the turns of a tree's commits. Commits that cannot be read, and all of a tree that is too large, are left out.
    ///
    /// # Errors
    /// Store errors.
    pub fn tree_turns(&self, tree: &Tree) -> Result<TurnsOfCommits> {
        let bytes: u64 = tree.nodes.iter().map(|node| node.commit.native_bytes).sum();
        let Some(tip) = tree.trunk_tip().filter(|_| bytes <= READ_BYTES_MAX) else {
            return Ok(HashMap::new());
        };
        let session = self.first_session(tip)?;
        let root = session.as_ref().and_then(|session| session.cwd.as_deref());
        let mut turns: TurnsOfCommits = HashMap::new();
        let mut main: Option<Option<String>> = None;
        let mut number = 0;
        let read = self.each_of_path(tip, &mut |commit| {
            let main = main.get_or_insert_with(|| sidechain_of(&commit.entries));
            let id = commit.commit.id;
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
            return Ok(HashMap::new());
        }
        let main = main.flatten();
        let mut last: HashMap<CommitId, u64> = HashMap::new();
        for node in &tree.nodes {
            let id = node.commit.id;
            let before = node.commit.core.parent.and_then(|parent| last.get(&parent).copied()).unwrap_or(0);
            if !turns.contains_key(&id) && node.commit.closure != Closure::Forgotten {
                let mut number = before;
                let bytes = read_whole(self, node.commit.core.native_artifact())?;
                if let Ok(entries) = own_entries(&node.commit, &bytes) {
                    turns.insert(
                        id,
                        numbered(id, &entries, (&[], Frame { main: main.as_deref(), root }), &mut number),
                    );
                }
            }
            let own = turns.get(&id).and_then(|turns| turns.iter().filter_map(|turn| turn.number).max());
            last.insert(id, own.unwrap_or(before));
        }
        Ok(turns)
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
