//! Repairs and restores of ledgers as files: nothing that can be read is lost, no number is given twice, and nothing
//! that was changed is believed.

use std::fs;
use std::path::Path;

use stemmata_model::{Event, NewEvent, Payload, Topic, topics};
use stemmata_store::{EventLog, EventQuery, FileLog, Finding, IntegrityMode, Repaired, StoreError};
use tempfile::TempDir;

use super::ledger_files::{
    MODES, all, append, folder, id, lines, open, options, put, restore, said, sample, saved, sealed, seq,
};

/// Changes the events of the sample, repairs it, and returns what was done, what was there and what is there.
fn repaired(
    home: &Path,
    mode: IntegrityMode,
    change: impl FnOnce(Vec<Vec<u8>>) -> Vec<Vec<u8>>,
) -> (Repaired, Vec<Event>, Vec<Event>) {
    let before = sample(home, mode);
    let path = folder(home).join("events.ndjson");
    let changed = change(lines(&fs::read(&path).expect("a file")));
    put(&path, &changed.concat());
    let log = open(home);
    let repaired = log.repair(&id("p")).expect("repaired");
    let after = all(&log);
    assert!(restore(&log).findings.iter().all(|finding| !finding.stops()));
    log.append(append(vec![said("s", "t", "goes on")])).expect("appended");
    (repaired, before, after)
}

#[test]
fn lines_that_stand_in_another_order_come_into_theirs() {
    for mode in MODES {
        for order in [vec![0, 4, 1, 2, 3], vec![4, 3, 2, 1, 0], vec![0, 4, 1, 2, 3, 4]] {
            let home = TempDir::new().expect("a directory");
            let copies = u64::try_from(order.len()).expect("small") - 5;
            let (repaired, before, after) = repaired(home.path(), mode, |lines| {
                order.iter().map(|at: &usize| lines[*at].clone()).collect()
            });
            assert_eq!((repaired.quarantined, repaired.lost), (copies, vec![]), "{mode:?} {order:?}");
            assert_eq!(after, before);
            assert!(repaired.findings.iter().any(Finding::stops), "{:?}", repaired.findings);
        }
    }
}

#[test]
fn a_repair_believes_no_line_whose_link_does_not_fit() {
    let home = TempDir::new().expect("a directory");
    let (repaired, before, after) = repaired(home.path(), IntegrityMode::Chain, |mut lines| {
        let line = String::from_utf8(lines[1].clone()).expect("text");
        let (open_part, _) = line.split_once(",\"checksum\"").expect("a checksum");
        lines[1] = sealed(&format!("{}}}", open_part.replace("does it rain?", "does it snow?")));
        lines
    });
    assert_eq!((repaired.quarantined, repaired.lost), (1, vec![seq(2)]));
    assert!(
        matches!(&repaired.findings[..], [Finding::BadLine { line: 2, reason, .. }] if reason.contains("link"))
    );
    assert_eq!((after[1].topic.as_str(), &after[2..]), ("EVENT_LOST", &before[2..]));
    assert!(matches!(after[1].payload, Payload::Gone(gone) if gone.bytes > 100));
    let set_aside = fs::read_to_string(folder(home.path()).join("quarantine.ndjson")).expect("a file");
    assert!(set_aside.contains("does it snow?"), "{set_aside}");
}

#[test]
fn a_repair_cuts_off_a_batch_that_was_not_written_to_its_end() {
    for mode in MODES {
        let home = TempDir::new().expect("a directory");
        let log = FileLog::open(home.path(), options(mode)).expect("a log");
        for number in 0..3 {
            log.append(append(vec![said("s", "t", &number.to_string())])).expect("appended");
        }
        log.append(append(vec![said("s", "t", "half"), said("s", "t", "other half")])).expect("appended");
        let before = all(&log);
        drop(log);
        let path = folder(home.path()).join("events.ndjson");
        let mut all_lines = lines(&fs::read(&path).expect("a file"));
        all_lines[1] = b"noise\n".to_vec();
        put(&path, &all_lines[..4].concat());
        let log = open(home.path());
        let repaired = log.repair(&id("p")).expect("repaired");
        assert_eq!(repaired.lost, [seq(2)]);
        assert!(
            matches!(
                repaired.findings[..],
                [Finding::BadLine { line: 2, .. }, Finding::TornBatch { events: 1, .. }]
            ),
            "{:?}",
            repaired.findings
        );
        let after = all(&log);
        assert_eq!((after.len(), &after[2]), (3, &before[2]), "{mode:?}: nobody was told of the fourth");
        assert_eq!(log.append(append(vec![said("s", "t", "x")])).expect("appended").first, seq(4));
    }
}

