//! Base64 as transcripts carry files in it: read where a file is text, and written again.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 3);
    let (mut held, mut bits) = (0_u32, 0_u32);
    for digit in digits.trim_end_matches('=').bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).expect("a byte was cut out"));
            held &= (1 << bits) - 1;
        }
    }
    // What is left over are fewer bits than a digit has, all zero.
    if bits >= 6 || held != 0 {
        return None;
    }
    Some(bytes)
}

/// Returns the base64 digits of a text.
pub(crate) fn digits_of(text: &str) -> String {
    let mut digits = String::with_capacity(text.len().div_ceil(3) * 4);
    for three in text.as_bytes().chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4_usize {
            let value = usize::try_from(all >> (18 - 6 * place) & 0x3f).expect("six bits");
            let digit = if place > three.len() { '=' } else { char::from(DIGITS[value]) };
            digits.push(digit);
        }
    }
    digits
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
    }
}
