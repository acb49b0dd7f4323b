//! A list or object that begins on one line and ends on a later one: to the client it is one value, and the records in it are none.
//!
//! It looks at the shape only. What breaks the shape costs the client the first line alone.

use std::ops::Range;

use super::apart::apart;
use crate::json::is_blank;

/// Levels that are followed: what nests deeper is taken for broken.
const DEPTH_MAX: usize = 4096;

/// Follows a JSON value over several lines. The caller numbers the lines.
#[derive(Debug, Default)]
pub(super) struct Spanning {
    open: Option<Value>,
}

#[derive(Debug)]
struct Value {
    /// Where its first line stands.
    first: usize,
    /// The end of each list or object that is open.
    ends: Vec<u8>,
    /// Whether a value ended here, so that only a comma, a colon or an end may follow.
    is_after: bool,
}

/// What a line did to a value.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Open,
    Ended,
    Broken,
}

impl Spanning {
    /// Takes the line at `at`, which is a record by itself or is not. Returns where the lines stand that are one value, once that ends.
    pub(super) fn line(&mut self, at: usize, (line, is_record): (&[u8], bool)) -> Option<Range<usize>> {
        if let Some(mut value) = self.open.take() {
            match value.take(line) {
                State::Open => self.open = Some(value),
                State::Ended => return Some(value.first..at + 1),
                State::Broken => {}
            }
            if self.open.is_some() {
                return None;
            }
        }
        let begins = |byte: Option<&u8>| matches!(byte, Some(b'[' | b'{'));
        if !is_record && begins(line.trim_ascii_start().first()) {
            let mut value = Value { first: at, ends: Vec::new(), is_after: false };
            self.open = (value.take(line) == State::Open).then_some(value);
        }
        None
    }

    /// Returns where the lines stand of a value that does not end before the file does: the client waits for its end in vain.
    pub(super) fn unended(&self, end: usize) -> Option<Range<usize>> {
        self.open.as_ref().map(|value| value.first..end)
    }
}

impl Value {
    fn take(&mut self, line: &[u8]) -> State {
        let mut bytes = line.iter().copied().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                byte if byte.is_ascii_whitespace() => {}
                b',' | b':' if self.is_after => self.is_after = false,
                b']' | b'}' => {
                    if self.ends.pop() != Some(byte) {
                        return State::Broken;
                    }
                    if self.ends.is_empty() {
                        return State::Ended;
                    }
                    self.is_after = true;
                }
                // Two values without anything between them, or nothing between two marks.
                _ if self.is_after || matches!(byte, b',' | b':') => return State::Broken,
                b'[' | b'{' if self.ends.len() < DEPTH_MAX => {
                    self.ends.push(if byte == b'[' { b']' } else { b'}' });
                }
                b'[' | b'{' => return State::Broken,
                b'"' => loop {
                    match bytes.next() {
                        Some(b'\\') => drop(bytes.next()),
                        Some(b'"') => {
                            self.is_after = true;
                            break;
                        }
                        Some(b'\n') | None => return State::Broken,
                        Some(_) => {}
                    }
                },
                _ => {
                    let is_more = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                    if !is_more(&byte) {
                        return State::Broken;
                    }
                    while bytes.next_if(is_more).is_some() {}
                    self.is_after = true;
                }
            }
        }
        State::Open
    }
}

/// Returns the first lines of values that hold records of later lines, where no record stands on the first line itself.
pub(super) fn openers<'l>(lines: impl Iterator<Item = (&'l [u8], bool)>) -> Vec<usize> {
    let (mut spanning, mut spans, mut records) = (Spanning::default(), Vec::new(), Vec::new());
    let mut count = 0;
    for (line, is_record) in lines {
        spans.extend(spanning.line(count, (line, is_record)));
        let holds = |line| apart(line, false).iter().any(|part| part.record.is_some());
        records.push(is_record || (!is_blank(line) && holds(line)));
        count += 1;
    }
    spans.extend(spanning.unended(count));
    let holds = |range: Range<usize>| records.get(range).unwrap_or_default().contains(&true);
    let is_opener = |span: &Range<usize>| !holds(span.start..span.start + 1) && holds(span.clone());
    spans.into_iter().filter(is_opener).map(|span| span.start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(text: &str) -> Vec<Range<usize>> {
        let mut spanning = Spanning::default();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let is_record =
            |line: &str| serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(line).is_ok();
        let mut found = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            found.extend(spanning.line(at, (line.as_bytes(), is_record(line))));
        }
        found.extend(spanning.unended(lines.len()));
        found
    }

    #[test]
    fn a_value_over_lines_is_found_and_a_broken_one_is_none() {
        for (text, wanted) in [
            ("{\"a\":1}\n{\"b\":2}\n", None),
            ("[{\"a\":1},\n{\"b\":\"]\"}]\n{\"c\":3}\n", Some(0..2)),
            ("[\n{\"a\":1},\n{\"b\":2}\n]\n", Some(0..4)),
            ("{\"a\":1}\n[\n{\"b\":2},\n", Some(1..3)),
            ("[\n{\"a\":1}\n{\"b\":2}\n", None),
            ("[{\"a\":1}]\n{\"b\":2}\n", None),
            ("{\"a\":\n{\"b\":2}\n{\"c\":3}\n", None),
            ("{\"a\":[\n{\"b\":2}\n]}\n", Some(0..3)),
            ("{\"a\":\"cut\n{\"b\":2}\n", None),
            ("[1,\ntrue,\n-2.5e3,null]\n", Some(0..3)),
            ("[1,\n]\n", Some(0..2)),
        ] {
            let wanted: Vec<Range<usize>> = wanted.into_iter().collect();
            assert_eq!(spans(text), wanted, "{text}");
        }
    }
}
