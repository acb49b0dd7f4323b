//! A store in one SQLite database: durable, for many threads and processes at once.
//!
//! Specified in `docs/format/store.md` and `docs/format/content.md`.

mod ahead;
mod alone;
mod annotations;
mod backup;
mod collect;
mod failure;
mod forget;
mod frames;
mod group;
mod kinds;
mod ledger;
mod log;
mod log_damage;
mod maintain;
mod marks;
mod migrate;
mod open;
mod packs;
mod places;
#[cfg(test)]
mod plans_tests;
mod pool;
mod read;
mod repair;
mod rewrite;
mod seals;
mod shrink;
mod state;
pub(crate) mod statements;
mod stored;
mod versions;
mod write;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use stemmata_model::{ArtifactId, Commit, CommitId, LedgerId, MachineId, Sighting, Timestamp};

pub(crate) use self::failure::{io_error, store_error};
pub use self::open::{OpenFor, SqliteOptions};
pub(crate) use self::open::{connect_sealed, log_of, make_directory, sync_directory, wait_for_locks};
pub use self::state::SqliteState;

use self::alone::Shared;
use self::failure::During;
use self::group::{Group, Writer};
use self::log::Log;
use self::open::Opened;
use self::packs::Packs;
use self::pool::{Borrowed, Pool};
use self::read::windows::Windows;
use crate::error::StoreError;
use crate::filters::{CommitFilter, SessionFilter, TipFilter};
use crate::ledger::{Coverage, Durability};
use crate::maintain::backup::Restored;
use crate::maintain::forget::{Redirects, Tombstone};
use crate::maintain::migrate::{Migrated, MigrationPlan, RolledBack};
use crate::rules::bounds::{check_anchors, check_batch, check_described, check_page};
use crate::rules::prepare::prepare;
use crate::seam::{BatchOutcome, Commits, Described, Page, PartOf, ResolveScope, Sink, StoreIdentity, Usage};
use crate::write::{Annotations, AuditRecord, Link, Placement, Session, SessionKey, Write};

/// A [`Store`](crate::Store) in the file `stemmata.db` of a directory. Threads share one writer and its syncs; processes share the file. Dropping it ends its thread.
pub struct SqliteStore {
    path: PathBuf,
    options: SqliteOptions,
    identity: StoreIdentity,
    log: Log,
    packs: Arc<Packs>,
    pool: Pool,
    group: Arc<Group>,
    closed: AtomicBool,
    /// After all that has files open: they are dropped in this order.
    _shared: Shared,
}

/// What maintenance works with.
struct Maintained<'a> {
    packs: &'a Packs,
    pool: &'a Pool,
    group: &'a Arc<Group>,
    log: &'a Log,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.log.close(&self.group);
    }
}

impl SqliteStore {
    /// Opens the store of a directory; makes both where they are not there, for their owner only. As long as it is open
    /// no other process restores, migrates or rolls it back.
    ///
    /// What it costs does not depend on how much is stored, but for a command that ends what an interruption left.
    ///
    /// # Errors
    /// `NotAStore` for another file, `TooNew` for a format that this version cannot read, `Locked`, `Full`,
    /// `ReadOnly`, `Io`, `Backend`.
    pub fn open(dir: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let opened = open::open_store(dir, &options).map_err(|error| waited(error, &options));
        let Opened { path, mut connection, identity, shared } = opened?;
        let log = Log::new(path.clone(), options.clone());
        log.watch(&mut connection).during("opening the store")?;
        let packs = Arc::new(Packs::new(&path, Arc::clone(&options.files)));
        if options.open_for.maintains() {
            maintain::finish_forgetting(&mut connection, &packs, &options);
        }
        let store = Self {
            log,
            pool: Pool::new(path.clone(), options.clone(), Arc::clone(&packs)),
            group: Arc::new(Group::new(Writer::new(connection))),
            packs,
            path,
            options,
            identity,
            closed: AtomicBool::new(false),
            _shared: shared,
        };
        // What cannot be removed now, because it cannot be written to or another is at it, is the next one's.
        if store.options.open_for.maintains() {
            drop(packs::finish_removal(&store.maintained()));
        }
        Ok(store)
    }

    /// Puts what a backup holds in the place of the store of a directory. The backup is copied and the copy verified
    /// first; a store that is there is renamed to `aside`, never deleted. Nobody else has it open meanwhile: what
    /// they write would go into the one that was moved aside.
    ///
    /// # Errors
    /// `InUse` where another process has the store open, `NotAStore` where there is no backup, `Damaged` with the first thing that is wrong with it, `TooNew`,
    /// `NoRoom`, `Refused` where `aside` is taken, `Io`. The store is as it was then.
    pub fn restore(
        from: &Path,
        dir: &Path,
        aside: &Path,
        options: &SqliteOptions,
    ) -> Result<Restored, StoreError> {
        backup::restore::restore(from, dir, aside, options).map_err(|error| waited(error, options))
    }

