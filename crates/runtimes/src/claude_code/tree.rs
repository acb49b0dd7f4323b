//! The tree that a transcript's lines make: who hangs under whom, and which lines are one message.
//!
//! It decides nothing: which branch is the conversation is in `path`, what is kept is in `context`.

mod kept;

use std::collections::{HashMap, HashSet};

use super::keys::{ByKey, Factors};
use super::order;
use super::row::{Key, Kind, Link, Names, Row};

/// What is known of lines before the ones that are there.
#[derive(Debug, Clone, Default)]
pub(super) enum Older {
    /// There are none: a parent that is not there was never written.
    #[default]
    None,
    /// There are some: a parent that is not there is one of them.
    Some,
    /// There are some, and these are not among them: a compaction was put in their place.
    But(HashSet<Key>),
    /// There are these.
    Known(HashSet<Key>),
}

impl Older {
    fn holds(&self, key: Key) -> bool {
        match self {
            Self::None => false,
            Self::Some => true,
            Self::But(keys) => !keys.contains(&key),
            Self::Known(keys) => keys.contains(&key),
        }
    }
}

/// How many lines of progress are read over on one way, where they stand behind what hangs on them.
const PROGRESS_MAX: usize = 1_024;

/// Lines in the order of the file, and how they hang together.
#[derive(Debug)]
pub(super) struct Tree {
    /// The lines.
    pub(super) rows: Vec<Row>,
    /// The ids that are no UUIDs.
    pub(super) names: HashMap<Key, Box<str>>,
    /// Whether the conversation is a subagent's: then its own lines are the ones marked as sidechain.
    pub(super) side: bool,
    older: Older,
    /// Where each line stands in the file; empty where that is the order here.
    written: Vec<usize>,
    by_key: ByKey<usize>,
    parents: Vec<Option<usize>>,
    made_up: Vec<bool>,
    units: Vec<usize>,
    heads: Vec<usize>,
    /// (unit, head of a unit that hangs on it), sorted.
    children: Vec<(usize, usize)>,
    /// Kept record → boundary that keeps it; the latest one.
    preserved: ByKey<usize>,
    /// Unit of a kept record → boundary that keeps that, the latest one, and the last record that it keeps.
    kept_units: HashMap<usize, (usize, usize)>,
    /// Record of another session → the first copy of it.
    copies: ByKey<usize>,
}

impl Tree {
    /// Hangs lines, given in the order of the file, under each other, in the order in which they were said.
    pub(super) fn new(mut rows: Vec<Row>, names: Names, side: bool, older: Older) -> Self {
        let mut by_key = index(&rows);
        let mut units = group(&rows);
        let written = order::sort(&mut rows, &by_key, &units);
        if written.is_some() {
            by_key = index(&rows);
            units = group(&rows);
        }
        follow_copies(&mut rows, &by_key);
        Self::build(rows, (by_key, units), (names, side, older), written.unwrap_or_default())
    }

    /// Returns where a line stands in the file.
    pub(super) fn written(&self, position: usize) -> usize {
        self.written.get(position).copied().unwrap_or(position)
    }

    /// Returns whether the lines stand in the file in the order in which they were said, each once.
    pub(super) fn is_sorted(&self) -> bool {
        self.written.is_empty()
    }

    fn build(
        mut rows: Vec<Row>,
        (by_key, units): (ByKey<usize>, Vec<usize>),
        (names, side, older): (Names, bool, Older),
        written: Vec<usize>,
    ) -> Self {
        expand_chains(&mut rows, &by_key, &older);
        let mut tree = Self {
            older,
            written,
            preserved: preserved(&rows),
            kept_units: kept::units(&rows, &by_key, &units),
            by_key,
            copies: copies(&rows),
            names: names.into_iter().collect(),
            parents: vec![None; rows.len()],
            made_up: vec![false; rows.len()],
            units,
            heads: Vec::new(),
            children: Vec::new(),
            side,
            rows,
        };
        for position in 0..tree.rows.len() {
            let (parent, made_up) = tree.find_parent(position);
            if let Some(slot) = tree.parents.get_mut(position) {
                *slot = parent;
            }
            if let Some(slot) = tree.made_up.get_mut(position) {
                *slot = made_up;
            }
        }
        tree.find_heads();
        tree
    }

