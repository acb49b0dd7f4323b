//! One line of a Claude Code transcript: its top-level fields, borrowed and with their places in the line.
//!
//! Not a typed model of every record: values stay raw JSON text until somebody asks, so that a line of
//! megabytes costs one scan and no allocation. The inside of `message` is in `message`.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use stemmata_model::Timestamp;

/// A JSON value inside a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    raw: &'a str,
    offset: usize,
}

impl<'a> Field<'a> {
    /// Wraps a value found inside `outer`, which must be the text that `raw` borrows from.
    ///
    /// The place is pointer arithmetic: `raw` is a part of `outer`, so its address is not smaller.
    pub(super) fn within(outer: Field<'_>, raw: &'a str) -> Self {
        let distance = raw.as_ptr().addr().saturating_sub(outer.raw.as_ptr().addr());
        Self { raw, offset: outer.offset + distance }
    }

    /// Wraps a whole line's text.
    pub(super) const fn whole(raw: &'a str) -> Self {
        Self { raw, offset: 0 }
    }

    /// Returns the JSON text, byte for byte; strings keep their quotes.
    pub const fn raw(&self) -> &'a str {
        self.raw
    }

    /// Returns the bytes of the line that the value takes, quotes included.
    pub const fn span(&self) -> Range<usize> {
        self.offset..self.offset + self.raw.len()
    }

    /// Returns the text of a string, none for any other value.
    ///
    /// Half of a surrogate pair, which JavaScript writes where it cut a text, becomes U+FFFD.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        let inner = self.raw.strip_prefix('"')?.strip_suffix('"')?;
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Some(Cow::Borrowed(inner));
        }
        if let Ok(text) = serde_json::from_str::<String>(self.raw) {
            return Some(Cow::Owned(text));
        }
        let mut deserializer = serde_json::Deserializer::from_str(self.raw);
        deserializer.deserialize_bytes(LossyText).ok().map(Cow::Owned)
    }

    /// Returns whether the value is `null`.
    pub fn is_null(&self) -> bool {
        self.raw == "null"
    }

    /// Returns whether the value is `true`.
    pub fn is_true(&self) -> bool {
        self.raw == "true"
    }

    /// Returns a whole number that is not negative.
    pub fn number(&self) -> Option<u64> {
        self.raw.parse().ok()
    }
}

/// Reads a string whose escapes are no valid Unicode.
struct LossyText;

impl Visitor<'_> for LossyText {
    type Value = String;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<String, E> {
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// Why a line is no record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The bytes are no UTF-8.
    #[error("line is not UTF-8 from byte {offset}")]
    NotUtf8 {
        /// Bytes from the start of the line that are good.
        offset: usize,
    },
    /// The text is no JSON, or more than one value.
    #[error("line is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// The JSON is no object.
    #[error("line is JSON and no object")]
    NotObject,
}

