//! Laws of placing: structure changes, content does not.

use proptest::prelude::*;
use serde_json::{Value, json};
use stemmata_model::{NoteCode, SessionId};

use super::super::chain_tests::{placed, request, validated};
use super::super::samples_tests::{corpus_files, transcript, uuid};
use super::super::story_tests::{Story, numbers, parents};
use super::*;
use crate::chain_tests::place;
use crate::claude_code::ClaudeCode;

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}

/// A line without what placing may change.
fn content(line: &[u8]) -> Option<Value> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    for field in ["sessionId", "session_id", "cwd", "relocatedCwd", "isSidechain", "agentId"] {
        value.as_object_mut()?.remove(field);
    }
    Some(value)
}

fn is_made_up(line: &[u8]) -> bool {
    String::from_utf8_lossy(line).contains("[Closed by Stemmata")
}

fn codes(notes: &[Note]) -> Vec<NoteCode> {
    notes.iter().map(|note| note.code.clone()).collect()
}

#[test]
fn only_session_and_directory_change_and_no_other_byte() {
    let line = br#"{ "cwd":"/work/project/a\u002fb" ,"type":"user","sessionId" : "old", "session_id":"other","requestSessionId":"old","x":1e5,"message":{"role":"user","content":"old \u00e9 /work/project","sessionId":"old","cwd":"/work/project"}, "uuid":"u1","parentUuid":null}"#;
    let expected = br#"{ "cwd":"/new/place/a/b" ,"type":"user","sessionId" : "99999999-8888-4777-8666-555555555555", "session_id":"99999999-8888-4777-8666-555555555555","requestSessionId":"old","x":1e5,"message":{"role":"user","content":"old \u00e9 /work/project","sessionId":"old","cwd":"/work/project"}, "uuid":"u1","parentUuid":null}"#;
    let (out, notes) = placed(&[&line[..], b"\n"].concat());
    assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&[&expected[..], b"\n"].concat()));
    assert_eq!(notes, []);
}

#[test]
fn directories_move_when_they_are_the_origin_s_or_below_it() {
    let rows = [
        (Some("/work/project"), "/work/project", "/new/place"),
        (Some("/work/project"), "/work/project/deep/er", "/new/place/deep/er"),
        (Some("/work/project"), "/work/project2", "/work/project2"),
        (Some("/work/project"), "/work", "/work"),
        (Some("C:\\me"), "C:\\me\\x", "/new/place\\x"),
        (Some("/work/project/"), "/work/project", "/new/place"),
        (Some("/work/project/"), "/work/project/a", "/new/place/a"),
        (Some("/"), "/work", "/new/place/work"),
        (None, "/work/project", "/work/project"),
    ];
    for (origin, old, new) in rows {
        let request = PlaceRequest { origin_cwd: origin.map(str::to_owned), ..request() };
        let line = format!("{}\n", json!({ "type": "mode", "cwd": old }));
        let out: Value =
            serde_json::from_slice(&place(&ClaudeCode, &request, line.as_bytes()).0).expect("a line");
        assert_eq!(out["cwd"], new, "{origin:?} {old}");
    }
}

