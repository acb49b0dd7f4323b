//! `codex-exec-v1`: what headless Codex prints with `codex exec --json`. Normative: `docs/format/codex-exec.md`.
//!
//! Items have no times, and their ids are unique within one run only, so they pair calls with results and name no
//! entry. The prompt that was given on the command line is not among them.

use stemmata_model::{Entry, EntryKind, ImageSource, Part, Role, Timestamp};

use crate::adapter::{Confidence, Keeps};
use crate::captured::Captured;
use crate::json::{
    Field, Object, RecordError, borrowed_object, is_string, list, one_line, owned, parse_line, push_line,
    quote, text,
};
use crate::lines::facts::Templates;
use crate::lines::facts::TitleRank;
use crate::lines::unknown::type_name;
use crate::lines::{Dialect, Line, Turn, no_rescue, opaque};

pub(super) const RUNTIME: &str = "codex-exec";

static DIALECT: Dialect = Dialect {
    runtime: RUNTIME,
    templates: Templates { main: "codex/main", subagent: "codex/subagent" },
    read,
    rescue: no_rescue,
};

/// The format of headless Codex's output.
pub const FORMAT_EXEC: &str = "codex-exec-v1";

/// The adapter of `codex-exec-v1`.
pub const EXEC: Captured = Captured { name: FORMAT_EXEC, dialect: &DIALECT, first, encode, compaction };

/// The tool that runs a command, as items name it.
const COMMAND: &str = "command_execution";

/// The tool of an MCP server, as items name it.
const MCP: &str = "mcp_tool_call";

/// The kind of an opaque part that holds a block of a result that we do not know.
const OPAQUE_BLOCK: &str = "block";

/// The kind of an opaque part that holds a whole result without blocks.
const OPAQUE_RESULT: &str = "result";

borrowed_object! {
    /// One event.
    struct Event {
        kind = "type", thread = "thread_id", item, usage,
    }
}

borrowed_object! {
    /// What an event is about.
    struct Item {
        kind = "type", id, text, command, output = "aggregated_output", exit_code, status, server,
        tool, arguments, result, error,
    }
}

borrowed_object! {
    /// What an MCP server returned, and what an error says.
    struct Returned {
        content, structured = "structured_content", message,
    }
}

borrowed_object! {
    /// One block of what an MCP server returned.
    struct Block {
        kind = "type", text, data, media_type = "mimeType", url,
    }
}

fn read(line: &[u8]) -> Result<Line, RecordError> {
    let (whole, event) = parse_line(line, Event::read)?;
    let kind = text(event.kind).unwrap_or_default();
    let item = event.item.and_then(|item| Item::read(item).ok());
    let said = item.as_ref().and_then(|item| said(&kind, item, whole.raw()));
    Ok(said.unwrap_or_else(|| metadata(&kind, &event, item.as_ref(), whole.raw())))
}

fn metadata(kind: &str, event: &Event<'_>, item: Option<&Item<'_>>, whole: &str) -> Line {
    let item_kind = item.and_then(|item| owned(item.kind)).unwrap_or_default();
    let outer = type_name(event.kind);
    let name = item.map_or_else(|| outer.clone(), |item| format!("{outer}/{}", type_name(item.kind)));
    let mut line = Line::metadata(RUNTIME, &name, whole, None);
    line.meta.visibility.user = item_kind == "error" || matches!(kind, "error" | "turn.failed");
    line.meta.usage = event.usage.and_then(super::usage);
    match kind {
        "thread.started" => {
            line.turn = Turn::Header;
            line.hints.session = owned(event.thread);
        }
        "turn.started" => line.turn = Turn::Start,
        "turn.completed" | "turn.failed" | "error" => {}
        "item.started" | "item.updated" | "item.completed" if is_known(&item_kind) => {}
        _ => line.unknown = Some(name),
    }
    line
}

fn is_known(item: &str) -> bool {
    let known = [
        "agent_message",
        "reasoning",
        COMMAND,
        MCP,
        "collab_tool_call",
        "file_change",
        "web_search",
        "todo_list",
        "error",
        "user_message",
        "context_compaction",
    ];
    known.contains(&item)
}

