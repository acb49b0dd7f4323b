//! Values in tables: in the cell beside a name, and in the column below one.

use std::collections::HashMap;

use super::lines::{Line, common_prefix, marks, without_marks};
use super::{Beside, Named};
use crate::assignment::Assignments;
use crate::rules::ValueTest;
use crate::said::begins_line;
use crate::value::Values;

/// What stands between cells.
const DELIMITERS: [&[u8]; 8] =
    [b"|", b"\xe2\x94\x82", b"\xe2\x94\x83", b"\xe2\x95\x91", b"\t", b",", b";", BLANKS];
/// Columns that are aligned.
const BLANKS: &[u8] = b"  ";
/// Cells of a row at most.
const CELLS_MAX: usize = 64;
/// Bytes of a cell that heads a column at most.
const HEAD_BYTES_MAX: usize = 40;
/// Words of one that heads an aligned column.
const HEAD_WORDS_MAX: usize = 3;
/// Bytes of rows that are read at most, for each byte of a text: each of many names may head a column of its own.
const READ_PER_BYTE: usize = 16;
/// The same, beside that.
const READ_MIN: usize = 64 * 1024;

/// A row in which a cell holds nothing but a name, or ends with it.
struct Row {
    delimiter: &'static [u8],
    cells: Vec<(usize, usize)>,
    column: usize,
}

/// Up to where the columns of a text were read, by the table's form, the column and the kind of the name that heads it. A row may
/// head the same column once more: without this, each of many such rows would read all rows below it again.
#[derive(Debug, Default)]
pub(super) struct Columns<'a> {
    read_to: HashMap<(&'static [u8], usize, usize, &'a str), usize>,
    bytes: usize,
}

impl Assignments<'_> {
    /// Finds the values of a name that has a cell of its own; says whether it has one that heads a column.
    pub(super) fn in_table<'a>(self, of: Named<'a>, beside: &mut Beside<'a>) -> bool {
        let Some(row) = Row::of(of) else { return false };
        let row = &row;
        let test = |is_pair: bool| {
            move |values: Values<'_>, value: &[u8]| {
                // Names of other things are in the first column, and below `SECRET`.
                let is_first = !is_pair && (row.column == 0 || begins_line(of.before()));
                let is_unsure = row.delimiter == BLANKS && (is_first || of.name.spec.kind == "secret");
                let is_drawn = || values.passes(ValueTest::Random, value) && !value.contains(&b'-');
                values.is_told(value) && (!is_unsure || is_drawn())
            }
        };
        // A row of words between commas is no pair of a name and its value, nor are more than two that are aligned.
        let is_pair = !matches!(row.delimiter, b"," | b";")
            && (row.delimiter != BLANKS || (row.column + 2 == row.cells.len() && begins_line(of.before())));
        if is_pair
            && let Some(&cell) = row.cells.get(row.column + 1)
            && let Some(place) = self.counts(of, without_marks(of.text, cell), test(true))
        {
            beside.found.push(place);
            return true;
        }
        if !row.is_head(of) {
            return false;
        }
        let column = (row.delimiter, row.cells.len(), row.column, of.name.spec.kind.as_str());
        let read = beside.columns.read_to.entry(column).or_default();
        if of.line.start < *read {
            return true;
        }
        for line in of.lines_behind() {
            beside.columns.bytes += line.end - line.start;
            if beside.columns.bytes > of.text.len().saturating_mul(READ_PER_BYTE).saturating_add(READ_MIN) {
                break;
            }
            match row.cell_below(of, line) {
                Below::Cell(cell) => beside.found.extend(self.counts(of, cell, test(false))),
                Below::Rule => {}
                Below::Other => break,
            }
            *read = line.end;
        }
        true
    }
}

/// Tells whether the last of several lines behind the name's is a row of a table that this one heads.
pub(super) fn heads_row(of: Named<'_>) -> bool {
    let row = Row::of(of).filter(|row| row.is_head(of)).zip(of.lines_behind().skip(1).last());
    row.is_some_and(|(row, line)| !matches!(row.cell_below(of, line), Below::Other))
}

