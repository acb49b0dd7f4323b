//! From entries to lines of the third version that pi's loader accepts.
//!
//! The loader wants a header first, `id` and `parentId` in each entry, else it drops history in silence, and `usage` in each
//! answer, else it crashes. Answers that are one message become one line: it takes calls that another answer follows for
//! unanswered.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Body, Entry, EntryId, EntryKind, ImageSource, Maker, Part, Role, Timestamp, Usage};

use super::RUNTIME;
use super::order::{first_kept, kept, retained_in};
use super::record::{Kind, Record};
use crate::adapter::Keeps;
use crate::json::{Field, Object, list, members, one_line, push_line, quote};
use crate::lines::iso;
use crate::placing::{UNKNOWN_CWD, UNPLACED_SESSION, replace};

/// The model of answers that do not say theirs.
pub(super) const UNKNOWN_MODEL: &str = "unknown";

/// Separates ids of entries from every other use of the hash.
const ID_CONTEXT: &str = "stemmata.pi.entry.v1";

/// Encodes entries in their order, each the child of the one before unless it hangs on another that was written.
///
/// Left out are entries that a model does not see and that are no lines of this runtime, and parts that only another
/// runtime understands. A compaction keeps nothing unless it is of this runtime and says what.
pub(super) fn encode(entries: &[Entry]) -> Vec<u8> {
    let at = entries.iter().find_map(|entry| entry.timestamp).unwrap_or(Timestamp::EPOCH);
    let mut encoder = Encoder { at, ..Encoder::default() };
    if !entries.first().is_some_and(is_header) {
        let cwd = entries.iter().find_map(|entry| entry.meta.cwd.as_deref()).unwrap_or(UNKNOWN_CWD);
        push_line(&mut encoder.out, &header(UNPLACED_SESSION, at, cwd));
    }
    let mut rest = entries;
    while let Some((entry, after)) = rest.split_first() {
        let more = after.iter().take_while(|next| is_same_message(entry, next)).count();
        let before = entries.get(..entries.len() - rest.len()).unwrap_or_default();
        encoder.entry(entry, after.get(..more).unwrap_or_default(), before);
        rest = after.get(more..).unwrap_or_default();
    }
    encoder.out
}

/// Encodes a summary as a compaction, to follow what stands last on the chain.
pub(super) fn compaction(summary: &str, keeps: &Keeps<'_>, at: Timestamp, is_linear: bool) -> Vec<u8> {
    let node =
        keeps.last.entries.iter().rfind(|entry| !is_header(entry) && entry.kind != EntryKind::Unreadable);
    let last = node.map(|entry| entry.id.as_str());
    let object = Object::new().text("type", "compaction");
    let object = if is_linear {
        object
    } else {
        let id = derive(&format!("{summary}\n{}", last.unwrap_or_default()), 0);
        let first = keeps.keeps_from.map_or(id.as_str(), EntryId::as_str);
        object.text("id", &id).optional("parentId", last).text("firstKeptEntryId", first)
    };
    let mut line = object
        .text("timestamp", &iso(at))
        .text("summary", summary)
        .number("tokensBefore", 0)
        .finish()
        .into_bytes();
    line.push(b'\n');
    line
}

/// Returns a header.
pub(super) fn header(session: &str, at: Timestamp, cwd: &str) -> String {
    let object = Object::new().text("type", "session").number("version", 3);
    object.text("id", session).text("timestamp", &iso(at)).text("cwd", cwd).finish()
}

/// Returns the result that closes a call.
pub(super) fn result(call_id: &str, name: &str, is_error: bool, content: &str, at: Timestamp) -> Object {
    Object::new()
        .text("role", "toolResult")
        .text("toolCallId", call_id)
        .text("toolName", name)
        .raw("content", content)
        .flag("isError", is_error)
        .raw("timestamp", &millis(at))
}

/// Returns a text as a content block.
pub(super) fn text_block(text: &str) -> String {
    Object::new().text("type", "text").text("text", text).finish()
}

/// Returns an id as the client makes them, from a longer one.
pub(super) fn derive(id: &str, attempt: u64) -> String {
    let input = if attempt == 0 { id.to_owned() } else { format!("{id}\n{attempt}") };
    let hash = blake3::Hash::from_bytes(blake3::derive_key(ID_CONTEXT, input.as_bytes())).to_hex();
    hash.split_at(8).0.to_owned()
}

