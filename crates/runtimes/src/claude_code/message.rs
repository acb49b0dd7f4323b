//! The inside of a record's `message`: role, id and content blocks, borrowed.
//!
//! Only looked at when asked for: most questions about a line need its top-level fields alone.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::record::{Field, Record, borrowed_object, is_string};

borrowed_object! {
    /// The fields of an API message that somebody here looks at.
    pub struct Message {
        /// The provider's id; shared by all lines that one message is spread over.
        id = "id",
        /// `user` or `assistant`.
        role = "role",
        /// The model that answered.
        model = "model",
        /// A string or a list of blocks.
        content = "content",
        /// Why the model stopped.
        stop_reason = "stop_reason",
        /// What the provider reported.
        usage = "usage",
    }
}

borrowed_object! {
    /// The fields of a content block that somebody here looks at.
    pub struct Block {
        /// `text`, `thinking`, `redacted_thinking`, `tool_use`, `tool_result`, `image`, `document`, …
        block_type = "type",
        /// Of `text`.
        text = "text",
        /// Of `thinking`.
        thinking = "thinking",
        /// Of `thinking`: the proof that it is unchanged.
        signature = "signature",
        /// Of `redacted_thinking`; of a source: the bytes.
        data = "data",
        /// Of `tool_use`: the call's id.
        id = "id",
        /// Of `tool_use`: the tool's name.
        name = "name",
        /// Of `tool_use`: the arguments.
        input = "input",
        /// Of `tool_result`: the call it answers.
        tool_use_id = "tool_use_id",
        /// Of `tool_result`: a string or a list of blocks.
        content = "content",
        /// Of `tool_result`: whether the tool failed.
        is_error = "is_error",
        /// Of `image` and `document`.
        source = "source",
        /// Of `document`.
        title = "title",
        /// Of a source: what its bytes are.
        media_type = "media_type",
        /// Of a source: an address.
        url = "url",
    }
}

/// A message's or a tool result's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content<'a> {
    /// There is none, or it is `null`.
    Absent,
    /// One string.
    Text(Field<'a>),
    /// A list: each element's whole value.
    List(Vec<Field<'a>>),
    /// Anything else.
    Other(Field<'a>),
}

impl<'a> Content<'a> {
    /// Looks at a `content` value.
    pub fn of(field: Option<Field<'a>>) -> Self {
        let Some(field) = field else {
            return Self::Absent;
        };
        match field.raw().as_bytes().first() {
            Some(b'"') => Self::Text(field),
            Some(b'[') => {
                serde_json::from_str::<Vec<&RawValue>>(field.raw()).map_or(Self::Other(field), |elements| {
                    let fields = elements.iter().map(|element| Field::within(field, element.get()));
                    Self::List(fields.collect())
                })
            }
            _ if field.is_null() => Self::Absent,
            _ => Self::Other(field),
        }
    }
}

impl<'a> Message<'a> {
    /// Looks into a `message` value; none where it is no object.
    pub fn of(field: Field<'a>) -> Option<Self> {
        Self::read(field).ok()
    }
}

impl<'a> Block<'a> {
    /// Looks into a block; none where it is no object.
    pub fn of(field: Field<'a>) -> Option<Self> {
        Self::read(field).ok()
    }

    /// Returns whether `type` is exactly this.
    pub fn is_type(&self, name: &str) -> bool {
        self.block_type.is_some_and(|field| is_string(field, name))
    }
}

impl<'a> Record<'a> {
    /// Looks into `message`; none where there is none or it is no object.
    pub fn message_fields(&self) -> Option<Message<'a>> {
        self.message.and_then(Message::of)
    }

    /// Returns the blocks of `message.content` that are objects; none for a string.
    pub fn blocks(&self) -> Vec<Block<'a>> {
        match Content::of(self.message_fields().and_then(|message| message.content)) {
            Content::List(elements) => elements.into_iter().filter_map(Block::of).collect(),
            Content::Absent | Content::Text(_) | Content::Other(_) => Vec::new(),
        }
    }

    /// Returns whether `message.content` holds a result of a tool.
    pub fn has_tool_result(&self) -> bool {
        self.blocks().iter().any(|block| block.is_type("tool_result"))
    }

    /// Returns whether this is a user's own prompt, where a turn starts: `type:user`, not the runtime's own
    /// (`isMeta`), not a compaction's summary, no result of a tool, and not a subagent's unless the whole
    /// transcript is one.
    pub fn is_real_user(&self, in_subagent_file: bool) -> bool {
        self.is_type("user")
            && !super::record::is_true(self.is_meta)
            && !super::record::is_true(self.is_compact_summary)
            && (in_subagent_file || !self.is_sidechain_record())
            && !self.has_tool_result()
    }
}
