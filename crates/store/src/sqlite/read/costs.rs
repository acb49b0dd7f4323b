//! What commits take in storage: frames of the inbox, and shares of pack blocks.
//!
//! Nothing is decoded: the database knows all lengths.

use rusqlite::{Connection, params};
use stemmata_model::CommitId;

use super::Reader;
use super::commits::key_of;
use super::contents::pieces_of;
use crate::error::StoreError;
use crate::maintain::costs::{ContentCost, Counted};
use crate::sqlite::failure::During;
use crate::sqlite::statements::columns;

const COUNTING: &str = "counting what commits take";

impl Reader {
    pub(in crate::sqlite) fn costs(
        &mut self,
        of: &[CommitId],
        counted: &mut Counted,
    ) -> Result<Vec<ContentCost>, StoreError> {
        self.within_read(|connection| of.iter().map(|commit| cost_of(connection, *commit, counted)).collect())
    }
}

fn cost_of(
    connection: &Connection,
    commit: CommitId,
    counted: &mut Counted,
) -> Result<ContentCost, StoreError> {
    let found: Option<(i64, Option<i64>)> = connection.during(COUNTING).first(
        "SELECT artifact, native FROM commits WHERE substr(id, 1, 8) = ?1 AND id = ?2",
        params![key_of(commit), commit.to_bytes()],
        columns,
    )?;
    let (artifact, native) = found.ok_or(StoreError::CommitMissing(commit))?;
    let mut cost = ContentCost::nothing(commit);
    for row in [Some(artifact), native].into_iter().flatten() {
        if !counted.is_new(row.to_le_bytes()) {
            continue;
        }
        add(connection, row, &mut cost)?;
        for piece in pieces_of(connection, row)? {
            if counted.is_new(piece.of.to_le_bytes()) {
                add(connection, piece.of, &mut cost)?;
            }
        }
    }
    Ok(cost)
}

/// Adds a literal content; nothing where it is a list, and where it is gone, which `verify` tells.
fn add(connection: &Connection, row: i64, cost: &mut ContentCost) -> Result<(), StoreError> {
    let ask = connection.during(COUNTING);
    let sql = "SELECT iif(coding = 5, 0, length), length(bytes) FROM content WHERE row = ?1 AND coding <> 3";
    if let Some((length, stored)) = ask.first::<(i64, i64)>(sql, [row], columns)? {
        cost.add(length.cast_unsigned(), stored.cast_unsigned(), 0);
        return Ok(());
    }
    let sql =
        "SELECT p.length, b.stored, b.length FROM packed p JOIN block b ON b.row = p.block WHERE p.row = ?1";
    if let Some((length, stored, whole)) = ask.first::<(i64, i64, i64)>(sql, [row], columns)? {
        let [length, stored, whole] = [length, stored, whole].map(i64::cast_unsigned);
        let share = share(length, stored, whole);
        cost.add(length, share, share);
    }
    Ok(())
}

/// Returns the part of a block's stored bytes that a member of some length has.
fn share(length: u64, stored: u64, whole: u64) -> u64 {
    let part = u128::from(length) * u128::from(stored) / u128::from(whole.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shares_are_never_more_than_the_block(lengths in proptest::collection::vec(0..5_000_000_u64, 1..40), stored: u32) {
            let whole: u64 = lengths.iter().sum();
            let stored = u64::from(stored);
            let sum: u64 = lengths.iter().map(|length| share(*length, stored, whole)).sum();
            prop_assert!(sum <= stored);
            prop_assert!(whole == 0 || stored - sum < u64::try_from(lengths.len()).expect("few"), "only what is rounded down is lost");
        }
    }
}
