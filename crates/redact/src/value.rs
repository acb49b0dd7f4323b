//! Whether a value is plausible as a secret: not a placeholder, not a word, not code.
//! Says nothing about where the value stands.

use crate::rules::{Placeholders, ValueTest};

/// Placeholder words count in the first bytes of a value only: in kilobytes of base64 any short word turns up.
const PLACEHOLDER_BYTES: usize = 128;
/// Shorter drawn values are numbers, flags and words more often than secrets.
const RANDOM_BYTES_MIN: usize = 12;
/// Changes between a digit and a letter beside it; names with a number in them have one or two.
const RANDOM_CHANGES_MIN: usize = 3;
/// Changes of case that make up for one change between digit and letter.
const RANDOM_CASES_MIN: usize = 6;
const RANDOM_DIGITS_MIN: usize = 2;
const RANDOM_LETTERS_MIN: usize = 4;
const RANDOM_DISTINCT_MIN: usize = 8;
/// What most systems demand of a password; shorter ones are examples.
const PASSWORD_BYTES_MIN: usize = 8;
const PASSWORD_BYTES_MAX: usize = 256;
const PASSWORD_DISTINCT_MIN: usize = 5;
/// A password in a URL or after a login stands where nothing else can: it may be short.
const PLACED_PASSWORD_BYTES_MIN: usize = 4;
/// Longest `user:password` in a header that is decoded for a look.
const BASIC_BYTES_MAX: usize = 1024;

/// The value tests under one list of placeholders.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) placeholders: &'a Placeholders,
}

impl Values<'_> {
    /// Applies a test that needs no numbers from a rule.
    pub(crate) fn passes(self, test: ValueTest, value: &[u8]) -> bool {
        match test {
            ValueTest::Any => true,
            ValueTest::Token => !self.is_placeholder(value),
            ValueTest::Random => self.is_random(value),
            ValueTest::Password => self.is_password(value),
            ValueTest::Login => self.is_login(value),
            ValueTest::Basic => self.is_basic(value),
            ValueTest::Placed => self.is_placed(value),
        }
    }

    /// Tells whether the value says that a secret would stand here.
    pub(crate) fn is_placeholder(self, value: &[u8]) -> bool {
        self.placeholders.hold(value)
    }

    pub(crate) fn is_whole_placeholder(self, value: &[u8]) -> bool {
        let letters: Vec<u8> = value.iter().filter(|byte| byte.is_ascii_alphabetic()).copied().collect();
        self.placeholders.whole.iter().any(|word| letters.eq_ignore_ascii_case(word.as_bytes()))
            && letters.len() * 2 > value.len()
    }

    fn is_random(self, value: &[u8]) -> bool {
        let in_alphabet = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.+/=~:%-".contains(byte);
        value.len() >= RANDOM_BYTES_MIN
            && value.iter().all(in_alphabet)
            && count(value, u8::is_ascii_digit) >= RANDOM_DIGITS_MIN
            && count(value, u8::is_ascii_alphabetic) >= RANDOM_LETTERS_MIN
            && value.split(|byte| *byte == b'.').any(is_mixed)
            && distinct(value) >= RANDOM_DISTINCT_MIN
            && !is_address(value)
            && !self.is_placeholder(value)
    }

    fn is_password(self, value: &[u8]) -> bool {
        let is_strong = |byte: &u8| byte.is_ascii_digit() || b"!@#$%^&*+?~".contains(byte);
        (PASSWORD_BYTES_MIN..=PASSWORD_BYTES_MAX).contains(&value.len())
            && value.iter().all(|byte| !byte.is_ascii_whitespace() && !byte.is_ascii_control())
            && value.iter().any(u8::is_ascii_alphabetic)
            && value.iter().any(is_strong)
            && distinct(value) >= PASSWORD_DISTINCT_MIN
            && !is_code(value)
            && !is_address(value)
            && !self.is_placeholder(value)
            && !self.is_whole_placeholder(value)
    }

    /// A value where a command or a file has its password.
    fn is_placed(self, value: &[u8]) -> bool {
        // `-p 8080:80`, `-p 127.0.0.1:5432:5432/tcp`: ports.
        let is_ports = value.contains(&b':')
            && value.iter().all(|byte| byte.is_ascii_digit() || b":./-tcpud".contains(byte));
        let is_option = value.starts_with(b"-");
        !is_ports && !is_option && self.is_said(value) && !is_code(value)
    }

    /// A password in a place that holds nothing else.
    pub(crate) fn is_placed_password(self, value: &[u8]) -> bool {
        value.len() >= PLACED_PASSWORD_BYTES_MIN
            && distinct(value) > 2
            && !is_code(value)
            && !value.starts_with(b"%")
            && !value.starts_with(b":")
            && !self.is_placeholder(value)
            && !self.is_whole_placeholder(value)
    }

    fn is_login(self, value: &[u8]) -> bool {
        // `-u 1000:100000` is a user and a group.
        let has_letter = value
            .split(|byte| *byte == b':')
            .next()
            .is_some_and(|user| user.iter().any(u8::is_ascii_alphabetic));
        has_letter && after_colon(value).is_some_and(|password| self.is_placed_password(password))
    }

    fn is_basic(self, value: &[u8]) -> bool {
        let Some(plain) = value.get(..BASIC_BYTES_MAX.min(value.len())).and_then(decode_base64) else {
            return false;
        };
        let printable = plain.iter().all(|byte| matches!(byte, 0x20..=0x7e | 0x80..));
        printable && after_colon(&plain).is_some_and(|password| self.is_placed_password(password))
    }
}

