//! Pointers: set, compared, listed, deleted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use stemmata_model::CommitId;

use super::{MakeState, at, key};
use crate::conformance::builders::principal;
use crate::state::{
    Expected, NewPointer, Pointer, PointerQuery, Pointers, STATE_PAGE_MAX, ServiceState, StateError,
};

fn commit(number: u8) -> CommitId {
    CommitId::from_bytes([number; 16])
}

fn new(name: &str, to: u8, expected: Expected) -> NewPointer {
    let pointer =
        Pointer { key: key(name), commit: commit(to), set_at: at(i64::from(to)), by: principal("ada") };
    NewPointer { pointer, expected }
}

fn moved<T: std::fmt::Debug>(result: Result<T, StateError>) -> Option<CommitId> {
    match result.expect_err("it is not as expected") {
        StateError::PointerMoved { found, .. } => found,
        other => panic!("{other}"),
    }
}

pub(super) fn check_pointers(make: MakeState<'_>) {
    let state = make();
    assert_eq!(state.pointer(&key("main")).expect("a read"), None);
    assert_eq!(moved(state.set_pointer(&new("main", 1, Expected::Commit(commit(9))))), None);
    assert_eq!(state.set_pointer(&new("main", 1, Expected::Nothing)).expect("set"), None);
    assert_eq!(moved(state.set_pointer(&new("main", 2, Expected::Nothing))), Some(commit(1)));
    assert_eq!(moved(state.set_pointer(&new("main", 2, Expected::Commit(commit(3))))), Some(commit(1)));
    let first = new("main", 1, Expected::Anything).pointer;
    assert_eq!(state.pointer(&key("main")).expect("a read"), Some(first), "a refused change changes nothing");
    let before = state.set_pointer(&new("main", 2, Expected::Commit(commit(1)))).expect("set");
    assert_eq!(before, Some(commit(1)));
    let before = state.set_pointer(&new("main", 3, Expected::Anything)).expect("set");
    assert_eq!(before, Some(commit(2)));
    assert_eq!(moved(state.delete_pointer(&key("main"), Expected::Commit(commit(2)))), Some(commit(3)));
    let gone = state.delete_pointer(&key("main"), Expected::Commit(commit(3))).expect("deleted");
    assert_eq!(gone, Some(new("main", 3, Expected::Anything).pointer));
    assert_eq!(state.delete_pointer(&key("main"), Expected::Anything).expect("nothing to do"), None);
    assert_eq!(moved(state.delete_pointer(&key("main"), Expected::Commit(commit(3)))), None);
}

pub(super) fn check_listing(make: MakeState<'_>) {
    let state = make();
    for name in ["a", "a/b", "a/b/c", "a-b", "a_b", "a@z/z", "b", "B"] {
        state.set_pointer(&new(name, 1, Expected::Anything)).expect("set");
    }
    let names = |prefix: &str, after: Option<&str>, rows_max| {
        let query = PointerQuery { prefix: prefix.to_owned(), after: after.map(key), rows_max };
        let found = state.pointers(&query).expect("a read");
        found.iter().map(|pointer| pointer.key.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names("", None, 99), ["B", "a", "a-b", "a/b", "a/b/c", "a@z/z", "a_b", "b"]);
    assert_eq!(names("a/", None, 99), ["a/b", "a/b/c"]);
    assert_eq!(names("a", Some("a/b"), 2), ["a/b/c", "a@z/z"]);
    assert_eq!(names("a", Some("b"), 9), [""; 0]);
    assert_eq!(names("c", None, 9), [""; 0]);
    assert_eq!(names("", None, 0), [""; 0]);
    assert!(names("", None, usize::MAX).len() < STATE_PAGE_MAX);
}

/// Threads that each add one to a pointer, by what it points to: no step is lost.
pub(super) fn check_races(make: MakeState<'_>) {
    let state = make();
    let state: &dyn ServiceState = &*state;
    let refused = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    while !step(state) {
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let last = state.pointer(&key("count")).expect("a read").expect("it is there");
    assert_eq!(last.commit, commit(40), "after {} refusals", refused.into_inner());
}

fn step(state: &dyn Pointers) -> bool {
    let found = state.pointer(&key("count")).expect("a read").map(|pointer| pointer.commit);
    let expected = found.map_or(Expected::Nothing, Expected::Commit);
    let next = found.map_or(0, |commit| commit.to_bytes()[0]) + 1;
    match state.set_pointer(&new("count", next, expected)) {
        Ok(before) => before == found,
        Err(StateError::PointerMoved { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}
