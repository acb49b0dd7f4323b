//! The bound that an owner sets for the store: how full it is, and what would make room.
//!
//! Only looks and tells; nothing is ever deleted by it.

use stemmata_engine::CollectReport;
use stemmata_store::{Page, SessionFilter, Usage};

use crate::commands::gc;
use crate::config::Key;
use crate::errors::CliError;
use crate::output::put;
use crate::output::size;
use crate::wiring::App;

/// Of a hundred parts of the bound, so many are used when the warnings begin.
const WARN_PERCENT: u64 = 80;

/// Of a hundred bytes of the inbox, so many remain once they are packed: an estimate. Of recorded sessions 45 remained where
/// each message was a commit, 82 where each turn was one.
const PACKED_PERCENT: u64 = 60;

/// Sessions that the plan names.
const NAMED: usize = 5;

/// How much of the bound is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) used_bytes: u64,
    pub(crate) bound_bytes: u64,
}

impl Quota {
    /// Returns the bound and what is used of it; none where there is no bound.
    pub(crate) fn of(app: &App, usage: &Usage) -> Option<Self> {
        let mib: u64 = app.config.get(Key::QuotaMib)?.parse().ok()?;
        Some(Self { used_bytes: usage.physical_bytes, bound_bytes: mib.saturating_mul(1 << 20) })
    }

    pub(crate) const fn is_full(self) -> bool {
        self.used_bytes >= self.bound_bytes
    }

    /// Returns what to say of it; none while there is plenty of room.
    pub(crate) fn warning(self) -> Option<String> {
        let percent = self.used_bytes.saturating_mul(100) / self.bound_bytes.max(1);
        (percent >= WARN_PERCENT).then(|| {
            format!(
                "the store takes {} of the {} that `store.quota_mib` allows ({percent} %)",
                size::bytes(self.used_bytes),
                size::bytes(self.bound_bytes)
            )
        })
    }
}

/// Returns what would make room, one line each: what packing would free, and which old sessions are large.
pub(crate) fn plan(app: &App, usage: &Usage) -> Result<String, CliError> {
    let mut text = String::from("What would make room:\n");
    let packed = usage.inbox_bytes.saturating_mul(100 - PACKED_PERCENT) / 100;
    put!(
        text,
        "  about {:>7}  `stemma gc` packs what is in the inbox ({})\n",
        size::bytes(packed),
        size::bytes(usage.inbox_bytes)
    );
    let (now, later) = collectable(&gc::plan(app)?, usage);
    if now > 0 {
        put!(text, "  about {:>7}  `stemma gc` deletes what was condemned before\n", size::bytes(now));
    }
    if later > 0 {
        put!(
            text,
            "  up to {:>7}  `stemma gc` lets go by `retention.…`, after the grace\n",
            size::bytes(later)
        );
    }
    let filter = SessionFilter { main_only: true, ..SessionFilter::default() };
    let page = Page { skip: 0, rows_max: stemmata_store::PAGE_ROWS_MAX };
    let mut sessions = app.engine()?.store().sessions(&filter, page)?;
    // The older half, the largest first: what was worked with lately stays out of the proposal.
    let half = sessions.len() / 2;
    let mut old = sessions.split_off(half);
    old.sort_by_key(|session| std::cmp::Reverse(session.bytes));
    for session in old.iter().take(NAMED) {
        let title = session.title.as_deref().unwrap_or("untitled");
        put!(
            text,
            "  up to {:>7}  `stemma forget {}` ({title})\n",
            size::bytes(session.bytes),
            session.session
        );
    }
    text.push_str("  or a larger bound: `stemma config set store.quota_mib N`\n");
    Ok(text)
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
        let report = CollectReport { retired: Vec::new(), provisional: 0, collected };
        let usage = Usage { content_bytes: 500, distinct_bytes: 1000, ..Usage::default() };
        assert_eq!(collectable(&report, &usage), (20, 40));
        assert_eq!(collectable(&report, &Usage::default()), (0, 0));
    }

    #[test]
    fn warnings_begin_before_the_bound() {
        let at = |used_bytes: u64| Quota { used_bytes, bound_bytes: 1000 };
        assert_eq!(at(799).warning(), None);
        assert!(at(800).warning().unwrap().contains("(80 %)"));
        assert!(!at(999).is_full() && at(1000).is_full());
    }
}
