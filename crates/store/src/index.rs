//! The search index: what is in which entry, in a database of its own that can always be made again.
//!
//! It follows the order of storing ([`Follow::stored_after`](crate::Follow::stored_after)) and is cut where something was
//! forgotten. What a term is and how hits are ranked is not known here. Specified in `docs/format/index.md`.

mod batch;
mod bits;
mod build;
mod check;
mod chunk;
mod clean;
#[cfg(test)]
mod codec_tests;
mod columns;
mod commits;
mod current;
mod cut;
mod error;
mod groups;
mod merge;
mod open;
mod places;
mod postings;
mod read;
mod runs;
mod segment;
mod settle;
mod stored;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, TransactionBehavior};
use stemmata_model::CommitId;

pub use self::batch::{
    EntryRef, IndexBatch, IndexEntry, IndexPlace, IndexedCommit, IndexedEvent, IndexedLedger, IndexedState,
    Watermark,
};
pub use self::check::IndexUsage;
use self::clean::Rest;
pub use self::commits::COMMIT_ENTRIES_MAX;
pub use self::current::IndexName;
pub use self::error::IndexError;
use self::error::While;
pub use self::postings::PostingsBound;
pub use self::read::{CommitSet, IndexReader, Occurrence, SharedPast};
pub use self::segment::{EachTerm, PostingsRead, SegmentFamily, SegmentRead};
use self::segment::{ReadColumns, load_segments};
use crate::files::{FileLock, Files};
use crate::patience::Patience;
use crate::seam::StoredAt;
use crate::sqlite::statements::columns;

/// How an index is opened.
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// What keeps the files beside the database; a test gives another.
    pub files: Arc<dyn Files>,
    /// How long other processes' locks are waited for.
    pub patience: Patience,
    /// The version of the terms that entries are given; kept in an index that is made.
    pub terms: u32,
    /// The store that it is an index of.
    pub store_id: [u8; 16],
    /// Whether it is made where it is not there.
    pub can_write: bool,
}

/// The lock of the one process that settles, cuts and cleans an index.
#[derive(Debug)]
pub struct IndexLock {
    _held: Box<dyn FileLock>,
}

/// What an index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexMeta {
    /// The version of the terms that its entries have: another one than that asked for has to be made again.
    pub terms: u32,
    /// How far it has followed the store.
    pub watermark: Watermark,
    /// Rises with every change.
    pub epoch: u64,
    /// Whether its files may hold what was forgotten: it has to be cleaned.
    pub is_unclean: bool,
    /// How many entries and events there are.
    pub entries: u64,
    /// The sum of their lengths.
    pub length: u64,
}

/// A search index in a folder.
///
/// - **Atomic**: a settling or a cut is there whole or not at all; a power cut may lose the last ones.
/// - **Concurrent**: a reader reads one state, whatever is written; the holder of the [`IndexLock`] writes.
/// - **Checked**: packed terms and columns have a checksum, which is compared when they are read; other bytes are `Damaged`.
#[derive(Debug)]
pub struct Index {
    dir: PathBuf,
    path: PathBuf,
    options: IndexOptions,
    idle: Mutex<Vec<Connection>>,
    columns: Mutex<HashMap<(u32, u64), Arc<ReadColumns>>>,
}

/// Connections that are kept for the next call.
const IDLE_MAX: usize = 4;

impl Index {
    /// Returns the state of the index.
    ///
    /// # Errors
    /// `Damaged`, `Storage`, as for every call below.
    pub fn meta(&self) -> Result<IndexMeta, IndexError> {
        self.with(|connection| load_meta(connection))
    }

