//! The newest entries that a scope admits: what a search without words lists.
//!
//! Ranking by words is `run`'s.

use super::filter::{Filter, may_admit};
use super::query::Query;
use super::ranked::{Scored, Search};
use super::source::Segment;

/// Entries that are collected before the oldest of them are dropped, unless more are wanted.
const COLLECTED_MIN: usize = 4_096;

/// An entry in the order of the list: the newest first, then by key, since numbers decide nothing.
type Listed = (std::cmp::Reverse<u32>, u64, u32);

/// Returns the newest entries that the scope admits and that hold all terms which the query requires, the newest first. Entries
/// without a time come last.
///
/// # Errors
/// What the segments return.
pub fn newest<S: Segment>(
    search: &Search<'_, S>,
    query: &Query,
    hits_max: usize,
) -> Result<Vec<Scored>, S::Error> {
    let collected_max = hits_max.saturating_mul(2).max(COLLECTED_MIN);
    let mut listed: Vec<Listed> = Vec::new();
    for segment in search.segments {
        if !may_admit(search, segment) {
            continue;
        }
        let filter = Filter::of(search, segment, query)?;
        let (minutes, keys) = (segment.minutes()?, segment.keys()?);
        for ((at, minute), key) in (0..segment.span()).zip(minutes).zip(keys) {
            if filter.admits(at) {
                let minute = search.scope.ranked_minute(*minute);
                listed.push((std::cmp::Reverse(minute), *key, segment.base() + at));
            }
            if listed.len() >= collected_max {
                keep_newest(&mut listed, hits_max);
            }
        }
    }
    keep_newest(&mut listed, hits_max);
    Ok(listed
        .into_iter()
        .map(|(std::cmp::Reverse(minute), key, number)| Scored {
            number,
            key,
            minute,
            score: 1.0,
            reasons: Vec::new(),
        })
        .collect())
}

fn keep_newest(listed: &mut Vec<Listed>, hits_max: usize) {
    listed.sort_unstable();
    listed.truncate(hits_max);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::query::{QueryInput, parse_query};
    use super::super::run::search;
    use super::super::{
        ClassMask, MemoryEntry, MemorySegment, Scope, Statistics, Terms, Wanted, Weights, entry_terms, kinds,
    };
    use super::*;

    const NOW: u32 = 1_000_000;

    fn entries(minutes: &[u32]) -> Vec<MemoryEntry> {
        let entry = |(at, minute): (usize, &u32)| {
            let Terms { terms, length, .. } =
                entry_terms(if at % 2 == 0 { "kiln and glaze" } else { "kiln" });
            let group = u32::try_from(at / 3).expect("few entries");
            let class = ClassMask::of(stemmata_model::Role::User, kinds::MESSAGE);
            MemoryEntry { key: at as u64, terms, length, class, marks: 0, minute: *minute, author: 0, group }
        };
        minutes.iter().enumerate().map(entry).collect()
    }

    fn over<'a>(segments: &'a [MemorySegment], scope: Scope<'a>) -> Search<'a, MemorySegment> {
        let statistics =
            segments.iter().map(MemorySegment::statistics).fold(Statistics::default(), |all, one| {
                Statistics { entries: all.entries + one.entries, length: all.length + one.length }
            });
        Search { segments, statistics, scope, weights: &Weights::MEASURED }
    }

    proptest! {
        #[test]
        fn the_list_is_everything_in_the_order_of_time(
            minutes in proptest::collection::vec(0..60_u32, 1..200), size in 1..60_usize, wanted in 1..40_usize,
            since_minute in 0..40_u32, until_minute in prop_oneof![Just(u32::MAX), 20..60_u32],
        ) {
            let all = entries(&minutes);
            let cut = all.chunks(size).scan(0_u32, |base, chunk| {
                let segment = MemorySegment::of(*base, chunk);
                *base += u32::try_from(chunk.len()).expect("few");
                Some(segment)
            });
            let segments: Vec<MemorySegment> = cut.collect();
            let scope = Scope { since_minute, until_minute, ..Scope::ALL };
            let found = newest(&over(&segments, scope), &Query::default(), wanted).expect("memory does not fail");
            let mut expected: Vec<(std::cmp::Reverse<u32>, u64)> = all
                .iter()
                .filter(|entry| scope.admits_minute(entry.minute))
                .map(|entry| (std::cmp::Reverse(entry.minute), entry.key))
                .collect();
            expected.sort_unstable();
            expected.truncate(wanted);
            let found: Vec<_> = found.iter().map(|hit| (std::cmp::Reverse(hit.minute), hit.key)).collect();
            prop_assert_eq!(found, expected);
        }

        /// One wrong clock must not make everything else old.
        #[test]
        fn an_entry_from_the_future_counts_as_one_without_a_time(
            minutes in proptest::collection::vec(NOW - 100_000..NOW, 2..40), wrong in 0..40_usize,
            ahead in prop_oneof![2_000..9_000_u32, Just(u32::MAX - NOW)],
        ) {
            let wrong = wrong % minutes.len();
            let scored = |minute: u32| {
                let mut minutes = minutes.clone();
                minutes[wrong] = minute;
                let whole = [MemorySegment::of(0, &entries(&minutes))];
                let scope = Scope { now_minute: NOW, ..Scope::ALL };
                let query = parse_query(&QueryInput { text: "glaze", participants: &[] }).expect("a query");
                let over = over(&whole, scope);
                let found = search(&over, &whole[0], &query, Wanted::hits(50)).expect("memory does not fail");
                (found, newest(&over, &Query::default(), 50).expect("memory does not fail"))
            };
            prop_assert_eq!(scored(NOW + ahead), scored(0));
            // Clocks differ a little.
            prop_assert_eq!(scored(NOW + 5), scored(NOW));
        }
    }
}
