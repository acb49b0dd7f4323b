//! The files of one ledger: where they are, how the small ones are read and written, and the lock that they share.
//!
//! What is in them is their own modules'.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::finding::Finding;
use super::index;
use super::meta::{META_BYTES_MAX, Meta, MetaFault};
use super::names::{ASIDE, FolderName, folder_of, read};
use super::scan::Damaged;
use super::snapshot::{self, SNAPSHOT_BYTES_MAX};
use super::v2::SCHEMA_VERSION;
use crate::error::StoreError;
use crate::files::{FileLock, Files, OpenFile, each_part, is_temporary, remove_if_there, write_whole};
use crate::patience::{Patience, Wait};
use crate::rules::events::numbered;

pub(super) const META: &str = "meta.json";
pub(super) const EVENTS: &str = "events.ndjson";
pub(super) const SNAPSHOT: &str = "snapshot.json";
pub(super) const INDEX: &str = "index.json";
pub(super) const QUARANTINE: &str = "quarantine.ndjson";
pub(super) const LOCK: &str = "lock";

/// How long a look at a lock waits for the next one.
const WAIT: Duration = Duration::from_micros(500);

/// A ledger's folder.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    pub(super) files: Arc<dyn Files>,
    pub(super) dir: PathBuf,
    /// How long a lock is waited for.
    pub(super) patience: Patience,
}

/// Which lock is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    Alone,
    Shared,
}

/// A lock for as long as it is kept, where there is one to take.
#[derive(Debug)]
pub(super) struct Held(#[expect(dead_code, reason = "it is held, not used")] Option<Box<dyn FileLock>>);

impl Folder {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Says whether a link has the folder's name.
    pub(super) fn is_link(&self) -> Result<bool, StoreError> {
        self.files.is_link(&self.dir).map_err(failed("looking at", &self.dir))
    }

    /// Refuses a link in the place of the folder: where it leads may be anybody's.
    fn refuse_link(&self) -> Result<(), StoreError> {
        if self.is_link()? { Err(linked(&self.dir)) } else { Ok(()) }
    }

    /// Says whether the folder is there.
    pub(super) fn is_there(&self) -> Result<bool, StoreError> {
        self.refuse_link()?;
        match self.files.list(&self.dir) {
            Ok(_) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(failed("listing", &self.dir)(error)),
        }
    }

    /// Looks once whether a lock can be had; none where somebody else has it.
    pub(super) fn try_lock(&self, hold: Hold) -> Result<Option<Held>, StoreError> {
        self.refuse_link()?;
        let path = self.path(LOCK);
        let locked = match hold {
            Hold::Alone => self.files.lock(&path),
            Hold::Shared => match self.files.lock_shared(&path) {
                // Nobody ever wrote, so there is nothing to wait for.
                Err(error) if is_missing(&error) => return Ok(Some(Held(None))),
                locked => locked,
            },
        };
        Ok(locked.map_err(failed("locking", &path))?.map(|lock| Held(Some(lock))))
    }

    /// Waits for a lock.
    pub(super) fn lock(&self, hold: Hold) -> Result<Held, StoreError> {
        let mut waiting = Waiting::new(&self.patience);
        loop {
            if let Some(lock) = self.try_lock(hold)? {
                return Ok(lock);
            }
            waiting.wait()?;
        }
    }

    /// Returns the greatest number that the saved states and the index know: events are synced before either is written.
    /// What cannot be read proves nothing.
    pub(super) fn proven(&self) -> Result<u64, StoreError> {
        let index = self.read(INDEX, index::INDEX_BYTES_MAX)?.and_then(Result::ok);
        let indexed = index.as_deref().and_then(index::last_event).unwrap_or_default();
        let snapshot = self.read(SNAPSHOT, SNAPSHOT_BYTES_MAX)?.and_then(Result::ok);
        let folded = snapshot.as_deref().and_then(snapshot::greatest).unwrap_or_default();
        // Whatever a file says: behind the last number there is no next one.
        Ok([indexed, folded]
            .into_iter()
            .filter(|number| numbered(*number, 1).is_ok())
            .max()
            .unwrap_or_default())
    }

    /// Opens a file; none where it is not there.
    pub(super) fn open(&self, name: &str) -> Result<Option<Arc<dyn OpenFile>>, StoreError> {
        self.refuse_link()?;
        let path = self.path(name);
        match self.files.open(&path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(failed("opening", &path)(error)),
        }
    }

    /// Reads a file whole; none where it is not there, and an inner error where it is too long to be ours.
    pub(super) fn read(
        &self,
        name: &str,
        bytes_max: u64,
    ) -> Result<Option<Result<Vec<u8>, String>>, StoreError> {
        let Some(file) = self.open(name)? else { return Ok(None) };
        let during = failed("reading", &self.path(name));
        let length = file.length().map_err(&during)?;
        if length > bytes_max {
            return Ok(Some(Err(format!("it has {length} bytes, more than {bytes_max}"))));
        }
        let mut bytes = Vec::new();
        each_part(file.as_ref(), |part| {
            bytes.extend_from_slice(part);
            Ok(())
        })
        .map_err(during)?;
        Ok(Some(Ok(bytes)))
    }

    /// Writes a file whole, in the place of the one that is there.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let path = self.path(name);
        let during = failed("writing", &path);
        write_whole(self.files.as_ref(), &path, &during, |out| {
            out.write_all(text.as_bytes()).map_err(&during)
        })
    }

    /// Removes a file where it is there. Its name is gone for good when the folder was synced.
    pub(super) fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.path(name);
        remove_if_there(self.files.as_ref(), &path).map_err(failed("removing", &path))
    }

    /// Removes what writers that died left behind. Only for who has the lock alone.
    pub(super) fn sweep(&self) -> Result<(), StoreError> {
        self.remove_all(is_temporary).map(drop)
    }

    /// Removes what repairs and restores set aside of what events say; says whether there was any.
    pub(super) fn remove_set_aside(&self) -> Result<bool, StoreError> {
        self.remove_all(|name| {
            let is_states = name.strip_prefix(SNAPSHOT).is_some_and(|rest| rest.starts_with(ASIDE));
            name == QUARANTINE || is_states
        })
    }

    fn remove_all(&self, is_wanted: impl Fn(&str) -> bool) -> Result<bool, StoreError> {
        let names = self.files.list(&self.dir).map_err(failed("listing", &self.dir))?;
        let wanted: Vec<&str> = names.iter().map(String::as_str).filter(|name| is_wanted(name)).collect();
        wanted.iter().try_for_each(|name| self.remove(name))?;
        Ok(!wanted.is_empty())
    }

    pub(super) fn sync(&self) -> Result<(), StoreError> {
        self.files.sync_directory(&self.dir).map_err(failed("syncing", &self.dir))
    }

    /// Reads what is known of the ledger; the inner error says why the folder is none of ours.
    pub(super) fn read_meta(&self) -> Result<Result<Option<Meta>, MetaFault>, StoreError> {
        Ok(match self.read(META, META_BYTES_MAX)? {
            None => Ok(None),
            Some(Err(reason)) => Err(MetaFault::Unreadable(reason)),
            Some(Ok(bytes)) => Meta::decode(&bytes).and_then(|meta| {
                // A folder that was copied or has another name now: two that are one ledger would answer for it.
                let is_own = self.dir.file_name().is_some_and(|name| name == folder_of(&meta.id).as_str());
                if is_own { Ok(Some(meta)) } else { Err(MetaFault::Misplaced(meta.id)) }
            }),
        })
    }

    /// Reads what is known of the ledger; none where there is no ledger.
    ///
    /// # Errors
    /// `Damaged` where it cannot be read or is missing beside events, `TooNew` and `NotAStore` where the folder is none
    /// of ours.
    pub(super) fn meta(&self) -> Result<Option<Meta>, StoreError> {
        self.meta_of(self.read_meta()?)
    }

    /// Says what was read of a ledger, as [`Folder::meta`] does.
    pub(super) fn meta_of(&self, read: Result<Option<Meta>, MetaFault>) -> Result<Option<Meta>, StoreError> {
        let path = self.path(META);
        match read {
            Ok(Some(meta)) => Ok(Some(meta)),
            Ok(None) => match self.events_bytes()? {
                0 => Ok(None),
                _ => Err(damaged(
                    &path,
                    format!("it is missing; restoring {} rebuilds it", self.ledger_name()),
                )),
            },
            Err(MetaFault::Unreadable(reason)) => {
                Err(damaged(&path, format!("{reason}; restoring {} rebuilds it", self.ledger_name())))
            }
            Err(MetaFault::Version(found)) if found > SCHEMA_VERSION => {
                Err(StoreError::TooNew { found, supported: SCHEMA_VERSION })
            }
            Err(MetaFault::Version(version)) => {
                let path = path.display().to_string();
                Err(StoreError::NotAStore { path, reason: format!("it is a ledger of version {version}") })
            }
            Err(MetaFault::Misplaced(ledger)) => {
                let path = self.dir.display().to_string();
                let reason = format!("it is a copy of ledger `{ledger}`, whose folder has another name");
                Err(StoreError::NotAStore { path, reason })
            }
            Err(MetaFault::OtherProgram(reason)) => {
                Err(StoreError::NotAStore { path: self.dir.display().to_string(), reason })
            }
        }
    }

    /// Names the ledger by the name of its folder: for one whose own word cannot be read.
    fn ledger_name(&self) -> String {
        match self.dir.file_name().and_then(|name| name.to_str()).map(read) {
            Some(FolderName::Ledger(id)) => format!("ledger `{id}`"),
            Some(_) | None => "it".to_owned(),
        }
    }

    /// Returns how many bytes of events there are.
    pub(super) fn events_bytes(&self) -> Result<u64, StoreError> {
        let Some(file) = self.open(EVENTS)? else { return Ok(0) };
        file.length().map_err(failed("reading", &self.path(EVENTS)))
    }
}

