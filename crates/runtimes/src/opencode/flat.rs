//! Messages as versions 2.x keep and export them: each holds what its type says, without parts.
//!
//! An answer is one request: its calls hold their results. A compaction is one message, which holds the summary and what was
//! kept of the end.

pub(super) mod encode;

use std::borrow::Cow;
use std::ops::Range;

use stemmata_model::{EntryKind, ImageSource, Part, Role};

use super::RUNTIME;
use super::read::{COMPACTION, file_at, thinking, usage};
use super::record::{Flat, Info, Item, Message, Session, State, info};
use crate::document::file;
use crate::json::{Field, Object, members, owned, text};
use crate::lines::{Line, entry_id, opaque};

/// Types of messages that say something of the session, and nothing to a model.
const ASIDE: [&str; 4] = ["agent-switched", "model-switched", "location-switched", "idle"];

/// Media types of files that the client hands over as text.
const TEXTS: [&str; 2] = ["text/plain", "application/x-directory"];

/// Returns a message of versions 2.x; older ones tell of themselves in `info`.
pub(super) fn of(element: Field<'_>) -> Option<Flat<'_>> {
    let is_older = Message::read(element).ok()?.info.is_some();
    Flat::read(element).ok().filter(|flat| !is_older && flat.kind.is_some())
}

/// Returns whether a session's messages are all of versions 2.x, or all of older ones; none where it has none, or both.
pub(super) fn is_flat(session: &Session<'_>) -> Option<bool> {
    let messages = session.messages.and_then(|messages| messages.elements()).unwrap_or_default();
    let mut all = messages.into_iter().map(|element| of(element).is_some());
    let first = all.next()?;
    all.all(|one| one == first).then_some(first)
}

/// Returns the pieces of an answer.
pub(super) fn items<'a>(flat: &Flat<'a>) -> Vec<Field<'a>> {
    flat.content.and_then(|content| content.elements()).unwrap_or_default()
}

/// A call that is not done.
pub(super) struct OpenCall {
    pub(super) id: String,
    /// Where its state stands.
    pub(super) state: Range<usize>,
    /// What it was asked, as an object.
    pub(super) input: String,
}

/// Returns the call that a piece of an answer is, where that is not done.
pub(super) fn open_call(item: Field<'_>) -> Option<OpenCall> {
    let read = Item::read(item).ok().filter(|read| text(read.kind).as_deref() == Some("tool"))?;
    let field = read.state?;
    let state = State::read(field).ok()?;
    if matches!(text(state.status).as_deref(), Some("completed" | "error")) {
        return None;
    }
    let input = state.input.filter(|input| input.raw().starts_with('{')).map_or("{}", |input| input.raw());
    Some(OpenCall { id: call_id(&read), state: field.span(), input: input.to_owned() })
}