    /// Returns what would bring the store of a directory to this version; changes nothing.
    ///
    /// # Errors
    /// `NotAStore`, `TooNew`, `Locked`, `Backend`.
    pub fn migration_plan(dir: &Path, options: &SqliteOptions) -> Result<MigrationPlan, StoreError> {
        migrate::plan(dir, options).map_err(|error| waited(error, options))
    }

    /// Brings the store of a directory to this version: makes a backup at `backup_to`, does the steps, verifies,
    /// and only then commits. Where any of it fails the store is as it was.
    ///
    /// # Errors
    /// `InUse`; `Damaged` where the outcome would not verify, `Refused` and `NoRoom` from the backup, `Locked`, `Full`.
    pub fn migrate(dir: &Path, backup_to: &Path, options: &SqliteOptions) -> Result<Migrated, StoreError> {
        migrate::migrate(dir, backup_to, options).map_err(|error| waited(error, options))
    }

    /// Brings the store of a directory back to the write version before this one. What the newest step added is
    /// dropped where it is empty; else the backup from before takes the store's place, which goes to `aside`.
    ///
    /// # Errors
    /// `InUse`; `Refused` where there is no way back, or where commits would stay behind in `aside` and `leave_commits` is
    /// not set; `Locked`, `Io`. Nothing was changed then.
    pub fn roll_back(
        dir: &Path,
        backup: &Path,
        aside: &Path,
        leave_commits: bool,
        options: &SqliteOptions,
    ) -> Result<RolledBack, StoreError> {
        let way = migrate::Way { backup, aside, leave_commits };
        migrate::roll_back(dir, way, options).map_err(|error| waited(error, options))
    }

    fn read<T>(&self, act: impl FnOnce(&mut Borrowed<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.pool
            .reader()
            .and_then(|mut reader| act(&mut reader))
            .map_err(|error| waited(error, &self.options))
    }

    /// Hands contents out, a window at a time and each after its transaction: a sink may be a client that reads slowly, and a
    /// transaction that waits for it would keep the WAL from being cleared.
    fn hand_out(
        &self,
        mut windows: Windows<'_>,
        sink: &mut dyn FnMut(usize, &[u8]) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        loop {
            let read = self.read(|reader| reader.with_literals(|literals| windows.fill(literals)));
            windows.hand_out(sink)?;
            if read? {
                return Ok(());
            }
        }
    }

    /// Reads in one transaction: all that is read is one state of the store.
    fn within_read<T>(
        &self,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.read(|reader| reader.within_read(act))
    }

    /// Refuses to write once the store is closed.
    fn hold_open(&self, operation: &'static str) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) { Err(StoreError::Closed { operation }) } else { Ok(()) }
    }

    /// Applies a batch.
    fn write(&self, batch: Vec<Write>, durability: Durability) -> Result<BatchOutcome, StoreError> {
        check_batch(&batch)?;
        self.hold_open("writing a batch")?;
        if batch.is_empty() {
            return Ok(BatchOutcome::default());
        }
        let answer = self.group.commit(prepare(batch), durability);
        self.log.look(&self.group);
        answer.map_err(|error| waited(error, &self.options))
    }

    fn maintained(&self) -> Maintained<'_> {
        Maintained { packs: &self.packs, pool: &self.pool, group: &self.group, log: &self.log }
    }

    /// Bytes of the database and the files beside it.
    fn physical_bytes(&self) -> u64 {
        let length = |suffix| fs::metadata(open::beside(&self.path, suffix)).map_or(0, |found| found.len());
        length("") + length("-wal") + length("-shm") + self.packs.bytes_on_disk()
    }
}

/// Fills in how long a lock was waited for, where the place that failed did not know.
fn waited(error: StoreError, options: &SqliteOptions) -> StoreError {
    match error {
        StoreError::Locked { waited_ms: 0 } => {
            StoreError::Locked { waited_ms: options.patience().bound_ms() }
        }
        other => other,
    }
}

impl Commits for SqliteStore {
    fn commit_batch(&self, batch: Vec<Write>) -> Result<BatchOutcome, StoreError> {
        self.write(batch, Durability::Batch)
    }

    fn commit(&self, id: CommitId) -> Result<Option<Commit>, StoreError> {
        self.read(|reader| reader.commit(id))
    }

    fn ancestors(&self, from: CommitId, limit: usize) -> Result<Vec<Commit>, StoreError> {
        self.read(|reader| reader.ancestors(from, limit))
    }

    fn children(&self, of: CommitId, limit: usize) -> Result<Vec<Commit>, StoreError> {
        self.read(|reader| reader.children(of, limit))
    }