#[test]
fn saved_states_stay_while_a_repair_may_bring_their_events_back() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Checksum);
    let path = folder(home.path()).join("events.ndjson");
    let mut lines = lines(&fs::read(&path).expect("a file"));
    lines.rotate_left(1);
    put(&path, &lines.concat());
    let log = open(home.path());
    let restored = restore(&log);
    assert_eq!(restored.states, [], "the log cannot be read that far");
    assert_eq!(log.repair(&id("p")).expect("repaired").lost, []);
    assert_eq!(restore(&log).states, [saved(4)]);
}

#[test]
fn no_number_is_given_twice_when_the_events_are_gone() {
    for is_indexed in [false, true] {
        let home = TempDir::new().expect("a directory");
        let last = sample(home.path(), IntegrityMode::Chain).len();
        if is_indexed {
            let log = open(home.path());
            all(&log);
            log.close().expect("closed");
        }
        fs::remove_file(folder(home.path()).join("events.ndjson")).expect("removed");
        let log = open(home.path());
        let known = if is_indexed { u64::try_from(last).expect("small") } else { 4 };
        let restored = restore(&log);
        assert!(matches!(&restored.findings[..], [Finding::BadLine { .. }]), "{:?}", restored.findings);
        assert_eq!((restored.replay_from, restored.ledger.map(|ledger| ledger.last)), (known, Some(known)));
        assert_eq!(log.saved_states(&id("p"), "").expect("a read"), [], "they know other events");
        assert!(folder(home.path()).join("snapshot.json.unreadable-1").exists(), "kept for a person");
        let appended = log.append(append(vec![said("s", "t", "x")])).expect("appended");
        assert_eq!(appended.first, seq(known + 1));
        let again = open(home.path());
        assert_eq!(all(&again).len(), 1);
        assert_eq!(restore(&again).events, 1);
    }
}

#[test]
fn a_receipt_says_the_newest_that_is_gone_whatever_goes_later() {
    let home = TempDir::new().expect("a directory");
    let log = open(home.path());
    let topic = Topic::new(topics::AGENT_OUTPUT).expect("a name");
    let output = |replayable| NewEvent { replayable, ..said("s", topics::AGENT_OUTPUT, &"x".repeat(4_096)) };
    // What is replayed does not count for the bounds.
    log.append(append(vec![output(true)])).expect("appended");
    for _ in 0..3 {
        log.append(append((0..1_000).map(|_| output(false)).collect())).expect("appended");
    }
    let before = log.receipt(&id("p"), &topic).expect("a read").expect("some went");
    assert_eq!(log.trim(&id("p"), &topic, seq(1)).expect("trimmed"), 1);
    let after = log.receipt(&id("p"), &topic).expect("a read").expect("one more went");
    assert_eq!((after.events, after.through), (before.events + 1, before.through));
    assert_eq!(open(home.path()).receipt(&id("p"), &topic).expect("a read"), Some(after));
}

