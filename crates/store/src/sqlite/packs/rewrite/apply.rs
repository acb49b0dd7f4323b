//! Swapping rewritten packs in, within the transaction that lets the contents go.

use rusqlite::{Connection, OptionalExtension, params};
use stemmata_model::Timestamp;

use super::{MovedBlock, Rewrite};
use crate::error::StoreError;
use crate::sqlite::failure::During;
use crate::sqlite::marks::DOOMED;
use crate::sqlite::packs::apply::insert_pack;
use crate::sqlite::packs::blocks::encode_bases;

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
    for row in &rewrite.dropped {
        run(connection, "DELETE FROM block WHERE row = ?1", *row)?;
    }
    for row in &rewrite.gone {
        run(connection, "DELETE FROM packed WHERE row = ?1", *row)?;
    }
    for pack in &rewrite.old {
        run(connection, "DELETE FROM pack WHERE row = ?1", pack.row)?;
        // Where the same bytes came out, the file is the new pack's.
        if rewrite.made().any(|name| name == pack.name) {
            continue;
        }
        connection
            .prepare_cached("INSERT OR REPLACE INTO mark (kind, key, at) VALUES (?1, ?2, ?3)")
            .and_then(|mut statement| {
                statement.execute(params![DOOMED, pack.name.0.as_slice(), at.as_micros()])
            })
            .during(SWAPPING)?;
    }
    Ok(Swap::Done)
}

fn is_as_it_was(connection: &Connection, rewrite: &Rewrite) -> Result<bool, StoreError> {
    for pack in &rewrite.old {
        let found: Option<([u8; 32], i64)> = connection
            .prepare_cached(
                "SELECT name, (SELECT count(*) FROM block WHERE pack = ?1) FROM pack WHERE row = ?1",
            )
            .and_then(|mut statement| {
                statement.query_row([pack.row], |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .during(SWAPPING)?;
        if found != Some((pack.name.0, pack.blocks)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn move_block(connection: &Connection, pack: i64, block: &MovedBlock) -> Result<(), StoreError> {
    let length = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
    let values = params![
        block.row,
        pack,
        block.number.cast_signed(),
        block.offset.cast_signed(),
        length(block.stored),
        length(block.length),
        i64::from(block.coding.number()),
        block.depth.cast_signed(),
        encode_bases(&block.bases),
    ];
    connection
        .prepare_cached(
            "UPDATE block SET pack = ?2, number = ?3, offset = ?4, stored = ?5, length = ?6, coding = ?7, \
             depth = ?8, bases = ?9 WHERE row = ?1",
        )
        .and_then(|mut statement| statement.execute(values))
        .during(SWAPPING)?;
    for member in block.members.iter().flatten() {
        connection
            .prepare_cached("UPDATE packed SET offset = ?2 WHERE row = ?1")
            .and_then(|mut statement| statement.execute([member.row, length(member.offset)]))
            .during(SWAPPING)?;
    }
    Ok(())
}

fn run(connection: &Connection, sql: &'static str, row: i64) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(sql).during(SWAPPING)?;
    statement.execute([row]).during(SWAPPING).map(|_| ())
}
