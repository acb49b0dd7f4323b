//! Rows of a commit's metadata: what stands, and the records of its changes.
//!
//! What records say together is decided in `crate::rules::annotation`; here it is kept.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};
use stemmata_model::CommitId;

use super::failure::During;
use super::read::commits::sql_limit;
use super::seals::{ANNOTATION, Insert};
use crate::error::StoreError;
use crate::rules::annotation::standing_records;
use crate::rules::codes::{self, KIND_AUDIT, KIND_SUMMARY};
use crate::rules::rows::{AuditRow, audit_record};
use crate::sqlite::statements::{columns, one};
use crate::write::AuditRecord;

const KEEPING: &str = "keeping a commit's metadata";

/// Returns the number that the next row of a kind gets.
pub(super) fn next_number(connection: &Connection, row: i64, kind: i64) -> Result<i64, StoreError> {
    connection.during(KEEPING).only(
        "SELECT ifnull(max(number), 0) + 1 FROM annotation WHERE commit_row = ?1 AND kind = ?2",
        [row, kind],
        one,
    )
}

/// Returns records of a commit, oldest first.
pub(super) fn audit<L: FromIterator<AuditRecord>>(
    connection: &Connection,
    (id, row): (CommitId, i64),
    limit: usize,
) -> Result<L, StoreError> {
    let sql = "SELECT at, by, change, text, source FROM annotation WHERE commit_row = ?1 AND kind = ?2 \
               ORDER BY at, number LIMIT ?3";
    let values = params![row, KIND_AUDIT, sql_limit(limit)];
    let rows: Vec<AuditRow> = connection.during(KEEPING).list(sql, values, columns)?;
    rows.into_iter().map(|columns| audit_record(columns, id)).collect()
}

/// Says whether a commit has this record.
pub(super) fn is_recorded(
    connection: &Connection,
    row: i64,
    record: &AuditRecord,
) -> Result<bool, StoreError> {
    let (change, text, source) = codes::change(&record.change);
    let (at, by) = (record.at.as_micros(), record.by.as_str());
    let sql = "SELECT EXISTS (SELECT 1 FROM annotation WHERE commit_row = ?1 AND kind = ?2 AND at = ?3 AND by = ?4 \
               AND change = ?5 AND text IS ?6 AND source IS ?7)";
    connection.during(KEEPING).only(sql, params![row, KIND_AUDIT, at, by, change, text, source], one)
}

/// Returns what stands of one kind, as the records that set it; with a text, of that text only.
pub(super) fn standing(
    connection: &Connection,
    (id, row): (CommitId, i64),
    (kind, text): (i64, Option<&str>),
) -> Result<Vec<AuditRecord>, StoreError> {
    let sql = "SELECT at, by, ?4, text, source FROM annotation WHERE commit_row = ?1 AND kind = ?2 \
               AND (?3 IS NULL OR text = ?3)";
    let values = params![row, kind, text, codes::change_of(kind)];
    let rows: Vec<AuditRow> = connection.during(KEEPING).list(sql, values, columns)?;
    rows.into_iter().map(|columns| audit_record(columns, id)).collect()
}

/// Writes a row, in the place of the one with its number: the change, the text and the source.
pub(super) fn put(
    connection: &Connection,
    (row, kind, number): (i64, i64, i64),
    record: &AuditRecord,
    (change, text, source): (Option<i64>, Option<&str>, Option<i64>),
) -> Result<(), StoreError> {
    let (at, by) = (record.at.as_micros(), record.by.as_str());
    let values = params![row, kind, number, at, by, change, text, source];
    // There is one summary, and its number is taken.
    let insert = if kind == KIND_SUMMARY { Insert::OrReplace } else { Insert::New };
    connection.during(KEEPING).insert_sealed(insert, &ANNOTATION, values).map(drop)
}

/// Adds a record.
pub(super) fn add_record(connection: &Connection, row: i64, record: &AuditRecord) -> Result<(), StoreError> {
    let (change, text, source) = codes::change(&record.change);
    let number = next_number(connection, row, KIND_AUDIT)?;
    put(connection, (row, KIND_AUDIT, number), record, (Some(change), text, source))
}

/// Has the metadata be what all records say together.
pub(super) fn keep_standing(
    connection: &Connection,
    row: i64,
    records: &BTreeSet<AuditRecord>,
) -> Result<(), StoreError> {
    connection
        .during(KEEPING)
        .run("DELETE FROM annotation WHERE commit_row = ?1 AND kind < ?2", [row, KIND_AUDIT])?;
    let mut numbers: BTreeMap<i64, i64> = BTreeMap::new();
    for record in standing_records(records) {
        let (kind, text, source) = codes::standing(&record.change);
        let count = numbers.entry(kind).or_default();
        *count += 1;
        let number = if kind == KIND_SUMMARY { 0 } else { *count };
        put(connection, (row, kind, number), &record, (None, text, source))?;
    }
    Ok(())
}
