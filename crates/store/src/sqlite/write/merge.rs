//! Merging the metadata of another store into a commit's.

use std::collections::BTreeSet;

use stemmata_model::CommitId;

use super::Transaction;
use crate::error::StoreError;
use crate::sqlite::annotations;
use crate::write::AuditRecord;

impl Transaction<'_> {
    /// Adds records that are not there, and has the metadata be what all of them say.
    pub(super) fn merge_annotations(
        &mut self,
        id: CommitId,
        records: &[AuditRecord],
    ) -> Result<(), StoreError> {
        let row = self.need_commit(id)?.row;
        let mut all = annotations::audit(self.connection, id, row)?;
        let new: BTreeSet<&AuditRecord> = records.iter().filter(|record| !all.contains(record)).collect();
        if new.is_empty() {
            return Ok(());
        }
        for record in &new {
            annotations::add_record(self.connection, row, record)?;
        }
        all.extend(new.into_iter().cloned());
        annotations::keep_standing(self.connection, row, &all)
    }
}
