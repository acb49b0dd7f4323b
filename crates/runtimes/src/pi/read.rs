//! What one line of a pi session is in the canonical model, and to the rule of turns.
//!
//! A *real user record* is a `message` of the role `user`: it begins a turn. Commands that the user ran (`bashExecution`),
//! messages of extensions and summaries of branches are parts of the conversation that begin none. Settings that stand
//! ahead of a prompt (`model_change`, `thinking_level_change`) belong to the turn before it.

use stemmata_model::{Body, EntryKind, ImageSource, Part, Role, Timestamp, Usage, Visibility};

use super::RUNTIME;
use super::encode::UNKNOWN_MODEL;
use super::record::{Block, Kind, Message, ReasoningItem, Record, Tokens};
use crate::adapter::IdKind;
use crate::json::{Field, RecordError, is_true, owned, text};
use crate::lines::facts::{Hints, TitleRank};
use crate::lines::{self, Line, Turn, entry_id, opaque};

/// Where a compaction carries which entry it keeps first: its id, or in the first version its number.
pub(super) const OPAQUE_KEPT: &str = "first_kept";

/// Where a compaction carries the messages that it keeps word for word.
pub(super) const OPAQUE_RETAINED: &str = "retained_tail";

/// Reads one line (see `Dialect::read`).
pub(super) fn read(line: &[u8]) -> Result<Line, RecordError> {
    let record = Record::parse(line)?;
    let time = record.time();
    let mut line = match record.kind {
        Kind::Message => message(&record, time),
        Kind::Compaction => compaction(&record, time),
        Kind::BranchSummary => summary(record.envelope.summary, time),
        Kind::CustomMessage => custom(record.envelope.content, record.envelope.display, time),
        Kind::Session | Kind::SessionInfo | Kind::Other | Kind::Unknown => {
            Line::metadata(RUNTIME, &record.name(), record.whole.raw(), time)
        }
    };
    match record.kind {
        Kind::Session => {
            line.turn = Turn::Header;
            line.hints = Hints {
                session: owned(record.envelope.id),
                cwd: owned(record.envelope.cwd),
                ..Hints::default()
            };
        }
        Kind::SessionInfo => {
            line.hints.title = owned(record.envelope.name).map(|name| (TitleRank::User, name));
        }
        Kind::Message
        | Kind::Compaction
        | Kind::BranchSummary
        | Kind::CustomMessage
        | Kind::Other
        | Kind::Unknown => {}
    }
    line.unknown = record.unknown();
    line.id = record.entry_id().and_then(|id| entry_id(id.text()));
    line.parent = record.envelope.parent_id.and_then(|parent| entry_id(parent.text()));
    Ok(line)
}

/// Reads the messages that a compaction keeps word for word.
pub(super) fn retained(json: &str) -> Vec<Line> {
    let messages = Field::whole(json).elements().unwrap_or_default();
    let messages = messages.into_iter().filter_map(Record::of_message).filter(Record::is_seen);
    messages.map(|record| message(&record, None)).collect()
}

fn message(record: &Record<'_>, time: Option<Timestamp>) -> Line {
    let message = &record.message;
    match text(message.role).unwrap_or_default().as_ref() {
        "user" => {
            let (body, parts) = content(message.content);
            Line { body, ..Line::prompt(parts, time) }
        }
        "assistant" => assistant(record, time),
        "toolResult" => {
            let call_id = owned(message.call_id).unwrap_or_default();
            let (_, parts) = content(message.content);
            let ids = vec![(IdKind::Call, call_id.clone())];
            let result = Part::ToolResult { call_id, is_error: is_true(message.is_error), parts };
            Line { ids, ..Line::said(Role::Tool, EntryKind::ToolResult, vec![result], time) }
        }
        "bashExecution" => {
            let mut line =
                Line::said(Role::User, EntryKind::Message, vec![Part::Text(command(message))], time);
            line.meta.visibility.agent = !is_true(message.excluded);
            line
        }
        // The second is what the second version called the first.
        "custom" | "hookMessage" => custom(message.content, message.display, time),
        "branchSummary" | "compactionSummary" => summary(message.summary, time),
        _ => Line::metadata(RUNTIME, "message", record.whole.raw(), time),
    }
}

fn said(role: Role, kind: EntryKind, field: Option<Field<'_>>, time: Option<Timestamp>) -> Line {
    let (body, parts) = content(field);
    Line { body, ..Line::said(role, kind, parts, time) }
}

