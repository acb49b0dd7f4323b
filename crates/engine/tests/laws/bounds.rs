//! Invariants 11 and 12: everything has a bound, and nothing degrades in silence.

use stemmata_engine::{
    CaptureOptions, EngineError, ErrorKind, LINE_BYTES_MAX, LONG_LINE_BYTES_MAX, Stop, StoppedReading,
};
use stemmata_model::{Granularity, NoteCode, Trigger};
use stemmata_runtimes::adapter::Shape;
use stemmata_runtimes::registry;
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, bytes_of, engine, import, native};

/// Has a file end with a line of zeros; the disk holds none of it.
fn lengthen(path: &std::path::Path, bytes: u64) {
    std::fs::OpenOptions::new().write(true).open(path).expect("a file").set_len(bytes).expect("long");
}

/// A record as the client writes it, with so much text in it that it is read in parts.
fn long_record(line: &str, secret: &str) -> Vec<u8> {
    let mut record = line.strip_suffix('}').expect("an object").as_bytes().to_vec();
    record.extend_from_slice(b",\"toolUseResult\":{\"blob\":\"");
    // The secret stands where the first part has to end.
    record.resize(LINE_BYTES_MAX - secret.len() / 2, b' ');
    record.extend_from_slice(secret.as_bytes());
    record.resize(record.len() + 1_000, b' ');
    record.extend_from_slice(b"\"}}\n");
    record
}

#[test]
fn a_line_that_is_read_in_parts_is_kept_and_what_follows_it_is_captured() {
    let folder = Folder::new();
    let engine = engine();
    let secret = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4".to_owned());
    let session = ClaudeSession::new(5).turns(4).build();
    let at = session.lines.len() / 2;
    let lines =
        |range: &[String]| range.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes();
    let short = import(&crate::support::engine(), &folder.write("short.jsonl", &bytes_of(&session)));
    let before = lines(&session.lines[..at]);
    let long = long_record(&session.lines[at], &secret);
    let behind = lines(&session.lines[at + 1..]);
    // Live, in three looks, and in one import.
    let live = folder.write("s.jsonl", &before);
    import(&engine, &live);
    folder.append("s.jsonl", &long);
    let looked = engine.capture(&live, &CaptureOptions::live(Trigger::Explicit)).expect("read");
    let note = looked.notes.iter().find(|note| note.line == Some(at as u64 + 1)).expect("said");
    assert!(note.message.contains(&long.len().to_string()), "{}", note.message);
    folder.append("s.jsonl", &behind);
    let captured = import(&engine, &live);
    let tip = captured.session.tip.expect("a tip");
    let other = crate::support::engine();
    let at_once = import(&other, &live);
    assert_eq!(at_once.session.tip, Some(tip));
    assert_eq!(engine.stopped_reading(&captured.session).expect("a read"), None);
    assert_eq!(at_once.redacted.iter().map(|(_, count)| count).sum::<u64>(), 1);
    let stored = native(&engine, tip);
    assert!(stored.starts_with(&before) && stored.ends_with(&behind));
    assert!(memchr::memmem::find(&stored, secret.as_bytes()).is_none(), "scrubbed across the parts");
    assert!(stored.len().abs_diff(before.len() + long.len() + behind.len()) < 100);
    // The record is read all the same, and what hangs below it stays in the conversation.
    let sent =
        |path| stemmata_engine::Engine::doctor(path, &|_| None).expect("read").validation.messages_sent;
    assert_eq!(sent(&live), sent(&folder.write("again.jsonl", &bytes_of(&session))));
    assert_eq!(captured.session.title, short.session.title);
}

#[test]
fn what_stands_for_a_line_in_parts_ends_no_turn_of_any_format() {
    for adapter in registry::adapters().iter().filter(|adapter| adapter.shape() == Shape::Lines) {
        let mut splitter = adapter.splitter(Granularity::Turn, None);
        let cut = splitter.line(b"{", &mut Vec::new());
        assert!(cut.before.is_none() && cut.after.is_none(), "{}", adapter.format());
    }
}

