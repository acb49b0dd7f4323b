//! Queries: every filter alone and together, limits and orders, held against a plain filter over all events.
//!
//! What a query costs is each backend's own test.

use stemmata_model::{Event, NewEvent, NewPayload, Topic};

use super::{Make, all, append, ask, at, json, numbers, party, put, said, seq, session, topic};
use crate::ledger::{Append, EventLog, EventQuery, Order};

/// Forty events of four topics, three senders, two receivers and three sessions; some not for prompts.
fn mixed(log: &dyn EventLog) -> Vec<Event> {
    for number in 0..40_usize {
        let payload = NewPayload::Plain { text: Some(format!("event {number}")), data: None };
        let names = (
            ["s1", "s2", "s3"][number % 3],
            ["t0", "t1", "t2", "t3"][number % 4],
            ["a", "b", "c"][number % 3],
        );
        let mut event = NewEvent::new(session(names.0), topic(names.1), party(names.2), payload);
        if number % 5 == 0 {
            event = event.to(party("b"));
        }
        if number % 7 == 0 {
            event = event.with_metadata(json("{\"contextSafe\":false}"));
        }
        let now = at(1_000 * i64::try_from(number).expect("a small number"));
        log.append(Append { now, ..append("p", vec![event]) }).expect("an append");
    }
    put(log, "another", vec![said("a", "t1", "not of this ledger")]);
    all(log, "p")
}

fn expected(events: &[Event], query: &EventQuery) -> Vec<u64> {
    let mut wanted: Vec<u64> =
        numbers(&events.iter().filter(|event| query.wants(event)).cloned().collect::<Vec<_>>());
    if query.order == Order::NewestFirst {
        wanted.reverse();
    }
    wanted.truncate(query.limit);
    wanted
}

/// Checks every combination of two values of each filter, in both orders, with several limits.
pub fn check_filters(make: Make<'_>) {
    let log = make();
    let events = mixed(log.as_ref());
    assert_eq!(events.len(), 40);
    let topics: [Vec<Topic>; 4] =
        [vec![], vec![topic("t1")], vec![topic("t1"), topic("t3"), topic("t1")], vec![topic("none")]];
    let mut asked = 0;
    for topics in topics {
        for bits in 0..256_u32 {
            let on = |bit: u32| bits & (1 << bit) != 0;
            let query = EventQuery {
                after: on(0).then(|| seq(9)),
                through: on(1).then(|| seq(33)),
                topics: topics.clone(),
                sender: on(2).then(|| party("b")),
                receiver: on(3).then(|| party("b")),
                session: on(4).then(|| session("s2")),
                since: on(5).then(|| at(5_000)),
                until: on(6).then(|| at(35_000)),
                without: if on(7) { vec![topic("t1"), topic("none")] } else { Vec::new() },
                ..EventQuery::default()
            };
            for replayable in [None, Some(true), Some(false)] {
                for order in [Order::OldestFirst, Order::NewestFirst] {
                    for limit in [2, 100] {
                        let query = EventQuery { replayable, order, limit, ..query.clone() };
                        let found = numbers(&ask(log.as_ref(), "p", &query));
                        assert_eq!(found, expected(&events, &query), "{query:?}");
                        asked += found.len();
                    }
                }
            }
        }
    }
    assert!(asked > 1_000, "most of these queries find something");
}

/// Checks the newest of a topic, whatever stands behind them.
pub fn check_latest(make: Make<'_>) {
    let log = make();
    put(log.as_ref(), "p", vec![said("a", "rare", "first"), said("a", "rare", "second")]);
    for _ in 0..10 {
        put(log.as_ref(), "p", vec![said("a", "often", "x"); 50]);
    }
    let latest = |name, limit| numbers(&ask(log.as_ref(), "p", &EventQuery::latest(topic(name), limit)));
    assert_eq!(latest("rare", 1), [2]);
    assert_eq!(latest("rare", 5), [2, 1]);
    assert_eq!(latest("often", 3), [502, 501, 500]);
    assert_eq!(latest("never", 3), Vec::<u64>::new());
}

/// Checks that a limit of 0 means none, in every query.
pub fn check_limits(make: Make<'_>) {
    let log = make();
    mixed(log.as_ref());
    for order in [Order::OldestFirst, Order::NewestFirst] {
        for topics in [Vec::new(), vec![topic("t1")]] {
            let query = |limit| EventQuery { topics: topics.clone(), order, limit, ..EventQuery::default() };
            assert_eq!(ask(log.as_ref(), "p", &query(0)), Vec::new(), "0 is none, not all");
            assert_eq!(ask(log.as_ref(), "p", &query(1)).len(), 1);
        }
    }
}

/// Checks that walking in pages of any size, in both directions, gives every event once.
pub fn check_pages(make: Make<'_>) {
    let log = make();
    let events = mixed(log.as_ref());
    for size in [1, 3, 7, 40, 100] {
        let mut walked: Vec<Event> = Vec::new();
        loop {
            let after = walked.last().map(|event| event.seq);
            let page = ask(log.as_ref(), "p", &EventQuery::after(after, size));
            assert!(page.len() <= size);
            if page.is_empty() {
                break;
            }
            walked.extend(page);
        }
        assert_eq!(walked, events, "pages of {size}");
    }
    let range = EventQuery { after: Some(seq(3)), through: Some(seq(3)), limit: 9, ..EventQuery::default() };
    assert_eq!(ask(log.as_ref(), "p", &range), Vec::new(), "an empty range");
    let beyond = EventQuery::after(Some(seq(u64::MAX >> 1)), 9);
    assert_eq!(ask(log.as_ref(), "p", &beyond), Vec::new(), "nothing after the last number there can be");
}

/// Checks that both ends of a span of time belong to it.
pub fn check_times_asked_for(make: Make<'_>) {
    let log = make();
    for now in [10, 20, 30] {
        log.append(Append { now: at(now), ..append("p", vec![said("a", "t", "x")]) }).expect("an append");
    }
    let between = |since: Option<i64>, until: Option<i64>| {
        let query =
            EventQuery { since: since.map(at), until: until.map(at), limit: 9, ..EventQuery::default() };
        numbers(&ask(log.as_ref(), "p", &query))
    };
    assert_eq!(between(Some(20), None), [2, 3]);
    assert_eq!(between(Some(21), None), [3]);
    assert_eq!(between(None, Some(20)), [1, 2]);
    assert_eq!(between(None, Some(9)), Vec::<u64>::new());
    assert_eq!(between(Some(0), Some(40)), [1, 2, 3]);
    assert_eq!(between(Some(31), Some(20)), Vec::<u64>::new());
}
