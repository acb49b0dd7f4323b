//! Maps by the keys of records, which are looked up more often than anything else in a context.
//!
//! Keys are foreign, so which of them share a place in a map must not be known beforehand. The standard library's hasher
//! sees to that for texts of any length; for two numbers a multiplication each with secret factors is enough: of two keys
//! the chance to collide is that of two random ones (multiply-shift hashing, Dietzfelbinger 1996).

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::row::Key;

/// What is known of records, by their keys.
pub(super) type ByKey<T> = HashMap<Key, T, Factors>;

/// The secret factors of a map.
#[derive(Debug, Clone)]
pub(super) struct Factors([u128; 2]);

impl Default for Factors {
    fn default() -> Self {
        let random = RandomState::new();
        let factor = |number: u64| {
            u128::from(random.hash_one(number)) << 64 | u128::from(random.hash_one(!number)) | 1
        };
        Self([factor(0), factor(1)])
    }
}

impl BuildHasher for Factors {
    type Hasher = KeyHasher;

    fn build_hasher(&self) -> KeyHasher {
        KeyHasher { factors: self.0, sum: 0 }
    }
}

/// Hashes one key.
#[derive(Debug)]
pub(super) struct KeyHasher {
    factors: [u128; 2],
    sum: u128,
}

impl Hasher for KeyHasher {
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
