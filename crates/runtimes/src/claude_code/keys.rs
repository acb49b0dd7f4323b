//! Maps by the keys of records, which are looked up more often than anything else in a context.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::row::Key;

/// What is known of records, by their keys.
pub(super) type ByKey<T> = HashMap<Key, T, Factors>;

/// Hashes the two halves of a key, each times a secret factor, for keys are foreign: two of them collide as seldom as random
/// ones do (multiply-shift hashing). The standard library's hasher takes texts of any length, and several times as long.
#[derive(Debug, Clone)]
pub(super) struct Factors {
    factors: [u128; 2],
    sum: u128,
}

impl Default for Factors {
    fn default() -> Self {
        let random = RandomState::new();
        let half = |number: u64| u128::from(random.hash_one(number));
        Self { factors: [half(0) << 64 | half(1), half(2) << 64 | half(3)], sum: 0 }
    }
}

impl BuildHasher for Factors {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        self.clone()
    }
}

impl Hasher for Factors {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, half: u64) {
        self.factors.swap(0, 1);
        let [_, factor] = self.factors;
        self.sum = self.sum.wrapping_add(factor.wrapping_mul(u128::from(half)));
    }

    fn finish(&self) -> u64 {
        u64::try_from(self.sum >> 64).unwrap_or_default()
    }
}
