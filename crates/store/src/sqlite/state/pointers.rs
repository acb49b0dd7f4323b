//! Pointers in the database.

use rusqlite::{Connection, params};
use stemmata_model::{CommitId, PointerKey};

use super::super::failure::During;
use super::super::statements::columns;
use super::{SqliteState, at, count, name};
use crate::error::StoreError;
use crate::state::{
    Expected, NewPointer, POINTERS_MAX, Pointer, PointerQuery, Pointers, STATE_PAGE_MAX, StateError,
};

const READING: &str = "reading a pointer";
const SETTING: &str = "setting a pointer";
const DELETING: &str = "deleting a pointer";

type Row = (String, [u8; 16], i64, String);

impl Pointers for SqliteState {
    fn pointer(&self, key: &PointerKey) -> Result<Option<Pointer>, StateError> {
        self.reading(|connection| Ok(found(connection, key)?))
    }

    fn set_pointer(&self, new: &NewPointer) -> Result<Option<CommitId>, StateError> {
        let Pointer { key, commit, set_at, by } = &new.pointer;
        self.writing(SETTING, |transaction| {
            let before = held(transaction, key, new.expected)?.map(|pointer| pointer.commit);
            if before.is_none() && count(transaction, SETTING, "SELECT count(*) FROM pointer")? >= POINTERS_MAX {
                return Err(StateError::TooMany { what: "pointers", bound: POINTERS_MAX });
            }
            transaction.during(SETTING).run(
                "INSERT INTO pointer (key, target, set_at, by) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (key) DO UPDATE \
                 SET target = ?2, set_at = ?3, by = ?4",
                params![key.as_str(), commit.to_bytes(), set_at.as_micros(), by.as_str()],
            )?;
            Ok(before)
        })
    }

    fn delete_pointer(&self, key: &PointerKey, expected: Expected) -> Result<Option<Pointer>, StateError> {
        self.writing(DELETING, |transaction| {
            let pointer = held(transaction, key, expected)?;
            transaction.during(DELETING).run("DELETE FROM pointer WHERE key = ?1", [key.as_str()])?;
            Ok(pointer)
        })
    }

    fn pointers(&self, query: &PointerQuery) -> Result<Vec<Pointer>, StateError> {
        let after = query.after.as_ref().map_or("", PointerKey::as_str);
        let rows_max = i64::try_from(query.rows_max.min(STATE_PAGE_MAX)).unwrap_or(i64::MAX);
        self.reading(|connection| {
            // A key is ASCII, so that all which begin with a prefix lie before the prefix and a character behind them.
            let rows: Vec<Row> = connection.during(READING).list(
                "SELECT key, target, set_at, by FROM pointer WHERE key > ?1 AND key >= ?2 AND key < ?2 || '~' \
                 ORDER BY key LIMIT ?3",
                params![after, query.prefix, rows_max],
                columns,
            )?;
            Ok(rows.into_iter().map(pointer).collect::<Result<_, _>>()?)
        })
    }
}

fn found(connection: &Connection, key: &PointerKey) -> Result<Option<Pointer>, StoreError> {
    let sql = "SELECT key, target, set_at, by FROM pointer WHERE key = ?1";
    connection.during(READING).first(sql, [key.as_str()], columns)?.map(pointer).transpose()
}

/// Returns a pointer that is as expected.
fn held(
    connection: &Connection,
    key: &PointerKey,
    expected: Expected,
) -> Result<Option<Pointer>, StateError> {
    let found = found(connection, key)?;
    let commit = found.as_ref().map(|pointer| pointer.commit);
    if expected.holds(commit) {
        return Ok(found);
    }
    Err(StateError::PointerMoved { key: key.clone(), found: commit })
}

fn pointer((key, target, set_at, by): Row) -> Result<Pointer, StoreError> {
    Ok(Pointer {
        key: name("key", &key)?,
        commit: CommitId::from_bytes(target),
        set_at: at(set_at),
        by: name("by", &by)?,
    })
}
