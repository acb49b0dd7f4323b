//! From bytes to entries: one entry for each line that is not blank, and nothing lost.
//!
//! Each line is decoded by itself, so that the entries of a chain are those of its commits, one after the
//! other. What the canonical model has no place for (`toolUseResult`, `requestId`, extra fields of
//! blocks …) is reached by the entry's span.

use std::borrow::Cow;

use stemmata_model::{
    Body, Entry, EntryId, EntryKind, EntryMeta, ImageSource, NativeSpan, NoteCode, Part, Usage, to_u64,
};

use super::apart::apart;
use super::count::NESTING_MAX;
use super::kind::{Class, Said, each_unknown};
use super::message::{Content, Element, Message, Shape, Tokens};
use super::record::Record;
use super::whole::Whole;
use crate::adapter::Decoded;
use crate::apart::told;
use crate::json::{self, Field, RecordError, text};
use crate::lines::decode::{Decoder, id_of, unreadable};

/// The name of this runtime in [`Part::Opaque`].
pub const RUNTIME: &str = "claude-code";

/// The name of a document that has no title.
pub(super) const UNTITLED: &str = "document";

/// The sidechain of a record that does not name its agent.
pub(super) const UNNAMED_SIDECHAIN: &str = "sidechain";

/// Separates ids of lines from every other use of the hash.
const LINE_ID_CONTEXT: &str = "stemmata.claude-code.line.v1";

/// Decodes whole lines; the last one may lack its newline.
pub(super) fn decode(bytes: &[u8]) -> Decoded {
    Decoder::run(bytes, |decoder, line, offset, is_complete| match Whole::parse(line) {
        Ok(whole) => {
            decoder.note_torn(is_complete);
            note_degraded(decoder, &whole);
            let native = NativeSpan { offset: to_u64(offset), length: to_u64(line.len()) };
            decoder.push(entry(whole, line, native));
        }
        Err(error) => parts_of(decoder, line, offset, &error, is_complete),
    })
}

/// Takes a line that is no single record: each record that it holds is an entry, and so is what is none.
fn parts_of(decoder: &mut Decoder, line: &[u8], offset: usize, error: &RecordError, is_complete: bool) {
    let parts = apart(line, false);
    if parts.iter().all(|part| part.record.is_none()) {
        decoder.note_unreadable(line, error, is_complete);
    } else {
        decoder.note(NoteCode::Degraded, told(&parts));
    }
    for part in &parts {
        let bytes = line.get(part.range.clone()).unwrap_or_default();
        let native = NativeSpan { offset: to_u64(offset + part.range.start), length: to_u64(bytes.len()) };
        let text = part.record.as_ref().map(|record| record.as_bytes());
        let entry = match text.and_then(|text| Some((Whole::parse(text).ok()?, text))) {
            Some((whole, text)) => {
                note_degraded(decoder, &whole);
                entry(whole, text, native)
            }
            None => unreadable(RUNTIME, line_id(bytes), bytes, native),
        };
        decoder.push(entry);
    }
}

/// Notes records that are carried without being understood.
fn note_degraded(decoder: &mut Decoder, whole: &Whole<'_>) {
    let name = whole.record.type_text();
    if (name == "user" || name == "assistant") && whole.inside.message.is_none() {
        let message = format!("`{name}` record without a message is carried as metadata");
        decoder.note(NoteCode::Degraded, message);
    }
    each_unknown(whole, &mut |name| decoder.note_unknown(name));
}

/// Derives the id of a line that has none from its content.
fn line_id(line: &[u8]) -> EntryId {
    id_of(LINE_ID_CONTEXT, line)
}

fn entry(Whole { record, inside }: Whole<'_>, line: &[u8], native: NativeSpan) -> Entry {
    let class = Class::of(&record, inside);
    let own_id = record.uuid_text().and_then(|id| EntryId::new(id.as_ref()).ok());
    let parent = text(record.parent_uuid).and_then(|id| EntryId::new(id.as_ref()).ok());
    let body = match &class.said {
        Said::Content(Content::Text(_)) => Body::Text,
        _ => Body::Blocks,
    };
    Entry {
        id: own_id.unwrap_or_else(|| line_id(line)),
        parent,
        timestamp: record.time(),
        role: class.role,
        kind: class.kind.clone(),
        body,
        parts: parts(&class, &record, line),
        meta: meta(&record, &class),
        native,
    }
}

