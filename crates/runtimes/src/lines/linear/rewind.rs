//! Leaves out of a context what the conversation went back from, and looks behind compactions that stand for nothing.

use stemmata_model::{CommitType, Note, NoteCode};

use super::super::{Dialect, Leaves, Turn};
use super::{Row, compaction_in, rows};
use crate::adapter::{ContextPlan, Segment, segment_number};

/// Returns the own lines of a compaction that the client drops, or that the conversation went back to before, so that it stands for
/// nothing: what is older counts again. None where it stays; `newer` are the lines of newer segments, the newest segment first.
pub(super) fn taken_back(dialect: &Dialect, segment: &Segment, newer: &[Vec<Row>]) -> Option<Vec<Row>> {
    let goes_back = newer.iter().flatten().any(|row| matches!(row.turn, Turn::Rewind(_)));
    if segment.commit_type != CommitType::Compaction || segment.is_stop {
        return None;
    }
    let own = rows(dialect, segment_number(newer.len(), false), &segment.native, 0);
    let compaction = own.get(compaction_in(&own)?)?;
    if compaction.leaves == Leaves::All {
        return Some(own);
    }
    let compaction = Some(compaction.place).filter(|_| goes_back)?;
    let mut all: Vec<Row> = own.iter().chain(newer.iter().rev().flatten()).cloned().collect();
    let mut plan = ContextPlan::default();
    rewind(&mut all, false, &mut plan);
    let stays = plan.notes.is_empty() && all.iter().any(|row| row.place == compaction);
    (!stays).then_some(own)
}

/// Leaves out what the conversation went back from, and the marks of going back. Of a whole chain nothing older is missing: going
/// back by more turns than there are goes back to its beginning, as the client does.
pub(super) fn rewind(rows: &mut Vec<Row>, is_whole: bool, plan: &mut ContextPlan) {
    let mut kept: Vec<Row> = Vec::with_capacity(rows.len());
    let is_prompt = |row: &&Row| row.turn == Turn::Prompt;
    // How many prompts are kept.
    let mut there = 0_u64;
    for row in rows.drain(..) {
        let Turn::Rewind(prompts) = row.turn else {
            there += u64::from(row.turn == Turn::Prompt);
            kept.push(row);
            continue;
        };
        let wanted = if is_whole { prompts.min(there) } else { prompts };
        let found = if wanted > there { None } else { before_prompts(&kept, wanted) };
        if let Some(at) = found {
            let mut gone = kept.split_off(at);
            let first = gone.iter().position(|row| row.turn == Turn::Prompt);
            let first = first.filter(|_| is_whole && wanted == there).unwrap_or(0);
            // No part of the turns that go are a session's own lines, and what the client told ahead of the first prompt.
            let mut at = 0..;
            let stays = |row: &mut Row| {
                let is_ahead = at.next().is_some_and(|at| at < first);
                row.turn == Turn::Header || (row.is_instruction && is_ahead)
            };
            kept.extend(gone.extract_if(.., stays));
            there = there.saturating_sub(gone.iter().filter(is_prompt).count() as u64);
            plan.abandoned_entries += gone.iter().filter(|row| row.is_message).count() as u64;
        } else {
            kept.push(row);
            let message = format!("the last {prompts} prompts were taken back, and not all of them are here");
            plan.notes.push(Note::new(NoteCode::Degraded, message));
        }
    }
    *rows = kept;
}

/// Returns the row at which the last `prompts` turns begin, so that a rollback drops it and all rows after it, a compaction too.
/// Returns `None` if fewer turns than that are in `rows`.
fn before_prompts(rows: &[Row], prompts: u64) -> Option<usize> {
    let (mut left, mut start) = (prompts, rows.len());
    // Whether a compaction stands behind, and whether the beginning of the turn does: one between the two is of the turn.
    let (mut is_over, mut has_start) = (false, false);
    for (at, row) in rows.iter().enumerate().rev().take_while(|_| prompts > 0) {
        match row.turn {
            Turn::Prompt if left > 0 => (left, start) = (left - 1, at),
            _ if left > 0 => {}
            Turn::Start if !has_start => (start, has_start, is_over) = (at, true, false),
            // What began the turn ahead of its prompt goes with it.
            Turn::Start | Turn::Settings | Turn::Other if !is_over => start = at,
            Turn::Settings | Turn::Other => {}
            Turn::Compaction if !has_start => is_over = true,
            _ => break,
        }
    }
    (left == 0).then_some(start)
}