    /// Returns a line; `position` comes from this tree.
    pub(super) fn row(&self, position: usize) -> &Row {
        self.rows.get(position).expect("positions come from this tree")
    }

    /// Returns the line with an id: the last one, where several have it.
    pub(super) fn find(&self, key: Key) -> Option<usize> {
        self.by_key.get(&key).copied()
    }

    /// Returns the line that a row names as its parent, where it is there.
    pub(super) fn named(&self, row: &Row) -> Option<usize> {
        match row.parent {
            Link::Of(key) => self.find(key),
            Link::Absent | Link::Root => None,
        }
    }

    /// Returns the line that is a copy of a record of another session: the first one, where several are.
    pub(super) fn find_copy(&self, origin: Key) -> Option<usize> {
        self.copies.get(&origin).copied()
    }

    /// Returns the line that a line hangs under, read over progress, made up where it is missing.
    pub(super) fn parent(&self, position: usize) -> Option<usize> {
        self.parents.get(position).copied().flatten()
    }

    /// Returns whether the parent of a line is not in the transcript, and another stands in.
    pub(super) fn is_made_up(&self, position: usize) -> bool {
        self.made_up.get(position).copied().unwrap_or_default()
    }

    /// Returns whether a line hangs on one that was not read.
    pub(super) fn hangs_on_older(&self, position: usize) -> bool {
        matches!(self.row(position).parent, Link::Of(key) if self.find(key).is_none() && self.older.holds(key))
    }

    /// Returns the unit of a line: the first line of the same API message and its results, else itself.
    pub(super) fn unit(&self, position: usize) -> usize {
        self.units.get(position).copied().unwrap_or(position)
    }

    /// Returns the line of a unit through which it hangs on what was before.
    pub(super) fn head(&self, unit: usize) -> usize {
        self.heads.get(unit).copied().filter(|&head| head != usize::MAX).unwrap_or(unit)
    }

    /// Returns the heads of the units that hang on a unit, in the order of the file.
    pub(super) fn children(&self, unit: usize) -> impl Iterator<Item = usize> {
        let from = self.children.partition_point(|&(parent, _)| parent < unit);
        let rest = self.children.get(from..).unwrap_or_default();
        rest.iter().take_while(move |&&(parent, _)| parent == unit).map(|&(_, child)| child)
    }

    /// Returns the boundary whose compaction keeps a record.
    pub(super) fn preserved_by(&self, key: Key) -> Option<usize> {
        self.preserved.get(&key).copied()
    }

    /// Returns whether a line is of the conversation, and not of a subagent's inside it.
    pub(super) fn is_own(&self, position: usize) -> bool {
        self.row(position).sidechain == self.side
    }

    /// Returns whether a session's own file holds a subagent's messages only: its client finds no conversation in it. The files of
    /// subagents name the agent, and nobody opens them as sessions.
    pub(super) fn is_only_sidechain(&self) -> bool {
        self.side && !self.rows.iter().any(|row| row.has_agent)
    }

    /// Returns whether a compaction is complete: the next message after its boundary is its summary.
    pub(super) fn is_complete(&self, boundary: usize) -> bool {
        let after = self.rows.get(boundary + 1..).unwrap_or_default();
        let next = after.iter().find(|row| row.kind.is_message() && row.sidechain == self.side);
        next.is_some_and(|row| row.kind == Kind::Summary)
    }

