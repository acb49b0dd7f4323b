//! Files that are written whole: beside, synced, then under their name; and files that are read whole, up to a bound.
//!
//! Files that grow are not written here.

use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use super::{Files, NewFile, SystemFiles};

/// Bytes that are gathered before they are written.
const WRITE_BYTES: usize = 256 * 1024;

/// Hands a writer to `write`; the file appears under its name, whole and durable, when that succeeds, in the place of
/// an older one. Else there is what was there before.
///
/// # Errors
/// What `write` fails with; the system's own, by `failed`.
pub fn write_whole<T, E>(
    files: &dyn Files,
    path: &Path,
    failed: impl Fn(io::Error) -> E,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let (temporary, file) = create_beside(files, path).map_err(&failed)?;
    let mut out = BufWriter::with_capacity(WRITE_BYTES, Appending(file));
    let written = write(&mut out).and_then(|value| {
        let mut file = out.into_inner().map_err(|error| failed(error.into_error()))?.0;
        file.sync().and_then(|()| files.rename(&temporary, path)).map_err(&failed)?;
        Ok(value)
    });
    ended(files, (&temporary, path), failed, written)
}

/// Writes a small file as [`write_whole`] does.
///
/// # Errors
/// The system's own.
pub fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_whole(&SystemFiles, path, |error| error, |out| out.write_all(bytes))
}

/// Returns the first bytes of a file, at most so many; none where there is no such file. A caller that refuses longer files
/// asks for one byte more than it takes.
///
/// # Errors
/// The system's own.
pub fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(bytes_max).read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the folder that a file or a folder is in.
pub(crate) fn above(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes a file, whether it is there or not.
pub(crate) fn remove_if_there(files: &dyn Files, path: &Path) -> io::Result<()> {
    match files.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Ends the writing of a file beside its name: where it has that now, the name is made durable, else nothing stays.
pub(crate) fn ended<T, E>(
    files: &dyn Files,
    (temporary, path): (&Path, &Path),
    failed: impl Fn(io::Error) -> E,
    written: Result<T, E>,
) -> Result<T, E> {
    if written.is_err() {
        // The first error is the one to tell; a name that is left over says by itself what it is.
        let _removed = files.remove(temporary);
        return written;
    }
    files.sync_directory(above(path)).map_err(failed)?;
    written
}

/// How a name begins and ends that a file or a folder has only until it is finished.
pub const TEMPORARY: (&str, &str) = (".stemma-", ".tmp");

/// Says whether a name is one that a file or a folder has only until it is finished.
pub fn is_temporary(name: &str) -> bool {
    name.strip_prefix(TEMPORARY.0).is_some_and(|rest| rest.strip_suffix(TEMPORARY.1).is_some())
}

/// Locks a file or a folder that this process has just created under a temporary name, so that no sweep removes it. Returns whether
/// this process has it now: a sweep that came before the lock removed it, or holds the lock and removes it next. A file system without
/// locks is no reason to do without: no sweep removes anything there.
///
/// # Errors
/// The system's own.
pub fn hold_temporary(file: &File, path: &Path) -> io::Result<bool> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(false),
        Ok(()) | Err(TryLockError::Error(_)) => super::is_named(file, path),
    }
}

/// Removes a file or a folder with a temporary name unless a living process holds it. Returns whether it is gone.
///
/// # Errors
/// The system's own.
pub fn remove_unlocked(path: &Path) -> io::Result<bool> {
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let kind = match path.symlink_metadata() {
        Err(error) if is_gone(&error) => return Ok(true),
        found => found?.file_type(),
    };
    // Opening anything else, such as a pipe, would wait; nobody who writes here makes such.
    if !kind.is_file() && !kind.is_dir() {
        return Ok(false);
    }
    let file = match File::open(path) {
        Err(error) if is_gone(&error) => return Ok(true),
        // Another user's, in a folder that users share.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
        opened => opened?,
    };
    if file.try_lock().is_err() || !super::is_named(&file, path)? {
        return Ok(false);
    }
    let removed = if kind.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Err(error) if !is_gone(&error) => Err(error),
        Ok(()) | Err(_) => Ok(true),
    }
}

/// Names beside a file that are tried for what is not finished: others may be at work, and crashes leave some.
const NAMES_MAX: u32 = 10_000;

pub(crate) fn create_beside(files: &dyn Files, path: &Path) -> io::Result<(PathBuf, Box<dyn NewFile>)> {
    for number in 0..NAMES_MAX {
        let (begin, end) = TEMPORARY;
        let temporary = path.with_file_name(format!("{begin}{}-{number}{end}", std::process::id()));
        match files.create(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (temporary, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

struct Appending(Box<dyn NewFile>);

impl Write for Appending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found in review: this counted as a file system without locks, and the sweep removed the file next.
    #[test]
    fn a_temporary_name_that_a_sweep_has_locked_is_lost() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join(".stemma-1-0.tmp");
        let (own, sweep) = (File::create(&path).expect("made"), File::open(&path).expect("there"));
        sweep.try_lock().expect("free");
        assert!(!hold_temporary(&own, &path).expect("a look"));
        drop(sweep);
        assert!(hold_temporary(&own, &path).expect("a look"));
        std::fs::remove_file(&path).expect("removed");
        assert!(!hold_temporary(&own, &path).expect("a look"));
    }
}
