//! What is known of ledgers, and the states that reducers save beside them.
//!
//! What a state holds is the reducers'.

use std::sync::Arc;

use super::{Make, Reopen, at, json, ledger, put, said, saved};
use crate::error::StoreError;
use crate::ledger::{EventLog, LedgerChange, MARKS_MAX, STATE_BYTES_MAX, SavedState};

fn change(name: &str, marks: &[&str]) -> LedgerChange {
    let marks = marks.iter().map(|mark| (*mark).to_owned()).collect();
    LedgerChange { marks, ..LedgerChange::new(ledger(name), at(77)) }
}

fn state(name: &str, version: u32, text: &str) -> SavedState {
    SavedState { version, position: Some("line 3".to_owned()), ..saved(name, 1, text) }
}

/// Checks that ledgers are made by changes and by appends, keep what is said of them, and are listed in order.
pub fn check_ledgers(make: Make<'_>) {
    let log = make();
    log.change_ledger(change("b", &[])).expect("made");
    put(log.as_ref(), "a", vec![said("x", "t", "x")]);
    put(log.as_ref(), "ä / ..", vec![said("x", "t", "x")]);
    let ids = |after: Option<&str>, limit| -> Vec<String> {
        let after = after.map(ledger);
        log.ledgers(after.as_ref(), limit).expect("a read").iter().map(|known| known.id.to_string()).collect()
    };
    assert_eq!(ids(None, 9), ["a", "b", "ä / .."]);
    assert_eq!(ids(Some("a"), 1), ["b"]);
    assert_eq!(ids(None, 0), Vec::<String>::new());
    let known = log.ledger(&ledger("b")).expect("a read").expect("it is there");
    assert_eq!((known.created_at, known.last, known.last_at), (at(77), 0, None));
    log.change_ledger(LedgerChange { root: Some("/src/b".to_owned()), now: at(99), ..change("b", &[]) })
        .expect("changed");
    log.change_ledger(LedgerChange { compacted_at: Some(at(98)), ..change("b", &[]) }).expect("changed");
    put(log.as_ref(), "b", vec![said("x", "t", "x")]);
    let known = log.ledger(&ledger("b")).expect("a read").expect("it is there");
    assert_eq!((known.root.as_deref(), known.compacted_at), (Some("/src/b"), Some(at(98))));
    assert_eq!(
        (known.created_at, known.last),
        (at(77), 1),
        "what was said stays until something else is said"
    );
}

