//! How a picker looks: a line to type in, the list, what is shown of the row that is selected, the keys.
//!
//! Pure. All text passes [`Canvas::put`], which cleans it: rows and previews hold what transcripts say.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::style::{Color, Modifier, Style as Look};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::state::{Act, Pick, Preparation};
use super::{Piece, Preview, Row};
use crate::output::size::grouped;
use crate::output::style::{Style, tame};

/// Rows from which on there is room for a preview.
const PREVIEW_FROM_ROWS: u16 = 12;
/// Columns that are kept for what a row says.
const LINE_COLUMNS_MIN: usize = 30;
/// Characters for each column of a line that are looked at: more are signs that stack on others.
const CHARS_A_COLUMN: usize = 4;
/// What stands between the keys that are named.
const KEYS_APART: &str = "  ";
/// Rows of one line of a preview.
const WRAPPED_ROWS_MAX: usize = 64;

/// Where the parts are, in rows from the top.
struct Parts {
    list: u16,
    list_rows: u16,
    preview_rows: u16,
    has_status: bool,
    has_keys: bool,
}

impl Parts {
    const fn of(height: u16) -> Self {
        let (has_status, has_keys) = (height >= 4, height >= 3);
        let list = if has_status { 2 } else { 1 };
        let rest = height.saturating_sub(list).saturating_sub(has_keys as u16);
        // Below the list is a rule.
        let list_rows = if height >= PREVIEW_FROM_ROWS { rest * 2 / 5 } else { rest };
        let preview_rows = if height >= PREVIEW_FROM_ROWS { rest - list_rows - 1 } else { 0 };
        Self { list, list_rows, preview_rows, has_status, has_keys }
    }
}

/// Returns the rows of the list in a terminal of so many.
pub(crate) fn rows(height: u16) -> usize {
    usize::from(Parts::of(height).list_rows)
}

/// Draws a picker.
pub(crate) fn draw(pick: &Pick, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.is_empty() {
        return;
    }
    let cursor = {
        let mut canvas =
            Canvas { buffer: frame.buffer_mut(), width: area.width, has_color: pick.setup.color };
        let parts = Parts::of(area.height);
        let cursor = prompt(pick, &mut canvas);
        if parts.has_status {
            canvas.put(1, &status(pick), Look::new());
        }
        list(pick, &parts, &mut canvas);
        if parts.preview_rows > 0 {
            let rule = "─".repeat(usize::from(area.width));
            canvas.put(parts.list + parts.list_rows, &[(Style::Faint, rule)], Look::new());
            let first = parts.list + parts.list_rows + 1;
            if let Some(preview) = &pick.preview {
                shown(preview, (first, parts.preview_rows), &mut canvas);
            }
        }
        if parts.has_keys {
            canvas.put(area.height - 1, &[(Style::Faint, keys(pick, usize::from(area.width)))], Look::new());
        }
        cursor
    };
    frame.set_cursor_position(Position { x: cursor, y: 0 });
}

/// Draws what was typed, as much of it around the cursor as the line holds, and where it is looked for. Returns the cursor's column.
fn prompt(pick: &Pick, canvas: &mut Canvas<'_>) -> u16 {
    let scope = if pick.is_wide { "everywhere" } else { pick.setup.near.as_str() };
    let scope = tame(scope);
    let width = usize::from(canvas.width);
    let room_for_scope = width / 2;
    let scope = crate::output::table::fit_end(&scope, room_for_scope);
    let room = width.saturating_sub(scope.width() + 4);
    let (before, behind) = pick.line.halves();
    let (before, behind) = (tame(before), tame(behind));
    let mut from = before.len();
    let mut used = 0;
    for (at, char) in before.char_indices().rev() {
        used += char.width().unwrap_or(0);
        if used > room {
            break;
        }
        from = at;
    }
    let before = before.get(from..).unwrap_or_default();
    let cursor = 2 + before.width();
    let behind = crate::output::table::fit(&behind, room.saturating_sub(before.width()));
    let shown = format!("{before}{behind}");
    let blanks = " ".repeat(width.saturating_sub(2 + shown.width() + scope.width()));
    canvas.put(
        0,
        &[
            (Style::Id, "> ".to_owned()),
            (Style::Strong, shown),
            (Style::Plain, blanks),
            (Style::Branch, scope),
        ],
        Look::new(),
    );
    u16::try_from(cursor.min(width.saturating_sub(1))).unwrap_or(0)
}

