//! Ledgers as files on a disk that fails, is full, or loses its power: clear errors, nothing acknowledged is lost.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use stemmata_model::{Event, Json, SessionId, Timestamp, Topic, topics};
use stemmata_store::{
    Append, Durability, EventLog, EventQuery, FileLog, FileLogOptions, IntegrityMode, LedgerChange,
    MemoryLog, SavedState, StoreError, StoreErrorKind,
};
use stemmata_testkit::disk::{Disk, Failure, Fault, Image, Keep, Op, Platter};
use stemmata_testkit::files::RecordedFiles;
use tempfile::TempDir;

use super::ledger_files::{all, append, id, restore, said, seq};

/// The folder of the disk that stands for the home.
const TOP: &str = "home";

/// What is done, one after the other.
const STEPS: usize = 11;

fn step(log: &dyn EventLog, number: usize) -> Result<(), StoreError> {
    let words =
        |text: &str| vec![said("go", "t", text), said("keep", "u", "plain"), said("keep", "t", "plain")];
    let with = |durability, text: &str| log.append(Append { durability, ..append(words(text)) }).map(drop);
    match number {
        0 => with(Durability::Batch, "hush one"),
        1 => with(Durability::Full, &"two ".repeat(400)),
        2 => with(Durability::None, "hush three"),
        3 => log.save_states(
            &id("p"),
            vec![SavedState {
                name: "memory".to_owned(),
                version: 1,
                through: 5,
                position: None,
                state: Json::parse("\"hush\"").expect("JSON"),
            }],
        ),
        4 => with(Durability::Batch, "four"),
        5 => log.trim(&id("p"), &Topic::new("u").expect("a name"), seq(5)).map(drop),
        6 => with(Durability::None, "six"),
        7 => log.change_ledger(LedgerChange {
            ledger: id("p"),
            now: Timestamp::EPOCH,
            root: Some("/src".to_owned()),
            compacted_at: None,
            marks: vec!["m".to_owned()],
        }),
        8 => log.forget_events(&SessionId::new("go").expect("a name")).map(drop),
        9 => with(Durability::Batch, "nine"),
        _ => log.close(),
    }
}

fn recorded(disk: &Disk, home: &Path, mode: IntegrityMode) -> (FileLog, Arc<RecordedFiles>) {
    let files = Arc::new(RecordedFiles::new(disk, TOP, home).expect("a folder"));
    let options = FileLogOptions {
        integrity: mode,
        files: Arc::<RecordedFiles>::clone(&files),
        ..FileLogOptions::default()
    };
    (FileLog::open(home, options).expect("a log"), files)
}

/// What the model has after each step, from none on.
fn models() -> Vec<Vec<Event>> {
    let model = MemoryLog::new();
    let mut models = vec![Vec::new()];
    for number in 0..STEPS {
        step(&model, number).expect("the model does all");
        models.push(all(&model));
    }
    models
}

#[test]
fn a_failure_at_any_operation_is_told_and_loses_nothing() {
    let models = models();
    let mut reached = 0;
    for failure in Failure::ALL {
        for at in 0.. {
            let disk = Disk::new();
            disk.plant(TOP, &Image::default());
            let home = TempDir::new().expect("a directory");
            let (log, _files) = recorded(&disk, home.path(), IntegrityMode::Chain);
            disk.arm(Fault { failure, at });
            let mut failed = false;
            for (number, model) in models.iter().enumerate().take(STEPS) {
                let place = format!("{failure:?} at {at}, step {number}");
                if let Err(error) = step(&log, number) {
                    failed = true;
                    let kind = error.kind();
                    assert!(
                        matches!(kind, StoreErrorKind::Full | StoreErrorKind::System),
                        "{place}: {error}"
                    );
                    assert_eq!(kind == StoreErrorKind::Full, failure == Failure::Full, "{place}: {error}");
                    disk.disarm();
                    let is_append = !matches!(number, 3 | 5 | 7 | 8);
                    if is_append {
                        assert_eq!(&all(&log), model, "{place}: nothing is appended");
                    }
                    step(&log, number).unwrap_or_else(|error| panic!("{place}: it works again: {error}"));
                }
            }
            let was_reached = disk.disarm() || failed;
            assert_eq!(all(&log), models[STEPS], "{failure:?} at {at}");
            let log = FileLog::open(home.path(), FileLogOptions::default()).expect("a log");
            assert_eq!(all(&log), models[STEPS], "{failure:?} at {at}");
            let restored = restore(&log);
            assert!(
                restored.findings.iter().all(|finding| !finding.stops()),
                "{failure:?} at {at}: {restored:?}"
            );
            if !was_reached {
                break;
            }
            reached += 1;
        }
    }
    assert!(reached > 150, "{reached} operations failed");
}

/// Which steps are durable when they return, and so make durable what came before.
const fn is_durable(number: usize) -> bool {
    !matches!(number, 2 | 6 | 7 | 10)
}

