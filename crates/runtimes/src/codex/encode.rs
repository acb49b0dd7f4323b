//! From entries to lines that Codex's loader accepts.
//!
//! The loader wants a header first and a `timestamp` in each line, else it refuses or drops lines in silence; all else
//! may be absent. `event_msg` lines are what the client shows of a conversation when it is resumed.

use std::collections::HashSet;

use stemmata_model::{Entry, EntryKind, Part, Role, Timestamp};

use super::RUNTIME;
use super::record::Payload;
use crate::data_url;
use crate::json::{Field, Object, list, one_line, push_line, quote};
use crate::lines::{OPAQUE_REPLACEMENT, iso};
use crate::placing::{UNKNOWN_CWD, UNPLACED_SESSION};

/// The version that encoded lines carry: the newest whose loader we know.
pub const ENCODED_VERSION: &str = "0.169.0";

/// Encodes entries in their order.
///
/// Left out are entries that a model does not see and that are no lines of this runtime, and parts
/// that only another runtime understands.
pub(super) fn encode(entries: &[Entry], is_paginated: bool) -> Vec<u8> {
    let first_time = entries.iter().find_map(|entry| entry.timestamp);
    let mut encoder = Encoder {
        out: Vec::new(),
        at: first_time.unwrap_or(Timestamp::EPOCH),
        ordinal: is_paginated.then_some(0),
        custom: HashSet::new(),
    };
    let has_header = entries.first().is_some_and(is_header);
    if !has_header {
        let cwd = entries.iter().find_map(|entry| entry.meta.cwd.as_deref());
        encoder.header(cwd.unwrap_or(UNKNOWN_CWD));
    }
    for entry in entries {
        encoder.entry(entry);
    }
    encoder.out
}

/// Encodes a summary as a compaction. It has no number: placing gives it one where lines are numbered.
pub(super) fn compaction(summary: &str, at: Timestamp) -> Vec<u8> {
    let mut encoder = Encoder { out: Vec::new(), at, ordinal: None, custom: HashSet::new() };
    // Without it the client would send the older prompts again, and take the summary for a turn.
    let said = Object::new().text("type", "input_text").text("text", summary).finish();
    let item =
        Object::new().text("type", "message").text("role", "user").raw("content", &format!("[{said}]"));
    encoder.compacted(summary, Some(&format!("[{}]", item.finish())));
    encoder.out
}

/// Returns a header's fields but its session's, as JSON members.
pub(super) fn header_payload(session: &str, at: &str, cwd: &str, is_paginated: bool) -> Object {
    Object::new()
        .text("session_id", session)
        .text("id", session)
        .text("timestamp", at)
        .text("cwd", cwd)
        .text("originator", "stemmata")
        .text("cli_version", ENCODED_VERSION)
        .text("source", "cli")
        .given("history_mode", is_paginated.then_some("paginated"))
}

fn is_header(entry: &Entry) -> bool {
    matches!(entry.parts.as_slice(), [Part::Opaque { runtime, kind, .. }] if runtime == RUNTIME && kind == "session_meta")
}

/// Returns a header's payload with the mode of history that the lines have.
fn with_mode(payload: &str, is_paginated: bool) -> String {
    let mode = quote(if is_paginated { "paginated" } else { "legacy" });
    let Ok(fields) = Payload::read(Field::whole(payload)) else { return payload.to_owned() };
    match (fields.history_mode, payload.strip_suffix('}')) {
        (Some(field), _) => {
            let mut changed = payload.to_owned();
            changed.replace_range(field.span(), &mode);
            changed
        }
        (None, Some(head)) if is_paginated => format!("{head},\"history_mode\":{mode}}}"),
        (None, _) => payload.to_owned(),
    }
}

struct Encoder {
    out: Vec<u8>,
    at: Timestamp,
    /// The number of the next line, where lines are numbered.
    ordinal: Option<u64>,
    /// Calls of tools that take text: their results are of another type.
    custom: HashSet<String>,
}

