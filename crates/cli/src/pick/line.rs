//! The line that a person types into a picker: its text and the cursor.
//!
//! Not how it is drawn, which is `draw`'s.

/// Characters of a line at most.
const CHARS_MAX: usize = 1_000;

/// A text with a cursor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Line {
    text: String,
    /// The byte that the cursor stands before; always the boundary of a character.
    cursor: usize,
}

impl Line {
    /// Returns an empty line.
    pub(super) const fn new() -> Self {
        Self { text: String::new(), cursor: 0 }
    }

    /// Returns the whole text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before the cursor, and the text behind it.
    pub(super) fn halves(&self) -> (&str, &str) {
        self.text.split_at_checked(self.cursor).unwrap_or((&self.text, ""))
    }

    /// Puts a character before the cursor; a full line stays as it is.
    pub(super) fn insert(&mut self, char: char) {
        if self.text.chars().count() < CHARS_MAX {
            self.text.insert(self.cursor, char);
            self.cursor += char.len_utf8();
        }
    }

    /// Removes the character before the cursor, and says whether there was one.
    pub(super) fn erase(&mut self) -> bool {
        let end = self.cursor;
        self.left();
        self.remove(self.cursor, end)
    }

    /// Removes the character behind the cursor, and says whether there was one.
    pub(super) fn erase_next(&mut self) -> bool {
        let start = self.cursor;
        self.right();
        self.remove(start, self.cursor)
    }

    /// Removes the word before the cursor, with the blanks between.
    pub(super) fn erase_word(&mut self) {
        let (before, _) = self.halves();
        let words = before.trim_end_matches(char::is_whitespace);
        let start = words.trim_end_matches(|char: char| !char.is_whitespace()).len();
        self.remove(start, self.cursor);
    }

    /// Removes everything.
    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Moves the cursor by a character towards the beginning.
    pub(super) fn left(&mut self) {
        let last = self.halves().0.chars().next_back();
        self.cursor -= last.map_or(0, char::len_utf8);
    }

    /// Moves the cursor by a character towards the end.
    pub(super) fn right(&mut self) {
        let next = self.halves().1.chars().next();
        self.cursor += next.map_or(0, char::len_utf8);
    }

    /// Moves the cursor to the beginning.
    pub(super) fn home(&mut self) {
        self.cursor = 0;
    }

    /// Moves the cursor to the end.
    pub(super) fn end(&mut self) {
        self.cursor = self.text.len();
    }

    fn remove(&mut self, start: usize, end: usize) -> bool {
        self.text.replace_range(start..end, "");
        self.cursor = start;
        start < end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(text: &str) -> Line {
        let mut line = Line::new();
        text.chars().for_each(|char| line.insert(char));
        line
    }

    #[test]
    fn words_are_erased_whole() {
        let mut line = line("über\u{3000}den  Zaun ");
        for wanted in ["über\u{3000}den  ", "über\u{3000}", "", ""] {
            line.erase_word();
            assert_eq!(line.text(), wanted);
        }
    }

    #[test]
    fn a_slip_in_the_middle_is_mended_in_its_place() {
        let mut line = line("drpo retries");
        line.home();
        line.right();
        line.right();
        assert!(line.erase_next() && line.erase_next());
        line.insert('o');
        line.insert('p');
        assert_eq!(line.halves(), ("drop", " retries"));
        line.erase_word();
        assert_eq!(line.halves(), ("", " retries"));
        assert!(!line.erase());
        line.end();
        assert!(!line.erase_next() && line.erase());
        assert_eq!(line.text(), " retrie");
    }

    proptest! {
        #[test]
        fn the_cursor_never_splits_a_character(keys in proptest::collection::vec((0..9_u8, any::<char>()), 0..80)) {
            let mut line = Line::new();
            for (key, char) in keys {
                match key {
                    0 => drop(line.erase()),
                    1 => drop(line.erase_next()),
                    2 => line.erase_word(),
                    3 => line.left(),
                    4 => line.right(),
                    5 => line.home(),
                    6 => line.end(),
                    _ => line.insert(char),
                }
                let (before, behind) = line.halves();
                prop_assert_eq!([before, behind].concat(), line.text());
                prop_assert_eq!(before.len(), line.cursor);
            }
        }
    }
}
