//! The files of a store on a real folder, each operation recorded on a simulated disk, which says what fails.
//!
//! No mount is needed: what a program does through `Files` is done for real and told to the disk. SQLite's own files
//! are looked at before each operation; what SQLite wrote is taken for durable, but for a copy in the making that
//! nobody has synced yet. How SQLite itself stands a crash is not tried here.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use stemmata_store::maintain::surroundings::{self, Mount};
use stemmata_store::{FileLock, Files, NewFile, OpenFile, SystemFiles};

use crate::disk::{Disk, DiskError, Item, Name, Node, ROOT};

/// How the names of SQLite's files begin.
const DATABASE: &str = "stemmata.db";

/// How the index of SQLite's log ends, which is rebuilt by whoever opens the store first.
const INDEX: &str = "-shm";

/// Files below a folder, done for real and recorded.
#[derive(Debug, Clone)]
pub struct RecordedFiles {
    disk: Disk,
    top: PathBuf,
    name: String,
    /// Files that were made here and not synced since.
    fresh: Arc<Mutex<BTreeSet<Node>>>,
    mount: Option<Mount>,
}

impl RecordedFiles {
    /// Records on the folder `name` of a disk's root what is done below a folder of the system. Both hold the same.
    ///
    /// # Errors
    /// Where the folder is not there.
    pub fn new(disk: &Disk, name: &str, top: &Path) -> io::Result<Self> {
        let top = fs::canonicalize(top)?;
        Ok(Self { disk: disk.clone(), top, name: name.to_owned(), fresh: Arc::default(), mount: None })
    }

    /// Has the folder say that it lies on a file system of this type.
    #[must_use]
    pub fn lying_on(mut self, file_system: &str) -> Self {
        let (point, reach) = (self.top.clone(), surroundings::reach(file_system));
        self.mount = Some(Mount { point, file_system: file_system.to_owned(), reach });
        self
    }

    /// Returns what stands for a path; none outside the folder, and where the folder it lies in is not there.
    fn place(&self, path: &Path) -> Option<Name> {
        let mut place = Name::new(ROOT, &self.name);
        for part in path.strip_prefix(&self.top).ok()?.components() {
            let Component::Normal(part) = part else { return None };
            place = Name::new(self.disk.lookup(&place)?, part.to_str()?);
        }
        Some(place)
    }

    fn node(&self, path: &Path) -> Option<Node> {
        self.disk.lookup(&self.place(path)?)
    }

    /// Tells the disk what others did below the folder since the last look.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn catch_up(&self) -> io::Result<()> {
        self.disk.begin_elsewhere();
        let done = self.catch_up_in(&self.top);
        self.disk.end_elsewhere();
        done
    }

    fn catch_up_in(&self, folder: &Path) -> io::Result<()> {
        let mut there = BTreeSet::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            let Some((place, name)) = self.place(&path).zip(name.to_str()) else { continue };
            if entry.file_type()?.is_dir() {
                if self.disk.lookup(&place).is_none() {
                    self.disk.take_over_folder(&place);
                }
                self.catch_up_in(&path)?;
            } else if is_sqlite(name) {
                let bytes = fs::read(&path)?;
                let node = self.disk.lookup(&place);
                let is_durable = node.is_none_or(|node| !self.fresh().contains(&node));
                self.disk.take_over(&place, Some(&bytes), is_durable);
                there.insert(name.to_owned());
            }
        }
        let Some(node) = self.node(folder) else { return Ok(()) };
        for name in self.names(node) {
            if is_sqlite(&name) && !there.contains(&name) {
                self.disk.take_over(&Name::new(node, &name), None, true);
            }
        }
        Ok(())
    }

    fn names(&self, folder: Node) -> Vec<String> {
        let names = self.disk.look(folder, |item| match item {
            Item::Folder(names) => names.keys().cloned().collect(),
            Item::File(_) => Vec::new(),
        });
        names.unwrap_or_default()
    }

    fn fresh(&self) -> std::sync::MutexGuard<'_, BTreeSet<Node>> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the disk, then does the same for real where it was done there. What is outside is only done.
    fn both<T>(
        &self,
        path: &Path,
        asked: impl FnOnce(&Name) -> Result<(), DiskError>,
        is_done: impl FnOnce(&Name) -> bool,
        real: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.catch_up()?;
        let Some(place) = self.place(path) else { return real() };
        match asked(&place) {
            // What the real one says first is what a program is used to.
            Err(error) if is_done(&place) => real().and(Err(io_error(error))),
            Err(error) => Err(io_error(error)),
            Ok(()) => real(),
        }
    }
}

fn is_sqlite(name: &str) -> bool {
    name.starts_with(DATABASE) && !name.ends_with(INDEX)
}

fn io_error(error: DiskError) -> io::Error {
    /// The system's own numbers, which are the same everywhere.
    const EIO: i32 = 5;
    const ENOSPC: i32 = 28;
    match error {
        DiskError::Missing => io::ErrorKind::NotFound.into(),
        DiskError::Exists => io::ErrorKind::AlreadyExists.into(),
        DiskError::NotEmpty => io::ErrorKind::DirectoryNotEmpty.into(),
        DiskError::WrongKind => io::ErrorKind::InvalidInput.into(),
        DiskError::Io => io::Error::from_raw_os_error(EIO),
        DiskError::Full => io::Error::from_raw_os_error(ENOSPC),
    }
}

