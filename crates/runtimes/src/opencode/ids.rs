//! Ids as opencode makes them: sorted, they are in the order in which they were made; a session's are in the reverse.

use stemmata_model::Timestamp;

/// Ids that one millisecond has room for.
const PER_MILLISECOND: u64 = 4_096;

/// The bits of a moment that an id holds.
const MASK: u64 = (1 << 48) - 1;

const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Makes ids one after the other.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    seed: [u8; 32],
    next: u64,
}

impl Ids {
    /// Begins at a moment; the same seed gives the same ids.
    pub(super) fn new(seed: [u8; 32], at: Timestamp) -> Self {
        Self { seed, next: moment(at) }
    }

    /// Returns the next id of a kind, as in `msg`.
    pub(super) fn next(&mut self, kind: &str) -> String {
        let number = self.next;
        self.next += 1;
        let random = random(&self.seed, number);
        format!("{kind}_{:012x}{random}", number & MASK)
    }
}

/// Returns the id of a session that begins at a moment.
pub(super) fn session(drawn: &str, at: Timestamp) -> String {
    let seed = blake3::derive_key("stemmata.opencode.session.v1", drawn.as_bytes());
    format!("ses_{:012x}{}", !moment(at) & MASK, random(&seed, 0))
}

fn moment(at: Timestamp) -> u64 {
    u64::try_from(at.as_micros() / 1_000).unwrap_or(0).wrapping_mul(PER_MILLISECOND)
}

fn random(seed: &[u8; 32], number: u64) -> String {
    let hash = blake3::keyed_hash(seed, &number.to_le_bytes());
    let letters = hash.as_bytes().iter().take(14);
    letters.map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()])).collect()
}