    /// Returns the nearest line before a position that a message could hang under.
    ///
    /// The nearest message, or what hangs on it: a late note of the runtime that hangs somewhere else would
    /// lead back past it.
    pub(super) fn nearest(&self, position: usize) -> Option<usize> {
        let before = self.rows.get(..position)?;
        let own = |row: &Row| row.sidechain == self.side && row.kind != Kind::Progress;
        let message = before.iter().rposition(|row| own(row) && row.kind.is_message())?;
        let hanging = before.iter().enumerate().skip(message + 1);
        let mut nearest = message;
        for (position, row) in hanging {
            if own(row) && row.kind.is_hanging() && self.parent(position) == Some(nearest) {
                nearest = position;
            }
        }
        Some(nearest)
    }

    /// Looks at the subtree of a unit, up to a position.
    pub(super) fn branch(&self, unit: usize, before: usize) -> Branch {
        let mut branch = Branch::default();
        let mut open = vec![unit];
        let mut seen = HashSet::new();
        while let Some(unit) = open.pop() {
            if !seen.insert(unit) {
                continue;
            }
            open.extend(self.children(unit).filter(|&child| child < before).map(|child| self.unit(child)));
        }
        for (position, row) in self.members(&seen, before) {
            branch.take(position, row);
        }
        branch
    }

    /// Returns the messages of some units, up to a position, in the order of the file.
    fn members<'a>(
        &'a self,
        units: &'a HashSet<usize>,
        before: usize,
    ) -> impl Iterator<Item = (usize, &'a Row)> {
        let first = units.iter().copied().min().unwrap_or(before);
        let rows = self.rows.iter().enumerate().take(before).skip(first);
        rows.filter(move |&(position, row)| {
            row.kind.is_message() && row.sidechain == self.side && units.contains(&self.unit(position))
        })
    }

    /// Finds the parent of a line. Parents stand before their children, as a rule; one that stands after is found too.
    fn find_parent(&self, position: usize) -> (Option<usize>, bool) {
        let row = self.row(position);
        if let Some(kept) = self.kept_parent(position) {
            return (Some(kept), false);
        }
        let Link::Of(key) = row.parent else {
            return (None, false);
        };
        if !row.kind.is_node() {
            return (None, false);
        }
        match self.find(key) {
            Some(parent) if parent == position => self.stand_in(position),
            Some(parent) => match self.row(parent).kind {
                Kind::Progress if parent < position => (self.parent(parent), self.is_made_up(parent)),
                Kind::Progress => self.over_progress(position, parent),
                Kind::Restated => (self.behind_summary(position, key).or(self.nearest(parent)), false),
                _ => match self.put_away_by(parent) {
                    // As in the client: it hangs on the last one that is kept.
                    Some((boundary, last)) if boundary < position && !row.of_artifact => (Some(last), true),
                    _ => (Some(parent), false),
                },
            },
            None => self.missing_parent(position, key),
        }
    }

    /// A record that is not there may be one that a compaction keeps, and then its place is behind the summary.
    fn missing_parent(&self, position: usize, key: Key) -> (Option<usize>, bool) {
        if let Some(place) = self.behind_summary(position, key) {
            return (Some(place), false);
        }
        if self.older.holds(key) {
            return (None, false);
        }
        self.stand_in(position)
    }

    /// Reads over progress that stands behind what hangs on it, which the client does not find.
    fn over_progress(&self, position: usize, progress: usize) -> (Option<usize>, bool) {
        let mut at = progress;
        for _ in 0..PROGRESS_MAX {
            let Link::Of(key) = self.row(at).parent else { break };
            let Some(parent) = self.find(key).filter(|&parent| parent != position) else { break };
            if self.row(parent).kind != Kind::Progress {
                return (Some(parent), true);
            }
            at = parent;
        }
        self.stand_in(position)
    }

    /// Returns what stands in for a parent that is none. Before the first record nothing can, and nothing is lost.
    fn stand_in(&self, position: usize) -> (Option<usize>, bool) {
        let nearest = self.nearest(position);
        (nearest, nearest.is_some())
    }

    /// Returns where a record that an earlier compaction keeps is hung in.
    fn behind_summary(&self, position: usize, key: Key) -> Option<usize> {
        let boundary = self.preserved_by(key).filter(|&boundary| boundary < position)?;
        self.summary_of(boundary).or(Some(boundary))
    }

    /// A record that stands behind the boundary which keeps it hangs on the one kept before it, as the client
    /// hangs it when it loads the file.
    fn kept_parent(&self, position: usize) -> Option<usize> {
        let key = self.row(position).key?;
        let boundary = self.preserved_by(key).filter(|&boundary| boundary < position)?;
        let listed = &self.row(boundary).preserved;
        let place = listed.iter().position(|&kept| kept == key)?;
        let before = listed.iter().take(place).rev().filter_map(|&kept| self.find(kept));
        let mut before = before.filter(|&kept| boundary < kept && kept < position);
        before.next().or_else(|| self.summary_of(boundary)).or(Some(boundary))
    }

    /// Returns the summary of a compaction.
    pub(super) fn summary_of(&self, boundary: usize) -> Option<usize> {
        let after = self.rows.iter().enumerate().skip(boundary + 1);
        let mut after = after.take_while(|(_, row)| row.kind != Kind::Boundary);
        after.find(|(_, row)| row.kind == Kind::Summary).map(|(position, _)| position)
    }

    /// Returns the boundary of the compaction that left a summary: the nearest one before it.
    pub(super) fn boundary_of(&self, summary: usize) -> Option<usize> {
        let before = self.rows.get(..summary)?;
        before.iter().rposition(|row| row.kind == Kind::Boundary)
    }

    fn find_heads(&mut self) {
        self.heads = vec![usize::MAX; self.rows.len()];
        // A call that hangs on something leads on better than one that hangs on nothing, and any call better
        // than a result.
        for wanted in [(false, true), (false, false), (true, true), (true, false)] {
            for position in 0..self.rows.len() {
                let unit = self.unit(position);
                let parent = self.parent(position);
                let shape = (self.row(position).kind == Kind::Result, parent.is_some());
                let leads_out = shape == wanted && parent.is_none_or(|parent| self.unit(parent) != unit);
                if let Some(head) = self.heads.get_mut(unit).filter(|head| leads_out && **head == usize::MAX)
                {
                    *head = position;
                }
            }
        }
        let mut children = Vec::new();
        for position in 0..self.rows.len() {
            let row = self.row(position);
            // What a compaction keeps goes with it, and is no way on from its summary.
            let is_branch =
                self.head(self.unit(position)) == position && self.kept_parent(position).is_none();
            if let Some(parent) = self.parent(position).filter(|_| is_branch && row.kind != Kind::Progress) {
                children.push((self.unit(parent), position));
            }
        }
        children.sort_unstable();
        self.children = children;
    }
}

