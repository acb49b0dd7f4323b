//! What one line of a session is in the canonical model, and to the rule of turns.
//!
//! A *real user record* is a message of the type `user` that holds no result of a tool and does not begin as the text
//! does which the client itself puts there.
//!
//! A result stands twice in a session: in `toolCalls[].result` of the answer, and in a user's message behind it. It is
//! read from the latter, where it stands in the order in which the model sees it.

use std::collections::{HashMap, HashSet};

use stemmata_model::{EntryKind, Part, Role, Timestamp, Usage, Visibility};

use super::RUNTIME;
use super::encode::derived_id;
use super::part::{content, unknown_name};
use super::record::{Call, Fields, Kind, Record, Thought, Tokens, elements, message_kind};
use crate::adapter::IdKind;
use crate::json::{Field, RecordError, is_string, owned, text};
use crate::lines::facts::{Hints, TitleRank};
use crate::lines::unknown::{inner_name, type_name};
use crate::lines::{Line, Listed, OPAQUE_REPLACEMENT, Turn, begins_with, entry_id, first_text, opaque};

/// How the text begins that the client itself puts at the start of a conversation.
const CONTEXT_STARTS: [&str; 2] = ["<session_context>", "This is the Gemini CLI."];

/// Behind what the client names the directory that it works in.
const CWD_MARKS: [&str; 2] = ["**Workspace Directories:**\n  - ", "working in the directory: "];

/// Where the messages are carried that a client says again.
pub(super) const OPAQUE_RESTATED: &str = "restated";

/// How the text begins that the client has the model write when it compacts.
const SUMMARY_START: &str = "<state_snapshot>";

/// What the client has the model say to a summary.
const SUMMARY_ANSWER: &str = "Got it. Thanks for the additional context!";

/// Reads one line (see `Dialect::read`).
pub(super) fn read(line: &[u8]) -> Result<Line, RecordError> {
    let record = Record::parse(line)?;
    let time = record.time();
    let metadata = |name: &str| Line::metadata(RUNTIME, name, record.whole.raw(), time);
    let mut line = match record.kind {
        Kind::Header => header(&record, metadata("header")),
        Kind::User => user(&record.fields, time),
        Kind::Gemini => answer(&record.fields, time),
        Kind::Notice => {
            let mut line = metadata(&text(record.fields.record_type).unwrap_or_default());
            line.meta.visibility.user = true;
            line
        }
        Kind::Set => match record.checkpoint() {
            Some(messages) => {
                Line { listed: listed(messages), ..checkpoint(messages, time, metadata("$set")) }
            }
            None => metadata("$set"),
        },
        Kind::Rewind => {
            let mut line = metadata("$rewindTo");
            line.turn = Turn::RewindTo;
            line.target = entry_id(text(record.fields.rewind_to));
            line
        }
        Kind::Unknown => {
            let name = record.unknown_name();
            let mut line = metadata(&name);
            line.unknown = Some(name);
            line
        }
    };
    line.id = entry_id(text(record.fields.id));
    line.unknown_parts = match record.kind {
        Kind::User | Kind::Gemini => unknown_parts(&record.fields),
        Kind::Set => elements(record.checkpoint()).into_iter().flat_map(unknown_in).collect(),
        Kind::Header | Kind::Notice | Kind::Rewind | Kind::Unknown => Vec::new(),
    };
    if let Some(title) = record.set.and_then(|set| text(set.summary)).filter(|title| !title.is_empty()) {
        line.hints.title = Some((TitleRank::Runtime, title.into_owned()));
    }
    Ok(line)
}

/// Returns the names of what a message of a checkpoint is, or holds, that this version does not know.
fn unknown_in(message: Field<'_>) -> Vec<String> {
    let fields = Fields::read(message).unwrap_or_default();
    match message_kind(&fields) {
        Kind::Unknown => vec![inner_name("$set", &type_name(fields.record_type))],
        _ => unknown_parts(&fields),
    }
}

/// Returns the names of parts of a message's content that this version does not know.
pub(super) fn unknown_parts(fields: &Fields<'_>) -> Vec<String> {
    let outer = type_name(fields.record_type);
    let content = fields.content.filter(|content| !content.is_null());
    let listed = content.and_then(|content| content.elements());
    let parts = listed.unwrap_or_else(|| content.into_iter().collect());
    parts.into_iter().filter_map(unknown_name).map(|kind| inner_name(&outer, &kind)).collect()
}

fn header(record: &Record<'_>, mut line: Line) -> Line {
    line.turn = Turn::Header;
    line.hints.session = owned(record.fields.session_id);
    line.hints.is_subagent = Some(record.fields.session_kind.is_some_and(|kind| is_string(kind, "subagent")));
    line
}

