//! What the entries of a session hang on, and where its conversation stands: its loader's rules, mended where that loses what was
//! said.
//!
//! An entry is known by its id alone, and of several with one id the last counts, at the place of the first. An entry whose
//! parent is not there, or leads back to it, hangs on the one before it.

use std::collections::{HashMap, HashSet};

use super::tree::{Parent, Row};
use crate::circles::{circles, nearest_up, ways_end};

/// Times that the circles of a session are looked for: mending one may close another one.
const ROUNDS_MAX: usize = 16;

/// Why an entry hangs on another one than it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mended {
    /// It names none.
    Unnamed,
    /// What it names is not there.
    Missing,
    /// What it names leads in a circle.
    Circle,
    /// The result of the call that it names was written late, and stands between them.
    Answered,
}

/// Entries in the order of their file, and what each hangs on.
pub(super) struct Ways<'r> {
    rows: Vec<&'r Row>,
    /// What an id stands for: the last entry that has it.
    by_id: HashMap<&'r str, usize>,
    /// Where each entry stands: where its id stood first.
    places: Vec<usize>,
    up: Vec<Option<usize>>,
    /// Those whose parents lead in a circle.
    circles: HashSet<usize>,
    /// Whether they have no ids and follow each other.
    is_linear: bool,
    /// Whether nothing older than the first one is left out.
    is_all: bool,
}

impl<'r> Ways<'r> {
    /// Takes the entries of a session, or its newest ones.
    pub(super) fn of(rows: Vec<&'r Row>, is_linear: bool, is_all: bool) -> Self {
        let mut by_id: HashMap<&str, usize> = HashMap::new();
        let mut first: HashMap<&str, usize> = HashMap::new();
        for (index, row) in rows.iter().enumerate().filter(|_| !is_linear) {
            let Some(id) = row.id.as_deref() else { continue };
            by_id.insert(id, index);
            first.entry(id).or_insert(index);
        }
        let place = |(index, row): (usize, &&Row)| {
            let id = row.id.as_deref().filter(|id| by_id.get(id) == Some(&index));
            id.and_then(|id| first.get(id).copied()).unwrap_or(index)
        };
        let places = rows.iter().enumerate().map(place).collect();
        let mut ways =
            Self { rows, by_id, places, up: Vec::new(), circles: HashSet::new(), is_linear, is_all };
        ways.up = (0..ways.rows.len()).map(|index| ways.parent(index)).collect();
        ways.mend_circles();
        let is_circle =
            |index: &usize| ways.named(*index).is_some_and(|named| ways.up(*index) != Some(named));
        ways.circles = (0..ways.rows.len()).filter(is_circle).collect();
        ways.take_late_results();
        ways
    }

    fn place(&self, index: usize) -> usize {
        self.places.get(index).copied().unwrap_or(index)
    }

    /// Hangs the first entry of a circle on the one before it: the parent that it names was written behind it. All others keep their
    /// parents, so that nothing of the circle is lost. Where that closes new circles again and again, every entry that leads into one
    /// and names a parent behind it hangs on the one before it.
    fn mend_circles(&mut self) {
        let count = self.rows.len();
        for round in 0.. {
            let odd: Vec<usize> = if round < ROUNDS_MAX {
                let first = |circle: Vec<usize>| circle.into_iter().min_by_key(|index| self.place(*index));
                circles(count, |index| self.up(index)).into_iter().filter_map(first).collect()
            } else {
                let ends = ways_end(count, |index| self.up(index));
                let is_behind =
                    |index: usize| self.up(index).is_some_and(|up| self.place(up) >= self.place(index));
                (0..count).filter(|index| ends.get(*index) == Some(&false) && is_behind(*index)).collect()
            };
            if odd.is_empty() {
                return;
            }
            for index in odd {
                let before = self.before(index);
                if let Some(up) = self.up.get_mut(index) {
                    *up = before;
                }
            }
        }
    }

    /// Returns whether an entry is what its id stands for.
    pub(super) fn counts(&self, index: usize) -> bool {
        let id = self.rows.get(index).and_then(|row| row.id.as_deref());
        id.and_then(|id| self.by_id.get(id)).is_none_or(|counted| *counted == index)
    }

    /// Returns the entry before another one.
    fn before(&self, index: usize) -> Option<usize> {
        let before = self.place(index).checked_sub(1)?;
        let id = self.rows.get(before)?.id.as_deref();
        Some(id.and_then(|id| self.by_id.get(id).copied()).unwrap_or(before))
    }

    /// Returns what an entry hangs on by what it says, or the one before it where that is not there.
    fn parent(&self, index: usize) -> Option<usize> {
        match &self.rows.get(index)?.parent {
            _ if self.is_linear => index.checked_sub(1),
            Parent::Root => None,
            Parent::Before => self.before(index),
            Parent::Id(id) => {
                let found = self.by_id.get(&**id).copied();
                found.or_else(|| self.before(index).filter(|_| self.is_all))
            }
        }
    }

