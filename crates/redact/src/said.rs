//! What is assigned to a name that says password: anything counts but placeholders, references and code.
//! Which names say so, and where their value stands, is `assignment`.

use crate::assignment::GAP_BYTES_MAX;
use crate::value::{Values, distinct, is_address, is_code};

/// Shorter values are flags and letters.
const VALUE_BYTES_MIN: usize = 3;
/// Longer ones are texts.
pub(crate) const SAID_BYTES_MAX: usize = 256;
/// A number this short is a length or a port.
const NUMBER_BYTES_MIN: usize = 4;
/// A word with a digit and so many bytes is no version and no name of a method.
const DIGIT_BYTES_MIN: usize = 7;
/// Bytes after a value that are looked at for the end of its line.
const LINE_END_BYTES_MAX: usize = 16;
/// Bytes before a name that are looked at for the beginning of its line: an indent, a list's dash, `export`.
const LINE_START_BYTES_MAX: usize = 64;
/// Words of a passphrase that is not quoted.
const PHRASE_WORDS: std::ops::RangeInclusive<usize> = 2..=12;
/// Words before a name that set it in a shell, a container file or an editor's settings.
const SETTERS: [&[u8]; 8] = [b"export", b"set", b"ENV", b"ARG", b"env", b"-e", b"declare", b"-x"];
/// Parts of names by which code refers to a secret that stands elsewhere.
const REFERRING: [&[u8]; 26] = [
    b"password",
    b"passwd",
    b"passphrase",
    b"passcode",
    b"pwd",
    b"pass",
    b"pw",
    b"secret",
    b"token",
    b"key",
    b"auth",
    b"cred",
    b"config",
    b"conf",
    b"setting",
    b"arg",
    b"opt",
    b"param",
    b"env",
    b"input",
    b"value",
    b"data",
    b"hash",
    b"file",
    b"self",
    b"this",
];

/// What a sentence or a table tells is shorter in no password that was seen, and longer in few other words.
const TOLD_BYTES_MIN: usize = 6;
/// How names of algorithms, types and encodings begin, up to their number.
const ALGORITHMS: [&[u8]; 22] = [
    b"sha", b"md", b"aes", b"rsa", b"hmac", b"argon", b"bcrypt", b"scrypt", b"pbkdf", b"base", b"utf",
    b"utf8mb", b"ed", b"oauth", b"varchar", b"char", b"int", b"uint", b"float", b"string", b"v", b"x",
];

/// How a value was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// `name=value`, without blanks.
    Tight,
    /// `name = value`.
    Spaced,
    /// `name: value`.
    Colon,
    /// `--name value`.
    Flag,
    /// `<name>value</name>`.
    Tag,
    /// Anything else: `=>`, `??`.
    Other,
}

/// A value without quotes, and what stands around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bare<'a> {
    pub(crate) value: &'a [u8],
    pub(crate) sign: Sign,
    /// The text before the name.
    pub(crate) before: &'a [u8],
    pub(crate) after: &'a [u8],
}

