//! Values in tables: in the cell beside a name, and in the column below one.

use std::collections::HashMap;

use super::lines::{Line, common_prefix, marks, without_marks};
use super::{Beside, Named};
use crate::assignment::Assignments;
use crate::value::Values;

/// What stands between cells.
const DELIMITERS: [&[u8]; 7] = [b"|", b"\xe2\x94\x82", b"\xe2\x94\x83", b"\xe2\x95\x91", b"\t", b",", b";"];
/// Cells of a row at most.
const CELLS_MAX: usize = 64;
/// Bytes of a cell that heads a column at most.
const HEAD_BYTES_MAX: usize = 40;

/// A row in which a cell holds nothing but a name, or ends with it.
struct Row {
    delimiter: &'static [u8],
    cells: Vec<(usize, usize)>,
    column: usize,
}

/// Up to where the columns of a text were read, by the table's form, the column and the kind of the name that heads it. A row may
/// head the same column once more: without this, each of many such rows would read all rows below it again.
pub(super) type Columns<'a> = HashMap<(&'static [u8], usize, usize, &'a str), usize>;

impl Assignments<'_> {
    /// Finds the values of a name that has a cell of its own; says whether it has one that heads a column.
    pub(super) fn in_table<'a>(self, of: Named<'a>, beside: &mut Beside<'a>) -> bool {
        let Some(row) = Row::of(of) else { return false };
        // A row of words between commas is no pair of a name and its value.
        if !matches!(row.delimiter, b"," | b";")
            && let Some(&cell) = row.cells.get(row.column + 1)
            && let Some(place) = self.counts(of, without_marks(of.text, cell), Values::is_told)
        {
            beside.found.push(place);
            return true;
        }
        if !row.is_head(of) {
            return false;
        }
        let column = (row.delimiter, row.cells.len(), row.column, of.name.spec.kind.as_str());
        let read = beside.columns.entry(column).or_default();
        if of.line.start < *read {
            return true;
        }
        for line in of.lines_behind() {
            match row.cell_below(of, line) {
                Below::Cell(cell) => beside.found.extend(self.counts(of, cell, Values::is_told)),
                Below::Rule => {}
                Below::Other => break,
            }
            *read = line.end;
        }
        true
    }
}

/// Tells whether the line behind the name's is a row of a table that this one heads.
pub(super) fn heads_row(of: Named<'_>) -> bool {
    let row = Row::of(of).filter(|row| row.is_head(of)).zip(of.lines_behind().next());
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
            let is_one = *delimiter == b"\t" || !before.contains(&b'\t');
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
            cell.len() <= HEAD_BYTES_MAX
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
}

/// Divides a line into its cells; what stands in double quotes is one.
fn cells(text: &[u8], line: Line, delimiter: &[u8]) -> Option<Vec<(usize, usize)>> {
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

/// Returns what stands behind the prefix of a line: the name of a file, a time, a prompt.
fn behind_prefix(cell: &[u8]) -> &[u8] {
    let marks = |byte: &u8| b":|>]$#\t".contains(byte) || *byte >= 0x80;
    let from = cell.iter().rposition(marks).map_or(0, |at| at + 1);
    cell.get(from..).unwrap_or_default().trim_ascii_start()
}

fn is_head_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" _-./()".contains(&byte)
}
