//! Made-up sessions, one letter a line, and the suites that every adapter passes.
//!
//! `H` header, `m` another model, `l` another level of thinking, `U` prompt, `A` answer, `K` answer with reasoning, `F` call
//! and `R` its result, `P` two calls, `1` and `2` their results, `S` a command that the user ran, `s` one that the model does
//! not see, `E` message of an extension, `B` summary of a branch, `C` compaction that keeps nothing, `k` compaction that
//! keeps the last two entries, `N` a title, `L` a label, `x` a type of tomorrow, `?` garbage. A digit in brackets takes the
//! conversation back: `[3]` hangs the next entry on the line with that number.

use serde_json::{Value, json};

use super::Pi;
use crate::adapter::Adapter as _;
use crate::conformance;

/// The session of made-up transcripts.
pub(crate) const SESSION: &str = "01a1ffc8-bab0-7377-b9d7-28d2cd8a9481";

/// The id of the entry in a line.
pub(crate) fn id(index: usize) -> String {
    format!("00c0de{index:02x}")
}

fn call(index: usize) -> Value {
    json!({ "type": "toolCall", "id": format!("call_{index}"), "name": "bash", "arguments": { "command": "ls", "timeout": 1.5 } })
}

fn message(letter: char, index: usize) -> Option<Value> {
    let text = |text: String| json!([{ "type": "text", "text": text }]);
    let stamp = 1_767_225_600_000_u64 + u64::try_from(index).unwrap_or_default() * 1000;
    let said = |role: &str, content: Value| json!({ "role": role, "content": content, "timestamp": stamp });
    let answer = |content: Value, stop: &str| {
        json!({ "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
            "model": "claude-sonnet-4-5", "usage": { "input": 3, "output": 5, "cacheRead": 7, "cacheWrite": 11,
            "totalTokens": 26, "cost": { "input": 0.000_009, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.000_009 } },
            "stopReason": stop, "timestamp": stamp })
    };
    let result = |of: usize, text: &str| {
        json!({ "role": "toolResult", "toolCallId": format!("call_{of}"), "toolName": "bash",
            "content": [{ "type": "text", "text": text }, { "type": "image", "data": "AAAA", "mimeType": "image/png" }],
            "isError": false, "timestamp": stamp })
    };
    Some(match letter {
        'U' => said("user", text(format!("please do thing {index}"))),
        'A' => answer(text(format!("done {index}")), "stop"),
        'K' => answer(
            json!([{ "type": "thinking", "thinking": "hm", "thinkingSignature": "c2ln" },
                { "type": "text", "text": format!("thought {index}") }]),
            "stop",
        ),
        'F' => answer(json!([call(index)]), "toolUse"),
        'P' => answer(json!([call(index), call(index + 100)]), "toolUse"),
        'R' | '1' => result(index.saturating_sub(1), "note.txt"),
        '2' => result(index.saturating_sub(2) + 100, "more.txt"),
        'S' => {
            json!({ "role": "bashExecution", "command": "ls", "output": format!("{index}.txt"), "exitCode": 2,
            "cancelled": false, "truncated": true, "fullOutputPath": "/tmp/all", "timestamp": stamp })
        }
        's' => {
            json!({ "role": "bashExecution", "command": "pwd", "output": "", "exitCode": 0, "cancelled": false,
            "truncated": false, "excludeFromContext": true, "timestamp": stamp })
        }
        _ => return None,
    })
}

fn entry(letter: char, index: usize) -> Option<Value> {
    let kept = index.checked_sub(2).map_or_else(|| id(index), id);
    Some(match letter {
        'm' => json!({ "type": "model_change", "provider": "anthropic", "modelId": "claude-sonnet-4-5" }),
        'l' => json!({ "type": "thinking_level_change", "thinkingLevel": "high" }),
        'E' => {
            json!({ "type": "custom_message", "customType": "note", "content": "mind the step", "display": true })
        }
        'B' => {
            json!({ "type": "branch_summary", "fromId": id(index.saturating_sub(1)), "summary": "went astray" })
        }
        'C' => json!({ "type": "compaction", "summary": format!("so far {index} things happened"),
            "firstKeptEntryId": id(index), "tokensBefore": 1000 }),
        'k' => json!({ "type": "compaction", "summary": format!("before that, {index} things happened"),
            "firstKeptEntryId": kept, "firstKeptEntryIndex": index.saturating_sub(2), "tokensBefore": 1000 }),
        'N' => json!({ "type": "session_info", "name": "the story" }),
        'L' => json!({ "type": "label", "targetId": id(index.saturating_sub(1)), "label": "here" }),
        'x' => json!({ "type": "hologram", "of": index }),
        _ => json!({ "type": "message", "message": message(letter, index)? }),
    })
}

