//! Ledgers as folders of files: the contract, what is on the disk, and what a restore says of it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stemmata_model::{Event, Json, NewEvent, NewPayload, Payload, Timestamp, Topic, topics};
use stemmata_store::conformance::ledger::{self as suite, builders};
use stemmata_store::{
    Append, EventLog, EventQuery, FileLog, FileLogOptions, Finding, IntegrityMode, LedgerChange, Places,
    Restored, SavedState, StoreError,
};
use stemmata_testkit::memory::MemoryStore;
use tempfile::TempDir;

pub(crate) use stemmata_store::conformance::ledger::builders::{ledger as id, said, seq};

pub(crate) const MODES: [IntegrityMode; 3] =
    [IntegrityMode::None, IntegrityMode::Checksum, IntegrityMode::Chain];

pub(crate) fn options(integrity: IntegrityMode) -> FileLogOptions {
    FileLogOptions { integrity, ..FileLogOptions::default() }
}

pub(crate) fn open(home: &Path) -> FileLog {
    FileLog::open(home, FileLogOptions::default()).expect("a log")
}

pub(crate) fn append(events: Vec<NewEvent>) -> Append {
    Append { now: Timestamp::from_micros(1_790_000_000_000_000), ..builders::append("p", events) }
}

pub(crate) fn all(log: &dyn EventLog) -> Vec<Event> {
    builders::all(log, "p")
}

pub(crate) fn restore(log: &FileLog) -> Restored {
    log.restore(&id("p"), Timestamp::from_micros(5)).expect("a restore")
}

/// The folder of ledger `p`.
pub(crate) fn folder(home: &Path) -> PathBuf {
    home.join("contexts-v2/p")
}

pub(crate) fn put(path: &Path, bytes: &[u8]) {
    fs::File::create(path).and_then(|mut file| file.write_all(bytes)).expect("a file");
}

pub(crate) fn saved(through: u64) -> SavedState {
    let state = builders::saved("memory", through, "{\"turns\":[1]}");
    SavedState { version: 2, position: Some("here".to_owned()), ..state }
}

/// Three batches of session `s`, the second one of three events, and a saved state.
pub(crate) fn sample(home: &Path, mode: IntegrityMode) -> Vec<Event> {
    let log = FileLog::open(home, options(mode)).expect("a log");
    log.append(append(vec![said("s", topics::SESSION_STARTED, "begin")])).expect("appended");
    let data =
        NewPayload::Plain { text: None, data: Some(Json::parse("{\"n\":9007199254740993}").expect("JSON")) };
    let line = NewPayload::Line(Json::parse("{\"v\":\"stemmata-v1\",\"id\":\"ä\"}").expect("JSON"));
    let batch = vec![
        said("s", "user_turn", "does it rain?\n\u{0}"),
        NewEvent { payload: data, ..said("s", "tool_event", "") }
            .with_metadata(Json::parse("null").expect("JSON")),
        NewEvent { payload: line, ..said("s", "assistant_turn", "") },
    ];
    log.append(append(batch)).expect("appended");
    log.append(append(vec![said("s", "user_turn", "thanks")])).expect("appended");
    log.save_states(&id("p"), vec![saved(4)]).expect("saved");
    all(&log)
}

/// Adds the checksum that the files of the layout end with.
pub(crate) fn sealed(object: &str) -> Vec<u8> {
    let open = object.strip_suffix('}').expect("an object");
    let hash = blake3::hash(open.as_bytes()).to_hex();
    format!("{open},\"checksum\":\"{}\"}}\n", &hash[..16]).into_bytes()
}

#[test]
fn a_folder_of_files_is_a_log() {
    let home = TempDir::new().expect("a directory");
    for mode in MODES {
        let mut number = 0;
        let mut make = || -> Arc<dyn EventLog> {
            number += 1;
            let folder = home.path().join(format!("{mode:?}-{number}"));
            fs::create_dir(&folder).expect("a folder");
            Arc::new(FileLog::open(&folder, options(mode)).expect("a log"))
        };
        suite::run(&mut make);
    }
}

#[test]
fn what_was_acknowledged_is_there_after_it_was_opened_again() {
    let home = TempDir::new().expect("a directory");
    for is_closed in [false, true] {
        let home = home.path().join(is_closed.to_string());
        fs::create_dir(&home).expect("a folder");
        suite::check_reopened(&mut || Arc::new(open(&home)), &mut |log| {
            if is_closed {
                log.close().expect("closed");
            }
            drop(log);
            Arc::new(open(&home))
        });
    }
}

