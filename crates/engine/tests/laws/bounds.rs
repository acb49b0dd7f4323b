//! Invariants 11 and 12: everything has a bound, and nothing degrades in silence.

use stemmata_engine::{CaptureOptions, EngineError, ErrorKind, LINE_BYTES_MAX, Stop};
use stemmata_model::NoteCode;
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, bytes_of, engine, import, native};

#[test]
fn invariant_11_a_line_beyond_the_bound_is_named_with_its_place() {
    let folder = Folder::new();
    let engine = engine();
    let mut bytes = bytes_of(&ClaudeSession::new(5).build());
    let offset = u64::try_from(bytes.len()).expect("small");
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    bytes.resize(bytes.len() + LINE_BYTES_MAX + 2, b'x');
    let error =
        engine.capture(&folder.write("s.jsonl", &bytes), &CaptureOptions::import()).expect_err("too long");
    match error {
        EngineError::LineTooLong { line, offset: found, .. } => {
            assert_eq!((line, found), (u64::try_from(lines).expect("small") + 1, offset));
        }
        other => panic!("{other}"),
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
