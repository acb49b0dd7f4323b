//! What becomes of events and their lines when things are let go of: trimmed, collected, forgotten.

use std::path::Path;

use stemmata_model::{ArtifactId, CommitId, EventSeq, Gone, Json, NewEvent, Payload, Timestamp, artifact_id};
use stemmata_store::maintain::collect::{Collect, Collected};
use stemmata_store::maintain::forget::Forget;
use stemmata_store::{
    Coverage, EventLog, NewContent, PackOptions, SavedState, SqliteStore, Store, StoreError, Upkeep, Write,
};
use stemmata_testkit::memory::MemoryStore;
use tempfile::TempDir;

use crate::erase::{holding, noise, wish};
use crate::ledger::{all, append, delta, ledger, line, on_both, put, said, saved, seq, session, topic};
use crate::packs::pack;
use crate::support::{damages, new_commit, open, read, session as listed};

/// Stores lines as events and as the delta of a commit, in one batch.
fn turn(store: &dyn Store, of: &str, lines: Vec<(NewEvent, Vec<u8>)>, micros: i64) -> (CommitId, ArtifactId) {
    let (events, lines): (Vec<NewEvent>, Vec<Vec<u8>>) = lines.into_iter().unzip();
    let (content, artifact) = delta(&lines);
    let commit = new_commit(None, artifact, micros);
    let id = commit.core.id();
    let appended = Write::Append(Box::new(append(of, events)));
    let outcome = store
        .commit_batch(vec![appended, Write::Content(content), Write::Commit(commit)])
        .expect("a batch that can be applied");
    let through = outcome.appended.expect("it says where").last;
    let covers = Coverage { commit: id, ledger: ledger(of), through };
    store.commit_batch(vec![Write::Covers(covers)]).expect("said");
    (id, artifact)
}

fn collect(store: &dyn Store, now: i64) -> Collected {
    let now = Timestamp::from_micros(now);
    store
        .collect(&Collect { retired: Vec::new(), now, grace_us: 0, expect: None, dry_run: false })
        .expect("a collection")
}

pub(crate) fn is_stored(store: &dyn Store, bytes: &[u8]) -> bool {
    store.content_length(artifact_id(bytes)).expect("a read").is_some()
}

fn forgotten(bytes: &[u8]) -> Payload {
    let length = u64::try_from(bytes.len()).expect("a length");
    Payload::Gone(Gone { hash: artifact_id(bytes), bytes: length, forgotten: true })
}

fn state(name: &str) -> SavedState {
    saved(name, 1, "{\"words\":1}")
}

fn state_names(store: &dyn Store, of: &str) -> Vec<String> {
    store.saved_states(&ledger(of), "").expect("a read").into_iter().map(|state| state.name).collect()
}

#[test]
fn a_line_stays_as_long_as_an_event_is_it() {
    on_both(|store| {
        let (event, bytes) = line("s", "user_turn", "nobody else has this");
        put(store, "p", vec![event, said("s", "user_turn", "plain")]);
        assert_eq!(collect(store, 10), Collected::default(), "an event's line is needed");
        assert_eq!(store.trim(&ledger("p"), &topic("user_turn"), EventSeq::FIRST).expect("a trim"), 1);
        assert!(is_stored(store, &bytes), "a trim drops only what the ledger has of it");
        let condemned = collect(store, 20).condemned;
        assert_eq!((condemned.contents, condemned.bytes), (1, bytes.len() as u64));
        // Somebody says it again before it is deleted.
        put(store, "q", vec![line("s", "user_turn", "nobody else has this").0]);
        assert_eq!(collect(store, 30), Collected::default(), "its mark is gone");
        store.trim(&ledger("q"), &topic("user_turn"), EventSeq::FIRST).expect("a trim");
        collect(store, 40);
        assert_eq!(collect(store, 50).deleted.contents, 1);
        assert!(!is_stored(store, &bytes));
        assert_eq!(damages(store), []);
    });
}

