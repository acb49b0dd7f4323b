//! Topics, senders, receivers and sessions, by the number that events name them by.
//!
//! Rows of this table are never changed or removed, so that what was read once stays right.

use rusqlite::{Connection, params};

use crate::error::StoreError;
use crate::rules::recent::Interned;
use crate::sqlite::failure::During;
use crate::sqlite::seals::{Insert, NAME};
use crate::sqlite::statements::one;

const LOOKING: &str = "looking up a name";

/// Names met so far on one connection.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Names(Interned<Box<str>>);

impl Names {
    /// Returns what a row stands for.
    pub(in crate::sqlite) fn load(&mut self, connection: &Connection, row: i64) -> Result<&str, StoreError> {
        let read = || connection.during(LOOKING).first("SELECT text FROM name WHERE row = ?1", [row], one);
        self.0.load(("name", row), read).map(AsRef::as_ref)
    }

    /// Returns the row of a name; none where no event has it.
    pub(in crate::sqlite) fn find(
        &mut self,
        connection: &Connection,
        text: &str,
    ) -> Result<Option<i64>, StoreError> {
        self.0.row_of(text, || find(connection, text))
    }

    /// Returns the row of a name, new where there was none.
    pub(in crate::sqlite) fn row_of(
        &mut self,
        connection: &Connection,
        text: &str,
    ) -> Result<i64, StoreError> {
        self.0.row_of(text, || find(connection, text)?.map_or_else(|| make(connection, text), Ok))
    }
}

fn find(connection: &Connection, text: &str) -> Result<Option<i64>, StoreError> {
    connection.during(LOOKING).first("SELECT row FROM name WHERE text = ?1", [text], one)
}

fn make(connection: &Connection, text: &str) -> Result<i64, StoreError> {
    let row: i64 = connection.during(LOOKING).only("SELECT ifnull(max(row), 0) + 1 FROM name", [], one)?;
    connection.during("keeping a name").insert_sealed(Insert::New, &NAME, params![row, text])?;
    Ok(row)
}
