//! What a session of opencode is in the canonical model.
//!
//! A message is an entry, and so is each result in it: a call and its result are one part there. Where a message holds
//! several steps, each is an entry. What the session says of itself comes first.

use std::ops::Range;

use stemmata_model::{EntryKind, ImageSource, Part, Role, Usage};

use super::record::{Info, Message, Piece, Proof, Session, State, Tokens, info, time};
use super::{RUNTIME, flat};
use crate::clients::UNREADABLE;
use crate::document::{Record, inside, whole};
use crate::json::{Field, RecordError, is_true, members, owned, text};
use crate::lines::facts::TitleRank;
use crate::lines::{Line, entry_id, opaque};

/// How a title begins that nobody gave.
const UNTITLED: [&str; 2] = ["New session - ", "Child session - "];

/// How the part of a message is called that marks a compaction.
pub(super) const COMPACTION: &str = "compaction";

/// Types of parts that tell a person or the client something, and a model nothing.
const UNSENT: [&str; 7] = ["step-start", "step-finish", "snapshot", "patch", "retry", "agent", "subtask"];

/// Returns the inside of the list of messages.
pub(super) fn list(bytes: &[u8]) -> Option<Range<usize>> {
    inside(Session::read(whole(bytes).ok()?).ok()?.messages?)
}

/// Reads a whole session (see `document::Dialect`).
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let document = whole(bytes)?;
    let session = Session::read(document).map_err(|_| RecordError::NotObject)?;
    let (Some(about), Some(messages)) = (session.info, session.messages) else {
        return Err(RecordError::NotObject);
    };
    let list = inside(messages).ok_or(RecordError::NotObject)?;
    let mut records = Vec::new();
    let start = document.span().start;
    // Where the session tells of itself last, that is an entry behind the messages.
    let is_first = about.span().start < list.start;
    let revert = info(info(session.info).revert);
    let cut = text(revert.part_id).filter(|_| revert.message_id.is_some());
    let head = Line::metadata(RUNTIME, "messages", "null", None);
    records.push(Record { span: start..list.start, line: if is_first { session_line(about) } else { head } });
    for element in messages.elements().unwrap_or_default() {
        message(element, bytes, cut.as_deref(), &mut records);
    }
    let tail = bytes.get(list.end..document.span().end).unwrap_or_default();
    if tail.iter().any(|byte| !byte.is_ascii_whitespace() && !b"]}".contains(byte)) {
        let line = Line::metadata(RUNTIME, "session_end", "null", None);
        let line = if is_first { line } else { session_line(about) };
        records.push(Record { span: list.end..document.span().end, line });
    }
    Ok(records)
}

fn session_line(about: Field<'_>) -> Line {
    let fields = info(Some(about));
    let mut line = Line::metadata(RUNTIME, "session", about.raw(), time(info(fields.time).created));
    line.hints.session = owned(fields.id);
    line.hints.is_subagent = Some(fields.parent_id.is_some());
    line.hints.cwd = owned(fields.directory).or_else(|| owned(info(fields.location).directory));
    line.hints.version = owned(fields.version);
    let title = owned(fields.title).filter(|title| !UNTITLED.iter().any(|start| title.starts_with(start)));
    line.hints.title = title.map(|title| (TitleRank::Runtime, title));
    line
}

/// Reads a message: its entries begin where their bytes do. `cut` is the part from which on the user took it back.
fn message(element: Field<'_>, bytes: &[u8], cut: Option<&str>, records: &mut Vec<Record>) {
    let fields = Message::read(element).unwrap_or_default();
    let flat = flat::of(element);
    let about = if flat.is_some() { info(Some(element)) } else { info(fields.info) };
    let parts: Vec<Field<'_>> = fields.parts.and_then(|parts| parts.elements()).unwrap_or_default();
    let role = text(about.role).filter(|_| flat.is_none());
    let begun = match (&flat, role.as_deref()) {
        (Some(flat), _) => flat::entries(element, flat),
        (None, Some("user")) => user(&about, element.span().start, &parts, cut),
        (None, Some("assistant")) if about.summary.is_some_and(|summary| summary.is_true()) => {
            vec![(element.span().start, summary(&about, &parts))]
        }
        (None, Some("assistant")) => answer(&about, element.span().start, &parts, cut),
        (None, other) => {
            let kind = text(about.kind).filter(|kind| kind == UNREADABLE);
            let name = kind.as_deref().or(other).unwrap_or("message").to_owned();
            let mut line = Line::metadata(RUNTIME, &name, element.raw(), None);
            line.unknown = Some(name);
            vec![(element.span().start, line)]
        }
    };
    let ends: Vec<usize> =
        begun.iter().skip(1).map(|(start, _)| *start).chain([element.span().end]).collect();
    for ((start, mut line), end) in begun.into_iter().zip(ends) {
        // What separates values is no part of any.
        let own = bytes.get(start..end).unwrap_or_default();
        let kept = own.iter().rposition(|byte| !byte.is_ascii_whitespace() && *byte != b',');
        complete(&mut line, &about);
        records.push(Record { span: start..kept.map_or(end, |kept| start + kept + 1), line });
    }
}

