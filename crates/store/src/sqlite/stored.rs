//! What an index of the commits has to take back: marks that say from which commit on.
//!
//! The order of storing is that of the rows of `commits`.

use rusqlite::{Connection, params};
use stemmata_model::{Commit, MachineId, Timestamp};

use super::failure::{During, unreadable};
use super::read::commits::{SEEN_BY, STORED_AFTER, sql_limit};
use super::{SqliteStore, marks};
use crate::error::StoreError;
use crate::seam::{DueKey, DueStamp, Follow, StoredAt, UnseenKey};
use crate::sqlite::statements::columns;
use crate::write::SessionKey;

impl Follow for SqliteStore {
    fn stored_after(
        &self,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError> {
        let values = params![after.unwrap_or(StoredAt::START), sql_limit(limit)];
        self.read(|reader| reader.collect_stored(STORED_AFTER, values))
    }

    fn seen_by(
        &self,
        session: &SessionKey,
        after: Option<StoredAt>,
        limit: usize,
    ) -> Result<Vec<(StoredAt, Commit)>, StoreError> {
        let (machine, path) = (session.machine.as_str(), session.path.as_str());
        let (after, named) = (after.unwrap_or(StoredAt::START), path.strip_prefix("api:"));
        let values = params![after, sql_limit(limit), machine, path, named];
        self.read(|reader| reader.collect_stored(SEEN_BY, values))
    }

    fn index_due(&self) -> Result<Vec<DueKey>, StoreError> {
        let mut due = self.read(|reader| marks::all(reader.connection(), marks::INDEX_DUE))?;
        due.sort();
        let read = |(key, at): (Vec<u8>, i64)| {
            let (key, row) = key_of(key)?;
            Ok(DueKey { first: (row != NO_COMMIT).then(|| StoredAt::of_row(row)), stamp: stamp(key, at) })
        };
        due.into_iter().map(read).collect()
    }

    fn leave_index_due(&self) -> Result<(), StoreError> {
        self.mark_for_index(&|connection| set_due(connection, None, Timestamp::EPOCH))
    }

    fn index_done(&self, keys: &[DueKey]) -> Result<(), StoreError> {
        self.mark_for_index(&|connection| {
            keys.iter().try_for_each(|key| take_back(connection, marks::INDEX_DUE, key.stamp))
        })
    }

    fn index_unseen(&self, limit: usize) -> Result<Vec<UnseenKey>, StoreError> {
        self.read(|reader| unseen(reader.connection(), limit))
    }

    fn index_unseen_done(&self, keys: &[UnseenKey]) -> Result<(), StoreError> {
        self.mark_for_index(&|connection| {
            keys.iter().try_for_each(|key| take_back(connection, marks::INDEX_UNSEEN, key.stamp))
        })
    }
}

/// What the mark of a reason without a commit is found by: no commit can be in that row.
const NO_COMMIT: i64 = i64::MAX;

/// Returns the stamp of a mark: its key, by which it is found again, and its time, which is another one when it is left again.
fn stamp(key: [u8; 8], at: i64) -> DueStamp {
    let mut bytes = [0; 16];
    let (own, left) = bytes.split_at_mut(8);
    own.copy_from_slice(&key);
    left.copy_from_slice(&at.to_be_bytes());
    DueStamp(bytes)
}

/// Returns the key of a mark and the row that it is.
fn key_of(key: Vec<u8>) -> Result<([u8; 8], i64), StoreError> {
    let key = key.try_into().map_err(|_| unreadable("mark.key", &"an index", &"no row"))?;
    Ok((key, i64::from_be_bytes(key)))
}

/// Has an index be cut before a row of `commits`; for none, only places and events go.
pub(super) fn set_due(connection: &Connection, first: Option<i64>, at: Timestamp) -> Result<(), StoreError> {
    let key = first.unwrap_or(NO_COMMIT).to_be_bytes();
    leave(connection, (marks::INDEX_DUE, &key), at)
}

/// Leaves a mark with a time that none of its key had: who works on the one from before takes back only that.
fn leave(connection: &Connection, (kind, key): (i64, &[u8]), at: Timestamp) -> Result<(), StoreError> {
    let before = marks::at(connection, kind, key)?;
    let at = before.map_or(at, |before| at.max(Timestamp::from_micros(before.saturating_add(1))));
    marks::remove(connection, kind, key)?;
    marks::set(connection, (kind, key), at, None).map(drop)
}

/// Removes a mark unless it was left again since.
fn take_back(connection: &Connection, kind: i64, seen: DueStamp) -> Result<(), StoreError> {
    let Some(key) = seen.0.first_chunk() else { return Ok(()) };
    if marks::at(connection, kind, key)?.is_some_and(|at| stamp(*key, at) == seen) {
        marks::remove(connection, kind, key)?;
    }
    Ok(())
}

/// Notes that a session saw a commit after it was stored: by its origin, which says nothing once it is gone.
pub(super) fn set_unseen(connection: &Connection, origin: i64) -> Result<(), StoreError> {
    leave(connection, (marks::INDEX_UNSEEN, &origin.to_be_bytes()), Timestamp::EPOCH)
}

/// Returns the sessions that saw commits after these were stored, at most `limit`.
fn unseen(connection: &Connection, limit: usize) -> Result<Vec<UnseenKey>, StoreError> {
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
        let (key, origin) = key_of(key)?;
        let session: Option<(String, Option<String>, String)> = connection
            .during("reading who saw a commit")
            .first("SELECT machine, path, session FROM origin WHERE row = ?1", [origin], columns)?;
        let Some((machine, path, session)) = session else { continue };
        let machine =
            MachineId::new(machine).map_err(|error| unreadable("origin.machine", &origin, &error))?;
        let path = path.unwrap_or_else(|| format!("api:{session}"));
        found.push(UnseenKey { session: SessionKey { machine, path }, stamp: stamp(key, at) });
    }
    Ok(found)
}
