//! The bound that an owner sets for the store: how full it is, and what would make room.
//!
//! Only looks and tells; nothing is ever deleted by it.

use stemmata_store::{Page, SessionFilter, Usage};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_begin_before_the_bound() {
        let at = |used_bytes: u64| Quota { used_bytes, bound_bytes: 1000 };
        assert_eq!(at(799).warning(), None);
        assert!(at(800).warning().unwrap().contains("(80 %)"));
        assert!(!at(999).is_full() && at(1000).is_full());
    }
}
