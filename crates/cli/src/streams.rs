//! `run/streams`: what commands under `stemma run` print, one file each, until the store holds all of it.
//!
//! The file is the transcript: whatever becomes of the store or of this process, what stands in it is captured by the
//! next command. Its secrets are replaced before anything is written.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::errors::CliError;
use crate::home::{DataHome, create_private};

/// Streams that one command takes up at most; the rest stays for the next.
const TAKEN_MAX: usize = 16;

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
    let Ok(entries) = std::fs::read_dir(folder(home)) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl") && !is_written(path));
    files.sort();
    files.truncate(TAKEN_MAX);
    files
}

fn is_written(path: &Path) -> bool {
    let lock = |file: &File| flock(file, FlockOperation::NonBlockingLockShared);
    File::open(path).is_ok_and(|file| lock(&file).is_err())
}

/// Takes a stream away: all of it is stored.
pub(crate) fn done(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        tracing::debug!(%error, "a stream stays");
    }
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
        done(&path);
        assert_eq!(left(&home), Vec::<PathBuf>::new());
    }
}
