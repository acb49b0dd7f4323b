//! What a client's loader makes of a transcript: which messages would reach the model.
//!
//! Facts about the clients, tried with the real ones (docs/reference/claude-code-loader.md); no code of theirs.

mod kept;

use std::collections::HashSet;

use super::keys::ByKey;
use super::row::{Key, Kind, Link, Row};
use super::tree::Tree;
use crate::circles::nearest_up;

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
        let mut load = Load::of(tree, self);
        match self {
            Self::Recovering => {
                load.kept = kept::relink(&mut load);
                load.leaf().map_or_else(HashSet::new, |leaf| load.recovering(leaf))
            }
            Self::Walking => load.last.map_or_else(HashSet::new, |last| load.walking(last)),
        }
    }
}

/// The records of a transcript as a loader holds them: one an id, where the id first stood, with what was written of it last.
struct Load<'t> {
    tree: &'t Tree,
    records: Vec<Record<'t>>,
    by_key: ByKey<usize>,
    /// The record that was written last, and is no subagent's.
    last: Option<usize>,
    checkpoint: Option<Checkpoint>,
    /// Whether any checkpoint names a record.
    has_checkpoint: bool,
    /// The last record that the last compaction keeps.
    kept: Option<usize>,
}

/// A record as a loader holds it.
struct Record<'t> {
    /// Where it stands in the tree.
    position: usize,
    row: &'t Row,
    /// What it hangs on, read over progress.
    parent: Link,
    /// Whether the loader put it away, or never took it.
    is_gone: bool,
}

/// Where the session goes on.
struct Checkpoint {
    /// The record that it names. `None` if the user went back to before the first record.
    leaf: Option<Key>,
    /// Whether the user chose it, and nothing was written since.
    is_chosen: bool,
}

impl<'t> Load<'t> {
    fn of(tree: &'t Tree, loader: Loader) -> Self {
        let mut load = Self {
            tree,
            records: Vec::with_capacity(tree.rows.len()),
            by_key: ByKey::default(),
            last: None,
            checkpoint: None,
            has_checkpoint: false,
            kept: None,
        };
        let mut positions: Vec<usize> = (0..tree.rows.len()).collect();
        positions.sort_by_key(|&position| tree.written(position));
        let mut skipped: ByKey<Link> = ByKey::default();
        let mut dropped: ByKey<Link> = ByKey::default();
        for position in positions {
            let row = tree.row(position);
            if row.is_unread {
                continue;
            }
            match row.again.unwrap_or(row.kind) {
                Kind::Checkpoint => load.note(row),
                Kind::Progress if loader == Loader::Recovering => {
                    if let Some(key) = row.key {
                        skipped.insert(key, over(&skipped, row.parent));
                    }
                }
                kind if kind.is_node() => {
                    let parent = over(&skipped, row.parent);
                    if let (Loader::Recovering, true, Some(key)) = (loader, row.is_empty, row.key) {
                        if !load.by_key.contains_key(&key) {
                            dropped.insert(key, parent);
                        }
                    } else {
                        load.take(position, kind, parent);
                    }
                }
                _ => {}
            }
        }
        let count = if dropped.is_empty() { 0 } else { load.records.len() };
        for at in 0..count {
            let parent = load.past(&mut dropped, load.link(at));
            load.hang(at, parent);
        }
        load
    }

    /// What hung on a message that was dropped hangs on what that hung on. Remembers where each way led.
    fn past(&self, dropped: &mut ByKey<Link>, mut parent: Link) -> Link {
        let mut walked = Vec::new();
        let mut seen = HashSet::new();
        while let Link::Of(key) = parent
            && !self.by_key.contains_key(&key)
            && let Some(&next) = dropped.get(&key)
        {
            walked.push(key);
            parent = if seen.insert(key) { next } else { Link::Root };
        }
        dropped.extend(walked.into_iter().map(|key| (key, parent)));
        parent
    }

