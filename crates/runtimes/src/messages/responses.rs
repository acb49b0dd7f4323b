//! `openai-responses-v1`: the `input` items of a request to the Responses API.
//!
//! An item is a message, a call, a result or reasoning. Reasoning that is encrypted means something to the organization
//! and the model only that made it, and stays as it is.

use stemmata_model::{Entry, EntryKind, Part, Role};

use super::items::{Writer, told_blocks};
use super::turns::{Turn, is_instruction, turns};
use super::{RESPONSES, arguments, is_sealed};
use crate::adapter::{Confidence, IdKind};
use crate::data_url;
use crate::document::compactions::{Within, name};
use crate::document::{Dialect, Record, top_list, whole};
use crate::json::{Field, Object, RecordError, borrowed_object, list, one_line, owned, quote, text};
use crate::lines::facts::Templates;
use crate::lines::{Line, entry_id, opaque};
use crate::repair::REPAIRED_TEXT;

pub(super) static DIALECT: Dialect = Dialect {
    runtime: RESPONSES,
    templates: Templates { main: "openai-responses/main", subagent: "openai-responses/subagent" },
    read,
    list: top_list,
    compactions,
};

borrowed_object! {
    /// An item, or a part of its content.
    struct Item {
        kind = "type", id, role, content, call_id, name, arguments, input, output, summary,
        encrypted = "encrypted_content", text, refusal, image_url,
    }
}

/// Types of items that this API has and that are carried whole.
const CARRIED: [&str; 13] = [
    "local_shell_call",
    "local_shell_call_output",
    "computer_call",
    "computer_call_output",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "item_reference",
    COMPACTION,
    COMPACTION_SUMMARY,
];

/// The type of an item that stands for what is before it; only the provider can read it.
const COMPACTION: &str = "compaction";

/// Another name of the same.
const COMPACTION_SUMMARY: &str = "compaction_summary";

fn read(bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let elements = whole(bytes)?.elements().ok_or(RecordError::NotObject)?;
    Ok(elements.into_iter().map(|element| Record { span: element.span(), line: item(element) }).collect())
}

/// Returns an item's type: a message may leave it out.
fn kind_of(fields: &Item<'_>) -> String {
    let given = owned(fields.kind);
    given.unwrap_or_else(|| if fields.role.is_some() { "message" } else { "value" }.to_owned())
}

fn item(element: Field<'_>) -> Line {
    let fields = Item::read(element).unwrap_or_default();
    let kind = kind_of(&fields);
    let mut line = match kind.as_str() {
        "message" => message(&fields, element),
        "function_call" | "custom_tool_call" => {
            let call = Part::ToolCall {
                call_id: owned(fields.call_id).unwrap_or_default(),
                name: owned(fields.name).unwrap_or_default(),
                arguments: arguments(fields.arguments.or(fields.input)),
            };
            Line::said(Role::Assistant, EntryKind::Message, vec![call], None)
        }
        "function_call_output" | "custom_tool_call_output" => {
            let parts = content(fields.output);
            let call_id = owned(fields.call_id).unwrap_or_default();
            let result = Part::ToolResult { call_id, is_error: false, parts };
            Line::said(Role::Tool, EntryKind::ToolResult, vec![result], None)
        }
        "reasoning" => {
            let told = fields.summary.map(|summary| content(Some(summary))).unwrap_or_default();
            let texts: Vec<&str> = told.iter().filter_map(Part::as_text).collect();
            let (text, encrypted) = (texts.join("\n\n"), owned(fields.encrypted));
            let thought = Part::Thinking { text, signature: None, encrypted };
            Line::said(Role::Assistant, EntryKind::Message, vec![thought], None)
        }
        name if CARRIED.contains(&name) => {
            let is_summary = is_sealed_kind(name) && fields.encrypted.is_some();
            let kind = if is_summary { EntryKind::CompactionSummary } else { EntryKind::Message };
            Line::said(Role::Assistant, kind, vec![opaque(RESPONSES, name, element.raw())], None)
        }
        name => {
            let mut line = Line::metadata(RESPONSES, name, element.raw(), None);
            line.unknown = Some(name.to_owned());
            return line;
        }
    };
    line.id = entry_id(text(fields.id));
    line.ids.extend(owned(fields.id).map(|id| (IdKind::Call, id)));
    crate::document::name_calls(&mut line);
    line
}

