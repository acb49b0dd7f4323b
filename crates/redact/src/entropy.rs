//! Entropy with context: a token that looks drawn counts only near a word that says secret.
//! Decides about one word at a time; which text is looked at is `scan`'s and `walk`'s.

use serde::{Deserialize, Serialize};

use crate::rules::Placeholders;

/// The kind of what is found here.
pub(crate) const ENTROPY_KIND: &str = "high-entropy";
/// Thresholds that make sense: below are words, above is nothing that fits a token.
pub(crate) const THRESHOLD_RANGE: std::ops::RangeInclusive<u32> = 2_000..=6_000;

/// Bytes between the word and a token behind it at most.
const AFTER_BYTES_MAX: usize = 40;
/// Bytes between a token and the word behind it at most: `… is the token`.
const BEFORE_BYTES_MAX: usize = 24;
const TOKEN_BYTES_MIN: usize = 20;
/// Longer runs are images, signatures and ciphertext.
const TOKEN_BYTES_MAX: usize = 128;
/// Most raw bytes that one byte of a text takes after three levels of escaping: `\\\\\\\"` is eight.
const ESCAPED_BYTES: usize = 9;
/// Longest name of a field that is looked at.
const NAME_BYTES_MAX: usize = 64;
/// Changes between digit and letter, or of case, that a drawn token of the least length has nearly always.
const CHANGES_MIN: usize = 6;
/// A stretch of small letters as long as this, its first maybe a capital, may be a word.
const WORD_BYTES_MIN: usize = 4;
/// The shortest digest: MD5's.
const DIGEST_BYTES_MIN: usize = 32;
/// Digits of the parts of a UUID.
const UUID_PARTS: [usize; 5] = [8, 4, 4, 4, 12];
/// A part of a name before a digest: `x64`, `macOS`, `py311`.
const SHORT_BYTES_MAX: usize = 8;
/// A word with a number behind it before a digest: `ubuntu2404`.
const NAME_PART_BYTES_MAX: usize = 16;
/// Parts that keys have before their digits, beside the words that say secret.
const OPENERS: [&[u8]; 3] = [b"live", b"pat", b"sk"];
/// A ULID's length; it names a thing.
const ULID_BYTES: usize = 26;

/// Whether entropy counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Off,
    Context,
}

/// The words that make a token a secret, and those that make it something else.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entropy {
    pub(crate) mode: Mode,
    pub(crate) threshold_milli: u32,
    /// Words that say secret.
    pub(crate) words: Vec<String>,
    /// Parts of names and words between such a word and the token that say what else it is.
    pub(crate) others: Vec<String>,
    /// Parts right before such a word that make it another one.
    pub(crate) before: Vec<String>,
    /// Words that say digest or signature anywhere near.
    pub(crate) seals: Vec<String>,
    /// Beginnings of tokens that name things.
    pub(crate) ids: Vec<String>,
    /// What stands right before a token that is a digest.
    pub(crate) digests: Vec<String>,
}

/// A stretch of a text.
type Place = (usize, usize);

impl Entropy {
    /// Finds the token that the word at `word` makes a secret.
    pub(crate) fn near(&self, text: &[u8], word: Place, placeholders: &Placeholders) -> Option<Place> {
        self.look(text, word, (placeholders, Look::Plain))
    }

    /// Tells whether the word at `word` may make a token of a raw line a secret. Errs on the side of yes.
    pub(crate) fn is_possible(&self, raw: &[u8], word: Place, placeholders: &Placeholders) -> bool {
        self.look(raw, word, (placeholders, Look::Raw)).is_some()
    }

    fn look(&self, text: &[u8], word: Place, how: (&Placeholders, Look)) -> Option<Place> {
        if !stands_alone(text, word) {
            return None;
        }
        let found = self.behind(text, word.1, how).or_else(|| self.ahead_of(text, word.0, how));
        // Few words have a token near them, and to find that out costs less than to read what stands before a word.
        found.filter(|_| !self.is_other_before(text.get(..word.0).unwrap_or_default(), how.1))
    }

