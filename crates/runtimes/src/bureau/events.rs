//! `bureau-events-v1`: the events that Bureau's wrapper saw, of whatever agent it wraps. Keys are those of its JSON log.
//!
//! Boundaries of compactions are marks only: what the agent went on with stands in the events behind them.

use stemmata_model::{Entry, EntryKind, Part, Role, Timestamp, Visibility};

use super::agent::{plain, told};
use super::{EVENTS, carried, inside, map, raw_json, records, text};
use crate::adapter::Confidence;
use crate::cbor::write::{self, Map};
use crate::cbor::{Item, Member, json};
use crate::document::Dialect;
use crate::document::compactions::none;
use crate::json::{Field, borrowed_object, owned};
use crate::lines::Line;
use crate::lines::facts::Templates;
use crate::lines::facts::TitleRank;

pub(super) static DIALECT: Dialect = Dialect {
    runtime: EVENTS,
    templates: Templates { main: "bureau-events/main", subagent: "bureau-events/subagent" },
    read: |bytes| records(bytes, event),
    list: inside,
    compactions: none,
};

/// Types of events.
const TYPES: [&str; 9] =
    ["prompt", "tool_call", "tool_result", "response", "metric", "output", "error", "system", "thinking"];

/// Microseconds of a second.
const MICROS: f64 = 1e6;

borrowed_object! {
    /// What a wrapped agent says of itself at its start.
    struct Init {
        session = "session_id", cwd, version = "claude_code_version",
    }
}

fn event(item: Item<'_>) -> Line {
    let members = item.untagged().members().unwrap_or_default();
    let kind = text(&members, "type").unwrap_or_else(|| "value".to_owned());
    let own = map(&members, &kind).unwrap_or_default();
    let mut line = said(&kind, &own).unwrap_or_else(|| {
        let mut line = carried(EVENTS, &kind, item);
        line.unknown = (!TYPES.contains(&kind.as_str())).then(|| kind.clone());
        line
    });
    if kind == "system" {
        system(&own, &mut line);
    }
    line.time = Item::get(&members, "timestamp").and_then(time);
    crate::document::name_calls(&mut line);
    line
}