#[test]
fn a_line_that_a_commit_has_stays_with_it() {
    on_both(|store| {
        let lines = [line("s", "t", "one"), line("s", "t", "two")];
        let whole = [lines[0].1.as_slice(), &lines[1].1].concat();
        let (_, artifact) = turn(store, "p", lines.to_vec(), 7);
        store.trim(&ledger("p"), &topic("t"), EventSeq::FIRST).expect("a trim");
        collect(store, 10);
        collect(store, 20);
        assert_eq!(read(store, artifact).expect("a read"), whole);
        assert_eq!(store.forget_events(&session("s")).expect("forgotten"), 2);
        assert_eq!(read(store, artifact).expect("the commit needs it"), whole);
        let payloads: Vec<Payload> = all(store, "p").into_iter().map(|event| event.payload).collect();
        assert_eq!(payloads, [forgotten(&lines[0].1), forgotten(&lines[1].1)]);
        assert_eq!(damages(store), []);
    });
}

#[test]
fn a_line_of_two_sessions_stays_with_the_one_that_stays() {
    on_both(|store| {
        let (event, bytes) = line("s1", "t", "the same words");
        put(store, "p", vec![event, line("s2", "t", "the same words").0]);
        assert_eq!(store.forget_events(&session("s1")).expect("forgotten"), 1);
        assert_eq!(store.forget_events(&session("s1")).expect("forgotten"), 0);
        let events = all(store, "p");
        assert_eq!(events[0].payload, forgotten(&bytes));
        assert!(matches!(events[1].payload, Payload::Line { .. }));
        assert_eq!(store.forget_events(&session("s2")).expect("forgotten"), 1);
        assert!(!is_stored(store, &bytes), "nobody needs it any more");
    });
}

#[test]
fn a_line_that_was_trimmed_before_is_forgotten_with_its_event() {
    for is_full in [false, true] {
        on_both(|store| {
            let lines = ["secret", "shared", "of a commit"].map(|text| line("go", "t", text));
            let (_, artifact) = turn(store, "p", vec![lines[2].clone()], 7);
            put(store, "p", lines.iter().map(|(event, _)| event.clone()).collect());
            put(store, "p", vec![line("stay", "u", "shared").0]);
            if let Some(files) = store.on_disk().filter(|_| is_full) {
                files.pack(&PackOptions::new(Timestamp::from_micros(8))).expect("packed");
            }
            assert_eq!(store.trim(&ledger("p"), &topic("t"), seq(9)).expect("a trim"), 4);
            assert!(is_stored(store, &lines[0].1), "it is collected later");
            assert_eq!(store.forget_events(&session("go")).expect("forgotten"), 4);
            assert!(!is_stored(store, &lines[0].1), "nothing could find it any more");
            assert!(is_stored(store, &lines[1].1), "another session says it, too");
            assert_eq!(read(store, artifact).expect("a commit needs it"), lines[2].1);
            assert_eq!(damages(store), []);
        });
    }
}

#[test]
fn snapshots_that_were_lines_go_with_the_line_of_a_commit() {
    on_both(|store| {
        let (id, _) = turn(store, "p", vec![line("s", "t", "secret")], 7);
        let (snapshot, bytes) = line("snapshotter", "STATE_SNAPSHOT", "knows the secret");
        let (shared, kept) = line("snapshotter", "STATE_SNAPSHOT", "knows nothing");
        put(store, "p", vec![snapshot, shared]);
        put(store, "q", vec![line("s", "t", "knows nothing").0]);
        let done = store.forget(&wish(&[], &[id])).expect("forgotten");
        assert_eq!((done.events, done.contents), (3, 2));
        assert_eq!(all(store, "p")[1].payload, forgotten(&bytes));
        assert!(!is_stored(store, &bytes), "it may say what the commit said");
        assert!(is_stored(store, &kept), "somebody else says it");
        assert_eq!(damages(store), []);
    });
}

