//! Ledgers in a store: both backends keep every promise of the log, share lines with deltas, and one transaction holds
//! events and commits.

use std::sync::Arc;

use stemmata_model::{ArtifactId, EventSeq, Json, NewEvent, NewPayload, Payload, Timestamp, artifact_id};
use stemmata_store::{
    Append, ContentPart, Coverage, EventLog, EventQuery, NewContent, Order, SqliteOptions, SqliteStore,
    Store, StoreError, Write, conformance,
};
use stemmata_testkit::memory::MemoryStore;
use tempfile::TempDir;

pub(crate) use stemmata_store::conformance::ledger::builders::{
    all, append, event, ledger, party, put, said, saved, seq, session, topic,
};

use crate::support::{damages, new_commit, open, read};

/// An event that is a line, and the line's bytes.
pub(crate) fn line(of: &str, about: &str, text: &str) -> (NewEvent, Vec<u8>) {
    let json = Json::parse(&format!("{{\"text\":{text:?}}}")).expect("JSON");
    let bytes = format!("{json}\n").into_bytes();
    (event(of, about, NewPayload::Line(json)), bytes)
}

/// A delta made of lines: its content, and its id.
pub(crate) fn delta(lines: &[Vec<u8>]) -> (NewContent, ArtifactId) {
    let id = artifact_id(&lines.concat());
    let slice = |line: &Vec<u8>| ContentPart::Slice {
        of: artifact_id(line),
        offset: 0,
        length: u64::try_from(line.len()).expect("a length"),
    };
    (NewContent::composed(id, lines.iter().map(slice).collect()), id)
}

/// Checks an empty store of each kind.
pub(crate) fn on_both(check: impl Fn(&dyn Store)) {
    check(&MemoryStore::default());
    let home = TempDir::new().expect("a directory");
    check(&open(home.path()));
}

#[test]
fn what_was_appended_is_there_after_a_restart() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let make = || -> Arc<dyn EventLog> { Arc::new(open(&dir)) };
    conformance::ledger::check_reopened(&mut || make(), &mut |log| {
        drop(log);
        make()
    });
}

#[test]
fn numbers_go_on_beyond_what_a_float_holds() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    put(&store, "p", vec![said("s", "t", "first")]);
    let last = (1_u64 << 53) + 1;
    let connection = rusqlite::Connection::open(home.path().join("stemmata.db")).expect("a connection");
    let set_last = |last: u64| {
        connection.execute("UPDATE ledger SET last = ?1", [last.cast_signed()]).expect("a number");
    };
    set_last(last);
    conformance::ledger::check_great_numbers(&store, "p", last);
    // Times are searched for without an index, over a gap of any size.
    let since = EventQuery { since: Some(Timestamp::from_micros(1_001)), ..EventQuery::after(None, 9) };
    let found = store.events(&ledger("p"), &since).expect("a read");
    assert_eq!(found.iter().map(|event| event.seq.get()).collect::<Vec<_>>(), [last + 1, last + 2]);
    set_last((u64::MAX >> 1) - 1);
    let appended = put(&store, "p", vec![said("s", "t", "the last")]);
    assert_eq!(appended.last.get(), u64::MAX >> 1);
    let newest = store.events(&ledger("p"), &EventQuery::latest(topic("t"), 1)).expect("a read");
    assert_eq!(newest.first().map(|event| event.seq), Some(appended.last));
    let beyond = store.append(append("p", vec![said("s", "t", "one more")]));
    assert!(matches!(beyond, Err(StoreError::Bound { .. })), "{beyond:?}");
}

