//! Topics, senders, receivers and sessions, by the number that events name them by.
//!
//! Rows of this table are never changed or removed, so that what was read once stays right.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::error::StoreError;
use crate::sqlite::failure::{During, unreadable};
use crate::sqlite::seals::{NAME, execute_sealed};

const LOOKING: &str = "looking up a name";

/// Names kept in memory at most: a few hundred are in use at a time.
const NAMES_MAX: usize = 4_096;

/// Names met so far on one connection.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Names {
    by_row: HashMap<i64, Box<str>>,
    rows: HashMap<Box<str>, i64>,
}

impl Names {
    /// Returns what a row stands for.
    pub(in crate::sqlite) fn load(&mut self, connection: &Connection, row: i64) -> Result<&str, StoreError> {
        if !self.by_row.contains_key(&row) {
            let text: Option<String> = connection
                .prepare_cached("SELECT text FROM name WHERE row = ?1")
                .and_then(|mut statement| statement.query_row([row], |row| row.get(0)).optional())
                .during(LOOKING)?;
            let text = text.ok_or_else(|| unreadable("name", &row, &"nothing"))?;
            self.keep(row, &text);
        }
        self.by_row.get(&row).map(AsRef::as_ref).ok_or_else(|| unreadable("name", &row, &"nothing"))
    }

    /// Returns the row of a name; none where no event has it.
    pub(in crate::sqlite) fn find(
        &mut self,
        connection: &Connection,
        text: &str,
    ) -> Result<Option<i64>, StoreError> {
        if let Some(row) = self.rows.get(text) {
            return Ok(Some(*row));
        }
        let found: Option<i64> = connection
            .prepare_cached("SELECT row FROM name WHERE text = ?1")
            .and_then(|mut statement| statement.query_row([text], |row| row.get(0)).optional())
            .during(LOOKING)?;
        if let Some(row) = found {
            self.keep(row, text);
        }
        Ok(found)
    }

    /// Returns the row of a name, new where there was none.
    pub(in crate::sqlite) fn row_of(
        &mut self,
        connection: &Connection,
        text: &str,
    ) -> Result<i64, StoreError> {
        if let Some(row) = self.find(connection, text)? {
            return Ok(row);
        }
        let row: i64 = connection
            .prepare_cached("SELECT ifnull(max(row), 0) + 1 FROM name")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
            .during(LOOKING)?;
        let sql = "INSERT INTO name (row, text, seal) VALUES (?1, ?2, ?3)";
        execute_sealed(connection, sql, &NAME, params![row, text], "keeping a name")?;
        self.keep(row, text);
        Ok(row)
    }

    fn keep(&mut self, row: i64, text: &str) {
        if self.by_row.len() >= NAMES_MAX {
            *self = Self::default();
        }
        self.rows.insert(text.into(), row);
        self.by_row.insert(row, text.into());
    }
}