#[test]
fn numbers_go_on_beyond_what_a_float_holds() {
    let last = (1_u64 << 53) + 1;
    for first in [last + 1, u64::MAX >> 1] {
        let home = TempDir::new().expect("a directory");
        fs::create_dir_all(folder(home.path())).expect("a folder");
        put(&folder(home.path()).join("events.ndjson"), b"");
        let meta = format!(
            "{{\"schema_version\":2,\"project_id\":\"p\",\"project_root\":null,\"created_at\":\"1970-01-01T00:00:00.000000Z\",\
             \"last_compacted_at\":null,\"integrity_mode\":\"chain\",\"first_event_seq\":\"{first}\",\"generation\":\"1\",\
             \"marks\":[]}}"
        );
        put(&folder(home.path()).join("meta.json"), &sealed(&meta));
        let log = open(home.path());
        if first == last + 1 {
            suite::check_great_numbers(&log, "p", last);
            suite::check_great_numbers(&open(home.path()), "p", last + 2);
            let restored = restore(&open(home.path()));
            assert_eq!((restored.replay_from, restored.events), (last, 4));
        } else {
            log.append(append(vec![said("s", "t", "the last")])).expect("one more");
            let beyond = log.append(append(vec![said("s", "t", "beyond")]));
            assert!(matches!(beyond, Err(StoreError::Bound { .. })), "{beyond:?}");
            assert_eq!(all(&log).len(), 1);
        }
    }
}

#[test]
fn lines_are_what_the_specification_shows() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Chain);
    let document = include_str!("../../../../docs/format/ledger-files.md");
    let texts = ["meta.json", "events.ndjson", "snapshot.json"]
        .map(|name| fs::read_to_string(folder(home.path()).join(name)).expect("a file"));
    let missing: Vec<&str> =
        texts.iter().flat_map(|text| text.lines()).filter(|line| !document.contains(line)).collect();
    assert!(missing.is_empty(), "the document does not show:\n{}", missing.join("\n"));
}

#[test]
fn an_event_is_found_by_its_words_and_its_number_in_the_file() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Checksum);
    let text = fs::read_to_string(folder(home.path()).join("events.ndjson")).expect("a file");
    let found: Vec<&str> = text.lines().filter(|line| line.contains("\"text\":\"thanks\"")).collect();
    assert!(matches!(found[..], [line] if line.starts_with("{\"event_seq\":\"5\",\"session_id\":\"s\"")));
    assert_eq!(text.lines().count(), 5);
}

#[cfg(unix)]
#[test]
fn folders_and_files_are_their_owners_alone_and_links_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Checksum);
    open(home.path()).close().expect("closed");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    let folder = folder(home.path());
    assert_eq!((mode(&home.path().join("contexts-v2")), mode(&folder)), (0o700, 0o700));
    for entry in fs::read_dir(&folder).expect("a folder") {
        assert_eq!(mode(&entry.expect("an entry").path()), 0o600);
    }
    let elsewhere = home.path().join("elsewhere");
    fs::rename(folder.join("events.ndjson"), &elsewhere).expect("moved");
    symlink(&elsewhere, folder.join("events.ndjson")).expect("a link");
    let log = open(home.path());
    assert!(log.events(&id("p"), &EventQuery::after(None, 9)).is_err());
    let before = fs::read(&elsewhere).expect("a file");
    assert!(log.append(append(vec![said("s", "t", "x")])).is_err());
    assert_eq!(fs::read(&elsewhere).expect("a file"), before);
}

#[test]
fn two_programs_see_what_the_other_does() {
    let home = TempDir::new().expect("a directory");
    let (one, other) = (open(home.path()), open(home.path()));
    for round in 0..4_u64 {
        let text = format!("round {round}");
        one.append(append(vec![said("s", "t", &text), said("go", "u", &text)])).expect("appended");
        assert_eq!(all(&other), all(&one));
        other.append(append(vec![said("go", "u", &text)])).expect("appended");
        assert_eq!(one.ledger(&id("p")).expect("a read").expect("there").last, (round + 1) * 3);
        // Written anew by one, appended to by the other.
        assert!(one.trim(&id("p"), &builders::topic("t"), seq(round * 3 + 1)).expect("trimmed") > 0);
        assert_eq!(all(&other), all(&one));
    }
    assert_eq!(other.forget_events(&builders::session("go")).expect("forgotten"), 8);
    assert_eq!(all(&one), all(&other));
    let refused = one.append(Append { expected: Some(11), ..append(vec![said("s", "t", "x")]) });
    assert!(matches!(refused, Err(StoreError::SequenceMoved { expected: 11, found: 12, .. })), "{refused:?}");
}

#[test]
fn nothing_is_made_for_an_append_that_cannot_be_done() {
    let home = TempDir::new().expect("a directory");
    let log = open(home.path());
    let refused = log.append(Append { expected: Some(3), ..append(vec![said("s", "t", "x")]) });
    assert!(matches!(refused, Err(StoreError::SequenceMoved { found: 0, .. })), "{refused:?}");
    assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0);
}

