//! What rewriting has to touch: packs with something to go, and blocks that lean on changed ones.
//!
//! Looks at rows only.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;

use super::{Garbage, OldPack};
use crate::error::StoreError;
use crate::pack::PackName;
use crate::pack::format::HEADER_BYTES;
use crate::sqlite::failure::During;
use crate::sqlite::packs::Packs;
use crate::sqlite::packs::blocks::{BlockRow, block_rows};
use crate::sqlite::statements::{columns, one};

const SURVEYING: &str = "looking for packs to rewrite";

/// Bytes of a file that are neither blocks nor grow with them: what a pack costs at least.
const FRAME_BYTES: u64 = 64;

/// A block with what is left of it.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) block: BlockRow,
    pub(super) pack_row: i64,
    /// The rows and lengths of the contents that stay, in the order in which they stand.
    pub(super) members: Vec<(i64, usize)>,
    /// Whether its contents together are other bytes than before.
    pub(super) changed: bool,
}

/// All blocks of packs that are rewritten.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) old: Vec<OldPack>,
    /// Blocks to be written again, by their rows.
    pub(super) blocks: BTreeMap<i64, Live>,
    /// Blocks of which nothing stays, and whose dependants do without.
    pub(super) dropped: BTreeSet<i64>,
}

/// Everything that the database says of packs and blocks.
struct Known {
    packs: Vec<OldPack>,
    blocks: BTreeMap<i64, (i64, BlockRow)>,
    members: BTreeMap<i64, Vec<(i64, usize, usize)>>,
}

/// Finds what is to be rewritten. The connection stands in one transaction.
pub(super) fn survey(
    (connection, packs): (&Connection, &Packs),
    gone: &BTreeSet<i64>,
    garbage: Garbage,
) -> Result<Survey, StoreError> {
    let known = Known::read(connection, gone)?;
    let wanted = known.packs_to_rewrite((connection, packs), gone, garbage)?;
    Ok(known.into_survey(&wanted))
}

impl Known {
    fn read(connection: &Connection, gone: &BTreeSet<i64>) -> Result<Self, StoreError> {
        let sql =
            "SELECT p.row, p.name, p.bytes, (SELECT count(*) FROM block WHERE pack = p.row) FROM pack p";
        let ask = connection.during(SURVEYING);
        let packs = ask.list(sql, [], |row| {
            let bytes = row.get::<_, i64>(2)?.cast_unsigned();
            Ok(OldPack { row: row.get(0)?, name: PackName(row.get(1)?), bytes, blocks: row.get(3)? })
        })?;
        let blocks = block_rows(connection)?;
        let mut members: BTreeMap<i64, Vec<(i64, usize, usize)>> = BTreeMap::new();
        let sql = "SELECT row, block, offset, length FROM packed";
        ask.each(sql, [], columns, |(row, block, offset, length): (i64, i64, i64, i64)| {
            let [offset, length] = [offset, length].map(|of| usize::try_from(of).unwrap_or(usize::MAX));
            if !gone.contains(&row) {
                members.entry(block).or_default().push((row, offset, length));
            }
            Ok(())
        })?;
        for list in members.values_mut() {
            list.sort_unstable_by_key(|(row, offset, _)| (*offset, *row));
        }
        Ok(Self { packs, blocks, members })
    }

    /// Contents of a block that stay, together in bytes.
    fn live_bytes(&self, block: i64) -> u64 {
        let lengths = self.members.get(&block).into_iter().flatten().map(|(_, _, length)| *length);
        lengths.fold(0, |sum, length| sum + u64::try_from(length).unwrap_or(u64::MAX))
    }

    fn is_changed(&self, block: &BlockRow) -> bool {
        self.live_bytes(block.row) != u64::try_from(block.length).unwrap_or(u64::MAX)
    }

    fn packs_to_rewrite(
        &self,
        (connection, packs): (&Connection, &Packs),
        gone: &BTreeSet<i64>,
        garbage: Garbage,
    ) -> Result<BTreeSet<i64>, StoreError> {
        let mut wanted = BTreeSet::new();
        for row in gone {
            let sql = "SELECT b.pack FROM packed p JOIN block b ON b.row = p.block WHERE p.row = ?1";
            wanted.extend(connection.during(SURVEYING).first::<i64>(sql, [row], one)?);
        }
        for pack in &self.packs {
            if self.is_heavy(packs, pack, garbage) {
                wanted.insert(pack.row);
            }
        }
        // A block that leans on one with other contents now, or on none, is encoded again, wherever it is.
        loop {
            let more: Vec<i64> = self
                .blocks
                .values()
                .filter(|(pack, block)| {
                    !wanted.contains(pack)
                        && block.bases.iter().any(|base| {
                            self.blocks
                                .get(base)
                                .is_none_or(|(pack, base)| wanted.contains(pack) && self.is_changed(base))
                        })
                })
                .map(|(pack, _)| *pack)
                .collect();
            if more.is_empty() {
                return Ok(wanted);
            }
            wanted.extend(more);
        }
    }

    /// Says whether a pack holds so many bytes that nobody needs that it is written anew.
    fn is_heavy(&self, packs: &Packs, pack: &OldPack, garbage: Garbage) -> bool {
        let (mut stored, mut needed, mut untouched) = (0_u64, 0_u64, true);
        for (_, block) in self.blocks.values().filter(|(owner, _)| *owner == pack.row) {
            let bytes = u64::try_from(block.stored).unwrap_or(u64::MAX);
            let length = u64::try_from(block.length).unwrap_or(u64::MAX).max(1);
            stored += bytes;
            // What is left of a block takes about its share of what the block takes.
            needed += (u128::from(bytes) * u128::from(self.live_bytes(block.row)) / u128::from(length))
                .try_into()
                .unwrap_or(bytes);
            untouched &= !self.is_changed(block);
        }
        match garbage {
            #[cfg(test)]
            Garbage::Keep => false,
            Garbage::Half => needed.saturating_mul(2) < pack.bytes.saturating_sub(FRAME_BYTES),
            // A file may hold blocks that no row names: those of a packing that did not come to its end.
            Garbage::All => !untouched || self.has_unnamed(packs, pack, stored),
        }
    }

    /// Says whether a file holds blocks that the database does not know.
    fn has_unnamed(&self, packs: &Packs, pack: &OldPack, stored: u64) -> bool {
        let named = self.blocks.values().filter(|(owner, _)| *owner == pack.row);
        let next = named.map(|(_, block)| block.number + 1).max().unwrap_or(0);
        let has_gap = u64::try_from(pack.blocks).is_ok_and(|blocks| blocks != next);
        // Where the file cannot be read there is nothing to write it anew from.
        packs.index_offset(pack.name).map_or(has_gap, |index| index != HEADER_BYTES + stored)
    }

    fn into_survey(mut self, wanted: &BTreeSet<i64>) -> Survey {
        let mut survey = Survey::default();
        for (row, (pack_row, block)) in std::mem::take(&mut self.blocks) {
            if !wanted.contains(&pack_row) {
                continue;
            }
            let changed = self.is_changed(&block);
            let members = self.members.remove(&row).unwrap_or_default();
            if members.is_empty() {
                survey.dropped.insert(row);
                continue;
            }
            let members = members.into_iter().map(|(row, _, length)| (row, length)).collect();
            survey.blocks.insert(row, Live { block, pack_row, members, changed });
        }
        survey.old = self.packs.into_iter().filter(|pack| wanted.contains(&pack.row)).collect();
        survey
    }
}
