//! How tests and builds ended, as results of tools, the record and people say it. Not which tests there are.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use stemmata_model::{Entry, Part, Role};

/// Begins of words for what passes or fails. English first, then what German, French and Spanish have of their own.
const TOPICS: &[&str] = &[
    "test",
    "suite",
    "spec",
    "build",
    "lint",
    "clippy",
    "compil",
    "pipeline",
    "typecheck",
    "prüf",
    "prueba",
];
const PASSES: &[&str] = &[
    "pass",
    "passes",
    "passed",
    "passing",
    "green",
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
/// Words that turn an outcome into its opposite.
const NOT: &[&str] = &[
    "not", "no", "never", "cannot", "without", "zero", "0", "nicht", "kein", "keine", "keiner", "ohne",
    "pas", "aucun", "ningún", "ninguna",
];
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

/// Lines by which test runners and compilers say that something failed, and that all went well.
static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i:\b[1-9][\d,]*\s+(?:failed|failures?|failing|errors?)\b|(?:failures|errors)[:=]\s*[1-9])|\bFAIL(?:ED|URES?)?\b|panicked at|could not compile|^error(?:\[\w+\])?:|npm ERR!|✗",
    )
});
static PASSED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i:\b[1-9][\d,]*\s+(?:passed|passing)\b|\b0\s+(?:failed|failures|errors)\b|test result: ok|all (?:tests|checks) pass|build succe|no issues found|tests? passed)|\bPASS(?:ED)?\b|^\s*Finished\b|^OK\b|^ok\b",
    )
});
/// Commands that test, build or check something.
static CHECKS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)test|spec|check|build|compile|lint|clippy|verify|\b(?:jest|mocha|tox|make|tsc|mvn|gradle|ci)\b",
    )
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file, which a test compiles")
}

/// How tests and builds ended.
#[derive(Default)]
pub(super) struct Outcomes<'a> {
    /// Calls of commands that check something.
    checks: HashSet<&'a str>,
    has_passed: bool,
    has_failed: bool,
    /// How the newest run ended, where one is known.
    last: Option<bool>,
}

/// What the conversation says of a sentence about outcomes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// It says so, or the sentence claims nothing.
    Held,
    /// It says the opposite.
    Denied,
    /// It says nothing of it.
    Unsaid,
}

impl<'a> Outcomes<'a> {
    /// Reads the next entry.
    pub(super) fn read(&mut self, entry: &'a Entry) {
        for part in &entry.parts {
            match part {
                Part::ToolCall { call_id, name, arguments }
                    if CHECKS.is_match(arguments) || CHECKS.is_match(name) =>
                {
                    self.checks.insert(call_id);
                }
                Part::ToolResult { call_id, is_error, parts } => {
                    let texts: Vec<&str> = super::texts(parts);
                    let is_check = self.checks.contains(call_id.as_str());
                    self.result(&texts, is_check, *is_error);
                }
                Part::Text(text) if entry.role == Role::Tool => self.result(&[text], false, false),
                Part::Text(text) => self.said(text),
                _ => {}
            }
        }
    }

    fn result(&mut self, texts: &[&str], is_check: bool, is_error: bool) {
        let any = |of: &Regex| texts.iter().flat_map(|text| text.lines()).any(|line| of.is_match(line));
        let passed = any(&PASSED);
        // What any other tool prints may hold such words by chance; a summary of a test run is none.
        if !(is_check || passed) {
            return;
        }
        let failed = any(&FAILED) || is_error && !passed;
        self.end(!failed);
    }

    fn end(&mut self, has_passed: bool) {
        self.last = Some(has_passed);
        self.has_passed |= has_passed;
        self.has_failed |= !has_passed;
    }

    /// Takes what people and the assistant say of an outcome for true as long as no run says something else.
    fn said(&mut self, text: &str) {
        for sentence in text.lines().flat_map(super::sentences) {
            match claim(sentence) {
                Some(true) => self.has_passed = true,
                Some(false) => self.has_failed = true,
                None => {}
            }
        }
    }

    /// Reads the record's line about a command.
    pub(super) fn record(&mut self, command: &str, has_failed: bool) {
        if CHECKS.is_match(command) {
            self.has_passed |= !has_failed;
            self.has_failed |= has_failed;
        }
    }

    /// Says whether a sentence about tests or builds holds: that they pass where the newest run did, that they failed where one did.
    pub(super) fn shown(&self, sentence: &str) -> Shown {
        let Some(passes) = claim(sentence) else { return Shown::Held };
        let (this, other) =
            if passes { (self.has_passed, self.has_failed) } else { (self.has_failed, self.has_passed) };
        match (passes, self.last) {
            (true, Some(false)) => Shown::Denied,
            _ if this => Shown::Held,
            _ if other => Shown::Denied,
            _ => Shown::Unsaid,
        }
    }
}

/// Returns whether a sentence claims that tests or builds pass, or that they fail; `None` where it claims neither.
fn claim(sentence: &str) -> Option<bool> {
    let lower = sentence.to_lowercase();
    if lower.trim_end().ends_with('?') {
        return None;
    }
    let words: Vec<&str> = lower
        .split(|char: char| !(char.is_alphanumeric() || char == '\'' || char == '’'))
        .filter(|word| !word.is_empty())
        .collect();
    let any = |of: &[&str]| words.iter().any(|word| of.contains(word));
    let has_topic = words.iter().any(|word| TOPICS.iter().any(|topic| word.starts_with(topic)));
    let follows = |first: &str, then: &[&str]| {
        words.windows(2).any(|two| matches!(two, [one, other] if *one == first && then.contains(other)))
    };
    let is_wanted = any(WANTED)
        || follows("make", &["sure"])
        || follows("to", &["pass", "be", "succeed", "fail", "build", "test"]);
    if !has_topic || is_wanted {
        return None;
    }
    let runs_through = any(&["laufen", "läuft", "liefen", "lief"]) && any(&["durch"]);
    let is_negated = any(NOT) || words.iter().any(|word| word.ends_with("n't") || word.ends_with("n’t"));
    match (any(PASSES) || runs_through, any(FAILS)) {
        (true, false) => Some(!is_negated),
        (false, true) => Some(is_negated),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_claim_outcomes_in_several_languages() {
        for sentence in [
            "All tests pass.",
            "The build is green now",
            "No tests fail.",
            "The suite ran with 0 failures",
            "Alle Tests bestehen.",
            "Die Tests laufen durch.",
            "Kein Test schlägt fehl.",
            "Tous les tests passent.",
            "Las pruebas pasan.",
        ] {
            assert_eq!(claim(sentence), Some(true), "{sentence}");
        }
        for sentence in [
            "The tests fail.",
            "The build is broken",
            "Tests don't pass",
            "Die Tests schlagen fehl.",
            "Two tests still failed",
        ] {
            assert_eq!(claim(sentence), Some(false), "{sentence}");
        }
        for sentence in [
            "The tests must pass.",
            "Do the tests pass?",
            "It passes the port on.",
            "Run it until the tests are green",
            "Tests failed and pass now",
        ] {
            assert_eq!(claim(sentence), None, "{sentence}");
        }
    }
}
