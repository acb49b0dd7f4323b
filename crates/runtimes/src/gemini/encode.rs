//! From entries to lines that Gemini CLI's loader accepts.
//!
//! The loader wants a header with a session and a project, and an id in each message. A result is written once, as a
//! user's message: in `toolCalls` too it would reach the model twice.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Body, Entry, EntryKind, Part, Role, Timestamp};

use super::RUNTIME;
use super::part::write;
use super::place::project_hash;
use super::read::OPAQUE_RESTATED;
use crate::json::{Object, list, one_line, push_line};
use crate::lines::{OPAQUE_REPLACEMENT, iso};
use crate::placing::{UNKNOWN_CWD, UNPLACED_SESSION};

/// How a call's tool is named in its result when the call is not there.
const UNKNOWN_TOOL: &str = "tool";

/// Encodes entries in their order.
///
/// Left out are entries that a model does not see and that are no lines of this runtime, marks of going back, and parts
/// that only another runtime understands.
pub(super) fn encode(entries: &[Entry]) -> Vec<u8> {
    let at = entries.iter().find_map(|entry| entry.timestamp).unwrap_or(Timestamp::EPOCH);
    let mut encoder = Encoder { out: Vec::new(), at, names: HashMap::new(), ids: HashSet::new() };
    if !entries.first().is_some_and(is_header) {
        let cwd = entries.iter().find_map(|entry| entry.meta.cwd.as_deref());
        push_line(&mut encoder.out, &header(UNPLACED_SESSION, cwd.unwrap_or(UNKNOWN_CWD), at));
    }
    for entry in entries {
        encoder.entry(entry);
    }
    encoder.out
}

/// Encodes a summary as a checkpoint: it replaces all that stands before it.
pub(super) fn compaction(summary: &str, at: Timestamp) -> Vec<u8> {
    let mut encoder = Encoder { out: Vec::new(), at, names: HashMap::new(), ids: HashSet::new() };
    encoder.checkpoint(summary);
    encoder.out
}

/// Returns a session's header.
pub(super) fn header(session: &str, cwd: &str, at: Timestamp) -> String {
    let at = iso(at);
    Object::new()
        .text("sessionId", session)
        .text("projectHash", &project_hash(cwd))
        .text("startTime", &at)
        .text("lastUpdated", &at)
        .text("kind", "main")
        .finish()
}

fn is_header(entry: &Entry) -> bool {
    matches!(entry.parts.as_slice(), [Part::Opaque { runtime, kind, .. }] if runtime == RUNTIME && kind == "header")
}

/// Returns an id that the same text gives everywhere.
pub(super) fn derived_id(text: &str) -> String {
    let hash = blake3::Hash::from_bytes(blake3::derive_key("stemmata.gemini.v1", text.as_bytes())).to_hex();
    hash.split_at(32).0.to_owned()
}

struct Encoder {
    out: Vec<u8>,
    at: Timestamp,
    /// The tools of the calls so far.
    names: HashMap<String, String>,
    /// The ids so far: a second message with an id would replace the first.
    ids: HashSet<String>,
}

impl Encoder {
    fn entry(&mut self, entry: &Entry) {
        if let Some(time) = entry.timestamp {
            self.at = time;
        }
        match entry.kind {
            EntryKind::Metadata | EntryKind::CompactionBoundary => self.verbatim(entry),
            EntryKind::CompactionSummary => self.summary(entry),
            EntryKind::Unreadable => {}
            _ if !entry.meta.visibility.agent => {}
            _ if entry.role == Role::Assistant => self.answer(entry),
            _ => self.user(entry),
        }
    }

    /// Writes a line of this runtime again.
    fn verbatim(&mut self, entry: &Entry) {
        let [Part::Opaque { runtime, kind, json }] = entry.parts.as_slice() else { return };
        // What is said again was said before, and its list alone is no line.
        if runtime != RUNTIME || matches!(kind.as_str(), "$rewindTo" | OPAQUE_RESTATED) {
            return;
        }
        if let Some(line) = one_line(json) {
            push_line(&mut self.out, &line);
        }
    }