    /// Takes a record: of one that was there before, what it says now, at its old place.
    fn take(&mut self, position: usize, kind: Kind, parent: Link) {
        let row = self.tree.row(position);
        let Some(own_key) = row.key else { return };
        // A prompt that was stored anew has the id under which it was sent, unless another record has that.
        let sent_as = row.other.filter(|sent_as| kind == Kind::Prompt && !self.by_key.contains_key(sent_as));
        let key = sent_as.unwrap_or(own_key);
        // A boundary that stands there again is read with what the first one has now.
        let is_boundary_again = row.again == Some(Kind::Boundary);
        let at = *self.by_key.entry(key).or_insert(self.records.len());
        let record = Record { position, row, parent, is_gone: false };
        match self.records.get_mut(at) {
            Some(known) if !is_boundary_again => *known = record,
            Some(_) => {}
            None => self.records.push(record),
        }
        if row.sidechain == self.tree.side && !row.is_snapshot && !row.is_briefing {
            self.last = Some(at);
            if let Some(checkpoint) = &mut self.checkpoint {
                checkpoint.is_chosen = false;
                if checkpoint.leaf.is_none() {
                    self.checkpoint = None;
                }
            }
        }
        if kind == Kind::Boundary {
            self.checkpoint = None;
        }
    }

    fn note(&mut self, row: &Row) {
        match row.parent {
            Link::Of(key) => {
                let was_chosen = |last: &Checkpoint| last.is_chosen && last.leaf == Some(key);
                let is_chosen = row.explicit || self.checkpoint.as_ref().is_some_and(was_chosen);
                self.checkpoint = Some(Checkpoint { leaf: Some(key), is_chosen });
                self.has_checkpoint = true;
            }
            Link::Root => {
                if row.explicit {
                    self.checkpoint = Some(Checkpoint { leaf: None, is_chosen: true });
                }
                self.has_checkpoint = true;
            }
            Link::Absent => {}
        }
    }

    /// Returns the place of a record that is there.
    fn find(&self, key: Key) -> Option<usize> {
        self.by_key
            .get(&key)
            .copied()
            .filter(|&at| self.records.get(at).is_some_and(|record| !record.is_gone))
    }