    /// Returns a view of the index as it is now.
    pub fn reader(&self) -> Result<IndexReader<'_>, IndexError> {
        IndexReader::begin(self)
    }

    /// Adds a batch, in one transaction.
    ///
    /// # Errors
    /// `Moved` unless the index is where the batch expects it; `Rewritten`, `Bound`.
    pub fn settle(&self, _lock: &IndexLock, batch: &IndexBatch) -> Result<IndexMeta, IndexError> {
        self.change(|connection| settle::settle(connection, batch))
    }

    /// Takes back everything from a commit on, and what cannot stay without it: the watermark is before it then.
    /// What was taken back may still be in the files: see [`Index::clean`].
    pub fn cut(&self, _lock: &IndexLock, before: StoredAt) -> Result<IndexMeta, IndexError> {
        self.change(|connection| cut::cut(connection, before, Rest::Forgotten))
    }

    /// The same to settle it again, where nothing was forgotten: the files need not be cleaned for it.
    pub fn rewind(&self, _lock: &IndexLock, before: StoredAt) -> Result<IndexMeta, IndexError> {
        self.change(|connection| cut::cut(connection, before, Rest::Stale))
    }

    /// Takes back all events, and how far ledgers are followed.
    pub fn drop_events(&self, _lock: &IndexLock) -> Result<IndexMeta, IndexError> {
        self.change(cut::drop_events)
    }

    /// Takes back where commits were seen: for sessions that the store has no more.
    pub fn drop_places(&self, _lock: &IndexLock, gone: &[u32]) -> Result<IndexMeta, IndexError> {
        self.change(|connection| cut::drop_places(connection, gone))
    }

    /// Leaves nothing in the folder but this index as it is now: where anything was taken back, a copy takes its place, and this
    /// one is not current any more.
    ///
    /// # Errors
    /// `Moved` where it is not current.
    pub fn clean(&self, lock: &IndexLock) -> Result<(), IndexError> {
        clean::clean(self, lock)
    }

    /// Reads all of the index and reports what is wrong.
    pub fn verify(&self, found: &mut dyn FnMut(String)) -> Result<(), IndexError> {
        check::verify(&self.reader()?, found)
    }

    /// Returns what the index takes.
    pub fn usage(&self) -> Result<IndexUsage, IndexError> {
        check::usage(self)
    }

    /// Returns the folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn files(&self) -> &dyn Files {
        self.options.files.as_ref()
    }

    fn change(
        &self,
        act: impl FnOnce(&Connection) -> Result<(), IndexError>,
    ) -> Result<IndexMeta, IndexError> {
        const CHANGING: &str = "writing the search index";
        self.with(|connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate).while_(CHANGING)?;
            act(&transaction)?;
            let meta = load_meta(&transaction)?;
            transaction.commit().while_(CHANGING)?;
            Ok(meta)
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Connection) -> Result<T, IndexError>) -> Result<T, IndexError> {
        let mut connection = self.take()?;
        let done = act(&mut connection)?;
        self.give_back(connection);
        Ok(done)
    }

    fn take(&self) -> Result<Connection, IndexError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| open::connect(&self.path, &self.options), Ok)
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
    }
}

/// Loads how far ledgers are followed.
fn load_ledgers(connection: &Connection) -> Result<Vec<IndexedLedger>, IndexError> {
    let operation = "reading the ledgers of the search index";
    let sql = "SELECT id, through, epoch FROM ledger ORDER BY id";
    let mut ledgers = Vec::new();
    connection.while_(operation).each(sql, [], columns, |(id, through, epoch): (String, i64, i64)| {
        let id = read::ledger_of(id)?;
        ledgers.push(IndexedLedger { id, through: through.cast_unsigned(), epoch: epoch.cast_unsigned() });
        Ok(())
    })?;
    Ok(ledgers)
}

fn load_meta(connection: &Connection) -> Result<IndexMeta, IndexError> {
    let operation = "reading the state of the search index";
    let (terms, through, through_id, epoch, is_unclean): (u32, StoredAt, Option<[u8; 16]>, i64, bool) =
        connection
            .while_(operation)
            .first(
                "SELECT terms, through, through_id, epoch, unclean > 1 FROM meta WHERE one = 1",
                [],
                columns,
            )?
            .ok_or_else(|| IndexError::damaged("it has no state"))?;
    let through = through_id.map(|id| (through, CommitId::from_bytes(id)));
    let segments = load_segments(connection)?;
    Ok(IndexMeta {
        terms,
        watermark: Watermark { through },
        epoch: epoch.cast_unsigned(),
        is_unclean,
        entries: segments.iter().map(|segment| u64::from(segment.span)).sum(),
        length: segments.iter().map(|segment| segment.length).sum(),
    })
}

/// Sets the watermark and raises the epoch.
fn save_meta(connection: &Connection, watermark: Watermark) -> Result<(), IndexError> {
    let (through, id) = match watermark.through {
        Some((at, id)) => (at, Some(id.to_bytes())),
        None => (StoredAt::START, None),
    };
    connection
        .while_("writing the state of the search index")
        .run(
            "UPDATE meta SET through = ?1, through_id = ?2, epoch = epoch + 1",
            rusqlite::params![through, id],
        )
        .map(drop)
}
