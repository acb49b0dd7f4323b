//! Made-up and real captures, and the suites that every adapter passes.

use stemmata_model::{CommitType, EntryKind, Granularity, NoteCode, Part, Role};

use super::Captured;
use crate::adapter::{Adapter, Confidence, Keeps, PlanStop};
use crate::chain_tests::{commits, cut, kept, planned};
use crate::claude_code::STREAM;
use crate::conformance::passes;
use crate::registry::by_runtime;

const TIMED: &str = r#"{"t":"2026-01-01T00:00:00.000Z","fd":"stdin","line":"build it"}
{"t":"2026-01-01T00:00:01.000Z","fd":"stdout","line":"building"}
{"t":"2026-01-01T00:00:01.500Z","fd":"stderr","line":"warning: slow"}
{"t":"2026-01-01T00:00:02.000Z","fd":"stdout","line":""}
{"t":"2026-01-01T00:00:03.000Z","fd":"stdin","line":"again"}
{"t":"2026-01-01T00:00:04.000Z","fd":"tty","line":"?"}
no json
{"t":"2026-01-01T00:00:05.000Z","fd":"stdout","line":"done ✓"}
"#;

const PRINTED: &str = r#"{"type":"system","subtype":"init","cwd":"/srv/project","session_id":"s-1","claude_code_version":"2.1.330"}
{"type":"assistant","message":{"id":"msg_1","role":"assistant","model":"claude-opus","content":[{"type":"tool_use","id":"toolu_1","name":"Task","input":{"prompt":"look"}}]},"parent_tool_use_id":null,"session_id":"s-1","uuid":"a1","timestamp":"2026-01-01T00:00:01.000Z"}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"look"}]},"parent_tool_use_id":"toolu_1","session_id":"s-1","uuid":"u1"}
{"type":"stream_event","event":{"type":"message_start"},"session_id":"s-1","uuid":"e1"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"seen"}]},"parent_tool_use_id":null,"session_id":"s-1","uuid":"u2"}
{"type":"user","message":{"role":"user","content":"go on"},"parent_tool_use_id":null,"session_id":"s-1","uuid":"u3"}
{"type":"assistant","message":{"id":"msg_2","role":"assistant","content":[{"type":"text","text":"done"}]},"parent_tool_use_id":null,"session_id":"s-1","uuid":"a2"}
{"type":"result","subtype":"success","session_id":"s-1","result":"done"}
"#;

#[test]
fn made_up_captures_pass_the_suite() {
    let report = passes(&Captured::GENERIC, "timed lines", TIMED.as_bytes());
    assert_eq!((report.entries, report.commits, report.counts.messages), (8, 2, 5));
    let report = passes(&STREAM, "a stream", PRINTED.as_bytes());
    assert_eq!((report.entries, report.commits, report.counts.messages), (8, 2, 5));
}

#[test]
fn a_stream_tells_its_session_and_whose_message_it_is() {
    let entries = STREAM.decode(PRINTED.as_bytes()).entries;
    assert_eq!(entries[2].meta.sidechain.as_deref(), Some("toolu_1"));
    assert_eq!(entries[4].role, Role::Tool);
    let mut splitter = STREAM.splitter(Granularity::Turn, None);
    for line in PRINTED.lines() {
        splitter.line(line.as_bytes(), &mut Vec::new());
    }
    let facts = splitter.facts();
    assert_eq!(facts.session.as_ref().map(stemmata_model::SessionId::as_str), Some("s-1"));
    assert_eq!((facts.cwd.as_deref(), facts.title.as_deref()), (Some("/srv/project"), Some("go on")));
}

#[test]
fn what_only_says_where_it_came_from_is_detected_and_never_placed() {
    let sure = STREAM.detect(PRINTED.as_bytes()).expect("a stream");
    assert_eq!((sure.confidence, sure.version.as_deref()), (Confidence::Certain, Some("2.1.330")));
    assert!(STREAM.detect(TIMED.as_bytes()).is_none());
    assert!(Captured::GENERIC.detect(PRINTED.as_bytes()).is_none());
    for runtime in ["generic", "claude-stream"] {
        assert!(by_runtime(runtime).is_none(), "{runtime}");
    }
}