/// What hangs together below a unit.
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// Its first prompt, answer or result.
    pub(super) first: Option<Kind>,
    /// Its last message.
    pub(super) last: Option<usize>,
    /// Whether tools were called in it and answered.
    pub(super) has_results: bool,
}

impl Branch {
    fn take(&mut self, position: usize, row: &Row) {
        if !row.kind.is_end() {
            return;
        }
        self.last = Some(position);
        self.has_results |= row.kind == Kind::Result;
        self.first.get_or_insert(row.kind);
    }
}

/// The last line with an id counts, as in the client: of those that it reads, and of those that say something new.
pub(super) fn index(rows: &[Row]) -> ByKey<usize> {
    let mut by_key: ByKey<usize> = ByKey::with_capacity_and_hasher(rows.len(), Factors::default());
    let rank = |row: &Row| (row.kind != Kind::Restated, !row.is_unread);
    for (position, row) in rows.iter().enumerate() {
        let Some(key) = row.key else { continue };
        let known = by_key.get(&key).and_then(|&known| rows.get(known));
        // Progress is read over where it stood first.
        if row.kind == Kind::Progress && known.is_some() {
            continue;
        }
        if known.is_none_or(|known| rank(known) <= rank(row)) {
            by_key.insert(key, position);
        }
    }
    // A prompt that was stored anew is known by the id under which it was sent.
    for (position, row) in rows.iter().enumerate().filter(|(_, row)| row.kind == Kind::Prompt) {
        if let Some(sent_as) = row.other {
            by_key.entry(sent_as).or_insert(position);
        }
    }
    by_key
}

