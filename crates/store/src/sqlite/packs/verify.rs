//! Holding pack files to their names, their indexes, and what the database says of them.
//!
//! That each content in them has its hash is `verify`'s.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::{BlockRow, block_rows};
use crate::error::StoreError;
use crate::pack::PackName;
use crate::seam::{Damage, Verified};
use crate::sqlite::failure::During;
use crate::sqlite::read::Reader;

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
}

fn packs_of(connection: &Connection) -> Result<Vec<Known>, StoreError> {
    let mut statement = connection.prepare("SELECT row, name, bytes FROM pack").during(VERIFYING)?;
    let rows = statement
        .query_map([], |row| {
            Ok(Known {
                row: row.get(0)?,
                name: PackName(row.get(1)?),
                bytes: row.get::<_, i64>(2)?.cast_unsigned(),
            })
        })
        .during(VERIFYING)?;
    rows.collect::<rusqlite::Result<_>>().during(VERIFYING)
}

fn by_pack(connection: &Connection) -> Result<BTreeMap<i64, Vec<BlockRow>>, StoreError> {
    let mut packs: BTreeMap<i64, Vec<BlockRow>> = BTreeMap::new();
    for (pack, block) in block_rows(connection)?.into_values() {
        packs.entry(pack).or_default().push(block);
    }
    Ok(packs)
}