fn millis(at: Timestamp) -> String {
    at.as_micros().div_euclid(1000).to_string()
}

fn is_header(entry: &Entry) -> bool {
    matches!(entry.parts.as_slice(), [Part::Opaque { runtime, kind, .. }] if runtime == RUNTIME && kind == "session")
}

fn is_same_message(entry: &Entry, next: &Entry) -> bool {
    let is_answer = |entry: &Entry| {
        entry.role == Role::Assistant && entry.kind == EntryKind::Message && entry.meta.visibility.agent
    };
    is_answer(entry)
        && is_answer(next)
        && entry.meta.message_id.is_some()
        && entry.meta.message_id == next.meta.message_id
}

#[derive(Default)]
struct Encoder {
    out: Vec<u8>,
    at: Timestamp,
    /// Ids that were written, by the ids of their entries.
    ids: HashMap<String, String>,
    used: HashSet<String>,
    last: Option<String>,
    /// Names of tools, by the ids of their calls.
    tools: HashMap<String, String>,
}

impl Encoder {
    /// Makes an entry's id and finds its parent's.
    fn link(&mut self, entry: &Entry) -> (String, Option<String>) {
        let own = entry.id.as_str();
        let parent = entry.parent.as_ref().filter(|_| !self.ids.contains_key(own));
        let parent = parent.and_then(|parent| self.ids.get(parent.as_str()).cloned());
        // A second line of one entry hangs on the first, as whatever names no parent that was written.
        let parent = parent.or_else(|| self.last.clone());
        let is_plain = own.len() == 8 && own.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let derived = (0..).map(|attempt| derive(own, attempt));
        let mut candidates = is_plain.then(|| own.to_owned()).into_iter().chain(derived);
        let id = candidates.find(|id| !self.used.contains(id)).unwrap_or_default();
        self.used.insert(id.clone());
        self.ids.insert(own.to_owned(), id.clone());
        self.last = Some(id.clone());
        (id, parent)
    }

    /// Begins a line.
    fn line(&mut self, kind: &str, entry: &Entry) -> Object {
        let (id, parent) = self.link(entry);
        let object = Object::new().text("type", kind).text("id", &id);
        object.optional("parentId", parent.as_deref()).text("timestamp", &iso(self.at))
    }

    fn message(&mut self, entry: &Entry, message: Object) {
        let line = self.line("message", entry).raw("message", &message.finish()).finish();
        push_line(&mut self.out, &line);
    }

    /// Writes a compaction that keeps what begins with an entry, or nothing.
    fn compacted(&mut self, entry: &Entry, first: Option<String>) {
        let line = self.line("compaction", entry).text("summary", &summary(entry));
        let own = self.last.clone().unwrap_or_default();
        let line = line.text("firstKeptEntryId", &first.unwrap_or(own)).number("tokensBefore", 0);
        // The number stays beside the id, which is what the loader of this version looks at.
        let number = entry.parts.iter().find_map(kept).and_then(|kept| kept.parse().ok());
        let line = number.into_iter().fold(line, |line, number| line.number("firstKeptEntryIndex", number));
        let retained = entry.parts.iter().find_map(retained_in).and_then(one_line);
        let line = retained.into_iter().fold(line, |line, list| line.raw("retainedTail", &list));
        push_line(&mut self.out, &line.finish());
    }

    /// Writes an entry, the further ones that are one message with it, and knows those before.
    fn entry(&mut self, entry: &Entry, more: &[Entry], before: &[Entry]) {
        self.at = entry.timestamp.unwrap_or(self.at);
        match entry.kind {
            EntryKind::Metadata => self.verbatim(entry),
            EntryKind::CompactionBoundary | EntryKind::Unreadable => {}
            _ if !entry.meta.visibility.agent => {}
            EntryKind::CompactionSummary => {
                let kept =
                    first_kept(entry, before).and_then(|first| self.ids.get(first.id.as_str()).cloned());
                self.compacted(entry, kept);
            }
            _ => match entry.role {
                Role::Assistant => self.answer(entry, more),
                Role::Tool => self.results(entry),
                Role::User if entry.kind != EntryKind::Instruction => {
                    self.said(entry, entry.parts.iter());
                }
                Role::User | Role::System => self.instruction(entry),
            },
        }
    }