    /// Finds a token that what stands ahead of `from` leads to.
    fn behind(&self, text: &[u8], from: usize, how: (&Placeholders, Look)) -> Option<Place> {
        let leads = |run: &Place| text.get(from..run.0).is_some_and(|gap| self.leads(gap, how.1));
        runs(text, range_behind(text, from, how.1), how.1)
            .find(|run| leads(run) && self.is_token(text, *run, how))
    }

    /// Finds a token ahead of a word at `to` that says what it is.
    fn ahead_of(&self, text: &[u8], to: usize, how: (&Placeholders, Look)) -> Option<Place> {
        let close = |run: &Place| run.1 <= to && to - run.1 <= BEFORE_BYTES_MAX;
        runs(text, range_before(text, to), how.1).filter(close).find(|run| {
            text.get(run.1..to)
                .is_some_and(|gap| gap.iter().all(|byte| is_prose(*byte)) && self.leads(gap, how.1))
                && self.is_token(text, *run, how)
        })
    }

    fn is_token(&self, text: &[u8], run: Place, (placeholders, look): (&Placeholders, Look)) -> bool {
        // An escaped slash is one in a view alone.
        let unsure = look == Look::Raw && text.get(run.0..run.1).is_some_and(|run| run.contains(&b'\\'));
        unsure || self.is_secret(text, run, placeholders)
    }

    /// Finds the token in the value of a field whose name says secret.
    pub(crate) fn in_field(&self, value: &[u8], placeholders: &Placeholders) -> Option<Place> {
        self.behind(value, 0, (placeholders, Look::Plain))
    }

    /// Tells whether a name holds a word that says secret, with nothing behind it that says otherwise.
    pub(crate) fn names_secret(&self, key: &[u8], word: Place) -> bool {
        key.len() <= NAME_BYTES_MAX
            && stands_alone(key, word)
            && !self.is_other_before(key.get(..word.0).unwrap_or_default(), Look::Plain)
            && self.leads(key.get(word.1..).unwrap_or_default(), Look::Plain)
    }

    /// What stands before a word makes it another one: `public_key`, `public key`, `the digest of the key`.
    fn is_other_before(&self, before: &[u8], look: Look) -> bool {
        let window = before.get(before.len().saturating_sub(BEFORE_BYTES_MAX)..).unwrap_or_default();
        let window = match (look, memchr::memrchr(b'"', window)) {
            // What stands before a quote is another string, and says nothing of this one.
            (Look::Raw, Some(quote)) => window.get(quote + 1..).unwrap_or_default(),
            _ => window,
        };
        let right_before = match window {
            [rest @ .., b' ' | b'_' | b'-'] => rest.len(),
            _ => window.len(),
        };
        parts(window).any(|part| {
            let from = part.as_ptr().addr() - window.as_ptr().addr();
            // One that is cut, or begins with the letter of an escape, may be another one.
            let is_whole = from > 0 || window.len() == before.len();
            let escaped =
                look == Look::Raw && from.checked_sub(1).and_then(|at| window.get(at)) == Some(&b'\\');
            let is_last = from + part.len() == right_before;
            is_whole
                && !escaped
                && (is_one_of(&self.seals, part) || (is_last && is_one_of(&self.before, part)))
        })
    }

    /// What stands between a word and a token is one thought, and does not say what else the token is.
    fn leads(&self, gap: &[u8], look: Look) -> bool {
        !gap.iter().any(|byte| ends_thought(*byte))
            && !parts(gap).any(|part| {
                let from = part.as_ptr().addr() - gap.as_ptr().addr();
                let escaped = from.checked_sub(1).and_then(|at| gap.get(at)) == Some(&b'\\');
                (look == Look::Plain || !escaped)
                    && (is_one_of(&self.others, part) || is_one_of(&self.seals, part))
            })
    }

    fn is_secret(&self, text: &[u8], (start, end): Place, placeholders: &Placeholders) -> bool {
        let Some(token) = text.get(start..end) else { return false };
        (TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&token.len())
            && is_drawn(token)
            && entropy_milli(token) >= self.threshold_milli
            && !self.is_name(text, (start, end))
            && !placeholders.hold(token)
    }

