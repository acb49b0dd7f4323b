//! Processes at one ledger of files: those that write at once, those that are killed, and those that repair it meanwhile.
//!
//! A child is this test binary once more, running `child` with its orders in the environment.

use std::fs;
use std::io::{BufRead as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use stemmata_model::Event;
use stemmata_store::{Files as _, Patience, SystemFiles};
use stemmata_testkit::children::Working;
use stemmata_testkit::ledger::kills::{Acknowledged, acknowledged, first_word, kill, work, wrong};
use stemmata_testkit::ledger::script;
use stemmata_testkit::rng::Rng;
use tempfile::TempDir;

use super::children;
use super::ledger_files::{folder, id, lines, open, restore};

/// Children that are killed; `cargo xtask faults ledger` kills a thousand.
const KILLS: u64 = 30;

/// Names the home, the child and how many appends each of its threads makes, separated by `|`.
const ORDERS: &str = "STEMMATA_TEST_LEDGER_CHILD";

/// Not a test of its own: what a child does. Without orders it does nothing.
#[test]
fn child() {
    let Some((_, orders)) = std::env::vars().find(|(name, _)| name == ORDERS) else {
        return;
    };
    let orders: Vec<&str> = orders.split('|').collect();
    let appends = orders[2].parse().expect("a number");
    work(&open(Path::new(orders[0])), orders[1], appends, &|line| println!("\n{line}"));
}

fn spawn(home: &Path, name: &str, count: u64) -> Working {
    children::spawn("ledger_files_processes::child", ORDERS, &format!("{}|{name}|{count}", home.display()))
}

fn all(home: &Path) -> Vec<Event> {
    script::all(&open(home)).expect("a read")
}

/// Hears a child to its end.
fn heard((mut child, out): Working) -> Vec<Acknowledged> {
    let told = out.lines().filter_map(|line| acknowledged(&line.expect("a line"))).collect();
    assert!(child.wait().expect("a child").success());
    told
}

#[test]
fn eight_processes_append_to_one_ledger() {
    let home = TempDir::new().expect("a directory");
    let children: Vec<_> = (0..8).map(|number| spawn(home.path(), &format!("p{number}"), 9)).collect();
    let told: Vec<_> = children.into_iter().flat_map(heard).collect();
    assert_eq!(told.len(), 8 * 2 * 9);
    let events = all(home.path());
    assert_eq!(wrong(&events, &told), Vec::<String>::new());
    let size: u64 = told.iter().map(|told| told.size).sum();
    assert_eq!(u64::try_from(events.len()).expect("small"), size);
    assert!(restore(&open(home.path())).findings.iter().all(|finding| !finding.stops()));
}

#[test]
fn nothing_acknowledged_is_lost_when_processes_are_killed() {
    let scratch = TempDir::new().expect("a directory");
    let start = |home: &Path, name: &str| Ok(spawn(home, name, 100_000));
    let tried = kill(scratch.path(), KILLS, 0, &start).expect("children");
    assert_eq!(tried.wrong(), Vec::<&String>::new());
    assert!(tried.faults == KILLS && tried.operations > KILLS, "{tried:?}");
}

/// Changes a byte of a line in the first half of the ledger, as its only writer; returns the line's number.
fn hurt(home: &Path, rng: &mut Rng) -> u64 {
    let path = folder(home).join("lock");
    let held = Patience::each(Duration::from_mins(1)).until(|| SystemFiles.lock(&path)).expect("a file");
    let _lock = held.expect("no writer takes that long");
    let path = folder(home).join("events.ndjson");
    let lines = lines(&fs::read(&path).expect("a file"));
    let at = rng.range(0, u64::try_from(lines.len()).expect("small") / 2);
    let before: usize = lines.iter().take(usize::try_from(at).expect("small")).map(Vec::len).sum();
    let mut file = fs::OpenOptions::new().write(true).open(&path).expect("a file");
    file.seek(SeekFrom::Start(u64::try_from(before).expect("small") + 5)).expect("within");
    file.write_all(b"#").expect("written");
    at + 1
}

#[test]
fn two_processes_append_while_a_third_restores_and_repairs() {
    let home = TempDir::new().expect("a directory");
    let mut rng = Rng::new(5);
    let mut children = [spawn(home.path(), "a", 40), spawn(home.path(), "b", 40)];
    let (mut told, mut hurts, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..12 {
        // Something is appended between two repairs.
        let out = &mut children[round % 2].1;
        told.extend(out.lines().map_while(Result::ok).filter_map(|line| acknowledged(&line)).take(5));
        let log = open(home.path());
        hurts.push(hurt(home.path(), &mut rng));
        assert!(restore(&log).findings.iter().any(stemmata_store::Finding::stops));
        lost.extend(log.repair(&id("p")).expect("repaired").lost);
        assert!(restore(&log).findings.iter().all(|finding| !finding.stops()));
    }
    told.extend(children.into_iter().flat_map(heard));
    assert_eq!(told.len(), 2 * 2 * 40);
    let events = all(home.path());
    assert!(events.iter().zip(1..).all(|(event, number)| event.seq.get() == number));
    assert_eq!(u64::try_from(events.len()).expect("small"), told.iter().map(|told| told.size).sum::<u64>());
    // A stand-in that is hurt too is lost once more.
    assert_eq!(lost.iter().map(|seq| seq.get()).collect::<Vec<_>>(), hurts);
    for Acknowledged { first, size, name } in &told {
        for seq in *first..first + size {
            let event = &events[usize::try_from(seq - 1).expect("small")];
            let is_lost = hurts.contains(&seq) && event.topic.as_str() == "EVENT_LOST";
            assert!(is_lost || first_word(event) == Some(name), "{name} at {seq}: {event:?}");
        }
    }
}
