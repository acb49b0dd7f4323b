//! `openai-chat-v1`: the `messages` of a request to a chat-completions API.

use stemmata_model::{Body, Entry, EntryKind, Part, Role};

use super::items::{Writer, told_blocks};
use super::turns::{Turn, is_instruction, turns};
use super::{CHAT, arguments};
use crate::adapter::Confidence;
use crate::data_url;
use crate::document::compactions::none;
use crate::document::{Dialect, Record, top_list, whole};
use crate::json::{Field, Object, RecordError, borrowed_object, list, one_line, owned, quote, text};
use crate::lines::facts::Templates;
use crate::lines::{Line, opaque};
use crate::repair::REPAIRED_TEXT;

/// How the id of a call begins that has none.
const MADE_UP: &str = "function-";

pub(super) static DIALECT: Dialect = Dialect {
    runtime: CHAT,
    templates: Templates { main: "openai-chat/main", subagent: "openai-chat/subagent" },
    read,
    list: top_list,
    compactions: none,
};

borrowed_object! {
    /// A message.
    struct Message {
        role, content,
        /// What the model said instead of an answer.
        refusal,
        /// What some providers tell of the model's reasoning.
        reasoning = "reasoning_content",
        tool_calls,
        /// The one call of an answer, as it was before there could be several: without an id.
        function_call,
        /// Of a result: the call it answers.
        tool_call_id,
    }
}

borrowed_object! {
    /// A call, its function, and a part of a content.
    struct Piece {
        id, kind = "type", function, name, arguments, text, refusal, image_url, url,
    }
}

fn read(bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let elements = whole(bytes)?.elements().ok_or(RecordError::NotObject)?;
    let mut open = None;
    let records = elements
        .into_iter()
        .map(|element| Record { span: element.span(), line: message(element, &mut open) });
    Ok(records.collect())
}

/// Reads a message. `open` is the call of old before it, which says nothing of its result.
fn message(element: Field<'_>, open: &mut Option<String>) -> Line {
    let asked = open.take();
    let fields = Message::read(element).unwrap_or_default();
    let name = owned(fields.role).unwrap_or_else(|| "value".to_owned());
    let (body, said) = content(fields.content);
    let mut line = match name.as_str() {
        "system" | "developer" => {
            let mut line = Line::said(Role::System, EntryKind::Instruction, said, None);
            line.meta.visibility.user = false;
            line
        }
        "user" => {
            let mut line = Line::said(Role::User, EntryKind::Message, said, None);
            line.entitle();
            line
        }
        "assistant" => {
            let mut parts = answer(&fields, said);
            if let Some(function) = fields.function_call.and_then(|call| Piece::read(call).ok()) {
                // Of what it says, not of where it stands: a list may be joined to others.
                let hash = blake3::hash(element.raw().as_bytes()).to_hex();
                let call_id = format!("{MADE_UP}{}", hash.split_at(24).0);
                *open = Some(call_id.clone());
                let name = owned(function.name).unwrap_or_default();
                parts.push(Part::ToolCall { call_id, name, arguments: arguments(function.arguments) });
            }
            Line::said(Role::Assistant, EntryKind::Message, parts, None)
        }
        "function" => {
            let result =
                Part::ToolResult { call_id: asked.unwrap_or_default(), is_error: false, parts: said };
            Line::said(Role::Tool, EntryKind::ToolResult, vec![result], None)
        }
        "tool" => {
            let call_id = owned(fields.tool_call_id).unwrap_or_default();
            let result = Part::ToolResult { call_id, is_error: false, parts: said };
            Line::said(Role::Tool, EntryKind::ToolResult, vec![result], None)
        }
        _ => {
            let mut line = Line::metadata(CHAT, &name, element.raw(), None);
            line.unknown = Some(name);
            return line;
        }
    };
    line.body = body;
    crate::document::name_calls(&mut line);
    line.ids.retain(|(_, id)| !id.starts_with(MADE_UP));
    line
}

