//! The active path: from a conversation's last entry back to where it starts.
//!
//! It names units and links only; which other lines stay with them is decided in `context`.

use std::collections::HashSet;

use super::row::{Kind, Link, Row};
use super::tree::Tree;

/// How far back a path goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// To the nearest compaction.
    Compaction,
    /// To the beginning of what is there, over compactions, unless they are in these bytes.
    Beginning {
        /// Number of bytes, as `Piece::segment` counts them.
        stop: Option<usize>,
    },
}

impl Reach {
    fn ends_at(self, tree: &Tree, boundary: usize) -> bool {
        match self {
            Self::Compaction => true,
            Self::Beginning { stop } => stop == Some(tree.row(boundary).segment),
        }
    }
}

/// A unit of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The unit.
    pub(super) unit: usize,
    /// The line of it on which the newer step hangs.
    pub(super) landing: usize,
}

/// The active path, newest first.
#[derive(Debug, Default)]
pub(super) struct Path {
    /// The steps that are kept.
    pub(super) steps: Vec<Step>,
    /// The units of the steps.
    pub(super) units: HashSet<usize>,
    /// The boundary of the compaction where it ends, if it ends at one.
    pub(super) start: Option<usize>,
    /// The messages which that compaction keeps and which are on the way, oldest first.
    pub(super) kept: Vec<usize>,
    /// Where the way comes to what a compaction keeps: its boundary, and the kept record on which the rest hangs.
    crossing: Option<(usize, usize)>,
    /// Lines of compactions that it goes over.
    pub(super) skipped: HashSet<usize>,
    /// Complete compactions that it goes over.
    pub(super) skipped_compactions: u64,
    /// Boundaries without a summary that it goes over.
    pub(super) incomplete: u64,
    /// Lines of the path whose parent was made up.
    pub(super) recovered: HashSet<usize>,
    /// Whether it goes through branches that hang beside it because a parent was written wrongly.
    pub(super) spliced: u64,
}

/// Finds the line with which the conversation ends: what the user chose last, else the last message, and
/// if that is a late result of a tool, the last message that followed from the call.
pub(super) fn leaf(tree: &Tree) -> Option<usize> {
    let own = |position: usize| is_own(tree, position);
    let last = last(tree)?;
    if let Some(choice) = choice(tree) {
        return Some(choice);
    }
    let is_end = |position: &usize| own(*position) && tree.row(*position).kind.is_end();
    let is_message = |position: &usize| own(*position) && tree.row(*position).kind.is_message();
    let message = (0..=last).rev().find(is_end).or_else(|| (0..=last).rev().find(is_message))?;
    if tree.row(message).kind != Kind::Result || tree.unit(message) == message {
        return Some(message);
    }
    let branch = tree.branch(tree.unit(message), message);
    let goes_on = |last: &usize| tree.unit(*last) != tree.unit(message);
    branch.last.filter(goes_on).or(Some(message))
}

fn is_own(tree: &Tree, position: usize) -> bool {
    tree.is_own(position) && tree.row(position).kind != Kind::Restated
}

/// Returns the last line of the tree, or a choice of the user's behind it.
fn last(tree: &Tree) -> Option<usize> {
    let mut positions = (0..tree.rows.len()).rev();
    positions.find(|&position| {
        let row = tree.row(position);
        match row.kind {
            Kind::Checkpoint => row.explicit && chosen(tree, position).is_some(),
            Kind::Progress => false,
            kind => kind.is_node() && is_own(tree, position),
        }
    })
}

/// Returns the record that the user chose last, if nothing was written since.
fn choice(tree: &Tree) -> Option<usize> {
    last(tree).filter(|&last| tree.row(last).kind == Kind::Checkpoint).and_then(|last| chosen(tree, last))
}

fn chosen(tree: &Tree, checkpoint: usize) -> Option<usize> {
    let named = match tree.row(checkpoint).parent {
        // Of what a compaction put away the client finds nothing.
        Link::Of(key) => tree
            .find(key)
            .filter(|&position| tree.is_own(position) && tree.put_away_by(position).is_none())?,
        Link::Absent | Link::Root => return None,
    };
    if tree.row(named).kind == Kind::Progress { tree.parent(named) } else { Some(named) }
}

