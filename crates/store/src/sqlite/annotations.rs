//! Rows of a commit's metadata: what its records say together, and the records.
//!
//! What records say together is decided in `crate::merge`; here it is kept.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};
use stemmata_model::CommitId;

use super::codes::{self, KIND_AUDIT, KIND_NOTE, KIND_PIN, KIND_SUMMARY, KIND_TAG};
use super::failure::During;
use super::read::metadata::{audit_record, take_audit};
use super::seals::{ANNOTATION, execute_sealed};
use crate::error::StoreError;
use crate::merge::standing_records;
use crate::write::{Annotation, AuditRecord};

const KEEPING: &str = "keeping a commit's metadata";

const INSERT: &str = "INSERT INTO annotation (commit_row, kind, number, at, by, change, text, source, seal) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// Returns the number that the next row of a kind gets.
pub(super) fn next_number(connection: &Connection, row: i64, kind: i64) -> Result<i64, StoreError> {
    connection
        .prepare_cached(
            "SELECT ifnull(max(number), 0) + 1 FROM annotation WHERE commit_row = ?1 AND kind = ?2",
        )
        .and_then(|mut statement| statement.query_row([row, kind], |found| found.get(0)))
        .during(KEEPING)
}

/// Returns all records of a commit.
pub(super) fn audit(
    connection: &Connection,
    id: CommitId,
    row: i64,
) -> Result<BTreeSet<AuditRecord>, StoreError> {
    let mut statement = connection
        .prepare_cached(
            "SELECT at, by, change, text, source FROM annotation WHERE commit_row = ?1 AND kind = ?2",
        )
        .during(KEEPING)?;
    let rows = statement.query_map([row, KIND_AUDIT], take_audit).during(KEEPING)?;
    rows.map(|columns| audit_record(columns.during(KEEPING)?, id)).collect()
}

/// Adds a record.
pub(super) fn add_record(connection: &Connection, row: i64, record: &AuditRecord) -> Result<(), StoreError> {
    let (number, text, source) = codes::change(&record.change);
    let place = next_number(connection, row, KIND_AUDIT)?;
    let (at, by) = (record.at.as_micros(), record.by.as_str());
    let values = params![row, KIND_AUDIT, place, at, by, number, text, source];
    execute_sealed(connection, INSERT, &ANNOTATION, values, KEEPING).map(drop)
}

/// Has the metadata be what all records say together.
pub(super) fn keep_standing(
    connection: &Connection,
    row: i64,
    records: &BTreeSet<AuditRecord>,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM annotation WHERE commit_row = ?1 AND kind < ?2")
        .and_then(|mut statement| statement.execute([row, KIND_AUDIT]))
        .during(KEEPING)?;
    let mut numbers = [0_i64; 4];
    for record in standing_records(records) {
        let (kind, text, source) = match &record.change {
            Annotation::Summary { text, source } => {
                (KIND_SUMMARY, text.as_deref(), Some(codes::summary_source(*source)))
            }
            Annotation::AddTag(tag) => (KIND_TAG, Some(tag.as_str()), None),
            Annotation::AddNote(text) => (KIND_NOTE, Some(text.as_str()), None),
            Annotation::Pin => (KIND_PIN, None, None),
            Annotation::RemoveTag(_) | Annotation::Unpin => continue,
        };
        let counted = usize::try_from(kind).ok().and_then(|kind| numbers.get_mut(kind));
        let number = counted.map_or(0, |number| {
            *number += 1;
            *number
        });
        // There is one summary, whose number is 0; the others count from 1.
        let number = if kind == KIND_SUMMARY { 0 } else { number };
        let (at, by) = (record.at.as_micros(), record.by.as_str());
        let values = params![row, kind, number, at, by, None::<i64>, text, source];
        execute_sealed(connection, INSERT, &ANNOTATION, values, KEEPING)?;
    }
    Ok(())
}
