//! The checksum of SQLite's log, and the one flipped bit that explains a wrong one.
//!
//! It is a sum over pairs of words: what one word changes in the outcome depends only on where it stands. So all words
//! can be tried in one pass.

/// In which order checksums take the bytes of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    LowestFirst,
    HighestFirst,
}

impl Order {
    /// Reads the four bytes that something begins with; 0 where there are not so many.
    pub(super) fn word(self, bytes: &[u8]) -> u32 {
        let four = bytes.first_chunk::<4>().copied().unwrap_or_default();
        match self {
            Self::LowestFirst => u32::from_le_bytes(four),
            Self::HighestFirst => u32::from_be_bytes(four),
        }
    }
}

/// A checksum: two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sums(pub(super) u32, pub(super) u32);

impl Sums {
    /// Returns the checksum that goes on over some bytes, each run of them a multiple of eight.
    pub(super) fn after(self, order: Order, runs: &[&[u8]]) -> Self {
        let Self(mut low, mut high) = self;
        for pair in runs.iter().flat_map(|run| run.chunks_exact(8)) {
            let (first, second) = pair.split_at(4);
            low = low.wrapping_add(order.word(first)).wrapping_add(high);
            high = high.wrapping_add(order.word(second)).wrapping_add(low);
        }
        Self(low, high)
    }

    /// What a difference becomes by one more pair of words.
    const fn one_further(self) -> Self {
        let low = self.0.wrapping_add(self.1);
        Self(low, self.1.wrapping_add(low))
    }
}

/// A word with one flipped bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flipped {
    /// Its number among the words that are summed.
    pub(super) word: usize,
    /// What it was.
    pub(super) right: u32,
}

/// Finds the words of which one bit may have been flipped, where that explains why some bytes have one checksum and
/// should have another. Several are rare but for the highest bit of a word, which says little about its place.
pub(super) fn flipped_words(order: Order, (has, should): (Sums, Sums), runs: &[&[u8]]) -> Vec<Flipped> {
    let wanted = Sums(should.0.wrapping_sub(has.0), should.1.wrapping_sub(has.1));
    let words: Vec<u32> =
        runs.iter().flat_map(|run| run.chunks_exact(4)).map(|four| order.word(four)).collect();
    // What one more in the first and in the second word of a pair makes of the outcome; of the last pair at first.
    let (mut first, mut second) = (Sums(1, 1), Sums(0, 1));
    let mut found = Vec::new();
    for (pair, values) in words.chunks_exact(2).enumerate().rev() {
        for (place, (value, weight)) in values.iter().zip([first, second]).enumerate() {
            for bit in (0..u32::BITS).map(|bit| 1_u32 << bit) {
                // Turning a bit back adds its worth where it is 0 now, and takes it away where it is 1.
                let change = if value & bit == 0 { bit } else { bit.wrapping_neg() };
                if Sums(weight.0.wrapping_mul(change), weight.1.wrapping_mul(change)) == wanted {
                    found.push(Flipped { word: pair * 2 + place, right: value ^ bit });
                }
            }
        }
        first = first.one_further();
        second = second.one_further();
    }
    found
}