#[test]
fn invariant_11_a_line_beyond_the_bound_is_named_with_its_place() {
    let folder = Folder::new();
    let engine = engine();
    let bytes = bytes_of(&ClaudeSession::new(5).build());
    let offset = u64::try_from(bytes.len()).expect("small");
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    let path = folder.write("s.jsonl", &bytes);
    lengthen(&path, offset + LONG_LINE_BYTES_MAX + 2);
    let error = engine.capture(&path, &CaptureOptions::import()).expect_err("too long");
    match error {
        EngineError::LineTooLong { line, offset: found, .. } => {
            assert_eq!((line, found), (u64::try_from(lines).expect("small") + 1, offset));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn where_reading_stopped_is_said_and_what_stands_before_it_is_kept() {
    let folder = Folder::new();
    let engine = engine();
    let mut bytes = bytes_of(&ClaudeSession::new(6).turns(2).build());
    // In the middle of a turn: what is open before the line is kept, too.
    let cut = bytes.len() - 1;
    let cut = bytes[..cut].iter().rposition(|byte| *byte == b'\n').map_or(cut, |at| at + 1);
    bytes.truncate(cut);
    let lines = u64::try_from(bytes.iter().filter(|byte| **byte == b'\n').count()).expect("small");
    let (read_bytes, file_bytes) = (bytes.len() as u64, bytes.len() as u64 + LONG_LINE_BYTES_MAX + 2);
    let path = folder.write("s.jsonl", &bytes);
    for is_known in [true, false] {
        let engine = if is_known { &engine } else { &crate::support::engine() };
        let session = |path| engine.find_session(path).expect("a read").expect("a session");
        if is_known {
            assert_eq!(engine.stopped_reading(&import(engine, &path).session).expect("a read"), None);
        }
        lengthen(&path, file_bytes);
        let error = engine.capture(&path, &CaptureOptions::import()).expect_err("too long");
        assert!(matches!(error, EngineError::LineTooLong { .. }), "{error}");
        let session = session(path.to_str().expect("text"));
        assert_eq!(native(engine, session.tip.expect("a tip")), bytes);
        let stopped = engine.stopped_reading(&session).expect("a read");
        let expected = StoppedReading { line: Some(lines), read_bytes, bytes: file_bytes };
        assert_eq!(stopped, Some(expected));
        assert_eq!(engine.current(&session).ok(), session.tip, "who goes on gets what was read");
        let tip = session.tip.expect("a tip");
        let prepared = engine.preview_placement(tip, None, Stop::Compaction, None).expect("a preview");
        assert!(prepared.notes.iter().any(|note| note.message.contains(&expected.describe())));
        let rows = crate::namesakes::listed(engine, false);
        assert_eq!(rows.first().and_then(|row| row.stopped), Some(expected));
    }
}

#[test]
fn invariant_12_what_is_degraded_says_so() {
    let folder = Folder::new();
    let engine = engine();
    let mut lines = ClaudeSession::new(5).build().lines;
    lines.insert(3, "{ this is not JSON".to_owned());
    let mut bytes = lines.join("\n").into_bytes();
    bytes.extend_from_slice(b"\n{\"type\":\"user\",\"uu");
    let captured = import(&engine, &folder.write("s.jsonl", &bytes));
    let codes: Vec<NoteCode> = captured.notes.iter().map(|note| note.code).collect();
    assert!(codes.contains(&NoteCode::UnparsableLine) && codes.contains(&NoteCode::TornTail), "{codes:?}");
    let garbage = captured.notes.iter().find(|note| note.code == NoteCode::UnparsableLine);
    assert_eq!(garbage.and_then(|note| note.line), Some(4));
    assert_eq!(native(&engine, captured.session.tip.expect("a tip")), bytes, "nothing is lost");
}

#[test]
fn errors_have_kinds_and_a_stop_that_is_no_ancestor_says_how_far_it_looked() {
    let folder = Folder::new();
    let engine = engine();
    let one =
        import(&engine, &folder.write("a.jsonl", &bytes_of(&ClaudeSession::new(1).build()))).session.tip;
    let two =
        import(&engine, &folder.write("b.jsonl", &bytes_of(&ClaudeSession::new(2).build()))).session.tip;
    let (one, two) = (one.expect("a tip"), two.expect("a tip"));
    let error = engine
        .materialize(Some(one), None, Stop::Ancestor(two), &mut std::io::sink())
        .expect_err("no ancestor");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("3 commits were searched"), "{error}");
    let empty = engine.capture(&folder.write("e.jsonl", b""), &CaptureOptions::import()).expect_err("empty");
    assert!(empty.to_string().ends_with("e.jsonl is not a transcript: it is empty"), "{empty}");
    let none = engine.materialize(None, None, Stop::Compaction, &mut std::io::sink()).expect("empty context");
    assert_eq!(none.bytes.0, 0, "a fresh start is the same call");
}