impl Values<'_> {
    /// Tells whether a quoted value, or that of a JSON field, is a secret.
    pub(crate) fn is_said(self, value: &[u8]) -> bool {
        (VALUE_BYTES_MIN..=SAID_BYTES_MAX).contains(&value.len())
            && !value.contains(&b'\n')
            && distinct(value) > 1
            && !is_reference(value)
            && !is_address(value)
            && !is_naming(value)
            && !starts_path(value)
            && !self.is_placeholder(value)
            && !self.is_known_word(value)
            && !self.is_sentence(value)
    }

    /// Tells whether a value without quotes is a secret.
    pub(crate) fn is_said_bare(self, bare: Bare<'_>) -> bool {
        let Bare { value, sign, before, after } = bare;
        if !self.is_said(value) || is_code(value) || is_metavariable(value) || is_tag(value, after) {
            return false;
        }
        let has_digit = value.iter().any(u8::is_ascii_digit);
        let is_number = value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
        if is_number && value.len() < NUMBER_BYTES_MIN {
            return false;
        }
        let is_identifier = value.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.$".contains(byte))
            && !value.first().is_some_and(u8::is_ascii_digit);
        let goes_on = match after {
            // `a=1,b=2` is a list of settings, `f(a=b, c)` code.
            [b',', next, ..] => next.is_ascii_whitespace(),
            [byte, ..] => b",)]}?!".contains(byte),
            [] => false,
        };
        let says_more = is_identifier && (refers(value) || value.contains(&b'.'));
        match sign {
            _ if says_more => false,
            Sign::Tight => !goes_on || !is_identifier,
            Sign::Spaced => !is_identifier || (has_digit && !goes_on && ends_line(after)),
            Sign::Colon if is_identifier => {
                let stands_out = has_digit && value.len() >= DIGIT_BYTES_MIN;
                !goes_on && ends_line(after) && (begins_line(before) || stands_out) && !is_type(value)
            }
            Sign::Colon => !goes_on || is_number,
            Sign::Flag => has_digit || !is_identifier || ends_argument(after),
            Sign::Tag | Sign::Other => false,
        }
    }

    /// Tells whether a word without quotes that no sign assigns is a secret: one that looks like nothing else. It has letters, and a
    /// digit or a sign, and is no date, size, version or name of an algorithm, nor words joined by dashes.
    pub(crate) fn is_told(self, value: &[u8]) -> bool {
        let count = |is: fn(&u8) -> bool| value.iter().filter(|byte| is(byte)).count();
        let (letters, digits) =
            (count(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80), count(u8::is_ascii_digit));
        let signs = value
            .split_last()
            .map_or(0, |(_, rest)| rest.iter().filter(|byte| b"!@#$%^&*?~".contains(byte)).count());
        let parts = || value.split(|byte| matches!(byte, b'-' | b'_' | b'.' | b'/' | b','));
        // `base64-encoded`, `step-2`, `web_1`: a part in which letters and digits stand mixed is none of a name.
        let is_mixed = |part: &[u8]| {
            let turns = part
                .windows(2)
                .filter(|pair| matches!(pair, [a, b] if a.is_ascii_digit() != b.is_ascii_digit()));
            turns.count() > 1
                || part.len() >= TOLD_BYTES_MIN
                    && part.iter().any(u8::is_ascii_uppercase)
                    && part.iter().any(u8::is_ascii_digit)
        };
        let is_compound = parts().count() > 1 && signs == 0 && !parts().any(is_mixed);
        let name = value.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(value.len());
        let name = value.get(..name).unwrap_or_default();
        let is_algorithm = ALGORITHMS.iter().any(|known| name.eq_ignore_ascii_case(known));
        value.len() >= TOLD_BYTES_MIN
            && letters > 1
            && (digits > 0 || signs > 0)
            && !(is_compound || is_algorithm)
            && !value.iter().any(|byte| byte.is_ascii_control() || b"=()[]{}<>;\\|\"'`".contains(byte))
            && !is_code(value)
            && !is_metavariable(value)
            && !matches!(value.first(), Some(b'-' | b'@' | b'#' | b'+' | b'&' | b'*' | b'%'))
            && !(refers(value) && signs == 0 && digits < 2)
            && self.is_said(value)
    }

    /// Tells whether a value is a word of sentences.
    pub(crate) fn is_prose(self, value: &[u8]) -> bool {
        self.placeholders.prose.iter().any(|known| value.eq_ignore_ascii_case(known.as_bytes()))
    }

    /// Measures a passphrase without quotes: words to the end of a line that begins with the name.
    pub(crate) fn phrase_len(self, before: &[u8], rest: &[u8]) -> Option<usize> {
        let window = rest.get(..SAID_BYTES_MAX).unwrap_or(rest);
        let len = window.iter().position(|byte| b"\n\r\x1b\"'`\\<>{}()[]=:;,$#|".contains(byte));
        let len = len.unwrap_or(window.len());
        let phrase = rest.get(..len)?.trim_ascii_end();
        let words = || phrase.split(|byte| *byte == b' ');
        let is_word = |word: &[u8]| {
            !word.is_empty()
                && word.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte >= 0x80)
        };
        (PHRASE_WORDS.contains(&words().count())
            && words().all(is_word)
            && ends_line(rest.get(phrase.len()..)?)
            && begins_line(before)
            && self.is_said(phrase))
        .then_some(phrase.len())
    }

    /// `password1`, `secret!`: a known word, and next to nothing beside it.
    fn is_known_word(self, value: &[u8]) -> bool {
        let beside = value.iter().filter(|byte| !byte.is_ascii_alphabetic()).count();
        beside <= VALUE_BYTES_MIN && self.is_whole_placeholder(value)
    }

    /// A label or a message: `Enter your password`, `must be longer`.
    fn is_sentence(self, value: &[u8]) -> bool {
        let is_prose = |word: &[u8]| {
            let word = word.trim_ascii();
            self.placeholders.prose.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
        };
        value.contains(&b' ') && value.split(|byte| b" ,.:;!?'\"()".contains(byte)).any(is_prose)
    }
}

