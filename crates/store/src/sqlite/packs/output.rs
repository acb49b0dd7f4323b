//! Writing a pack file: without a name until it is whole and durable.
//!
//! What stands in it is decided elsewhere.

use std::path::PathBuf;

use super::{Packs, UNNAMED};
use crate::error::StoreError;
use crate::files::NewFile;
use crate::pack::PackName;
use crate::pack::format::{BlockEntry, PackBuilder};

const WRITING: &str = "writing a pack";

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
        match packs.files.remove(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Packs::failure("removing", &path, error));
            }
            Ok(()) | Err(_) => {}
        }
        let file = packs.files.create(&path).map_err(|source| Packs::failure(WRITING, &path, source))?;
        let (builder, header) = PackBuilder::new();
        let mut output = Self { packs, path, file, builder };
        output.append(&header)?;
        Ok(output)
    }

    /// Adds a block, and returns its number and offset.
    pub(super) fn block(&mut self, stored: &[u8], entry: BlockEntry) -> Result<(u64, u64), StoreError> {
        self.append(stored)?;
        Ok(self.builder.block(stored, entry))
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.builder.bytes()
    }

    pub(super) const fn blocks(&self) -> usize {
        self.builder.blocks()
    }

    /// Ends the file, makes it durable, gives it its name, and makes that durable. Returns the name and the
    /// bytes of the file.
    pub(super) fn finish(mut self) -> Result<(PackName, u64), StoreError> {
        let packs = self.packs;
        let (end, name, bytes) = std::mem::replace(&mut self.builder, PackBuilder::new().0).finish();
        self.append(&end)?;
        self.file.sync().map_err(|source| Packs::failure("syncing a pack", &self.path, source))?;
        drop(self.file);
        let path = packs.path(name);
        packs
            .files
            .rename(&self.path, &path)
            .and_then(|()| packs.files.sync_directory(&packs.folder))
            .map_err(|source| Packs::failure("naming a pack", &path, source))?;
        Ok((name, bytes))
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.append(bytes).map_err(|source| Packs::failure(WRITING, &self.path, source))
    }
}
