//! The bus: every event once for each cursor, in order, whoever writes and however it is read.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use stemmata_engine::{Engine, EngineError, EventFilter, FollowFrom, PublishOptions, Subscription};
use stemmata_model::{
    Event, Json, LedgerId, NewEvent, NewPayload, NoteCode, Payload, SessionId, Timestamp, topics,
};
use stemmata_store::conformance::ledger::builders;
use stemmata_store::{Append, EventLog as _, EventQuery, StoreError};
use stemmata_testkit::faulty::FaultyStore;
use stemmata_testkit::memory::MemoryStore;

pub(crate) use stemmata_store::conformance::ledger::builders::{ledger, party, seq, topic};

use crate::redaction::{cases, plant};
use crate::support::{Folder, engine};

/// Far more than any machine needs.
pub(crate) const LONG: Duration = Duration::from_mins(2);

/// Says something in the cluster `c`.
pub(crate) fn said(sender: &str, about: &str, text: &str) -> NewEvent {
    NewEvent { sender: party(sender), ..builders::said("c", about, text) }
}

pub(crate) fn in_session(session: &str, event: NewEvent) -> NewEvent {
    NewEvent { session: builders::session(session), ..event }
}

pub(crate) fn text_of(event: &Event) -> Option<&str> {
    match &event.payload {
        Payload::Plain { text, .. } => text.as_deref(),
        Payload::Line { .. } | Payload::Gone(_) => None,
    }
}

fn all(engine: &Engine, ledger: &LedgerId) -> Vec<Event> {
    engine.log().events(ledger, &EventQuery::after(None, 10_000)).expect("a read")
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.seq.get()).collect()
}

fn subscribe(engine: &Engine, from: FollowFrom) -> Subscription {
    engine.subscribe(&ledger("c"), EventFilter::default(), from).expect("subscribed")
}