#[test]
fn events_and_commits_are_one_transaction() {
    on_both(|store| {
        let (event, bytes) = line("s", "user_turn", "hello");
        let (content, artifact) = delta(std::slice::from_ref(&bytes));
        let commit = new_commit(None, artifact, 7);
        let id = commit.core.id();
        let covers = Coverage { commit: id, ledger: ledger("p"), through: EventSeq::FIRST };
        let state = saved("memory", 1, "{}");
        let batch = |expected| {
            vec![
                Write::Append(Box::new(Append {
                    expected: Some(expected),
                    ..append("p", vec![event.clone()])
                })),
                Write::Content(content.clone()),
                Write::Commit(commit.clone()),
                Write::Covers(covers.clone()),
                Write::SaveStates { ledger: ledger("p"), states: vec![state.clone()] },
            ]
        };
        let refused = store.commit_batch(batch(3));
        assert!(
            matches!(refused, Err(StoreError::SequenceMoved { expected: 3, found: 0, .. })),
            "{refused:?}"
        );
        let mut last = batch(0);
        last.push(Write::Cover { commit: stemmata_model::CommitId::from_bytes([9; 16]) });
        assert!(matches!(store.commit_batch(last), Err(StoreError::CommitMissing(_))));
        assert_eq!(
            (store.ledger(&ledger("p")).expect("a read"), store.commit(id).expect("a read")),
            (None, None)
        );
        assert_eq!(store.content_length(artifact_id(&bytes)).expect("a read"), None);

        let outcome = store.commit_batch(batch(0)).expect("a batch");
        let appended = outcome.appended.expect("it says where");
        assert_eq!((appended.first.get(), appended.last.get()), (1, 1));
        assert!(store.commit(id).expect("a read").is_some());
        assert_eq!(store.coverage(id).expect("a read"), Some(covers.clone()));
        assert_eq!(store.last_covered(&ledger("p")).expect("a read"), Some(covers));
        assert_eq!(store.last_covered(&ledger("q")).expect("a read"), None);
        assert_eq!(store.saved_states(&ledger("p"), "").expect("a read"), std::slice::from_ref(&state));
        assert_eq!(read(store, artifact).expect("a read"), bytes);
        assert_eq!(damages(store), []);
    });
}

#[test]
fn a_delta_of_lines_that_are_events_costs_no_further_bytes() {
    on_both(|store| {
        let made: Vec<(NewEvent, Vec<u8>)> = (0..50)
            .map(|number| line("s", "user_turn", &format!("turn {number} says something of its own")))
            .collect();
        let (events, lines): (Vec<NewEvent>, Vec<Vec<u8>>) = made.into_iter().unzip();
        let (content, artifact) = delta(&lines);
        let whole = u64::try_from(lines.concat().len()).expect("a length");
        let outcome = store
            .commit_batch(vec![
                Write::Append(Box::new(append("p", events))),
                Write::Content(content),
                Write::Commit(new_commit(None, artifact, 7)),
            ])
            .expect("a batch");
        assert_eq!(outcome.new_bytes, whole);
        let usage = store.usage().expect("a read");
        assert_eq!((usage.distinct_bytes, usage.logical_bytes), (whole, whole), "each byte once");
        assert_eq!(read(store, artifact).expect("a read"), lines.concat());
        let told: Vec<Vec<u8>> = all(store, "p")
            .iter()
            .map(|event| match &event.payload {
                Payload::Line { line, .. } => format!("{line}\n").into_bytes(),
                other => panic!("{other:?} is not a line"),
            })
            .collect();
        assert_eq!(told, lines);
    });
}

#[test]
fn the_greatest_coverage_counts() {
    on_both(|store| {
        put(store, "p", vec![said("s", "t", "x"); 5]);
        let ids: Vec<_> = (0..3)
            .map(|number| {
                let content = NewContent::literal(vec![number; 9]);
                let commit = new_commit(None, content.id(), i64::from(number));
                let id = commit.core.id();
                store.commit_batch(vec![Write::Content(content), Write::Commit(commit)]).expect("stored");
                id
            })
            .collect();
        let covers = |commit, through| Coverage {
            commit,
            ledger: ledger("p"),
            through: EventSeq::new(through).expect("a place"),
        };
        for (commit, through) in [(0, 2), (1, 4), (2, 4), (1, 3), (0, 3)] {
            store.commit_batch(vec![Write::Covers(covers(ids[commit], through))]).expect("said");
        }
        assert_eq!(store.coverage(ids[0]).expect("a read"), Some(covers(ids[0], 3)));
        assert_eq!(store.coverage(ids[1]).expect("a read"), Some(covers(ids[1], 4)), "the greater one stays");
        let described =
            store.described(&ids).expect("a read").into_iter().map(|described| described.coverage);
        let alone = ids.iter().map(|id| store.coverage(*id).expect("a read"));
        assert_eq!(described.collect::<Vec<_>>(), alone.collect::<Vec<_>>());
        let greatest = ids[1].max(ids[2]);
        assert_eq!(store.last_covered(&ledger("p")).expect("a read"), Some(covers(greatest, 4)));
        let missing =
            store.commit_batch(vec![Write::Covers(Coverage { ledger: ledger("q"), ..covers(ids[0], 1) })]);
        assert!(matches!(missing, Err(StoreError::LedgerMissing(_))), "{missing:?}");
        // A ledger that was in another log before counts anew here.
        store.commit_batch(vec![Write::Covers(covers(ids[0], 6))]).expect("said");
        let mut damage = Vec::new();
        store.verify(&mut |found| damage.push(found)).expect("verified");
        assert!(damage.is_empty(), "{damage:?}");
    });
}

