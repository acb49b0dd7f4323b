//! Decisions and facts in sentences, found by how they are said.
//!
//! Few and sure: a sentence that might be one is none. No language but English is known.

use super::naming::{self, POINTING};
use super::prose;
use super::v1::{By, Kind};
use super::wishes;
use super::words::Words;

/// Characters of a decision at most.
pub(super) const DECISION_CHARS_MAX: usize = 240;
/// Characters of a sentence that is looked at, at most: longer ones are no sentences.
const SENTENCE_CHARS_MAX: usize = 400;
/// Bytes of a user's text that are looked at: who says more has pasted it.
const USER_BYTES_MAX: usize = 1_500;
/// Words of a decision at least.
pub(super) const WORDS_MIN: usize = 3;

/// What a sentence decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) words: Words,
}

/// Returns what a text decides, in its order. A summary is read for its lists of decisions only.
pub(super) fn found(by: By, text: &str, is_summary: bool) -> Vec<Found> {
    if !may_decide(text) || (by == By::User && text.len() > USER_BYTES_MAX && !is_summary) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut is_listing = false;
    for part in prose::lines(text) {
        match part {
            prose::Line::Heading(heading) => is_listing = by != By::User && lists_decisions(heading),
            prose::Line::Item(item) if is_listing => found.extend(said(Kind::Decision, item)),
            prose::Line::Check(..) => {}
            prose::Line::Other(other) if by != By::User && other.ends_with(':') && lists_decisions(other) => {
                is_listing = true;
            }
            prose::Line::Item(text) | prose::Line::Other(text) => {
                is_listing = false;
                if !is_summary {
                    found.extend(prose::sentences(text).filter_map(|sentence| decided(by, sentence)));
                }
            }
        }
    }
    found
}

fn lists_decisions(heading: &str) -> bool {
    let heading = prose::plain(heading).to_lowercase();
    let words = heading.trim_end_matches(':').trim();
    let words = words.trim_start_matches(|character: char| !character.is_alphabetic());
    matches!(
        words,
        "decisions"
            | "key decisions"
            | "design decisions"
            | "decisions made"
            | "key design decisions"
            | "decision"
            | "key decisions made"
    )
}

/// Words that all phrases below have at least one of: most texts are done with here.
const TRIGGERS: [&str; 26] = [
    "let", "decid", "decision", "going", "go", "always", "never", "must", "prefer", "instead", "opted",
    "chose", "settled", "stick", "from", "want", "no", "use", "don", "skip", "leave", "just", "only", "need",
    "should", "think",
];

fn may_decide(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut before = b' ';
    for (at, byte) in bytes.iter().enumerate() {
        if byte.is_ascii_alphabetic() && !before.is_ascii_alphabetic() {
            let rest = bytes.get(at..).unwrap_or_default();
            let begins = |word: &str| {
                rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
            };
            let first = byte.to_ascii_lowercase();
            if TRIGGERS.iter().any(|word| word.as_bytes().first() == Some(&first) && begins(word)) {
                return true;
            }
        }
        before = *byte;
    }
    false
}

fn said(kind: Kind, sentence: &str) -> Option<Found> {
    let sentence = prose::plain(sentence);
    let words = Words::of(sentence.trim().trim_end_matches([',', ';', ':']), DECISION_CHARS_MAX);
    (words.text.split(' ').count() >= WORDS_MIN).then_some(Found { kind, words })
}

/// Judges a sentence.
fn decided(by: By, sentence: &str) -> Option<Found> {
    let sentence = sentence.trim();
    if sentence.chars().nth(SENTENCE_CHARS_MAX).is_some()
        || sentence.ends_with(['?', ':'])
        || sentence.contains("? ")
    {
        return None;
    }
    let plain = without_asides(&prose::plain(sentence));
    let lower = plain.to_lowercase().replace('\u{2019}', "'");
    let (opening, bare) = without_opening(&lower);
    let kind = match by {
        By::User => wishes::of_user(&opening, bare),
        By::Assistant => of_assistant(bare, &lower),
        By::Event => None,
    }?;
    if !naming::is_clear(bare, 1) {
        return None;
    }
    // «ok» and the like say nothing; «no» does.
    let is_refusal = opening.iter().any(|word| matches!(*word, "no" | "nope" | "nah"));
    let (trimmed, lower) = (plain.trim(), lower.trim());
    let rest = trimmed.get(lower.len().saturating_sub(bare.len())..);
    said(kind, rest.filter(|_| !is_refusal && lower.len() == trimmed.len()).unwrap_or(trimmed))
}