    /// Writes a line of this runtime again, in its place.
    fn verbatim(&mut self, entry: &Entry) {
        let [Part::Opaque { runtime, json, .. }] = entry.parts.as_slice() else { return };
        let Some(json) = one_line(json).filter(|_| runtime == RUNTIME) else { return };
        let Ok(record) = Record::parse(json.as_bytes()) else { return };
        let envelope = &record.envelope;
        let start = record.whole.raw().find('{').map_or(0, |at| at + 1);
        let mut edits = Vec::new();
        let mut added = Vec::new();
        let mut set = |field: Option<Field<'_>>, key: &str, value: String| match field {
            Some(field) => edits.push((field.span(), value)),
            None => added.push(format!("{}:{value},", quote(key))),
        };
        if record.kind == Kind::Session {
            if !self.out.is_empty() {
                return;
            }
            set(envelope.version, "version", "3".to_owned());
        } else {
            let (id, parent) = self.link(entry);
            set(envelope.id, "id", quote(&id));
            set(envelope.parent_id, "parentId", parent.map_or_else(|| "null".to_owned(), |id| quote(&id)));
        }
        if !added.is_empty() {
            edits.push((start..start, added.concat()));
        }
        replace(json.as_bytes(), edits, &mut self.out);
        self.out.push(b'\n');
    }

    /// Writes an answer; entries that are one message with it are part of it.
    fn answer(&mut self, entry: &Entry, more: &[Entry]) {
        let parts = || entry.parts.iter().chain(more.iter().flat_map(|entry| &entry.parts));
        let model = entry.meta.model.as_deref();
        let is_encrypted = parts().any(|part| matches!(part, Part::Thinking { encrypted: Some(_), .. }));
        let (api, provider) = maker(model, is_encrypted);
        for part in parts() {
            if let Part::ToolCall { call_id, name, .. } = part {
                self.tools.insert(call_id.clone(), name.clone());
            }
        }
        let blocks: Vec<String> = parts().filter_map(|part| answer_block(part, provider)).collect();
        if blocks.is_empty() && parts().next().is_some() {
            return;
        }
        let calls = parts().any(|part| matches!(part, Part::ToolCall { .. }));
        let made_up = if calls { "toolUse" } else { "stop" };
        let known = ["stop", "length", "toolUse", "error", "aborted"];
        let stop = entry.meta.stop_reason.as_deref().filter(|stop| known.contains(stop));
        let message = Object::new()
            .text("role", "assistant")
            .raw("content", &list(blocks))
            .text("api", api)
            .text("provider", provider)
            .text("model", model.unwrap_or(UNKNOWN_MODEL))
            .raw("usage", &usage(entry.meta.usage.unwrap_or_default()))
            .text("stopReason", stop.unwrap_or(made_up))
            .raw("timestamp", &millis(self.at));
        self.message(entry, message);
        let own = self.last.clone().unwrap_or_default();
        for entry in more {
            self.ids.insert(entry.id.as_str().to_owned(), own.clone());
        }
    }

    /// Writes each result in a line of its own, and what else was said with them behind.
    fn results(&mut self, entry: &Entry) {
        for part in &entry.parts {
            let Part::ToolResult { call_id, is_error, parts } = part else { continue };
            let name = self.tools.get(call_id).cloned().unwrap_or_else(|| "tool".to_owned());
            let message = result(call_id, &name, *is_error, &blocks(parts.iter()), self.at);
            self.message(entry, message);
        }
        let others = || entry.parts.iter().filter(|part| !matches!(part, Part::ToolResult { .. }));
        if others().next().is_some() {
            self.said(entry, others());
        }
    }

    fn said<'p>(&mut self, entry: &Entry, parts: impl Iterator<Item = &'p Part> + Clone) {
        let content = content(entry.body, parts);
        let message = Object::new().text("role", "user").raw("content", &content);
        let message = message.raw("timestamp", &millis(self.at));
        self.message(entry, message);
    }

    fn instruction(&mut self, entry: &Entry) {
        let line = if let [Part::Summary { text, .. }] = entry.parts.as_slice() {
            self.line("branch_summary", entry).text("fromId", "root").text("summary", text)
        } else {
            let content = content(entry.body, entry.parts.iter());
            let line = self.line("custom_message", entry).text("customType", "stemmata");
            line.raw("content", &content).flag("display", entry.meta.visibility.user)
        };
        push_line(&mut self.out, &line.finish());
    }
}

fn summary(entry: &Entry) -> String {
    let summary = entry.parts.iter().find_map(|part| match part {
        Part::Summary { text, .. } => Some(text.clone()),
        _ => None,
    });
    summary.unwrap_or_default()
}