#[test]
fn forgetting_a_session_leaves_what_others_said_in_the_same_words() {
    on_both(|store| {
        store.commit_batch(vec![Write::Session(Box::new(listed("s1", "/w", None)))]).expect("listed");
        let lines = ["yes", "only here"].map(|text| line("s1", "t", text));
        let (id, artifact) = turn(store, "p", lines.to_vec(), 7);
        put(store, "p", vec![line("s2", "t", "yes").0]);
        put(store, "q", vec![line("s3", "t", "yes").0]);
        let key = listed("s1", "/w", None).key;
        let sessions = Forget { sessions: vec![key], ..wish(&[id], &[]) };
        let done = store.forget(&sessions).expect("forgotten");
        assert_eq!((done.removed, done.events), (vec![id], 2));
        assert!(!is_stored(store, &lines[1].1) && store.content_length(artifact).expect("a read").is_none());
        for (of, place) in [("p", 2), ("q", 0)] {
            assert!(matches!(all(store, of)[place].payload, Payload::Line { .. }), "{of}");
        }
        // What is cut goes wherever it is said.
        let (id, _) = turn(store, "p", vec![line("s2", "t", "yes")], 8);
        let key = listed("s2", "/w", None).key;
        let done = store.forget(&Forget { sessions: vec![key], ..wish(&[], &[id]) }).expect("forgotten");
        assert_eq!((done.cut, done.events), (vec![id], 3));
        let cut = read(store, artifact_id(&lines[0].1));
        assert!(matches!(cut, Err(StoreError::ContentForgotten(_))), "{cut:?}");
        assert_eq!(damages(store), []);
    });
}

#[test]
fn forgetting_a_session_forgets_its_events_and_what_was_made_of_them() {
    on_both(|store| {
        store.commit_batch(vec![Write::Session(Box::new(listed("s1", "/w", None)))]).expect("listed");
        put(store, "p", vec![said("s2", "STATE_SNAPSHOT", "before"), said("s2", "t", "other")]);
        let (id, _) = turn(store, "p", vec![line("s1", "t", "secret")], 7);
        put(
            store,
            "p",
            vec![
                said("s1", "t", "plain secret"),
                said("s2", "STATE_SNAPSHOT", "after"),
                said("s2", "t", "x"),
            ],
        );
        put(store, "q", vec![said("s2", "STATE_SNAPSHOT", "elsewhere")]);
        for of in ["p", "q"] {
            let states = ["memory", "memory/s1", "mem", "state_snapshotter"].map(state);
            store.save_states(&ledger(of), states.to_vec()).expect("saved");
        }
        let key = listed("s1", "/w", None).key;
        let dry = Forget { dry_run: true, sessions: vec![key.clone()], ..wish(&[id], &[]) };
        assert_eq!(store.forget(&dry).expect("a plan").events, 3);
        assert_eq!(state_names(store, "q").len(), 4, "a plan changes nothing");
        let done = store.forget(&Forget { dry_run: false, ..dry }).expect("forgotten");
        assert_eq!((done.removed, done.events), (vec![id], 3));
        let gone: Vec<bool> =
            all(store, "p").iter().map(|event| matches!(event.payload, Payload::Gone(_))).collect();
        assert_eq!(gone, [false, false, true, true, true, false]);
        assert!(matches!(all(store, "q")[0].payload, Payload::Plain { .. }));
        assert_eq!(state_names(store, "p"), Vec::<String>::new());
        assert_eq!(state_names(store, "q"), ["mem", "state_snapshotter"], "a memory may hold words of it");
        assert_eq!(store.coverage(id).expect("a read"), None);
        assert_eq!(store.last_covered(&ledger("p")).expect("a read"), None);
        assert_eq!(damages(store), []);
    });
}

#[test]
fn forgetting_a_commit_forgets_the_events_whose_lines_it_has() {
    on_both(|store| {
        let secret = line("s", "t", "secret");
        let (id, artifact) = turn(store, "p", vec![secret.clone(), line("s", "t", "and this")], 7);
        let (other, kept) = turn(store, "p", vec![line("s", "t", "kept")], 8);
        let done = store.forget(&wish(&[], &[id])).expect("forgotten");
        assert_eq!((done.cut, done.events), (vec![id], 2));
        assert!(matches!(read(store, artifact), Err(StoreError::ContentForgotten(_))));
        assert!(!is_stored(store, &secret.1));
        let events = all(store, "p");
        assert_eq!(events[0].payload, forgotten(&secret.1));
        assert!(matches!(events[2].payload, Payload::Line { .. }));
        assert!(read(store, kept).is_ok());
        assert_eq!(store.last_covered(&ledger("p")).expect("a read").map(|own| own.commit), Some(other));
        assert_eq!(damages(store), []);
    });
}

