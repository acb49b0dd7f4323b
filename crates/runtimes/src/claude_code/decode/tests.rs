//! Tests of decoding: every line is one entry, and nothing is lost.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;
use stemmata_model::{Counts, IMAGE_TOKENS, Role, Visibility};

use super::*;
use crate::claude_code::count::counts;
use crate::claude_code::samples_tests::{corpus_files, transcript};
use crate::json::is_blank;
use crate::lines::count::{UNSEEN, add};
use crate::lines::decode::LINE_NOTES_MAX;

fn one(line: &str) -> Entry {
    let mut decoded = decode(line.as_bytes());
    assert_eq!(decoded.entries.len(), 1);
    decoded.entries.remove(0)
}

fn hidden() -> Visibility {
    Visibility { agent: false, user: false }
}

#[test]
fn an_answer_over_lines_keeps_thinking_calls_and_their_message() {
    let entry = one(
        r#"{"parentUuid":"p","isSidechain":true,"agentId":"a1","cwd":"/w","gitBranch":"main","type":"assistant","uuid":"u","timestamp":"2026-01-01T00:00:00.001Z","message":{"id":"msg_1","role":"assistant","model":"m","stop_reason":"tool_use","content":[{"type":"thinking","thinking":"hm\n","signature":"c2ln"},{"type":"redacted_thinking","data":"ZW5j"},{"type":"text","text":"so"},{"type":"tool_use","id":"t1","name":"Bash","input":{"b": 1.0, "a":"\u0041"},"caller":{"type":"direct"}},{"type":"server_tool_use","id":"s","name":"web_search","input":{}}],"usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}}}"#,
    );
    let expected = vec![
        Part::Thinking { text: "hm\n".to_owned(), signature: Some("c2ln".to_owned()), encrypted: None },
        Part::Thinking { text: String::new(), signature: None, encrypted: Some("ZW5j".to_owned()) },
        Part::Text("so".to_owned()),
        Part::ToolCall {
            call_id: "t1".to_owned(),
            name: "Bash".to_owned(),
            arguments: r#"{"b": 1.0, "a":"\u0041"}"#.to_owned(),
        },
        opaque(
            "server_tool_use",
            r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#.to_owned(),
        ),
    ];
    assert_eq!(entry.parts, expected);
    assert_eq!((entry.role, entry.kind, entry.body), (Role::Assistant, EntryKind::Message, Body::Blocks));
    assert_eq!(entry.id.as_str(), "u");
    assert_eq!(entry.parent.as_ref().map(EntryId::as_str), Some("p"));
    let meta = EntryMeta {
        visibility: Visibility::default(),
        model: Some("m".to_owned()),
        message_id: Some("msg_1".to_owned()),
        usage: Some(Usage { input_tokens: 1, output_tokens: 2, cache_read_tokens: 3, cache_write_tokens: 4 }),
        stop_reason: Some("tool_use".to_owned()),
        cwd: Some("/w".to_owned()),
        git_branch: Some("main".to_owned()),
        sidechain: Some("a1".to_owned()),
        author: None,
    };
    assert_eq!(entry.meta, meta);
}

