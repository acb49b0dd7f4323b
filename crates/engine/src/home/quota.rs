//! The bound that an owner sets for the store: how full it is, and what would make room.
//!
//! Measures and plans; nothing is ever deleted by it.

use stemmata_store::{Page, Session, SessionFilter, Usage};

use super::Home;
use crate::error::{EngineError, Result};
use crate::verbs::collect::{CollectOptions, CollectReport};

/// Percent of the bound from which on it is nearly full.
const NEAR_PERCENT: u64 = 80;

/// Of a hundred bytes of the inbox, so many remain once they are packed: an estimate. Of recorded sessions 45 remained where
/// each message was a commit, 82 where each turn was one.
const PACKED_PERCENT: u64 = 60;

/// Sessions that the plan names.
const NAMED: usize = 5;

/// How much of the bound is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Bytes that the store takes.
    pub used_bytes: u64,
    /// Bytes that it may take.
    pub bound_bytes: u64,
}

/// What would make room in a store that is full.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotaPlan {
    /// Bytes that wait to be packed.
    pub inbox_bytes: u64,
    /// Bytes of these that packing would free: an estimate.
    pub packable_bytes: u64,
    /// Bytes that collecting would delete at once: an estimate.
    pub deletable_bytes: u64,
    /// Bytes that it would delete once the grace is over: an estimate.
    pub retired_bytes: u64,
    /// Large sessions that nobody worked with lately, the largest first.
    pub sessions: Vec<Session>,
}

impl Quota {
    /// Returns whether nothing more is taken in.
    pub const fn is_full(self) -> bool {
        self.used_bytes >= self.bound_bytes
    }

    /// Returns the percent of the bound that are used.
    pub fn percent(self) -> u64 {
        self.used_bytes.saturating_mul(100) / self.bound_bytes.max(1)
    }

    /// Returns whether it is time to warn.
    pub fn is_near(self) -> bool {
        self.percent() >= NEAR_PERCENT
    }
}

impl Home {
    /// Returns the bound and what is used of it; none where there is no bound.
    pub fn quota_of(&self, usage: &Usage) -> Option<Quota> {
        let bound_bytes = self.options.settings.quota_bytes?;
        Some(Quota { used_bytes: usage.physical_bytes, bound_bytes })
    }

    /// Refuses where the store is as large as it may become; returns how full it is otherwise.
    ///
    /// # Errors
    /// `QuotaReached`, with what would make room; store errors.
    pub fn hold_quota(&self) -> Result<Option<Quota>> {
        if self.options.settings.quota_bytes.is_none() {
            return Ok(None);
        }
        let usage = self.engine()?.store().usage()?;
        match self.quota_of(&usage) {
            Some(quota) if quota.is_full() => {
                let plan = Box::new(self.quota_plan(&usage)?);
                Err(EngineError::QuotaReached { quota, plan })
            }
            quota => Ok(quota),
        }
    }

    /// Finds out what would make room.
    fn quota_plan(&self, usage: &Usage) -> Result<QuotaPlan> {
        let settings = &self.options.settings;
        let options = CollectOptions { rules: settings.retention.clone(), grace_days: settings.grace_days };
        let engine = self.engine()?;
        let (deletable_bytes, retired_bytes) = collectable(&engine.plan_collect(&options)?.report, usage);
        let filter = SessionFilter { main_only: true, ..SessionFilter::default() };
        let page = Page { skip: 0, rows_max: stemmata_store::PAGE_ROWS_MAX };
        let mut sessions = engine.store().sessions(&filter, page)?;
        // The older half, the largest first: what was worked with lately stays out of the proposal.
        let mut old = sessions.split_off(sessions.len() / 2);
        old.sort_by_key(|session| std::cmp::Reverse(session.bytes));
        old.truncate(NAMED);
        Ok(QuotaPlan {
            inbox_bytes: usage.inbox_bytes,
            packable_bytes: usage.inbox_bytes.saturating_mul(100 - PACKED_PERCENT) / 100,
            deletable_bytes,
            retired_bytes,
            sessions: old,
        })
    }
}

/// Estimates what collection frees at once, and what it frees once the grace is over, by what contents take here.
fn collectable(report: &CollectReport, usage: &Usage) -> (u64, u64) {
    let stored = |bytes: u64| {
        let product = u128::from(bytes) * u128::from(usage.content_bytes);
        u64::try_from(product / u128::from(usage.distinct_bytes.max(1))).unwrap_or(u64::MAX)
    };
    let done = &report.collected;
    // What is condemned of sessions is counted in commits; their own bytes say how much that is at most.
    let retired = report.retired.iter().map(|retired| retired.session.bytes);
    let all = retired.fold(done.condemned.bytes.saturating_add(done.waiting.bytes), u64::saturating_add);
    (stored(done.deleted.bytes), stored(all.saturating_sub(done.deleted.bytes)))
}

#[cfg(test)]
mod tests {
    use stemmata_store::maintain::collect::{Amount, Collected};

    use super::*;

    #[test]
    fn what_collection_frees_is_estimated_from_its_plan() {
        let amount = |bytes| Amount { commits: 1, contents: 1, bytes };
        let collected = Collected {
            condemned: amount(100),
            waiting: amount(20),
            deleted: amount(40),
            ..Collected::default()
        };
        let report =
            CollectReport { retired: Vec::new(), sidecars: 0, provisional: 0, collected, unfinished: None };
        let usage = Usage { content_bytes: 500, distinct_bytes: 1000, ..Usage::default() };
        assert_eq!(collectable(&report, &usage), (20, 40));
        assert_eq!(collectable(&report, &Usage::default()), (0, 0));
    }

    #[test]
    fn warnings_begin_before_the_bound() {
        let at = |used_bytes: u64| Quota { used_bytes, bound_bytes: 1000 };
        assert!(!at(799).is_near() && at(800).is_near());
        assert_eq!(at(800).percent(), 80);
        assert!(!at(999).is_full() && at(1000).is_full());
    }
}
