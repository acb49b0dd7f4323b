//! The audit log in the database.

use rusqlite::{Connection, params};
use stemmata_model::{Principal, Timestamp};

use super::super::failure::{During, unreadable};
use super::super::statements::{columns, one};
use super::{SqliteState, at, name};
use crate::error::StoreError;
use crate::rules::audit::{Kept, check_entry, cut, cut_entry, cut_from};
use crate::state::{
    AUDIT_PAGE_MAX, Audit, AuditCut, AuditEntry, AuditOutcome, AuditQuery, AuditRetention, NewAuditEntry,
    StateError,
};

const READING: &str = "reading the audit log";
const RECORDING: &str = "recording in the audit log";

type Row = (i64, i64, String, String, Option<String>, String, u8, Option<String>, Option<String>);

impl Audit for SqliteState {
    fn record(&self, entry: &NewAuditEntry) -> Result<u64, StateError> {
        check_entry(entry)?;
        self.writing(RECORDING, |transaction| {
            retain(transaction, AuditRetention::DEFAULT, entry.at)?;
            Ok(add(transaction, entry)?)
        })
    }

    fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>, StateError> {
        let before = query.before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
        let rows_max = i64::try_from(query.rows_max.min(AUDIT_PAGE_MAX)).unwrap_or(i64::MAX);
        // A statement for each combination, so that the index of what is asked for is used. Each names all values, as they are given.
        let mut sql =
            "SELECT number, at, principal, operation, whose, target, outcome, detail, request FROM audit \
             WHERE number < ?1 AND (?3 IS NULL OR 1) AND (?4 IS NULL OR 1)"
                .to_owned();
        if query.principal.is_some() {
            sql.push_str(" AND principal = ?3");
        }
        if query.operation.is_some() {
            sql.push_str(" AND operation = ?4");
        }
        sql.push_str(" ORDER BY number DESC LIMIT ?2");
        let principal = query.principal.as_ref().map(Principal::as_str);
        self.reading(|connection| {
            let rows: Vec<Row> = connection.during(READING).list(
                &sql,
                params![before, rows_max, principal, query.operation],
                columns,
            )?;
            Ok(rows.into_iter().map(entry).collect::<Result<_, _>>()?)
        })
    }

    fn retain_audit(&self, keep: AuditRetention, now: Timestamp) -> Result<Option<AuditCut>, StateError> {
        self.writing(RECORDING, |transaction| Ok(retain(transaction, keep, now)?))
    }
}

fn add(connection: &Connection, entry: &NewAuditEntry) -> Result<u64, StoreError> {
    // The newest row is never dropped, so that no number is given twice.
    let number = connection.during(RECORDING).insert(
        "INSERT INTO audit (number, at, principal, operation, whose, target, outcome, detail, request) \
         VALUES ((SELECT coalesce(max(number), 0) + 1 FROM audit), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            entry.at.as_micros(),
            entry.principal.as_str(),
            entry.operation,
            entry.whose.as_ref().map(Principal::as_str),
            entry.target,
            code(entry.outcome),
            entry.detail,
            entry.request
        ],
    )?;
    Ok(number.cast_unsigned())
}

fn retain(
    connection: &Connection,
    keep: AuditRetention,
    now: Timestamp,
) -> Result<Option<AuditCut>, StoreError> {
    let ask = connection.during(RECORDING);
    let oldest: Option<(i64, i64)> =
        ask.first("SELECT number, at FROM audit ORDER BY number LIMIT 1", [], columns)?;
    let Some((first, oldest_at)) = oldest else { return Ok(None) };
    let last: i64 = ask.only("SELECT max(number) FROM audit", [], one)?;
    let kept = Kept { first: first.cast_unsigned(), last: last.cast_unsigned(), oldest_at: at(oldest_at) };
    let Some(from) = cut_from(kept, keep, now) else { return Ok(None) };
    let sql = "SELECT number FROM audit WHERE at >= ?1 ORDER BY number LIMIT 1";
    let young: Option<i64> = ask.first(sql, [from.as_micros()], one)?;
    let Some(cut) = cut(kept, young.map(i64::cast_unsigned), keep) else { return Ok(None) };
    // The row that says so comes first, so that numbers go on behind what is dropped.
    add(connection, &cut_entry(cut, now))?;
    let through = i64::try_from(cut.through).unwrap_or(i64::MAX);
    ask.run("DELETE FROM audit WHERE number <= ?1", [through])?;
    Ok(Some(cut))
}

fn entry(row: Row) -> Result<AuditEntry, StoreError> {
    let (number, recorded_at, principal, operation, whose, target, outcome, detail, request) = row;
    let entry = NewAuditEntry {
        at: at(recorded_at),
        principal: name("principal", &principal)?,
        operation,
        whose: whose.map(|whose| name("whose", &whose)).transpose()?,
        target,
        outcome: outcome_of(outcome).ok_or_else(|| unreadable("outcome", &number, &outcome))?,
        detail,
        request,
    };
    Ok(AuditEntry { number: number.cast_unsigned(), entry })
}

const fn code(outcome: AuditOutcome) -> u8 {
    match outcome {
        AuditOutcome::Begun => 0,
        AuditOutcome::Done => 1,
        AuditOutcome::Refused => 2,
        AuditOutcome::Failed => 3,
    }
}

const fn outcome_of(code: u8) -> Option<AuditOutcome> {
    match code {
        0 => Some(AuditOutcome::Begun),
        1 => Some(AuditOutcome::Done),
        2 => Some(AuditOutcome::Refused),
        3 => Some(AuditOutcome::Failed),
        _ => None,
    }
}
