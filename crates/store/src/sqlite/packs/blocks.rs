//! Reading blocks: where the database says that they are, from their files, against their bases.
//!
//! That a content has its hash is for the reader of contents to see to.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use rusqlite::Connection;

use super::Packs;
use crate::error::StoreError;
use crate::pack::PackName;
use crate::pack::bounds::{BASE_BLOCKS_MAX, BASE_DEPTH_MAX, BASES_BYTES_MAX, BASES_MAX, BLOCK_BYTES_MAX};
use crate::pack::format::BlockCoding;
use crate::pack::frame;
use crate::sqlite::failure::{During, unreadable};
use crate::sqlite::statements::columns;
use crate::varint;

const READING: &str = "looking up a block";

/// A row of `block` with the name of its pack.
#[derive(Debug, Clone)]
pub(in crate::sqlite) struct BlockRow {
    pub(super) row: i64,
    pub(super) pack: PackName,
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) stored: usize,
    pub(super) length: usize,
    pub(super) coding: BlockCoding,
    pub(super) depth: u64,
    pub(super) bases: Vec<i64>,
}

/// What a block decodes to, shared with the cache.
pub(in crate::sqlite) type Loaded = Arc<Vec<u8>>;

/// Why a block cannot be read.
#[derive(Debug)]
pub(in crate::sqlite) enum BlockError {
    /// Its file is not there, or ends before the block does: it may have moved meanwhile.
    Gone(String),
    /// It is damaged.
    Damaged(String),
    /// The database failed.
    Store(StoreError),
}

impl From<StoreError> for BlockError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl BlockRow {
    /// Says where the block is, for people.
    pub(in crate::sqlite) fn place(&self) -> String {
        format!("block {} of pack {} at byte {}", self.number, self.pack.file(), self.offset)
    }
}

/// Writes the rows of bases as the column `bases` has them.
pub(super) fn encode_bases(rows: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in rows {
        varint::put(&mut bytes, row.cast_unsigned());
    }
    bytes
}

/// Reads the column `bases`; none where no version writes it so.
pub(super) fn decode_bases(mut bytes: &[u8]) -> Option<Vec<i64>> {
    let mut rows = Vec::new();
    while !bytes.is_empty() && rows.len() <= BASES_MAX {
        rows.push(varint::take(&mut bytes)?.cast_signed());
    }
    (rows.len() <= BASES_MAX).then_some(rows)
}

/// Looks a block up; none where it is not there. An inner error says what is wrong with the row.
pub(super) fn find_block(
    connection: &Connection,
    row: i64,
) -> Result<Option<Result<BlockRow, String>>, StoreError> {
    let sql = "SELECT p.name, b.number, b.offset, b.stored, b.length, b.coding, b.depth, b.bases \
               FROM block b JOIN pack p ON p.row = b.pack WHERE b.row = ?1";
    let found = connection.during(READING).first(sql, [row], |found| {
        let numbers: [i64; 6] =
            [found.get(1)?, found.get(2)?, found.get(3)?, found.get(4)?, found.get(5)?, found.get(6)?];
        Ok((found.get::<_, [u8; 32]>(0)?, numbers, found.get::<_, Vec<u8>>(7)?))
    })?;
    Ok(found.map(|(name, numbers, bases)| block_of(row, name, numbers, &bases)))
}

/// Returns all blocks with the rows of their packs, by their own rows. Those whose rows cannot be read fail.
pub(in crate::sqlite) fn block_rows(
    connection: &Connection,
) -> Result<BTreeMap<i64, (i64, BlockRow)>, StoreError> {
    let rows: Vec<(i64, i64)> =
        connection.during(READING).list("SELECT row, pack FROM block", [], columns)?;
    let mut blocks = BTreeMap::new();
    for (row, pack) in rows {
        match find_block(connection, row)? {
            Some(Ok(block)) => blocks.insert(row, (pack, block)),
            Some(Err(what)) => return Err(unreadable("block", &row, &what)),
            None => return Err(unreadable("block.pack", &row, &"no pack")),
        };
    }
    Ok(blocks)
}

