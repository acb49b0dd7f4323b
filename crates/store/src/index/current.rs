//! Which file of the folder is the index: a small file names it, so that another one can be made beside it.
//!
//! What is in the database is not known here.

use std::path::{Path, PathBuf};

use stemmata_model::Timestamp;

use super::error::{IndexError, While};
use super::{Index, IndexLock, IndexOptions, open};
use crate::files::{Files, read_bounded, remove_if_there, remove_tree, write_whole};
use crate::sqlite::{io_error, make_directory, sync_directory};

/// Names the database.
pub(super) const CURRENT: &str = "current";
/// Locked by the one process that changes the index.
pub(super) const LOCK: &str = Index::LOCK;
/// Bytes of a name at most.
const NAME_BYTES_MAX: u64 = 64;
/// What the names of databases begin with.
const DATABASE: &str = "search-";
/// Digits that follow, in hex.
const NAME_DIGITS: usize = 16;
/// How often an index is opened that others replace meanwhile.
const OPENED_TIMES_MAX: usize = 8;
/// Folders of damaged indexes that are kept.
const DAMAGED_MAX: usize = 2;
const DAMAGED: &str = "damaged-";

/// The files of a database.
const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

/// What a folder names as its index, whether there is such a database or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexName(Vec<u8>);

impl Index {
    /// The file in an index's folder that is no part of an index.
    pub const LOCK: &str = "settle.lock";

    /// Takes the lock of whoever changes the index of a folder, which is made where it is not there. None where another
    /// process has it.
    pub fn lock(dir: &Path, files: &dyn Files) -> Result<Option<IndexLock>, IndexError> {
        make_directory(files, dir)?;
        let path = dir.join(LOCK);
        let held = files.lock(&path).map_err(|error| io_error("locking the search index", &path, error))?;
        Ok(held.map(|held| IndexLock { _held: held }))
    }

    /// Returns what a folder names as its index, or `None` where it names none.
    pub fn named(dir: &Path) -> Result<Option<IndexName>, IndexError> {
        let path = dir.join(CURRENT);
        let bytes = read_bounded(&path, NAME_BYTES_MAX)
            .map_err(|error| io_error("finding the search index", &path, error))?;
        Ok(bytes.map(IndexName))
    }

