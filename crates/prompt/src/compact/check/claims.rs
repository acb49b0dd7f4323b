//! What a sentence claims of tests, builds, linters and commands: that they pass, or that they fail. Not whether it is so.

use super::code::is_code;

/// What a run or a claim is about, as bits. A run that passed says nothing of what it did not try.
pub(super) const TESTS: u8 = 1;
pub(super) const BUILD: u8 = 2;
pub(super) const LINT: u8 = 4;
/// Checks of any kind, as "all checks pass" has it.
pub(super) const CHECKS: u8 = 8;
pub(super) const ALL: u8 = TESTS | BUILD | LINT | CHECKS;
pub(super) const KINDS: usize = 4;

/// Begins of words for what passes or fails. English first, then what German, French and Spanish have of their own.
const TOPICS: &[(&str, u8)] = &[
    ("test", TESTS),
    ("suite", TESTS),
    ("prüf", TESTS),
    ("prueba", TESTS),
    ("build", BUILD),
    ("compil", BUILD),
    ("typecheck", BUILD),
    ("lint", LINT),
    ("clippy", LINT),
    ("pipeline", CHECKS),
];
/// Whole words of that meaning.
const TOPIC_WORDS: &[(&str, u8)] = &[("spec", TESTS), ("specs", TESTS), ("checks", CHECKS), ("ci", CHECKS)];
const PASSES: &[&str] = &[
    "pass",
    "passes",
    "passed",
    "passing",
    "green",
    "clean",
    "succeed",
    "succeeds",
    "succeeded",
    "successful",
    "successfully",
    "ok",
    "bestanden",
    "bestehen",
    "besteht",
    "grün",
    "grünen",
    "erfolgreich",
    "durchgelaufen",
    "passent",
    "passe",
    "réussi",
    "réussis",
    "réussissent",
    "vert",
    "verts",
    "pasan",
    "pasa",
    "pasaron",
    "pasó",
    "exitosa",
    "exitosas",
    "verde",
    "verdes",
];
const FAILS: &[&str] = &[
    "fail",
    "fails",
    "failed",
    "failing",
    "failure",
    "failures",
    "red",
    "broken",
    "breaks",
    "fehl",
    "fehlgeschlagen",
    "gescheitert",
    "scheitern",
    "scheitert",
    "rot",
    "kaputt",
    "échoue",
    "échouent",
    "échoué",
    "rouge",
    "falla",
    "fallan",
    "fallaron",
    "falló",
    "rojo",
];
/// Words that turn an outcome into its opposite where they stand right before it or before what it is about.
pub(super) const NOT: &[&str] = &[
    "not", "no", "never", "none", "neither", "nor", "nothing", "cannot", "without", "zero", "0", "nicht",
    "kein", "keine", "keiner", "nie", "ohne", "pas", "aucun", "aucune", "ningún", "ninguna", "nunca", "sin",
];
/// Those that may stand behind it.
const NOT_BEHIND: &[&str] = &["nicht", "pas"];
/// Words between a negation and the outcome that it turns at most: "do not yet all pass".
const NOT_WORDS_MAX: usize = 2;
/// Words between a negation and what it is about: "none of the 41 tests".
const OF: &[&str] =
    &["of", "the", "all", "these", "those", "der", "die", "den", "dieser", "des", "les", "las", "los"];
/// Topics with more words between them are not of one list: "tests, lint and the build".
const LIST_WORDS_MAX: usize = 2;
/// Words beside an outcome that are looked at.
const NEAR_WORDS_MAX: usize = 12;
/// Words that begin another statement.
const BUT: &[&str] = &["but", "however", "although", "though", "while", "aber", "mais", "pero"];
/// Words of what is wanted or may be, which claims nothing.
const WANTED: &[&str] = &[
    "must",
    "should",
    "shall",
    "need",
    "needs",
    "until",
    "unless",
    "when",
    "if",
    "once",
    "ensure",
    "will",
    "would",
    "expected",
    "want",
    "wants",
    "wanted",
    "goal",
    "constraint",
    "constraints",
    "next",
    "whether",
    "soll",
    "sollen",
    "muss",
    "müssen",
    "wenn",
    "falls",
    "bis",
    "damit",
    "ob",
    "ziel",
    "doit",
    "doivent",
    "si",
    "deben",
    "debe",
    "unknown",
];

/// Characters that stand for commands of the record in a sentence, so that no word of a command is taken for one of the sentence.
pub(super) const MARKS: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{f8ff}';

/// What a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Kinds(u8),
    /// A command by its place in the record.
    Command(usize),
}

/// What a sentence says of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) about: About,
    pub(super) passes: bool,
    /// Whether it only counts: "40 passed".
    is_count: bool,
}

/// A word of a sentence, in small letters.
struct Word<'t> {
    text: &'t str,
    /// It stands in code, and is no word of the sentence.
    is_code: bool,
    /// It begins another statement.
    begins: bool,
}