/// Takes questions in brackets out of a sentence: they ask for something else.
fn without_asides(sentence: &str) -> String {
    match sentence.split_once(" (") {
        Some((before, aside)) if aside.contains('?') && !aside.contains(") ") => before.to_owned(),
        _ => sentence.to_owned(),
    }
}

/// Words that stand before what is meant.
const OPENINGS: &[&str] = &[
    "ok",
    "okay",
    "yes",
    "yeah",
    "yep",
    "no",
    "nope",
    "hm",
    "hmm",
    "well",
    "then",
    "right",
    "alright",
    "great",
    "fine",
    "good",
    "so",
    "and",
    "but",
    "also",
    "actually",
    "sure",
    "cool",
    "ah",
    "oh",
    "nah",
    "sorry",
    "perfect",
    "agreed",
    "got it",
    "makes sense",
    "wait",
    "now",
    "please",
    "btw",
    "dude",
    "omg",
    "omfg",
    "ffs",
    "hey",
    "q",
    "intentional",
];

/// Returns which words a sentence opens with, and the rest.
fn without_opening(lower: &str) -> (Vec<&str>, &str) {
    let mut opening = Vec::new();
    let mut rest = lower.trim();
    'next: while opening.len() < 4 {
        for word in OPENINGS {
            let Some(after) = rest.strip_prefix(word) else { continue };
            let trimmed = after.trim_start_matches([',', '.', '!', ':', ';', ' ', '-', '–', '—']);
            // «no use» is no opening, and «also use» is; what ends a word is what makes it one.
            if after.starts_with([',', '.', '!', ';', ':'])
                || (after.starts_with(' ') && !matches!(*word, "no" | "now" | "right" | "good" | "well"))
            {
                opening.push(*word);
                rest = trimmed;
                continue 'next;
            }
        }
        break;
    }
    (opening, rest)
}

/// Openings of sentences by which both sides decide.
const CHOOSING: &[&str] = &[
    "let's use ",
    "let's go with ",
    "let's keep ",
    "let's stick ",
    "let's switch to ",
    "let's drop ",
    "let's avoid ",
    "let's not ",
    "let us use ",
    "let us go with ",
    "we'll use ",
    "we'll go with ",
    "we'll keep ",
    "we'll stick ",
    "i'll go with ",
    "i'm going with ",
    "we're going with ",
    "we are going with ",
    "we will use ",
    "we will go with ",
    "going with ",
    "we decided ",
    "we've decided ",
    "i've decided ",
    "i decided ",
    "we have decided ",
    "i have decided ",
    "we opted ",
    "i opted ",
    "we chose ",
    "i chose ",
    "we settled on ",
    "i settled on ",
    "decision: ",
    "decided: ",
    "decided to ",
    "it was decided ",
    "we agreed ",
];

pub(super) fn chooses(bare: &str) -> bool {
    CHOOSING.iter().any(|opening| {
        let Some(rest) = bare.strip_prefix(opening) else { return false };
        let first = rest.split([' ', ',', '.', ';']).next().unwrap_or_default();
        let words = rest.split_whitespace().count();
        // «we decided that …» points at nothing.
        let is_said = opening.contains("decided") || opening.contains("agreed");
        let points = matches!(first, "that" | "this" | "it" | "them" | "those" | "these") && !is_said;
        words >= 1 && !points && (words > 4 || !POINTING.contains(&first))
    })
}

fn of_assistant(bare: &str, lower: &str) -> Option<Kind> {
    if chooses(bare) && !bare.contains(" let me ") {
        return Some(Kind::Decision);
    }
    let inside = [
        ", so we decided to ",
        ", so i decided to ",
        " i opted for ",
        " i opted to ",
        " i chose to ",
        ", so we'll use ",
        ", so we'll go with ",
        ", so i'll go with ",
    ];
    inside.iter().any(|words| lower.contains(words)).then_some(Kind::Decision)
}

/// Questions of one call that are looked at.
const ANSWERS_MAX: usize = 8;

/// Returns the pairs of `"question"="answer"` in a text, each as a sentence.
pub(super) fn answers(text: &str) -> Vec<Words> {
    let mut found = Vec::new();
    let mut rest = text;
    while let (Some((before, after)), true) = (rest.split_once("\"=\""), found.len() < ANSWERS_MAX) {
        let question = before.rsplit('"').next().unwrap_or_default();
        let Some((answer, next)) = after.split_once('"') else { break };
        if !question.trim().is_empty() && !answer.trim().is_empty() {
            found.push(Words::of(&format!("{question} → {answer}"), DECISION_CHARS_MAX));
        }
        rest = next;
    }
    found
}
