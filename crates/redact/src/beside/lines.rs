//! The lines around a name: where they begin and end, which of their bytes are a prefix of all of them, and where in the next one
//! a value begins.

use super::{MARKS_MAX, Named};
use crate::assignment::Whole;

/// Longest line in which a name or its value is looked for.
const LINE_BYTES_MAX: usize = 2048;
/// Bytes of a raw text behind a name in which something must look like the beginning of a value.
const RAW_BYTES_MAX: usize = 96;
/// Marks of emphasis and quotes around a word of a text.
pub(super) const MARKS: &[u8] = b"\"'`*";

/// A line of a text, without its line break.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Line {
    /// Finds the line in which a name stands; none where it is too long.
    pub(super) fn around(text: &[u8], whole: Whole) -> Option<Line> {
        let from = whole.start.saturating_sub(LINE_BYTES_MAX);
        let start = match memchr::memrchr(b'\n', text.get(from..whole.start)?) {
            Some(at) => from + at + 1,
            None if from == 0 => 0,
            None => return None,
        };
        Some(Line { start, end: line_end(text, whole.end)? })
    }
}

fn line_end(text: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let window = rest.get(..LINE_BYTES_MAX).unwrap_or(rest);
    let len = match memchr::memchr(b'\n', window) {
        Some(len) => len,
        None if window.len() == rest.len() => rest.len(),
        None => return None,
    };
    let line = rest.get(..len)?;
    Some(from + line.strip_suffix(b"\r").unwrap_or(line).len())
}

/// Returns the lines behind the one that ends there, up to one that is too long.
pub(super) fn lines_behind(text: &[u8], end: usize) -> impl Iterator<Item = Line> {
    let mut end = end;
    std::iter::from_fn(move || {
        let rest = text.get(end..)?;
        let start = end + if rest.starts_with(b"\r\n") { 2 } else { usize::from(rest.starts_with(b"\n")) };
        if start == end || start >= text.len() {
            return None;
        }
        end = line_end(text, start)?;
        Some(Line { start, end })
    })
}

/// Where the value may begin in a line behind the name's.
pub(super) struct Begin {
    pub(super) at: usize,
    /// Whether it stands deeper than the name.
    pub(super) is_deeper: bool,
}

/// Finds where a value begins in a line behind the name's: behind the same prefix, and blanks.
pub(super) fn begin_of_value(of: Named<'_>, line: Line) -> Begin {
    let text = of.text.get(line.start..line.end).unwrap_or_default();
    let (own, prefix) = common_prefix(of.before(), text);
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let indent = text.iter().skip(prefix).take_while(blank).count();
    Begin { at: line.start + prefix + indent, is_deeper: indent > of.before().len() - own }
}

/// Returns how many bytes at the beginning of two lines are the same prefix: numbers may differ, and `grep` writes `-` for `:` in
/// lines beside a match. It ends behind no letter or digit.
pub(super) fn common_prefix(own: &[u8], other: &[u8]) -> (usize, usize) {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (mut left, mut right, mut ends) = (0, 0, (0, 0));
    while let (Some(&own_byte), Some(&other_byte)) = (own.get(left), other.get(right)) {
        let is_mark = |byte: u8| matches!(byte, b':' | b'-');
        if own_byte.is_ascii_digit() && other_byte.is_ascii_digit() {
            left += digits(own.get(left..).unwrap_or_default());
            right += digits(other.get(right..).unwrap_or_default());
        } else if own_byte == other_byte || (is_mark(own_byte) && is_mark(other_byte)) {
            (left, right) = (left + 1, right + 1);
        } else if own_byte == b' ' && other_byte.is_ascii_digit() {
            // Numbers are aligned.
            left += 1;
        } else if own_byte.is_ascii_digit() && other_byte == b' ' {
            right += 1;
        } else {
            break;
        }
        let is_edge = |byte: u8| !byte.is_ascii_alphanumeric();
        if is_edge(own_byte) && is_edge(other_byte) {
            ends = (left, right);
        }
    }
    ends
}

/// Measures a line to the quote that ends the string around it: one that no other in the line opens.
pub(super) fn end_of_string(line: &[u8], quote: u8) -> Option<usize> {
    let quotes = line.iter().enumerate().filter(|(_, byte)| **byte == quote).step_by(2);
    let ends = |at: &usize| line.get(at + 1).is_none_or(|byte| b",}])".contains(byte));
    quotes.map(|(at, _)| at).find(ends)
}

/// Counts blanks and these bytes at the beginning.
pub(super) fn marks(text: &[u8], marks: &[u8]) -> usize {
    let is_mark = |byte: &&u8| matches!(byte, b' ' | b'\t') || marks.contains(byte);
    text.iter().take(MARKS_MAX).take_while(is_mark).count()
}

