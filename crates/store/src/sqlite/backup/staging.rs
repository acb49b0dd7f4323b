//! A folder in the making: locked while it is made, gone when it is given up, renamed when it is whole.
//!
//! What a crash left of one is cleared by the next who begins there.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::sqlite::open::{io_error, sync_directory};

/// Held by the process that makes the folder.
const LOCK: &str = "lock";

pub(super) struct Staging {
    folder: PathBuf,
    lock: Option<File>,
}

impl Staging {
    /// Makes the folder, or takes over what a crash left of it.
    pub(super) fn begin(folder: PathBuf) -> Result<Self, StoreError> {
        make(&folder)?;
        let path = folder.join(LOCK);
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(|source| io_error("making", &path, source))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { waited_ms: 0 }),
            Err(TryLockError::Error(source)) => return Err(io_error("locking", &path, source)),
        }
        let listing = |source| io_error("listing", &folder, source);
        for entry in fs::read_dir(&folder).map_err(listing)? {
            let left = entry.map_err(listing)?.path();
            if left.file_name().is_some_and(|name| name == LOCK) {
                continue;
            }
            let removed = if left.is_dir() { fs::remove_dir_all(&left) } else { fs::remove_file(&left) };
            removed.map_err(|source| io_error("removing", &left, source))?;
        }
        Ok(Self { folder, lock: Some(lock) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    pub(super) fn make_folder(&self, name: &str) -> Result<PathBuf, StoreError> {
        let folder = self.folder.join(name);
        make(&folder)?;
        Ok(folder)
    }

    /// Gives the folder its name. What is in it is synced by then.
    pub(super) fn publish(mut self, to: &Path) -> Result<(), StoreError> {
        self.release()?;
        sync_directory(&self.folder)?;
        fs::rename(&self.folder, to).map_err(|source| io_error("naming", to, source))?;
        sync_directory(to.parent().unwrap_or(to))
    }

    /// Puts the folder in the place of another one, which goes to `aside`. Where the system can exchange two names,
    /// there is always one of the two.
    pub(super) fn exchange(mut self, dir: &Path, aside: &Path) -> Result<(), StoreError> {
        self.release()?;
        sync_directory(&self.folder)?;
        let failed = |source| io_error("replacing", dir, source);
        if exchange(&self.folder, dir).is_ok() {
            fs::rename(&self.folder, aside).map_err(failed)?;
        } else {
            fs::rename(dir, aside).map_err(failed)?;
            fs::rename(&self.folder, dir).map_err(failed)?;
        }
        sync_directory(dir.parent().unwrap_or(dir))
    }

    /// Removes the lock: the folder is about to be used by its name.
    fn release(&mut self) -> Result<(), StoreError> {
        drop(self.lock.take());
        let lock = self.folder.join(LOCK);
        fs::remove_file(&lock).map_err(|source| io_error("removing", &lock, source))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Once it has its name there is nothing left to remove; what cannot be removed is cleared next time.
        let _removed = fs::remove_dir_all(&self.folder);
    }
}

fn make(folder: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|source| io_error("making the directory", folder, source))
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn exchange(left: &Path, right: &Path) -> std::io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn exchange(_left: &Path, _right: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
