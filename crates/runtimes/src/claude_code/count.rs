//! What a record counts: entries, messages and estimated tokens, without building an entry.
//!
//! An estimate by the rule of the model crate, one line at a time, so that the counts of commits add up
//! to those of their chain whatever the granularity. Not a tokenizer.

use stemmata_model::{Counts, IMAGE_TOKENS, Role};

use super::kind::{Class, Said};
use super::message::{Content, Element, Shape};
use crate::json::Field;
use crate::lines::count::{UNSEEN, chars};

/// Tool results inside tool results that are looked into; the API nests none.
pub(crate) const NESTING_MAX: usize = 2;

/// Characters and images that a model sees of one record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Seen {
    chars: u64,
    images: u64,
}

/// Counts one readable record.
pub(super) fn counts(class: &Class<'_>) -> Counts {
    if !class.visibility.agent {
        return UNSEEN;
    }
    let mut seen = Seen::default();
    match &class.said {
        Said::Content(content) => seen.content(content, NESTING_MAX),
        Said::Texts(texts) => seen.chars += texts.iter().map(|text| chars(text)).sum::<u64>(),
        Said::Attachment { value, .. } => seen.chars += chars(value.raw()),
        Said::Nothing => {}
    }
    Counts {
        messages: u64::from(class.role != Role::System),
        entries: 1,
        tokens: seen.chars.div_ceil(4) + seen.images * IMAGE_TOKENS.0,
    }
}

impl Seen {
    fn content(&mut self, content: &Content<'_>, depth: usize) {
        match content {
            Content::Absent => {}
            Content::Text(field) => self.chars += json_chars(*field),
            Content::List(elements) => elements.iter().for_each(|element| self.element(element, depth)),
            Content::Other(field) => self.chars += chars(field.raw()),
        }
    }

    fn element(&mut self, element: &Element<'_>, depth: usize) {
        match element.shape() {
            Shape::Text(text) | Shape::Thinking(text, _) => self.chars += json_chars(text),
            Shape::Redacted(_) => {}
            Shape::Call { name, input, .. } => {
                self.chars += json_chars(name) + input.map_or(NO_ARGUMENTS_CHARS, |input| chars(input.raw()));
            }
            Shape::Result { content, .. } if depth > 0 => self.content(&Content::of(content), depth - 1),
            Shape::Image(..) | Shape::ImageUrl(_) | Shape::Document { .. } => self.images += 1,
            Shape::Result { .. } | Shape::Other => self.chars += chars(element.whole.raw()),
        }
    }
}

/// A call without arguments counts as one with `{}`.
const NO_ARGUMENTS_CHARS: u64 = 2;

/// Counts the characters of a JSON string without decoding it.
fn json_chars(field: Field<'_>) -> u64 {
    let raw = field.raw();
    let inner = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(raw);
    let bytes = inner.as_bytes();
    let mut surplus = 0;
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let escape = at + found;
        let length = match bytes.get(escape + 1) {
            Some(b'u')
                if is_surrogate(bytes, escape, b"89abAB") && is_surrogate(bytes, escape + 6, b"cdefCDEF") =>
            {
                12
            }
            Some(b'u') => 6,
            _ => 2,
        };
        surplus += length - 1;
        at = escape + length;
    }
    chars(inner).saturating_sub(u64::try_from(surplus).unwrap_or(u64::MAX))
}

/// Returns whether an escape `\uD…` stands here whose second digit is one of `digits`.
fn is_surrogate(bytes: &[u8], at: usize, digits: &[u8]) -> bool {
    bytes
        .get(at..at + 4)
        .is_some_and(|escape| matches!(escape, [b'\\', b'u', b'd' | b'D', digit] if digits.contains(digit)))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::claude_code::whole::Whole;

    fn count(line: &str) -> Counts {
        let Whole { record, inside } = Whole::parse(line.as_bytes()).expect("a record");
        counts(&Class::of(&record, inside))
    }

    #[test]
    fn what_a_model_sees_counts() {
        for (line, messages, tokens) in [
            (r#"{"type":"user","message":{"content":"12345"}}"#, 1, 2),
            (r#"{"type":"user","isMeta":true,"message":{"content":"1234"}}"#, 1, 1),
            (
                r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"é\n\ud83d\ude00\""},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}}"#,
                1,
                1201,
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Ls","input":{"a":1}}]}}"#,
                1,
                3,
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"abcd","signature":"long"}]}}"#,
                1,
                1,
            ),
            (
                r#"{"type":"assistant","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":"overloaded"}}"#,
                0,
                0,
            ),
            (r#"{"type":"attachment","attachment":{"type":"date"},"rendered":[{"content":"abcd"}]}"#, 0, 1),
            (r#"{"type":"attachment","attachment":{"type":"hook_success","content":"abcd"}}"#, 0, 0),
            (r#"{"type":"progress","data":{"message":{"content":"abcd"}}}"#, 0, 0),
            (r#"{"type":"user"}"#, 0, 0),
        ] {
            let expected = Counts { messages, entries: 1, tokens };
            assert_eq!(count(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn characters_are_counted_without_decoding(text in any::<String>(), ascii in any::<bool>()) {
            let mut json = String::new();
            for character in serde_json::Value::from(text.clone()).to_string().chars() {
                if character.is_ascii() || !ascii {
                    json.push(character);
                    continue;
                }
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(json, "\\u{unit:04X}").expect("a string takes all");
                }
            }
            prop_assert_eq!(json_chars(Field::whole(&json)), chars(&text));
        }
    }
}