    fn summary(&mut self, entry: &Entry) {
        let kept = entry.parts.iter().find_map(|part| match part {
            Part::Opaque { runtime, kind, json } if runtime == RUNTIME && kind == OPAQUE_REPLACEMENT => {
                one_line(json)
            }
            _ => None,
        });
        if let Some(kept) = kept {
            return self.set_messages(&kept);
        }
        let summary = entry.parts.iter().find_map(|part| match part {
            Part::Summary { text, .. } | Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        self.checkpoint(summary.unwrap_or_default());
    }

    fn checkpoint(&mut self, summary: &str) {
        let content = format!("[{}]", Object::new().text("text", summary).finish());
        let message = Object::new()
            .text("id", &derived_id(summary))
            .text("timestamp", &iso(self.at))
            .text("type", "user")
            .raw("content", &content);
        self.set_messages(&format!("[{}]", message.finish()));
    }

    fn set_messages(&mut self, messages: &str) {
        let set = Object::new().raw("messages", messages).text("lastUpdated", &iso(self.at)).finish();
        push_line(&mut self.out, &Object::new().raw("$set", &set).finish());
    }

    /// Begins a message with an id that none before it has.
    fn message(&mut self, entry: &Entry, kind: &str) -> Object {
        let own = entry.id.as_str();
        let mut id = own.to_owned();
        let mut copy = 1_u64;
        while !self.ids.insert(id.clone()) {
            copy += 1;
            id = format!("{own}-{copy}");
        }
        Object::new().text("id", &id).text("timestamp", &iso(self.at)).text("type", kind)
    }

    fn user(&mut self, entry: &Entry) {
        let names = &self.names;
        let name_of = |call: &str| names.get(call).cloned().unwrap_or_else(|| UNKNOWN_TOOL.to_owned());
        let items: Vec<String> = entry.parts.iter().filter_map(|part| write(part, &name_of)).collect();
        let content = content(entry.body, &entry.parts, &items);
        let line = self.message(entry, "user").raw("content", &content).finish();
        push_line(&mut self.out, &line);
    }

    /// Writes an answer: thoughts, what is said, calls. Where parts stand in another order, it becomes several.
    fn answer(&mut self, entry: &Entry) {
        let mut answer = Answer::default();
        for part in &entry.parts {
            if !answer.take(part, &iso(self.at)) {
                self.finish_answer(entry, &std::mem::take(&mut answer));
                answer.take(part, &iso(self.at));
            }
            if let Part::ToolCall { call_id, name, .. } = part {
                self.names.insert(call_id.clone(), name.clone());
            }
        }
        self.finish_answer(entry, &answer);
    }

    fn finish_answer(&mut self, entry: &Entry, answer: &Answer) {
        let object = self.message(entry, "gemini");
        let object = object.raw("content", &content(entry.body, &answer.said, &answer.content));
        let calls = (!answer.calls.is_empty()).then(|| list(&answer.calls));
        let object =
            object.raw("thoughts", &list(&answer.thoughts)).given("model", entry.meta.model.as_deref());
        push_line(&mut self.out, &object.given_raw("toolCalls", calls.as_deref()).finish());
    }
}

/// Returns a content: one text alone as a string, where it was one.
fn content(body: Body, parts: &[Part], items: &[String]) -> String {
    match parts {
        [] if body == Body::Text => "\"\"".to_owned(),
        [Part::Text(text)] if body == Body::Text => crate::json::quote(text),
        _ => list(items),
    }
}

/// An answer that is being written.
#[derive(Default)]
struct Answer {
    thoughts: Vec<String>,
    /// What is said, and how it is written.
    said: Vec<Part>,
    content: Vec<String>,
    calls: Vec<String>,
}

impl Answer {
    /// Takes the next part, and returns false where it belongs before what is there already.
    fn take(&mut self, part: &Part, at: &str) -> bool {
        let is_own = |wanted: &str| matches!(part, Part::Opaque { runtime, kind, .. } if runtime == RUNTIME && kind == wanted);
        if let Part::ToolCall { call_id, name, arguments } = part {
            self.calls.push(call(call_id, name, arguments, at));
            return true;
        }
        if let Some(json) = opaque_json(part).filter(|_| is_own("call")) {
            self.calls.push(json);
            return true;
        }
        if !self.calls.is_empty() {
            return false;
        }
        match part {
            Part::Thinking { text, .. } if self.content.is_empty() => self.thoughts.push(thought(text, at)),
            Part::Opaque { .. } if is_own("thought") && self.content.is_empty() => {
                self.thoughts.extend(opaque_json(part));
            }
            part => {
                if let Some(item) = write(part, &|_| UNKNOWN_TOOL.to_owned()) {
                    self.said.push(part.clone());
                    self.content.push(item);
                }
            }
        }
        true
    }
}

fn opaque_json(part: &Part) -> Option<String> {
    match part {
        Part::Opaque { runtime, json, .. } if runtime == RUNTIME => one_line(json),
        _ => None,
    }
}

fn call(call_id: &str, name: &str, arguments: &str, at: &str) -> String {
    let is_object = arguments.trim_start().starts_with('{');
    let args = one_line(arguments).filter(|_| is_object);
    let args = args.unwrap_or_else(|| Object::new().text("input", arguments).finish());
    Object::new()
        .text("id", call_id)
        .text("name", name)
        .raw("args", &args)
        .text("status", "success")
        .text("timestamp", at)
        .finish()
}

/// Writes a thought; its subject is what stands in bold in its first line.
fn thought(text: &str, at: &str) -> String {
    let split = text.strip_prefix("**").and_then(|rest| rest.split_once("**\n"));
    let (subject, description) = split.filter(|(subject, _)| !subject.is_empty()).unwrap_or(("", text));
    Object::new().text("subject", subject).text("description", description).text("timestamp", at).finish()
}
