//! The scripted model: what it answers, and what may be said of every request that it gets.

use serde_json::{Value, json};
use stemmata_testkit::model_server::{Answer, Asked};

/// Characters that are taken for a token, as the agent's own estimate does.
const CHARS_PER_TOKEN: usize = 4;

/// Returns the messages of a request.
pub fn messages(asked: &Asked) -> &[Value] {
    asked.body["messages"].as_array().map_or(&[], Vec::as_slice)
}

/// Returns what a request takes of the window.
pub fn tokens(asked: &Asked) -> usize {
    let of = |message: &Value| message["content"].to_string().len() + message["tool_calls"].to_string().len();
    let chars = messages(asked).iter().map(of).sum::<usize>() + asked.body["tools"].to_string().len();
    chars / CHARS_PER_TOKEN
}

/// An answer that calls tools, or says something where there is none to call.
pub fn answer(asked: &Asked, text: &str, calls: &[(&str, Value)]) -> Answer {
    // Every answer uses the same ids, as some servers do.
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, (name, arguments))| {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            json!({"id": format!("call_{at}"), "type": "function", "function": function})
        })
        .collect();
    let reason = if calls.is_empty() { "stop" } else { "tool_calls" };
    let message = json!({"role": "assistant", "content": text, "tool_calls": calls});
    let usage =
        json!({"prompt_tokens": tokens(asked), "completion_tokens": text.len() / CHARS_PER_TOKEN + 10});
    Answer::Json(json!({"choices": [{"message": message, "finish_reason": reason}], "usage": usage}))
}

pub fn shell(command: &str) -> (&'static str, Value) {
    ("shell", json!({"command": command}))
}

/// What a provider says whose window is smaller than the context.
pub fn too_long() -> Answer {
    let message =
        "This model's maximum context length is 4096 tokens. However, your messages resulted in more tokens.";
    let body = json!({"error": {"code": "context_length_exceeded", "message": message}});
    Answer::Status(400, Vec::new(), body.to_string())
}

/// Checks what every provider demands: a result for each call, behind it, and no result without a call.
pub fn check_pairs(asked: &Asked) {
    let mut waiting: Vec<String> = Vec::new();
    for message in messages(asked) {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let at = waiting.iter().position(|call| call == id);
            waiting.remove(at.unwrap_or_else(|| panic!("a result without its call: {message}")));
        } else {
            assert!(waiting.is_empty(), "calls without results before {message}");
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            waiting.extend(calls.map(|call| call["id"].as_str().unwrap().to_owned()));
        }
    }
    assert!(waiting.is_empty(), "calls without results at the end");
}

/// Returns the text of everything that a request says.
pub fn text(asked: &Asked) -> String {
    messages(asked)
        .iter()
        .map(|message| message["content"].as_str().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns what the user said last.
pub fn said_last(asked: &Asked) -> String {
    let last = messages(asked).iter().rev().find(|message| message["role"] == "user");
    last.and_then(|message| message["content"].as_str()).unwrap_or_default().to_owned()
}

/// Returns the number of the newest prompt in a request: summaries behind it are no prompts.
pub fn turn_of(asked: &Asked) -> usize {
    let number =
        |message: &Value| message["content"].as_str()?.split_once("turn ")?.1.split_once(':')?.0.parse().ok();
    let prompts = messages(asked).iter().filter(|message| message["role"] == "user");
    prompts.rev().find_map(number).unwrap_or(usize::MAX)
}