/// Finds the text between the quotes at `at`, with blanks in it but no line break.
pub(crate) fn quoted_text(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let rest = text.get(at..)?;
    let prefix =
        usize::from(matches!(rest, [b'b' | b'r' | b'f' | b'u' | b'@' | b'L', b'"' | b'\'' | b'\\', ..]));
    let escapes = rest.get(prefix..)?.iter().take(GAP_BYTES_MAX).take_while(|byte| **byte == b'\\').count();
    let quote = *rest.get(prefix + escapes).filter(|byte| b"\"'`".contains(byte))?;
    let start = at + prefix + escapes + 1;
    let (mut before, mut outer) = (0, None);
    for (len, &byte) in text.get(start..)?.iter().take(SAID_BYTES_MAX + 1).enumerate() {
        match byte {
            b'\\' => before += 1,
            _ if byte == quote && before <= escapes => return Some((start, start + len - before)),
            b'"' if before < escapes => return Some((start, start + len - before)),
            b'\n' | b'\r' => return None,
            _ => {
                outer = outer.or_else(|| (byte == b'"').then_some(start + len - before));
                before = 0;
            }
        }
    }
    // The text ends inside the value, or the string around it does.
    (text.len() - start <= SAID_BYTES_MAX).then(|| (start, outer.unwrap_or(text.len())))
}

/// `${X}`, `$X`, `%X%`, `{{ x }}`, `#{x}`, `<x>`, `{x}`, `[x]`, `f(x)`.
fn is_reference(value: &[u8]) -> bool {
    let name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.- ".contains(byte);
    let is_variable = match value {
        [b'$', rest @ ..] => rest.first().is_some_and(u8::is_ascii_alphabetic) && rest.iter().all(name),
        [b'%', inner @ .., b'%'] | [b'<', inner @ .., b'>'] | [b'[', inner @ .., b']'] => {
            inner.iter().all(name)
        }
        [b'%', b's' | b'd' | b'v' | b'(', ..] | [b'!', b'v' | b'r', ..] => true,
        _ => false,
    };
    let has_template = value.split(|byte| *byte == b'{').skip(1).any(|rest| {
        memchr::memchr(b'}', rest)
            .is_some_and(|end| rest.get(..end).is_some_and(|inner| inner.iter().all(name)))
    });
    let called =
        value.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_.:".contains(byte)).count();
    let argument = |byte: &u8| name(byte) || b"'\"`,=()[]:/*+".contains(byte) || *byte == b'\\';
    let is_call = called > 1
        && value.get(called) == Some(&b'(')
        && value.ends_with(b")")
        && value.iter().skip(called).all(argument);
    is_variable || has_template || is_call || memchr::memmem::find(value, b"#{").is_some()
}

/// `db-password`, `auth.password.label`, `vault:app/secret`: words that name a secret, and nothing else.
fn is_naming(value: &[u8]) -> bool {
    let is_name = value.iter().all(|byte| byte.is_ascii_alphabetic() || b"_.-/:".contains(byte));
    let parts = || value.split(|byte| !byte.is_ascii_alphabetic());
    is_name
        && parts().any(|part| {
            let part = part.to_ascii_lowercase();
            REFERRING.iter().take(9).any(|word| part == *word || (word.len() > 5 && part.ends_with(word)))
        })
        && parts().count() > 1
}

/// `test-only-secret-base-64-bytes-long`: words that say what the value is for.
pub(crate) fn names_itself(value: &[u8]) -> bool {
    let parts = || value.split(|byte| matches!(byte, b'-' | b'_'));
    let is_name = |part: &[u8]| REFERRING.iter().take(9).any(|word| part.eq_ignore_ascii_case(word));
    parts().count() > 3 && parts().any(is_name)
}

