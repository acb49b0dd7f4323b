//! The second stage: an entry is scored by the words of its window, that is of its group's entries around it.
//!
//! Everything whose window holds a candidate is scored, and all of its window counts, not only the candidates: an
//! entry that is reached has the score that it would have if everything were a candidate.

use std::ops::Range;

use super::first::{self, Candidate};
use super::plan::Plan;
use super::ranked::Search;
use super::source::{Block, GroupList, Groups, Segment, marks};
use super::weights::{Recipe, WINDOW};

/// An entry that a window reaches: its columns, and what it has of the terms.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    /// Its number.
    pub(super) number: u32,
    /// The position of its segment, and where it stands in there.
    pub(super) segment: usize,
    pub(super) at: usize,
    pub(super) length: f64,
    pub(super) marks: u8,
    pub(super) author: u16,
    /// How often it holds each term, dates included.
    pub(super) counts: Vec<f32>,
}

/// What the words of a window and of the entry itself are worth.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Worth {
    /// By term: what the entry's own words add.
    pub(super) words: Vec<f64>,
    /// By term: what the words around it add.
    pub(super) near: Vec<f64>,
}

/// All entries that the windows of candidates reach, ascending by number, and what they are worth.
pub(super) struct Reached {
    pub(super) entries: Vec<(Entry, Worth)>,
}

/// Scores the words of every entry whose window holds a candidate.
pub(super) fn reached<S: Segment, G: Groups<Error = S::Error>>(
    search: &Search<'_, S>,
    groups: &G,
    plan: &Plan<S::Postings>,
    candidates: &[Candidate],
) -> Result<Reached, S::Error> {
    let base = |candidate: &Candidate| search.segments.get(candidate.segment).map_or(0, Segment::base);
    let numbers: Vec<u32> = candidates.iter().map(|candidate| base(candidate) + candidate.number).collect();
    let mut scored: Vec<u32> =
        neighbourhoods(groups, &numbers)?.into_iter().flat_map(|window| window.entries).collect();
    sort(&mut scored);
    let windows = neighbourhoods(groups, &scored)?;
    let mut needed: Vec<u32> = windows.iter().flat_map(|window| window.entries.iter().copied()).collect();
    sort(&mut needed);
    let known = read(search, plan, &needed)?;
    let find = |number: u32| {
        known.binary_search_by_key(&number, |entry| entry.number).ok().and_then(|at| known.get(at))
    };
    let entries = windows.iter().filter_map(|window| {
        let entry = find(*window.entries.get(window.own)?)?;
        let around: Vec<Option<&Entry>> = window.entries.iter().map(|number| find(*number)).collect();
        Some((entry.clone(), worth(search, plan, &around, window.own)))
    });
    Ok(Reached { entries: entries.collect() })
}

fn sort(numbers: &mut Vec<u32>) {
    numbers.sort_unstable();
    numbers.dedup();
}

/// The entries of a window in their order.
struct Window {
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

/// Reads the columns and counts of entries, which ascend.
fn read<S: Segment>(
    search: &Search<'_, S>,
    plan: &Plan<S::Postings>,
    numbers: &[u32],
) -> Result<Vec<Entry>, S::Error> {
    let mut found = Vec::with_capacity(numbers.len());
    for (position, segment) in search.segments.iter().enumerate() {
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
        let start = found.len();
        found.extend(local.iter().map(|number| {
            let at = *number as usize;
            Entry {
                number: segment.base() + number,
                segment: position,
                at,
                length: f64::from(lengths.get(at).copied().unwrap_or_default()),
                marks: marks.get(at).copied().unwrap_or_default(),
                author: authors.get(at).copied().unwrap_or_default(),
                counts: vec![0.0; plan.terms.len()],
            }
        }));
        let here = found.get_mut(start..).unwrap_or_default();
        count(plan, position, &local, here)?;
    }
    // Segments come in any order.
    found.sort_unstable_by_key(|entry| entry.number);
    Ok(found)
}

/// Counts the terms in entries of one segment, which stand in the order of their numbers.
fn count<P: super::source::Postings>(
    plan: &Plan<P>,
    segment: usize,
    numbers: &[u32],
    entries: &mut [Entry],
) -> Result<(), P::Error> {
    let mut block = Block::new();
    let postings = plan.postings.get(segment).map_or(&[][..], Vec::as_slice);
    for (at, (term, pair)) in plan.terms.iter().zip(postings).enumerate() {
        for (postings, weight) in pair.iter().zip(term.weights) {
            let Some(postings) = postings else { continue };
            let mut position = 0;
            first::visit(postings, numbers, &mut block, &mut |number, tf| {
                position +=
                    numbers.get(position..).unwrap_or_default().partition_point(|other| *other < number);
                let counts = entries.get_mut(position).and_then(|entry| entry.counts.get_mut(at));
                if let Some(count) = counts {
                    *count += f32::from(tf) * first::narrow(weight);
                }
            })?;
        }
    }
    Ok(())
}

/// Returns what a window's words are worth to its own entry.
///
/// Counts and lengths are added up over the window, each weighted by how near it is, and saturate together: adding up
/// the entries' scores instead is worth two and a half points less on the development questions.
fn worth<S, P>(search: &Search<'_, S>, plan: &Plan<P>, around: &[Option<&Entry>], own: usize) -> Worth {
    let Some(Some(entry)) = around.get(own) else { return Worth::default() };
    let recipe = recipe(search, entry);
    let average = search.statistics.average_length();
    let weights: Vec<f64> =
        around.iter().enumerate().map(|(at, other)| nearness(recipe, *other, at, own)).collect();
    let window: f64 =
        around.iter().zip(&weights).filter_map(|(other, weight)| Some((*other)?.length * weight)).sum();
    let whole = 1.0 + recipe.before.iter().chain(&recipe.after).sum::<f64>();
    let saturation = search.weights.saturation;
    let mut worth = Worth::default();
    for (at, term) in plan.terms.iter().enumerate() {
        let count = |entry: &Entry| f64::from(entry.counts.get(at).copied().unwrap_or_default());
        let all: f64 =
            around.iter().zip(&weights).filter_map(|(other, weight)| Some(count((*other)?) * weight)).sum();
        let mine = count(entry);
        let together = term.idf * saturation.of(all, window / (average * whole));
        let alone = term.idf * recipe.own * saturation.of(mine, entry.length / average);
        let share = if all > 0.0 { mine / all } else { 0.0 };
        worth.words.push(together * share + alone);
        worth.near.push(together * (1.0 - share));
    }
    worth
}

/// Returns the recipe for an entry.
pub(super) fn recipe<'a, S>(search: &Search<'a, S>, entry: &Entry) -> &'a Recipe {
    if entry.author == 0 { &search.weights.agent } else { &search.weights.conversation }
}

/// Returns how much one entry of a window counts in it.
fn nearness(recipe: &Recipe, other: Option<&Entry>, at: usize, own: usize) -> f64 {
    let Some(other) = other else { return 0.0 };
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
