//! JSON values inside a line: borrowed, with their places, read in one pass.
//!
//! Values stay raw JSON text until somebody asks, so that a line of megabytes costs one scan and no allocation.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::de::Visitor;
use serde_json::value::RawValue;

use super::skim::{Refused, Skim};

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
    pub(crate) fn within(outer: Field<'_>, raw: &'a str) -> Self {
        let distance = raw.as_ptr().addr().saturating_sub(outer.raw.as_ptr().addr());
        Self { raw, offset: outer.offset + distance }
    }

    /// Wraps a whole line's text.
    pub const fn whole(raw: &'a str) -> Self {
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
        serde::Deserializer::deserialize_bytes(&mut deserializer, LossyText).ok().map(Cow::Owned)
    }

    /// Returns the elements of a list, none for any other value.
    pub fn elements(&self) -> Option<Vec<Field<'a>>> {
        if !self.raw.starts_with('[') {
            return None;
        }
        let mut elements = Vec::new();
        let read = Skim::whole(*self, |skim| {
            skim.array(|skim| {
                elements.push(skim.value()?);
                Ok(())
            })
        });
        read.ok().map(|()| elements)
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
    /// The bytes are not what a format of CBOR is made of.
    #[error("document is not read from byte {offset} on: {reason}")]
    NotCbor {
        /// Bytes from the start of the document that are good.
        offset: usize,
        /// What is wrong there.
        reason: &'static str,
        /// Whether all there is would be good, if it went on.
        is_cut: bool,
    },
}

impl From<std::str::Utf8Error> for RecordError {
    fn from(error: std::str::Utf8Error) -> Self {
        Self::NotUtf8 { offset: error.valid_up_to() }
    }
}

/// Reads a line as one JSON object, and returns its text beside the fields that `read` takes from it.
///
/// # Errors
/// `RecordError` says what the line is instead.
pub(crate) fn parse_line<'a, T>(
    line: &'a [u8],
    read: fn(Field<'a>) -> Result<T, Refused>,
) -> Result<(Field<'a>, T), RecordError> {
    let whole = Field::whole(std::str::from_utf8(line)?);
    let why = |Refused| match serde_json::from_str::<&RawValue>(whole.raw()) {
        Ok(_) => RecordError::NotObject,
        Err(error) => RecordError::NotJson(error),
    };
    Ok((whole, read(whole).map_err(why)?))
}

/// Declares a struct of borrowed fields, each named like its key or with the key beside it, and what fills it.
///
/// The last of duplicate keys wins, as in JavaScript. Unknown keys are checked as JSON and skipped.
macro_rules! borrowed_object {
    ($(#[$doc:meta])* $visibility:vis struct $name:ident { $($(#[$field_doc:meta])* $field:ident $(= $key:literal)?,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        $visibility struct $name<'a> {
            $($(#[$field_doc])* pub $field: Option<$crate::json::Field<'a>>,)*
        }

        impl<'a> $name<'a> {
            /// Reads a text that is one object.
            pub(crate) fn read(object: $crate::json::Field<'a>) -> Result<Self, $crate::json::Refused> {
                $crate::json::Skim::whole(object, Self::skim)
            }

            /// Reads the object that comes next.
            pub(crate) fn skim(skim: &mut $crate::json::Skim<'a>) -> Result<Self, $crate::json::Refused> {
                let mut object = Self::default();
                skim.object(|key, skim| object.member(key, skim))?;
                Ok(object)
            }

            /// Reads the value of a key.
            pub(crate) fn member(
                &mut self,
                key: &str,
                skim: &mut $crate::json::Skim<'a>,
            ) -> Result<(), $crate::json::Refused> {
                let slot = match key {
                    $($crate::json::key!($field $($key)?) => &mut self.$field,)*
                    _ => return skim.skip(),
                };
                *slot = Some(skim.value()?);
                Ok(())
            }
        }
    };
}
pub(crate) use borrowed_object;

/// Returns the key of a field.
macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}
pub(crate) use key;

/// Returns the text of a field that is there and a string.
pub fn text(field: Option<Field<'_>>) -> Option<Cow<'_, str>> {
    field?.text()
}

/// Returns the text of a field that is there and a string, as a string of its own.
pub(crate) fn owned(field: Option<Field<'_>>) -> Option<String> {
    text(field).map(Cow::into_owned)
}

/// Returns whether a field is there and `true`.
pub fn is_true(field: Option<Field<'_>>) -> bool {
    field.is_some_and(|field| field.is_true())
}

/// Returns whether a field is this string; the texts compared here need no escapes.
pub(crate) fn is_string(field: Field<'_>, text: &str) -> bool {
    let inner = field.raw().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    // An escape is longer than what it says.
    let may_have_escapes = field.raw().len() > text.len() + 2 && field.raw().as_bytes().contains(&b'\\');
    inner == Some(text) || (may_have_escapes && field.text().is_some_and(|decoded| decoded == text))
}

/// Returns whether a line is nothing but white space, and so no record.
pub fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its name.
    pub name: String,
    /// Where its key stands, quotes included: bytes of the text that the object's field counts from.
    pub key: Range<usize>,
    /// Its value.
    pub value: Field<'a>,
}

/// Returns the place of a member in an object's text, with the comma that is one too many without it.
pub(crate) fn without(object: Field<'_>, name: &str) -> Option<Range<usize>> {
    let all = members(object)?;
    let at = all.iter().position(|member| member.name == name)?;
    let own = all.get(at)?;
    let before = at.checked_sub(1).and_then(|before| all.get(before));
    Some(match (before, all.get(at + 1)) {
        (Some(before), _) => before.value.span().end..own.value.span().end,
        (None, Some(next)) => own.key.start..next.key.start,
        (None, None) => own.key.start..own.value.span().end,
    })
}

/// Returns the members of an object in their order; none for any other value.
pub fn members(object: Field<'_>) -> Option<Vec<Member<'_>>> {
    let mut members = Vec::new();
    let read = Skim::whole(object, |skim| {
        skim.members(|key, skim| {
            let name = serde_json::from_str(key.raw()).map_err(|_| Refused)?;
            members.push(Member { name, key: key.span(), value: skim.value()? });
            Ok(())
        })
    });
    read.ok().map(|()| members)
}