impl Word<'_> {
    fn is_of(&self, words: &[&str]) -> bool {
        !self.is_code && words.contains(&self.text)
    }

    fn negates(&self) -> bool {
        self.is_of(NOT) || !self.is_code && (self.text.ends_with("n't") || self.text.ends_with("n’t"))
    }

    fn is_number(&self) -> bool {
        self.text.bytes().all(|byte| byte.is_ascii_digit())
    }

    fn about(&self) -> Option<About> {
        match self.text.chars().next() {
            Some(mark) if MARKS.contains(&mark) => {
                let at = u32::from(mark) - u32::from(*MARKS.start());
                usize::try_from(at).ok().map(About::Command)
            }
            _ => Some(topic(self.text)).filter(|kinds| *kinds != 0).map(About::Kinds),
        }
    }
}

/// Returns what a sentence claims of tests, builds, linters and commands; nothing where it only wants or asks it.
pub(super) fn claims(sentence: &str) -> Vec<Claim> {
    let lower = sentence.to_lowercase();
    let head = lower.split_once(':').map(|(head, _)| words(head)).unwrap_or_default();
    if lower.trim_end().ends_with('?') || is_wanted(&head) {
        return Vec::new();
    }
    let mut claims: Vec<Claim> = Vec::new();
    let mut about = None;
    for statement in words(&lower).chunk_by(|_, next| !next.begins).filter(|statement| !is_wanted(statement))
    {
        let mut from = 0;
        for (at, passes) in (0..statement.len()).filter_map(|at| Some((at, outcome(statement, at)?))) {
            // Only so many words beside it, so that a long row of such words takes no square time.
            let before = statement.get(from.max(at.saturating_sub(NEAR_WORDS_MAX))..at).unwrap_or_default();
            let mut behind =
                statement.get(at + 1..).unwrap_or_default().iter().take(NEAR_WORDS_MAX).peekable();
            let topic = last_of_list(before);
            let is_negated = negates(before, topic.map(|(at, _)| at))
                || behind.peek().is_some_and(|word| word.is_of(NOT_BEHIND));
            about = topic.map(|(_, about)| about).or_else(|| behind.find_map(Word::about)).or(about);
            let is_counted = before.last().is_some_and(Word::is_number);
            from = at + 1;
            claims.extend(about.map(|about| Claim {
                about,
                passes: passes != is_negated,
                is_count: is_counted && passes && !is_negated,
            }));
        }
        about = statement.get(from..).and_then(last_of_list).map(|(_, about)| about).or(about);
    }
    // "40 passed, 1 failed" does not say that all passed.
    if claims.iter().any(|claim| !claim.passes) {
        claims.retain(|claim| !claim.is_count);
    }
    claims
}

/// Returns what a word names that passes or fails.
pub(super) fn topic(word: &str) -> u8 {
    let whole = TOPIC_WORDS.iter().filter(|(known, _)| *known == word);
    let begun = TOPICS.iter().filter(|(begin, _)| word.starts_with(begin));
    whole.chain(begun).fold(0, |kinds, (_, of)| kinds | of)
}

/// Divides a text, in small letters, into words.
fn words(text: &str) -> Vec<Word<'_>> {
    let (mut words, mut is_open, mut begins) = (Vec::new(), false, false);
    // Whether the statement has a topic and no outcome: a comma divides a list of topics then.
    let mut is_list = false;
    for token in text.split_whitespace() {
        let ticks = token.matches('`').count();
        let bare = token.trim_matches(|char: char| !char.is_alphanumeric() && char != '-' && char != '/');
        let is_code = is_open || ticks > 0 || is_code(bare);
        is_open ^= ticks % 2 == 1;
        begins |= !is_code && BUT.contains(&bare);
        let is_word =
            |char: char| char.is_alphanumeric() || matches!(char, '\'' | '’') || MARKS.contains(&char);
        for text in token.split(|char| !is_word(char)).filter(|word| !word.is_empty()) {
            let word = Word { text, is_code, begins: std::mem::take(&mut begins) };
            is_list = (is_list && !word.begins || word.about().is_some()) && outcome_of(&word).is_none();
            words.push(word);
        }
        begins |= !is_open && (token.ends_with([';', ')', '—', '–']) || token.ends_with(',') && !is_list);
    }
    words
}

