//! A service's state in one SQLite database of its own: durable, for many threads and processes at once.
//!
//! Specified in `docs/format/service-state.md`. What holds and what ends is decided in `rules`; here rows are found and written.

mod audit;
mod grants;
mod jobs;
mod pointers;
mod tokens;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use stemmata_model::Timestamp;

use super::failure::{During, unreadable};
use super::open::{self, SqliteOptions, explain, not_a_store};
use super::statements::{columns, one};
use super::{make_directory, sync_directory, waited};
use crate::error::StoreError;
use crate::maintain::surroundings::refuse_network;
use crate::state::StateError;

/// The file in its directory.
const FILE: &str = "service.db";

/// Marks the file as a service's state, for SQLite's header: `STES`. Not the store's mark, so that neither is taken for the other.
const APPLICATION_ID: i32 = 0x5354_4553;

/// Pages of the log after which it is copied into the database.
const LOG_PAGES: u32 = 1_000;

/// What leads from one write version to the next, the first from nothing; append-only. With the version that a program must know to
/// read it afterwards.
const STEPS: [(u32, &str); 1] = [(1, include_str!("schema/state-1.sql"))];

const OPENING: &str = "opening the service's state";

/// A [`ServiceState`](crate::state::ServiceState) in the file `service.db` of a directory. Threads take turns with one connection:
/// what is asked here is short, and most of it writes.
pub struct SqliteState {
    path: PathBuf,
    options: SqliteOptions,
    connection: Mutex<Connection>,
}

impl std::fmt::Debug for SqliteState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SqliteState").field("path", &self.path).finish_non_exhaustive()
    }
}

impl SqliteState {
    /// Opens the state in a directory; makes both where they are not there, for their owner only.
    ///
    /// # Errors
    /// `NotAStore` for another file, `TooNew` for a version that this program cannot read, `Network`, `Locked`, `Full`, `ReadOnly`,
    /// `Io`, `Backend`.
    pub fn open(dir: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        match Self::opened(dir, &options, &STEPS) {
            Ok((path, connection)) => Ok(Self { path, options, connection: Mutex::new(connection) }),
            Err(error) => Err(waited(error, &options)),
        }
    }

    fn opened(
        dir: &Path,
        options: &SqliteOptions,
        steps: &[(u32, &str)],
    ) -> Result<(PathBuf, Connection), StoreError> {
        let files = options.files.as_ref();
        if !options.allow_network {
            refuse_network(files, dir)?;
        }
        make_directory(files, dir)?;
        let path = dir.join(FILE);
        let is_new = open::make_file(files, dir, &path)?;
        let mut connection = open::connect(&path, options)?;
        // The store copies its log itself, because it is long; this one is short.
        connection
            .execute_batch(&format!("PRAGMA wal_autocheckpoint = {LOG_PAGES}"))
            .and_then(|()| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false))
            .during(OPENING)?;
        if is_new {
            open::start_log(&connection, &path, options)?;
        }
        prepare(&mut connection, &path, steps).map_err(|error| explain(error, &path))?;
        if is_new {
            sync_directory(files, dir)?;
        }
        Ok((path, connection))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic within a transaction rolled it back.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reading<T>(&self, act: impl FnOnce(&Connection) -> Result<T, StateError>) -> Result<T, StateError> {
        act(&self.connection()).map_err(|error| self.after_waiting(error))
    }

    /// Runs a transaction that has the database alone from its beginning: what it read is still so when it writes.
    fn writing<T>(
        &self,
        operation: &'static str,
        act: impl FnOnce(&Transaction<'_>) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let mut connection = self.connection();
        let run = || -> Result<T, StateError> {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate).during(operation)?;
            let done = act(&transaction)?;
            transaction.commit().during(operation)?;
            Ok(done)
        };
        run().map_err(|error| self.after_waiting(error))
    }

    fn after_waiting(&self, error: StateError) -> StateError {
        match error {
            StateError::Storage(error) => waited(error, &self.options).into(),
            other => other,
        }
    }
}

/// Makes an empty database a service's state, or checks and updates the one it is.
fn prepare(connection: &mut Connection, path: &Path, steps: &[(u32, &str)]) -> Result<(), StoreError> {
    let newest = u32::try_from(steps.len()).expect("a handful");
    if version(connection, path, steps)? >= newest {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).during(OPENING)?;
    // Another process may have been quicker.
    let found = version(&transaction, path, steps)?;
    for (_, sql) in steps.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        transaction.execute_batch(sql).during(OPENING)?;
    }
    let read_version = steps.last().map_or(0, |(read_version, _)| *read_version);
    transaction
        .execute(
            "INSERT INTO about (one, read_version, write_version) VALUES (1, ?1, ?2) ON CONFLICT (one) DO UPDATE \
             SET read_version = max(read_version, ?1), write_version = max(write_version, ?2)",
            [read_version, newest],
        )
        .during(OPENING)?;
    transaction.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}")).during(OPENING)?;
    transaction.commit().during(OPENING)
}

/// Returns the write version of a database, 0 for an empty one.
fn version(connection: &Connection, path: &Path, steps: &[(u32, &str)]) -> Result<u32, StoreError> {
    let ask = connection.during(OPENING);
    let application_id: i32 = ask.only("PRAGMA application_id", [], one)?;
    if application_id != APPLICATION_ID {
        let tables: i64 = ask.only("SELECT count(*) FROM sqlite_schema", [], one)?;
        if application_id == 0 && tables == 0 {
            return Ok(0);
        }
        return Err(not_a_store(path, &"it is no state of a service but another database"));
    }
    let (read_version, write_version): (u32, u32) =
        ask.only("SELECT read_version, write_version FROM about", [], columns)?;
    let supported = steps.last().map_or(0, |(read_version, _)| *read_version);
    if read_version > supported {
        return Err(StoreError::TooNew { found: read_version, supported });
    }
    Ok(write_version)
}

/// Counts the rows that a statement counts.
fn count(connection: &Connection, operation: &'static str, sql: &str) -> Result<u64, StoreError> {
    let rows: i64 = connection.during(operation).only(sql, [], one)?;
    Ok(rows.cast_unsigned())
}

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

/// Reads a name as it was checked when it was written.
fn name<T: std::str::FromStr<Err: std::fmt::Display>>(
    column: &'static str,
    text: &str,
) -> Result<T, StoreError> {
    text.parse().map_err(|error: T::Err| unreadable(column, &text, &error))
}

#[cfg(test)]
mod tests;
