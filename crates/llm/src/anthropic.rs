//! Anthropic's Messages API: how a request and a reply are written. Source: the API's reference, version 2023-06-01.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::chat::{ChatReply, ChatRequest, Message, Stop, ToolCall, Usage};

/// The version that `anthropic-version` names.
pub(crate) const VERSION: &str = "2023-06-01";

/// Returns the body of a request.
pub(crate) fn body(request: &ChatRequest, model: &str) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = blocks(message);
        // Answers to several calls of one turn must stand in one message, and roles must alternate.
        match messages.last_mut() {
            Some((last, standing)) if *last == role => standing.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    let messages: Vec<Value> = messages
        .into_iter()
        .filter(|(_, blocks)| !blocks.is_empty())
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect();
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("max_tokens".to_owned(), request.max_output_tokens.max(1).into());
    if !request.system.is_empty() {
        body.insert("system".to_owned(), request.system.as_str().into());
    }
    body.insert("messages".to_owned(), messages.into());
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}))
            .collect();
        body.insert("tools".to_owned(), tools.into());
    }
    Value::Object(body)
}

fn blocks(message: &Message) -> (&'static str, Vec<Value>) {
    // The API refuses empty text blocks.
    let text = |text: &str| (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
    match message {
        Message::User(said) => ("user", text(said).into_iter().collect()),
        Message::Assistant { text: said, calls } => {
            let calls = calls.iter().map(|call| {
                // Arguments that are no object are no arguments for this API.
                let input = serde_json::from_str::<Map<String, Value>>(&call.arguments).unwrap_or_default();
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
            });
            ("assistant", text(said).into_iter().chain(calls).collect())
        }
        Message::Tool { call_id, text, is_error } => {
            let block =
                json!({"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": is_error});
            ("user", vec![block])
        }
    }
}

#[derive(Deserialize)]
struct Reply {
    content: Vec<Value>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Option<ReplyUsage>,
}

#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the API's names")]
struct ReplyUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
}

/// Reads the body of a reply; `Err` says what is wrong with it.
pub(crate) fn reply(body: &[u8]) -> Result<ChatReply, String> {
    let reply: Reply = serde_json::from_slice(body).map_err(|error| format!("not a message: {error}"))?;
    let mut text = String::new();
    let mut calls = Vec::new();
    for block in &reply.content {
        let string = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match block.get("type").and_then(Value::as_str) {
            Some("text") => text.push_str(&string("text")),
            Some("tool_use") => {
                let arguments = block.get("input").map_or_else(|| "{}".to_owned(), Value::to_string);
                calls.push(ToolCall { id: string("id"), name: string("name"), arguments });
            }
            // Thinking and what comes later is not said to anybody.
            _ => {}
        }
    }
    let stop = match reply.stop_reason.as_deref() {
        Some("end_turn" | "stop_sequence") => Stop::End,
        Some("tool_use") => Stop::ToolUse,
        Some("max_tokens") => Stop::Length,
        Some("model_context_window_exceeded") => Stop::WindowFull,
        Some("refusal") => Stop::Refusal,
        _ => Stop::Other,
    };
    let usage = reply.usage.map(|usage| Usage {
        input_tokens: usage.input_tokens,
        cached_tokens: usage
            .cache_read_input_tokens
            .unwrap_or(0)
            .saturating_add(usage.cache_creation_input_tokens.unwrap_or(0)),
        output_tokens: usage.output_tokens,
    });
    Ok(ChatReply { text, calls, stop, usage })
}
