//! The first stage: plain BM25 over all entries, the best of which go on to the second.
//!
//! One segment after the other, with an array of scores by entry. Terms come the rarest first; as soon as those that
//! are left cannot lift a new entry to the best so far (`MaxScore`), only the blocks with entries that are still in the
//! running are unpacked. The result is exact, whatever is skipped.

use super::filter::{Filter, may_admit};
use super::plan::Plan;
use super::query::Query;
use super::ranked::Search;
use super::source::{Block, Bound, Postings, Segment};
use super::weights::Saturation;

/// Bounds are this much greater than they need be: sums of 32 bits are not exact.
const SLACK: f64 = 1.0001;

/// A term that more than one entry of so many holds is common: before it, it pays to see what is reached already.
const COMMON: usize = 16;
/// Where more than one entry of so many of a list is in the running, nearly every block has one: all are unpacked then, without
/// looking for them.
const DENSE: usize = 8;
/// Candidates grow so many times before the worst are dropped.
const SURPLUS: usize = 8;

/// An entry that goes on to the second stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    /// The position of its segment.
    pub(super) segment: usize,
    /// Its number relative to the segment's base.
    pub(super) number: u32,
    /// Its score.
    pub(super) score: f32,
}

/// Returns the best entries that the scope admits, equal ones the newest first, then by key.
pub(super) fn candidates<S: Segment>(
    search: &Search<'_, S>,
    plan: &Plan<S::Postings>,
    query: &Query,
    candidates_max: usize,
) -> Result<Vec<Candidate>, S::Error> {
    let max = candidates_max.max(1);
    let mut best = Best { found: Vec::new(), max, threshold: 0.0, limit: max.saturating_mul(SURPLUS) };
    let mut scores = Vec::new();
    for (at, (segment, postings)) in search.segments.iter().zip(&plan.postings).enumerate() {
        let streams = streams(search, plan, postings);
        if streams.is_empty() || !may_admit(search, segment) {
            continue;
        }
        scores.clear();
        scores.resize(segment.span() as usize, 0.0_f32);
        let pass = Pass {
            search,
            lengths: segment.lengths()?,
            filter: Filter::of(search, segment, query)?,
            max: best.max,
            threshold: best.threshold,
        };
        let running = pass.accumulate(&streams, &mut scores)?;
        best.harvest(at, &scores, running.as_deref(), &pass.filter);
    }
    best.finish(search.segments)
}

/// The postings of one term in one segment with what they count.
struct Stream<'a, P> {
    postings: &'a P,
    idf: f64,
    weight: f64,
    /// What the term adds to an entry's score at most, and this and all later terms together.
    bound: f64,
    bound_left: f64,
}

/// Returns the streams of a segment in the order of the terms; a date's follows its word's.
fn streams<'a, S: Segment>(
    search: &Search<'_, S>,
    plan: &'a Plan<S::Postings>,
    postings: &'a [[Option<S::Postings>; 2]],
) -> Vec<Stream<'a, S::Postings>> {
    let mut streams = Vec::new();
    for (term, pair) in plan.terms.iter().zip(postings) {
        for (postings, weight) in pair.iter().zip(term.weights) {
            if let Some(postings) = postings {
                let bound = bound(search, postings.bound(), term.idf, weight);
                streams.push(Stream { postings, idf: term.idf, weight, bound, bound_left: 0.0 });
            }
        }
    }
    let mut left = 0.0;
    for stream in streams.iter_mut().rev() {
        left += stream.bound;
        stream.bound_left = left;
    }
    streams
}

/// Returns what postings within a bound add to a score at most.
fn bound<S>(search: &Search<'_, S>, bound: Bound, idf: f64, weight: f64) -> f64 {
    let ratio = f64::from(bound.length_min) / search.statistics.average_length();
    idf * search.weights.saturation.of(f64::from(bound.tf_max) * weight, ratio) * SLACK
}

/// What one occurrence of a term adds, in 32 bits: this is the innermost loop.
#[derive(Clone, Copy)]
struct Amounts<'a> {
    lengths: &'a [u16],
    /// `k1 · (1 − b)`, and `k1 · b` divided by the average length.
    fixed: f32,
    by_length: f32,
    weight: f32,
    idf: f32,
}