/// Walks from a leaf back.
pub(super) fn walk(tree: &Tree, leaf: usize, reach: Reach) -> Path {
    let mut path = Path::default();
    let mut next = Some(leaf);
    // A choice of a record that a compaction keeps is one of a place behind the compaction's start.
    let kept_choice =
        choice(tree).filter(|&choice| choice == leaf).and_then(|leaf| crossed(tree, leaf, None));
    if let Some(boundary) = kept_choice.filter(|&boundary| reach.ends_at(tree, boundary)) {
        path.crossing = Some((boundary, leaf));
        next = Some(if leaf < boundary { boundary } else { leaf });
    }
    // What follows the step in hand: the kind of the nearest newer message that is not the runtime's own.
    let mut below = None;
    let mut seen = HashSet::new();
    while let Some(landing) = next {
        let unit = tree.unit(landing);
        if !seen.insert(unit) {
            let last = path.steps.last().map(|step| step.unit);
            next = last.and_then(|last| path.out_of_circle(tree, last, &seen));
            if next.is_none() {
                break;
            }
            continue;
        }
        match tree.row(unit).kind {
            Kind::Boundary if tree.is_complete(unit) && reach.ends_at(tree, unit) => {
                // What hangs on the boundary itself goes behind the summary, or the summary is not sent.
                let summary = tree.summary_of(unit).filter(|summary| !path.units.contains(summary));
                if let Some(unit) = summary {
                    path.keep(Step { unit, landing: unit });
                }
                path.keep(Step { unit, landing });
                path.start = Some(unit);
                path.kept = path.kept_at(tree, unit);
                return path;
            }
            Kind::Boundary => {
                next = path.pass_boundary(tree, unit);
                continue;
            }
            Kind::Summary
                if tree.boundary_of(unit).is_some_and(|boundary| !reach.ends_at(tree, boundary)) =>
            {
                path.skipped.insert(unit);
                next = tree.parent(unit).or_else(|| tree.nearest(unit));
                continue;
            }
            kind @ (Kind::Prompt | Kind::Assistant | Kind::Result | Kind::Summary) => below = Some(kind),
            _ => {}
        }
        path.keep(Step { unit, landing });
        next = path.older(tree, unit, below);
    }
    path
}

impl Path {
    fn keep(&mut self, step: Step) {
        self.units.insert(step.unit);
        self.steps.push(step);
    }

    /// Returns what a compaction keeps, as far as it is on the way: with a record of a message that message, with its results.
    fn kept_at(&self, tree: &Tree, boundary: usize) -> Vec<usize> {
        let mut kept = tree.kept_by(boundary);
        let crossing = self.crossing.filter(|&(crossed, _)| crossed == boundary).map(|(_, record)| record);
        if let Some(last) = crossing.and_then(|record| kept.iter().position(|&kept| kept == record)) {
            let unit = crossing.map(|record| tree.unit(record));
            let behind = kept.split_off(last + 1);
            kept.extend(behind.into_iter().filter(|&kept| Some(tree.unit(kept)) == unit));
        }
        kept
    }

    /// Goes over a compaction, or over a boundary whose summary was never written.
    fn pass_boundary(&mut self, tree: &Tree, boundary: usize) -> Option<usize> {
        self.skipped.insert(boundary);
        if tree.is_complete(boundary) {
            self.skipped_compactions += 1;
            self.skipped.extend(tree.summary_of(boundary));
        } else {
            self.incomplete += 1;
        }
        let logical = tree.row(boundary).other.and_then(|key| tree.find(key));
        // The last record before a compaction may be progress, on which nothing should hang.
        let logical =
            logical.filter(|&logical| logical < boundary).and_then(|logical| match tree.row(logical).kind {
                Kind::Progress => tree.parent(logical),
                _ => Some(logical),
            });
        logical.or_else(|| tree.nearest(boundary))
    }

