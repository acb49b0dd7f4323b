//! Plans the artifact of a compaction of ours: what stands before the part that it covers, the summary, and what it keeps.
//!
//! The summary's line names where that begins, so that the same artifact can be planned again.

use stemmata_model::{Note, NoteCode};

use super::super::Dialect;
use super::hidden::hide;
use super::{Row, collect};
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
    let mut rows = Vec::new();
    if borders != (None, None) {
        rows = collect(dialect, earlier, PlanStop::Compaction, &mut ContextPlan::default())?;
        for row in &mut rows {
            // The compaction itself is position 0, and its chain begins at 1.
            row.place.segment += 2;
        }
        rows.extend(own);
        hide(&mut rows, &mut plan.notes);
    }
    let (front, pins, kept) = cut(&rows, borders, &mut plan.notes);
    for row in front.iter().chain([&summary]).chain(pins).chain(kept) {
        push(&mut plan.pieces, row.place, []);
    }
    Ok(plan)
}

/// Returns the rows before what is covered, the pins in it, and the rows behind it.
fn cut<'r>(
    rows: &'r [Row],
    (covers_from, keeps_from): (Option<super::Key>, Option<super::Key>),
    notes: &mut Vec<Note>,
) -> (&'r [Row], impl Iterator<Item = &'r Row>, &'r [Row]) {
    let mut missing = |what: &str| {
        let message = format!("the entry with which {what} begins was not found before the compaction");
        notes.push(Note::new(NoteCode::Degraded, message));
        rows.len()
    };
    let find = |key: super::Key| rows.iter().position(|row| row.key == Some(key));
    let from = covers_from.map_or(0, |key| find(key).unwrap_or_else(|| missing("the summarized part")));
    let kept = keeps_from.map_or(rows.len(), |key| {
        find(key).filter(|at| *at >= from).unwrap_or_else(|| missing("the kept part"))
    });
    let (before, kept) = rows.split_at(kept);
    let (front, covered) = before.split_at(from.min(before.len()));
    (front, covered.iter().filter(|row| row.pins()), kept)
}
