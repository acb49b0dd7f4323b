//! A reference taken apart: what a person types for a commit. What its parts mean in a store is `verbs::find`'s.
//!
//! A name that the store knows comes before any of this: a tag may hold a colon, and a path may be anything.

use stemmata_model::NEWEST_WORDS;

/// What a reference begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base<'t> {
    /// `@`: a session of the current directory, 0 for the newest.
    Here(u64),
    /// An id or a part of one, a tag, a path, words of a title.
    Name(&'t str),
}

/// Where a reference goes from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// `~N`: so many commits back along the chain.
    Back(u64),
    /// `:N`: to before the N-th prompt of the chain, from 1.
    BeforePrompt(u64),
}

/// Takes the last step off a reference; none where it has none.
pub(crate) fn last_step(text: &str) -> Option<(&str, Step)> {
    let at = text.rfind(['~', ':'])?;
    let (before, step) = text.split_at_checked(at)?;
    let digits = step.get(1..)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    if before.is_empty() || !is_number {
        return None;
    }
    // A number that is too large for the type is beyond any chain, too.
    let number = || digits.parse().unwrap_or(u64::MAX);
    match (step.starts_with('~'), digits.is_empty()) {
        (true, true) => Some((before, Step::Back(1))),
        (true, false) => Some((before, Step::Back(number()))),
        (false, false) => Some((before, Step::BeforePrompt(number()))),
        (false, true) => None,
    }
}

/// Prompts of a chain that a reference names: `BASE:N..M` or `BASE:N-M`, `BASE:N..` to the last one, `BASE:..M` from the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PromptRange<'t> {
    /// What the range is of.
    pub(crate) of: &'t str,
    pub(crate) from: u64,
    /// None for the last prompt that there is.
    pub(crate) through: Option<u64>,
}

/// Reads a reference such as `4a36:2..4`. Returns nothing for one that names no range of prompts.
pub(crate) fn prompt_range(text: &str) -> Option<PromptRange<'_>> {
    let (of, numbers) = text.rsplit_once(':')?;
    let (from, through) = numbers.split_once("..").or_else(|| {
        // Half open, `-1` and `1-` may as well mean the last one or a prompt's end.
        numbers.split_once('-').filter(|(from, through)| !from.is_empty() && !through.is_empty())
    })?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if of.is_empty() || (from.is_empty() && through.is_empty()) || !is_number(from) || !is_number(through) {
        return None;
    }
    let number = |text: &str| text.parse().unwrap_or(u64::MAX);
    let through = Some(through).filter(|text| !text.is_empty()).map(number);
    Some(PromptRange { of, from: if from.is_empty() { 1 } else { number(from) }, through })
}

/// Reads what a reference without steps begins with: `@`, `@-` and `@--` or `@-2`, else a name.
pub(crate) fn base(text: &str) -> Base<'_> {
    if NEWEST_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) {
        return Base::Here(0);
    }
    let Some(back) = text.strip_prefix('@') else { return Base::Name(text) };
    let numbered =
        || back.strip_prefix('-').filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()));
    if back.bytes().all(|byte| byte == b'-') {
        return Base::Here(u64::try_from(back.len()).unwrap_or(u64::MAX));
    }
    numbered().and_then(|digits| digits.parse().ok()).map_or(Base::Name(text), Base::Here)
}

/// Says whether each word of a text begins a word of a title: for a filter, which may be typed half.
pub(crate) fn words_in(text: &str, title: &str) -> bool {
    let title: Vec<String> = words_of(title).collect();
    let mut words = words_of(text).peekable();
    words.peek().is_some() && words.all(|word| title.iter().any(|other| other.starts_with(&word)))
}

/// Letters of a word that tells titles apart: shorter ones, and numbers, are in many.
const WORD_LETTERS_MIN: usize = 4;

/// Tells whether a text names a session of this title: the title has all words of the text, and one of them is long enough to
/// tell titles apart.
pub(crate) fn is_titled(text: &str, title: &str) -> bool {
    let title: Vec<String> = words_of(title).collect();
    words_of(text).any(|word| tells_apart(&word)) && words_of(text).all(|word| title.contains(&word))
}

/// Counts the words of a text that are near to a title: long enough, and at the beginning of one of its words.
pub(crate) fn words_near(text: &str, title: &str) -> usize {
    let title: Vec<String> = words_of(title).collect();
    let is_near = |word: &String| title.iter().any(|other| other.starts_with(word));
    words_of(text).filter(|word| tells_apart(word)).filter(is_near).count()
}

