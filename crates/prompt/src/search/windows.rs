//! The second stage: an entry is scored by the words of its window, that is of its group's entries around it.
//!
//! Everything whose window holds a candidate is scored, and all of its window counts, not only the candidates: an
//! entry that is reached has the score that it would have if everything were a candidate.

use std::ops::Range;

use super::first::{self, Candidate};
use super::plan::Plan;
use super::ranked::Search;
use super::source::{Block, GroupList, Groups, Postings, Segment, marks};
use super::weights::{Recipe, WINDOW};

/// An entry that a window reaches, with the columns that every window needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Its number.
    pub(super) number: u32,
    /// The position of its segment, and where it stands in there.
    pub(super) segment: usize,
    pub(super) at: usize,
    pub(super) length: f64,
    pub(super) marks: u8,
    pub(super) author: u16,
}

/// Everything that the windows of candidates reach.
pub(super) struct Reached {
    /// The entries of all windows, ascending by number.
    known: Vec<Entry>,
    /// How often each of them holds each term, dates included: entry after entry.
    counts: Vec<f32>,
    /// The windows of the entries that are scored.
    pub(super) windows: Vec<Window>,
}

/// What one term is worth to an entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Worth {
    /// The position of the term in the plan.
    pub(super) term: usize,
    /// What the entry's own words add.
    pub(super) words: f64,
    /// What the words around it add.
    pub(super) near: f64,
}

/// Finds every entry whose window holds a candidate, and reads what the windows of these hold.
pub(super) fn reached<S: Segment, G: Groups<Error = S::Error>>(
    search: &Search<'_, S>,
    groups: &G,
    plan: &Plan<S::Postings>,
    candidates: &[Candidate],
) -> Result<Reached, S::Error> {
    let base = |candidate: &Candidate| search.segments.get(candidate.segment).map_or(0, Segment::base);
    let mut numbers: Vec<u32> =
        candidates.iter().map(|candidate| base(candidate) + candidate.number).collect();
    // Neighbours share their group: in order, a group is looked up once and stays at hand.
    sort(&mut numbers);
    let around = neighbourhoods(groups, &numbers)?;
    let mut scored: Vec<u32> = around.into_iter().flat_map(|window| window.entries).collect();
    sort(&mut scored);
    let windows = neighbourhoods(groups, &scored)?;
    let mut needed: Vec<u32> = windows.iter().flat_map(|window| window.entries.iter().copied()).collect();
    sort(&mut needed);
    let mut reached = Reached { known: Vec::with_capacity(needed.len()), counts: Vec::new(), windows };
    reached.read(search, plan, &needed)?;
    Ok(reached)
}

fn sort(numbers: &mut Vec<u32>) {
    numbers.sort_unstable();
    numbers.dedup();
}

/// The entries of a window in their order.
pub(super) struct Window {
    entries: Vec<u32>,
    /// The position of the entry that it is around.
    own: usize,
}

/// Returns the window of each number.
fn neighbourhoods<G: Groups>(groups: &G, numbers: &[u32]) -> Result<Vec<Window>, G::Error> {
    let lists = groups.of(numbers)?;
    Ok(numbers.iter().zip(lists).map(|(number, list)| window(&list, *number)).collect())
}

/// Cuts the window of an entry out of its group.
fn window(list: &GroupList, number: u32) -> Window {
    let alone = || Window { entries: vec![number], own: 0 };
    let Some(run) = list.0.iter().position(|run| run.contains(&number)) else { return alone() };
    let (before, after) = list.0.split_at(run);
    let Some((own, after)) = after.split_first() else { return alone() };
    let earlier = before.iter().cloned().chain(std::iter::once(own.start..number)).rev();
    let mut entries: Vec<u32> = earlier.flat_map(Range::rev).take(WINDOW).collect();
    entries.reverse();
    let own_at = entries.len();
    let later = std::iter::once(number + 1..own.end).chain(after.iter().cloned());
    entries.push(number);
    entries.extend(later.flatten().take(WINDOW));
    Window { entries, own: own_at }
}

impl Reached {
    /// Reads the columns and counts of entries, which ascend.
    fn read<S: Segment>(
        &mut self,
        search: &Search<'_, S>,
        plan: &Plan<S::Postings>,
        numbers: &[u32],
    ) -> Result<(), S::Error> {
        // Entries and counts are in the order of the numbers, so segments are taken in theirs.
        let mut segments: Vec<(usize, &S)> = search.segments.iter().enumerate().collect();
        segments.sort_unstable_by_key(|(_, segment)| segment.base());
        for (position, segment) in segments {
            let end = segment.base().saturating_add(segment.span());
            let first = numbers.partition_point(|number| *number < segment.base());
            let last = numbers.partition_point(|number| *number < end);
            let local: Vec<u32> = numbers
                .get(first..last)
                .unwrap_or_default()
                .iter()
                .map(|number| number - segment.base())
                .collect();
            if local.is_empty() {
                continue;
            }
            let (lengths, marks, authors) = (segment.lengths()?, segment.marks()?, segment.authors()?);
            self.known.extend(local.iter().map(|number| {
                let at = *number as usize;
                Entry {
                    number: segment.base() + number,
                    segment: position,
                    at,
                    length: f64::from(lengths.get(at).copied().unwrap_or_default()),
                    marks: marks.get(at).copied().unwrap_or_default(),
                    author: authors.get(at).copied().unwrap_or_default(),
                }
            }));
            let start = self.counts.len();
            self.counts.resize(self.known.len() * plan.terms.len(), 0.0);
            count(plan, position, &local, self.counts.get_mut(start..).unwrap_or_default())?;
        }
        Ok(())
    }

