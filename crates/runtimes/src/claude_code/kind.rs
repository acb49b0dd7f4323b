//! What a record is in the canonical model: who speaks, what it is for, who sees it.
//!
//! The one place that decides it, for decoding and counting alike; where commits end is `split`'s own.

use std::borrow::Cow;

use stemmata_model::{EntryKind, Role, Visibility};

use super::count::NESTING_MAX;
use super::message::{Block, Content, Message};
use super::record::Record;
use super::whole::{Inside, Whole};
use crate::json::{Field, is_string, is_true, text};
use crate::lines::unknown::{inner_name, type_name};

/// Attachments that the client keeps for itself: it sends nothing of them to the model.
///
/// Newer versions write `rendered` beside what they send; this list is for those that do not, and
/// what it does not name is taken as sent.
const UNSENT_ATTACHMENTS: [&str; 13] = [
    "already_read_file",
    "command_permissions",
    "edited_image_file",
    "hook_cancelled",
    "hook_error_during_execution",
    "hook_non_blocking_error",
    "hook_permission_decision",
    "hook_success",
    "hook_system_message",
    "prompt_snapshot",
    "session_context",
    "structured_output",
    "dynamic_skill",
];

/// The model of answers that the client made up itself.
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// What a record says, as far as the canonical model has a place for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// The content of an API message.
    Content(Content<'a>),
    /// Plain text outside an API message.
    Texts(Vec<Cow<'a, str>>),
    /// An attachment whose text the client made when it sent it, and did not write down.
    Attachment {
        /// Its type.
        kind: Cow<'a, str>,
        /// Its JSON.
        value: Field<'a>,
    },
    /// Nothing that a model sees: the whole line is carried.
    Nothing,
}

/// A record's place in the canonical model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Class<'a> {
    pub(super) role: Role,
    pub(super) kind: EntryKind,
    pub(super) visibility: Visibility,
    pub(super) said: Said<'a>,
    pub(super) message: Option<Message<'a>>,
}

impl<'a> Class<'a> {
    /// Classifies a record by itself alone: no other line changes what it is.
    pub(super) fn of(record: &Record<'a>, inside: Inside<'a>) -> Self {
        match record.type_text().as_ref() {
            "user" => Self::user(record, inside),
            "assistant" => Self::assistant(record, inside),
            "attachment" => Self::attachment(record),
            "system" => Self::system(record),
            _ => Self::metadata(false),
        }
    }

    fn user(record: &Record<'a>, Inside { message, content }: Inside<'a>) -> Self {
        if message.is_none() {
            return Self::metadata(false);
        }
        let (role, kind, user) = if content.has_tool_result() {
            (Role::Tool, EntryKind::ToolResult, true)
        } else if is_true(record.is_compact_summary) {
            (Role::User, EntryKind::CompactionSummary, true)
        } else if is_true(record.is_meta) {
            (Role::User, EntryKind::Instruction, false)
        } else {
            (Role::User, EntryKind::Message, true)
        };
        Self {
            role,
            kind,
            visibility: Visibility { agent: true, user },
            said: Said::Content(content),
            message,
        }
    }

    fn assistant(record: &Record<'a>, Inside { message, content }: Inside<'a>) -> Self {
        let Some(message) = message else {
            return Self::metadata(false);
        };
        // An error of the API in the guise of an answer: shown, never sent back.
        let is_error = is_true(record.is_api_error_message)
            && message.model.is_some_and(|model| is_string(model, SYNTHETIC_MODEL));
        Self {
            role: Role::Assistant,
            kind: EntryKind::Message,
            visibility: Visibility { agent: !is_error, user: true },
            said: Said::Content(content),
            message: Some(message),
        }
    }

    fn attachment(record: &Record<'a>) -> Self {
        if let Some(rendered) = record.rendered {
            return Self::instruction(Said::Texts(rendered_texts(rendered)));
        }
        let Some(value) = record.attachment else {
            return Self::metadata(false);
        };
        let kind = Block::of(value).and_then(|block| text(block.block_type)).unwrap_or_default();
        if UNSENT_ATTACHMENTS.contains(&kind.as_ref()) {
            return Self::metadata(false);
        }
        Self::instruction(Said::Attachment { kind, value })
    }

