//! What a summary should look at: words that somebody gave, found again in names and sentences.

/// Words of a focus that are looked for.
const WORDS_MAX: usize = 32;
/// Shorter words stand within too many others.
const WORD_CHARS_MIN: usize = 4;

/// The words of a focus, in small letters. Without any, nothing is in focus.
#[derive(Debug, Default)]
pub(super) struct Focus(Vec<String>);

impl Focus {
    pub(super) fn of(text: &str) -> Self {
        let is_word = |char: char| char.is_alphanumeric() || "_-./".contains(char);
        let words = text.split(|char| !is_word(char)).map(|word| word.trim_matches(['.', '-', '/']));
        let long = words.filter(|word| word.chars().count() >= WORD_CHARS_MIN);
        Self(long.take(WORDS_MAX).map(str::to_lowercase).collect())
    }

    /// Says whether a text holds one of the words.
    pub(super) fn is_in(&self, text: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let text = text.to_lowercase();
        self.0.iter().any(|word| text.contains(word.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_focus_are_found_in_names_and_short_ones_are_not_looked_for() {
        let focus = Focus::of("the Parser, and src/lex.rs.");
        assert!(focus.is_in("parse_query_PARSER") && focus.is_in("/home/ada/src/lex.rs"));
        assert!(!focus.is_in("theme.rs") && !focus.is_in("and"));
        assert!(!Focus::of(" . ").is_in(""));
    }
}
