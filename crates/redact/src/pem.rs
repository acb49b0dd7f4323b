//! Private keys in PEM armour: whole, cut off, or with whatever a tool put before, between and behind their lines.
//! Certificates and public keys are none of its business.
//!
//! A key may reach over several texts: the lines of a stream, the strings of an array. So the matcher can begin inside
//! a key, and says whether it ended inside one.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Bytes behind a header that may belong to its key. An RSA key of 16,384 bits takes 13 KiB; prefixes and escapes may
/// make that eight times as long.
const KEY_BYTES_MAX: usize = 128 * 1024;
/// Bytes of the lines that a private key may take, with the one in which it began and all that says nothing of it: behind
/// that many it is not open any more.
pub const KEY_LINES_BYTES_MAX: usize = KEY_BYTES_MAX;
/// Bytes without key material that may stand before the next line of a key: a prefix, an object's other fields, a comment.
const GAP_BYTES_MAX: usize = 1024;
/// Longest `BEGIN` or `END` line, colours included.
const HEADER_BYTES_MAX: usize = 160;
/// A run of base64 this long is a line of a key; shorter runs are words.
const RUN_BYTES_MIN: usize = 16;
/// A run this long with a digit, a capital and a small letter is base64 however even it looks.
const LONG_RUN_BYTES_MIN: usize = 40;
/// The shortest last line of a key that is told from punctuation.
const TAIL_BYTES_MIN: usize = 4;
/// The shortest private key, an Ed25519 one, has 64 bytes of base64.
const KEY_BYTES_MIN: usize = 40;
/// Bytes between the end of a line of a key and the line break: quotes, a comma, the `$` of `cat -A`, a colour.
const LINE_END_BYTES_MAX: usize = 24;
/// Bytes of a terminal's control sequence.
const CONTROL_BYTES_MAX: usize = 24;

pub(crate) const BEGIN: &[u8] = b"-----BEGIN";
const END: &[u8] = b"-----END";
const DASHES: &[u8] = b"-----";

/// A stretch of a text.
type Place = (usize, usize);

/// Whether the text to come continues a private key that an earlier text opened.
///
/// Starts outside of any key ([`Default`]). One value follows one sequence of texts, each of which is a line or holds
/// whole lines: the lines that a command prints, the pieces of one message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateKeyState {
    open: Option<Open>,
    /// The JSON field that the key stands in; empty in text and in an array's own strings.
    field: Vec<u8>,
}

/// A key that has begun and not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    /// Bytes that may still belong to it.
    left: usize,
    /// Bytes of the lines since its header, whatever they say.
    passed: usize,
    /// Bytes since its header or its last line.
    gap: usize,
    /// The line before this one held key material.
    follows: bool,
}

impl PrivateKeyState {
    /// Tells whether the last text ended inside a private key.
    pub const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Finds the key material of the next text, in its order and without overlaps, and moves behind the text.
    ///
    /// The end of a text counts as the end of a line. Linear in the bytes.
    pub fn advance(&mut self, text: &[u8]) -> Vec<Range<usize>> {
        self.places(text).into_iter().map(|(start, end)| start..end).collect()
    }

    /// Does the same for a text of the JSON field with this name: only texts of one name are lines of one key.
    pub(crate) fn advance_in(&mut self, field: &[u8], text: &[u8]) -> Vec<Place> {
        if self.is_open() && self.field == field {
            return self.places(text);
        }
        if memchr::memmem::find(text, BEGIN).is_none() {
            return Vec::new();
        }
        let mut fresh = PrivateKeyState { open: None, field: field.to_vec() };
        let found = fresh.places(text);
        if fresh.is_open() {
            *self = fresh;
        }
        found
    }

    /// Counts a line that was looked at to the key that is open behind it, in whatever field it says something.
    pub(crate) fn pass_line(&mut self, bytes: usize) {
        let Some(open) = &mut self.open else { return };
        open.passed += bytes.max(1);
        // The text of a line comes without its break.
        open.gap += 1;
        if open.passed >= KEY_LINES_BYTES_MAX || open.gap > GAP_BYTES_MAX {
            *self = PrivateKeyState::default();
        }
    }