impl Files for RecordedFiles {
    fn make_directory(&self, directory: &Path) -> io::Result<()> {
        if fs::symlink_metadata(directory).is_ok() {
            return SystemFiles.make_directory(directory);
        }
        self.both(
            directory,
            |name| self.disk.make(name, true).map(drop),
            |name| self.disk.lookup(name).is_some(),
            || SystemFiles.make_directory(directory),
        )
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        if fs::symlink_metadata(path).is_ok() {
            return SystemFiles.create(path);
        }
        let real = self.both(
            path,
            |name| self.disk.make(name, false).map(drop),
            |name| self.disk.lookup(name).is_some(),
            || SystemFiles.create(path),
        )?;
        let Some(node) = self.node(path) else { return Ok(real) };
        self.fresh().insert(node);
        Ok(Box::new(Writing { files: self.clone(), node, real }))
    }

    fn extend(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let real = SystemFiles.extend(path)?;
        let Some(node) = self.node(path) else { return Ok(real) };
        Ok(Box::new(Writing { files: self.clone(), node, real }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn OpenFile>> {
        let real = SystemFiles.open(path)?;
        let Some(node) = self.node(path) else { return Ok(real) };
        Ok(Arc::new(Reading { disk: self.disk.clone(), node, real }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.both(
            from,
            |name| {
                let to = self.place(to).ok_or(DiskError::Missing)?;
                self.disk.rename(name, &to)
            },
            |name| self.disk.lookup(name).is_none(),
            || SystemFiles.rename(from, to),
        )
    }

    fn exchange(&self, left: &Path, right: &Path) -> io::Result<()> {
        let before = self.node(left);
        self.both(
            left,
            |name| {
                let right = self.place(right).ok_or(DiskError::Missing)?;
                self.disk.exchange(name, &right)
            },
            |name| self.disk.lookup(name) != before,
            || SystemFiles.exchange(left, right),
        )
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.both(
            to,
            |name| self.disk.link(self.node(from).ok_or(DiskError::Missing)?, name),
            |name| self.disk.lookup(name).is_some(),
            || SystemFiles.link(from, to),
        )
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path).is_err() || path.to_string_lossy().ends_with(INDEX) {
            return SystemFiles.remove(path);
        }
        self.both(
            path,
            |name| self.disk.remove(name),
            |name| self.disk.lookup(name).is_none(),
            || SystemFiles.remove(path),
        )
    }

    fn remove_directory(&self, directory: &Path) -> io::Result<()> {
        self.both(
            directory,
            |name| self.disk.remove(name),
            |name| self.disk.lookup(name).is_none(),
            || SystemFiles.remove_directory(directory),
        )
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.both(
            path,
            |name| {
                let node = self.disk.lookup(name).ok_or(DiskError::Missing)?;
                self.disk.sync(node)?;
                self.fresh().remove(&node);
                Ok(())
            },
            |_| false,
            || Ok(()),
        )
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.both(
            directory,
            |name| self.disk.sync(self.disk.lookup(name).ok_or(DiskError::Missing)?),
            |_| false,
            || Ok(()),
        )
    }

    fn is_link(&self, path: &Path) -> io::Result<bool> {
        SystemFiles.is_link(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        SystemFiles.list(directory)
    }

    fn mount(&self, directory: &Path) -> Option<Mount> {
        self.mount.clone().or_else(|| SystemFiles.mount(directory))
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>> {
        if fs::symlink_metadata(path).is_err() {
            self.both(
                path,
                |name| self.disk.make(name, false).map(drop),
                |name| self.disk.lookup(name).is_some(),
                || SystemFiles.lock(path).map(drop),
            )?;
        }
        SystemFiles.lock(path)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>> {
        SystemFiles.lock_shared(path)
    }
}

#[derive(Debug)]
struct Writing {
    files: RecordedFiles,
    node: Node,
    real: Box<dyn NewFile>,
}

impl NewFile for Writing {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.files.catch_up()?;
        let disk = &self.files.disk;
        let length = || {
            let length = disk.look(self.node, |item| match item {
                Item::File(bytes) => bytes.len(),
                Item::Folder(_) => 0,
            });
            length.unwrap_or_default()
        };
        let before = length();
        let asked = disk.write(self.node, u64::try_from(before).unwrap_or(u64::MAX), bytes);
        let done = bytes.get(..length().saturating_sub(before)).unwrap_or(bytes);
        self.real.append(done)?;
        asked.map_err(io_error)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.files.catch_up()?;
        self.files.disk.sync(self.node).map_err(io_error)?;
        self.files.fresh().remove(&self.node);
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.files.catch_up()?;
        let disk = &self.files.disk;
        let asked = disk.set_length(self.node, length);
        let is_done = disk.look(self.node, |item| match item {
            Item::File(bytes) => u64::try_from(bytes.len()).is_ok_and(|now| now == length),
            Item::Folder(_) => false,
        });
        if is_done.unwrap_or(asked.is_ok()) {
            self.real.cut(length)?;
        }
        asked.map_err(io_error)
    }
}

#[derive(Debug)]
struct Reading {
    disk: Disk,
    node: Node,
    real: Arc<dyn OpenFile>,
}

impl OpenFile for Reading {
    fn length(&self) -> io::Result<u64> {
        self.real.length()
    }

    fn is_at(&self, path: &Path) -> io::Result<Option<bool>> {
        self.real.is_at(path)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match self.disk.read(self.node, offset, 0) {
            // Forgotten by the disk with its folder: a file that is open can be read on.
            Ok(_) | Err(DiskError::Missing) => self.real.read_at(offset, into),
            Err(error) => Err(io_error(error)),
        }
    }
}
