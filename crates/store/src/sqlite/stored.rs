//! What an index of the commits has to take back: marks that say from which commit on.
//!
//! The order of storing is that of the rows of `commits`.

use rusqlite::{Connection, OptionalExtension};
use stemmata_model::{MachineId, Timestamp};

use super::failure::{During, unreadable};
use super::marks;
use crate::error::StoreError;
use crate::stored::{DueKey, DueRow, StoredAt, UnseenKey};
use crate::write::SessionKey;

/// Has an index be cut before the first of some rows of `commits`; for none, only places and events go.
pub(super) fn set_due(
    connection: &Connection,
    rows: impl Iterator<Item = i64>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let first = rows.min().map(|row| StoredAt(row.cast_unsigned()));
    leave(connection, (marks::INDEX_DUE, &DueRow::new(first).to_bytes()), at)
}

/// Leaves a mark with a time that none of its key had: who works on the one from before takes back only that.
fn leave(connection: &Connection, (kind, key): (i64, &[u8]), at: Timestamp) -> Result<(), StoreError> {
    let before = marks::at(connection, kind, key)?;
    let at = before.map_or(at, |before| at.max(Timestamp::from_micros(before.saturating_add(1))));
    marks::remove(connection, kind, key)?;
    marks::set(connection, (kind, key), at, None).map(drop)
}

/// Removes a mark unless it was left again since.
fn take_back(connection: &Connection, (kind, key): (i64, &[u8]), left: i64) -> Result<(), StoreError> {
    if marks::at(connection, kind, key)? == Some(left) {
        marks::remove(connection, kind, key)?;
    }
    Ok(())
}

pub(super) fn due(connection: &Connection) -> Result<Vec<DueKey>, StoreError> {
    let read = |(key, left): (Vec<u8>, i64)| {
        let row = DueRow::from_bytes(&key).ok_or_else(|| unreadable("mark.key", &"an index", &"no row"))?;
        Ok(DueKey { row, left })
    };
    let mut keys: Vec<DueKey> =
        marks::all(connection, marks::INDEX_DUE)?.into_iter().map(read).collect::<Result<_, StoreError>>()?;
    keys.sort();
    Ok(keys)
}

pub(super) fn done(connection: &Connection, keys: &[DueKey]) -> Result<(), StoreError> {
    keys.iter().try_for_each(|key| take_back(connection, (marks::INDEX_DUE, &key.row.to_bytes()), key.left))
}

/// Notes that a session saw a commit after it was stored: by its origin, which says nothing once it is gone.
pub(super) fn set_unseen(connection: &Connection, origin: i64) -> Result<(), StoreError> {
    leave(connection, (marks::INDEX_UNSEEN, &origin.to_be_bytes()), Timestamp::EPOCH)
}

/// Returns the sessions that saw commits after these were stored, at most `limit`.
pub(super) fn unseen(connection: &Connection, limit: usize) -> Result<Vec<UnseenKey>, StoreError> {
    const READING: &str = "looking for marks";
    let mut found = Vec::new();
    // Row by row: there may be a mark for each of 100,000 copies, and a page of them is wanted.
    let mut statement =
        connection.prepare_cached("SELECT key, at FROM mark WHERE kind = ?1").during(READING)?;
    let mut rows = statement.query([marks::INDEX_UNSEEN]).during(READING)?;
    while found.len() < limit
        && let Some(row) = rows.next().during(READING)?
    {
        let (key, at): (Vec<u8>, i64) = (row.get(0).during(READING)?, row.get(1).during(READING)?);
        let key = key.try_into().map_err(|_| unreadable("mark.key", &"an index", &"no row"))?;
        let origin = i64::from_be_bytes(key);
        let session: Option<(String, Option<String>, String)> = connection
            .prepare_cached("SELECT machine, path, session FROM origin WHERE row = ?1")
            .and_then(|mut statement| {
                let take = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
                statement.query_row([origin], take).optional()
            })
            .during("reading who saw a commit")?;
        let Some((machine, path, session)) = session else { continue };
        let machine =
            MachineId::new(machine).map_err(|error| unreadable("origin.machine", &origin, &error))?;
        let path = path.unwrap_or_else(|| format!("api:{session}"));
        found.push(UnseenKey { session: SessionKey { machine, path }, left: (origin, at) });
    }
    Ok(found)
}

pub(super) fn unseen_done(connection: &Connection, keys: &[UnseenKey]) -> Result<(), StoreError> {
    keys.iter().try_for_each(|key| {
        take_back(connection, (marks::INDEX_UNSEEN, &key.left.0.to_be_bytes()), key.left.1)
    })
}