/// Tells whether a column may stand below the name.
pub(super) fn heads_table(of: Named<'_>) -> bool {
    Row::of(of).is_some_and(|row| row.is_head(of))
}

/// What a line behind a head is.
enum Below {
    Cell((usize, usize)),
    /// A line between rows.
    Rule,
    Other,
}

impl Row {
    fn of(of: Named<'_>) -> Option<Row> {
        let after = of.whole.end + marks(of.rest(of.whole.end), b"\"'`*").min(of.line.end - of.whole.end);
        let tab = of.rest(of.whole.end).first() == Some(&b'\t');
        let rest = of.rest(after);
        let line = of.rest(of.line.start);
        let is_beside = |delimiter: &&&[u8]| match **delimiter {
            b"\t" => tab || (rest.is_empty() && line.contains(&b'\t')),
            BLANKS => {
                of.rest(of.whole.end).starts_with(BLANKS)
                    || (rest.is_empty() && memchr::memmem::find(line.trim_ascii_start(), BLANKS).is_some())
            }
            delimiter => {
                rest.starts_with(delimiter)
                    || (rest.is_empty() && memchr::memmem::find(line, delimiter).is_some())
            }
        };
        DELIMITERS.iter().filter(is_beside).find_map(|delimiter| {
            let cells = cells(of.text, of.line, delimiter)?;
            let column =
                cells.iter().position(|(start, end)| *start <= of.whole.start && of.whole.end <= *end)?;
            let &cell = cells.get(column)?;
            let (start, end) = without_marks(of.text, cell);
            let before = of.text.get(start..of.whole.start).unwrap_or_default();
            let is_one = (*delimiter == b"\t" || !before.contains(&b'\t'))
                && memchr::memmem::find(behind_prefix(before), BLANKS).is_none();
            let is_named =
                is_one && end == of.whole.end && behind_prefix(before).iter().all(|byte| is_head_byte(*byte));
            // Prose has a blank behind a comma.
            let is_listed = matches!(*delimiter, b"," | b";") && of.text.get(cell.0) == Some(&b' ');
            (cells.len() > 1 && is_named && !is_listed).then_some(Row { delimiter, cells, column })
        })
    }

    /// Tells whether all cells look like names of columns.
    fn is_head(&self, of: Named<'_>) -> bool {
        self.cells.iter().all(|cell| {
            let (start, end) = without_marks(of.text, *cell);
            let cell = behind_prefix(of.text.get(start..end).unwrap_or_default());
            let is_list = matches!(self.delimiter, b"," | b";");
            // What is aligned may be a list with explanations.
            let is_short = self.delimiter != BLANKS
                || (cell.split(|byte| *byte == b' ').count() <= HEAD_WORDS_MAX
                    && !cell.ends_with(b".")
                    && !cell.starts_with(b"-"));
            cell.len() <= HEAD_BYTES_MAX
                && is_short
                && cell.iter().all(|byte| is_head_byte(*byte))
                && !(is_list && cell.is_empty())
        })
    }

    fn cell_below(&self, of: Named<'_>, line: Line) -> Below {
        let text = of.text.get(line.start..line.end).unwrap_or_default();
        let (_, prefix) = common_prefix(of.before(), text);
        let text = text.get(prefix..).unwrap_or_default();
        if !text.is_empty()
            && text.iter().all(|byte| b" -+|:=\xe2".contains(byte) || (0x80..0xc0).contains(byte))
        {
            return Below::Rule;
        }
        if self.delimiter == BLANKS {
            return self.aligned_below(of, line);
        }
        let Some(cells) =
            cells(of.text, line, self.delimiter).filter(|cells| cells.len() == self.cells.len())
        else {
            return Below::Other;
        };
        let Some(&(start, end)) = cells.get(self.column) else { return Below::Other };
        let (start, end) = without_marks(of.text, (start.max(line.start + prefix), end));
        let is_again = of.text.get(start..end).is_some_and(|cell| cell == of.name());
        if is_again || start > end { Below::Other } else { Below::Cell((start, end)) }
    }