/// Declares a struct of borrowed fields and the visitor that fills it from a JSON object.
///
/// The last of duplicate keys wins, as in JavaScript. Unknown keys are checked as JSON and skipped.
macro_rules! borrowed_object {
    ($(#[$doc:meta])* $visibility:vis struct $name:ident { $($(#[$field_doc:meta])* $field:ident = $key:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        $visibility struct $name<'a> {
            $($(#[$field_doc])* pub $field: Option<Field<'a>>,)*
        }

        impl<'a> $name<'a> {
            /// Reads an object in one pass over its text.
            ///
            /// # Errors
            /// What serde says of a text that is no JSON object.
            fn read(object: Field<'a>) -> Result<Self, serde_json::Error> {
                #[expect(non_camel_case_types, reason = "one variant a field, spelled like the field")]
                enum Key { $($field,)* Unknown }

                struct KeyVisitor;

                impl Visitor<'_> for KeyVisitor {
                    type Value = Key;

                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str("a key")
                    }

                    fn visit_bytes<E>(self, key: &[u8]) -> Result<Key, E> {
                        let key = std::str::from_utf8(key).unwrap_or_default();
                        Ok(match key { $($key => Key::$field,)* _ => Key::Unknown })
                    }
                }

                impl<'de> serde::Deserialize<'de> for Key {
                    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                        // Bytes, so that half a surrogate pair in a key does not cost the line.
                        deserializer.deserialize_bytes(KeyVisitor)
                    }
                }

                struct ObjectVisitor<'a>(Field<'a>);

                impl<'a> Visitor<'a> for ObjectVisitor<'a> {
                    type Value = $name<'a>;

                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str("an object")
                    }

                    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<$name<'a>, A::Error> {
                        let mut object = $name::default();
                        while let Some(key) = map.next_key::<Key>()? {
                            let slot = match key {
                                $(Key::$field => &mut object.$field,)*
                                Key::Unknown => {
                                    map.next_value::<IgnoredAny>()?;
                                    continue;
                                }
                            };
                            let raw = map.next_value::<&'a RawValue>()?;
                            *slot = Some(Field::within(self.0, raw.get()));
                        }
                        Ok(object)
                    }
                }

                let mut deserializer = serde_json::Deserializer::from_str(object.raw());
                let read = deserializer.deserialize_map(ObjectVisitor(object))?;
                deserializer.end()?;
                Ok(read)
            }
        }
    };
}
pub(super) use borrowed_object;

borrowed_object! {
    /// The top-level fields of a line that somebody here looks at; all others are checked and skipped.
    pub struct Record {
        /// `type`: `user`, `assistant`, `system`, `attachment`, `progress`, or a metadata type.
        record_type = "type",
        /// `subtype` of a `system` record.
        subtype = "subtype",
        /// The record's own id; metadata records have none.
        uuid = "uuid",
        /// The record before; absent on metadata, `null` on a first record and on a compaction's boundary.
        parent_uuid = "parentUuid",
        /// On a compaction's boundary: the record that would be its parent.
        logical_parent_uuid = "logicalParentUuid",
        /// The session, as a rule the file's name.
        session_id = "sessionId",
        /// A second spelling of `sessionId` that some versions write beside it.
        session_id_snake = "session_id",
        /// The session that a request was sent in.
        request_session_id = "requestSessionId",
        /// When it was written.
        timestamp = "timestamp",
        /// Whether it belongs to a subagent.
        is_sidechain = "isSidechain",
        /// Whether the runtime itself wrote this user message.
        is_meta = "isMeta",
        /// Whether it is the summary that a compaction left.
        is_compact_summary = "isCompactSummary",
        /// Whether it is shown in the transcript only.
        is_visible_in_transcript_only = "isVisibleInTranscriptOnly",
        /// Whether an assistant record is an error of the API in disguise.
        is_api_error_message = "isApiErrorMessage",
        /// The subagent's id.
        agent_id = "agentId",
        /// The working directory.
        cwd = "cwd",
        /// Of a `relocated` record: the directory that the session moved to.
        relocated_cwd = "relocatedCwd",
        /// The version of the client.
        version = "version",
        /// The git branch.
        git_branch = "gitBranch",
        /// The API message.
        message = "message",
        /// The tool's structured output beside its `tool_result` block.
        tool_use_result = "toolUseResult",
        /// The assistant record whose call a result answers.
        source_tool_assistant_uuid = "sourceToolAssistantUUID",
        /// What a boundary says of its compaction.
        compact_metadata = "compactMetadata",
        /// The API request's id.
        request_id = "requestId",
        /// What an `attachment` record carries.
        attachment = "attachment",
        /// An attachment's text as the model gets it.
        rendered = "rendered",
        /// The role under which the model gets an attachment's text.
        rendered_role = "renderedRole",
        /// Text of a `system` or `queue-operation` record.
        content = "content",
        /// A title of another session's leaf.
        summary = "summary",
        /// The record that a metadata record is about.
        leaf_uuid = "leafUuid",
        /// Whether a `last-prompt` record is the user's own choice of where the session goes on.
        explicit = "explicit",
        /// Of a `last-prompt` record after a rewind: the record that was cut off.
        cut_uuid = "cutUuid",
        /// The record that a file history record is about.
        message_id = "messageId",
        /// A title that the user gave.
        custom_title = "customTitle",
        /// A title that the runtime made up.
        ai_title = "aiTitle",
        /// Where a fork of the SDK came from.
        forked_from = "forkedFrom",
    }
}