    /// Digests, ids, paths, names of files and hosts.
    fn is_name(&self, text: &[u8], (start, end): Place) -> bool {
        let (before, token) =
            (text.get(..start).unwrap_or_default(), text.get(start..end).unwrap_or_default());
        let after = text.get(end..).unwrap_or_default();
        let is_id = |id: &String| token.len() > id.len() && token.starts_with(id.as_bytes());
        let is_digest = |mark: &String| before.ends_with(mark.as_bytes());
        // A part of a dotted name, of a link or a path, or of an address.
        let dotted =
            before.ends_with(b".") || matches!(after, [b'.', next, ..] if next.is_ascii_alphanumeric());
        let linked = before.ends_with(b"/")
            || before.ends_with(b"@")
            || before.ends_with(b"#")
            || after.starts_with(b"@");
        dotted
            || linked
            || self.ids.iter().any(is_id)
            || self.digests.iter().any(is_digest)
            || token.starts_with(b"/")
            || token.iter().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b'-' | b'_'))
            || self.names_digest(token)
            || (token.len() == ULID_BYTES && !token.iter().any(u8::is_ascii_lowercase))
            || has_words(token)
    }

    /// An address, and a digest or a UUID behind words and numbers: `Linux-x64-npm-<sha256>`, `session-<uuid>`. None is
    /// what says itself that it opens something.
    fn names_digest(&self, token: &[u8]) -> bool {
        let is_separator = |byte: &u8| matches!(byte, b'-' | b'_');
        let is_hex = |part: &[u8]| part.iter().all(u8::is_ascii_hexdigit);
        let mut parts: Vec<&[u8]> = token.split(is_separator).collect();
        let is_uuid = parts.len() > UUID_PARTS.len() && {
            let tail = parts.split_off(parts.len() - UUID_PARTS.len());
            let fits = tail.iter().zip(UUID_PARTS).all(|(part, len)| part.len() == len && is_hex(part));
            if !fits {
                parts.extend(tail);
            }
            fits
        };
        let is_digest = |part: &&[u8]| {
            let digits = part.strip_prefix(b"0x").unwrap_or(part);
            digits.len() >= DIGEST_BYTES_MIN && is_hex(digits)
        };
        let opens = |part: &&[u8]| {
            is_one_of(&self.words, part) || OPENERS.iter().any(|word| part.eq_ignore_ascii_case(word))
        };
        (is_uuid || parts.iter().any(is_digest))
            && parts.iter().all(|part| is_digest(part) || is_short_name(part))
            && !parts.iter().any(opens)
    }
}

/// The word is one: `token`, `apiToken`, `TOKENS`; and no part of another one: `tokenizer`, `monkey`.
fn stands_alone(text: &[u8], (start, end): Place) -> bool {
    let before = text.get(..start).unwrap_or_default();
    let first_is_lower = text.get(start).is_some_and(u8::is_ascii_lowercase);
    let glued = before.last().is_some_and(|last| {
        last.is_ascii_alphabetic()
            && (last.is_ascii_lowercase() == first_is_lower)
            && !ends_with_escape(before)
    });
    let after = text.get(end..).unwrap_or_default();
    let after = match after {
        [b's' | b'S', rest @ ..] if !rest.first().is_some_and(u8::is_ascii_lowercase) => rest,
        _ => after,
    };
    let last_is_lower = text.get(end - 1).is_some_and(u8::is_ascii_lowercase);
    let goes_on = match after.first() {
        Some(next) if next.is_ascii_lowercase() => true,
        Some(next) if next.is_ascii_uppercase() => !last_is_lower,
        _ => false,
    };
    !glued && !goes_on
}

/// A word, a number or both, as names of platforms, tools and versions are.
fn is_short_name(part: &[u8]) -> bool {
    let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, number) = part.split_at(letters);
    let rest = word.get(1..).unwrap_or_default();
    let is_word = rest.iter().all(u8::is_ascii_lowercase) || word.iter().all(u8::is_ascii_uppercase);
    (part.len() <= SHORT_BYTES_MAX && part.iter().all(u8::is_ascii_alphanumeric))
        || (part.len() <= NAME_PART_BYTES_MAX && is_word && number.iter().all(u8::is_ascii_digit))
}

/// How a text is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// As it says.
    Plain,
    /// Still escaped: an escaped slash belongs to a run, and what is unsure is taken.
    Raw,
}