    fn row(&self, at: usize) -> Option<&'t Row> {
        self.records.get(at).map(|record| record.row)
    }

    fn is_message(&self, at: usize) -> bool {
        self.row(at).is_some_and(|row| row.again.unwrap_or(row.kind).is_message())
    }

    fn is_own(&self, at: usize) -> bool {
        self.row(at).is_some_and(|row| row.sidechain == self.tree.side)
    }

    fn link(&self, at: usize) -> Link {
        self.records.get(at).map_or(Link::Absent, |record| record.parent)
    }

    fn hang(&mut self, at: usize, parent: Link) {
        if let Some(record) = self.records.get_mut(at) {
            record.parent = parent;
        }
    }

    fn parent(&self, at: usize) -> Option<usize> {
        match self.link(at) {
            Link::Of(key) => self.find(key),
            Link::Absent | Link::Root => None,
        }
    }

    /// Returns the records that are there, in the order in which their ids first stood.
    fn places(&self) -> impl DoubleEndedIterator<Item = usize> {
        let there = |(at, record): (usize, &Record<'_>)| (!record.is_gone).then_some(at);
        self.records.iter().enumerate().filter_map(there)
    }

    /// Goes up from a record, itself first, as far as the way leads.
    fn way(&self, at: usize) -> impl Iterator<Item = usize> {
        let mut seen = HashSet::new();
        let mut next = Some(at);
        std::iter::from_fn(move || {
            let at = next.filter(|&at| seen.insert(at))?;
            next = self.parent(at);
            Some(at)
        })
    }

    /// Finds what each record gets from its way up, as [`nearest_up`] does.
    fn nearest_up<T: Copy>(&self, own: impl Fn(usize) -> Option<T>) -> Vec<Option<T>> {
        nearest_up(self.records.len(), |at| self.parent(at), own)
    }

    /// Returns the nearest message on the way up.
    fn message_above(&self, at: usize) -> Option<usize> {
        self.way(at).find(|&at| self.is_message(at))
    }

    /// The record written last ends the conversation, unless a checkpoint names a record above which, or beside which, it
    /// hangs; a checkpoint of the user's own choice always counts. Where a compaction keeps something, all ends are looked at.
    fn leaf(&self) -> Option<usize> {
        let is_chosen = self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.is_chosen);
        let checkpoint = match &self.checkpoint {
            Some(Checkpoint { leaf: None, .. }) => return None,
            Some(Checkpoint { leaf: Some(key), .. }) => self.find(*key),
            None => None,
        };
        let last = self.last.filter(|&last| self.records.get(last).is_some_and(|record| !record.is_gone));
        let has_kept = self.kept.is_some();
        let is_choice = is_chosen && checkpoint.is_some_and(|checkpoint| self.is_own(checkpoint));
        if !has_kept || is_choice {
            let goes_on = |checkpoint: usize| last.is_some_and(|last| self.descends(last, checkpoint));
            let end = match checkpoint {
                Some(checkpoint) if !is_chosen && goes_on(checkpoint) => last,
                Some(checkpoint) => Some(checkpoint),
                None if has_kept => None,
                None if self.has_checkpoint => last,
                None => last.map(|last| self.newest_below(last)),
            };
            if let Some(leaf) = end.and_then(|end| self.message_above(end)) {
                // The client finds no conversation where one of a subagent is to be the end.
                return Some(leaf).filter(|&leaf| self.is_own(leaf));
            }
        }
        let ends = self.ends();
        if ends.len() > 1 {
            let is_end = |checkpoint: &usize| ends.contains(checkpoint);
            let stays =
                |checkpoint: &usize| is_chosen || last.is_none_or(|last| !self.is_beside(last, *checkpoint));
            let end = checkpoint.filter(is_end).filter(stays).or(last);
            if let Some(leaf) = end.and_then(|end| self.message_above(end)) {
                return Some(leaf).filter(|&leaf| self.is_own(leaf));
            }
        }
        let is_said = |at: &usize| self.row(*at).is_some_and(|row| !row.is_snapshot);
        let all = || self.places().filter(|&at| self.is_own(at)).filter(is_said);
        if ends.is_empty() { self.newest(all()) } else { self.newest(all().filter(|at| ends.contains(at))) }
    }

    /// Returns the messages that no message hangs on, above the records that nothing hangs on.
    fn ends(&self) -> HashSet<usize> {
        let mut parents = HashSet::new();
        let mut answered = HashSet::new();
        for at in self.places() {
            if let Some(parent) = self.parent(at) {
                parents.insert(parent);
                if self.is_message(at) {
                    answered.insert(parent);
                }
            }
        }
        let above = self.nearest_up(|at| self.is_message(at).then_some(at));
        let terminal = self.places().filter(|at| !parents.contains(at));
        let above = terminal.filter_map(|at| above.get(at).copied().flatten());
        above.filter(|at| !answered.contains(at)).collect()
    }

    /// Returns the newest of some records: the first of those that are equally new, the last one where none has a time.
    fn newest(&self, records: impl Iterator<Item = usize>) -> Option<usize> {
        let time = |at: usize| self.row(at).and_then(|row| row.time);
        records.fold(None, |newest: Option<usize>, at| match newest {
            Some(newest) if time(newest).is_some() && time(at) <= time(newest) => Some(newest),
            _ => Some(at),
        })
    }

    /// Returns whether a record hangs below another one. Calls of one message and their results count as one: any of them may be
    /// the checkpoint.
    fn descends(&self, below: usize, above: usize) -> bool {
        let unit = self.unit_of_calls(above);
        self.way(below).any(|at| at == above || (unit.is_some() && self.unit_of_calls(at) == unit))
    }

    /// Returns whether a record hangs beside another one of the same message.
    fn is_beside(&self, below: usize, above: usize) -> bool {
        let unit = self.unit_of_calls(above);
        unit.is_some() && self.way(below).any(|at| at != above && self.unit_of_calls(at) == unit)
    }

    /// Returns the unit that a record is of, where that is a message and what its calls gave.
    fn unit_of_calls(&self, at: usize) -> Option<usize> {
        let unit = self.tree.unit(self.records.get(at)?.position);
        let row = self.tree.row(unit);
        (!row.calls.is_empty() || row.message.is_some()).then_some(unit)
    }

    /// Without checkpoints, the newest record below the last one ends the conversation, wherever it was written.
    fn newest_below(&self, last: usize) -> usize {
        let leads = self.nearest_up(|at| (at == last).then_some(()));
        let mut newest = None;
        for start in self.places() {
            let is_led = matches!(leads.get(start), Some(Some(())));
            let time = |at: usize| self.row(at).and_then(|row| row.time);
            let is_below = start != last && is_led && self.is_own(start) && time(start).is_some();
            if is_below && newest.is_none_or(|newest| time(start) >= time(newest)) {
                newest = Some(start);
            }
        }
        let is_said = |at: &usize| self.row(*at).is_some_and(|row| !row.is_snapshot && !row.is_briefing);
        let own = self.places().filter(|&at| self.is_own(at)).filter(is_said);
        // It looks for one only where another record than the last is the newest of all.
        if self.newest(own) == Some(last) { last } else { newest.unwrap_or(last) }
    }

    fn recovering(&self, leaf: usize) -> HashSet<usize> {
        let mut found = HashSet::new();
        let mut timed = [None, None];
        let mut next = Some(leaf);
        while let Some(at) = next.filter(|&at| found.insert(at)) {
            let has_parent = matches!(self.link(at), Link::Of(_));
            let parent = self.parent(at).filter(|parent| !found.contains(parent));
            next = parent.or_else(|| has_parent.then(|| self.in_time(at, &found, &mut timed)).flatten());
        }
        let position = |at: usize| self.records.get(at).map(|record| record.position);
        let mut reached: HashSet<usize> = found.into_iter().filter_map(position).collect();
        // A message brings its other calls and their results. A result whose call is not there brings nothing.
        let is_answer = |position: &&usize| self.tree.row(**position).kind == Kind::Assistant;
        let units: HashSet<usize> =
            reached.iter().filter(is_answer).map(|&position| self.tree.unit(position)).collect();
        let beside = self.places().filter(|&at| self.is_own(at)).filter_map(position);
        reached.extend(beside.filter(|&position| units.contains(&self.tree.unit(position))));
        reached
    }

    /// Finds what stands in for a parent that is missing or leads in a circle: the newest record not after this one, if it is near
    /// enough.
    fn in_time(&self, at: usize, found: &HashSet<usize>, timed: &mut [Option<Timed>; 2]) -> Option<usize> {
        let time = self.row(at)?.time?;
        let side = self.is_own(at);
        let timed = timed.get_mut(usize::from(side))?.get_or_insert_with(|| Timed::of(self, side));
        let (other_time, other) = timed.before(time, found)?;
        (time - other_time <= GAP_MICROS_MAX).then_some(other)
    }

    /// Progress is a record like any other here; a record without a timestamp ends the walk.
    fn walking(&self, leaf: usize) -> HashSet<usize> {
        let mut reached = HashSet::new();
        let mut next = Some(leaf);
        while let Some(at) = next.filter(|&at| reached.insert(at)) {
            next = self.parent(at).filter(|&parent| self.row(parent).is_some_and(|row| row.time.is_some()));
        }
        reached.into_iter().filter_map(|at| Some(self.records.get(at)?.position)).collect()
    }
}

