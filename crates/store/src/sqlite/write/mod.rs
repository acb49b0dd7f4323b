//! Applying a group of batches as one transaction, on the one connection that writes.
//!
//! Who is in a group, and who waits for whom, is `group`'s.
//!
//! The writer is relaxed (`synchronous = NORMAL`) between appends that want no sync. It is tightened, and the setting read back,
//! before every transaction that must be durable.

mod anchors;
mod annotations;
mod commits;
pub(in crate::sqlite) mod contents;
mod holes;
mod ledger;
mod merge;
pub(super) mod places;

use std::time::Instant;

use rusqlite::{Connection, ToSql};

use self::commits::Known;
use super::failure::{During, again};
use super::kinds::Kinds;
use super::ledger::names::Names;
use super::ledger::rows::LedgerRow;
use super::marks::Present;
use super::seals::{Sealed, execute_sealed};
use crate::error::{StoreError, StoreErrorKind};
use crate::rules::prepare::Prepared;
use crate::rules::recent::Recent;
use crate::seam::BatchOutcome;
use crate::write::{AuditRecord, Write};

use stemmata_model::{ArtifactId, CommitId, LedgerId};

/// What `PRAGMA user_version` says while all that is in the log was synced, and while some of it may not be: the one number
/// of a database that costs nothing to read and is a program's own. Any other than the first is taken for the second.
const SYNCED: i64 = 0;
const TELL_SYNCED: &str = "PRAGMA user_version = 0";
const TELL_UNSYNCED: &str = "PRAGMA user_version = 1";

/// A batch's answer.
pub(super) type Answer = Result<BatchOutcome, StoreError>;

/// The connection that writes, and what it remembers of rows it met.
pub(super) struct Writer {
    connection: Connection,
    memory: Memory,
    /// What `PRAGMA data_version` said last: another number means that another connection has written.
    data_version: i64,
    /// Whether what is being written may be lost in a power cut.
    may_be_lost: bool,
    /// Whether the connection was told not to sync, and not yet to sync again. It stays so until something comes that
    /// must not be lost: telling it twice for each append took as long as the append.
    is_relaxed: bool,
}

/// Rows met lately, so that a checkpoint need not look up what the last one wrote. Emptied when another
/// connection has written or a transaction was rolled back.
#[derive(Default)]
struct Memory {
    commits: Recent<CommitId, Known>,
    contents: Recent<ArtifactId, contents::Known>,
    origins: Recent<places::OriginKey, i64>,
    kinds: Kinds,
    names: Names,
    ledgers: Recent<LedgerId, LedgerRow>,
    marks: Option<Present>,
    /// Whether the database says that something in its log may be unsynced.
    is_unsynced: Option<bool>,
}

impl Memory {
    fn forget(&mut self) {
        *self = Self::default();
    }
}

/// One transaction's view of the writer.
struct Transaction<'a> {
    connection: &'a Connection,
    memory: &'a mut Memory,
    outcome: BatchOutcome,
    /// The row of the first commit that it stored.
    first_new: Option<i64>,
}