/// Waits for a lock by looks, and says when it was long enough.
pub(super) struct Waiting {
    wait: Wait,
    bound_ms: u64,
}

impl Waiting {
    pub(super) fn new(patience: &Patience) -> Self {
        Self { wait: patience.wait(), bound_ms: patience.bound_ms() }
    }

    pub(super) fn wait(&mut self) -> Result<(), StoreError> {
        if self.wait.pause_for(WAIT) { Ok(()) } else { Err(StoreError::Locked { waited_ms: self.bound_ms }) }
    }
}

/// Says whether something is not there: a file in the place of its folder is no folder.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Names what failed, by what the system says.
pub(super) fn failed(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> StoreError + use<> {
    let path = path.display().to_string();
    move |source| match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { operation },
        io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { operation },
        _ => StoreError::Io { operation, path: path.clone(), source },
    }
}

/// Reports a link where a folder of ours should be.
pub(super) fn linked(dir: &Path) -> StoreError {
    let reason = "it is a link, and none is followed here: move the folder itself there".to_owned();
    StoreError::NotAStore { path: dir.display().to_string(), reason }
}

/// Reports a file that is not what was written.
pub(super) fn damaged(path: &Path, finding: String) -> StoreError {
    StoreError::LedgerDamaged { path: path.display().to_string(), finding }
}

/// Reports a line that stops all reading.
pub(super) fn stopped(path: &Path, at: &Damaged) -> StoreError {
    damaged(path, Finding::of_damaged(path, at).to_string())
}
