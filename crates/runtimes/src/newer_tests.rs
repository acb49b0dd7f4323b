//! Sessions of clients that are newer than this program, in every format that a client loads: what is not known is
//! carried as it is, is told, and stands in nobody's way.

use stemmata_model::{Granularity, NoteCode, Part};

use crate::adapter::Adapter;
use crate::chain_tests::checked_for;
use crate::claude_code::{self, ClaudeCode};
use crate::codex::{self, Codex};
use crate::gemini::{self, Gemini, GeminiLegacy};
use crate::opencode::{self, Opencode};
use crate::pi::{self, Pi};
use crate::registry;

/// A record that no client of today writes.
const UNKNOWN: &str = r#"{"type":"hologram","timestamp":"2026-01-01T00:09:00.000Z","uuid":"0000abcd-0000-4000-8000-00000000abcd","id":"0000abcd","parentId":null,"sessionID":"ses_0","messageID":"msg_0","payload":{"type":"hologram","shape":{"deep":[1.50,null]}}}"#;

/// Puts the record behind the first line or element of a list.
fn with_unknown(bytes: &[u8], after: &str) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    let Some((before, behind)) = text.split_once(after) else { panic!("no {after} in {text}") };
    format!("{before}{after}{UNKNOWN}{}{behind}", if after == "\n" { "\n" } else { "," }).into_bytes()
}

#[test]
fn what_a_newer_client_writes_is_carried_told_and_stands_in_nobodys_way() {
    let legacy = concat!(
        r#"{"sessionId":"9b1dcd5e-3f6e-4a38-9d6f-0a1b2c3d4e5f","projectHash":"0e7f","startTime":"2025-10-01T10:00:00.000Z","#,
        r#""messages":[{"id":"5c1f","timestamp":"2025-10-01T10:00:01.000Z","type":"user","content":"Which bells?"}]}"#
    );
    let claude = String::from_utf8(claude_code::samples_tests::transcript("UTRA")).expect("text");
    let versions = of_tomorrow(&claude);
    let samples: [(&dyn Adapter, Vec<u8>); 7] = [
        (&ClaudeCode, with_unknown(versions.as_bytes(), "\n")),
        (&Codex::PAGINATED, with_unknown(&codex::samples_tests::rollout("HUA", true), "\n")),
        (&Codex::LEGACY, with_unknown(&codex::samples_tests::rollout("HUA", false), "\n")),
        (&Pi::V3, with_unknown(&pi::samples_tests::session("HUA", 3), "\n")),
        (&Gemini, with_unknown(&gemini::samples_tests::session("HUA"), "\n")),
        (&GeminiLegacy, with_unknown(legacy.as_bytes(), "\"messages\":[")),
        (
            &Opencode,
            with_unknown(
                opencode::samples_tests::SAMPLE.replace("1.18.33", "99.0.0").as_bytes(),
                "\"parts\": [",
            ),
        ),
    ];
    for (adapter, bytes) in samples {
        let format = adapter.format();
        let (found, _) = registry::detect(&bytes).unwrap_or_else(|| panic!("{format} is not known any more"));
        assert_eq!(found.format(), format);
        let decoded = adapter.decode(&bytes);
        let told: Vec<_> = decoded.notes.iter().filter(|note| note.code == NoteCode::UnknownRecord).collect();
        assert!(told.len() == 1 && told[0].message.contains("hologram"), "{format}: {:?}", decoded.notes);
        let carried = decoded
            .entries
            .iter()
            .flat_map(|entry| &entry.parts)
            .any(|part| matches!(part, Part::Opaque { json, .. } if json.contains("[1.50,null]")));
        assert!(carried, "{format}: its spelling is kept");
        let verdict = checked_for(adapter, &bytes, Some("99.0.0"));
        assert!(verdict.is_accepted(), "{format}: {:?}", verdict.findings);
        let repaired = crate::repair::repair(adapter, &bytes, Some("99.0.0")).bytes;
        assert!(String::from_utf8_lossy(&repaired).contains("[1.50,null]"), "{format}: a repair keeps it");
    }
}

/// Has every record say that a client of tomorrow wrote it.
fn of_tomorrow(text: &str) -> String {
    let parts: Vec<&str> = text.split("\"version\":\"").collect();
    let mut out = parts.first().copied().unwrap_or_default().to_owned();
    for part in parts.iter().skip(1) {
        let behind = part.find('"').unwrap_or(0);
        out.push_str("\"version\":\"99.0.0");
        out.push_str(&part[behind..]);
    }
    out
}

