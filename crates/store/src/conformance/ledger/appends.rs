//! Appending: what comes back is what was given, with places and times; and what is refused leaves nothing.
//!
//! Appends of several threads are in `threads`.

use stemmata_model::{NewEvent, NewPayload, Payload, artifact_id};

use super::{
    Make, all, append, ask, at, json, ledger, line, numbers, party, put, said, saved, seq, session, topic,
};
use crate::error::{StoreError, StoreErrorKind};
use crate::ledger::{
    Append, BATCH_EVENTS_MAX, Durability, EVENT_AT_US_MAX, EVENT_BYTES_MAX, EventLog, EventQuery,
    LedgerChange,
};

/// Checks that events come back as they were given.
pub fn check_appends(make: Make<'_>) {
    let log = make();
    assert_eq!(log.ledger(&ledger("p")).expect("a read"), None);
    assert_eq!(all(log.as_ref(), "p"), Vec::new(), "a ledger that is not there has no events");
    let plain = NewEvent {
        at: Some(at(7_000)),
        ..NewEvent::new(
            session("s one"),
            topic("PLAN_READY"),
            party("planner"),
            NewPayload::Plain {
                text: Some("zuerst Äpfel\n\u{1F350}\0".to_owned()),
                data: Some(json("{\"k\":[9007199254740993,0.10]}")),
            },
        )
        .to(party("worker 1"))
        .with_metadata(json("{\"contextSafe\":false}"))
    };
    let empty = NewEvent::new(
        session("s2"),
        topic("odd topic"),
        party("x"),
        NewPayload::Plain { text: None, data: None },
    );
    let blank = NewEvent::new(
        session("s2"),
        topic("odd topic"),
        party("x"),
        NewPayload::Plain { text: Some(String::new()), data: Some(json("null")) },
    );
    let turn = line("m", "assistant_turn", "done");
    let given = [plain, empty, blank, turn];
    for (number, event) in (1..).zip(&given) {
        let appended = put(log.as_ref(), "p", vec![event.clone()]);
        assert_eq!((appended.first, appended.last), (seq(number), seq(number)));
    }
    let events = all(log.as_ref(), "p");
    assert_eq!(numbers(&events), [1, 2, 3, 4]);
    for (event, given) in events.iter().zip(&given) {
        assert_eq!((&event.session, &event.topic), (&given.session, &given.topic));
        assert_eq!((&event.sender, &event.receiver), (&given.sender, &given.receiver));
        assert_eq!((&event.metadata, event.replayable), (&given.metadata, given.replayable));
        let expected = match &given.payload {
            NewPayload::Plain { text, data } => Payload::Plain { text: text.clone(), data: data.clone() },
            NewPayload::Line(line) => {
                Payload::Line { id: artifact_id(format!("{line}\n").as_bytes()), line: line.clone() }
            }
        };
        assert_eq!(event.payload, expected);
    }
    assert!(!events[0].replayable && events[1].replayable);
    let known = log.ledger(&ledger("p")).expect("a read").expect("it is there");
    assert_eq!((known.last, known.last_at), (4, Some(events[3].at)));
    assert_eq!((known.created_at, known.root, known.marks), (at(1_000), None, Vec::new()));
}

/// Checks that the events of one append stand next to each other, and that ledgers count by themselves.
pub fn check_batches(make: Make<'_>) {
    let log = make();
    let many: Vec<NewEvent> = (0..100).map(|number| said("a", "t", &format!("{number}"))).collect();
    let first = put(log.as_ref(), "p", many.clone());
    let other = put(log.as_ref(), "q", many.clone());
    let second = put(log.as_ref(), "p", many);
    assert_eq!((first.first, first.last), (seq(1), seq(100)));
    assert_eq!((other.first, other.last), (seq(1), seq(100)));
    assert_eq!((second.first, second.last), (seq(101), seq(200)));
    let events = all(log.as_ref(), "p");
    assert_eq!(numbers(&events), (1..=200).collect::<Vec<_>>());
    assert_eq!(second.last_at, events[199].at);
    assert!(events.windows(2).all(|pair| pair[0].at < pair[1].at), "times rise within an append too");
}

/// Checks that times rise whatever clocks and callers say.
pub fn check_times(make: Make<'_>) {
    let log = make();
    let mut times = Vec::new();
    for (now, given) in [
        (1_000, None),
        (1_000, None),
        (500, None),
        (2_000, Some(10)),
        (2_000, Some(9_000)),
        (2_000, None),
        (2_000, Some(9_000)),
    ] {
        let event = NewEvent { at: given.map(at), ..said("a", "t", "x") };
        let append = Append { now: at(now), ..append("p", vec![event]) };
        times.push(log.append(append).expect("an append").last_at.as_micros());
    }
    assert_eq!(times, [1_000, 1_001, 1_002, 2_000, 9_000, 9_001, 9_002]);
    let stored: Vec<i64> = all(log.as_ref(), "p").iter().map(|event| event.at.as_micros()).collect();
    assert_eq!(stored, times);
}

