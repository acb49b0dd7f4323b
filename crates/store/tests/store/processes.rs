//! Processes that die and processes that write at once.
//!
//! A child is this test binary once more, running `child` with its orders in the environment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout};

use super::children::{self, kill_after};
use super::ledger::{append, ledger, said};
use super::support::{checkpoint, damages, read};
use stemmata_model::{CommitId, Payload};
use stemmata_store::{
    Append, Commits, Durability, EventLog, EventQuery, OnDisk, SqliteOptions, SqliteStore, StoreError,
    StoreErrorKind,
};
use stemmata_testkit::rng::Rng;
use tempfile::TempDir;

/// Children that are killed.
const KILLS: u64 = 60;

/// Names the directory, the session and how many checkpoints to make, separated by `|`.
const ORDERS: &str = "STEMMATA_TEST_CHILD";

fn open(dir: &Path) -> SqliteStore {
    SqliteStore::open(dir, SqliteOptions::default()).expect("a store")
}

/// Not a test of its own: what a child does. Without orders it does nothing.
#[test]
fn child() {
    let Some((_, orders)) = std::env::vars().find(|(name, _)| name == ORDERS) else {
        return;
    };
    let orders: Vec<&str> = orders.split('|').collect();
    let store = open(Path::new(orders[0]));
    let count: u64 = orders[2].parse().expect("a number");
    if orders.get(3) == Some(&"events") {
        return append_events(&store, orders[1], count, &|line| println!("\n{line}"));
    }
    // Two threads, so that groups die too.
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (store, name) = (&store, format!("{}-{thread}", orders[1]));
            scope.spawn(move || {
                let mut tip = None;
                for step in 0..count {
                    let (id, batch) = checkpoint(&name, tip, step, 1500);
                    store.commit_batch(batch).expect("a batch that can be applied");
                    println!("\nack {id}");
                    tip = Some(id);
                }
            });
        }
    });
}

/// Appends batches of one to four events, by turns with each care for durability, and says where each of them is.
fn append_events(store: &SqliteStore, name: &str, count: u64, say: &dyn Fn(String)) {
    for step in 0..count {
        let durability = [Durability::Batch, Durability::Full, Durability::None]
            [usize::try_from(step % 3).expect("small")];
        let said = |number: u64| said(name, "t", &format!("{name}/{step}/{number}"));
        let events = (0..=step % 4).map(said).collect();
        let appended = store.append(Append { durability, ..append("shared", events) }).expect("an append");
        say(format!("at {} {name}/{step}", appended.first));
    }
}

fn spawn(dir: &Path, name: &str, count: u64) -> (Child, BufReader<ChildStdout>) {
    spawn_with(&format!("{}|{name}|{count}", dir.display()))
}

fn spawn_with(orders: &str) -> (Child, BufReader<ChildStdout>) {
    children::spawn("processes::child", ORDERS, orders)
}

fn acknowledged(line: &str) -> Option<CommitId> {
    line.strip_prefix("ack ")?.trim().parse().ok()
}