/// A header may name a version that is not known; its records may be like those of a known one all the same.
#[test]
fn a_version_that_is_not_known_is_named() {
    let gemini = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-01-01T00:00:00.000Z","#;
    let pi = r#"{"type":"session","id":"a","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p""#;
    let codex =
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"a","cwd":"/p""#;
    for (head, wanted) in [
        (format!("{gemini}\"kind\":\"main\"}}"), None),
        (format!("{gemini}\"kind\":\"main\",\"schemaVersion\":9}}"), Some("`schemaVersion` 9")),
        (format!("{gemini}\"schemaVersion\":9,\"messages\":[]}}"), Some("`schemaVersion` 9")),
        (format!("{pi}}}"), None),
        (format!("{pi},\"version\":3}}"), None),
        (format!("{pi},\"version\":9}}\n{{\"version\":3}}"), Some("version 9")),
        (format!("{codex}}}}}"), None),
        (format!("{codex},\"history_mode\":null}}}}"), None),
        (format!("{codex},\"history_mode\":\"legacy\"}}}}"), None),
        (format!("{codex},\"history_mode\":\"paginated\"}}}}"), None),
        (format!("{codex},\"history_mode\":\"woven\"}}}}"), Some("history mode \"woven\"")),
        (format!("{codex},\"history_mode\":7}}}}"), Some("history mode 7")),
    ] {
        let (adapter, _) = registry::detect(head.as_bytes()).unwrap_or_else(|| panic!("{head}"));
        assert_eq!(adapter.unknown_version(head.as_bytes()).as_deref(), wanted, "{head}");
    }
}

