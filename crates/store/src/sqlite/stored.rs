//! What an index of the commits has to take back: marks that say from which commit on.
//!
//! The order of storing is that of the rows of `commits`.

use rusqlite::Connection;
use stemmata_model::Timestamp;

use super::failure::unreadable;
use super::marks;
use crate::error::StoreError;
use crate::stored::{DueKey, StoredAt};

/// Has an index be cut before the first of some rows of `commits`; for none, only places go.
pub(super) fn set_due(
    connection: &Connection,
    rows: impl Iterator<Item = i64>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let first = rows.min().map(|row| StoredAt(row.cast_unsigned()));
    marks::set(connection, (marks::INDEX_DUE, &DueKey::new(first).to_bytes()), at, None).map(drop)
}

pub(super) fn due(connection: &Connection) -> Result<Vec<DueKey>, StoreError> {
    let read = |(key, _): (Vec<u8>, i64)| {
        DueKey::from_bytes(&key).ok_or_else(|| unreadable("mark.key", &"an index", &"no row"))
    };
    let mut keys: Vec<DueKey> =
        marks::all(connection, marks::INDEX_DUE)?.into_iter().map(read).collect::<Result<_, _>>()?;
    keys.sort();
    Ok(keys)
}

pub(super) fn done(connection: &Connection, keys: &[DueKey]) -> Result<(), StoreError> {
    for key in keys {
        marks::remove(connection, marks::INDEX_DUE, &key.to_bytes())?;
    }
    Ok(())
}
