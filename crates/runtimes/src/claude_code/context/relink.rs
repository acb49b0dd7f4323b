//! Which lines of a context get another parent, so that a loader finds all of it.
//!
//! A line keeps the parent that it names wherever that leads to where the path goes.

use super::super::path::{Path, Step};
use super::super::row::{Kind, Link};
use super::super::tree::Tree;
use super::fate::Fates;
use crate::adapter::PlanStop;

/// A line that gets another parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Relink {
    /// The line.
    pub(super) row: usize,
    /// What it is to hang on; nothing for the first one.
    pub(super) parent: Option<usize>,
}

/// Finds the lines whose parent is not the one that they hang on in the result, in the order of the file.
pub(super) fn relinks(tree: &Tree, path: &Path, fates: &Fates, stop: PlanStop) -> Vec<Relink> {
    let mut wanted: Vec<(usize, Option<usize>)> = Vec::new();
    let older = path.steps.iter().skip(1).map(Some).chain([None]);
    for (step, older) in path.steps.iter().zip(older) {
        let head = tree.head(step.unit);
        match older {
            Some(older) if hangs_on(tree, fates, head, older.unit) => {}
            Some(older) => wanted.push((head, Some(landing(tree, fates, older.landing)))),
            None if stop == PlanStop::Ancestor && path.start.is_none() => wanted.push((head, None)),
            None if tree.parent(head).is_some() => wanted.push((head, None)),
            None => {}
        }
        wanted.extend(gap(tree, fates, *step).map(|(row, parent)| (row, Some(parent))));
    }
    // A loader starts from the last line of the end, whatever its order.
    let last = path.steps.first().and_then(|end| {
        let mut of_end =
            (0..tree.rows.len()).rev().filter(|&line| tree.unit(line) == end.unit && fates.is_kept(line));
        of_end.next().map(|landing| Step { unit: end.unit, landing })
    });
    let last = last.and_then(|last| gap(tree, fates, last));
    wanted.extend(last.map(|(row, parent)| (row, Some(parent))));
    wanted.extend(stray(tree, path, fates).map(|(row, parent)| (row, Some(parent))));
    let is_new = |&(row, parent): &(usize, Option<usize>)| {
        let line = tree.row(row);
        let named = parent.and_then(|parent| tree.row(parent).key);
        let can_change = !line.of_artifact && line.parent_span.is_some() && fates.is_kept(row);
        can_change && line.parent != named.map_or(Link::Root, Link::Of)
    };
    let mut edits: Vec<Relink> =
        wanted.into_iter().filter(is_new).map(|(row, parent)| Relink { row, parent }).collect();
    // The path's own wish comes first where a line is named twice.
    edits.sort_by_key(|edit| edit.row);
    edits.dedup_by_key(|edit| edit.row);
    edits
}

/// Returns whether a line hangs on a unit as it is written, so that a loader finds it.
fn hangs_on(tree: &Tree, fates: &Fates, row: usize, unit: usize) -> bool {
    let is_there = tree.named(tree.row(row)).is_some_and(|named| fates.is_kept(named));
    is_there && !tree.is_made_up(row) && tree.parent(row).is_some_and(|parent| tree.unit(parent) == unit)
}

/// A line can only be hung on one that has an id and is there.
fn landing(tree: &Tree, fates: &Fates, wanted: usize) -> usize {
    if tree.row(wanted).key.is_some() && fates.is_kept(wanted) {
        return wanted;
    }
    tree.head(tree.unit(wanted))
}

/// Finds the line of a unit from which the way up, as it is written, does not lead to the unit's own head: a
/// result that names another record than its call, or one that was never written. It goes below the last call
/// before it that the way up leads from.
fn gap(tree: &Tree, fates: &Fates, step: Step) -> Option<(usize, usize)> {
    let head = tree.head(step.unit);
    let member = last_before_gap(tree, fates, step)?;
    let mut before = (head..member).rev();
    let call = before.find(|&landing| {
        let is_call = tree.unit(landing) == step.unit && tree.row(landing).kind == Kind::Assistant;
        is_call && fates.is_kept(landing) && last_before_gap(tree, fates, Step { landing, ..step }).is_none()
    });
    call.map(|call| (member, call))
}

/// Walks up within a unit; returns where it leaves the unit without having come to its head.
fn last_before_gap(tree: &Tree, fates: &Fates, step: Step) -> Option<usize> {
    let head = tree.head(step.unit);
    let (mut at, mut member) = (step.landing, step.landing);
    while at != head {
        if tree.unit(at) == step.unit {
            member = at;
        }
        let parent = tree.parent(at).filter(|_| !tree.is_made_up(at));
        // Upwards only, so that this ends; and never over a line that is not there.
        match parent.filter(|&parent| head <= parent && parent < at && fates.is_kept(parent)) {
            Some(parent) => at = parent,
            None => return Some(member),
        }
    }
    None
}

/// Finds the last line of the tree, if it does not hang below the end of the conversation, and what it should
/// hang on. A loader takes the last line for the end.
fn stray(tree: &Tree, path: &Path, fates: &Fates) -> Option<(usize, usize)> {
    let end = path.steps.first()?;
    let is_last = |&position: &usize| {
        let row = tree.row(position);
        fates.is_kept(position) && tree.is_own(position) && row.kind.is_node() && row.kind != Kind::Progress
    };
    let last = (0..tree.rows.len()).rev().find(is_last)?;
    let (mut stray, mut next) = (last, last);
    // Up to where it leaves the path; no chain is longer than the transcript.
    for _ in 0..tree.rows.len() {
        let leads = || last_before_gap(tree, fates, Step { landing: next, ..*end }).is_none();
        if tree.unit(next) == end.unit && leads() {
            return None;
        }
        if path.units.contains(&tree.unit(next)) || tree.row(next).of_artifact {
            break;
        }
        stray = next;
        match tree.parent(next).filter(|&parent| !tree.is_made_up(next) && fates.is_kept(parent)) {
            Some(parent) => next = parent,
            None => break,
        }
    }
    if path.units.contains(&tree.unit(stray)) {
        // It is of the path itself: a result that came late.
        stray = last;
    }
    let lines = (0..tree.rows.len()).rev();
    let mut of_end = lines.filter(|&position| tree.unit(position) == end.unit && fates.is_kept(position));
    of_end.next().map(|parent| (stray, parent))
}