#[test]
fn no_note_about_a_type_has_an_empty_name() {
    let adapters: [(&dyn Adapter, Vec<u8>); 5] = [
        (&ClaudeCode, claude_code::samples_tests::transcript("UTRA")),
        (&Codex::PAGINATED, codex::samples_tests::rollout("HUA", true)),
        (&Codex::LEGACY, codex::samples_tests::rollout("HUA", false)),
        (&Pi::V3, pi::samples_tests::session("HUA", 3)),
        (&Gemini, gemini::samples_tests::session("HUA")),
    ];
    for (record, name) in [
        ("{}", "`(none)`"),
        (r#"{"type":null}"#, "`null`"),
        (r#"{"type":5}"#, "`5`"),
        (r#"{"type":""}"#, "`\"\"`"),
        (r#"{"type":{"a":1}}"#, "`{\"a\":1}`"),
    ] {
        for (adapter, bytes) in &adapters {
            let bytes = [bytes.as_slice(), record.as_bytes(), b"\n"].concat();
            let decoded = adapter.decode(&bytes);
            let note = decoded.notes.iter().find(|note| note.code == NoteCode::UnknownRecord).expect(record);
            assert!(note.message.contains(name), "{}: {}", adapter.format(), note.message);
            let mut splitter = adapter.splitter(Granularity::Turn, None);
            bytes.split_inclusive(|byte| *byte == b'\n').for_each(|line| {
                splitter.line(line, &mut Vec::new());
            });
            let counted: Vec<_> = splitter.unknown().iter().map(|(name, _)| format!("`{name}`")).collect();
            assert_eq!(counted, [name], "{}", adapter.format());
            let found = checked_for(*adapter, &bytes, None).findings;
            let named: Vec<_> = found.iter().filter(|finding| finding.check == "unknown_type").collect();
            let has_check = !adapter.format().as_str().starts_with("claude");
            assert_eq!(named.len(), usize::from(has_check), "{}: {found:?}", adapter.format());
            assert!(named.iter().all(|finding| finding.message.contains(name)), "{found:?}");
        }
    }
}

#[test]
fn an_operation_of_gemini_that_is_not_known_is_named() {
    let mut bytes = gemini::samples_tests::session("HUA");
    bytes.extend_from_slice(b"{\"$frobnicate\":1}\n{\"x\":1,\"$set\":7}\n");
    let notes = Gemini.decode(&bytes).notes;
    let notes: Vec<_> = notes.iter().map(|note| note.message.as_str()).collect();
    assert!(notes[0].contains("`$frobnicate`") && notes[1].contains("`$set`"), "{notes:?}");
    let found = checked_for(&Gemini, &bytes, None).findings;
    assert!(found.iter().any(|finding| finding.message.contains("`$frobnicate`")), "{found:?}");
}

/// A format's sample, a record behind it, and the names of what that holds and nobody knows.
type Newer<'r> = (&'static dyn Adapter, Vec<u8>, &'r str, &'r [&'r str]);

fn check_newer((adapter, bytes, record, wanted): Newer<'_>) {
    let format = adapter.format();
    let named = |bytes: &[u8]| {
        let mut splitter = adapter.splitter(Granularity::Turn, None);
        bytes.split_inclusive(|byte| *byte == b'\n').for_each(|line| {
            splitter.line(line, &mut Vec::new());
        });
        splitter.unknown().iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(named(&bytes), [] as [&str; 0], "{format}");
    let bytes = [bytes.as_slice(), record.as_bytes(), b"\n"].concat();
    assert_eq!(named(&bytes), wanted, "{format}");
    let notes = adapter.decode(&bytes).notes;
    let told = notes.iter().filter(|note| note.code == NoteCode::UnknownRecord);
    let told: Vec<_> = told.map(|note| note.message.as_str()).collect();
    let is_told = |name: &&str| told.iter().any(|told| told.contains(*name));
    assert!(told.len() == wanted.len() && wanted.iter().all(is_told), "{format}: {told:?}");
}

/// Part of a conversation may be new where its record is not: it is named as a record of an unknown type is.
#[test]
fn what_stands_inside_a_record_and_is_not_known_is_named() {
    let claude = r#"{"type":"assistant","uuid":"0000abcd-0000-4000-8000-00000000abcd","parentUuid":null,"timestamp":"2026-01-01T00:09:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"},{"type":"tool_use_v9","words":"[1.50,null]"},{"words":1}]}}"#;
    let result = r#"{"type":"user","uuid":"0000abcd-0000-4000-8000-00000000abce","parentUuid":null,"timestamp":"2026-01-01T00:09:00.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"hologram"},{"type":"search_result"}]}]}}"#;
    let codex = |payload: &str| {
        format!(r#"{{"timestamp":"2026-01-01T00:09:00.000Z","type":"response_item","payload":{payload}}}"#)
    };
    let message = codex(
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"},{"type":"hologram","words":"[1.50,null]"}]}"#,
    );
    let output = codex(
        r#"{"type":"function_call_output","call_id":"c","output":[{"type":"hologram"},{"type":"input_audio","audio_url":"a"}]}"#,
    );
    let reasoning = codex(
        r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"so"}],"content":[{"type":"hologram"}]}"#,
    );
    let compacted = r#"{"timestamp":"2026-01-01T00:09:00.000Z","type":"compacted","payload":{"message":"m","replacement_history":[{"type":"hologram"},{"type":"message","role":"user","content":[]}]}}"#;
    let gemini = |record: &str| format!(r#"{{"id":"a","timestamp":"2026-01-01T00:09:00.000Z",{record}}}"#);
    let user =
        gemini(r#""type":"user","content":[{"text":"hi"},{"hologram":{"words":1}},{"executableCode":{}}]"#);
    let answer = gemini(r#""type":"gemini","content":{"hologram":"[1.50,null]"}"#);
    let set = r#"{"$set":{"messages":[{"id":"a","type":"hologram"},{"id":"b","type":"user","content":[{"hologram":1}]}]}}"#;
    let rows: [Newer<'_>; 9] = [
        (
            &ClaudeCode,
            claude_code::samples_tests::transcript("UTRA"),
            claude,
            &["assistant/tool_use_v9", "assistant/(none)"],
        ),
        (&ClaudeCode, claude_code::samples_tests::transcript("UTRA"), result, &["user/hologram"]),
        (
            &Codex::PAGINATED,
            codex::samples_tests::rollout("HUA", true),
            &message,
            &["response_item/message/hologram"],
        ),
        (
            &Codex::LEGACY,
            codex::samples_tests::rollout("HUA", false),
            &output,
            &["response_item/function_call_output/hologram"],
        ),
        (
            &Codex::LEGACY,
            codex::samples_tests::rollout("HUA", false),
            &reasoning,
            &["response_item/reasoning/hologram"],
        ),
        (&Codex::LEGACY, codex::samples_tests::rollout("HUA", false), compacted, &["compacted/hologram"]),
        (&Gemini, gemini::samples_tests::session("HUA"), &user, &["user/hologram"]),
        (&Gemini, gemini::samples_tests::session("HUA"), &answer, &["gemini/hologram"]),
        (&Gemini, gemini::samples_tests::session("HUA"), set, &["$set/hologram", "user/hologram"]),
    ];
    rows.into_iter().for_each(check_newer);
}

#[test]
fn what_stands_inside_an_older_session_of_gemini_is_named() {
    let legacy = concat!(
        r#"{"sessionId":"9b1dcd5e-3f6e-4a38-9d6f-0a1b2c3d4e5f","projectHash":"0e7f","startTime":"2025-10-01T10:00:00.000Z","#,
        r#""messages":[{"id":"5c1f","timestamp":"2025-10-01T10:00:01.000Z","type":"user","content":[{"hologram":1}]}]}"#
    );
    let mut splitter = GeminiLegacy.splitter(Granularity::Turn, None);
    splitter.line(legacy.as_bytes(), &mut Vec::new());
    assert_eq!(splitter.unknown(), [("user/hologram".to_owned(), 1)]);
}

/// What is kept of a part that is not known is all of it, so that its words can be read by whom they are for.
#[test]
fn a_part_that_is_not_known_keeps_its_words() {
    let line = r#"{"type":"assistant","uuid":"0000abcd-0000-4000-8000-00000000abcd","parentUuid":null,"message":{"role":"assistant","content":[{"type":"tool_use_v9","words":"a lamp"}]}}"#;
    let kept = ClaudeCode.decode(line.as_bytes()).entries.into_iter().flat_map(|entry| entry.parts);
    let kept: Vec<Part> = kept.collect();
    assert!(matches!(&*kept, [Part::Opaque { json, .. }] if json.contains("a lamp")), "{kept:?}");
}