impl Encoder {
    fn line(&mut self, kind: &str, payload: &str) {
        let object = Object::new().text("timestamp", &iso(self.at));
        let object = match &mut self.ordinal {
            Some(ordinal) => {
                *ordinal += 1;
                object.number("ordinal", *ordinal - 1)
            }
            None => object,
        };
        push_line(&mut self.out, &object.text("type", kind).raw("payload", payload).finish());
    }

    fn item(&mut self, payload: Object) {
        self.line("response_item", &payload.finish());
    }

    fn header(&mut self, cwd: &str) {
        let payload = header_payload(UNPLACED_SESSION, &iso(self.at), cwd, self.ordinal.is_some());
        self.line("session_meta", &payload.finish());
    }

    fn entry(&mut self, entry: &Entry) {
        if let Some(time) = entry.timestamp {
            self.at = time;
        }
        match entry.kind {
            EntryKind::Metadata | EntryKind::CompactionBoundary => self.verbatim(entry),
            EntryKind::CompactionSummary => self.summary(entry),
            EntryKind::Unreadable => {}
            _ if entry.meta.visibility.agent => self.message(entry),
            _ => {}
        }
    }

    /// Writes a line of this runtime again.
    fn verbatim(&mut self, entry: &Entry) {
        let [Part::Opaque { runtime, kind, json }] = entry.parts.as_slice() else { return };
        let outer = kind.split('/').next().unwrap_or_default();
        let Some(payload) = one_line(json).filter(|_| runtime == RUNTIME && !outer.is_empty()) else {
            return;
        };
        if outer == "session_meta" {
            self.line(outer, &with_mode(&payload, self.ordinal.is_some()));
        } else {
            self.line(outer, &payload);
        }
    }