#[test]
fn a_content_that_was_there_before_is_a_line_too() {
    on_both(|store| {
        let (event, bytes) = line("s", "t", "cut out of a longer content");
        let long = NewContent::literal([b"before ", bytes.as_slice(), b" after"].concat());
        let slice = stemmata_store::ContentPart::Slice {
            of: long.id(),
            offset: 7,
            length: u64::try_from(bytes.len()).expect("a length"),
        };
        let cut = NewContent::composed(artifact_id(&bytes), vec![slice]);
        store.commit_batch(vec![Write::Content(long), Write::Content(cut)]).expect("stored");
        put(store, "p", vec![event]);
        collect(store, 10);
        collect(store, 20);
        let Payload::Line { line, .. } = &all(store, "p")[0].payload else { panic!("a line") };
        assert_eq!(format!("{line}\n").into_bytes(), bytes);
        assert_eq!(damages(store), []);
        store.forget_events(&session("s")).expect("forgotten");
        assert!(!is_stored(store, &bytes));
    });
}

/// Some letters that no compression makes less of, and no JSON writes otherwise.
fn words(seed: u64, bytes: usize) -> String {
    noise(seed, bytes).iter().map(|byte| char::from(b'A' + (byte & 15))).collect()
}

/// Returns the bytes that lines are kept as in the inbox: compressed.
fn stored(home: &Path, lines: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let connection = rusqlite::Connection::open(home.join("stemmata.db")).expect("a connection");
    let bytes = |line: &Vec<u8>| {
        let id = artifact_id(line);
        let sql = "SELECT bytes FROM content WHERE hash = ?1";
        connection.query_row(sql, [id.as_bytes()], |row| row.get(0)).ok()
    };
    lines.iter().filter_map(bytes).collect()
}

/// Asserts that packs hold what the store knows of and nothing else: no file too many, no byte of a block that is no
/// content's.
#[track_caller]
fn assert_packs_are_full(home: &Path, lines: &[Vec<u8>]) {
    let connection = rusqlite::Connection::open(home.join("stemmata.db")).expect("a connection");
    let count = |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).expect("a number") };
    let files = std::fs::read_dir(home.join("packs")).expect("packs").flatten();
    let files = files.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "pack"));
    assert_eq!(files.count() as u64, count("SELECT count(*) FROM pack").cast_unsigned());
    let gaps = "SELECT count(*) FROM block b WHERE length <> (SELECT sum(length) FROM packed p WHERE p.block = b.row)";
    assert_eq!(count(gaps), 0, "a block holds bytes that are not content's");
    for line in lines {
        let sql = "SELECT count(*) FROM packed WHERE hash = ?1";
        let held: i64 =
            connection.query_row(sql, [artifact_id(line).as_bytes()], |row| row.get(0)).expect("a number");
        assert_eq!(held, 0);
    }
}

fn clean(home: &Path, secrets: &[&[u8]]) {
    assert_eq!(holding(home, secrets), Vec::<String>::new());
}