fn cwd_of(parts: &[Part]) -> Option<String> {
    let said = first_text(parts)?;
    let rest = CWD_MARKS.iter().find_map(|mark| said.split_once(mark))?.1;
    let cwd = rest.lines().next().unwrap_or_default().trim();
    (!cwd.is_empty()).then(|| cwd.to_owned())
}

pub(super) fn user(fields: &Fields<'_>, time: Option<Timestamp>) -> Line {
    let (body, parts) = content(fields.content);
    let results: Vec<String> = parts.iter().filter_map(answered).collect();
    let mut line = if !results.is_empty() {
        let mut line = Line::said(Role::Tool, EntryKind::ToolResult, parts, time);
        line.ids = results.into_iter().map(|id| (IdKind::Call, id)).collect();
        line
    } else if begins_with(&parts, &CONTEXT_STARTS) {
        instruction(parts, time)
    } else {
        Line::prompt(parts, time)
    };
    line.body = body;
    line
}

fn answered(part: &Part) -> Option<String> {
    match part {
        Part::ToolResult { call_id, .. } => Some(call_id.clone()),
        _ => None,
    }
}

/// Returns what the client told the model.
fn instruction(parts: Vec<Part>, time: Option<Timestamp>) -> Line {
    let cwd = cwd_of(&parts);
    let mut line = Line::said(Role::User, EntryKind::Instruction, parts, time);
    line.meta.visibility = Visibility { agent: true, user: false };
    line.meta.cwd.clone_from(&cwd);
    line.hints.cwd = cwd;
    line.turn = Turn::Other;
    line
}

pub(super) fn answer(fields: &Fields<'_>, time: Option<Timestamp>) -> Line {
    let mut parts: Vec<Part> = elements(fields.thoughts).into_iter().map(thought).collect();
    let (body, said) = content(fields.content);
    parts.extend(said);
    parts.extend(elements(fields.tool_calls).into_iter().map(call));
    let ids = parts.iter().filter_map(|part| match part {
        Part::ToolCall { call_id, .. } => Some((IdKind::Call, call_id.clone())),
        _ => None,
    });
    let ids = ids.collect();
    let mut line = Line::said(Role::Assistant, EntryKind::Message, parts, time);
    line.body = body;
    line.ids = ids;
    line.meta.model = owned(fields.model);
    // Every version of an answer is the same message.
    line.meta.message_id = owned(fields.id);
    line.meta.usage = fields.tokens.and_then(usage);
    line
}

fn usage(tokens: Field<'_>) -> Option<Usage> {
    let tokens = Tokens::read(tokens).ok()?;
    let number = |field: Option<Field<'_>>| field.and_then(|field| field.number()).unwrap_or(0);
    let cached = number(tokens.cached);
    Some(Usage {
        input_tokens: number(tokens.input).saturating_sub(cached),
        output_tokens: number(tokens.output).saturating_add(number(tokens.thoughts)),
        cache_read_tokens: cached,
        cache_write_tokens: 0,
    })
}

/// Reads a thought: its subject, as the model marked it, and what it says of it.
fn thought(field: Field<'_>) -> Part {
    let Ok(thought) = Thought::read(field) else { return opaque(RUNTIME, "thought", field.raw()) };
    let description = owned(thought.description).unwrap_or_default();
    let text = match owned(thought.subject).filter(|subject| !subject.is_empty()) {
        Some(subject) => format!("**{subject}**\n{description}"),
        None => description,
    };
    Part::Thinking { text, signature: None, encrypted: None }
}

/// Reads a call of a tool.
pub(super) fn call(field: Field<'_>) -> Part {
    let Ok(call) = Call::read(field) else { return opaque(RUNTIME, "call", field.raw()) };
    Part::ToolCall {
        call_id: owned(call.id).unwrap_or_default(),
        name: owned(call.name).unwrap_or_default(),
        arguments: call.args.map_or("{}", |args| args.raw()).to_owned(),
    }
}

/// Reads the messages of a checkpoint as the loader has them, each with its text: of several with one id the last, at the place
/// of the first.
pub(super) fn told(list: Field<'_>) -> Vec<(Field<'_>, Line)> {
    let mut messages: Vec<Field<'_>> = Vec::new();
    let mut places = HashMap::new();
    for message in elements(Some(list)) {
        let id = Fields::read(message).ok().and_then(|fields| text(fields.id));
        let place = id.map_or(messages.len(), |id| *places.entry(id).or_insert(messages.len()));
        match messages.get_mut(place) {
            Some(earlier) => *earlier = message,
            None => messages.push(message),
        }
    }
    read_all(messages)
}