fn answer(fields: &Message<'_>, said: Vec<Part>) -> Vec<Part> {
    let mut parts = Vec::new();
    if let Some(text) = owned(fields.reasoning).filter(|text| !text.is_empty()) {
        parts.push(Part::Thinking { text, signature: None, encrypted: None });
    }
    parts.extend(said);
    parts.extend(owned(fields.refusal).map(Part::Text));
    for call in fields.tool_calls.and_then(|calls| calls.elements()).unwrap_or_default() {
        let read = Piece::read(call).unwrap_or_default();
        let function = read.function.and_then(|function| Piece::read(function).ok());
        parts.push(match (owned(read.id), function) {
            (Some(call_id), Some(function)) => Part::ToolCall {
                call_id,
                name: owned(function.name).unwrap_or_default(),
                arguments: arguments(function.arguments),
            },
            _ => opaque(CHAT, "tool_call", call.raw()),
        });
    }
    parts
}

fn content(field: Option<Field<'_>>) -> (Body, Vec<Part>) {
    let Some(field) = field.filter(|field| !field.is_null()) else { return (Body::Text, Vec::new()) };
    if let Some(said) = field.text() {
        return (Body::Text, vec![Part::Text(said.into_owned())]);
    }
    match field.elements() {
        Some(elements) => (Body::Blocks, elements.into_iter().map(part).collect()),
        None => (Body::Blocks, vec![opaque(CHAT, "content", field.raw())]),
    }
}

fn part(element: Field<'_>) -> Part {
    let read = Piece::read(element).unwrap_or_default();
    let kind = owned(read.kind).unwrap_or_else(|| "value".to_owned());
    let known = match kind.as_str() {
        "text" => owned(read.text).map(Part::Text),
        "refusal" => owned(read.refusal).map(Part::Text),
        "image_url" => {
            let url = read.image_url.and_then(|image| owned(Piece::read(image).ok()?.url));
            url.map(data_url::image)
        }
        _ => None,
    };
    known.unwrap_or_else(|| opaque(CHAT, &kind, element.raw()))
}

pub(super) static WRITER: Writer = Writer {
    result: |_, call| {
        Object::new().text("role", "tool").text("tool_call_id", call).text("content", REPAIRED_TEXT).finish()
    },
    told: |element| {
        let fields = Message::read(Field::whole(element)).unwrap_or_default();
        let blocks = told_blocks("text", fields.content);
        Object::new().text("role", "user").raw("content", &list(blocks)).finish()
    },
};

/// Says how sure it is of the first messages of an array (see `Adapter::detect`).
pub(super) fn claims(elements: &[Field<'_>]) -> Option<Confidence> {
    let mut confidence = Confidence::Possible;
    let mut has_content = false;
    for element in elements {
        let fields = Message::read(*element).ok()?;
        let role = text(fields.role)?;
        let is_answer = role == "assistant";
        has_content |= fields.content.is_some() || fields.tool_calls.is_some();
        has_content |= fields.function_call.is_some();
        match role.as_ref() {
            "tool" if fields.tool_call_id.is_some() => confidence = Confidence::Certain,
            "assistant" if fields.tool_calls.is_some() || fields.function_call.is_some() => {
                confidence = Confidence::Certain;
            }
            "function" => confidence = Confidence::Certain,
            "system" | "developer" | "user" | "assistant" | "tool" => {}
            _ => return None,
        }
        let blocks = fields.content.and_then(|content| content.elements()).unwrap_or_default();
        for block in blocks {
            let kind = owned(Piece::read(block).ok()?.kind)?;
            match kind.as_str() {
                "image_url" | "input_audio" if !is_answer => confidence = Confidence::Certain,
                "text" | "refusal" | "image_url" | "input_audio" | "file" => {}
                // Another API's.
                _ => return None,
            }
        }
    }
    has_content.then_some(confidence)
}

/// Writes a conversation as the API takes it: each call answered by one message of the role `tool`.
pub(super) fn encode(entries: &[Entry]) -> String {
    let system = entries.iter().filter(|entry| is_instruction(entry) && entry.meta.visibility.agent);
    let system = system.filter_map(|entry| said("system", &entry.parts));
    list(system.chain(elements(entries)))
}

/// Writes what was said, message by message.
pub(super) fn elements(entries: &[Entry]) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for turn in turns(entries) {
        for (call_id, _, parts) in &turn.results {
            let object = Object::new().text("role", "tool").text("tool_call_id", call_id);
            messages.push(object.raw("content", &plain(parts)).finish());
        }
        // An API takes images from a user only.
        let images: Vec<Part> = turn
            .results
            .iter()
            .flat_map(|(.., parts)| parts)
            .filter(|part| is_image(part))
            .cloned()
            .collect();
        if !images.is_empty() {
            messages.extend(said("user", &images));
        }
        if turn.is_assistant {
            messages.extend(written(&turn));
        } else if !turn.parts.is_empty() {
            messages.extend(said("user", &turn.parts));
        }
    }
    messages
}

