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

/// What a provider's error says of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OverflowSizes {
    /// Tokens that the request took.
    pub requested: Option<Tokens>,
    /// Tokens that the model takes.
    pub maximum: Option<Tokens>,
}

/// What stands before the number of a maximum, in lower case.
const BEFORE_MAXIMUM: &[&str] = &[
    "maximum context length is ",
    "maximum prompt length is ",
    "limit of ",
    "limit ",
    "limit: ",
    "context length (",
    "context length ",
    "context size (",
    "n_ctx\":",
    "context window of ",
    "allowed (",
    "input length of ",
    "must not exceed ",
    "too large for model with ",
];

/// A request is not so many times larger than what a model takes: such a number is an id or a time.
const REQUESTED_TIMES_MAX: u64 = 1_000;

/// No request is as large. Seconds since 1970 are, and less than a thousand times the largest windows.
const REQUESTED_END: u64 = 1_000_000_000;

/// Signs of a comparison, as JSON may write them, too.
const GREATER: &[&str] = &[">", ">=", "≥", "\\u003e"];

/// What numbers count that are not tokens.
const OTHER_UNITS: &[&str] = &["bytes", "characters", "chars", "ms", "seconds", "s", "messages", "%"];

/// Returns the sizes that an error of [`overflow_of`] names: the maximum by the words before it, the request as the largest
/// number above it. Without a maximum no number means anything.
pub fn overflow_sizes(text: &str) -> OverflowSizes {
    let Some(end) = (0..=READ_BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at)) else {
        return OverflowSizes::default();
    };
    let said = text.get(..end).unwrap_or_default().to_lowercase();
    let numbers = numbers(&said);
    let follows = |at: usize, words: &str| said.get(..at).is_some_and(|said| said.ends_with(words));
    let first = |is_maximum: &dyn Fn(usize) -> bool| {
        numbers.iter().find(|(at, value)| *value > 0 && is_maximum(*at)).map(|(_, value)| *value)
    };
    // What a comparison names second is the maximum, whatever words stand before the first.
    let maximum = first(&|at| said.get(..at).is_some_and(ends_in_comparison))
        .or_else(|| first(&|at| BEFORE_MAXIMUM.iter().any(|words| follows(at, words))));
    let Some(maximum) = maximum else { return OverflowSizes::default() };
    // `190000 + 20000 > 200000`: what is asked for counts with what was sent.
    let sum = |window: &[(usize, u64)]| match window {
        [(at, one), (behind, two)] => {
            let is_of_number = |sign: char| sign.is_ascii_digit() || sign == ',';
            let between = said.get(*at..*behind)?.trim_start_matches(is_of_number);
            (between == " + ").then_some(one.saturating_add(*two))
        }
        _ => None,
    };
    let sums = numbers.windows(2).filter_map(sum);
    let above =
        |value: &u64| *value > maximum && *value / REQUESTED_TIMES_MAX <= maximum && *value < REQUESTED_END;
    let requested = numbers.iter().map(|(_, value)| *value).chain(sums).filter(above).max();
    OverflowSizes { requested: requested.map(Tokens), maximum: Some(Tokens(maximum)) }
}

/// Returns whether a text ends in a sign that compares tokens with what comes next: no arrow, and no tag.
fn ends_in_comparison(before: &str) -> bool {
    let before = before.trim_end();
    let mut compared = GREATER.iter().filter_map(|sign| before.strip_suffix(sign)).map(str::trim_end);
    let is_amount = |text: &str| {
        text.ends_with("token")
            || text.ends_with("tokens")
            || text.ends_with(|sign: char| sign.is_ascii_digit() || sign == ')')
    };
    compared.any(is_amount)
}

/// Returns the numbers of a text that may count tokens, each with its place: no part of a name, of a time or of an address, and not
/// of another unit. Thousands may be set apart by commas.
fn numbers(text: &str) -> Vec<(usize, u64)> {
    let is_of_name = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.');
    // `@12` is an entry, `#12` an issue.
    let is_before_name = |sign: char| is_of_name(sign) || matches!(sign, '@' | '#');
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text.get(from..).and_then(|rest| rest.find(|sign: char| sign.is_ascii_digit())) {
        let at = from + start;
        let digits = grouped_digits(text.get(at..).unwrap_or_default());
        from = at + digits.len();
        let mut before = text.get(..at).unwrap_or_default().chars().rev();
        let is_begun = match before.next() {
            // `10:32:05`, `127.0.0.1:8080`
            Some(':') => before.next().is_some_and(|sign| sign.is_ascii_digit()),
            sign => sign.is_some_and(is_before_name),
        };
        let behind = text.get(from..).unwrap_or_default();
        // A full stop may end the sentence.
        let mut signs = behind.chars();
        let next =
            signs.next().filter(|sign| *sign != '.' || signs.next().is_some_and(char::is_alphanumeric));
        let unit = behind.trim_start().split(|sign: char| !sign.is_alphanumeric() && sign != '%').next();
        let is_other = unit.is_some_and(|unit| OTHER_UNITS.contains(&unit));
        if !is_begun && !is_other && !next.is_some_and(is_of_name) {
            found.extend(digits.replace(',', "").parse().ok().map(|value| (at, value)));
        }
    }
    found
}

