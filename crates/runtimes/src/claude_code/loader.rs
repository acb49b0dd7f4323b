//! What a client's loader makes of a transcript: which messages would reach the model.
//!
//! Facts about the clients, tried with the real ones (docs/reference/claude-code-loader.md); no code of theirs.

use std::collections::HashSet;

use super::row::{Kind, Link, Row};
use super::tree::Tree;

/// Which loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loader {
    /// Reads over progress, finds parallel calls again, bridges short gaps, needs no timestamps.
    Recovering,
    /// Walks parents and nothing else.
    Walking,
}

/// The oldest version that was seen to recover what a walk loses.
const RECOVERING_SINCE: (u64, u64, u64) = (2, 1, 330);

/// How far back in time the recovering loader looks for a record in the place of a missing parent.
const GAP_MICROS_MAX: i64 = 5_000_000;

impl Loader {
    /// Returns the loader of a version; of the newest known one where none is given or it cannot be read.
    pub(super) fn of(version: Option<&str>) -> Self {
        let Some(version) = version else {
            return Self::Recovering;
        };
        let mut numbers = version.split(['.', '-', '+']).map(|number| number.parse().unwrap_or(u64::MAX));
        let mut next = || numbers.next().unwrap_or_default();
        if (next(), next(), next()) >= RECOVERING_SINCE { Self::Recovering } else { Self::Walking }
    }

    /// Returns the lines of the tree that this loader puts into the conversation.
    pub(super) fn reached(self, tree: &Tree) -> HashSet<usize> {
        if tree.is_only_sidechain() {
            return HashSet::new();
        }
        if tree.differs_from_file() {
            let (written, positions) = tree.as_written();
            let reached = self.reached(&written).into_iter();
            return reached.filter_map(|position| positions.get(position).copied()).collect();
        }
        let load = match self {
            Self::Recovering => Load { tree, kept: Kept::of(tree) },
            Self::Walking => Load { tree, kept: Kept::default() },
        };
        let Some(leaf) = load.leaf(self) else {
            return HashSet::new();
        };
        match self {
            Self::Recovering => load.recovering(leaf),
            Self::Walking => load.walking(leaf),
        }
    }
}

/// A transcript that is being loaded.
struct Load<'a> {
    tree: &'a Tree,
    kept: Kept,
}

/// What the last compaction put away and what it keeps.
#[derive(Debug, Default)]
struct Kept {
    /// Lines that are as if they were not there.
    pruned: HashSet<usize>,
    /// Lines that are kept, oldest first.
    lines: Vec<usize>,
    /// The summary, on which the first of them hangs.
    anchor: Option<usize>,
}

impl Kept {
    /// With kept records listed anywhere, everything before the last boundary goes, but for what that boundary
    /// keeps; if a record that it keeps is missing, nothing goes and nothing is hung elsewhere.
    fn of(tree: &Tree) -> Self {
        let is_boundary = |row: &Row| row.kind == Kind::Boundary && row.sidechain == tree.side;
        let boundaries = || tree.rows.iter().enumerate().filter(|(_, row)| is_boundary(row));
        let Some((last, row)) = boundaries().next_back() else {
            return Self::default();
        };
        let any_kept = boundaries().any(|(_, row)| !row.preserved.is_empty());
        if !any_kept || row.preserved.iter().any(|&key| tree.find(key).is_none()) {
            return Self::default();
        }
        let lines: Vec<usize> = row.preserved.iter().filter_map(|&key| tree.find(key)).collect();
        let is_kept: HashSet<usize> = lines.iter().copied().collect();
        Self {
            pruned: (0..last).filter(|position| !is_kept.contains(position)).collect(),
            lines,
            anchor: tree.summary_of(last).and_then(|summary| tree.find(tree.row(summary).key?)),
        }
    }

    /// Returns where a line hangs because of the compaction: the kept lines one under the other below the
    /// summary, and what hung on the summary, or on a line that was put away, below the last of them.
    fn parent(&self, tree: &Tree, position: usize, parent: usize) -> Option<usize> {
        let Some(&last) = self.lines.last() else {
            return Some(parent).filter(|parent| !self.pruned.contains(parent));
        };
        if let Some(place) = self.lines.iter().position(|&line| line == position) {
            let before = place.checked_sub(1).and_then(|before| self.lines.get(before).copied());
            return before.or(self.anchor);
        }
        if Some(parent) == self.anchor {
            return Some(last);
        }
        if self.pruned.contains(&parent) {
            return tree.row(position).kind.is_message().then_some(last);
        }
        Some(parent)
    }
}