impl<'a> Amounts<'a> {
    fn of<S, P>(search: &Search<'_, S>, stream: &Stream<'_, P>, lengths: &'a [u16]) -> Self {
        let Saturation { k1, b } = search.weights.saturation;
        Self {
            lengths,
            fixed: narrow(k1 * (1.0 - b)),
            by_length: narrow(k1 * b / search.statistics.average_length()),
            weight: narrow(stream.weight),
            idf: narrow(stream.idf * (k1 + 1.0)),
        }
    }

    #[inline]
    fn amount(&self, number: u32, tf: u16) -> f32 {
        let length = f32::from(self.lengths.get(number as usize).copied().unwrap_or_default());
        let tf = f32::from(tf) * self.weight;
        self.idf * tf / (tf + self.fixed + self.by_length * length)
    }
}

/// One segment being scored.
struct Pass<'a, S> {
    search: &'a Search<'a, S>,
    lengths: &'a [u16],
    filter: Filter<'a>,
    /// How many candidates are wanted, and what an entry needs to be one.
    max: usize,
    threshold: f32,
}

impl<S: Segment> Pass<'_, S> {
    /// Adds up the scores of the segment's entries.
    ///
    /// Returns the entries that may reach the threshold where it was possible to leave the others behind; the scores
    /// of those are then not complete.
    fn accumulate(
        &self,
        streams: &[Stream<'_, S::Postings>],
        scores: &mut [f32],
    ) -> Result<Option<Vec<u32>>, S::Error> {
        let mut block = Block::new();
        let mut running: Option<Vec<u32>> = None;
        let mut threshold = self.threshold;
        for (at, stream) in streams.iter().enumerate() {
            let is_common = stream.postings.entries() as usize > scores.len() / COMMON;
            if running.is_none() && at > 0 && is_common {
                threshold = self.reached(scores, threshold);
            }
            let needed = needed(threshold, stream.bound_left);
            let may_reach = |score: f32| score > 0.0 && score >= needed;
            let left: Option<Vec<u32>> = match running.take() {
                None if stream.bound_left >= f64::from(threshold) => None,
                // No entry without a score can reach the threshold any more.
                None => {
                    Some((0..).zip(&*scores).filter(|pair| may_reach(*pair.1)).map(|pair| pair.0).collect())
                }
                Some(mut left) => {
                    left.retain(|number| scores.get(*number as usize).copied().is_some_and(may_reach));
                    Some(left)
                }
            };
            let amounts = Amounts::of(self.search, stream, self.lengths);
            let mut add = |number: u32, tf: u16| {
                if let Some(score) = scores.get_mut(number as usize) {
                    *score += amounts.amount(number, tf);
                }
            };
            match &left {
                Some(left) if left.len().saturating_mul(DENSE) < stream.postings.entries() as usize => {
                    visit(stream.postings, left, &mut block, &mut add)?;
                }
                Some(_) | None => {
                    for at in 0..stream.postings.blocks() {
                        stream.postings.unpack(at, &mut block)?;
                        block.iter().for_each(|(number, tf)| add(number, tf));
                    }
                }
            }
            running = left;
        }
        Ok(running)
    }

    /// Returns what enough entries of the segment have already, where that is more than the threshold so far.
    fn reached(&self, scores: &[f32], threshold: f32) -> f32 {
        let above =
            (0..).zip(scores).filter(|(number, score)| **score > threshold && self.filter.admits(*number));
        let mut found: Vec<f32> = above.map(|pair| *pair.1).collect();
        if found.len() < self.max {
            return threshold;
        }
        *found.select_nth_unstable_by(self.max - 1, |one, two| two.total_cmp(one)).1
    }
}

/// Returns the score that an entry needs to reach a threshold with what is left, a little less for sums of 32 bits.
fn needed(threshold: f32, bound_left: f64) -> f32 {
    narrow(((f64::from(threshold) - bound_left) / SLACK * (2.0 - SLACK)).max(0.0))
}

