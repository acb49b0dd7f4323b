//! A search: the first stage, the second, priors, order.

use super::filter::Filter;
use super::first::{self, narrow};
use super::plan::Plan;
use super::priors::{self, Span};
use super::query::Query;
use super::ranked::{Reason, ReasonName, Scored, Search, Wanted};
use super::source::{Groups, Segment};
use super::windows::{self, Entry, Worth};

/// How many words a reason names.
const REASON_WORDS_MAX: usize = 8;

/// Returns the best entries that the scope admits, best first.
///
/// Equal scores are ordered by time, the newest first, then by key; numbers decide nothing. Phrases of the query are
/// not checked in the text: an entry that is found holds their terms.
///
/// # Errors
/// What the segments and groups return.
pub fn search<S: Segment, G: Groups<Error = S::Error>>(
    search: &Search<'_, S>,
    groups: &G,
    query: &Query,
    wanted: Wanted,
) -> Result<Vec<Scored>, S::Error> {
    let plan = Plan::of(search, query)?;
    let candidates = first::candidates(search, &plan, query, wanted.candidates)?;
    let reached = windows::reached(search, groups, &plan, &candidates)?;
    let ranking = Ranking { search, query, plan: &plan, span: Span::of(search)? };
    let mut filters = Vec::with_capacity(search.segments.len());
    for segment in search.segments {
        filters.push(Filter::of(search, segment, query)?);
    }
    let mut found = Vec::new();
    for (entry, worth) in &reached.entries {
        let is_admitted = u32::try_from(entry.at)
            .is_ok_and(|at| filters.get(entry.segment).is_some_and(|filter| filter.admits(at)));
        if is_admitted {
            found.extend(ranking.scored(entry, worth)?);
        }
    }
    found.sort_unstable_by_key(|found: &Scored| {
        (u32::MAX - found.score.to_bits(), u32::MAX - found.minute, found.key)
    });
    found.truncate(wanted.hits);
    Ok(found)
}

/// What scores entries.
struct Ranking<'a, S: Segment> {
    search: &'a Search<'a, S>,
    query: &'a Query,
    plan: &'a Plan<S::Postings>,
    span: Span,
}

impl<S: Segment> Ranking<'_, S> {
    /// Scores an entry, nothing where no word of its window is looked for.
    fn scored(&self, entry: &Entry, worth: &Worth) -> Result<Option<Scored>, S::Error> {
        let Self { search, query, plan, span } = *self;
        let length = priors::length(search, entry);
        let amounts =
            [(ReasonName::Words, &worth.words), (ReasonName::Near, &worth.near)].map(|(name, by_term)| {
                let value = narrow(by_term.iter().sum::<f64>() * length);
                Reason { name, value, text: named(plan, by_term) }
            });
        let mut reasons: Vec<Reason> = amounts.into_iter().filter(|reason| reason.value > 0.0).collect();
        if reasons.is_empty() {
            return Ok(None);
        }
        let amount: f32 = reasons.iter().map(|reason| reason.value).sum();
        let factors = priors::factors(search, &query.asked, span, entry)?;
        let score = factors.iter().fold(amount, |score, factor| score * factor.value);
        reasons.extend(factors);
        let own = |name: &&String| {
            let held = plan.terms.iter().zip(&entry.counts).find(|(term, _)| term.name == **name);
            held.is_some_and(|(_, count)| *count > 0.0)
        };
        let files =
            query.files.iter().filter(own).map(|file| (ReasonName::File, file.trim_start_matches('=')));
        let phrases = query.phrases.iter().map(|phrase| (ReasonName::Phrase, phrase.text.as_str()));
        let named = files.chain(phrases);
        reasons.extend(named.map(|(name, text)| Reason { name, value: 1.0, text: text.to_owned() }));
        let Some(segment) = search.segments.get(entry.segment) else { return Ok(None) };
        let minute = segment.minutes()?.get(entry.at).copied().unwrap_or_default();
        let key = segment.keys()?.get(entry.at).copied().unwrap_or_default();
        Ok(Some(Scored { number: entry.number, key, minute, score, reasons }))
    }
}

/// Returns the words that add something, as they were typed, those that add most first.
fn named<P>(plan: &Plan<P>, by_term: &[f64]) -> String {
    let mut words: Vec<(&str, f64)> = Vec::new();
    for (term, amount) in plan.terms.iter().zip(by_term) {
        match words.iter_mut().find(|(typed, _)| *typed == term.typed) {
            Some((_, sum)) => *sum += amount,
            None => words.push((&term.typed, *amount)),
        }
    }
    words.retain(|(_, amount)| *amount > 0.0);
    words.sort_by(|one, two| two.1.total_cmp(&one.1).then(one.0.cmp(two.0)));
    words.iter().take(REASON_WORDS_MAX).map(|word| word.0).collect::<Vec<_>>().join(" ")
}
