//! A query made ready for the segments: its terms with their rarity and their postings.

use super::query::Query;
use super::ranked::Search;
use super::source::{Postings, Segment};

/// The terms of a query, the rarest first, with their postings in every segment.
pub(super) struct Plan<P> {
    pub(super) terms: Vec<Term>,
    /// By segment, then by term.
    pub(super) postings: Vec<Vec<[Option<P>; 2]>>,
}

/// A term that some entry holds.
#[derive(Debug, Clone)]
pub(super) struct Term {
    pub(super) name: String,
    pub(super) typed: String,
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
                    Term { name, typed, idf: idf(search.statistics.entries, entries), weights },
                    postings,
                ));
            }
        }
        found.sort_by(|(one, _), (two, _)| two.idf.total_cmp(&one.idf).then_with(|| one.name.cmp(&two.name)));
        let mut plan = Self { terms: Vec::new(), postings: Vec::new() };
        plan.postings.resize_with(search.segments.len(), Vec::new);
        for (term, postings) in found {
            plan.terms.push(term);
            for (segment, postings) in plan.postings.iter_mut().zip(postings) {
                segment.push(postings);
            }
        }
        Ok(plan)
    }
}

/// Returns how much a term says that so many entries of all hold.
#[expect(clippy::cast_precision_loss, reason = "a logarithm needs no 53 bits")]
fn idf(entries: u64, holding: u64) -> f64 {
    let holding = holding.min(entries);
    (1.0 + ((entries - holding) as f64 + 0.5) / (holding as f64 + 0.5)).ln()
}