fn is_image(part: &Part) -> bool {
    matches!(part, Part::Image { .. })
}

fn said(role: &str, parts: &[Part]) -> Option<String> {
    let content = match parts {
        [Part::Text(text) | Part::Summary { text, .. }] => quote(text),
        parts => {
            let blocks: Vec<String> = parts.iter().filter_map(block).collect();
            if blocks.is_empty() {
                return None;
            }
            list(blocks)
        }
    };
    Some(Object::new().text("role", role).raw("content", &content).finish())
}

fn written(turn: &Turn) -> Option<String> {
    let is_call = |part: &&Part| matches!(part, Part::ToolCall { .. });
    let is_thought = |part: &&Part| matches!(part, Part::Thinking { .. });
    let spoken: Vec<Part> =
        turn.parts.iter().filter(|part| !is_call(part) && !is_thought(part)).cloned().collect();
    let content = match spoken.as_slice() {
        [] => "null".to_owned(),
        [Part::Text(text) | Part::Summary { text, .. }] => quote(text),
        parts => list(parts.iter().filter_map(block)),
    };
    let thoughts: Vec<&str> = turn
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Thinking { text, .. } if !text.is_empty() => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let thoughts = (!thoughts.is_empty()).then(|| thoughts.join("\n"));
    let calls: Vec<String> = turn.parts.iter().filter_map(call).collect();
    if calls.is_empty() && spoken.is_empty() {
        return None;
    }
    let calls = (!calls.is_empty()).then(|| list(calls));
    let object = Object::new().text("role", "assistant").raw("content", &content);
    let object = object.given("reasoning_content", thoughts.as_deref());
    Some(object.given_raw("tool_calls", calls.as_deref()).finish())
}

fn call(part: &Part) -> Option<String> {
    let Part::ToolCall { call_id, name, arguments } = part else { return None };
    let function = Object::new().text("name", name).text("arguments", arguments).finish();
    Some(Object::new().text("id", call_id).text("type", "function").raw("function", &function).finish())
}

fn block(part: &Part) -> Option<String> {
    let typed = |name: &str| Object::new().text("type", name);
    let object = match part {
        Part::Text(text) | Part::Summary { text, .. } => typed("text").text("text", text),
        Part::Image { media_type, source } => {
            let url = data_url::address(media_type, source)?;
            typed("image_url").raw("image_url", &Object::new().text("url", &url).finish())
        }
        Part::File { name, data: Some(data), .. } => {
            typed("text").text("text", &format!("File {name}:\n{data}"))
        }
        Part::Opaque { runtime, json, .. } if runtime == CHAT => return one_line(json),
        Part::File { .. }
        | Part::Opaque { .. }
        | Part::Thinking { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. } => return None,
    };
    Some(object.finish())
}

/// Returns what a tool returned, as far as it is text.
fn plain(parts: &[Part]) -> String {
    match parts {
        [] => quote(""),
        [Part::Text(text)] => quote(text),
        parts => {
            let texts: Vec<String> = parts.iter().filter(|part| !is_image(part)).filter_map(block).collect();
            if texts.is_empty() { quote("") } else { list(texts) }
        }
    }
}