/// Checks that an append which expects another last number is refused, and names both.
pub fn check_expectations(make: Make<'_>) {
    let log = make();
    let expecting = |expected| Append { expected: Some(expected), ..append("p", vec![said("a", "t", "x")]) };
    let Err(StoreError::SequenceMoved { ledger: named, expected, found }) = log.append(expecting(1)) else {
        panic!("a ledger that is not there has no event");
    };
    assert_eq!((named, expected, found), (ledger("p"), 1, 0));
    assert_eq!(log.ledger(&ledger("p")).expect("a read"), None, "a refused append makes no ledger");
    log.append(expecting(0)).expect("the ledger is empty");
    log.append(expecting(1)).expect("the ledger has one event");
    assert!(matches!(log.append(expecting(1)), Err(StoreError::SequenceMoved { found: 2, .. })));
    assert_eq!(numbers(&all(log.as_ref(), "p")), [1, 2]);
}

/// Checks the bounds of appends: what is beyond one is refused whole.
pub fn check_refused_appends(make: Make<'_>) {
    let log = make();
    let kinds = |append| log.append(append).expect_err("an append beyond a bound").kind();
    assert!(matches!(log.append(append("p", Vec::new())), Err(StoreError::Empty { .. })));
    let many = vec![said("a", "t", "x"); BATCH_EVENTS_MAX + 1];
    assert_eq!(kinds(append("p", many)), StoreErrorKind::Rejected);
    let large = said("a", "t", &"x".repeat(EVENT_BYTES_MAX + 1));
    assert_eq!(kinds(append("p", vec![said("a", "t", "fine"), large])), StoreErrorKind::Rejected);
    let beyond = Some(at(EVENT_AT_US_MAX + 1));
    let late = NewEvent { at: beyond, ..said("a", "t", "x") };
    assert_eq!(kinds(append("p", vec![late])), StoreErrorKind::Rejected);
    let now = at(i64::MAX);
    assert_eq!(kinds(Append { now, ..append("p", vec![said("a", "t", "x")]) }), StoreErrorKind::Rejected);
    assert_eq!(all(log.as_ref(), "p"), Vec::new());
    let largest = said("a", "t", &"x".repeat(EVENT_BYTES_MAX));
    put(log.as_ref(), "p", vec![largest]);
    let too_many = EventQuery { limit: crate::PAGE_ROWS_MAX + 1, ..EventQuery::default() };
    assert!(log.events(&ledger("p"), &too_many).is_err());
    let topics = vec![topic("t"); crate::ledger::QUERY_TOPICS_MAX + 1];
    assert!(log.events(&ledger("p"), &EventQuery { topics, limit: 1, ..EventQuery::default() }).is_err());
}

/// Checks that a closed log refuses to write, with an error and not with silence, and can be read.
pub fn check_closing(make: Make<'_>) {
    let log = make();
    put(log.as_ref(), "p", vec![said("a", "t", "x")]);
    log.close().expect("closing");
    log.close().expect("closing twice");
    let refused = |result: Result<(), StoreError>| assert!(matches!(result, Err(StoreError::Closed { .. })));
    refused(log.append(append("p", vec![said("a", "t", "y")])).map(|_| ()));
    refused(log.change_ledger(LedgerChange::new(ledger("p"), at(1))));
    refused(log.save_states(&ledger("p"), vec![saved("r", 1, "1")]));
    refused(log.trim(&ledger("p"), &topic("t"), seq(1)).map(|_| ()));
    refused(log.forget_events(&session("s1")).map(|_| ()));
    refused(log.drop_states(&ledger("p"), ""));
    assert_eq!(numbers(&ask(log.as_ref(), "p", &EventQuery::after(None, 10))), [1]);
}

/// Checks numbers beyond 2^53, in a log that a backend has brought close to them: its last number is `last`.
pub fn check_great_numbers(log: &dyn EventLog, name: &str, last: u64) {
    let append = Append {
        durability: Durability::Full,
        ..append(name, vec![said("a", "big", "x"), said("a", "big", "y")])
    };
    let appended = log.append(append).expect("an append");
    assert_eq!((appended.first.get(), appended.last.get()), (last + 1, last + 2));
    let newest = ask(log, name, &EventQuery::latest(topic("big"), 2));
    assert_eq!(numbers(&newest), [last + 2, last + 1]);
    assert_eq!(numbers(&ask(log, name, &EventQuery::after(Some(seq(last + 1)), 10))), [last + 2]);
}
