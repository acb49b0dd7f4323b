//! `anthropic-messages-v1`: the `messages` of a request to Anthropic's Messages API.
//!
//! A content block of a type that this version does not know is carried as Claude Code's is: the two are the same API's.

use std::borrow::Cow;
use std::ops::Range;

use stemmata_model::{Body, Entry, EntryKind, Part, Role};

use super::ANTHROPIC;
use super::turns::{NO_PROMPT, Turn, turns};
use crate::adapter::{Confidence, IdKind};
use crate::anthropic::{Content, Message, NESTING_MAX, RUNTIME, block, content_parts, usage};
use crate::document::compactions::{Within, name, without};
use crate::document::{Dialect, Record, top_list, whole};
use crate::json::{Field, Object, RecordError, is_string, list, quote, text};
use crate::lines::Line;
use crate::lines::facts::Templates;

pub(super) static DIALECT: Dialect = Dialect {
    runtime: ANTHROPIC,
    templates: Templates { main: "anthropic-messages/main", subagent: "anthropic-messages/subagent" },
    read,
    list: top_list,
    compactions,
};

/// Types of blocks that only this API has.
const OWN_BLOCKS: [&str; 5] = ["tool_use", "tool_result", "thinking", "redacted_thinking", COMPACTION];

/// The type of a block that stands for everything before it.
const COMPACTION: &str = "compaction";

fn read(bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let elements = whole(bytes)?.elements().ok_or(RecordError::NotObject)?;
    Ok(elements
        .into_iter()
        .map(|element| Record { span: element.span(), line: read_message(element) })
        .collect())
}

fn read_message(element: Field<'_>) -> Line {
    let fields = Message::of(element).unwrap_or_default();
    let role = match text(fields.role).as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        other => {
            let name = other.unwrap_or("value").to_owned();
            let mut line = Line::metadata(ANTHROPIC, &name, element.raw(), None);
            line.unknown = Some(name);
            return line;
        }
    };
    let content = Content::of(fields.content);
    let mut parts = content_parts(&content, NESTING_MAX);
    if role == Role::Assistant {
        summarize(&content, &mut parts);
    }
    let is_summary = !parts.is_empty() && parts.iter().all(is_summary);
    let has_results = parts.iter().any(|part| matches!(part, Part::ToolResult { .. }));
    let (role, kind) = match role {
        Role::User if has_results => (Role::Tool, EntryKind::ToolResult),
        role if is_summary => (role, EntryKind::CompactionSummary),
        role => (role, EntryKind::Message),
    };
    let mut line = Line::said(role, kind, parts, None);
    line.body = if matches!(content, Content::Text(_)) { Body::Text } else { Body::Blocks };
    let owned = |field| text(field).map(Cow::into_owned);
    line.meta.message_id = owned(fields.id);
    line.meta.model = owned(fields.model);
    line.meta.stop_reason = owned(fields.stop_reason);
    line.meta.usage = usage(&fields);
    line.ids.extend(line.meta.message_id.clone().map(|id| (IdKind::Call, id)));
    crate::document::name_calls(&mut line);
    if line.role == Role::User {
        line.entitle();
    }
    line
}

/// Returns whether a part is a compaction that failed.
pub(super) fn is_failed(part: &Part) -> bool {
    matches!(part, Part::Opaque { runtime, kind, .. } if runtime == RUNTIME && kind == COMPACTION)
}

const fn is_summary(part: &Part) -> bool {
    matches!(part, Part::Summary { .. })
}

/// Makes the summaries of an answer's compaction blocks summaries. A block without a text is a compaction that failed: the
/// API takes it for nothing, and it is carried as it is.
fn summarize(content: &Content<'_>, parts: &mut [Part]) {
    let Content::List(elements) = content else { return };
    for (element, part) in elements.iter().zip(parts) {
        let said = element.block.filter(|block| block.is_type(COMPACTION)).and_then(|block| block.content);
        let said = content_parts(&Content::of(said), 1);
        let text = said.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n\n");
        if !text.is_empty() {
            *part = Part::Summary { text, covers: Vec::new() };
        }
    }
}

