//! Forgetting a session's events: words go, places stay, and no number comes back.
//!
//! That no byte stays in any file is each backend's own test.

use stemmata_model::{NewEvent, Payload};

use super::{Make, all, ask, json, ledger, line, numbers, put, said, saved, seq, session, topic};
use crate::error::StoreError;
use crate::ledger::{EventLog, EventQuery, Places, SavedState};

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
            of("keep", said("stemmata", "CHECKPOINT_STATE", "of another session")),
        ],
    );
    put(log.as_ref(), "q", vec![of("keep", said("a", "t", "elsewhere"))]);
    for name in ["p", "q"] {
        let states = ["cursor/reader", "memory"].map(|state| saved(state, 1, "{}"));
        log.save_states(&ledger(name), states.to_vec()).expect("saved");
    }
    let before = all(log.as_ref(), "p");
    assert_eq!(log.forget_events(&session("go")).expect("forgotten"), 3);
    assert_eq!(log.forget_events(&session("go")).expect("forgotten"), 0, "forgetting twice");
    assert_eq!(log.forget_events(&session("nobody")).expect("forgotten"), 0);
    let after = all(log.as_ref(), "p");
    assert_eq!(numbers(&after), [1, 2, 3, 4, 5, 6]);
    for at in [0, 2, 5] {
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

fn folded(name: &str, through: u64) -> SavedState {
    saved(name, through, "{\"words\":1}")
}

fn epoch(log: &dyn EventLog, name: &str) -> u64 {
    log.ledger(&ledger(name)).expect("a read").expect("it is there").epoch
}

/// Checks that what was folded before something was forgotten, or before states were dropped, is not kept.
pub fn check_folds_before_forgetting(make: Make<'_>) {
    let log = make();
    let log = log.as_ref();
    put(log, "p", vec![of("go", said("a", "t", "secret")), of("stay", said("a", "t", "x"))]);
    put(log, "q", vec![of("stay", said("a", "t", "x"))]);
    let before = ["p", "q"].map(|name| epoch(log, name));
    let save = |name, epoch| log.save_folded(&ledger(name), epoch, vec![folded("memory", 1)]);
    save("p", before[0]).expect("nothing happened since");
    put(log, "p", vec![of("stay", said("a", "t", "more"))]);
    save("p", before[0]).expect("appending forgets nothing");
    assert_eq!(log.forget_events(&session("go")).expect("forgotten"), 1);
    let refused = save("p", before[0]);
    assert!(
        matches!(&refused, Err(StoreError::EpochMoved { ledger: of, expected, found })
            if *of == ledger("p") && *expected == before[0] && found > expected),
        "{refused:?}"
    );
    assert_eq!(log.saved_states(&ledger("p"), "").expect("a read"), [], "nothing of it is kept");
    log.save_states(&ledger("p"), vec![folded("cursor/x", 1)]).expect("a cursor was not folded");
    save("q", before[1]).expect("nothing of this ledger was forgotten");
    let now = epoch(log, "p");
    save("p", now).expect("this was folded since");
    assert_eq!(log.forget_events(&session("go")).expect("forgotten"), 0);
    assert_eq!(epoch(log, "p"), now, "nothing was forgotten");
    log.drop_states(&ledger("q"), "memory").expect("dropped");
    assert!(
        matches!(save("q", before[1]), Err(StoreError::EpochMoved { .. })),
        "it was dropped for a reason"
    );
    save("q", epoch(log, "q")).expect("this was folded since");
    let missing = log.save_folded(&ledger("nowhere"), 0, vec![folded("memory", 1)]);
    assert!(matches!(missing, Err(StoreError::LedgerMissing(_))));
}

/// Checks what goes where events are named by their places, and that the rest stays.
pub fn check_forgotten_places(make: Make<'_>) {
    let log = make();
    let log = log.as_ref();
    let noted = said("a", "t", "clean").with_metadata(json("{\"note\":\"secret\"}"));
    let events = vec![
        said("snapshotter", "STATE_SNAPSHOT", "before"),
        said("stemmata", "CHECKPOINT_STATE", "before"),
        noted,
        line("m", "assistant_turn", "secret line"),
        said("a", "t", "stays, too"),
        said("snapshotter", "STATE_SNAPSHOT", "knows the secret"),
        said("stemmata", "CHECKPOINT_STATE", "knows the secret"),
    ];
    put(log, "p", events.clone());
    put(log, "q", events);
    let states = |name: &str| {
        let named = ["cursor/reader", "memory"].map(|state| folded(state, 1));
        log.save_states(&ledger(name), named.to_vec()).expect("saved");
    };
    let left = |name| {
        let states = log.saved_states(&ledger(name), "").expect("a read");
        states.into_iter().map(|state| state.name).collect::<Vec<_>>()
    };
    states("p");
    states("q");
    let (before, elsewhere) = (all(log, "p"), all(log, "q"));
    let these = Places::These([3, 4, 99].map(seq).into());
    let old = epoch(log, "p");
    assert_eq!(
        log.forget_places(&ledger("p"), &these).expect("forgotten"),
        4,
        "what was made of them goes, too"
    );
    assert!(epoch(log, "p") > old, "folds that are under way may hold it");
    assert_eq!(log.forget_places(&ledger("p"), &these).expect("forgotten"), 0, "forgetting twice");
    assert_eq!(log.forget_places(&ledger("nowhere"), &Places::All).expect("nothing"), 0);
    let after = all(log, "p");
    assert_eq!(numbers(&after), [1, 2, 3, 4, 5, 6, 7]);
    for (at, (now, then)) in after.iter().zip(&before).enumerate() {
        if ![2, 3, 5, 6].contains(&at) {
            assert_eq!(now, then, "what was not named stays");
            continue;
        }
        assert!(matches!(now.payload, Payload::Gone(gone) if gone.forgotten && gone.bytes > 0));
        assert_eq!((now.metadata.as_ref(), now.at, &now.session), (None, then.at, &then.session));
    }
    assert_eq!(left("p"), ["cursor/reader"]);
    assert_eq!((all(log, "q"), left("q").len()), (elsewhere, 2), "another ledger is not touched");
    // States that hold what no event says any more go without one.
    states("p");
    let old = epoch(log, "p");
    assert_eq!(log.forget_places(&ledger("p"), &Places::These([].into())).expect("dropped"), 0);
    assert_eq!(left("p"), ["cursor/reader"]);
    assert!(epoch(log, "p") > old);
    assert_eq!(log.forget_places(&ledger("q"), &Places::All).expect("forgotten"), 7);
    assert!(all(log, "q").iter().all(|event| matches!(event.payload, Payload::Gone(_))));
    assert_eq!(left("q"), ["cursor/reader"]);
    assert_eq!(put(log, "q", vec![said("a", "t", "y")]).first, seq(8), "no number comes back");
}
