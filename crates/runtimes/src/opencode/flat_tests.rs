//! Sessions of versions 2.x: what their messages are, where a context begins, and what is placed.

use proptest::prelude::*;
use stemmata_model::{EntryKind, Part, Role};

use super::*;
use crate::adapter::{PlanStop, Severity};
use crate::chain_tests::checked;
use crate::conformance::passes;
use crate::translate::translate_from;

/// A session as versions 2.x export it, with something of everything.
const SAMPLE: &str = r#"{
  "info": {"id": "ses_e1002233445566778899aabbcc", "parentID": "ses_e0", "projectID": "global", "title": "Bells at noon", "cost": 0.5,
    "tokens": {"input": 7, "output": 3, "reasoning": 1, "cache": {"read": 2, "write": 0}}, "agent": "build",
    "location": {"directory": "/tower"}, "version": "2.0.12", "time": {"created": 1790000000000, "updated": 1790000009000}},
  "messages": [
    {"id": "msg_1", "type": "agent-switched", "agent": "build", "time": {"created": 1790000000500}},
    {"id": "msg_2", "type": "user", "text": "Which bells ring at noon?", "time": {"created": 1790000001000},
      "files": [{"data": "iVBORw0KGgo=", "mime": "image/png", "source": {"type": "inline"}}, {"data": "bm9vbg==", "mime": "text/plain", "name": "n.txt", "source": {"type": "inline"}}]},
    {"id": "msg_3", "type": "synthetic", "text": "The tower is closed.", "time": {"created": 1790000001500}},
    {"id": "msg_4", "type": "assistant", "agent": "build", "model": {"providerID": "anthropic", "id": "m1"}, "finish": "tool-calls",
      "tokens": {"input": 7, "output": 3, "reasoning": 1, "cache": {"read": 2, "write": 0}}, "cost": 0,
      "time": {"created": 1790000002000, "completed": 1790000003000},
      "content": [{"type": "reasoning", "text": "The list will say.", "native": {"signature": "c2lnbmVk"}}, {"type": "text", "text": "I look."},
        {"type": "tool", "id": "call_A", "name": "read", "time": {"created": 1790000002000},
          "state": {"status": "completed", "input": {"path": "bells.txt", "at": 1.50}, "content": [{"type": "text", "text": "east: 12:00"}, {"type": "file", "uri": "data:image/png;base64,iVBORw0KGgo=", "mime": "image/png"}]}},
        {"type": "tool", "id": "call_B", "name": "photo", "time": {"created": 1790000002000},
          "state": {"status": "error", "input": {}, "error": {"type": "tool.execution", "message": "fog"}, "content": [{"type": "text", "text": "nothing seen"}]}}]},
    {"id": "msg_5", "type": "shell", "shellID": "sh_1", "command": "ls", "status": "exited", "output": {"output": "bells.txt"}, "time": {"created": 1790000003500}},
    {"id": "msg_6", "type": "assistant", "agent": "build", "model": {"providerID": "anthropic", "id": "m1"}, "content": [{"type": "text", "text": "The east bell does."}], "finish": "stop", "time": {"created": 1790000004000, "completed": 1790000004500}},
    {"id": "msg_7", "type": "idle", "outcome": "succeeded", "time": {"created": 1790000004500}}
  ]
}
"#;

fn roles(document: &str) -> Vec<(Role, EntryKind)> {
    let entries = Opencode.decode(document.as_bytes()).entries.into_iter();
    let said = entries.filter(|entry| entry.kind != EntryKind::Metadata);
    said.map(|entry| (entry.role, entry.kind)).collect()
}

