//! What was said and done in a conversation, made ready to judge sentences by. What a sentence claims is read in its own modules.

use std::collections::{HashMap, HashSet};

use stemmata_acts::tool_uses;
use stemmata_model::{EntryKind, Part};

use super::code::{argument_texts, commands_said, is_code, is_command, runs_said, without_line};
use super::events::Events;
use super::files::Files;
use super::lines::Kind;
use super::numbers::Numbers;
use super::outcomes::{Outcomes, Shown};
use super::quotes::quotes;
use super::{
    Known, QUOTE_CHARS_MIN, THOUGHT_WORDS, WhyDropped, collapsed, push_collapsed, rows, shingles, texts,
    without_numbers,
};
use crate::compact::names::each_name;

/// What was said, made ready to look things up in.
pub(super) struct Said<'a> {
    /// All names; and those of each entry by its number.
    names: HashSet<&'a str>,
    of_entry: HashMap<u64, HashSet<&'a str>>,
    /// All that was said, in one row, blanks collapsed.
    text: String,
    pub(super) shingles: HashSet<u64>,
    /// The words of that text.
    words: HashSet<Box<str>>,
    /// Rows of words of what the agent thought, and those of them that nobody said.
    thoughts: HashSet<u64>,
    unsaid: HashSet<u64>,
    /// The commands that ran, in one row.
    ran: String,
    files: Files,
    numbers: Numbers,
    outcomes: Outcomes,
    events: Events,
    root: &'a str,
}

