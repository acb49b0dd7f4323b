//! Cleaning: nothing that was taken back stays in a file of the folder.
//!
//! What is taken back is `cut`'s.

use rusqlite::Connection;

use super::Index;
use super::current::remove_others;
use super::error::{IndexError, While};
use crate::error::StoreError;

const CLEANING: &str = "cleaning the search index";

/// Rewrites the database, because free pages and the gaps within pages hold what was in them; empties its log; and removes
/// every other file of the folder. Returns what stood in the way.
pub(super) fn clean(index: &Index, connection: &Connection) -> Result<Option<String>, IndexError> {
    connection.execute_batch("VACUUM").while_(CLEANING)?;
    let emptied = index.options.patience.until(|| empty_log(connection).map(|done| done.then_some(())))?;
    remove_others(&index.dir, index.files(), &index.name(), false)?;
    Ok(match emptied {
        Some(()) => None,
        None => Some("another process reads the search index".to_owned()),
    })
}

fn empty_log(connection: &Connection) -> Result<bool, IndexError> {
    let busy = connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
        .while_(CLEANING);
    match busy {
        Ok(busy) => Ok(busy == 0),
        Err(IndexError::Storage(StoreError::Locked { .. })) => Ok(false),
        Err(error) => Err(error),
    }
}