/// What no thought goes on behind. No run holds one.
const fn ends_thought(byte: u8) -> bool {
    matches!(byte, b'\n' | b',' | b';' | b'&' | b'}')
}

/// What may stand between a token and the word behind it: what stands before a name in a list or in a record is another
/// value.
const fn is_prose(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || is_prose_sign(byte)
}

const fn is_prose_sign(byte: u8) -> bool {
    matches!(byte, b' ' | b'\'' | b'`' | b':')
}

/// Returns where a token may begin behind a word: empty for most, whose thought ends too soon.
fn range_behind(text: &[u8], from: usize, look: Look) -> std::ops::Range<usize> {
    let reach = if look == Look::Raw { AFTER_BYTES_MAX * ESCAPED_BYTES } else { AFTER_BYTES_MAX };
    let rest = text.get(from..).unwrap_or_default();
    let near = rest.get(..reach).unwrap_or(rest);
    let length = near.iter().position(|byte| ends_thought(*byte)).unwrap_or(near.len());
    if length < TOKEN_BYTES_MIN { from..from } else { from..from + length }
}

/// Returns where a token may begin ahead of a word at `to`: empty for most.
///
/// Back from the word stands prose, then letters that the token may end with, and then what a token has beside letters, or
/// its padding. Between the two is a sign of the prose, unless the word begins with what is no part of a token.
fn range_before(text: &[u8], to: usize) -> std::ops::Range<usize> {
    let from = to.saturating_sub(BEFORE_BYTES_MAX + TOKEN_BYTES_MAX);
    let before = text.get(from..to).unwrap_or_default();
    let gap = before.iter().rev().take(BEFORE_BYTES_MAX).take_while(|byte| is_prose(**byte)).count();
    let (rest, gap) = before.split_at(before.len() - gap);
    let last = rest.iter().rev().find(|byte| !byte.is_ascii_alphabetic());
    let may_end =
        gap.iter().any(|byte| is_prose_sign(*byte)) || !text.get(to).copied().is_some_and(is_token_byte);
    match last {
        Some(b'=') => from..to,
        Some(byte) if may_end && is_token_byte(*byte) => from..to,
        _ => to..to,
    }
}

/// Finds runs of token bytes that begin in a range and are long enough; of longer ones than a token has, the beginning
/// in a raw text, and nothing in a plain one.
fn runs(text: &[u8], range: std::ops::Range<usize>, look: Look) -> impl Iterator<Item = Place> {
    let part_at = move |at: usize| match text.get(at..) {
        Some([b'\\', rest @ ..]) if look == Look::Raw => {
            let escapes = rest.iter().take(ESCAPED_BYTES).take_while(|byte| **byte == b'\\').count();
            rest.get(escapes) == Some(&b'/')
        }
        Some([byte, ..]) => is_token_byte(*byte),
        _ => false,
    };
    let bound = if look == Look::Raw { TOKEN_BYTES_MAX * ESCAPED_BYTES } else { TOKEN_BYTES_MAX };
    let mut at = range.start;
    // A range may begin inside a run, which is none of its own then.
    let is_inside = look == Look::Plain && at > 0 && part_at(at - 1);
    while is_inside && at < range.end && part_at(at) {
        at += 1;
    }
    std::iter::from_fn(move || {
        while at < range.end {
            if !part_at(at) {
                at += 1;
                continue;
            }
            let start = at;
            // Whether it goes on behind the bound decides; how long it is then, does not.
            while at <= start + bound && part_at(at) {
                at += 1;
            }
            let is_long = at > start + bound;
            let end = at;
            while is_long && at < range.end && part_at(at) {
                at += 1;
            }
            let run = trimmed(text, (start, end));
            if run.1.saturating_sub(run.0) >= TOKEN_BYTES_MIN && (look == Look::Raw || !is_long) {
                return Some(run);
            }
        }
        None
    })
}

/// A token with its padding, and without the signs and the letter of an escape before it.
fn trimmed(text: &[u8], (start, end): Place) -> Place {
    let from = start + escape_letters(text, start);
    let signs = text.get(from..end).unwrap_or_default();
    let from = from + signs.iter().take_while(|byte| matches!(byte, b'+' | b'-' | b'_')).count();
    let padding =
        text.get(end..).unwrap_or_default().iter().take(2).take_while(|byte| **byte == b'=').count();
    (from, end + padding)
}

