//! Finding commits by their anchors.
//!
//! One look into the table for each hash; nearly all of them find nothing.

use rusqlite::params;
use stemmata_model::CommitId;

use super::Reader;
use super::commits::sql_limit;
use crate::error::StoreError;
use crate::sqlite::failure::During;
use crate::sqlite::statements::one;

const LOOKING: &str = "looking up anchors";

impl Reader {
    pub(in crate::sqlite) fn anchored(
        &self,
        hashes: &[u64],
        limit: usize,
    ) -> Result<Vec<(u64, CommitId)>, StoreError> {
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        // One transaction, so that all are looked up in one state and the lock is taken once.
        let transaction = self.connection.unchecked_transaction().during(LOOKING)?;
        let sql = "SELECT c.id FROM anchor a CROSS JOIN commits c ON c.row = a.commit_row \
                   WHERE a.hash = ?1 AND c.state & 3 <> 2 ORDER BY c.id LIMIT ?2";
        for hash in hashes {
            let values = params![hash.cast_signed(), sql_limit(limit)];
            transaction.during(LOOKING).each(sql, values, one, |id| {
                found.push((*hash, CommitId::from_bytes(id)));
                Ok(())
            })?;
        }
        transaction.commit().during(LOOKING)?;
        Ok(found)
    }
}