#[test]
fn a_reader_writes_nothing_and_keeps_no_reader_out() {
    let home = TempDir::new().expect("a directory");
    let read_only = || {
        FileLog::open(home.path(), FileLogOptions { read_only: true, ..FileLogOptions::default() })
            .expect("a log")
    };
    assert_eq!(all(&read_only()), []);
    assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0);
    let events = sample(home.path(), IntegrityMode::Checksum);
    let path = folder(home.path()).join("events.ndjson");
    let torn = [fs::read(&path).expect("a file").as_slice(), b"{\"event_seq\":\"6\""].concat();
    put(&path, &torn);
    let log = read_only();
    assert_eq!(all(&log), events);
    let restored = restore(&log);
    assert!(matches!(restored.findings[..], [Finding::TornLine { line: 6, .. }]), "{:?}", restored.findings);
    assert_eq!(fs::read(&path).expect("a file"), torn, "nothing is cut off");
    let refused = log.append(append(vec![said("s", "t", "x")]));
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
    assert!(matches!(log.repair(&id("p")), Err(StoreError::ReadOnly { .. })));
}

#[test]
fn what_was_forgotten_is_in_no_file() {
    for mode in MODES {
        let home = TempDir::new().expect("a directory");
        let log = FileLog::open(home.path(), options(mode)).expect("a log");
        let secret = |text: &str| {
            said("go", "t", text).with_metadata(Json::parse(&format!("{{\"m\":\"{text}\"}}")).expect("JSON"))
        };
        log.append(append(vec![secret("hush-1"), said("keep", "t", "stays")])).expect("appended");
        log.append(append(vec![said("x", topics::STATE_SNAPSHOT, "hush-2")])).expect("appended");
        let state = Json::parse("\"hush-3\"").expect("JSON");
        log.save_states(&id("p"), vec![SavedState { state, ..saved(3) }]).expect("saved");
        put(&folder(home.path()).join("quarantine.ndjson"), b"{\"text\":\"hush-4\"}\n");
        put(&folder(home.path()).join(".stemma-1-0.tmp"), b"hush-5");
        log.close().expect("closed");
        let log = open(home.path());
        assert_eq!(log.forget_events(&builders::session("go")).expect("forgotten"), 2);
        for entry in fs::read_dir(folder(home.path())).expect("a folder") {
            let path = entry.expect("an entry").path();
            let text = String::from_utf8(fs::read(&path).expect("a file")).expect("text");
            assert!(!text.contains("hush"), "{mode:?} {}", path.display());
        }
        let restored = restore(&open(home.path()));
        assert!(restored.findings.iter().all(|finding| matches!(finding, Finding::ForeignSession { .. })));
        assert_eq!((restored.events, restored.states), (3, Vec::new()));
    }
}

#[test]
fn raw_output_leaves_the_file_in_the_long_run() {
    let home = TempDir::new().expect("a directory");
    let (log, model) = (open(home.path()), MemoryStore::default());
    let text = "x".repeat(600_000);
    for number in 0..40 {
        let event = said("s", topics::AGENT_OUTPUT, &format!("{number} {text}"));
        for log in [&log as &dyn EventLog, &model] {
            log.append(append(vec![event.clone()])).expect("appended");
        }
        if number % 13 == 0 {
            assert_eq!(all(&open(home.path())), all(&model), "after {number}");
        }
    }
    assert_eq!(all(&log), all(&model));
    let topic = Topic::new(topics::AGENT_OUTPUT).expect("a name");
    assert_eq!(open(home.path()).receipt(&id("p"), &topic).ok(), model.receipt(&id("p"), &topic).ok());
    let bytes = fs::metadata(folder(home.path()).join("events.ndjson")).expect("there").len();
    assert!(bytes < 18 * 1024 * 1024, "{bytes} bytes of 24 MB");
}

#[test]
fn a_restore_says_what_there_is() {
    let home = TempDir::new().expect("a directory");
    assert_eq!(restore(&open(home.path())).ledger, None);
    let events = sample(home.path(), IntegrityMode::Chain);
    let log = open(home.path());
    let restored = restore(&log);
    let ledger = restored.ledger.as_ref().expect("a ledger");
    assert_eq!((ledger.last, ledger.last_at), (5, events.last().map(|event| event.at)));
    assert_eq!((restored.replay_from, restored.events), (4, 5));
    assert_eq!((&restored.states, &restored.findings), (&vec![saved(4)], &vec![]));
    assert!(restored.link.as_ref().is_some_and(|link| link.len() == 64));
    assert_eq!(restore(&log), restored, "twice is the same");
    log.append(append(vec![said("s", "t", "goes on")])).expect("appended");
}