/// Gives the ids of copies to the compactions of a copied session: the SDK's fork renames all records, and not the ids in what a
/// boundary keeps.
fn follow_copies(rows: &mut [Row], by_key: &ByKey<usize>) {
    let is_lost = |row: &Row| row.preserved.iter().any(|key| !by_key.contains_key(key));
    if !rows.iter().any(|row| row.origin.is_some()) || !rows.iter().any(is_lost) {
        return;
    }
    let copies: ByKey<Key> = rows.iter().filter_map(|row| Some((row.origin?, row.key?))).collect();
    for row in rows.iter_mut().filter(|row| is_lost(row)) {
        let new = |key: &Key| if by_key.contains_key(key) { *key } else { *copies.get(key).unwrap_or(key) };
        let renamed: Box<[Key]> = row.preserved.iter().map(new).collect();
        if renamed != row.preserved {
            row.stated = Some(std::mem::replace(&mut row.preserved, renamed));
        }
    }
}

/// Lists the records between the ends of the chains that compactions keep, the newest boundary first. Stops after
/// [`order::steps_max`] records: many boundaries over one long chain must not fill the memory. What is behind that counts as broken.
/// Of a chain that was not read the ends are known.
fn expand_chains(rows: &mut [Row], by_key: &ByKey<usize>, older: &Older) {
    let mut steps = order::steps_max(rows);
    let is_unread = |key: &Key| !by_key.contains_key(key) && older.holds(*key);
    for boundary in (0..rows.len()).rev() {
        let Some(row) = rows.get(boundary).filter(|row| row.keeps_chain) else { continue };
        if row.preserved.last().is_some_and(is_unread) {
            continue;
        }
        let kept = order::chain(row, rows, by_key, &mut steps).into_boxed_slice();
        if let Some(row) = rows.get_mut(boundary) {
            row.preserved = kept;
        }
    }
}

fn copies(rows: &[Row]) -> ByKey<usize> {
    let copies = rows.iter().enumerate().rev();
    copies.filter_map(|(position, row)| Some((row.origin?, position))).collect()
}

fn preserved(rows: &[Row]) -> ByKey<usize> {
    let boundaries = rows.iter().enumerate();
    boundaries.flat_map(|(position, row)| row.preserved.iter().map(move |&key| (key, position))).collect()
}

/// Finds the lines that are one: those of an API message, and the results of its calls.
///
/// A message ends where another one or a prompt begins: some gateways give all messages the same id.
pub(super) fn group(rows: &[Row]) -> Vec<usize> {
    let mut messages: HashMap<bool, (u64, usize)> = HashMap::new();
    let mut calls: HashMap<(u64, bool), usize> = HashMap::new();
    let mut units = Vec::with_capacity(rows.len());
    for (position, row) in rows.iter().enumerate() {
        let side = row.sidechain;
        let unit = match row.kind {
            Kind::Assistant => {
                let open = messages.get(&side).filter(|(message, _)| Some(*message) == row.message);
                let unit = open.map_or(position, |&(_, unit)| unit);
                match row.message {
                    Some(message) => messages.insert(side, (message, unit)),
                    None => messages.remove(&side),
                };
                calls.extend(row.calls.iter().map(|&call| ((call, side), unit)));
                unit
            }
            Kind::Result => {
                let mut answered = row.answers.iter().filter_map(|&call| calls.get(&(call, side)));
                answered.next().copied().unwrap_or(position)
            }
            Kind::Prompt => {
                messages.remove(&side);
                position
            }
            _ => position,
        };
        units.push(unit);
    }
    units
}
