//! Keeping anchors: hashes by which copies of a chain are found.
//!
//! What is hashed, and which ids are kept, is the engine's.

use rusqlite::params;
use stemmata_model::CommitId;

use super::Transaction;
use crate::error::StoreError;
use crate::sqlite::failure::During;

const KEEPING: &str = "keeping a commit's anchors";

impl Transaction<'_> {
    pub(super) fn anchor(&mut self, commit: CommitId, hashes: &[u64]) -> Result<(), StoreError> {
        let row = self.need_commit(commit)?.row;
        for hash in hashes {
            // What a covered commit held is held by those that cover it: it would only be looked at in vain.
            let sql = "DELETE FROM anchor WHERE hash = ?1 AND EXISTS \
                       (SELECT 1 FROM commits c WHERE c.row = anchor.commit_row AND c.state & 3 = 2)";
            self.connection.during(KEEPING).run(sql, [hash.cast_signed()])?;
            self.connection.during(KEEPING).run(
                "INSERT OR IGNORE INTO anchor (hash, commit_row) VALUES (?1, ?2)",
                params![hash.cast_signed(), row],
            )?;
        }
        Ok(())
    }
}
