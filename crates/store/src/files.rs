//! The files that a store keeps beside its database, as a layer that tests can stand in for.
//!
//! What is in them is not known here; the database's own files are SQLite's.

mod whole;

pub use whole::{
    TEMPORARY, hold_temporary, is_temporary, read_bounded, remove_unlocked, write_file, write_whole,
};
pub(crate) use whole::{above, create_beside, ended, remove_if_there};

use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;
use stemmata_model::to_u64;

use crate::maintain::surroundings::{self, Mount};

/// What a store does with files of its own. [`SystemFiles`] is the real one.
///
/// - **Durable**: what was written is safe after [`NewFile::sync`]; a name is safe after
///   [`Files::sync_directory`] of its directory. Before that a crash may lose, cut or reorder it.
/// - **For the owner only**: files have mode 0600 and directories 0700 where the system knows modes.
/// - **No links**: a link in the place of a file is not followed.
/// - **Concurrent**: every method may be called from any thread.
pub trait Files: Debug + Send + Sync {
    /// Makes a directory unless it is there. Its parent must be there.
    ///
    /// # Errors
    /// The system's own, as for every method below.
    fn make_directory(&self, directory: &Path) -> io::Result<()>;

    /// Makes a new, empty file and opens it for writing; `AlreadyExists` where the name is taken.
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>>;

    /// Opens a file that is there to write on at its end; `NotFound` where it is not, an error for a link or a
    /// directory.
    fn extend(&self, path: &Path) -> io::Result<Box<dyn NewFile>>;

    /// Opens a file for reading; `NotFound` where it is not there, an error for a link or a directory.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn OpenFile>>;

    /// Gives a file or a directory another name on the same disk, in one step; a file, a link or an empty directory
    /// of that name is replaced.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Has two names change places in one step; `Unsupported`, or the system's own error, where it cannot.
    fn exchange(&self, left: &Path, right: &Path) -> io::Result<()>;

    /// Gives a file one more name; an error where the disk cannot, and `AlreadyExists` where the name is taken.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file; `NotFound` where it is not there. Those who have it open can go on reading it.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes a directory with nothing in it.
    fn remove_directory(&self, directory: &Path) -> io::Result<()>;

    /// Makes the bytes of a file durable that somebody else wrote, as SQLite does.
    fn sync_file(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable: files that were made, renamed and removed.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Says whether a name stands for a link; not where nothing has it.
    fn is_link(&self, path: &Path) -> io::Result<bool>;

    /// Returns the names in a directory, in any order; `NotFound` where it is not there.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;

    /// Returns the file system that a directory lies on, or would lie on; none where the system does not say.
    fn mount(&self, directory: &Path) -> Option<Mount>;

    /// Takes a lock that other processes and other callers of this one respect, on a file that is made where
    /// it is not there. None where somebody else has it. It ends when it is dropped, and with the process.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>>;

    /// Takes a lock that several may have at once while nobody has that of [`Files::lock`]. Writes nothing: `NotFound`
    /// where the file is not there. None where somebody has it alone. It ends when it is dropped.
    fn lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>>;
}

/// A file that is being written, from its start or from its end on.
pub trait NewFile: Debug + Send {
    /// Adds bytes at the end.
    ///
    /// # Errors
    /// The system's own; how much was written is not known then.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns when all that was written is durable.
    ///
    /// # Errors
    /// The system's own; nothing is known to be durable then.
    fn sync(&mut self) -> io::Result<()>;

    /// Takes away what is after so many bytes; what is added next comes there.
    ///
    /// # Errors
    /// The system's own; what is left is not known then.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

/// A file that is being read.
pub trait OpenFile: Debug + Send + Sync {
    /// Returns its length in bytes.
    ///
    /// # Errors
    /// The system's own.
    fn length(&self) -> io::Result<u64>;

    /// Fills `into` with the bytes from `offset` on; `UnexpectedEof` where the file ends before.
    ///
    /// # Errors
    /// The system's own.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Says whether a path still names this file, and not another one that took its name; none where the system does
    /// not tell files apart.
    ///
    /// # Errors
    /// The system's own; `NotFound` where nothing has the name.
    fn is_at(&self, path: &Path) -> io::Result<Option<bool>>;
}

/// A lock that is held until it is dropped.
pub trait FileLock: Debug + Send + Sync {}

/// Bytes that are read at once where a file is read whole.
const PART_BYTES: usize = 256 * 1024;

/// The file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFiles;

#[derive(Debug)]
struct Reading(File);

#[derive(Debug)]
struct Held(#[expect(dead_code, reason = "the lock lasts as long as the file is open")] File);

impl FileLock for Held {}

impl Files for SystemFiles {
    fn make_directory(&self, directory: &Path) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(directory) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if fs::symlink_metadata(directory)?.is_dir() { Ok(()) } else { Err(no_file("directory")) }
            }
            done => done,
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let file = owner_only(OpenOptions::new().write(true).create_new(true)).open(path)?;
        let is_temporary = path.file_name().is_some_and(|name| is_temporary(&name.to_string_lossy()));
        if is_temporary && !hold_temporary(&file, path)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(Box::new(file))
    }

