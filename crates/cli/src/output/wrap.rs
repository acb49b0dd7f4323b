//! Long lines in a terminal, broken between words: a terminal and most pagers break them anywhere.
//!
//! Of text as a terminal takes it, with escape sequences of ours in it. Off a terminal lines stay whole.

use unicode_width::UnicodeWidthChar;

/// What a prompt begins with: its other lines stand behind it.
const PROMPT: &str = "❯ ";

/// Columns of a name before a value at most: what goes on stands below the value.
const NAME_COLUMNS_MAX: usize = 16;

/// Returns a text whose lines are broken between words where they are longer than so many columns. What goes on is set in as
/// its line is; a word that is longer than a line stays whole.
pub(crate) fn words(text: &str, columns: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.len() <= columns || width(line) <= columns {
            out.push_str(line);
        } else {
            broken(&mut out, line, columns);
        }
    }
    out
}

fn broken(out: &mut String, line: &str, columns: usize) {
    let indent = begins(&plain(line)).min(columns / 2);
    let (mut column, mut has_word) = (0, false);
    for word in line.split_inclusive(' ') {
        let own = width(word.trim_end());
        if has_word && own > 0 && column + own > columns {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        }
        out.push_str(word);
        column += width(word);
        has_word |= own > 0;
    }
}

/// Returns the column at which a line's text begins: behind spaces, the mark of a prompt, or a name with spaces behind it.
fn begins(line: &str) -> usize {
    if line.starts_with(PROMPT) {
        return width(PROMPT);
    }
    let spaces = |text: &str| text.chars().take_while(|character| *character == ' ').count();
    let gap = line.find("  ").filter(|at| *at > 0 && !line[..*at].contains(' '));
    let value = gap.map(|at| width(&line[..at]) + spaces(&line[at..]));
    value.filter(|columns| *columns <= NAME_COLUMNS_MAX).unwrap_or_else(|| spaces(line))
}

fn plain(text: &str) -> String {
    let mut is_escape = false;
    let is_shown = |character: &char| {
        let was_escape = is_escape;
        is_escape = *character == '\u{1b}' || (is_escape && !character.is_ascii_alphabetic());
        !was_escape && !is_escape
    };
    text.chars().filter(is_shown).collect()
}

fn width(text: &str) -> usize {
    plain(text).chars().filter_map(UnicodeWidthChar::width).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_set_in_alike() {
        for (text, wanted) in [
            ("one two three\nfour\n", "one two\nthree\nfour\n"),
            ("  one two three", "  one two\n  three"),
            ("❯ one two three", "❯ one two\n  three"),
            ("\u{1b}[1m❯ \u{1b}[0mone two three", "\u{1b}[1m❯ \u{1b}[0mone two\n  three"),
            ("ab  one two\n", "ab  one\n    two\n"),
            ("averylongwordindeed x", "averylongwordindeed\nx"),
            ("ein Käse und\n", "ein Käse\nund\n"),
        ] {
            assert_eq!(words(text, 9), wanted, "{text}");
        }
    }

    proptest! {
        /// Nothing but spaces becomes a line end, and a line that is too long is one word.
        #[test]
        fn no_word_is_lost(text in "[a-zé \n]{0,80}", columns in 4_usize..20) {
            let broken = words(&text, columns);
            let of = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(of(&broken), of(&text));
            prop_assert!(broken.lines().all(|line| width(line) <= columns || of(line).len() == 1 || width(line.trim_end()) <= columns));
        }
    }
}
