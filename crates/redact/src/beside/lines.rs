//! The lines around a name: where they begin and end, which of their bytes are a prefix of all of them, and where in the next one
//! a value begins.

use super::{MARKS_MAX, Named};
use crate::assignment::Whole;

/// Longest line in which a name or its value is looked for.
const LINE_BYTES_MAX: usize = 2048;
/// Bytes of a raw text behind a name in which something must look like the beginning of a value.
const RAW_BYTES_MAX: usize = 96;
/// Commands that set, as they may end in a raw text what stands before a name.
const SETTERS: [&[u8]; 7] = [b"#define", b"set", b"setenv", b"setx", b"ENV", b"SET", b"config"];
/// Longest word that is looked at for digits.
const WORD_BYTES_MAX: usize = 256;
/// Tags of YAML that name what stands elsewhere.
const REFERRING: [&[u8]; 14] = [
    b"ref",
    b"sub",
    b"getatt",
    b"importvalue",
    b"env",
    b"env_var",
    b"secret",
    b"include",
    b"file",
    b"var",
    b"lookup",
    b"reference",
    b"ssm",
    b"vault",
];
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

/// What stands between a sign, or the beginning of a line, and a value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lead {
    pub(super) len: usize,
    /// `|`, `>-`, `|2+`: the value is the block that follows.
    pub(super) is_block: bool,
    /// A quote at the end of the line, or three: the value begins in the next one.
    pub(super) has_quotes: bool,
    pub(super) mark: Mark,
}

/// What says of a value how it is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mark {
    #[default]
    None,
    /// A tag or an anchor of YAML, or what begins text in XML.
    Known,
    /// A tag of somebody's own, before a quoted text.
    OwnTag,
}

impl Lead {
    pub(super) fn of(rest: &[u8]) -> Lead {
        let mut lead = Lead::default();
        for _ in 0..MARKS_MAX {
            let blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
            lead.len += rest.iter().skip(lead.len).take_while(blank).count();
            let left = rest.get(lead.len..).unwrap_or_default();
            let (word, behind) =
                left.split_at(left.iter().position(u8::is_ascii_whitespace).unwrap_or(left.len()));
            let is_last = behind.trim_ascii().is_empty();
            match word {
                [] => {
                    lead.len = rest.len();
                    return lead;
                }
                // A word with `#` may be a value, where it does not stand behind a sign.
                [b'#', ..] if lead.len > 0 || word.len() == 1 => lead.len = rest.len(),
                b"\\" if is_last => lead.len = rest.len(),
                b"\"\"\"" | b"\"\"\"\\" | b"'''" | b"`" if is_last => {
                    (lead.len, lead.has_quotes) = (rest.len(), true);
                }
                [b'|' | b'>', marks @ ..] => {
                    let are_marks =
                        marks.len() <= 2 && marks.iter().all(|byte| b"+-123456789".contains(byte));
                    lead.is_block = are_marks && (is_last || behind.trim_ascii_start().starts_with(b"#"));
                    return lead;
                }
                [b'!', b'!', _, ..] | b"!unsafe" | [b'&', _, ..] => {
                    (lead.len, lead.mark) = (lead.len + word.len(), Mark::Known);
                }
                [b'!', tag @ ..] if is_tag(tag) && matches!(behind, [b' ', b'"' | b'\'', ..]) => {
                    (lead.len, lead.mark) = (lead.len + word.len(), Mark::OwnTag);
                }
                _ if word.starts_with(b"<![CDATA[") => {
                    (lead.len, lead.mark) = (lead.len + 9, Mark::Known);
                }
                _ => return lead,
            }
        }
        lead
    }

    /// Tells whether the value stands in the lines that follow.
    pub(super) fn opens(self, rest: &[u8]) -> bool {
        self.is_block || self.len == rest.len()
    }
}

/// Tells whether a tag of YAML may have a value, and not what stands elsewhere.
fn is_tag(tag: &[u8]) -> bool {
    tag.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte))
        && tag.first().is_some_and(u8::is_ascii_alphabetic)
        && !REFERRING.iter().any(|known| tag.eq_ignore_ascii_case(known))
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

/// A name in a raw text, where line breaks may be escaped.
pub(super) struct Raw<'a> {
    pub(super) before: &'a [u8],
    pub(super) name: &'a [u8],
    pub(super) after: &'a [u8],
}

