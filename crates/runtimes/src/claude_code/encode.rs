//! From entries to lines that Claude Code's loader accepts.
//!
//! For entries of any runtime; a transcript's own lines never come this way, they are kept as bytes.
//! All loaders since 1.0 need `type`, `uuid`, `parentUuid`, `timestamp` and `message` (older ones drop
//! the history in silence without them); the other structural fields are there for the eye, and placing
//! rewrites them.

use std::collections::HashMap;

use stemmata_model::{Body, Entry, EntryId, EntryKind, EntryMeta, ImageSource, Part, Role, Timestamp};

use super::decode::{RUNTIME, UNNAMED_SIDECHAIN, UNTITLED};
use super::record::{ParentLink, Record};
use crate::json::{Object, list, one_line, push_line, quote};
use crate::lines::iso;
use crate::placing::{UNKNOWN_CWD, UNPLACED_SESSION};

/// The version that encoded lines carry: the newest whose loader we know.
pub const ENCODED_VERSION: &str = "2.1.330";

/// Separates made-up uuids from every other use of the hash.
const UUID_CONTEXT: &str = "stemmata.claude-code.uuid.v1";

/// Encodes entries, each as the child of its nearest ancestor that has a line.
///
/// Left out are entries that a model does not see and that are no lines of this runtime, and parts
/// that only another runtime understands.
pub(super) fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut encoder = Encoder::default();
    for entry in entries {
        encoder.entry(entry);
    }
    encoder.out
}

/// The structural fields of a line.
pub(super) struct Envelope<'a> {
    pub(super) uuid: &'a str,
    pub(super) parent: Option<&'a str>,
    pub(super) meta: &'a EntryMeta,
    pub(super) at: Timestamp,
}

impl Envelope<'_> {
    fn start(&self) -> Object {
        let meta = self.meta;
        let agent = meta.sidechain.as_deref().filter(|agent| *agent != UNNAMED_SIDECHAIN);
        Object::new()
            .optional("parentUuid", self.parent)
            .flag("isSidechain", meta.sidechain.is_some())
            .text("userType", "external")
            .text("cwd", meta.cwd.as_deref().unwrap_or(UNKNOWN_CWD))
            .text("sessionId", UNPLACED_SESSION)
            .text("version", ENCODED_VERSION)
            .text("gitBranch", meta.git_branch.as_deref().unwrap_or_default())
            .given("agentId", agent)
    }

    fn end(&self, object: Object, out: &mut Vec<u8>) {
        push_line(out, &object.text("uuid", self.uuid).text("timestamp", &iso(self.at)).finish());
    }

    /// Appends a compaction's boundary; `logical_parent` is what its parent would be.
    pub(super) fn push_boundary(&self, logical_parent: Option<&str>, metadata: &str, out: &mut Vec<u8>) {
        let object = self
            .start()
            .optional("logicalParentUuid", logical_parent)
            .text("type", "system")
            .text("subtype", "compact_boundary")
            .text("content", "Conversation compacted")
            .flag("isMeta", false)
            .text("level", "info")
            .raw("compactMetadata", metadata);
        self.end(object, out);
    }

    /// Appends a compaction's summary with this content, which is JSON.
    pub(super) fn push_summary(&self, content: &str, out: &mut Vec<u8>) {
        let object = self
            .start()
            .text("type", "user")
            .raw("message", &user_message(content))
            .flag("isVisibleInTranscriptOnly", true)
            .flag("isCompactSummary", true);
        self.end(object, out);
    }

    fn push_user(&self, content: &str, is_meta: bool, out: &mut Vec<u8>) {
        let object = self.start().text("type", "user").raw("message", &user_message(content));
        self.end(object.given_raw("isMeta", is_meta.then_some("true")), out);
    }
}

fn user_message(content: &str) -> String {
    Object::new().text("role", "user").raw("content", content).finish()
}

#[derive(Default)]
struct Encoder {
    out: Vec<u8>,
    /// For each entry so far: the uuid of its line, or of its nearest ancestor's.
    lines: HashMap<EntryId, Option<String>>,
    last_time: Option<Timestamp>,
    /// The uuid of the boundary that the line before is.
    boundary: Option<String>,
}