/// Changes a file of the sample, and returns what a restore says and what is there after it.
fn damaged(name: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> (TempDir, Restored, Vec<Event>) {
    let home = TempDir::new().expect("a directory");
    let events = sample(home.path(), IntegrityMode::Checksum);
    let path = folder(home.path()).join(name);
    put(&path, &change(fs::read(&path).expect("a file")));
    let restored = restore(&open(home.path()));
    (home, restored, events)
}

/// Cuts a text into lines with their newlines.
pub(crate) fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Damages the third line of the sample's events. Returns its first byte.
pub(crate) fn flip_in_third_line(home: &Path) -> usize {
    let path = folder(home).join("events.ndjson");
    let mut bytes = fs::read(&path).expect("a file");
    let begin = lines(&bytes)[..2].concat().len();
    bytes[begin + 40] ^= 1;
    put(&path, &bytes);
    begin
}

#[test]
fn a_torn_last_line_is_dropped_and_told() {
    let (home, restored, events) = damaged("events.ndjson", |bytes| bytes[..bytes.len() - 9].to_vec());
    let [Finding::TornLine { line: 5, byte, bytes, .. }] = &restored.findings[..] else {
        panic!("{:?}", restored.findings)
    };
    let length = fs::metadata(folder(home.path()).join("events.ndjson")).expect("there").len();
    assert!(*byte == length && *bytes > 100, "what does not count was cut off");
    assert_eq!(restored.findings[0].to_string().matches("line 5").count(), 1);
    assert_eq!(all(&open(home.path())), events[..4]);
    assert_eq!(restore(&open(home.path())).findings, [], "it is told once");
    open(home.path()).append(append(vec![said("s", "t", "on")])).expect("appended");
}

#[test]
fn a_torn_last_batch_is_dropped_whole_and_told() {
    // Nothing else knows of that batch.
    let home = TempDir::new().expect("a directory");
    let events = sample(home.path(), IntegrityMode::Checksum);
    let path = folder(home.path()).join("events.ndjson");
    fs::remove_file(path.with_file_name("snapshot.json")).expect("gone");
    put(&path, &lines(&fs::read(&path).expect("a file"))[..3].concat());
    let restored = restore(&open(home.path()));
    assert!(
        matches!(restored.findings[..], [Finding::TornBatch { line: 4, events: 2, .. }]),
        "{:?}",
        restored.findings
    );
    assert_eq!(all(&open(home.path())), events[..1]);
}

#[test]
fn an_end_that_the_saved_states_know_is_lost_and_no_number_comes_again() {
    let memory = Topic::new("user_turn").expect("a name");
    for (kept, lost) in [(3, vec![4]), (1, vec![2, 3, 4]), (0, vec![1, 2, 3, 4])] {
        let (home, restored, events) = damaged("events.ndjson", |bytes| lines(&bytes)[..kept].concat());
        // Half of a batch is there: what it began with is an event still.
        let whole = if kept == 3 { 1 } else { kept };
        let last = u64::try_from(whole).expect("small");
        let [finding @ Finding::CutShort { last: told, known: 4, .. }, Finding::SnapshotAhead { .. }] =
            &restored.findings[..]
        else {
            panic!("{:?}", restored.findings)
        };
        assert!(*told == last && finding.stops(), "{finding}");
        let log = open(home.path());
        for refused in [
            log.append(append(vec![said("s", "t", "x")])).err(),
            log.events(&id("p"), &EventQuery::latest(memory.clone(), 1)).err(),
        ] {
            assert!(matches!(refused, Some(StoreError::LedgerDamaged { .. })), "{refused:?}");
        }
        assert!(folder(home.path()).join("snapshot.json").exists(), "it is what proves it");
        let repaired = log.repair(&id("p")).expect("repaired");
        let numbers: Vec<_> = lost.into_iter().map(seq).collect();
        assert_eq!((repaired.quarantined, &repaired.lost), (0, &numbers));
        let after = all(&log);
        assert_eq!(after[..kept], events[..kept]);
        assert_eq!(after.len(), 4);
        assert!(after[kept..].iter().all(|event| event.topic.as_str() == "EVENT_LOST"));
        assert_eq!(log.saved_states(&id("p"), "").expect("a read"), [], "what had seen them is folded anew");
        let appended = log.append(append(vec![said("s", "t", "on")])).expect("appended");
        assert_eq!(appended.first.get(), 5);
        assert!(restore(&log).findings.iter().all(|finding| !finding.stops()));
    }
}

#[test]
fn states_that_folded_a_lost_event_are_dropped_and_cursors_stay() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Checksum);
    let log = open(home.path());
    let state_of = |name: &str, through| SavedState { name: name.to_owned(), ..saved(through) };
    log.save_states(
        &id("p"),
        vec![state_of("early", 2), state_of("memory", 3), state_of("cursor/reader", 5)],
    )
    .expect("saved");
    drop(log);
    flip_in_third_line(home.path());
    let log = open(home.path());
    assert_eq!(log.repair(&id("p")).expect("repaired").lost, [seq(3)]);
    let states = log.saved_states(&id("p"), "").expect("a read");
    let names: Vec<&str> = states.iter().map(|state| state.name.as_str()).collect();
    assert_eq!(names, ["cursor/reader", "early"]);
}

