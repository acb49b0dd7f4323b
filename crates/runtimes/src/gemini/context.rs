//! Which lines of a chain are its context, as the loader follows them: a message that was written again is its last
//! version, in the place of the first; a checkpoint clears what stands before it; a rewind takes back a message and
//! all that follow.
//!
//! A client that resumes a session clears it and says again all that was said, with less than the lines had that said it
//! first: no reasoning, each result twice. Where these lines are there, they are what the context holds.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Note, NoteCode};

use crate::adapter::{ContextPlan, PlanStop, Segments, SourceError};
use crate::lines::linear::{Key, Row, collect, skip_compactions, write};
use crate::lines::{Dialect, Turn};

/// Plans a context (see `Adapter::plan_context`).
///
/// # Errors
/// What the chain's storage says.
pub(super) fn plan_context(
    dialect: &Dialect,
    chain: &mut dyn Segments,
    stop: PlanStop,
) -> Result<ContextPlan, SourceError> {
    let mut plan = ContextPlan::default();
    let mut rows = collect(dialect, chain, stop, &mut plan)?.rows;
    let keeps_all = stop != PlanStop::Compaction;
    if keeps_all {
        skip_compactions(&mut rows, &mut plan);
    }
    let mut active = Active { keeps_all, is_whole: plan.skipped_compactions == 0, ..Active::default() };
    for row in rows {
        active.take(row, &mut plan);
    }
    write(&active.rows, &mut plan);
    plan.within.extend(active.rows.iter().flat_map(Row::within));
    Ok(plan)
}

/// The lines that are active so far.
#[derive(Default)]
struct Active {
    rows: Vec<Row>,
    /// Where the message with an id stands.
    at: HashMap<Key, usize>,
    /// Whether what a checkpoint stands for is wanted, and not the checkpoint.
    keeps_all: bool,
    /// Whether no compaction was left out: the messages of one would be missed where they are said again.
    is_whole: bool,
    /// What a checkpoint cleared in which nothing was said, and how many of them are messages: the client may be about
    /// to say it again.
    cleared: (Vec<Row>, u64),
}

impl Active {
    fn take(&mut self, row: Row, plan: &mut ContextPlan) {
        match row.step.turn {
            Turn::Clear | Turn::Compaction if self.has_said() => {
                if self.keeps_all {
                    plan.skipped_compactions += 1;
                } else {
                    self.cleared = self.cut(0, plan);
                    self.rows.push(row);
                }
            }
            Turn::Restated if self.keeps_all => self.add_restated(row),
            Turn::Restated => self.restate(row, plan),
            Turn::RewindTo => self.rewind(row, plan),
            _ => self.push(row),
        }
    }

    fn has_said(&self) -> bool {
        self.rows.iter().any(|row| row.is_message)
    }

    fn push(&mut self, row: Row) {
        let Some(key) = row.key else { return self.rows.push(row) };
        let place = *self.at.entry(key).or_insert(self.rows.len());
        match self.rows.get_mut(place) {
            Some(earlier) => *earlier = row,
            None => self.rows.push(row),
        }
    }

    fn rewind(&mut self, row: Row, plan: &mut ContextPlan) {
        let place = row.target.and_then(|target| self.at.get(&target).copied());
        // A message that stands within a checkpoint has its place there, also where it was written again behind it.
        let within = row.target.and_then(|target| {
            let listed = |row: &Row| row.listed.iter().position(|listed| listed.is(target));
            let found = self.rows.iter().enumerate().rev().find_map(|(at, row)| Some((at, listed(row)?)));
            found.filter(|(at, _)| place.is_none_or(|place| *at < place))
        });
        if let Some((at, first)) = within {
            self.cut(at + 1, plan);
            if let Some(row) = self.rows.get_mut(at) {
                plan.abandoned_entries += row.leave_out(|number, _| number >= first);
            }
            return;
        }
        let has_checkpoint = self.rows.iter().any(|row| matches!(row.step.turn, Turn::Compaction));
        match place {
            Some(place) => drop(self.cut(place, plan)),
            None if has_checkpoint => {
                // It may be inside the checkpoint, which is one line: the mark stays, for the loader.
                let message = "the conversation went back to a message that is not here by itself";
                plan.notes.push(Note::new(NoteCode::Degraded, message));
                self.rows.push(row);
            }
            // The loader drops all that was said, in silence.
            None => {
                let message =
                    "the conversation went back to a message that is not here: nothing was taken back";
                plan.notes.push(Note::new(NoteCode::Degraded, message));
            }
        }
    }

    /// Takes what says again what is not all here: what of it is here gives way to it.
    fn add_restated(&mut self, row: Row) {
        let wanted: HashSet<Key> = row.restates.iter().copied().collect();
        let is_here = |row: &Row| row.key.is_some_and(|key| wanted.contains(&key));
        let keys = |row: &Row| row.key.into_iter().chain(row.within()).collect::<Vec<Key>>();
        let here: HashSet<Key> = self.rows.iter().flat_map(keys).filter(|key| wanted.contains(key)).collect();
        let here = here.len();
        // Of messages without ids it cannot be told whether they are here.
        let is_known = here == wanted.len() || !self.is_whole;
        if is_known && self.has_said() {
            return;
        }
        self.rows.retain(|row| !is_here(row));
        // What an earlier checkpoint holds besides stays in it.
        for row in &mut self.rows {
            row.leave_out(|_, listed| listed.is_one_of(&wanted));
        }
        self.at = self.rows.iter().enumerate().filter_map(|(at, row)| Some((row.key?, at))).collect();
        self.rows.push(row);
    }

    /// Takes the lines that are said again for the conversation, or what says them where one of them is not there.
    fn restate(&mut self, row: Row, plan: &mut ContextPlan) {
        let (cleared, messages) = std::mem::take(&mut self.cleared);
        let wanted: HashSet<Key> = row.restates.iter().copied().collect();
        let there = cleared.iter().chain(&self.rows).filter_map(|row| row.key).collect::<HashSet<_>>();
        if wanted.is_empty() || !wanted.is_subset(&there) {
            self.cut(0, plan);
            self.rows.push(row);
            return;
        }
        plan.abandoned_entries -= messages;
        // The lines since then are headers, and the checkpoint that would clear what is there again.
        let headers = cleared.iter().filter(|row| row.step.turn == Turn::Header).count();
        let since = std::mem::take(&mut self.rows).into_iter().skip(headers);
        let mut back = cleared;
        back.extend(since.filter(|row| !matches!(row.step.turn, Turn::Clear | Turn::Compaction)));
        self.at.clear();
        for row in back {
            let is_gone = row.is_message && row.key.is_some_and(|key| !wanted.contains(&key));
            if is_gone {
                plan.abandoned_entries += 1;
            } else {
                self.push(row);
            }
        }
    }

    /// Leaves out the lines from a place on, but for the session's own; returns all of them, and how many are messages.
    fn cut(&mut self, place: usize, plan: &mut ContextPlan) -> (Vec<Row>, u64) {
        let gone = self.rows.split_off(place.min(self.rows.len()));
        let messages = u64::try_from(gone.iter().filter(|row| row.is_message).count()).unwrap_or(0);
        plan.abandoned_entries += messages;
        self.rows.extend(gone.iter().filter(|row| row.step.turn == Turn::Header).cloned());
        self.at.retain(|_, at| *at < place);
        (gone, messages)
    }
}
