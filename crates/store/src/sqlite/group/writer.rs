//! The connection that writes: transactions of it, and whether they are durable when they end.
//!
//! Who is in a group, and who waits for whom, is `group`'s; what a batch does is `write`'s.
//!
//! The writer is relaxed (`synchronous = NORMAL`) between appends that want no sync. It is tightened, and the setting read back,
//! before every transaction that must be durable.

use std::time::Instant;

use rusqlite::Connection;

use crate::error::{StoreError, StoreErrorKind};
use crate::rules::prepare::Prepared;
use crate::sqlite::failure::During;
use crate::sqlite::statements::one;
use crate::sqlite::write::{Answer, Memory, apply};

/// What `PRAGMA user_version` says while all that is in the log was synced, and while some of it may not be: the one number
/// of a database that costs nothing to read and is a program's own. Any other than the first is taken for the second.
const SYNCED: i64 = 0;
const TELL_SYNCED: &str = "PRAGMA user_version = 0";
const TELL_UNSYNCED: &str = "PRAGMA user_version = 1";

/// The connection that writes, and what it remembers of rows it met.
pub(in crate::sqlite) struct Writer {
    connection: Connection,
    memory: Memory,
    /// What `PRAGMA data_version` said last: another number means that another connection has written.
    data_version: i64,
    /// Whether what is being written may be lost in a power cut.
    may_be_lost: bool,
    /// The sync mark in the database: whether the log may hold unsynced transactions. `None` until it was read.
    says_unsynced: Option<bool>,
    /// Whether the connection was told not to sync, and not yet to sync again. It stays so until something comes that
    /// must not be lost: telling it twice for each append took as long as the append.
    is_relaxed: bool,
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy)]
enum End {
    Commit,
    Rollback,
}

impl Writer {
    pub(in crate::sqlite) fn new(connection: Connection) -> Self {
        Self {
            connection,
            memory: Memory::default(),
            data_version: -1,
            may_be_lost: false,
            says_unsynced: None,
            is_relaxed: false,
        }
    }

    pub(in crate::sqlite) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the connection for transactions of the caller's own, which are durable when they return.
    pub(in crate::sqlite) fn synced(&mut self) -> Result<&Connection, StoreError> {
        self.end_unfinished()?;
        if self.is_relaxed {
            self.tighten()?;
        }
        Ok(&self.connection)
    }

    pub(in crate::sqlite) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Does something to rows as one transaction, or leaves nothing of it; what is remembered of rows is gone.
    pub(in crate::sqlite) fn maintain<T>(
        &mut self,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.maintain_until(End::Commit, act)
    }

    /// Finds out what something would do to rows, and leaves nothing of it.
    pub(in crate::sqlite) fn rehearse<T>(
        &mut self,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.maintain_until(End::Rollback, act)
    }

    fn maintain_until<T>(
        &mut self,
        end: End,
        act: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.may_be_lost = false;
        let done = self.within_transaction(end, |writer| act(&writer.connection));
        self.forget();
        done
    }

    /// Applies batches in order, each whole or not at all, and makes all of them durable at once, unless nobody waits
    /// for that: then they are in the log and a later sync makes them durable.
    pub(in crate::sqlite) fn apply(&mut self, batches: &[Vec<Prepared>], is_durable: bool) -> Vec<Answer> {
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
        let told = match self.says_unsynced {
            Some(told) => told,
            None => self
                .connection
                .during(operation)
                .only("PRAGMA user_version", [], one::<i64>)
                .map(|version| version != SYNCED)?,
        };
        if told != is_unsynced {
            self.run(if is_unsynced { TELL_UNSYNCED } else { TELL_SYNCED }, operation)?;
        }
        self.says_unsynced = Some(is_unsynced);
        Ok(())
    }