#[test]
fn a_closed_store_can_be_read_and_not_written() {
    on_both(|store| {
        put(store, "p", vec![said("s", "t", "x")]);
        store.close().expect("closing");
        let written = store.commit_batch(vec![Write::Content(NewContent::literal(vec![1]))]);
        assert!(matches!(written, Err(StoreError::Closed { .. })), "{written:?}");
        assert_eq!(all(store, "p").len(), 1);
    });
}

#[test]
fn events_of_a_store_that_cannot_be_written_can_be_read() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let store = open(&dir);
    put(&store, "p", vec![line("s", "t", "hello").0, said("s", "t", "x")]);
    drop(store);
    // All that is in the log is copied first: without it no file has to be made.
    let connection = rusqlite::Connection::open(dir.join("stemmata.db")).expect("a connection");
    connection.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA journal_mode = WAL;").expect("one file");
    drop(connection);
    let mut permissions = std::fs::metadata(dir.join("stemmata.db")).expect("a file").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(dir.join("stemmata.db"), permissions).expect("set");
    let store = SqliteStore::open(&dir, SqliteOptions::default()).expect("a store");
    let events = all(&store, "p");
    assert_eq!(events.len(), 2);
    assert_eq!(store.ledger(&ledger("p")).expect("a read").map(|known| known.last), Some(2));
}

/// Reads all that is asked for in pages of a few.
fn paged(log: &dyn EventLog, query: &EventQuery) -> Vec<u64> {
    let mut query = EventQuery { limit: 7, ..query.clone() };
    let mut found = Vec::new();
    loop {
        let page = log.events(&ledger("p"), &query).expect("a read");
        let Some(last) = page.last() else { return found };
        match query.order {
            Order::OldestFirst => query.after = Some(last.seq),
            Order::NewestFirst => query.through = EventSeq::new(last.seq.get() - 1),
        }
        found.extend(page.iter().map(|event| event.seq.get()));
        if query.order == Order::NewestFirst && query.through.is_none() {
            return found;
        }
    }
}

#[test]
fn sessions_of_any_number_of_topics_are_read_in_order() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let mut events = Vec::new();
    for number in 0..200_u64 {
        // One session has three topics, one as many as are scanned one by one, one more than these.
        for (of, topics) in [("few", 3), ("some", 64), ("many", 65)] {
            let mut event = said(of, &format!("t{}", number % topics), "x");
            event.replayable = number % 5 > 0;
            event.sender = party(&format!("sender {}", number % 4));
            event.receiver = party(&format!("receiver {}", number % 3));
            events.push(event);
        }
    }
    put(&store, "p", events);
    let all = all(&store, "p");
    let (sender, receiver) = (Some(party("sender 1")), Some(party("receiver 2")));
    for of in ["few", "some", "many"] {
        for order in [Order::OldestFirst, Order::NewestFirst] {
            let query = EventQuery { session: Some(session(of)), order, ..EventQuery::default() };
            for query in [
                query.clone(),
                EventQuery { topics: vec![topic("t2")], ..query.clone() },
                EventQuery {
                    topics: vec![topic("t2"), topic("t1")],
                    replayable: Some(true),
                    ..query.clone()
                },
                EventQuery { replayable: Some(false), ..query.clone() },
                EventQuery { sender: sender.clone(), ..query.clone() },
                EventQuery { receiver: receiver.clone(), sender: sender.clone(), ..query.clone() },
                EventQuery { topics: vec![topic("t2")], sender: sender.clone(), ..query.clone() },
                EventQuery { session: None, topics: vec![topic("t2")], receiver: receiver.clone(), ..query },
            ] {
                let wanted = all.iter().filter(|event| query.wants(event)).map(|event| event.seq.get());
                let mut wanted: Vec<u64> = wanted.collect();
                if order == Order::NewestFirst {
                    wanted.reverse();
                }
                assert_eq!(paged(&store, &query), wanted, "{query:?}");
            }
        }
    }
}
