//! How tests, builds and linters ended, as calls show it and as people say it. What a sentence claims is read in `claims`.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use stemmata_acts::{Act, Outcome, ToolUse, command};
use stemmata_model::{Entry, EntryKind, Part, Role};

use crate::compact::summary::shown_command;

use super::claims::{ALL, About, BUILD, CHECKS, Claim, KINDS, LINT, MARKS, TESTS, claims, topic};

/// Words of commands that say what is checked.
const COMMAND_WORDS: &[(&str, u8)] = &[
    ("tsc", BUILD),
    ("tsgo", BUILD),
    ("mypy", BUILD),
    ("vet", BUILD),
    ("assemble", BUILD),
    ("package", BUILD),
    ("eslint", LINT),
    ("ruff", LINT),
    ("golangci", LINT),
    ("biome", LINT),
    ("check", ALL),
    ("verify", ALL),
    ("validate", CHECKS),
];
/// Programs that do one thing, whatever they are told: `ruff check` runs no tests.
const SINGLE: &[&str] = &["ruff", "biome", "eslint", "deno", "tsc", "tsgo", "mypy", "golangci-lint"];
/// Programs that compile what they test.
const COMPILING: &[&str] = &[
    "cargo", "go", "mvn", "mvnw", "gradle", "gradlew", "dotnet", "swift", "bazel", "tsc", "tsgo", "sbt",
    "zig",
];
/// Programs that show what was said elsewhere: a message of a commit sums nothing up.
const TELLING: &[&str] = &["git", "gh", "glab", "jj", "bd", "hg"];
/// Words of a command that are looked at: behind them are names of files and filters.
const COMMAND_WORDS_MAX: usize = 4;
/// Lines by which test runners and compilers say that something failed, and by which test runners sum up that tests passed.
static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i:\b[1-9][\d,]*\s+(?:failed|failures?|failing|errors?)\b|(?:failures|errors)[:=]\s*[1-9])|\bFAIL(?:ED|URES?)?\b|panicked at|could not compile|^error(?:\[\w+\])?:|npm ERR!|✗",
    )
});
static PASSED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i:\b[1-9][\d,]*\s+(?:tests? )?(?:passed|passing)\b|test result: ok|all (?:tests|checks) pass)|\bPASS(?:ED)?\b|^ok\s",
    )
});
/// Lines by which compilers say that a program could not be made.
static BROKEN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"could not compile|[Cc]ompilation failed|error TS\d|^error\[|SyntaxError:|undefined:")
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file, which a test compiles")
}

/// How runs of one kind ended.
#[derive(Debug, Clone, Copy, Default)]
struct Ended {
    has_passed: bool,
    has_failed: bool,
    /// How the newest run ended, where one is known.
    last: Option<bool>,
}

/// A command that ran.
#[derive(Debug)]
struct Ran {
    line: String,
    /// Whether its newest run passed or failed; none where that is not known: it still runs, nothing answered it.
    passed: Option<bool>,
    has_failed: bool,
    runs: u64,
}

/// How tests, builds and linters ended, and each command.
#[derive(Default)]
pub(super) struct Outcomes {
    ended: [Ended; KINDS],
    /// The longest first: a command may begin as another does.
    ran: Vec<Ran>,
}

/// What the conversation says of a sentence about outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shown {
    /// It says so, or the sentence claims nothing.
    Held,
    /// It says nothing of it.
    Unsaid,
    /// It says the opposite.
    Denied,
}