fn erased(is_packed: bool) {
    let home = TempDir::new().expect("a directory");
    let store: SqliteStore = open(home.path());
    let secrets: Vec<String> =
        (1..=6).zip((400..).step_by(300)).map(|(seed, bytes)| words(seed, bytes)).collect();
    let kept: Vec<String> = (0..6).map(|seed| words(seed + 500, 500)).collect();
    let (mut commits, mut lines) = (Vec::new(), Vec::new());
    for (number, (secret, stays)) in (0..).zip(secrets.iter().zip(&kept)) {
        let event = said("gone", "t", secret)
            .with_metadata(Json::parse(&format!("{{\"m\":\"{secret}\"}}")).expect("JSON"));
        put(&store, "p", vec![event, said("stays", "t", stays), said("stays", "STATE_SNAPSHOT", secret)]);
        let own = vec![line("gone", "t", secret), line("gone", "t", &format!("{secret}2"))];
        lines.extend(own.iter().map(|(_, bytes)| bytes.clone()));
        commits.push(turn(&store, "p", own, number).0);
        turn(&store, "p", vec![line("stays", "t", stays)], number);
        let remembered =
            SavedState { state: Json::parse(&format!("\"{secret}\"")).expect("JSON"), ..state("memory") };
        store.save_states(&ledger("p"), vec![remembered]).expect("saved");
        if is_packed && number % 3 == 2 {
            pack(&store);
        }
    }
    let mut parts: Vec<&[u8]> = secrets.iter().map(String::as_bytes).collect();
    let kept_as = stored(home.path(), &lines);
    parts.extend(kept_as.iter().map(Vec::as_slice));
    assert!(!holding(home.path(), &parts).is_empty(), "it is there before");
    // First the commits alone: the events whose lines they have lose them too.
    let done = store.forget(&wish(&commits, &[])).expect("forgotten");
    assert_eq!((done.unfinished, done.removed.len()), (None, 6));
    let left = all(&store, "p");
    assert!(
        left.iter()
            .all(|event| !matches!(event.payload, Payload::Line { .. }) || event.session == session("stays"))
    );
    store.forget_events(&session("gone")).expect("forgotten");
    clean(home.path(), &parts);
    if is_packed {
        assert_packs_are_full(home.path(), &lines);
    }
    let told = all(&store, "p");
    let plain = told.iter().filter(
        |event| matches!(&event.payload, Payload::Plain { text: Some(text), .. } if kept.contains(text)),
    );
    assert_eq!(plain.count(), 6);
    assert_eq!(told.iter().filter(|event| matches!(event.payload, Payload::Line { .. })).count(), 6);
    assert_eq!(damages(&store), []);
}

#[test]
fn nothing_of_forgotten_events_is_left_in_any_file() {
    erased(false);
}

#[test]
fn packs_that_hold_forgotten_lines_are_rewritten() {
    erased(true);
}

#[test]
fn lines_that_events_alone_have_leave_every_file_with_them() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let secrets: Vec<String> = (0..30).map(|seed| words(seed + 1, 700)).collect();
    for (number, secret) in secrets.iter().enumerate() {
        put(
            &store,
            "p",
            vec![line("gone", "t", secret).0, line("stays", "t", &words(900 + number as u64, 300)).0],
        );
    }
    assert_eq!(pack(&store).contents, 60);
    let lines: Vec<Vec<u8>> = secrets.iter().map(|secret| line("gone", "t", secret).1).collect();
    assert_eq!(store.forget_events(&session("gone")).expect("forgotten"), 30);
    assert_packs_are_full(home.path(), &lines);
    assert_eq!(
        all(&store, "p").iter().filter(|event| matches!(event.payload, Payload::Line { .. })).count(),
        30
    );
    assert_eq!(damages(&store), []);
    drop(store);
}

#[test]
fn a_session_counts_as_forgotten_when_no_file_says_it() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let secret = words(5, 3_000);
    put(&store, "p", vec![said("go", "t", &secret), said("stay", "t", "this stays")]);
    // Another process reads, and holds the log as it was.
    let reader = rusqlite::Connection::open(home.path().join("stemmata.db")).expect("a connection");
    reader.execute_batch("BEGIN; SELECT count(*) FROM event;").expect("a read");
    let count: i64 = reader.query_row("SELECT count(*) FROM event", [], |row| row.get(0)).expect("a read");
    assert_eq!(count, 2);
    let error = store.forget_events(&session("go")).expect_err("the reader is in the way");
    assert!(matches!(error, StoreError::Unclean { .. }), "{error}");
    assert!(matches!(all(&store, "p")[0].payload, Payload::Gone(_)), "nobody reads it any more");
    drop(reader);
    assert_eq!(store.forget_events(&session("go")).expect("cleaned"), 0);
    clean(home.path(), &[secret.as_bytes()]);
}

