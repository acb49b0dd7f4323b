//! A map that can go back to where a transaction began.
//!
//! Knows nothing of what the rows mean.

use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::ops::RangeBounds;

/// An ordered map with one open transaction.
#[derive(Debug)]
pub(crate) struct Table<K, V> {
    rows: BTreeMap<K, V>,
    before: Vec<(K, Option<V>)>,
}

impl<K: Ord + Clone, V: Clone> Table<K, V> {
    pub(crate) const fn new() -> Self {
        Self { rows: BTreeMap::new(), before: Vec::new() }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.rows.get(key)
    }

    pub(crate) fn contains(&self, key: &K) -> bool {
        self.rows.contains_key(key)
    }

    pub(crate) fn range<R: RangeBounds<K>>(&self, range: R) -> Range<'_, K, V> {
        self.rows.range(range)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.rows.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn put(&mut self, key: K, value: V) {
        let old = self.rows.insert(key.clone(), value);
        self.before.push((key, old));
    }

    pub(crate) fn remove(&mut self, key: &K) {
        if let Some(old) = self.rows.remove(key) {
            self.before.push((key.clone(), Some(old)));
        }
    }

    pub(crate) fn commit(&mut self) {
        self.before.clear();
    }

    pub(crate) fn roll_back(&mut self) {
        while let Some((key, old)) = self.before.pop() {
            match old {
                Some(value) => self.rows.insert(key, value),
                None => self.rows.remove(&key),
            };
        }
    }
}
