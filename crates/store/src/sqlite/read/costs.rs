//! What commits take in storage: frames of the inbox, and shares of pack blocks.
//!
//! Nothing is decoded: the database knows all lengths.

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use stemmata_model::CommitId;

use super::Reader;
use super::commits::key_of;
use crate::error::StoreError;
use crate::maintain::costs::{ContentCost, Counted};
use crate::rules::coding::Coding;
use crate::rules::pieces;
use crate::sqlite::failure::{During, unreadable};
use crate::sqlite::statements::columns;

const COUNTING: &str = "counting what commits take";

/// What a row is, and what it takes.
enum Kept {
    /// Its length, its bytes in storage, and whether these are a share of a block.
    Literal(u64, u64, bool),
    Composed(Vec<u8>),
}

/// Looks rows up, in one transaction.
struct Rows<'a> {
    contents: CachedStatement<'a>,
    packed: CachedStatement<'a>,
}

impl Reader {
    pub(in crate::sqlite) fn costs(
        &mut self,
        of: &[CommitId],
        counted: &mut Counted,
    ) -> Result<Vec<ContentCost>, StoreError> {
        self.within_read(|connection| {
            let mut rows = Rows::new(connection)?;
            of.iter().map(|commit| cost_of(connection, &mut rows, *commit, counted)).collect()
        })
    }
}

fn cost_of(
    connection: &Connection,
    rows: &mut Rows<'_>,
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
        let list = match rows.find(row)? {
            Some(Kept::Composed(list)) => list,
            Some(literal) => {
                add(&mut cost, &literal);
                continue;
            }
            None => continue,
        };
        let pieces =
            pieces::decode(&list).ok_or_else(|| unreadable("content.bytes", &row, &"no list of ranges"))?;
        for piece in pieces {
            if counted.is_new(piece.of.to_le_bytes())
                && let Some(literal) = rows.find(piece.of)?
            {
                add(&mut cost, &literal);
            }
        }
    }
    Ok(cost)
}

fn add(cost: &mut ContentCost, literal: &Kept) {
    if let Kept::Literal(length, stored, is_packed) = *literal {
        cost.add(length, stored, if is_packed { stored } else { 0 });
    }
}

impl<'a> Rows<'a> {
    fn new(connection: &'a Connection) -> Result<Self, StoreError> {
        let contents = "SELECT length, coding, length(bytes), iif(coding = 3, bytes, NULL) FROM content \
                        WHERE row = ?1";
        let packed = "SELECT p.length, b.stored, b.length FROM packed p JOIN block b ON b.row = p.block \
                      WHERE p.row = ?1";
        Ok(Self {
            contents: connection.prepare_cached(contents).during(COUNTING)?,
            packed: connection.prepare_cached(packed).during(COUNTING)?,
        })
    }

    /// Finds a row; none where it is gone, which `verify` tells.
    fn find(&mut self, row: i64) -> Result<Option<Kept>, StoreError> {
        type Columns = (i64, i64, i64, Option<Vec<u8>>);
        let take = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        let hot: Option<Columns> = self.contents.query_row([row], take).optional().during(COUNTING)?;
        if let Some((length, coding, stored, list)) = hot {
            if let Some(list) = list {
                return Ok(Some(Kept::Composed(list)));
            }
            let is_forgotten = coding == Coding::Forgotten.number();
            let length = if is_forgotten { 0 } else { length.cast_unsigned() };
            return Ok(Some(Kept::Literal(length, stored.cast_unsigned(), false)));
        }
        let take = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let packed: Option<(i64, i64, i64)> =
            self.packed.query_row([row], take).optional().during(COUNTING)?;
        Ok(packed.map(|(length, stored, whole)| {
            let length = length.cast_unsigned();
            Kept::Literal(length, share(length, stored.cast_unsigned(), whole.cast_unsigned()), true)
        }))
    }
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
