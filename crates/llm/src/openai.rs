//! OpenAI's chat completions, as OpenAI and the servers that follow it write them.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::chat::{ChatReply, ChatRequest, Message, Stop, ToolCall, Usage};

/// Returns the body of a request.
pub(crate) fn body(request: &ChatRequest, model: &str) -> Value {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    messages.extend(request.messages.iter().map(message));
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages.into());
    // OpenAI's newer models know only `max_completion_tokens`; every other server knows `max_tokens`.
    let limit = if is_newer_openai(model) { "max_completion_tokens" } else { "max_tokens" };
    body.insert(limit.to_owned(), request.max_output_tokens.max(1).into());
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                let function =
                    json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
                json!({"type": "function", "function": function})
            })
            .collect();
        body.insert("tools".to_owned(), tools.into());
    }
    Value::Object(body)
}

fn is_newer_openai(model: &str) -> bool {
    ["o1", "o3", "o4", "gpt-5", "gpt-6"].iter().any(|prefix| model.starts_with(prefix))
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(said) => json!({"role": "user", "content": said}),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let calls: Vec<Value> = calls
                .iter()
                .map(|call| {
                    let function = json!({"name": call.name, "arguments": call.arguments});
                    json!({"id": call.id, "type": "function", "function": function})
                })
                .collect();
            // Some servers refuse an empty text beside calls, none refuses `null`.
            let text = (!text.is_empty()).then_some(text);
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }
        Message::Tool { call_id, text, .. } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text})
        }
    }
}

#[derive(Deserialize)]
struct Reply {
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<ReplyUsage>,
}

#[derive(Deserialize)]
struct Choice {
    message: ReplyMessage,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct ReplyMessage {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<ReplyCall>>,
}

#[derive(Deserialize)]
struct ReplyCall {
    #[serde(default)]
    id: String,
    function: ReplyFunction,
}

#[derive(Deserialize)]
struct ReplyFunction {
    name: String,
    /// A string of JSON; some servers send the JSON itself.
    #[serde(default)]
    arguments: Value,
}

#[derive(Deserialize)]
struct ReplyUsage {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    #[serde(default)]
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

/// Reads the body of a reply; `Err` says what is wrong with it.
pub(crate) fn reply(body: &[u8]) -> Result<ChatReply, String> {
    let reply: Reply = serde_json::from_slice(body).map_err(|error| format!("not a completion: {error}"))?;
    let Some(choice) = reply.choices.into_iter().next() else { return Err("it has no choice".to_owned()) };
    let calls: Vec<ToolCall> =
        choice.message.tool_calls.unwrap_or_default().into_iter().enumerate().map(call).collect();
    let stop = match choice.finish_reason.as_deref() {
        _ if choice.message.refusal.is_some() => Stop::Refusal,
        Some("length") => Stop::Length,
        Some("content_filter") => Stop::Refusal,
        // Some servers say `stop` beside calls.
        Some(_) if !calls.is_empty() => Stop::ToolUse,
        Some("stop") => Stop::End,
        _ => Stop::Other,
    };
    let usage = reply.usage.map(|usage| {
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0);
        // Here the cached tokens are part of the prompt's.
        let cached_tokens = cached.min(usage.prompt_tokens);
        let input_tokens = usage.prompt_tokens - cached_tokens;
        Usage { input_tokens, cached_tokens, output_tokens: usage.completion_tokens }
    });
    Ok(ChatReply { text: choice.message.content.unwrap_or_default(), calls, stop, usage })
}

fn call((at, call): (usize, ReplyCall)) -> ToolCall {
    let arguments = match call.function.arguments {
        Value::String(text) => text,
        Value::Null => "{}".to_owned(),
        other => other.to_string(),
    };
    // Ollama sends no id; the answer needs one.
    let id = if call.id.is_empty() { format!("call_{at}") } else { call.id };
    ToolCall { id, name: call.function.name, arguments }
}