/// What a record's `parentUuid` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParentLink<'a> {
    /// There is no such field, or it is no text: not part of the tree.
    Absent,
    /// `null`: the start of a tree.
    Root,
    /// The id of the record before.
    Of(Cow<'a, str>),
}

impl<'a> Record<'a> {
    /// Reads one line, with or without its newline, and checks that all of it is one JSON object.
    ///
    /// Linear in the line's length, no copies; nesting is not limited, for nothing recurses.
    ///
    /// # Errors
    /// `RecordError` says what the line is instead.
    pub fn parse(line: &'a [u8]) -> Result<Self, RecordError> {
        let text = std::str::from_utf8(line)
            .map_err(|error| RecordError::NotUtf8 { offset: error.valid_up_to() })?;
        Self::read(Field::whole(text)).map_err(|error| {
            if error.is_data() { RecordError::NotObject } else { RecordError::NotJson(error) }
        })
    }

    /// Returns `type`, empty where it is absent or no text.
    pub fn type_text(&self) -> Cow<'a, str> {
        text(self.record_type).unwrap_or_default()
    }

    /// Returns whether `type` is exactly this.
    pub fn is_type(&self, name: &str) -> bool {
        self.record_type.is_some_and(|field| is_string(field, name))
    }

    /// Returns whether the record is `system` of exactly this subtype.
    pub fn is_system(&self, subtype: &str) -> bool {
        self.is_type("system") && self.subtype.is_some_and(|field| is_string(field, subtype))
    }

    /// Returns whether the record opens a compaction.
    pub fn is_compact_boundary(&self) -> bool {
        self.is_system("compact_boundary")
    }

    /// Returns whether the record is the summary that a compaction left.
    pub fn is_compaction_summary(&self) -> bool {
        self.is_type("user") && is_true(self.is_compact_summary)
    }

    /// Returns whether the record belongs to a subagent.
    pub fn is_sidechain_record(&self) -> bool {
        is_true(self.is_sidechain)
    }

    /// Returns the record's own id.
    pub fn uuid_text(&self) -> Option<Cow<'a, str>> {
        text(self.uuid)
    }

    /// Returns what `parentUuid` says.
    pub fn parent(&self) -> ParentLink<'a> {
        match self.parent_uuid {
            Some(field) if field.is_null() => ParentLink::Root,
            Some(field) => field.text().map_or(ParentLink::Absent, ParentLink::Of),
            None => ParentLink::Absent,
        }
    }

    /// Returns the timestamp, none where it is absent or no timestamp.
    pub fn time(&self) -> Option<Timestamp> {
        Timestamp::parse(&text(self.timestamp)?).ok()
    }
}

/// Returns the text of a field that is there and a string.
pub fn text(field: Option<Field<'_>>) -> Option<Cow<'_, str>> {
    field?.text()
}

/// Returns whether a field is there and `true`.
pub fn is_true(field: Option<Field<'_>>) -> bool {
    field.is_some_and(|field| field.is_true())
}

/// Returns whether a field is this string; the texts compared here need no escapes.
pub(super) fn is_string(field: Field<'_>, text: &str) -> bool {
    let inner = field.raw().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner == Some(text) || (field.raw().contains('\\') && field.text().is_some_and(|decoded| decoded == text))
}

/// Returns whether a line is nothing but white space, and so no record.
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests;
