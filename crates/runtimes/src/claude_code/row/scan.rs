//! What a row needs of a line, in one pass over its text.
//!
//! `Record` and `Message` answer the same questions with a pass for each level of nesting, which costs a context of
//! many megabytes most of its time. A line of a shape that is rare is left to them.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::claude_code::message::Content;
use crate::claude_code::record::Record;
use crate::json::{Field, is_string};

/// The ids inside a record's message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Inside<'a> {
    /// The API message's id.
    pub(super) id: Option<Field<'a>>,
    /// The blocks of its content, where that is a list.
    pub(super) blocks: Vec<Ids<'a>>,
}

/// What a content block says of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ids<'a> {
    pub(super) block_type: Option<Field<'a>>,
    pub(super) id: Option<Field<'a>>,
    pub(super) tool_use_id: Option<Field<'a>>,
}

impl Ids<'_> {
    /// Returns whether `type` is exactly this.
    pub(super) fn is_type(&self, name: &str) -> bool {
        self.block_type.is_some_and(|field| is_string(field, name))
    }
}

/// Reads a line's own fields, without `message`, and what is inside that; none where it is no record.
pub(super) fn scan(line: &[u8]) -> Option<(Record<'_>, Inside<'_>)> {
    fast(line).or_else(|| slow(line))
}

/// Reads a line level by level.
fn slow(line: &[u8]) -> Option<(Record<'_>, Inside<'_>)> {
    let record = Record::parse(line).ok()?;
    let mut inside = Inside::default();
    if let Some(message) = record.message_fields() {
        inside.id = message.id;
        if let Content::List(elements) = Content::of(message.content) {
            let blocks = elements.iter().filter_map(|element| element.block);
            inside.blocks.extend(blocks.map(|block| Ids {
                block_type: block.block_type,
                id: block.id,
                tool_use_id: block.tool_use_id,
            }));
        }
    }
    Some((record, inside))
}

/// Reads a line in one pass; none where it is no record, or one of a rare shape.
fn fast(line: &[u8]) -> Option<(Record<'_>, Inside<'_>)> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    // Strings that are handed out as bytes are not held to this rule by the reader. Within a chunk there is no way out,
    // so that many bytes are compared at once.
    let has_control = |chunk: &[u8]| chunk.iter().fold(0, |found, byte| found | u8::from(*byte < b' ')) != 0;
    if line.chunks(64).any(has_control) {
        return None;
    }
    let whole = Field::whole(std::str::from_utf8(line).ok()?);
    let mut deserializer = serde_json::Deserializer::from_str(whole.raw());
    let read = deserializer.deserialize_map(Line(whole)).ok()?;
    deserializer.end().ok()?;
    Some(read)
}

/// The keys that are looked at, on any level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Type,
    Subtype,
    Uuid,
    ParentUuid,
    LogicalParentUuid,
    Timestamp,
    IsSidechain,
    IsMeta,
    IsCompactSummary,
    AgentId,
    CompactMetadata,
    LeafUuid,
    MessageId,
    CutUuid,
    Explicit,
    Message,
    Content,
    Id,
    ToolUseId,
    Other,
}

impl Key {
    fn of(name: &[u8]) -> Self {
        match name {
            b"type" => Self::Type,
            b"subtype" => Self::Subtype,
            b"uuid" => Self::Uuid,
            b"parentUuid" => Self::ParentUuid,
            b"logicalParentUuid" => Self::LogicalParentUuid,
            b"timestamp" => Self::Timestamp,
            b"isSidechain" => Self::IsSidechain,
            b"isMeta" => Self::IsMeta,
            b"isCompactSummary" => Self::IsCompactSummary,
            b"agentId" => Self::AgentId,
            b"compactMetadata" => Self::CompactMetadata,
            b"leafUuid" => Self::LeafUuid,
            b"messageId" => Self::MessageId,
            b"cutUuid" => Self::CutUuid,
            b"explicit" => Self::Explicit,
            b"message" => Self::Message,
            b"content" => Self::Content,
            b"id" => Self::Id,
            b"tool_use_id" => Self::ToolUseId,
            _ => Self::Other,
        }
    }
}

