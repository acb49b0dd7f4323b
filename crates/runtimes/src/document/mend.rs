//! Mending a document: an end that is cut, and its list of messages, element by element.
//!
//! What is wrong with a message is each format's to know; elements that stay keep their bytes.

use super::{Dialect, head, whole};
use crate::json::{Field, RecordError, is_blank};
use crate::repair::Document;

/// What was changed: a stable name, and a sentence.
pub(crate) type Told = (&'static str, String);

/// What becomes of the elements of a list: those that stand there now, and what was changed.
pub(crate) type Mended = (Vec<String>, Vec<Told>);

/// Mends a document whose end is whole by its elements; one whose end is cut is closed behind its last whole element.
pub(crate) fn mend(document: &mut Document, dialect: &Dialect, each: impl FnOnce(&[&str]) -> Mended) {
    let bytes = document.line(0).to_vec();
    if is_blank(&bytes) {
        return;
    }
    if let Err(error) = whole(&bytes) {
        let is_cut = matches!(error, RecordError::NotJson(error) if error.is_eof());
        if let Some((closed, left)) = is_cut.then(|| closed(dialect, &bytes)).flatten() {
            let what = if left > 0 {
                format!(
                    "the document is cut: its last {left} bytes, which are not a whole message, are left out"
                )
            } else {
                "the document is cut behind a message: what was open is closed".to_owned()
            };
            document.rewrite(closed, vec![("torn_tail", what)]);
        }
        return;
    }
    let Some(list) = (dialect.list)(&bytes) else { return };
    let Some(outer) = list.start.checked_sub(1).and_then(|start| bytes.get(start..list.end + 1)) else {
        return;
    };
    let Some(elements) = whole(outer).ok().and_then(|outer| outer.elements()) else { return };
    let texts: Vec<&str> = elements.iter().map(Field::raw).collect();
    let (elements_now, told) = each(&texts);
    if told.is_empty() {
        return;
    }
    // Elements stand as far apart as the first two did.
    let inside = outer.get(1..outer.len() - 1).unwrap_or_default();
    let spans: Vec<std::ops::Range<usize>> =
        elements.iter().map(|element| element.span().start - 1..element.span().end - 1).collect();
    let between = match spans.as_slice() {
        [first, second, ..] => inside.get(first.end..second.start).unwrap_or(b","),
        _ => b",",
    };
    let (start, end) = match (spans.first(), spans.last()) {
        (Some(first), Some(newest)) => (first.start, newest.end),
        _ => (inside.len(), inside.len()),
    };
    let mut out = bytes.get(..list.start + start).unwrap_or_default().to_vec();
    for (number, element) in elements_now.iter().enumerate() {
        out.extend_from_slice(if number > 0 { between } else { b"" });
        out.extend_from_slice(element.as_bytes());
    }
    out.extend_from_slice(bytes.get(list.start + end..).unwrap_or_default());
    document.rewrite(out, told);
}

/// Closes a cut document behind its last whole element. Returns it, and how many bytes are left out.
fn closed(dialect: &Dialect, bytes: &[u8]) -> Option<(Vec<u8>, usize)> {
    let is_list = bytes.trim_ascii_start().first() == Some(&b'[');
    let keep = head::last_closed(bytes, if is_list { 1 } else { 2 })?;
    let mut closed = bytes.get(..keep)?.to_vec();
    closed.extend(head::closing(bytes, keep));
    let has_elements = (dialect.list)(&closed).is_some_and(|list| !list.is_empty());
    let left = bytes.get(keep..)?.trim_ascii_end().len();
    (has_elements && (dialect.read)(&closed).is_ok()).then_some((closed, left))
}

/// Names an element by its place.
pub(crate) fn name(index: usize) -> String {
    format!("message {}", index + 1)
}
