//! Made-up and real events of `OpenHands`, and the suites that every adapter passes.

use stemmata_model::{EntryKind, FormatId, Granularity, Part, Role};

use super::EVENTS;
use crate::adapter::{Adapter as _, PlanStop};
use crate::captured::Captured;
use crate::chain_tests::{cut, kept, planned};
use crate::conformance::passes;
use crate::translate::translate;

const ADAPTER: Captured = EVENTS;

const SDK: &str = r#"{"id":"a1","timestamp":"2026-01-01T00:00:00.000001","source":"agent","system_prompt":{"type":"text","text":"Be exact."},"tools":[],"kind":"SystemPromptEvent"}
{"id":"a2","timestamp":"2026-01-01T00:00:01","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"mend it"},{"type":"image","image_urls":["data:image/png;base64,AAAA","https://x.example/b.png"]}]},"kind":"MessageEvent"}
{"id":"a3","timestamp":"2026-01-01T00:00:02","source":"agent","thought":[{"type":"text","text":"I look."}],"reasoning_content":"look first","thinking_blocks":[],"action":{"command":"ls","kind":"TerminalAction"},"tool_name":"terminal","tool_call_id":"call_1","tool_call":{"id":"call_1","name":"terminal","arguments":"{\"command\": \"ls\"}"},"llm_response_id":"r1","kind":"ActionEvent"}
{"id":"a4","timestamp":"2026-01-01T00:00:02","source":"agent","thought":[],"reasoning_content":"","thinking_blocks":[{"type":"thinking","thinking":"both","signature":"sig"}],"action":{"path":"x"},"tool_name":"file_editor","tool_call_id":"call_2","tool_call":null,"llm_response_id":"r1","kind":"ActionEvent"}
{"id":"a5","timestamp":"2026-01-01T00:00:03","source":"environment","tool_call_id":"call_1","observation":{"content":[{"type":"text","text":"note.txt"}],"is_error":false,"kind":"TerminalObservation"},"action_id":"a3","kind":"ObservationEvent"}
{"id":"a6","timestamp":"2026-01-01T00:00:03","source":"agent","tool_call_id":"call_2","tool_name":"file_editor","error":"no such tool","kind":"AgentErrorEvent"}
{"id":"a7","timestamp":"2026-01-01T00:00:04","source":"environment","key":"stats","value":{},"kind":"ConversationStateUpdateEvent"}
{"id":"a8","timestamp":"2026-01-01T00:00:05","source":"agent","llm_message":{"role":"assistant","content":[{"type":"text","text":"done"}]},"kind":"MessageEvent"}
{"id":"a9","timestamp":"2026-01-01T00:00:06","source":"agent","kind":"HologramEvent"}
{"id":"b1","timestamp":"2026-01-01T00:00:07","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"and more"}]},"kind":"MessageEvent"}
"#;

const OLD: &str = r#"{"id":0,"timestamp":"2025-01-01T00:00:00.5","source":"agent","message":"","action":"system","args":{"content":"Be exact."}}
{"id":1,"timestamp":"2025-01-01T00:00:01","source":"user","message":"mend it","action":"message","args":{"content":"mend it","image_urls":null}}
{"id":2,"timestamp":"2025-01-01T00:00:01","source":"user","message":"","action":"recall","args":{"query":"mend it"}}
{"id":3,"timestamp":"2025-01-01T00:00:02","source":"agent","message":"Running","action":"run","args":{"command":"ls","thought":"I look."},"tool_call_metadata":{"function_name":"execute_bash","tool_call_id":"toolu_1"}}
{"id":4,"timestamp":"2025-01-01T00:00:03","source":"agent","message":"","cause":3,"observation":"run","content":"note.txt","extras":{},"tool_call_metadata":{"function_name":"execute_bash","tool_call_id":"toolu_1"}}
{"id":5,"timestamp":"2025-01-01T00:00:04","source":"agent","message":"","action":"read","args":{"path":"note.txt","thought":""}}
{"id":6,"timestamp":"2025-01-01T00:00:05","source":"environment","message":"","cause":5,"observation":"error","content":"gone"}
{"id":7,"timestamp":"2025-01-01T00:00:06","source":"environment","message":"","observation":"agent_state_changed","content":"","extras":{}}
{"id":8,"timestamp":"2025-01-01T00:00:07","source":"agent","message":"All done!","action":"finish","args":{"final_thought":"It is mended."}}
"#;

#[test]
fn made_up_events_pass_the_suite() {
    let report = passes(&ADAPTER, "events of the SDK", SDK.as_bytes());
    assert_eq!((report.entries, report.commits, report.counts.messages), (10, 2, 7));
    let report = passes(&ADAPTER, "older events", OLD.as_bytes());
    assert_eq!((report.entries, report.commits, report.counts.messages), (9, 1, 6));
}

#[test]
fn both_kinds_of_events_say_who_said_and_did_what() {
    for (name, events) in [("sdk", SDK), ("old", OLD)] {
        let entries = ADAPTER.decode(events.as_bytes()).entries;
        let kinds =
            |role, kind| entries.iter().filter(|entry| entry.role == role && entry.kind == kind).count();
        assert_eq!(kinds(Role::System, EntryKind::Instruction), 1, "{name}");
        assert_eq!(kinds(Role::Tool, EntryKind::ToolResult), 2, "{name}");
        let mut calls: Vec<&str> = entries.iter().flat_map(stemmata_model::Entry::calls).collect();
        let mut answers: Vec<&str> = entries.iter().flat_map(stemmata_model::Entry::answers).collect();
        calls.sort_unstable();
        answers.sort_unstable();
        assert_eq!(calls, answers, "{name}");
        assert!(entries.iter().all(|entry| entry.timestamp.is_some()), "{name}");
    }
    let entries = ADAPTER.decode(SDK.as_bytes()).entries;
    assert!(
        matches!(&entries[2].parts[..], [Part::Thinking { .. }, Part::Text(_), Part::ToolCall { arguments, .. }]
        if arguments == "{\"command\": \"ls\"}")
    );
    assert!(
        matches!(&entries[3].parts[..], [Part::Thinking { signature: Some(_), .. }, Part::ToolCall { arguments, .. }]
        if arguments == "{\"path\":\"x\"}")
    );
    assert_eq!(entries[1].parts.len(), 3, "each address is an image");
}

#[test]
fn events_are_told_from_other_lines_and_go_on_elsewhere() {
    for events in [SDK, OLD] {
        assert!(ADAPTER.detect(events.as_bytes()).is_some());
        let mut splitter = ADAPTER.splitter(Granularity::Turn, None);
        for line in events.lines() {
            splitter.line(line.as_bytes(), &mut Vec::new());
        }
        assert_eq!(splitter.facts().title.as_deref(), Some("mend it"));
        let format = |name: &str| FormatId::new(name).expect("a name");
        let entries = ADAPTER.decode(events.as_bytes()).entries;
        let claude = translate(entries, &format("openhands-v1"), &format("claude-code-v1")).entries;
        let called = claude.iter().flat_map(|entry| &entry.parts).find_map(|part| match part {
            Part::ToolCall { name, .. } => Some(name.as_str()),
            _ => None,
        });
        assert_eq!(called, Some("Bash"));
    }
    assert!(
        ADAPTER.detect(b"{\"id\":1,\"timestamp\":\"x\",\"source\":\"elsewhere\",\"kind\":\"y\"}\n").is_none()
    );
}

/// A conversation that was condensed twice, made by the SDK's definitions: no recorded one was at hand. The second summary takes
/// the place of the first. Letters: `S` the system prompt, then what was said, `1` and `2` the condensations.
fn condensed(summaries: [&str; 2]) -> String {
    let said = |id: &str, role: &str| {
        let source = if role == "user" { "user" } else { "agent" };
        format!(
            r#"{{"id":"{id}","timestamp":"2026-01-01T00:00:01","source":"{source}","llm_message":{{"role":"{role}","content":[{{"type":"text","text":"said {id}"}}]}},"kind":"MessageEvent"}}"#
        )
    };
    let condensation = |id: &str, forgotten: &str, summary: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-01-01T00:00:02","source":"environment","forgotten_event_ids":[{forgotten}],{summary},"kind":"Condensation"}}"#
        )
    };
    let system = r#"{"id":"S","timestamp":"2026-01-01T00:00:00","source":"agent","system_prompt":{"type":"text","text":"Be exact."},"kind":"SystemPromptEvent"}"#;
    let lines = [
        system.to_owned(),
        said("a", "user"),
        said("b", "assistant"),
        said("c", "assistant"),
        condensation("1", r#""b""#, summaries[0]),
        said("d", "assistant"),
        said("e", "user"),
        said("f", "assistant"),
        condensation("2", r#""1-summary","c","d""#, summaries[1]),
        said("g", "assistant"),
    ];
    lines.map(|line| line + "\n").concat()
}

const CONDENSED: &str = "Sabc1def2g";

#[test]
fn a_condensation_with_a_summary_is_a_compaction_that_keeps_what_it_does_not_name() {
    let summary = r#""summary":"so far","summary_offset":2"#;
    let events = condensed([summary; 2]);
    let bytes = events.as_bytes();
    assert_eq!(cut(&ADAPTER, CONDENSED, bytes), "Sabc|1!|d|ef|2!|g");
    let first: String = events.lines().take(6).map(|line| format!("{line}\n")).collect();
    assert_eq!(kept(&ADAPTER, CONDENSED, first.as_bytes(), PlanStop::Compaction), "Sa1cd");
    assert_eq!(
        kept(&ADAPTER, CONDENSED, bytes, PlanStop::Compaction),
        "Sa2efg",
        "the first summary is named, too"
    );
    let (plan, _) = planned(&ADAPTER, bytes, PlanStop::Root);
    assert_eq!(kept(&ADAPTER, CONDENSED, bytes, PlanStop::Root), "Sabcdefg");
    assert_eq!(plan.skipped_compactions, 2);
    passes(&ADAPTER, "condensed events", bytes);
}

#[test]
fn a_condensation_without_a_summary_hides_what_it_names() {
    // A summary without a place is none to the client.
    for summary in [r#""summary":null,"summary_offset":null"#, r#""summary":"so far","summary_offset":null"#]
    {
        let events = condensed([summary; 2]);
        let bytes = events.as_bytes();
        assert_eq!(cut(&ADAPTER, CONDENSED, bytes), "Sabc1d|ef2g");
        let (plan, _) = planned(&ADAPTER, bytes, PlanStop::Compaction);
        assert_eq!(kept(&ADAPTER, CONDENSED, bytes, PlanStop::Compaction), "Saefg");
        assert_eq!(plan.hidden_entries, 3);
        assert_eq!(kept(&ADAPTER, CONDENSED, bytes, PlanStop::Root), "Sabcdefg");
        passes(&ADAPTER, "masked events", bytes);
    }
}

#[test]
fn blocks_that_are_not_known_are_named() {
    let rune = r#"{"type":"rune","text":"x"}"#;
    for (event, wanted) in [
        (format!(r#"{{"id":"a","kind":"MessageEvent","llm_message":{{"role":"user","content":[{rune}]}}}}"#), Some("content/rune")),
        (format!(r#"{{"id":"a","kind":"ObservationEvent","tool_call_id":"c","observation":{{"content":[{rune}]}}}}"#), Some("content/rune")),
        (r#"{"id":"a","kind":"MessageEvent","llm_message":{"role":"user","content":[{"type":"text","text":"x"}]}}"#.to_owned(), None),
        // A record that says nothing of itself is of a kind that is known.
        (r#"{"id":"a","kind":"PauseEvent"}"#.to_owned(), None),
    ] {
        assert_eq!(super::events::read(event.as_bytes()).expect("an event").unknown.as_deref(), wanted, "{event}");
    }
}
