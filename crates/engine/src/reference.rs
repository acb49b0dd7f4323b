//! A reference taken apart: what a person types for a commit. What its parts mean in a store is `verbs::find`'s.
//!
//! A name that the store knows comes before any of this: a tag may hold a colon, and a path may be anything.

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

/// Reads what a reference without steps begins with: `@`, `@-` and `@--` or `@-2`, else a name.
pub(crate) fn base(text: &str) -> Base<'_> {
    let Some(back) = text.strip_prefix('@') else { return Base::Name(text) };
    let numbered =
        || back.strip_prefix('-').filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()));
    if back.bytes().all(|byte| byte == b'-') {
        return Base::Here(u64::try_from(back.len()).unwrap_or(u64::MAX));
    }
    numbered().and_then(|digits| digits.parse().ok()).map_or(Base::Name(text), Base::Here)
}

/// Says whether the words of a text all occur in a title, each at the beginning of one of its words.
pub(crate) fn words_in(text: &str, title: &str) -> bool {
    let title = title.to_lowercase();
    let mut words = words_of(text).peekable();
    words.peek().is_some() && words.all(|word| words_of(&title).any(|other| other.starts_with(&word)))
}

/// Returns the words of a text in lower case.
pub(crate) fn words_of(text: &str) -> impl Iterator<Item = String> {
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
            ("ann@box", Base::Name("ann@box")),
        ] {
            assert_eq!(base(text), read, "{text}");
        }
    }

    #[test]
    fn words_of_a_title_are_found_in_any_order_and_half_typed() {
        let title = "Fix the flaky timer test (CI)";
        for text in ["flaky timer", "timer flaky", "FLAKY tim", "ci"] {
            assert!(words_in(text, title), "{text}");
        }
        for text in ["", " ", "laky", "flaky clock"] {
            assert!(!words_in(text, title), "{text}");
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
        }
    }
}
