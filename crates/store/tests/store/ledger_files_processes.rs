//! Processes at one ledger of files: those that write at once, and those that are killed.
//!
//! A child is this test binary once more, running `child` with its orders in the environment.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout};

use stemmata_model::{Event, Payload};
use stemmata_store::{Append, Durability, EventLog, EventQuery, FileLog};
use stemmata_testkit::rng::Rng;
use tempfile::TempDir;

use super::children::{self, kill_after};
use super::ledger_files::{append, id, open, restore, said, seq};

/// Children that are killed where nothing else is said.
const KILLS: u64 = 30;

/// Children of one ledger: a longer one takes longer to look through.
const ROUND_KILLS: u64 = 50;

/// Says how many children are killed, for a longer run.
const KILLS_VARIABLE: &str = "STEMMATA_TEST_LEDGER_KILLS";

/// Names the home, the child and how many appends each of its threads makes, separated by `|`.
const ORDERS: &str = "STEMMATA_TEST_LEDGER_CHILD";

/// Not a test of its own: what a child does. Without orders it does nothing.
#[test]
fn child() {
    let Some((_, orders)) = std::env::vars().find(|(name, _)| name == ORDERS) else {
        return;
    };
    let orders: Vec<&str> = orders.split('|').collect();
    let log = open(Path::new(orders[0]));
    let count: usize = orders[2].parse().expect("a number");
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (log, name) = (&log, format!("{}-{thread}", orders[1]));
            scope.spawn(move || {
                for number in 0..count {
                    let durability = [Durability::Full, Durability::Batch, Durability::None][number % 3];
                    let text = format!("{name}/{number} {}", "x".repeat(number % 5 * 700));
                    let size = 1 + number % 4;
                    let events = vec![said("s", "t", &text); size];
                    let appended = log.append(Append { durability, ..append(events) }).expect("an append");
                    // What is not durable outlives a kill too: only a power cut takes it.
                    println!("\nack {} {size} {name}/{number}", appended.first);
                }
            });
        }
    });
}

fn spawn(home: &Path, name: &str, count: u64) -> (Child, BufReader<ChildStdout>) {
    children::spawn("ledger_files_processes::child", ORDERS, &format!("{}|{name}|{count}", home.display()))
}

/// An append that a child was told of: its first number, its events, and its words.
type Acknowledged = (u64, u64, String);

fn acknowledged(line: &str) -> Option<Acknowledged> {
    let mut words = line.strip_prefix("ack ")?.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.to_owned()))
}

fn all(log: &FileLog) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let query = EventQuery::after(events.last().map(|event| event.seq), 1_000);
        let page = log.events(&id("p"), &query).expect("a read");
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}

fn words(event: &Event) -> &str {
    match &event.payload {
        Payload::Plain { text: Some(text), .. } => text.split(' ').next().unwrap_or_default(),
        other => panic!("{other:?}"),
    }
}

/// Checks that what was acknowledged stands where it was said to, and that no append is cut or mixed with another.
fn assert_there(events: &[Event], told: &[Acknowledged]) {
    assert!(events.iter().zip(1..).all(|(event, number)| event.seq == seq(number)), "numbers have no gaps");
    assert!(events.windows(2).all(|pair| pair[0].at < pair[1].at));
    for (first, size, name) in told {
        let begin = usize::try_from(first - 1).expect("small");
        let own = events.get(begin..begin + usize::try_from(*size).expect("small"));
        let own = own.unwrap_or_else(|| panic!("{name} was acknowledged and is not there"));
        assert!(own.iter().all(|event| words(event) == name), "{name} is not where it was said to be");
    }
    for batch in events.chunk_by(|one, other| words(one) == words(other)) {
        let name = words(&batch[0]);
        let number: usize = name.rsplit('/').next().and_then(|number| number.parse().ok()).expect("a number");
        assert_eq!(batch.len(), 1 + number % 4, "{name} is whole");
    }
}

#[test]
fn eight_processes_append_to_one_ledger() {
    let home = TempDir::new().expect("a directory");
    let children: Vec<_> = (0..8).map(|number| spawn(home.path(), &format!("p{number}"), 9)).collect();
    let mut told = Vec::new();
    for (mut child, out) in children {
        let lines = out.lines().map(|line| line.expect("a line"));
        told.extend(lines.filter_map(|line| acknowledged(&line)));
        assert!(child.wait().expect("a child").success());
    }
    assert_eq!(told.len(), 8 * 2 * 9);
    let log = open(home.path());
    let events = all(&log);
    assert_there(&events, &told);
    let size: u64 = told.iter().map(|(_, size, _)| size).sum();
    assert_eq!(u64::try_from(events.len()).expect("small"), size);
    assert!(restore(&log).findings.iter().all(|finding| !finding.stops()));
}

#[test]
fn nothing_acknowledged_is_lost_when_processes_are_killed() {
    let wanted = std::env::vars().find(|(name, _)| name == KILLS_VARIABLE).map(|(_, value)| value);
    let kills: u64 = wanted.map_or(KILLS, |value| value.parse().expect("a number"));
    let (mut done, mut appends, mut findings) = (0, 0, 0);
    while done < kills {
        let now = ROUND_KILLS.min(kills - done);
        let (told, found) = kill_some(now, done);
        done += now;
        appends += told;
        findings += found;
    }
    println!("{kills} kills, {appends} appends acknowledged, {findings} findings");
    assert!(u64::try_from(appends).expect("small") > kills, "{appends} appends were acknowledged");
}

/// Kills children of one ledger, and returns how many appends were acknowledged and how much was found.
fn kill_some(kills: u64, seed: u64) -> (usize, usize) {
    let home = TempDir::new().expect("a directory");
    let mut told: Vec<Acknowledged> = Vec::new();
    let mut random = Rng::new(0x2545_f491 ^ seed);
    let mut torn = 0;
    for round in 0..kills {
        let child = spawn(home.path(), &format!("r{round}"), 100_000);
        told.extend(kill_after(child, random.range(0, 13), acknowledged));
        let log = open(home.path());
        let restored = restore(&log);
        assert!(restored.findings.iter().all(|finding| !finding.stops()), "{:?}", restored.findings);
        torn += restored.findings.len();
        if round % 10 == 0 {
            assert_there(&all(&log), &told);
        }
    }
    let log = open(home.path());
    assert_there(&all(&log), &told);
    (told.len(), torn)
}
