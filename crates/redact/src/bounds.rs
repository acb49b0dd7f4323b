//! Where a token may begin and end: the bytes beside a match.
//! Not part of the regexes, because escapes and terminal colours count as edges too.

use serde::{Deserialize, Serialize};

/// Longest terminal colour sequence looked back over: `[38;2;255;255;255m`.
const COLOUR_BYTES_MAX: usize = 20;

/// The bytes that would continue a token, so that none of them may stand beside a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Bound {
    /// Letters, digits, `_`.
    Word,
    /// `Word` and `-`.
    Dash,
    /// On the right: letters, digits, `+`, `/`, `=`. On the left the same as `Word`.
    Base64,
    /// `Dash`, `~` and `.`.
    Azure,
    /// Anything may stand there.
    Any,
}

impl Bound {
    fn continues(self, byte: u8) -> bool {
        match self {
            Bound::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Bound::Dash => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Bound::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Bound::Azure => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'~' | b'.'),
            Bound::Any => false,
        }
    }

    /// Tells whether a token may begin at `start`.
    ///
    /// An escape (`\n`, `\u00e9`, `%3D`, `\x1b`) or a terminal colour (`[0m`) before it is an edge although its last
    /// byte is a letter: text that was escaped once more than we unescape must not hide a token.
    pub(crate) fn allows_start(self, text: &[u8], start: usize) -> bool {
        let before = text.get(..start).unwrap_or_default();
        let Some(&last) = before.last() else { return true };
        let left = if self == Bound::Base64 { Bound::Word } else { self };
        !left.continues(last) || ends_with_escape(before) || ends_with_colour(before)
    }

    /// Tells whether a token may end before `end`.
    pub(crate) fn allows_end(self, text: &[u8], end: usize) -> bool {
        text.get(end).is_none_or(|&next| !self.continues(next))
    }
}

fn ends_with_escape(before: &[u8]) -> bool {
    let is_hex = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    match before {
        [.., b'\\', byte] => byte.is_ascii_alphanumeric(),
        [.., b'%', a, b] | [.., b'\\', b'x', a, b] => is_hex(&[*a, *b]),
        [.., b'\\', b'u', a, b, c, d] => is_hex(&[*a, *b, *c, *d]),
        _ => false,
    }
}

/// Tells whether a terminal's colour ends here: `[`, digits and `;`, `m`.
pub(crate) fn ends_with_colour(before: &[u8]) -> bool {
    let Some((b'm', rest)) = before.split_last() else {
        return false;
    };
    rest.iter()
        .rev()
        .take(COLOUR_BYTES_MAX)
        .find(|byte| !(byte.is_ascii_digit() || **byte == b';'))
        .is_some_and(|&byte| byte == b'[')
}

#[cfg(test)]
mod tests {
    use super::Bound;

    #[test]
    fn edges_of_a_token() {
        for (text, start, expected) in [
            ("tok", 0, true),
            (" tok", 1, true),
            ("atok", 1, false),
            ("_tok", 1, false),
            ("-tok", 1, true),
            ("\\ntok", 2, true),
            ("ntok", 1, false),
            ("\\u00e9tok", 6, true),
            ("%3Dtok", 3, true),
            ("3Dtok", 2, false),
            ("\u{1b}[31mtok", 5, true),
            ("\\x1btok", 4, true),
            ("31mtok", 3, false),
        ] {
            assert_eq!(Bound::Word.allows_start(text.as_bytes(), start), expected, "{text}");
        }
        assert!(!Bound::Dash.allows_start(b"-tok", 1));
        assert!(Bound::Base64.allows_start(b"/tok", 1));
        assert!(!Bound::Base64.allows_end(b"tok/", 3));
        assert!(Bound::Any.allows_start(b"atok", 1));
    }
}
