//! Which format a store has: making it, telling it from other databases, and bringing it up to date.
//!
//! A store has two versions: who reads it must know the one, who writes it should know the other. A newer
//! write version only adds columns and tables, which older programs leave as they are.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::failure::During;
use super::open::not_a_store;
use crate::error::StoreError;
use crate::seam::StoreIdentity;

/// Marks the file as ours, for SQLite's header: `STEM`.
const APPLICATION_ID: i32 = 0x5354_454d;

/// The newest format that this version reads.
const READ_VERSION: u32 = 2;

/// What brings a store from one write version to the next, oldest first; append-only.
const MIGRATIONS: [&str; 2] = [include_str!("schema/0001.sql"), include_str!("schema/0002.sql")];

const OPENING: &str = "opening the store";

/// The row that describes a store.
struct Description {
    write_version: usize,
    identity: StoreIdentity,
}

/// Makes an empty database a store, or checks and updates the one it is.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<StoreIdentity, StoreError> {
    if let Some(found) = describe(connection, path)?
        && found.write_version >= MIGRATIONS.len()
    {
        return Ok(found.identity);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).during(OPENING)?;
    // Another process may have been quicker.
    let found = describe(&transaction, path)?;
    let from = found.as_ref().map_or(0, |found| found.write_version);
    for migration in MIGRATIONS.iter().skip(from) {
        transaction.execute_batch(migration).during("updating the store's format")?;
    }
    if found.is_none() {
        transaction
            .execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}"))
            .during("making the store")?;
        transaction
            .execute(
                "INSERT INTO store (one, read_version, write_version, store_id, secret) \
                 VALUES (1, 1, 0, randomblob(16), randomblob(32))",
                [],
            )
            .during("making the store")?;
    }
    transaction
        .execute(
            "UPDATE store SET read_version = max(read_version, ?1), write_version = max(write_version, ?2)",
            [i64::from(READ_VERSION), i64::try_from(MIGRATIONS.len()).expect("a short list")],
        )
        .during("updating the store's format")?;
    let made = describe(&transaction, path)?;
    transaction.commit().during("making the store")?;
    made.map(|made| made.identity).ok_or_else(|| not_a_store(path, &"its description was not written"))
}

/// Reads the description; none for an empty database.
fn describe(connection: &Connection, path: &Path) -> Result<Option<Description>, StoreError> {
    let application_id: i32 =
        connection.query_row("PRAGMA application_id", [], |row| row.get(0)).during(OPENING)?;
    if application_id != APPLICATION_ID {
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .during(OPENING)?;
        if application_id == 0 && tables == 0 {
            return Ok(None);
        }
        return Err(not_a_store(path, &"it is another program's database"));
    }
    let found = connection
        .query_row("SELECT read_version, write_version, store_id, secret FROM store", [], |row| {
            Ok((row.get(0)?, row.get::<_, u32>(1)?, row.get(2)?, row.get(3)?))
        })
        .optional()
        .during(OPENING)?;
    let Some((read_version, write_version, store_id, secret)) = found else {
        return Err(not_a_store(path, &"it does not say which format it has"));
    };
    if read_version > READ_VERSION {
        return Err(StoreError::TooNew { found: read_version, supported: READ_VERSION });
    }
    Ok(Some(Description {
        write_version: usize::try_from(write_version).unwrap_or(usize::MAX),
        identity: StoreIdentity { store_id, secret },
    }))
}
