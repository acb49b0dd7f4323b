//! What of a model's summary may be used: only sentences whose names, numbers, quotes, outcomes and claims stand in the
//! conversation, and nothing that the model thought in secret.
//! Source: the checks without a model that the compaction recipe asks for.
//!
//! The summary that no model made always follows, so a model's can only add.

use std::collections::HashSet;

use stemmata_model::quote::begins_something;
use stemmata_model::{Entry, Part};

use self::lines::{lines, sentences};
use self::said::Said;
use super::summarizer::SummarizeError;
use super::summary::{Section, hash};

mod claims;
mod code;
mod events;
mod files;
mod lines;
mod numbers;
mod outcomes;
mod quotes;
mod said;
mod thoughts;
mod words;

/// Words in a row that count as copied.
const SHINGLE_WORDS: usize = 8;
/// The part of an answer that may be copied from the conversation; quotes and names repeat some of it.
const COPIED_PERCENT_MAX: usize = 60;
/// Shorter answers are not judged by what they copy.
const COPIED_WORDS_MIN: usize = 40;
/// Characters of a quote that must stand in the conversation word for word. Shorter ones are single words.
const QUOTE_CHARS_MIN: usize = 12;
/// Words in a row by which a sentence is known as a thought of the agent that it told nobody.
const THOUGHT_WORDS: usize = 4;
/// Characters that a line takes beside its sentences: its end, and the mark of a quote.
const LINE_CHARS: usize = 3;
/// Bytes of an answer that are read.
const ANSWER_BYTES_MAX: usize = 256 << 10;

/// What is known of the part that was compacted.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Its entries.
    pub entries: &'a [Entry],
    /// The numbers by which `@n` names them; those that are not there are named by their place, from 1.
    pub numbers: &'a [u64],
    /// The folder that the session works in.
    pub root: &'a str,
}

/// Why a sentence is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyDropped {
    /// It is a thought of the model that its answer should not show.
    Thought,
    /// It names what nobody named: a file, a name, a command.
    UnknownName,
    /// It has a number that nobody said and no tool printed.
    UnknownNumber,
    /// It says that tests or a build passed or failed, or that something was done, and nothing shows that.
    UnknownOutcome,
    /// It points at an entry that is not there, or that has none of its names.
    WrongEntry,
    /// It says of a command or a file what the record denies.
    Contradicts,
    /// It quotes what nobody said.
    WrongQuote,
    /// There was no room for it.
    NoRoom,
}

impl WhyDropped {
    /// Returns the reason in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Thought => "the model only thought it",
            Self::UnknownNumber => "it has a number that the conversation does not",
            Self::UnknownOutcome => "nothing in the conversation shows how it ended",
            Self::UnknownName => "it names what the conversation does not",
            Self::WrongEntry => "it points at an entry that does not say so",
            Self::Contradicts => "the record says otherwise",
            Self::WrongQuote => "it quotes something that was not said",
            Self::NoRoom => "there was no room for it",
        }
    }
}

/// A sentence that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped {
    /// The sentence.
    pub sentence: String,
    /// Why.
    pub why: WhyDropped,
}

/// A model's summary without what it could not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What is left, at most as long as asked for.
    pub text: String,
    /// What is not used.
    pub dropped: Vec<Dropped>,
}

/// Checks an answer sentence by sentence.
///
/// # Errors
/// [`SummarizeError::Empty`] if nothing usable is left; [`SummarizeError::Failed`] if the answer is the conversation itself.
pub fn checked(answer: &str, known: &Known<'_>, chars_max: usize) -> Result<Checked, SummarizeError> {
    let answer = cut(answer.trim());
    if answer.is_empty() {
        return Err(SummarizeError::Empty);
    }
    let mut said = Said::of(known);
    let (answer, thoughts) = thoughts::split(answer);
    if is_copy(&answer, &said.shingles) {
        return Err(copied());
    }
    said.expect(&answer);
    let dropped = thoughts.into_iter().map(|sentence| Dropped { sentence, why: WhyDropped::Thought });
    let mut out = Checked { text: String::new(), dropped: dropped.collect() };
    let mut chars = 0;
    for line in lines(&answer) {
        let mut kept = String::new();
        for sentence in line.sentences() {
            let size = sentence.chars().count();
            let is_full = chars + size + LINE_CHARS > chars_max;
            let why = said.judge(sentence, line.kind).or(is_full.then_some(WhyDropped::NoRoom));
            if let Some(why) = why {
                out.dropped.push(Dropped { sentence: sentence.trim().to_owned(), why });
            } else {
                kept.push_str(sentence);
                chars += size;
            }
        }
        if !kept.trim().is_empty() {
            // What is pinned, what a person said and the record stand below: no line of an answer can be taken for theirs.
            let mark = if begins_something(&kept) || Section::is_title(&kept) { "> " } else { "" };
            out.text.push_str(mark);
            out.text.push_str(kept.trim_end());
            out.text.push('\n');
            chars += 1 + mark.len();
        }
    }
    let end = out.text.trim_end().len();
    out.text.truncate(end);
    if out.text.lines().all(is_heading) { Err(SummarizeError::Empty) } else { Ok(out) }
}

