//! Merging the metadata of another store into a commit's.
//!
//! What records say together is decided in `crate::merge`; here it is kept.

use std::collections::BTreeSet;

use rusqlite::params;
use stemmata_model::CommitId;

use super::Transaction;
use crate::error::StoreError;
use crate::merge::standing_records;
use crate::sqlite::codes::{self, KIND_AUDIT, KIND_NOTE, KIND_PIN, KIND_SUMMARY, KIND_TAG};
use crate::sqlite::failure::During;
use crate::sqlite::read::metadata::{audit_record, take_audit};
use crate::sqlite::seals::ANNOTATION;
use crate::write::{Annotation, AuditRecord};

const MERGING: &str = "merging a commit's metadata";

const INSERT: &str = "INSERT INTO annotation (commit_row, kind, number, at, by, change, text, source, seal) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

impl Transaction<'_> {
    /// Adds records that are not there, and has the metadata be what all of them say.
    pub(super) fn merge_annotations(
        &mut self,
        id: CommitId,
        records: &[AuditRecord],
    ) -> Result<(), StoreError> {
        let row = self.need_commit(id)?.row;
        let mut all = self.audit_of(id, row)?;
        let new: BTreeSet<&AuditRecord> = records.iter().filter(|record| !all.contains(record)).collect();
        if new.is_empty() {
            return Ok(());
        }
        for record in &new {
            let (number, text, source) = codes::change(&record.change);
            let place = self.next_number(row, KIND_AUDIT)?;
            let (at, by) = (record.at.as_micros(), record.by.as_str());
            let values = params![row, KIND_AUDIT, place, at, by, number, text, source];
            self.execute_sealed(INSERT, &ANNOTATION, values, MERGING)?;
        }
        all.extend(new.into_iter().cloned());
        self.keep_standing(row, &standing_records(&all))
    }

    fn keep_standing(&self, row: i64, standing: &[AuditRecord]) -> Result<(), StoreError> {
        self.execute(
            "DELETE FROM annotation WHERE commit_row = ?1 AND kind < ?2",
            [row, KIND_AUDIT],
            MERGING,
        )?;
        let mut numbers = [0_i64; 4];
        for record in standing {
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
            self.execute_sealed(INSERT, &ANNOTATION, values, MERGING)?;
        }
        Ok(())
    }

    fn audit_of(&self, id: CommitId, row: i64) -> Result<BTreeSet<AuditRecord>, StoreError> {
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT at, by, change, text, source FROM annotation WHERE commit_row = ?1 AND kind = ?2",
            )
            .during(MERGING)?;
        let rows = statement.query_map([row, KIND_AUDIT], take_audit).during(MERGING)?;
        rows.map(|columns| audit_record(columns.during(MERGING)?, id)).collect()
    }
}
