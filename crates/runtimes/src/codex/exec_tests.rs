//! Made-up and real runs of headless Codex, and the suites that every adapter passes.

use stemmata_model::{CommitType, FormatId, Granularity, Part, Role, Timestamp};

use super::EXEC;
use crate::adapter::{Adapter as _, Confidence, Keeps};
use crate::captured::Captured;
use crate::conformance::passes;
use crate::translate::translate;

const ADAPTER: Captured = EXEC;

const RUN: &str = r#"{"type":"thread.started","thread_id":"t-1"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"look first"}}
{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"ls \u003ca\u003e","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"ls \u003ca\u003e","aggregated_output":"no such file\n","exit_code":2,"status":"failed"}}
{"type":"item.started","item":{"id":"item_2","type":"mcp_tool_call","server":"mem","tool":"recall","arguments":{"q":1.50},"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_2","type":"mcp_tool_call","server":"mem","tool":"recall","arguments":{"q":1.50},"result":{"content":[{"type":"text","text":"it was"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"audio","data":"AA"}],"structured_content":null},"error":null,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_3","type":"file_change","changes":[{"path":"a.rs","kind":"add"}],"status":"completed"}}
{"type":"item.updated","item":{"id":"item_4","type":"todo_list","items":[{"text":"write","completed":false}]}}
{"type":"item.completed","item":{"id":"item_5","type":"agent_message","text":"done ✓"}}
{"type":"turn.completed","usage":{"input_tokens":304,"cached_input_tokens":100,"output_tokens":60}}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_6","type":"agent_message","text":"more"}}
{"type":"item.completed","item":{"id":"item_7","type":"hologram","text":"?"}}
no json
{"type":"turn.failed","error":{"message":"gone"}}
"#;

#[test]
fn a_made_up_run_passes_the_suite() {
    let report = passes(&ADAPTER, "a run", RUN.as_bytes());
    assert_eq!((report.entries, report.commits, report.counts.messages), (16, 2, 8));
}

#[test]
fn a_run_is_read_as_what_was_said_called_and_returned() {
    let entries = ADAPTER.decode(RUN.as_bytes()).entries;
    let call = |call_id: &str, name: &str, arguments: &str| Part::ToolCall {
        call_id: call_id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    assert_eq!(entries[3].parts, [call("item_1", "command_execution", r#"{"command":"ls \u003ca\u003e"}"#)]);
    assert_eq!(entries[5].parts, [call("item_2", "mcp__mem__recall", r#"{"q":1.50}"#)]);
    let Part::ToolResult { is_error, parts, .. } = &entries[4].parts[0] else { panic!("a result") };
    assert_eq!((*is_error, parts.as_slice()), (true, [Part::Text("no such file\n".to_owned())].as_slice()));
    let Part::ToolResult { is_error, parts, .. } = &entries[6].parts[0] else { panic!("a result") };
    assert_eq!((*is_error, parts.len()), (false, 3));
    assert!(
        matches!(&entries[7].parts[0], Part::Opaque { kind, .. } if kind == "file_change"),
        "{:?}",
        entries[7]
    );
    assert!(!entries[8].meta.visibility.agent, "a list that is still changing is not said yet");
    let usage = entries[10].meta.usage.expect("tokens");
    assert_eq!((usage.input_tokens, usage.cache_read_tokens, usage.output_tokens), (204, 100, 60));
    let visible = |at: usize| (entries[at].meta.visibility.agent, entries[at].meta.visibility.user);
    assert_eq!(visible(15), (false, true), "a person sees that a turn failed");
}

#[test]
fn a_failed_call_of_a_server_says_why() {
    let line = r#"{"type":"item.completed","item":{"id":"i","type":"mcp_tool_call","result":null,"error":{"message":"no such tool"},"status":"failed"}}"#;
    let entry = ADAPTER.decode(line.as_bytes()).entries.remove(0);
    let parts = vec![Part::Text("no such tool".to_owned())];
    assert_eq!(entry.parts, [Part::ToolResult { call_id: "i".to_owned(), is_error: true, parts }]);
}

#[test]
fn a_run_tells_its_thread_and_is_never_placed() {
    let mut splitter = ADAPTER.splitter(Granularity::Turn, None);
    for line in RUN.lines() {
        splitter.line(line.as_bytes(), &mut Vec::new());
    }
    assert_eq!(splitter.facts().session.as_ref().map(stemmata_model::SessionId::as_str), Some("t-1"));
    let confidence = |bytes: &[u8]| ADAPTER.detect(bytes).map(|found| found.confidence);
    assert_eq!(confidence(RUN.as_bytes()), Some(Confidence::Certain));
    assert_eq!(confidence(b"{\"type\":\"turn.started\"}\n"), Some(Confidence::Possible));
    assert_eq!(confidence(b"{\"type\":\"session_meta\",\"payload\":{}}\n"), None);
    assert!(crate::registry::by_runtime("codex-exec").is_none());
}

#[test]
fn prompts_and_summaries_that_codex_does_not_print_have_a_form() {
    let summary =
        ADAPTER.encode_compaction("so far", &Keeps::nothing(&ADAPTER.decode(b"")), Timestamp::EPOCH);
    let mut splitter = ADAPTER.splitter(Granularity::Turn, None);
    let cut = splitter.line(summary.trim_ascii_end(), &mut Vec::new());
    assert_eq!(cut.after.map(|facts| facts.commit_type), Some(CommitType::Compaction));
    let asked = r#"{"v":"stemmata-v1","id":"e","role":"user","kind":"message","parts":[{"type":"text","text":"go"}]}"#;
    let entries = Captured::ENTRIES.decode(asked.as_bytes()).entries;
    let again = ADAPTER.decode(&ADAPTER.encode(&entries)).entries;
    assert_eq!((again[0].role, &again[0].parts), (Role::User, &entries[0].parts));
}

#[test]
fn a_run_goes_on_in_another_client() {
    let format = |name: &str| FormatId::new(name).expect("a name");
    let entries = ADAPTER.decode(RUN.as_bytes()).entries;
    let claude = translate(entries, &format("codex-exec-v1"), &format("claude-code-v1"));
    let names: Vec<&str> = claude
        .entries
        .iter()
        .flat_map(|entry| &entry.parts)
        .filter_map(|part| match part {
            Part::ToolCall { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["Bash", "mcp__mem__recall"]);
}
