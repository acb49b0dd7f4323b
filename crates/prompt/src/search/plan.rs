//! A query made ready for the segments: its terms with their rarity and their postings.

use super::query::Query;
use super::ranked::Search;
use super::source::{Postings, Segment};
use super::windows::Worth;

/// The terms of a query, the rarest first, with their postings in every segment.
pub(super) struct Plan<P> {
    pub(super) terms: Vec<Term>,
    /// What each word of the query, as it was typed, is worth: the rarity of its rarest term.
    pub(super) words: Vec<f64>,
    /// By segment, then by term.
    pub(super) postings: Vec<Vec<[Option<P>; 2]>>,
}

/// A term that some entry holds.
#[derive(Debug, Clone)]
pub(super) struct Term {
    pub(super) name: String,
    pub(super) typed: String,
    /// Which of the plan's words it is a term of.
    pub(super) word: usize,
    /// How rare it is.
    pub(super) idf: f64,
    /// What one occurrence of the term, and of what it may mean as well, counts.
    pub(super) weights: [f64; 2],
}

impl<P: Postings> Plan<P> {
    /// Looks up the terms in all segments.
    ///
    /// Sums are made in the order of the terms: the rarest first, equal ones by name, so that a score does not depend
    /// on how the query is written or the index is cut into segments.
    pub(super) fn of<S: Segment<Error = P::Error, Postings = P>>(
        search: &Search<'_, S>,
        query: &Query,
    ) -> Result<Self, P::Error> {
        let mut found = Vec::new();
        for term in &query.terms {
            let mut postings = Vec::with_capacity(search.segments.len());
            for segment in search.segments {
                let also = term.also.as_deref().map_or(Ok(None), |also| segment.postings(also))?;
                postings.push([segment.postings(&term.term)?, also]);
            }
            // Entries that hold both are counted twice: the union would cost a read of all.
            let entries =
                postings.iter().flatten().flatten().map(|postings| u64::from(postings.entries())).sum();
            if entries > 0 {
                let (name, typed, weight) = (term.term.clone(), term.typed.clone(), term.weight);
                let is_date = term.also.as_ref().is_some_and(|also| also.starts_with('@'));
                let weights = [weight, weight * if is_date { search.weights.date } else { 1.0 }];
                found.push((
                    Term { name, typed, word: 0, idf: idf(search.statistics.entries, entries), weights },
                    postings,
                ));
            }
        }
        found.sort_by(|(one, _), (two, _)| two.idf.total_cmp(&one.idf).then_with(|| one.name.cmp(&two.name)));
        let mut plan = Self { terms: Vec::new(), words: Vec::new(), postings: Vec::new() };
        plan.postings.resize_with(search.segments.len(), Vec::new);
        for (mut term, postings) in found {
            let same = plan.terms.iter().find(|known| known.typed == term.typed).map(|known| known.word);
            term.word = same.unwrap_or_else(|| {
                plan.words.push(term.idf);
                plan.words.len() - 1
            });
            plan.terms.push(term);
            for (segment, postings) in plan.postings.iter_mut().zip(postings) {
                segment.push(postings);
            }
        }
        Ok(plan)
    }

    /// Returns the share of the query's words, by their rarity, that an entry has itself; words that no entry has do not count.
    pub(super) fn covered(&self, worths: &[Worth]) -> f64 {
        let mut left = self.words.clone();
        let mut covered = 0.0;
        for worth in worths.iter().filter(|worth| worth.words > 0.0) {
            let word = self.terms.get(worth.term).and_then(|term| left.get_mut(term.word));
            covered += word.map_or(0.0, std::mem::take);
        }
        covered / self.words.iter().sum::<f64>().max(f64::MIN_POSITIVE)
    }
}

/// Returns how much a term says that so many entries of all hold.
#[expect(clippy::cast_precision_loss, reason = "a logarithm needs no 53 bits")]
fn idf(entries: u64, holding: u64) -> f64 {
    let holding = holding.min(entries);
    (1.0 + ((entries - holding) as f64 + 0.5) / (holding as f64 + 0.5)).ln()
}
