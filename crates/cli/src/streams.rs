//! `run/streams`: what commands under `stemma run` print, one file each, until the store holds all of it.
//!
//! The file is the transcript: whatever becomes of the store or of this process, what stands in it is captured by the
//! next command. Its secrets are replaced before anything is written.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use stemmata_engine::{Captured, timed_format};
use stemmata_model::FormatId;

use crate::errors::CliError;
use crate::home::{DataHome, create_private};

/// Streams that one command captures at most; the rest stays for the next.
pub(crate) const TAKEN_MAX: usize = 16;

/// Files of a folder that are looked at.
const LISTED_MAX: usize = 10_000;

/// How every timed line begins, as `stemmata_engine::StreamRecorder` writes it.
const TIMED_BEGIN: &[u8; 6] = b"{\"t\":\"";

fn folder(home: &DataHome) -> PathBuf {
    home.run().join("streams")
}

/// Returns where the stream of a session is, if it has one.
pub(crate) fn path(home: &DataHome, session: &str) -> PathBuf {
    let name = Path::new(session).file_name().unwrap_or_default().to_string_lossy();
    folder(home).join(format!("{name}.jsonl"))
}

/// Opens a new stream, locked for as long as the file is open: what is locked is still being written.
pub(crate) fn open(home: &DataHome, session: &str) -> Result<(PathBuf, File), CliError> {
    let path = path(home, session);
    let failed = |source| CliError::io("create", &path, source);
    let (unlocked, file) = create(home, session)?;
    flock(&file, FlockOperation::LockExclusive).map_err(|source| failed(io::Error::from(source)))?;
    // Only now, since who finds a stream without a lock takes it away.
    std::fs::rename(&unlocked, &path).map_err(failed)?;
    Ok((path, file))
}

/// Creates a stream under a name that nobody looks for.
fn create(home: &DataHome, session: &str) -> Result<(PathBuf, File), CliError> {
    create_private(&folder(home))?;
    let path = path(home, session).with_extension("new");
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(|source| CliError::io("create", &path, source))?;
    Ok((path, file))
}

/// Returns streams whose writers are gone.
pub(crate) fn left(home: &DataHome) -> Vec<PathBuf> {
    let mut files = jsonl_in(&folder(home));
    files.retain(|path| !is_written(path));
    files
}

fn jsonl_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().take(LISTED_MAX).map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    files
}

fn is_written(path: &Path) -> bool {
    let lock = |file: &File| flock(file, FlockOperation::NonBlockingLockShared);
    File::open(path).is_ok_and(|file| lock(&file).is_err())
}

/// Why a stream may be deleted: there is no other way to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof<'a> {
    /// A capture says how many of its bytes the store holds.
    Captured(&'a Captured),
    /// Nothing was ever written to it.
    Empty,
}

/// Deletes a stream that the store holds whole, or that is empty; returns whether it did. Whatever else it is, stays.
pub(crate) fn remove(path: &Path, proof: Proof<'_>) -> bool {
    let held = match proof {
        Proof::Captured(captured) => captured.bytes_held,
        Proof::Empty => 0,
    };
    if std::fs::symlink_metadata(path).ok().map(|there| there.len()) != Some(held) {
        return false;
    }
    match std::fs::remove_file(path) {
        Ok(()) => true,
        Err(error) => {
            tracing::debug!(%error, "a stream stays");
            false
        }
    }
}

/// Sets a stream aside that cannot be captured: it may be the only copy, so it is never deleted, and `status` names it.
pub(crate) fn set_aside(home: &DataHome, path: &Path) -> Result<PathBuf, CliError> {
    let folder = aside_folder(home);
    create_private(&folder)?;
    let to = folder.join(path.file_name().unwrap_or_default());
    // Names hold a random id, so nothing is there already.
    std::fs::rename(path, &to).map_err(|source| CliError::io("set aside", path, source))?;
    Ok(to)
}

/// Returns the streams that were set aside.
pub(crate) fn aside(home: &DataHome) -> Vec<PathBuf> {
    jsonl_in(&aside_folder(home))
}

fn aside_folder(home: &DataHome) -> PathBuf {
    folder(home).join("aside")
}

/// Returns the format of a stream where its first bytes are what we write before timed lines; another one says itself
/// what it is.
pub(crate) fn format(path: &Path) -> Option<FormatId> {
    let mut begin = [0; TIMED_BEGIN.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut begin)).ok()?;
    (begin == *TIMED_BEGIN).then(timed_format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_left_once_its_writer_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let home = DataHome::open(folder.path().join("data")).unwrap();
        assert_eq!(left(&home), Vec::<PathBuf>::new());
        let (unlocked, file) = create(&home, "s").unwrap();
        drop(file);
        assert_eq!(left(&home), Vec::<PathBuf>::new(), "it is not locked yet");
        std::fs::remove_file(unlocked).unwrap();
        let (path, file) = open(&home, "s").unwrap();
        assert_eq!(left(&home), Vec::<PathBuf>::new());
        drop(file);
        assert_eq!(left(&home), std::slice::from_ref(&path));
        std::io::Write::write_all(&mut File::options().append(true).open(&path).unwrap(), b"x").unwrap();
        assert!(!remove(&path, Proof::Empty), "nothing says that it is stored");
        let kept = set_aside(&home, &path).unwrap();
        assert_eq!((left(&home), aside(&home)), (Vec::new(), vec![kept]));
    }
}