/// Returns whether items of a type stand for what is before them, for their provider alone.
pub(crate) fn is_sealed_kind(kind: &str) -> bool {
    kind == COMPACTION || kind == COMPACTION_SUMMARY
}

/// Returns the compactions that the API made. What stands before one goes without a loss, as the API's guide says, unless
/// it is nothing but messages of the user: then the API kept them itself, as `/responses/compact` does.
fn compactions(bytes: &[u8], records: &[Record]) -> Vec<Within> {
    let is_summary = |record: &Record| record.line.kind == EntryKind::CompactionSummary;
    let is_kept =
        |record: &Record| matches!(record.line.role, Role::User | Role::System) || is_summary(record);
    let kept = records.iter().take_while(|record| is_kept(record)).count();
    let holders = records.iter().enumerate().filter(|(_, record)| is_summary(record));
    let within = holders.filter_map(|(at, record)| {
        let fields = Item::read(whole(bytes.get(record.span.clone())?).ok()?).ok()?;
        let first = if at < kept { 0 } else { at };
        Some(Within { first, at, mark: None, part: None, name: name(fields.encrypted?.raw()) })
    });
    within.collect()
}

fn message(fields: &Item<'_>, element: Field<'_>) -> Line {
    let said = content(fields.content);
    match text(fields.role).as_deref() {
        Some("user") => {
            let mut line = Line::said(Role::User, EntryKind::Message, said, None);
            line.entitle();
            line
        }
        Some("assistant") => Line::said(Role::Assistant, EntryKind::Message, said, None),
        Some("system" | "developer") => {
            let mut line = Line::said(Role::System, EntryKind::Instruction, said, None);
            line.meta.visibility.user = false;
            line
        }
        other => {
            let name = other.unwrap_or("message").to_owned();
            let mut line = Line::metadata(RESPONSES, &name, element.raw(), None);
            line.unknown = Some(name);
            line
        }
    }
}

fn content(field: Option<Field<'_>>) -> Vec<Part> {
    let Some(field) = field.filter(|field| !field.is_null()) else { return Vec::new() };
    if let Some(said) = field.text() {
        return vec![Part::Text(said.into_owned())];
    }
    match field.elements() {
        Some(elements) => elements.into_iter().map(part).collect(),
        None => vec![opaque(RESPONSES, "content", field.raw())],
    }
}

fn part(element: Field<'_>) -> Part {
    let read = Item::read(element).unwrap_or_default();
    let kind = owned(read.kind).unwrap_or_else(|| "value".to_owned());
    let known = match kind.as_str() {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
            owned(read.text).map(Part::Text)
        }
        "refusal" => owned(read.refusal).map(Part::Text),
        "input_image" => owned(read.image_url).map(data_url::image),
        _ => None,
    };
    known.unwrap_or_else(|| opaque(RESPONSES, &kind, element.raw()))
}

pub(super) static WRITER: Writer = Writer {
    result: |element, call| {
        let fields = Item::read(Field::whole(element)).unwrap_or_default();
        let is_custom = kind_of(&fields) == "custom_tool_call";
        let kind = if is_custom { "custom_tool_call_output" } else { "function_call_output" };
        Object::new().text("type", kind).text("call_id", call).text("output", REPAIRED_TEXT).finish()
    },
    told: |element| {
        let fields = Item::read(Field::whole(element)).unwrap_or_default();
        let blocks = told_blocks("input_text", fields.output);
        let object = Object::new().text("type", "message").text("role", "user");
        object.raw("content", &list(blocks)).finish()
    },
};

