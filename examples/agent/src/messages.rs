//! Entries as messages, and answers as entries.
//!
//! Providers refuse a call without a result behind it and a result without its call, so every context that is sent passes here.

use std::collections::{HashMap, HashSet};

use stemmata_engine::model::{Entry, EntryId, EntryKind, Part, Role, Usage};
use stemmata_engine::prompt::tool_output::{OutputLimits, normalize};
use stemmata_engine::{NewIds as _, RandomIds};
use stemmata_llm::{ChatReply, Message, ToolCall};

use crate::Result;

/// What a call is answered with whose result was never stored.
pub const INTERRUPTED: &str =
    "interrupted: the agent stopped before this call's result was stored. It may have run in part.";

/// Returns what the model is sent of a context: each call with its result behind it, whatever the context has.
pub fn messages(context: &[Entry]) -> Vec<Message> {
    let mut results: HashMap<&str, (String, bool)> = HashMap::new();
    for part in context.iter().flat_map(|entry| &entry.parts) {
        if let Part::ToolResult { call_id, is_error, parts } = part {
            results.insert(call_id, (text_of(parts), *is_error));
        }
    }
    let mut messages = Vec::new();
    for entry in context.iter().filter(|entry| entry.kind != EntryKind::Metadata) {
        let text = text_of(&entry.parts);
        match entry.role {
            Role::Assistant => {
                let calls: Vec<ToolCall> = entry.parts.iter().filter_map(call).collect();
                let answers: Vec<Message> = calls.iter().map(|call| answer_to(call, &results)).collect();
                messages.push(Message::Assistant { text, calls });
                messages.extend(answers);
            }
            Role::User | Role::System if !text.is_empty() => messages.push(Message::User(text)),
            // A result stands behind its call already.
            Role::User | Role::System | Role::Tool => {}
        }
    }
    messages
}

fn answer_to(call: &ToolCall, results: &HashMap<&str, (String, bool)>) -> Message {
    let (text, is_error) =
        results.get(call.id.as_str()).cloned().unwrap_or_else(|| (INTERRUPTED.to_owned(), true));
    Message::Tool { call_id: call.id.clone(), text, is_error }
}

/// Returns the calls of a context that have no result.
pub fn open_calls(context: &[Entry]) -> Vec<ToolCall> {
    let answered: HashSet<&str> = context.iter().flat_map(Entry::answers).collect();
    let calls = context.iter().flat_map(|entry| entry.parts.iter().filter_map(call));
    calls.filter(|call| !answered.contains(call.id.as_str())).collect()
}

/// Returns whether the agent has still to answer: the context ends with a prompt, a call or a result.
pub fn is_open(context: &[Entry]) -> bool {
    let spoken =
        context.iter().rev().find(|entry| matches!(entry.kind, EntryKind::Message | EntryKind::ToolResult));
    spoken.is_some_and(|last| last.role != Role::Assistant || last.calls().next().is_some())
}

/// Returns what somebody says, under an id that nothing else has.
pub fn said(role: Role, parts: Vec<Part>) -> Result<Entry> {
    Ok(Entry::said(EntryId::new(RandomIds.session().as_str())?, role, parts))
}

/// Returns an answer of the model, with what the provider counted: the guard measures the window by it. Calls get ids of
/// our own, since some servers use the same ones in every answer. Nine letters and digits are an id to all providers.
pub fn answer(reply: &ChatReply, model: &str) -> Result<Entry> {
    let calls = reply.calls.iter().map(|call| {
        let call_id = RandomIds.session().as_str().replace('-', "").chars().take(9).collect();
        Part::ToolCall { call_id, name: call.name.clone(), arguments: call.arguments.clone() }
    });
    let has_text = !reply.text.is_empty() || reply.calls.is_empty();
    let text = has_text.then(|| Part::Text(reply.text.clone()));
    let mut entry = said(Role::Assistant, text.into_iter().chain(calls).collect())?;
    entry.meta.model = Some(model.to_owned());
    entry.meta.usage = reply.usage.map(|usage| Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cache_read_tokens: usage.cached_tokens,
        cache_write_tokens: 0,
    });
    Ok(entry)
}

/// Returns the result of a call, cut to what a window of this size can take.
pub fn result(
    call: &ToolCall,
    output: std::result::Result<String, String>,
    limits: &OutputLimits,
) -> Result<Entry> {
    let is_error = output.is_err();
    let whole = output.unwrap_or_else(|error| error);
    let parts = vec![Part::Text(normalize(whole.as_bytes(), limits).text.into_owned())];
    said(Role::Tool, vec![Part::ToolResult { call_id: call.id.clone(), is_error, parts }])
}

fn call(part: &Part) -> Option<ToolCall> {
    let Part::ToolCall { call_id, name, arguments } = part else { return None };
    Some(ToolCall { id: call_id.clone(), name: name.clone(), arguments: arguments.clone() })
}

/// Returns the text of parts. Reasoning goes back to no provider but its own, and this agent keeps none.
pub fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(text.clone()),
        Part::Image { media_type, .. } => Some(format!("[image: {media_type}]")),
        Part::File { name, data, .. } => {
            Some(format!("[file {name}]\n{}", data.as_deref().unwrap_or_default()))
        }
        Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } | Part::Opaque { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
