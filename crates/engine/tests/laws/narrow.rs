//! Readers of ledgers whose pages end by their bytes: each gets what it gets of pages that hold everything.

use std::sync::Arc;
use std::time::Duration;

use stemmata_engine::{Engine, EventFilter, FollowFrom, ScanTarget, Told};
use stemmata_model::{EventSeq, Json, NewEvent, NewPayload, topics};
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_prompt::reduce::snapshot::StateSnapshotter;
use stemmata_store::{EventLog as _, EventQuery};
use stemmata_testkit::faulty::FaultyStore;
use stemmata_testkit::memory::MemoryStore;

use crate::bus::{in_session, ledger, party, said, seq, topic};
use crate::support::{Folder, engine};

/// What is said, as a cluster and two sessions would.
fn events() -> Vec<NewEvent> {
    let used = |tokens: u64| {
        let data = Json::of(&serde_json::json!({ "role": "worker", "inputTokens": tokens }));
        let payload = NewPayload::Plain { text: None, data: Some(data) };
        NewEvent { payload, ..said("w", topics::TOKEN_USAGE, "") }
    };
    let mut events =
        vec![said("you", topics::ISSUE_OPENED, "Fix it"), said("p", topics::PLAN_READY, "In steps")];
    for number in 0..6_u64 {
        events.push(in_session("s", said("you", topics::USER_TURN, &format!("turn {number}"))));
        events.push(in_session("t", said("b", topics::DECISION_EVENT, &format!("decision {number}"))));
        events.push(used(number));
        events.push(said("you", topics::USER_GUIDANCE_CLUSTER, &format!("all {number}")));
        events.push(said("you", topics::USER_GUIDANCE_AGENT, &format!("you {number}")).to(party("w1")));
    }
    // Snapshots that say nothing, and triggers that do not either, newest of all.
    let nothing =
        |about| NewEvent { payload: NewPayload::Plain { text: None, data: None }, ..said("w", about, "") };
    events.extend((0..4).map(|_| nothing(topics::PLAN_READY)));
    events
}

/// Everything that readers make of the ledger, page sizes aside.
fn told(engine: &Engine, folder: &Folder) -> Vec<String> {
    let (id, mut told) = (ledger("c"), Vec::new());
    let mut subscription =
        engine.subscribe(&id, EventFilter::default(), FollowFrom::Beginning).expect("subscribed");
    let mut walked = Vec::new();
    while let page = subscription.page(7).expect("a page")
        && !page.is_empty()
    {
        walked.extend(page);
    }
    told.push(format!("{walked:?} {:?}", subscription.cursor()));
    assert_eq!(subscription.page_within(7, Duration::ZERO).expect("a page"), []);
    let filter = EventFilter { topics: vec![topic(topics::TOKEN_USAGE)], ..EventFilter::default() };
    let mut subscription = engine.subscribe(&id, filter, FollowFrom::Beginning).expect("subscribed");
    let mut count = 0;
    while let Some(event) = subscription.next(Duration::ZERO).expect("a read") {
        count += usize::from(event.topic.as_str() == topics::TOKEN_USAGE);
    }
    told.push(format!("{count} {:?}", subscription.cursor()));
    let memory = engine.fold::<MemoryReducer>(&id, None).expect("folded");
    told.push(format!("{:?} {} {:?}", memory.reducer, memory.replayed, memory.notes));
    let state = engine.fold::<StateSnapshotter>(&id, None).expect("folded");
    told.push(format!("{:?} {} {:?}", state.reducer, state.replayed, state.notes));
    told.push(format!("{:?}", engine.tokens_by_role(&id).expect("summed up")));
    let (mut guidance, mut after) = (Vec::new(), None);
    loop {
        let page = engine.guidance(&id, Some(&party("w1")), after, None).expect("a read");
        if page.events.is_empty() {
            break;
        }
        guidance.extend(page.events);
        after = page.cursor;
    }
    told.push(format!("{guidance:?} {after:?}"));
    let mut found = 0;
    let scanned = engine.scan(&ScanTarget::All(None), &mut |_| {
        found += 1;
        true
    });
    let scanned = scanned.expect("scanned");
    told.push(format!("{found} {} {}", scanned.events, scanned.bytes));
    let path = folder.path().join("cluster.db");
    let exported = engine.export_cluster(&id, &path, true).expect("exported");
    told.push(format!("{exported:?}"));
    let session = walked.iter().map(|event| event.session.clone()).find(|session| session.as_str() == "s");
    let going = Told::Session(session.expect("a session"), Some(id));
    told.push(format!("{:?}", engine.plan_forget_events(&going).expect("a plan")));
    told
}

#[test]
fn every_reader_goes_on_by_what_a_page_says() {
    let folder = Folder::new();
    let mut outcomes = Vec::new();
    for bytes_max in [None, Some(0), Some(1), Some(12), Some(60)] {
        let log = Arc::new(FaultyStore::new(MemoryStore::default()));
        log.narrow_pages(bytes_max.unwrap_or(usize::MAX));
        let engine = engine().with_log(Arc::clone(&log) as _);
        engine.publish(&ledger("c"), events()).expect("published");
        let plans = ["In steps", "In steps", "In one step"];
        let snapshots = plans.map(|plan| {
            let published = engine.publish(&ledger("c"), vec![said("p", topics::PLAN_READY, plan)]);
            published.expect("published").snapshot
        });
        assert_eq!(snapshots[1], None, "{bytes_max:?}: the state is published already");
        if bytes_max == Some(0) {
            let page = log.page(&ledger("c"), &EventQuery::after(None, 100)).expect("a page");
            // The opening of a session says nothing.
            assert_eq!((page.events.len(), page.next), (2, Some(seq(2))), "pages are narrow here");
        }
        let last = log.ledger(&ledger("c")).expect("a read").and_then(|known| EventSeq::new(known.last));
        assert!(last > Some(seq(36)), "{last:?}");
        let mut outcome = told(&engine, &folder);
        outcome.push(format!("{snapshots:?}"));
        outcomes.push(outcome);
    }
    for (number, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome, &outcomes[0], "{number}");
    }
    assert!(outcomes[0].iter().all(|told| !told.is_empty()));
}
