//! Which file of the folder is the index: a small file names it, so that another one can be made beside it.
//!
//! What is in the database is not known here.

use std::path::{Path, PathBuf};

use stemmata_model::Timestamp;

use super::error::{IndexError, While};
use super::{Index, IndexLock, IndexOptions, open};
use crate::files::{Files, read_bounded, remove_tree, write_whole};
use crate::sqlite::{io_error, make_directory, sync_directory};

/// Names the database.
pub(super) const CURRENT: &str = "current";
/// Whoever has it changes the index.
pub(super) const LOCK: &str = "settle.lock";
/// Bytes of a name at most.
const NAME_BYTES_MAX: u64 = 64;
/// Folders of damaged indexes that are kept.
const DAMAGED_MAX: usize = 2;
const DAMAGED: &str = "damaged-";

/// The files of a database.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

impl Index {
    /// Takes the lock of whoever changes the index of a folder, which is made where it is not there. None where another
    /// process has it.
    pub fn lock(dir: &Path, files: &dyn Files) -> Result<Option<IndexLock>, IndexError> {
        make_directory(files, dir)?;
        let path = dir.join(LOCK);
        let held = files.lock(&path).map_err(|error| io_error("locking the search index", &path, error))?;
        Ok(held.map(|held| IndexLock { _held: held }))
    }

    /// Opens the index of a folder, and makes it where it may.
    ///
    /// # Errors
    /// `Damaged`, `Newer`, `OtherStore`; `Storage` with `Locked` where another process makes it, `ReadOnly` where it is not there
    /// and may not be made.
    pub fn open(dir: &Path, options: IndexOptions) -> Result<Self, IndexError> {
        if let Some(name) = read_current(dir)? {
            let index = open::existing(dir, &name, options);
            return index;
        }
        if !options.can_write {
            let operation = "making the search index";
            return Err(IndexError::Storage(crate::StoreError::ReadOnly { operation }));
        }
        let lock = options.patience.until(|| Self::lock(dir, options.files.as_ref()))?;
        let Some(lock) = lock else {
            let waited_ms = options.patience.bound_ms();
            return Err(IndexError::Storage(crate::StoreError::Locked { waited_ms }));
        };
        if let Some(name) = read_current(dir)? {
            return open::existing(dir, &name, options);
        }
        let index = Self::begin_anew(dir, options, &lock)?;
        index.publish(&lock)?;
        Ok(index)
    }

    /// Makes an empty index beside the one of the folder, which stays what it is until [`Index::publish`].
    pub fn begin_anew(dir: &Path, options: IndexOptions, _lock: &IndexLock) -> Result<Self, IndexError> {
        make_directory(options.files.as_ref(), dir)?;
        let number = read_current(dir).ok().flatten().and_then(|name| number_of(&name)).unwrap_or(0);
        let name = format!("search-{}.db", number.saturating_add(1));
        for suffix in SUFFIXES {
            remove(options.files.as_ref(), &dir.join(format!("{name}{suffix}")))?;
        }
        open::new(dir, &name, options)
    }

    /// Has this index be that of its folder, and removes the one that was.
    pub fn publish(&self, _lock: &IndexLock) -> Result<(), IndexError> {
        self.with(|connection| {
            connection
                .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
                .map(drop)
                .while_("writing the search index")
        })?;
        let name = self.name();
        let path = self.dir.join(CURRENT);
        let failed = |error| IndexError::Storage(io_error("naming the search index", &path, error));
        write_whole(self.files(), &path, failed, |out| out.write_all(name.as_bytes()).map_err(failed))?;
        remove_others(&self.dir, self.files(), &name, true)
    }

    /// Returns whether the folder's index is this one still.
    pub fn is_current(&self) -> bool {
        read_current(&self.dir).is_ok_and(|name| name.as_deref() == Some(self.name().as_str()))
    }

    /// Sets a damaged index aside, so that another one is made; returns where it is. None where there is none.
    pub fn quarantine(
        dir: &Path,
        files: &dyn Files,
        at: Timestamp,
        _lock: &IndexLock,
    ) -> Result<Option<PathBuf>, IndexError> {
        let operation = "setting the search index aside";
        let Some(name) = read_current(dir)? else { return Ok(None) };
        let aside = dir.join(format!("{DAMAGED}{:016x}", at.as_micros()));
        files.make_directory(&aside).map_err(|error| io_error(operation, &aside, error))?;
        for suffix in SUFFIXES {
            let file = format!("{name}{suffix}");
            match files.rename(&dir.join(&file), &aside.join(&file)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(io_error(operation, &aside, error).into());
                }
                _ => {}
            }
        }
        remove(files, &dir.join(CURRENT))?;
        sync_directory(files, dir)?;
        let mut damaged: Vec<String> = damaged(dir, files);
        damaged.truncate(damaged.len().saturating_sub(DAMAGED_MAX));
        for old in damaged {
            let old = dir.join(old);
            remove_tree(files, &old).map_err(|error| io_error(operation, &old, error))?;
        }
        Ok(Some(aside))
    }

    pub(super) fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// Returns the folders of damaged indexes, the oldest first.
pub(super) fn damaged(dir: &Path, files: &dyn Files) -> Vec<String> {
    let mut names = files.list(dir).unwrap_or_default();
    names.retain(|name| name.starts_with(DAMAGED));
    names.sort();
    names
}

/// Removes what is in the folder beside an index; damaged ones stay where it is said.
pub(super) fn remove_others(
    dir: &Path,
    files: &dyn Files,
    name: &str,
    keep_damaged: bool,
) -> Result<(), IndexError> {
    let operation = "removing what is beside the search index";
    let own = SUFFIXES.map(|suffix| format!("{name}{suffix}"));
    for other in files.list(dir).map_err(|error| io_error(operation, dir, error))? {
        let stays = own.contains(&other) || [CURRENT, LOCK].contains(&other.as_str());
        if stays || keep_damaged && other.starts_with(DAMAGED) {
            continue;
        }
        let path = dir.join(&other);
        if other.starts_with(DAMAGED) {
            remove_tree(files, &path).map_err(|error| io_error(operation, &path, error))?;
        } else {
            remove(files, &path)?;
        }
    }
    Ok(sync_directory(files, dir)?)
}

fn remove(files: &dyn Files, path: &Path) -> Result<(), IndexError> {
    match files.remove(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io_error("removing an old search index", path, error).into())
        }
        _ => Ok(()),
    }
}

fn read_current(dir: &Path) -> Result<Option<String>, IndexError> {
    let path = dir.join(CURRENT);
    let bytes = read_bounded(&path, NAME_BYTES_MAX)
        .map_err(|error| io_error("finding the search index", &path, error))?;
    let Some(bytes) = bytes else { return Ok(None) };
    let name = String::from_utf8(bytes).ok().filter(|name| number_of(name).is_some());
    name.map(Some).ok_or_else(|| IndexError::damaged("`current` names no index"))
}

fn number_of(name: &str) -> Option<u64> {
    let number = name.strip_prefix("search-")?.strip_suffix(".db")?;
    number.parse().ok().filter(|_| number.bytes().all(|byte| byte.is_ascii_digit()))
}