fn named() -> FollowFrom {
    FollowFrom::Cursor("reader".to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    #[test]
    fn every_event_comes_once_for_each_cursor_in_order(
        writers in prop::collection::vec(prop::collection::vec(prop::collection::vec(0..3usize, 1..5), 0..12), 1..4),
        readers in prop::collection::vec((1..7usize, prop::option::of(0..3usize), any::<bool>()), 1..5),
    ) {
        let engine = engine();
        let topics = ["x", "y", "z"];
        let written = |wanted: Option<usize>| {
            let chosen = writers.iter().flatten().flatten().filter(|topic| wanted.is_none_or(|wanted| **topic == wanted));
            chosen.count()
        };
        let read: Vec<Vec<Event>> = thread::scope(|scope| {
            let readers: Vec<_> = readers.iter().map(|(limit, wanted, by_one)| {
                let filter = EventFilter {
                    topics: wanted.iter().map(|wanted| topic(topics[*wanted])).collect(),
                    ..EventFilter::default()
                };
                let mut subscription = engine.subscribe(&ledger("c"), filter, FollowFrom::Beginning).expect("subscribed");
                let count = written(*wanted);
                scope.spawn(move || {
                    let mut events = Vec::new();
                    while events.len() < count {
                        let before = events.len();
                        if *by_one {
                            events.extend(subscription.next(LONG).expect("a read"));
                        } else {
                            events.extend(subscription.page_within(*limit, LONG).expect("a read"));
                        }
                        assert!(events.len() > before, "an event is missing");
                    }
                    // Nothing comes twice: all is there, and there is no more.
                    assert_eq!(subscription.page(100).expect("a read"), []);
                    events
                })
            }).collect();
            for batches in &writers {
                let engine = engine.clone();
                scope.spawn(move || {
                    for batch in batches {
                        let events = batch.iter().map(|number| said("w", topics[*number], "x")).collect();
                        engine.publish(&ledger("c"), events).expect("published");
                    }
                });
            }
            readers.into_iter().map(|reader| reader.join().expect("no panic")).collect()
        });
        let there = all(&engine, &ledger("c"));
        for (events, (_, wanted, _)) in read.iter().zip(&readers) {
            let expected: Vec<Event> = there
                .iter()
                .filter(|event| wanted.is_none_or(|wanted| event.topic.as_str() == topics[wanted]))
                .cloned()
                .collect();
            prop_assert_eq!(events, &expected);
        }
    }
}

#[test]
fn a_subscription_begins_where_it_is_told_to() {
    let engine = engine();
    let mut early = subscribe(&engine, FollowFrom::Beginning);
    assert_eq!((early.next(Duration::ZERO).expect("a look"), early.cursor()), (None, None), "no ledger yet");
    engine.publish(&ledger("c"), vec![said("a", "x", "one"), said("a", "y", "two")]).expect("published");
    let mut now = subscribe(&engine, FollowFrom::Now);
    let mut after = subscribe(&engine, FollowFrom::After(seq(1)));
    engine.publish(&ledger("c"), vec![said("b", "x", "three").to(party("a"))]).expect("published");
    assert_eq!(numbers(&early.page(2).expect("a page")), [1, 2]);
    assert_eq!(early.cursor(), Some(seq(2)));
    assert_eq!(numbers(&now.page(9).expect("a page")), [3]);
    assert_eq!(numbers(&after.page(9).expect("a page")), [2, 3]);
    assert_eq!(early.page(0).expect("a page"), []);
    let filter =
        EventFilter { receiver: Some(party("a")), sender: Some(party("b")), ..EventFilter::default() };
    let mut mine = engine.subscribe(&ledger("c"), filter, FollowFrom::Beginning).expect("subscribed");
    assert_eq!(mine.next(LONG).expect("a look").as_ref().and_then(text_of), Some("three"));
    // A cursor that would pass over what is still to come is an error, not silence.
    let beyond = engine.subscribe(&ledger("c"), EventFilter::default(), FollowFrom::After(seq(4)));
    assert!(matches!(beyond, Err(EngineError::Refused { .. })), "{beyond:?}");
    let topics = (0..65).map(|number| topic(&format!("t{number}"))).collect();
    let filter = EventFilter { topics, ..EventFilter::default() };
    let refused = engine.subscribe(&ledger("c"), filter, FollowFrom::Now);
    assert!(matches!(refused, Err(EngineError::Store(StoreError::Bound { .. }))), "{refused:?}");
}

#[test]
fn a_named_cursor_lasts_and_what_was_not_acknowledged_comes_again() {
    let engine = engine();
    let events = (0..5).map(|number| in_session("go", said("a", "x", &number.to_string()))).collect();
    engine.publish(&ledger("c"), events).expect("published");
    let mut first = subscribe(&engine, named());
    assert_eq!(numbers(&first.page(2).expect("a page")), [1, 2]);
    first.acknowledge().expect("kept");
    assert_eq!(numbers(&first.page(2).expect("a page")), [3, 4]);
    drop(first);
    let mut second = subscribe(&engine, named());
    let mut slower = subscribe(&engine, named());
    assert_eq!(numbers(&second.page(9).expect("a page")), [3, 4, 5, 6]);
    second.acknowledge().expect("kept");
    // A slower reader of the same name does not bring the place back.
    assert_eq!(numbers(&slower.page(1).expect("a page")), [3]);
    slower.acknowledge().expect("kept");
    assert_eq!(subscribe(&engine, named()).page(9).expect("a page"), []);
    // Forgetting drops what was folded from events, and no cursor; what is gone comes as gone.
    engine.log().forget_events(&SessionId::new("go").expect("a name")).expect("forgotten");
    assert_eq!(subscribe(&engine, named()).page(9).expect("a page"), []);
    let mut late = subscribe(&engine, FollowFrom::Beginning);
    let gone = late.page(9).expect("a page");
    assert!(
        gone.len() == 6 && gone.iter().all(|event| matches!(event.payload, Payload::Gone(_))),
        "{gone:?}"
    );
    assert!(matches!(late.acknowledge(), Err(EngineError::Refused { .. })), "it has no name");
}

#[test]
fn sessions_are_opened_once_before_their_first_event() {
    let engine = engine();
    let (project, start) = (ledger("p"), topics::SESSION_STARTED);
    let of = |session: &str, about: &str| in_session(session, said("a", about, "x"));
    let published =
        engine.publish(&project, vec![of("s", "x"), of("t", "x"), of("s", "y")]).expect("published");
    assert_eq!((published.opened, published.appended.first, published.appended.last), (2, seq(1), seq(5)));
    assert_eq!(engine.publish(&project, vec![of("s", "x")]).expect("published").opened, 0);
    assert_eq!(engine.publish(&project, vec![of("u", start), of("u", "x")]).expect("published").opened, 0);
    assert_eq!(
        engine.publish(&project, vec![of("p", "x")]).expect("published").opened,
        0,
        "the ledger's own id"
    );
    let there = all(&engine, &project);
    let told: Vec<(&str, &str)> =
        there.iter().map(|event| (event.session.as_str(), event.topic.as_str())).collect();
    let expected = [
        ("s", start),
        ("t", start),
        ("s", "x"),
        ("t", "x"),
        ("s", "y"),
        ("s", "x"),
        ("u", start),
        ("u", "x"),
        ("p", "x"),
    ];
    assert_eq!(told, expected);
    let options = PublishOptions { expected: Some(3), ..PublishOptions::default() };
    let moved = engine.publish_with(&project, vec![of("v", "x")], options);
    assert!(
        matches!(moved, Err(EngineError::Store(StoreError::SequenceMoved { found: 9, .. }))),
        "{moved:?}"
    );
}

/// Appends to the cluster `c` as another process would.
pub(crate) fn append_beside(log: &MemoryStore, events: Vec<NewEvent>) {
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    log.append(Append { now, ..builders::append("c", events) }).expect("appended");
}

#[test]
fn a_session_that_another_process_opens_meanwhile_is_opened_once() {
    let log = Arc::new(FaultyStore::new(MemoryStore::default()));
    let engine = engine().with_log(Arc::clone(&log) as _);
    let opened = || in_session("s", said("b", topics::SESSION_STARTED, "by another"));
    log.after_one_page(move |log| append_beside(log, vec![opened()]));
    let published =
        engine.publish(&ledger("c"), vec![in_session("s", said("a", "x", "x"))]).expect("published");
    assert_eq!((published.opened, published.appended.first), (0, seq(2)));
    // Others that never stop do not keep it from being published.
    log.after_pages(|log| append_beside(log, vec![said("b", "x", "again")]));
    let published =
        engine.publish(&ledger("c"), vec![in_session("t", said("a", "x", "x"))]).expect("published");
    assert_eq!(published.opened, 1);
}

#[test]
fn what_is_appended_while_a_page_is_read_is_on_the_next_one() {
    let log = Arc::new(FaultyStore::new(MemoryStore::default()));
    let engine = engine().with_log(Arc::clone(&log) as _);
    engine.publish(&ledger("c"), vec![said("a", "x", "one")]).expect("published");
    let filter = EventFilter { topics: vec![topic("y")], ..EventFilter::default() };
    let mut subscription = engine.subscribe(&ledger("c"), filter, FollowFrom::Beginning).expect("subscribed");
    log.after_one_page(|log| append_beside(log, vec![said("b", "y", "two"), said("b", "x", "three")]));
    assert_eq!(subscription.page(9).expect("a page"), []);
    assert_eq!(numbers(&subscription.page(9).expect("a page")), [2]);
    assert_eq!(subscription.cursor(), Some(seq(3)));
}

#[test]
fn invariant_13_no_secret_of_the_fixtures_reaches_a_ledger() {
    let engine = engine();
    let mut planted = 0;
    for case in cases() {
        for template in &case.yes {
            let secret = plant(template, 7);
            let (text, json) =
                (secret.text(), |text: &str| Json::of(&serde_json::json!({ "deep": [{ "said": text }] })));
            let plain = NewPayload::Plain { text: Some(text.clone()), data: Some(json(&text)) };
            let session = SessionId::new("c").expect("a name");
            let events = vec![
                NewEvent::new(session.clone(), topic("x"), party("a"), plain).with_metadata(json(&text)),
                NewEvent::new(session, topic("x"), party("a"), NewPayload::Line(json(&text))),
            ];
            let published = engine.publish(&ledger("c"), events).expect("published");
            assert_eq!(
                published.notes.iter().map(|note| note.code.clone()).collect::<Vec<_>>(),
                [NoteCode::Redacted],
                "{}",
                case.kind
            );
            planted += 1;
            let there =
                engine.log().events(&ledger("c"), &EventQuery::latest(topic("x"), 2)).expect("a read");
            let kept = format!("{there:?}");
            for part in secret.secret.lines().filter(|line| line.len() >= 12 && !line.starts_with("-----")) {
                let escaped = serde_json::to_string(part).expect("text");
                assert!(
                    !kept.contains(part) && !kept.contains(escaped.trim_matches('"')),
                    "{}: {kept}",
                    case.kind
                );
            }
        }
    }
    assert!(planted > 100, "{planted}");
}

#[test]
fn a_projects_own_rules_hold_for_its_ledger() {
    let (folder, engine) = (Folder::new(), engine());
    std::fs::create_dir(folder.path().join(".stemmata")).expect("made");
    folder.write(
        ".stemmata/secrets.toml",
        b"[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n",
    );
    let project = engine.project_at(folder.path()).expect("a project").ledger;
    engine.publish(&project, vec![said("a", "x", "see ACME-123456")]).expect("published");
    engine.publish(&ledger("c"), vec![said("a", "x", "see ACME-123456")]).expect("published");
    let last = |id: &LedgerId| engine.log().events(id, &EventQuery::latest(topic("x"), 1)).expect("a read");
    assert_eq!(last(&project).first().and_then(text_of), Some("see [REDACTED:ticket]"));
    assert_eq!(last(&ledger("c")).first().and_then(text_of), Some("see ACME-123456"), "of no project");
}