fn assert_there(store: &SqliteStore, ids: &[CommitId]) {
    for id in ids {
        let commit = store.commit(*id).expect("a read").expect("what was acknowledged is there");
        read(store, commit.core.artifact).expect("its content is readable");
        assert_eq!(store.sightings(*id, 9).expect("a read").len(), 1);
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_processes_are_killed() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let mut all: Vec<CommitId> = Vec::new();
    let mut random = Rng::new(0x2545_f491);
    for round in 0..KILLS {
        let child = spawn(&dir, &format!("r{round}"), 100_000);
        let seen = kill_after(child, random.range(0, 11), acknowledged);
        let store = open(&dir);
        assert_there(&store, &seen);
        if round % 10 == 0 {
            assert_eq!(damages(&store), []);
        }
        all.extend(seen);
    }
    let store = open(&dir);
    assert!(all.len() > usize::try_from(KILLS).expect("small"), "{} batches were acknowledged", all.len());
    assert_there(&store, &all);
    assert_eq!(damages(&store), []);
}

/// Where a batch was put, and what its events begin with.
fn placed(line: &str) -> Option<(u64, String)> {
    let (at, name) = line.strip_prefix("at ")?.trim().split_once(' ')?;
    Some((at.parse().ok()?, name.to_owned()))
}

fn texts(store: &SqliteStore) -> Vec<String> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = store.events(&ledger("shared"), &EventQuery::after(after, 500)).expect("a read");
        let Some(last) = page.last() else { return found };
        after = Some(last.seq);
        for event in page {
            assert_eq!(event.seq.get(), u64::try_from(found.len()).expect("a length") + 1, "without gaps");
            match event.payload {
                Payload::Plain { text: Some(text), .. } => found.push(text),
                other => panic!("{other:?} is not text"),
            }
        }
    }
}

/// Asserts that what was told of batches is so, and that each stands together and whole.
#[track_caller]
fn assert_placed(texts: &[String], told: &[(u64, String)]) {
    for (first, name) in told {
        let step: u64 = name.rsplit('/').next().and_then(|step| step.parse().ok()).expect("a step");
        for number in 0..=step % 4 {
            let place = usize::try_from(first + number - 1).expect("small");
            assert_eq!(texts.get(place), Some(&format!("{name}/{number}")));
        }
    }
    let starts = texts.iter().filter(|text| text.ends_with("/0")).count();
    let mut rest = texts;
    for _ in 0..starts {
        let (name, _) = rest[0].rsplit_once('/').expect("a name");
        let step: usize = name.rsplit('/').next().and_then(|step| step.parse().ok()).expect("a step");
        let (own, after) = rest.split_at(1 + step % 4);
        assert!(own.iter().enumerate().all(|(number, text)| *text == format!("{name}/{number}")), "{own:?}");
        rest = after;
    }
    assert!(rest.is_empty(), "{rest:?} stand alone");
}

#[test]
fn eight_processes_append_to_one_ledger() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    drop(open(&dir));
    let spawn = |number| spawn_with(&format!("{}|p{number}|24|events", dir.display()));
    let children: Vec<_> = (0..8).map(spawn).collect();
    let mut all = Vec::new();
    for (mut child, out) in children {
        let told: Vec<(u64, String)> =
            out.lines().filter_map(|line| placed(&line.expect("a line"))).collect();
        assert!(
            told.windows(2).all(|pair| pair[0].0 < pair[1].0),
            "the order of one process is the ledger's"
        );
        all.extend(told);
        assert!(child.wait().expect("a child").success());
    }
    let store = open(&dir);
    let texts = texts(&store);
    assert_eq!((all.len(), texts.len()), (8 * 24, 8 * 6 * 10));
    assert_placed(&texts, &all);
    assert_eq!(damages(&store), []);
}

#[test]
fn no_event_that_was_acknowledged_is_lost_when_processes_are_killed() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let mut all: Vec<(u64, String)> = Vec::new();
    let mut random = Rng::new(0x9e37_79b9);
    for round in 0..KILLS / 4 {
        let orders = |name: &str| format!("{}|{name}{round}|100000|events", dir.display());
        let (mut other, _pipe) = spawn_with(&orders("b"));
        all.extend(kill_after(spawn_with(&orders("a")), random.range(0, 19), placed));
        other.kill().expect("a child");
        other.wait().expect("a child");
    }
    let store = open(&dir);
    assert!(all.len() > 30, "{} appends were acknowledged", all.len());
    assert_placed(&texts(&store), &all);
    assert_eq!(damages(&store), []);
}

