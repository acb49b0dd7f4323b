//! Laws of ledgers as files: the same answers as the model whatever happens, and no change of a file goes unseen.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use stemmata_model::{Event, EventSeq, Json, NewEvent, NewPayload, SessionId, Timestamp, Topic, topics};
use stemmata_store::{
    Append, Durability, EventLog, EventQuery, FileLog, FileLogOptions, Finding, IntegrityMode, Ledger,
    LedgerChange, Order, Places, SavedState, StoreError,
};
use stemmata_testkit::memory::MemoryStore;
use stemmata_testkit::sample::stride;
use tempfile::TempDir;

use super::ledger_files::{all, append, folder, id, open, options, put, restore, said, sample, seq};

const SESSIONS: [&str; 3] = ["s", "t", "p"];
const TOPICS: [&str; 4] = ["a", "b", topics::STATE_SNAPSHOT, topics::AGENT_OUTPUT];

#[derive(Debug, Clone)]
enum Step {
    Append {
        events: Vec<(usize, usize, String, u8)>,
        durability: Durability,
        now: i64,
    },
    Trim(usize, u64),
    Forget(usize),
    ForgetAt(Vec<u64>),
    Save(String, u64),
    Drop(String),
    Change(Option<String>),
    /// Goes on with a log that was opened anew: without closing, after closing, or after a restore.
    Reopen(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let event = (0..SESSIONS.len(), 0..TOPICS.len(), "[a-z\"\\\\\n\u{0}äß€]{0,12}", 0..8_u8);
    let durability = prop_oneof![Just(Durability::Full), Just(Durability::Batch), Just(Durability::None)];
    let step = prop_oneof![
        6 => (proptest::collection::vec(event, 1..5), durability, -5..5_i64)
            .prop_map(|(events, durability, now)| Step::Append { events, durability, now }),
        1 => (0..TOPICS.len(), 1..20_u64).prop_map(|(topic, through)| Step::Trim(topic, through)),
        1 => (0..SESSIONS.len()).prop_map(Step::Forget),
        1 => proptest::collection::vec(1..20_u64, 0..3).prop_map(Step::ForgetAt),
        1 => ("[a-c/]{1,3}", 0..9_u64).prop_map(|(name, through)| Step::Save(name, through)),
        1 => "[a-c/]{0,2}".prop_map(Step::Drop),
        1 => proptest::option::of("[a-c]{1,3}").prop_map(Step::Change),
        2 => (0..3_u8).prop_map(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..24)
}

fn event((session, topic, text, kind): &(usize, usize, String, u8)) -> NewEvent {
    let event = said(SESSIONS[*session], TOPICS[*topic], text);
    let json = Json::of(&serde_json::json!({ "text": text, "n": kind }));
    let event = match kind % 4 {
        0 => event,
        1 => NewEvent { payload: NewPayload::Plain { text: None, data: Some(json.clone()) }, ..event },
        2 => NewEvent { payload: NewPayload::Line(json.clone()), ..event },
        _ => NewEvent { at: Some(Timestamp::from_micros(i64::from(*kind) * 3)), ..event },
    };
    if *kind > 3 { event.with_metadata(json) } else { event }
}

/// Does the same to a log and to the model, which must say the same.
fn apply(step: &Step, log: &dyn EventLog) -> Result<u64, StoreError> {
    match step {
        Step::Append { events, durability, now } => {
            let events = events.iter().map(event).collect();
            let now = Timestamp::from_micros(*now);
            let appended = log.append(Append { durability: *durability, now, ..append(events) })?;
            Ok(appended.last.get())
        }
        Step::Trim(topic, through) => {
            log.trim(&id("p"), &Topic::new(TOPICS[*topic]).expect("a name"), seq(*through))
        }
        Step::Forget(session) => log.forget_events(&SessionId::new(SESSIONS[*session]).expect("a name")),
        Step::ForgetAt(numbers) => {
            let these = numbers.iter().map(|number| seq(*number)).collect();
            log.forget_places(&id("p"), &Places::These(these))
        }
        Step::Save(name, through) => {
            let state = Json::of(&serde_json::json!([name, through]));
            let (name, position) = (name.clone(), (through % 2 == 0).then(|| name.clone()));
            log.save_states(
                &id("p"),
                vec![SavedState { name, version: 1, through: *through, position, state }],
            )?;
            Ok(0)
        }
        Step::Drop(prefix) => log.drop_states(&id("p"), prefix).map(|()| 0),
        Step::Change(mark) => {
            let (root, marks) = (mark.clone(), mark.iter().cloned().collect());
            let change = LedgerChange::new(id("p"), Timestamp::from_micros(3));
            log.change_ledger(LedgerChange { root, marks, ..change }).map(|()| 0)
        }
        Step::Reopen(_) => Ok(0),
    }
}

/// Asks everything that can be asked.
fn answers(log: &dyn EventLog) -> Vec<String> {
    // How far an epoch rises is each backend's own.
    let ledgers = log.ledgers(None, 9).map(|ledgers| {
        let without = |ledger| Ledger { epoch: 0, ..ledger };
        ledgers.into_iter().map(without).collect::<Vec<_>>()
    });
    let mut answers = vec![format!("{:?}", (ledgers, log.saved_states(&id("p"), "")))];
    for topic in TOPICS {
        let topic = Topic::new(topic).expect("a name");
        let query = EventQuery::latest(topic.clone(), 3);
        answers.push(format!("{:?}", (log.receipt(&id("p"), &topic), log.events(&id("p"), &query))));
    }
    let two = vec![Topic::new("b").expect("a name"), Topic::new("a").expect("a name")];
    for (order, after, through) in [
        (Order::OldestFirst, None, None),
        (Order::OldestFirst, EventSeq::new(2), EventSeq::new(7)),
        (Order::NewestFirst, EventSeq::new(3), None),
        (Order::NewestFirst, EventSeq::new(7), EventSeq::new(2)),
    ] {
        for topics in [Vec::new(), two.clone()] {
            let query = EventQuery { order, after, through, topics, limit: 50, ..EventQuery::default() };
            answers.push(format!("{:?}", log.events(&id("p"), &query)));
        }
    }
    answers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(4)))]

    #[test]
    fn law_files_answer_as_the_model_does(steps in steps(), mode in 0..3_usize) {
        let home = TempDir::new().expect("a directory");
        let mode = super::ledger_files::MODES[mode];
        let fresh = || FileLog::open(home.path(), options(mode)).expect("a log");
        let (mut log, witness, model) = (fresh(), fresh(), MemoryStore::default());
        for step in &steps {
            if let Step::Reopen(how) = step {
                match how {
                    0 => {}
                    1 => log.close().expect("closed"),
                    _ => {
                        let told = restore(&log).findings;
                        let is_harmless =
                            told.iter().all(|finding| matches!(finding, Finding::ForeignSession { .. }));
                        prop_assert!(is_harmless);
                    }
                }
                log = fresh();
            }
            let (done, expected) = (apply(step, &log), apply(step, &model));
            prop_assert_eq!(format!("{done:?}"), format!("{expected:?}"), "{:?}", step);
            prop_assert_eq!(answers(&witness), answers(&model), "after {:?}", step);
        }
        prop_assert_eq!(answers(&fresh()), answers(&model));
        prop_assert!(log.findings().is_empty());
    }
}