/// Returns whether the word there says that something passes, or that it fails.
fn outcome(words: &[Word<'_>], at: usize) -> Option<bool> {
    let word = words.get(at)?;
    let runs = ["laufen", "läuft", "liefen", "lief"];
    let before = words.get(at.saturating_sub(NEAR_WORDS_MAX)..at).unwrap_or_default();
    let runs_through = || word.is_of(&["durch"]) && before.iter().any(|before| before.is_of(&runs));
    outcome_of(word).or_else(|| runs_through().then_some(true))
}

fn outcome_of(word: &Word<'_>) -> Option<bool> {
    word.is_of(PASSES).then_some(true).or_else(|| word.is_of(FAILS).then_some(false))
}

/// Returns what the words before an outcome are about, and where that begins: the last topic, with those in a list with it.
fn last_of_list(before: &[Word<'_>]) -> Option<(usize, About)> {
    let (mut found, mut last) = (None, 0);
    for (at, word) in before.iter().enumerate() {
        let Some(about) = word.about() else { continue };
        found = Some(match (found, about) {
            (Some((from, About::Kinds(kinds))), About::Kinds(own)) if at - last <= LIST_WORDS_MAX + 1 => {
                (from, About::Kinds(kinds | own))
            }
            _ => (at, about),
        });
        last = at;
    }
    found
}

/// Whether one of the words before an outcome turns it into its opposite: one that stands near it, or at what it is about.
fn negates(before: &[Word<'_>], topic: Option<usize>) -> bool {
    let of = |word: &Word<'_>| word.is_of(OF) || word.is_number();
    let stands_at = |at: usize, topic: usize| {
        let between = before.get(at + 1..topic);
        between.is_some_and(|between| between.len() <= 1 || between.iter().all(of))
    };
    let is_near = |at: usize| before.len() - at - 1 <= NOT_WORDS_MAX;
    let mut negations = before.iter().enumerate().filter(|(_, word)| word.negates());
    negations.any(|(at, _)| is_near(at) || topic.is_some_and(|topic| stands_at(at, topic)))
}

/// Whether a statement only wants something, or says when it would be.
fn is_wanted(statement: &[Word<'_>]) -> bool {
    let follows = |first: &str, then: &[&str]| {
        statement
            .windows(2)
            .any(|two| matches!(two, [one, other] if one.is_of(&[first]) && other.is_of(then)))
    };
    statement.iter().any(|word| word.is_of(WANTED))
        || follows("make", &["sure"])
        || follows("to", &["pass", "be", "succeed", "fail", "build", "test"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(sentence: &str) -> Vec<bool> {
        claims(sentence).into_iter().map(|claim| claim.passes).collect()
    }

    #[test]
    fn sentences_claim_outcomes_in_several_languages() {
        for sentence in [
            "All tests pass.",
            "The build is green now",
            "No tests fail.",
            "No unit test fails",
            "None of the 41 tests failed.",
            "0 of 41 tests failed",
            "The suite ran with 0 failures",
            "The tests no longer fail",
            "Alle Tests bestehen.",
            "Die Tests laufen durch.",
            "Kein Test schlägt fehl.",
            "Tous les tests passent.",
            "Las pruebas pasan.",
        ] {
            assert_eq!(said(sentence), [true], "{sentence}");
        }
        for sentence in [
            "The tests fail.",
            "The build is broken",
            "Tests don't pass",
            "The tests do not yet all pass.",
            "Not all tests pass",
            "The tests, however, do not pass",
            "Die Tests schlagen fehl.",
            "Die Tests bestehen nicht.",
            "Les tests ne passent pas.",
            "Two tests still failed",
            "The suite: 40 passed, 1 failed",
        ] {
            assert_eq!(said(sentence), [false], "{sentence}");
        }
        for sentence in [
            "The tests must pass.",
            "Do the tests pass?",
            "Next: lint is clean, the tests pass",
            "It passes the port on.",
            "Run it until the tests are green",
            "`--no-fail-fast` is set for the tests",
        ] {
            assert!(said(sentence).is_empty(), "{sentence}");
        }
    }

    #[test]
    fn a_negation_turns_only_what_it_stands_at() {
        for (sentence, claimed) in [
            ("All tests pass, no code was changed.", &[true][..]),
            ("All tests pass without any change", &[true]),
            ("No code was changed and all tests pass", &[true]),
            ("It is not clear why, but the tests pass", &[true]),
            ("The tests pass with no failures", &[true, true]),
            ("The tests fail, though nothing was changed", &[false]),
            ("Without touching the API the build is green", &[true]),
            ("No tests were changed, the build passes", &[true]),
            ("No tests were changed and the build passes", &[true]),
            ("Neither the tests nor the build pass", &[false]),
            ("Tests failed and pass now", &[false, true]),
            ("The goal was speed, and all tests pass", &[true]),
        ] {
            assert_eq!(said(sentence), claimed, "{sentence}");
        }
    }

    #[test]
    fn a_claim_is_about_what_stands_before_it() {
        for (sentence, about) in [
            ("tests, lint and the build pass", &[TESTS | LINT | BUILD][..]),
            ("The tests fail and the build is green", &[TESTS, BUILD]),
            ("The failing test was removed", &[TESTS]),
            ("Clippy is clean", &[LINT]),
            ("The specific case passes", &[]),
        ] {
            let about: Vec<About> = about.iter().map(|kinds| About::Kinds(*kinds)).collect();
            assert_eq!(
                claims(sentence).into_iter().map(|claim| claim.about).collect::<Vec<_>>(),
                about,
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_long_row_of_such_words_takes_no_square_time() {
        let sentence = "no test pass ".repeat(60_000);
        assert_eq!(claims(&sentence).len(), 60_000);
    }
}
