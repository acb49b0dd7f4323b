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