fn read_only(home: &Path) -> FileLog {
    FileLog::open(home, FileLogOptions { read_only: true, ..FileLogOptions::default() }).expect("a log")
}

#[test]
fn law_a_file_cut_at_any_length_keeps_every_whole_batch_and_goes_on() {
    let home = TempDir::new().expect("a directory");
    let events = sample(home.path(), IntegrityMode::Checksum);
    let path = folder(home.path()).join("events.ndjson");
    let whole = fs::read(&path).expect("a file");
    let ends: Vec<usize> =
        whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    let batches = [(0, 0), (ends[0], 1), (ends[3], 4), (ends[4], 5)];
    let snapshot = fs::read(path.with_file_name("snapshot.json")).expect("a file");
    for length in 0..=whole.len() {
        put(&path, &whole[..length]);
        put(&path.with_file_name("snapshot.json"), &snapshot);
        let (end, count) = batches.into_iter().rfind(|(end, _)| *end <= length).expect("0 is there");
        let log = open(home.path());
        let restored = restore(&log);
        if count < 4 {
            // The saved state has seen the fourth event.
            let last = u64::try_from(count).expect("small");
            let told = &restored.findings[0];
            assert!(
                matches!(told, Finding::CutShort { last: own, known: 4, .. } if *own == last),
                "{length}"
            );
            if length % 7 == 0 {
                log.append(append(vec![said("s", "t", "on")])).expect_err("something is missing");
                log.repair(&id("p")).expect("repaired");
                let after = all(&log);
                assert_eq!((&after[..count], after.len()), (&events[..count], 4), "{length} bytes");
                assert_eq!(log.append(append(vec![said("s", "t", "on")])).expect("appended").first.get(), 5);
            }
            continue;
        }
        let told = match restored.findings.first() {
            Some(Finding::TornLine { bytes, .. } | Finding::TornBatch { bytes, .. }) => *bytes,
            _ => 0,
        };
        assert_eq!(told, u64::try_from(length - end).expect("small"), "{length}: {:?}", restored.findings);
        assert_eq!(all(&log), events[..count], "{length} bytes");
        assert_eq!(fs::metadata(&path).expect("there").len(), u64::try_from(end).expect("small"));
        if length % 7 == 0 {
            let appended = log.append(append(vec![said("s", "t", "on")])).expect("appended");
            assert_eq!(appended.first.get(), u64::try_from(count).expect("small") + 1);
            assert_eq!(all(&open(home.path())).len(), count + 1, "{length} bytes");
        }
    }
}