    fn below(&self, from: &[CommitId], limit: usize) -> Result<Vec<Commit>, StoreError> {
        check_described(from)?;
        self.read(|reader| reader.below(from, limit))
    }

    fn described(&self, of: &[CommitId]) -> Result<Vec<Described>, StoreError> {
        check_described(of)?;
        self.read(|reader| reader.described(of))
    }

    fn tips(&self, filter: &TipFilter, page: Page) -> Result<Vec<Commit>, StoreError> {
        check_page(page)?;
        self.read(|reader| reader.tips(filter, page))
    }

    fn listed(&self, filter: &CommitFilter, page: Page) -> Result<Vec<Commit>, StoreError> {
        check_page(page)?;
        self.read(|reader| reader.listed_commits(filter, page))
    }

    fn commits_after(&self, after: Option<CommitId>, limit: usize) -> Result<Vec<Commit>, StoreError> {
        self.read(|reader| reader.commits_after(after, limit))
    }

    fn content_length(&self, id: ArtifactId) -> Result<Option<u64>, StoreError> {
        self.read(|reader| reader.content_length(id))
    }

    fn read_content(
        &self,
        id: ArtifactId,
        range: Option<Range<u64>>,
        sink: &mut Sink<'_>,
    ) -> Result<(), StoreError> {
        self.hand_out(Windows::new(&[id], range), &mut |_, bytes| sink(bytes))
    }

    fn content_parts(&self, id: ArtifactId) -> Result<Option<Vec<PartOf>>, StoreError> {
        self.read(|reader| reader.content_parts(id))
    }

    fn read_contents(
        &self,
        ids: &[ArtifactId],
        sink: &mut dyn FnMut(usize, &[u8]) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        self.hand_out(Windows::new(ids, None), sink)
    }

    fn sightings(&self, commit: CommitId, limit: usize) -> Result<Vec<Sighting>, StoreError> {
        self.read(|reader| reader.sightings(commit, limit))
    }

    fn sessions(&self, filter: &SessionFilter, page: Page) -> Result<Vec<Session>, StoreError> {
        check_page(page)?;
        self.read(|reader| reader.sessions(filter, page))
    }

    fn session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.read(|reader| reader.session(key))
    }

    fn resolve(
        &self,
        scope: &ResolveScope,
        at: Timestamp,
        limit: usize,
    ) -> Result<Vec<CommitId>, StoreError> {
        self.read(|reader| reader.resolve(scope, at, limit))
    }

    fn annotations(&self, commit: CommitId) -> Result<Annotations, StoreError> {
        self.read(|reader| reader.annotations(commit))
    }

    fn tagged(&self, tag: &str, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        self.read(|reader| reader.tagged(tag, limit))
    }

    fn audit(&self, commit: CommitId, limit: usize) -> Result<Vec<AuditRecord>, StoreError> {
        self.read(|reader| reader.audit(commit, limit))
    }

    fn links(&self, commit: CommitId, limit: usize) -> Result<Vec<Link>, StoreError> {
        self.read(|reader| reader.links(commit, limit))
    }

    fn anchored(&self, hashes: &[u64], limit: usize) -> Result<Vec<(u64, CommitId)>, StoreError> {
        check_anchors(hashes)?;
        self.read(|reader| reader.anchored(hashes, limit))
    }

    fn coverage(&self, commit: CommitId) -> Result<Option<Coverage>, StoreError> {
        self.read(|reader| reader.coverage(commit))
    }

    fn last_covered(&self, ledger: &LedgerId) -> Result<Option<Coverage>, StoreError> {
        self.read(|reader| reader.last_covered(ledger))
    }

    fn cursor(&self, key: &SessionKey) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(|reader| reader.cursor(key))
    }

    fn placement(&self, machine: &MachineId, path: &str) -> Result<Option<Placement>, StoreError> {
        self.read(|reader| reader.placement(machine, path))
    }

    fn identity(&self) -> Result<StoreIdentity, StoreError> {
        Ok(self.identity.clone())
    }

    fn usage(&self) -> Result<Usage, StoreError> {
        let mut usage = self.read(|reader| reader.usage())?;
        usage.physical_bytes = self.physical_bytes();
        Ok(usage)
    }

    fn tombstones(&self, of: &[Tombstone]) -> Result<Vec<Tombstone>, StoreError> {
        self.read(|reader| self.tombstones_among(reader.connection(), of))
    }

    fn redirects(&self, after: Option<CommitId>, limit: usize) -> Result<Redirects, StoreError> {
        self.read(|reader| marks::redirects(reader.connection(), after, limit))
    }

    fn has_tombstones(&self) -> Result<bool, StoreError> {
        self.read(|reader| Ok(marks::Present::load(reader.connection())?.tombstones))
    }
}