fn meta(record: &Record<'_>, class: &Class<'_>) -> EntryMeta {
    let message = class.message.unwrap_or_default();
    let sidechain = record
        .is_sidechain_record()
        .then(|| json::owned(record.agent_id).unwrap_or_else(|| UNNAMED_SIDECHAIN.to_owned()));
    EntryMeta {
        visibility: class.visibility,
        model: json::owned(message.model),
        message_id: json::owned(message.id),
        usage: usage(&message),
        stop_reason: json::owned(message.stop_reason),
        cwd: json::owned(record.cwd),
        git_branch: json::owned(record.git_branch),
        sidechain,
        author: None,
    }
}

pub(crate) fn usage(message: &Message<'_>) -> Option<Usage> {
    let tokens = Tokens::of(message.usage?)?;
    let number = |field: Option<Field<'_>>| field.and_then(|field| field.number()).unwrap_or(0);
    Some(Usage {
        input_tokens: number(tokens.input),
        output_tokens: number(tokens.output),
        cache_read_tokens: number(tokens.cache_read),
        cache_write_tokens: number(tokens.cache_write),
    })
}

fn parts(class: &Class<'_>, record: &Record<'_>, line: &[u8]) -> Vec<Part> {
    match &class.said {
        Said::Content(content) if class.kind == EntryKind::CompactionSummary => summary_parts(content),
        Said::Content(content) => content_parts(content, NESTING_MAX),
        Said::Texts(texts) => texts.iter().map(|text| Part::Text(text.clone().into_owned())).collect(),
        Said::Attachment { kind, value } => vec![opaque(kind, value.raw().to_owned())],
        Said::Nothing => {
            let name = match (record.type_text(), text(record.subtype)) {
                (name, Some(subtype)) => format!("{name}/{subtype}"),
                (name, None) => name.into_owned(),
            };
            // Lossless: a line that parsed is UTF-8.
            vec![opaque(&name, String::from_utf8_lossy(line).into_owned())]
        }
    }
}

/// The first text of a compaction's summary is the summary; what else there is stays what it is.
fn summary_parts(content: &Content<'_>) -> Vec<Part> {
    let mut parts = content_parts(content, NESTING_MAX);
    if let Some(part) = parts.iter_mut().find(|part| matches!(part, Part::Text(_)))
        && let Part::Text(text) = part
    {
        let text = std::mem::take(text);
        *part = Part::Summary { text, covers: Vec::new() };
    }
    parts
}

pub(crate) fn content_parts(content: &Content<'_>, depth: usize) -> Vec<Part> {
    match content {
        Content::Absent => Vec::new(),
        Content::Text(field) => vec![Part::Text(owned(*field))],
        Content::List(elements) => elements.iter().map(|element| part(element, depth)).collect(),
        Content::Other(field) => vec![opaque("content", field.raw().to_owned())],
    }
}

fn part(element: &Element<'_>, depth: usize) -> Part {
    match element.shape() {
        Shape::Text(text) => Part::Text(owned(text)),
        Shape::Thinking(text, signature) => {
            Part::Thinking { text: owned(text), signature: signature.map(owned), encrypted: None }
        }
        Shape::Redacted(data) => {
            Part::Thinking { text: String::new(), signature: None, encrypted: Some(owned(data)) }
        }
        Shape::Call { id, name, input } => Part::ToolCall {
            call_id: owned(id),
            name: owned(name),
            arguments: input.map_or_else(|| "{}".to_owned(), |input| input.raw().to_owned()),
        },
        Shape::Result { call, is_error, content } if depth > 0 => Part::ToolResult {
            call_id: owned(call),
            is_error,
            parts: content_parts(&Content::of(content), depth - 1),
        },
        Shape::Image(data, media_type) => {
            Part::Image { media_type: owned(media_type), source: ImageSource::Base64(owned(data)) }
        }
        Shape::ImageUrl(url) => {
            Part::Image { media_type: String::new(), source: ImageSource::Url(owned(url)) }
        }
        Shape::Document { title, media_type, data } => Part::File {
            name: title.map_or_else(|| UNTITLED.to_owned(), owned),
            media_type: Some(owned(media_type)),
            data: Some(owned(data)),
        },
        Shape::Result { .. } | Shape::Other => {
            let kind = element.block.and_then(|block| text(block.block_type));
            opaque(&kind.unwrap_or(Cow::Borrowed("value")), element.whole.raw().to_owned())
        }
    }
}

fn owned(field: Field<'_>) -> String {
    field.text().map(Cow::into_owned).unwrap_or_default()
}

fn opaque(kind: &str, json: String) -> Part {
    Part::Opaque { runtime: RUNTIME.to_owned(), kind: kind.to_owned(), json }
}

#[cfg(test)]
mod tests;
