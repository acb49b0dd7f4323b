//! What becomes of each line: kept, or left out with the branch or compaction that it belongs to.
//!
//! The path itself is given; this is about everything that hangs on it or stands beside it.

use super::super::path::Path;
use super::super::row::{Kind, Link};
use super::super::tree::Tree;

/// What becomes of the lines.
#[derive(Debug, Default)]
pub(super) struct Fates {
    kept: Vec<bool>,
    /// Lines left out because they are on abandoned branches.
    pub(super) abandoned: u64,
    /// A line behind the conversation's end that hangs elsewhere, and what it should hang on.
    ///
    /// A loader takes the last line of the tree for the end of the conversation.
    pub(super) stray: Option<(usize, usize)>,
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
    let mut fates = Fates { kept: vec![false; tree.rows.len()], ..Fates::default() };
    let first = path.start.unwrap_or_default();
    let abandoned = abandoned_trails(tree, path);
    let mut follows_kept = true;
    for position in first..tree.rows.len() {
        let row = tree.row(position);
        if !row.kind.is_node() || row.kind == Kind::Restated {
            continue;
        }
        let keep = if row.of_artifact || path.units.contains(&tree.unit(position)) {
            true
        } else if path.skipped.contains(&position) {
            false
        } else if tree.is_own(position) {
            row.kind.is_hanging_or_result()
                && !at(&abandoned, position)
                && hangs_on_kept(tree, path, &fates, position)
        } else {
            // A subagent's lines inside the conversation share the fate of the call that they stand behind.
            follows_kept
        };
        if keep {
            fates.set(position);
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
    fates.stray = stray(tree, path, &fates);
    fates
}

impl Kind {
    const fn is_hanging_or_result(self) -> bool {
        self.is_hanging() || matches!(self, Self::Result)
    }
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

fn hangs_on_kept(tree: &Tree, path: &Path, fates: &Fates, position: usize) -> bool {
    match tree.parent(position) {
        Some(parent) => fates.is_kept(parent) || path.skipped.contains(&parent),
        None => true,
    }
}

/// Lines outside the tree are kept, unless they speak of a record that is not.
///
/// A note on where the session goes on must name a record of the path: a loader follows it rather than the
/// last line, and a dead end would cost everything after it.
fn decide_outside(tree: &Tree, path: &Path, fates: &mut Fates, position: usize) {
    let row = tree.row(position);
    if row.kind.is_node() {
        return;
    }
    let first = path.start.unwrap_or_default();
    let about = match row.parent {
        Link::Of(key) => tree.find(key),
        Link::Absent | Link::Root => None,
    };
    let about = about.filter(|&about| about >= first);
    let cut = row.other.and_then(|key| tree.find(key)).filter(|&cut| cut >= first);
    let is_known = |about: usize| match row.kind {
        Kind::Checkpoint => tree.row(about).of_artifact || path.units.contains(&tree.unit(about)),
        _ => fates.is_kept(about),
    };
    if row.of_artifact || about.into_iter().chain(cut).all(is_known) {
        fates.set(position);
    } else if !about.is_some_and(|about| path.skipped.contains(&about)) {
        fates.abandoned += 1;
    }
}

/// Finds the last line of the tree, if it does not hang below the end of the conversation.
fn stray(tree: &Tree, path: &Path, fates: &Fates) -> Option<(usize, usize)> {
    let end = path.steps.first()?;
    let is_last = |&position: &usize| {
        let row = tree.row(position);
        fates.is_kept(position) && tree.is_own(position) && row.kind.is_node() && row.kind != Kind::Progress
    };
    let last = (0..tree.rows.len()).rev().find(is_last)?;
    let mut next = Some(last);
    // No chain is longer than the transcript.
    for _ in 0..tree.rows.len() {
        match next {
            Some(position) if tree.unit(position) == end.unit => return None,
            Some(position) => next = tree.parent(position),
            None => break,
        }
    }
    let lines = (0..tree.rows.len()).rev();
    let mut of_end = lines.filter(|&position| tree.unit(position) == end.unit && fates.is_kept(position));
    of_end.next().map(|parent| (last, parent))
}
