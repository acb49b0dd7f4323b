//! Replacing words that were said of commits that stay.

use std::collections::BTreeMap;

use rusqlite::Connection;
use stemmata_model::CommitId;

use super::plan::{self, Place};
use crate::error::StoreError;
use crate::maintain::forget::Reworded;
use crate::rules::annotation::reword;
use crate::sqlite::annotations;
use crate::sqlite::failure::During;

/// Replaces records, and returns of how many commits there was one to replace.
pub(super) fn reword_all(connection: &Connection, wishes: &[Reworded]) -> Result<u64, StoreError> {
    let mut by_commit: BTreeMap<CommitId, Vec<&Reworded>> = BTreeMap::new();
    for wish in wishes {
        by_commit.entry(wish.commit).or_default().push(wish);
    }
    let ids: Vec<CommitId> = by_commit.keys().copied().collect();
    let mut reworded = 0;
    for row in plan::rows_of(connection, &ids)? {
        let Place { row, id, .. } = row.commit;
        let mut records = annotations::audit(connection, id, row)?;
        if reword(&mut records, by_commit.get(&id).into_iter().flatten().copied()) {
            reworded += 1;
            connection
                .execute("DELETE FROM annotation WHERE commit_row = ?1", [row])
                .during("replacing what was said of a commit")?;
            for record in &records {
                annotations::add_record(connection, row, record)?;
            }
            annotations::keep_standing(connection, row, &records)?;
        }
    }
    Ok(reworded)
}
