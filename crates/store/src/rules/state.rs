//! A commit's type and closure as one small number.
//!
//! Specified in `docs/format/store.md`.

use stemmata_model::{Closure, CommitType};

/// The closure bits of [`Closure::Closed`].
pub const STATE_CLOSED: i64 = 0;
/// The closure bits of [`Closure::Provisional`].
pub const STATE_PROVISIONAL: i64 = 1;
/// The closure bits of [`Closure::Covered`]; those below are of commits that can be tips.
pub const STATE_COVERED: i64 = 2;
/// The closure bits of [`Closure::Forgotten`].
pub const STATE_FORGOTTEN: i64 = 3;

/// The bits of the closure; the type stands above them.
const CLOSURE_BITS: u32 = 2;

/// Returns the number of a type and a closure.
pub const fn encode(commit_type: CommitType, closure: Closure) -> i64 {
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
pub const fn decode(state: i64, restated_entries: u64) -> Option<(CommitType, Closure)> {
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

/// Returns whether a state is a hole's.
pub const fn is_hole(state: i64) -> bool {
    state & 3 == STATE_FORGOTTEN
}

/// Returns the entries that a snapshot repeats; 0 for other types.
pub const fn restated_entries(commit_type: CommitType) -> u64 {
    match commit_type {
        CommitType::Delta | CommitType::Compaction => 0,
        CommitType::Snapshot { restated_entries } => restated_entries,
    }
}