/// Returns which API and provider made a model: reasoning goes back to the same only.
fn maker(model: Option<&str>, is_encrypted: bool) -> (&'static str, &'static str) {
    let unnamed = is_encrypted.then_some(Maker::OpenAi);
    match model.map_or(unnamed, Maker::of_model) {
        Some(maker @ Maker::Anthropic) => ("anthropic-messages", maker.as_str()),
        Some(maker @ Maker::OpenAi) => ("openai-responses", maker.as_str()),
        Some(maker @ Maker::Google) => ("google-generative-ai", maker.as_str()),
        None => ("openai-completions", UNKNOWN_MODEL),
    }
}

fn usage(usage: Usage) -> String {
    let total = [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens]
        .into_iter()
        .fold(0, u64::saturating_add);
    Object::new()
        .number("input", usage.input_tokens)
        .number("output", usage.output_tokens)
        .number("cacheRead", usage.cache_read_tokens)
        .number("cacheWrite", usage.cache_write_tokens)
        .number("totalTokens", total)
        // What it cost is not known: none of these requests was this client's.
        .raw("cost", r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}"#)
        .finish()
}

fn answer_block(part: &Part, provider: &str) -> Option<String> {
    let typed = |kind: &str| Object::new().text("type", kind);
    match part {
        Part::Thinking { text, signature, encrypted } => {
            let object = typed("thinking").text("thinking", text);
            let object = match (signature, encrypted) {
                (Some(signature), _) => object.text("thinkingSignature", signature),
                (None, Some(encrypted)) if provider == "anthropic" => {
                    object.text("thinkingSignature", encrypted).flag("redacted", true)
                }
                (None, Some(encrypted)) => object.text("thinkingSignature", &reasoning_item(text, encrypted)),
                (None, None) => object,
            };
            Some(object.finish())
        }
        Part::ToolCall { call_id, name, arguments } => {
            let call = typed("toolCall").text("id", call_id).text("name", name);
            Some(call.raw("arguments", &as_object(arguments)).finish())
        }
        _ => block(part),
    }
}

/// Returns encrypted reasoning as the client keeps it: the item of the Responses API, in a string.
fn reasoning_item(text: &str, encrypted: &str) -> String {
    let summary = Object::new().text("type", "summary_text").text("text", text).finish();
    let summary = if text.is_empty() { "[]".to_owned() } else { format!("[{summary}]") };
    let object = Object::new().text("type", "reasoning").raw("summary", &summary);
    object.text("encrypted_content", encrypted).finish()
}

/// Returns arguments as the object that the client wants.
fn as_object(arguments: &str) -> String {
    if arguments.trim().is_empty() {
        return "{}".to_owned();
    }
    let object = one_line(arguments).filter(|json| members(Field::whole(json)).is_some());
    object.unwrap_or_else(|| Object::new().text("input", arguments).finish())
}

/// Returns what a message says: a string where it was one.
fn content<'p>(body: Body, parts: impl Iterator<Item = &'p Part> + Clone) -> String {
    let mut said = parts.clone();
    match (body, said.next(), said.next()) {
        (Body::Text, Some(Part::Text(text)), None) => quote(text),
        _ => blocks(parts),
    }
}

fn blocks<'p>(parts: impl Iterator<Item = &'p Part>) -> String {
    list(parts.filter_map(block))
}

/// Returns a part as a content block, none for one that has no place in it.
fn block(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(text_block(text)),
        Part::Image { media_type, source: ImageSource::Base64(data) } => {
            let image = Object::new().text("type", "image").text("data", data);
            Some(image.text("mimeType", media_type).finish())
        }
        Part::Image { source: ImageSource::Url(url), .. } => Some(text_block(&format!("[image {url}]"))),
        Part::File { name, media_type, data } => {
            let is_text = media_type.as_deref().is_none_or(|kind| kind.starts_with("text/"));
            let data = data.as_deref().filter(|_| is_text)?;
            Some(text_block(&format!("File {name}:\n{data}")))
        }
        Part::Opaque { runtime, json, .. } if runtime == RUNTIME => one_line(json),
        // Whoever translates puts an artifact's bytes in first; without them there is nothing to send.
        Part::Image { source: ImageSource::Artifact(_), .. }
        | Part::Thinking { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. }
        | Part::Opaque { .. } => None,
    }
}
