//! What is kept in memory of packs: decoded blocks and open files, both bounded.
//!
//! A pack never changes, and its name is its hash, so that nothing here is ever out of date.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use crate::files::OpenFile;
use crate::pack::PackName;

/// Bytes of decoded blocks that are kept at most.
const BLOCKS_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Files that are kept open at most.
const HANDLES_MAX: usize = 16;

/// Things with a weight; those used longest ago go first.
struct Lately<K, V> {
    weight_max: usize,
    weight: usize,
    clock: u64,
    entries: HashMap<K, Entry<V>>,
}

struct Entry<V> {
    value: V,
    weight: usize,
    used: u64,
}

impl<K: Eq + Hash + Copy, V: Clone> Lately<K, V> {
    fn new(weight_max: usize) -> Self {
        Self { weight_max, weight: 0, clock: 0, entries: HashMap::new() }
    }

    fn get(&mut self, key: &K) -> Option<V> {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        Some(entry.value.clone())
    }

    fn put(&mut self, key: K, value: V, weight: usize) {
        if weight > self.weight_max {
            return;
        }
        self.clock += 1;
        let old = self.entries.insert(key, Entry { value, weight, used: self.clock });
        self.weight = self.weight + weight - old.map_or(0, |old| old.weight);
        while self.weight > self.weight_max {
            let Some(oldest) = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key)
            else {
                return;
            };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.entries.remove(key) {
            self.weight -= entry.weight;
        }
    }
}

/// A block of a pack, by its number.
type BlockKey = (PackName, u64);

/// Blocks that were decoded lately.
pub(super) struct Blocks(Mutex<Lately<BlockKey, Arc<Vec<u8>>>>);

impl Default for Blocks {
    fn default() -> Self {
        Self(Mutex::new(Lately::new(BLOCKS_BYTES_MAX)))
    }
}

impl Blocks {
    pub(super) fn get(&self, key: BlockKey) -> Option<Arc<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key)
    }

    pub(super) fn put(&self, key: BlockKey, block: &Arc<Vec<u8>>) {
        // An entry costs something too, so that many small blocks are bounded as well.
        let weight = block.len() + 1024;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(key, Arc::clone(block), weight);
    }

    /// Lets go of what belongs to a pack.
    pub(super) fn forget(&self, pack: PackName) {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<BlockKey> = blocks.entries.keys().filter(|key| key.0 == pack).copied().collect();
        for key in gone {
            blocks.remove(&key);
        }
    }
}

impl std::fmt::Debug for Blocks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Blocks").finish_non_exhaustive()
    }
}

/// Packs that were opened lately.
pub(super) struct Handles(Mutex<Lately<PackName, Arc<dyn OpenFile>>>);

impl Default for Handles {
    fn default() -> Self {
        Self(Mutex::new(Lately::new(HANDLES_MAX)))
    }
}

impl Handles {
    pub(super) fn get(&self, pack: &PackName) -> Option<Arc<dyn OpenFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(pack)
    }

    pub(super) fn put(&self, pack: PackName, file: &Arc<dyn OpenFile>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(pack, Arc::clone(file), 1);
    }

    /// Forgets all of them: files were replaced.
    pub(super) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Lately::new(HANDLES_MAX);
    }

    pub(super) fn forget(&self, pack: PackName) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&pack);
    }
}

impl std::fmt::Debug for Handles {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Handles").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_longest_ago_goes_first_and_the_weight_is_kept() {
        let mut lately = Lately::new(10);
        lately.put(1, "one", 4);
        lately.put(2, "two", 4);
        assert_eq!(lately.get(&1), Some("one"));
        lately.put(3, "three", 4);
        assert_eq!((lately.get(&1), lately.get(&2), lately.get(&3)), (Some("one"), None, Some("three")));
        lately.put(3, "third", 6);
        assert_eq!((lately.weight, lately.get(&3)), (10, Some("third")));
        lately.put(4, "too heavy", 11);
        assert_eq!((lately.weight, lately.get(&4)), (10, None));
    }
}
