//! Long lines in a terminal, broken between words: a terminal and most pagers break them anywhere.
//!
//! Of text as a terminal takes it, with escape sequences of ours in it. Off a terminal lines stay whole.

use unicode_width::UnicodeWidthChar;

/// What a prompt begins with: its other lines stand behind it.
const PROMPT: &str = "❯ ";

/// Columns of a name before a value at most: what goes on stands below the value.
const NAME_COLUMNS_MAX: usize = 16;

/// Columns that what goes on of a message is set in at least.
const MESSAGE_INDENT: usize = 2;

/// Returns a text whose lines are broken between words where they are longer than so many columns. What goes on is set in as
/// its line is; a word that is longer than a line stays whole.
pub(crate) fn words(text: &str, columns: usize) -> String {
    set_in(text, columns, 0)
}

/// Returns a message whose lines are broken as by [`words`], where what goes on is set in: only what we say begins a line. What
/// stands between backticks stays in one piece, so that it can be copied.
pub(crate) fn message(text: &str, columns: usize) -> String {
    set_in(text, columns, MESSAGE_INDENT)
}

fn set_in(text: &str, columns: usize, indent_min: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if line.len() <= columns || width(line) <= columns {
            out.push_str(line);
        } else {
            broken(&mut out, line, (columns, indent_min));
        }
    }
    out
}

fn broken(out: &mut String, line: &str, (columns, indent_min): (usize, usize)) {
    let indent = begins(&plain(line)).clamp(indent_min, (columns / 2).max(indent_min));
    let (mut column, mut has_word) = (0, false);
    for word in pieces(line, indent_min > 0) {
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

/// Returns the words of a line, each with the space behind it. Where `quoted`, a pair of backticks and what is between them are one.
fn pieces(line: &str, quoted: bool) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let mut end = rest.find(' ').map_or(rest.len(), |at| at + 1);
        while quoted && rest[..end].matches('`').count() % 2 == 1 {
            let Some(close) = rest[end..].find('`').map(|at| end + at + 1) else { break };
            end = rest[close..].find(' ').map_or(rest.len(), |at| close + at + 1);
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
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

    #[test]
    fn a_message_keeps_commands_whole_and_begins_no_line_with_what_it_quotes() {
        for (text, wanted) in [
            ("note: one two three", "note: one\n  two three"),
            ("see `ab cd ef` now", "see\n  `ab cd ef`\n  now"),
            ("`a b`, `c d` e f", "`a b`,\n  `c d` e f"),
            ("one ` two three", "one ` two\n  three"),
            ("a hint: x\n  more of it", "a hint: x\n  more of\n  it"),
        ] {
            assert_eq!(message(text, 11), wanted, "{text}");
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