#[test]
fn a_call_at_the_end_is_answered_below_the_last_record() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answered = story.call(first, "m");
    let open = [story.call(answered, "m"), 0];
    let open = [open[0], story.call(open[0], "m")];
    let result = story.result(answered);
    let (out, notes) = placed(&story.bytes());
    assert_eq!(codes(&notes), [NoteCode::SyntheticResult]);
    let made_up: Vec<Value> =
        lines(&out)[5..].iter().map(|line| serde_json::from_slice(line).expect("JSON")).collect();
    assert_eq!(made_up.len(), 2);
    // The last record is the first call's result: the others are not above it.
    assert_eq!(made_up[0]["parentUuid"], uuid(open[0]));
    assert_eq!(made_up[1]["parentUuid"], uuid(open[1]));
    assert_eq!(made_up[0]["sourceToolAssistantUUID"], uuid(open[0]));
    let block = &made_up[1]["message"]["content"][0];
    assert_eq!(
        (&block["is_error"], &block["tool_use_id"]),
        (&json!(true), &json!(format!("toolu_{}", open[1])))
    );
    assert_eq!(made_up[0]["timestamp"], "2026-01-01T00:00:03.000Z");
    assert_eq!(made_up[0]["cwd"], "/new/place");
    assert_eq!(made_up[0]["sessionId"], "99999999-8888-4777-8666-555555555555");
    let validation = validated(&out, None);
    assert_eq!(validation.findings, []);
    assert_eq!(validation.messages_sent, 7);
    assert_eq!(numbers(&out)[..5], [first, answered, open[0], open[1], result]);
}

#[test]
fn results_hang_on_each_other_so_that_old_clients_find_all() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let call = story.call(first, "m");
    story.call(call, "m");
    let (out, _) = placed(&story.bytes());
    for version in [None, Some("2.1.50")] {
        let validation = validated(&out, version);
        assert_eq!(validation.findings, [], "{version:?}");
        assert_eq!(validation.messages_sent, 5);
    }
}

#[test]
fn a_call_that_the_conversation_went_over_is_answered_where_it_stands() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let call = story.call(first, "m");
    let next = story.prompt(Some(call));
    let last = story.answer(next);
    let (out, _) = placed(&story.bytes());
    assert!(is_made_up(lines(&out)[2]));
    assert!(parents(&out).contains(&(next, Some(call))), "the next prompt keeps its parent");
    assert_eq!(parents(&out).last(), Some(&(last, Some(next))));
    assert_eq!(validated(&out, None).findings, []);
}

#[test]
fn a_result_that_comes_late_is_kept_and_told() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let call = story.call(first, "m");
    let next = story.prompt(Some(call));
    story.result_below(next, call);
    let (out, notes) = placed(&story.bytes());
    assert_eq!(codes(&notes), [NoteCode::SyntheticResult, NoteCode::Conflict]);
    assert_eq!(lines(&out).len(), 5);
}

#[test]
fn a_subagent_s_call_is_not_answered_by_what_the_conversation_does() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let call = story.call(first, "m");
    let side = story.prompt(None);
    let side_call = story.call(side, "s");
    for line in [side, side_call] {
        story.set(line, "isSidechain", json!(true));
        story.set(line, "agentId", json!("a1"));
    }
    story.result(call);
    let (out, _) = placed(&story.bytes());
    let made_up: Value = serde_json::from_slice(lines(&out)[5]).expect("JSON");
    assert_eq!((&made_up["isSidechain"], &made_up["agentId"]), (&json!(true), &json!("a1")));
    assert_eq!(made_up["parentUuid"], uuid(side_call));
}

