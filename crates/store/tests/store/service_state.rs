//! A service's state: both backends against the suite, and the one in SQLite under processes that die or write at once.

use std::path::Path;
use std::sync::Arc;

use stemmata_model::CommitId;
use stemmata_store::conformance::builders::principal;
use stemmata_store::conformance::state::{at, job, key, kind};
use stemmata_store::state::{
    Audit as _, AuditOutcome, AuditQuery, ClaimRequest, Expected, JobCost, JobEnd, JobState, Jobs as _,
    NewAuditEntry, NewPointer, Pointer, Pointers as _, ServiceState, StateError,
};
use stemmata_store::{SqliteOptions, SqliteState, conformance};
use stemmata_testkit::rng::Rng;
use stemmata_testkit::state::MemoryState;
use tempfile::TempDir;

use super::children::{self, kill_after};

/// Children that are killed.
const KILLS: u64 = 40;

/// Names the directory, the child and how many steps to make, separated by `|`.
const ORDERS: &str = "STEMMATA_TEST_STATE_CHILD";

fn open(dir: &Path) -> SqliteState {
    SqliteState::open(dir, SqliteOptions::default()).expect("a state")
}

#[test]
fn sqlite_keeps_what_a_service_needs() {
    let home = TempDir::new().expect("a directory");
    let mut made = 0;
    conformance::service_state(&mut || {
        made += 1;
        Arc::new(open(&home.path().join(made.to_string()))) as Arc<dyn ServiceState>
    });
}

#[test]
fn memory_keeps_what_a_service_needs() {
    conformance::service_state(&mut || Arc::new(MemoryState::default()) as Arc<dyn ServiceState>);
}

fn commit(number: u64) -> CommitId {
    CommitId::from_bytes(u128::from(number).to_be_bytes())
}

fn number_of(state: &SqliteState, name: &str) -> u64 {
    let found = state.pointer(&key(name)).expect("a read");
    found.map_or(0, |found| u64::try_from(u128::from_be_bytes(found.commit.to_bytes())).expect("a number"))
}

