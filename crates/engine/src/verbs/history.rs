//! `history`: the commits from one towards the root, paged; and `resolve`: the one at a point in time.

use stemmata_api::v1::Summary;
use stemmata_model::{Closure, Commit, CommitId, Sighting, Timestamp};
use stemmata_store::{Annotations, Described, Link, ResolveScope};

use crate::chain::beside::PAGE_COMMITS;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{Absent, EngineError, Result};
use crate::verbs::find::CANDIDATES_MAX;

/// One commit of a history, with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// The commit.
    pub commit: Commit,
    /// Its summary, given or derived.
    pub summary: Summary,
    /// What people wrote about it.
    pub annotations: Annotations,
    /// Where it was seen first.
    pub first: Option<Sighting>,
    /// Links from and to it: subagents, copies.
    pub links: Vec<Link>,
}

impl Engine {
    /// Returns commits from `ctx` towards the root, after skipping some, at most `rows_max`.
    ///
    /// # Errors
    /// `CommitMissing`, store errors.
    pub fn history(&self, ctx: CommitId, skip: usize, rows_max: usize) -> Result<Vec<HistoryRow>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        let mut ids = Vec::new();
        let mut position = 0;
        while ids.len() < rows_max
            && let Some(commit) = walk.next()?
        {
            if position >= skip {
                ids.push(commit.id);
            }
            position += 1;
        }
        self.describe(&ids)
    }

    /// Returns what is known of commits, in the order that they are asked for, a page at a time.
    ///
    /// # Errors
    /// `CommitMissing`, and what the store says about itself rather than about one content.
    pub fn describe(&self, ids: &[CommitId]) -> Result<Vec<HistoryRow>> {
        let mut rows = Vec::with_capacity(ids.len());
        for page in ids.chunks(PAGE_COMMITS) {
            rows.extend(self.summarized(self.described(page)?)?);
        }
        Ok(rows)
    }

    /// Adds the summaries to what is known of a page of commits.
    pub(crate) fn summarized(&self, described: Vec<Described>) -> Result<Vec<HistoryRow>> {
        let summaries = self.summaries(&described)?;
        let rows = described.into_iter().zip(summaries).map(|(described, summary)| HistoryRow {
            commit: described.commit,
            summary,
            annotations: described.annotations,
            first: described.sightings.into_iter().next(),
            links: described.links,
        });
        Ok(rows.collect())
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
            return Err(EngineError::NothingThere { what: Absent::Checkpoint, place: at.to_string() });
        }
        Ok(nearest)
    }
}
