//! Made-up lines for tests, one letter each, and the corpus of real ones.
//!
//! `U` prompt, `A` answer with text, `T` answer with a call (same message as `A`), `Z` answer of another
//! message, `R` tool result, `I` user record of the runtime's own, `B` compaction's boundary, `C` its summary,
//! `m` metadata, `x` attachment, `d` turn duration, `s` `S` `r` `b` `c` a subagent's prompt, answer, tool result,
//! boundary and summary, `?` garbage, blank a blank line.

use serde_json::{Value, json};

use crate::corpus_tests::files_below;

/// The id of the `index`-th line.
pub(crate) fn uuid(index: usize) -> String {
    format!("00000000-0000-4000-8000-{index:012x}")
}

/// One line, without its newline.
pub(crate) fn line(letter: char, index: usize) -> Vec<u8> {
    let parent = index.checked_sub(1).map(uuid);
    let text = |text: &str| json!([{ "type": "text", "text": format!("{text} {index}") }]);
    let answer = |id: &str, content: Value| {
        json!({ "type": "assistant", "message": { "id": id, "type": "message", "role": "assistant",
            "model": "claude-sonnet-4-5", "content": content, "stop_reason": null,
            "usage": { "input_tokens": 3, "output_tokens": 5 } } })
    };
    let user = |content: Value| json!({ "type": "user", "message": { "role": "user", "content": content } });
    let call = json!([{ "type": "tool_use", "id": format!("toolu_{index}"), "name": "Bash", "input": { "command": "ls" } }]);
    let result = json!([{ "type": "tool_result", "content": "note.txt", "is_error": false,
        "tool_use_id": format!("toolu_{}", index.saturating_sub(1)) }]);
    let summary = || user(json!(format!("So far {index} things happened")));
    let boundary = || {
        json!({ "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted",
            "logicalParentUuid": parent.clone(), "compactMetadata": { "trigger": "manual", "preTokens": 100 } })
    };
    let mut value = match letter {
        'U' | 's' => user(json!(format!("please do thing {index}"))),
        'A' | 'S' => answer("msg_a", text("done")),
        'T' => answer("msg_a", call),
        'Z' => answer("msg_z", text("also")),
        'R' | 'r' => user(result),
        'I' => user(text("a note of the runtime")),
        'B' | 'b' => boundary(),
        'C' | 'c' => summary(),
        'd' => json!({ "type": "system", "subtype": "turn_duration", "durationMs": 12 }),
        'x' => json!({ "type": "attachment", "attachment": { "type": "date", "date": "2026-01-01" },
            "rendered": [{ "content": "Today is the day" }], "renderedRole": "system" }),
        'm' => {
            return json!({ "type": "file-history-snapshot", "messageId": uuid(index), "snapshot": {}, "isSnapshotUpdate": false })
                .to_string()
                .into_bytes();
        }
        '?' => return b"{\"type\":\"user\",\"uu".to_vec(),
        _ => return Vec::new(),
    };
    let is_sidechain = "sSrbc".contains(letter);
    let is_boundary = "Bb".contains(letter);
    let fields = json!({
        "parentUuid": if is_boundary { None } else { parent.clone() }, "isSidechain": is_sidechain, "userType": "external",
        "cwd": "/srv/project", "sessionId": "11111111-2222-4333-8444-555555555555", "version": "2.1.330",
        "gitBranch": "main", "uuid": uuid(index), "timestamp": format!("2026-01-01T00:{:02}:{:02}.000Z", index / 60 % 60, index % 60),
    });
    let mut extra = Vec::new();
    match letter {
        'I' => extra.push(("isMeta", json!(true))),
        'C' | 'c' => {
            extra.push(("isCompactSummary", json!(true)));
            extra.push(("isVisibleInTranscriptOnly", json!(true)));
        }
        'R' | 'r' => extra.push(("toolUseResult", json!({ "stdout": "note.txt" }))),
        _ => {}
    }
    if is_sidechain {
        extra.push(("agentId", json!("a1b2")));
    }
    if let (Some(object), Value::Object(fields)) = (value.as_object_mut(), fields) {
        object.extend(fields);
        object.extend(extra.into_iter().map(|(key, value)| (key.to_owned(), value)));
    }
    value.to_string().into_bytes()
}

/// A transcript, line by line, each the child of the one before.
pub(crate) fn session(letters: &str) -> Vec<Vec<u8>> {
    letters.chars().enumerate().map(|(index, letter)| line(letter, index)).collect()
}

/// A transcript as bytes, with newlines.
pub(crate) fn transcript(letters: &str) -> Vec<u8> {
    session(letters)
        .into_iter()
        .flat_map(|mut line| {
            line.push(b'\n');
            line
        })
        .collect()
}

/// Name and bytes of every real transcript below `$STEMMATA_CORPUS/claude-code`; says so where there is none.
pub(crate) fn corpus_files() -> Vec<(String, Vec<u8>)> {
    files_below(&["claude-code"], |name| !is_stream(name))
}

fn is_stream(name: &str) -> bool {
    name.ends_with(".stream.jsonl")
}