/// Returns an item as a part of the conversation; none where it is only told to a person.
fn said(kind: &str, item: &Item<'_>, whole: &str) -> Option<Line> {
    let item_kind = text(item.kind)?;
    let assistant = |part: Part| Line::said(Role::Assistant, EntryKind::Message, vec![part], None);
    Some(match (kind, item_kind.as_ref()) {
        ("item.completed", "agent_message") => assistant(Part::Text(owned(item.text)?)),
        ("item.completed", "reasoning") => {
            assistant(Part::Thinking { text: owned(item.text)?, signature: None, encrypted: None })
        }
        ("item.completed", "user_message") => prompt(owned(item.text)?),
        ("item.completed", "context_compaction") => {
            let parts = vec![Part::Summary { text: owned(item.text)?, covers: Vec::new() }];
            let mut line = Line::said(Role::User, EntryKind::CompactionSummary, parts, None);
            line.turn = Turn::Compaction;
            line
        }
        ("item.started", COMMAND | MCP) => assistant(call(item)?),
        ("item.completed", COMMAND | MCP) => {
            Line::said(Role::Tool, EntryKind::ToolResult, vec![result(item, item_kind == COMMAND)?], None)
        }
        // One line says both what was asked for and what came of it.
        ("item.completed", "file_change" | "web_search" | "todo_list" | "collab_tool_call") => {
            assistant(opaque(RUNTIME, &item_kind, whole))
        }
        _ => return None,
    })
}

fn prompt(said: String) -> Line {
    let mut line = Line::said(Role::User, EntryKind::Message, vec![Part::Text(said.clone())], None);
    line.turn = Turn::Prompt;
    line.hints.title = Some((TitleRank::Prompt, said));
    line
}

fn call(item: &Item<'_>) -> Option<Part> {
    let (name, arguments) = if text(item.kind)? == COMMAND {
        (COMMAND.to_owned(), format!("{{\"command\":{}}}", item.command?.raw()))
    } else {
        let tool = owned(item.tool)?;
        let name = match text(item.server).filter(|server| !server.is_empty()) {
            Some(server) => format!("mcp__{server}__{tool}"),
            None => tool,
        };
        (name, item.arguments.map_or("{}", |arguments| arguments.raw()).to_owned())
    };
    Some(Part::ToolCall { call_id: owned(item.id)?, name, arguments })
}

fn result(item: &Item<'_>, is_command: bool) -> Option<Part> {
    let has_failed_status =
        text(item.status).is_some_and(|status| status == "failed" || status == "declined");
    let has_failed_code = item.exit_code.is_some_and(|code| !code.is_null() && code.number() != Some(0));
    let error = item.error.filter(|error| !error.is_null());
    let parts = if is_command {
        vec![Part::Text(owned(item.output).unwrap_or_default())]
    } else {
        match error {
            Some(error) => vec![Part::Text(error_message(error))],
            None => returned(item.result),
        }
    };
    let is_error = has_failed_status || has_failed_code || error.is_some();
    Some(Part::ToolResult { call_id: owned(item.id)?, is_error, parts })
}

fn error_message(error: Field<'_>) -> String {
    let message = Returned::read(error).ok().and_then(|error| owned(error.message));
    message.or_else(|| owned(Some(error))).unwrap_or_else(|| error.raw().to_owned())
}

fn returned(result: Option<Field<'_>>) -> Vec<Part> {
    let Some(result) = result.filter(|result| !result.is_null()) else { return Vec::new() };
    let read = Returned::read(result).ok();
    let blocks = read.and_then(|read| read.content).and_then(|content| content.elements());
    match blocks {
        Some(blocks) if !blocks.is_empty() => blocks.into_iter().map(block).collect(),
        _ => match read.and_then(|read| read.structured).filter(|json| !json.is_null()) {
            Some(json) => vec![Part::Text(json.raw().to_owned())],
            None if blocks.is_some() => Vec::new(),
            None => vec![opaque(RUNTIME, OPAQUE_RESULT, result.raw())],
        },
    }
}

fn block(field: Field<'_>) -> Part {
    let read = Block::read(field).ok().and_then(|block| {
        let media_type = || owned(block.media_type).unwrap_or_default();
        match text(block.kind)?.as_ref() {
            "text" => Some(Part::Text(owned(block.text)?)),
            "image" => {
                let data = owned(block.data).map(ImageSource::Base64);
                let source = data.or_else(|| owned(block.url).map(ImageSource::Url))?;
                Some(Part::Image { media_type: media_type(), source })
            }
            _ => None,
        }
    });
    read.unwrap_or_else(|| opaque(RUNTIME, OPAQUE_BLOCK, field.raw()))
}