/// Reads messages, each with its text. Of a result that stands among them twice, as when the client says a conversation again,
/// the last is read: it has its own id.
fn read_all(messages: Vec<Field<'_>>) -> Vec<(Field<'_>, Line)> {
    let read = |message| {
        let fields = Fields::read(message).ok()?;
        let time = text(fields.timestamp).and_then(|text| Timestamp::parse(&text).ok());
        let mut line = match message_kind(&fields) {
            Kind::User => user(&fields, time),
            Kind::Gemini => answer(&fields, time),
            _ => return None,
        };
        line.id = entry_id(text(fields.id));
        Some((message, line))
    };
    let mut lines: Vec<(Field<'_>, Line)> = messages.into_iter().filter_map(read).collect();
    let mut answers = HashSet::new();
    for (_, line) in lines.iter_mut().rev().filter(|(_, line)| line.role == Role::Tool) {
        line.parts.retain(|part| answered(part).is_none_or(|call| answers.insert(call)));
    }
    lines.retain(|(_, line)| line.role != Role::Tool || !line.parts.is_empty());
    lines
}

/// Returns where each message of a checkpoint stands in the line, those for a person too: the conversation can go back to any.
fn listed(list: Field<'_>) -> Vec<Listed> {
    let read = |message: Field<'_>| {
        let fields = Fields::read(message).unwrap_or_default();
        let is_message = matches!(message_kind(&fields), Kind::User | Kind::Gemini);
        Listed { id: entry_id(text(fields.id)), at: message.span(), is_message }
    };
    elements(Some(list)).into_iter().map(read).collect()
}

/// Returns whether one message alone, in a checkpoint that nothing was said before, is what a user said: no summary.
pub(super) fn is_prompt_alone(line: &Line) -> bool {
    let text = first_text(&line.parts).unwrap_or_default();
    let is_ours = line.id.as_ref().is_some_and(|id| id.as_str() == derived_id(text));
    line.turn == Turn::Prompt && !text.trim_start().starts_with(SUMMARY_START) && !is_ours
}

/// Returns whether messages are what is left of a conversation after a compaction: one message alone, or as the client
/// writes it. Else the client says again what was said, as it does whenever it resumes a session.
fn is_compaction(said: &[(Role, String)]) -> bool {
    match said {
        [_] => true,
        [(Role::User, summary), (Role::Assistant, answer), ..] => {
            summary.trim_start().starts_with(SUMMARY_START) || answer.trim() == SUMMARY_ANSWER
        }
        _ => false,
    }
}

/// Reads a checkpoint: what the client told the model, what was said so far, or a compaction.
fn checkpoint(list: Field<'_>, time: Option<Timestamp>, metadata: Line) -> Line {
    let mut told: Vec<Part> = Vec::new();
    let mut said: Vec<(Role, String)> = Vec::new();
    let mut restates = Vec::new();
    let mut hints = Hints::default();
    // All of them, also of one id: a later reading must not find other boundaries.
    let lines: Vec<Line> = read_all(elements(Some(list))).into_iter().map(|(_, line)| line).collect();
    let is_one = lines.iter().filter(|line| line.kind != EntryKind::Instruction).count() == 1;
    for line in lines {
        hints.cwd = hints.cwd.or_else(|| line.hints.cwd.clone());
        if line.kind == EntryKind::Instruction {
            told.extend(line.parts);
        } else {
            // The first prompt of a session may stand in no other line.
            let title = line.hints.title.as_ref().filter(|_| !is_one || is_prompt_alone(&line));
            hints.title = hints.title.or_else(|| title.cloned());
            said.push((line.role, digest(&line.parts)));
            restates.extend(line.id);
        }
    }
    if !said.is_empty() && !is_compaction(&said) {
        let mut line = metadata;
        line.parts = vec![opaque(RUNTIME, OPAQUE_RESTATED, list.raw())];
        line.turn = Turn::Restated;
        line.restates = restates;
        line.hints = hints;
        return line;
    }
    if !said.is_empty() {
        let summary = match said.as_slice() {
            [(Role::User, only)] => only.clone(),
            all => all
                .iter()
                .map(|(role, text)| format!("{}: {text}", role.as_str()))
                .collect::<Vec<_>>()
                .join("\n\n"),
        };
        let parts = vec![
            Part::Summary { text: summary, covers: Vec::new() },
            opaque(RUNTIME, OPAQUE_REPLACEMENT, list.raw()),
        ];
        let mut line = Line::said(Role::User, EntryKind::CompactionSummary, parts, time);
        line.turn = Turn::Compaction;
        line.hints.title = hints.title.filter(|_| is_one);
        return line;
    }
    let mut line = if told.is_empty() { metadata } else { instruction(told, time) };
    line.turn = Turn::Clear;
    line
}

/// Returns what can be read of a message, as one text.
fn digest(parts: &[Part]) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) | Part::Summary { text, .. } => text.clone(),
        Part::ToolCall { name, arguments, .. } => format!("[{name} {arguments}]"),
        Part::ToolResult { parts, .. } => digest(parts),
        Part::Thinking { .. } | Part::Opaque { .. } => String::new(),
        Part::Image { .. } => "[image]".to_owned(),
        Part::File { name, .. } => format!("[file {name}]"),
    });
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}