/// The records of one side in the order of their times, those of one time with the first one last.
struct Timed {
    records: Vec<(i64, usize)>,
    /// Of each number of records, how many of them still can stand in.
    left: Vec<usize>,
}

impl Timed {
    fn of(load: &Load<'_>, side: bool) -> Self {
        let time = |at: usize| load.row(at).filter(|row| !row.is_snapshot).and_then(|row| row.time);
        let own = load.places().filter(|&at| load.is_own(at) == side);
        let mut records: Vec<(i64, usize)> = own.filter_map(|at| Some((time(at)?, at))).collect();
        records.sort_unstable_by_key(|&(time, at)| (time, std::cmp::Reverse(at)));
        let left = (0..=records.len()).collect();
        Self { records, left }
    }

    /// Returns the last one that is not later, and was not found before.
    fn before(&mut self, time: i64, found: &HashSet<usize>) -> Option<(i64, usize)> {
        let mut count = self.records.partition_point(|&(other, _)| other <= time);
        let mut walked = Vec::new();
        let record = loop {
            walked.push(count);
            count = self.left.get(count).copied().unwrap_or_default();
            let record = count.checked_sub(1).and_then(|at| self.records.get(at)).copied();
            match record {
                Some((_, at)) if found.contains(&at) => count -= 1,
                _ => break record,
            }
        };
        // The next look begins where this one ended.
        for at in walked {
            if let Some(left) = self.left.get_mut(at) {
                *left = count;
            }
        }
        record
    }
}

/// Reads over records that are skipped, as far as they stood before.
fn over(skipped: &ByKey<Link>, parent: Link) -> Link {
    match parent {
        Link::Of(key) => skipped.get(&key).copied().unwrap_or(parent),
        Link::Absent | Link::Root => parent,
    }
}