fn complete(line: &mut Line, about: &Info<'_>) {
    line.time = line.time.or_else(|| time(info(about.time).created));
    line.id = line.id.take().or_else(|| entry_id(text(about.id)));
    let cwd = owned(info(about.path).cwd);
    line.meta.cwd.clone_from(&cwd);
    line.hints.cwd = cwd;
    crate::document::name_calls(line);
}

fn user(about: &Info<'_>, start: usize, parts: &[Field<'_>], cut: Option<&str>) -> Vec<(usize, Line)> {
    if let Some(mark) = parts.iter().find(|part| kind_of(**part) == COMPACTION) {
        let mut line = Line::metadata(RUNTIME, COMPACTION, mark.raw(), None);
        line.kind = EntryKind::CompactionBoundary;
        return vec![(start, line)];
    }
    let prompt = |parts: &[Field<'_>]| {
        let mut line = Line::said(Role::User, EntryKind::Message, Vec::new(), None);
        for part in parts.iter().filter(|part| !is_told_beside(**part)) {
            line.parts.extend(said(*part, &mut line.unknown));
        }
        line.meta.model = owned(info(about.model).model_id);
        line.entitle();
        line
    };
    let taken_back = parts.iter().position(|part| is_part(*part, cut));
    let (kept, gone) = parts.split_at(taken_back.unwrap_or(parts.len()));
    let mut lines = vec![(start, prompt(kept))];
    if let [first, ..] = gone {
        let mut line = prompt(gone);
        line.id = entry_id(cut.map(Into::into));
        lines.push((first.span().start, line));
    }
    lines
}

fn is_part(part: Field<'_>, id: Option<&str>) -> bool {
    id.is_some_and(|id| Piece::read(part).ok().and_then(|piece| text(piece.id)).as_deref() == Some(id))
}

/// Returns whether a file of a prompt is not sent: the client says what is in it, or in a folder, in a text beside it.
fn is_told_beside(part: Field<'_>) -> bool {
    let read = Piece::read(part).unwrap_or_default();
    let is_read = |kind: &str| matches!(kind, "text/plain" | "application/x-directory");
    kind_of(part) == "file" && text(read.media_type).is_some_and(|kind| is_read(&kind))
}

fn summary(about: &Info<'_>, parts: &[Field<'_>]) -> Line {
    let texts = parts.iter().filter(|part| kind_of(**part) == "text");
    let texts: Vec<String> = texts.filter_map(|part| owned(Piece::read(*part).ok()?.text)).collect();
    let summary = Part::Summary { text: texts.join("\n"), covers: Vec::new() };
    let mut line = Line::said(Role::User, EntryKind::CompactionSummary, vec![summary], None);
    // One that is not finished, or was broken off, stands for nothing.
    let is_done = text(about.finish).is_some_and(|finish| !finish.is_empty());
    line.meta.visibility.agent = is_done && about.error.is_none_or(|error| error.is_null());
    line.parent = entry_id(text(about.parent_id));
    line.meta.model = owned(about.model_id);
    line
}

/// Reads an answer: one entry for each step, and one for each result.
fn answer(about: &Info<'_>, start: usize, parts: &[Field<'_>], cut: Option<&str>) -> Vec<(usize, Line)> {
    let model = owned(about.model_id);
    let step = |id: Option<Field<'_>>| {
        let mut line = Line::said(Role::Assistant, EntryKind::Message, Vec::new(), None);
        line.id = entry_id(text(id));
        // Each step was a request of its own.
        line.meta.message_id = owned(id);
        line.meta.model.clone_from(&model);
        line
    };
    let mut begun: Vec<(usize, Line)> = Vec::new();
    let mut open = (start, step(about.id));
    open.1.meta.usage = about.tokens.and_then(usage);
    open.1.meta.stop_reason = owned(about.finish);
    let mut results: Vec<(usize, Line)> = Vec::new();
    for part in parts {
        let read = Piece::read(*part).unwrap_or_default();
        let is_step = kind_of(*part) == "step-start" && !results.is_empty();
        let is_cut = is_part(*part, cut);
        if is_step || is_cut {
            open.1.meta.visibility.agent &= !is_cut || !open.1.parts.is_empty() || !begun.is_empty();
            let next = (part.span().start, step(read.id));
            begun.push(std::mem::replace(&mut open, next));
            begun.append(&mut results);
        }
        if kind_of(*part) != "tool" {
            open.1.parts.extend(said(*part, &mut open.1.unknown));
            continue;
        }
        let state = read.state.and_then(|state| State::read(state).ok()).unwrap_or_default();
        let call_id = owned(read.call_id).unwrap_or_default();
        open.1.parts.push(Part::ToolCall {
            call_id: call_id.clone(),
            name: owned(read.tool).unwrap_or_default(),
            arguments: state.input.map_or("{}", |input| input.raw()).to_owned(),
        });
        if let Some((at, mut line)) = result(&state, call_id) {
            line.id = entry_id(text(read.id));
            results.push((at, line));
        }
    }
    // Nothing that a model would see.
    open.1.meta.visibility.agent = !(open.1.parts.is_empty() && results.is_empty() && begun.is_empty());
    begun.push(open);
    begun.append(&mut results);
    begun
}

