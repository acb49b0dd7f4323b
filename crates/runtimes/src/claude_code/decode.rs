//! From bytes to entries: one entry for each line that is not blank, and nothing lost.
//!
//! Each line is decoded by itself, so that the entries of a chain are those of its commits, one after the
//! other. What the canonical model has no place for (`toolUseResult`, `requestId`, extra fields of
//! blocks …) is reached by the entry's span.

use std::borrow::Cow;

use stemmata_model::{
    Body, Entry, EntryId, EntryKind, EntryMeta, ImageSource, NativeSpan, Note, NoteCode, Part, Role, Usage,
    Visibility, to_u64,
};

use super::apart::apart;
use super::count::NESTING_MAX;
use super::kind::{Class, Said, each_unknown};
use super::message::{Content, Element, Message, Shape, Tokens};
use super::record::{ParentLink, Record};
use super::whole::Whole;
use crate::adapter::Decoded;
use crate::apart::told;
use crate::json::{Field, RecordError, is_blank, text};
use crate::lines::unknown::NotedTypes;

/// The name of this runtime in [`Part::Opaque`].
pub const RUNTIME: &str = "claude-code";

/// The kind of an [`Part::Opaque`] that holds a line which is no record, as a JSON string.
pub const OPAQUE_UNREADABLE: &str = "unreadable";

/// The name of a document that has no title.
pub(super) const UNTITLED: &str = "document";

/// The sidechain of a record that does not name its agent.
pub(super) const UNNAMED_SIDECHAIN: &str = "sidechain";

/// Notes about single lines that one decode gives: a file of garbage should not fill the memory.
const LINE_NOTES_MAX: usize = 100;

/// Separates ids of lines from every other use of the hash.
const LINE_ID_CONTEXT: &str = "stemmata.claude-code.line.v1";

/// Decodes whole lines; the last one may lack its newline.
pub(super) fn decode(bytes: &[u8]) -> Decoded {
    let mut decoder = Decoder::default();
    let mut start = 0;
    while start < bytes.len() {
        let rest = bytes.get(start..).unwrap_or_default();
        let length = memchr::memchr(b'\n', rest);
        let line = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
        decoder.line(line, start, length.is_some());
        start += line.len() + 1;
    }
    decoder.finish()
}

#[derive(Default)]
struct Decoder {
    decoded: Decoded,
    lines: u64,
    line_notes: usize,
    carriage_returns: u64,
    unknown: NotedTypes,
}

impl Decoder {
    fn line(&mut self, line: &[u8], offset: usize, is_complete: bool) {
        self.lines += 1;
        if is_blank(line) {
            return;
        }
        self.carriage_returns += u64::from(line.ends_with(b"\r"));
        let native = NativeSpan { offset: to_u64(offset), length: to_u64(line.len()) };
        match Whole::parse(line) {
            Ok(whole) => {
                if !is_complete {
                    self.note(NoteCode::TornTail, "the last line has no newline".to_owned());
                }
                self.look(&whole);
                self.decoded.entries.push(entry(whole, line, native));
            }
            Err(error) => self.parts(line, offset, &error, is_complete),
        }
    }

    /// Takes a line that is no single record: each record that it holds is an entry, and so is what is none.
    fn parts(&mut self, line: &[u8], offset: usize, error: &RecordError, is_complete: bool) {
        let parts = apart(line, false);
        let records = parts.iter().filter(|part| part.record.is_some()).count();
        if records == 0 {
            self.note_unreadable(line, error, is_complete);
        } else {
            self.note(NoteCode::Degraded, told(&parts));
        }
        for part in &parts {
            let bytes = line.get(part.range.clone()).unwrap_or_default();
            let native =
                NativeSpan { offset: to_u64(offset + part.range.start), length: to_u64(bytes.len()) };
            let text = part.record.as_ref().map(|record| record.as_bytes());
            let entry = match text.and_then(|text| Some((Whole::parse(text).ok()?, text))) {
                Some((whole, text)) => {
                    self.look(&whole);
                    entry(whole, text, native)
                }
                None => unreadable(bytes, native),
            };
            self.decoded.entries.push(entry);
        }
    }