impl Load<'_> {
    fn is_there(&self, position: usize) -> bool {
        let row = self.tree.row(position);
        row.kind.is_node() && row.kind != Kind::Progress && !self.kept.pruned.contains(&position)
    }

    /// Returns the parent as it is written, read over progress.
    fn parent(&self, position: usize) -> Option<usize> {
        // What a compaction keeps hangs below its summary, whatever it hung on.
        if self.kept.lines.contains(&position) {
            return self.kept.parent(self.tree, position, position);
        }
        if self.tree.is_made_up(position) {
            return None;
        }
        self.kept.parent(self.tree, position, self.tree.parent(position)?)
    }

    /// The last line of the tree ends the conversation, unless a checkpoint names a record above which, or
    /// beside which, it hangs; a checkpoint of the user's own choice always counts.
    fn leaf(&self, loader: Loader) -> Option<usize> {
        let own = |&position: &usize| self.is_there(position) && self.tree.is_own(position);
        let last = (0..self.tree.rows.len()).rev().find(own)?;
        if loader == Loader::Walking {
            return Some(last);
        }
        let (checkpoint, explicit) = self.checkpoint(last);
        if checkpoint.is_some_and(|checkpoint| !self.tree.is_own(checkpoint)) {
            // The client finds no conversation where one of a subagent is to be the end.
            return None;
        }
        let leaf = match checkpoint {
            Some(checkpoint) if explicit || !self.descends(last, checkpoint) => checkpoint,
            Some(_) => last,
            None => self.newest_below(last),
        };
        if self.has_message_above(leaf) {
            // What the compaction keeps hangs below its summary.
            let kept = self.kept.lines.last().filter(|_| !explicit && Some(leaf) == self.kept.anchor);
            return Some(kept.copied().unwrap_or(leaf));
        }
        // With no message on its way the end is the newest message anywhere.
        let messages = (0..self.tree.rows.len()).filter(own);
        let messages = messages.filter(|&position| self.tree.row(position).kind.is_message());
        messages.max_by_key(|&position| (self.tree.row(position).time, position))
    }

    fn has_message_above(&self, leaf: usize) -> bool {
        let mut seen = HashSet::new();
        let mut next = Some(leaf);
        while let Some(position) = next.filter(|&position| seen.insert(position)) {
            if self.tree.row(position).kind.is_message() {
                return true;
            }
            next = self.parent(position);
        }
        false
    }

    /// A boundary makes earlier checkpoints void.
    fn checkpoint(&self, last: usize) -> (Option<usize>, bool) {
        let since = self.tree.rows.iter().rposition(|row| row.kind == Kind::Boundary).unwrap_or_default();
        let after = self.tree.rows.iter().enumerate().skip(since);
        let mut checkpoints = after.filter_map(|(position, row)| match (row.kind, row.parent) {
            (Kind::Checkpoint, Link::Of(key)) => Some((position, self.tree.find(key), row.explicit)),
            _ => None,
        });
        let Some((position, named, explicit)) = checkpoints.next_back() else {
            return (None, false);
        };
        (named.filter(|&named| self.is_there(named)), explicit && position > last)
    }

    /// Calls of one message and their results count as one: any of them may be the checkpoint.
    fn descends(&self, below: usize, above: usize) -> bool {
        let unit = self.tree.unit(above);
        let mut seen = HashSet::new();
        let mut next = Some(below);
        while let Some(position) = next.filter(|&position| seen.insert(position)) {
            if position == above || (self.tree.unit(position) == unit && self.is_call_group(unit)) {
                return true;
            }
            next = self.parent(position);
        }
        false
    }

    fn is_call_group(&self, unit: usize) -> bool {
        !self.tree.row(unit).calls.is_empty() || self.tree.row(unit).message.is_some()
    }

    /// Without checkpoints, a record written earlier than its parent still counts as after it.
    fn newest_below(&self, last: usize) -> usize {
        let newest = (0..self.tree.rows.len())
            .filter(|&position| self.is_there(position) && self.tree.is_own(position));
        let newest = newest.max_by_key(|&position| (self.tree.row(position).time, position));
        let newest =
            newest.filter(|&newest| newest < last && self.tree.row(newest).time > self.tree.row(last).time);
        newest.filter(|&newest| self.descends(newest, last)).unwrap_or(last)
    }

    fn recovering(&self, leaf: usize) -> HashSet<usize> {
        let mut reached = HashSet::new();
        let mut units = HashSet::new();
        let mut next = Some(leaf);
        while let Some(position) = next.filter(|&position| reached.insert(position)) {
            units.insert(self.tree.unit(position));
            let row = self.tree.row(position);
            let has_parent = matches!(row.parent, Link::Of(_));
            next = self
                .parent(position)
                .or_else(|| has_parent.then(|| self.in_time(position, &reached)).flatten());
        }
        let beside = (0..self.tree.rows.len()).filter(|&position| {
            self.is_there(position) && units.contains(&self.tree.unit(position)) && self.tree.is_own(position)
        });
        reached.extend(beside);
        reached
    }

    /// Finds what stands in for a missing parent: the newest record not after this one, if it is near enough.
    fn in_time(&self, position: usize, reached: &HashSet<usize>) -> Option<usize> {
        let time = self.tree.row(position).time?;
        let own = |&other: &usize| {
            self.is_there(other)
                && self.tree.is_own(other) == self.tree.is_own(position)
                && !reached.contains(&other)
        };
        let earlier = (0..self.tree.rows.len())
            .filter(own)
            .filter_map(|other| Some((self.tree.row(other).time?, other)));
        let (found, other) = earlier.filter(|&(other, _)| other <= time).max()?;
        (time - found <= GAP_MICROS_MAX).then_some(other)
    }

    /// Progress is a record like any other here; a record without a timestamp ends the walk.
    fn walking(&self, leaf: usize) -> HashSet<usize> {
        let mut reached = HashSet::new();
        let mut next = Some(leaf);
        while let Some(position) = next.filter(|&position| reached.insert(position)) {
            let row = self.tree.row(position);
            next = match row.parent {
                Link::Of(key) => self.tree.find(key).filter(|&parent| self.tree.row(parent).time.is_some()),
                Link::Absent | Link::Root => None,
            };
        }
        reached
    }
}