    /// Puts results that were written behind what followed on their calls, and that are the only ones of these, ahead of that.
    fn take_late_results(&mut self) {
        let answers = |index: usize| self.rows.get(index).and_then(|row| row.answers.as_deref());
        let counted: Vec<usize> = (0..self.rows.len()).filter(|index| self.counts(*index)).collect();
        let mut results: HashMap<&str, usize> = HashMap::new();
        counted
            .iter()
            .filter_map(|index| answers(*index))
            .for_each(|call| *results.entry(call).or_default() += 1);
        if results.is_empty() || self.is_linear {
            return;
        }
        let mut first: HashMap<usize, usize> = HashMap::new();
        for &index in &counted {
            let place = self.place(index);
            let Some(parent) = self.up(index) else { continue };
            first.entry(parent).and_modify(|first| *first = place.min(*first)).or_insert(place);
        }
        let is_late = |index: &usize| {
            let is_only = answers(*index).and_then(|call| results.get(call)) == Some(&1);
            let first = self.up(*index).and_then(|parent| first.get(&parent));
            is_only && first.is_some_and(|first| *first < self.place(*index))
        };
        let late: HashSet<usize> = counted.iter().copied().filter(is_late).collect();
        // Of a call's message, the result behind which comes what hangs on it.
        let mut last: HashMap<usize, usize> = HashMap::new();
        let (results, others): (Vec<usize>, Vec<usize>) =
            counted.into_iter().partition(|index| late.contains(index));
        for index in results {
            let Some(parent) = self.up(index) else { continue };
            let before = last.insert(parent, index).unwrap_or(parent);
            self.hang(index, before);
        }
        for index in others {
            if let Some(&result) = self.up(index).and_then(|parent| last.get(&parent)) {
                self.hang(index, result);
            }
        }
    }

    fn hang(&mut self, index: usize, on: usize) {
        if let Some(up) = self.up.get_mut(index) {
            *up = Some(on);
        }
    }

    /// Returns what an entry hangs on.
    pub(super) fn up(&self, index: usize) -> Option<usize> {
        self.up.get(index).copied().flatten()
    }

    /// Returns why an entry hangs on another one than it names, where it does.
    pub(super) fn mended(&self, index: usize) -> Option<Mended> {
        let row = self.rows.get(index).filter(|_| !self.is_linear)?;
        match &row.parent {
            Parent::Root => None,
            Parent::Before => row.id.is_some().then_some(Mended::Unnamed),
            Parent::Id(_) => match self.named(index) {
                None => Some(Mended::Missing),
                Some(_) if self.circles.contains(&index) => Some(Mended::Circle),
                Some(named) => (self.up(index) != Some(named)).then_some(Mended::Answered),
            },
        }
    }

    /// Returns the entry that another one names as its parent, where it is there.
    fn named(&self, index: usize) -> Option<usize> {
        match &self.rows.get(index)?.parent {
            Parent::Id(id) => self.by_id.get(&**id).copied(),
            Parent::Root | Parent::Before => None,
        }
    }

    /// Returns the nearest message on the way up from each entry, the entry itself first.
    fn messages(&self) -> Vec<Option<usize>> {
        let own = |index: usize| self.rows.get(index)?.is_message.then_some(index);
        nearest_up(self.rows.len(), |index| self.up(index), own)
    }

    /// Returns where the conversation stands: at the last entry whose message, itself or the nearest above it, no other
    /// message hangs on. What was written late or again, and a record for nobody at an older entry, ends nothing.
    pub(super) fn leaf(&self) -> Option<usize> {
        let is_message = |index: &usize| self.rows.get(*index).is_some_and(|row| row.is_message);
        let mut has_more = vec![false; self.rows.len()];
        let messages = self.messages();
        let message = |index: usize| messages.get(index).copied().flatten();
        for index in (0..self.rows.len()).filter(is_message).filter(|index| self.counts(*index)) {
            let above = self.up(index).and_then(message);
            if let Some(has_more) = above.and_then(|above| has_more.get_mut(above)) {
                *has_more = true;
            }
        }
        let is_end = |index: &usize| {
            let message = message(*index).filter(|_| self.counts(*index));
            message.is_some_and(|message| has_more.get(message) == Some(&false))
        };
        (0..self.rows.len()).rev().find(is_end)
    }

    /// Returns the way from an entry to the root, the entry first.
    pub(super) fn way(&self, from: Option<usize>) -> Vec<usize> {
        std::iter::successors(from, |index| self.up(*index)).collect()
    }
}