    /// Opens the index of a folder, and makes it where it may.
    ///
    /// # Errors
    /// `Damaged`, `Newer`, `Older`, `OtherStore`; `Storage` with `Locked` where another process makes it, `ReadOnly` where it is
    /// not there and may not be made.
    pub fn open(dir: &Path, options: IndexOptions) -> Result<Self, IndexError> {
        if let Some(index) = Self::existing(dir, &options)? {
            return Ok(index);
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
        if let Some(index) = Self::existing(dir, &options)? {
            return Ok(index);
        }
        let index = Self::begin_anew(dir, options, &lock)?;
        index.publish(&lock)?;
        Ok(index)
    }

    fn existing(dir: &Path, options: &IndexOptions) -> Result<Option<Self>, IndexError> {
        let mut named = Self::named(dir)?;
        for _ in 1..OPENED_TIMES_MAX {
            let Some(before) = named else { return Ok(None) };
            let opened = before.database().and_then(|name| open::existing(dir, name, options.clone()));
            named = Self::named(dir)?;
            // Another process may have put a new one in its place, and removed the files under our hands.
            if opened.is_ok() || named.as_ref() == Some(&before) {
                return opened.map(Some);
            }
        }
        Err(IndexError::Moved)
    }

    /// Makes an empty index beside the one of the folder, which stays what it is until [`Index::publish`].
    pub fn begin_anew(dir: &Path, options: IndexOptions, _lock: &IndexLock) -> Result<Self, IndexError> {
        make_directory(options.files.as_ref(), dir)?;
        remove_begun(dir, options.files.as_ref())?;
        open::new(dir, &new_name()?, options)
    }

    /// Has this index be that of its folder, and removes the one that was.
    pub fn publish(&self, _lock: &IndexLock) -> Result<(), IndexError> {
        self.publish_beside(true)
    }

    /// The same, and removes damaged ones, too.
    pub(super) fn publish_only(&self, _lock: &IndexLock) -> Result<(), IndexError> {
        self.publish_beside(false)
    }

    fn publish_beside(&self, keep_damaged: bool) -> Result<(), IndexError> {
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
        remove_others(&self.dir, self.files(), &name, keep_damaged)
    }

    /// Returns whether the folder's index is this one still. Names are never given twice, so that one that is made after the
    /// folder was emptied is another one.
    pub fn is_current(&self) -> bool {
        Self::named(&self.dir).is_ok_and(|named| named == Some(IndexName(self.name().into_bytes())))
    }

    /// Sets a damaged index aside, so that another one is made; returns where it is. Where the folder names another one than
    /// was found damaged, or none, somebody has done so already.
    pub fn quarantine(
        dir: &Path,
        files: &dyn Files,
        (found, at): (&IndexName, Timestamp),
        _lock: &IndexLock,
    ) -> Result<Option<PathBuf>, IndexError> {
        let operation = "setting the search index aside";
        if Self::named(dir)?.as_ref() != Some(found) {
            return Ok(None);
        }
        let aside = dir.join(format!("{DAMAGED}{:016x}", at.as_micros()));
        files.make_directory(&aside).map_err(|error| io_error(operation, &aside, error))?;
        let failed = |error| io_error(operation, &aside, error);
        // All databases that there are: what cannot be read may name any of them.
        for name in files.list(dir).map_err(failed)?.iter().filter(|name| name.starts_with(DATABASE)) {
            files.rename(&dir.join(name), &aside.join(name)).map_err(failed)?;
        }
        files.rename(&dir.join(CURRENT), &aside.join(CURRENT)).map_err(failed)?;
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
        } else if !path.is_dir() {
            // No other folder is ours.
            remove(files, &path)?;
        }
    }
    Ok(sync_directory(files, dir)?)
}

fn remove(files: &dyn Files, path: &Path) -> Result<(), IndexError> {
    Ok(remove_if_there(files, path).map_err(|error| io_error("removing an old search index", path, error))?)
}

/// Removes databases that somebody began and did not publish, as far as it can be said which these are.
fn remove_begun(dir: &Path, files: &dyn Files) -> Result<(), IndexError> {
    let named = Index::named(dir)?;
    let current = match named.as_ref().map(IndexName::database) {
        Some(Ok(name)) => Some(name),
        Some(Err(_)) => return Ok(()),
        None => None,
    };
    let found = files.list(dir).map_err(|error| io_error("making the search index", dir, error))?;
    let is_begun = |name: &&String| {
        name.starts_with(DATABASE) && current.is_none_or(|current| !name.starts_with(current))
    };
    found.iter().filter(is_begun).try_for_each(|name| remove(files, &dir.join(name)))
}

/// Removes the files of a database.
pub(super) fn remove_database(files: &dyn Files, dir: &Path, name: &str) -> Result<(), IndexError> {
    SUFFIXES.iter().try_for_each(|suffix| remove(files, &dir.join(format!("{name}{suffix}"))))
}

/// Returns a name for a database that none had before: a process that has an old one open must not take another for it.
pub(super) fn new_name() -> Result<String, IndexError> {
    let random: String = rusqlite::Connection::open_in_memory()
        .and_then(|connection| connection.query_row("SELECT lower(hex(randomblob(8)))", [], |row| row.get(0)))
        .while_("naming the search index")?;
    Ok(format!("{DATABASE}{random}.db"))
}

impl IndexName {
    /// Returns the name of the database.
    fn database(&self) -> Result<&str, IndexError> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let middle = |name: &str| name.strip_prefix(DATABASE)?.strip_suffix(".db").map(str::to_owned);
        let is_one = |name: &&str| {
            middle(name).is_some_and(|own| own.len() == NAME_DIGITS && own.bytes().all(is_digit))
        };
        let name = std::str::from_utf8(&self.0).ok().filter(is_one);
        name.ok_or_else(|| IndexError::damaged("`current` names no index"))
    }
}