    fn places(&mut self, text: &[u8]) -> Vec<Place> {
        let (mut found, mut at) = (Vec::new(), 0);
        if let Some(open) = self.open {
            let key = Reader::of(text, 0, open).read(None);
            (self.open, at) = (key.open, key.end);
            found.extend(key.places);
        }
        while self.open.is_none() {
            let rest = text.get(at..).unwrap_or_default();
            let Some(begin) = memchr::memmem::find(rest, BEGIN).map(|found| at + found) else { break };
            at = begin + BEGIN.len();
            if let Some(key) = key(text, begin) {
                (self.open, at) = (key.open, key.end);
                found.extend(key.places);
            }
        }
        if self.open.is_none() {
            self.field.clear();
        }
        found
    }
}

/// What of a text belongs to one key.
#[derive(Debug)]
pub(crate) struct Key {
    /// What is a secret.
    pub(crate) places: Vec<Place>,
    /// Where the key ended, or the look for its end.
    end: usize,
    open: Option<Open>,
}

/// Reads the key whose header begins at `at`: as one place where only marks stand between its lines, else each run of
/// its base64.
pub(crate) fn key(text: &[u8], at: usize) -> Option<Key> {
    let body = armour(text, at, BEGIN)?;
    let open = Open { left: KEY_BYTES_MAX, passed: 0, gap: 0, follows: false };
    Some(Reader::of(text, body, open).read(Some(at)))
}

/// Tells whether a raw text may open a private key at `at`. Errs on the side of yes.
pub(crate) fn may_open(raw: &[u8], at: usize) -> bool {
    let rest = raw.get(at..).unwrap_or_default();
    memchr::memmem::find(rest.get(..HEADER_BYTES_MAX).unwrap_or(rest), b"PRIVATE").is_some()
}

/// Returns where a text can be cut, at a place or shortly before it, so that the first or last line of no key is cut.
pub(crate) fn cut_before(text: &[u8], at: usize) -> usize {
    let from = at.saturating_sub(HEADER_BYTES_MAX + BEGIN.len());
    let near = text.get(from..text.len().min(at + BEGIN.len())).unwrap_or_default();
    let is_armour = |found: &usize| {
        let rest = near.get(*found..).unwrap_or_default();
        rest.starts_with(BEGIN) || rest.starts_with(END)
    };
    memchr::memchr_iter(b'-', near).find(is_armour).map_or(at, |found| at.min(from + found))
}

/// Reads a text from inside a key.
struct Reader<'a> {
    text: &'a [u8],
    pos: usize,
    limit: usize,
    open: Open,
    /// Runs that are key material whatever stands between them.
    runs: Vec<Place>,
    /// This line holds anything.
    begun: bool,
    /// This line holds key material.
    holds: bool,
    /// Bytes of base64 in runs, and the end of the last one, while only marks stood between them.
    plain: Option<(usize, usize)>,
}

