//! What others do: hits with their neighbours, and the rule of the source that the retriever comes from.

use stemmata_prompt::search::marks;

use super::memory::Memory;
use super::{Finder, Item};

/// How many turns the rule of the source returns.
pub(super) const SOURCE_HITS: usize = 8;
/// How many of the last turns the rule of the source favours.
const LAST: usize = 4;

/// Each hit of BM25 followed by the entries beside it.
pub(super) struct Neighbours {
    plain: Memory,
    entries: usize,
}

impl Neighbours {
    pub(super) fn of(plain: Memory) -> Self {
        Self { plain, entries: 0 }
    }
}

impl Finder for Neighbours {
    fn index(&mut self, items: &[Item]) -> anyhow::Result<()> {
        self.entries = items.len();
        self.plain.index(items)
    }

    fn find(&mut self, question: &str) -> anyhow::Result<Vec<usize>> {
        let mut found = Vec::new();
        for hit in self.plain.find(question)? {
            for item in [Some(hit), hit.checked_sub(1), Some(hit + 1)].into_iter().flatten() {
                if item < self.entries && !found.contains(&item) {
                    found.push(item);
                }
            }
        }
        Ok(found)
    }
}

/// Points for a turn: 4 where it holds the whole question, 2 for files where the question has `file`, 1 for tool
/// calls, 3 for the last four. The 8 best, of equal ones the newest.
#[derive(Debug, Default)]
pub(super) struct Source(Vec<Item>);

impl Finder for Source {
    fn index(&mut self, items: &[Item]) -> anyhow::Result<()> {
        self.0 = items.to_vec();
        Ok(())
    }

    fn find(&mut self, question: &str) -> anyhow::Result<Vec<usize>> {
        let question = question.to_lowercase();
        let points = |at: usize, item: &Item| {
            let mut points = 0;
            points += if item.text.to_lowercase().contains(&question) { 4 } else { 0 };
            points += if question.contains("file") && item.has_files { 2 } else { 0 };
            points += i32::from(item.marks & marks::CALL != 0);
            points + if at + LAST >= self.0.len() { 3 } else { 0 }
        };
        let scored = self.0.iter().enumerate().map(|(at, item)| (points(at, item), at));
        let mut scored: Vec<(i32, usize)> = scored.filter(|(points, _)| *points > 0).collect();
        scored.sort_unstable_by(|one, two| two.cmp(one));
        Ok(scored.into_iter().take(SOURCE_HITS).map(|(_, at)| at).collect())
    }
}