#[test]
fn what_an_editor_adds_around_lines_takes_no_event() {
    let home = TempDir::new().expect("a directory");
    let events = sample(home.path(), IntegrityMode::Chain);
    let path = folder(home.path()).join("events.ndjson");
    let text = fs::read_to_string(&path).expect("text");
    put(&path, format!("\n{}\n", text.replace('\n', "\r\n")).as_bytes());
    let log = open(home.path());
    let repaired = log.repair(&id("p")).expect("repaired");
    assert_eq!((repaired.quarantined, repaired.lost), (2, vec![]));
    assert_eq!(all(&log), events);
    assert!(restore(&log).findings.is_empty());
    assert_eq!(fs::read_to_string(&path).expect("text").matches('\r').count(), 0);
}

#[test]
fn an_append_cuts_a_torn_end_by_itself_and_notes_it() {
    let home = TempDir::new().expect("a directory");
    let events = sample(home.path(), IntegrityMode::Checksum);
    let path = folder(home.path()).join("events.ndjson");
    let bytes = fs::read(&path).expect("a file");
    put(&path, &[&bytes[..], b"{\"event_seq\":\"6\",\"sess"].concat());
    let log = open(home.path());
    let appended = log.append(append(vec![said("s", "t", "x")])).expect("appended");
    assert_eq!(appended.first, seq(6));
    assert!(matches!(log.findings()[..], [Finding::TornLine { line: 6, bytes: 22, .. }]));
    assert_eq!(log.findings(), []);
    assert_eq!(all(&log)[..5], events);
    assert!(fs::read(&path).expect("a file").starts_with(&bytes));
}

#[test]
fn a_snapshot_that_is_no_json_is_ignored_and_told() {
    let (_, restored, _) = damaged("snapshot.json", |bytes| bytes[1..].to_vec());
    let [Finding::SnapshotUnreadable { reason, .. }] = &restored.findings[..] else { panic!("{restored:?}") };
    assert!(reason.contains("not a snapshot"), "{reason}");
    assert_eq!((restored.states, restored.replay_from, restored.events), (vec![], 0, 5));
}

#[test]
fn states_that_cannot_be_read_go_with_what_is_forgotten() {
    let forgets: [fn(&FileLog); 2] = [
        |log| log.drop_states(&id("p"), "memory").expect("dropped"),
        |log| {
            let count = log.forget_places(&id("p"), &Places::These([seq(99)].into())).expect("forgotten");
            assert_eq!(count, 0);
        },
    ];
    for forget in forgets {
        let home = TempDir::new().expect("a directory");
        sample(home.path(), IntegrityMode::Checksum);
        let path = folder(home.path()).join("snapshot.json");
        put(&path, b"{ words that nobody can read");
        let log = open(home.path());
        forget(&log);
        let left = fs::read(&path).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&left).contains("words"), "{left:?}");
    }
}

#[test]
fn a_snapshot_with_a_wrong_checksum_is_ignored_and_told() {
    let (home, restored, _) = damaged("snapshot.json", |bytes| {
        String::from_utf8(bytes).expect("text").replace("[1]", "[2]").into_bytes()
    });
    let [Finding::SnapshotUnreadable { reason, .. }] = &restored.findings[..] else { panic!("{restored:?}") };
    assert!(reason.contains("checksum"), "{reason}");
    assert_eq!((restored.states, restored.replay_from), (vec![], 0));
    let log = open(home.path());
    assert_eq!(log.saved_states(&id("p"), "").expect("a read"), []);
    assert!(matches!(log.findings()[..], [Finding::SnapshotUnreadable { .. }]), "it is noted");
    log.save_states(&id("p"), vec![saved(2)]).expect("saved");
    assert_eq!(restore(&log).replay_from, 2);
}