impl Placeholders {
    /// Tells whether one of the words stands in the first bytes of a value.
    pub(crate) fn hold(&self, value: &[u8]) -> bool {
        let head = value.get(..PLACEHOLDER_BYTES).unwrap_or(value);
        self.words.iter().any(|word| contains_ignoring_case(head, word.as_bytes()))
    }
}

/// Counts the different bytes.
pub(crate) fn distinct(value: &[u8]) -> usize {
    let mut seen = [false; 256];
    for &byte in value {
        if let Some(slot) = seen.get_mut(usize::from(byte)) {
            *slot = true;
        }
    }
    seen.iter().filter(|&&slot| slot).count()
}

/// Counts the digits.
pub(crate) fn digits(value: &[u8]) -> usize {
    count(value, u8::is_ascii_digit)
}

fn count(value: &[u8], test: impl Fn(&u8) -> bool) -> usize {
    value.iter().filter(|byte| test(byte)).count()
}

/// Tells whether digits and letters stand mixed, as nobody names things.
fn is_mixed(value: &[u8]) -> bool {
    let is_number = |a: &u8, b: &u8| a.is_ascii_digit() && b.is_ascii_alphabetic();
    let is_case = |a: &u8, b: &u8| a.is_ascii_lowercase() && b.is_ascii_uppercase();
    let changes = |test: &dyn Fn(&u8, &u8) -> bool| {
        value.windows(2).filter(|pair| matches!(pair, [a, b] if test(a, b) || test(b, a))).count()
    };
    let numbers = changes(&is_number);
    numbers >= RANDOM_CHANGES_MIN
        || (numbers + 1 == RANDOM_CHANGES_MIN && changes(&is_case) >= RANDOM_CASES_MIN)
}

/// Paths, links and digests with a name in front say what they are.
pub(crate) fn is_address(value: &[u8]) -> bool {
    let starts: [&[u8]; 10] = [
        b"/home/",
        b"/Users/",
        b"/tmp/",
        b"/var/",
        b"./",
        b"../",
        b"sha256:",
        b"sha512-",
        b"projects/",
        b"arn:",
    ];
    starts.iter().any(|start| value.starts_with(start)) || memchr::memmem::find(value, b"://").is_some()
}

/// Code that computes a value instead of spelling it.
pub(crate) fn is_code(value: &[u8]) -> bool {
    let has = |byte: u8| value.contains(&byte);
    (has(b'(') && has(b')'))
        || (has(b'[') && has(b']'))
        || (has(b'{') && has(b'}'))
        || (has(b'<') && has(b'>'))
        || (value.first() == Some(&b'$')
            && value.get(1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'{'))
        || (value.first() == Some(&b'%') && value.last() == Some(&b'%'))
        || value.first() == Some(&b'/')
        || memchr::memmem::find(value, b"=>").is_some()
        || memchr::memmem::find(value, b"::").is_some()
        || memchr::memmem::find(value, b"==").is_some_and(|at| at + 2 < value.len())
}

fn after_colon(value: &[u8]) -> Option<&[u8]> {
    value.get(memchr::memchr(b':', value)? + 1..)
}

fn contains_ignoring_case(text: &[u8], word: &[u8]) -> bool {
    !word.is_empty() && text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

/// Decodes padded or bare base64; backslashes of an escaped `/` are passed over.
fn decode_base64(value: &[u8]) -> Option<Vec<u8>> {
    let (mut plain, mut bits, mut held) = (Vec::new(), 0u32, 0u32);
    for &byte in value.iter().filter(|byte| !matches!(byte, b'\\' | b'=')) {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(digit)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            plain.push(u8::try_from(bits >> held & 0xff).ok()?);
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::Values;
    use crate::rules::{Rules, ValueTest};
    use crate::scrubber::BUILTIN;

    fn check(test: ValueTest, rows: &[(&str, bool)]) {
        let rules = Rules::parse(BUILTIN).unwrap();
        let values = Values { placeholders: &rules.placeholders };
        for (value, expected) in rows {
            assert_eq!(values.passes(test, value.as_bytes()), *expected, "{value}");
        }
    }

    #[test]
    fn random_values() {
        check(
            ValueTest::Random,
            &[
                ("q7Zp2Lw9Xk4Rt8Vb", true),
                ("0b9f6c1d2e3a48575f60", true),
                ("3f2b8c1e-9d4a-4b7c-8e5f-1a2b3c4d5e6f", true),
                ("claude-sonnet-4-5-20250929", false),
                ("2026-01-31T12:00:00Z", false),
                ("test-token-123", false),
                ("getTokenFromStore", false),
                ("./secrets/a1b2c3d4e5f6", false),
                ("https://a1b2c3d4.io", false),
                ("a1b2c3d4EXAMPLE99", false),
                ("a1a1a1a1a1a1a1a1", false),
            ],
        );
    }

    #[test]
    fn passwords() {
        check(
            ValueTest::Password,
            &[
                ("Tr0ub4dor&3", true),
                ("SuperSecret123!", true),
                ("correcthorse", false),
                ("password123", false),
                ("changeme123", false),
                ("process.env.DB_PASSWORD1", false),
                ("os.environ[1]", false),
                ("$DB_PASSWORD1", false),
                ("${DB_PASSWORD1}", false),
                ("<your-password-1>", false),
                ("********", false),
                ("req.body.password", false),
                ("short1!", false),
            ],
        );
    }

    #[test]
    fn logins() {
        check(
            ValueTest::Login,
            &[("me:s3cr3t-Pw", true), ("me:$PASS", false), ("user:password", false), ("me", false)],
        );
        check(
            ValueTest::Basic,
            &[("bWU6czNjcjN0LVB3", true), ("Authentication", false), ("dXNlcjpwYXNz", false)],
        );
    }
}
