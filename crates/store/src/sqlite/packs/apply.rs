//! Telling the database about a pack that is durable: short transactions that move rows.
//!
//! A crash between them leaves contents in the inbox that are in the file too; nothing is lost.

use rusqlite::{Connection, params, params_from_iter};
use stemmata_model::{Timestamp, to_u64};

use super::encode::{NewBlock, NewPack};
use crate::error::StoreError;
use crate::pack::PackName;
use crate::sqlite::failure::During;
use crate::sqlite::group::Group;
use crate::sqlite::marks::DOOMED;

const MOVING: &str = "moving contents into a pack";

/// Contents that one transaction moves at most, so that nobody waits for long.
const STEP_MEMBERS_MAX: usize = 4096;

/// Bytes of blocks that one transaction moves at most: what they took in the inbox is overwritten in the log.
const STEP_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// What is known of packs that were told to the database.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// Blocks, contents and bytes that are in packs now.
    pub(super) blocks: u64,
    pub(super) based_blocks: u64,
    pub(super) contents: u64,
    pub(super) content_bytes: u64,
}

impl Applied {
    /// Moves the rows of a pack's contents, a few blocks at a time. Says whether any block is in the database.
    pub(super) fn apply(&mut self, group: &Group, pack: &NewPack, at: Timestamp) -> Result<bool, StoreError> {
        let mut row = None;
        let mut rest = pack.blocks.as_slice();
        while !rest.is_empty() {
            let (step, after) = rest.split_at(step_length(rest));
            rest = after;
            let outcome = group.maintain(|connection| {
                let pack_row = match row {
                    Some(known) => known,
                    None => insert_pack(connection, (pack.name, pack.bytes), at)?,
                };
                move_blocks(connection, pack_row, step).map(|()| pack_row)
            });
            match outcome {
                Ok(pack_row) => {
                    row = Some(pack_row);
                    self.count(step);
                }
                // What is stale stays in the inbox, and is planned again the next time.
                Err(error) if is_stale(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(row.is_some())
    }

    fn count(&mut self, blocks: &[NewBlock]) {
        for block in blocks {
            self.blocks += 1;
            self.based_blocks += u64::from(!block.laid.bases.is_empty());
            for member in block.members.iter().filter(|member| member.from.is_none()) {
                self.contents += 1;
                self.content_bytes += to_u64(member.length);
            }
        }
    }
}

fn move_blocks(connection: &Connection, pack: i64, blocks: &[NewBlock]) -> Result<(), StoreError> {
    for block in blocks {
        let row = insert_block(connection, pack, block)?;
        move_members(connection, row, block)?;
    }
    Ok(())
}

fn step_length(blocks: &[NewBlock]) -> usize {
    let (mut members, mut bytes) = (0, 0);
    let fits = blocks.iter().take_while(|block| {
        members += block.members.len();
        bytes += block.laid.length;
        members <= STEP_MEMBERS_MAX && bytes <= STEP_BYTES_MAX
    });
    fits.count().max(1)
}

/// Records a file, once; a mark that it is to be removed, from an earlier life of the same bytes, goes.
pub(super) fn insert_pack(
    connection: &Connection,
    pack: (PackName, u64),
    at: Timestamp,
) -> Result<i64, StoreError> {
    let (name, bytes) = pack;
    connection
        .during(MOVING)
        .run("DELETE FROM mark WHERE kind = ?1 AND key = ?2", params![DOOMED, name.0.as_slice()])?;
    connection.during(MOVING).insert(
        "INSERT INTO pack (name, bytes, made_at) VALUES (?1, ?2, ?3)",
        params![name.0, bytes.cast_signed(), at.as_micros()],
    )
}

fn insert_block(connection: &Connection, pack: i64, block: &NewBlock) -> Result<i64, StoreError> {
    let low = block.members.iter().map(|member| member.row).min().unwrap_or(0);
    let high = block.members.iter().map(|member| member.row).max().unwrap_or(0);
    let values = block.laid.columns(pack).into_iter().chain([low.into(), high.into()]);
    let sql = "INSERT INTO block (pack, number, offset, stored, length, coding, depth, bases, low, high) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    connection.during(MOVING).insert(sql, params_from_iter(values))
}

fn move_members(connection: &Connection, block_row: i64, block: &NewBlock) -> Result<(), StoreError> {
    for member in &block.members {
        let length = i64::try_from(member.length).unwrap_or(i64::MAX);
        let offset = i64::try_from(member.offset).unwrap_or(i64::MAX);
        let changed = match member.from {
            None => {
                let sql = "INSERT INTO packed (row, hash, length, block, offset) \
                           SELECT row, hash, length, ?2, ?3 FROM content \
                           WHERE row = ?1 AND coding IN (0, 1, 2) AND length = ?4 AND hash = ?5";
                let moved = connection
                    .during(MOVING)
                    .run(sql, params![member.row, block_row, offset, length, member.hash.as_bytes()])?;
                connection.during(MOVING).run("DELETE FROM content WHERE row = ?1", [member.row])?;
                moved
            }
            Some(from) => connection.during(MOVING).run(
                "UPDATE packed SET block = ?2, offset = ?3 WHERE row = ?1 AND block = ?4 AND hash = ?5",
                params![member.row, block_row, offset, from, member.hash.as_bytes()],
            )?,
        };
        if changed != 1 {
            return Err(stale());
        }
    }
    Ok(())
}

const STALE: &str = "finding contents where they were";

/// Ends the transaction of a step, so that nothing of it is done: a row is not what it was, somebody else took it meanwhile.
fn stale() -> StoreError {
    StoreError::Backend { operation: STALE, source: "they moved meanwhile".into() }
}

fn is_stale(error: &StoreError) -> bool {
    matches!(error, StoreError::Backend { operation: STALE, .. })
}
