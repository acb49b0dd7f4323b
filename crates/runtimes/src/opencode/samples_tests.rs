//! Samples of sessions, and the laws that they keep.

use stemmata_model::{Part, Role};

use super::*;
use crate::adapter::{Decoded, Keeps, PlanStop};
use crate::chain_tests::{checked, place};
use crate::conformance::{check, passes};

/// A session as the client exports it, with something of everything.
pub(crate) const SAMPLE: &str = r#"{
  "info": {"id": "ses_e1002233445566778899aabbcc", "slug": "loud-bell", "projectID": "global", "directory": "/tower",
    "title": "Bells at noon", "version": "1.18.33", "time": {"created": 1790000000000, "updated": 1790000009000}},
  "messages": [
    {"info": {"id": "msg_1effddccb001aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "role": "user",
        "time": {"created": 1790000001000}, "agent": "build", "model": {"providerID": "mock", "modelID": "m1"}},
      "parts": [{"id": "prt_1effddccb002aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccb001aaaaaaaaaaaaaa", "type": "text", "text": "Which bells ring at noon?"},
        {"id": "prt_1effddccb003aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccb001aaaaaaaaaaaaaa", "type": "file", "mime": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="}]},
    {"info": {"role": "assistant", "parentID": "msg_1effddccb001aaaaaaaaaaaaaa", "modelID": "m1", "providerID": "mock",
        "mode": "build", "agent": "build", "cost": 0, "path": {"cwd": "/tower", "root": "/"}, "time": {"created": 1790000002000}, "finish": "tool-calls",
        "tokens": {"input": 7, "output": 3, "reasoning": 1, "cache": {"read": 2, "write": 0}},
        "id": "msg_1effddccc001aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc"},
      "parts": [{"type": "step-start", "id": "prt_1effddccc002aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccc001aaaaaaaaaaaaaa"},
        {"type": "reasoning", "text": "The list will say.", "time": {"start": 1}, "metadata": {"anthropic": {"signature": "c2lnbmVk"}}, "id": "prt_1effddccc003aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccc001aaaaaaaaaaaaaa"},
        {"type": "text", "text": "I look.", "id": "prt_1effddccc004aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccc001aaaaaaaaaaaaaa"},
        {"type": "tool", "tool": "read", "callID": "call_ListOfBells7Q", "state": {"status": "completed", "input": {"filePath": "bells.txt", "at": 1.50},
          "output": "east: 12:00\nwest: silent", "metadata": {}, "title": "bells.txt", "time": {"start": 1, "end": 2}}, "id": "prt_1effddccc005aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccc001aaaaaaaaaaaaaa"},
        {"type": "tool", "tool": "photo", "callID": "call_PicOfTower8R", "state": {"status": "error", "input": {}, "error": "fog", "time": {"start": 1, "end": 2}}, "id": "prt_1effddccc006aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccc001aaaaaaaaaaaaaa"},
        {"type": "step-finish", "reason": "tool-calls", "cost": 0, "tokens": {"input": 7, "output": 3, "reasoning": 1, "cache": {"read": 2, "write": 0}}, "id": "prt_1effddccc007aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccc001aaaaaaaaaaaaaa"},
        {"type": "step-start", "id": "prt_1effddccc008aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccc001aaaaaaaaaaaaaa"},
        {"type": "text", "text": "The east bell does.", "id": "prt_1effddccc009aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccc001aaaaaaaaaaaaaa"},
        {"type": "step-finish", "reason": "stop", "cost": 0, "tokens": {"input": 7, "output": 3, "reasoning": 1, "cache": {"read": 2, "write": 0}}, "id": "prt_1effddccc00aaaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccc001aaaaaaaaaaaaaa"}]},
    {"info": {"role": "user", "agent": "build", "model": {"providerID": "mock", "modelID": "m1"}, "time": {"created": 1790000005000}, "sessionID": "ses_e1002233445566778899aabbcc", "id": "msg_1effddccd001aaaaaaaaaaaaaa"},
      "parts": [{"type": "text", "text": "And the west one?", "id": "prt_1effddccd002aaaaaaaaaaaaaa", "sessionID": "ses_e1002233445566778899aabbcc", "messageID": "msg_1effddccd001aaaaaaaaaaaaaa"}]}
  ]
}
"#;

#[test]
fn sessions_keep_the_laws() {
    let report = passes(&Opencode, "a session", SAMPLE.as_bytes());
    assert_eq!((report.entries, report.counts.messages, report.notes), (7, 6, Vec::new()));
}

/// Returns the types that an import would name, and the checks that `doctor` would make of them.
pub(super) fn not_known(document: &str) -> (Vec<(String, u64)>, usize) {
    let mut splitter = Opencode.splitter(stemmata_model::Granularity::Turn, None);
    splitter.line(document.as_bytes(), &mut Vec::new());
    let found = checked(&Opencode, document.as_bytes()).findings;
    (splitter.unknown().to_vec(), found.iter().filter(|finding| finding.check == "unknown_type").count())
}

#[test]
fn parts_and_attachments_that_are_not_known_are_counted_and_named() {
    assert_eq!(not_known(SAMPLE), (Vec::new(), 0));
    let wizard =
        SAMPLE.replace(r#""type": "text", "text": "I look.""#, r#""type": "wizard", "text": "I look.""#);
    assert_eq!(not_known(&wizard), (vec![("wizard".to_owned(), 1)], 1));
    let attached = r#""title": "bells.txt", "attachments": [{"type": "rune", "id": "prt_1", "sessionID": "s", "messageID": "m"}],"#;
    let attached = SAMPLE.replace(r#""title": "bells.txt","#, attached);
    assert_eq!(not_known(&attached).0, [("rune".to_owned(), 1)]);
}

#[test]
fn steps_and_results_are_entries_in_their_order() {
    let entries = Opencode.decode(SAMPLE.as_bytes()).entries;
    let roles: Vec<Role> = entries.iter().skip(1).map(|entry| entry.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::Assistant, Role::User]);
    let calls: Vec<&str> = entries.iter().flat_map(Entry::calls).collect();
    let answers: Vec<&str> = entries.iter().flat_map(Entry::answers).collect();
    assert_eq!((calls.clone(), calls), (answers, vec!["call_ListOfBells7Q", "call_PicOfTower8R"]));
}

fn request(drawn: &str) -> PlaceRequest {
    let at = Timestamp::from_micros(1_800_000_000_000_000);
    let session = SessionId::new(drawn).expect("a name");
    PlaceRequest {
        session: Opencode.new_session(&session, at),
        cwd: "/new".to_owned(),
        origin_cwd: Some("/tower".to_owned()),
        client_version: None,
        at,
        seed: [7; 32],
    }
}

pub(super) fn placed(bytes: &[u8]) -> (Vec<u8>, Vec<stemmata_model::Note>) {
    place(&Opencode, &request("b9a6d5e4-0000-4000-8000-000000000001"), bytes)
}

#[test]
fn a_placed_session_has_new_ids_and_says_the_same() {
    let (out, notes) = placed(SAMPLE.as_bytes());
    assert_eq!(notes, Vec::new());
    let text = String::from_utf8(out.clone()).expect("text");
    for old in ["ses_e10022", "msg_1effddcc", "prt_1effddcc", "\"/tower\""] {
        assert!(!text.contains(old), "{old}: {text}");
    }
    let said = |bytes: &[u8]| -> Vec<Vec<Part>> {
        Opencode.decode(bytes).entries.into_iter().skip(1).map(|entry| entry.parts).collect()
    };
    assert_eq!(said(&out), said(SAMPLE.as_bytes()));
    assert_eq!(checked(&Opencode, &out).findings, Vec::new());
    assert_eq!(placed(SAMPLE.as_bytes()).0, out, "placing is pure");
}

#[test]
fn a_call_that_is_not_done_is_closed_when_it_is_placed() {
    let open = SAMPLE
        .replace(r#""status": "error", "input": {}, "error": "fog""#, r#""status": "running", "input": {}"#);
    let (out, notes) = placed(open.as_bytes());
    assert_eq!(notes.len(), 1);
    assert!(String::from_utf8_lossy(&out).contains("Closed by Stemmata"));
    let entries = Opencode.decode(&out).entries;
    assert_eq!(entries.iter().flat_map(Entry::answers).count(), 2);
}

#[test]
fn a_newer_clients_parts_are_carried_and_told_of() {
    let newer =
        SAMPLE.replace(r#""type": "text", "text": "I look.""#, r#""type": "hologram", "beams": [1, 2.50]"#);
    let decoded = Opencode.decode(newer.as_bytes());
    assert!(decoded.notes.iter().any(|note| note.message.contains("`hologram`")), "{:?}", decoded.notes);
    let is_carried = |part: &Part| matches!(part, Part::Opaque { json, .. } if json.contains("2.50"));
    assert!(decoded.entries.iter().any(|entry| entry.parts.iter().any(is_carried)));
    check(&Opencode, newer.replace("hologram", "text\", \"text\": \"x").as_bytes())
        .unwrap_or_else(|broken| panic!("{broken}"));
}

#[test]
fn a_compaction_stands_for_what_was_before_it() {
    let at = Timestamp::from_micros(1_800_000_000_000_000);
    let summary = Opencode.encode_compaction("they rang", &Keeps::nothing(&Decoded::default()), at);
    let joined = Opencode.join(&[SAMPLE.as_bytes(), &summary]).expect("joined");
    let mut loaded = as_told(Opencode.decode(&joined).entries, PlanStop::Compaction).entries;
    assert_eq!(loaded.remove(0).kind, stemmata_model::EntryKind::CompactionBoundary);
    let [only] = loaded.as_slice() else { panic!("{} entries", loaded.len()) };
    assert_eq!(only.parts, [Part::Summary { text: "they rang".to_owned(), covers: Vec::new() }]);
}

#[test]
fn other_formats_become_sessions_that_the_import_takes() {
    let from = crate::messages::Messages::ANTHROPIC;
    let sample = crate::messages::samples_tests::ANTHROPIC_SAMPLE.as_bytes();
    let translated =
        crate::translate::translate(from.decode(sample).entries, &from.format(), &Opencode.format());
    let bytes = Opencode.encode(&translated.entries);
    assert_eq!(checked(&Opencode, &bytes).findings, Vec::new(), "{}", String::from_utf8_lossy(&bytes));
    let again = Opencode.decode(&bytes).entries;
    assert_eq!(again.iter().flat_map(Entry::calls).count(), 2);
    assert_eq!(again.iter().flat_map(Entry::answers).count(), 2);
    let back = crate::translate::translate(again, &Opencode.format(), &from.format());
    let array = String::from_utf8(from.encode(&back.entries)).expect("text");
    for word in ["Which bells", "bells.txt", "1.50", "west: silent", "Be quick.", "It hangs in the west."] {
        assert!(array.contains(word), "{word}: {array}");
    }
}
