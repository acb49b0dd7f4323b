//! JSON as events carry it: its text, checked.
//!
//! What a payload means is not known here.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A JSON text: checked, without white space between its tokens, numbers and the order of keys as they were given.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(Box<str>);

/// A text that is no JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not JSON: {reason}")]
pub struct JsonError {
    /// What the parser says, with line and column.
    pub reason: String,
}

impl Json {
    /// Checks a text and removes white space between its tokens.
    ///
    /// # Errors
    /// `JsonError` where it is no JSON, or lies deeper than 128 levels.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        // The check is the parser's; what is kept is the text itself, so that no number loses a digit.
        serde_json::from_str::<Checked>(text).map_err(|error| JsonError { reason: error.to_string() })?;
        Ok(Self(compact(text).into_boxed_str()))
    }

    /// Returns the value of a foreign text, read once and not kept.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn value_of(text: &str) -> Result<Value, JsonError> {
        let read = serde_json::from_str(text).map(|Plain(value)| value);
        read.map_err(|error| JsonError { reason: error.to_string() })
    }

    /// Returns the text of a value.
    pub fn of(value: &Value) -> Self {
        Self(value.to_string().into_boxed_str())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the value.
    pub fn to_value(&self) -> Value {
        let Plain(value) = serde_json::from_str(&self.0).expect("the text was checked when it was taken");
        value
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Leaves out white space outside of strings.
fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut within, mut escaped, mut kept) = (false, false, 0);
    // What is looked for is ASCII, and no byte of a longer character is.
    for (at, byte) in text.bytes().enumerate() {
        if within {
            (within, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
        } else if byte.is_ascii_whitespace() {
            out.push_str(text.get(kept..at).unwrap_or_default());
            kept = at + 1;
        } else {
            within = byte == b'"';
        }
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    out
}

/// Any JSON, looked at as whoever takes a [`Value`] looks at it, and not kept: stored payloads are read by the million.
struct Checked;

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Checked {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(Self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(Self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self, A::Error> {
        while fields.next_entry::<Self, Self>()?.is_some() {}
        Ok(Self)
    }
}

/// A value as its text says it. [`Value`]'s own reader takes an object with a certain key for something else, and refuses or
/// changes it: foreign text may have that key.
struct Plain(Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(PlainVisitor).map(Self)
    }
}

struct PlainVisitor;

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut found = Vec::new();
        while let Some(Plain(item)) = items.next_element()? {
            found.push(item);
        }
        Ok(Value::Array(found))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut found = Map::new();
        while let Some((key, Plain(value))) = fields.next_entry()? {
            found.insert(key, value);
        }
        Ok(Value::Object(found))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn json_keeps_its_numbers_and_loses_its_white_space() {
        let text = "{ \"a\" : [ 9007199254740993.10 , \"b \\\" c\\\\\" ] ,\n\"d\\\\\":1e400 }";
        // 1e400 is beyond what a float holds; a reader that cannot say it refuses it.
        assert!(Json::parse(text).is_err());
        let text = text.replace("1e400", "0.10");
        let json = Json::parse(&text).expect("JSON");
        assert_eq!(json.as_str(), "{\"a\":[9007199254740993.10,\"b \\\" c\\\\\"],\"d\\\\\":0.10}");
        assert!(Json::parse("{\"a\"").is_err() && Json::parse("").is_err() && Json::parse("1 2").is_err());
        assert!(Json::parse(&"[".repeat(100_000)).is_err(), "deep input is refused, not followed");
    }

    #[test]
    fn no_key_of_foreign_text_means_anything_here() {
        for text in [
            r#"{"$serde_json::private::RawValue":5}"#,
            r#"[{"a":{"$serde_json::private::RawValue":"{\"b\":1}"}}]"#,
            r#"{"$serde_json::private::Number":"1","\u0024serde_json::private::RawValue":"x"}"#,
        ] {
            let json = Json::parse(text).expect("JSON");
            let value = json.to_value();
            assert_eq!(Json::of(&value).as_str().replace("\\u0024", "$"), text.replace("\\u0024", "$"));
        }
    }

    proptest! {
        #[test]
        fn what_a_value_can_be_read_from_is_json_and_nothing_else(
            text in prop_oneof![
                "[\\[\\]{}\":, \n\\\\0-9a-fuE.+-]{0,40}",
                r#"\{ ?"[a-zé]{0,3}" ?: ?("(\\["nu/x]|[a-z é]|\\ud8[0-9]{2}|\\u00e9){0,6}"|-?[0-9]{1,22}(\.[0-9]{1,3})?(e[0-9]{1,3})?|null|true|\[[0-9, ]{0,4}\]) ?\}"#,
            ],
        ) {
            let (ours, theirs) = (Json::parse(&text), serde_json::from_str::<Value>(&text));
            prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}", theirs);
            if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
                prop_assert_eq!(ours.to_value(), theirs);
            }
        }
    }

    proptest! {
        #[test]
        fn compacting_json_changes_no_value(text in "[ \t\n]{0,2}(\\{\"a\\\\\" b\" ?: ?[0-9]{1,18} ?\\}|\\[ ?\"[a-z \\\\\\\\]{0,8}\" ?, ?null ?\\]|true)[ \n]{0,2}") {
            if let Ok(json) = Json::parse(&text) {
                let value: Value = serde_json::from_str(&text).expect("checked");
                prop_assert_eq!(json.to_value(), value);
                prop_assert_eq!(Json::parse(json.as_str()), Ok(json.clone()));
            }
        }
    }
}