/// Reads what stands in an event, where that is a part of the conversation.
fn said(kind: &str, own: &[Member<'_>]) -> Option<Line> {
    let content = || text(own, "content");
    let said = |role, kind, part| Line::said(role, kind, vec![part], None);
    Some(match kind {
        "prompt" => {
            let prompt = content()?;
            let mut line = said(Role::User, EntryKind::Message, Part::Text(prompt.clone()));
            line.hints.title = Some((TitleRank::Prompt, prompt));
            line
        }
        "response" => said(Role::Assistant, EntryKind::Message, Part::Text(content()?)),
        "thinking" => {
            let signature = text(own, "signature").filter(|signature| !signature.is_empty());
            let thought = Part::Thinking { text: content()?, signature, encrypted: None };
            said(Role::Assistant, EntryKind::Message, thought)
        }
        "tool_call" => {
            let call = Part::ToolCall {
                call_id: text(own, "id").unwrap_or_default(),
                name: text(own, "name")?,
                arguments: raw_json(Item::get(own, "input")).unwrap_or_else(|| "{}".to_owned()),
            };
            said(Role::Assistant, EntryKind::Message, call)
        }
        "tool_result" if !own.is_empty() => {
            let result = Part::ToolResult {
                call_id: text(own, "id").unwrap_or_default(),
                is_error: Item::get(own, "is_error").is_some_and(|flag| flag.is_true()),
                parts: text(own, "output").map(Part::Text).into_iter().collect(),
            };
            said(Role::Tool, EntryKind::ToolResult, result)
        }
        "error" => {
            let kind = EntryKind::Other("error".to_owned());
            let mut line = said(Role::System, kind, Part::Text(text(own, "message")?));
            line.meta.visibility = Visibility { agent: false, user: true };
            line
        }
        _ => return None,
    })
}

/// Learns what an event about the agent itself says.
fn system(own: &[Member<'_>], line: &mut Line) {
    if text(own, "subtype").as_deref() == Some("compact_boundary") {
        line.kind = EntryKind::CompactionBoundary;
    }
    let Some(metadata) = raw_json(Item::get(own, "metadata")) else { return };
    let init = Init::read(Field::whole(&metadata)).unwrap_or_default();
    line.hints.session = owned(init.session);
    line.hints.cwd = owned(init.cwd);
    line.hints.version = owned(init.version);
}

/// Reads a time: as text, or as seconds since 1970.
fn time(item: Item<'_>) -> Option<Timestamp> {
    let item = item.untagged();
    if let Some(text) = item.text() {
        // What Go writes where there is none.
        return Timestamp::parse(&text).ok().filter(|_| !text.starts_with("0001-01-01T00:00:00"));
    }
    if let Some(seconds) = item.integer() {
        let micros = i64::try_from(seconds).ok()?.checked_mul(1_000_000)?;
        return Some(Timestamp::from_micros(micros));
    }
    let micros = item.float()? * MICROS;
    #[expect(clippy::cast_possible_truncation, reason = "only numbers that fit are taken")]
    (micros.abs() < 1e18).then_some(Timestamp::from_micros(micros as i64))
}

/// Says how sure it is of one event (see `Adapter::detect`).
pub(super) fn claims(members: &[Member<'_>]) -> Option<Confidence> {
    let kind = text(members, "type")?;
    let is_known = TYPES.contains(&kind.as_str());
    let has_own = Item::get(members, &kind).is_some();
    let has_time = Item::get(members, "timestamp").is_some();
    match (is_known, has_time) {
        (true, true) => Some(Confidence::Certain),
        // One that is longer than what is looked at is cut behind its type.
        (true, false) if has_own || members.len() == 1 => Some(Confidence::Possible),
        // A type of a later version.
        (false, true) => Some(Confidence::Possible),
        _ => None,
    }
}

/// Writes a conversation as events, each part one. An event without a time gets that of the one before.
pub(super) fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut events = Vec::new();
    let mut at = Timestamp::EPOCH;
    let is_said = |entry: &&Entry| {
        let is_record =
            matches!(entry.kind, EntryKind::Metadata | EntryKind::CompactionBoundary | EntryKind::Unreadable);
        entry.meta.visibility.agent && !is_record && entry.role != Role::System
    };
    for entry in entries.iter().filter(is_said) {
        at = entry.timestamp.unwrap_or(at);
        let is_first = events.is_empty();
        events.extend(entry.parts.iter().filter_map(|part| write_event(entry.role, part, is_first, at)));
    }
    write::array(&events)
}

fn write_event(role: Role, part: &Part, is_first: bool, at: Timestamp) -> Option<Vec<u8>> {
    let own = Map::default();
    let (kind, own) = match part {
        Part::ToolCall { call_id, name, arguments } => {
            let call = own.text("id", call_id).text("name", name);
            ("tool_call", call.with("input", write::bytes(arguments.as_bytes())))
        }
        Part::ToolResult { call_id, is_error, parts } => {
            let result = own.text("id", call_id).text("output", &told(parts));
            ("tool_result", if *is_error { result.with("is_error", write::flag(true)) } else { result })
        }
        Part::Thinking { text, signature, .. } => {
            let thought = own.text("content", text);
            let signed = signature.as_ref().map(|signature| thought.clone().text("signature", signature));
            ("thinking", signed.unwrap_or(thought))
        }
        Part::Opaque { runtime, json, .. } if runtime == EVENTS => return json::to_item(json),
        other if role == Role::Assistant => ("response", own.text("content", &plain(other)?)),
        other => {
            let source = if is_first { "initial" } else { "injected" };
            ("prompt", own.text("content", &plain(other)?).text("source", source))
        }
    };
    let event = Map::default().text("type", kind).text("timestamp", &at.to_string());
    Some(event.with(kind, own.finish()).finish())
}
