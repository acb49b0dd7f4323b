//! Ledgers as files on a disk that fails, is full, or loses its power: clear errors, nothing acknowledged is lost.

use std::fs;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use stemmata_model::{NewEvent, Timestamp, Topic, topics};
use stemmata_store::{
    Append, Durability, EventLog, EventQuery, FileLog, FileLogOptions, Finding, IntegrityMode, LedgerChange,
};
use stemmata_testkit::disk::{Disk, Failure, Fault, Image, Keep, Platter};
use stemmata_testkit::ledger::Tried;
use stemmata_testkit::ledger::faults::{TOP, empty_disk, failing, look_at, power, recorded};
use stemmata_testkit::ledger::script::{FORGETTING, FORGOTTEN, step};
use stemmata_testkit::memory::MemoryStore;
use tempfile::TempDir;

use super::ledger_files::{all, append, id, said};

/// Random choices at each operation.
const RANDOM_STATES: u64 = 6;

#[test]
fn a_failure_at_any_operation_is_told_and_loses_nothing() {
    let scratch = TempDir::new().expect("a directory");
    let tried = failing(scratch.path(), IntegrityMode::Chain).expect("folders");
    assert_eq!(tried.wrong(), Vec::<&String>::new());
    assert!(tried.faults > 150, "{} operations failed", tried.faults);
}

#[test]
fn a_power_cut_at_any_operation_loses_nothing_that_was_acknowledged() {
    let scratch = TempDir::new().expect("a directory");
    let tried = power(scratch.path(), IntegrityMode::Checksum, RANDOM_STATES).expect("folders");
    assert_eq!(tried.wrong(), Vec::<&String>::new());
    assert!(tried.states > 100, "{} states", tried.states);
}

#[test]
fn what_another_process_appended_without_a_sync_is_durable_with_what_is_appended_durably() {
    for care in [Durability::Batch, Durability::Full] {
        let (disk, before) = (empty_disk(), empty_disk());
        let home = TempDir::new().expect("a directory");
        let (one, files) = recorded(&disk, home.path(), IntegrityMode::Checksum);
        let options = || FileLogOptions { files: Arc::<_>::clone(&files) as _, ..FileLogOptions::default() };
        let other = FileLog::open(home.path(), options()).expect("a log");
        disk.start_record();
        let put = |log: &FileLog, text: &str, durability| {
            log.append(Append { durability, ..append(vec![said("s", "t", text)]) }).expect("appended");
        };
        // Each has written before, and has the file open.
        put(&one, "first", Durability::Batch);
        put(&other, "second", Durability::Batch);
        put(&one, "unsynced", Durability::None);
        put(&other, "durable", care);
        let mut platter = Platter::new(&before);
        disk.end_record().iter().for_each(|op| platter.follow(op));
        let left = TempDir::new().expect("a directory");
        platter.cut(TOP, Keep::Nothing).write(left.path()).expect("a folder");
        let log = FileLog::open(left.path(), FileLogOptions::default()).expect("a log");
        assert_eq!(all(&log), all(&one), "{care:?}");
        assert_eq!(all(&log).len(), 4, "{care:?}");
    }
}

#[test]
fn a_change_that_is_there_already_is_durable_when_it_is_asked_for_again() {
    let root = || Some("/src".to_owned());
    let change = || LedgerChange { root: root(), ..LedgerChange::new(id("p"), Timestamp::EPOCH) };
    let (mut failed, mut was_there) = (0, 0);
    for at in 0..100 {
        let (disk, before) = (empty_disk(), empty_disk());
        let home = TempDir::new().expect("a directory");
        let (log, _files) = recorded(&disk, home.path(), IntegrityMode::Checksum);
        disk.start_record();
        step(&log, 0).expect("appended");
        disk.arm(Fault { failure: Failure::Io, at });
        let told = log.change_ledger(change());
        disk.disarm();
        let root = |log: &FileLog| log.ledger(&id("p")).expect("a read").and_then(|known| known.root);
        was_there += usize::from(told.is_err() && root(&log).is_some());
        log.change_ledger(change()).expect("changed");
        let mut platter = Platter::new(&before);
        disk.end_record().iter().for_each(|op| platter.follow(op));
        let left = TempDir::new().expect("a directory");
        platter.cut(TOP, Keep::Nothing).write(left.path()).expect("a folder");
        let later = FileLog::open(left.path(), FileLogOptions::default()).expect("a log");
        assert_eq!(root(&later).as_deref(), Some("/src"), "operation {at} failed");
        if told.is_ok() {
            break;
        }
        failed += 1;
    }
    assert!(failed > 3 && was_there > 0, "{failed} failures, {was_there} after the change was there");
}

