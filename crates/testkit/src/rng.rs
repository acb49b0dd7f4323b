//! A small deterministic random number generator.
//! Not for secrets: the same seed gives the same numbers on every machine, for ever.

/// Draws numbers from a seed (splitmix64).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng(u64);

/// Digits of the base-58 alphabet that message and tool ids use after their prefix.
const ID_DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Digits of base64, for signatures and ciphertext.
const BASE64_DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

impl Rng {
    /// Starts a sequence.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Starts a sequence of its own for a named purpose, so that drawing more of one thing does not
    /// change another.
    #[must_use]
    pub fn fork(&mut self, purpose: u64) -> Self {
        Self(self.next_u64() ^ purpose.wrapping_mul(0xA076_1D64_78BD_642F))
    }

    /// Draws 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Draws a number from `low` to `high`, both included; `low` when the range is empty.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        let width = high.saturating_sub(low).saturating_add(1);
        low + self.next_u64() % width
    }

    /// Draws an index below `length`; 0 for an empty range.
    pub fn index(&mut self, length: usize) -> usize {
        let bound = u64::try_from(length.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.next_u64() % bound).unwrap_or(0)
    }

    /// Returns true in about `percent` of a hundred draws.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.next_u64() % 100 < percent
    }

    /// Draws one of the items.
    ///
    /// # Panics
    /// When there are none.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.index(items.len())]
    }

    /// Draws a random UUID (version 4) in its usual text form.
    pub fn uuid(&mut self) -> String {
        let high = self.next_u64();
        let low = self.next_u64();
        format!(
            "{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            8 + (low >> 62),
            (low >> 48) & 0xfff,
            low & 0xffff_ffff_ffff
        )
    }

    /// Draws so many hexadecimal digits.
    pub fn hex(&mut self, digits: usize) -> String {
        self.digits(HEX_DIGITS, digits)
    }

    /// Draws so many characters as they stand in `toolu_…`, `msg_…` and `req_…` ids.
    pub fn id(&mut self, digits: usize) -> String {
        self.digits(ID_DIGITS, digits)
    }

    /// Draws so many base64 characters.
    pub fn base64(&mut self, digits: usize) -> String {
        self.digits(BASE64_DIGITS, digits)
    }

    fn digits(&mut self, alphabet: &[u8], count: usize) -> String {
        (0..count).map(|_| char::from(alphabet[self.index(alphabet.len())])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_numbers() {
        let mut rng = Rng::new(7);
        let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        // The published first outputs of splitmix64 for seed 7.
        assert_eq!(first, [7_191_089_600_892_374_487, 309_689_372_594_955_804, 16_616_101_746_815_609_346]);
    }

    #[test]
    fn uuids_have_their_shape() {
        let mut rng = Rng::new(1);
        for _ in 0..100 {
            let uuid = rng.uuid();
            assert_eq!(uuid.len(), 36);
            assert_eq!(uuid.matches('-').count(), 4);
            assert_eq!(uuid.as_bytes()[14], b'4');
            assert!(b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
        }
    }
}
