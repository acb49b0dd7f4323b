//! Rewriting the database and emptying its log, so that nothing that was removed is left in a file.
//!
//! Rows are gone before; a crash in between leaves a mark, and the next opening ends here.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use stemmata_model::Timestamp;

use super::failure::During;
use super::marks;
use crate::error::{StoreError, with_causes};

/// The pause between two tries.
const LOG_PAUSE: Duration = Duration::from_millis(20);

/// Returns whether a forgetting was interrupted before its files were clean.
pub(super) fn is_due(connection: &Connection) -> Result<bool, StoreError> {
    Ok(at(connection, &[])?.or(at(connection, marks::LOG_ONLY)?).is_some())
}

fn at(connection: &Connection, key: &[u8]) -> Result<Option<i64>, StoreError> {
    marks::at(connection, marks::UNFINISHED, key)
}

/// Rewrites the database and empties its log, for which it tries as long as `wait`. Returns what prevented it, `None` when all is done.
///
/// Afterwards the connection no longer waits for locks. The caller holds the lock of packs, so that another process that forgets at the
/// same time cannot conclude that everything is done.
pub(super) fn run(connection: &Connection, wait: Duration) -> Result<Option<String>, StoreError> {
    // Freed pages and the gaps within pages hold what was in them: only a database that is built anew holds
    // nothing but its rows.
    if let Some(since) = at(connection, &[])? {
        let vacuumed = connection.execute_batch("VACUUM").during("rewriting the database");
        if let Err(error) = vacuumed {
            return Ok(Some(format!("the database could not be rewritten ({})", with_causes(&error))));
        }
        // It takes long in a large store: where a reader keeps the log, the next opening must not do it again.
        let since = Timestamp::from_micros(since);
        marks::set(connection, (marks::UNFINISHED, marks::LOG_ONLY), since, None)?;
        marks::remove(connection, marks::UNFINISHED, &[])?;
    }
    if !empty_log(connection, wait)? {
        return Ok(Some("the log could not be emptied: another process reads the store".to_owned()));
    }
    marks::remove(connection, marks::UNFINISHED, marks::LOG_ONLY)?;
    Ok(None)
}

/// Copies the log into the database and truncates it; another process that reads old pages of it stands in the way.
fn empty_log(connection: &Connection, wait: Duration) -> Result<bool, StoreError> {
    // With a connection's own patience each look would wait as long as a write does, for a reader that may be stopped.
    connection.busy_timeout(Duration::ZERO).during("emptying the log")?;
    let started = Instant::now();
    loop {
        let busy: rusqlite::Result<i64> =
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
        match busy.during("emptying the log") {
            Ok(0) => return Ok(true),
            Ok(_) | Err(StoreError::Locked { .. }) => {}
            Err(error) => return Err(error),
        }
        if started.elapsed() >= wait {
            return Ok(false);
        }
        std::thread::sleep(LOG_PAUSE);
    }
}