/// Says how sure it is of the first items of an array (see `Adapter::detect`).
pub(super) fn claims(elements: &[Field<'_>]) -> Option<Confidence> {
    let mut confidence = None;
    for element in elements {
        let fields = Item::read(*element).ok()?;
        let kind = kind_of(&fields);
        let own = match kind.as_str() {
            "message" => {
                let role = text(fields.role)?;
                if !matches!(role.as_ref(), "user" | "assistant" | "system" | "developer") {
                    return None;
                }
                let blocks = fields.content.and_then(|content| content.elements()).unwrap_or_default();
                let kinds = blocks.into_iter().filter_map(|block| owned(Item::read(block).ok()?.kind));
                let is_own =
                    |kind: &String| matches!(kind.as_str(), "input_text" | "output_text" | "input_image");
                let kinds: Vec<String> = kinds.collect();
                if kinds.iter().any(|kind| matches!(kind.as_str(), "tool_use" | "tool_result" | "image_url"))
                {
                    return None;
                }
                fields.kind.is_some() || kinds.iter().any(is_own)
            }
            "function_call" | "function_call_output" | "custom_tool_call" | "custom_tool_call_output" => {
                fields.call_id.is_some()
            }
            "reasoning" => fields.summary.is_some() || fields.encrypted.is_some(),
            name if CARRIED.contains(&name) => true,
            _ => return None,
        };
        confidence = if own { Some(Confidence::Certain) } else { confidence.or(Some(Confidence::Possible)) };
    }
    // A plain list of messages is any API's.
    confidence.filter(|confidence| *confidence == Confidence::Certain)
}

/// Writes a conversation as the API takes it, item by item.
pub(super) fn encode(entries: &[Entry]) -> String {
    let system = entries.iter().filter(|entry| is_instruction(entry) && entry.meta.visibility.agent);
    let system = system.filter_map(|entry| said("developer", &entry.parts));
    list(system.chain(elements(entries)))
}

/// Writes what was said, item by item.
pub(super) fn elements(entries: &[Entry]) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    // The item itself comes, too.
    let told: Vec<Entry> = entries.iter().filter(|entry| !is_sealed(entry)).cloned().collect();
    for turn in turns(&told) {
        items.extend(turn.results.iter().map(|(call_id, _, parts)| {
            let output = match parts.as_slice() {
                [] => quote(""),
                [Part::Text(text)] => quote(text),
                parts => blocks("user", parts).unwrap_or_else(|| quote("")),
            };
            let object = Object::new().text("type", "function_call_output").text("call_id", call_id);
            object.raw("output", &output).finish()
        }));
        if turn.is_assistant {
            answer(&turn, &mut items);
        } else {
            items.extend(said("user", &turn.parts));
        }
    }
    items
}

fn answer(turn: &Turn, items: &mut Vec<String>) {
    let mut spoken: Vec<Part> = Vec::new();
    for part in &turn.parts {
        let own = match part {
            Part::ToolCall { call_id, name, arguments } => {
                let object = Object::new().text("type", "function_call").text("call_id", call_id);
                object.text("name", name).text("arguments", arguments).finish()
            }
            Part::Thinking { text, encrypted, .. } => reasoning(text, encrypted.as_deref()),
            Part::Opaque { runtime, kind, json }
                if runtime == RESPONSES && CARRIED.contains(&kind.as_str()) =>
            {
                let Some(json) = one_line(json) else { continue };
                json
            }
            other => {
                spoken.push(other.clone());
                continue;
            }
        };
        items.extend(said("assistant", &std::mem::take(&mut spoken)));
        items.push(own);
    }
    items.extend(said("assistant", &spoken));
}

fn reasoning(text: &str, encrypted: Option<&str>) -> String {
    let told = Object::new().text("type", "summary_text").text("text", text).finish();
    let summary = if text.is_empty() { "[]".to_owned() } else { format!("[{told}]") };
    let object = Object::new().text("type", "reasoning").raw("summary", &summary);
    object.given("encrypted_content", encrypted).finish()
}

fn said(role: &str, parts: &[Part]) -> Option<String> {
    let content = blocks(role, parts)?;
    Some(Object::new().text("type", "message").text("role", role).raw("content", &content).finish())
}

fn blocks(role: &str, parts: &[Part]) -> Option<String> {
    let blocks: Vec<String> = parts.iter().filter_map(|part| block(role, part)).collect();
    (!blocks.is_empty()).then(|| list(blocks))
}

fn block(role: &str, part: &Part) -> Option<String> {
    let typed = |name: &str| Object::new().text("type", name);
    let text_type = if role == "assistant" { "output_text" } else { "input_text" };
    let object = match part {
        Part::Text(text) | Part::Summary { text, .. } => typed(text_type).text("text", text),
        Part::Image { media_type, source } => {
            let url = data_url::address(media_type, source)?;
            typed("input_image").text("image_url", &url)
        }
        Part::File { name, data: Some(data), .. } => {
            typed(text_type).text("text", &format!("File {name}:\n{data}"))
        }
        Part::Opaque { runtime, json, .. } if runtime == RESPONSES => return one_line(json),
        Part::File { .. }
        | Part::Opaque { .. }
        | Part::Thinking { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. } => return None,
    };
    Some(object.finish())
}