    fn find(&self, number: u32) -> Option<usize> {
        self.known.binary_search_by_key(&number, |entry| entry.number).ok()
    }

    /// Returns the entry that a window is around.
    pub(super) fn entry(&self, window: &Window) -> Option<&Entry> {
        self.known.get(self.find(*window.entries.get(window.own)?)?)
    }

    /// Reports what a window's words are worth to its own entry, term by term in the order of the plan.
    ///
    /// Counts and lengths are added up over the window, each weighted by how near it is, and saturate together: adding
    /// up the entries' scores instead is worth two and a half points less on the development questions.
    pub(super) fn worth<S, P>(
        &self,
        search: &Search<'_, S>,
        plan: &Plan<P>,
        window: &Window,
        found: &mut dyn FnMut(Worth),
    ) {
        let Some(entry) = self.entry(window) else { return };
        let recipe = recipe(search, entry);
        let average = search.statistics.average_length();
        let saturation = search.weights.saturation;
        // What each entry of the window counts, and where its counts are.
        let mut around: Vec<(f64, &[f32])> = Vec::with_capacity(window.entries.len());
        let mut length = 0.0;
        for (at, number) in window.entries.iter().enumerate() {
            let known = self.find(*number);
            let Some((known, other)) = known.and_then(|known| Some((known, self.known.get(known)?))) else {
                // A group names an entry that no segment holds: it has no words, but keeps its place.
                around.push((0.0, &[]));
                continue;
            };
            let weight = nearness(recipe, other, at, window.own);
            length += other.length * weight;
            let terms = plan.terms.len();
            around.push((weight, self.counts.get(known * terms..(known + 1) * terms).unwrap_or_default()));
        }
        let whole = 1.0 + recipe.before.iter().chain(&recipe.after).sum::<f64>();
        let count = |counts: &[f32], at: usize| f64::from(counts.get(at).copied().unwrap_or_default());
        for (at, term) in plan.terms.iter().enumerate() {
            let all: f64 = around.iter().map(|(weight, counts)| weight * count(counts, at)).sum();
            if all > 0.0 {
                let mine = around.get(window.own).map_or(0.0, |own| count(own.1, at));
                let together = term.idf * saturation.of(all, length / (average * whole));
                let alone = term.idf * recipe.own * saturation.of(mine, entry.length / average);
                let share = mine / all;
                found(Worth { term: at, words: together * share + alone, near: together * (1.0 - share) });
            }
        }
    }
}

/// Counts the terms in entries of one segment, which stand in the order of their numbers.
fn count<P: Postings>(
    plan: &Plan<P>,
    segment: usize,
    numbers: &[u32],
    counts: &mut [f32],
) -> Result<(), P::Error> {
    let mut block = Block::new();
    let postings = plan.postings.get(segment).map_or(&[][..], Vec::as_slice);
    for (at, (term, pair)) in plan.terms.iter().zip(postings).enumerate() {
        for (postings, weight) in pair.iter().zip(term.weights) {
            let Some(postings) = postings else { continue };
            let mut position = 0;
            first::visit(postings, numbers, &mut block, &mut |number, tf| {
                while numbers.get(position).is_some_and(|other| *other < number) {
                    position += 1;
                }
                if let Some(count) = counts.get_mut(position * plan.terms.len() + at) {
                    *count += f32::from(tf) * first::narrow(weight);
                }
            })?;
        }
    }
    Ok(())
}

/// Returns the recipe for an entry.
pub(super) fn recipe<'a, S>(search: &Search<'a, S>, entry: &Entry) -> &'a Recipe {
    if entry.author == 0 { &search.weights.agent } else { &search.weights.conversation }
}

/// Returns how much one entry of a window counts in it.
fn nearness(recipe: &Recipe, other: &Entry, at: usize, own: usize) -> f64 {
    let capped = (recipe.neighbour_tokens / other.length.max(1.0)).min(1.0);
    let weight =
        |weights: &[f64; WINDOW], distance: usize| weights.get(distance - 1).copied().unwrap_or_default();
    match at.cmp(&own) {
        std::cmp::Ordering::Equal => 1.0,
        std::cmp::Ordering::Greater => weight(&recipe.after, at - own) * capped,
        std::cmp::Ordering::Less => {
            let asks = own - at == 1 && other.marks & marks::ASKS != 0;
            weight(&recipe.before, own - at) * if asks { recipe.asked } else { 1.0 } * capped
        }
    }
}