/// `PASSWORD`, `DB_PASS`, `SECRET_NAME`: what a manual writes for a value.
fn is_metavariable(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-')) && value.contains(&b'_')
}

/// `!Ref X`, `@file`: a tag of YAML, and what is read from elsewhere.
fn is_tag(value: &[u8], after: &[u8]) -> bool {
    value.starts_with(b"@") || (value.starts_with(b"!") && after.starts_with(b" "))
}

fn starts_path(value: &[u8]) -> bool {
    matches!(value, [b'/' | b'~', ..] | [b'.', b'/' | b'.', ..] | [_, b':', b'\\' | b'/', ..])
}

/// `str`, `String`, `SecretStr`: known words are placeholders already; a capital makes a type.
fn is_type(value: &[u8]) -> bool {
    value.first().is_some_and(u8::is_ascii_uppercase) && value.iter().all(u8::is_ascii_alphabetic)
}

/// `db_password`, `userPw`, `config`: a part of a name that refers to a secret.
fn refers(value: &[u8]) -> bool {
    value.split(|byte| !byte.is_ascii_alphabetic()).any(|word| {
        word.chunk_by(|left, right| !(left.is_ascii_lowercase() && right.is_ascii_uppercase())).any(|part| {
            let part = part.strip_suffix(b"s").unwrap_or(part);
            REFERRING.iter().any(|known| part.eq_ignore_ascii_case(known))
        })
    })
}

fn ends_line(after: &[u8]) -> bool {
    let blank = after.iter().take(LINE_END_BYTES_MAX).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    match after.get(blank..).unwrap_or_default() {
        []
        | [b'\n' | b'\r' | b'"' | b'\'' | b'`' | 0x1b, ..]
        | [b'\\', b'n' | b'r' | b'"' | b'\\', ..]
        | [b'<', b'b' | b'/', ..] => true,
        [b'#', ..] => blank > 0,
        _ => false,
    }
}

/// Behind the value of a flag stands the next one, or nothing of this command.
fn ends_argument(after: &[u8]) -> bool {
    ends_line(after)
        || matches!(after, [b' ', b'-' | b'|' | b'&' | b'\\' | b'>', ..] | [b';' | b'\\' | b')', ..])
}

pub(crate) fn begins_line(before: &[u8]) -> bool {
    let from = before.len().saturating_sub(LINE_START_BYTES_MAX);
    let window = before.get(from..).unwrap_or_default();
    let line = memchr::memrchr(b'\n', window).map_or(window, |at| window.get(at + 1..).unwrap_or_default());
    let (line, opens) = after_opening_quote(line).map_or((line, false), |string| (string, true));
    let is_whole = opens || line.len() < window.len() || from == 0;
    // `spring.datasource.password`: the path of a setting is its name.
    let path = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let len = line.iter().rev().take_while(path).count();
    let line = if line.ends_with(b".") { line.get(..line.len() - len).unwrap_or_default() } else { line };
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    // What ends in a mark is a prefix with all before it: `grep` and logs write such.
    let is_free = words.fold(true, |is_free, word| {
        let is_prefix = word.contains(&b'|') || matches!(word.last(), Some(b':' | b'>' | b']' | b'$' | b'#'));
        is_prefix || (is_free && (SETTERS.contains(&word) || is_mark(word)))
    });
    is_whole && is_free
}

/// Returns what stands behind the quote that opens a string: a string is a line of its own.
pub(crate) fn after_opening_quote(line: &[u8]) -> Option<&[u8]> {
    let quote = line.iter().rposition(|byte| b"\"'`".contains(byte))?;
    let outside = line.get(..quote)?;
    let escapes = outside.iter().rev().take_while(|byte| **byte == b'\\').count();
    let last = outside.get(..outside.len() - escapes)?.last();
    let is_nested = escapes > 0 && last.is_some_and(|byte| b"\"'`".contains(byte));
    (is_nested || last.is_none_or(|byte| b" \t:=,([{".contains(byte)))
        .then(|| line.get(quote + 1..))
        .flatten()
}

/// A list's dash, a line's number, a time, a colour.
fn is_mark(word: &[u8]) -> bool {
    word.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == 0x1b)
        || !word.iter().any(u8::is_ascii_alphabetic)
}
