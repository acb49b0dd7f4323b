//! The words of an item: cut for people, told apart whole.
//!
//! Which items there are is decided elsewhere.

use stemmata_model::artifact_id;

use super::v1::{By, Decision, Evidence, Kind, Task, Thread};
use crate::reduce::cut::{cut_with, line_with};

/// What ends a text that was cut.
const CUT: &str = "…";
/// Characters of a name at most, its first letter among them.
const NAME_CHARS: usize = 7;

/// Returns a text that has at most so many characters; one that was cut says so.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    cut_with(text, chars_max, CUT)
}

/// Returns a text on one line, white space collapsed, cut.
pub(super) fn line(text: &str, chars_max: usize) -> String {
    line_with(text, chars_max, CUT)
}

/// What somebody said, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words {
    /// On one line, cut.
    pub(super) text: String,
    /// The hash of the whole where it was cut: two long texts may differ only at their ends.
    pub(super) hash: Option<String>,
}

impl Words {
    pub(super) fn of(said: &str, chars_max: usize) -> Self {
        let whole = collapsed(said);
        let is_long = whole.chars().nth(chars_max).is_some();
        Self { text: cut(&whole, chars_max), hash: is_long.then(|| hash(&whole.to_lowercase())) }
    }

    /// Returns what is compared: the words in lower case, or the hash of more of them than are kept.
    pub(super) fn reference(said: &str, chars_max: usize) -> String {
        let words = Self::of(said, chars_max);
        words.hash.unwrap_or(words.text)
    }
}

impl By {
    /// Returns how a telling calls who it was.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

impl Decision {
    /// Makes one of what somebody said.
    pub(super) fn said(proof: Evidence, by: By, kind: Kind, Words { text, hash }: Words) -> Self {
        Self { proof, kind, by, text, hash, reason: None, supersedes: None, superseded: None }
    }

    /// Returns what is the same for decisions with the same words, and what an event names one by that has no number.
    pub fn key(&self) -> String {
        self.hash.clone().unwrap_or_else(|| self.text.to_lowercase())
    }

    /// Returns a name as a task has one: an answer may decide several things.
    pub fn name(&self) -> String {
        if self.is_found() { lettered('d', &self.key()) } else { self.proof.source.clone() }
    }
}

impl Thread {
    /// Returns what is the same for threads with the same words.
    pub(super) fn key(&self) -> String {
        self.hash.clone().unwrap_or_else(|| self.text.to_lowercase())
    }

    /// Says whether words are all of the thread's, whatever the space between them.
    pub fn says(&self, words: &str) -> bool {
        says(&self.text, self.hash.as_deref(), words)
    }
}

impl Task {
    /// Returns what is the same for tasks with the same words.
    pub(super) fn key(&self) -> String {
        self.hash.clone().unwrap_or_else(|| self.text.to_lowercase())
    }

    /// Returns a name that is its own, whatever list it stands in: the number of its event, or letters made of its words,
    /// since the items of a list share the entry that wrote it.
    pub fn name(&self) -> String {
        if self.is_found() { lettered('t', &self.key()) } else { self.proof.source.clone() }
    }

    /// Says whether words are all of the task's, whatever the space between them.
    pub fn says(&self, words: &str) -> bool {
        says(&self.text, self.hash.as_deref(), words)
    }
}

/// Returns a name made of words, for what has no number.
fn lettered(first: char, words: &str) -> String {
    format!("{first}{}", hash(words).get(..NAME_CHARS - 1).unwrap_or_default())
}

fn says(text: &str, own_hash: Option<&str>, words: &str) -> bool {
    let whole = collapsed(words).to_lowercase();
    match own_hash {
        Some(own) => own == hash(&whole),
        None => text.to_lowercase() == whole,
    }
}

/// Returns a text with one space in place of each run of white space.
fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn hash(text: &str) -> String {
    let name = artifact_id(text.as_bytes()).to_string();
    name.rsplit(':').next().unwrap_or_default().rsplit('-').next().unwrap_or_default().to_owned()
}