const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-')
}

/// The letter of an escape before a token is not part of it: `\nAbc`.
fn escape_letters(text: &[u8], start: usize) -> usize {
    match start.checked_sub(1).and_then(|at| text.get(at..)) {
        Some([b'\\', b'u', a, b, c, d, ..]) if [a, b, c, d].iter().all(|byte| byte.is_ascii_hexdigit()) => 5,
        Some([b'\\', b'x', a, b, ..]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => 3,
        Some([b'\\', ..]) => 1,
        _ => 0,
    }
}

fn ends_with_escape(before: &[u8]) -> bool {
    match before {
        [.., b'\\', byte] => byte.is_ascii_alphabetic(),
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|byte| byte.is_ascii_hexdigit()),
        _ => false,
    }
}

/// Splits at what is no letter or digit and where a small letter comes before a capital.
fn parts(text: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    text.split(|byte| !byte.is_ascii_alphanumeric()).flat_map(|word| {
        word.chunk_by(|left, right| !(left.is_ascii_lowercase() && right.is_ascii_uppercase()))
    })
}

fn is_one_of(words: &[String], part: &[u8]) -> bool {
    words.iter().any(|word| part.eq_ignore_ascii_case(word.as_bytes()))
}

/// Digits and letters stand mixed as nobody names things.
fn is_drawn(token: &[u8]) -> bool {
    let class = |byte: u8| match byte {
        b'0'..=b'9' => 0_u8,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let changes = token
        .windows(2)
        .filter(|pair| matches!(pair, [a, b] if class(*a) != class(*b) && class(*a) < 3 && class(*b) < 3))
        .count();
    let digits = token.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = token.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    changes >= CHANGES_MIN && digits >= 2 && letters >= 6
}

/// Paths and identifiers are made of words: a part of a path is one, or most of the token is.
fn has_words(token: &[u8]) -> bool {
    let is_lower = |part: &[u8]| part.len() >= WORD_BYTES_MIN && part.iter().all(u8::is_ascii_lowercase);
    let is_path = token.contains(&b'/') && token.split(|byte| *byte == b'/').any(is_lower);
    let wordy: usize = token
        .split(|byte| !byte.is_ascii_alphabetic())
        .flat_map(|word| {
            word.chunk_by(|left, right| !(left.is_ascii_lowercase() && right.is_ascii_uppercase()))
        })
        .filter(|word| word.len() >= WORD_BYTES_MIN && word.iter().skip(1).all(u8::is_ascii_lowercase))
        .map(<[u8]>::len)
        .sum();
    is_path || wordy * 2 > token.len()
}

/// Shannon's entropy in thousandths of a bit per byte; whole numbers only, so that every machine says the same.
fn entropy_milli(token: &[u8]) -> u32 {
    let mut counts = [0_u32; 256];
    for &byte in token {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let Ok(length) = u32::try_from(token.len()) else { return 0 };
    if length == 0 {
        return 0;
    }
    let weighted: u64 =
        counts.iter().filter(|count| **count > 1).map(|count| u64::from(*count) * log2_micro(*count)).sum();
    let bits = log2_micro(length).saturating_sub(weighted / u64::from(length));
    u32::try_from(bits / 1_000).unwrap_or(u32::MAX)
}

/// The logarithm to base 2 in millionths, by squaring: no floating point.
fn log2_micro(value: u32) -> u64 {
    if value == 0 {
        return 0;
    }
    let whole = value.ilog2();
    // The mantissa in [1, 2) with 30 bits behind the point.
    let mut mantissa = (u64::from(value) << 30) >> whole;
    let (mut micro, mut step) = (u64::from(whole) * 1_000_000, 500_000_u64);
    while step > 0 {
        mantissa = (mantissa * mantissa) >> 30;
        if mantissa >= 2 << 30 {
            mantissa >>= 1;
            micro += step;
        }
        step /= 2;
    }
    micro
}

#[cfg(test)]
mod tests;