#[test]
fn a_bad_line_in_the_middle_stops_everything_until_it_is_repaired() {
    for mode in [IntegrityMode::Checksum, IntegrityMode::Chain] {
        let home = TempDir::new().expect("a directory");
        let events = sample(home.path(), mode);
        let begin = flip_in_third_line(home.path());
        let log = open(home.path());
        let restored = restore(&log);
        let [finding @ Finding::BadLine { line: 3, byte, .. }, Finding::SnapshotAhead { last: 1, .. }] =
            &restored.findings[..]
        else {
            panic!("{restored:?}")
        };
        assert_eq!(usize::try_from(*byte).expect("small"), begin);
        assert!(finding.stops() && finding.to_string().contains(&format!("line 3 at byte {begin}")));
        assert_eq!(restored.events, 1, "a batch is there whole or not at all");
        for refused in [
            log.events(&id("p"), &EventQuery::after(None, 9)).err(),
            log.events(&id("p"), &EventQuery { limit: 1, ..EventQuery::latest(builders::topic("t"), 1) })
                .err(),
            log.ledger(&id("p")).err(),
            log.append(append(vec![said("s", "t", "x")])).err(),
        ] {
            let error = refused.expect("an error");
            assert!(
                matches!(&error, StoreError::LedgerDamaged { finding, .. } if finding.contains("line 3")),
                "{error}"
            );
        }
        assert_eq!(
            log.events(&id("p"), &EventQuery::after(None, 1)).expect("what is before it"),
            events[..1]
        );
        let repaired = log.repair(&id("p")).expect("repaired");
        assert_eq!((repaired.quarantined, repaired.lost), (1, vec![seq(3)]));
        let after = all(&log);
        assert_eq!((&after[..2], &after[3..]), (&events[..2], &events[3..]));
        assert_eq!((after[2].seq, after[2].topic.as_str()), (seq(3), "EVENT_LOST"));
        assert!(matches!(after[2].payload, Payload::Gone(gone) if !gone.forgotten && gone.bytes > 100));
        let set_aside = fs::read_to_string(folder(home.path()).join("quarantine.ndjson")).expect("a file");
        assert!(set_aside.starts_with(&format!("{{\"line\":3,\"byte\":{begin},\"reason\":")), "{set_aside}");
        let restored = restore(&log);
        assert!(
            restored.findings.is_empty(),
            "what stands in for an event is nobody's session: {:?}",
            restored.findings
        );
        assert_eq!(log.repair(&id("p")).expect("nothing to do").quarantined, 0);
        log.append(append(vec![said("s", "t", "goes on")])).expect("appended");
    }
}

#[test]
fn zeros_are_a_torn_end_unless_a_later_line_proves_what_was_there() {
    // The last batch was not proven durable by any other, so a disk may have lost a part of it with the power.
    let (_, restored, _) = damaged("events.ndjson", |mut bytes| {
        let at = bytes.len() - 90;
        bytes[at..at + 20].fill(0);
        bytes
    });
    assert!(matches!(restored.findings[..], [Finding::TornLine { line: 5, .. }]), "{:?}", restored.findings);
    // The second one was: the last one says so.
    let (_, restored, _) = damaged("events.ndjson", |mut bytes| {
        let at = lines(&bytes)[..2].concat().len() + 20;
        bytes[at] = 0;
        bytes
    });
    assert!(matches!(restored.findings[0], Finding::BadLine { line: 3, .. }), "{:?}", restored.findings);
}

#[test]
fn a_gap_is_told_and_filled_by_a_repair() {
    let (home, restored, events) = damaged("events.ndjson", |bytes| {
        let lines = lines(&bytes);
        [&lines[..1], &lines[4..]].concat().concat()
    });
    assert!(
        matches!(
            restored.findings[..],
            [Finding::Gap { line: 2, expected: 2, found: 5, .. }, Finding::SnapshotAhead { .. }]
        ),
        "{:?}",
        restored.findings
    );
    let log = open(home.path());
    let repaired = log.repair(&id("p")).expect("repaired");
    assert_eq!((repaired.quarantined, repaired.lost), (0, vec![seq(2), seq(3), seq(4)]));
    let after = all(&log);
    assert_eq!((after.len(), &after[4]), (5, &events[4]));
}

#[test]
fn a_number_that_comes_twice_is_told_and_set_aside() {
    let (home, restored, events) = damaged("events.ndjson", |bytes| {
        let lines = lines(&bytes);
        [&lines[..], &lines[4..]].concat().concat()
    });
    assert!(
        matches!(restored.findings[..], [Finding::Duplicate { line: 6, expected: 6, found: 5, .. }]),
        "{:?}",
        restored.findings
    );
    let log = open(home.path());
    let repaired = log.repair(&id("p")).expect("repaired");
    assert_eq!((repaired.quarantined, repaired.lost), (1, vec![]));
    assert_eq!(all(&log), events);
}

#[test]
fn a_changed_event_breaks_the_chain_even_with_a_right_checksum() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Chain);
    let path = folder(home.path()).join("events.ndjson");
    let mut all_lines = lines(&fs::read(&path).expect("a file"));
    let line = String::from_utf8(all_lines[0].clone()).expect("text");
    let (open_part, _) = line.split_once(",\"checksum\"").expect("a checksum");
    all_lines[0] = sealed(&format!("{}}}", open_part.replace("begin", "began")));
    put(&path, &all_lines.concat());
    let restored = restore(&open(home.path()));
    let Some(Finding::BadLine { line: 1, reason, .. }) = restored.findings.first() else {
        panic!("{restored:?}")
    };
    assert!(reason.contains("link"), "{reason}");
}

