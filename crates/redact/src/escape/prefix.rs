//! A text without what stands before each of its lines: the marks of a diff, numbers, files and numbers of `grep`.
//! Each line is asked by itself, so that a line of a stream and of a text lose the same.

use super::{Unit, View};

/// Bytes of a prefix at most: a path and a number.
const PREFIX_BYTES_MAX: usize = 256;
/// Blanks before a number, and its digits, at most.
const NUMBER_BYTES_MAX: usize = 12;
const ARROW: &[u8] = b"\xe2\x86\x92";

impl View {
    /// Takes out the prefixes of lines. `None` when there is none.
    pub(crate) fn without_prefixes(source: &[u8]) -> Option<View> {
        let mut view = View { text: Vec::with_capacity(source.len()), units: Vec::new() };
        let (mut copied, mut start) = (0, 0);
        for end in memchr::memchr_iter(b'\n', source).chain([source.len()]) {
            let found = source.get(start..end).and_then(prefix);
            if let Some((at, len)) = found.map(|(at, len)| (start + at, len)) {
                view.text.extend_from_slice(source.get(copied..at).unwrap_or_default());
                view.units.push(Unit { at: view.text.len(), len: 0, source_at: at, source_len: len });
                copied = at + len;
            }
            start = end + 1;
        }
        view.text.extend_from_slice(source.get(copied..).unwrap_or_default());
        (!view.units.is_empty()).then_some(view)
    }

    /// Returns where in a text without prefixes stands what stands at `source_at` in its source, behind the prefix of its line.
    pub(crate) fn place_of(&self, source_at: usize) -> usize {
        let known = self.units.partition_point(|unit| unit.source_at + unit.source_len <= source_at);
        let unit = known.checked_sub(1).and_then(|index| self.units.get(index));
        unit.map_or(source_at, |unit| unit.at + source_at - (unit.source_at + unit.source_len))
    }
}

/// Finds the prefix of a line: where it begins, and its length. A string in JSON begins a line, too.
pub(crate) fn prefix(line: &[u8]) -> Option<(usize, usize)> {
    if let Some(len) = mark(line).or_else(|| number(line)).or_else(|| place(line)) {
        return Some((0, len));
    }
    let begins = |at: &usize| matches!(line.get(..*at), Some([.., b':'] | [.., b':', b' ']));
    let string = memchr::memchr_iter(b'"', line).find(begins)? + 1;
    let rest = line.get(string..)?;
    // What else begins with a number may be a value.
    let is_line = |len: &usize| rest.get(..*len).is_some_and(|number| number.ends_with(ARROW));
    mark(rest).or_else(|| number(rest).filter(is_line)).map(|len| (string, len))
}

/// Measures the mark of a line that a diff adds or removes. `- x` is an item of a list, `-1` a number.
fn mark(line: &[u8]) -> Option<usize> {
    let is_number = |rest: &[u8]| {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit() || b".,%".contains(byte)).count();
        digits > 0 && rest.get(digits).is_none_or(u8::is_ascii_whitespace)
    };
    let is_mark = match line {
        [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] => false,
        [b'-', b' ', next, ..] => next.is_ascii_whitespace(),
        [b'+' | b'-', rest @ ..] => !rest.is_empty() && !is_number(rest),
        _ => false,
    };
    is_mark.then_some(1)
}

/// Measures the number of a line, and what divides them.
fn number(line: &[u8]) -> Option<usize> {
    let blanks = line.iter().take(NUMBER_BYTES_MAX).take_while(|byte| **byte == b' ').count();
    let digits = line.iter().skip(blanks).take(NUMBER_BYTES_MAX).take_while(|byte| byte.is_ascii_digit());
    let len = blanks + digits.count();
    match line.get(len..)? {
        _ if len == blanks => None,
        [b':' | b'-' | b'|', ..] => Some(len + 1),
        rest => rest.starts_with(ARROW).then_some(len + ARROW.len()),
    }
}

/// Measures what `grep` writes before a line: `conf.yml:12:`, and `conf.yml-13-` beside a match.
fn place(line: &[u8]) -> Option<usize> {
    let window = line.get(..PREFIX_BYTES_MAX).unwrap_or(line);
    let len = window.iter().position(u8::is_ascii_whitespace).unwrap_or(window.len());
    let word = window.get(..len)?;
    let ends = |at: &usize| {
        let (path, rest) = word.split_at(*at);
        let Some((sign, rest)) = rest.split_first().filter(|(sign, _)| matches!(sign, b':' | b'-')) else {
            return false;
        };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0
            && rest.get(digits) == Some(sign)
            && path.last().is_some_and(u8::is_ascii_alphanumeric)
            && path.iter().any(|byte| b"./".contains(byte))
    };
    let path = memchr::memchr2_iter(b':', b'-', word).find(ends)?;
    let number = word.get(path + 1..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    Some(path + number + 2)
}

#[cfg(test)]
mod tests {
    use super::View;

    #[test]
    fn lines_lose_their_prefix() {
        for (source, expected) in [
            ("+a\n-b\n c\n", "a\nb\n c\n"),
            ("     1\u{2192}a\n    12\u{2192}b", "a\nb"),
            ("1:a\n2-b\n3|c", "a\nb\nc"),
            ("a/b.yml:12:c\na/b.yml-13-  d", "c\n  d"),
            ("x-1-a.yml-13-  d", "  d"),
            ("-- name: x\n-  value: y", "- name: x\n  value: y"),
            ("x {\"a\":\"+b\n+c\"}", "x {\"a\":\"b\nc\"}"),
            ("x {\"a\":\"1\u{2192}b\"}", "x {\"a\":\"b\"}"),
        ] {
            let view = View::without_prefixes(source.as_bytes()).unwrap();
            assert_eq!(String::from_utf8_lossy(&view.text), expected);
            let at = view.text.len() - 1;
            assert_eq!(view.source_end(at + 1), source.len());
            assert_eq!(source.as_bytes()[view.source_start(at)..], view.text[at..]);
            assert_eq!(view.place_of(view.source_start(at)), at);
        }
        for source in
            ["a\nb", "- a\n- b", "--- a\n+++ b", "-1\n+2.5 x", "-", "step-2-a", "a 1:2", "x\":\"1:2"]
        {
            assert!(View::without_prefixes(source.as_bytes()).is_none(), "{source}");
        }
    }
}