#[test]
fn pieces_and_results_that_are_not_known_are_counted_and_named() {
    let not_known = super::samples_tests::not_known;
    assert_eq!(not_known(SAMPLE), (Vec::new(), 0));
    let piece =
        SAMPLE.replace(r#"{"type": "text", "text": "I look."}"#, r#"{"type": "wizard", "text": "I look."}"#);
    assert_eq!(not_known(&piece), (vec![("wizard".to_owned(), 1)], 1));
    let result = SAMPLE
        .replace(r#"{"type": "text", "text": "east: 12:00"}"#, r#"{"type": "rune", "text": "east: 12:00"}"#);
    assert_eq!(not_known(&result).0, [("rune".to_owned(), 1)]);
    let message = SAMPLE.replace(r#""type": "idle""#, r#""type": "elf""#);
    assert_eq!(not_known(&message), (vec![("elf".to_owned(), 1)], 1));
}

#[test]
fn sessions_of_2_keep_the_laws() {
    // What is encoded has no instructions, and files of text and what failed are one text there.
    let lines = SAMPLE.lines().filter(|line| !line.contains("msg_3"));
    let plain = lines.collect::<Vec<_>>().join("\n").replace(
        r#", {"data": "bm9vbg==", "mime": "text/plain", "name": "n.txt", "source": {"type": "inline"}}"#,
        "",
    );
    let plain = plain.replace(r#", "content": [{"type": "text", "text": "nothing seen"}]"#, "");
    let report = passes(&Opencode, "a session of 2.x", plain.as_bytes());
    assert_eq!((report.counts.messages, report.notes), (6, Vec::new()));
    let message = EntryKind::Message;
    assert_eq!(
        roles(SAMPLE),
        [
            (Role::User, message.clone()),
            (Role::User, EntryKind::Instruction),
            (Role::Assistant, message.clone()),
            (Role::Tool, EntryKind::ToolResult),
            (Role::Tool, EntryKind::ToolResult),
            (Role::User, message.clone()),
            (Role::Assistant, message),
        ]
    );
    let entries = Opencode.decode(SAMPLE.as_bytes()).entries;
    let calls: Vec<&str> = entries.iter().flat_map(Entry::calls).collect();
    let answers: Vec<&str> = entries.iter().flat_map(Entry::answers).collect();
    assert_eq!((calls.clone(), calls), (answers, vec!["call_A", "call_B"]));
    let thinking = entries.iter().flat_map(|entry| &entry.parts).find_map(|part| match part {
        Part::Thinking { signature, .. } => signature.as_deref(),
        _ => None,
    });
    assert_eq!(thinking, Some("c2lnbmVk"));
    let failed = entries.iter().flat_map(|entry| &entry.parts).find_map(|part| match part {
        Part::ToolResult { is_error: true, parts, .. } => Some(parts.clone()),
        _ => None,
    });
    assert_eq!(failed, Some(vec![Part::Text("fog".to_owned()), Part::Text("nothing seen".to_owned())]));
    assert!(checked(&Opencode, SAMPLE.as_bytes()).is_accepted());
}

fn session(more: &str, messages: &[String]) -> String {
    let tokens = r#"{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;
    format!(
        r#"{{"info":{{"id":"ses_e1","projectID":"global","title":"Bells","cost":0,"tokens":{tokens},"location":{{"directory":"/tower"}},"time":{{"created":1,"updated":9}}{more}}},"messages":[{}]}}"#,
        messages.join(",")
    )
}

fn prompt(number: usize, text: &str) -> String {
    format!(r#"{{"id":"msg_{number}","type":"user","text":"{text}","time":{{"created":{number}}}}}"#)
}

fn said(number: usize, text: &str) -> String {
    format!(
        r#"{{"id":"msg_{number}","type":"assistant","agent":"build","model":{{"providerID":"p","id":"m"}},"content":[{{"type":"text","text":"{text}"}}],"time":{{"created":{number},"completed":{number}}}}}"#
    )
}

fn compaction(number: usize, more: &str) -> String {
    format!(
        r#"{{"id":"msg_{number}","type":"compaction","reason":"auto",{more},"time":{{"created":{number}}}}}"#
    )
}

/// Returns the texts that a model is told.
fn told(document: &str, stop: PlanStop) -> Vec<String> {
    let entries = Opencode.decode(document.as_bytes()).entries;
    let to = FormatId::new("anthropic-messages-v1").expect("a name");
    let told = translate_from(stop, entries, &Opencode.format(), &to).entries;
    let texts = told.iter().filter(|entry| entry.meta.visibility.agent).flat_map(|entry| &entry.parts);
    let texts = texts.filter_map(|part| match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_context_begins_at_the_last_compaction_that_is_done() {
    let whole =
        |more: &str| session("", &[prompt(1, "one"), said(2, "two"), compaction(3, more), prompt(4, "four")]);
    let done = r#""status":"completed","summary":"what was","recent":"[User]: one""#;
    assert_eq!(told(&whole(done), PlanStop::Compaction), ["what was\n\n[User]: one", "four"]);
    assert_eq!(told(&whole(done), PlanStop::Root), ["one", "two", "four"]);
    let all = ["one", "two", "four"];
    for more in [
        r#""status":"running","summary":"what","recent":"""#,
        r#""status":"failed","error":{"type":"unknown","message":"x"}"#,
        r#""status":"completed","summary":"what was","recent":"","providerContext":{"items":[]}"#,
    ] {
        assert_eq!(told(&whole(more), PlanStop::Compaction), all, "{more}");
    }
    assert_eq!(Opencode.compactions(whole(done).as_bytes()).len(), 1);
}

#[test]
fn what_was_taken_back_is_gone_from_its_message_on() {
    let messages = [prompt(1, "one"), said(2, "two"), prompt(3, "three"), said(4, "four")];
    let reverted = session(r#","revert":{"messageID":"msg_3"}"#, &messages);
    assert_eq!(told(&reverted, PlanStop::Compaction), ["one", "two"]);
}

#[test]
fn a_type_that_is_not_known_is_carried_counted_and_noted() {
    let strange = r#"{"id":"msg_3","type":"dream","text":"x","time":{"created":3}}"#.to_owned();
    let document = session("", &[prompt(1, "one"), strange.clone(), strange, said(4, "four")]);
    let decoded = Opencode.decode(document.as_bytes());
    assert_eq!(decoded.entries.len(), 5);
    assert_eq!(decoded.notes.len(), 1);
    let mut splitter = Opencode.splitter(stemmata_model::Granularity::Turn, None);
    splitter.line(document.as_bytes(), &mut Vec::new());
    assert_eq!(splitter.unknown(), [("dream".to_owned(), 2)]);
}

fn placed(document: &str, version: Option<&str>) -> (String, Vec<stemmata_model::Note>, PlaceRequest) {
    let at = Timestamp::from_micros(1_800_000_000_000_000);
    let request = PlaceRequest {
        session: Opencode.new_session(&SessionId::new("drawn").expect("a name"), at),
        cwd: "/new".to_owned(),
        origin_cwd: Some("/tower".to_owned()),
        client_version: version.map(str::to_owned),
        at,
        seed: [7; 32],
    };
    let mut out = Vec::new();
    let mut placer = Opencode.placer(&request);
    placer.line(document.as_bytes(), &mut out);
    let notes = placer.finish(&mut out);
    (String::from_utf8(out).expect("text"), notes, request)
}

fn fatal(document: &str) -> Vec<String> {
    let findings = checked(&Opencode, document.as_bytes()).findings.into_iter();
    findings.filter(|finding| finding.severity == Severity::Fatal).map(|finding| finding.message).collect()
}

#[test]
fn a_session_of_2_is_placed_with_new_ids_and_what_was_open_ended() {
    let running = SAMPLE
        .replace(
            r#""status": "completed", "input": {"path": "bells.txt", "at": 1.50}, "content""#,
            r#""status": "running", "input": {"path": "bells.txt", "at": 1.50}, "ahead""#,
        )
        .replace(
            r#""time": {"created": 1790000004000, "completed": 1790000004500}"#,
            r#""time": {"created": 1790000004000}"#,
        );
    let (out, notes, request) = placed(&running, Some("2.0.12"));
    assert_eq!(fatal(&out), Vec::<String>::new());
    assert_eq!(notes.len(), 1, "{notes:?}");
    for gone in ["msg_1\"", "ses_e1002233445566778899aabbcc", "ses_e0", "/tower", "parentID", "running"] {
        assert!(!out.contains(gone), "{gone} in {out}");
    }
    assert!(out.contains(r#""location": {"directory": "/new"}"#) && out.contains(request.session.as_str()));
    assert!(out.contains(r#"{"completed":1790000004000,"created": 1790000004000}"#));
    assert_eq!(
        Opencode.client_place(&request).import_command.expect("a command"),
        ["opencode", "session", "import"]
    );
    let texts = |document: &str| told(document, PlanStop::Compaction);
    assert_eq!(texts(&out), texts(&running));
}

#[test]
fn a_session_is_placed_in_the_form_that_the_client_s_import_takes() {
    let older = super::samples_tests::SAMPLE;
    let (out, notes, _) = placed(older, Some("2.0.12"));
    assert_eq!((fatal(&out), notes.len()), (Vec::new(), 1));
    assert!(out.contains(r#""type":"user","#) && !out.contains("parts"), "{out}");
    assert_eq!(told(&out, PlanStop::Compaction), told(older, PlanStop::Compaction));
    for version in [None, Some("1.18.33")] {
        let (out, notes, request) = placed(SAMPLE, version);
        assert_eq!((fatal(&out), notes.len()), (Vec::new(), 1));
        assert!(out.contains(r#""parts":["#));
        assert_eq!(
            Opencode.client_place(&request).import_command.expect("a command"),
            ["opencode", "import"]
        );
        // Both forms keep a call and its result together.
        assert_eq!(calls(&out), calls(SAMPLE));
    }
    let mixed = session("", &[prompt(1, "one"), super::context_tests::prompt(2, "two")]);
    assert_eq!(fatal(&mixed).len(), 1);
    assert_eq!(fatal(&placed(&mixed, Some("2")).0), Vec::<String>::new());
}

fn calls(document: &str) -> Vec<String> {
    let entries = Opencode.decode(document.as_bytes()).entries;
    entries
        .iter()
        .flat_map(|entry| entry.calls().chain(entry.answers()).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[test]
fn what_the_import_of_2_lacks_is_named_and_mended() {
    let bare = SAMPLE.replace(r#""cost": 0.5,"#, "").replace(r#""location": {"directory": "/tower"}, "#, "");
    assert_eq!(fatal(&bare).len(), 2, "{:?}", fatal(&bare));
    let mended = crate::repair::repair(&Opencode, bare.as_bytes(), None);
    assert_eq!(fatal(&String::from_utf8(mended.bytes).expect("text")), Vec::<String>::new());
}

proptest! {
    /// Whatever is said, placing keeps it in either form.
    #[test]
    fn law_placing_keeps_what_was_said(texts in prop::collection::vec("[a-z]{1,8}", 1..12), second: bool) {
        let messages: Vec<String> = texts.iter().enumerate()
            .map(|(at, text)| if at % 2 == 0 { prompt(at + 1, text) } else { said(at + 1, text) })
            .collect();
        let document = session("", &messages);
        let (out, _, _) = placed(&document, second.then_some("2.1.0"));
        prop_assert_eq!(fatal(&out), Vec::<String>::new());
        prop_assert_eq!(told(&out, PlanStop::Compaction), texts);
    }
}
