//! A vocabulary: the tokens of an encoding, found by their bytes.
//! Not the rules that split a text or merge its parts.

/// The rank of a token; a lower rank merges first.
pub(crate) type Rank = u32;

/// No token has these bytes. Higher than every rank.
pub(crate) const NO_RANK: Rank = Rank::MAX;

/// Bits of a slot that hold a rank; the others hold a tag of the hash, so that bytes that are no token are told
/// without a second read from memory.
const RANK_BITS: u32 = 18;
const RANK_MASK: u32 = (1 << RANK_BITS) - 1;

/// An empty slot: its rank would be the highest that fits, which no token has.
const EMPTY: u32 = u32::MAX;

/// An open-addressed table from bytes to ranks. Its own hash: the keys are public, and `SipHash` takes longer than
/// the rest of a lookup.
pub(crate) struct Vocabulary {
    bytes: Vec<u8>,
    starts: Vec<u32>,
    slots: Vec<u32>,
    shift: u32,
    longest: usize,
}

impl Vocabulary {
    /// Reads what `cargo xtask vocabulary` packed: the number of tokens, their lengths, their bytes. `None` where the
    /// bytes are something else.
    pub(crate) fn unpack(packed: &[u8], bytes_max: usize) -> Option<Self> {
        let plain = zstd::bulk::decompress(packed, bytes_max).ok()?;
        let (count, rest) = plain.split_first_chunk::<4>()?;
        let count = usize::try_from(u32::from_le_bytes(*count)).ok()?;
        let (lengths, bytes) = rest.split_at_checked(count)?;
        let mut starts = Vec::with_capacity(count + 1);
        let mut end = 0_u32;
        starts.push(end);
        for length in lengths {
            end += u32::from(*length);
            starts.push(end);
        }
        let fits = usize::try_from(end) == Ok(bytes.len()) && count < usize::try_from(RANK_MASK).ok()?;
        let longest = usize::from(*lengths.iter().max()?);
        // At most half full, so that a search ends after a slot or two.
        let bits = (count * 2).next_power_of_two().trailing_zeros();
        let mut table =
            Self { bytes: bytes.to_vec(), starts, slots: vec![EMPTY; 1 << bits], shift: 64 - bits, longest };
        for rank in 0..u32::try_from(count).ok()? {
            table.insert(rank);
        }
        fits.then_some(table)
    }

    /// Returns how many tokens there are.
    #[cfg(test)]
    pub(crate) const fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the bytes of the token with a rank below `len`.
    pub(crate) fn token(&self, rank: Rank) -> &[u8] {
        let rank = rank as usize;
        &self.bytes[self.starts[rank] as usize..self.starts[rank + 1] as usize]
    }

    /// Returns the rank of the token with these bytes, or `NO_RANK`.
    #[inline]
    pub(crate) fn rank(&self, bytes: &[u8]) -> Rank {
        if bytes.len() > self.longest {
            return NO_RANK;
        }
        let hash = hash(bytes);
        let tag = tag(hash);
        let mut slot = self.slot(hash);
        loop {
            let held = self.slots[slot];
            if held == EMPTY {
                return NO_RANK;
            }
            if held & !RANK_MASK == tag && self.token(held & RANK_MASK) == bytes {
                return held & RANK_MASK;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    fn insert(&mut self, rank: Rank) {
        let hash = hash(self.token(rank));
        let mut slot = self.slot(hash);
        while self.slots[slot] != EMPTY {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = tag(hash) | rank;
    }

    #[expect(clippy::cast_possible_truncation, reason = "the shift leaves as many bits as the table has")]
    const fn slot(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }
}

/// Returns the bits of a hash that a slot keeps: low ones, since the high ones choose the slot.
#[expect(clippy::cast_possible_truncation, reason = "the bits above are not wanted")]
const fn tag(hash: u64) -> u32 {
    (hash as u32) << RANK_BITS
}

/// Mixes eight bytes at a time by multiplication; the last step brings the high bits, which are the good ones, down.
#[inline]
fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = bytes.len() as u64;
    let mut rest = bytes;
    while let Some((word, tail)) = rest.split_first_chunk::<8>() {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR).rotate_left(29);
        rest = tail;
    }
    hash = (hash ^ tail_word(rest)).wrapping_mul(FACTOR);
    (hash ^ (hash >> 32)).wrapping_mul(FACTOR)
}

/// Returns up to seven bytes as one word, without a loop: most tokens are that short.
#[inline]
fn tail_word(rest: &[u8]) -> u64 {
    match (rest.first_chunk::<4>(), rest.last_chunk::<4>(), rest) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        (_, _, [first, .., last]) => {
            u64::from(*first) << 16 | u64::from(rest[rest.len() / 2]) << 8 | u64::from(*last)
        }
        (_, _, [only]) => u64::from(*only),
        _ => 0,
    }
}
