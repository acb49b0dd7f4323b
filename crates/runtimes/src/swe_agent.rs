//! `swe-agent-v1`: a trajectory of SWE-agent (`.traj`).
//!
//! The conversation is its `history`; all else of the document is carried. Older ones have an `action` instead of calls, and
//! what it gave stands in the next message of the user.

use std::borrow::Cow;

use stemmata_acts::tools::table;
use stemmata_model::{Entry, EntryKind, Part, Role, Visibility};

use crate::adapter::{Confidence, IdKind};
use crate::clients::Client;
use crate::document::compactions::none;
use crate::document::{Dialect, Record, head, whole};
use crate::imported::{Imported, unchecked};
use crate::json::{self, Field, Object, RecordError, borrowed_object, members, owned, quote, text};
use crate::lines::facts::Templates;
use crate::lines::{Line, opaque};
use crate::registry::{Mark, Registered};

const RUNTIME: &str = "swe-agent";

/// SWE-agent. It writes where it is told to, so nothing is looked for.
pub static CLIENT: Client = Client::read_only(
    RUNTIME,
    &[Registered::new(&TRAJECTORY, &[Mark::Keys(&["trajectory"])])],
    Some(&table::SWE_AGENT),
);

/// The adapter of `swe-agent-v1`.
pub const TRAJECTORY: Imported =
    Imported { name: "swe-agent-v1", dialect: &DIALECT, is_json: true, claims, check: unchecked, encode };

/// The tool that an action of old is a call of.
const SHELL: &str = "bash";

/// How the id of a call begins that has none.
const MADE_UP: &str = "action-";

static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "swe-agent/main", subagent: "swe-agent/subagent" },
    read,
    // A trajectory is one run: several do not make a longer one.
    list: |_| None,
    compactions: none,
};

borrowed_object! {
    /// A message of the history, and a step of the trajectory.
    struct Message {
        role, content, thought, action, observation, calls = "tool_calls",
        call_ids = "tool_call_ids", is_demo, kind = "message_type",
    }
}

borrowed_object! {
    /// A call, its function, and a block of content.
    struct Inner {
        id, function, name, arguments, kind = "type", text,
    }
}

fn read(bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let all = members(whole(bytes)?).ok_or(RecordError::NotObject)?;
    let mut records = Vec::new();
    for member in all {
        let span = member.key.start..member.value.span().end;
        let elements = member.value.elements().filter(|elements| !elements.is_empty());
        let Some(elements) = elements.filter(|_| member.name == "history") else {
            let line = Line::metadata(RUNTIME, &member.name, member.value.raw(), None);
            records.push(Record { span, line });
            continue;
        };
        let mut reader = Reader { number: 0, open: None };
        for element in elements {
            // The name of the list belongs to its first element: no byte is in none.
            let start = if reader.number == 0 { span.start } else { element.span().start };
            records.push(Record { span: start..element.span().end, line: reader.message(element) });
        }
    }
    Ok(records)
}

/// Reads messages one after the other: a result of old says nothing of its call.
struct Reader {
    number: usize,
    /// The call of an action that has no result yet.
    open: Option<String>,
}

impl Reader {
    fn message(&mut self, element: Field<'_>) -> Line {
        self.number += 1;
        let message = Message::read(element).unwrap_or_default();
        let open = self.open.take();
        match text(message.role).as_deref() {
            Some("system") => {
                let mut line =
                    Line::said(Role::System, EntryKind::Instruction, content(message.content), None);
                line.meta.visibility = Visibility { agent: true, user: false };
                line
            }
            Some("assistant") => self.assistant(&message),
            Some("tool") => {
                let call = message.call_ids.and_then(|ids| ids.elements());
                let call = call.and_then(|ids| owned(ids.first().copied())).or(open);
                result(call.unwrap_or_default(), content(message.content))
            }
            Some("user") => match open.filter(|_| !crate::json::is_true(message.is_demo)) {
                Some(call) => result(call, content(message.content)),
                None => prompt(content(message.content)),
            },
            other => {
                let name = other.unwrap_or("value").to_owned();
                let mut line = Line::metadata(RUNTIME, &name, element.raw(), None);
                line.unknown = Some(name);
                line
            }
        }
    }

