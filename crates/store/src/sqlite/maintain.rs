//! Maintenance of a store: forgetting and collecting, each a transaction and what follows it on disk.
//!
//! What goes is decided in `forget` and `collect`.

use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::failure::During;
use super::forget::rewrite;
use super::open::{SqliteOptions, wait_for_locks};
use super::{SqliteStore, collect, forget, marks, shrink};
use crate::error::StoreError;
use crate::files::FileLock;
use crate::maintain::collect::{Collect, Collected};
use crate::maintain::forget::{Forget, Forgotten, Tombstone};

/// How long the log is tried to be emptied while others read it.
const LOG_WAIT: Duration = Duration::from_secs(5);

/// How long whoever writes packs is waited for.
const PACKS_WAIT: Duration = Duration::from_secs(30);

/// The pause between two looks at the lock of packs.
const PACKS_PAUSE: Duration = Duration::from_millis(20);

impl SqliteStore {
    /// Takes the lock of those who write packs: what is about to go must not move meanwhile.
    fn lock_packs(&self) -> Result<Box<dyn FileLock>, StoreError> {
        let started = Instant::now();
        loop {
            if let Some(lock) = self.packs.lock()? {
                return Ok(lock);
            }
            if started.elapsed() >= PACKS_WAIT {
                return Err(StoreError::Locked { waited_ms: 30_000 });
            }
            std::thread::sleep(PACKS_PAUSE);
        }
    }

    pub(super) fn forget_all(&self, wish: &Forget) -> Result<Forgotten, StoreError> {
        let _lock = self.lock_packs()?;
        self.group.with_writer(|writer| {
            let secret = &self.identity.secret;
            let connection = writer.connection();
            connection.execute_batch("PRAGMA secure_delete = ON").during("forgetting")?;
            let tombstones = forget::tombstones_of(connection, wish)?;
            let done = writer.maintain_or_undo(!wish.dry_run, |connection| {
                forget::forget((connection, &self.packs), secret, wish, &tombstones)
            });
            let connection = writer.connection();
            // Every write of every day would pay for it.
            connection.execute_batch("PRAGMA secure_delete = OFF").during("forgetting")?;
            let mut forgotten = done?;
            if !wish.dry_run && rewrite::is_due(connection)? {
                forgotten.unfinished = rewrite::run(connection, LOG_WAIT)?;
            }
            Ok(forgotten)
        })
    }

    pub(super) fn collect_all(&self, wish: &Collect) -> Result<Collected, StoreError> {
        let _lock = self.lock_packs()?;
        let before = self.physical_bytes();
        let done = self.group.with_writer(|writer| {
            writer.maintain_or_undo(!wish.dry_run, |connection| {
                collect::collect((connection, &self.packs), wish)
            })
        })?;
        let collect::Done { mut collected, rows } = done;
        if !wish.dry_run && !rows.is_empty() {
            shrink::shrink(&self.maintained())?;
            collected.bytes_freed = before.saturating_sub(self.physical_bytes());
        }
        Ok(collected)
    }

    pub(super) fn lift_all(&self, of: &Tombstone) -> Result<u64, StoreError> {
        let mark = marks::of_tombstone(&self.identity.secret, of);
        self.group.with_writer(|writer| writer.maintain(|connection| marks::lift(connection, &mark)))
    }

    pub(super) fn tombstones_among(
        &self,
        connection: &Connection,
        of: &[Tombstone],
    ) -> Result<Vec<Tombstone>, StoreError> {
        if !marks::Present::load(connection)?.tombstones {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for tombstone in of {
            let (kind, key) = marks::of_tombstone(&self.identity.secret, tombstone);
            if marks::at(connection, kind, &key)?.is_some() {
                found.push(tombstone.clone());
            }
        }
        Ok(found)
    }
}

/// Ends what a crash interrupted, unless another process is in the way: then it, or the next opening, does.
pub(super) fn finish_forgetting(connection: &mut Connection, options: &SqliteOptions) {
    if !rewrite::is_due(connection).unwrap_or(false) {
        return;
    }
    let finished = wait_for_locks(connection, Duration::ZERO)
        .during("opening the store")
        .and_then(|()| rewrite::run(connection, Duration::ZERO));
    // Where it did not work the mark is still there; the store itself is sound.
    drop(finished);
    let _patient = wait_for_locks(connection, Duration::from_millis(options.busy_timeout_ms));
}
