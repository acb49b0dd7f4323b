//! Who keeps a store open for long, and gives it up when another process needs it alone.
//!
//! A service holds a *lease* as long as it has the store's files open. Who replaces them, or forgets something, *recalls* the leases:
//! it takes one lock, by which holders know, and waits for the other one, which they hold. Both locks go with their processes, so that
//! no crash keeps anybody out. Which operations a service lets end is its own.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stemmata_store::{FileLock, Files as _, Patience, StoreError, SystemFiles};

use super::Home;
use crate::error::{EngineError, Result};

/// The file that those who recall leases hold locked, in the folder of what processes leave for each other. Its holder writes to it,
/// so that those who watch the folder hear of it.
const RECALL: &str = "recall.lock";

/// The file that holders of leases share.
const LEASE: &str = "lease.lock";

/// How often a holder checks at least whether its lease is recalled, where the system reports no changes of files.
pub const RECALL_CHECK: Duration = Duration::from_secs(5);

/// How long holders are waited for: they notice within [`RECALL_CHECK`], and then let running operations end.
const HOLDERS_WAIT: Duration = Duration::from_secs(20);

/// How long another process that recalls leases is waited for.
const OTHERS_WAIT: Duration = Duration::from_mins(1);

/// The right to have the files of a store open for long. Drop it after all that has one of them open.
#[derive(Debug)]
pub struct Lease {
    #[expect(dead_code, reason = "the lock lasts as long as the lease")]
    lock: Option<Box<dyn FileLock>>,
}

/// Keeps those who hold leases from opening the store again. They do once it is dropped.
#[derive(Debug)]
pub struct Recall {
    /// Keeps new leases from being taken. None where the system has no locks: then nobody holds a lease that could be seen.
    _recalling: Option<Box<dyn FileLock>>,
    /// Says that no lease is held.
    _unheld: Option<Box<dyn FileLock>>,
}

impl Home {
    /// Takes a lease, unless leases are recalled.
    ///
    /// # Errors
    /// `Io` where the lock cannot be made.
    pub fn try_lease(&self) -> Result<Option<Lease>> {
        let path = self.lease_file(LEASE);
        make(&path)?;
        let lock = match SystemFiles.lock_shared(&path) {
            Ok(None) => return Ok(None),
            Ok(lock) => lock,
            Err(error) if is_lockless(&error) => return Ok(Some(Lease { lock: None })),
            Err(error) => return Err(EngineError::io("lock", &path)(error)),
        };
        // The other way round somebody could recall leases between the two, and not see this one.
        Ok(if self.is_recalled()? { None } else { Some(Lease { lock }) })
    }

    /// Says whether a process recalls leases.
    ///
    /// # Errors
    /// `Io`.
    pub fn is_recalled(&self) -> Result<bool> {
        let path = self.recall_file();
        match SystemFiles.lock_shared(&path) {
            Ok(lock) => Ok(lock.is_none()),
            Err(error) if error.kind() == io::ErrorKind::NotFound || is_lockless(&error) => Ok(false),
            Err(error) => Err(EngineError::io("look at", &path)(error)),
        }
    }

    /// Recalls leases, and waits until none is held. Holders that do not give theirs up in time are passed over: what the caller
    /// needs next says by itself whether they are in the way.
    ///
    /// # Errors
    /// `Locked` where another process recalls leases for so long.
    pub fn recall(&self) -> Result<Recall> {
        let path = self.recall_file();
        let recalling = Patience::each(OTHERS_WAIT).until(|| match SystemFiles.lock(&path) {
            Err(error) if is_lockless(&error) => Ok(Some(None)),
            lock => lock.map(|lock| lock.map(Some)),
        });
        let recalling = recalling.map_err(EngineError::io("lock", &path))?;
        let Some(recalling) = recalling else {
            let waited_ms = u64::try_from(OTHERS_WAIT.as_millis()).unwrap_or(u64::MAX);
            return Err(EngineError::Store(StoreError::Locked { waited_ms }));
        };
        let Some(recalling) = recalling else { return Ok(Recall { _recalling: None, _unheld: None }) };
        // A change that those who watch the folder hear of: a lock is none.
        let _told = touch(&path);
        let path = self.lease_file(LEASE);
        let alone = Patience::each(HOLDERS_WAIT).until(|| SystemFiles.lock(&path));
        Ok(Recall { _recalling: Some(recalling), _unheld: alone.ok().flatten() })
    }

    /// Returns the file that changes when leases are recalled.
    pub fn recall_file(&self) -> PathBuf {
        self.lease_file(RECALL)
    }

    fn lease_file(&self, name: &str) -> PathBuf {
        self.run_dir().join(name)
    }
}

/// Makes an empty file, where there is none.
fn make(path: &Path) -> Result<()> {
    match SystemFiles.create(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(EngineError::io("create", path)(error)),
    }
}

/// Changes a file, and leaves it as it was.
fn touch(path: &Path) -> io::Result<()> {
    let mut file = SystemFiles.extend(path)?;
    file.append(b"recalled\n")?;
    file.cut(0)
}

/// Says whether the system has no locks there: then nobody holds a lease that could be seen.
fn is_lockless(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::super::tests::options;
    use super::*;
    use stemmata_store::OpenFor;

    #[test]
    fn who_recalls_leases_waits_for_those_that_are_held_and_keeps_new_ones_from_being_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || Home::open(folder.path(), options(OpenFor::Command, "")).expect("a home");
        let (holder, other) = (open(), open());
        let leases =
            [holder.try_lease(), other.try_lease()].map(|lease| lease.expect("a lock").expect("a lease"));
        assert!(!holder.is_recalled().expect("a look"));
        let met = Barrier::new(2);
        thread::scope(|scope| {
            let recalling = scope.spawn(|| {
                let recall = open().recall().expect("leases are given up");
                met.wait();
                met.wait();
                drop(recall);
            });
            while !holder.is_recalled().expect("a look") {
                thread::yield_now();
            }
            assert!(other.try_lease().expect("a lock").is_none(), "leases are recalled");
            assert!(!recalling.is_finished(), "two are held");
            drop(leases);
            met.wait();
            assert!(holder.try_lease().expect("a lock").is_none(), "it is not done yet");
            met.wait();
        });
        assert!(holder.try_lease().expect("a lock").is_some());
    }
}