fn tells_apart(word: &str) -> bool {
    word.chars().filter(|letter| letter.is_alphabetic()).count() >= WORD_LETTERS_MIN
}

/// Returns the words of a text in lower case.
fn words_of(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn references_are_taken_apart() {
        for (text, parts) in [
            ("4a36", None),
            ("4a36~", Some(("4a36", Step::Back(1)))),
            ("4a36~2", Some(("4a36", Step::Back(2)))),
            ("@~2", Some(("@", Step::Back(2)))),
            ("4a36:3", Some(("4a36", Step::BeforePrompt(3)))),
            ("a:b:3", Some(("a:b", Step::BeforePrompt(3)))),
            ("4a36~99999999999999999999", Some(("4a36", Step::Back(u64::MAX)))),
            ("4a36:", None),
            ("4a36:x", None),
            ("C:\\a\\b.jsonl", None),
            ("~/a.jsonl", None),
            ("~2", None),
            (":3", None),
            ("käse~3", Some(("käse", Step::Back(3)))),
            ("", None),
        ] {
            assert_eq!(last_step(text), parts, "{text}");
        }
        for (text, read) in [
            ("@", Base::Here(0)),
            ("@-", Base::Here(1)),
            ("@--", Base::Here(2)),
            ("@-2", Base::Here(2)),
            ("@x", Base::Name("@x")),
            ("@-x", Base::Name("@-x")),
            ("@2", Base::Name("@2")),
            ("last", Base::Here(0)),
            ("Latest", Base::Here(0)),
            ("HEAD", Base::Here(0)),
            ("last commit", Base::Name("last commit")),
            ("ann@box", Base::Name("ann@box")),
        ] {
            assert_eq!(base(text), read, "{text}");
        }
    }

    #[test]
    fn a_filter_of_titles_takes_half_typed_words_in_any_order() {
        let title = "Fix the flaky timer test (CI)";
        for text in ["flaky timer", "timer flaky", "FLAKY tim", "ci"] {
            assert!(words_in(text, title), "{text}");
        }
        for text in ["", " ", "laky", "flaky clock"] {
            assert!(!words_in(text, title), "{text}");
        }
    }

    #[test]
    fn a_title_goes_by_whole_words_of_it_in_any_order() {
        let title = "Fix the flaky timer test (CI) of v6.0.0 in 2024, käse4you";
        for text in ["flaky timer", "timer flaky", "FLAKY", "the Timer", "test ci", "timer 2024", "käse4you"]
        {
            assert!(is_titled(text, title), "{text}");
        }
        for text in [
            "",
            " ",
            "laky",
            "flaky clock",
            "flaky tim",
            "fix",
            "ci",
            "the",
            "v",
            "0",
            "6",
            "2024",
            "v6.0.0",
            "käse",
        ] {
            assert!(!is_titled(text, title), "{text}");
        }
        for (text, near) in [("flak time", 2), ("flaky clock", 1), ("ti", 0), ("2024", 0), ("tim fix", 0)] {
            assert_eq!(words_near(text, title), near, "{text}");
        }
    }

    #[test]
    fn ranges_of_prompts_are_read() {
        let range = |of, from, through| Some(PromptRange { of, from, through });
        for (text, read) in [
            ("4a36:2..4", range("4a36", 2, Some(4))),
            ("4a36:2-4", range("4a36", 2, Some(4))),
            ("a-b:2-4", range("a-b", 2, Some(4))),
            ("a-b:2", None),
            ("4a36:-1", None),
            ("4a36:1-", None),
            ("@:2..", range("@", 2, None)),
            ("a:b:..3", range("a:b", 1, Some(3))),
            ("4a36:4..2", range("4a36", 4, Some(2))),
            ("4a36:1..99999999999999999999", range("4a36", 1, Some(u64::MAX))),
            ("4a36:2", None),
            ("4a36:..", None),
            (":1..2", None),
            ("4a36:a..b", None),
            ("4a36:1...2", None),
            ("a..b", None),
            ("../x.jsonl", None),
        ] {
            assert_eq!(prompt_range(text), read, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_apart_without_a_panic(text in "\\PC{0,20}", end in "[~:@0-9-]{0,6}") {
            let text = format!("{text}{end}");
            if let Some((before, _)) = last_step(&text) {
                prop_assert!(before.len() < text.len() && text.starts_with(before));
            }
            let _base = base(&text);
            let _range = prompt_range(&text);
        }
    }
}
