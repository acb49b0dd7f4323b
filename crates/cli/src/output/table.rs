//! Tables of text that fit a width: columns line up, and one column gives way where there is not enough room.
//!
//! Cells may be styled; widths are counted in terminal columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::style::Style;

/// Columns between two columns of a table.
const GAP: usize = 2;

/// Columns that the column which gives way keeps at least.
const FLEXIBLE_MIN: usize = 12;

/// How a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Text, from the left.
    Left,
    /// Numbers, from the right.
    Right,
    /// Text that is cut where the line would be too long.
    Flexible,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    dress: Dress,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Dress {
    /// One style for all of it.
    Style(Style),
    /// The text with its styles in it; such a cell is never cut.
    Painted(String),
}

/// Makes a cell.
pub(crate) fn cell(style: Style, text: impl Into<String>) -> Cell {
    Cell { text: text.into(), dress: Dress::Style(style) }
}

/// Makes a cell of pieces in styles of their own, with spaces between; not for the column that gives way.
pub(crate) fn pieces(pieces: &[(Style, String)]) -> Cell {
    let plain: Vec<&str> = pieces.iter().map(|(_, text)| text.as_str()).collect();
    let painted: Vec<String> = pieces.iter().map(|(style, text)| style.paint(text)).collect();
    self::painted(plain.join(" "), painted.join(" "))
}

/// Makes a cell of a text and the same with its styles; not for the column that gives way.
pub(crate) fn painted(plain: String, painted: String) -> Cell {
    Cell { text: plain, dress: Dress::Painted(painted) }
}

/// A table.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<Column>,
    heads: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Makes a table with headings; without any heading the line is left out.
    pub(crate) fn new(columns: &[(&'static str, Column)]) -> Self {
        Self {
            heads: columns.iter().map(|(head, _)| *head).collect(),
            columns: columns.iter().map(|(_, column)| *column).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; it has as many cells as there are columns.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Leaves out columns by their headings, the first named first, until the one that gives way keeps so many columns.
    pub(crate) fn narrowed(mut self, order: &[&str], flexible_min: usize, width: usize) -> Self {
        for head in order {
            let flexible = self.columns.iter().position(|column| *column == Column::Flexible);
            let widths = self.own_widths();
            let own = flexible.and_then(|position| widths.get(position)).copied().unwrap_or(0);
            let whole = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
            if whole - own + own.min(flexible_min) <= width {
                break;
            }
            if let Some(position) = self.heads.iter().position(|own| own == head) {
                self.heads.remove(position);
                self.columns.remove(position);
                for row in self.rows.iter_mut().filter(|row| position < row.len()) {
                    row.remove(position);
                }
            }
        }
        self
    }

    /// Returns the lines, each ended, none longer than `width` where that is possible.
    pub(crate) fn render(mut self, width: usize) -> String {
        if self.heads.iter().any(|head| !head.is_empty()) {
            let heads = self.heads.iter().map(|head| cell(Style::Faint, *head)).collect();
            self.rows.insert(0, heads);
        }
        let widths = self.widths(width);
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            let last = row.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
            for (position, (cell, (column, width))) in
                row.iter().zip(self.columns.iter().zip(&widths)).enumerate().take(last + 1)
            {
                let shown = fit(&cell.text, *width);
                let padding = " ".repeat(width.saturating_sub(shown.width()));
                let painted = match &cell.dress {
                    Dress::Style(style) => style.paint(&shown),
                    Dress::Painted(painted) => painted.clone(),
                };
                if position > 0 {
                    line.push_str(&" ".repeat(GAP));
                }
                match column {
                    Column::Right => line.push_str(&(padding + &painted)),
                    Column::Left | Column::Flexible if position == last => line.push_str(&painted),
                    Column::Left | Column::Flexible => line.push_str(&(painted + &padding)),
                }
            }
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    /// Returns how wide each column is with its heading.
    fn own_widths(&self) -> Vec<usize> {
        let of_column = |position: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(position)).map(|cell| cell.text.width());
            let head = self.heads.get(position).map_or(0, |head| head.width());
            cells.max().unwrap_or(0).max(head)
        };
        (0..self.columns.len()).map(of_column).collect()
    }

    fn widths(&self, width: usize) -> Vec<usize> {
        let mut widths = self.own_widths();
        let whole = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        let over = whole.saturating_sub(width);
        let flexible = self.columns.iter().position(|column| *column == Column::Flexible);
        if let Some(own) = flexible.and_then(|position| widths.get_mut(position)) {
            *own = own.saturating_sub(over).max(FLEXIBLE_MIN.min(*own));
        }
        widths
    }
}

/// Returns the end of a text, cut to so many columns: of a path, the end says more.
pub(crate) fn fit_end(text: &str, width: usize) -> String {
    let backwards: String = text.chars().rev().collect();
    fit(&backwards, width).chars().rev().collect()
}

/// Returns a text cut to so many columns, with an ellipsis where something was cut.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 0;
    for character in text.chars() {
        let own = character.width().unwrap_or(0);
        if used + own + 1 > width {
            break;
        }
        used += own;
        shown.push(character);
    }
    if width > 0 {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_line_up_and_one_gives_way() {
        let mut table =
            Table::new(&[("WHEN", Column::Left), ("SIZE", Column::Right), ("TITLE", Column::Flexible)]);
        table.row(vec![
            cell(Style::Plain, "3h ago"),
            cell(Style::Plain, "1.2 kB"),
            cell(Style::Plain, "short"),
        ]);
        table.row(vec![
            cell(Style::Plain, "just now"),
            cell(Style::Plain, "9 B"),
            cell(Style::Plain, "a title that is longer than what is left"),
        ]);
        let shown = crate::output::screen::finish(&table.render(40), false);
        assert_eq!(
            shown,
            "WHEN        SIZE  TITLE\n3h ago    1.2 kB  short\njust now     9 B  a title that is longe…\n"
        );
    }

    proptest! {
        #[test]
        fn a_fitted_text_fits(text in "\\PC{0,40}", width in 0..50_usize) {
            prop_assert!(fit(&text, width).width() <= width);
        }
    }
}
