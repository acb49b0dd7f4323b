//! The peer that everybody could write: a file that grows, synced after each delta.
//! Not a store: nothing is found again but by reading from the start.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

/// An append-only file.
#[derive(Debug)]
pub(crate) struct AppendFile {
    file: File,
}

impl AppendFile {
    /// Makes an empty file.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        Ok(Self { file: file.with_context(|| format!("creating {}", path.display()))? })
    }

    /// Appends bytes; they are durable when it returns.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(bytes)?;
        Ok(self.file.sync_data()?)
    }

    /// Appends bytes and leaves it to the system when they are durable.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn append_unsynced(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        Ok(self.file.write_all(bytes)?)
    }
}
