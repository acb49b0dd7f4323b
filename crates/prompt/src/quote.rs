//! Quotes: text that anybody may have written, put into a prompt so that it can begin no section of its own.
//! Not a filter of what it says.

use std::fmt::Write as _;

/// Returns a text as a quote: each line begins with `> `, lines without words and hidden characters are left out. Empty where
/// nothing of it can be shown.
pub(crate) fn quoted(text: &str) -> String {
    let mut quote = String::new();
    for line in text.split(is_line_break) {
        let line = visible(line);
        if !line.trim().is_empty() {
            let _ = writeln!(quote, "> {}", line.trim_end());
        }
    }
    quote
}

/// Returns a line without characters that nobody sees.
pub(crate) fn visible(line: &str) -> String {
    let shown = |char| if char == '\t' { ' ' } else { char };
    line.chars().map(shown).filter(|char| !is_hidden(*char)).collect()
}

/// Characters that begin a line somewhere; `lines` knows of one alone.
pub(crate) const fn is_line_break(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Characters that nobody sees and that a model reads: controls, zero-width ones, those that turn a text round, tags.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        )
        || matches!(char, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(char, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}')
        || matches!(char, '\u{e0000}'..='\u{e0fff}')
}