/// Moves a pointer on by one, whoever else does so at the same time.
fn count_on(state: &SqliteState, name: &str) -> u64 {
    loop {
        let found = number_of(state, name);
        let expected = if found == 0 { Expected::Nothing } else { Expected::Commit(commit(found)) };
        let pointer =
            Pointer { key: key(name), commit: commit(found + 1), set_at: at(0), by: principal("ada") };
        match state.set_pointer(&NewPointer { pointer, expected }) {
            Ok(_) => return found + 1,
            Err(StateError::PointerMoved { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

/// Not a test of its own: what a child does. Without orders it does nothing.
#[test]
fn child() {
    let Some((_, orders)) = std::env::vars().find(|(name, _)| name == ORDERS) else {
        return;
    };
    let orders: Vec<&str> = orders.split('|').collect();
    let state = open(Path::new(orders[0]));
    let steps: u64 = orders[2].parse().expect("a number");
    for step in 0..steps {
        let number = count_on(&state, "all");
        println!("\npointed {number}");
        let entry = NewAuditEntry {
            at: at(0),
            principal: principal(orders[1]),
            operation: "test".to_owned(),
            whose: None,
            target: step.to_string(),
            outcome: AuditOutcome::Done,
            detail: None,
            request: None,
        };
        println!("\nrecorded {}", state.record(&entry).expect("recorded"));
        let request =
            ClaimRequest { kinds: vec![kind("k")], holder: orders[1].to_owned(), now: at(0), lease_ms: 1 };
        if let Some(claim) = state.claim_job(&request).expect("a claim") {
            let subject = claim.job.made.subject.clone();
            state.end_job(&claim, &JobEnd::Done, JobCost::NONE, at(0)).expect("its own");
            println!("\ndone {subject}");
        }
    }
}

fn spawn(dir: &Path, name: &str, steps: u64) -> stemmata_testkit::children::Working {
    children::spawn("service_state::child", ORDERS, &format!("{}|{name}|{steps}", dir.display()))
}

/// What a child was told.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Pointed(u64),
    Recorded(u64),
    Done(String),
}

fn told(line: &str) -> Option<Told> {
    let (what, of) = line.trim().split_once(' ')?;
    match what {
        "pointed" => Some(Told::Pointed(of.parse().ok()?)),
        "recorded" => Some(Told::Recorded(of.parse().ok()?)),
        "done" => Some(Told::Done(of.to_owned())),
        _ => None,
    }
}

#[test]
fn nothing_that_a_killed_process_was_told_is_lost() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("state");
    let mut random = Rng::new(0x9e37_79b9);
    let (mut pointed, mut recorded) = (0, 0);
    for round in 0..KILLS {
        let state = open(&dir);
        for number in 0..3 {
            state.add_job(&job(&format!("{round}-{number}"))).expect("added");
        }
        drop(state);
        let all = kill_after(spawn(&dir, "child", 100_000), random.range(0, 14), told);
        let state = open(&dir);
        for told in &all {
            match told {
                Told::Pointed(number) => pointed = pointed.max(*number),
                Told::Recorded(number) => recorded = recorded.max(*number),
                Told::Done(subject) => {
                    let jobs = state.jobs(9_999).expect("a read");
                    let job = jobs.iter().find(|job| job.made.subject == *subject).expect("it is there");
                    assert_eq!(job.state, JobState::Done, "{subject}");
                }
            }
        }
        let found = number_of(&state, "all");
        assert!(found >= pointed && found <= pointed + 1, "{found} after {pointed}");
        let query = AuditQuery { before: None, principal: None, operation: None, rows_max: 9_999 };
        let rows = state.audit(&query).expect("a read");
        let last = rows.first().map_or(0, |row| row.number);
        assert!(last >= recorded && last <= recorded + 1, "{last} after {recorded}");
        assert_eq!(u64::try_from(rows.len()), Ok(last), "no row is missing");
        (pointed, recorded) = (found, last);
    }
    assert!(pointed > KILLS, "{pointed} steps were made");
}

#[test]
fn processes_at_once_lose_no_step_and_do_each_job_once() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("state");
    // Nobody makes it first: all of them open what is not there yet.
    let children: Vec<_> = (0..4).map(|number| spawn(&dir, &format!("p{number}"), 20)).collect();
    let mut all = Vec::new();
    for (mut child, out) in children {
        all.extend(std::io::BufRead::lines(out).map_while(Result::ok).filter_map(|line| told(&line)));
        assert!(child.wait().expect("it ends").success());
    }
    let numbers = |pick: fn(&Told) -> Option<u64>| {
        let mut numbers: Vec<u64> = all.iter().filter_map(pick).collect();
        numbers.sort_unstable();
        numbers
    };
    let expected: Vec<u64> = (1..=80).collect();
    assert_eq!(numbers(|told| if let Told::Pointed(number) = told { Some(*number) } else { None }), expected);
    assert_eq!(
        numbers(|told| if let Told::Recorded(number) = told { Some(*number) } else { None }),
        expected
    );

    let state = open(&dir);
    for number in 0..60 {
        state.add_job(&job(&format!("{number:02}"))).expect("added");
    }
    let children: Vec<_> = (0..4).map(|number| spawn(&dir, &format!("p{number}"), 20)).collect();
    let mut done = Vec::new();
    for (mut child, out) in children {
        let lines = std::io::BufRead::lines(out).map_while(Result::ok);
        done.extend(lines.filter_map(|line| {
            if let Some(Told::Done(subject)) = told(&line) { Some(subject) } else { None }
        }));
        assert!(child.wait().expect("it ends").success());
    }
    done.sort();
    assert_eq!(done, (0..60).map(|number| format!("{number:02}")).collect::<Vec<_>>());
}