#[test]
fn ends_are_mended() {
    let whole = transcript("UA");
    let (cut, notes) = placed(&[&whole[..], br#"{"type":"user","mess"#].concat());
    assert_eq!((lines(&cut).len(), codes(&notes)), (2, vec![NoteCode::TornTail]));
    let (bare, notes) = placed(whole.strip_suffix(b"\n").expect("a newline"));
    assert_eq!((lines(&bare).len(), notes), (2, vec![]));
    assert!(bare.ends_with(b"\n"));
    let (garbage, _) = placed(&[b"garbage\n", &whole[..]].concat());
    assert!(garbage.starts_with(b"garbage\n"), "a line that is not a record is content too");
    assert_eq!(placed(b"").0, b"");
}

#[test]
fn a_compaction_without_its_summary_does_not_hide_what_is_before_it() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let boundary = story.boundary(answer, &[]);
    story.push(json!({ "type": "mode", "mode": "plan" }));
    story.system(boundary);
    let (out, notes) = placed(&story.bytes());
    assert_eq!(numbers(&out), [first, answer]);
    assert_eq!((lines(&out).len(), codes(&notes)), (3, vec![NoteCode::Degraded]));
    story.summary(boundary);
    let (out, notes) = placed(&story.bytes());
    assert_eq!((lines(&out).len(), notes), (6, vec![]));
}

#[test]
fn made_up_ids_come_from_the_seed() {
    let bytes = transcript("UT");
    let ids = |seed: u8| {
        let out = place(&ClaudeCode, &PlaceRequest { seed: [seed; 32], ..request() }, &bytes).0;
        let made_up: Value = serde_json::from_slice(lines(&out)[2]).expect("JSON");
        made_up["uuid"].as_str().expect("an id").to_owned()
    };
    assert_eq!(ids(1), ids(1));
    assert_ne!(ids(1), ids(2));
    assert_eq!(ids(7), "e20090da-e357-42b1-8874-60c3319dc963");
}

#[test]
fn the_client_looks_in_a_folder_named_after_the_directory() {
    let request = PlaceRequest {
        session: SessionId::new("99999999-8888-4777-8666-555555555555").expect("a name"),
        cwd: "/work/my.project".to_owned(),
        ..request()
    };
    let place = client_place(&request);
    assert_eq!(
        place.relative_path,
        ["projects", "-work-my-project", "99999999-8888-4777-8666-555555555555.jsonl"]
    );
    assert_eq!(place.resume_command, ["claude", "--resume", "99999999-8888-4777-8666-555555555555"]);
}

/// Checks the laws on any bytes.
fn check_laws(bytes: &[u8]) {
    let (out, _) = placed(bytes);
    assert_eq!(placed(bytes).0, out, "placing is a function");
    assert_eq!(placed(&out).0, out, "what is placed is placed");
    let mut kept = lines(&out).into_iter().filter(|line| !is_made_up(line));
    for line in lines(bytes) {
        let record = Record::parse(line);
        let is_torn = record.is_err() && !line.ends_with(b"\n");
        if is_torn {
            continue;
        }
        let Ok(record) = record else {
            assert_eq!(kept.next(), Some(line));
            continue;
        };
        // Boundaries that were dropped have no summary behind them; the rest is told by `ends_are_mended`.
        let next = kept.next().expect("every line is there");
        assert_eq!(content(next), content(line));
        if record.session_id.is_none() && record.cwd.is_none() {
            assert_eq!(next.strip_suffix(b"\n"), Some(line.strip_suffix(b"\n").unwrap_or(line)));
        }
    }
    assert_eq!(kept.next(), None);
}

proptest! {
    #[test]
    fn any_transcript_keeps_its_content(letters in "[UATZRIBCmxdsSr?]{0,30}C", cut in any::<prop::sample::Index>()) {
        let mut bytes = transcript(&letters);
        bytes.truncate(cut.index(bytes.len() + 1));
        let all = lines(&bytes);
        let records = all.iter().rev().filter_map(|line| Record::parse(line).ok());
        let mut records = records.filter(|record| record.is_compact_boundary() || record.message.is_some());
        if !records.next().is_some_and(|record| record.is_compact_boundary()) {
            check_laws(&bytes);
        }
        placed(&bytes);
    }

    #[test]
    fn any_bytes_are_placed(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check_laws(&bytes);
    }
}

#[test]
fn the_corpus_keeps_its_content_and_every_call_is_answered() {
    for (name, bytes) in corpus_files() {
        let cuts = [bytes.len(), bytes.len() * 2 / 3, bytes.len() / 3];
        for cut in cuts {
            let part = &bytes[..cut];
            check_laws(part);
            let (out, _) = placed(part);
            let open =
                validated(&out, None).findings.into_iter().filter(|finding| finding.check == "open_call");
            assert_eq!(open.count(), 0, "{name} cut at byte {cut}");
        }
    }
}
