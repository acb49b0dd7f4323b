//! The audit log: added to, read by pages, cut at its old end with a row that says so.

use std::thread;
use std::time::Duration;

use super::{MakeState, at};
use crate::conformance::builders::principal;
use crate::error::StoreError;
use crate::state::{
    AUDIT_TEXT_BYTES_MAX, Audit, AuditCut, AuditEntry, AuditOutcome, AuditQuery, AuditRetention,
    NewAuditEntry, RETENTION_OPERATION, StateError,
};

fn entry(second: i64) -> NewAuditEntry {
    NewAuditEntry {
        at: at(second),
        principal: principal(if second % 2 == 0 { "ada" } else { "bob" }),
        operation: "maintain.apply_forget".to_owned(),
        whose: None,
        target: format!("target {second}"),
        outcome: AuditOutcome::Begun,
        detail: None,
        request: None,
    }
}

const ALL: AuditQuery = AuditQuery { before: None, principal: None, operation: None, rows_max: 1_000 };

fn numbers(state: &(impl Audit + ?Sized), query: &AuditQuery) -> Vec<u64> {
    state.audit(query).expect("a read").iter().map(|entry| entry.number).collect()
}

pub(super) fn check_audit(make: MakeState<'_>) {
    let state = make();
    assert_eq!(numbers(&*state, &ALL), [0; 0]);
    let full = NewAuditEntry {
        whose: Some(principal("eve")),
        detail: Some("3 commits".to_owned()),
        request: Some("r-1".to_owned()),
        outcome: AuditOutcome::Done,
        operation: "chains.show".to_owned(),
        ..entry(1)
    };
    assert_eq!(state.record(&full).expect("recorded"), 1);
    for (second, outcome) in [(2, AuditOutcome::Refused), (3, AuditOutcome::Failed), (4, AuditOutcome::Begun)]
    {
        state.record(&NewAuditEntry { outcome, ..entry(second) }).expect("recorded");
    }
    assert_eq!(state.audit(&ALL).expect("a read").last(), Some(&AuditEntry { number: 1, entry: full }));
    assert_eq!(numbers(&*state, &ALL), [4, 3, 2, 1]);
    assert_eq!(numbers(&*state, &AuditQuery { rows_max: 2, ..ALL }), [4, 3]);
    assert_eq!(numbers(&*state, &AuditQuery { before: Some(3), ..ALL }), [2, 1]);
    let of_ada = AuditQuery { principal: Some(principal("ada")), ..ALL };
    assert_eq!(numbers(&*state, &of_ada), [4, 2]);
    let shown = AuditQuery { operation: Some("chains.show".to_owned()), ..ALL };
    assert_eq!(numbers(&*state, &shown), [1]);
    assert_eq!(numbers(&*state, &AuditQuery { principal: of_ada.principal, ..shown }), [0; 0]);
    thread::scope(|scope| {
        for thread in 0..4 {
            let state = &state;
            scope.spawn(move || {
                for _ in 0..5 {
                    state.record(&entry(thread)).expect("recorded");
                }
            });
        }
    });
    assert_eq!(
        numbers(&*state, &ALL),
        (1..=24).rev().collect::<Vec<_>>(),
        "no number is missing or twice there"
    );
}

pub(super) fn check_retention(make: MakeState<'_>) {
    let state = make();
    let keep = AuditRetention { rows_max: 20, age_max: Duration::from_secs(100) };
    assert_eq!(state.retain_audit(keep, at(0)).expect("nothing to do"), None);
    for second in 1..=21 {
        state.record(&entry(second)).expect("recorded");
    }
    let cut = state.retain_audit(keep, at(22)).expect("cut");
    assert_eq!(cut, Some(AuditCut { through: 3, rows: 3 }), "one is too many, and a tenth more goes");
    assert_eq!(state.retain_audit(keep, at(22)).expect("nothing to do"), None);
    assert_eq!(numbers(&*state, &ALL), (4..=22).rev().collect::<Vec<_>>());
    let said = state.audit(&AuditQuery { rows_max: 1, ..ALL }).expect("a read").remove(0).entry;
    assert_eq!((said.operation.as_str(), said.at), (RETENTION_OPERATION, at(22)));
    assert_eq!((said.target.as_str(), said.detail.as_deref()), ("rows through 3", Some("3 rows")));

    // Second 22 is the time of the row before; what is from before second 31 is too old at 121.
    let cut = state.retain_audit(keep, at(121)).expect("cut");
    assert_eq!(cut, Some(AuditCut { through: 22, rows: 19 }), "all of it");
    assert_eq!(numbers(&*state, &ALL), [23], "numbers go on");
    assert_eq!(state.record(&entry(122)).expect("recorded"), 24);
}

pub(super) fn check_bounds(make: MakeState<'_>) {
    let state = make();
    let long = "x".repeat(AUDIT_TEXT_BYTES_MAX + 1);
    for bad in [
        NewAuditEntry { target: long.clone(), ..entry(1) },
        NewAuditEntry { operation: long.clone(), ..entry(1) },
        NewAuditEntry { detail: Some(long.clone()), ..entry(1) },
        NewAuditEntry { request: Some(long), ..entry(1) },
    ] {
        let error = state.record(&bad).expect_err("too long");
        assert!(matches!(error, StateError::Storage(StoreError::Bound { .. })), "{error}");
    }
    assert_eq!(numbers(&*state, &ALL), [0; 0]);
}
