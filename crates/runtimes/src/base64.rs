//! Base64 as transcripts carry files in it: read where a file is text, and written again.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD as STANDARD, BASE64_STANDARD_NO_PAD as STANDARD_NO_PAD};

/// Returns the text that base64 digits stand for; none where they are none, or no text.
pub(crate) fn text_of(digits: &str) -> Option<String> {
    String::from_utf8(bytes_of(digits)?).ok()
}

/// Returns the first bytes that base64 digits stand for, at most so many; none where the digits are none. What is read of a
/// file of megabytes is its head.
pub fn base64_head(digits: &str, bytes_max: usize) -> Option<Vec<u8>> {
    let cut = bytes_max.div_ceil(3).saturating_mul(4);
    let mut bytes = bytes_of(digits.get(..cut).unwrap_or(digits))?;
    bytes.truncate(bytes_max);
    Some(bytes)
}

/// Reads both alphabets, with and without padding and line breaks.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.trim_end_matches('=').bytes().filter(|byte| !byte.is_ascii_whitespace());
    let standard = |digit| match digit {
        b'-' => b'+',
        b'_' => b'/',
        digit => digit,
    };
    STANDARD_NO_PAD.decode(digits.map(standard).collect::<Vec<_>>()).ok()
}

/// Returns the base64 digits of a text.
pub(crate) fn digits_of(text: &str) -> String {
    STANDARD.encode(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_comes_back_from_its_digits(text in "\\PC{0,40}") {
            let digits = digits_of(&text);
            prop_assert_eq!(digits.len() % 4, 0);
            prop_assert_eq!(text_of(&digits), Some(text.clone()));
            prop_assert_eq!(text_of(digits.trim_end_matches('=')), Some(text.clone()));
            for bytes_max in [0, 1, 5, text.len(), usize::MAX] {
                let head = text.as_bytes().get(..bytes_max).unwrap_or(text.as_bytes());
                let read = base64_head(&digits, bytes_max);
                prop_assert_eq!(read.as_deref(), Some(head));
            }
        }

        #[test]
        fn whatever_is_given_breaks_nothing(digits in "\\PC{0,40}") {
            text_of(&digits);
        }
    }

    #[test]
    fn digits_are_those_of_the_standard() {
        for (text, digits) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("noon\n", "bm9vbgo=")]
        {
            assert_eq!((digits_of(text).as_str(), text_of(digits).as_deref()), (digits, Some(text)));
        }
        for wrong in ["Zg=a", "Z", "Zh", "gP8=", "Zm9v!"] {
            assert_eq!(text_of(wrong), None, "{wrong}");
        }
        for either in ["+/8=", "-_8", "-\n_8="] {
            assert_eq!(base64_head(either, 9).as_deref(), Some(b"\xfb\xff".as_slice()), "{either}");
        }
    }
}