/// Checks that a mark leads to one ledger.
pub fn check_marks(make: Make<'_>) {
    let log = make();
    assert_eq!(log.ledger_marked("remote:x").expect("a read"), None);
    log.change_ledger(change("a", &["remote:x", "place:/src", "remote:x"])).expect("marked");
    log.change_ledger(change("a", &["commit:1", "remote:x"])).expect("marked again");
    assert_eq!(log.ledger_marked("remote:x").expect("a read"), Some(ledger("a")));
    assert_eq!(log.ledger_marked("remote:").expect("a read"), None, "a mark is found whole");
    let taken =
        log.change_ledger(LedgerChange { root: Some("/b".to_owned()), ..change("b", &["own", "commit:1"]) });
    let Err(StoreError::MarkTaken { mark, ledger: other }) = taken else { panic!("a mark has one ledger") };
    assert_eq!((mark.as_str(), other), ("commit:1", ledger("a")));
    assert_eq!(log.ledger(&ledger("b")).expect("a read"), None, "a refused change leaves nothing");
    assert_eq!(log.ledger_marked("own").expect("a read"), None);
    let known = log.ledger(&ledger("a")).expect("a read").expect("it is there");
    assert_eq!(known.marks, ["commit:1", "place:/src", "remote:x"]);
    let many: Vec<String> = (0..MARKS_MAX).map(|number| format!("m{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(
        matches!(log.change_ledger(change("a", &many)), Err(StoreError::Bound { .. })),
        "with those it has"
    );
    log.change_ledger(change("c", &many)).expect("as many as there may be");
    // One that is let go of makes room, leads nowhere, and may be another's; of others' marks nothing goes.
    let moves = |name: &str, marks: &[&str], let_go: &[&str]| LedgerChange {
        let_go: let_go.iter().map(|mark| (*mark).to_owned()).collect(),
        ..change(name, marks)
    };
    log.change_ledger(moves("c", &["new"], &["m0", "nobody's", "remote:x"])).expect("in its place");
    assert_eq!(log.ledger_marked("m0").expect("a read"), None);
    assert_eq!(log.ledger_marked("new").expect("a read"), Some(ledger("c")));
    assert_eq!(log.ledger_marked("remote:x").expect("a read"), Some(ledger("a")));
    log.change_ledger(change("a", &["m0"])).expect("it is free");
    log.change_ledger(moves("a", &["m0"], &["m0"])).expect("let go of first");
    assert_eq!(log.ledger_marked("m0").expect("a read"), Some(ledger("a")));
    assert!(matches!(
        log.change_ledger(moves("a", &["new"], &["commit:1"])),
        Err(StoreError::MarkTaken { .. })
    ));
    assert_eq!(log.ledger_marked("commit:1").expect("a read"), Some(ledger("a")), "all of it or nothing");
}

/// Checks that states are kept by name, replaced, found by prefix and dropped.
pub fn check_states(make: Make<'_>) {
    let log = make();
    let missing = log.save_states(&ledger("p"), vec![state("memory", 1, "{}")]);
    assert!(matches!(missing, Err(StoreError::LedgerMissing(_))));
    put(log.as_ref(), "p", vec![said("x", "t", "x")]);
    put(log.as_ref(), "q", vec![said("x", "t", "x")]);
    let first = vec![state("memory", 1, "{\"a\":1}"), state("memory/s1", 1, "[]"), state("memo", 2, "0")];
    log.save_states(&ledger("p"), first.clone()).expect("saved");
    log.save_states(&ledger("q"), vec![state("memory", 9, "\"q\"")]).expect("saved");
    let saved = |name: &str, prefix: &str| log.saved_states(&ledger(name), prefix).expect("a read");
    assert_eq!(saved("p", ""), [first[2].clone(), first[0].clone(), first[1].clone()]);
    assert_eq!(saved("p", "memory"), first[..2]);
    assert_eq!(saved("p", "memory/"), first[1..2]);
    assert_eq!(saved("nobody", ""), Vec::new());
    let newer = SavedState { through: 0, position: None, ..state("memory", 2, "{\"a\":2}") };
    let ahead = SavedState { through: 2, ..newer.clone() };
    let refused = log.save_states(&ledger("p"), vec![newer.clone(), ahead]);
    assert!(matches!(refused, Err(StoreError::Bound { value: 2, bound: 1, .. })), "nobody has folded it");
    assert_eq!(saved("p", "memory")[0], first[0]);
    log.save_states(&ledger("p"), vec![newer.clone()]).expect("saved");
    assert_eq!(saved("p", "memory")[0], newer);
    let large = json(&format!("\"{}\"", "x".repeat(STATE_BYTES_MAX)));
    let refused = log.save_states(
        &ledger("p"),
        vec![state("new", 1, "1"), SavedState { state: large, ..state("large", 1, "1") }],
    );
    assert!(matches!(refused, Err(StoreError::Bound { .. })));
    assert_eq!(saved("p", "new"), Vec::new(), "all or none");
    log.drop_states(&ledger("p"), "memory/").expect("dropped");
    assert_eq!(saved("p", "").len(), 2);
    log.drop_states(&ledger("p"), "").expect("dropped");
    assert_eq!((saved("p", "").len(), saved("q", "").len()), (0, 1));
    // The last of all characters may follow a prefix, as any other.
    let after = ["memory\u{10ffff}", "memory\u{10ffff}x"].map(|name| state(name, 1, "1"));
    log.save_states(&ledger("p"), [&after[..], &[state("memorz", 1, "1")]].concat()).expect("saved");
    assert_eq!(saved("p", "memory"), after);
}

/// Checks that states outlive the log's value.
pub(super) fn check_states_reopened(log: Arc<dyn EventLog>, reopen: Reopen<'_>) {
    log.save_states(&ledger("p"), vec![state("memory", 3, "{\"kept\":true}")]).expect("saved");
    log.change_ledger(LedgerChange { root: Some("/r".to_owned()), ..change("p", &["m"]) }).expect("changed");
    let log = reopen(log);
    assert_eq!(log.saved_states(&ledger("p"), "").expect("a read"), [state("memory", 3, "{\"kept\":true}")]);
    assert_eq!(log.ledger_marked("m").expect("a read"), Some(ledger("p")));
}
