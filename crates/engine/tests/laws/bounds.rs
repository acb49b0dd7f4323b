//! Invariants 11 and 12: everything has a bound, and nothing degrades in silence.

use stemmata_engine::{CaptureOptions, EngineError, ErrorKind, LINE_BYTES_MAX, Stop, StoppedReading};
use stemmata_model::NoteCode;
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, bytes_of, engine, import, native};

/// Has a file end with a line of zeros; the disk holds none of it.
fn lengthen(path: &std::path::Path, bytes: u64) {
    std::fs::OpenOptions::new().write(true).open(path).expect("a file").set_len(bytes).expect("long");
}

#[test]
fn a_line_of_some_hundred_megabytes_is_a_line_like_any_other() {
    let folder = Folder::new();
    let engine = engine();
    let secret = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0dF2hJ4");
    let session = ClaudeSession::new(5).turns(4).build();
    let at = session.lines.len() / 2;
    let mut long = session.lines[at].strip_suffix('}').expect("an object").as_bytes().to_vec();
    long.extend_from_slice(b",\"toolUseResult\":{\"blob\":\"");
    long.extend_from_slice(secret.as_bytes());
    long.resize(260 << 20, b' ');
    long.extend_from_slice(b"\"}}\n");
    let lines = |range: &[String]| range.iter().map(|line| format!("{line}\n")).collect::<String>();
    let (before, behind) = (lines(&session.lines[..at]), lines(&session.lines[at + 1..]));
    let path = folder.write("s.jsonl", before.as_bytes());
    import(&engine, &path);
    folder.append("s.jsonl", &long);
    folder.append("s.jsonl", behind.as_bytes());
    let captured = import(&engine, &path);
    let short = import(&crate::support::engine(), &folder.write("short.jsonl", &bytes_of(&session)));
    assert_eq!(engine.stopped_reading(&captured.session).expect("a read"), None);
    assert_eq!((captured.session.commits, captured.entries), (short.session.commits, short.entries));
    let stored = native(&engine, captured.session.tip.expect("a tip"));
    assert!(stored.starts_with(before.as_bytes()) && stored.ends_with(behind.as_bytes()));
    assert!(memchr::memmem::find(&stored, secret.as_bytes()).is_none());
    assert!(stored.len().abs_diff(before.len() + long.len() + behind.len()) < 100);
}

#[test]
fn invariant_11_a_line_beyond_the_bound_is_named_with_its_place() {
    let folder = Folder::new();
    let engine = engine();
    let bytes = bytes_of(&ClaudeSession::new(5).build());
    let offset = u64::try_from(bytes.len()).expect("small");
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    let path = folder.write("s.jsonl", &bytes);
    lengthen(&path, offset + LINE_BYTES_MAX as u64 + 2);
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
    let (read_bytes, file_bytes) = (bytes.len() as u64, bytes.len() as u64 + LINE_BYTES_MAX as u64 + 2);
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
    let codes: Vec<NoteCode> = captured.notes.iter().map(|note| note.code.clone()).collect();
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
