//! The ranking of the product over a segment in memory, with its weights or as plain BM25.

use std::collections::HashMap;

use stemmata_model::Timestamp;
use stemmata_prompt::search::{
    MemoryEntry, MemorySegment, QueryInput, Recipe, Saturation, Scope, Search, WINDOW, Wanted, Weights,
    date_terms, entry_terms, marks, parse_query, search,
};

use super::probe::RESULT_CLASS;
use super::{Finder, HITS, Item, asked};

/// A recipe in which nothing but the entry's own words counts.
const NOTHING: Recipe = Recipe {
    before: [0.0; WINDOW],
    after: [0.0; WINDOW],
    asked: 1.0,
    neighbour_tokens: 1.0,
    own: 0.0,
    length: 0.0,
    prompt_length: 0.0,
    coverage: 0.0,
    brevity: 0.0,
    nearby: 1.0,
    speaker: 1.0,
    question: 1.0,
    recent: 0.0,
    decision: 1.0,
    call: 1.0,
    instruction: 1.0,
    summary: 1.0,
};

/// A finder in memory.
pub(super) struct Memory {
    weights: Weights,
    wanted: Wanted,
    /// Whether dates are indexed and the names of participants mean them: plain BM25 knows of neither.
    is_ours: bool,
    segment: MemorySegment,
    authors: Vec<(u16, String)>,
}

impl Memory {
    /// Returns the product's ranking.
    pub(super) fn ours() -> Self {
        Self::of(Weights::MEASURED, Wanted::hits(HITS), true)
    }

    /// Returns the product's ranking without a first stage.
    pub(super) fn one_stage() -> Self {
        Self::of(Weights::MEASURED, Wanted { hits: HITS, candidates: usize::MAX }, true)
    }

    /// Returns BM25 over the product's terms.
    pub(super) fn plain() -> Self {
        let saturation = Saturation { k1: 1.2, b: 0.6 };
        let weights = Weights { saturation, date: 0.0, conversation: NOTHING, agent: NOTHING };
        Self::of(weights, Wanted { hits: HITS * 4, candidates: usize::MAX }, false)
    }

    fn of(weights: Weights, wanted: Wanted, is_ours: bool) -> Self {
        Self { weights, wanted, is_ours, segment: MemorySegment::default(), authors: Vec::new() }
    }
}

impl Finder for Memory {
    fn index(&mut self, items: &[Item]) -> anyhow::Result<()> {
        let mut authors: HashMap<&str, u16> = HashMap::new();
        let mut entries = Vec::with_capacity(items.len());
        for (key, item) in (0_u64..).zip(items) {
            let mut terms = entry_terms(&item.text);
            if let Some(at) = item.at.filter(|_| self.is_ours) {
                terms.terms.extend(date_terms(at).map(|term| (term, 1)));
            }
            let next = u16::try_from(authors.len() + 1)?;
            let asks = terms.asks && item.class != RESULT_CLASS;
            entries.push(MemoryEntry {
                key,
                terms: terms.terms,
                length: terms.length,
                class: item.class,
                marks: item.marks | if asks { marks::ASKS } else { 0 },
                minute: minute(item.at)?,
                author: item.author.as_deref().map_or(0, |author| *authors.entry(author).or_insert(next)),
                group: item.group,
            });
        }
        self.authors = authors.into_iter().map(|(name, author)| (author, name.to_lowercase())).collect();
        self.segment = MemorySegment::of(0, &entries);
        Ok(())
    }

    fn find(&mut self, question: &str) -> anyhow::Result<Vec<usize>> {
        let text = asked(question);
        let names: Vec<String> = self.authors.iter().map(|author| author.1.clone()).collect();
        let participants = if self.is_ours { &names[..] } else { &[] };
        let mut query = parse_query(&QueryInput { text: &text, participants })?;
        if !self.is_ours {
            query.terms.iter_mut().for_each(|term| term.also = None);
        }
        let wanted = Search {
            segments: std::slice::from_ref(&self.segment),
            statistics: self.segment.statistics(),
            scope: Scope { authors: &self.authors, ..Scope::ALL },
            weights: &self.weights,
        };
        let found = search(&wanted, &self.segment, &query, self.wanted)?;
        found.into_iter().map(|found| Ok(usize::try_from(found.number)?)).collect()
    }
}

/// Returns the minute of a time since 1970, 0 without one.
fn minute(at: Option<Timestamp>) -> anyhow::Result<u32> {
    Ok(at.map_or(Ok(0), |at| u32::try_from(at.as_micros() / 60_000_000))?)
}
