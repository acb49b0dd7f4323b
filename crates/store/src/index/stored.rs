//! How places in the order of storing are written: as a number where they can be one, as all of our stores' can, else as bytes.
//!
//! SQLite puts numbers before bytes and compares bytes as the seam does, so that rows are in the order of storing either way.

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};

use crate::seam::StoredAt;

impl StoredAt {
    /// Returns the place of a row: 1 or more.
    pub(crate) fn of_row(row: i64) -> Self {
        Self::from_bytes(&row.to_be_bytes()).unwrap_or(Self::START)
    }
}

impl ToSql for StoredAt {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let bytes = self.as_bytes();
        let row = <[u8; 8]>::try_from(bytes).map(i64::from_be_bytes).ok().filter(|row| *row >= 0);
        let start = || bytes.is_empty().then_some(0);
        Ok(row.or_else(start).map_or(ToSqlOutput::Borrowed(ValueRef::Blob(bytes)), ToSqlOutput::from))
    }
}

impl FromSql for StoredAt {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Integer(row) => Ok(Self::of_row(row)),
            ValueRef::Blob(bytes) => Self::from_bytes(bytes).ok_or(FromSqlError::InvalidType),
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Text(_) => Err(FromSqlError::InvalidType),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rusqlite::Connection;

    use super::*;

    fn through_sql(at: StoredAt) -> (StoredAt, String) {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch("CREATE TABLE t (stored INTEGER NOT NULL)").expect("a table");
        connection.execute("INSERT INTO t VALUES (?1)", [at]).expect("written");
        let sql = "SELECT stored, typeof(stored) FROM t";
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("read")
    }

    proptest! {
        #[test]
        fn places_of_one_length_come_back_and_stay_in_order(length in 1..17_usize, one in any::<[u8; 16]>(), two in any::<[u8; 16]>()) {
            let [one, two] = [one, two].map(|bytes| StoredAt::from_bytes(&bytes[..length]).expect("few bytes"));
            prop_assert_eq!((through_sql(one).0, through_sql(two).0), (one, two));
            prop_assert_eq!(one.cmp(&two), one.as_bytes().cmp(two.as_bytes()));
            let sql = "SELECT ?1 < ?2, ?3 <= ?1";
            let compare = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let connection = Connection::open_in_memory().expect("a database");
            let compared: (bool, bool) = connection.query_row(sql, [one, two, StoredAt::START], compare).expect("compared");
            prop_assert_eq!(compared, (one < two, true));
        }

        #[test]
        fn nothing_is_between_a_place_and_the_one_before(length in 1..17_usize, at in any::<[u8; 16]>(), other in any::<[u8; 16]>()) {
            let [at, other] = [at, other].map(|bytes| StoredAt::from_bytes(&bytes[..length]).expect("few bytes"));
            prop_assert!(at.before() < at);
            prop_assert_eq!(other > at.before(), other >= at);
        }
    }

    #[test]
    fn rows_are_written_as_the_numbers_that_they_are() {
        for row in [1, 7, i64::MAX] {
            assert_eq!(through_sql(StoredAt::of_row(row)), (StoredAt::of_row(row), "integer".to_owned()));
        }
        assert_eq!(StoredAt::of_row(1).before(), StoredAt::of_row(0));
        assert_eq!(StoredAt::of_row(0).before(), StoredAt::START);
        assert_eq!(StoredAt::from_bytes(&[0; 17]), None);
    }
}
