//! A search: the first stage, the second, priors, order.

use super::filter::Filter;
use super::first::{self, narrow};
use super::plan::Plan;
use super::priors::{self, Covered, Span};
use super::query::Query;
use super::ranked::{Reason, ReasonName, Scored, Search, Wanted};
use super::source::{Groups, Segment};
use super::windows::{self, Entry, Reached, Window, Worth};

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
    let span = Span::of(search)?;
    let ranking = Ranking { search, query, plan: &plan, reached: &reached, span };
    let mut filters = Vec::with_capacity(search.segments.len());
    for segment in search.segments {
        filters.push(Filter::of(search, segment, query)?);
    }
    let mut rated = Vec::new();
    for window in &reached.windows {
        let Some(entry) = reached.entry(window) else { continue };
        let admits = |at| filters.get(entry.segment).is_some_and(|filter| filter.admits(at));
        if u32::try_from(entry.at).is_ok_and(admits) {
            rated.extend(ranking.rated(window, entry)?);
        }
    }
    rated.sort_unstable_by_key(Rated::order);
    rated.truncate(wanted.hits);
    rated.iter().map(|rated| ranking.explained(rated)).collect()
}

/// An entry with its score.
struct Rated<'a> {
    window: &'a Window,
    entry: &'a Entry,
    key: u64,
    minute: u32,
    score: f32,
}

impl Rated<'_> {
    /// Returns what orders entries: the score, the time, the key. Scores are not negative, so their bits compare.
    fn order(&self) -> (u32, u32, u64) {
        (u32::MAX - self.score.to_bits(), u32::MAX - self.minute, self.key)
    }
}

/// What scores entries.
struct Ranking<'a, S: Segment> {
    search: &'a Search<'a, S>,
    query: &'a Query,
    plan: &'a Plan<S::Postings>,
    reached: &'a Reached,
    span: Span,
}

impl<'a, S: Segment> Ranking<'a, S> {
    /// Scores an entry, nothing where no word of its window is looked for.
    fn rated(&self, window: &'a Window, entry: &'a Entry) -> Result<Option<Rated<'a>>, S::Error> {
        let (amounts, _, covered) = self.amounts(window, entry);
        let amount = amounts[0] + amounts[1];
        let Some(segment) = self.search.segments.get(entry.segment).filter(|_| amount > 0.0) else {
            return Ok(None);
        };
        let factors = priors::factors(self.search, &self.query.asked, self.span, (entry, covered))?;
        let score = factors.iter().fold(amount, |score, factor| score * factor.1);
        let minute = segment.minutes()?.get(entry.at).copied().unwrap_or_default();
        let minute = self.search.scope.ranked_minute(minute);
        let key = segment.keys()?.get(entry.at).copied().unwrap_or_default();
        Ok(Some(Rated { window, entry, key, minute, score }))
    }

    /// Returns what an entry's own words and those around it are worth, the same by term, and what it has of the query itself.
    fn amounts(&self, window: &Window, entry: &Entry) -> ([f32; 2], Vec<Worth>, Covered) {
        let mut by_term: Vec<Worth> = Vec::new();
        let mut sums = [0.0; 2];
        self.reached.worth(self.search, self.plan, window, &mut |worth| {
            sums[0] += worth.words;
            sums[1] += worth.near;
            by_term.push(worth);
        });
        let share = self.plan.covered(&by_term);
        let covered = Covered::of(share, self.plan.words.len(), (self.query.length, entry));
        let length = priors::length(self.search, (entry, covered));
        (sums.map(|sum| narrow(sum * length)), by_term, covered)
    }

    /// Says why an entry has its score.
    fn explained(&self, rated: &Rated<'_>) -> Result<Scored, S::Error> {
        let Rated { window, entry, key, minute, score } = *rated;
        let (amounts, by_term, covered) = self.amounts(window, entry);
        let words = named(self.plan, by_term.iter().map(|worth| (worth.term, worth.words)));
        let near = named(self.plan, by_term.iter().map(|worth| (worth.term, worth.near)));
        let mut reasons = Vec::new();
        let mut add = |name, value, text: &str| reasons.push(Reason { name, value, text: text.to_owned() });
        for (name, amount, text) in
            [(ReasonName::Words, amounts[0], words), (ReasonName::Near, amounts[1], near)]
        {
            if amount > 0.0 {
                add(name, amount, &text);
            }
        }
        for (name, factor, text) in
            priors::factors(self.search, &self.query.asked, self.span, (entry, covered))?
        {
            if (factor - 1.0).abs() > f32::EPSILON {
                add(name, factor, text);
            }
        }
        for worth in by_term.iter().filter(|worth| worth.words > 0.0) {
            let name = self.plan.terms.get(worth.term).map_or("", |term| term.name.as_str());
            if self.query.files.iter().any(|file| file == name) {
                add(ReasonName::File, 1.0, name.trim_start_matches('='));
            }
        }
        for phrase in &self.query.phrases {
            add(ReasonName::Phrase, 1.0, &phrase.text);
        }
        Ok(Scored { number: entry.number, key, minute, score, reasons })
    }
}

/// Returns the words that add something, as they were typed, the rarest first.
fn named<P>(plan: &Plan<P>, amounts: impl Iterator<Item = (usize, f64)>) -> String {
    let mut words: Vec<&str> = Vec::new();
    for (term, amount) in amounts {
        let Some(term) = plan.terms.get(term).filter(|_| amount > 0.0) else { continue };
        if !words.contains(&term.typed.as_str()) && words.len() < REASON_WORDS_MAX {
            words.push(&term.typed);
        }
    }
    words.join(" ")
}