#[test]
fn results_hold_their_parts() {
    let entry = one(
        r#"{"type":"user","uuid":"u","isMeta":true,"toolUseResult":"Error: x","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"tool_reference","tool_name":"X"}]},{"type":"tool_result","tool_use_id":"t2","content":"plain"},{"type":"tool_result","tool_use_id":"t3"}]}}"#,
    );
    let result = |call: &str, is_error, parts| Part::ToolResult { call_id: call.to_owned(), is_error, parts };
    let expected = vec![
        result(
            "t1",
            true,
            vec![
                Part::Text("no".to_owned()),
                Part::Image {
                    media_type: "image/png".to_owned(),
                    source: ImageSource::Base64("AAAA".to_owned()),
                },
                opaque("tool_reference", r#"{"type":"tool_reference","tool_name":"X"}"#.to_owned()),
            ],
        ),
        result("t2", false, vec![Part::Text("plain".to_owned())]),
        result("t3", false, Vec::new()),
    ];
    assert_eq!(entry.parts, expected);
    assert_eq!((entry.role, entry.kind), (Role::Tool, EntryKind::ToolResult));
}

#[test]
fn each_kind_of_line_has_its_place() {
    let seen = Visibility::default();
    let not_shown = Visibility { agent: true, user: false };
    let shown = Visibility { agent: false, user: true };
    for (line, role, kind, visibility) in [
        (r#"{"type":"user","message":{"content":"hi"}}"#, Role::User, EntryKind::Message, seen),
        (
            r#"{"type":"user","isMeta":true,"message":{"content":"hi"}}"#,
            Role::User,
            EntryKind::Instruction,
            not_shown,
        ),
        (
            r#"{"type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"content":"hi"}}"#,
            Role::User,
            EntryKind::CompactionSummary,
            seen,
        ),
        (
            r#"{"type":"user","isVisibleInTranscriptOnly":true,"message":{"content":"hi"}}"#,
            Role::User,
            EntryKind::Message,
            seen,
        ),
        (r#"{"type":"user"}"#, Role::System, EntryKind::Metadata, hidden()),
        (
            r#"{"type":"assistant","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[]}}"#,
            Role::Assistant,
            EntryKind::Message,
            shown,
        ),
        (
            r#"{"type":"system","subtype":"compact_boundary"}"#,
            Role::System,
            EntryKind::CompactionBoundary,
            shown,
        ),
        (
            r#"{"type":"system","subtype":"local_command","content":"x"}"#,
            Role::System,
            EntryKind::Instruction,
            not_shown,
        ),
        (r#"{"type":"system","subtype":"turn_duration"}"#, Role::System, EntryKind::Metadata, shown),
        (
            r#"{"type":"attachment","attachment":{"type":"file"}}"#,
            Role::System,
            EntryKind::Instruction,
            not_shown,
        ),
        (
            r#"{"type":"attachment","attachment":{"type":"prompt_snapshot"}}"#,
            Role::System,
            EntryKind::Metadata,
            hidden(),
        ),
        (r#"{"type":"progress","uuid":"u"}"#, Role::System, EntryKind::Metadata, hidden()),
        (r#"{"type":"brand-new"}"#, Role::System, EntryKind::Metadata, hidden()),
        (r#"{"no":"type"}"#, Role::System, EntryKind::Metadata, hidden()),
        ("[1]", Role::System, EntryKind::Unreadable, hidden()),
    ] {
        let entry = one(line);
        assert_eq!((entry.role, entry.kind, entry.meta.visibility), (role, kind, visibility), "{line}");
    }
}

#[test]
fn summaries_and_attachments_have_their_texts() {
    assert_eq!(
        one(r#"{"type":"user","isCompactSummary":true,"message":{"content":"all of it"}}"#).parts,
        [Part::Summary { text: "all of it".to_owned(), covers: Vec::new() }]
    );
    assert_eq!(
        one(r#"{"type":"attachment","attachment":{"type":"date"},"rendered":[{"content":"a"},"b",{"content":[{"type":"text","text":"c"}]}]}"#).parts,
        ["a", "b", "c"].map(|text| Part::Text(text.to_owned()))
    );
}

#[test]
fn lines_without_an_id_are_named_by_their_content() {
    let [a, b] = [r#"{"type":"mode","mode":"a"}"#, r#"{"type":"mode","mode":"b"}"#];
    let ids: Vec<EntryId> =
        decode(format!("{a}\n{b}\n{a}\n").as_bytes()).entries.into_iter().map(|entry| entry.id).collect();
    assert!(ids[0] == ids[2] && ids[0] != ids[1]);
    assert_eq!(one(b).id, ids[1]);
}

#[test]
fn odd_lines_are_kept_and_noted() {
    let bytes = b"\n{\"type\":\"mode\"}\r\n\0\0\0\n \t\n{\"type\":\"brand-new\"}\n{\"type\":\"brand-new\"}\n\xff\n{\"type\":\"us";
    let decoded = decode(bytes);
    let spans = decoded.entries.iter().map(|entry| (entry.native.offset, entry.native.length));
    assert_eq!(spans.collect::<Vec<_>>(), [(1, 16), (18, 3), (25, 20), (46, 20), (67, 1), (69, 11)]);
    let notes: Vec<_> = decoded.notes.iter().map(|note| (note.code.clone(), note.line)).collect();
    assert_eq!(
        notes,
        [
            (NoteCode::UnparsableLine, Some(3)),
            (NoteCode::UnknownRecord, Some(5)),
            (NoteCode::UnparsableLine, Some(7)),
            (NoteCode::TornTail, Some(8)),
            (NoteCode::Degraded, None),
        ]
    );
    assert!(decoded.notes[0].message.contains("3 bytes with NUL bytes"), "{}", decoded.notes[0]);
    assert_eq!(decoded.entries[1].parts, [opaque("unreadable", "\"\\u0000\\u0000\\u0000\"".to_owned())]);
    let garbage = "garbage\n".repeat(1000);
    assert_eq!(decode(garbage.as_bytes()).notes.len(), LINE_NOTES_MAX + 1);
    assert_eq!(decode(b"{\"type\":\"mode\"}").notes[0].code, NoteCode::TornTail);
}

/// What the parts of an entry that a model sees count, by the rule of the model crate.
fn counts_of(entry: &Entry) -> Counts {
    fn chars_and_images(parts: &[Part]) -> (u64, u64) {
        let chars = |text: &str| (u64::try_from(text.chars().count()).expect("few"), 0);
        parts.iter().fold((0, 0), |sum, part| {
            let (more, images) = match part {
                Part::Text(text) | Part::Thinking { text, .. } | Part::Summary { text, .. } => chars(text),
                Part::ToolCall { name, arguments, .. } => (chars(name).0 + chars(arguments).0, 0),
                Part::ToolResult { parts, .. } => chars_and_images(parts),
                Part::Image { .. } | Part::File { .. } => (0, 1),
                Part::Opaque { json, .. } => chars(json),
            };
            (sum.0 + more, sum.1 + images)
        })
    }
    if !entry.meta.visibility.agent {
        return UNSEEN;
    }
    let (chars, images) = chars_and_images(&entry.parts);
    Counts {
        messages: u64::from(entry.role != Role::System),
        entries: 1,
        tokens: chars.div_ceil(4) + images * IMAGE_TOKENS.0,
    }
}

fn check_counts(bytes: &[u8]) -> Counts {
    let decoded = decode(bytes);
    decoded.entries.iter().fold(Counts::default(), |sum, entry| {
        let start = usize::try_from(entry.native.offset).expect("small");
        let line = &bytes[start..start + usize::try_from(entry.native.length).expect("small")];
        let counted =
            Whole::parse(line).map_or(UNSEEN, |whole| counts(&Class::of(&whole.record, whole.inside)));
        assert_eq!(counted, counts_of(entry), "{}", entry.id);
        add(sum, counted)
    })
}

proptest! {
    #[test]
    fn counting_agrees_with_decoding(letters in "[UARIBCmxdsSbcTZ? ]{0,40}") {
        check_counts(&transcript(&letters));
    }

    #[test]
    fn a_torn_transcript_keeps_its_whole_lines(letters in "[UARTBCm?]{1,6}", cut in 0_usize..100_000) {
        let bytes = transcript(&letters);
        let cut = cut % bytes.len();
        let whole = decode(&bytes);
        let torn = decode(&bytes[..cut]);
        let complete = memchr::memchr_iter(b'\n', &bytes[..cut]).count();
        prop_assert_eq!(&torn.entries[..complete], &whole.entries[..complete]);
        prop_assert!(torn.entries.len() <= complete + 1);
    }
}

/// What a naive reader finds of one type of block in a whole file.
fn naive(lines: &[Value]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for line in lines {
        if line["type"] != "user" && line["type"] != "assistant" {
            continue;
        }
        let content = &line["message"]["content"];
        for block in content.as_array().into_iter().flatten() {
            *found.entry(block["type"].as_str().unwrap_or("?").to_owned()).or_default() += 1;
        }
        if content.is_string() {
            *found.entry("string".to_owned()).or_default() += 1;
        }
    }
    found
}

fn decoded_blocks(entries: &[Entry]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for entry in entries {
        if entry.role == Role::System {
            continue;
        }
        if entry.body == Body::Text {
            *found.entry("string".to_owned()).or_default() += 1;
            continue;
        }
        for part in &entry.parts {
            let name = match part {
                Part::Text(_) | Part::Summary { .. } => "text",
                Part::Thinking { encrypted: None, .. } => "thinking",
                Part::Thinking { .. } => "redacted_thinking",
                Part::ToolCall { .. } => "tool_use",
                Part::ToolResult { .. } => "tool_result",
                Part::Image { .. } => "image",
                Part::File { .. } => "document",
                Part::Opaque { kind, .. } => kind,
            };
            *found.entry(name.to_owned()).or_default() += 1;
        }
    }
    found
}

#[test]
fn nothing_of_the_corpus_is_lost() {
    let mut sets: BTreeMap<String, (usize, Counts, BTreeMap<String, usize>)> = BTreeMap::new();
    for (name, bytes) in corpus_files() {
        let lines: Vec<Value> = bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !is_blank(line))
            .map(|line| serde_json::from_slice(line).expect("the corpus is JSON"))
            .collect();
        let decoded = decode(&bytes);
        assert_eq!(decoded.entries.len(), lines.len(), "{name}");
        let found = decoded_blocks(&decoded.entries);
        assert_eq!(found, naive(&lines), "{name}");
        for (entry, line) in decoded.entries.iter().zip(&lines) {
            if let Some(uuid) = line["uuid"].as_str() {
                assert_eq!(entry.id.as_str(), uuid, "{name}");
                assert_eq!(entry.parent.as_ref().map(EntryId::as_str), line["parentUuid"].as_str(), "{name}");
            }
        }
        let notes: Vec<_> = decoded.notes.iter().filter(|note| note.code != NoteCode::TornTail).collect();
        assert!(notes.is_empty(), "{name}: {notes:?}");
        let set = name.rsplit_once('/').map_or("", |(set, _)| set).to_owned();
        let total = sets.entry(set).or_default();
        total.0 += lines.len();
        total.1 = add(total.1, check_counts(&bytes));
        for (kind, count) in found {
            *total.2.entry(kind).or_default() += count;
        }
    }
    for (set, (lines, counts, blocks)) in sets {
        println!("{set}: {lines} lines, {} messages, {} tokens, {blocks:?}", counts.messages, counts.tokens);
    }
}