#[test]
fn a_summary_of_ours_is_a_compaction() {
    let bytes = Captured::GENERIC.encode_compaction(
        "so far",
        &Keeps::nothing(&Captured::GENERIC.decode(b"")),
        stemmata_model::Timestamp::EPOCH,
    );
    let mut splitter = Captured::GENERIC.splitter(Granularity::Turn, None);
    let cut = splitter.line(bytes.trim_ascii_end(), &mut Vec::new());
    assert_eq!(cut.after.map(|facts| facts.commit_type), Some(CommitType::Compaction));
}

/// A run that was compacted twice: the first time it prints the summary (`s`), the second time only the boundary (`b`).
fn compacted_stream() -> String {
    let said = |kind: &str, id: &str, text: &str| {
        format!(
            r#"{{"type":"{kind}","message":{{"role":"{kind}","content":"{text}"}},"parent_tool_use_id":null,"session_id":"s-1","uuid":"{id}"}}"#
        )
    };
    let system = |subtype: &str, id: &str| {
        format!(r#"{{"type":"system","subtype":"{subtype}","session_id":"s-1","uuid":"{id}"}}"#)
    };
    let boundary = r#"{"type":"system","subtype":"compact_boundary","session_id":"s-1","uuid":"b1","compact_metadata":{"trigger":"auto","pre_tokens":155000}}"#;
    let summary =
        "This session is being continued from a previous conversation that ran out of context. So far: a.";
    let lines = [
        system("init", "h1"),
        said("user", "u1", "begin"),
        said("assistant", "a1", "begun"),
        system("status", "x1"),
        boundary.to_owned(),
        system("init", "h2"),
        said("user", "s1", summary),
        said("assistant", "a2", "going on"),
        said("user", "u2", "more"),
        boundary.replace("b1", "b2"),
        said("assistant", "a3", "still going on"),
        said("user", "u3", "thanks"),
    ];
    lines.map(|line| line + "\n").concat()
}

/// A letter a line of [`compacted_stream`].
const LETTERS: &str = "huaxbisglcrt";

#[test]
fn a_stream_s_boundary_and_summary_are_one_commit() {
    let stream = compacted_stream();
    let bytes = stream.as_bytes();
    assert_eq!(cut(&STREAM, LETTERS, bytes), "huax|bis!|g|l|c!|r|t");
    let entries = STREAM.decode(bytes).entries;
    assert_eq!(entries[4].kind, EntryKind::CompactionBoundary);
    assert_eq!(entries[6].kind, EntryKind::CompactionSummary);
    assert!(
        matches!(entries[6].parts.as_slice(), [Part::Summary { text, .. }] if text.ends_with("So far: a."))
    );
    let until_second: String = stream.lines().take(9).map(|line| format!("{line}\n")).collect();
    let (plan, _) = planned(&STREAM, until_second.as_bytes(), PlanStop::Compaction);
    assert_eq!(plan.notes, []);
    assert_eq!(kept(&STREAM, LETTERS, until_second.as_bytes(), PlanStop::Compaction), "isgl");
    let (plan, _) = planned(&STREAM, bytes, PlanStop::Root);
    assert_eq!(
        (kept(&STREAM, LETTERS, bytes, PlanStop::Root).as_str(), plan.skipped_compactions),
        ("huaxiglrt", 1)
    );
    crate::conformance::passes(&STREAM, "a compacted stream", bytes);
    for granularity in [Granularity::Message, Granularity::Every(2)] {
        let types: Vec<_> = commits(&STREAM, granularity, bytes).into_iter().map(|(own, _)| own).collect();
        assert_eq!(types.iter().filter(|own| **own == CommitType::Compaction).count(), 2, "{types:?}");
    }
}

#[test]
fn a_boundary_without_a_summary_is_a_compaction_with_a_note() {
    let stream = compacted_stream();
    let (plan, _) = planned(&STREAM, stream.as_bytes(), PlanStop::Compaction);
    assert_eq!(kept(&STREAM, LETTERS, stream.as_bytes(), PlanStop::Compaction), "icrt");
    assert!(matches!(plan.notes.as_slice(), [note] if note.code == NoteCode::Degraded), "{:?}", plan.notes);
    // Nothing tells yet whether its summary follows.
    let open: String = stream.lines().take(5).map(|line| format!("{line}\n")).collect();
    assert_eq!(cut(&STREAM, LETTERS, open.as_bytes()), "huax|b");
}