    fn assistant(&mut self, message: &Message<'_>) -> Line {
        let calls = message.calls.and_then(|calls| calls.elements()).unwrap_or_default();
        let mut calls: Vec<Part> = calls.into_iter().filter_map(call).collect();
        let action = owned(message.action).filter(|action| !action.trim().is_empty());
        if let (true, Some(action)) = (calls.is_empty(), action) {
            let call_id = format!("{MADE_UP}{}", self.number);
            self.open = Some(call_id.clone());
            let arguments = Object::new().text("command", &action).finish();
            calls.push(Part::ToolCall { call_id, name: SHELL.to_owned(), arguments });
        }
        let thought = owned(message.thought).filter(|thought| !thought.is_empty());
        let mut parts = match thought {
            Some(thought) if !calls.is_empty() => vec![Part::Text(thought)],
            _ => content(message.content),
        };
        let ids = calls.iter().filter_map(|part| match part {
            Part::ToolCall { call_id, .. } if !call_id.starts_with(MADE_UP) => {
                Some((IdKind::Call, call_id.clone()))
            }
            _ => None,
        });
        let ids = ids.collect();
        parts.extend(calls);
        let mut line = Line::said(Role::Assistant, EntryKind::Message, parts, None);
        line.ids = ids;
        line
    }
}

fn call(field: Field<'_>) -> Option<Part> {
    let call = Inner::read(field).ok()?;
    let function = Inner::read(call.function?).ok()?;
    let arguments = match function.arguments {
        Some(arguments) => arguments.text().map_or_else(|| arguments.raw().to_owned(), Cow::into_owned),
        None => "{}".to_owned(),
    };
    Some(Part::ToolCall { call_id: owned(call.id)?, name: owned(function.name)?, arguments })
}

fn result(call_id: String, parts: Vec<Part>) -> Line {
    let result = Part::ToolResult { call_id, is_error: false, parts };
    Line::said(Role::Tool, EntryKind::ToolResult, vec![result], None)
}

fn prompt(parts: Vec<Part>) -> Line {
    let mut line = Line::said(Role::User, EntryKind::Message, parts, None);
    line.entitle();
    line
}

fn content(field: Option<Field<'_>>) -> Vec<Part> {
    let Some(field) = field.filter(|field| !field.is_null()) else { return Vec::new() };
    if let Some(text) = field.text() {
        return vec![Part::Text(text.into_owned())];
    }
    let blocks = field.elements().unwrap_or_default().into_iter().map(|element| {
        let block = Inner::read(element).unwrap_or_default();
        match (text(block.kind).as_deref(), owned(block.text)) {
            (Some("text"), Some(text)) => Part::Text(text),
            _ => opaque(RUNTIME, "block", element.raw()),
        }
    });
    blocks.collect()
}

/// Claims a document with steps that have an action and an observation, ahead of all else or behind little.
fn claims(head: &[u8]) -> Option<Confidence> {
    let json = head::closed(head)?;
    let all = members(whole(&json).ok()?)?;
    let steps = all.iter().find(|member| member.name == "trajectory")?.value.elements()?;
    let step = Message::read(*steps.first()?).ok()?;
    (step.action.is_some() && step.observation.is_some()).then_some(Confidence::Certain)
}

/// Encodes what was said as a history.
fn encode(entries: &[Entry]) -> String {
    let mut messages = Vec::new();
    for entry in entries.iter().filter(|entry| entry.meta.visibility.agent) {
        encode_entry(entry, &mut messages);
    }
    let empty = Object::new().text("action", "").text("observation", "").finish();
    let object = Object::new().raw("trajectory", &format!("[{empty}]"));
    object.raw("history", &json::list(messages)).finish()
}

fn encode_entry(entry: &Entry, messages: &mut Vec<String>) {
    let mut said: Vec<&Part> = Vec::new();
    let mut calls = Vec::new();
    for part in &entry.parts {
        match part {
            Part::ToolCall { call_id, name, arguments } => {
                let function = Object::new().text("name", name).text("arguments", arguments);
                let call = Object::new().text("type", "function").text("id", call_id);
                calls.push(call.raw("function", &function.finish()).finish());
            }
            Part::ToolResult { call_id, parts, .. } => {
                let message = Object::new().text("role", "tool").raw("content", &list(parts.iter()));
                let message = message.raw("tool_call_ids", &format!("[{}]", quote(call_id)));
                messages.push(message.text("message_type", "observation").finish());
            }
            part => said.push(part),
        }
    }
    if said.is_empty() && calls.is_empty() {
        return;
    }
    let role = match entry.role {
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::User | Role::Tool => "user",
    };
    let message = Object::new().text("role", role).raw("content", &list(said.iter().copied()));
    let message = if calls.is_empty() { message } else { message.raw("tool_calls", &json::list(calls)) };
    messages.push(message.finish());
}

fn list<'p>(parts: impl Iterator<Item = &'p Part>) -> String {
    let blocks = parts.filter_map(|part| match part {
        Part::Text(text) | Part::Summary { text, .. } | Part::Thinking { text, .. } => {
            Some(Object::new().text("type", "text").text("text", text).finish())
        }
        Part::Opaque { runtime, json, .. } if runtime == RUNTIME => Some(json.clone()),
        _ => None,
    });
    json::list(blocks)
}
