//! Running a statement: one call for each way to do it, with the error of the operation that it is part of.
//!
//! Statements are kept prepared. Which there are is known where they are run.

use rusqlite::types::FromSql;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};

use super::failure::{During, store_error};
use crate::error::StoreError;

/// Statements of one operation.
pub(crate) struct Statements<'c, E> {
    connection: &'c Connection,
    operation: &'static str,
    fail: fn(rusqlite::Error, &'static str) -> E,
}

impl<'c> During for &'c Connection {
    type Out = Statements<'c, StoreError>;

    fn during(self, operation: &'static str) -> Self::Out {
        Statements::new(self, operation, store_error)
    }
}

impl<'c, E> Statements<'c, E> {
    /// Begins an operation; `fail` makes its errors of those of the database.
    pub(crate) const fn new(
        connection: &'c Connection,
        operation: &'static str,
        fail: fn(rusqlite::Error, &'static str) -> E,
    ) -> Self {
        Self { connection, operation, fail }
    }

    /// Returns the error of the operation.
    pub(crate) fn fail(&self, error: rusqlite::Error) -> E {
        (self.fail)(error, self.operation)
    }

    fn prepared<T>(
        &self,
        sql: &str,
        act: impl FnOnce(CachedStatement<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, E> {
        let done = self.connection.prepare_cached(sql).and_then(act);
        done.map_err(|error| self.fail(error))
    }

    /// Runs a statement that writes, and returns how many rows it changed.
    pub(crate) fn run(&self, sql: &str, values: impl Params) -> Result<usize, E> {
        self.prepared(sql, |mut statement| statement.execute(values))
    }

    /// Inserts a row, and returns its number.
    pub(crate) fn insert(&self, sql: &str, values: impl Params) -> Result<i64, E> {
        self.prepared(sql, |mut statement| statement.insert(values))
    }

    /// Returns the first row; fails where there is none.
    pub(crate) fn only<T>(
        &self,
        sql: &str,
        values: impl Params,
        take: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, E> {
        self.prepared(sql, |mut statement| statement.query_row(values, take))
    }

    /// Returns the first row, if there is one.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        values: impl Params,
        take: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, E> {
        self.prepared(sql, |mut statement| statement.query_row(values, take).optional())
    }

    /// Returns all rows.
    pub(crate) fn list<T, L: FromIterator<T>>(
        &self,
        sql: &str,
        values: impl Params,
        take: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<L, E> {
        self.prepared(sql, |mut statement| statement.query_map(values, take)?.collect())
    }

    /// Hands each row to `act`, one after the other.
    pub(crate) fn each<T>(
        &self,
        sql: &str,
        values: impl Params,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        mut act: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let fail = |error| self.fail(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(fail)?;
        let mut rows = statement.query(values).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            act(take(row).map_err(fail)?)?;
        }
        Ok(())
    }
}

/// Takes the first column of a row.
pub(crate) fn one<T: FromSql>(row: &Row<'_>) -> rusqlite::Result<T> {
    row.get(0)
}

/// Takes the columns of a row in their order, as a tuple.
pub(crate) fn columns<T>(row: &Row<'_>) -> rusqlite::Result<T>
where
    T: for<'r> TryFrom<&'r Row<'r>, Error = rusqlite::Error>,
{
    T::try_from(row)
}
