//! A folder in the making: locked while it is made, gone when it is given up, renamed when it is whole.
//!
//! Its name is a temporary one: what a crash left of one is cleared by the next who begins there, and by every sweep.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::files::{FileLock, Files, TEMPORARY, is_named, remove_tree};
use crate::sqlite::alone::Alone;
use crate::sqlite::failure::io_error;
use crate::sqlite::open::sync_directory;

/// Held by the process that makes the folder.
const LOCK: &str = "lock";

/// Times that the folder is made anew, where a sweep removed it before it was locked.
const MADE_MAX: u32 = 8;

pub(super) struct Staging<'a> {
    files: &'a dyn Files,
    folder: PathBuf,
    lock: Option<Box<dyn FileLock>>,
    /// The folder itself, by which a sweep knows that somebody is at it: until it has its name, and is gone from here.
    _held: Option<File>,
}

/// Returns the name of a folder in the making, for one that will be called so.
pub(super) fn name(of: &str, what: &str) -> String {
    let ((begin, end), dash) = (TEMPORARY, if of.is_empty() { "" } else { "-" });
    format!("{begin}{of}{dash}{what}{end}")
}

/// Removes a folder in the making that a crash left, by whatever name.
pub(super) fn clear(files: &dyn Files, folder: &Path) -> Result<(), StoreError> {
    if !fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
        return Ok(());
    }
    let path = folder.join(LOCK);
    let lock = files.lock(&path).map_err(|source| io_error("locking", &path, source))?;
    let _lock = lock.ok_or(StoreError::Locked { waited_ms: 0 })?;
    remove_tree(files, folder).map_err(|source| io_error("removing", folder, source))
}

impl<'a> Staging<'a> {
    /// Makes the folder, or takes over what a crash left of it.
    pub(super) fn begin(files: &'a dyn Files, folder: PathBuf) -> Result<Self, StoreError> {
        let held = hold(files, &folder)?;
        let path = folder.join(LOCK);
        let lock = files.lock(&path).map_err(|source| io_error("locking", &path, source))?;
        let lock = lock.ok_or(StoreError::Locked { waited_ms: 0 })?;
        for name in files.list(&folder).map_err(|source| io_error("listing", &folder, source))? {
            if name == LOCK {
                continue;
            }
            let left = folder.join(name);
            let is_folder = fs::symlink_metadata(&left).is_ok_and(|metadata| metadata.is_dir());
            let removed = if is_folder { remove_tree(files, &left) } else { files.remove(&left) };
            removed.map_err(|source| io_error("removing", &left, source))?;
        }
        Ok(Self { files, folder, lock: Some(lock), _held: held })
    }

    pub(super) const fn files(&self) -> &'a dyn Files {
        self.files
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    pub(super) fn make_folder(&self, name: &str) -> Result<PathBuf, StoreError> {
        let folder = self.folder.join(name);
        make(self.files, &folder)?;
        Ok(folder)
    }

    /// Gives the folder its name. What is in it is synced by then.
    pub(super) fn publish(mut self, to: &Path) -> Result<(), StoreError> {
        self.release()?;
        sync_directory(self.files, &self.folder)?;
        self.files.rename(&self.folder, to).map_err(|source| io_error("naming", to, source))?;
        sync_directory(self.files, to.parent().unwrap_or(to))
    }

    /// Puts the folder in the place of another one, which goes to `aside`. Where the system can exchange two names,
    /// there is always one of the two. Whatever fails, the other one is not removed: it is at its place or at `aside`.
    pub(super) fn exchange(mut self, alone: &Alone, aside: &Path) -> Result<(), StoreError> {
        let dir = alone.dir();
        self.release()?;
        sync_directory(self.files, &self.folder)?;
        let failed = |source| io_error("replacing", dir, source);
        // The new one goes to `aside` before it changes places with the old one: so the old one never has the name of
        // a folder in the making, which whoever comes next would clear.
        self.files.rename(&self.folder, aside).map_err(failed)?;
        // Both names last before they change places: a disk that kept only the exchange would have one of them.
        sync_directory(self.files, aside.parent().unwrap_or(aside))?;
        match self.files.exchange(aside, dir) {
            Err(error) if is_unsupported(&error) => {
                self.files.rename(aside, &self.folder).map_err(failed)?;
                self.replace(dir, aside).map_err(failed)?;
            }
            done => done.map_err(failed)?,
        }
        let parent = |path: &Path| path.parent().unwrap_or(path).to_owned();
        if parent(aside) != parent(dir) {
            sync_directory(self.files, &parent(aside))?;
        }
        sync_directory(self.files, &parent(dir))
    }

    /// Does the same in two steps, where names cannot be exchanged.
    fn replace(&self, dir: &Path, aside: &Path) -> io::Result<()> {
        self.files.rename(dir, aside)?;
        self.files.rename(&self.folder, dir).inspect_err(|_| {
            // Back to where it was, if that is free; the first error is the one to tell.
            let _back = self.files.rename(aside, dir);
        })
    }

    /// Removes the lock: the folder is about to be used by its name.
    fn release(&mut self) -> Result<(), StoreError> {
        drop(self.lock.take());
        let lock = self.folder.join(LOCK);
        self.files.remove(&lock).map_err(|source| io_error("removing", &lock, source))
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        // Once it has its name there is nothing left to remove; what cannot be removed is cleared next time.
        let _removed = remove_tree(self.files, &self.folder);
    }
}

/// Makes the folder and takes a shared lock on it, as readers of a store do: the copy is opened there as a store. Returns `None` where the
/// system cannot open folders; a sweep cannot lock one there either.
fn hold(files: &dyn Files, folder: &Path) -> Result<Option<File>, StoreError> {
    for _ in 0..MADE_MAX {
        make(files, folder)?;
        let held = match File::open(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.ok(),
        };
        let Some(own) = &held else { return Ok(None) };
        // A file system without locks is no reason to do without: nothing is swept there.
        let is_taken = matches!(own.try_lock_shared(), Err(TryLockError::WouldBlock));
        if !is_taken && is_named(own, folder).map_err(|source| io_error("locking", folder, source))? {
            return Ok(held);
        }
    }
    Err(StoreError::Locked { waited_ms: 0 })
}

fn is_unsupported(error: &io::Error) -> bool {
    // A file system that does not know the flag calls it invalid.
    matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput)
}

fn make(files: &dyn Files, folder: &Path) -> Result<(), StoreError> {
    files.make_directory(folder).map_err(|source| io_error("making the directory", folder, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{SystemFiles, is_temporary, remove_unlocked};

    #[test]
    fn a_sweep_takes_a_folder_in_the_making_when_nobody_makes_it_any_more() {
        let home = tempfile::tempdir().expect("a directory");
        for name in [name("", "partial"), name("store", "restoring")] {
            assert!(is_temporary(&name), "{name}");
            let folder = home.path().join(name);
            let staging = Staging::begin(&SystemFiles, folder.clone()).expect("a folder");
            staging.make_folder("packs").expect("a folder");
            assert!(!remove_unlocked(&folder).expect("a look"), "it is being made");
            assert!(Staging::begin(&SystemFiles, folder.clone()).is_err(), "by another one");
            drop(staging);
            assert!(!folder.exists());
            // As a killed process leaves it.
            make(&SystemFiles, &folder).expect("a folder");
            drop(File::create(folder.join("stemmata.db")).expect("a file"));
            assert!(remove_unlocked(&folder).expect("removed") && !folder.exists());
        }
    }
}