/// Returns whether the times of an answer say that it goes on.
pub(super) fn is_open(time: Field<'_>) -> bool {
    let is_open =
        |members: &[crate::json::Member<'_>]| members.iter().all(|member| member.name != "completed");
    members(time).is_some_and(|members| !members.is_empty() && is_open(&members))
}

/// Returns the state of a call that failed.
pub(super) fn closed(input: &str, error: &str) -> String {
    let error = Object::new().text("type", "tool.interrupted").text("message", error).finish();
    Object::new().text("status", "error").raw("input", input).raw("error", &error).finish()
}

/// Reads a message: its entries begin where their bytes do.
pub(super) fn entries(element: Field<'_>, flat: &Flat<'_>) -> Vec<(usize, Line)> {
    let start = element.span().start;
    let kind = text(flat.kind).unwrap_or_default();
    let line = match kind.as_ref() {
        "user" => user(flat),
        "assistant" => return assistant(start, flat),
        COMPACTION => return compaction(element, flat),
        "system" => told(Role::System, EntryKind::Instruction, owned(flat.text)),
        // What plugins, skills and the client itself say in the user's place.
        "synthetic" | "skill" => told(Role::User, EntryKind::Instruction, owned(flat.text)),
        "shell" => told(Role::User, EntryKind::Message, Some(command(flat))),
        name => {
            let mut line = Line::metadata(RUNTIME, name, element.raw(), None);
            line.unknown = (!ASIDE.contains(&name)).then(|| name.to_owned());
            line
        }
    };
    vec![(start, line)]
}

fn told(role: Role, kind: EntryKind, said: Option<String>) -> Line {
    let parts: Vec<Part> = said.filter(|said| !said.is_empty()).map(Part::Text).into_iter().collect();
    let mut line = Line::said(role, kind, parts, None);
    line.meta.visibility.agent = !line.parts.is_empty();
    line
}

fn user(flat: &Flat<'_>) -> Line {
    let mut line = told(Role::User, EntryKind::Message, owned(flat.text));
    for attached in flat.files.and_then(|files| files.elements()).unwrap_or_default() {
        line.parts.push(attachment(attached));
    }
    for skill in flat.skills.and_then(|skills| skills.elements()).unwrap_or_default() {
        line.parts.extend(Item::read(skill).ok().and_then(|skill| owned(skill.text)).map(Part::Text));
    }
    line.meta.visibility.agent = !line.parts.is_empty();
    line.entitle();
    line
}

/// Returns a file: its bytes stand beside its type, or in its address.
fn attachment(field: Field<'_>) -> Part {
    let read = Item::read(field).unwrap_or_default();
    let media_type = owned(read.media_type).unwrap_or_default();
    let name = owned(read.name);
    let digits = owned(read.data).filter(|digits| !digits.is_empty());
    let known = match (digits, owned(read.uri)) {
        (Some(digits), _) if media_type.starts_with("image/") => {
            Some(Part::Image { media_type, source: ImageSource::Base64(digits) })
        }
        (Some(digits), _) => {
            let is_text = TEXTS.contains(&media_type.as_str());
            let media_type = if is_text { "text/plain".to_owned() } else { media_type };
            Some(file(name.unwrap_or_default(), media_type, Some(digits)))
        }
        (None, Some(uri)) => Some(file_at(media_type, uri, name)),
        (None, None) => None,
    };
    known.unwrap_or_else(|| opaque(RUNTIME, "file", field.raw()))
}

/// Returns what the user ran, and what came out.
fn command(flat: &Flat<'_>) -> String {
    let output = flat.output.and_then(|output| match output.text() {
        Some(output) => Some(output.into_owned()),
        None => owned(Flat::read(output).ok()?.output),
    });
    let command = text(flat.command).unwrap_or_default();
    format!("Ran `{command}`\n\n{}", output.unwrap_or_default()).trim_end().to_owned()
}

fn assistant(start: usize, flat: &Flat<'_>) -> Vec<(usize, Line)> {
    let mut line = Line::said(Role::Assistant, EntryKind::Message, Vec::new(), None);
    line.meta.message_id = owned(flat.id);
    line.meta.model = owned(info(flat.model).id);
    line.meta.usage = flat.tokens.and_then(usage);
    line.meta.stop_reason = owned(flat.finish);
    let mut results = Vec::new();
    for item in items(flat) {
        let read = Item::read(item).unwrap_or_default();
        let kind = text(read.kind).unwrap_or(Cow::Borrowed("value"));
        let part = match kind.as_ref() {
            "text" => owned(read.text).filter(|text| !text.is_empty()).map(Part::Text),
            // Betas called what is the provider's own `state`.
            "reasoning" => Some(thinking(read.text, read.native.or(read.state).or(read.provider_state))),
            "tool" => Some(call(&read)),
            name => {
                line.unknown.get_or_insert_with(|| name.to_owned());
                Some(opaque(RUNTIME, name, item.raw()))
            }
        };
        line.parts.extend(part);
        if kind == "tool" {
            results.extend(result(flat, &read));
        }
    }
    line.meta.visibility.agent = !line.parts.is_empty();
    let mut begun = vec![(start, line)];
    begun.append(&mut results);
    begun
}

fn call_id(read: &Item<'_>) -> String {
    owned(read.call_id).or_else(|| owned(read.id)).unwrap_or_default()
}

fn call(read: &Item<'_>) -> Part {
    let state = read.state.and_then(|state| State::read(state).ok()).unwrap_or_default();
    let arguments = match state.input {
        // Of a call that is still coming in, the text so far.
        Some(input) => input.text().map_or_else(|| input.raw().to_owned(), Cow::into_owned),
        None => "{}".to_owned(),
    };
    Part::ToolCall { call_id: call_id(read), name: owned(read.name).unwrap_or_default(), arguments }
}

fn result(flat: &Flat<'_>, read: &Item<'_>) -> Option<(usize, Line)> {
    let state = State::read(read.state?).ok()?;
    let is_error = match text(state.status).as_deref() {
        Some("completed") => false,
        Some("error") => true,
        _ => return None,
    };
    let is_there = |field: &Field<'_>| !field.is_null();
    let content = state.content.filter(|content| content.elements().is_some());
    let error = state.error.filter(|error| is_error && is_there(error));
    // Where a document is cut behind the call, nothing of its result is there.
    let said_by = [error, content, state.output.filter(is_there), state.result.filter(is_there)];
    let at = said_by.into_iter().flatten().min_by_key(|field| field.span().start)?;
    let mut parts: Vec<Part> = error.map(|error| Part::Text(message(error))).into_iter().collect();
    let mut unknown = None;
    let items = content.and_then(|content| content.elements()).filter(|items| !items.is_empty());
    match (items, state.output.or(state.result)) {
        (Some(items), _) => parts.extend(items.into_iter().map(|item| said(item, &mut unknown))),
        (None, Some(output)) if error.is_none() => {
            parts.push(Part::Text(owned(Some(output)).unwrap_or_else(|| output.raw().to_owned())));
        }
        (None, _) => {}
    }
    let call_id = call_id(read);
    let id = format!("{}.{call_id}", text(flat.id).unwrap_or_default());
    let result = Part::ToolResult { call_id, is_error, parts };
    let mut line = Line::said(Role::Tool, EntryKind::ToolResult, vec![result], None);
    // Ids of calls are one session's own at best.
    line.id = entry_id(Some(id.into()));
    line.unknown = unknown;
    Some((at.span().start, line))
}

fn message(error: Field<'_>) -> String {
    let inner = State::read(error).ok().and_then(|error| owned(error.message));
    inner.or_else(|| owned(Some(error))).unwrap_or_else(|| error.raw().to_owned())
}

fn said(field: Field<'_>, unknown: &mut Option<String>) -> Part {
    let read = Item::read(field).unwrap_or_default();
    let kind = text(read.kind);
    if let Some(said) = owned(read.text).filter(|_| kind.as_deref() == Some("text")) {
        return Part::Text(said);
    }
    let part = attachment(field);
    if let (Part::Opaque { .. }, Some(kind)) = (&part, kind) {
        unknown.get_or_insert_with(|| kind.into_owned());
    }
    part
}

/// Reads a compaction: the mark, at which a context begins, and the summary.
fn compaction(element: Field<'_>, flat: &Flat<'_>) -> Vec<(usize, Line)> {
    let start = element.span().start;
    let mut mark = Line::metadata(RUNTIME, COMPACTION, element.raw(), None);
    let is_done = text(flat.status).is_none_or(|status| status == "completed");
    let is_sealed = flat.sealed.is_some_and(|sealed| !sealed.is_null());
    // One that is under way, failed, or is only for its provider stands for nothing: what was before it is sent.
    let Some(summary) = flat.summary.filter(|_| is_done && !is_sealed) else { return vec![(start, mark)] };
    mark.kind = EntryKind::CompactionBoundary;
    let mut said = owned(Some(summary)).unwrap_or_default();
    if let Some(recent) = owned(flat.recent).filter(|recent| !recent.trim().is_empty()) {
        said.push_str("\n\n");
        said.push_str(&recent);
    }
    let parts = vec![Part::Summary { text: said, covers: Vec::new() }];
    let mut line = Line::said(Role::User, EntryKind::CompactionSummary, parts, None);
    let own: Info<'_> = info(Some(element));
    line.parent = entry_id(text(own.id));
    line.id = entry_id(text(own.id).map(|id| format!("{id}.summary").into()));
    line.meta.model = owned(info(flat.model).id);
    vec![(start, mark), (summary.span().start, line)]
}
