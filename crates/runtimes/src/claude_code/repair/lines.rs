//! Lines: a loader reads the record that a line begins with and nothing else of it.

use super::super::apart::apart;
use super::super::record::Record;
use super::super::spanning::openers;
use crate::apart::mend_line;
use crate::json::{REPLACED, is_blank, lone_surrogates};
use crate::repair::Document;

/// Puts each record on a line of its own, in good UTF-8, and replaces what is no text.
pub(super) fn mend(document: &mut Document) {
    let openers = openers(document.lines().map(|line| (line, Record::parse(line).is_ok())));
    for opener in openers.into_iter().rev() {
        let what = "it began a value over several lines, in which the client reads no record: it is left out";
        document.remove(opener, ("line", what));
    }
    let mut index = 0;
    while index < document.len() {
        let line = document.line(index).to_vec();
        index += match Record::parse(&line) {
            Ok(record) => {
                replace_lone(document, index, &record);
                1
            }
            Err(_) if is_blank(&line) => 1,
            Err(_) => match apart(&line, index == 0).as_slice() {
                [part] if part.is_first => 1,
                parts => mend_line(document, index, parts, "the loader reads only what a line begins with"),
            },
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
