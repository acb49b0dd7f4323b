//! Figures in columns: the first column is text, the others are numbers and stand to the right.
//! Not for Markdown: people read this in a terminal or compare two of them with `diff`.

/// Returns the rows below their heading, with a line break behind each.
pub(super) fn render(heading: &[&str], rows: &[Vec<String>]) -> String {
    let heading: Vec<String> = heading.iter().map(|cell| (*cell).to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&heading).chain(rows).collect();
    let width = |column: usize| {
        let cells = all.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let lines = all.iter().map(|row| {
        let cells = row.iter().enumerate().map(|(column, cell)| match column {
            0 => format!("{cell:<width$}", width = width(column)),
            _ => format!("{cell:>width$}", width = width(column)),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// Returns a row of one name and numbers.
pub(super) fn row(name: &str, numbers: &[usize]) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(numbers.iter().map(usize::to_string)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_left_and_numbers_right() {
        let rows = [row("crates/model", &[7, 1_200]), row("sum", &[10, 3])];
        let expected = "crate         files  lines\ncrates/model      7   1200\nsum              10      3\n";
        assert_eq!(render(&["crate", "files", "lines"], &rows), expected);
    }
}
