//! Plans the artifact of a compaction of ours: what stands before the part that it covers, the summary, and what it keeps.
//!
//! The summary's line names where that begins, so that the same artifact can be planned again. A condensation of `OpenHands` names
//! each entry that it stands for instead, and what it does not name is kept.

use std::collections::HashSet;

use stemmata_model::{Note, NoteCode};

use super::super::Dialect;
use super::hidden::hide;
use super::{Key, Row, collect};
use crate::adapter::{CompactionPlan, ContextPlan, PlanStop, Segments, SourceError};
use crate::lines::emit::push;

/// Plans the artifact of a compaction whose own lines are `own`, with the summary at `summary` among them.
///
/// # Errors
/// What the chain's storage says.
pub(super) fn plan(
    dialect: &Dialect,
    (mut own, summary): (Vec<Row>, usize),
    earlier: &mut dyn Segments,
) -> Result<CompactionPlan, SourceError> {
    let mut plan = CompactionPlan::default();
    own.truncate(summary + 1);
    let Some(summary) = own.pop() else { return Ok(plan) };
    let borders = summary.own.as_ref().map_or((None, None), |own| (own.covers_from, own.keeps_from));
    let covers: HashSet<Key> = summary.own.iter().flat_map(|own| own.covers.iter().copied()).collect();
    let mut rows = Vec::new();
    if borders != (None, None) || !covers.is_empty() {
        rows = collect(dialect, earlier, PlanStop::Compaction, &mut ContextPlan::default())?.rows;
        for row in &mut rows {
            // The compaction itself is position 0, and its chain begins at 1.
            row.place.segment += 2;
        }
        rows.extend(own);
        hide(&mut rows, &mut plan.notes);
    }
    if !covers.is_empty() {
        let at = leave_out(&mut rows, &covers, &mut plan.notes);
        let (front, behind) = rows.split_at(at);
        for row in front.iter().chain([&summary]).chain(behind) {
            push(&mut plan.pieces, row.place, []);
        }
        return Ok(plan);
    }
    let (front, pins, kept) = cut(&rows, borders, &mut plan.notes);
    for row in front.iter().chain([&summary]).chain(pins).chain(kept) {
        push(&mut plan.pieces, row.place, []);
    }
    Ok(plan)
}

/// Takes out the rows that a summary names. Returns where the first of them stood.
fn leave_out(rows: &mut Vec<Row>, covers: &HashSet<Key>, notes: &mut Vec<Note>) -> usize {
    let is_covered = |row: &Row| row.key.is_some_and(|key| covers.contains(&key));
    let first = rows.iter().position(is_covered);
    rows.retain(|row| !is_covered(row));
    first.unwrap_or_else(|| {
        let message = "none of the entries that the summary stands for was found before it";
        notes.push(Note::new(NoteCode::Degraded, message));
        rows.len()
    })
}

/// Returns the rows before what is covered, the pins in it, and the rows behind it.
fn cut<'r>(
    rows: &'r [Row],
    (covers_from, keeps_from): (Option<Key>, Option<Key>),
    notes: &mut Vec<Note>,
) -> (&'r [Row], impl Iterator<Item = &'r Row>, &'r [Row]) {
    let mut missing = |what: &str| {
        let message = format!("the entry with which {what} begins was not found before the compaction");
        notes.push(Note::new(NoteCode::Degraded, message));
        rows.len()
    };
    let find = |key: Key| rows.iter().position(|row| row.key == Some(key));
    let from = covers_from.map_or(0, |key| find(key).unwrap_or_else(|| missing("the summarized part")));
    let kept = keeps_from.map_or(rows.len(), |key| {
        find(key).filter(|at| *at >= from).unwrap_or_else(|| missing("the kept part"))
    });
    let (before, kept) = rows.split_at(kept);
    let (front, covered) = before.split_at(from.min(before.len()));
    (front, covered.iter().filter(|row| row.pins()), kept)
}
