//! Entries: the canonical conversation model, whatever runtime a conversation came from.
//!
//! An entry points back to its raw bytes; it never replaces them.

use serde::{Deserialize, Serialize};

use crate::{ArtifactId, EntryId, Timestamp};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Role {
    /// Instructions and the runtime itself.
    System,
    /// A person, or whoever prompts the agent.
    User,
    /// The model.
    Assistant,
    /// The result of a tool.
    Tool,
}

impl Role {
    /// Returns the name used in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// Where an image's bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// Base64 text, as the runtime wrote it.
    Base64(String),
    /// Stored bytes.
    Artifact(ArtifactId),
    /// An address.
    Url(String),
}

/// One piece of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Text.
    Text(String),
    /// The model's reasoning.
    Thinking {
        /// The readable text; may be empty.
        text: String,
        /// Opaque proof that it is unchanged; goes back verbatim to the same provider only.
        signature: Option<String>,
        /// Reasoning that only the provider can read.
        encrypted: Option<String>,
    },
    /// The model asks for a tool.
    ToolCall {
        /// Pairs the call with its results.
        call_id: String,
        /// The tool's name as the runtime spells it.
        name: String,
        /// The arguments: JSON text, byte for byte.
        arguments: String,
    },
    /// What a tool returned.
    ToolResult {
        /// The call it answers.
        call_id: String,
        /// Whether the tool failed.
        is_error: bool,
        /// Text, images and whatever else it returned.
        parts: Vec<Part>,
    },
    /// An image.
    Image {
        /// For example `image/png`.
        media_type: String,
        /// Where the bytes are.
        source: ImageSource,
    },
    /// A file that was handed over.
    File {
        /// Its name or path.
        name: String,
        /// For example `application/pdf`.
        media_type: Option<String>,
        /// Base64 text or plain text, as the runtime wrote it.
        data: Option<String>,
    },
    /// A summary that stands for earlier entries.
    Summary {
        /// The text.
        text: String,
        /// The entries it stands for, where the runtime says so.
        covers: Vec<EntryId>,
    },
    /// Something that this version carries without understanding it.
    Opaque {
        /// Which runtime wrote it.
        runtime: String,
        /// Its type there.
        kind: String,
        /// Its JSON text, byte for byte.
        json: String,
    },
}

/// Whether the message was written as one string or as a list of blocks.
///
/// Providers key their prompt cache by the bytes, so the shape must come back as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Body {
    /// One string.
    Text,
    /// A list of blocks.
    Blocks,
}

/// What an entry is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A message of a user or an assistant.
    Message,
    /// The result of a tool.
    ToolResult,
    /// A tool result that was hidden from the model.
    ToolResultArchived,
    /// A summary of tool results.
    ToolSummary,
    /// The summary that a compaction left.
    CompactionSummary,
    /// The mark of a compaction itself.
    CompactionBoundary,
    /// Instructions that the runtime added.
    Instruction,
    /// Something about the session rather than of the conversation: titles, snapshots, queues, progress.
    Metadata,
    /// A line that could not be read.
    Unreadable,
    /// A kind of the runtime's own.
    Other(String),
}

impl Part {
    /// Returns the text of a [`Part::Text`]; `None` for every other part, summaries and thinking too.
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

impl EntryKind {
    /// Returns the name used in JSON output.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Message => "message",
            Self::ToolResult => "tool_result",
            Self::ToolResultArchived => "tool_result_archived",
            Self::ToolSummary => "tool_summary",
            Self::CompactionSummary => "compaction_summary",
            Self::CompactionBoundary => "compaction_boundary",
            Self::Instruction => "instruction",
            Self::Metadata => "metadata",
            Self::Unreadable => "unreadable",
            Self::Other(kind) => kind,
        }
    }
}

/// Who sees an entry. Unset in a transcript means seen by both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Visibility {
    /// Whether it is sent to a model, and so counted.
    pub agent: bool,
    /// Whether a person sees it.
    pub user: bool,
}

impl Default for Visibility {
    fn default() -> Self {
        Self { agent: true, user: true }
    }
}

/// Tokens that a provider reported for one API message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens that were sent uncached.
    pub input_tokens: u64,
    /// Tokens that came back.
    pub output_tokens: u64,
    /// Tokens read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Tokens written to the provider's cache.
    pub cache_write_tokens: u64,
}

/// What stands beside an entry's parts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EntryMeta {
    /// Who sees it.
    pub visibility: Visibility,
    /// The model that answered.
    pub model: Option<String>,
    /// The provider's id of the message; one message may be spread over several entries.
    pub message_id: Option<String>,
    /// What the provider reported.
    pub usage: Option<Usage>,
    /// Why the model stopped.
    pub stop_reason: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The git branch.
    pub git_branch: Option<String>,
    /// The subagent that it belongs to, where it is not the main conversation.
    pub sidechain: Option<String>,
    /// Who spoke, where several people do and the format knows.
    pub author: Option<String>,
}

/// Where an entry's raw bytes are, in the bytes that were decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NativeSpan {
    /// Bytes from the start.
    pub offset: u64,
    /// Bytes, without the newline.
    pub length: u64,
}

/// One item of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The runtime's own id, else derived from position and content.
    pub id: EntryId,
    /// The entry before it; conversations are trees in several runtimes.
    pub parent: Option<EntryId>,
    /// When it was written, as the runtime says.
    pub timestamp: Option<Timestamp>,
    /// Who speaks.
    pub role: Role,
    /// What it is for.
    pub kind: EntryKind,
    /// Whether the content was a string or a list.
    pub body: Body,
    /// What it says.
    pub parts: Vec<Part>,
    /// What stands beside it.
    pub meta: EntryMeta,
    /// Where its raw bytes are.
    pub native: NativeSpan,
}

impl Entry {
    /// Makes what somebody says now, with nothing known beside it: a message, or a tool's result where a tool speaks. Its
    /// bytes are those that it will be written as.
    pub fn said(id: EntryId, role: Role, parts: Vec<Part>) -> Self {
        let kind = if role == Role::Tool { EntryKind::ToolResult } else { EntryKind::Message };
        let body = if matches!(parts[..], [Part::Text(_)]) { Body::Text } else { Body::Blocks };
        let native = NativeSpan { offset: 0, length: 0 };
        Self {
            id,
            parent: None,
            timestamp: None,
            role,
            kind,
            body,
            parts,
            meta: EntryMeta::default(),
            native,
        }
    }

    /// Returns whether a person or program wrote this as a prompt: a user message with something other
    /// than tool results, seen by both sides.
    pub fn is_prompt(&self) -> bool {
        self.role == Role::User
            && self.kind == EntryKind::Message
            && self.meta.sidechain.is_none()
            && self.meta.visibility.agent
    }

    /// Returns the call ids of the tool calls in this entry.
    pub fn calls(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall { call_id, .. } => Some(call_id.as_str()),
            _ => None,
        })
    }

    /// Returns the call ids that this entry answers.
    pub fn answers(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult { call_id, .. } => Some(call_id.as_str()),
            _ => None,
        })
    }
}
