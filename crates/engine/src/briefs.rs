//! Briefs as files in the cache, one for each session: made in the background, read by hooks.
//!
//! Derived: a brief that is deleted, damaged or of an older version is absent, and is made again after the next compaction. What
//! a brief says is `verbs::brief`'s.
//!
//! Forgetting deletes every file here, after the store has let go of the content. A brief is begun as a file before the first
//! byte of the store is read for it, and gets its name at the end: where a forgetting deleted it meanwhile, that fails and nothing
//! of what was forgotten stays.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stemmata_store::{SessionKey, read_bounded};

use crate::calibration::hex;
use crate::error::{EngineError, Result};
use crate::home::create_private;

/// Briefs that are kept at most; the one that was made first goes.
const BRIEFS_MAX: usize = 256;

/// Briefs of one session that one process makes at once.
const BEGUN_MAX: u32 = 16;

/// Bytes of a brief at most: all parts full of long lines take less.
const FILE_BYTES_MAX: u64 = 2 << 20;

const BRIEF: &str = ".json";
const BEGUN: &str = ".begun-";
const DUE: &str = ".due";

/// A brief as it is kept, version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BriefV1 {
    /// The store that it was made of, as hexadecimal digits.
    pub(crate) store: String,
    /// The session's machine and transcript.
    pub(crate) session: (String, String),
    /// The commit that it was made at.
    pub(crate) ctx: String,
    /// What pins, notes and the last summary are said of, beside their lines.
    pub(crate) pins: Vec<(String, String)>,
    pub(crate) notes: Vec<(String, String)>,
    pub(crate) summary: Option<(String, String)>,
    pub(crate) constraints: Vec<String>,
    pub(crate) decisions: Vec<String>,
    pub(crate) tasks: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) failures: Vec<String>,
    /// Whether all of the record was read for it.
    pub(crate) is_whole: bool,
}

/// Where an engine keeps briefs; engines without a place keep none.
#[derive(Debug, Default)]
pub(crate) struct Briefs {
    folder: Option<PathBuf>,
}

/// A brief that is being made. Dropped, it leaves nothing.
#[derive(Debug)]
pub(crate) struct BegunBrief {
    file: File,
    begun: PathBuf,
    to: PathBuf,
}

impl Briefs {
    /// Returns the briefs in a folder of what may be deleted.
    pub(crate) fn at(cache: &Path) -> Self {
        Self { folder: Some(cache.join("briefs")) }
    }

    /// Returns the brief of a session; none where there is none that can be used.
    pub(crate) fn load(&self, key: &SessionKey, store_id: [u8; 16]) -> Option<BriefV1> {
        let bytes = read_bounded(&self.file(key, BRIEF)?, FILE_BYTES_MAX).ok()??;
        let brief: BriefV1 = serde_json::from_slice(&bytes).ok()?;
        let is_it = brief.store == hex(store_id) && brief.session == named(key);
        is_it.then_some(brief)
    }

    /// Returns whether a session has a brief, or had one that cannot be used any more.
    pub(crate) fn is_there(&self, key: &SessionKey) -> bool {
        self.file(key, BRIEF).is_some_and(|file| file.exists())
    }

    /// Begins a brief, and deletes what a process that died began of the session's.
    ///
    /// # Errors
    /// `Io`. None where this engine keeps no briefs.
    pub(crate) fn begin(&self, key: &SessionKey) -> Result<Option<BegunBrief>> {
        let (Some(folder), Some(to)) = (&self.folder, self.file(key, BRIEF)) else { return Ok(None) };
        create_private(folder)?;
        let prefix = format!("{}{BEGUN}", stem(key));
        let mut briefs = Vec::new();
        for (name, path) in files(folder) {
            if name.starts_with(&prefix) {
                // Who makes one holds its lock.
                if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
                    remove(&path)?;
                }
            } else if name.ends_with(BRIEF) && path != to {
                briefs.push((path.metadata().and_then(|found| found.modified()).ok(), path));
            }
        }
        briefs.sort();
        let surplus = (briefs.len() + 1).saturating_sub(BRIEFS_MAX);
        briefs.iter().take(surplus).try_for_each(|(_, path)| remove(path))?;
        let own = std::process::id();
        let names = (0..BEGUN_MAX).map(|number| folder.join(format!("{prefix}{own}-{number}")));
        let begun = names.into_iter().find_map(|begun| match create(&begun) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
            created => Some((begun, created)),
        });
        let Some((begun, created)) = begun else { return Ok(None) };
        let file = created.map_err(EngineError::io("create", &begun))?;
        // Nobody else knows the file but one that cleans up, at this very moment: then there is no brief, as after a crash.
        if file.try_lock().is_err() {
            return Ok(None);
        }
        Ok(Some(BegunBrief { file, begun, to }))
    }

    /// Leaves word that a session is about to be compacted: its agent is to be told once that is done.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn leave_due(&self, key: &SessionKey) -> Result<()> {
        let (Some(folder), Some(due)) = (&self.folder, self.file(key, DUE)) else { return Ok(()) };
        create_private(folder)?;
        match create(&due) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(EngineError::io("create", &due)(error))
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Takes that word back and returns whether it was there: of two that ask at once one gets it.
    pub(crate) fn take_due(&self, key: &SessionKey) -> bool {
        self.file(key, DUE).is_some_and(|due| std::fs::remove_file(due).is_ok())
    }

    /// Deletes all briefs, those that are being made too.
    ///
    /// # Errors
    /// `Io`, after all were tried.
    pub(crate) fn clear(&self) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let mut failed = Vec::new();
        // What is being made first: after that no file takes another name, and the second look sees all that are left.
        for is_begun in [true, false] {
            let wanted = files(folder).filter(|(name, _)| !is_begun || name.contains(BEGUN));
            failed.extend(wanted.filter_map(|(_, path)| remove(&path).err()));
        }
        failed.into_iter().next().map_or(Ok(()), Err)
    }

    fn file(&self, key: &SessionKey, kind: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}{kind}", stem(key))))
    }
}

