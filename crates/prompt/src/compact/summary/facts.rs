//! What a summary says of demands, tasks and files, as lists: for a text that stands beside somebody else's summary.
//!
//! The same counters and the same ranks as in `compose`; how many of the lines are shown is the caller's.

use std::collections::HashSet;

use super::calls::calls;
use super::counted::{Counted, hash};
use super::draft::number;
use super::lines::{constrains, sentences};
use super::records::{best_first, changed_files, open_tasks, task_book};
use super::table::Table;

/// Sentences of one prompt: a document that somebody pasted must not displace what was said by hand.
const SENTENCES_OF_PROMPT_MAX: usize = 12;

/// Facts of a conversation as lines, the best of each list first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// Sentences of users that demand or forbid something, the newest prompt first: `@12 Never touch a.rs.`
    pub constraints: Vec<String>,
    /// Tasks that are not done, in the order of their list: `[pending] write the parser`
    pub tasks: Vec<String>,
    /// Files that were changed, with their last change: `src/a.rs edited ×3 @40: parse_line`
    pub files: Vec<String>,
}

/// Returns the facts of all these entries. `numbers` name them, as in [`Window`](super::Window).
pub fn facts(entries: &[Counted], numbers: &[u64]) -> Facts {
    let table = Table::of(entries, entries.len(), "");
    let calls = calls(entries);
    let mut files = changed_files(&table, &calls, &|entry| number(numbers, entry));
    best_first(&mut files);
    let (book, ..) = task_book(&calls, entries.len());
    Facts {
        constraints: constraints(entries, numbers),
        tasks: open_tasks(&book).collect(),
        files: files.into_iter().map(|file| file.line).collect(),
    }
}

fn constraints(entries: &[Counted], numbers: &[u64]) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for (at, entry) in entries.iter().enumerate().rev() {
        for prompt in entry.pieces.iter().filter_map(|piece| piece.prompt) {
            let sentences = sentences(entry.text(prompt));
            let new = sentences.iter().filter(|text| constrains(text) && seen.insert(hash(text.bytes())));
            let lines = new.map(|text| format!("@{} {text}", number(numbers, at)));
            found.extend(lines.take(SENTENCES_OF_PROMPT_MAX));
        }
    }
    found
}
