//! Who has a store open: everyone who opens it shares it, and whoever replaces its files has it alone.
//!
//! The lock is on the store's folder itself (`flock`), and so goes with the folder wherever it is moved. A file beside it
//! would be left in places that only hold a store for a moment, and cannot be made on a disk that is read-only.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::failure::io_error;
use super::open::SqliteOptions;
use crate::error::StoreError;
use crate::files::is_named;
use crate::patience::Patience;

/// What a file system without a lock service says (`ENOLCK`); the standard library has no kind for it.
const NO_LOCKS: Option<i32> = if cfg!(any(target_os = "linux", target_os = "android")) {
    Some(37)
} else if cfg!(unix) {
    Some(77)
} else {
    None
};

/// How long a store is waited for that is to be replaced: commands and hooks end by then, a `watch` does not.
const ALONE_WAIT_MS: u64 = 2_000;

/// Processes that an error names at most.
const PIDS_MAX: usize = 8;

/// Kept by everyone who has the store of a folder open. As long as it is, the folder is not moved, and nothing in it is
/// replaced behind the back of its SQLite connections.
#[derive(Debug)]
pub(super) struct Shared(
    #[expect(dead_code, reason = "the lock lasts as long as the file is open")] Option<File>,
);

impl Shared {
    /// Waits until nobody has the store alone. Two system calls where nobody has.
    pub(super) fn take(dir: &Path, options: &SqliteOptions) -> Result<Self, StoreError> {
        let patience = options.patience();
        match held(dir, &patience, File::try_lock_shared) {
            Ok(Some(lock)) => Ok(Self(Some(lock))),
            Ok(None) => Err(StoreError::Locked { waited_ms: patience.bound_ms() }),
            // Without locks nobody can have it alone either.
            Err(error) if is_lockless(&error, options) => Ok(Self(None)),
            Err(source) => Err(io_error("locking", dir, source)),
        }
    }
}

/// The right to replace what is at a folder's name, or files in it: no other process has a store open there, and none
/// opens it before this is dropped. What does such a thing takes one, so that it cannot be called without.
#[derive(Debug)]
pub(super) struct Alone {
    dir: PathBuf,
    _lock: Option<File>,
}

impl Alone {
    /// Waits until nobody has the store of a folder open. A folder that is not there is nobody's: whoever makes it first
    /// keeps the other from giving his that name.
    ///
    /// # Errors
    /// `InUse` with the processes that have it open; `Io` where locks do not work.
    pub(super) fn take(dir: &Path, options: &SqliteOptions) -> Result<Self, StoreError> {
        let patience = Patience::each(Duration::from_millis(options.busy_timeout_ms.min(ALONE_WAIT_MS)));
        let lock = match held(dir, &patience, File::try_lock) {
            Ok(Some(lock)) => Some(lock),
            Ok(None) => {
                return Err(StoreError::InUse { path: dir.display().to_string(), pids: holders(dir) });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // Where nobody can share it nobody can be asked: Windows moves no folder in which a file is open, and on a
            // network the user has said that nothing else ever opens it.
            Err(error) if is_lockless(&error, options) => None,
            Err(source) => return Err(io_error("locking", dir, source)),
        };
        Ok(Self { dir: dir.to_owned(), _lock: lock })
    }

    /// Returns the folder.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

/// Takes a lock on the folder that has a name now; none where somebody else keeps it for so long.
fn held(
    dir: &Path,
    patience: &Patience,
    lock: fn(&File) -> Result<(), TryLockError>,
) -> io::Result<Option<File>> {
    patience.until(|| {
        let folder = File::open(dir)?;
        match lock(&folder) {
            // Between the two calls another folder may have got the name.
            Ok(()) => Ok(is_named(&folder, dir)?.then_some(folder)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    })
}

/// Says whether a folder cannot be locked where it lies: Windows opens none as a file, some network file systems lock none.
fn is_lockless(error: &io::Error, options: &SqliteOptions) -> bool {
    options.allow_network
        || matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
        || NO_LOCKS.is_some_and(|code| error.raw_os_error() == Some(code))
}

/// Returns the processes that hold a lock on a folder, where the system says: Linux does for all, so that nobody has to
/// write down that he opened a store, and nothing is left to mislead when he dies.
#[cfg(target_os = "linux")]
fn holders(dir: &Path) -> Vec<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(metadata), Ok(locks)) = (fs::metadata(dir), fs::read_to_string("/proc/locks")) else {
        return Vec::new();
    };
    pids(&locks, metadata.ino())
}

#[cfg(not(target_os = "linux"))]
fn holders(_dir: &Path) -> Vec<u32> {
    Vec::new()
}

/// Finds an inode's locks among lines such as `5: FLOCK  ADVISORY  READ 4242 fd:01:131077 0 EOF`. The device is not compared:
/// some file systems tell another one here than a file has.
#[cfg(any(target_os = "linux", test))]
fn pids(locks: &str, inode: u64) -> Vec<u32> {
    let mut found: Vec<u32> = locks
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let ["FLOCK", "ADVISORY", _, pid, place, ..] = fields.get(1..)? else { return None };
            let is_it = place.rsplit(':').next()?.parse() == Ok(inode);
            // Zero is a process in another container.
            pid.parse().ok().filter(|pid| is_it && *pid > 0)
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found.truncate(PIDS_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::super::open::OpenFor;
    use super::*;

    #[test]
    fn a_hook_waits_no_longer_than_its_patience_for_a_store_that_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let command = SqliteOptions::default();
        let alone = Alone::take(folder.path(), &command).expect("nobody has it");
        let patience = Patience::together(Duration::from_millis(1));
        let hook = SqliteOptions { open_for: OpenFor::Hook(patience), ..command.clone() };
        let refused = Shared::take(folder.path(), &hook).expect_err("somebody has it alone");
        assert!(matches!(refused, StoreError::Locked { waited_ms: 1 }), "{refused}");
        drop(alone);
        Shared::take(folder.path(), &hook).expect("what is free needs no patience");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_disk_without_locks_is_lockless_for_everyone() {
        let options = SqliteOptions::default();
        for (error, wanted) in [
            (io::Error::from_raw_os_error(37), true),
            (io::ErrorKind::Unsupported.into(), true),
            (io::ErrorKind::PermissionDenied.into(), true),
            (io::ErrorKind::NotFound.into(), false),
            (io::ErrorKind::InvalidInput.into(), false),
        ] {
            assert_eq!(is_lockless(&error, &options), wanted, "{error}");
        }
    }

    #[test]
    fn holders_are_those_who_lock_the_folder_itself() {
        let locks = "1: FLOCK  ADVISORY  READ 42 fd:01:77 0 EOF\n\
                     1: -> FLOCK  ADVISORY  WRITE 43 fd:01:77 0 EOF\n\
                     2: POSIX  ADVISORY  READ 44 fd:01:77 128 128\n\
                     3: FLOCK  ADVISORY  READ 0 fd:01:77 0 EOF\n\
                     4: FLOCK  ADVISORY  READ 45 fd:01:177 0 EOF\n\
                     5: FLOCK  ADVISORY  READ 42 fd:01:77 0 EOF\n\
                     6: FLOCK  ADVISORY  READ 7 00:1c:77 0 EOF\nnonsense";
        assert_eq!(pids(locks, 77), [7, 42]);
    }
}