impl Outcomes {
    /// Reads the calls of a conversation, and what was said in it.
    pub(super) fn read(&mut self, uses: &[ToolUse<'_>], entries: &[Entry]) {
        let mut places: HashMap<String, usize> = HashMap::new();
        for used in uses {
            self.run(used);
            for line in used.commands().filter_map(|command| shown_command(&command.line)) {
                let at = *places.entry(line).or_insert_with_key(|line| {
                    self.ran.push(Ran { line: line.clone(), passed: None, has_failed: false, runs: 0 });
                    self.ran.len() - 1
                });
                let Some(ran) = self.ran.get_mut(at) else { continue };
                let has_failed = matches!(used.outcome, Outcome::Failed { .. });
                ran.passed = (has_failed || used.outcome == Outcome::Passed).then_some(!has_failed);
                ran.has_failed |= has_failed;
                ran.runs += 1;
            }
        }
        self.ran.sort_by_key(|ran| Reverse(ran.line.len()));
        // An earlier summary proves nothing: it was written as this one is.
        let is_said = |entry: &&Entry| entry.role != Role::Tool && entry.kind != EntryKind::CompactionSummary;
        let texts = entries.iter().filter(is_said).flat_map(|entry| &entry.parts);
        for part in texts {
            let Part::Text(text) = part else { continue };
            // It is taken for true as long as no run says something else.
            let text = without_marks(text);
            for claim in text.lines().flat_map(super::sentences).flat_map(claims) {
                if let About::Kinds(kinds) = claim.about {
                    self.end(kinds, (claim.passes, !claim.passes), None);
                }
            }
        }
    }

    /// Reads a call that ended. Only what runs shows an outcome: the text of a file says nothing, whatever words it has.
    fn run(&mut self, used: &ToolUse<'_>) {
        let has_failed = matches!(used.outcome, Outcome::Failed { .. });
        let Some(answer) = used.answer.as_ref().filter(|_| has_failed || used.outcome == Outcome::Passed)
        else {
            return;
        };
        let parts: Vec<String> = used.commands().flat_map(|command| command::parts(&command.line)).collect();
        let mut kinds = parts.iter().fold(0, |kinds, part| kinds | kinds_of(part));
        let says = |what: &Regex| answer.text.lines().any(|line| what.is_match(line));
        let sums_up = says(&PASSED);
        // A program that nobody knows, where it sums up as a test runner does.
        let runs = || parts.iter().any(|part| !TELLING.contains(&program_of(part)));
        if kinds == 0 && sums_up && (runs() || used.acts.contains(&Act::Unknown)) {
            kinds = TESTS;
        }
        if kinds == 0 {
            return;
        }
        let says_failed = says(&FAILED);
        let has_failed = has_failed || says_failed;
        // Of several commands another may have failed than the tests, which sum up that they passed.
        let has_passed = !has_failed || (sums_up && !says_failed);
        let compiles = parts.iter().any(|part| COMPILING.contains(&program_of(part)));
        if says(&BROKEN) || (has_passed && compiles) {
            kinds |= BUILD;
        }
        let last = (has_passed != has_failed).then_some(has_passed);
        self.end(kinds | CHECKS, (has_passed, has_failed), last);
    }

    fn end(&mut self, kinds: u8, (has_passed, has_failed): (bool, bool), last: Option<bool>) {
        for (_, ended) in self.ended.iter_mut().enumerate().filter(|(bit, _)| kinds & (1 << bit) != 0) {
            ended.has_passed |= has_passed;
            ended.has_failed |= has_failed;
            ended.last = last.or(ended.last);
        }
    }

    /// Forgets commands that a text does not have: a conversation may have thousands, and each is looked for in each sentence.
    pub(super) fn keep_named(&mut self, text: &str) {
        self.ran.retain(|ran| text.contains(&ran.line));
    }

    /// Returns how often each command ran.
    pub(super) fn counts(&self) -> impl Iterator<Item = u64> {
        self.ran.iter().map(|ran| ran.runs)
    }

    /// Says whether all that a sentence claims holds: that something passes where its newest run did, that it failed where one did.
    pub(super) fn shown(&self, sentence: &str) -> Shown {
        let mut text = without_marks(sentence);
        for (ran, mark) in self.ran.iter().zip(MARKS) {
            text = with_mark(text, &ran.line, mark);
        }
        let shown = claims(&text).into_iter().map(|claim| self.holds(claim));
        shown.max().unwrap_or(Shown::Held)
    }

    fn holds(&self, claim: Claim) -> Shown {
        let judge = |ended: Ended| {
            let (this, other) = if claim.passes {
                (ended.has_passed && ended.last != Some(false), ended.has_failed)
            } else {
                (ended.has_failed, ended.has_passed)
            };
            match (this, other) {
                (true, _) => Shown::Held,
                (false, true) => Shown::Denied,
                (false, false) => Shown::Unsaid,
            }
        };
        match claim.about {
            About::Kinds(kinds) => {
                let about = self.ended.iter().enumerate().filter(|(bit, _)| kinds & (1 << bit) != 0);
                about.map(|(_, ended)| judge(*ended)).max().unwrap_or(Shown::Held)
            }
            About::Command(at) => self.ran.get(at).map_or(Shown::Held, |of| {
                let last = of.passed;
                judge(Ended { has_passed: last == Some(true), has_failed: of.has_failed, last })
            }),
        }
    }
}

/// Replaces the characters that stand for commands that ran, which a text may have as it may have any.
fn without_marks(text: &str) -> String {
    text.replace(|char| MARKS.contains(&char), " ")
}

/// Puts a mark in the place of a command that ran, where a text has it whole: `cargo test -p mill` is not in
/// `cargo test -p mill-core`.
fn with_mark(text: String, line: &str, mark: char) -> String {
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
    let mut marked = String::new();
    let mut from = 0;
    for (at, _) in text.match_indices(line) {
        let (before, after) = text.split_at(at);
        let behind = after.get(line.len()..).unwrap_or_default();
        let is_whole = !before.ends_with(is_part) && !behind.starts_with(is_part);
        if at >= from && is_whole {
            marked.push_str(before.get(from..).unwrap_or_default());
            marked.push(mark);
            from = at + line.len();
        }
    }
    if from == 0 {
        return text;
    }
    marked.push_str(text.get(from..).unwrap_or_default());
    marked
}

fn program_of(part: &str) -> &str {
    let program = part.split(' ').next().unwrap_or_default();
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns what a part of a command line checks.
fn kinds_of(part: &str) -> u8 {
    if command::is_testing(part) {
        return TESTS;
    }
    if command::runs_nothing(part) {
        return 0;
    }
    if part == "make" {
        // What its first target does is anybody's guess: mostly all of it.
        return ALL;
    }
    if part == "cargo check" || part.starts_with("cargo check ") {
        return BUILD;
    }
    let words = part.split(' ').skip(1);
    let program = program_of(part);
    let is_option = |word: &&str| word.starts_with('-') || word.contains(['/', '.', '=']);
    // Behind any other program a word may name anything: `git checkout test`.
    let may_say = command::is_checking(part) && !SINGLE.contains(&program);
    let given = words.take(COMMAND_WORDS_MAX).filter(|word| may_say && !is_option(word));
    // `check:types` is a check of one kind, and nobody knows which.
    let given = given.map(|word| if word.contains("check:") { "validate" } else { word });
    let words = std::iter::once(program)
        .chain(given)
        .flat_map(|word| word.split(|char: char| !char.is_alphanumeric()));
    words.fold(0, |kinds, word| {
        let known = COMMAND_WORDS.iter().find(|(known, _)| *known == word).map(|(_, kinds)| *kinds);
        kinds | known.unwrap_or_else(|| topic(word))
    })
}