    /// Says whether a commit is durable when it returns.
    pub(in crate::sqlite) fn syncs(&self) -> bool {
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
                let copies: Vec<Answer> =
                    batches.iter().skip(1).map(|_| Err(error.again("writing a group of batches"))).collect();
                std::iter::once(Err(error)).chain(copies).collect()
            }
        }
    }

    fn apply_unguarded(&mut self, batches: &[Vec<Prepared>]) -> Result<Vec<Answer>, StoreError> {
        self.within_transaction(End::Commit, |writer| {
            batches.iter().map(|batch| writer.apply_one(batch).map(Ok)).collect()
        })
    }

    fn apply_guarded(&mut self, batches: &[Vec<Prepared>]) -> Result<Vec<Answer>, StoreError> {
        self.within_transaction(End::Commit, |writer| {
            batches.iter().map(|batch| writer.guard(batch)).collect()
        })
    }

    /// Ends what `act` does as it is told to; leaves nothing of it where it fails.
    fn within_transaction<T>(
        &mut self,
        end: End,
        act: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let result = self.begin().and_then(|()| act(self)).and_then(|done| {
            let sql = match end {
                End::Commit => self.tell().map(|()| "COMMIT")?,
                // Nothing is written that the database could say anything of.
                End::Rollback => "ROLLBACK",
            };
            self.run(sql, "ending a transaction").map(|()| done)
        });
        if result.is_err() {
            self.forget();
            if !self.connection.is_autocommit() {
                // The error that counts is the one before; a transaction that cannot even be rolled back ends
                // with the connection.
                let _ended = self.connection.execute_batch("ROLLBACK");
            }
        }
        result
    }

    /// Forgets what is remembered of rows, and what the database says of its log.
    fn forget(&mut self) {
        self.memory = Memory::default();
        self.says_unsynced = None;
    }

    /// Rolls back what somebody left who panicked in the middle of a transaction.
    fn end_unfinished(&mut self) -> Result<(), StoreError> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        self.forget();
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
        let data_version: i64 =
            self.connection.during("beginning a transaction").only("PRAGMA data_version", [], one)?;
        if data_version != self.data_version {
            self.forget();
            self.data_version = data_version;
        }
        Ok(())
    }

    fn guard(&mut self, batch: &[Prepared]) -> Result<Answer, StoreError> {
        self.run("SAVEPOINT batch", "guarding a batch")?;
        let answer = self.apply_one(batch);
        if let Err(error) = answer {
            if self.connection.is_autocommit() {
                // The database ended the whole transaction by itself, as it does when the disk is full.
                return Err(error);
            }
            self.forget();
            self.run("ROLLBACK TO batch", "rolling back a batch")?;
            self.run("RELEASE batch", "ending a batch")?;
            return Ok(Err(error));
        }
        self.run("RELEASE batch", "ending a batch")?;
        Ok(answer)
    }

    fn apply_one(&mut self, batch: &[Prepared]) -> Answer {
        apply(&self.connection, &mut self.memory, batch)
    }

    fn run(&self, sql: &'static str, operation: &'static str) -> Result<(), StoreError> {
        self.connection.during(operation).run(sql, [])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
    use tempfile::TempDir;

    use super::*;
    use crate::rules::prepare::prepare;
    use crate::sqlite::open::{Opened, SqliteOptions, open_store};
    use crate::write::{NewContent, Write};

    fn panicked(writer: &mut Writer) {
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            writer.unsynced(|writer| {
                writer.within_transaction(End::Commit, |writer| -> Result<(), StoreError> {
                    writer.connection.execute_batch("UPDATE store SET packed_commit = 7").expect("a row");
                    std::panic::resume_unwind(Box::new("in the middle of a batch"))
                })
            })
        }));
        assert!(unwound.is_err());
        assert!(!writer.syncs(), "nobody could tell it to sync again");
    }

    #[test]
    fn only_what_is_kept_says_that_the_log_was_synced() {
        let home = TempDir::new().expect("a directory");
        let Opened { connection, .. } = open_store(home.path(), &SqliteOptions::default()).expect("a store");
        let mut writer = Writer::new(connection);
        let content = Write::Content(NewContent::literal(b"bytes".to_vec()));
        writer.apply(&[prepare(vec![content])], false);
        let refuse = |context: AuthContext<'_>| match context.action {
            AuthAction::Pragma { pragma_name: "user_version", pragma_value: Some(_) } => Authorization::Deny,
            _ => Authorization::Allow,
        };
        writer.connection.authorizer(Some(refuse)).expect("an authorizer");
        writer.rehearse(|_| Ok(())).expect("nothing is said");
        assert!(writer.maintain(|_| Ok(())).is_err(), "a change writes the sync mark, and was not let");
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
        let packed = writer.maintain(|connection| {
            connection
                .query_row("SELECT packed_commit FROM store", [], |row| row.get::<_, i64>(0))
                .during("reading the store's row")
        });
        assert!(writer.syncs());
        assert_ne!(packed.expect("a number"), 7, "nothing is left of what was not finished");
    }
}
