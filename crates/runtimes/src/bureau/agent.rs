//! `bureau-agent-v1`: the messages that Bureau's own agent sends to a model. Keys are the names of its Go fields.

use stemmata_model::{Body, Entry, EntryKind, ImageSource, Part, Role};

use super::{AGENT, carried, inside, map, raw_json, records, text};
use crate::adapter::Confidence;
use crate::cbor::write::{self, Map};
use crate::cbor::{Item, Member, json};
use crate::document::Dialect;
use crate::document::compactions::none;
use crate::lines::facts::Templates;
use crate::lines::{Line, opaque};
use crate::messages::turns::{Turn, turns};

pub(super) static DIALECT: Dialect = Dialect {
    runtime: AGENT,
    templates: Templates { main: "bureau-agent/main", subagent: "bureau-agent/subagent" },
    read: |bytes| records(bytes, message),
    list: inside,
    compactions: none,
};

fn message(item: Item<'_>) -> Line {
    let members = item.untagged().members().unwrap_or_default();
    let role = match text(&members, "Role").as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        other => {
            let name = other.unwrap_or("value").to_owned();
            let mut line = carried(AGENT, &name, item);
            line.unknown = Some(name);
            return line;
        }
    };
    let content = Item::get(&members, "Content").map(Item::untagged).filter(|content| !content.is_null());
    let (body, parts) = match content.map(|content| (content.elements(), content.text(), content)) {
        Some((Some(blocks), ..)) => (Body::Blocks, blocks.into_iter().map(block).collect()),
        Some((None, Some(said), _)) => (Body::Text, vec![Part::Text(said.into_owned())]),
        Some((None, None, other)) => (Body::Blocks, vec![opaque(AGENT, "content", &json::of_item(other))]),
        None => (Body::Blocks, Vec::new()),
    };
    let has_results = parts.iter().any(|part| matches!(part, Part::ToolResult { .. }));
    let (role, kind) = match role {
        Role::User if has_results => (Role::Tool, EntryKind::ToolResult),
        role => (role, EntryKind::Message),
    };
    let mut line = Line::said(role, kind, parts, None);
    line.body = body;
    crate::document::name_calls(&mut line);
    if line.role == Role::User {
        line.entitle();
    }
    line
}

fn block(item: Item<'_>) -> Part {
    let members = item.untagged().members().unwrap_or_default();
    let kind = text(&members, "Type").unwrap_or_else(|| "value".to_owned());
    let known = match kind.as_str() {
        "text" => text(&members, "Text").map(Part::Text),
        "tool_use" => map(&members, "ToolUse").map(|call| Part::ToolCall {
            call_id: text(&call, "ID").unwrap_or_default(),
            name: text(&call, "Name").unwrap_or_default(),
            arguments: raw_json(Item::get(&call, "Input")).unwrap_or_else(|| "{}".to_owned()),
        }),
        "tool_result" => map(&members, "ToolResult").map(|result| {
            let said = text(&result, "Content").map(Part::Text);
            // Of other programs: structured.
            let told = || raw_json(Item::get(&result, "Content")).map(Part::Text);
            Part::ToolResult {
                call_id: text(&result, "ToolUseID").unwrap_or_default(),
                is_error: Item::get(&result, "IsError").is_some_and(|flag| flag.is_true()),
                parts: said.or_else(told).into_iter().collect(),
            }
        }),
        "thinking" => thinking(&members),
        _ => None,
    };
    known.unwrap_or_else(|| opaque(AGENT, &kind, &json::of_item(item)))
}

/// Reads reasoning: as a text of the block, or as a map of the text and its signature.
fn thinking(members: &[Member<'_>]) -> Option<Part> {
    let inner = map(members, "Thinking").unwrap_or_default();
    let said = |key| text(&inner, key);
    let text_of = said("Content").or_else(|| said("Text")).or_else(|| said("Thinking"));
    let own = || text(members, "Thinking").or_else(|| text(members, "Text"));
    let signature = said("Signature").or_else(|| text(members, "Signature"));
    Some(Part::Thinking {
        text: text_of.or_else(own)?,
        signature: signature.filter(|signature| !signature.is_empty()),
        encrypted: None,
    })
}

/// Says how sure it is of one message (see `Adapter::detect`).
pub(super) fn claims(members: &[Member<'_>]) -> Option<Confidence> {
    let role = text(members, "Role")?;
    if role != "user" && role != "assistant" {
        return None;
    }
    let is_named = |key: &str| members.iter().any(|(name, _)| name.text().is_some_and(|name| name == key));
    let has_content = Item::get(members, "Content").is_some();
    // A message that is longer than what is looked at is cut behind its role.
    let is_cut = members.len() == 1;
    if is_named("Role") && (is_named("Content") || is_cut) {
        return Some(Confidence::Certain);
    }
    has_content.then_some(Confidence::Possible)
}

/// Writes a conversation as a provider takes it: two sides in turns, results first in the turn behind their calls.
pub(super) fn encode(entries: &[Entry]) -> Vec<u8> {
    let messages: Vec<Vec<u8>> = turns(entries).iter().filter_map(write_message).collect();
    write::array(&messages)
}

fn write_message(turn: &Turn) -> Option<Vec<u8>> {
    let results = turn.results.iter().map(|(call_id, is_error, parts)| {
        let result = Map::default().text("ToolUseID", call_id).text("Content", &told(parts));
        typed("tool_result", "ToolResult", result.with("IsError", write::flag(*is_error)).finish())
    });
    let blocks: Vec<Vec<u8>> = results.chain(turn.parts.iter().filter_map(write_block)).collect();
    let role = if turn.is_assistant { "assistant" } else { "user" };
    let message = Map::default().text("Role", role).with("Content", write::array(&blocks));
    (!blocks.is_empty()).then(|| message.finish())
}

fn typed(kind: &str, key: &str, value: Vec<u8>) -> Vec<u8> {
    Map::default().text("Type", kind).with(key, value).finish()
}

fn write_block(part: &Part) -> Option<Vec<u8>> {
    Some(match part {
        Part::ToolCall { call_id, name, arguments } => {
            let call = Map::default().text("ID", call_id).text("Name", name);
            typed("tool_use", "ToolUse", call.with("Input", write::bytes(arguments.as_bytes())).finish())
        }
        Part::Thinking { text, signature, .. } => {
            let thought = Map::default().text("Content", text);
            let signed = signature.as_ref().map(|signature| thought.clone().text("Signature", signature));
            typed("thinking", "Thinking", signed.unwrap_or(thought).finish())
        }
        Part::Opaque { runtime, json, .. } if runtime == AGENT => return json::to_item(json),
        other => typed("text", "Text", write::text(&plain(other)?)),
    })
}

/// Returns what a part says where there is room for text only; none where it says nothing.
pub(super) fn plain(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(text.clone()),
        Part::File { name, data: Some(data), .. } => Some(format!("File {name}:\n{data}")),
        Part::Image { source: ImageSource::Url(url), .. } => Some(format!("[image {url}]")),
        Part::Image { media_type, .. } => Some(format!("[image {media_type}]")),
        Part::File { .. }
        | Part::Opaque { .. }
        | Part::Thinking { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. } => None,
    }
}

/// Returns what a tool returned, as text.
pub(super) fn told(parts: &[Part]) -> String {
    parts.iter().filter_map(plain).collect::<Vec<_>>().join("\n")
}
