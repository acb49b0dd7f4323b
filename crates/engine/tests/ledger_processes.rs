//! Processes publish to one ledger and read it at once: every event reaches every reader once, in order.
//!
//! The test runs itself again as the children; what a child read it prints, and the parent compares.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stemmata_engine::{Clock, Engine, EventFilter, FollowFrom, Identity, RandomIds, Subscription};
use stemmata_model::{Event, MachineId, Payload, Timestamp, topics};
use stemmata_store::conformance::ledger::builders::{ledger, said};
use stemmata_store::{EventQuery, SqliteOptions, SqliteStore};

const CHILD: &str = "STEMMATA_LEDGER_PROCESSES_CHILD";

const WRITERS: usize = 3;

/// Batches that each writer publishes.
const BATCHES: usize = 20;

/// Events that a reader takes before another one goes on under its name.
const TURN: usize = 25;

/// Far more than any machine needs.
const LONG: Duration = Duration::from_mins(2);

/// The last word: readers end there.
const END: &str = "end";

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000)
    }
}

fn engine(home: &Path) -> Engine {
    let store = SqliteStore::open(&home.join("store"), SqliteOptions::default()).expect("the store opens");
    let identity = Identity {
        machine: MachineId::new("m1").expect("a name"),
        machine_label: "m1".to_owned(),
        user: "ada".to_owned(),
        former: Vec::new(),
    };
    Engine::over(Arc::new(store), Arc::new(FixedClock), Arc::new(RandomIds), identity)
}

fn subscribed(engine: &Engine, from: FollowFrom) -> Subscription {
    engine.subscribe(&ledger("c"), EventFilter::default(), from).expect("subscribed")
}

/// Publishes batches: of a session that all writers share, with plans that change the state.
fn write(engine: &Engine, number: &str) {
    for batch in 0..BATCHES {
        let about = if batch % 4 == 0 { topics::PLAN_READY } else { "x" };
        let events = (0..3).map(|at| said("shared", about, &format!("{number} {batch} {at}"))).collect();
        let published = engine.publish(&ledger("c"), events).expect("published");
        assert_eq!(published.notes, []);
    }
}

/// Reads as several short-lived readers of one name do, and prints the numbers.
fn read(engine: &Engine, name: &str) {
    loop {
        let mut subscription = subscribed(engine, FollowFrom::Cursor(name.to_owned()));
        for _ in 0..TURN {
            let event = subscription.next(LONG).expect("a read").expect("an event is missing");
            subscription.acknowledge().expect("kept");
            let mut out = std::io::stdout().lock();
            writeln!(out, "\nseq {}", event.seq).and_then(|()| out.flush()).expect("the parent listens");
            if event.topic.as_str() == END {
                return;
            }
        }
    }
}

fn child(role: &str, home: &Path) {
    let engine = engine(home);
    match role.split_once('-') {
        Some(("write", number)) => write(&engine, number),
        Some(("read", name)) => read(&engine, name),
        _ => panic!("no role: {role}"),
    }
}

fn start(role: String, home: &Path) -> Child {
    let program = std::env::current_exe().expect("this test");
    let mut command = Command::new(program);
    command.args(["--exact", "every_event_reaches_every_process_once", "--nocapture"]);
    command.env(CHILD, role).env("STEMMATA_LEDGER_PROCESSES_HOME", home);
    command.stdout(Stdio::piped()).spawn().expect("started")
}

#[test]
fn every_event_reaches_every_process_once() {
    #[expect(clippy::disallowed_methods, reason = "a child is told by its environment what it is")]
    let own = (std::env::var(CHILD), std::env::var("STEMMATA_LEDGER_PROCESSES_HOME"));
    if let (Ok(role), Ok(home)) = own {
        child(&role, Path::new(&home));
        return;
    }
    let (home, begun) = (tempfile::tempdir().expect("a folder"), Instant::now());
    let engine = engine(home.path());
    engine.create_cluster(&ledger("c")).expect("made");
    let mut subscription = subscribed(&engine, FollowFrom::Now);
    let readers: Vec<Child> = (0..2).map(|number| start(format!("read-r{number}"), home.path())).collect();
    let writers: Vec<Child> =
        (0..WRITERS).map(|number| start(format!("write-{number}"), home.path())).collect();
    for mut writer in writers {
        assert!(writer.wait().expect("waited for").success());
    }
    engine.publish(&ledger("c"), vec![said("c", END, "")]).expect("published");
    let there = engine.log().events(&ledger("c"), &EventQuery::after(None, 10_000)).expect("a read");
    let mut seen = Vec::new();
    while seen.len() < there.len() {
        seen.push(subscription.next(LONG).expect("a read").expect("an event is missing"));
    }
    assert_eq!(seen, there);
    let numbers: Vec<String> = there.iter().map(|event| event.seq.to_string()).collect();
    for reader in readers {
        let done = reader.wait_with_output().expect("waited for");
        assert!(done.status.success());
        let printed = String::from_utf8(done.stdout).expect("text");
        let read: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("seq ")).collect();
        assert_eq!(read, numbers);
    }
    check(&there);
    assert!(begun.elapsed() < LONG, "somebody waited to the end instead of looking");
}

fn check(there: &[Event]) {
    let of = |about: &str| there.iter().filter(|event| event.topic.as_str() == about).collect::<Vec<_>>();
    assert_eq!(of(topics::SESSION_STARTED).len(), 1, "one process opened the session");
    assert_eq!(of("x").len() + of(topics::PLAN_READY).len(), WRITERS * BATCHES * 3);
    let text = |event: &Event| match &event.payload {
        Payload::Plain { text, .. } => text.clone(),
        Payload::Line { .. } | Payload::Gone(_) => None,
    };
    let snapshots: Vec<_> = of(topics::STATE_SNAPSHOT).into_iter().map(text).collect();
    assert!(
        snapshots.windows(2).all(|pair| pair[0] != pair[1]),
        "a state was published twice: {snapshots:?}"
    );
    let plan = of(topics::PLAN_READY).pop().and_then(text).map(|plan| format!("Plan: {plan}"));
    assert_eq!(snapshots.last(), Some(&plan), "the last state is published");
}
