//! The inside of a record's `message`: role, id and content blocks, borrowed.
//!
//! Only looked at when asked for: most questions about a line need its top-level fields alone.

use serde_json::value::RawValue;

use super::record::Record;
use crate::json::{Field, borrowed_object, is_string, is_true};

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

borrowed_object! {
    /// The tokens that a provider reported.
    pub struct Tokens {
        /// Sent uncached.
        input = "input_tokens",
        /// Came back.
        output = "output_tokens",
        /// Read from the cache.
        cache_read = "cache_read_input_tokens",
        /// Written to the cache.
        cache_write = "cache_creation_input_tokens",
    }
}

impl<'a> Tokens<'a> {
    /// Looks into a `usage` value; none where it is no object.
    pub fn of(field: Field<'a>) -> Option<Self> {
        Self::read(field).ok()
    }
}

/// An element of a content list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// All of it.
    pub whole: Field<'a>,
    /// Its fields, where it is an object.
    pub block: Option<Block<'a>>,
}

/// A message's or a tool result's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content<'a> {
    /// There is none, or it is `null`.
    Absent,
    /// One string.
    Text(Field<'a>),
    /// A list of blocks.
    List(Vec<Element<'a>>),
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
            Some(b'[') => match serde_json::from_str::<Vec<&RawValue>>(field.raw()) {
                Ok(elements) => Self::List(
                    elements
                        .into_iter()
                        .map(|element| Element::of(Field::within(field, element.get())))
                        .collect(),
                ),
                Err(_) => Self::Other(field),
            },
            _ if field.is_null() => Self::Absent,
            _ => Self::Other(field),
        }
    }
}

impl<'a> Element<'a> {
    fn of(whole: Field<'a>) -> Self {
        Self { whole, block: Block::of(whole) }
    }

    /// Returns what the element is, with the fields that make it so.
    pub fn shape(&self) -> Shape<'a> {
        self.block.as_ref().and_then(Shape::of).unwrap_or(Shape::Other)
    }
}

/// A block of a type that the canonical model has a place for, with all that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape<'a> {
    /// `text`.
    Text(Field<'a>),
    /// `thinking`: text and signature.
    Thinking(Field<'a>, Option<Field<'a>>),
    /// `redacted_thinking`: what only the provider can read.
    Redacted(Field<'a>),
    /// `tool_use`.
    Call {
        /// The call's id.
        id: Field<'a>,
        /// The tool's name.
        name: Field<'a>,
        /// The arguments; a call without any has no such field.
        input: Option<Field<'a>>,
    },
    /// `tool_result`.
    Result {
        /// The call that it answers.
        call: Field<'a>,
        /// Whether the tool failed.
        is_error: bool,
        /// What it returned.
        content: Option<Field<'a>>,
    },
    /// `image` with base64 text and its media type.
    Image(Field<'a>, Field<'a>),
    /// `image` at an address.
    ImageUrl(Field<'a>),
    /// `document` with base64 or plain text.
    Document {
        /// Its title.
        title: Option<Field<'a>>,
        /// What its bytes are.
        media_type: Field<'a>,
        /// The bytes.
        data: Field<'a>,
    },
    /// Anything else, and blocks of these types that lack what makes them so.
    Other,
}

impl<'a> Shape<'a> {
    fn of(block: &Block<'a>) -> Option<Self> {
        let kind = block.block_type?.text()?;
        match kind.as_ref() {
            "text" => Some(Self::Text(string(block.text)?)),
            "thinking" => Some(Self::Thinking(string(block.thinking)?, string(block.signature))),
            "redacted_thinking" => Some(Self::Redacted(string(block.data)?)),
            "tool_use" => {
                Some(Self::Call { id: string(block.id)?, name: string(block.name)?, input: block.input })
            }
            "tool_result" => Some(Self::Result {
                call: string(block.tool_use_id)?,
                is_error: is_true(block.is_error),
                content: block.content,
            }),
            "image" => {
                let source = Block::of(block.source?)?;
                if source.is_type("url") {
                    return Some(Self::ImageUrl(string(source.url)?));
                }
                let data = source.is_type("base64").then(|| string(source.data)).flatten()?;
                Some(Self::Image(data, string(source.media_type)?))
            }
            "document" => {
                let source = Block::of(block.source?)?;
                let is_data = source.is_type("base64") || source.is_type("text");
                Some(Self::Document {
                    title: string(block.title),
                    media_type: string(source.media_type)?,
                    data: is_data.then(|| string(source.data)).flatten()?,
                })
            }
            _ => None,
        }
    }
}

fn string(field: Option<Field<'_>>) -> Option<Field<'_>> {
    field.filter(|field| field.raw().starts_with('"'))
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
            Content::List(elements) => elements.iter().filter_map(|element| element.block).collect(),
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
        self.is_user_besides_results(in_subagent_file) && !self.has_tool_result()
    }

    /// Returns whether this is a user's own prompt, provided that it holds no result of a tool: the part of
    /// the question that top-level fields answer.
    pub(super) fn is_user_besides_results(&self, in_subagent_file: bool) -> bool {
        self.is_type("user")
            && !is_true(self.is_meta)
            && !is_true(self.is_compact_summary)
            && (in_subagent_file || !self.is_sidechain_record())
    }
}
