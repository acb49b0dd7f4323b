//! Forgetting a session's events: words go, places stay, and no number comes back.
//!
//! That no byte stays in any file is each backend's own test.

use stemmata_model::{NewEvent, Payload};

use super::{Make, all, ask, json, ledger, line, numbers, put, said, seq, session, topic};
use crate::ledger::{EventQuery, SavedState};

fn of(name: &str, event: NewEvent) -> NewEvent {
    NewEvent { session: session(name), ..event }
}

/// Checks what goes and what stays.
pub fn check_forgotten_events(make: Make<'_>) {
    let log = make();
    let noted = said("a", "t", "secret one").with_metadata(json("{\"note\":\"secret\"}"));
    put(
        log.as_ref(),
        "p",
        vec![
            of("keep", said("snapshotter", "STATE_SNAPSHOT", "before")),
            of("go", noted),
            of("keep", said("a", "t", "stays")),
            of("go", line("m", "assistant_turn", "secret two")),
            of("keep", said("snapshotter", "STATE_SNAPSHOT", "knows secret one")),
        ],
    );
    put(log.as_ref(), "q", vec![of("keep", said("a", "t", "elsewhere"))]);
    for name in ["p", "q"] {
        let states = ["cursor/reader", "memory"].map(|state| SavedState {
            name: state.to_owned(),
            version: 1,
            through: 1,
            position: None,
            state: json("{}"),
        });
        log.save_states(&ledger(name), states.to_vec()).expect("saved");
    }
    let before = all(log.as_ref(), "p");
    assert_eq!(log.forget_events(&session("go")).expect("forgotten"), 3);
    assert_eq!(log.forget_events(&session("go")).expect("forgotten"), 0, "forgetting twice");
    assert_eq!(log.forget_events(&session("nobody")).expect("forgotten"), 0);
    let after = all(log.as_ref(), "p");
    assert_eq!(numbers(&after), [1, 2, 3, 4, 5]);
    for at in [0, 2] {
        assert_eq!(after[at], before[at], "what is of another session stays");
    }
    for at in [1, 3, 4] {
        assert!(matches!(after[at].payload, Payload::Gone(gone) if gone.forgotten && gone.bytes > 0));
        assert_eq!(after[at].metadata, None);
        assert_eq!((after[at].at, &after[at].topic), (before[at].at, &before[at].topic));
    }
    let left = |name| {
        let states = log.saved_states(&ledger(name), "").expect("a read");
        states.into_iter().map(|state| state.name).collect::<Vec<_>>()
    };
    assert_eq!(left("p"), ["cursor/reader"], "a state may hold its words, a cursor holds none");
    assert_eq!(left("q"), ["cursor/reader", "memory"], "another ledger knows nothing of it");
}

/// Checks that the numbers of forgotten events are never given again.
pub fn check_numbers_after_forgetting(make: Make<'_>) {
    let log = make();
    put(log.as_ref(), "p", vec![of("go", said("a", "t", "x")); 5]);
    log.forget_events(&session("go")).expect("forgotten");
    let appended = put(log.as_ref(), "p", vec![said("a", "t", "y")]);
    assert_eq!(appended.first, seq(6));
    assert_eq!(numbers(&ask(log.as_ref(), "p", &EventQuery::latest(topic("t"), 2))), [6, 5]);
}