impl Raw<'_> {
    /// Tells whether a value may stand beside the name.
    pub(super) fn may_hold_value(&self, is_said: bool) -> bool {
        let Raw { before, name, after } = *self;
        let (rest, is_escaped, gap) = skip(after, b"\"'`* \t\\]");
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        match rest {
            [b':' | b'=', rest @ ..] => {
                let (value, is_escaped, between) = skip(rest, b" \t\\*=>|+-\"'`123456789");
                begins_lead(value)
                    || breaks(value, is_escaped)
                    || between.starts_with(b"*")
                    || gap.contains(&b'*')
            }
            [b'|', ..] | [0xe2, 0x94 | 0x95, ..] => true,
            [b'<', b'/' | b'\\', ..] if before.ends_with(b">") => true,
            // Columns that are aligned, and attributes of a tag.
            _ if (after.starts_with(b"  ") && !rest.starts_with(b"-")) || opens_tag(before, after) => true,
            [b',' | b';', ..] => !before.ends_with(b" ") && begins_cell(before),
            _ if breaks(rest, is_escaped) => {
                // A cell that ends its line has one before it, and the backslash of an option moves its value.
                begins_cell(before)
                    || name.starts_with(b"--")
                    || has_number(name)
                    || [&b"  "[..], b"? "].iter().any(|end| before.ends_with(end))
                    || sign_follows(rest)
            }
            // Words of a sentence, or an argument: a value that is neither quoted nor has a digit is none.
            [byte, ..]
                if after
                    .first()
                    .is_some_and(|byte| is_blank(byte) || MARKS.contains(byte) || *byte == b'\\') =>
            {
                let window = rest.get(..RAW_BYTES_MAX).unwrap_or(rest);
                let has_value = || {
                    let is_value = |byte: &u8| byte.is_ascii_digit() || MARKS.contains(byte);
                    if is_said { window.iter().any(is_value) } else { may_be_drawn(rest) }
                };
                byte.is_ascii_graphic()
                    && (super::sentence::may_tell(before, rest) && has_value() || sets(before))
            }
            _ => false,
        }
    }

    /// Tells whether a list may stand behind the name and a colon.
    pub(super) fn may_hold_list(&self) -> bool {
        let (rest, is_escaped, _) = skip(self.after.get(1..).unwrap_or_default(), b" \t\\");
        breaks(rest, is_escaped) || rest.starts_with(b"#")
    }
}

/// Skips such bytes; returns the rest, whether the last of them is a backslash, and what was skipped.
fn skip<'a>(text: &'a [u8], skipped: &[u8]) -> (&'a [u8], bool, &'a [u8]) {
    let len = text.iter().take(MARKS_MAX * 8).take_while(|byte| skipped.contains(byte)).count();
    let (gap, rest) = text.split_at(len);
    (rest, gap.ends_with(b"\\"), gap)
}

/// Tells whether a raw line breaks there, or the text ends.
fn breaks(rest: &[u8], is_escaped: bool) -> bool {
    match rest {
        [] | [b'\n' | b'\r', ..] => true,
        [b'n' | b'r' | b't' | b'u', ..] => is_escaped,
        _ => false,
    }
}

/// Tells whether a comment, a tag or an anchor begins there.
fn begins_lead(rest: &[u8]) -> bool {
    match rest {
        [b'#', ..] | [b'<', b'!' | b'/' | b'\\', ..] => true,
        [b'!', next, ..] => *next == b'!' || next.is_ascii_alphabetic(),
        [b'&', anchor @ ..] => {
            let name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
            let len = anchor.iter().take(RAW_BYTES_MAX).take_while(name).count();
            anchor.get(len).is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b'\\')
        }
        _ => false,
    }
}

/// Tells whether a word that begins soon in a raw text is as long as what is drawn at random, and has digits.
fn may_be_drawn(rest: &[u8]) -> bool {
    let is_edge = |byte: &u8| byte.is_ascii_whitespace() || MARKS.contains(byte);
    let behind = rest.get(RAW_BYTES_MAX..).unwrap_or_default();
    let behind_word = behind.iter().take(WORD_BYTES_MAX).take_while(|byte| !is_edge(byte)).count();
    let mut words = rest.get(..rest.len() - behind.len() + behind_word).unwrap_or_default().split(is_edge);
    behind_word == WORD_BYTES_MAX
        || words.any(|word| word.len() >= 12 && word.iter().filter(|byte| byte.is_ascii_digit()).count() > 1)
}

/// `yml-13-password`: what `grep` writes before a line looks like a part of the name, and the next line has it too.
fn has_number(name: &[u8]) -> bool {
    name.windows(2).any(|pair| matches!(pair, [digit, b'-'] if digit.is_ascii_digit()))
}

/// Tells whether the next line of a raw text begins with a sign.
fn sign_follows(rest: &[u8]) -> bool {
    let skipped = |byte: &&u8| byte.is_ascii_whitespace() || b"\\nrt".contains(byte);
    let gap = rest.iter().take(RAW_BYTES_MAX).take_while(skipped).count();
    matches!(rest.get(gap), Some(b'=' | b':')) || gap == RAW_BYTES_MAX
}

/// Tells whether a name in a raw text opens a tag that begins its line, and ends it or has attributes.
fn opens_tag(before: &[u8], after: &[u8]) -> bool {
    let space = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b':';
    let len = before.iter().rev().take(MARKS_MAX).take_while(space).count();
    let Some(outside) = before.get(..before.len() - len).and_then(|before| before.strip_suffix(b"<")) else {
        return false;
    };
    // The letter of an escaped line break is no name's.
    let is_type = outside.last().is_some_and(u8::is_ascii_alphanumeric) && !matches!(outside, [.., b'\\', _]);
    !is_type && matches!(after, [b' ', ..] | [b'>', b' ' | b'\\' | b'\n' | b'\r' | b'\t' | b'<', ..] | [b'>'])
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
        None | Some(
            b'|' | b',' | b';' | b':' | b'>' | b'+' | b'$' | b'#' | b'\t' | b'\n' | b'\\' | b'm' | 0x80..
        )
    )
}

/// Tells whether a command that sets may stand before a name.
fn sets(before: &[u8]) -> bool {
    let window = before.get(before.len().saturating_sub(RAW_BYTES_MAX)..).unwrap_or_default();
    let words = window.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let path = usize::from(window.ends_with(b"."));
    let is_setter = |word: &[u8]| SETTERS.iter().any(|known| word.ends_with(known));
    // A diff may have removed the line.
    let setter = words.skip(path).find(|word| !word.starts_with(b"-") || is_setter(word));
    setter.is_some_and(is_setter)
}