#[test]
fn a_power_cut_after_a_torn_end_was_cut_off_mixes_nothing() {
    let home = TempDir::new().expect("a directory");
    let log = FileLog::open(home.path(), FileLogOptions::default()).expect("a log");
    let model = MemoryStore::default();
    let eight = || append((0..8).map(|_| said("s", "t", &"words ".repeat(60))).collect());
    for log in [&log as &dyn EventLog, &model] {
        step(log, 0).expect("appended");
    }
    let before = all(&model);
    // What a write leaves that was killed: most of its lines.
    let path = super::ledger_files::folder(home.path()).join("events.ndjson");
    let whole = fs::metadata(&path).expect("there").len();
    log.append(eight()).expect("appended");
    let torn = fs::read(&path).expect("a file");
    assert!(torn.len() > usize::try_from(whole).expect("small") + 3_000);
    super::ledger_files::put(&path, &torn[..torn.len() - 40]);
    let image = Image::read(home.path()).expect("an image");
    let (disk, start) = (Disk::new(), Disk::new());
    disk.plant(TOP, &image);
    start.plant(TOP, &image);
    let (scratch, mut tried) = (TempDir::new().expect("a directory"), Tried::default());
    let (log, _files) = recorded(&disk, home.path(), IntegrityMode::Checksum);
    disk.start_record();
    let other = append((0..9).map(|_| said("s", "u", &"other ".repeat(55))).collect());
    log.append(other.clone()).expect("appended");
    model.append(other).expect("appended");
    let allowed = [before, all(&model)];
    let mut platter = Platter::new(&start);
    for (number, op) in disk.end_record().iter().enumerate() {
        platter.follow(op);
        for seed in 0..40 {
            let keep = Keep::Random(seed * 100_003 + u64::try_from(number).expect("small"));
            let place = format!("operation {number}, {keep:?}");
            look_at(scratch.path(), &platter.cut(TOP, keep), &allowed, &place, &mut tried).expect("a folder");
        }
    }
    assert_eq!(tried.wrong(), Vec::<&String>::new());
}

#[test]
fn an_index_outlives_no_event_in_a_power_cut() {
    let (disk, before) = (empty_disk(), empty_disk());
    let home = TempDir::new().expect("a directory");
    let (log, _files) = recorded(&disk, home.path(), IntegrityMode::Checksum);
    disk.start_record();
    for number in 0..4 {
        let events = vec![said("s", &format!("t{number}"), "short"); 1 + number];
        log.append(Append { durability: Durability::None, ..append(events) }).expect("appended");
    }
    log.close().expect("closed");
    drop(log);
    let mut platter = Platter::new(&before);
    for (number, op) in disk.end_record().iter().enumerate() {
        platter.follow(op);
        let random = (0..4).map(|seed| Keep::Random(seed * 100_003 + u64::try_from(number).expect("small")));
        for keep in [Keep::All, Keep::Nothing, Keep::Names, Keep::Data, Keep::Last].into_iter().chain(random)
        {
            let home = TempDir::new().expect("a directory");
            platter.cut(TOP, keep).write(home.path()).expect("a folder");
            let place = format!("operation {number}, {keep:?}");
            // Without a restore: programs only go on.
            let log = FileLog::open(home.path(), FileLogOptions::default()).expect("a log");
            for _ in 0..8 {
                log.append(append(vec![said("s", "u", &"longer ".repeat(50))]))
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
            }
            let expected = all(&log);
            drop(log);
            let log = FileLog::open(home.path(), FileLogOptions::default()).expect("a log");
            let found = log.events(&id("p"), &EventQuery::after(None, 1_000));
            assert_eq!(found.unwrap_or_else(|error| panic!("{place}: {error}")), expected, "{place}");
        }
    }
}