/// Returns the digits that a text begins with, and the groups of three that follow them behind commas.
fn grouped_digits(text: &str) -> &str {
    let digits = |text: &str| text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let is_group = |text: &str| text.strip_prefix(',').is_some_and(|group| digits(group) == 3);
    let mut end = digits(text);
    let has_groups = end <= 3;
    while has_groups && text.get(end..).is_some_and(is_group) {
        end += 4;
    }
    text.get(..end).unwrap_or_default()
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
    fn the_sizes_that_an_error_names_are_read() {
        for (text, requested, maximum) in [
            ("prompt is too long: 9000 tokens > 8000 maximum", Some(9_000), Some(8_000)),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
                Some(210_000),
                Some(200_000),
            ),
            (
                "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in \
                 the messages, 8192 in the completion).",
                Some(131_134),
                Some(131_072),
            ),
            (
                "Request too large for model `llama-3.3-70b` on tokens per minute (TPM): Limit 6000, Requested 14810, x",
                Some(14_810),
                Some(6_000),
            ),
            (r#"{"code":400,"n_prompt_tokens":14429,"n_ctx":8192}"#, Some(14_429), Some(8_192)),
            ("Requested tokens (2285) exceed context window of 2048", Some(2_285), Some(2_048)),
            ("The sum of 'inputs' tokens and 'max_new_tokens' must not exceed 4097.", None, Some(4_097)),
            (
                "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
                Some(4_390),
                Some(4_096),
            ),
            (
                "your request exceeded model token limit: 262144 (requested: 300000)",
                Some(300_000),
                Some(262_144),
            ),
            ("prompt is too long", None, None),
            ("context length exceeded, request 1764230000", None, None),
        ] {
            let sizes = OverflowSizes { requested: requested.map(Tokens), maximum: maximum.map(Tokens) };
            assert_eq!(overflow_sizes(text), sizes, "{text}");
        }
    }

    /// Rows whose numbers were read wrongly once, or would be by a reader that is less careful.
    #[test]
    fn numbers_that_are_no_sizes_are_left_alone() {
        let with = |more: &str| format!("prompt is too long: 9000 tokens > 8000 maximum{more}");
        for more in [
            " (entry @190000)",
            ", see @12 and @190000.",
            "; request #190000",
            " req_190000",
            " at 1764230000",
            " in 190000 ms",
            "; the body has 190000 bytes",
            "; 190000 characters",
            " from 127.0.0.1:19000 at 10:32:05",
            " 2026-11-27",
            " gpt-190000",
            " v9.190000",
        ] {
            let sizes = OverflowSizes { requested: Some(Tokens(9_000)), maximum: Some(Tokens(8_000)) };
            assert_eq!(overflow_sizes(&with(more)), sizes, "{more}");
        }
        let unix = "maximum context length is 2097152 tokens, request 1764230000";
        assert_eq!(overflow_sizes(unix).requested, None);
        for text in [
            "context length exceeded -> 400",
            "prompt is too long <error> 413",
            "prompt too long; exceeded max context length by 12 tokens",
            "expected maxLength: 42000, actual: 46735, please reformat your input",
            "context limit reached at @8000, limit @9000",
            "context window of 128k tokens exceeded: 190000",
            "maximum context length is 0 tokens, you requested 5",
            "context limit: 99999999999999999999999 tokens",
        ] {
            assert_eq!(overflow_sizes(text), OverflowSizes::default(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_however_they_are_written() {
        for (text, requested, maximum) in [
            (
                "maximum context length is 128,000 tokens. However, you requested 1,130,512 tokens",
                1_130_512,
                128_000,
            ),
            ("exceed context limit: 190,000 + 20,000 > 200,000", 210_000, 200_000),
            (r#"{"message":"prompt is too long: 208310 tokens \u003e 200000 maximum"}"#, 208_310, 200_000),
            ("prompt is too long: 9000>8000", 9_000, 8_000),
            ("prompt is too long: 9000 tokens >= 8000 tokens", 9_000, 8_000),
            ("PROMPT IS TOO LONG: 9000 TOKENS > 8000 MAXIMUM", 9_000, 8_000),
            ("maximum context length is 8000 tokens, you sent\n\t9000.", 9_000, 8_000),
            ("Limit 6000, Requested 14810, 3 messages", 14_810, 6_000),
        ] {
            let sizes = OverflowSizes { requested: Some(Tokens(requested)), maximum: Some(Tokens(maximum)) };
            assert_eq!(overflow_sizes(text), sizes, "{text}");
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
            let _sizes = overflow_sizes(&text);
        }
    }
}