/// Returns a stretch without blanks, quotes and marks of emphasis around it.
pub(super) fn without_marks(text: &[u8], (start, end): (usize, usize)) -> (usize, usize) {
    let inner = text.get(start..end).unwrap_or_default();
    let is_mark = |byte: &&u8| matches!(byte, b' ' | b'\t') || MARKS.contains(byte);
    let before = inner.iter().take_while(is_mark).count();
    let after = inner.iter().skip(before).rev().take_while(is_mark).count();
    (start + before, end - after)
}

/// `+----+`, `};`, a question and the prompt of a shell are no values.
pub(super) fn is_word(value: &[u8]) -> bool {
    let letters = value.iter().filter(|byte| byte.is_ascii_alphanumeric() || **byte >= 0x80).count();
    let is_prompt = value.contains(&b'@') && matches!(value.last(), Some(b'$' | b'#' | b'%' | b'>'));
    letters > 2 && !is_prompt && !matches!(value.last(), Some(b':' | b';' | b'{' | b'?'))
}

/// Tells whether a value may stand beside a name, by the raw text before, in and behind it, where line breaks may be escaped.
pub(super) fn may_hold_value(before: &[u8], name: &[u8], after: &[u8]) -> bool {
    let skipped = |byte: &&u8| MARKS.contains(byte) || b" \t\\]".contains(byte);
    let gap = after.iter().take(MARKS_MAX * 8).take_while(skipped).count();
    let rest = after.get(gap..).unwrap_or_default();
    let is_escaped = gap > 0 && after.get(gap - 1) == Some(&b'\\');
    let breaks = |rest: &[u8], escaped: bool| match rest {
        [] | [b'\n' | b'\r', ..] => true,
        [b'n' | b'r' | b't' | b'u', ..] => escaped,
        _ => false,
    };
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    match rest {
        [b':' | b'=', rest @ ..] => {
            let skipped = |byte: &&u8| b" \t\\*=>|+-\"'`123456789".contains(byte);
            let sign = rest.iter().take(MARKS_MAX * 8).take_while(skipped).count();
            let is_escaped = sign > 0 && rest.get(sign - 1) == Some(&b'\\');
            let between = rest.get(..sign).unwrap_or_default();
            breaks(rest.get(sign..).unwrap_or_default(), is_escaped)
                || between.starts_with(b"*")
                || after.get(..gap).is_some_and(|gap| gap.contains(&b'*'))
        }
        [b'|', ..] | [0xe2, 0x94 | 0x95, ..] => true,
        [b',' | b';', ..] => !before.ends_with(b" ") && begins_cell(before),
        _ if breaks(rest, is_escaped) => {
            // A cell that ends its line has one before it, and the backslash of an option moves its value.
            begins_cell(before) || name.starts_with(b"--")
        }
        // Words of a sentence, or an argument: a value that is neither quoted nor has a digit is none.
        [byte, ..]
            if after.first().is_some_and(|byte| is_blank(byte) || MARKS.contains(byte) || *byte == b'\\') =>
        {
            let window = rest.get(..RAW_BYTES_MAX).unwrap_or(rest);
            let has_value = || window.iter().any(|byte| byte.is_ascii_digit() || MARKS.contains(byte));
            byte.is_ascii_graphic()
                && (super::sentence::may_tell(before, rest) && has_value() || sets(before))
        }
        _ => false,
    }
}

/// Tells whether a cell begins at the end of a raw text: behind a delimiter, a line break or nothing.
fn begins_cell(before: &[u8]) -> bool {
    let skipped = |byte: &&u8| MARKS.contains(byte) || **byte == b' ';
    let gap = before.iter().rev().take(MARKS_MAX).take_while(skipped).count();
    let (before, beside) = before.split_at(before.len() - gap);
    // A prompt ends before a blank; without one it is a variable.
    if before.ends_with(b"$") && !beside.starts_with(b" ") {
        return false;
    }
    // The letter of an escape was taken for a part of the name.
    matches!(
        before.last(),
        None | Some(b'|' | b',' | b';' | b':' | b'>' | b'$' | b'#' | b'\t' | b'\n' | b'\\' | b'm' | 0x80..)
    )
}

/// Tells whether a command that sets may stand before a name.
fn sets(before: &[u8]) -> bool {
    let window = before.get(before.len().saturating_sub(RAW_BYTES_MAX)..).unwrap_or_default();
    let words = window.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let path = usize::from(window.ends_with(b"."));
    let setter = words.skip(path).find(|word| !word.starts_with(b"-")).unwrap_or_default();
    [&b"set"[..], b"setenv", b"setx", b"ENV", b"SET", b"config"].iter().any(|known| setter.ends_with(known))
}
