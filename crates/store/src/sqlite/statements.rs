//! Running a statement: one call for each way to do it, with the error of the operation that it is part of.
//!
//! Statements are kept prepared. Which there are is known where they are run.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::failure::During;
use crate::error::StoreError;

/// Statements of one operation.
pub(super) struct Statements<'c> {
    connection: &'c Connection,
    operation: &'static str,
}

impl<'c> During for &'c Connection {
    type Out = Statements<'c>;

    fn during(self, operation: &'static str) -> Statements<'c> {
        Statements { connection: self, operation }
    }
}

impl Statements<'_> {
    /// Runs a statement that writes, and returns how many rows it changed.
    pub(super) fn run(&self, sql: &str, values: impl Params) -> Result<usize, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .during(self.operation)
    }

    /// Inserts a row, and returns its number.
    pub(super) fn insert(&self, sql: &str, values: impl Params) -> Result<i64, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.insert(values))
            .during(self.operation)
    }

    /// Returns the first row; fails where there is none.
    pub(super) fn only<T>(
        &self,
        sql: &str,
        values: impl Params,
        take: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(values, take))
            .during(self.operation)
    }

    /// Returns the first row, if there is one.
    pub(super) fn first<T>(
        &self,
        sql: &str,
        values: impl Params,
        take: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(values, take).optional())
            .during(self.operation)
    }

    /// Returns all rows.
    pub(super) fn list<T, L: FromIterator<T>>(
        &self,
        sql: &str,
        values: impl Params,
        take: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<L, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(values, take)?.collect())
            .during(self.operation)
    }

    /// Hands each row to `act`, one after the other.
    pub(super) fn each<T>(
        &self,
        sql: &str,
        values: impl Params,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        mut act: impl FnMut(T) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare_cached(sql).during(self.operation)?;
        let mut rows = statement.query(values).during(self.operation)?;
        while let Some(row) = rows.next().during(self.operation)? {
            act(take(row).during(self.operation)?)?;
        }
        Ok(())
    }
}

/// Takes the first column of a row.
pub(super) fn one<T: FromSql>(row: &Row<'_>) -> rusqlite::Result<T> {
    row.get(0)
}

/// Takes the columns of a row in their order, as a tuple.
pub(super) fn columns<T>(row: &Row<'_>) -> rusqlite::Result<T>
where
    T: for<'r> TryFrom<&'r Row<'r>, Error = rusqlite::Error>,
{
    T::try_from(row)
}
