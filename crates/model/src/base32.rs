//! Crockford base32 in lower case, left-aligned: the first character carries the five highest bits.
//!
//! Left alignment makes a prefix of characters a prefix of bits, so that a short id is a range of ids and
//! every character of it narrows the range by the same factor. It is not a general codec: 128 bits only.

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Characters of an encoded 128-bit number; the last one carries three bits and two zero bits.
pub(crate) const ENCODED_CHARS: usize = 26;

/// Encodes 128 bits as 26 characters.
pub(crate) fn encode(value: u128) -> String {
    (0..ENCODED_CHARS)
        .map(|position| {
            let index = if position + 1 == ENCODED_CHARS {
                (value << 2) & 31
            } else {
                (value >> (123 - 5 * position)) & 31
            };
            char::from(ALPHABET[usize::try_from(index).expect("five bits fit")])
        })
        .collect()
}

/// Decodes up to 26 characters into the lowest and the highest number that start with them.
///
/// Upper case and the look-alikes `i`, `l` (one) and `o` (zero) are accepted, as Crockford's scheme asks.
/// Returns `None` for another character, for too many, and for a last character with stray low bits.
pub(crate) fn decode_range(text: &str) -> Option<(u128, u128)> {
    let mut low: u128 = 0;
    for (position, character) in text.chars().enumerate() {
        let digit = u128::from(digit(character)?);
        match position {
            0..25 => low |= digit << (123 - 5 * position),
            25 if digit.trailing_zeros() >= 2 => low |= digit >> 2,
            _ => return None,
        }
    }
    let known_bits = (5 * text.chars().count()).min(128);
    let rest = if known_bits == 128 { 0 } else { u128::MAX >> known_bits };
    Some((low, low | rest))
}

fn digit(character: char) -> Option<u8> {
    let lower = character.to_ascii_lowercase();
    let canonical = match lower {
        'i' | 'l' => '1',
        'o' => '0',
        other => other,
    };
    let byte = u8::try_from(canonical).ok()?;
    ALPHABET.iter().position(|&known| known == byte).and_then(|index| u8::try_from(index).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_number_comes_back(value: u128) {
            let text = encode(value);
            prop_assert_eq!(text.len(), ENCODED_CHARS);
            prop_assert_eq!(decode_range(&text), Some((value, value)));
        }

        #[test]
        fn every_prefix_holds_the_number(value: u128, length in 1..26_usize) {
            let text = encode(value);
            let (low, high) = decode_range(&text[..length]).expect("a prefix decodes");
            prop_assert!(low <= value && value <= high);
        }

        #[test]
        fn order_of_text_is_order_of_numbers(left: u128, right: u128) {
            prop_assert_eq!(left.cmp(&right), encode(left).cmp(&encode(right)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _range = decode_range(&text);
        }
    }

    #[test]
    fn look_alikes_and_stray_bits() {
        assert_eq!(decode_range("O1"), decode_range("0l"));
        assert_eq!(decode_range("u"), None, "`u` is not a digit");
        assert_eq!(decode_range(&format!("{}z", "0".repeat(25))), None, "the last character has three bits");
    }
}
