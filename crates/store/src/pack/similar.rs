//! How alike two blocks are, without comparing them: samples of their bytes, chosen by the bytes themselves.
//!
//! What is done about it is the backend's.

use std::collections::HashSet;

use super::bounds::BASES_MAX;

/// Bytes of a sample: longer than most of what all records of a format share, shorter than what a copy keeps
/// between two ids that were replaced.
const WINDOW: usize = 32;

/// A window is a sample where so many highest bits of its hash are zero: one in 512.
const SAMPLE_BITS: u32 = 9;

/// An odd number whose powers spread a byte over all bits.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// What [`WINDOW`] steps multiply the first byte with.
const FACTOR_LAST: u64 = power(WINDOW);

/// Samples that a block has to share with its bases at least: fewer are chance, and boilerplate.
const SHARED_MIN: usize = 16;

/// A base is worth decoding where it holds at least one in so many of a block's samples.
const SHARE_MIN: usize = 20;

/// Bytes of the bases of one block together at most: they are decoded for each read of it.
const CHOSEN_BYTES_MAX: usize = 8 * 1024 * 1024;

const fn power(times: usize) -> u64 {
    let mut value = 1_u64;
    let mut step = 0;
    while step < times {
        value = value.wrapping_mul(FACTOR);
        step += 1;
    }
    value
}

/// The samples of a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(HashSet<u64>);

impl Samples {
    /// Takes the samples of some bytes: the same window is a sample wherever it stands.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut samples = HashSet::new();
        let mut hash = 0_u64;
        // One is added so that runs of zeros have a hash that changes too.
        let value = |byte: u8| u64::from(byte) + 1;
        for byte in bytes.iter().take(WINDOW) {
            hash = hash.wrapping_mul(FACTOR).wrapping_add(value(*byte));
        }
        for (old, new) in bytes.iter().zip(bytes.iter().skip(WINDOW)) {
            let mixed = hash ^ (hash >> 29);
            if mixed.wrapping_mul(FACTOR) >> (64 - SAMPLE_BITS) == 0 {
                samples.insert(mixed);
            }
            hash = hash
                .wrapping_mul(FACTOR)
                .wrapping_add(value(*new))
                .wrapping_sub(value(*old).wrapping_mul(FACTOR_LAST));
        }
        Self(samples)
    }
}

/// A block that another could lean on.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) samples: Samples,
    pub(crate) bytes: usize,
}

/// Chooses the few candidates that hold most of a block's samples, and returns their places, ascending; none
/// where it would not pay.
pub(crate) fn choose(block: &Samples, candidates: &[Candidate]) -> Vec<usize> {
    let mut left: HashSet<u64> = block.0.clone();
    let mut chosen = Vec::new();
    let mut bytes = 0;
    let least = SHARED_MIN.max(block.0.len() / SHARE_MIN);
    while chosen.len() < BASES_MAX {
        let gain = |candidate: &Candidate| candidate.samples.0.intersection(&left).count();
        let best = candidates
            .iter()
            .enumerate()
            .filter(|(place, candidate)| {
                !chosen.contains(place) && bytes + candidate.bytes <= CHOSEN_BYTES_MAX
            })
            // Of two that are as good the earlier one, so that the choice does not depend on chance.
            .map(|(place, candidate)| (gain(candidate), std::cmp::Reverse(place)))
            .max();
        let Some((gain, std::cmp::Reverse(place))) = best.filter(|(gain, _)| *gain >= least) else {
            break;
        };
        let Some(candidate) = candidates.get(place).filter(|_| gain > 0) else {
            break;
        };
        left.retain(|sample| !candidate.samples.0.contains(sample));
        bytes += candidate.bytes;
        chosen.push(place);
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut state = seed.wrapping_mul(2) + 1;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_le_bytes()[7]
        })
        .take(length)
        .collect()
    }

    proptest! {
        #[test]
        fn samples_do_not_depend_on_where_bytes_stand(before in 0..500_usize, after in 0..500_usize) {
            let body = noise(1, 60_000);
            let moved = [noise(2, before), body.clone(), noise(3, after)].concat();
            let (alone, within) = (Samples::of(&body), Samples::of(&moved));
            let lost = alone.0.difference(&within.0).count();
            prop_assert!(lost <= 1 && !alone.0.is_empty(), "{lost} of {}", alone.0.len());
        }

        #[test]
        fn what_is_chosen_is_there_and_small(sizes in proptest::collection::vec(0..3_000_000_usize, 0..12), shared in 0..40_000_usize) {
            let body = noise(1, 60_000);
            let candidates: Vec<Candidate> = sizes.iter().map(|bytes| Candidate {
                samples: Samples::of(body.get(..shared.max(*bytes / 80).min(60_000)).expect("within")),
                bytes: *bytes,
            }).collect();
            let chosen = choose(&Samples::of(&body), &candidates);
            let bytes: usize = chosen.iter().map(|place| candidates[*place].bytes).sum();
            prop_assert!(bytes <= CHOSEN_BYTES_MAX && chosen.len() <= BASES_MAX);
            prop_assert!(chosen.is_sorted());
        }
    }

    #[test]
    fn the_block_that_was_copied_is_chosen_and_others_are_not() {
        let blocks: Vec<Vec<u8>> = (0..6).map(|seed| noise(seed, 200_000)).collect();
        let candidates: Vec<Candidate> = blocks
            .iter()
            .map(|block| Candidate { samples: Samples::of(block), bytes: block.len() })
            .collect();
        // Every 300 bytes something else stands, as an id of another session does.
        let mut copy = [&blocks[2][100_000..], &blocks[4][..100_000]].concat();
        for (number, byte) in copy.iter_mut().enumerate() {
            if number % 300 < 36 {
                *byte = 7;
            }
        }
        assert_eq!(choose(&Samples::of(&copy), &candidates), [2, 4]);
        assert_eq!(choose(&Samples::of(&noise(99, 200_000)), &candidates), [] as [usize; 0]);
        assert_eq!(choose(&Samples::of(b"short"), &candidates), [] as [usize; 0]);
    }
}
