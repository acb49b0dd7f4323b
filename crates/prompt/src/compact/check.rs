//! What of a model's summary may be used: only sentences whose names, numbers, quotes, outcomes and claims stand in the
//! conversation, and nothing that the model thought in secret.
//! Source: the checks without a model that the compaction recipe asks for.
//!
//! The summary that no model made always follows, so a model's can only add.

use std::collections::{HashMap, HashSet};

use stemmata_model::quote::{NUMBER_SIGNS, begins_section, visible_lines};
use stemmata_model::{Entry, EntryKind, Part};

use self::claims::NOT;
use self::code::{argument_texts, is_code, without_line};
use self::numbers::Numbers;
use self::outcomes::{Outcomes, Shown};
use super::names::each_name;
use super::summarizer::SummarizeError;
use super::summary::hash;

mod claims;
mod code;
mod numbers;
mod outcomes;
mod thoughts;

/// Words in a row that count as copied.
const SHINGLE_WORDS: usize = 8;
/// The part of an answer that may be copied from the conversation; quotes and names repeat some of it.
const COPIED_PERCENT_MAX: usize = 60;
/// Shorter answers are not judged by what they copy.
const COPIED_WORDS_MIN: usize = 40;
/// Characters of a quote that must stand in the conversation word for word. Shorter ones are single words.
const QUOTE_CHARS_MIN: usize = 12;
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
    /// The summary that no model made: its records of files and commands.
    pub block: &'a str,
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
    /// It says that tests or a build passed or failed, and nothing shows that.
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
    let said = Said::of(known);
    let (answer, thoughts) = thoughts::split(answer);
    if is_copy(&answer, &said.shingles) {
        return Err(copied());
    }
    let dropped = thoughts.into_iter().map(|sentence| Dropped { sentence, why: WhyDropped::Thought });
    let mut out = Checked { text: String::new(), dropped: dropped.collect() };
    let mut chars = 0;
    for line in visible_lines(&answer) {
        // A heading of the answer would begin a section of the summary.
        let line = if begins_section(&line) {
            line.trim_start().trim_start_matches(NUMBER_SIGNS).trim_start()
        } else {
            &line
        };
        let mut kept = String::new();
        for sentence in sentences(line) {
            let size = sentence.chars().count();
            let why = said.judge(sentence).or((chars + size + 1 > chars_max).then_some(WhyDropped::NoRoom));
            if let Some(why) = why {
                out.dropped.push(Dropped { sentence: sentence.trim().to_owned(), why });
            } else {
                kept.push_str(sentence);
                chars += size;
            }
        }
        if !kept.trim().is_empty() {
            out.text.push_str(kept.trim_end());
            out.text.push('\n');
            chars += 1;
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

/// Splits a line behind each stop that a blank follows. The parts joined are the line.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // The number of a list's item belongs to what follows, and that of an entry behind a stop to the sentence before it.
        let is_of_item = |char: char| char.is_ascii_digit() || " -*.".contains(char);
        let item = rest.len() - rest.trim_start_matches(is_of_item).len();
        let ends = rest.match_indices(['.', '!', '?', ';']).map(|(at, stop)| at + stop.len());
        let end = ends.filter(|at| *at > item).find(|at| {
            let after = rest.get(*at..).unwrap_or_default();
            after.starts_with(char::is_whitespace) && !after.trim_start().starts_with('@')
        });
        let (sentence, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(sentence)
    })
}

/// What was said, made ready to look things up in.
struct Said<'a> {
    /// All names, hashed; and those of each entry by its number.
    names: HashSet<&'a str>,
    of_entry: HashMap<u64, HashSet<&'a str>>,
    /// All that was said, in one row, blanks collapsed.
    text: String,
    shingles: HashSet<u64>,
    /// The words of that text.
    words: HashSet<Box<str>>,
    /// Files of the record with what was done to them.
    files: Vec<(&'a str, &'a str)>,
    numbers: Numbers,
    outcomes: Outcomes<'a>,
    root: &'a str,
}

