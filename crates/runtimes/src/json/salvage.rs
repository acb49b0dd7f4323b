//! What a line still holds that is not one JSON object: records behind each other, behind a torn one, with bytes that are no
//! UTF-8, with something before or behind.
//!
//! Only for lines that [`parse_line`](super::parse_line) refuses: where commits end is decided by that alone.

use std::borrow::Cow;
use std::ops::Range;

use super::Field;
use super::skim::Skim;

/// The mark that some editors and shells put at the start of a file.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Records that one line is taken apart into at most; what follows the last of them is part of it.
const RECORDS_MAX: usize = 10_000;

/// How often a line may be read over in the search for whole records behind torn ones.
const PASSES_MAX: usize = 32;

/// What a try costs at least.
const TRY_BYTES: usize = 64;

/// A part of a line: a record with what stands beside it, or what is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Salvaged<'a> {
    /// Its bytes of the line. The parts of a line follow each other without a gap.
    pub(crate) range: Range<usize>,
    /// The record's text, bad bytes as U+FFFD; none where it is no record.
    pub(crate) record: Option<Cow<'a, str>>,
    /// Where the record's text begins: bytes of the line.
    pub(crate) start: usize,
    /// Whether a client that reads the first JSON value of each line finds it.
    pub(crate) is_first: bool,
}

impl Salvaged<'_> {
    /// Returns where a byte of the record's text stands in the line.
    pub(crate) fn place(&self, line: &[u8], at: usize) -> usize {
        let raw = line.get(self.start..).unwrap_or_default();
        self.start + raw_length(raw, at)
    }
}

/// Takes a line apart that is no single record; `is_record` tells the objects of a format from those inside them, and
/// `begins_file` whether a byte order mark is none of the line. Returns at least one part.
pub(crate) fn salvage(
    line: &[u8],
    begins_file: bool,
    is_record: impl Fn(Field<'_>) -> bool,
) -> Vec<Salvaged<'_>> {
    let text = String::from_utf8_lossy(line);
    let marked = if line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let mut marks: Vec<(Range<usize>, bool)> = Vec::new();
    let mut work = PASSES_MAX.saturating_mul(text.len().max(TRY_BYTES));
    let mut at = marked;
    while marks.len() < RECORDS_MAX {
        let rest = text.get(at..).unwrap_or_default();
        let start = at + rest.len() - rest.trim_start_matches(is_filler).len();
        // The first value of a line is a record to its client whatever it says.
        let is_one =
            |object: Field<'_>| marks.is_empty() && is_white(&text, marked..start) || is_record(object);
        if let Some(length) = object_length(&text, start, &mut work, is_one) {
            marks.push((start..start + length, true));
            at = start + length;
            continue;
        }
        let next = next_record(&text, start, &mut work, &is_record);
        if text.get(start..).is_some_and(|junk| junk.starts_with("{\"")) {
            marks.push((start..next.unwrap_or(text.len()), false));
        }
        let Some(next) = next else { break };
        at = next;
    }
    parts(line, &text, marks, if begins_file { marked } else { 0 })
}

/// What crashes leave between records, and what stands between them in a list.
const fn is_filler(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n' | '\0' | ',' | '\u{feff}')
}

fn is_white(text: &str, range: Range<usize>) -> bool {
    // A form feed is white space to others, and not to JSON.
    text.get(range).is_some_and(|text| text.bytes().all(|byte| b" \t\r\n".contains(&byte)))
}

/// Returns the length of the object that stands at a place, if it is one that is asked for. What is read in vain counts against
/// `work`.
fn object_length(
    text: &str,
    start: usize,
    work: &mut usize,
    is_one: impl Fn(Field<'_>) -> bool,
) -> Option<usize> {
    let rest = text.get(start..).filter(|rest| *work > 0 && rest.starts_with('{'))?;
    let length =
        Skim::first(Field::whole(rest)).map_err(|failed| *work = work.saturating_sub(failed)).ok()?;
    rest.get(..length).map(Field::whole).is_some_and(is_one).then_some(length)
}

/// Finds the next place from which a record can be read. What is read in vain counts against `work`.
fn next_record(
    text: &str,
    start: usize,
    work: &mut usize,
    is_record: impl Fn(Field<'_>) -> bool,
) -> Option<usize> {
    let mut at = start + 1;
    while *work > 0 {
        let rest = text.as_bytes().get(at..)?;
        let next = at + memchr::memmem::find(rest, b"{\"")?;
        let object = text.get(next..)?;
        let read = Skim::first(Field::whole(object));
        *work = work.saturating_sub(read.unwrap_or_else(|failed| failed).max(TRY_BYTES));
        match read {
            Ok(length) if object.get(..length).map(Field::whole).is_some_and(&is_record) => {
                return Some(next);
            }
            // A whole object of a torn record: nothing in it is a record.
            Ok(length) => at = next + length,
            Err(_) => at = next + 1,
        }
    }
    None
}

/// Gives every byte of the line to a part.
fn parts<'a>(
    line: &'a [u8],
    text: &Cow<'a, str>,
    marks: Vec<(Range<usize>, bool)>,
    begins: usize,
) -> Vec<Salvaged<'a>> {
    if marks.is_empty() {
        return vec![Salvaged { range: 0..line.len(), record: None, start: 0, is_first: false }];
    }
    let mut parts: Vec<Salvaged<'a>> = Vec::with_capacity(marks.len());
    let (mut raw, mut read) = (0, 0);
    for (range, is_record) in marks {
        raw += raw_length(line.get(raw..).unwrap_or_default(), range.start - read);
        read = range.start;
        // What stands before the first belongs to it, and what stands behind one to that.
        let begin = if parts.is_empty() { 0 } else { raw };
        if let Some(last) = parts.last_mut() {
            last.range.end = raw;
        }
        let is_first = is_record && parts.is_empty() && is_white(text, begins..range.start);
        let record = is_record.then(|| part_of(text, range));
        parts.push(Salvaged { range: begin..line.len(), record, start: raw, is_first });
    }
    parts
}

fn part_of<'a>(text: &Cow<'a, str>, range: Range<usize>) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.get(range).unwrap_or_default()),
        Cow::Owned(text) => Cow::Owned(text.get(range).unwrap_or_default().to_owned()),
    }
}

/// Returns how many bytes became so many bytes of text.
fn raw_length(raw: &[u8], text: usize) -> usize {
    let (mut taken, mut made) = (0, 0);
    for chunk in raw.utf8_chunks() {
        let valid = chunk.valid().len();
        if made + valid >= text {
            return taken + (text - made);
        }
        made += valid;
        taken += valid;
        if !chunk.invalid().is_empty() {
            made += char::REPLACEMENT_CHARACTER.len_utf8();
            taken += chunk.invalid().len();
        }
    }
    taken
}

#[cfg(test)]
mod tests;
