//! Packs of a SQLite store: the folder `packs` beside the database, and what reads and writes it.
//!
//! The format of a file is `crate::pack`'s. Specified in `docs/format/pack.md` and `docs/format/store.md`.

mod apply;
mod blocks;
mod cache;
mod encode;
mod inspect;
mod leaning;
mod leftovers;
mod members;
mod output;
mod plan;
pub(super) mod rewrite;
mod run;
mod sources;
mod verify;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::cache::{Blocks, Handles};
use super::failure::io_error;
use crate::error::StoreError;
use crate::files::{FileLock, Files, OpenFile, remove_if_there};
use crate::pack::PackName;
use crate::patience::Patience;

pub(super) use self::blocks::{BlockError, BlockRow, block_rows};
pub(super) use self::leftovers::{finish_removal, remove_leftovers};
pub(super) use self::members::{LOOKUPS_MAX, Member, Unpacking};
pub(super) use self::run::pack;

/// The folder of packs beside the database.
const FOLDER: &str = "packs";

/// The file that whoever writes packs holds locked.
const LOCK: &str = "lock";

/// The file that a pack is written to before it has its name.
const UNNAMED: &str = "new.tmp";

/// The pause between two looks at the lock: packing takes seconds.
const PAUSE: Duration = Duration::from_millis(20);

/// The folder of packs, with what is kept of it in memory for all readers of a store.
#[derive(Debug)]
pub(super) struct Packs {
    folder: PathBuf,
    files: Arc<dyn Files>,
    blocks: Blocks,
    handles: Handles,
}

impl Packs {
    /// Knows the folder beside a database; makes nothing.
    pub(super) fn new(database: &Path, files: Arc<dyn Files>) -> Self {
        let folder = database.with_file_name(FOLDER);
        Self { folder, files, blocks: Blocks::default(), handles: Handles::default() }
    }

    /// Makes the folder, and takes the lock of those who write packs. None where another one has it.
    ///
    /// Who holds it knows that nobody else adds, moves or removes packs, and that a file which no row names is
    /// left over.
    pub(super) fn lock(&self) -> Result<Option<Box<dyn FileLock>>, StoreError> {
        // The folder's own name has to last before a row may name a pack in it; a crash may have come between the two.
        let parent = self.folder.parent().unwrap_or(&self.folder);
        let made = self.files.make_directory(&self.folder).and_then(|()| self.files.sync_directory(parent));
        made.map_err(|source| io_error("making the folder", &self.folder, source))?;
        let path = self.folder.join(LOCK);
        self.files.lock(&path).map_err(|source| io_error("locking", &path, source))
    }

    /// Takes the lock of those who write packs, waiting for others for so long.
    ///
    /// # Errors
    /// `Locked` where another one keeps it.
    pub(super) fn lock_patiently(&self, patience_ms: u64) -> Result<Box<dyn FileLock>, StoreError> {
        let mut wait = Patience::each(Duration::from_millis(patience_ms)).wait();
        loop {
            if let Some(lock) = self.lock()? {
                return Ok(lock);
            }
            // A look syncs the folder, so they are farther apart than others.
            if !wait.pause_for(PAUSE) {
                return Err(StoreError::Locked { waited_ms: patience_ms });
            }
        }
    }

    /// Opens files anew from now on: some were replaced under their names.
    pub(super) fn forget_files(&self) {
        self.handles.clear();
    }

    pub(super) fn path(&self, name: PackName) -> PathBuf {
        self.folder.join(name.file())
    }

    /// Opens a pack, or finds it open.
    fn open(&self, name: PackName) -> io::Result<Arc<dyn OpenFile>> {
        if let Some(open) = self.handles.get(&name) {
            return Ok(open);
        }
        let open = self.files.open(&self.path(name))?;
        self.handles.put(name, &open);
        Ok(open)
    }

    /// Bytes of all files in the folder; what cannot be looked at counts as nothing.
    pub(super) fn bytes_on_disk(&self) -> u64 {
        let names = self.files.list(&self.folder).unwrap_or_default();
        let length = |name: String| self.files.open(&self.folder.join(name)).and_then(|file| file.length());
        names.into_iter().filter_map(|name| length(name).ok()).sum()
    }

    /// Removes a pack's file, whether it is there or not, and lets go of what is kept of it.
    fn remove(&self, name: PackName) -> Result<(), StoreError> {
        self.let_go(name);
        let path = self.path(name);
        remove_if_there(self.files.as_ref(), &path).map_err(|source| io_error("removing", &path, source))
    }

    /// Forgets what is kept in memory of a pack.
    fn let_go(&self, name: PackName) {
        self.handles.forget(name);
        self.blocks.forget(name);
    }
}
