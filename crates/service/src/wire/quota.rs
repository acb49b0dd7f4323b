//! How full a store is, and what would make room, in words.

use stemmata_engine::prompt::title::title;
use stemmata_engine::{Quota, QuotaPlan};

use crate::size::bytes;

/// Returns what to say where a store takes no more.
pub(crate) fn reached(quota: Quota) -> String {
    let (used, bound) = (bytes(quota.used_bytes), bytes(quota.bound_bytes));
    format!("the store takes {used}, and `store.quota_mib` allows {bound}: nothing more is captured")
}

/// Returns what to say of how full a store is; none while there is plenty of free space.
pub(crate) fn warning(quota: Quota) -> Option<String> {
    let (used, bound) = (bytes(quota.used_bytes), bytes(quota.bound_bytes));
    quota.is_near().then(|| {
        format!("the store takes {used} of the {bound} that `store.quota_mib` allows ({} %)", quota.percent())
    })
}

/// Returns what would make room, one line each: what packing would free, and which old sessions are large.
pub(crate) fn room(plan: &QuotaPlan) -> String {
    let packable = bytes(plan.packable_bytes);
    let mut lines = vec![
        "What would make room:".to_owned(),
        format!(
            "  about {packable:>7}  `stemma gc` packs what is not packed yet ({})",
            bytes(plan.inbox_bytes)
        ),
    ];
    if plan.deletable_bytes > 0 {
        let deletable = bytes(plan.deletable_bytes);
        lines.push(format!("  about {deletable:>7}  `stemma gc` deletes what an earlier run marked"));
    }
    if plan.retired_bytes > 0 {
        let retired = bytes(plan.retired_bytes);
        lines.push(format!(
            "  up to {retired:>7}  `stemma gc` deletes by `retention.…`, after the grace period"
        ));
    }
    for session in &plan.sessions {
        let title = title(session.title.as_deref());
        let size = bytes(session.bytes);
        lines.push(format!("  up to {size:>7}  `stemma forget {}` ({title})", session.session));
    }
    lines.push("  or a larger bound: `stemma config set store.quota_mib N`".to_owned());
    lines.join("\n")
}
