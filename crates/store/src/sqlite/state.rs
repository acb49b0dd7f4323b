//! A commit's type and closure as one small number.
//!
//! Specified in `docs/format/store.md`.

use stemmata_model::{Closure, CommitType};

pub(super) const STATE_CLOSED: i64 = 0;
pub(super) const STATE_PROVISIONAL: i64 = 1;
pub(super) const STATE_COVERED: i64 = 2;
pub(super) const STATE_FORGOTTEN: i64 = 3;

/// The bits of the closure; the type stands above them.
const CLOSURE_BITS: u32 = 2;

pub(super) const fn encode(commit_type: CommitType, closure: Closure) -> i64 {
    let commit_type = match commit_type {
        CommitType::Delta => 0,
        CommitType::Compaction => 1,
        CommitType::Snapshot { .. } => 2,
    };
    let closure = match closure {
        Closure::Closed => STATE_CLOSED,
        Closure::Provisional => STATE_PROVISIONAL,
        Closure::Covered => STATE_COVERED,
        Closure::Forgotten => STATE_FORGOTTEN,
    };
    commit_type << CLOSURE_BITS | closure
}

/// Reads a state; none where no version writes such a number.
pub(super) const fn decode(state: i64, restated_entries: u64) -> Option<(CommitType, Closure)> {
    let commit_type = match state >> CLOSURE_BITS {
        0 => CommitType::Delta,
        1 => CommitType::Compaction,
        2 => CommitType::Snapshot { restated_entries },
        _ => return None,
    };
    let closure = match state & 3 {
        STATE_CLOSED => Closure::Closed,
        STATE_PROVISIONAL => Closure::Provisional,
        STATE_COVERED => Closure::Covered,
        _ => Closure::Forgotten,
    };
    Some((commit_type, closure))
}

pub(super) const fn restated_entries(commit_type: CommitType) -> u64 {
    match commit_type {
        CommitType::Delta | CommitType::Compaction => 0,
        CommitType::Snapshot { restated_entries } => restated_entries,
    }
}
