//! Lines that hold more, or less, than one record: what can be read of them, and how they are repaired.
//!
//! pi and Gemini CLI read such lines in the same way: both decode bytes that are no UTF-8 as U+FFFD, and both pass over a line
//! that is not exactly one JSON value.

use crate::json::{BYTE_ORDER_MARK, Field, REPLACED, RecordError, Salvaged, Skim, is_blank, lone_surrogates};
use crate::repair::Document;

/// Returns whether a line holds one record and nothing else, so that its client reads it.
pub(crate) fn is_alone(line: &[u8], parts: &[Salvaged<'_>]) -> bool {
    let [Salvaged { start, record: Some(record), .. }] = parts else { return false };
    let end = parts.first().map_or(0, |part| part.place(line, record.len()));
    is_blank(line.get(..*start).unwrap_or_default()) && is_blank(line.get(end..).unwrap_or_default())
}

/// Takes a record's text, and whether the client reads it; fails where it is none.
pub(crate) type Take<'t> = &'t mut dyn FnMut(&[u8], bool) -> Result<(), RecordError>;

/// Takes each record of a line: the line itself, or what can be found in one that `take` refuses. `take` is also told whether the
/// client reads it.
///
/// # Errors
/// What `take` says of the line, where no record can be found in it.
pub(crate) fn each(
    line: &[u8],
    apart: fn(&[u8]) -> Vec<Salvaged<'_>>,
    take: Take<'_>,
) -> Result<(), RecordError> {
    let Err(error) = take(line, true) else { return Ok(()) };
    let parts = if is_blank(line) { Vec::new() } else { apart(line) };
    let is_read = is_alone(line, &parts);
    let records = parts.iter().filter_map(|part| part.record.as_ref());
    let taken = records.filter(|record| take(record.trim().as_bytes(), is_read).is_ok());
    if taken.count() == 0 { Err(error) } else { Ok(()) }
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

/// Cuts a torn end, and puts each part of a line that its client passes over on a line of its own.
pub(crate) fn mend_lines(
    document: &mut Document,
    is_record: fn(&[u8]) -> bool,
    apart: fn(&[u8]) -> Vec<Salvaged<'_>>,
) {
    document.cut_torn_tail(is_record);
    let mut index = 0;
    while index < document.len() {
        let line = document.line(index).to_vec();
        let parts = if is_record(&line) || is_blank(&line) { Vec::new() } else { apart(&line) };
        index += if is_alone(&line, &parts) {
            1
        } else {
            mend_line(document, index, &parts, "the client passes over such a line")
        };
    }
}

/// Puts each part of a line on a line of its own; returns how many lines became of it. `passed_over` says why its client does
/// not read all of it; a line without a record stays.
pub(crate) fn mend_line(
    document: &mut Document,
    index: usize,
    parts: &[Salvaged<'_>],
    passed_over: &str,
) -> usize {
    if parts.iter().all(|part| part.record.is_none()) {
        return 1;
    }
    let line = document.line(index).to_vec();
    let lines: Vec<String> = parts
        .iter()
        .map(|part| match &part.record {
            Some(record) => record.trim().to_owned(),
            None => {
                String::from_utf8_lossy(line.get(part.range.clone()).unwrap_or_default()).trim().to_owned()
            }
        })
        .collect();
    let Some((first, rest)) = lines.split_first() else { return 1 };
    let what = match rest.len() {
        0 => format!("what is not a part of the record is left out: {passed_over}"),
        _ => format!("{}: {passed_over}, so each part got a line of its own", told(parts)),
    };
    document.edit(index, vec![(0..line.trim_ascii_end().len(), first.clone())], ("line", what));
    for (place, part) in rest.iter().enumerate() {
        document.insert(index + 1 + place, part, ("line", "a part of the line before"));
    }
    lines.len()
}

/// Says what is odd about a line that holds records.
pub(crate) fn told(parts: &[Salvaged<'_>]) -> String {
    match parts.iter().filter(|part| part.record.is_some()).count() {
        1 if parts.len() == 1 => {
            "line has bytes that are not UTF-8, which are U+FFFD to its client".to_owned()
        }
        1 => "line holds a record and something else".to_owned(),
        records => format!("line holds {records} records"),
    }
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
    use crate::json::{parse_line, salvage};

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
            let mut found = Vec::new();
            let mut take = |text: &[u8], is_read| {
                parse_line(text, |whole| Skim::whole(whole, Skim::skip))?;
                found.push((String::from_utf8_lossy(text).into_owned(), is_read));
                Ok(())
            };
            let taken = each(line, |line| salvage(line, false, is_record), &mut take);
            assert_eq!(taken.is_ok(), !wanted.is_empty());
            let wanted: Vec<_> =
                wanted.into_iter().map(|(text, is_read)| (text.to_owned(), is_read)).collect();
            assert_eq!(found, wanted, "{}", String::from_utf8_lossy(line));
        }
    }
}