/// Returns the compactions that the API made: of what stands before the last one it reads nothing.
fn compactions(bytes: &[u8], records: &[Record]) -> Vec<Within> {
    let holders = records.iter().enumerate().filter(|(_, record)| record.line.parts.iter().any(is_summary));
    let within = holders.filter_map(|(at, record)| {
        let message = Message::of(whole(bytes.get(record.span.clone())?).ok()?)?;
        let Content::List(elements) = Content::of(message.content) else { return None };
        let place = |span: Range<usize>| record.span.start + span.start..record.span.start + span.end;
        let spans: Vec<Range<usize>> = elements.iter().map(|element| place(element.whole.span())).collect();
        let is_cut: Vec<bool> = record.line.parts.iter().map(is_summary).collect();
        let blocks = || without(&spans, &is_cut);
        let said = elements.iter().zip(&is_cut).rfind(|(_, is_cut)| **is_cut)?.0.block?.content?;
        let part = is_cut.contains(&false).then(blocks);
        Some(Within { first: at, at, mark: None, part, name: name(said.raw()) })
    });
    within.collect()
}

/// Says how sure it is of the first messages of an array (see `Adapter::detect`).
pub(super) fn claims(elements: &[Field<'_>]) -> Option<Confidence> {
    let mut confidence = Confidence::Possible;
    if elements.is_empty() {
        return None;
    }
    for element in elements {
        let fields = Message::of(*element)?;
        let is_role = |name| fields.role.is_some_and(|role| is_string(role, name));
        if !is_role("user") && !is_role("assistant") {
            return None;
        }
        let blocks = match Content::of(fields.content) {
            Content::List(blocks) => blocks,
            Content::Text(_) => continue,
            // The last one may be cut before its content.
            Content::Absent | Content::Other(_) => {
                if elements.len() == 1 || elements.last() != Some(element) {
                    return None;
                }
                continue;
            }
        };
        for kind in blocks.iter().filter_map(|block| text(block.block?.block_type)) {
            if OWN_BLOCKS.contains(&kind.as_ref()) {
                confidence = Confidence::Certain;
            } else if matches!(kind.as_ref(), "image_url" | "input_text" | "output_text" | "input_image") {
                return None;
            }
        }
    }
    Some(confidence)
}

/// Writes a conversation as the API takes it: two sides in turns, results first in the turn behind their calls.
pub(super) fn encode(entries: &[Entry]) -> String {
    let mut messages: Vec<String> = Vec::new();
    for turn in turns(entries) {
        let Some(content) = content(&turn) else { continue };
        let is_summary = turn.parts.first().is_some_and(is_summary);
        if messages.is_empty() && turn.is_assistant && !is_summary {
            messages.push(message("user", &quote(NO_PROMPT)));
        }
        messages.push(message(if turn.is_assistant { "assistant" } else { "user" }, &content));
    }
    list(messages)
}

fn message(role: &str, content: &str) -> String {
    Object::new().text("role", role).raw("content", content).finish()
}

/// Returns what a turn says; none where the API would refuse all of it for being empty.
fn content(turn: &Turn) -> Option<String> {
    let parts = said(turn);
    match parts.as_slice() {
        [Part::Text(text)] => Some(quote(text)),
        [Part::Summary { text, .. }] if !turn.is_assistant => Some(quote(text)),
        parts => {
            let blocks: Vec<String> = parts
                .iter()
                .filter_map(|part| match part {
                    // Only the API itself has an assistant say a summary.
                    Part::Summary { text, .. } if turn.is_assistant => {
                        Some(Object::new().text("type", COMPACTION).text("content", text).finish())
                    }
                    part => block(part),
                })
                .collect();
            (!blocks.is_empty()).then(|| list(blocks))
        }
    }
}

/// Returns the parts of a turn, its results first.
pub(super) fn said(turn: &Turn) -> Vec<Part> {
    let results = turn.results.iter().map(|(call_id, is_error, parts)| Part::ToolResult {
        call_id: call_id.clone(),
        is_error: *is_error,
        // One alone is a string, which may be empty.
        parts: if let [_] = parts.as_slice() { parts.clone() } else { with_words(parts) },
    });
    results.chain(with_words(&turn.parts)).collect()
}

/// Leaves out texts of nothing or of white space only, which the API refuses.
fn with_words(parts: &[Part]) -> Vec<Part> {
    let is_blank = |part: &&Part| matches!(part, Part::Text(text) | Part::Summary { text, .. } if text.trim().is_empty());
    parts.iter().filter(|part| !is_blank(part)).cloned().collect()
}
