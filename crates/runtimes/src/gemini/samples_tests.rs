//! Made-up sessions, one letter a line, and the suites that every adapter passes.
//!
//! `H` header, `E` the client's own text as a checkpoint, `U` prompt, `A` answer, `F` an answer so far, `G` the same
//! answer with its call, `R` the call's result, `S` metadata, `T` a title, `I` a notice, `B` the last prompt taken back, `X` a
//! rewind to nowhere, `C` a compaction, `O` a checkpoint in which nothing was said, `N` what was said so far said again,
//! `?` garbage.

use serde_json::{Value, json};

use super::Gemini;
use crate::adapter::Adapter as _;
use crate::conformance;

/// The session of made-up transcripts.
pub(crate) const SESSION: &str = "5f0c1c7e-1111-4222-8333-944445555666";

/// What the client puts at the start of a conversation.
const CONTEXT: &str =
    "<session_context>\nThis is the Gemini CLI.\n- **Workspace Directories:**\n  - /srv/project\n";

/// What the last letters left for the next one.
#[derive(Default)]
struct Story {
    /// What was said, as the client says it again.
    said: Vec<Value>,
    answer: Option<usize>,
    call: usize,
    prompt: usize,
}

impl Story {
    /// Remembers a message as the client says it again: calls among the content, no thoughts, each result twice, the
    /// first time under a name that the answer gives.
    fn say(&mut self, value: &Value) {
        let mut own = json!({ "id": value["id"], "type": value["type"], "timestamp": value["timestamp"] });
        let is_said = value["type"] == "user" || value["type"] == "gemini";
        if !is_said {
            return;
        }
        own["content"] = match (value["content"].as_str(), value["toolCalls"].as_array()) {
            (Some(text), calls) => {
                let calls = calls.into_iter().flatten().map(|call| {
                    json!({ "functionCall": { "id": call["id"], "name": call["name"], "args": call["args"] } })
                });
                json!(std::iter::once(json!({ "text": text })).chain(calls).collect::<Vec<_>>())
            }
            _ => value["content"].clone(),
        };
        if let Some(last) = self.said.last().filter(|_| value["content"][0]["functionResponse"].is_object()) {
            let mut twice = own.clone();
            twice["id"] = json!(format!("{}_response", last["id"].as_str().unwrap_or_default()));
            self.said.push(twice);
        }
        self.said.retain(|said| said["id"] != own["id"] || said["type"] != own["type"]);
        self.said.push(own);
    }
}

fn value(letter: char, index: usize, story: &mut Story) -> Option<Value> {
    let at = format!("2026-01-01T00:{:02}:{:02}.000Z", index / 60, index % 60);
    let message = |id: usize, kind: &str, content: Value| json!({ "id": format!("m{id}"), "timestamp": at, "type": kind, "content": content });
    let answer = |id: usize, text: &str| {
        let mut value = message(id, "gemini", json!(text));
        value["thoughts"] = json!([{ "subject": "Looking", "description": "at it", "timestamp": at }]);
        value["tokens"] = json!({ "input": 100, "output": 20, "cached": 40, "thoughts": 5, "total": 125 });
        value["model"] = json!("gemini-2.5-pro");
        value
    };
    let context = message(900, "user", json!([{ "text": CONTEXT }]));
    Some(match letter {
        'H' => {
            json!({ "sessionId": SESSION, "projectHash": "00", "startTime": at, "lastUpdated": at, "kind": "main" })
        }
        'E' => json!({ "$set": { "messages": [context], "lastUpdated": at } }),
        'U' => {
            story.prompt = index;
            message(index, "user", json!([{ "text": format!("please do thing {index}") }]))
        }
        'A' => answer(index, &format!("done {index}")),
        'F' => {
            story.answer = Some(index);
            answer(index, "")
        }
        'G' => {
            story.call = index;
            let result = json!([{ "functionResponse": { "id": format!("call_{index}"), "name": "run_shell_command",
                "response": { "output": "note.txt" } } }]);
            let mut value = answer(story.answer.take().unwrap_or(index), "");
            value["toolCalls"] = json!([{ "id": format!("call_{index}"), "name": "run_shell_command",
                "args": { "command": "ls" }, "result": result, "status": "success" }]);
            value
        }
        'R' => message(
            index,
            "user",
            json!([{ "functionResponse": { "id": format!("call_{}", story.call), "name": "run_shell_command",
                "response": { "output": "note.txt" } } }]),
        ),
        'S' => json!({ "$set": { "lastUpdated": at } }),
        'T' => json!({ "$set": { "summary": "A title", "lastUpdated": at } }),
        'I' => message(index, "info", json!("Update available")),
        'B' => json!({ "$rewindTo": format!("m{}", story.prompt) }),
        'X' => json!({ "$rewindTo": "nowhere" }),
        'C' => {
            json!({ "$set": { "messages": [context, message(index + 500, "user", json!([{ "text": "so far" }])),
            message(index + 600, "gemini", json!("Got it. Thanks for the additional context!"))], "lastUpdated": at } })
        }
        'N' => {
            let all: Vec<Value> = std::iter::once(context).chain(story.said.iter().cloned()).collect();
            json!({ "$set": { "messages": all, "lastUpdated": at } })
        }
        'O' => json!({ "$set": { "messages": [], "lastUpdated": at } }),
        _ => return None,
    })
}

/// Made-up lines.
pub(crate) fn session(letters: &str) -> Vec<u8> {
    let mut story = Story::default();
    let mut out = Vec::new();
    for (index, letter) in letters.chars().enumerate() {
        match value(letter, index, &mut story) {
            Some(value) => {
                story.say(&value);
                out.extend_from_slice(value.to_string().as_bytes());
            }
            None => out.extend_from_slice(b"{\"id\":\"2026"),
        }
        out.push(b'\n');
    }
    out
}

const STORY: &str = "HEUSFSGRSASITUFGRABUACUAOUSX?UAHOSNUA";

#[test]
fn made_up_sessions_pass_the_suite() {
    let report = conformance::passes(&Gemini, STORY, &session(STORY));
    assert_eq!((report.entries, report.commits), (STORY.len(), 8), "{report:?}");
}

#[test]
fn sessions_of_the_older_format_are_not_claimed() {
    let whole = format!("{{\"sessionId\":\"{SESSION}\",\"projectHash\":\"00\",\"messages\":[]}}");
    assert_eq!(Gemini.detect(whole.as_bytes()), None);
    assert_eq!(Gemini.detect(b"{\n  \"sessionId\": \"x\",\n"), None);
    assert!(Gemini.detect(&session("HU")).is_some());
}