impl Encoder {
    fn entry(&mut self, entry: &Entry) {
        let parent = entry.parent.as_ref().and_then(|id| match self.lines.get(id) {
            Some(line) => line.clone(),
            // Not among the entries: it may be further up the chain.
            None => Some(uuid_of(id)),
        });
        let boundary = self.boundary.take();
        let written = match &entry.kind {
            EntryKind::Metadata | EntryKind::CompactionBoundary | EntryKind::Unreadable => {
                self.verbatim(entry, parent.as_deref())
            }
            EntryKind::CompactionSummary => {
                self.summary(entry, parent.as_deref(), boundary);
                true
            }
            EntryKind::Message
            | EntryKind::ToolResult
            | EntryKind::ToolResultArchived
            | EntryKind::ToolSummary
            | EntryKind::Instruction
            | EntryKind::Other(_) => self.message(entry, parent.as_deref()),
        };
        let line = if written { Some(uuid_of(&entry.id)) } else { parent };
        if written && entry.kind == EntryKind::CompactionBoundary {
            self.boundary.clone_from(&line);
        }
        self.lines.insert(entry.id.clone(), line);
    }

    fn time(&mut self, entry: &Entry) -> Timestamp {
        let time = entry.timestamp.or(self.last_time).unwrap_or(Timestamp::EPOCH);
        self.last_time = Some(time);
        time
    }

    /// Writes a line of this runtime again as it was, with `parent` where it names one; returns whether it
    /// can be a parent.
    fn verbatim(&mut self, entry: &Entry, parent: Option<&str>) -> bool {
        let [Part::Opaque { runtime, json, .. }] = entry.parts.as_slice() else {
            return false;
        };
        let Some(mut line) = one_line(json).filter(|_| runtime == RUNTIME) else {
            return false;
        };
        let Ok(record) = Record::parse(line.as_bytes()) else {
            return false;
        };
        let has_uuid = record.uuid.is_some();
        // A user or assistant record without a message, which is metadata to us, makes loaders fail.
        let is_broken = record.is_type("user") || record.is_type("assistant");
        if is_broken || record.uuid_text().is_some_and(|id| !is_uuid(&id)) {
            return false;
        }
        if let (ParentLink::Of(id), Some(field)) = (record.parent(), record.parent_uuid)
            && parent != Some(id.as_ref())
        {
            let span = field.span();
            line.replace_range(span, &parent.map_or_else(|| "null".to_owned(), quote));
        }
        push_line(&mut self.out, &line);
        has_uuid
    }

