//! What an entry says, whether it comes as a decoded entry or as a line of `stemmata-v1`: one view for the fold.
//!
//! What of it is to be remembered is decided elsewhere.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use stemmata_acts::{Answer, done_item};
use stemmata_model::{Entry, EntryKind, Part, Role, Timestamp};

/// A part.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// Text of whoever speaks.
    Text(Cow<'a, str>),
    /// A call.
    Call { id: Cow<'a, str>, name: Cow<'a, str>, arguments: Cow<'a, str> },
    /// A result.
    Result { id: Cow<'a, str>, is_error: bool, text: Cow<'a, str> },
    /// A summary of what came before.
    Summary(Cow<'a, str>),
}

/// What an entry says.
#[derive(Debug)]
pub(super) struct Said<'a> {
    /// None where the line has none.
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) at: Option<Timestamp>,
    pub(super) role: Role,
    /// Whether it is a word in the main conversation that a model sees.
    pub(super) is_main: bool,
    pub(super) cwd: Option<Cow<'a, str>>,
    pub(super) pieces: Vec<Piece<'a>>,
}

impl<'a> Said<'a> {
    /// Views an entry; none where it is not of the conversation.
    pub(super) fn of_entry(entry: &'a Entry) -> Option<Self> {
        is_conversation(&entry.kind).then(|| Self {
            id: Some(Cow::Borrowed(entry.id.as_str())),
            at: entry.timestamp,
            role: entry.role,
            is_main: entry.meta.sidechain.is_none() && entry.meta.visibility.agent,
            cwd: entry.meta.cwd.as_deref().map(Cow::Borrowed),
            pieces: entry.parts.iter().flat_map(pieces).collect(),
        })
    }

    /// Reads a line; none where it is no line of `stemmata-v1` or not of the conversation.
    pub(super) fn of_line(line: &'a str) -> Option<Self> {
        let row: Row<'a> = serde_json::from_str(line).ok()?;
        let role = match row.role.as_ref() {
            "system" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            _ => return None,
        };
        let kind = row.kind.as_deref().unwrap_or("message");
        let is_ours = row.v == "stemmata-v1" && LINE_KINDS.contains(&kind);
        is_ours.then(|| Self {
            id: row.id,
            at: row.timestamp.and_then(|time| Timestamp::parse(&time).ok()),
            role,
            is_main: row.meta.sidechain.is_none() && row.meta.agent_visible != Some(false),
            cwd: row.meta.cwd,
            pieces: row.parts.into_iter().filter_map(line_piece).collect(),
        })
    }
}

/// Kinds of entries that are of the conversation.
fn is_conversation(kind: &EntryKind) -> bool {
    match kind {
        EntryKind::Message
        | EntryKind::ToolResult
        | EntryKind::ToolResultArchived
        | EntryKind::CompactionSummary => true,
        EntryKind::ToolSummary
        | EntryKind::CompactionBoundary
        | EntryKind::Instruction
        | EntryKind::Metadata
        | EntryKind::Unreadable
        | EntryKind::Other(_) => false,
    }
}

/// The same kinds as a line names them.
const LINE_KINDS: [&str; 4] = ["message", "tool_result", "tool_result_archived", "compaction_summary"];

/// Views a part. One that tells a call with its end is seen as two.
fn pieces(part: &Part) -> Vec<Piece<'_>> {
    let Some((name, item)) = done_item(part) else { return piece(part).into_iter().collect() };
    let call = Piece::Call {
        id: Cow::Owned(item.id.clone()),
        name: Cow::Borrowed(name),
        arguments: Cow::Owned(item.arguments),
    };
    let is_error = item.is_error;
    vec![call, Piece::Result { id: Cow::Owned(item.id), is_error, text: Cow::Borrowed("") }]
}

fn piece(part: &Part) -> Option<Piece<'_>> {
    match part {
        Part::Text(text) => Some(Piece::Text(Cow::Borrowed(text))),
        Part::ToolCall { call_id, name, arguments } => Some(Piece::Call {
            id: Cow::Borrowed(call_id),
            name: Cow::Borrowed(name),
            arguments: Cow::Borrowed(arguments),
        }),
        Part::ToolResult { call_id, is_error, parts } => {
            let Answer { is_error, text } = Answer::of(*is_error, parts);
            Some(Piece::Result { id: Cow::Borrowed(call_id), is_error, text })
        }
        Part::Summary { text, .. } => Some(Piece::Summary(Cow::Borrowed(text))),
        Part::Thinking { .. } | Part::Image { .. } | Part::File { .. } | Part::Opaque { .. } => None,
    }
}

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow, default)]
    v: Cow<'a, str>,
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    timestamp: Option<Cow<'a, str>>,
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    parts: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    meta: Meta<'a>,
}

#[derive(Deserialize, Default)]
struct Meta<'a> {
    agent_visible: Option<bool>,
    #[serde(borrow, default)]
    sidechain: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    cwd: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum LinePart<'a> {
    Text {
        #[serde(borrow)]
        text: Cow<'a, str>,
    },
    ToolCall {
        #[serde(borrow)]
        call_id: Cow<'a, str>,
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(borrow)]
        arguments: Cow<'a, str>,
    },
    ToolResult {
        #[serde(borrow)]
        call_id: Cow<'a, str>,
        #[serde(default)]
        is_error: bool,
        #[serde(default)]
        parts: Vec<serde_json::Value>,
    },
    Summary {
        #[serde(borrow)]
        text: Cow<'a, str>,
    },
    #[serde(other)]
    Other,
}

/// A part that lacks a key, or is of another type, says nothing here.
fn line_piece(part: &RawValue) -> Option<Piece<'_>> {
    match serde_json::from_str(part.get()).ok()? {
        LinePart::Text { text } => Some(Piece::Text(text)),
        LinePart::ToolCall { call_id, name, arguments } => Some(Piece::Call { id: call_id, name, arguments }),
        LinePart::ToolResult { call_id, is_error, parts } => {
            let is_text = |part: &serde_json::Value| part.get("type").is_some_and(|kind| kind == "text");
            let texts = parts.iter().filter(|part| is_text(part));
            let texts = texts.filter_map(|part| Some(Cow::Owned(part.get("text")?.as_str()?.to_owned())));
            Some(Piece::Result { id: call_id, is_error, text: Answer::joined(texts) })
        }
        LinePart::Summary { text } => Some(Piece::Summary(text)),
        LinePart::Other => None,
    }
}