fn assistant(record: &Record<'_>, time: Option<Timestamp>) -> Line {
    let message = &record.message;
    let mut line = said(Role::Assistant, EntryKind::Message, message.content, time);
    line.ids = record.calls().into_iter().map(|(id, _)| (IdKind::Call, id)).collect();
    line.meta.model = owned(message.model).filter(|model| model != UNKNOWN_MODEL);
    line.meta.stop_reason = owned(message.stop_reason);
    line.meta.usage = message.usage.and_then(|usage| Tokens::read(usage).ok()).map(|tokens| {
        let of = |field: Option<Field<'_>>| field.and_then(|field| field.number()).unwrap_or_default();
        Usage {
            input_tokens: of(tokens.input),
            output_tokens: of(tokens.output),
            cache_read_tokens: of(tokens.cache_read),
            cache_write_tokens: of(tokens.cache_write),
        }
    });
    line
}

/// Returns a command that the user ran, with its output, as the client tells the model.
fn command(message: &Message<'_>) -> String {
    let of = |field| text(field).unwrap_or_default();
    let output = of(message.output);
    let mut told = vec![format!("Ran `{}`\n", of(message.command))];
    told.push(if output.is_empty() { "(no output)".to_owned() } else { format!("```\n{output}\n```") });
    let code = message.exit_code.filter(|code| !code.is_null() && code.raw() != "0");
    match code {
        _ if is_true(message.cancelled) => told.push("\n\n(command cancelled)".to_owned()),
        Some(code) => told.push(format!("\n\nCommand exited with code {}", code.raw())),
        None => {}
    }
    if let Some(path) = text(message.full_output).filter(|_| is_true(message.truncated)) {
        told.push(format!("\n\n[Output truncated. Full output: {path}]"));
    }
    told.concat()
}

/// Reads a message of an extension.
fn custom(field: Option<Field<'_>>, display: Option<Field<'_>>, time: Option<Timestamp>) -> Line {
    let mut line = said(Role::User, EntryKind::Instruction, field, time);
    line.meta.visibility = Visibility { agent: true, user: is_true(display) };
    line
}

/// Reads a summary that stands for no entry of this conversation.
fn summary(field: Option<Field<'_>>, time: Option<Timestamp>) -> Line {
    let parts = vec![Part::Summary { text: owned(field).unwrap_or_default(), covers: Vec::new() }];
    Line::said(Role::User, EntryKind::Instruction, parts, time)
}

fn compaction(record: &Record<'_>, time: Option<Timestamp>) -> Line {
    let envelope = &record.envelope;
    let mut line = summary(envelope.summary, time);
    let kept = envelope.kept_index.or(envelope.kept_id).filter(|kept| !kept.is_null());
    let is_itself = kept.is_some_and(|kept| kept.text() == text(envelope.id));
    line.parts.extend(kept.filter(|_| !is_itself).map(|kept| opaque(RUNTIME, OPAQUE_KEPT, kept.raw())));
    let retained = envelope.retained.filter(|list| list.raw().starts_with('['));
    line.parts.extend(retained.map(|list| opaque(RUNTIME, OPAQUE_RETAINED, list.raw())));
    line.kind = EntryKind::CompactionSummary;
    line.turn = Turn::Compaction;
    line
}

fn content(field: Option<Field<'_>>) -> (Body, Vec<Part>) {
    lines::content(RUNTIME, field, block)
}

fn block(element: Field<'_>) -> Part {
    let Ok(block) = Block::read(element) else { return opaque(RUNTIME, "content", element.raw()) };
    let kind = text(block.kind).unwrap_or_default();
    match kind.as_ref() {
        "text" => Part::Text(owned(block.text).unwrap_or_default()),
        "thinking" => thinking(&block),
        "toolCall" => Part::ToolCall {
            call_id: owned(block.id).unwrap_or_default(),
            name: owned(block.name).unwrap_or_default(),
            arguments: block.arguments.map_or("{}", |arguments| arguments.raw()).to_owned(),
        },
        "image" if block.data.is_some_and(|data| data.text().is_some()) => Part::Image {
            media_type: owned(block.mime_type).unwrap_or_default(),
            source: ImageSource::Base64(owned(block.data).unwrap_or_default()),
        },
        _ => opaque(RUNTIME, &kind, element.raw()),
    }
}

/// Reads reasoning. Its signature is a provider's own, or the whole item of the Responses API with its encrypted text.
fn thinking(block: &Block<'_>) -> Part {
    let signature = owned(block.signature).filter(|signature| !signature.is_empty());
    if is_true(block.redacted) {
        return Part::Thinking {
            text: owned(block.thinking).unwrap_or_default(),
            signature: None,
            encrypted: signature,
        };
    }
    let item = signature.as_deref().filter(|signature| signature.starts_with('{'));
    let encrypted = item
        .and_then(|item| owned(ReasoningItem::read(Field::whole(item)).ok()?.encrypted))
        .filter(|encrypted| !encrypted.is_empty());
    Part::Thinking { text: owned(block.thinking).unwrap_or_default(), signature, encrypted }
}
