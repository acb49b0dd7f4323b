//! Swapping rewritten packs in, within the transaction that lets the contents go.

use rusqlite::{Connection, params_from_iter};
use stemmata_model::Timestamp;

use super::{MovedBlock, Rewrite};
use crate::error::StoreError;
use crate::sqlite::failure::During;
use crate::sqlite::marks::{self, DOOMED};
use crate::sqlite::packs::apply::insert_pack;
use crate::sqlite::statements::columns;

const SWAPPING: &str = "swapping rewritten packs in";

/// Whether packs were swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "where the packs are not what they were, nothing was done"]
pub(in crate::sqlite) enum Swap {
    /// They were; the contents that were to go are in no row of `packed` any more.
    Done,
    /// The packs are not what they were when the rewrite was prepared: nothing was done, prepare again.
    Stale,
}

/// Swaps packs, removes the rows of what is gone, and marks the old files for removal. The caller's transaction
/// commits it, or takes all of it back.
pub(in crate::sqlite) fn apply(
    connection: &Connection,
    rewrite: &Rewrite,
    at: Timestamp,
) -> Result<Swap, StoreError> {
    if !is_as_it_was(connection, rewrite)? {
        return Ok(Swap::Stale);
    }
    for pack in &rewrite.new {
        let row = insert_pack(connection, (pack.name, pack.bytes), at)?;
        for block in &pack.blocks {
            move_block(connection, row, block)?;
        }
    }
    let ask = connection.during(SWAPPING);
    for row in &rewrite.dropped {
        ask.run("DELETE FROM block WHERE row = ?1", [*row])?;
    }
    for row in &rewrite.gone {
        ask.run("DELETE FROM packed WHERE row = ?1", [*row])?;
    }
    for pack in &rewrite.old {
        ask.run("DELETE FROM pack WHERE row = ?1", [pack.row])?;
        // Where the same bytes came out, the file is the new pack's.
        if rewrite.made().any(|name| name == pack.name) {
            continue;
        }
        marks::remove(connection, DOOMED, &pack.name.0)?;
        marks::set(connection, (DOOMED, &pack.name.0), at, None)?;
    }
    Ok(Swap::Done)
}

fn is_as_it_was(connection: &Connection, rewrite: &Rewrite) -> Result<bool, StoreError> {
    for pack in &rewrite.old {
        let found: Option<([u8; 32], i64)> = connection.during(SWAPPING).first(
            "SELECT name, (SELECT count(*) FROM block WHERE pack = ?1) FROM pack WHERE row = ?1",
            [pack.row],
            columns,
        )?;
        if found != Some((pack.name.0, pack.blocks)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn move_block(connection: &Connection, pack: i64, block: &MovedBlock) -> Result<(), StoreError> {
    let values = block.laid.columns(pack).into_iter().chain([block.row.into()]);
    let sql = "UPDATE block SET pack = ?1, number = ?2, offset = ?3, stored = ?4, length = ?5, coding = ?6, \
               depth = ?7, bases = ?8 WHERE row = ?9";
    connection.during(SWAPPING).run(sql, params_from_iter(values))?;
    for member in block.members.iter().flatten() {
        connection.during(SWAPPING).run(
            "UPDATE packed SET offset = ?2 WHERE row = ?1",
            [member.row, i64::try_from(member.offset).unwrap_or(i64::MAX)],
        )?;
    }
    Ok(())
}