impl<'de> serde::Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl Visitor<'_> for Name {
            type Value = Key;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a key")
            }

            fn visit_bytes<E>(self, name: &[u8]) -> Result<Key, E> {
                Ok(Key::of(name))
            }
        }

        deserializer.deserialize_bytes(Name)
    }
}

/// A line: its own fields, and what is inside its message.
struct Line<'a>(Field<'a>);

impl<'a> Visitor<'a> for Line<'a> {
    type Value = (Record<'a>, Inside<'a>);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a record")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut record, mut inside) = (Record::default(), Inside::default());
        while let Some(key) = map.next_key::<Key>()? {
            let slot = match key {
                Key::Type => &mut record.record_type,
                Key::Subtype => &mut record.subtype,
                Key::Uuid => &mut record.uuid,
                Key::ParentUuid => &mut record.parent_uuid,
                Key::LogicalParentUuid => &mut record.logical_parent_uuid,
                Key::Timestamp => &mut record.timestamp,
                Key::IsSidechain => &mut record.is_sidechain,
                Key::IsMeta => &mut record.is_meta,
                Key::IsCompactSummary => &mut record.is_compact_summary,
                Key::AgentId => &mut record.agent_id,
                Key::CompactMetadata => &mut record.compact_metadata,
                Key::LeafUuid => &mut record.leaf_uuid,
                Key::MessageId => &mut record.message_id,
                Key::CutUuid => &mut record.cut_uuid,
                Key::Explicit => &mut record.explicit,
                Key::Message => {
                    inside = map.next_value_seed(Message(self.0))?;
                    continue;
                }
                Key::Content | Key::Id | Key::ToolUseId | Key::Other => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *slot = Some(field(self.0, &mut map)?);
        }
        Ok((record, inside))
    }
}

fn field<'a, A: MapAccess<'a>>(line: Field<'a>, map: &mut A) -> Result<Field<'a>, A::Error> {
    Ok(Field::within(line, map.next_value::<&'a RawValue>()?.get()))
}

/// A message that is an object.
#[derive(Clone, Copy)]
struct Message<'a>(Field<'a>);

impl<'a> DeserializeSeed<'a> for Message<'a> {
    type Value = Inside<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Message<'a> {
    type Value = Inside<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a message")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut inside = Inside::default();
        while let Some(key) = map.next_key::<Key>()? {
            if key == Key::Id {
                inside.id = Some(field(self.0, &mut map)?);
            } else if key == Key::Content {
                inside.blocks = map.next_value_seed(Blocks(self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(inside)
    }
}

/// A content that is a string or a list of objects.
#[derive(Clone, Copy)]
struct Blocks<'a>(Field<'a>);

impl<'a> DeserializeSeed<'a> for Blocks<'a> {
    type Value = Vec<Ids<'a>>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // Takes strings, with halves of surrogate pairs too, and lists; nothing else does both.
        deserializer.deserialize_bytes(self)
    }
}

impl<'a> Visitor<'a> for Blocks<'a> {
    type Value = Vec<Ids<'a>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a list of blocks")
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = list.next_element_seed(Block(self.0))? {
            blocks.push(block);
        }
        Ok(blocks)
    }
}

/// A block that is an object.
#[derive(Clone, Copy)]
struct Block<'a>(Field<'a>);

impl<'a> DeserializeSeed<'a> for Block<'a> {
    type Value = Ids<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Block<'a> {
    type Value = Ids<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a block")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut ids = Ids::default();
        while let Some(key) = map.next_key::<Key>()? {
            let slot = match key {
                Key::Type => &mut ids.block_type,
                Key::Id => &mut ids.id,
                Key::ToolUseId => &mut ids.tool_use_id,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *slot = Some(field(self.0, &mut map)?);
        }
        Ok(ids)
    }
}

#[cfg(test)]
mod tests;
