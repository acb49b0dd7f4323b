//! How much of the audit log is kept.

use stemmata_model::Timestamp;

use crate::error::StoreError;
use crate::rules::bounds::at_most;
use crate::state::{
    AUDIT_TEXT_BYTES_MAX, AuditCut, AuditOutcome, AuditRetention, NewAuditEntry, RETENTION_OPERATION,
    SERVICE_PRINCIPAL,
};

/// What there is in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// The oldest row's number.
    pub first: u64,
    /// The newest row's number.
    pub last: u64,
    /// When the oldest row was added.
    pub oldest_at: Timestamp,
}

/// Holds a row to its bounds.
///
/// # Errors
/// `Bound`.
pub fn check_entry(entry: &NewAuditEntry) -> Result<(), StoreError> {
    let texts = [Some(&entry.operation), Some(&entry.target), entry.detail.as_ref(), entry.request.as_ref()];
    texts
        .into_iter()
        .flatten()
        .try_for_each(|text| at_most("bytes of a text of the audit log", text.len(), AUDIT_TEXT_BYTES_MAX))
}

/// Says from which time on rows are young enough to stay, where anything has to go; nothing where nothing has to. A tenth more than
/// needed goes, so that a full log is not cut again with each row.
pub fn cut_from(kept: Kept, keep: AuditRetention, now: Timestamp) -> Option<Timestamp> {
    let age_us = i64::try_from(keep.age_max.as_micros()).unwrap_or(i64::MAX);
    let before = |age_us: i64| Timestamp::from_micros(now.as_micros().saturating_sub(age_us));
    let is_old = kept.oldest_at < before(age_us);
    let is_long = rows(kept) > keep.rows_max;
    (is_old || is_long).then(|| before(age_us - age_us / 10))
}

/// Returns what goes: all rows before `young`, the first one that is young enough (nothing: none is), and those that are too many.
pub fn cut(kept: Kept, young: Option<u64>, keep: AuditRetention) -> Option<AuditCut> {
    let by_age = young.map_or(kept.last, |young| young.saturating_sub(1));
    let spared = keep.rows_max - keep.rows_max / 10;
    let by_rows = if rows(kept) > keep.rows_max { kept.last.saturating_sub(spared) } else { 0 };
    let through = by_age.max(by_rows).min(kept.last);
    (through >= kept.first).then(|| AuditCut { through, rows: through - kept.first + 1 })
}

const fn rows(kept: Kept) -> u64 {
    (kept.last + 1).saturating_sub(kept.first)
}

/// Returns the row that says what was dropped.
pub fn cut_entry(cut: AuditCut, now: Timestamp) -> NewAuditEntry {
    NewAuditEntry {
        at: now,
        principal: stemmata_model::Principal::new(SERVICE_PRINCIPAL).expect("a short name"),
        operation: RETENTION_OPERATION.to_owned(),
        whose: None,
        target: format!("rows through {}", cut.through),
        outcome: AuditOutcome::Done,
        detail: Some(stemmata_model::plural(cut.rows, "row")),
        request: None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const KEEP: AuditRetention = AuditRetention { rows_max: 100, age_max: Duration::from_secs(1000) };

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn a_log_is_cut_where_it_is_too_long_or_too_old_and_a_tenth_further() {
        let kept = |first, last, oldest| Kept { first, last, oldest_at: at(oldest) };
        assert_eq!(cut_from(kept(1, 100, 0), KEEP, at(1000)), None, "both bounds are reached, not passed");
        assert_eq!(cut_from(kept(1, 101, 999), KEEP, at(1000)), Some(at(100)));
        assert_eq!(cut_from(kept(1, 2, 0), KEEP, at(1001)), Some(at(101)));
        let gone = |through, rows| Some(AuditCut { through, rows });
        assert_eq!(cut(kept(1, 101, 999), Some(1), KEEP), gone(11, 11));
        assert_eq!(cut(kept(41, 60, 0), Some(50), KEEP), gone(49, 9));
        assert_eq!(cut(kept(41, 60, 0), None, KEEP), gone(60, 20), "all of it is too old");
        assert_eq!(cut(kept(41, 60, 0), Some(41), KEEP), None);
    }
}
