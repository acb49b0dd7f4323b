//! Lines: a loader reads the record that a line begins with and nothing else of it.

use super::super::apart::{apart, told};
use super::super::record::Record;
use crate::json::{REPLACED, is_blank, lone_surrogates};
use crate::repair::Document;

/// Puts each record on a line of its own, in good UTF-8, and replaces what is no text.
pub(super) fn mend(document: &mut Document) {
    let mut index = 0;
    while index < document.len() {
        let line = document.line(index).to_vec();
        index += match Record::parse(&line) {
            Ok(record) => {
                replace_lone(document, index, &record);
                1
            }
            Err(_) if is_blank(&line) => 1,
            Err(_) => take_apart(document, index, &line),
        };
    }
}

fn replace_lone(document: &mut Document, index: usize, record: &Record<'_>) {
    let Some(message) = record.message else { return };
    let start = message.span().start;
    let lone = lone_surrogates(message.raw());
    if !lone.is_empty() {
        let edits = lone.into_iter().map(|at| (start + at.start..start + at.end, REPLACED.to_owned()));
        let what = "half of a surrogate pair is not a text, and the API refuses it: it is U+FFFD now";
        document.edit(index, edits.collect(), ("surrogate", what));
    }
}

/// Returns how many lines became of it.
fn take_apart(document: &mut Document, index: usize, line: &[u8]) -> usize {
    let parts = apart(line, index == 0);
    let is_read = matches!(parts.as_slice(), [part] if part.is_first);
    if is_read || parts.iter().all(|part| part.record.is_none()) {
        return 1;
    }
    let lines: Vec<String> = parts
        .iter()
        .map(|part| match &part.record {
            Some(record) => record.clone().into_owned(),
            None => String::from_utf8_lossy(line.get(part.range.clone()).unwrap_or_default()).into_owned(),
        })
        .collect();
    let end = line.trim_ascii_end().len();
    let Some((first, rest)) = lines.split_first() else { return 1 };
    let what = match parts.as_slice() {
        [_] => "what is not a part of the record is left out".to_owned(),
        _ => format!(
            "{}; the loader reads only what a line begins with, so each got a line of its own",
            told(&parts)
        ),
    };
    document.edit(index, vec![(0..end, first.trim_end().to_owned())], ("line", what));
    for (place, record) in rest.iter().enumerate() {
        document.insert(index + 1 + place, record.trim_end(), ("line", "a record of the line before"));
    }
    lines.len()
}
