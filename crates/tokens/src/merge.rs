//! Merges the bytes of a piece into tokens: always the two neighbours whose token has the lowest rank, the leftmost of
//! equals. Not splitting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::vocabulary::{NO_RANK, Rank, Vocabulary};

/// Pieces up to this length look at all their pairs for each merge, which is quicker than a heap for so few.
const SHORT_BYTES: usize = 64;

/// The longest piece that merges as one; a longer one is cut. A cut changes a count by a token or two in millions.
const LONG_BYTES_MAX: usize = 1 << 24;

/// Counts the tokens of pieces, and the steps that it takes.
pub(crate) struct Merger<'a> {
    vocabulary: &'a Vocabulary,
    /// Lookups, comparisons and heap operations: what the law about hostile texts counts.
    steps: u64,
}

impl<'a> Merger<'a> {
    pub(crate) const fn new(vocabulary: &'a Vocabulary) -> Self {
        Self { vocabulary, steps: 0 }
    }

    /// Returns how many steps were taken so far.
    pub(crate) const fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the number of tokens of a piece.
    #[inline]
    pub(crate) fn count(&mut self, piece: &[u8]) -> usize {
        if piece.len() < 2 || self.rank(piece) != NO_RANK {
            return piece.len().min(1);
        }
        if piece.len() <= SHORT_BYTES {
            return self.short(piece);
        }
        piece.chunks(LONG_BYTES_MAX).map(|part| self.long(part)).sum()
    }

    #[inline]
    fn rank(&mut self, bytes: &[u8]) -> Rank {
        self.steps += 1;
        self.vocabulary.rank(bytes)
    }

    fn short(&mut self, piece: &[u8]) -> usize {
        // Part `i` is `piece[starts[i]..starts[i + 1]]`; `ranks[i]` is the rank of parts `i` and `i + 1` as one token.
        let mut starts: [u8; SHORT_BYTES + 1] = std::array::from_fn(|at| u8::try_from(at).unwrap_or(u8::MAX));
        let mut ranks = [NO_RANK; SHORT_BYTES];
        let mut parts = piece.len();
        for (rank, pair) in ranks.iter_mut().zip(piece.windows(2)) {
            *rank = self.rank(pair);
        }
        loop {
            let pairs = parts - 1;
            self.steps += pairs as u64;
            let lowest = ranks[..pairs].iter().enumerate().min_by_key(|(_, rank)| **rank);
            let Some((at, _)) = lowest.filter(|(_, rank)| **rank != NO_RANK) else { return parts };
            starts.copy_within(at + 2..=parts, at + 1);
            ranks.copy_within(at + 1..pairs, at);
            parts -= 1;
            for left in at.saturating_sub(1)..(at + 1).min(parts - 1) {
                ranks[left] = self.rank(&piece[usize::from(starts[left])..usize::from(starts[left + 2])]);
            }
        }
    }

    /// A linked list of parts and a heap of pairs: each merge makes at most two new pairs, so that a piece of n bytes
    /// takes at most 3 n lookups and as many heap operations.
    fn long(&mut self, piece: &[u8]) -> usize {
        let mut list = Parts::new(piece.len());
        let mut heap = BinaryHeap::with_capacity(piece.len());
        for left in 0..piece.len().saturating_sub(1) {
            self.pair(piece, &mut list, left, &mut heap);
        }
        let mut parts = piece.len();
        while let Some(Reverse((rank, left))) = heap.pop() {
            self.steps += 1;
            // A pair whose parts have merged with others since is no longer there.
            if list.ranks[left] != rank {
                continue;
            }
            list.join(left);
            parts -= 1;
            self.pair(piece, &mut list, left, &mut heap);
            if let Some(before) = list.before(left) {
                self.pair(piece, &mut list, before, &mut heap);
            }
        }
        parts
    }

    /// Looks up the pair that begins with the part at `left`.
    fn pair(&mut self, piece: &[u8], list: &mut Parts, left: usize, heap: &mut BinaryHeap<Reverse<(Rank, usize)>>) {
        let rank = list.pair_end(left).map_or(NO_RANK, |end| self.rank(&piece[left..end]));
        list.ranks[left] = rank;
        if rank != NO_RANK {
            self.steps += 1;
            heap.push(Reverse((rank, left)));
        }
    }
}

/// The parts of a piece, each named by where it begins.
struct Parts {
    /// Where the part ends, which is where the next begins.
    ends: Vec<usize>,
    /// Where the part before begins; its own place for the first.
    befores: Vec<usize>,
    /// The rank of the part and the next as one token.
    ranks: Vec<Rank>,
}

impl Parts {
    fn new(bytes: usize) -> Self {
        Self {
            ends: (1..=bytes).collect(),
            befores: (0..bytes).map(|at| at.saturating_sub(1)).collect(),
            ranks: vec![NO_RANK; bytes],
        }
    }

    fn pair_end(&self, left: usize) -> Option<usize> {
        self.ends.get(self.ends[left]).copied()
    }

    fn before(&self, left: usize) -> Option<usize> {
        (left > 0).then(|| self.befores[left])
    }

    /// Joins a part with the one behind it, whose own pair is gone by that.
    fn join(&mut self, left: usize) {
        let right = self.ends[left];
        let end = self.ends[right];
        self.ends[left] = end;
        self.ranks[right] = NO_RANK;
        if let Some(before) = self.befores.get_mut(end) {
            *before = left;
        }
    }
}