impl BegunBrief {
    /// Keeps the brief, in the place of the session's last one. Returns whether it could: not where it was deleted meanwhile.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn keep(mut self, brief: &BriefV1) -> Result<bool> {
        let bytes = serde_json::to_vec(brief).unwrap_or_default();
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_all());
        written.map_err(EngineError::io("write", &self.begun))?;
        match std::fs::rename(&self.begun, &self.to) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(EngineError::io("rename", &self.begun)(error)),
        }
    }
}

impl Drop for BegunBrief {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.begun) {
            tracing::debug!(%error, "a brief that was begun stays until the next one is");
        }
    }
}

/// Returns how a session is named within its brief.
pub(crate) fn named(key: &SessionKey) -> (String, String) {
    (key.machine.to_string(), key.path.clone())
}

/// Returns the name of a session's files: paths may be longer than names, so it is a hash of them.
fn stem(key: &SessionKey) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(key.machine.as_str().as_bytes()).update(&[0]).update(key.path.as_bytes());
    hasher.finalize().to_hex().as_str().chars().take(32).collect()
}

fn files(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(EngineError::io("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use stemmata_model::MachineId;

    use super::*;

    fn key(path: &str) -> SessionKey {
        SessionKey { machine: MachineId::new("m1").unwrap(), path: path.to_owned() }
    }

    fn of(key: &SessionKey) -> BriefV1 {
        let none = Vec::new;
        BriefV1 {
            store: hex([7; 16]),
            session: named(key),
            ctx: "ctx-x".to_owned(),
            pins: Vec::new(),
            notes: Vec::new(),
            summary: None,
            constraints: none(),
            decisions: none(),
            tasks: vec!["[pending] go".to_owned()],
            files: none(),
            failures: none(),
            is_whole: true,
        }
    }

    #[test]
    fn a_brief_that_was_begun_before_a_forgetting_is_never_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (briefs, key) = (Briefs::at(folder.path()), key("/a"));
        let begun = briefs.begin(&key).unwrap().unwrap();
        briefs.clear().unwrap();
        assert!(!begun.keep(&of(&key)).unwrap());
        assert_eq!((briefs.load(&key, [7; 16]), files(&folder.path().join("briefs")).count()), (None, 0));
        // Two at once: each is whole.
        let (first, second) = (briefs.begin(&key).unwrap().unwrap(), briefs.begin(&key).unwrap().unwrap());
        assert!(second.keep(&of(&key)).unwrap());
        assert!(first.keep(&of(&key)).unwrap());
        assert_eq!(briefs.load(&key, [7; 16]), Some(of(&key)));
        assert_eq!(briefs.load(&key, [8; 16]), None, "of another store");
        drop(briefs.begin(&key).unwrap());
        // What a process left that died.
        let begun = format!("{}{BEGUN}1-0", stem(&key));
        create(&folder.path().join("briefs").join(begun)).unwrap();
        drop(briefs.begin(&key).unwrap());
        assert_eq!(files(&folder.path().join("briefs")).count(), 1, "one that was given up leaves nothing");
    }

    #[test]
    fn briefs_are_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let briefs = Briefs::at(folder.path());
        for number in 0..BRIEFS_MAX + 3 {
            let key = key(&format!("/{number}"));
            assert!(briefs.begin(&key).unwrap().unwrap().keep(&of(&key)).unwrap());
            assert!(briefs.is_there(&key));
        }
        assert_eq!(files(&folder.path().join("briefs")).count(), BRIEFS_MAX);
    }
}
