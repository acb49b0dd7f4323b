//! The inside of a record's `message`: role, id and content blocks, borrowed.
//!
//! Only looked at when asked for: most questions about a line need its top-level fields alone.

use crate::json::{Field, Refused, Skim, borrowed_object, is_string, is_true};

borrowed_object! {
    /// The fields of an API message that somebody here looks at.
    pub struct Message {
        /// The provider's id; shared by all lines that one message is spread over.
        id,
        /// `user` or `assistant`.
        role,
        /// The model that answered.
        model,
        /// A string or a list of blocks.
        content,
        /// Why the model stopped.
        stop_reason,
        /// What the provider reported.
        usage,
    }
}

borrowed_object! {
    /// The fields of a content block that somebody here looks at.
    pub struct Block {
        /// `text`, `thinking`, `redacted_thinking`, `tool_use`, `tool_result`, `image`, `document`, …
        block_type = "type",
        /// Of `text`.
        text,
        /// Of `thinking`.
        thinking,
        /// Of `thinking`: the proof that it is unchanged.
        signature,
        /// Of `redacted_thinking`; of a source: the bytes.
        data,
        /// Of `tool_use`: the call's id.
        id,
        /// Of `tool_use`: the tool's name.
        name,
        /// Of `tool_use`: the arguments.
        input,
        /// Of `tool_result`: the call it answers.
        tool_use_id,
        /// Of `tool_result`: a string or a list of blocks.
        content,
        /// Of `tool_result`: whether the tool failed.
        is_error,
        /// Of `image` and `document`.
        source,
        /// Of `document`.
        title,
        /// Of a source: what its bytes are.
        media_type,
        /// Of a source: an address.
        url,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Content<'a> {
    /// There is none, or it is `null`.
    #[default]
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
        let of = |field| Skim::whole(field, Self::skim).unwrap_or(Self::Other(field));
        field.map_or(Self::Absent, of)
    }

    /// Reads the content that comes next.
    pub(super) fn skim(skim: &mut Skim<'a>) -> Result<Self, Refused> {
        match skim.peek() {
            Some(b'[') => {
                // Nearly all have one: room for four, which a vector begins with, is no longer a small allocation.
                let mut elements = Vec::with_capacity(1);
                skim.array(|skim| {
                    let (whole, block) = skim.spanned(Block::skim_element)?;
                    elements.push(Element { whole, block });
                    Ok(())
                })?;
                Ok(Self::List(elements))
            }
            Some(b'"') => skim.value().map(Self::Text),
            _ => {
                let field = skim.value()?;
                Ok(if field.is_null() { Self::Absent } else { Self::Other(field) })
            }
        }
    }

    /// Returns the blocks of a list that are objects.
    pub fn blocks(&self) -> impl Iterator<Item = &Block<'a>> {
        let elements = match self {
            Self::List(elements) => elements.as_slice(),
            Self::Absent | Self::Text(_) | Self::Other(_) => &[],
        };
        elements.iter().filter_map(|element| element.block.as_ref())
    }

    /// Returns whether it holds a result of a tool.
    pub fn has_tool_result(&self) -> bool {
        self.blocks().any(|block| block.is_type("tool_result"))
    }
}

impl<'a> Element<'a> {
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
    fn skim_element(skim: &mut Skim<'a>) -> Result<Option<Self>, Refused> {
        if skim.peek() == Some(b'{') { Self::skim(skim).map(Some) } else { skim.skip().map(|()| None) }
    }

    /// Looks into a block; none where it is no object.
    pub fn of(field: Field<'a>) -> Option<Self> {
        Self::read(field).ok()
    }

    /// Returns whether `type` is exactly this.
    pub fn is_type(&self, name: &str) -> bool {
        self.block_type.is_some_and(|field| is_string(field, name))
    }
}