/// Says whether a change of a ledger's files is told, and what is wrong where something is other than it was and
/// nothing is told.
fn judge(log: &FileLog, events: &[Event], states: &[SavedState]) -> Result<bool, String> {
    let restored =
        log.restore(&id("p"), Timestamp::EPOCH).map_err(|error| format!("a restore failed: {error}"))?;
    let is_told = !restored.findings.is_empty();
    if !is_told && (restored.states != states || restored.events != 5) {
        return Err(format!("something is lost in silence: {restored:?}"));
    }
    let by_one = |after: u64| {
        let query = EventQuery { after: EventSeq::new(after), limit: 1, ..EventQuery::default() };
        log.events(&id("p"), &query)
    };
    for (after, expected) in (0_u64..).zip(events) {
        match by_one(after) {
            Ok(found) if found.as_slice() == std::slice::from_ref(expected) => {}
            Ok(found) if found.is_empty() && is_told => {}
            Err(
                StoreError::LedgerDamaged { .. } | StoreError::NotAStore { .. } | StoreError::TooNew { .. },
            ) if is_told => {}
            other => return Err(format!("event {} is {other:?}", after + 1)),
        }
    }
    Ok(is_told)
}

/// Flips bits of a file, one at a time.
fn flip(mode: IntegrityMode, name: &str, full: usize) {
    let step = stride(full);
    let home = TempDir::new().expect("a directory");
    let events = sample(home.path(), mode);
    let log = open(home.path());
    let states = log.saved_states(&id("p"), "").expect("a read");
    // The index of the sample, which is too small to get one on the way.
    all(&log);
    log.close().expect("closed");
    let path = folder(home.path()).join(name);
    let whole = fs::read(&path).expect("a file");
    let mut told = 0;
    for bit in (0..whole.len() * 8).step_by(step) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        put(&path, &bytes);
        let log = read_only(home.path());
        let is_told = judge(&log, &events, &states);
        told += usize::from(is_told.unwrap_or_else(|wrong| panic!("{mode:?} {name} bit {bit}: {wrong}")));
    }
    let flips = (whole.len() * 8).div_ceil(step);
    assert_eq!(told, flips, "every flip of {name} is told");
}

#[test]
fn law_no_flipped_bit_of_the_events_changes_one_in_silence() {
    flip(IntegrityMode::Checksum, "events.ndjson", 1);
}

#[test]
fn law_no_flipped_bit_of_a_chain_changes_an_event_in_silence() {
    flip(IntegrityMode::Chain, "events.ndjson", 3);
}

#[test]
fn law_no_flipped_bit_of_what_stands_beside_is_believed() {
    for name in ["snapshot.json", "meta.json", "index.json"] {
        flip(IntegrityMode::Checksum, name, 1);
    }
}

#[test]
fn law_without_checksums_nothing_panics() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::None);
    let path = folder(home.path()).join("events.ndjson");
    let whole = fs::read(&path).expect("a file");
    for bit in (0..whole.len() * 8).step_by(stride(5)) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        put(&path, &bytes);
        let log = read_only(home.path());
        let restored = restore(&log);
        let read = log.events(&id("p"), &EventQuery::after(None, 9));
        assert!(
            read.is_err()
                || restored.events == read.map_or(0, |events| u64::try_from(events.len()).expect("small")),
            "bit {bit}"
        );
    }
}

#[test]
fn law_a_repair_of_any_flipped_bit_leaves_a_ledger_that_goes_on() {
    let home = TempDir::new().expect("a directory");
    let events = sample(home.path(), IntegrityMode::Chain);
    let path = folder(home.path()).join("events.ndjson");
    let whole = fs::read(&path).expect("a file");
    let meta = fs::read(path.with_file_name("meta.json")).expect("a file");
    for bit in (0..whole.len() * 8).step_by(stride(37)) {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        put(&path, &bytes);
        put(&path.with_file_name("meta.json"), &meta);
        let log = open(home.path());
        log.repair(&id("p")).expect("repaired");
        let after = all(&log);
        assert!(after.iter().zip(1..).all(|(event, number)| event.seq.get() == number), "bit {bit}");
        // A torn end is no damage; all else keeps its number, and what is whole its words.
        let kept = after.iter().filter(|event| events.contains(event)).count();
        assert!(kept >= 2 && after.len() >= 4, "bit {bit}: {kept} of {}", after.len());
        assert!(restore(&log).findings.iter().all(|finding| !finding.stops()), "bit {bit}");
        log.append(append(vec![said("s", "t", "on")])).expect("appended");
    }
}
