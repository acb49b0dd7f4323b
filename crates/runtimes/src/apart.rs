//! Lines that a client of JavaScript reads, or passes over, where they are no single record: what pi and Gemini CLI share.
//!
//! Both decode bytes that are no UTF-8 as U+FFFD, and both pass over a line that is not exactly one JSON value.

use std::borrow::Cow;

use crate::json::{BYTE_ORDER_MARK, Field, REPLACED, Salvaged, Skim, is_blank, lone_surrogates, salvage};
use crate::repair::Document;

/// A record of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    /// Its text, bad bytes as U+FFFD.
    pub(crate) text: Cow<'a, str>,
    /// Whether the client reads it: the line holds nothing else.
    pub(crate) is_read: bool,
}

/// Returns the records of a line that is no single one; `is_record` tells them from the objects inside of them.
pub(crate) fn records(line: &[u8], is_record: fn(Field<'_>) -> bool) -> Vec<Found<'_>> {
    if is_blank(line) {
        return Vec::new();
    }
    let parts = salvage(line, false, is_record);
    let is_one = matches!(parts.as_slice(), [part] if is_alone(line, part));
    parts.into_iter().filter_map(|part| Some(Found { text: part.record?, is_read: is_one })).collect()
}

/// Returns whether a record is all that its line says.
fn is_alone(line: &[u8], part: &Salvaged<'_>) -> bool {
    let Some(record) = &part.record else { return false };
    let before = line.get(..part.start).unwrap_or_default();
    let after = line.get(part.place(line, record.len())..).unwrap_or_default();
    is_blank(before) && is_blank(after)
}

/// Returns the first record of a line that is no single one.
pub(crate) fn first(line: &[u8], is_record: fn(Field<'_>) -> bool) -> Option<String> {
    records(line, is_record).into_iter().next().map(|found| found.text.into_owned())
}

/// Returns the value that a line begins with, whatever stands behind it and whether a byte order mark stands before it.
pub(crate) fn beginning(line: &[u8]) -> Option<String> {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii_start();
    let text = String::from_utf8_lossy(line);
    let length = Skim::first(Field::whole(&text)).ok()?;
    text.get(..length).map(str::to_owned)
}

/// Returns whether a line begins with a byte order mark, which the clients do not take for white space.
pub(crate) fn is_marked(line: &[u8]) -> bool {
    line.starts_with(BYTE_ORDER_MARK)
}

/// Puts each record of a line that the client passes over on a line of its own; returns how many lines became of it.
pub(crate) fn mend_line(
    document: &mut Document,
    index: usize,
    is_whole: bool,
    is_record: fn(Field<'_>) -> bool,
) -> usize {
    let line = document.line(index).to_vec();
    let found = if is_whole { Vec::new() } else { records(&line, is_record) };
    let (Some(first), false) = (found.first(), found.iter().any(|found| found.is_read)) else { return 1 };
    let end = line.trim_ascii_end().len();
    let what = match found.len() {
        1 => "what is not a part of the record, for which the client passes over the line, is left out"
            .to_owned(),
        several => format!(
            "the line holds {several} records, and the client passes over it: each has a line of its own"
        ),
    };
    document.edit(index, vec![(0..end, first.text.trim().to_owned())], ("line", what));
    for (place, found) in found.iter().enumerate().skip(1) {
        document.insert(index + place, found.text.trim(), ("line", "a record of the line before"));
    }
    found.len()
}

/// Replaces halves of surrogate pairs in a line.
pub(crate) fn replace_lone(document: &mut Document, index: usize) {
    let line = document.line(index).to_vec();
    let Ok(text) = std::str::from_utf8(&line) else { return };
    let edits = lone_surrogates(text).into_iter().map(|at| (at, REPLACED.to_owned())).collect();
    let what = "half of a surrogate pair is not a text, and the provider refuses it: it is U+FFFD now";
    document.edit(index, edits, ("surrogate", what));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_record(object: Field<'_>) -> bool {
        object.raw().contains("\"id\"")
    }

    #[test]
    fn a_line_is_read_where_it_holds_one_record_and_nothing_else() {
        for (line, wanted) in [
            (&b"{\"id\":\"caf\xe9\"}\n"[..], vec![("{\"id\":\"caf\u{fffd}\"}", true)]),
            (b" {\"id\":\"\xff\"} \r\n", vec![("{\"id\":\"\u{fffd}\"}", true)]),
            (b"{\"id\":1},\n", vec![("{\"id\":1}", false)]),
            (b"{\"id\":1}\0\0\n", vec![("{\"id\":1}", false)]),
            (b"\xef\xbb\xbf{\"id\":1}\n", vec![("{\"id\":1}", false)]),
            (b"{\"id\":1}{\"id\":2}\n", vec![("{\"id\":1}", false), ("{\"id\":2}", false)]),
            (b"{\"id\":1,\"a{\"id\":2}\n", vec![("{\"id\":2}", false)]),
            (b"garbage\n", vec![]),
            (b" \n", vec![]),
        ] {
            let found = records(line, is_record);
            let found: Vec<_> = found.iter().map(|found| (found.text.as_ref(), found.is_read)).collect();
            assert_eq!(found, wanted, "{}", String::from_utf8_lossy(line));
        }
    }
}