#[test]
fn letting_go_and_forgetting_leave_the_chain_whole() {
    let home = TempDir::new().expect("a directory");
    let log = FileLog::open(home.path(), options(IntegrityMode::Chain)).expect("a log");
    let noted = said("go", "t", "words").with_metadata(Json::parse("[1]").expect("JSON"));
    log.append(append(vec![noted, said("s", "u", "stays"), said("s", "t", "trimmed")])).expect("appended");
    let link = restore(&log).link;
    log.trim(&id("p"), &builders::topic("t"), seq(3)).expect("trimmed");
    assert_eq!(restore(&open(home.path())).link, link);
    log.forget_events(&builders::session("go")).expect("forgotten");
    let restored = restore(&open(home.path()));
    assert_eq!((restored.link, restored.events), (link, 3));
    assert!(restored.findings.iter().all(|finding| !finding.stops()), "{:?}", restored.findings);
}

#[test]
fn a_session_that_nobody_began_is_told_once() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Checksum);
    let log = open(home.path());
    let stray = vec![said("p", "t", "the ledger's own"), said("stray", "t", "a"), said("stray", "t", "b")];
    log.append(append(stray)).expect("appended");
    let restored = restore(&log);
    let [Finding::ForeignSession { event: 7, session, .. }] = &restored.findings[..] else {
        panic!("{restored:?}")
    };
    assert_eq!(session.as_str(), "stray");
}

#[test]
fn a_meta_that_is_unreadable_or_missing_is_made_anew_and_told() {
    for is_missing in [false, true] {
        let home = TempDir::new().expect("a directory");
        let events = sample(home.path(), IntegrityMode::Chain);
        open(home.path()).close().expect("closed");
        let path = folder(home.path()).join("meta.json");
        if is_missing {
            fs::remove_file(&path).expect("removed");
        } else {
            put(&path, b"{\"schema_version\":2,");
        }
        let log = open(home.path());
        let refused =
            log.append(append(vec![said("s", "t", "x")])).expect_err("nothing is guessed in passing");
        assert!(
            matches!(&refused, StoreError::LedgerDamaged { path, .. } if path.ends_with("meta.json")),
            "{refused}"
        );
        let restored = restore(&log);
        let is_told = match &restored.findings[..] {
            [Finding::MetaMissing { .. }] => is_missing,
            [Finding::MetaUnreadable { .. }] => !is_missing,
            _ => false,
        };
        assert!(is_told, "{:?}", restored.findings);
        assert_eq!(restored.ledger.map(|ledger| ledger.created_at), Some(events[0].at));
        assert_eq!(all(&log), events);
        assert!(restore(&log).link.is_some(), "lines say how they are protected");
        assert_eq!(folder(home.path()).join("meta.json.unreadable-1").exists(), !is_missing);
        log.append(append(vec![said("s", "t", "x")])).expect("appended");
    }
}

#[test]
fn where_nothing_can_be_read_it_begins_anew_beside_the_old_files() {
    let home = TempDir::new().expect("a directory");
    for number in 1..3 {
        sample(home.path(), IntegrityMode::Checksum);
        let folder = folder(home.path());
        for name in ["meta.json", "events.ndjson", "snapshot.json"] {
            put(&folder.join(name), format!("\u{1}noise {number}\n\u{2}").as_bytes());
        }
        let log = open(home.path());
        let restored = restore(&log);
        let aside = home.path().join(format!("contexts-v2/p.unreadable-{number}"));
        assert_eq!(restored.findings, [Finding::StartedFresh { path: folder, aside: aside.clone() }]);
        assert!(restored.findings[0].to_string().contains(&aside.display().to_string()));
        assert_eq!(restored.ledger, None);
        assert!(fs::read(aside.join("events.ndjson")).expect("kept").starts_with(b"\x01noise"));
        assert_eq!(log.ledgers(None, 9).expect("a listing"), []);
        assert_eq!(log.append(append(vec![said("s", "t", "x")])).expect("appended").first, seq(1));
        fs::remove_dir_all(home.path().join("contexts-v2/p")).expect("removed");
    }
}

#[test]
fn version_one_is_named_and_ignored() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Checksum);
    let old = home.path().join("contexts");
    fs::create_dir(&old).expect("a folder");
    put(&old.join("context-bc6fec14.json"), b"{\"turns\":[]}");
    put(&old.join("notes.txt"), b"mine");
    let restored = restore(&open(home.path()));
    let path = old.join("context-bc6fec14.json");
    assert_eq!(restored.findings, [Finding::VersionOne { path: path.clone() }]);
    assert!(restored.findings[0].to_string().contains(&path.display().to_string()));
    assert_eq!(restored.events, 5);
}

