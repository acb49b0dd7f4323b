//! The pool of connections that read.
//!
//! What is read is `read`'s.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::open::{self, SqliteOptions};
use super::packs::Packs;
use super::read::Reader;
use crate::error::StoreError;

/// Connections that are kept for the next read; more than that are opened when needed and closed again.
const IDLE_MAX: usize = 8;

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