impl Writer {
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            connection,
            memory: Memory::default(),
            data_version: -1,
            may_be_lost: false,
            is_relaxed: false,
        }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the connection for transactions of the caller's own, which are durable when they return.
    pub(super) fn synced(&mut self) -> Result<&Connection, StoreError> {
        self.end_unfinished()?;
        if self.is_relaxed {
            self.tighten()?;
        }
        Ok(&self.connection)
    }

    pub(super) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Does something to rows as one transaction, and forgets what is remembered of them.
    pub(super) fn maintain<T>(
        &mut self,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.may_be_lost = false;
        let done = self.within_transaction(|writer| act(&writer.connection));
        self.memory.forget();
        done
    }

    /// Applies batches in order, each whole or not at all, and makes all of them durable at once, unless nobody waits
    /// for that: then they are in the log and a later sync makes them durable.
    pub(super) fn apply(&mut self, batches: &[Vec<Prepared>], is_durable: bool) -> Vec<Answer> {
        if is_durable {
            self.may_be_lost = false;
            self.apply_all(batches)
        } else {
            self.unsynced(|writer| writer.apply_all(batches))
        }
    }

    /// Writes something that may be lost in a power cut, without a sync. The level is one at which copying the log into
    /// the database syncs all the same, so that nothing that was durable before is at risk.
    fn unsynced<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        self.may_be_lost = true;
        if !self.is_relaxed {
            self.is_relaxed = true;
            // Without it what is written is only slower, and durable.
            let _relaxed = self.connection.execute_batch("PRAGMA synchronous = NORMAL");
        }
        let done = act(self);
        self.may_be_lost = false;
        done
    }

    /// Has commits be durable again when they return.
    fn tighten(&mut self) -> Result<(), StoreError> {
        let operation = "having commits be durable again";
        self.connection.execute_batch("PRAGMA synchronous = FULL").during(operation)?;
        if !self.syncs() {
            return Err(StoreError::Backend {
                operation,
                source: "the database does not say that it syncs".into(),
            });
        }
        self.is_relaxed = false;
        Ok(())
    }

    /// Has the database say whether what is in its log may be unsynced, within the transaction that is about to end. Where
    /// it did and this transaction is synced, that is a change too: without one a commit syncs nothing, and what it found
    /// there already may be what any process wrote without a sync. It stands in the log, so that it is lost only together
    /// with what it is about.
    fn tell(&mut self) -> Result<(), StoreError> {
        let operation = "having earlier writes be durable";
        let is_unsynced = self.is_relaxed;
        let told = match self.memory.is_unsynced {
            Some(told) => told,
            None => self
                .connection
                .prepare_cached("PRAGMA user_version")
                .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)))
                .map(|version| version != SYNCED)
                .during(operation)?,
        };
        if told != is_unsynced {
            self.run(if is_unsynced { TELL_UNSYNCED } else { TELL_SYNCED }, operation)?;
        }
        self.memory.is_unsynced = Some(is_unsynced);
        Ok(())
    }

    /// Says whether a commit is durable when it returns.
    pub(super) fn syncs(&self) -> bool {
        let level = self.connection.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0));
        level.is_ok_and(|level| level >= 2)
    }

    fn apply_all(&mut self, batches: &[Vec<Prepared>]) -> Vec<Answer> {
        let applied = self.apply_unguarded(batches);
        let answers = match applied {
            // Refusals are rare: all batches are tried at once first, without the copies of pages that guarding
            // each of them costs, and once more with it where one of them failed.
            Err(error) if batches.len() > 1 && error.kind() != StoreErrorKind::Locked => {
                self.apply_guarded(batches)
            }
            done => done,
        };
        match answers {
            Ok(answers) => answers,
            Err(error) => {
                let copies: Vec<Answer> = batches.iter().skip(1).map(|_| Err(again(&error))).collect();
                std::iter::once(Err(error)).chain(copies).collect()
            }
        }
    }

    fn apply_unguarded(&mut self, batches: &[Vec<Prepared>]) -> Result<Vec<Answer>, StoreError> {
        self.within_transaction(|writer| {
            batches.iter().map(|batch| writer.apply_one(batch).map(Ok)).collect()
        })
    }

    fn apply_guarded(&mut self, batches: &[Vec<Prepared>]) -> Result<Vec<Answer>, StoreError> {
        self.within_transaction(|writer| batches.iter().map(|batch| writer.guard(batch)).collect())
    }

    /// Commits what `act` does (where `keep` says so), or leaves nothing of it; what was remembered of rows is gone.
    pub(super) fn maintain_or_undo<T>(
        &mut self,
        keep: bool,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.memory.forget();
        self.may_be_lost = false;
        self.begin()?;
        let result = act(&self.connection).and_then(|done| {
            if keep {
                self.commit("ending maintenance")?;
            } else {
                self.run("ROLLBACK", "ending maintenance")?;
            }
            Ok(done)
        });
        if result.is_err() && !self.connection.is_autocommit() {
            // The error that counts is the one before.
            let _ended = self.connection.execute_batch("ROLLBACK");
        }
        self.memory.forget();
        result
    }

    /// Commits what `act` does, or leaves nothing of it.
    fn within_transaction<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let result = self.begin().and_then(|()| act(self)).and_then(|done| {
            self.commit("committing a group of batches")?;
            Ok(done)
        });
        if result.is_err() {
            self.memory.forget();
            if !self.connection.is_autocommit() {
                // The error that counts is the one before; a transaction that cannot even be rolled back ends
                // with the connection.
                let _ended = self.connection.execute_batch("ROLLBACK");
            }
        }
        result
    }

    /// Rolls back what somebody left who panicked in the middle of a transaction.
    fn end_unfinished(&mut self) -> Result<(), StoreError> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.memory.forget();
        self.run("ROLLBACK", "rolling back what was left unfinished")
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        self.end_unfinished()?;
        if self.is_relaxed && !self.may_be_lost {
            self.tighten()?;
        }
        let started = Instant::now();
        self.run("BEGIN IMMEDIATE", "beginning a transaction").map_err(|error| match error {
            StoreError::Locked { .. } => StoreError::Locked {
                waited_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            },
            other => other,
        })?;
        let data_version: i64 = self
            .connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .during("beginning a transaction")?;
        if data_version != self.data_version {
            self.memory.forget();
            self.data_version = data_version;
        }
        Ok(())
    }

    fn commit(&mut self, operation: &'static str) -> Result<(), StoreError> {
        self.tell()?;
        self.run("COMMIT", operation)
    }

    fn guard(&mut self, batch: &[Prepared]) -> Result<Answer, StoreError> {
        self.run("SAVEPOINT batch", "guarding a batch")?;
        let answer = self.apply_one(batch);
        if let Err(error) = answer {
            if self.connection.is_autocommit() {
                // The database ended the whole transaction by itself, as it does when the disk is full.
                return Err(error);
            }
            self.memory.forget();
            self.run("ROLLBACK TO batch", "rolling back a batch")?;
            self.run("RELEASE batch", "ending a batch")?;
            return Ok(Err(error));
        }
        self.run("RELEASE batch", "ending a batch")?;
        Ok(answer)
    }

    fn apply_one(&mut self, batch: &[Prepared]) -> Answer {
        let mut transaction = Transaction {
            connection: &self.connection,
            memory: &mut self.memory,
            outcome: BatchOutcome::default(),
            first_new: None,
        };
        for write in batch {
            transaction.apply(write)?;
        }
        Ok(transaction.outcome)
    }

    fn run(&self, sql: &'static str, operation: &'static str) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute([]))
            .during(operation)?;
        Ok(())
    }
}