impl<'a> Reader<'a> {
    fn of(text: &'a [u8], pos: usize, open: Open) -> Reader<'a> {
        let limit = text.len().min(pos.saturating_add(open.left));
        Reader { text, pos, limit, open, runs: Vec::new(), begun: false, holds: false, plain: Some((0, pos)) }
    }

    fn read(mut self, header: Option<usize>) -> Key {
        let start = self.pos;
        // What only marks divide is one key with its header, as a tool shows it.
        let mut whole = None;
        let mut closed = None;
        while self.pos < self.limit && self.open.gap <= GAP_BYTES_MAX {
            let rest = self.text.get(self.pos..self.limit).unwrap_or_default();
            if rest.starts_with(BEGIN) {
                closed = Some(self.pos);
                break;
            }
            if rest.starts_with(END) {
                let end = armour(self.text, self.pos, END).unwrap_or(self.pos + END.len());
                if let Some((total, last)) = &mut self.plain {
                    *last = if *total >= KEY_BYTES_MIN { end } else { *last };
                }
                closed = Some(end);
                break;
            }
            self.step(rest);
            whole = self.plain.filter(|(total, _)| *total >= KEY_BYTES_MIN).or(whole);
        }
        whole = self.plain.filter(|(total, _)| *total >= KEY_BYTES_MIN).or(whole);
        let ended = closed.is_some() || self.pos < self.text.len();
        let places = self.places(header.zip(whole.map(|(_, end)| end)), header.is_some() && closed.is_some());
        let open = Open {
            left: self.open.left.saturating_sub(self.pos - start),
            passed: self.open.passed,
            gap: self.open.gap,
            follows: if self.begun { self.holds } else { self.open.follows },
        };
        let open = (!ended && open.left > 0 && open.gap <= GAP_BYTES_MAX).then_some(open);
        Key { places, end: closed.unwrap_or(self.pos), open }
    }

    /// The whole key and the runs behind it. A header and an end with next to nothing between them are an example.
    fn places(&self, whole: Option<Place>, is_complete: bool) -> Vec<Place> {
        let runs = self.runs.iter().copied();
        let Some((start, end)) = whole else {
            let total: usize = runs.clone().map(|(start, end)| end - start).sum();
            return if is_complete && total < KEY_BYTES_MIN { Vec::new() } else { runs.collect() };
        };
        std::iter::once((start, end)).chain(runs.filter(|run| run.0 >= end)).collect()
    }

    fn step(&mut self, rest: &[u8]) {
        let run = base64_run(rest);
        if run > 0 {
            self.begun = true;
            return self.run(rest, run);
        }
        if let Some(len) = line_break(rest) {
            // Blank lines, and the second byte of a Windows line break, part nothing.
            self.open.follows = if self.begun { self.holds } else { self.open.follows };
            (self.begun, self.holds) = (false, false);
            return self.skip(len);
        }
        self.begun = true;
        if let Some(len) = control(rest) {
            return self.skip(len);
        }
        if !rest.first().is_some_and(|byte| is_mark(*byte)) {
            self.plain = None;
        }
        self.skip(1);
    }

    fn skip(&mut self, len: usize) {
        self.pos += len;
        self.open.gap += len;
    }

    fn run(&mut self, rest: &[u8], len: usize) {
        let (run, after) = rest.split_at(len);
        let is_tail = self.open.follows && ends_line(after);
        let is_line = len >= RUN_BYTES_MIN && (is_tail || is_drawn(run));
        let is_last = len >= TAIL_BYTES_MIN && is_tail && !is_word(run);
        // A diff's mark is base64 too, and must stay.
        let mark = usize::from(len > 1 && run.starts_with(b"+") && self.begins_line());
        if is_line || is_last {
            self.runs.push((self.pos + mark, self.pos + len));
        }
        if let Some((total, end)) = &mut self.plain
            && ((len >= RUN_BYTES_MIN && has_both_cases(run)) || is_line || is_last)
        {
            (*total, *end) = (*total + len, self.pos + len);
        }
        self.holds |= is_line;
        self.pos += len;
        self.open.gap = if is_line { 0 } else { self.open.gap + len };
    }

    fn begins_line(&self) -> bool {
        let before = self.text.get(..self.pos).unwrap_or_default();
        matches!(before, [] | [.., b'\n' | b'\r'] | [.., b'\\', b'n' | b'r'])
    }
}

/// Reads `-----BEGIN … PRIVATE KEY-----`, in which colours may stand and blanks may be spelled for a URL.
fn armour(text: &[u8], at: usize, start: &[u8]) -> Option<usize> {
    let line = text.get(at..)?.strip_prefix(start)?;
    let line = line.get(..HEADER_BYTES_MAX).unwrap_or(line);
    let (mut label, mut len) = (Vec::with_capacity(32), 0);
    loop {
        let rest = line.get(len..)?;
        if rest.starts_with(DASHES) {
            break;
        }
        len += match rest {
            [b'%', b'2', b'0', ..] => 3,
            [b' ' | b'+', ..] => 1,
            [byte, ..] if byte.is_ascii_uppercase() || byte.is_ascii_digit() => {
                label.push(*byte);
                1
            }
            _ => control(rest)?,
        };
    }
    (label.ends_with(b"PRIVATEKEY") || label.ends_with(b"PRIVATEKEYBLOCK"))
        .then_some(at + start.len() + len + DASHES.len())
}

/// Measures a line break: as it is, escaped, of HTML or of a URL.
fn line_break(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'\n' | b'\r', ..] => Some(1),
        [b'\\', ..] => {
            let escapes = rest.iter().take(LINE_END_BYTES_MAX).take_while(|byte| **byte == b'\\').count();
            matches!(rest.get(escapes), Some(b'n' | b'r')).then_some(escapes + 1)
        }
        [b'<', b'b' | b'B', b'r' | b'R', ..] | [b'%', b'0', b'A' | b'a' | b'D' | b'd', ..] => Some(3),
        _ => None,
    }
}