/// Returns what goes on, and what the list says of itself.
fn status(pick: &Pick) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if let Preparation::Going(done, total) = pick.preparation {
        let of = total.map(|total| format!(" of {}", grouped(total))).unwrap_or_default();
        pieces.push((Style::Note, format!("indexing new commits: {}{of} commits · ", grouped(done))));
    }
    pieces.push(match &pick.message {
        Some(message) => (Style::Note, message.clone()),
        None if pick.is_stale() => (Style::Note, "searching…".to_owned()),
        None => (Style::Faint, pick.listing.about.clone()),
    });
    pieces
}

fn list(pick: &Pick, parts: &Parts, canvas: &mut Canvas<'_>) {
    let rows = &pick.listing.rows;
    let height = usize::from(parts.list_rows);
    // The row that is selected stands in the middle, but at the ends.
    let first = pick.selected.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    for (at, row) in rows.iter().enumerate().skip(first).take(height) {
        let is_selected = at == pick.selected;
        let look = if is_selected { Look::new().add_modifier(Modifier::REVERSED) } else { Look::new() };
        let mark = if is_selected { "▸ " } else { "  " };
        let mut line = vec![(Style::Plain, mark.to_owned())];
        let columns = usize::from(canvas.width).saturating_sub(LINE_COLUMNS_MIN);
        line.extend(place_within(row, columns).iter().cloned());
        line.extend(row.line.iter().cloned());
        let y = parts.list + u16::try_from(at - first).unwrap_or(0);
        canvas.put(y, &line, look);
    }
}

/// Returns the columns of a row's place that fit: what the row says is worth more than where it was.
fn place_within(row: &Row, columns: usize) -> &[Piece] {
    let width = |pieces: &[Piece]| pieces.iter().map(|(_, text)| text.width()).sum::<usize>();
    let fits =
        |count: &usize| *count == 1 || row.place.get(..*count).is_some_and(|own| width(own) <= columns);
    let count = (1..=row.place.len()).rev().find(fits).unwrap_or(0);
    row.place.get(..count).unwrap_or_default()
}

/// Draws as much of a preview as fits, so that the line that matters is in view.
fn shown(preview: &Preview, (first, height): (u16, u16), canvas: &mut Canvas<'_>) {
    let height = usize::from(height);
    let width = usize::from(canvas.width);
    let wrapped = |line: &Vec<Piece>| wrapped(line, width);
    let lines = &preview.lines;
    let focus = preview.focus.min(lines.len().saturating_sub(1));
    let mut above: Vec<Vec<Piece>> = Vec::new();
    for line in lines.iter().take(focus).rev() {
        let more = wrapped(line);
        if above.len() + more.len() > height / 2 {
            break;
        }
        above.splice(0..0, more);
    }
    let below = lines.iter().skip(focus).take(height).flat_map(wrapped);
    for (at, line) in above.into_iter().chain(below).take(height).enumerate() {
        canvas.put(first + u16::try_from(at).unwrap_or(0), &line, Look::new());
    }
}

/// Breaks a line of one piece so that it fits; one of several is a heading, which is cut.
fn wrapped(line: &Vec<Piece>, width: usize) -> Vec<Vec<Piece>> {
    let [(style, text)] = line.as_slice() else { return vec![line.clone()] };
    let mut rows = vec![String::new()];
    let mut used = 0;
    for char in tame(text).chars().take(width.saturating_mul(CHARS_A_COLUMN * WRAPPED_ROWS_MAX)) {
        let own = char.width().unwrap_or(0);
        if used + own > width && used > 0 {
            if rows.len() == WRAPPED_ROWS_MAX {
                break;
            }
            rows.push(String::new());
            used = 0;
        }
        used += own;
        if let Some(row) = rows.last_mut() {
            row.push(char);
        }
    }
    rows.into_iter().map(|row| vec![(*style, row)]).collect()
}

