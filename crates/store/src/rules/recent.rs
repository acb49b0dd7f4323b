//! A bounded memory of things met lately, and of values that rows name by number.
//!
//! Emptied whole when it is full: what is met again is looked up again.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use crate::error::{StoreError, unreadable};

/// Entries at most: a few batches' worth, so that the memory stays small for a store of any size.
const ENTRIES_MAX: usize = 1024;

/// Values that rows name, at most: each event names four, and a machine may have thousands of sessions.
const VALUES_MAX: usize = 4096;

/// Values by their keys.
#[derive(Debug)]
pub struct Recent<K, V> {
    entries: HashMap<K, V>,
    entries_max: usize,
}

impl<K, V> Recent<K, V> {
    fn of(entries_max: usize) -> Self {
        Self { entries: HashMap::new(), entries_max }
    }
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self::of(ENTRIES_MAX)
    }
}

impl<K: Eq + Hash, V> Recent<K, V> {
    /// Returns what is remembered of a key.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key)
    }

    /// Remembers a value.
    pub fn put(&mut self, key: K, value: V) {
        if self.entries.len() >= self.entries_max {
            self.entries.clear();
        }
        self.entries.insert(key, value);
    }
}

/// Values by the numbers of their rows, which are never changed or removed, so that what was read once stays right.
#[derive(Debug)]
pub struct Interned<T> {
    values: Recent<i64, T>,
    rows: Recent<T, i64>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { values: Recent::of(VALUES_MAX), rows: Recent::of(VALUES_MAX) }
    }
}

impl<T: Clone + Eq + Hash> Interned<T> {
    /// Returns what a row of `table` stands for, read by `read` where it is not remembered.
    ///
    /// # Errors
    /// `Backend` for a row that is not there, and what `read` fails with.
    pub fn load(
        &mut self,
        (table, row): (&'static str, i64),
        read: impl FnOnce() -> Result<Option<T>, StoreError>,
    ) -> Result<&T, StoreError> {
        let nothing = || unreadable(table, &row, &"nothing");
        if self.values.get(&row).is_none() {
            let value = read()?.ok_or_else(nothing)?;
            self.keep(row, value);
        }
        self.values.get(&row).ok_or_else(nothing)
    }

    /// Returns the row of a value, found by `find` where it is not remembered: a number, or an optional one.
    ///
    /// # Errors
    /// What `find` fails with.
    pub fn row_of<Q, R>(
        &mut self,
        value: &Q,
        find: impl FnOnce() -> Result<R, StoreError>,
    ) -> Result<R, StoreError>
    where
        Q: Eq + Hash + ?Sized + ToOwned<Owned: Into<T>>,
        T: Borrow<Q>,
        R: Copy + From<i64> + Into<Option<i64>>,
    {
        if let Some(row) = self.rows.get(value) {
            return Ok(R::from(*row));
        }
        let found = find()?;
        if let Some(row) = found.into() {
            self.keep(row, value.to_owned().into());
        }
        Ok(found)
    }

    fn keep(&mut self, row: i64, value: T) {
        self.rows.put(value.clone(), row);
        self.values.put(row, value);
    }
}
