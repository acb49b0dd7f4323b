//! What cursors and placements are found by: sixteen bytes that stand for the path and the machine of their transcript.
//!
//! The session's row has both in words, and its index has them once more: a path takes more than most of what such a row says.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, ToSql};
use stemmata_model::to_u64;

use super::failure::During;
use super::seals::{CURSOR, Sealed};
use crate::error::StoreError;

/// A place, as rows have it.
#[derive(Debug, Clone)]
pub(super) struct PlaceKey<'p> {
    /// The column `path`. The column `machine` is empty beside it, which no machine is called.
    pub(super) hash: [u8; 16],
    path: &'p str,
    machine: &'p str,
}

impl<'p> PlaceKey<'p> {
    pub(super) fn new(path: &'p str, machine: &'p str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("stemmata.place-key.v1");
        let length = to_u64(machine.len());
        hasher.update(&length.to_le_bytes()).update(machine.as_bytes()).update(path.as_bytes());
        let hash = hasher.finalize();
        let hash = std::array::from_fn(|at| hash.as_bytes().get(at).copied().unwrap_or_default());
        Self { hash, path, machine }
    }

    /// Returns a row of the place in a table of cursors or placements, in a form of before too: under the path and the machine themselves.
    pub(super) fn row<T>(
        &self,
        connection: &Connection,
        (of, columns): (&Sealed, &str),
        take: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        let sql = format!("SELECT {columns} FROM {} WHERE {}", of.table, Self::IS_MEANT);
        connection.prepare_cached(&sql)?.query_row(self.values(), take).optional()
    }

    /// Removes the place's rows; says how many there were.
    pub(super) fn remove(&self, connection: &Connection, of: &Sealed) -> rusqlite::Result<usize> {
        let sql = format!("DELETE FROM {} WHERE {}", of.table, Self::IS_MEANT);
        connection.prepare_cached(&sql)?.execute(self.values())
    }

    /// Has the row of the place lie under its hash, where it lies under the path still: before it is written.
    pub(super) fn adopt(&self, connection: &Connection, of: &Sealed) -> Result<(), StoreError> {
        // Its seal is of the row as it was.
        let sql = format!(
            "UPDATE OR REPLACE {} SET path = ?1, machine = '', seal = NULL WHERE path = ?2 AND machine = ?3",
            of.table
        );
        connection.during("storing what belongs to a transcript").run(&sql, self.values())?;
        Ok(())
    }

    const IS_MEANT: &'static str = "path IN (?1, ?2) AND machine IN ('', ?3)";

    fn values(&self) -> [&dyn ToSql; 3] {
        [&self.hash, &self.path, &self.machine]
    }
}

/// Removes the cursors of the transcripts that a query names, by path and machine.
pub(super) fn unread(connection: &Connection, sql: &str, values: &[&dyn ToSql]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(sql)?;
    let values = values.get(..statement.parameter_count()).unwrap_or(values);
    let mut rows = statement.query(values)?;
    while let Some(row) = rows.next()? {
        // What is no text is no name that a cursor was written under.
        if let (Value::Text(path), Value::Text(machine)) = (row.get(0)?, row.get(1)?) {
            PlaceKey::new(&path, &machine).remove(connection, &CURSOR)?;
        }
    }
    Ok(())
}

/// Removes cursors of transcripts that have no session.
pub(super) fn remove_strays(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "DROP TABLE IF EXISTS temp.placed; CREATE TEMP TABLE placed (path PRIMARY KEY) WITHOUT ROWID",
    )?;
    let mut sessions = connection.prepare("SELECT path, machine FROM session")?;
    let mut rows = sessions.query([])?;
    let mut put = connection.prepare("INSERT OR IGNORE INTO temp.placed VALUES (?1)")?;
    while let Some(row) = rows.next()? {
        if let (Value::Text(path), Value::Text(machine)) = (row.get(0)?, row.get(1)?) {
            put.execute([PlaceKey::new(&path, &machine).hash])?;
        }
    }
    connection.execute_batch(
        "DELETE FROM cursor WHERE path NOT IN (SELECT path FROM temp.placed) \
         AND (path, machine) NOT IN (SELECT path, machine FROM session); DROP TABLE temp.placed",
    )
}