fn block_of(row: i64, name: [u8; 32], numbers: [i64; 6], bases: &[u8]) -> Result<BlockRow, String> {
    let [number, offset, stored, length, coding, depth] = numbers;
    let length_of = |value: i64| usize::try_from(value).ok().filter(|value| *value <= BLOCK_BYTES_MAX);
    let wrong = |what: &str, value: i64| format!("the {what} of block row {row} is {value}");
    Ok(BlockRow {
        row,
        pack: PackName(name),
        number: number.cast_unsigned(),
        offset: u64::try_from(offset).map_err(|_| wrong("offset", offset))?,
        stored: length_of(stored).ok_or_else(|| wrong("stored length", stored))?,
        length: length_of(length).ok_or_else(|| wrong("length", length))?,
        coding: BlockCoding::from_number(coding.cast_unsigned()).ok_or_else(|| wrong("coding", coding))?,
        depth: u64::try_from(depth)
            .ok()
            .filter(|depth| *depth <= BASE_DEPTH_MAX)
            .ok_or_else(|| wrong("depth", depth))?,
        bases: decode_bases(bases).ok_or_else(|| format!("the bases of block row {row} cannot be read"))?,
    })
}

impl Packs {
    /// Returns what a block decodes to. The connection stands in one transaction, so that all rows agree.
    pub(in crate::sqlite) fn load(&self, connection: &Connection, row: i64) -> Result<Loaded, BlockError> {
        self.load_below(connection, row, BASE_DEPTH_MAX + 1, &mut BTreeMap::new())
    }

    /// Says where a block is, for people.
    pub(in crate::sqlite) fn place(connection: &Connection, row: i64) -> Result<String, StoreError> {
        Ok(match find_block(connection, row)? {
            Some(Ok(block)) => block.place(),
            Some(Err(_)) | None => format!("block row {row}"),
        })
    }

    /// Returns what a block decodes to, whose depth is below a bound; `held` has those that were decoded on
    /// the way, so that none is decoded or counted twice however little the cache keeps.
    fn load_below(
        &self,
        connection: &Connection,
        row: i64,
        below: u64,
        held: &mut BTreeMap<i64, Loaded>,
    ) -> Result<Loaded, BlockError> {
        let found = find_block(connection, row)?;
        let block = found
            .ok_or_else(|| BlockError::Damaged(format!("block row {row} is not there")))?
            .map_err(BlockError::Damaged)?;
        if block.depth >= below {
            return Err(BlockError::Damaged(format!("{} leans on itself", block.place())));
        }
        if let Some(loaded) = held.get(&row) {
            return Ok(Loaded::clone(loaded));
        }
        if let Some(loaded) = self.blocks.get((block.pack, block.number)) {
            return Ok(loaded);
        }
        if held.len() >= BASE_BLOCKS_MAX {
            return Err(BlockError::Damaged(format!(
                "{} leans on more than {BASE_BLOCKS_MAX} others",
                block.place()
            )));
        }
        let mut before = Vec::new();
        for base in &block.bases {
            let base = self.load_below(connection, *base, block.depth, held)?;
            if before.len() + base.len() > BASES_BYTES_MAX {
                return Err(BlockError::Damaged(format!("the bases of {} are too large", block.place())));
            }
            before.extend_from_slice(&base);
        }
        let stored = self.read_stored(&block)?;
        let raw = frame::decode(block.coding, &stored, &before, block.length)
            .map_err(|what| BlockError::Damaged(format!("{}: {what}", block.place())))?;
        let loaded = Arc::new(raw);
        self.blocks.put((block.pack, block.number), &loaded);
        held.insert(row, Loaded::clone(&loaded));
        Ok(loaded)
    }

    /// Returns a block's bytes as the file has them.
    pub(super) fn read_stored(&self, block: &BlockRow) -> Result<Vec<u8>, BlockError> {
        let mut stored = vec![0; block.stored];
        let read = self.open(block.pack).and_then(|file| file.read_at(block.offset, &mut stored));
        match read {
            Ok(()) => Ok(stored),
            Err(error) => {
                // The file under that name may be another one by now, or come back.
                self.handles.forget(block.pack);
                let what = match error.kind() {
                    io::ErrorKind::NotFound => "its file is missing".to_owned(),
                    io::ErrorKind::UnexpectedEof => "its file ends before it".to_owned(),
                    _ => error.to_string(),
                };
                Err(BlockError::Gone(format!("{}: {what}", block.place())))
            }
        }
    }
}