/// Refuses an answer that is the conversation as the model was shown it: with marks of who speaks, and with what the model thought.
///
/// # Errors
/// [`SummarizeError::Failed`].
pub(super) fn not_copied(answer: &str, shown: &str) -> Result<(), SummarizeError> {
    let shown: HashSet<u64> = shingles(&collapsed(shown)).collect();
    if is_copy(cut(answer), &shown) { Err(copied()) } else { Ok(()) }
}

fn copied() -> SummarizeError {
    SummarizeError::Failed { reason: "the summarizer answered with the conversation itself".to_owned() }
}

/// Whether most of an answer is copied from what has these rows of words.
fn is_copy(answer: &str, of: &HashSet<u64>) -> bool {
    let collapsed = collapsed(answer);
    let words = collapsed.split(' ').count();
    if words < COPIED_WORDS_MIN {
        return false;
    }
    let of_answer: Vec<u64> = shingles(&collapsed).collect();
    let copied = of_answer.iter().filter(|shingle| of.contains(shingle)).count();
    copied * 100 > of_answer.len() * COPIED_PERCENT_MAX
}

/// Whether a line only names a section.
fn is_heading(line: &str) -> bool {
    let line = line.trim_matches(|char: char| char.is_whitespace() || "#*:-".contains(char));
    line.is_empty() || line.split_whitespace().count() <= 2
}

fn cut(answer: &str) -> &str {
    answer.get(..answer.floor_char_boundary(ANSWER_BYTES_MAX)).unwrap_or_default()
}

/// Takes `@n` out of a sentence and returns the numbers.
fn without_numbers(sentence: &str) -> (String, Vec<u64>) {
    let mut claim = String::with_capacity(sentence.len());
    let mut numbers = Vec::new();
    let mut rest = sentence;
    while let Some((before, after)) = rest.split_once('@') {
        claim.push_str(before);
        let digits = after.len() - after.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        let (number, behind) = after.split_at(digits);
        let is_word = behind.starts_with(|char: char| char.is_alphanumeric() || char == '/');
        let stands_alone = before.is_empty() || before.ends_with(|char: char| !char.is_alphanumeric());
        match number.parse::<u64>() {
            Ok(number) if stands_alone && !is_word => numbers.push(number),
            _ => {
                claim.push('@');
                claim.push_str(number);
            }
        }
        rest = behind;
    }
    claim.push_str(rest);
    (claim, numbers)
}

fn texts(parts: &[Part]) -> Vec<&str> {
    let mut found = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => found.push(text.as_str()),
            Part::ToolCall { name, arguments, .. } => found.extend([name.as_str(), arguments.as_str()]),
            Part::ToolResult { parts, .. } => found.extend(texts(parts)),
            Part::File { name, .. } => found.push(name),
            Part::Summary { .. } | Part::Thinking { .. } | Part::Image { .. } | Part::Opaque { .. } => {}
        }
    }
    found
}

fn collapsed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_collapsed(&mut out, text);
    out
}

fn push_collapsed(out: &mut String, text: &str) {
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
}

fn shingles(collapsed: &str) -> impl Iterator<Item = u64> + '_ {
    rows(collapsed, SHINGLE_WORDS)
}

/// Returns a hash for each row of so many words.
fn rows(collapsed: &str, count: usize) -> impl Iterator<Item = u64> + '_ {
    // The mark of a quote is ours.
    let words: Vec<&str> = collapsed.split(' ').filter(|word| *word != ">").collect();
    let hashes: Vec<u64> = words
        .windows(count)
        .map(|words| hash(words.iter().flat_map(|word| word.bytes().chain([b' ']))))
        .collect();
    hashes.into_iter()
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "check/session_tests.rs"]
mod session_tests;
