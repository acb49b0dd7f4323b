//! Leaves out of a context what the conversation went back from, and looks behind compactions that do not stand for all.

use stemmata_model::{CommitType, Note, NoteCode};

use super::super::history::History;
use super::super::{Dialect, Leaves, Turn};
use super::{Row, compaction_in, rows};
use crate::adapter::{ContextPlan, PlanStop, Segment, segment_number};

/// Returns the own lines of a compaction behind which older lines count again: the client drops it, it leaves prompts, or the
/// conversation went back to before it. None where it stands for all; `newer` are the lines of newer segments, the newest segment
/// first.
pub(super) fn seen_through(dialect: &Dialect, segment: &Segment, newer: &[Vec<Row>]) -> Option<Vec<Row>> {
    let goes_back = newer.iter().flatten().any(|row| matches!(row.step.turn, Turn::Rewind(_)));
    if segment.commit_type != CommitType::Compaction || segment.is_stop {
        return None;
    }
    let own = rows(dialect, segment_number(newer.len(), false), &segment.native, 0);
    let compaction = own.get(compaction_in(&own)?)?;
    if compaction.step.leaves != Leaves::Nothing {
        return Some(own);
    }
    let compaction = Some(compaction.place).filter(|_| goes_back)?;
    let mut all: Vec<Row> = own.iter().chain(newer.iter().rev().flatten()).cloned().collect();
    let mut plan = ContextPlan::default();
    rewind(&mut all, false, PlanStop::Compaction, &mut plan);
    let stays = plan.notes.is_empty() && all.iter().any(|row| row.place == compaction);
    (!stays).then_some(own)
}

/// Leaves out what the conversation went back from, the marks of going back, and what a compaction leaves nothing of.
pub(super) fn rewind(rows: &mut Vec<Row>, is_whole: bool, stop: PlanStop, plan: &mut ContextPlan) {
    let mut kept = History::default();
    for row in rows.drain(..) {
        let Turn::Rewind(prompts) = row.step.turn else {
            // From the root on, what a compaction stands for is there, and the compaction counts as a turn all the same.
            if row.step.leaves_prompts() && stop == PlanStop::Compaction {
                kept.leave_prompts();
            }
            kept.push(row);
            continue;
        };
        if let Some(gone) = kept.go_back(prompts, is_whole) {
            plan.abandoned_entries += gone.iter().filter(|row| row.is_message).count() as u64;
        } else {
            kept.push(row);
            let message = format!("the last {prompts} prompts were taken back, and not all of them are here");
            plan.notes.push(Note::new(NoteCode::Degraded, message));
        }
    }
    *rows = kept.lines;
}