impl Transaction<'_> {
    fn apply(&mut self, write: &Prepared) -> Result<(), StoreError> {
        match write {
            Prepared::Content(id, parts) => self.store_content(*id, parts).map(|_| ()),
            Prepared::Commit(id, new) => self.store_commit(*id, new),
            Prepared::Append(append, lines) => self.append(append, lines),
            Prepared::Plain(write) => self.apply_plain(write),
        }
    }

    fn apply_plain(&mut self, write: &Write) -> Result<(), StoreError> {
        match write {
            Write::Content(_) | Write::Commit(_) | Write::Append(_) => {
                for prepared in crate::rules::prepare::prepare(vec![write.clone()]) {
                    self.apply(&prepared)?;
                }
                Ok(())
            }
            Write::Hole(hole) => self.store_hole(hole),
            Write::Cover { commit } => self.cover(*commit),
            Write::Counts { commit, counts } => self.count(*commit, *counts),
            Write::Sighting { commit, sighting } => self.see(*commit, sighting),
            Write::Session(session) => self.upsert_session(session),
            Write::Leave(key) => self.leave_session(key),
            Write::ExpectCursor { key, value } => self.expect_cursor(key, value.as_deref()),
            Write::ExpectTip { key, tip } => self.expect_tip(key, *tip),
            Write::Cursor { key, value } => self.keep_cursor(key, value),
            Write::Placement(placement) => self.place(placement),
            Write::Annotate { commit, change, at, by } => {
                let record = AuditRecord { at: *at, by: by.clone(), change: change.clone() };
                self.annotate(*commit, &record)
            }
            Write::MergeAnnotations { commit, records } => self.merge_annotations(*commit, records),
            Write::Link(link) => self.link(link),
            Write::Unlink(link) => self.unlink(link),
            Write::Redirect { from, to, at } => {
                crate::sqlite::marks::redirect(self.connection, *from, *to, *at)
            }
            Write::Anchors { commit, hashes } => self.anchor(*commit, hashes),
            Write::Covers(coverage) => self.cover_ledger(coverage),
            Write::ExpectEpoch { ledger, epoch } => self.expect_epoch(ledger, *epoch),
            Write::SaveStates { ledger, states } => self.save_states(ledger, states),
            Write::ChangeLedger(change) => self.change_ledger(change),
        }
    }

    /// Returns which kinds of marks there are.
    fn marks(&mut self) -> Result<Present, StoreError> {
        if let Some(present) = self.memory.marks {
            return Ok(present);
        }
        let present = Present::load(self.connection)?;
        self.memory.marks = Some(present);
        Ok(present)
    }

    /// Runs a statement that writes, and says how many rows it changed.
    fn execute(
        &self,
        sql: &'static str,
        values: impl rusqlite::Params,
        operation: &'static str,
    ) -> Result<usize, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .during(operation)
    }

    /// Runs a statement that writes a sealed row, whose seal is one value more.
    fn execute_sealed(
        &self,
        sql: &'static str,
        sealed: &Sealed,
        values: &[&dyn ToSql],
        operation: &'static str,
    ) -> Result<usize, StoreError> {
        execute_sealed(self.connection, sql, sealed, values, operation)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use tempfile::TempDir;

    use super::*;
    use crate::rules::prepare::prepare;
    use crate::sqlite::open::{Opened, SqliteOptions, open_store};
    use crate::write::NewContent;

    fn panicked(writer: &mut Writer) {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            writer.unsynced(|writer| {
                writer.within_transaction(|writer| -> Result<(), StoreError> {
                    writer.connection.execute_batch("UPDATE store SET packed_commit = 7").expect("a row");
                    std::panic::resume_unwind(Box::new("in the middle of a batch"))
                })
            })
        }));
        assert!(unwound.is_err());
        assert!(!writer.syncs(), "nobody could tell it to sync again");
    }

    #[test]
    fn what_comes_after_a_panic_is_whole_and_durable() {
        let home = TempDir::new().expect("a directory");
        let Opened { connection, .. } = open_store(home.path(), &SqliteOptions::default()).expect("a store");
        let mut writer = Writer::new(connection);
        panicked(&mut writer);
        let content = Write::Content(NewContent::literal(b"bytes".to_vec()));
        let answers = writer.apply(&[prepare(vec![content])], true);
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert!(writer.syncs());
        panicked(&mut writer);
        writer.maintain(|_| Ok(())).expect("maintained");
        assert!(writer.syncs());
        panicked(&mut writer);
        writer.synced().expect("a connection");
        assert!(writer.syncs());
        panicked(&mut writer);
        let packed = writer.maintain_or_undo(true, |connection| {
            connection
                .query_row("SELECT packed_commit FROM store", [], |row| row.get::<_, i64>(0))
                .during("reading the store's row")
        });
        assert!(writer.syncs());
        assert_ne!(packed.expect("a number"), 7, "nothing is left of what was not finished");
    }
}
