//! `history`: the commits from one towards the root, paged; and `resolve`: the one at a point in time.

use stemmata_model::{Closure, Commit, CommitId, Timestamp};
use stemmata_store::ResolveScope;

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::verbs::find::CANDIDATES_MAX;
use crate::verbs::summary::SummaryText;

/// One commit of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// The commit.
    pub commit: Commit,
    /// Its summary, given or derived.
    pub summary: SummaryText,
}

impl Engine {
    /// Returns commits from `ctx` towards the root, after skipping some, at most `rows_max`.
    ///
    /// # Errors
    /// `CommitMissing`, store errors.
    pub fn history(&self, ctx: CommitId, skip: usize, rows_max: usize) -> Result<Vec<HistoryRow>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        let mut rows = Vec::new();
        let mut position = 0;
        while rows.len() < rows_max
            && let Some(commit) = walk.next()?
        {
            if position >= skip {
                rows.push(HistoryRow { summary: self.summary(&commit)?, commit });
            }
            position += 1;
        }
        Ok(rows)
    }

    /// Returns the nearest checkpoints at or before a point in time, by `created_at`. Several share that time
    /// only when they lie on different branches: of those on one chain, the last one is the nearest, and an
    /// earlier look at an open turn gives way to the commit that covers it.
    ///
    /// # Errors
    /// `NotFound` when the first checkpoint is later, or there is none.
    pub fn resolve(&self, scope: &ResolveScope, at: Timestamp) -> Result<Vec<CommitId>> {
        let mut candidates = Vec::new();
        for id in self.store.resolve(scope, at, CANDIDATES_MAX * 10)? {
            candidates.extend(self.store.commit(id)?);
        }
        let superseded: Vec<CommitId> = candidates.iter().filter_map(|commit| commit.core.parent).collect();
        let is_covered = |commit: &Commit| commit.closure == Closure::Covered;
        let all_covered = candidates.iter().all(is_covered);
        let is_nearest =
            |commit: &Commit| !superseded.contains(&commit.id) && (all_covered || !is_covered(commit));
        let nearest: Vec<CommitId> =
            candidates.iter().filter(|commit| is_nearest(commit)).map(|commit| commit.id).collect();
        if nearest.is_empty() {
            return Err(EngineError::NothingThere { what: "checkpoint at or before", place: at.to_string() });
        }
        Ok(nearest)
    }
}
