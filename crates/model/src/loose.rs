//! JSON that is no text of Unicode: bytes that are not UTF-8, and halves of surrogate pairs, as programs write them that cut a text
//! where they should not.

use std::borrow::Cow;
use std::ops::Range;

/// What stands for half of a surrogate pair, as an escape.
pub const REPLACED: &str = "\\ufffd";

/// Returns the places of escapes in a JSON text that are half of a surrogate pair: no text of Unicode has one.
pub fn lone_surrogates(json: &str) -> Vec<Range<usize>> {
    let bytes = json.as_bytes();
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..0xe000).contains(unit))
    };
    let mut lone = Vec::new();
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let escape = at + found;
        at = escape + 2;
        let Some(first) = unit(escape) else { continue };
        at = escape + 6;
        if first < 0xdc00 && unit(at).is_some_and(|second| second >= 0xdc00) {
            at += 6;
        } else {
            lone.push(escape..escape + 6);
        }
    }
    lone
}

/// Returns JSON as a text that can be read: what is not of Unicode becomes U+FFFD, as every JavaScript program has it.
pub fn json_text(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    let lone = lone_surrogates(&text);
    if lone.is_empty() {
        return text;
    }
    let mut whole = String::with_capacity(text.len());
    let mut written = 0;
    for place in lone {
        whole.push_str(text.get(written..place.start).unwrap_or_default());
        whole.push_str(REPLACED);
        written = place.end;
    }
    whole.push_str(text.get(written..).unwrap_or_default());
    Cow::Owned(whole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn halves_of_surrogate_pairs_are_found(units in prop::collection::vec(0xd7f0_u16..0xe010, 0..12)) {
            let json: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let lossy = char::decode_utf16(units.iter().copied()).filter(Result::is_err).count();
            prop_assert_eq!(lone_surrogates(&json).len(), lossy);
            let read: String = serde_json::from_str(&json_text(format!("\"{json}\"").as_bytes())).expect("a text");
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }
    }

    #[test]
    fn what_is_not_of_unicode_is_replaced_and_nothing_else() {
        let read = |bytes: &[u8]| serde_json::from_str::<String>(&json_text(bytes)).expect("a text");
        assert_eq!(read(b"\"cr\xe8me\""), "cr\u{fffd}me");
        assert_eq!(read(br#""cut \ud83d""#), "cut \u{fffd}");
        assert_eq!(read(br#""\udc00\ud83d\ude00\ud83d""#), "\u{fffd}\u{1f600}\u{fffd}");
        assert_eq!(read(br#""\\ud83d""#), "\\ud83d", "an escaped backslash");
        assert!(matches!(json_text(br#"{"a":"\u00e9"}"#), Cow::Borrowed(_)));
    }
}