/// Made-up lines in a version of the format.
pub(crate) fn session(letters: &str, version: u8) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut index, mut parent) = (0, None);
    let mut letters = letters.chars();
    while let Some(letter) = letters.next() {
        if letter == '[' {
            let back: String = letters.by_ref().take_while(|letter| *letter != ']').collect();
            parent = back.parse().ok().filter(|back| *back > 0).map(id);
            continue;
        }
        let time = format!("2026-01-01T00:{:02}:{:02}.000Z", index / 60, index % 60);
        let line = if letter == 'H' {
            let mut header =
                json!({ "type": "session", "id": SESSION, "timestamp": time, "cwd": "/srv/project" });
            if version > 1 {
                header["version"] = json!(version);
            }
            header.to_string()
        } else if let Some(mut entry) = entry(letter, index) {
            entry["timestamp"] = json!(time);
            if version > 1 {
                entry["id"] = json!(id(index));
                entry["parentId"] = json!(parent);
                parent = Some(id(index));
                entry.as_object_mut().expect("an object").remove("firstKeptEntryIndex");
            } else {
                entry.as_object_mut().expect("an object").remove("firstKeptEntryId");
            }
            entry.to_string()
        } else {
            "{\"type\":\"mess".to_owned()
        };
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
        index += 1;
    }
    out
}

const STORY: &str = "HmlUKFRAUP12ANUSsEAL?xUAkUABUACUAFRUF";

#[test]
fn made_up_sessions_pass_the_suite() {
    for (adapter, version) in [(Pi::V3, 3), (Pi::V2, 2), (Pi::V1, 1)] {
        let report = conformance::passes(&adapter, STORY, &session(STORY, version));
        assert_eq!((report.entries, report.commits), (STORY.len(), 10), "{report:?}");
    }
}

#[test]
fn what_is_not_known_is_counted_and_named() {
    let text = String::from_utf8(session("HUAUACUxA", 3)).expect("text");
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let wizard = |at: usize, from: &str, to: &str| lines[at].replace(from, to);
    let text = [
        lines[0].clone(),
        wizard(1, "\"role\":\"user\"", "\"role\":\"wizard\""),
        wizard(2, "\"type\":\"text\"", "\"type\":\"rune\""),
        // What a compaction holds, and a message of an extension.
        wizard(5, "\"tokensBefore\"", "\"retainedTail\":[{\"role\":\"elf\",\"content\":[]}],\"tokensBefore\""),
        lines[7].clone(),
        "{\"type\":\"custom_message\",\"id\":\"00c0de10\",\"parentId\":null,\"content\":[{\"type\":\"rune\"}]}".to_owned(),
    ]
    .join("\n")
        + "\n";
    let wanted = ["message/wizard", "content/rune", "message/elf", "hologram"];
    let mut splitter = Pi::V3.splitter(stemmata_model::Granularity::Turn, None);
    for line in text.lines() {
        splitter.line(line.as_bytes(), &mut Vec::new());
    }
    let counted: Vec<(&str, u64)> =
        splitter.unknown().iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(counted, [(wanted[0], 1), (wanted[1], 2), (wanted[2], 1), (wanted[3], 1)]);
    let said = format!("{:?}", crate::chain_tests::checked(&Pi::V3, text.as_bytes()).findings);
    for name in wanted {
        assert!(said.contains(&format!("the type `{name}` is unknown to us")), "{name}: {said}");
    }
    // Bytes are kept, and what such a record says is carried.
    let decoded = Pi::V3.decode(text.as_bytes());
    assert!(format!("{:?}", decoded.entries).contains("please do thing 1"));
}

#[test]
fn a_version_is_claimed_by_its_own_adapter_and_no_other() {
    for (adapter, version) in [(Pi::V1, 1), (Pi::V2, 2), (Pi::V3, 3)] {
        assert!(adapter.detect(&session("HU", version)).is_some());
        assert!(adapter.detect(&session("UH", version)).is_none(), "the loader wants the header first");
        let others = [1, 2, 3].into_iter().filter(|other| *other != version);
        assert!(others.into_iter().all(|other| adapter.detect(&session("HU", other)).is_none()));
    }
    assert_eq!(
        Pi::V3.session_of_name("2026-11-21T20-28-39-770Z_01a1ffcb-f7d9-71a9-b75a-cf86c3526341"),
        Some("01a1ffcb-f7d9-71a9-b75a-cf86c3526341")
    );
    assert_eq!(Pi::V3.session_of_name(SESSION), None);
}