#[test]
fn a_panic_while_appending_leaves_nobody_waiting() {
    for change in 0..8 {
        let disk = empty_disk();
        let home = TempDir::new().expect("a directory");
        let (log, _files) = recorded(&disk, home.path(), IntegrityMode::Checksum);
        log.append(append(vec![said("s", "t", "first")])).expect("appended");
        let log = Arc::new(log);
        // Nobody writes before all are there.
        let gate = fs::File::open(super::ledger_files::folder(home.path()).join("lock")).expect("a file");
        gate.try_lock().expect("locked");
        let (told, ended) = mpsc::channel();
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let (log, told) = (Arc::clone(&log), told.clone());
                thread::spawn(move || {
                    let done = log.append(append(vec![said("s", "t", &number.to_string())]));
                    told.send(done.is_ok()).expect("somebody listens");
                })
            })
            .collect();
        drop(told);
        disk.panic_at(change);
        drop(gate);
        let mut done = 0;
        loop {
            match ended.recv_timeout(Duration::from_mins(1)) {
                Ok(is_ok) => done += usize::from(is_ok),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("somebody waits for ever"),
            }
        }
        let panicked = threads.into_iter().filter_map(|thread| thread.join().err()).count();
        assert!(panicked <= 1, "{panicked} panics");
        assert!(panicked == 1 || done == 8, "{done} done");
        disk.disarm();
        let now = log.append(append(vec![said("s", "t", "last")])).expect("it goes on");
        let events = all(log.as_ref());
        assert_eq!(u64::try_from(events.len()).expect("small"), now.last.get());
        assert!(events.len() >= done + 2, "{} events and {done} done", events.len());
    }
}

/// Raw output of so many events.
fn output(events: usize) -> Append {
    let event = NewEvent { replayable: false, ..said("s", topics::AGENT_OUTPUT, "x") };
    append(vec![event; events])
}

fn epoch(log: &FileLog) -> u64 {
    log.ledger(&id("p")).expect("a read").expect("there").epoch
}

#[test]
fn a_file_that_cannot_be_written_anew_is_tried_again_when_it_is_worth_twice_as_much() {
    let disk = empty_disk();
    let home = TempDir::new().expect("a directory");
    let (log, _files) = recorded(&disk, home.path(), IntegrityMode::Checksum);
    for _ in 0..4 {
        log.append(output(4_096)).expect("appended");
    }
    let before = epoch(&log);
    // After the write and its sync comes what is written anew.
    disk.arm(Fault { failure: Failure::Io, at: 2 });
    log.append(output(4_096)).expect("appended");
    assert!(disk.disarm());
    let told =
        |log: &FileLog| log.findings().iter().any(|finding| matches!(finding, Finding::NotRewritten { .. }));
    assert!(told(&log));
    for _ in 0..2 {
        log.append(output(4_096)).expect("appended");
        assert_eq!(epoch(&log), before, "it is not tried each time, and its failure ends no fold");
    }
    log.append(output(4_096)).expect("appended");
    assert_eq!(epoch(&log), before + 1, "it is worth twice as much");
    assert!(!told(&log));
}

#[test]
fn a_long_file_is_not_written_anew_for_a_small_part_of_it() {
    let home = TempDir::new().expect("a directory");
    let log = FileLog::open(home.path(), FileLogOptions::default()).expect("a log");
    log.append(append(vec![said("s", "t", &"x".repeat(3_500_000)); 3])).expect("appended");
    let before = epoch(&log);
    for _ in 0..5 {
        log.append(output(4_096)).expect("appended");
    }
    assert_eq!(epoch(&log), before);
    let topic = Topic::new(topics::AGENT_OUTPUT).expect("a name");
    let receipt = log.receipt(&id("p"), &topic).expect("a read").expect("some went");
    assert_eq!(receipt.events, 12_288, "readers do not see it even so");
}

#[test]
fn what_is_forgotten_after_a_failure_is_gone_in_a_power_cut() {
    let mut reached = 0;
    for at in 0.. {
        let (disk, before) = (empty_disk(), empty_disk());
        let home = TempDir::new().expect("a directory");
        let (log, _files) = recorded(&disk, home.path(), IntegrityMode::Checksum);
        disk.start_record();
        for number in [0, 1, 3] {
            step(&log, number).expect("nothing fails");
        }
        disk.arm(Fault { failure: Failure::Io, at });
        let failed = step(&log, FORGETTING).is_err();
        disk.disarm();
        step(&log, FORGETTING).expect("forgotten");
        let mut platter = Platter::new(&before);
        disk.end_record().iter().for_each(|op| platter.follow(op));
        for keep in [Keep::All, Keep::Nothing, Keep::Names, Keep::Data, Keep::Last] {
            let image = platter.cut(TOP, keep);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(FORGOTTEN);
            assert!(!image.files().any(|(_, bytes)| text(bytes)), "operation {at}, {keep:?}");
        }
        if !failed {
            break;
        }
        reached += 1;
    }
    assert!(reached > 8, "{reached} operations failed");
}
