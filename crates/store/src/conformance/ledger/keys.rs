//! Keys: what is said twice stands once, whoever says it at the same time, and what is forgotten is known by nothing.

use std::sync::Barrier;
use std::thread;

use stemmata_model::NewEvent;

use super::{Make, all, append, ask, at, ledger, numbers, put, said, seq, session};
use crate::error::StoreError;
use crate::ledger::{APPEND_KEYS_MAX, Append, EventKey, EventLog, EventQuery, Keyed, NewKey, Places};

/// Threads that append under one key at the same time.
const THREADS: usize = 8;

fn key(name: &str) -> EventKey {
    EventKey::of([name])
}

fn new(name: &str, at: usize, events: usize) -> NewKey {
    NewKey { key: key(name), digest: key(&format!("what {name} says")), at, events, until: None }
}

fn events(count: usize) -> Vec<NewEvent> {
    (0..count).map(|number| said("a", "t", &format!("{number}"))).collect()
}

fn keyed(log: &dyn EventLog, names: &[&str], now: i64) -> Vec<Keyed> {
    let keys: Vec<EventKey> = names.iter().map(|name| key(name)).collect();
    log.keyed(&ledger("p"), &keys, at(now)).expect("a read")
}

/// Checks that keys are found where they were given, that one that is there refuses the whole append, and when it is free again.
pub fn check_keys(make: Make<'_>) {
    let log = make();
    let log = log.as_ref();
    assert_eq!(keyed(log, &["one"], 1_000), [], "a ledger that is not there has no keys");
    put(log, "p", events(2));
    let brief = NewKey { until: Some(at(9_000)), ..new("brief", 0, 3) };
    let keys = vec![new("one", 1, 1), new("rest", 1, 2), brief];
    log.append(Append { keys, ..append("p", events(3)) }).expect("an append");
    let found = keyed(log, &["rest", "none", "one", "brief"], 8_999);
    let places: Vec<_> = found.iter().map(|keyed| (keyed.key, keyed.first, keyed.last)).collect();
    let expected = [("rest", 4, 5), ("one", 4, 4), ("brief", 3, 5)];
    assert_eq!(places, expected.map(|(name, first, last)| (key(name), seq(first), seq(last))));
    assert!(found.iter().any(|keyed| keyed.digest == key("what one says")));

    let again = |name, now| {
        log.append(Append { keys: vec![new(name, 0, 1)], now: at(now), ..append("p", events(1)) })
    };
    let refused = again("one", 1_000);
    let is_first = |refused: &Result<_, StoreError>, place| matches!(refused, Err(StoreError::KeyTaken { ledger: of, first }) if *of == ledger("p") && *first == seq(place));
    assert!(is_first(&refused, 4), "{refused:?}");
    let refused = again("brief", 8_999);
    assert!(is_first(&refused, 3), "{refused:?}");
    assert_eq!(numbers(&all(log, "p")).len(), 5, "nothing was appended");
    assert_eq!(keyed(log, &["brief"], 9_000), [], "its time is over");
    again("brief", 9_000).expect("it is free");
    assert_eq!(keyed(log, &["brief"], 20_000).first().map(|keyed| keyed.first), Some(seq(6)));
    log.append(Append { keys: vec![new("one", 0, 1)], ..append("q", events(1)) }).expect("another ledger's");

    let bound = |append: Append| {
        let refused = log.append(append);
        assert!(matches!(refused, Err(StoreError::Bound { .. })), "{refused:?}");
    };
    for beyond in [new("x", 1, 1), new("x", 0, 2), new("x", usize::MAX, usize::MAX)] {
        bound(Append { keys: vec![beyond], ..append("p", events(1)) });
    }
    bound(Append { keys: vec![new("x", 0, 1); APPEND_KEYS_MAX + 1], ..append("p", events(1)) });
    assert_eq!(keyed(log, &["x"], 1_000), []);

    let topic = all(log, "p")[3].topic.clone();
    assert!(log.trim(&ledger("p"), &topic, seq(4)).expect("a trim") > 0);
    let left = keyed(log, &["one", "rest"], 8_000);
    assert_eq!(
        left.iter().map(|keyed| keyed.first.get()).collect::<Vec<_>>(),
        [4, 4],
        "it was stored all the same"
    );
    log.forget_places(&ledger("p"), &Places::These([seq(4)].into())).expect("forgotten");
    // What is trimmed was not forgotten.
    let forgotten = EventQuery { forgotten: true, ..EventQuery::after(None, 9) };
    assert_eq!(numbers(&ask(log, "p", &forgotten)), [4]);
    let left = keyed(log, &["one", "rest", "brief"], 8_000);
    assert_eq!(left.iter().map(|keyed| keyed.first.get()).collect::<Vec<_>>(), [6], "as what they stood for");
    again("one", 1_000).expect("nothing has the key any more");
    log.forget_events(&session("s1")).expect("forgotten");
    assert_eq!(keyed(log, &["one", "rest", "brief"], 1_000), []);
}

/// Checks that of threads that append under one key at the same time one does, and the others hear where.
pub fn check_keys_at_once(make: Make<'_>) {
    let log = make();
    put(log.as_ref(), "p", events(1));
    let start = Barrier::new(THREADS);
    let done: Vec<Result<_, StoreError>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    log.append(Append { keys: vec![new("one", 0, 2)], ..append("p", events(2)) })
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 1, "{done:?}");
    let refused = |done: &Result<_, StoreError>| matches!(done, Err(StoreError::KeyTaken { first, .. }) if *first == seq(2));
    assert_eq!(done.iter().filter(|done| refused(done)).count(), THREADS - 1, "{done:?}");
    assert_eq!(numbers(&all(log.as_ref(), "p")), [1, 2, 3]);
}

/// Checks that what was made before something was forgotten is not appended.
pub fn check_epochs(make: Make<'_>) {
    let log = make();
    let log = log.as_ref();
    let of = |epoch| Append { epoch: Some(epoch), ..append("p", events(1)) };
    let now = || log.ledger(&ledger("p")).expect("a read").expect("it is there").epoch;
    put(log, "p", events(1));
    let before = now();
    log.append(of(before)).expect("nothing was forgotten");
    log.forget_places(&ledger("p"), &Places::These([seq(1)].into())).expect("forgotten");
    let refused = log.append(of(before));
    assert!(
        matches!(&refused, Err(StoreError::EpochMoved { expected, found, .. }) if *expected == before && *found == now()),
        "{refused:?}"
    );
    assert_eq!(numbers(&all(log, "p")), [1, 2]);
    log.append(of(now())).expect("made after it");
    let before = now();
    log.drop_states(&ledger("p"), "").expect("dropped");
    assert!(matches!(log.append(of(before)), Err(StoreError::EpochMoved { .. })), "they may have been used");
}