#[test]
fn forgetting_a_commit_has_no_memory_saved_that_was_made_before() {
    on_both(|store| {
        let (id, _) = turn(store, "p", vec![line("s", "t", "secret")], 7);
        put(store, "q", vec![said("s", "t", "elsewhere")]);
        let epoch = |of| store.ledger(&ledger(of)).expect("a read").expect("there").epoch;
        let before = ["p", "q"].map(epoch);
        store.forget(&Forget { dry_run: true, ..wish(&[], &[id]) }).expect("a plan");
        assert_eq!(["p", "q"].map(epoch), before, "a plan changes nothing");
        store.forget(&wish(&[], &[id])).expect("forgotten");
        for (of, before) in ["p", "q"].into_iter().zip(before) {
            let refused = store.save_folded(&ledger(of), before, vec![state("memory")]);
            assert!(matches!(refused, Err(StoreError::EpochMoved { .. })), "{of}: {refused:?}");
            store.save_folded(&ledger(of), epoch(of), vec![state("memory")]).expect("made since");
        }
        assert_eq!(damages(store), []);
    });
}

/// The events that one transaction of a trim looks at, and as many more.
const STEPS: [u64; 2] = [4_096, 1_000];

#[test]
fn a_trim_that_is_broken_off_has_done_whole_steps_and_goes_on_from_there() {
    let home = TempDir::new().expect("a directory");
    let (memory, store) = (MemoryStore::default(), open(home.path()));
    let count = STEPS.iter().sum::<u64>();
    for log in [&memory as &dyn Store, &store] {
        for start in (0..count).step_by(2_000) {
            let events = (start..count.min(start + 2_000)).map(|number| said("s", "t", &number.to_string()));
            put(log, "p", events.collect());
        }
    }
    let database = rusqlite::Connection::open(home.path().join("stemmata.db")).expect("a connection");
    let stop = format!(
        "CREATE TRIGGER stop BEFORE UPDATE ON event WHEN NEW.seq > {} BEGIN SELECT RAISE(ABORT, 'stop'); END",
        STEPS[0] + 10
    );
    database.execute_batch(&stop).expect("a trigger");
    let broken = store.trim(&ledger("p"), &topic("t"), seq(count));
    assert!(broken.is_err(), "{broken:?}");
    memory.trim(&ledger("p"), &topic("t"), seq(STEPS[0])).expect("a trim");
    let receipts = || [&memory as &dyn Store, &store].map(|log| log.receipt(&ledger("p"), &topic("t")));
    let [expected, found] = receipts().map(|receipt| receipt.expect("a read"));
    assert_eq!(found, expected);
    database.execute_batch("DROP TRIGGER stop").expect("no trigger");
    for log in [&memory as &dyn Store, &store] {
        assert_eq!(log.trim(&ledger("p"), &topic("t"), seq(count)).expect("a trim"), STEPS[1]);
    }
    let [expected, found] = receipts().map(|receipt| receipt.expect("a read"));
    assert_eq!((found, damages(&store)), (expected, Vec::new()));
}

#[test]
fn a_trim_goes_past_a_whole_step_of_events_that_are_gone() {
    on_both(|log| {
        put(log, "p", vec![said("s1", "t", "x"); 4_096]);
        put(log, "p", vec![said("s1", "t", "x"); 3]);
        put(log, "p", vec![said("s2", "t", "y")]);
        assert_eq!(log.forget_events(&session("s1")).expect("forgotten"), 4_099);
        assert_eq!(log.trim(&ledger("p"), &topic("t"), seq(4_099)).expect("a trim"), 0);
        assert_eq!(log.receipt(&ledger("p"), &topic("t")).expect("a read"), None);
        assert_eq!(log.trim(&ledger("p"), &topic("t"), seq(9_999)).expect("a trim"), 1);
    });
}
