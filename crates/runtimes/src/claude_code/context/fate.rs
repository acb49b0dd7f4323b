//! What becomes of each line: kept, or left out with the branch or compaction that it belongs to.
//!
//! The path itself is given; this is about everything that hangs on it or stands beside it.

use std::collections::HashSet;

use super::super::path::Path;
use super::super::row::{Kind, Row};
use super::super::tree::Tree;

/// What becomes of the lines.
#[derive(Debug, Default)]
pub(super) struct Fates {
    kept: Vec<bool>,
    /// Where the result starts.
    first: usize,
    /// The last line of the conversation's tree that is kept.
    last: usize,
    /// Lines left out because they are on abandoned branches.
    pub(super) abandoned: u64,
}

/// Returns whether a line is of the end of the conversation.
fn is_end(tree: &Tree, path: &Path, position: usize) -> bool {
    path.steps.first().is_some_and(|end| end.unit == tree.unit(position))
}

impl Fates {
    /// Returns whether a line is part of the result.
    pub(super) fn is_kept(&self, position: usize) -> bool {
        self.kept.get(position).copied().unwrap_or_default()
    }

    fn set(&mut self, position: usize) {
        if let Some(slot) = self.kept.get_mut(position) {
            *slot = true;
        }
    }
}

/// Decides about every line.
pub(super) fn decide(tree: &Tree, path: &Path) -> Fates {
    let first = first(tree, path);
    let mut fates = Fates { kept: vec![false; tree.rows.len()], first, ..Fates::default() };
    let abandoned = abandoned_trails(tree, path);
    let mut follows_kept = true;
    let kept = kept(tree, path);
    let lists = path.start.is_some_and(|start| !tree.row(start).preserved.is_empty());
    for &position in kept.iter().filter(|&&position| position < first) {
        fates.set(position);
    }
    for position in first..tree.rows.len() {
        let row = tree.row(position);
        if !row.kind.is_node() || row.kind == Kind::Restated {
            continue;
        }
        let is_of_path = path.units.contains(&tree.unit(position)) || kept.contains(&position);
        let keep = if lists && row.of_artifact && row.kind.is_message() && tree.is_own(position) {
            // An artifact has whole messages, also where the compaction keeps a part, or the way leads to a part of what it keeps.
            row.kind == Kind::Summary || kept.contains(&position)
        } else if row.of_artifact || is_of_path {
            true
        } else if path.skipped.contains(&position) {
            false
        } else if tree.is_own(position) {
            // A result beside the path has no call on it: no loader sends it.
            row.kind.is_hanging() && !at(&abandoned, position) && hangs_on_kept(tree, &fates, position)
        } else {
            // A subagent's lines inside the conversation share the fate of the call that they stand behind.
            follows_kept
        };
        if keep {
            fates.set(position);
            if tree.is_own(position) && row.kind != Kind::Progress {
                fates.last = position;
            }
        } else if !path.skipped.contains(&position) {
            fates.abandoned += 1;
        }
        if tree.is_own(position) && row.kind != Kind::Progress {
            follows_kept = keep || path.skipped.contains(&position);
        }
    }
    for position in first..tree.rows.len() {
        decide_outside(tree, path, &mut fates, position);
    }
    if path.start.is_none() {
        let before = tree.rows.iter().take(first);
        fates.abandoned +=
            before.filter(|row| !matches!(row.kind, Kind::Restated | Kind::Blank)).count() as u64;
    }
    fates
}

/// Returns the lines on the way that the compaction keeps at which the path ends; those before it only where they are in no artifact.
fn kept(tree: &Tree, path: &Path) -> HashSet<usize> {
    let Some(start) = path.start else { return HashSet::new() };
    let is_there = |position: &usize| !tree.row(start).of_artifact || start < *position;
    path.kept.iter().copied().filter(|&kept| tree.is_own(kept)).filter(is_there).collect()
}

/// Returns where the result starts: at its compaction, or with the conversation if another one was before it
/// that the user left altogether.
fn first(tree: &Tree, path: &Path) -> usize {
    let root = path.steps.last().map_or(0, |step| tree.head(step.unit));
    let mut before = tree.rows.iter().take(root);
    let is_other = |row: &Row| row.sidechain == tree.side && row.kind.is_message();
    path.start.unwrap_or_else(|| if before.any(is_other) { root } else { 0 })
}

fn at(flags: &[bool], position: usize) -> bool {
    flags.get(position).copied().unwrap_or_default()
}

/// Marks the lines that lead to a message which is not on the path: hooks and notes around a prompt that
/// was taken back say nothing without it.
fn abandoned_trails(tree: &Tree, path: &Path) -> Vec<bool> {
    let mut trail = vec![false; tree.rows.len()];
    for position in 0..tree.rows.len() {
        if !matches!(tree.row(position).kind, Kind::Prompt | Kind::Assistant) {
            continue;
        }
        let mut next = Some(position);
        while let Some(position) = next {
            if path.units.contains(&tree.unit(position)) || at(&trail, position) {
                break;
            }
            if let Some(mark) = trail.get_mut(position) {
                *mark = true;
            }
            next = tree.parent(position);
        }
    }
    trail
}

/// What hangs on a compaction that is gone over, and nothing hangs on it, goes with the compaction; what hangs
/// on a line before the result's start goes with that.
fn hangs_on_kept(tree: &Tree, fates: &Fates, position: usize) -> bool {
    match tree.parent(position) {
        Some(parent) => fates.is_kept(parent),
        None => !tree.hangs_on_older(position),
    }
}

/// Lines outside the tree are kept, unless they speak of a record that is not.
///
/// A note on where the session goes on must name a record of the path: a loader follows it rather than the
/// last line, and a dead end would cost everything after it; a compaction's own summary, what it keeps. One of
/// the user's own choice counts when nothing follows it, and here less follows.
fn decide_outside(tree: &Tree, path: &Path, fates: &mut Fates, position: usize) {
    let row = tree.row(position);
    if row.kind.is_node() {
        return;
    }
    let about = tree.named(row).filter(|&about| about >= fates.first);
    let cut = row.other.and_then(|key| tree.find(key)).filter(|&cut| cut >= fates.first);
    let is_known = |about: usize| match row.kind {
        Kind::Checkpoint => {
            let is_on_path = !tree.row(about).of_artifact && path.units.contains(&tree.unit(about));
            is_on_path && (!row.explicit || position < fates.last || is_end(tree, path, about))
        }
        _ => fates.is_kept(about),
    };
    if row.of_artifact || about.into_iter().chain(cut).all(is_known) {
        fates.set(position);
    } else if !about.is_some_and(|about| path.skipped.contains(&about)) {
        fates.abandoned += 1;
    }
}