    fn summary(&mut self, entry: &Entry) {
        let summary = entry.parts.iter().find_map(|part| match part {
            Part::Summary { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let kept = entry.parts.iter().find_map(|part| match part {
            Part::Opaque { runtime, kind, json } if runtime == RUNTIME && kind == OPAQUE_REPLACEMENT => {
                one_line(json)
            }
            _ => None,
        });
        self.compacted(summary.unwrap_or_default(), kept.as_deref());
    }

    /// Writes a compaction; what it keeps is the summary alone unless it says more.
    fn compacted(&mut self, summary: &str, kept: Option<&str>) {
        let object = Object::new().text("message", summary).given_raw("replacement_history", kept);
        self.line("compacted", &object.finish());
    }

    /// Writes an entry's parts: what is said in one message, the rest in items of their own, in order.
    fn message(&mut self, entry: &Entry) {
        let mut said: Vec<String> = Vec::new();
        let has_rest = entry.parts.iter().any(|part| content_item(part, entry.role).is_none());
        for part in &entry.parts {
            if let Some(item) = content_item(part, entry.role) {
                said.push(item);
            } else {
                if !said.is_empty() {
                    self.said(entry, &mut said);
                }
                self.part(part);
            }
        }
        if !said.is_empty() || !has_rest {
            self.said(entry, &mut said);
        }
    }

    /// Writes what is said as one message.
    fn said(&mut self, entry: &Entry, items: &mut Vec<String>) {
        let role = match entry.role {
            Role::Assistant => "assistant",
            Role::System => "developer",
            Role::User | Role::Tool => "user",
        };
        // Always a list: the loader drops a message whose content is a string, in silence.
        let content = list(items.drain(..));
        let id = Some(entry.id.as_str()).filter(|id| id.starts_with("msg_"));
        let object = Object::new().text("type", "message").given("id", id);
        self.item(object.text("role", role).raw("content", &content));
        self.shown(entry);
    }

    /// Writes what the client shows of a message.
    fn shown(&mut self, entry: &Entry) {
        let is_shown = entry.kind == EntryKind::Message && self.ordinal.is_none();
        let kind = match entry.role {
            Role::User if is_shown => "user_message",
            Role::Assistant if is_shown => "agent_message",
            _ => return,
        };
        let texts = entry.parts.iter().filter_map(Part::as_text);
        let text = texts.collect::<Vec<_>>().join("\n");
        if !text.is_empty() {
            let payload = Object::new().text("type", kind).text("message", &text).finish();
            self.line("event_msg", &payload);
        }
    }

    fn part(&mut self, part: &Part) {
        let typed = |name: &str| Object::new().text("type", name);
        match part {
            Part::Thinking { text, encrypted, .. } => {
                let summary = typed("summary_text").text("text", text).finish();
                let summary = if text.is_empty() { "[]".to_owned() } else { format!("[{summary}]") };
                let object = typed("reasoning").raw("summary", &summary);
                self.item(object.optional("encrypted_content", encrypted.as_deref()));
            }
            Part::ToolCall { call_id, name, arguments } => self.call(call_id, name, arguments),
            Part::ToolResult { call_id, parts, .. } => {
                let kind = if self.custom.contains(call_id) {
                    "custom_tool_call_output"
                } else {
                    "function_call_output"
                };
                self.item(typed(kind).text("call_id", call_id).raw("output", &output(parts)));
            }
            Part::Opaque { runtime, json, .. } if runtime == RUNTIME => {
                if let Some(payload) = one_line(json) {
                    self.line("response_item", &payload);
                }
            }
            Part::Text(_)
            | Part::Summary { .. }
            | Part::Image { .. }
            | Part::File { .. }
            | Part::Opaque { .. } => {}
        }
    }

    fn call(&mut self, call_id: &str, name: &str, arguments: &str) {
        let typed = |kind: &str| Object::new().text("type", kind);
        if name == "local_shell" {
            let action = one_line(arguments).unwrap_or_else(|| "{}".to_owned());
            let object = typed("local_shell_call").text("call_id", call_id).text("status", "completed");
            return self.item(object.raw("action", &action));
        }
        if let Some(input) = only_input(arguments) {
            self.custom.insert(call_id.to_owned());
            let object = typed("custom_tool_call").text("status", "completed").text("call_id", call_id);
            return self.item(object.text("name", name).text("input", &input));
        }
        let (namespace, name) = split_name(name);
        let object = typed("function_call").text("name", name).given("namespace", namespace);
        self.item(object.text("arguments", arguments).text("call_id", call_id));
    }
}

/// Returns the text that a tool takes instead of arguments.
fn only_input(arguments: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(arguments).ok()?;
    let object = value.as_object().filter(|object| object.len() == 1)?;
    let input = object.get("input")?.as_str()?.to_owned();
    // Arguments that are spelled otherwise come back as they were.
    (Object::new().text("input", &input).finish() == arguments).then_some(input)
}

/// Splits `mcp__server__tool` into the server's namespace and the tool.
fn split_name(name: &str) -> (Option<&str>, &str) {
    let tool = name.strip_prefix("mcp__").and_then(|rest| rest.find("__")).map(|at| at + "mcp__".len());
    match tool {
        Some(at) => (name.get(..at), name.get(at + 2..).unwrap_or_default()),
        None => (None, name),
    }
}

/// Returns what a part is inside a message, none where it is an item of its own.
fn content_item(part: &Part, role: Role) -> Option<String> {
    let kind = if role == Role::Assistant { "output_text" } else { "input_text" };
    let typed = |name: &str| Object::new().text("type", name);
    match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(typed(kind).text("text", text).finish()),
        Part::Image { media_type, source } if role != Role::Assistant => {
            Some(typed("input_image").text("image_url", &data_url::address(media_type, source)?).finish())
        }
        Part::File { name, media_type, data } if role != Role::Assistant => {
            let is_text = media_type.as_deref().is_none_or(|kind| kind.starts_with("text/"));
            let data = data.as_deref().filter(|_| is_text)?;
            Some(typed(kind).text("text", &format!("File {name}:\n{data}")).finish())
        }
        Part::Opaque { runtime, kind, json } if runtime == RUNTIME && is_content(kind) => one_line(json),
        _ => None,
    }
}

/// Returns whether an opaque part was inside a message: the others are items.
fn is_content(kind: &str) -> bool {
    kind == "content" || kind.starts_with("input_") || kind.starts_with("output_")
}

/// Returns a result as the client writes it: text alone is a string.
fn output(parts: &[Part]) -> String {
    match parts {
        [Part::Text(text)] => quote(text),
        parts => list(parts.iter().filter_map(|part| content_item(part, Role::Tool))),
    }
}