    fn summary(&mut self, entry: &Entry, parent: Option<&str>, boundary: Option<String>) {
        let at = self.time(entry);
        let meta = &entry.meta;
        let boundary = boundary.unwrap_or_else(|| {
            let made_up = derive_uuid("boundary", entry.id.as_str());
            let envelope = Envelope { uuid: &made_up, parent: None, meta, at };
            envelope.push_boundary(parent, r#"{"trigger":"manual","preTokens":0}"#, &mut self.out);
            made_up
        });
        let envelope = Envelope { uuid: &uuid_of(&entry.id), parent: Some(&boundary), meta, at };
        envelope.push_summary(&content(entry), &mut self.out);
    }

    fn message(&mut self, entry: &Entry, parent: Option<&str>) -> bool {
        let has_words = entry.parts.is_empty() || entry.parts.iter().any(|part| block(part).is_some());
        if !entry.meta.visibility.agent || !has_words {
            return false;
        }
        let envelope =
            Envelope { uuid: &uuid_of(&entry.id), parent, meta: &entry.meta, at: self.time(entry) };
        match entry.role {
            Role::Assistant => {
                let object = envelope.start().raw("message", &answer(entry)).text("type", "assistant");
                envelope.end(object, &mut self.out);
            }
            // What is not from a person must not begin a turn.
            Role::System => envelope.push_user(&content(entry), true, &mut self.out),
            Role::User => {
                let is_meta = entry.kind == EntryKind::Instruction;
                envelope.push_user(&content(entry), is_meta, &mut self.out);
            }
            Role::Tool => envelope.push_user(&content(entry), false, &mut self.out),
        }
        true
    }
}

/// Returns the assistant's API message as JSON.
fn answer(entry: &Entry) -> String {
    let meta = &entry.meta;
    // Loaders merge the lines of one message by its id, and drop thinking of lines without one.
    let id = meta.message_id.clone();
    let id =
        id.unwrap_or_else(|| format!("msg_{}", derive_uuid("message", entry.id.as_str()).replace('-', "")));
    let usage = meta.usage.unwrap_or_default();
    let usage = Object::new()
        .number("input_tokens", usage.input_tokens)
        .number("cache_creation_input_tokens", usage.cache_write_tokens)
        .number("cache_read_input_tokens", usage.cache_read_tokens)
        .number("output_tokens", usage.output_tokens)
        .finish();
    Object::new()
        .text("id", &id)
        .text("type", "message")
        .text("role", "assistant")
        .text("model", meta.model.as_deref().unwrap_or("unknown"))
        .raw("content", &content(entry))
        .optional("stop_reason", meta.stop_reason.as_deref())
        .raw("stop_sequence", "null")
        .raw("usage", &usage)
        .finish()
}

/// Returns a message's content in the shape that it had.
fn content(entry: &Entry) -> String {
    match (entry.body, entry.parts.as_slice()) {
        (Body::Text, [Part::Text(text) | Part::Summary { text, .. }]) => quote(text),
        _ => blocks(&entry.parts),
    }
}

fn blocks(parts: &[Part]) -> String {
    list(parts.iter().filter_map(block))
}

pub(crate) fn block(part: &Part) -> Option<String> {
    let typed = |name: &str| Object::new().text("type", name);
    let object = match part {
        Part::Text(text) | Part::Summary { text, .. } => typed("text").text("text", text),
        Part::Thinking { encrypted: Some(data), .. } => typed("redacted_thinking").text("data", data),
        Part::Thinking { text, signature, .. } => {
            typed("thinking").text("thinking", text).given("signature", signature.as_deref())
        }
        Part::ToolCall { call_id, name, arguments } => {
            typed("tool_use").text("id", call_id).text("name", name).raw("input", &input(arguments))
        }
        Part::ToolResult { call_id, is_error, parts } => {
            let content = match parts.as_slice() {
                [Part::Text(text)] => quote(text),
                parts => blocks(parts),
            };
            typed("tool_result")
                .text("tool_use_id", call_id)
                .raw("content", &content)
                .flag("is_error", *is_error)
        }
        Part::Image { media_type, source } => {
            let source = match source {
                ImageSource::Base64(data) => {
                    typed("base64").text("media_type", media_type).text("data", data)
                }
                ImageSource::Url(url) => typed("url").text("url", url),
                // Whoever translates puts the bytes in first; without them there is nothing to send.
                ImageSource::Artifact(_) => return None,
            };
            typed("image").raw("source", &source.finish())
        }
        Part::File { name, media_type, data } => file(name, media_type.as_deref(), data.as_deref()?),
        Part::Opaque { runtime, json, .. } if runtime == RUNTIME => return one_line(json),
        Part::Opaque { .. } => return None,
    };
    Some(object.finish())
}

fn file(name: &str, media_type: Option<&str>, data: &str) -> Object {
    const PLAIN: &str = "text/plain";
    // The API takes text of one type only.
    let is_text = media_type.is_none_or(|kind| kind.starts_with("text/"));
    let (kind, media_type) = if is_text { ("text", PLAIN) } else { ("base64", media_type.unwrap_or(PLAIN)) };
    let source = Object::new().text("type", kind).text("media_type", media_type).text("data", data).finish();
    let object = Object::new().text("type", "document").raw("source", &source);
    object.given("title", Some(name).filter(|name| *name != UNTITLED))
}

/// Returns arguments as the object that the API demands, byte for byte where they are one.
fn input(arguments: &str) -> String {
    match one_line(arguments) {
        Some(json) if json.starts_with('{') => json,
        Some(json) => Object::new().raw("value", &json).finish(),
        None => Object::new().text("text", arguments).finish(),
    }
}

/// Returns an entry's id as the uuid of a line: itself where it is one.
pub(super) fn uuid_of(id: &EntryId) -> String {
    if is_uuid(id.as_str()) { id.as_str().to_owned() } else { derive_uuid("entry", id.as_str()) }
}

/// Returns whether a text is 32 hex digits with hyphens where a uuid has them.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Makes up a uuid: the same for the same purpose and name, everywhere.
///
/// It says version 4, random, although it is a hash: some readers of transcripts accept no other.
pub(super) fn derive_uuid(purpose: &str, name: &str) -> String {
    let mut hasher = blake3::Hasher::new_derive_key(UUID_CONTEXT);
    hasher.update(purpose.as_bytes()).update(&[0]).update(name.as_bytes());
    let hex = hasher.finalize().to_hex();
    let digits = |range| hex.get(range).unwrap_or_default();
    format!("{}-{}-4{}-8{}-{}", digits(0..8), digits(8..12), digits(13..16), digits(17..20), digits(20..32))
}

#[cfg(test)]
mod tests;
