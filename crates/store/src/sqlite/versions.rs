//! Which format a store has: making it, telling it from other databases, and bringing it up to date.
//!
//! A store has two versions: who reads it must know the one, who writes it should know the other. A newer
//! write version only adds columns and tables, which older programs leave as they are.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::failure::During;
use super::open::not_a_store;
use super::statements::{columns, one};
use crate::error::StoreError;
use crate::maintain::migrate::StepKind;
use crate::seam::StoreIdentity;

/// Marks the file as ours, for SQLite's header: `STEM`.
const APPLICATION_ID: i32 = 0x5354_454d;

/// What brings a store from one write version to the next.
pub(super) struct Migration {
    /// The write version that it leads to.
    pub(super) to: u32,
    pub(super) sql: &'static str,
    /// What a program must know to read the store afterwards.
    pub(super) read_version: u32,
    pub(super) kind: StepKind,
    pub(super) about: &'static str,
    pub(super) undo: Option<Undo>,
}

/// The way back from an additive step.
pub(super) struct Undo {
    /// Counts what would be lost.
    pub(super) lost: &'static str,
    pub(super) sql: &'static str,
}

/// What makes a store, and all steps from there, oldest first; append-only. Stores from before the first are refused.
pub(super) const MIGRATIONS: [Migration; 2] = [
    Migration {
        to: 5,
        sql: include_str!("schema/0005.sql"),
        read_version: 3,
        kind: StepKind::Additive,
        about: "the first version that is read",
        undo: None,
    },
    Migration {
        to: 6,
        sql: include_str!("schema/0006.sql"),
        // Who does not know keys leaves them behind when events are forgotten: hashes of nothing that is there.
        read_version: 3,
        kind: StepKind::Additive,
        about: "keys of events, by which a repeated call is known",
        undo: Some(Undo { lost: "SELECT count(*) FROM event_key", sql: "DROP TABLE event_key" }),
    },
];

const OPENING: &str = "opening the store";
const UPDATING: &str = "updating the store's format";

/// The row that describes a store.
pub(super) struct Description {
    pub(super) write_version: u32,
    identity: StoreIdentity,
}

/// Makes an empty database a store, or checks and updates the one it is. A step that rewrites what is stored is
/// never done here: a hook must not take minutes, and there has to be a backup first.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<StoreIdentity, StoreError> {
    prepare_with(connection, path, &MIGRATIONS)
}

pub(super) fn prepare_with(
    connection: &mut Connection,
    path: &Path,
    list: &[Migration],
) -> Result<StoreIdentity, StoreError> {
    if let Some(found) = describe(connection, path, list)? {
        if found.write_version >= newest(list) {
            return Ok(found.identity);
        }
        hold_additive(&found, list)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).during(OPENING)?;
    // Another process may have been quicker.
    let found = describe(&transaction, path, list)?;
    if let Some(found) = &found {
        hold_additive(found, list)?;
    }
    run(&transaction, found.as_ref().map_or(0, |found| found.write_version), list)?;
    let made = describe(&transaction, path, list)?;
    transaction.commit().during("making the store")?;
    made.map(|made| made.identity).ok_or_else(|| not_a_store(path, &"its description was not written"))
}

fn hold_additive(found: &Description, list: &[Migration]) -> Result<(), StoreError> {
    if after(list, found.write_version).all(|step| step.kind == StepKind::Additive) {
        return Ok(());
    }
    Err(StoreError::NeedsMigration { found: found.write_version, newest: newest(list) })
}

/// Does the steps from a version on, within the transaction of the caller.
pub(super) fn run(transaction: &Connection, from: u32, list: &[Migration]) -> Result<(), StoreError> {
    for migration in after(list, from) {
        transaction.execute_batch(migration.sql).during(UPDATING)?;
    }
    if from == 0 {
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
            [read_version(list), newest(list)],
        )
        .during(UPDATING)?;
    Ok(())
}

/// Returns what a program must know to read a store that went through all steps of a list.
pub(super) fn read_version(list: &[Migration]) -> u32 {
    list.last().map_or(0, |newest| newest.read_version)
}

/// Returns the write version that a list of steps leads to.
pub(super) fn newest(list: &[Migration]) -> u32 {
    list.last().map_or(0, |newest| newest.to)
}

/// Returns the steps after a write version.
pub(super) fn after(list: &[Migration], version: u32) -> impl Iterator<Item = &Migration> {
    list.iter().filter(move |step| step.to > version)
}

/// Reads the description; none for an empty database.
pub(super) fn describe(
    connection: &Connection,
    path: &Path,
    list: &[Migration],
) -> Result<Option<Description>, StoreError> {
    let ask = connection.during(OPENING);
    let application_id: i32 = ask.only("PRAGMA application_id", [], one)?;
    if application_id != APPLICATION_ID {
        let tables: i64 = ask.only("SELECT count(*) FROM sqlite_schema", [], one)?;
        if application_id == 0 && tables == 0 {
            return Ok(None);
        }
        return Err(not_a_store(path, &"it is another program's database"));
    }
    let sql = "SELECT read_version, write_version, store_id, secret FROM store";
    let found: Option<(u32, u32, [u8; 16], [u8; 32])> = ask.first(sql, [], columns)?;
    let Some((read_version, write_version, store_id, secret)) = found else {
        return Err(not_a_store(path, &"it does not say which format it has"));
    };
    let supported = self::read_version(list);
    if read_version > supported {
        return Err(StoreError::TooNew { found: read_version, supported });
    }
    let oldest = list.first().map_or(0, |oldest| oldest.to);
    if write_version < oldest {
        return Err(StoreError::TooOld { found: write_version, oldest });
    }
    Ok(Some(Description { write_version, identity: StoreIdentity { store_id, secret } }))
}
