//! Made-up rollouts, one letter a line, and the suites that every adapter passes.
//!
//! `H` header, `t` turn started, `c` turn's settings, `E` the environment as a user's text, `D` a developer's text,
//! `U` prompt, `u` the event of it, `A` answer, `K` reasoning, `F` call and `R` its result, `X` call of a tool that takes
//! text and `Y` its result, `W` web search, `S` a search for tools, `M` another agent's message, `C` a compaction of an old version,
//! `P` one of the versions that begin summaries with the same words,
//! `Q` one of today, which keeps a prompt and its summary, `B` the last turn taken back, `d` a developer's text that is of no turn,
//! `?` garbage.

use serde_json::{Value, json};

use super::Codex;
use crate::conformance;

/// The session of made-up rollouts.
pub(crate) const SESSION: &str = "01a1ffc3-10c3-7793-a024-3ccf54e49278";

fn payload(letter: char, index: usize) -> Option<(&'static str, Value)> {
    let message = |role: &str, kind: &str, text: String| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let item = |value: Value| Some(("response_item", value));
    match letter {
        'H' => Some((
            "session_meta",
            json!({ "session_id": SESSION, "id": SESSION,
            "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/srv/project", "originator": "codex_exec",
            "cli_version": "0.169.0", "source": "exec", "git": { "branch": "main" } }),
        )),
        't' => Some(("event_msg", json!({ "type": "task_started", "turn_id": format!("turn-{index}") }))),
        'c' => Some((
            "turn_context",
            json!({ "turn_id": format!("turn-{index}"), "cwd": "/srv/project/crates",
            "model": "gpt-5-codex" }),
        )),
        'E' => {
            item(message("user", "input_text", "<environment_context>\n  <cwd>/srv/project</cwd>".to_owned()))
        }
        'D' => item(message("developer", "input_text", "<skills_instructions>".to_owned())),
        'd' => item(message("developer", "input_text", "Always answer in French.".to_owned())),
        'S' => item(
            json!({ "type": "tool_search_call", "call_id": format!("call_{index}"), "execution": "client",
            "arguments": { "query": "notes" } }),
        ),
        'M' => item(json!({ "type": "agent_message", "author": "a", "recipient": "b",
            "content": [{ "type": "input_text", "text": "go on" }] })),
        'Q' => Some((
            "compacted",
            json!({ "message": format!("so far {index} things happened"), "replacement_history": [
                message("user", "input_text", "please do it".to_owned()),
                message("user", "input_text", format!("so far {index} things happened")),
            ] }),
        )),
        'U' => item(message("user", "input_text", format!("please do thing {index}"))),
        'u' => Some((
            "event_msg",
            json!({ "type": "user_message", "message": format!("please do thing {index}") }),
        )),
        'A' => item(message("assistant", "output_text", format!("done {index}"))),
        'K' => item(json!({ "type": "reasoning", "id": format!("rs_{index}"), "encrypted_content": "gAAAA",
            "summary": [{ "type": "summary_text", "text": "thinking" }, { "type": "summary_text", "text": "more" }] })),
        'F' => {
            item(json!({ "type": "function_call", "name": "exec_command", "call_id": format!("call_{index}"),
            "arguments": "{\"cmd\": \"ls\"}" }))
        }
        'R' => item(
            json!({ "type": "function_call_output", "call_id": format!("call_{}", index.saturating_sub(1)),
            "output": "note.txt" }),
        ),
        'X' => item(
            json!({ "type": "custom_tool_call", "name": "apply_patch", "call_id": format!("call_{index}"),
            "input": "*** Begin Patch" }),
        ),
        'Y' => item(
            json!({ "type": "custom_tool_call_output", "call_id": format!("call_{}", index.saturating_sub(1)),
            "output": [{ "type": "input_text", "text": "Success" },
                { "type": "input_image", "image_url": "data:image/png;base64,AAAA" }] }),
        ),
        'W' => item(
            json!({ "type": "web_search_call", "id": format!("ws_{index}"), "action": { "type": "search" } }),
        ),
        'C' => Some(("compacted", json!({ "message": format!("so far {index} things happened") }))),
        'P' => Some((
            "compacted",
            json!({ "message": format!("Another language model started to solve this problem and produced a summary of its \
            thinking process: {index}") }),
        )),
        'B' => Some(("event_msg", json!({ "type": "thread_rolled_back", "num_turns": 1 }))),
        _ => None,
    }
}

/// Made-up lines, numbered or not.
pub(crate) fn rollout(letters: &str, is_paginated: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, letter) in letters.chars().enumerate() {
        let Some((kind, mut payload)) = payload(letter, index) else {
            out.extend_from_slice(b"{\"timestamp\":\"2026\n");
            continue;
        };
        if kind == "session_meta" && is_paginated {
            payload["history_mode"] = json!("paginated");
        }
        let mut line = json!({ "timestamp": format!("2026-01-01T00:{:02}:{:02}.000Z", index / 60, index % 60),
            "type": kind, "payload": payload });
        if is_paginated {
            line["ordinal"] = json!(index);
        }
        out.extend_from_slice(line.to_string().as_bytes());
        out.push(b'\n');
    }
    out
}

const STORY: &str = "HtDEcUuKFRKAtcUXYWAtCcUAFRtcUABUKA?UtQtdUSMAB";

/// A rollout of 2025, without envelopes.
pub(crate) const BARE: &str = r#"{"id":"5973b6c0-94b8-487b-a530-2aeb6098ae0e","timestamp":"2025-05-07T17:24:21.123Z","instructions":null,"git":{"branch":"main"}}
{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}
{"record_type":"state"}
{"type":"function_call","name":"shell","arguments":"{}","call_id":"call_1"}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}
"#;

#[test]
fn made_up_rollouts_pass_the_suite() {
    for (adapter, is_paginated) in [(Codex::LEGACY, false), (Codex::PAGINATED, true)] {
        let sample = rollout(STORY, is_paginated);
        let report = conformance::passes(&adapter, STORY, &sample);
        assert_eq!((report.entries, report.commits), (STORY.len(), 9), "{report:?}");
    }
    conformance::check(&Codex::LEGACY, BARE.as_bytes()).unwrap_or_else(|violation| panic!("{violation}"));
}
