//! Writing a pack file: without a name until it is whole and durable.
//!
//! What stands in it is decided elsewhere.

use std::path::PathBuf;

use rusqlite::types::Value;

use super::blocks::encode_bases;
use super::{Packs, UNNAMED};
use crate::error::StoreError;
use crate::files::{NewFile, remove_if_there};
use crate::pack::PackName;
use crate::pack::bounds::{PACK_BLOCKS_MAX, PACK_BYTES_TARGET};
use crate::pack::format::{BlockCoding, BlockEntry, PackBuilder};
use crate::sqlite::failure::io_error;

const WRITING: &str = "writing a pack";

/// Where a block stands in its pack, how it is kept, and what it leans on.
#[derive(Debug)]
pub(super) struct Laid {
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) stored: u64,
    pub(super) length: u64,
    pub(super) coding: BlockCoding,
    pub(super) depth: u64,
    /// The rows of the blocks that it leans on.
    pub(super) bases: Vec<i64>,
}

impl Laid {
    /// Returns the columns `pack, number, offset, stored, length, coding, depth, bases` of the block's row, in this order.
    pub(super) fn columns(&self, pack: i64) -> [Value; 8] {
        [
            pack.into(),
            self.number.cast_signed().into(),
            self.offset.cast_signed().into(),
            self.stored.cast_signed().into(),
            self.length.cast_signed().into(),
            i64::from(self.coding.number()).into(),
            self.depth.cast_signed().into(),
            encode_bases(&self.bases).into(),
        ]
    }
}

/// A pack that is being written. Only who holds the lock makes one, so there is one at a time.
pub(super) struct Output<'a> {
    packs: &'a Packs,
    path: PathBuf,
    file: Box<dyn NewFile>,
    builder: PackBuilder,
}

impl<'a> Output<'a> {
    pub(super) fn new(packs: &'a Packs) -> Result<Self, StoreError> {
        let path = packs.folder.join(UNNAMED);
        // A crash may have left one.
        let removed = remove_if_there(packs.files.as_ref(), &path);
        removed.map_err(|source| io_error("removing", &path, source))?;
        let file = packs.files.create(&path).map_err(|source| io_error(WRITING, &path, source))?;
        let (builder, header) = PackBuilder::new();
        let mut output = Self { packs, path, file, builder };
        output.append(&header)?;
        Ok(output)
    }

    /// Adds a block that leans on the blocks in `bases`, so deep.
    pub(super) fn block(
        &mut self,
        stored: &[u8],
        entry: BlockEntry,
        (depth, bases): (u64, Vec<i64>),
    ) -> Result<Laid, StoreError> {
        self.append(stored)?;
        let (kept, length, coding) = (entry.stored, entry.length, entry.coding);
        let (number, offset) = self.builder.block(stored, entry);
        Ok(Laid { number, offset, stored: kept, length, coding, depth, bases })
    }

    /// Returns whether the next blocks, so many, belong to another pack.
    pub(super) const fn is_full(&self, next_blocks: usize) -> bool {
        self.builder.bytes() >= PACK_BYTES_TARGET || self.builder.blocks() + next_blocks > PACK_BLOCKS_MAX
    }

    /// Ends the file, makes it durable, gives it its name, and makes that durable. Returns the name and the
    /// bytes of the file.
    pub(super) fn finish(mut self) -> Result<(PackName, u64), StoreError> {
        let packs = self.packs;
        let (end, name, bytes) = std::mem::replace(&mut self.builder, PackBuilder::new().0).finish();
        self.append(&end)?;
        self.file.sync().map_err(|source| io_error("syncing a pack", &self.path, source))?;
        drop(self.file);
        let path = packs.path(name);
        packs
            .files
            .rename(&self.path, &path)
            .and_then(|()| packs.files.sync_directory(&packs.folder))
            .map_err(|source| io_error("naming a pack", &path, source))?;
        Ok((name, bytes))
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.append(bytes).map_err(|source| io_error(WRITING, &self.path, source))
    }
}
