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
    ("kompil", BUILD),
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
/// Words of what works, or works again: an outcome right behind what it is about.
const WORKS: &[&str] = &[
    "works",
    "work",
    "worked",
    "working",
    "fine",
    "fixed",
    "repaired",
    "resolved",
    "gone",
    "cured",
    "healthy",
    "okay",
    "good",
    "funktioniert",
    "funktionieren",
    "geht",
    "gefixt",
    "repariert",
    "behoben",
    "fonctionne",
    "fonctionnent",
    "marche",
    "funciona",
    "funcionan",
];
/// Words between it and what it is about at most.
const WORKS_WORDS_MAX: usize = 4;
/// Words that are the outcome of a build, where the statement ends with them.
const BUILDS: &[&str] = &["compiles", "compiled", "builds", "kompiliert", "compila"];
const BEHIND_VERB: &[&str] = &[
    "again",
    "now",
    "fine",
    "cleanly",
    "without",
    "and",
    "successfully",
    "ok",
    "with",
    "on",
    "wieder",
    "jetzt",
    "nicht",
];
/// Words of what goes through, and of what runs through.
const WENT: &[&str] = &["went", "go", "goes", "gone", "ran", "runs", "came", "comes", "got"];
const RUNS: &[&str] = &["laufen", "läuft", "liefen", "lief"];
/// Words of what is wrong: where there is none of it, it passes.
const FAULTS: &[&str] = &[
    "error",
    "errors",
    "warning",
    "warnings",
    "diagnostics",
    "findings",
    "fehler",
    "warnungen",
    "erreur",
    "erreurs",
    "errores",
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

/// Characters that stand for commands that ran in a sentence, so that no word of a command is taken for one of the sentence.
pub(super) const MARKS: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{f8ff}';

/// What a claim is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum About {
    Kinds(u8),
    /// A command by its place among those that ran.
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
pub(super) struct Word<'t> {
    text: &'t str,
    /// It stands in code, and is no word of the sentence.
    is_code: bool,
    /// It begins another statement.
    begins: bool,
}

impl Word<'_> {
    pub(super) fn is_of(&self, words: &[&str]) -> bool {
        !self.is_code && words.contains(&self.text)
    }

    pub(super) fn negates(&self) -> bool {
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

/// Calls `visit` with each statement of a sentence, in lower case. Questions and wishes are no statements.
pub(super) fn each_statement(sentence: &str, visit: &mut dyn FnMut(&[Word<'_>])) {
    let lower = sentence.to_lowercase();
    let head = lower.split_once(':').map(|(head, _)| words(head)).unwrap_or_default();
    if lower.trim_end().ends_with('?') || is_wanted(&head) {
        return;
    }
    let words = words(&lower);
    let statements = words.chunk_by(|_, next| !next.begins).filter(|statement| !is_wanted(statement));
    statements.for_each(visit);
}

/// Returns what a sentence claims of tests, builds, linters and commands; nothing where it only wants or asks it.
pub(super) fn claims(sentence: &str) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut about = None;
    each_statement(sentence, &mut |statement| {
        let mut from = 0;
        for (at, passes) in (0..statement.len()).filter_map(|at| Some((at, outcome(statement, at)?))) {
            // Only so many words beside it, so that a long row of such words takes no square time.
            let before = statement.get(from.max(at.saturating_sub(NEAR_WORDS_MAX))..at).unwrap_or_default();
            let mut behind =
                statement.get(at + 1..).unwrap_or_default().iter().take(NEAR_WORDS_MAX).peekable();
            let topic = last_of_list(before);
            let word = statement.get(at);
            let is_fault = word.is_some_and(|word| word.is_of(FAULTS));
            let is_negated = negates(before, topic.map(|(at, _)| at))
                || behind.peek().is_some_and(|word| word.is_of(NOT_BEHIND));
            // What is wrong is named for many reasons; that nothing is wrong is an outcome.
            if is_fault && !is_negated {
                continue;
            }
            let of_verb = word.filter(|word| word.is_of(BUILDS)).and_then(Word::about);
            let topic = of_verb.or(topic.map(|(_, about)| about)).or_else(|| behind.find_map(Word::about));
            // Compilers and linters warn; errors are in anything.
            let is_warned = word.is_some_and(|word| is_fault && word.text.starts_with("warn"));
            about = topic.or(is_warned.then_some(About::Kinds(CHECKS))).or(about);
            let is_counted = before.last().is_some_and(Word::is_number);
            from = at + 1;
            claims.extend(about.map(|about| Claim {
                about,
                passes: passes != is_negated,
                is_count: is_counted && passes && !is_negated,
            }));
        }
        about = statement.get(from..).and_then(last_of_list).map(|(_, about)| about).or(about);
    });
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
        let is_code = is_open || ticks > 0 || bare.contains('_') || is_code(bare);
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
    let before = words.get(at.saturating_sub(NEAR_WORDS_MAX)..at).unwrap_or_default();
    let follows = |of: &[&str]| before.iter().any(|before| before.is_of(of));
    let is_last = || words.get(at + 1).is_none_or(|next| next.begins || next.is_of(BEHIND_VERB));
    let passes = word.is_of(&["durch"]) && follows(RUNS)
        || word.is_of(&["through"]) && follows(WENT)
        || word.is_of(BUILDS) && is_last()
        || word.is_of(WORKS) && before.iter().rev().take(WORKS_WORDS_MAX).any(|word| word.about().is_some())
        || word.is_of(RUNS) && is_last() && before.last().is_some_and(|word| word.about().is_some());
    outcome_of(word).or_else(|| passes.then_some(true)).or_else(|| word.is_of(FAULTS).then_some(false))
}

/// Whether a word says how something ended.
pub(super) fn says_outcome(word: &str) -> bool {
    [PASSES, FAILS, WORKS, FAULTS].iter().any(|words| words.contains(&word))
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
#[path = "claims_tests.rs"]
mod tests;