fn first(line: &[u8]) -> Option<(Confidence, Option<String>)> {
    let (_, event) = parse_line(line, Event::read).ok()?;
    let kind = event.kind?;
    if is_string(kind, "thread.started") && event.thread.is_some() {
        return Some((Confidence::Certain, None));
    }
    let is_turn = is_string(kind, "turn.started");
    let is_item = ["item.started", "item.updated", "item.completed"].iter().any(|name| is_string(kind, name));
    let item = event.item.and_then(|item| Item::read(item).ok());
    let has_item = item.is_some_and(|item| item.id.is_some() && item.kind.is_some());
    (is_turn || (is_item && has_item)).then_some((Confidence::Possible, None))
}

/// Encodes what was said, one item a part; `user_message` and `context_compaction` are Codex's own names for items
/// that it does not print here.
fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries.iter().filter(|entry| entry.meta.visibility.agent) {
        for (number, part) in entry.parts.iter().enumerate() {
            let id = format!("{}-{number}", entry.id);
            push_part(&mut out, entry.role, &id, part);
        }
    }
    out
}

/// Encodes a summary of ours.
fn compaction(summary: &str, _keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
    let mut out = Vec::new();
    push_text(&mut out, "context_compaction", &format!("summary-{}", at.as_micros()), summary);
    out
}

fn push_part(out: &mut Vec<u8>, role: Role, id: &str, part: &Part) {
    match part {
        Part::Text(said) if role == Role::Assistant => push_text(out, "agent_message", id, said),
        Part::Text(said) if role == Role::User => push_text(out, "user_message", id, said),
        Part::Thinking { text, .. } => push_text(out, "reasoning", id, text),
        Part::Summary { text, .. } => push_text(out, "context_compaction", id, text),
        Part::ToolCall { call_id, name, arguments } => {
            let command = (name == COMMAND).then(|| only_command(arguments)).flatten();
            let item = Object::new().text("id", call_id);
            let item = match (command, one_line(arguments)) {
                (Some(command), _) => item.text("type", COMMAND).raw("command", command),
                (None, json) => {
                    let json = json.unwrap_or_else(|| quote(arguments));
                    item.text("type", MCP).text("server", "").text("tool", name).raw("arguments", &json)
                }
            };
            push(out, "item.started", &item.text("status", "in_progress").finish());
        }
        Part::ToolResult { call_id, is_error, parts } => {
            let item = Object::new().text("id", call_id).text("type", MCP);
            let status = if *is_error { "failed" } else { "completed" };
            let item = item.raw("result", &write_result(parts)).text("status", status);
            push(out, "item.completed", &item.finish());
        }
        Part::Opaque { runtime, json, .. } if runtime == RUNTIME => {
            push_line(out, json);
        }
        // What only another runtime understands, and images and files of a prompt, have no item.
        Part::Text(_) | Part::Image { .. } | Part::File { .. } | Part::Opaque { .. } => {}
    }
}

/// Returns the command of arguments that are nothing but a command in one spelling, so that they come back as they are.
fn only_command(arguments: &str) -> Option<&str> {
    let command = arguments.strip_prefix("{\"command\":")?.strip_suffix('}')?;
    serde_json::from_str::<&serde_json::value::RawValue>(command)
        .ok()
        .filter(|value| value.get() == command)?;
    Some(command)
}

fn write_result(parts: &[Part]) -> String {
    if let [Part::Opaque { runtime, kind, json }] = parts
        && runtime == RUNTIME
        && kind == OPAQUE_RESULT
    {
        return one_line(json).unwrap_or_else(|| quote(json));
    }
    Object::new().raw("content", &list(parts.iter().filter_map(write_block))).finish()
}

/// Returns a part as a block of a result; none for what only another runtime understands.
fn write_block(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) | Part::Thinking { text, .. } | Part::Summary { text, .. } => {
            Some(Object::new().text("type", "text").text("text", text).finish())
        }
        Part::Image { media_type, source } => {
            let object = Object::new().text("type", "image").text("mimeType", media_type);
            Some(match source {
                ImageSource::Base64(data) => object.text("data", data).finish(),
                ImageSource::Url(url) => object.text("url", url).finish(),
                ImageSource::Artifact(id) => object.text("url", &id.to_string()).finish(),
            })
        }
        Part::Opaque { runtime, kind, json } if runtime == RUNTIME && kind == OPAQUE_BLOCK => {
            Some(one_line(json).unwrap_or_else(|| quote(json)))
        }
        Part::Opaque { .. } | Part::File { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => None,
    }
}

fn push_text(out: &mut Vec<u8>, kind: &str, id: &str, said: &str) {
    let item = Object::new().text("id", id).text("type", kind).text("text", said);
    push(out, "item.completed", &item.finish());
}

fn push(out: &mut Vec<u8>, event: &str, item: &str) {
    push_line(out, &Object::new().text("type", event).raw("item", item).finish());
}
