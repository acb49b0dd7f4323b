//! Storing a commit a second time, a commit's depth in its chain, and which commits are tips.
//!
//! How ids are hashed, and what a boundary is, is not known here.

use stemmata_model::{Closure, Commit};

use crate::error::StoreError;
use crate::seam::DEPTH_MAX;
use crate::write::NewCommit;

/// What becomes of a commit that is stored again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// Nothing: it is there already.
    Keep,
    /// It was provisional, and is closed now.
    Close,
    /// It was a hole whose forgetting was taken back, and its contents are there again. An index has passed it and must look
    /// at it once more.
    Fill,
}

/// Returns what storing a commit again does. Refusing one that was forgotten for good comes before this.
///
/// # Errors
/// `Conflict` where another commit has the id.
pub fn store_again(stored: &Commit, new: &NewCommit) -> Result<Again, StoreError> {
    if stored.core != new.core {
        return Err(StoreError::Conflict(stored.id));
    }
    Ok(match (stored.closure, new.closure) {
        (Closure::Forgotten, _) => Again::Fill,
        (Closure::Provisional, Closure::Closed) => Again::Close,
        (Closure::Provisional | Closure::Closed | Closure::Covered, _) => Again::Keep,
    })
}

/// Returns whether a commit can be a tip and hold anchors. A covered commit cannot, because later commits hold its bytes; nor can
/// a hole, because nothing can continue it.
pub const fn is_live(closure: Closure) -> bool {
    matches!(closure, Closure::Closed | Closure::Provisional)
}

/// Returns a commit's closure once others cover it: only a provisional one ever is.
pub const fn covered(closure: Closure) -> Closure {
    match closure {
        Closure::Provisional => Closure::Covered,
        Closure::Closed | Closure::Covered | Closure::Forgotten => closure,
    }
}

/// How much of a chain is before a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Past {
    /// Commits before it: its depth.
    pub commits: u64,
    /// Native bytes of these commits.
    pub bytes: u64,
}

impl Past {
    /// Returns the depth and the bytes before a commit whose parent has this depth and these cumulative bytes.
    ///
    /// # Errors
    /// `Bound` where the chain would have more commits than [`DEPTH_MAX`].
    pub const fn after(depth: u64, cumulative_bytes: u64) -> Result<Self, StoreError> {
        let commits = depth + 1;
        if commits >= DEPTH_MAX {
            return Err(StoreError::Bound {
                what: "commits of a chain",
                value: commits + 1,
                bound: DEPTH_MAX,
            });
        }
        Ok(Self { commits, bytes: cumulative_bytes })
    }
}

/// Verifies a stored commit: its id, depth and lengths must follow from its fields, its parent and its content. Reports each
/// difference to `report` as one sentence.
pub fn hold(
    commit: &Commit,
    parent: Option<(u64, u64)>,
    length: Option<u64>,
    report: &mut dyn FnMut(String),
) {
    if commit.core.id() != commit.id {
        report(format!("its fields have the id {}", commit.core.id()));
    }
    let depth = parent.map_or(0, |(depth, _)| depth.saturating_add(1));
    if commit.depth != depth {
        report(format!("its depth is {} instead of {depth}", commit.depth));
    }
    let cumulative = parent.map_or(0, |(_, bytes)| bytes).saturating_add(commit.native_bytes);
    if commit.cumulative_bytes != cumulative {
        report(format!("its chain has {} bytes instead of {cumulative}", commit.cumulative_bytes));
    }
    if length != Some(commit.native_bytes) {
        report(format!("its native bytes are {} and its content's are {length:?}", commit.native_bytes));
    }
}
