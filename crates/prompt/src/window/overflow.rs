//! What providers say when a context is too long, as a table with a source for each row.
//!
//! Text is the only thing that all of them have in common: some give a code, most give status 400 as for any other mistake.

use stemmata_model::{Tokens, Usage};

use super::phrases::{NOT_OVERFLOW, PHRASES};

/// Bytes of an error that are read.
const READ_BYTES_MAX: usize = 16 * 1_024;

/// How a provider says that a context is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverflowPhrase {
    /// Who says so.
    pub provider: &'static str,
    /// Words that all stand in it, in lower case.
    pub words: &'static [&'static str],
    /// An example, or what a row of the source's own table stands for.
    pub example: &'static str,
    /// Where that was seen.
    pub source: &'static str,
}

/// Returns the row that an error fits; none where it is another error. `code` is the provider's code or type, where there is
/// one. A provider that asks to wait reports a rate limit, in whatever words.
pub fn overflow_of(text: &str, code: Option<&str>) -> Option<&'static OverflowPhrase> {
    let end = (0..=READ_BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at))?;
    let said = format!("{}\n{}", code.unwrap_or_default(), text.get(..end)?).to_lowercase();
    if NOT_OVERFLOW.iter().any(|words| said.contains(words)) {
        return None;
    }
    PHRASES.iter().find(|phrase| phrase.words.iter().all(|word| said.contains(word)))
}

/// Returns why an answer that is no error shows an overflow: some providers cut the input, or take more than they have.
pub fn silent_overflow(usage: Usage, stop_reason: Option<&str>, window: Tokens) -> Option<&'static str> {
    let input: Tokens =
        [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens].map(Tokens).into_iter().sum();
    let is_full = u128::from(input.0) * 100 >= u128::from(window.0) * 99;
    match stop_reason {
        _ if window == Tokens(0) => None,
        Some("model_context_window_exceeded" | "model_length") => {
            Some("the answer stopped because the window was full")
        }
        _ if input > window => Some("the provider counted more tokens than the window has"),
        Some("length" | "max_tokens") if usage.output_tokens == 0 && is_full => {
            Some("the input filled the window and left no room for an answer")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_row_has_a_source_and_its_example_is_an_overflow() {
        for phrase in PHRASES {
            assert!(overflow_of(phrase.example, None).is_some(), "{phrase:?}");
            let said = phrase.example.to_lowercase();
            assert!(phrase.words.iter().all(|word| said.contains(word)), "{phrase:?}");
            assert!(phrase.words.iter().all(|word| *word == word.to_lowercase()), "{phrase:?}");
            let known = phrase.source.starts_with("https://") || phrase.source.starts_with("seed 003");
            assert!(known && !phrase.provider.is_empty(), "{phrase:?}");
        }
    }

    #[test]
    fn other_errors_are_no_overflow() {
        for text in [
            "",
            "rate limit exceeded",
            "Rate limit reached for tokens per min: too many tokens",
            "ThrottlingException: Too many tokens, please wait before trying again.",
            "Unknown parameter: temperature_x",
            "invalid api key",
            "overloaded_error",
        ] {
            assert_eq!(overflow_of(text, None), None, "{text}");
        }
        assert!(overflow_of("", Some("context_length_exceeded")).is_some(), "a code is enough");
    }

    #[test]
    fn an_answer_may_show_an_overflow_without_an_error() {
        let usage = |input_tokens, output_tokens| Usage { input_tokens, output_tokens, ..Usage::default() };
        let window = Tokens(1_000);
        assert!(silent_overflow(usage(1_001, 5), Some("stop"), window).is_some());
        assert!(silent_overflow(usage(990, 0), Some("length"), window).is_some());
        assert!(silent_overflow(usage(10, 5), Some("model_context_window_exceeded"), window).is_some());
        assert_eq!(silent_overflow(usage(990, 5), Some("length"), window), None);
        assert_eq!(silent_overflow(usage(5_000, 5), None, Tokens(0)), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,300}", code in proptest::option::of("\\PC{0,30}")) {
            let _row = overflow_of(&text, code.as_deref());
        }
    }
}