#[test]
fn a_power_cut_at_any_operation_loses_nothing_that_was_acknowledged() {
    let models = models();
    let disk = Disk::new();
    disk.plant(TOP, &Image::default());
    let before = Disk::new();
    before.plant(TOP, &Image::default());
    let home = TempDir::new().expect("a directory");
    let (log, files) = recorded(&disk, home.path(), IntegrityMode::Checksum);
    disk.start_record();
    for number in 0..STEPS {
        step(&log, number).expect("nothing fails");
        files.catch_up().expect("a look");
        disk.mark(u64::try_from(number).expect("small"));
    }
    let mut platter = Platter::new(&before);
    let (mut done, mut durable, mut states, mut seen) = (0, 0, 0, BTreeSet::new());
    for (number, op) in disk.end_record().iter().enumerate() {
        platter.follow(op);
        if let Op::Mark(step) = op {
            done = usize::try_from(*step).expect("small") + 1;
            durable = if is_durable(done - 1) { done } else { durable };
        }
        let mut keeps = vec![Keep::All, Keep::Nothing, Keep::Names, Keep::Data, Keep::Last];
        for at in 1..platter.last_sectors().unwrap_or_default() {
            keeps.extend([Keep::Head(at), Keep::Tail(at)]);
        }
        keeps.extend((0..6).map(|seed| Keep::Random(seed * 100_003 + u64::try_from(number).expect("small"))));
        for keep in keeps {
            let image = platter.cut(TOP, keep);
            if seen.insert((done, image.fingerprint())) {
                states += 1;
                let place = format!("operation {number} after step {done}, {keep:?}");
                look_at(&image, &models[durable..=(done + 1).min(STEPS)], &place);
                let is_forgotten = done >= 9;
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("hush");
                assert!(!is_forgotten || !image.files().any(|(_, bytes)| text(bytes)), "{place}: forgotten");
            }
        }
    }
    assert!(states > 100, "{states} states");
}

#[test]
fn a_power_cut_after_a_torn_end_was_cut_off_mixes_nothing() {
    let home = TempDir::new().expect("a directory");
    let log = FileLog::open(home.path(), FileLogOptions::default()).expect("a log");
    let model = MemoryLog::new();
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
            look_at(&platter.cut(TOP, keep), &allowed, &format!("operation {number}, {keep:?}"));
        }
    }
}

/// Opens what a power cut left: it is one of the states that it may be, and goes on.
fn look_at(image: &Image, allowed: &[Vec<Event>], place: &str) {
    let home = TempDir::new().expect("a directory");
    image.write(home.path()).expect("a folder");
    let log = FileLog::open(home.path(), FileLogOptions::default()).expect("a log");
    let restored = restore(&log);
    assert!(restored.findings.iter().all(is_harmless), "{place}: {:?}", restored.findings);
    let events = all(&log);
    assert!(allowed.contains(&events), "{place}: {} events, and {:?}", events.len(), restored.findings);
    let appended =
        log.append(append(vec![said("s", "t", "on")])).unwrap_or_else(|error| panic!("{place}: {error}"));
    assert_eq!(usize::try_from(appended.first.get()).expect("small"), events.len() + 1, "{place}");
    assert_eq!(all(&log)[..events.len()], events, "{place}");
    let query = EventQuery::after(None, 1_000);
    let other = FileLog::open(home.path(), FileLogOptions::default()).expect("a log");
    assert_eq!(other.events(&id("p"), &query).expect("a read").len(), events.len() + 1, "{place}");
    drop(fs::remove_dir_all(home.path()));
}

fn is_harmless(finding: &stemmata_store::Finding) -> bool {
    use stemmata_store::Finding;
    matches!(
        finding,
        Finding::TornLine { .. }
            | Finding::TornBatch { .. }
            | Finding::ForeignSession { .. }
            | Finding::SnapshotAhead { .. }
    )
}

#[test]
fn an_index_outlives_no_event_in_a_power_cut() {
    let disk = Disk::new();
    disk.plant(TOP, &Image::default());
    let before = Disk::new();
    before.plant(TOP, &Image::default());
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
        let disk = Disk::new();
        disk.plant(TOP, &Image::default());
        let home = TempDir::new().expect("a directory");
        let (log, _files) = recorded(&disk, home.path(), IntegrityMode::Checksum);
        log.append(append(vec![said("s", "t", "first")])).expect("appended");
        let log = Arc::new(log);
        // Nobody writes before all are there.
        let gate = fs::File::open(super::ledger_files::folder(home.path()).join("lock")).expect("a file");
        gate.lock().expect("locked");
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
    let event = stemmata_model::NewEvent { replayable: false, ..said("s", topics::AGENT_OUTPUT, "x") };
    append(vec![event; events])
}

fn epoch(log: &FileLog) -> u64 {
    log.ledger(&id("p")).expect("a read").expect("there").epoch
}

#[test]
fn a_file_that_cannot_be_written_anew_is_tried_again_when_it_is_worth_twice_as_much() {
    let disk = Disk::new();
    disk.plant(TOP, &Image::default());
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
    let told = |log: &FileLog| {
        log.findings().iter().any(|finding| matches!(finding, stemmata_store::Finding::NotRewritten { .. }))
    };
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
        let (disk, before) = (Disk::new(), Disk::new());
        disk.plant(TOP, &Image::default());
        before.plant(TOP, &Image::default());
        let home = TempDir::new().expect("a directory");
        let (log, _files) = recorded(&disk, home.path(), IntegrityMode::Checksum);
        disk.start_record();
        for number in [0, 1, 3] {
            step(&log, number).expect("nothing fails");
        }
        disk.arm(Fault { failure: Failure::Io, at });
        let failed = step(&log, 8).is_err();
        disk.disarm();
        step(&log, 8).expect("forgotten");
        let mut platter = Platter::new(&before);
        disk.end_record().iter().for_each(|op| platter.follow(op));
        for keep in [Keep::All, Keep::Nothing, Keep::Names, Keep::Data, Keep::Last] {
            let image = platter.cut(TOP, keep);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("hush");
            assert!(!image.files().any(|(_, bytes)| text(bytes)), "operation {at}, {keep:?}");
        }
        if !failed {
            break;
        }
        reached += 1;
    }
    assert!(reached > 8, "{reached} operations failed");
}