    /// Notes records that are carried without being understood.
    fn look(&mut self, whole: &Whole<'_>) {
        let name = whole.record.type_text();
        if (name == "user" || name == "assistant") && whole.inside.message.is_none() {
            let message = format!("`{name}` record without a message is carried as metadata");
            self.note(NoteCode::Degraded, message);
        }
        let mut notes = Vec::new();
        each_unknown(whole, &mut |name| notes.extend(self.unknown.note(name)));
        for message in notes {
            self.note(NoteCode::UnknownRecord, message);
        }
    }

    fn note_unreadable(&mut self, line: &[u8], error: &RecordError, is_complete: bool) {
        let bytes = line.len();
        let nul = if line.contains(&0) { " with NUL bytes" } else { "" };
        if is_complete {
            self.note(NoteCode::UnparsableLine, format!("{error}: {bytes} bytes{nul} kept as they are"));
        } else {
            self.note(
                NoteCode::TornTail,
                format!("the last line is cut: {bytes} bytes{nul} kept as they are"),
            );
        }
    }

    fn note(&mut self, code: NoteCode, message: String) {
        self.line_notes += 1;
        if self.line_notes <= LINE_NOTES_MAX {
            let note = Note::at_line(code, self.lines, message);
            self.decoded.notes.push(note);
        }
    }

    fn finish(mut self) -> Decoded {
        if self.line_notes > LINE_NOTES_MAX {
            let more = self.line_notes - LINE_NOTES_MAX;
            let note = Note::new(NoteCode::Degraded, format!("{more} more notes about lines are not listed"));
            self.decoded.notes.push(note);
        }
        if self.carriage_returns > 0 {
            let lines = self.carriage_returns;
            let note = Note::new(
                NoteCode::Degraded,
                format!("{} with CR LF kept unchanged", stemmata_model::plural(lines, "line")),
            );
            self.decoded.notes.push(note);
        }
        self.decoded
    }
}

/// Derives the id of a line that has none from its content: where it stands must not matter, so that a
/// chain decodes to the same entries whether it is read whole or commit by commit.
fn line_id(line: &[u8]) -> EntryId {
    let hash = blake3::Hash::from_bytes(blake3::derive_key(LINE_ID_CONTEXT, line)).to_hex();
    EntryId::new(format!("line-{}", hash.split_at(32).0)).expect("hex digits are a name")
}

fn unreadable(line: &[u8], native: NativeSpan) -> Entry {
    let text = String::from_utf8_lossy(line);
    Entry {
        id: line_id(line),
        parent: None,
        timestamp: None,
        role: Role::System,
        kind: EntryKind::Unreadable,
        body: Body::Blocks,
        parts: vec![opaque(OPAQUE_UNREADABLE, serde_json::Value::from(text).to_string())],
        meta: EntryMeta { visibility: Visibility { agent: false, user: false }, ..EntryMeta::default() },
        native,
    }
}

fn entry(Whole { record, inside }: Whole<'_>, line: &[u8], native: NativeSpan) -> Entry {
    let class = Class::of(&record, inside);
    let own_id = record.uuid_text().and_then(|id| EntryId::new(id.as_ref()).ok());
    let parent = match record.parent() {
        ParentLink::Of(id) => EntryId::new(id.as_ref()).ok(),
        ParentLink::Root | ParentLink::Absent => None,
    };
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
    let owned = |field| text(field).map(Cow::into_owned);
    let sidechain = record
        .is_sidechain_record()
        .then(|| owned(record.agent_id).unwrap_or_else(|| UNNAMED_SIDECHAIN.to_owned()));
    EntryMeta {
        visibility: class.visibility,
        model: owned(message.model),
        message_id: owned(message.id),
        usage: usage(&message),
        stop_reason: owned(message.stop_reason),
        cwd: owned(record.cwd),
        git_branch: owned(record.git_branch),
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
