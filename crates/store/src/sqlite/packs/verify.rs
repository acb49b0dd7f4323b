//! Holding pack files to their names, their indexes, and what the database says of them, and each content in them to its hash.

use std::collections::BTreeMap;

use rusqlite::Connection;
use stemmata_model::ArtifactId;

use super::{BlockRow, block_rows};
use crate::error::StoreError;
use crate::pack::PackName;
use crate::seam::{Damage, Verified};
use crate::sqlite::failure::During;
use crate::sqlite::read::Reader;
use crate::sqlite::read::verify::{PAGE_ROWS, report_content};
use crate::sqlite::statements::columns;

const VERIFYING: &str = "verifying the packs";

/// What the database says of a pack.
struct Known {
    row: i64,
    name: PackName,
    bytes: u64,
}

impl Reader {
    /// Reports every pack that is not what its name, its index and the database say.
    pub(in crate::sqlite) fn verify_packs(
        &mut self,
        verified: &mut Verified,
        found: &mut dyn FnMut(Damage),
    ) -> Result<(), StoreError> {
        let packs = std::sync::Arc::clone(&self.packs);
        let (known, blocks) =
            self.within_read(|connection| Ok((packs_of(connection)?, by_pack(connection)?)))?;
        let files = packs.list()?.into_iter().filter_map(|file| PackName::of_file(&file));
        let left = files.filter(|file| known.iter().all(|pack| pack.name != *file)).count();
        verified.leftover_files = u64::try_from(left).unwrap_or(u64::MAX);
        for pack in known {
            let none = Vec::new();
            let blocks = blocks.get(&pack.row).unwrap_or(&none);
            let result = packs.inspect(pack.name, pack.bytes, blocks);
            let Err(what) = result else {
                continue;
            };
            // It may have been rewritten meanwhile, and be gone for a good reason.
            let is_named = self.within_read(packs_of)?.iter().any(|still| still.name == pack.name);
            if is_named {
                found(Damage { check: "pack", object: pack.name.file(), message: what });
            }
        }
        Ok(())
    }

    /// Holds every content in a pack to its hash, by its place there and not by a duplicate.
    pub(in crate::sqlite) fn verify_packed(
        &mut self,
        verified: &mut Verified,
        found: &mut dyn FnMut(Damage),
    ) -> Result<(), StoreError> {
        let mut after = i64::MIN;
        loop {
            let sql = "SELECT row, hash FROM packed WHERE row > ?1 ORDER BY row LIMIT ?2";
            let ask = self.connection().during(VERIFYING);
            let page: Vec<(i64, [u8; 32])> = ask.list(sql, [after, PAGE_ROWS], columns)?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = *last;
            for (row, hash) in page {
                verified.contents += 1;
                let id = ArtifactId::from_bytes(hash);
                if let Err(failure) = self.with_literals(|literals| Ok(literals.load_packed_again(row)))? {
                    report_content(found, &id.to_string(), &failure.of(id));
                }
            }
        }
    }
}

fn packs_of(connection: &Connection) -> Result<Vec<Known>, StoreError> {
    connection.during(VERIFYING).list("SELECT row, name, bytes FROM pack", [], |row| {
        let bytes = row.get::<_, i64>(2)?.cast_unsigned();
        Ok(Known { row: row.get(0)?, name: PackName(row.get(1)?), bytes })
    })
}

fn by_pack(connection: &Connection) -> Result<BTreeMap<i64, Vec<BlockRow>>, StoreError> {
    let mut packs: BTreeMap<i64, Vec<BlockRow>> = BTreeMap::new();
    for (pack, block) in block_rows(connection)?.into_values() {
        packs.entry(pack).or_default().push(block);
    }
    Ok(packs)
}