impl<'a> Said<'a> {
    fn of(known: &Known<'a>) -> Said<'a> {
        let mut said = Said {
            names: HashSet::new(),
            of_entry: HashMap::new(),
            text: String::new(),
            shingles: HashSet::new(),
            words: HashSet::new(),
            files: Vec::new(),
            numbers: Numbers::default(),
            outcomes: Outcomes::default(),
            root: known.root,
        };
        for (at, entry) in known.entries.iter().enumerate() {
            let number = known.numbers.get(at).copied().unwrap_or(at as u64 + 1);
            let of_entry = said.of_entry.entry(number).or_default();
            if entry.kind == EntryKind::CompactionSummary {
                continue;
            }
            for text in texts(&entry.parts) {
                each_name(text, known.root, &mut |name| {
                    of_entry.insert(name.text);
                    said.names.insert(name.text);
                });
                said.numbers.add(text);
                push_collapsed(&mut said.text, text);
            }
            // A call's arguments are JSON: what they hold is said without the escapes, too.
            for text in argument_texts(&entry.parts) {
                said.numbers.add(&text);
                push_collapsed(&mut said.text, &text);
            }
        }
        said.outcomes.read(known.entries);
        for line in known.block.lines() {
            said.read_record(line);
            // How often something was done is counted there.
            line.split('×')
                .skip(1)
                .for_each(|count| said.numbers.add(count.split_whitespace().next().unwrap_or_default()));
        }
        said.shingles = shingles(&said.text).collect();
        let words = said.text.split(|char| !is_word(char)).filter(|word| !word.is_empty());
        said.words = words.map(Box::from).collect();
        said.numbers.sort();
        said
    }

    /// Reads a line of the record: `$ COMMAND → ok|fail …` or `PATH created|edited|deleted …`.
    fn read_record(&mut self, line: &'a str) {
        if let Some((command, status)) = line.strip_prefix("$ ").and_then(|line| line.rsplit_once(" → ")) {
            push_collapsed(&mut self.text, command);
            self.outcomes.record(command, status);
        } else if let Some((path, rest)) = line.split_once(' ')
            && let Some(done) = rest.split([' ', ',']).next()
            && ["created", "edited", "deleted"].contains(&done)
        {
            self.files.push((path, done));
        }
    }

    fn judge(&self, sentence: &str) -> Option<WhyDropped> {
        let (claim, numbers) = without_numbers(sentence);
        let mut names: Vec<&str> = Vec::new();
        each_name(&claim, self.root, &mut |name| {
            // A number is known in other notations, too: it is judged as one.
            if !name.text.bytes().all(|byte| byte.is_ascii_digit()) {
                names.push(name.text);
            }
        });
        if names.iter().any(|name| !self.knows(name)) || !self.knows_code(&claim) {
            return Some(WhyDropped::UnknownName);
        }
        if !self.numbers.has_all(&claim) {
            return Some(WhyDropped::UnknownNumber);
        }
        for number in numbers {
            let Some(of_entry) = self.of_entry.get(&number) else { return Some(WhyDropped::WrongEntry) };
            if !names.is_empty() && !names.iter().any(|name| of_entry.contains(name)) {
                return Some(WhyDropped::WrongEntry);
            }
        }
        if self.is_contradicted(&claim) {
            return Some(WhyDropped::Contradicts);
        }
        match self.outcomes.shown(&claim) {
            Shown::Held => {}
            Shown::Denied => return Some(WhyDropped::Contradicts),
            Shown::Unsaid => return Some(WhyDropped::UnknownOutcome),
        }
        let is_wrong = |quote: &str| {
            quote.chars().count() >= QUOTE_CHARS_MIN && !self.text.contains(collapsed(quote).as_str())
        };
        quotes(&claim).any(is_wrong).then_some(WhyDropped::WrongQuote)
    }

    /// Whether a name was said: as it is, or as a whole word within another name.
    fn knows(&self, name: &str) -> bool {
        // Where a word of it was never said, the text need not be looked through: an answer may make up any number of names.
        let mut parts = name.split(|char| !is_word(char)).filter(|part| !part.is_empty());
        if !self.names.contains(name) && !parts.all(|part| self.words.contains(part)) {
            return false;
        }
        let stands = |at: usize| {
            let (before, after) = (self.text.get(..at), self.text.get(at + name.len()..));
            let [begins, ends] = [name.starts_with(is_word), name.ends_with(is_word)];
            let is_longer = begins && before.is_some_and(|text| text.ends_with(is_word))
                || ends && after.is_some_and(|text| text.starts_with(is_word));
            !is_longer
        };
        self.names.contains(name) || self.text.match_indices(name).any(|(at, _)| stands(at))
    }

    /// Whether all that a sentence writes as code was said so, and all that has the form of a path, a flag or a code with digits.
    fn knows_code(&self, claim: &str) -> bool {
        let own = |text: &str| {
            let text = if self.root.is_empty() {
                text.to_owned()
            } else {
                text.replace(&format!("{}/", self.root), "")
            };
            collapsed(text.trim_start_matches("./"))
        };
        let is_empty = |text: &str| !text.contains(is_word);
        let code = claim.split('`').skip(1).step_by(2).map(|code| code.trim().trim_start_matches("$ "));
        // A line of a shell; its status may stand behind it.
        let line = claim
            .trim_start()
            .strip_prefix("$ ")
            .map(|line| line.rsplit_once(" → ").map_or(line, |(line, _)| line).trim());
        if code.chain(line).any(|code| !is_empty(code) && !self.knows(&own(code))) {
            return false;
        }
        let marks = |char: char| ".,:;!?'\"`*|()[]{}<>«»“”„…".contains(char);
        let words = claim.split_whitespace().filter(|word| !word.contains("://"));
        words
            .map(|word| word.trim_end_matches(marks).trim_start_matches(|char| marks(char) && char != '.'))
            .all(|word| {
                is_empty(word) || !is_code(word) || self.knows(&own(without_line(word).trim_end_matches('/')))
            })
    }

    /// Whether a sentence says of a file that it was deleted, and the record says that it is there.
    fn is_contradicted(&self, claim: &str) -> bool {
        self.files.iter().any(|(path, done)| *done != "deleted" && is_deleted(claim, path))
    }
}

/// Whether a sentence says that the file itself was deleted: «deleted src/a.rs», «src/a.rs was deleted».
fn is_deleted(claim: &str, path: &str) -> bool {
    let Some((before, after)) = claim.split_once(path) else { return false };
    let verb = |word: &str| matches!(word.to_lowercase().as_str(), "deleted" | "removed");
    let marks = |char: char| char.is_whitespace() || "`'\"*".contains(char);
    let mut before = before.trim_end_matches(marks).rsplit(char::is_whitespace);
    let mut after = after.trim_start_matches(marks).split_whitespace();
    let is_active = before.next().is_some_and(verb)
        && !before.next().is_some_and(|word| NOT.contains(&word.to_lowercase().as_str()));
    let is_passive = matches!(after.next(), Some("was" | "is" | "got"))
        && after.next().is_some_and(|word| verb(word.trim_matches(|char: char| !char.is_alphanumeric())));
    is_active || is_passive
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
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

/// Returns what stands between quotation marks.
fn quotes(text: &str) -> impl Iterator<Item = &str> {
    let pairs = [('"', '"'), ('“', '”'), ('«', '»')];
    pairs.into_iter().flat_map(move |(open, close)| {
        let mut rest = text;
        std::iter::from_fn(move || {
            let (_, after) = rest.split_once(open)?;
            let (quote, behind) = after.split_once(close)?;
            rest = behind;
            Some(quote)
        })
    })
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

/// Returns a hash for each row of so many words.
fn shingles(collapsed: &str) -> impl Iterator<Item = u64> + '_ {
    // The mark of a quote is ours.
    let words: Vec<&str> = collapsed.split(' ').filter(|word| *word != ">").collect();
    let hashes: Vec<u64> = words
        .windows(SHINGLE_WORDS)
        .map(|words| hash(words.iter().flat_map(|word| word.bytes().chain([b' ']))))
        .collect();
    hashes.into_iter()
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