    fn system(record: &Record<'a>) -> Self {
        if record.is_compact_boundary() {
            return Self { kind: EntryKind::CompactionBoundary, ..Self::metadata(true) };
        }
        if record.is_system("local_command")
            && let Some(content) = text(record.content)
        {
            // The client sends the output of its own commands as a user's text.
            return Self::instruction(Said::Texts(vec![content]));
        }
        Self::metadata(true)
    }

    const fn instruction(said: Said<'a>) -> Self {
        Self {
            role: Role::System,
            kind: EntryKind::Instruction,
            visibility: Visibility { agent: true, user: false },
            said,
            message: None,
        }
    }

    const fn metadata(user: bool) -> Self {
        Self {
            role: Role::System,
            kind: EntryKind::Metadata,
            visibility: Visibility { agent: false, user },
            said: Said::Nothing,
            message: None,
        }
    }
}

/// Returns the texts of `rendered`: a string, or a list of strings, messages and blocks.
fn rendered_texts(rendered: Field<'_>) -> Vec<Cow<'_, str>> {
    let Content::List(elements) = Content::of(Some(rendered)) else {
        return vec![rendered.text().unwrap_or(Cow::Borrowed(rendered.raw()))];
    };
    let mut texts = Vec::new();
    for element in elements {
        let content = element.block.map(|block| block.content.or(block.text));
        match Content::of(content.unwrap_or(Some(element.whole))) {
            Content::Text(field) => texts.extend(field.text()),
            Content::List(parts) => {
                texts.extend(parts.into_iter().filter_map(|part| text(part.block?.text)));
            }
            Content::Absent => {}
            Content::Other(field) => texts.push(Cow::Borrowed(field.raw())),
        }
    }
    texts
}

/// Hands out the names of what this version does not know of a record: its type, and those of the blocks of its content.
pub(super) fn each_unknown(Whole { record, inside }: &Whole<'_>, found: &mut dyn FnMut(&str)) {
    let name = record.type_text();
    if !KNOWN_TYPES.contains(&name.as_ref()) {
        found(&type_name(record.record_type));
    } else if name == "user" || name == "assistant" {
        each_unknown_block(&inside.content, &name, NESTING_MAX, found);
    }
}

fn each_unknown_block(content: &Content<'_>, outer: &str, depth: usize, found: &mut dyn FnMut(&str)) {
    for block in content.blocks() {
        let kind = type_name(block.block_type);
        if !KNOWN_BLOCKS.contains(&kind.as_str()) {
            found(&inner_name(outer, &kind));
        } else if depth > 0 && block.content.is_some_and(|content| content.raw().starts_with('[')) {
            each_unknown_block(&Content::of(block.content), outer, depth - 1, found);
        }
    }
}

/// All types of blocks that a message or a result may hold, 1.0 to 2.1.330.
const KNOWN_BLOCKS: [&str; 25] = [
    "advisor_tool_result",
    "bash_code_execution_tool_result",
    "browser_state",
    "code_execution_tool_result",
    "compaction",
    "connector_text",
    "container_upload",
    "document",
    "fallback",
    "image",
    "mcp_tool_listing",
    "mcp_tool_result",
    "mcp_tool_use",
    "redacted_thinking",
    "search_result",
    "server_tool_use",
    "text",
    "text_editor_code_execution_tool_result",
    "thinking",
    "tool_reference",
    "tool_result",
    "tool_search_tool_result",
    "tool_use",
    "web_fetch_tool_result",
    "web_search_tool_result",
];

/// All types of records seen or described, 1.0 to 2.1.330.
const KNOWN_TYPES: [&str; 39] = [
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "assistant",
    "atis-latch",
    "attachment",
    "attribution-snapshot",
    "bridge-session",
    "checkpoint",
    "content-replacement",
    "cost-state",
    "custom-title",
    "data-flow-incomplete",
    "data-flow-records",
    "derived-from",
    "file-history-delta",
    "file-history-snapshot",
    "history-suppression",
    "hybrid-organization",
    "last-prompt",
    "memory-mode",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "relocated",
    "repl-mode",
    "speculation-accept",
    "summary",
    "system",
    "tag",
    "tools-used",
    "user",
    "worktree-state",
];