/// Measures a terminal's control sequence, however its first byte is spelled, or an escaped tab.
fn control(rest: &[u8]) -> Option<usize> {
    if rest.starts_with(b"\\t") {
        return Some(2);
    }
    let spellings: [&[u8]; 8] =
        [b"\x1b[", b"^[[", b"\\x1b[", b"\\x1B[", b"\\033[", b"\\e[", b"\\u001b[", b"\\u001B["];
    let start = spellings.iter().find(|start| rest.starts_with(start))?.len();
    let parameters = rest.get(start..)?.iter().take(CONTROL_BYTES_MAX);
    let len = parameters.take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
    matches!(rest.get(start + len), Some(0x40..=0x7e)).then_some(start + len + 1)
}

/// Counts the base64 at the beginning; its signs may be spelled for a URL.
fn base64_run(text: &[u8]) -> usize {
    let mut len = 0;
    loop {
        len += match text.get(len..) {
            Some([byte, ..]) if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=') => 1,
            Some([b'%', b'2', b'B' | b'b' | b'F' | b'f', ..] | [b'%', b'3', b'D' | b'd', ..]) => 3,
            _ => return len,
        };
    }
}

/// Tells whether nothing but quotes, commas, colours and the like stands before the end of the line or the text.
fn ends_line(after: &[u8]) -> bool {
    let mut len = 0;
    while len < LINE_END_BYTES_MAX {
        let rest = after.get(len..).unwrap_or_default();
        if rest.is_empty() || rest.starts_with(DASHES) || line_break(rest).is_some() {
            return true;
        }
        len += match control(rest) {
            Some(control) => control,
            None if rest.first().is_some_and(|byte| b"$ \t\"'`,+;|\\^M".contains(byte)) => 1,
            None => return false,
        };
    }
    false
}

/// Digits, capitals and small letters stand mixed as in no identifier, path or digest.
fn is_drawn(run: &[u8]) -> bool {
    let class = |byte: &u8| match byte {
        b'0'..=b'9' => 0_u8,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let changes = run.windows(2).filter(|pair| matches!(pair, [a, b] if class(a) != class(b))).count();
    let is_mixed = changes * 5 >= (run.len() - 1) * 2;
    let is_long = run.len() >= LONG_RUN_BYTES_MIN && run.iter().any(u8::is_ascii_digit);
    has_both_cases(run) && (is_mixed || is_long)
}

fn has_both_cases(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_lowercase) && run.iter().any(u8::is_ascii_uppercase)
}

/// `done`, `INFO`, `Running`.
fn is_word(run: &[u8]) -> bool {
    let rest = run.get(1..).unwrap_or_default();
    run.iter().all(u8::is_ascii_alphabetic)
        && (rest.iter().all(u8::is_ascii_lowercase) || run.iter().all(u8::is_ascii_uppercase))
}

/// What tools put between the lines of a key: blanks, quotes, escapes, line numbers and their arrows, diff marks.
fn is_mark(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"\\\"'`,-:;.|>@#()[]*$".contains(&byte) || byte >= 0x80
}
