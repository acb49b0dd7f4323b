//! Grants in the database.

use rusqlite::{Connection, params};
use stemmata_model::{Principal, Timestamp};

use super::super::failure::During;
use super::super::statements::columns;
use super::{SqliteState, at, count, name};
use crate::error::StoreError;
use crate::rules::tokens::is_in_force;
use crate::state::{GRANTS_MAX, Grant, Grants, STATE_PAGE_MAX, StateError};

const READING: &str = "reading grants";
const GRANTING: &str = "granting access";

type Row = (String, String, i64, Option<i64>);

impl Grants for SqliteState {
    fn grant(&self, grant: &Grant) -> Result<(), StateError> {
        let Grant { whose, reader, granted_at, until } = grant;
        self.writing(GRANTING, |transaction| {
            let is_new = found(transaction, reader, whose)?.is_none();
            if is_new && count(transaction, GRANTING, "SELECT count(*) FROM access_grant")? >= GRANTS_MAX {
                return Err(StateError::TooMany { what: "grants", bound: GRANTS_MAX });
            }
            transaction.during(GRANTING).run(
                "INSERT INTO access_grant (reader, whose, granted_at, until) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT (reader, whose) DO UPDATE SET granted_at = ?3, until = ?4",
                params![
                    reader.as_str(),
                    whose.as_str(),
                    granted_at.as_micros(),
                    until.map(Timestamp::as_micros)
                ],
            )?;
            Ok(())
        })
    }

    fn ungrant(&self, whose: &Principal, reader: &Principal) -> Result<bool, StateError> {
        self.writing(GRANTING, |transaction| {
            let sql = "DELETE FROM access_grant WHERE reader = ?1 AND whose = ?2";
            Ok(transaction.during(GRANTING).run(sql, [reader.as_str(), whose.as_str()])? > 0)
        })
    }

    fn may_read(&self, reader: &Principal, whose: &Principal, now: Timestamp) -> Result<bool, StateError> {
        self.reading(|connection| {
            Ok(found(connection, reader, whose)?.is_some_and(|grant| is_in_force(&grant, now)))
        })
    }

    fn grants(
        &self,
        after: Option<(&Principal, &Principal)>,
        rows_max: usize,
    ) -> Result<Vec<Grant>, StateError> {
        let (reader, whose) = after.map_or(("", ""), |(reader, whose)| (reader.as_str(), whose.as_str()));
        let rows_max = i64::try_from(rows_max.min(STATE_PAGE_MAX)).unwrap_or(i64::MAX);
        self.reading(|connection| {
            let rows: Vec<Row> = connection.during(READING).list(
                "SELECT reader, whose, granted_at, until FROM access_grant WHERE (reader, whose) > (?1, ?2) \
                 ORDER BY reader, whose LIMIT ?3",
                params![reader, whose, rows_max],
                columns,
            )?;
            Ok(rows.into_iter().map(grant).collect::<Result<_, _>>()?)
        })
    }
}

fn found(
    connection: &Connection,
    reader: &Principal,
    whose: &Principal,
) -> Result<Option<Grant>, StoreError> {
    let sql = "SELECT reader, whose, granted_at, until FROM access_grant WHERE reader = ?1 AND whose = ?2";
    let row = connection.during(READING).first(sql, [reader.as_str(), whose.as_str()], columns)?;
    row.map(grant).transpose()
}

fn grant((reader, whose, granted_at, until): Row) -> Result<Grant, StoreError> {
    Ok(Grant {
        whose: name("whose", &whose)?,
        reader: name("reader", &reader)?,
        granted_at: at(granted_at),
        until: until.map(at),
    })
}
