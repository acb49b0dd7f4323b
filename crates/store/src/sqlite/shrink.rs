//! Giving room back: freed pages to the file system, and the log emptied.
//!
//! Which rows go is not decided here.

use rusqlite::Connection;

use super::Maintained;
use super::failure::During;
use crate::error::StoreError;

/// Pages that one transaction gives back at most, so that nobody waits for long.
const STEP_PAGES: u32 = 1000;

/// Steps at most: a database of 40 GB of free pages.
const STEPS_MAX: usize = 10_000;

/// Cuts free pages off the database and empties the log, as far as nobody else reads or writes.
pub(super) fn shrink(store: &Maintained<'_>) -> Result<(), StoreError> {
    for _ in 0..STEPS_MAX {
        let left = store.group.maintain(give_back)?;
        store.log.look(store.group);
        if left == 0 {
            break;
        }
    }
    store.log.empty(store.group);
    Ok(())
}

/// Gives some pages back, and returns how many are left.
fn give_back(connection: &Connection) -> Result<i64, StoreError> {
    let operation = "giving free pages back";
    let free = || connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0));
    if free().during(operation)? == 0 {
        return Ok(0);
    }
    let mut statement =
        connection.prepare(&format!("PRAGMA incremental_vacuum({STEP_PAGES})")).during(operation)?;
    let mut rows = statement.query([]).during(operation)?;
    // Each row is a page that was given back.
    while rows.next().during(operation)?.is_some() {}
    free().during(operation)
}