#[test]
fn a_line_that_calls_later_events_durable_is_damaged_and_repaired() {
    for change in [("\"durable\":\"1\"", "\"durable\":\"7\""), ("\"first\":\"2\"", "\"first\":\"9\"")] {
        let home = TempDir::new().expect("a directory");
        let (repaired, before, after) = repaired(home.path(), IntegrityMode::None, |mut lines| {
            for line in &mut lines[1..4] {
                let text = String::from_utf8(line.clone()).expect("text");
                assert!(text.contains(change.0), "{text}");
                *line = text
                    .replace(change.0, change.1)
                    .replace("\"durable\":\"1\"", "\"durable\":\"7\"")
                    .into_bytes();
            }
            lines
        });
        assert!(repaired.findings.iter().any(Finding::stops), "{:?}", repaired.findings);
        assert_eq!(after.len(), before.len());
    }
}

/// Changes a text of the index, and seals it again.
fn change_index(home: &Path, from: &str, to: &str) {
    let path = folder(home).join("index.json");
    let text = fs::read_to_string(&path).expect("a file");
    let (open, _) = text.split_once(",\"checksum\"").expect("a checksum");
    assert!(open.contains(from), "{from} in {open}");
    put(&path, &sealed(&format!("{}}}", open.replacen(from, to, 1))));
}

#[test]
fn an_index_that_says_other_things_than_the_events_is_told_and_taken_away() {
    let topics = "\"topics\":[\"SESSION_STARTED\",\"user_turn\",\"tool_event\",\"assistant_turn\"]";
    let others = "\"topics\":[\"SESSION_STARTED\",\"user_turn\",\"tool_event\",\"tool_turn\"]";
    for (from, to) in [(topics, others), ("\"topic_of\":[0,1,2", "\"topic_of\":[0,2,1")] {
        let home = TempDir::new().expect("a directory");
        sample(home.path(), IntegrityMode::Checksum);
        let log = open(home.path());
        all(&log);
        log.close().expect("closed");
        change_index(home.path(), from, to);
        let log = open(home.path());
        let findings = restore(&log).findings;
        assert!(
            matches!(&findings[..], [Finding::IndexUnreadable { reason, .. }] if reason.contains("other"))
        );
        assert_eq!(restore(&log).findings, []);
    }
}

#[test]
fn an_index_whose_last_place_is_none_is_not_believed() {
    let home = TempDir::new().expect("a directory");
    let before = sample(home.path(), IntegrityMode::Checksum);
    let log = open(home.path());
    all(&log);
    log.close().expect("closed");
    let text = fs::read_to_string(folder(home.path()).join("index.json")).expect("a file");
    let lengths =
        text.split_once("\"lengths\":[").and_then(|(_, rest)| rest.split_once(']')).expect("lengths").0;
    let mut moved: Vec<u32> = lengths.split(',').map(|length| length.parse().expect("a number")).collect();
    (moved[3], moved[4]) = (moved[3] - 1, moved[4] + 1);
    let moved: Vec<String> = moved.iter().map(ToString::to_string).collect();
    change_index(home.path(), lengths, &moved.join(","));
    assert_eq!(all(&open(home.path())), before);
}

#[test]
fn an_index_of_a_longer_file_proves_that_the_end_is_gone() {
    let home = TempDir::new().expect("a directory");
    let log = open(home.path());
    for _ in 0..5 {
        log.append(append(vec![said("s", "t", "same")])).expect("appended");
    }
    log.close().expect("closed");
    drop(log);
    // As from an older copy.
    let path = folder(home.path()).join("events.ndjson");
    let bytes = fs::read(&path).expect("a file");
    put(&path, &lines(&bytes)[..1].concat());
    let log = open(home.path());
    let other = append(vec![said("s", "u", "same")]);
    assert!(matches!(log.append(other), Err(StoreError::LedgerDamaged { .. })));
    assert_eq!(log.repair(&id("p")).expect("repaired").lost, [2, 3, 4, 5].map(seq));
    for number in 6..12 {
        // Each line is as long as those were.
        let appended = log.append(append(vec![said("s", "u", "same")])).expect("appended");
        assert_eq!(appended.first, seq(number));
    }
    let query = EventQuery::latest(Topic::new("u").expect("a name"), 20);
    let found = open(home.path()).events(&id("p"), &query).expect("a read");
    assert_eq!(found.len(), 6);
}