#[test]
fn processes_write_one_store_at_once() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let children: Vec<_> = (0..4).map(|number| spawn(&dir, &format!("p{number}"), 25)).collect();
    let mut all = Vec::new();
    for (mut child, out) in children {
        let lines = out.lines().map(|line| line.expect("a line"));
        all.extend(lines.filter_map(|line| acknowledged(&line)));
        assert!(child.wait().expect("a child").success());
    }
    let store = open(&dir);
    assert_eq!(all.len(), 4 * 2 * 25);
    assert_there(&store, &all);
    assert_eq!(store.usage().expect("a read").commits, 200);
    assert_eq!(damages(&store), []);
}

/// Starts a process that has a store open until it is killed, and waits for that. It ends where nobody listens to it.
fn holding(dir: &Path) -> (Child, BufReader<ChildStdout>) {
    let (child, mut out) = spawn(dir, "held", 100_000);
    let mut line = String::new();
    while acknowledged(&line).is_none() {
        line.clear();
        assert!(out.read_line(&mut line).expect("it can be heard") > 0, "it ended");
    }
    (child, out)
}

/// What a restore did under a process that had the store open: that one went on writing into the folder that was moved
/// aside, was told that all was stored, and the user that the folder may go.
#[test]
fn nothing_replaces_a_store_that_another_process_has_open() {
    let home = TempDir::new().expect("a directory");
    let (dir, copy, aside) = (home.path().join("store"), home.path().join("copy"), home.path().join("aside"));
    open(&dir).backup(&copy).expect("a backup");
    let (mut child, _out) = holding(&dir);
    let pid = child.id();
    let hasty = || SqliteOptions { busy_timeout_ms: 50, ..SqliteOptions::default() };
    let assert_refused = |error: StoreError| {
        assert_eq!(error.kind(), StoreErrorKind::Locked);
        let StoreError::InUse { pids, .. } = &error else { panic!("{error}") };
        // Other systems do not say whose a lock is.
        assert_eq!(pids.as_slice(), if cfg!(target_os = "linux") { vec![pid] } else { Vec::new() });
    };
    assert_refused(SqliteStore::restore(&copy, &dir, &aside, &hasty()).expect_err("it is in use"));
    assert_refused(SqliteStore::roll_back(&dir, &copy, &aside, true, &hasty()).expect_err("it is in use"));
    assert!(!aside.exists());
    // A backup that somebody reads is not brought up to date under him.
    let reader = open(&copy);
    let error =
        SqliteStore::open(&dir, hasty()).and_then(|store| store.backup(&copy)).expect_err("it is in use");
    assert!(matches!(&error, StoreError::InUse { .. }), "{error}");
    drop(reader);
    child.kill().and_then(|()| child.wait()).expect("a child");
    let restored = SqliteStore::restore(&copy, &dir, &aside, &hasty()).expect("nobody has it open");
    assert_eq!(restored.aside.as_deref(), Some(aside.as_path()));
}

/// Whoever opens a store while it is restored waits, and gets the restored one: not the folder that goes aside.
#[test]
fn who_opens_a_store_while_it_is_replaced_gets_the_one_that_stays() {
    let home = TempDir::new().expect("a directory");
    let (dir, copy) = (home.path().join("store"), home.path().join("copy"));
    open(&dir).backup(&copy).expect("a backup");
    for round in 0..20 {
        let aside = home.path().join(format!("aside-{round}"));
        let ids = std::thread::scope(|scope| {
            let restored =
                scope.spawn(|| SqliteStore::restore(&copy, &dir, &aside, &SqliteOptions::default()));
            let (id, batch) = checkpoint(&format!("r{round}"), None, round, 100);
            let stored = {
                let store = open(&dir);
                store.commit_batch(batch).expect("a batch");
                id
            };
            restored.join().expect("a thread").expect("a restore");
            stored
        });
        // It was stored before, and then is in the folder that went aside; or after, and then is in the store.
        let is_in = |folder: &Path| open(folder).commit(ids).expect("a read").is_some();
        assert!(is_in(&dir) != is_in(&aside), "round {round}");
    }
}