    /// Returns the line on which a unit hangs.
    fn older(&mut self, tree: &Tree, unit: usize, below: Option<Kind>) -> Option<usize> {
        let head = tree.head(unit);
        let parent = tree.parent(head);
        if tree.is_made_up(head) {
            self.recovered.insert(head);
        }
        let Some(parent) = parent else {
            return self.before_root(tree, head, below);
        };
        if is_continuation(tree, (parent, head), below) {
            self.spliced += 1;
            return tree.nearest(head);
        }
        let crossed = crossed(tree, parent, Some(head));
        let is_new = |&boundary: &usize| self.crossing.is_none_or(|(known, _)| known != boundary);
        if let Some(boundary) = crossed.filter(is_new) {
            self.crossing = Some((boundary, parent));
        }
        let boundary = crossed.filter(|&boundary| parent < boundary);
        // What hangs on a kept record from before the compaction is part of what was compacted.
        let side = side_branch(tree, tree.unit(parent), head, below);
        let side = side.filter(|&side| boundary.is_none_or(|boundary| boundary < side));
        self.spliced += u64::from(side.is_some());
        side.or(boundary).or(Some(parent))
    }

    /// Returns what stands in for a parent that hangs below its own child: the nearest message before that was not reached yet.
    fn out_of_circle(&mut self, tree: &Tree, unit: usize, seen: &HashSet<usize>) -> Option<usize> {
        let head = tree.head(unit);
        let nearest = std::iter::successors(tree.nearest(head), |&nearest| tree.nearest(nearest))
            .find(|&nearest| !seen.contains(&tree.unit(nearest)))?;
        self.recovered.insert(head);
        Some(nearest)
    }

    /// A conversation starts with a prompt. Anything else that hangs on nothing lost its parent.
    fn before_root(&mut self, tree: &Tree, head: usize, below: Option<Kind>) -> Option<usize> {
        let is_older = matches!(tree.row(head).parent, Link::Of(_));
        if is_older || !matches!(below, Some(Kind::Assistant | Kind::Result)) {
            return None;
        }
        let nearest = tree.nearest(head)?;
        self.recovered.insert(head);
        Some(nearest)
    }
}

/// What follows a compaction hangs on a record that the compaction keeps: the way back leads through the compaction, also
/// where that record stands before the boundary. `child` is what hangs on it, none where it is the end.
fn crossed(tree: &Tree, parent: usize, child: Option<usize>) -> Option<usize> {
    let kept_by = |position: usize| tree.row(position).key.and_then(|key| tree.preserved_by(key));
    // Where it names progress nothing is kept, and the client goes on from the old record.
    let boundary = kept_by(parent).filter(|&boundary| !tree.names_progress(boundary))?;
    child.is_none_or(|child| boundary < child && kept_by(child) != Some(boundary)).then_some(boundary)
}

/// Returns whether the client went on by itself from an older record than the last one: it wrote its own words there and got an
/// answer, and nobody had gone back.
fn is_continuation(tree: &Tree, (parent, head): (usize, usize), below: Option<Kind>) -> bool {
    if tree.row(head).kind != Kind::Meta || below != Some(Kind::Assistant) || parent > head {
        return false;
    }
    let unit = tree.unit(parent);
    let is_chosen = |row: &Row| {
        let is_named = tree.named(row).is_some_and(|named| tree.unit(named) == unit);
        row.kind == Kind::Checkpoint && row.explicit && is_named
    };
    let between = tree.rows.iter().enumerate().take(head).skip(parent + 1);
    let other = |&(position, row): &(usize, &Row)| {
        let is_other = row.kind == Kind::Boundary || row.kind == Kind::Prompt;
        is_other && tree.is_own(position)
    };
    between.clone().any(|line| other(&line)) && !between.into_iter().any(|(_, row)| is_chosen(row))
}

/// Finds the end of a branch that hangs beside the path and belongs to it.
///
/// Where a user goes back and writes another prompt, the branch beside it starts with a prompt too, and is
/// abandoned. A branch that starts with an answer was the conversation: clients have hung the next record on
/// an old one by mistake, most often on the progress of a tool. Two answers to one message are a try and its
/// repetition; the first is part of the conversation only if tools ran in it.
fn side_branch(tree: &Tree, unit: usize, child: usize, below: Option<Kind>) -> Option<usize> {
    let beside = tree.children(unit).filter(|&other| other != child && other < child && tree.is_own(other));
    let ends = beside.filter_map(|other| {
        let branch = tree.branch(tree.unit(other), child);
        let is_answer = matches!(branch.first, Some(Kind::Assistant | Kind::Result));
        let is_mistake = match below {
            Some(Kind::Prompt) => is_answer,
            _ => is_answer && branch.has_results,
        };
        branch.last.filter(|_| is_mistake)
    });
    ends.max()
}