    fn extend(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        Ok(Box::new(no_link(path, OpenOptions::new().append(true))?))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn OpenFile>> {
        Ok(Arc::new(Reading(no_link(path, OpenOptions::new().read(true))?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn exchange(&self, left: &Path, right: &Path) -> io::Result<()> {
        exchange(left, right)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_directory(&self, directory: &Path) -> io::Result<()> {
        fs::remove_dir(directory)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        // Windows has no handle of a directory to sync; its file systems journal names.
        if cfg!(windows) { Ok(()) } else { File::open(directory)?.sync_all() }
    }

    fn is_link(&self, path: &Path) -> io::Result<bool> {
        match fs::symlink_metadata(path) {
            Ok(metadata) => Ok(metadata.is_symlink()),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(directory)?
            .filter_map(|entry| match entry {
                // Names that are no text are none of ours.
                Ok(entry) => entry.file_name().into_string().ok().map(Ok),
                Err(error) => Some(Err(error)),
            })
            .collect()
    }

    fn mount(&self, directory: &Path) -> Option<Mount> {
        surroundings::look_at_mount(directory)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>> {
        let there = fs::symlink_metadata(path);
        if there.is_ok_and(|metadata| !metadata.is_file()) {
            return Err(no_file("file"));
        }
        let file = owner_only(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
        held(file, path, File::try_lock)
    }

    fn lock_shared(&self, path: &Path) -> io::Result<Option<Box<dyn FileLock>>> {
        let file = no_link(path, OpenOptions::new().read(true))?;
        held(file, path, File::try_lock_shared)
    }
}

/// Locks a file. Where another one has got its name meanwhile, as in a folder that was set aside, the lock keeps nobody
/// out, and counts as one that somebody else has.
fn held(
    file: File,
    path: &Path,
    lock: fn(&File) -> Result<(), TryLockError>,
) -> io::Result<Option<Box<dyn FileLock>>> {
    match lock(&file) {
        Ok(()) if is_named(&file, path)? => Ok(Some(Box::new(Held(file)))),
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Says whether a path still names a file that was opened by it; yes, where the system does not tell files apart.
pub(crate) fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        named => Ok(is_same(&file.metadata()?, &named?)),
    }
}

#[cfg(unix)]
fn is_same(left: &fs::Metadata, right: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (left.dev(), left.ino()) == (right.dev(), right.ino())
}

#[cfg(not(unix))]
fn is_same(_left: &fs::Metadata, _right: &fs::Metadata) -> bool {
    true
}

/// Opens a file that is there and is no link.
fn no_link(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // The directory is its owner's alone: nobody can put a link there between the two calls.
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(no_file("file"));
    }
    options.open(path)
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn exchange(left: &Path, right: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn exchange(_left: &Path, _right: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes a directory with all that is in it, each name by itself. A link is removed, not what it leads to.
pub(crate) fn remove_tree(files: &dyn Files, directory: &Path) -> io::Result<()> {
    for name in files.list(directory)? {
        let path = directory.join(name);
        if fs::symlink_metadata(&path)?.is_dir() {
            remove_tree(files, &path)?;
        } else {
            files.remove(&path)?;
        }
    }
    files.remove_directory(directory)
}

/// Copies a file to a new name for its owner only, durably. What is half there when that fails is removed.
pub(crate) fn copy(files: &dyn Files, from: &Path, to: &Path) -> io::Result<()> {
    let source = files.open(from)?;
    let mut copy = files.create(to)?;
    let copied = each_part(source.as_ref(), |part| copy.append(part)).and_then(|()| copy.sync());
    drop(copy);
    if copied.is_err() {
        // What is half there must not be taken for the whole; the first error is the one to tell.
        let _removed = files.remove(to);
    }
    copied
}

/// Hands out all bytes of a file in order, in parts of a bounded size.
pub(crate) fn each_part(file: &dyn OpenFile, mut act: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let length = file.length()?;
    let mut buffer = vec![0; PART_BYTES];
    let mut at = 0;
    while at < length {
        let rest = usize::try_from(length - at).unwrap_or(PART_BYTES).min(PART_BYTES);
        let part = buffer.get_mut(..rest).expect("the rest is cut to the buffer");
        file.read_at(at, part)?;
        act(part)?;
        at += to_u64(rest);
    }
    Ok(())
}

impl NewFile for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        // One that was made new writes where it stands; one that was opened to extend writes at the end anyway.
        self.seek(SeekFrom::Start(length)).map(drop)
    }
}

impl OpenFile for Reading {
    fn length(&self) -> io::Result<u64> {
        self.0.metadata().map(|metadata| metadata.len())
    }

    #[cfg(unix)]
    fn is_at(&self, path: &Path) -> io::Result<Option<bool>> {
        // The number of an open file is not given to another one.
        Ok(Some(is_same(&self.0.metadata()?, &fs::symlink_metadata(path)?)))
    }

    #[cfg(not(unix))]
    fn is_at(&self, path: &Path) -> io::Result<Option<bool>> {
        fs::symlink_metadata(path).map(|_| None)
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, into, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let from = offset + to_u64(done);
            match std::os::windows::fs::FileExt::seek_read(&self.0, rest, from)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => done += read,
            }
        }
        Ok(())
    }
}

fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn no_file(wanted: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("something else is where a {wanted} should be"))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_file_is_made_once_read_at_a_place_renamed_and_removed() {
        let home = TempDir::new().expect("a directory");
        let files: &dyn Files = &SystemFiles;
        let dir = home.path().join("packs");
        assert!(files.list(&dir).is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
        files.make_directory(&dir).expect("made");
        files.make_directory(&dir).expect("there already");
        let (first, second) = (dir.join("first"), dir.join("second"));
        let mut file = files.create(&first).expect("made");
        file.append(b"0123")
            .and_then(|()| file.append(b"456789"))
            .and_then(|()| file.sync())
            .expect("written");
        assert!(files.create(&first).is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists));
        files.rename(&first, &second).expect("renamed");
        files.sync_directory(&dir).expect("synced");
        assert_eq!(files.list(&dir).expect("names"), ["second"]);
        let open = files.open(&second).expect("there");
        let mut read = [0; 4];
        open.read_at(5, &mut read).expect("within");
        assert_eq!((&read, open.length().expect("known")), (b"5678", 10));
        assert!(open.read_at(7, &mut read).is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof));
        files.remove(&second).expect("removed");
        open.read_at(0, &mut read).expect("still open");
        assert!(files.open(&second).is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
    }

    #[test]
    fn a_file_is_extended_cut_and_told_from_another_one() {
        let home = TempDir::new().expect("a directory");
        let files: &dyn Files = &SystemFiles;
        let (path, other) = (home.path().join("log"), home.path().join("other"));
        assert!(files.extend(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
        files.create(&path).and_then(|mut file| file.append(b"0123")).expect("made");
        let mut file = files.extend(&path).expect("there");
        let open = files.open(&path).expect("there");
        file.append(b"4567").and_then(|()| file.cut(6)).and_then(|()| file.append(b"x")).expect("written");
        file.sync().expect("synced");
        let mut read = [0; 7];
        open.read_at(0, &mut read).expect("within");
        assert_eq!((&read, open.length().expect("known")), (b"012345x", 7));
        assert_ne!(open.is_at(&path).expect("known"), Some(false));
        files.create(&other).and_then(|_| files.rename(&other, &path)).expect("renamed");
        assert_ne!(open.is_at(&path).expect("known"), Some(true));
    }

    #[test]
    fn many_have_a_shared_lock_while_nobody_has_it_alone() {
        let home = TempDir::new().expect("a directory");
        let path = home.path().join("lock");
        let missing = SystemFiles.lock_shared(&path);
        assert!(missing.is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
        let held = SystemFiles.lock(&path).expect("a lock");
        assert!(SystemFiles.lock_shared(&path).expect("a look").is_none());
        drop(held);
        let shared = [(); 2].map(|()| SystemFiles.lock_shared(&path).expect("a look"));
        assert!(shared.iter().all(Option::is_some) && SystemFiles.lock(&path).expect("a look").is_none());
        drop(shared);
        assert!(SystemFiles.lock(&path).expect("a look").is_some());
    }

    #[test]
    fn one_at_a_time_has_the_lock() {
        let home = TempDir::new().expect("a directory");
        let path = home.path().join("lock");
        let held = SystemFiles.lock(&path).expect("a lock");
        assert!(held.is_some());
        assert!(SystemFiles.lock(&path).expect("a look").is_none());
        drop(held);
        assert!(SystemFiles.lock(&path).expect("a look").is_some());
    }

    #[cfg(unix)]
    #[test]
    fn files_are_for_their_owner_and_links_are_not_followed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let home = TempDir::new().expect("a directory");
        let dir = home.path().join("packs");
        SystemFiles.make_directory(&dir).expect("made");
        let (file, link) = (dir.join("file"), dir.join("link"));
        SystemFiles.create(&file).expect("made");
        symlink(&file, &link).expect("a link");
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&dir), mode(&file)), (0o700, 0o600));
        assert!(SystemFiles.open(&link).is_err() && SystemFiles.lock(&link).is_err());
        assert!(SystemFiles.create(&link).is_err());
        symlink(&dir, home.path().join("other")).expect("a link");
        assert!(SystemFiles.make_directory(&home.path().join("other")).is_err());
        SystemFiles.rename(&file, &link).expect("renamed");
        assert!(fs::symlink_metadata(&link).expect("there").is_file(), "the link is replaced");
    }
}
