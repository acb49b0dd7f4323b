//! Merges the bytes of a piece into tokens: always the two neighbours whose token has the lowest rank, the leftmost of
//! equals. Not splitting.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::vocabulary::{NO_RANK, Rank, Vocabulary};

/// Pieces up to this length look at all their pairs for each merge, which is quicker than a heap for so few.
const SHORT_BYTES: usize = 64;

/// How much of a long piece merges at a time. The parts of a window stay in the cache of a processor core.
const WINDOW: Window = Window { bytes: 16 << 10, overlap: 1 << 10 };

/// The longest piece that merges as one, where windows do not do; a longer one is cut. A cut changes a count by a token or two
/// in millions.
const LONG_BYTES_MAX: usize = 1 << 24;

/// How a long piece is cut into windows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// Bytes of a window; more than twice the overlap and the longest token.
    pub(crate) bytes: usize,
    /// Bytes at the end of a window that merge again in the next, with what follows them.
    pub(crate) overlap: usize,
}

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
        self.windows(piece, WINDOW)
            .unwrap_or_else(|| piece.chunks(LONG_BYTES_MAX).map(|part| self.ends(part).len()).sum())
    }

    /// Counts window by window; `None` where two neighbouring windows have no token in common.
    ///
    /// The count is that of the whole piece, by this: tokens are a piece's own exactly if each two neighbours among them are
    /// what their bytes alone would merge to. (A merge across the border of two neighbours depends on their bytes only: if it
    /// comes first among all, it comes first among theirs.) So any run of a window's tokens may follow each other. A window
    /// begins where a token of the one before it ends, and merges the tokens behind that again. From the first token that both
    /// have on, the later window's tokens stand: its left neighbour is one that the earlier window had there, and its right
    /// neighbour one that the later has.
    pub(crate) fn windows(&mut self, piece: &[u8], window: Window) -> Option<usize> {
        let mut count = 0;
        // Where the first of the tokens begins that are still open, and where each of them ends.
        let mut start = 0;
        let mut end = piece.len().min(window.bytes);
        let mut ends = self.ends(piece.get(..end)?);
        while end < piece.len() {
            let is_sure = |token: &&u32| **token as usize + start + window.overlap <= end;
            let sure = ends.iter().take_while(is_sure).count();
            let begins = start + *ends.get(sure.checked_sub(1)?)? as usize;
            end = piece.len().min(begins + window.bytes);
            let next = self.ends(piece.get(begins..end)?);
            let again = ends.get(sure..)?.iter().map(|at| *at as usize + start - begins);
            let (earlier, later) = shared(again, &next)?;
            count += sure + earlier + 1;
            let open = *next.get(later)?;
            start = begins + open as usize;
            ends = next.get(later + 1..)?.iter().map(|at| at - open).collect();
        }
        Some(count + ends.len())
    }

    #[inline]
    fn rank(&mut self, bytes: &[u8]) -> Rank {
        self.steps += 1;
        self.vocabulary.rank(bytes)
    }

    pub(crate) fn short(&mut self, piece: &[u8]) -> usize {
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

    /// Merges all of a piece and returns where its tokens end. A linked list of parts and a heap of pairs: each merge makes at
    /// most two new pairs, so that a piece of n bytes takes at most 3 n lookups and as many heap operations.
    pub(crate) fn ends(&mut self, piece: &[u8]) -> Vec<u32> {
        let mut parts = Parts::new(piece.len());
        let first: Vec<Pair> =
            (0..parts.list.len()).filter_map(|left| self.pair(piece, &mut parts, left)).collect();
        let mut heap = BinaryHeap::from(first);
        while let Some(Reverse(pair)) = heap.pop() {
            self.steps += 1;
            let (rank, left) = (pair.0, pair.1 as usize);
            // A pair whose parts have merged with others since is no longer there.
            if parts.list[left].rank != rank {
                continue;
            }
            parts.join(left);
            heap.extend(self.pair(piece, &mut parts, left));
            if left > 0 {
                let before = parts.list[left].before as usize;
                heap.extend(self.pair(piece, &mut parts, before));
            }
        }
        std::iter::successors(parts.list.first(), |part| parts.list.get(part.end as usize))
            .map(|part| part.end)
            .collect()
    }

    /// Looks up the token that the part at `left` and the next would be, and returns the pair to merge if there is one.
    fn pair(&mut self, piece: &[u8], parts: &mut Parts, left: usize) -> Option<Pair> {
        let rank = parts.pair_end(left).map_or(NO_RANK, |end| self.rank(&piece[left..end]));
        parts.list[left].rank = rank;
        (rank != NO_RANK).then(|| Reverse((rank, place(left))))
    }
}

/// Returns the first token that two lists have in common, by its number in each. Both lists say where tokens end that begin at
/// the same place.
fn shared(earlier: impl Iterator<Item = usize>, later: &[u32]) -> Option<(usize, usize)> {
    let mut later = later.iter().map(|at| *at as usize).enumerate().peekable();
    let mut begin = 0;
    let mut later_begin = 0;
    for (number, end) in earlier.enumerate() {
        while let Some((_, behind)) = later.next_if(|(_, at)| *at < end) {
            later_begin = behind;
        }
        let (other, other_end) = *later.peek()?;
        if other_end == end && later_begin == begin {
            return Some((number, other));
        }
        begin = end;
    }
    None
}

/// The rank of two parts as one token and where the left one begins: the order in which pairs merge. Reversed because
/// the heap gives the highest first.
type Pair = Reverse<(Rank, u32)>;

/// Returns a place in a piece as it is kept: half as long.
fn place(at: usize) -> u32 {
    u32::try_from(at).expect("a piece is cut at `LONG_BYTES_MAX`")
}

/// The parts of a piece, each named by where it begins.
struct Parts {
    list: Vec<Part>,
}

/// Kept together and small: a long piece is read all over, and each part would miss the cache three times.
struct Part {
    /// Where the part ends, which is where the next begins.
    end: u32,
    /// Where the part before begins; for the first, its own beginning.
    before: u32,
    /// The rank of the part and the next as one token.
    rank: Rank,
}

impl Parts {
    fn new(bytes: usize) -> Self {
        let part = |at: u32| Part { end: at + 1, before: at.saturating_sub(1), rank: NO_RANK };
        Self { list: (0..place(bytes)).map(part).collect() }
    }

    fn pair_end(&self, left: usize) -> Option<usize> {
        self.list.get(self.list[left].end as usize).map(|right| right.end as usize)
    }

    /// Joins a part with the one behind it, whose own pair is gone by that.
    fn join(&mut self, left: usize) {
        let right = self.list[left].end as usize;
        let end = self.list[right].end;
        self.list[left].end = end;
        self.list[right].rank = NO_RANK;
        if let Some(behind) = self.list.get_mut(end as usize) {
            behind.before = place(left);
        }
    }
}