impl<'a> Said<'a> {
    pub(super) fn of(known: &Known<'a>) -> Said<'a> {
        let mut said = Said {
            names: HashSet::new(),
            of_entry: HashMap::new(),
            text: String::new(),
            shingles: HashSet::new(),
            words: HashSet::new(),
            thoughts: HashSet::new(),
            unsaid: HashSet::new(),
            ran: String::new(),
            files: Files::default(),
            numbers: Numbers::default(),
            outcomes: Outcomes::default(),
            events: Events::default(),
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
            for part in &entry.parts {
                if let Part::Thinking { text, .. } = part {
                    said.thoughts.extend(rows(&collapsed(text), THOUGHT_WORDS));
                }
            }
        }
        said.read_calls(known);
        said.shingles = shingles(&said.text).collect();
        said.unsaid.clone_from(&said.thoughts);
        rows(&said.text, THOUGHT_WORDS).for_each(|row| {
            said.unsaid.remove(&row);
        });
        let words = said.text.split(|char| !is_word(char)).filter(|word| !word.is_empty());
        said.words = words.map(Box::from).collect();
        said.numbers.sort();
        said
    }

    /// Reads what calls did. What a text says was done is no record of it, whatever it looks like.
    fn read_calls(&mut self, known: &Known<'_>) {
        let uses = tool_uses(known.entries);
        for used in &uses {
            for command in used.commands() {
                push_collapsed(&mut self.ran, &command.line);
            }
        }
        self.outcomes.read(&uses, known.entries);
        self.files.read(&uses, known.root);
        self.events.read(&uses, known.entries);
        // How often something was done is counted there.
        for count in self.outcomes.counts().chain(self.files.counts()) {
            self.numbers.add(&count.to_string());
        }
    }

    /// Makes ready to judge the sentences of an answer.
    pub(super) fn expect(&mut self, answer: &str) {
        self.outcomes.keep_named(&collapsed(answer));
    }

    pub(super) fn judge(&self, sentence: &str, kind: Kind) -> Option<WhyDropped> {
        if kind == Kind::Thought || self.was_thought(sentence) {
            return Some(WhyDropped::Thought);
        }
        let (claim, numbers) = without_numbers(sentence);
        if kind == Kind::Code && is_command(&claim) && !self.knows(&self.own(&claim)) {
            return Some(WhyDropped::UnknownName);
        }
        let mut names: Vec<&str> = Vec::new();
        each_name(&claim, self.root, &mut |name| {
            // A number is known in other notations, too: it is judged as one.
            if !name.text.bytes().all(|byte| byte.is_ascii_digit()) {
                names.push(name.text);
            }
        });
        if names.iter().any(|name| !self.knows(name)) || !self.knows_code(&claim) || !self.has_run(&claim) {
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
        let shown = self.outcomes.shown(&claim).max(self.files.shown(&claim)).max(self.events.shown(&claim));
        match shown {
            Shown::Held => {}
            Shown::Denied => return Some(WhyDropped::Contradicts),
            Shown::Unsaid => return Some(WhyDropped::UnknownOutcome),
        }
        let is_wrong = |quote: &str| {
            let quote = collapsed(quote.trim_end_matches(['.', ',', '!', '?', ';', ':', '…']));
            quote.chars().count() >= QUOTE_CHARS_MIN && !self.text.contains(quote.as_str())
        };
        quotes(&claim).any(is_wrong).then_some(WhyDropped::WrongQuote)
    }

    /// Whether a sentence stands word by word in what the agent thought, and nobody said it.
    fn was_thought(&self, sentence: &str) -> bool {
        if self.unsaid.is_empty() {
            return false;
        }
        let bare = sentence.trim_matches(|char: char| char.is_whitespace() || "-*•>_\"“”".contains(char));
        let mut has_unsaid = false;
        // The stop at its end may stand for another mark.
        let bare = collapsed(bare);
        let bare = bare.rsplit_once(' ').map_or("", |(head, _)| head);
        for row in rows(bare, THOUGHT_WORDS) {
            if !self.thoughts.contains(&row) {
                return false;
            }
            has_unsaid |= self.unsaid.contains(&row);
        }
        has_unsaid
    }

    /// Whether a name was said: as it is, or as a whole word within another name.
    pub(super) fn knows(&self, name: &str) -> bool {
        // Where a word of it was never said, the text need not be looked through: an answer may make up any number of names.
        let mut parts = name.split(|char| !is_word(char)).filter(|part| !part.is_empty());
        if self.names.contains(name) {
            return true;
        }
        parts.all(|part| self.words.contains(part)) && stands_in(&self.text, name)
    }

    /// Returns a piece of code as the text has it.
    fn own(&self, text: &str) -> String {
        let text =
            if self.root.is_empty() { text.to_owned() } else { text.replace(&format!("{}/", self.root), "") };
        collapsed(text.trim().trim_start_matches("./"))
    }

    /// Whether all that a sentence writes as code was said so, and all that has the form of a path, a flag or a code with digits.
    fn knows_code(&self, claim: &str) -> bool {
        let is_empty = |text: &str| !text.contains(is_word);
        let code = claim.split('`').skip(1).step_by(2).map(|code| code.trim().trim_start_matches("$ "));
        if code.chain(commands_said(claim)).any(|code| !is_empty(code) && !self.knows(&self.own(code))) {
            return false;
        }
        let marks = |char: char| ".,:;!?'\"`*|()[]{}<>«»“”„…‘’".contains(char);
        let words = claim.split_whitespace().filter(|word| !word.contains("://"));
        words
            .map(|word| word.trim_end_matches(marks).trim_start_matches(|char| marks(char) && char != '.'))
            .all(|word| {
                is_empty(word)
                    || !is_code(word)
                    || self.knows(&self.own(without_line(word).trim_end_matches('/')))
            })
    }

    /// Whether all commands of which a sentence says that they ran did so.
    fn has_run(&self, claim: &str) -> bool {
        runs_said(claim).all(|code| stands_in(&self.ran, &collapsed(code)))
    }
}

/// Whether a text has something that no longer word goes on with.
fn stands_in(text: &str, name: &str) -> bool {
    let stands = |at: usize| {
        let (before, after) = (text.get(..at), text.get(at + name.len()..));
        let [begins, ends] = [name.starts_with(is_word), name.ends_with(is_word)];
        let is_longer = begins && before.is_some_and(|text| text.ends_with(is_word))
            || ends && after.is_some_and(|text| text.starts_with(is_word));
        !is_longer
    };
    text.match_indices(name).any(|(at, _)| stands(at))
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}
