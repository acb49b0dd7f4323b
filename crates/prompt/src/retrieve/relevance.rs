//! Relevance: how much of a task's words a text has, by what each word is worth.
//!
//! The same measure for every candidate, whether search found it or a memory holds it, so that they can be compared.

use stemmata_model::Timestamp;

use crate::search::{date_terms, entry_terms};

/// A word of the task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskTerm {
    /// The term as texts have it.
    pub term: String,
    /// The term that it may mean as well: a date's, or the same name in other letters.
    pub also: Option<String>,
    /// The word as it was typed.
    pub typed: String,
    /// What one occurrence counts in search.
    pub weight: f64,
    /// How many entries have it.
    pub entries: u32,
}

/// The words of a task, and how many entries there are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskWords {
    /// The words, each once.
    pub terms: Vec<TaskTerm>,
    /// Entries that were searched.
    pub entries: u64,
}

/// How much of a task a text has.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Covered {
    /// From 0 to 1.
    pub(super) share: f64,
    /// The words that it has, those that are worth most first.
    pub(super) typed: Vec<String>,
    /// The file of the task that it names.
    pub(super) file: Option<String>,
}

impl TaskWords {
    /// Returns whether a text that was said then has a word of the task.
    pub fn has_word_in(&self, text: &str, at: Option<Timestamp>) -> bool {
        self.covered(text, at).share > 0.0
    }

    /// Returns what a word is worth: rare ones tell more. As in BM25, and never negative.
    fn worth(&self, term: &TaskTerm) -> f64 {
        let with = f64::from(term.entries);
        let all = as_float(self.entries.max(u64::from(term.entries)));
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln() * term.weight.max(0.0)
    }

    /// Returns how much of the task a text has that was said then.
    pub(super) fn covered(&self, text: &str, at: Option<Timestamp>) -> Covered {
        let all: f64 = self.terms.iter().map(|term| self.worth(term)).sum();
        if all <= 0.0 {
            return Covered::default();
        }
        let terms = entry_terms(text).terms;
        let dates: Vec<String> = at.map(|at| date_terms(at).collect()).unwrap_or_default();
        let has = |wanted: &TaskTerm| {
            terms.binary_search_by(|(term, _)| term.cmp(&wanted.term)).is_ok()
                || wanted.also.as_ref().is_some_and(|date| dates.contains(date))
        };
        let (mut sum, mut found, mut file) = (0.0, Vec::new(), None);
        for term in self.terms.iter().filter(|term| has(term)) {
            let worth = self.worth(term);
            sum += worth;
            found.push((worth, &term.typed));
            if file.is_none() && term.term.starts_with('=') {
                file = Some(term.term.trim_start_matches('=').to_owned());
            }
        }
        // The sort is stable: words of the same worth stay in the task's order.
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut typed: Vec<String> = Vec::new();
        for (_, word) in found {
            if !typed.contains(word) {
                typed.push(word.clone());
            }
        }
        Covered { share: (sum / all).min(1.0), typed, file }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of entries; 52 bits are more than it means")]
const fn as_float(count: u64) -> f64 {
    count as f64
}