/// Reports the counts of some entries, ascending; blocks without any of them are not unpacked.
pub(super) fn visit<P: Postings>(
    postings: &P,
    numbers: &[u32],
    block: &mut Block,
    found: &mut dyn FnMut(u32, u16),
) -> Result<(), P::Error> {
    let mut numbers = numbers;
    let mut at = 0;
    while let Some(first) = numbers.first() {
        at = first_block(postings, at, *first);
        if at == postings.blocks() {
            return Ok(());
        }
        let here = numbers.partition_point(|number| *number <= postings.block_last(at));
        let (inside, after) = numbers.split_at(here);
        postings.unpack(at, block)?;
        let mut pairs = block.iter().peekable();
        for number in inside {
            while pairs.next_if(|pair| pair.0 < *number).is_some() {}
            if let Some((number, tf)) = pairs.next_if(|pair| pair.0 == *number) {
                found(number, tf);
            }
        }
        numbers = after;
        at += 1;
    }
    Ok(())
}

/// Returns the first block from `from` on that ends at a number or after it.
fn first_block<P: Postings>(postings: &P, from: usize, number: u32) -> usize {
    let (mut low, mut high) = (from, postings.blocks());
    while low < high {
        let middle = low.midpoint(high);
        if postings.block_last(middle) < number {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The best entries so far.
struct Best {
    found: Vec<Candidate>,
    max: usize,
    /// What an entry needs to be among them.
    threshold: f32,
    /// How many are gathered before the worst are dropped.
    limit: usize,
}

impl Best {
    /// Takes in the scores of a segment: of the entries in the running, or of all.
    fn harvest(&mut self, segment: usize, scores: &[f32], running: Option<&[u32]>, filter: &Filter<'_>) {
        let mut take = |number: u32, score: f32| {
            if score > 0.0 && score >= self.threshold && filter.admits(number) {
                self.found.push(Candidate { segment, number, score });
                if self.found.len() >= self.limit {
                    self.prune();
                }
            }
        };
        match running {
            Some(running) => running
                .iter()
                .for_each(|number| take(*number, scores.get(*number as usize).copied().unwrap_or_default())),
            None => (0..).zip(scores).for_each(|(number, score)| take(number, *score)),
        }
        self.prune();
    }

    /// Drops what is not among the best any more.
    fn prune(&mut self) {
        if self.found.len() > self.max {
            let by_score = |one: &Candidate, two: &Candidate| two.score.total_cmp(&one.score);
            let (_, edge, _) = self.found.select_nth_unstable_by(self.max - 1, by_score);
            self.threshold = edge.score;
            // Equal scores stay: which of them are the best is decided at the end.
            self.found.retain(|candidate| candidate.score >= self.threshold);
        }
        // Many equal scores would otherwise be looked through for each of them.
        self.limit = self.found.len().max(self.max).saturating_mul(SURPLUS);
    }

    fn finish<S: Segment>(mut self, segments: &[S]) -> Result<Vec<Candidate>, S::Error> {
        if self.found.len() > self.max {
            let (mut edge, above): (Vec<Candidate>, _) =
                self.found.into_iter().partition(|candidate| candidate.score <= self.threshold);
            let mut keys = Vec::with_capacity(edge.len());
            for candidate in edge.drain(..) {
                let Some(segment) = segments.get(candidate.segment) else { continue };
                let at = candidate.number as usize;
                let minute = segment.minutes()?.get(at).copied().unwrap_or_default();
                keys.push((
                    u32::MAX - minute,
                    segment.keys()?.get(at).copied().unwrap_or_default(),
                    candidate,
                ));
            }
            keys.sort_unstable_by_key(|(minute, key, _)| (*minute, *key));
            let left = self.max - above.len();
            self.found = above;
            self.found.extend(keys.into_iter().take(left).map(|key| key.2));
        }
        Ok(self.found)
    }
}

/// Returns a score in the 32 bits that it is kept in.
#[expect(clippy::cast_possible_truncation, reason = "24 bits are enough to compare scores")]
#[inline]
pub(super) fn narrow(score: f64) -> f32 {
    score as f32
}