fn result(state: &State<'_>, call_id: String) -> Option<(usize, Line)> {
    let (at, is_error) = match text(state.status).as_deref() {
        Some("completed") => (state.output?, false),
        Some("error") => (state.error?, true),
        _ => return None,
    };
    if at.is_null() {
        return None;
    }
    let mut parts = vec![Part::Text(owned(Some(at)).unwrap_or_else(|| at.raw().to_owned()))];
    let mut unknown = None;
    for file in state.attachments.and_then(|files| files.elements()).unwrap_or_default() {
        parts.extend(said(file, &mut unknown));
    }
    let result = Part::ToolResult { call_id, is_error, parts };
    let line = Line::said(Role::Tool, EntryKind::ToolResult, vec![result], None);
    Some((at.span().start, Line { unknown, ..line }))
}

fn kind_of(part: Field<'_>) -> String {
    Piece::read(part).ok().and_then(|piece| owned(piece.kind)).unwrap_or_else(|| "value".to_owned())
}

/// Returns what a part says, none where it says nothing to a model.
fn said(part: Field<'_>, unknown: &mut Option<String>) -> Option<Part> {
    let read = Piece::read(part).unwrap_or_default();
    let kind = kind_of(part);
    let known = match kind.as_str() {
        "text" if is_true(read.ignored) => return None,
        "text" => owned(read.text).map(Part::Text),
        "reasoning" => Some(reasoning(&read)),
        "file" => file(&read),
        name if UNSENT.contains(&name) => return None,
        // Damage is told before a type that is only not known.
        UNREADABLE => {
            *unknown = Some(UNREADABLE.to_owned());
            None
        }
        name => {
            unknown.get_or_insert_with(|| name.to_owned());
            None
        }
    };
    Some(known.unwrap_or_else(|| opaque(RUNTIME, &kind, part.raw())))
}

fn reasoning(read: &Piece<'_>) -> Part {
    thinking(read.text, read.metadata)
}

/// Returns reasoning. What shows that it is a provider's own stands below that one's name, or by itself.
pub(super) fn thinking(text: Option<Field<'_>>, proofs: Option<Field<'_>>) -> Part {
    let providers = proofs.and_then(members).unwrap_or_default();
    let below = providers.iter().map(|member| member.value);
    let proofs: Vec<Proof<'_>> =
        proofs.into_iter().chain(below).filter_map(|proof| Proof::read(proof).ok()).collect();
    let encrypted = proofs.iter().find_map(|proof| owned(proof.redacted.or(proof.encrypted)));
    Part::Thinking {
        text: owned(text).unwrap_or_default(),
        signature: proofs.iter().find_map(|proof| owned(proof.signature)),
        encrypted,
    }
}

fn file(read: &Piece<'_>) -> Option<Part> {
    Some(file_at(owned(read.media_type)?, owned(read.url)?, owned(read.filename)))
}

/// Returns the file at an address, which may hold its bytes.
pub(super) fn file_at(media_type: String, url: String, filename: Option<String>) -> Part {
    let data =
        url.split_once(";base64,").filter(|_| url.starts_with("data:")).map(|(_, data)| data.to_owned());
    if media_type.starts_with("image/") {
        let source = data.map_or(ImageSource::Url(url), ImageSource::Base64);
        return Part::Image { media_type, source };
    }
    let name = filename.unwrap_or_else(|| if data.is_some() { String::new() } else { url });
    crate::document::file(name, media_type, data)
}

pub(super) fn usage(tokens: Field<'_>) -> Option<Usage> {
    let tokens = Tokens::read(tokens).ok()?;
    let cache = tokens.cache.and_then(|cache| Tokens::read(cache).ok()).unwrap_or_default();
    let number = |field: Option<Field<'_>>| field.and_then(|field| field.number()).unwrap_or(0);
    Some(Usage {
        input_tokens: number(tokens.input),
        output_tokens: number(tokens.output).saturating_add(number(tokens.reasoning)),
        cache_read_tokens: number(cache.read),
        cache_write_tokens: number(cache.write),
    })
}