#[test]
fn another_version_is_named_and_left_alone() {
    for (version, meta) in [
        (1, b"{\"schema_version\":1,\"turns\":[]}".to_vec()),
        (3, sealed("{\"schema_version\":3,\"project_id\":\"p\",\"new\":true}")),
    ] {
        let home = TempDir::new().expect("a directory");
        sample(home.path(), IntegrityMode::Checksum);
        let path = folder(home.path()).join("meta.json");
        put(&path, &meta);
        let log = open(home.path());
        let restored = restore(&log);
        assert_eq!(restored.findings, [Finding::OtherVersion { path: path.clone(), version }]);
        assert_eq!(restored.ledger, None);
        let refused = log.append(append(vec![said("s", "t", "x")])).expect_err("it is not ours");
        assert!(
            matches!(refused, StoreError::TooNew { found: 3, .. } | StoreError::NotAStore { .. }),
            "{refused}"
        );
        assert_eq!(log.ledgers(None, 9).expect("a listing"), []);
        assert!(matches!(log.findings()[..], [Finding::OtherVersion { .. } | Finding::OtherProgram { .. }]));
        assert_eq!(fs::read(&path).expect("a file"), meta);
    }
}

#[test]
fn another_programs_version_two_is_taken_for_what_it_is() {
    let meta = "{\"schema_version\":2,\"project_id\":\"p\",\"project_root\":null,\"turn_count\":1}";
    let line = "{\"schema_version\":2,\"event_seq\":1,\"event_type\":\"turn\",\"role\":\"user\",\"content\":\"hi\"}\n";
    for is_whole in [true, false] {
        let home = TempDir::new().expect("a directory");
        let folder = folder(home.path());
        fs::create_dir_all(&folder).expect("a folder");
        put(&folder.join("events.ndjson"), line.as_bytes());
        if is_whole {
            put(&folder.join("meta.json"), meta.as_bytes());
        }
        let log = open(home.path());
        let restored = restore(&log);
        let [finding @ Finding::OtherProgram { .. }] = &restored.findings[..] else { panic!("{restored:?}") };
        assert!(finding.to_string().contains(&folder.display().to_string()), "{finding}");
        assert!(log.append(append(vec![said("s", "t", "x")])).is_err());
        assert_eq!(fs::read(folder.join("events.ndjson")).expect("kept"), line.as_bytes());
        assert!(folder.exists());
    }
}

#[test]
fn an_index_saves_time_and_its_loss_costs_nothing_else() {
    let home = TempDir::new().expect("a directory");
    let log = open(home.path());
    for batch in 0..5 {
        let events = (0..1_000).map(|number| said("s", if number % 2 == 0 { "t" } else { "u" }, "x"));
        log.append(append(events.collect())).expect("appended");
        assert_eq!(folder(home.path()).join("index.json").exists(), batch == 4, "once it is worth it");
    }
    log.trim(&id("p"), &builders::topic("u"), seq(100)).expect("trimmed");
    log.close().expect("closed");
    let path = folder(home.path()).join("index.json");
    let index = fs::read(&path).expect("an index");
    let asked = |log: &FileLog| {
        let query = EventQuery::latest(builders::topic("u"), 3);
        let receipt = log.receipt(&id("p"), &builders::topic("u")).expect("a read");
        (log.events(&id("p"), &query).expect("a read"), all(log), receipt)
    };
    let expected = asked(&log);
    assert_eq!(asked(&open(home.path())), expected);
    put(&path, &index[..index.len() / 2]);
    let log = open(home.path());
    assert_eq!(asked(&log), expected);
    assert!(matches!(log.findings()[..], [Finding::IndexUnreadable { .. }]));
    // Of the file before it was written anew: it fits no more, and nobody believes it.
    put(&path, &index);
    log.trim(&id("p"), &builders::topic("t"), seq(5_000)).expect("trimmed");
    put(&path, &index);
    assert_eq!(asked(&open(home.path())), asked(&log));
}

#[test]
fn a_ledger_is_known_by_its_id_whatever_it_is() {
    let home = TempDir::new().expect("a directory");
    let names = ["nul", "A", "a", "..", "github.com/x/y", &"ü".repeat(200), &format!("{}b", "ü".repeat(200))];
    let log = open(home.path());
    for name in names {
        log.append(Append { ledger: id(name), ..append(vec![said("s", "t", name)]) }).expect("appended");
    }
    let marks = vec!["m".to_owned()];
    log.change_ledger(LedgerChange { marks, ..LedgerChange::new(id("A"), Timestamp::EPOCH) })
        .expect("marked");
    let log = open(home.path());
    let mut expected = names.map(str::to_owned);
    expected.sort();
    let found = log.ledgers(None, 99).expect("a listing");
    assert_eq!(found.iter().map(|ledger| ledger.id.to_string()).collect::<Vec<_>>(), expected);
    assert!(found.iter().all(|ledger| ledger.last == 1));
    assert_eq!(log.ledger_marked("m").expect("a read"), Some(id("A")));
}