    /// Finds the cell that stands below a head, whichever side of the column it is aligned to.
    fn aligned_below(&self, of: Named<'_>, line: Line) -> Below {
        let Some(cells) = aligned(of.text, line) else { return Below::Other };
        // Columns are counted in characters.
        let column = |from: usize, at: usize| {
            of.text.get(from..at).unwrap_or_default().iter().filter(|byte| **byte & 0xc0 != 0x80).count()
        };
        let span = |from: usize, cell: &(usize, usize)| (column(from, cell.0), column(from, cell.1));
        let head = |index: usize| self.cells.get(index).map(|cell| span(of.line.start, cell));
        let Some((start, end)) = head(self.column) else { return Below::Other };
        let before = self.column.checked_sub(1).and_then(head).map_or(0, |(_, end)| end);
        let after = head(self.column + 1).map_or(usize::MAX, |(start, _)| start);
        let is_one = matches!(cells.as_slice(), [(start, end)] if !of.text.get(*start..*end).unwrap_or_default().contains(&b' '));
        if !is_one && !(2..=self.cells.len()).contains(&cells.len()) {
            return Below::Other;
        }
        let below = cells
            .iter()
            .map(|cell| (*cell, span(line.start, cell)))
            .find(|(_, at)| at.0 < end && start < at.1);
        let Some((cell, at)) = below else { return Below::Rule };
        let prefix = common_prefix(of.before(), of.text.get(line.start..line.end).unwrap_or_default()).1;
        let cell = (cell.0.max(line.start + prefix), cell.1);
        let value = of.text.get(cell.0..cell.1).unwrap_or_default();
        if at.0 < before || at.1 > after || value == of.name() {
            Below::Other
        } else if value.contains(&b' ') {
            Below::Rule
        } else {
            Below::Cell(cell)
        }
    }
}

/// Divides a line into its cells; what stands in double quotes is one.
fn cells(text: &[u8], line: Line, delimiter: &[u8]) -> Option<Vec<(usize, usize)>> {
    if delimiter == BLANKS {
        return aligned(text, line);
    }
    let bytes = text.get(line.start..line.end)?;
    let (mut cells, mut start, mut at, mut is_quoted) = (Vec::new(), 0, 0, false);
    while let Some(&byte) = bytes.get(at) {
        is_quoted ^= byte == b'"' && delimiter != b"|";
        if !is_quoted && bytes.get(at..).is_some_and(|rest| rest.starts_with(delimiter)) {
            cells.push((line.start + start, line.start + at));
            at += delimiter.len();
            start = at;
            if cells.len() >= CELLS_MAX {
                return None;
            }
        } else {
            at += 1;
        }
    }
    cells.push((line.start + start, line.end));
    Some(cells)
}

/// Divides a line where two blanks or more stand.
fn aligned(text: &[u8], line: Line) -> Option<Vec<(usize, usize)>> {
    let (mut cells, mut at) = (Vec::new(), line.start);
    while at < line.end {
        let rest = text.get(at..line.end)?;
        let blank = rest.iter().take_while(|byte| **byte == b' ').count();
        let len = rest.get(blank..)?.windows(2).position(|pair| pair == BLANKS).unwrap_or(rest.len() - blank);
        let cell = rest.get(blank..blank + len)?.trim_ascii_end();
        if !cell.is_empty() {
            cells.push((at + blank, at + blank + cell.len()));
        }
        if cells.len() > CELLS_MAX {
            return None;
        }
        at += blank + len;
    }
    Some(cells)
}

/// Returns what stands behind the prefix of a line: the name of a file, a time, a prompt.
fn behind_prefix(cell: &[u8]) -> &[u8] {
    let marks = |byte: &u8| b":|>]$#\t".contains(byte) || *byte >= 0x80;
    let from = cell.iter().rposition(marks).map_or(0, |at| at + 1);
    cell.get(from..).unwrap_or_default().trim_ascii_start()
}

fn is_head_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" _-./()".contains(&byte)
}