/// Names the keys, as many as fit.
fn keys(pick: &Pick, width: usize) -> String {
    let act = |act| match act {
        Act::Show => "show",
        Act::Resume => "resume",
        Act::Fork => "fork",
    };
    // With how soon a key is left out where the line is short: the greatest number first.
    let mut named = vec![(0, format!("Enter {}", act(pick.setup.enter)))];
    let others = [(3, Act::Resume, "^R"), (4, Act::Fork, "^F")].into_iter();
    let others = others.filter(|(_, one, _)| *one != pick.setup.enter);
    named.extend(others.map(|(rank, one, key)| (rank, format!("{key} {}", act(one)))));
    let wide = if pick.is_wide { "here" } else { "all" };
    named.push((5, "^Y copy".to_owned()));
    named.push(if pick.is_inside() { (2, "← back".to_owned()) } else { (6, "→ prompts".to_owned()) });
    named.extend((!pick.is_inside()).then(|| (2, format!("Tab {wide}"))));
    named.push((1, "Esc leave".to_owned()));
    loop {
        let line = named.iter().map(|(_, key)| key.as_str()).collect::<Vec<_>>().join(KEYS_APART);
        let last = named.iter().map(|(rank, _)| *rank).max().unwrap_or(0);
        if line.width() <= width || last == 0 {
            return line;
        }
        named.retain(|(rank, _)| *rank != last);
    }
}

/// Where lines are put.
struct Canvas<'b> {
    buffer: &'b mut Buffer,
    width: u16,
    has_color: bool,
}

impl Canvas<'_> {
    /// Puts a line, cut to the width with an ellipsis, without anything that a terminal would obey.
    fn put(&mut self, y: u16, line: &[Piece], look: Look) {
        let chars_max = usize::from(self.width) * CHARS_A_COLUMN;
        let (mut x, mut left) = (0, chars_max);
        let mut is_cut = false;
        for (style, text) in line {
            let text: String = tame(text.chars().take(left + 1).collect::<String>());
            let count = text.chars().count();
            is_cut |= count > left || text.width() > usize::from(self.width - x);
            left = left.saturating_sub(count);
            let look = look.patch(self.look(*style));
            (x, _) = self.buffer.set_stringn(x, y, text, usize::from(self.width - x), look);
            if is_cut {
                break;
            }
        }
        if is_cut {
            self.ellipsis(y, look);
        }
        if look.add_modifier.contains(Modifier::REVERSED) {
            self.buffer.set_style(ratatui::layout::Rect { x: 0, y, width: self.width, height: 1 }, look);
        }
    }

    /// Puts an ellipsis into the last column, where half of a wide character may stand.
    fn ellipsis(&mut self, y: u16, look: Look) {
        let last = self.width - 1;
        if last > 0
            && let Some(before) = self.buffer.cell_mut((last - 1, y))
            && before.symbol().width() > 1
        {
            before.set_symbol(" ");
        }
        self.buffer.set_stringn(last, y, "…", 1, look);
    }

    fn look(&self, style: Style) -> Look {
        let plain = Look::new();
        let color = |color: Color| if self.has_color { plain.fg(color) } else { plain };
        match style {
            Style::Plain => plain,
            Style::Id => color(Color::Yellow),
            Style::Faint => plain.add_modifier(Modifier::DIM),
            Style::Strong => plain.add_modifier(Modifier::BOLD),
            Style::Compaction => color(Color::Magenta),
            Style::Branch => color(Color::Cyan),
            Style::Open => color(Color::Blue),
            Style::Subagent | Style::Good => color(Color::Green),
            Style::Note | Style::Hint => color(Color::Cyan).add_modifier(Modifier::BOLD),
            Style::Warning => color(Color::Yellow).add_modifier(Modifier::BOLD),
            Style::Error | Style::Hit => color(Color::Red).add_modifier(Modifier::BOLD),
        }
    }
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
