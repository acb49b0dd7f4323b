//! A bounded memory of things met lately.
//!
//! Emptied whole when it is full: what is met again is looked up again.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Entries at most: a few batches' worth, so that the memory stays small for a store of any size.
const ENTRIES_MAX: usize = 1024;

pub(super) struct Recent<K, V> {
    entries: HashMap<K, V>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new() }
    }
}

impl<K: Eq + Hash, V> Recent<K, V> {
    pub(super) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key)
    }

    pub(super) fn put(&mut self, key: K, value: V) {
        if self.entries.len() >= ENTRIES_MAX {
            self.entries.clear();
        }
        self.entries.insert(key, value);
    }
}
