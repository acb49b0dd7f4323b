//! Reads: a connection that reads, and the pool of them.
//!
//! Writes go through one connection of their own.

mod anchors;
pub(super) mod commits;
pub(super) mod contents;
mod costs;
mod described;
mod listings;
pub(super) mod literals;
pub(super) mod metadata;
mod names;
mod parts;
mod sightings;
pub(super) mod verify;
pub(super) mod verify_events;

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::failure::During;
use super::kinds::Kinds;
use super::ledger::names::Names;
use super::open::{self, SqliteOptions};
use super::packs::Packs;
use crate::error::StoreError;

/// Connections that are kept for the next read; more than that are opened when needed and closed again.
const IDLE_MAX: usize = 8;

/// A connection that only reads.
pub(super) struct Reader {
    connection: Connection,
    kinds: Kinds,
    pub(super) names: Names,
    buffers: contents::Buffers,
    pub(super) packs: Arc<Packs>,
}

impl Reader {
    pub(super) fn new(connection: Connection, packs: Arc<Packs>) -> Self {
        Self {
            connection,
            kinds: Kinds::default(),
            names: Names::default(),
            buffers: contents::Buffers::default(),
            packs,
        }
    }

    /// Reads in one transaction: all that is read is one state of the store.
    pub(super) fn within_read<T>(
        &mut self,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        // A migration verifies within its own transaction.
        if !self.connection.is_autocommit() {
            return act(&self.connection);
        }
        let transaction = self.connection.transaction().during("beginning to read")?;
        act(&transaction)
    }

    pub(super) const fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// Connections that read, the one used last first, so that its cache is warm.
pub(super) struct Pool {
    path: PathBuf,
    options: SqliteOptions,
    packs: Arc<Packs>,
    idle: Mutex<Vec<Reader>>,
}

impl Pool {
    pub(super) fn new(path: PathBuf, options: SqliteOptions, packs: Arc<Packs>) -> Self {
        Self { path, options, packs, idle: Mutex::new(Vec::new()) }
    }

    /// Takes a connection; dropping it gives it back.
    pub(super) fn reader(&self) -> Result<Borrowed<'_>, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let reader = match idle {
            Some(reader) => reader,
            None => Reader::new(open::connect_reader(&self.path, &self.options)?, Arc::clone(&self.packs)),
        };
        Ok(Borrowed { pool: self, reader: Some(reader) })
    }
}

/// A reader that is out of the pool for one call.
pub(super) struct Borrowed<'a> {
    pool: &'a Pool,
    reader: Option<Reader>,
}

const OUT: &str = "a reader is there until it is dropped";

impl Deref for Borrowed<'_> {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        self.reader.as_ref().expect(OUT)
    }
}

impl DerefMut for Borrowed<'_> {
    fn deref_mut(&mut self) -> &mut Reader {
        self.reader.as_mut().expect(OUT)
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let Some(reader) = self.reader.take() else {
            return;
        };
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(reader);
        }
    }
}
