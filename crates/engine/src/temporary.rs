//! Files that have no name until they are whole, so that a killed process leaves nothing of them; and the sweep of what is left
//! where a file system, or the replacing of another file, asks for a name all the same.
//!
//! Whoever writes under a temporary name holds a lock on it. A name without a lock is what a dead process left.

mod private;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use stemmata_store::{
    Files as _, SqliteOptions, SqliteStore, StoreError, SystemFiles, TEMPORARY, hold_temporary, is_temporary,
    read_bounded, remove_unlocked, write_file,
};
use tempfile::NamedTempFile;

use crate::error::{EngineError, Result};

pub(crate) use private::private_folder;
use private::{is_ours, private_path};

/// Our folder in the system's temporary folder, with the user's number behind it.
const FOLDER: &str = "stemma";

/// Bytes that are gathered before they are written.
const WRITE_BYTES: usize = 256 * 1024;

/// Times that a temporary name is taken anew, where a sweep removed it before it was locked.
const NAMES_MAX: u32 = 8;

/// Bytes of a folder's path at most.
const PATH_BYTES_MAX: u64 = 64 * 1024;

/// Names of one folder that a sweep looks at. Where there are more it says that it did not see all of them.
const LISTED_MAX: usize = 1_000_000;

/// Folders below one another that a sweep walks.
const DEPTH_MAX: usize = 16;

/// Makes temporary files, and knows in which folders outside of the data directory one may have had a name.
#[derive(Debug, Clone, Default)]
pub struct TempFiles {
    /// One file a folder, named by a hash and holding the path.
    registry: Option<PathBuf>,
}

/// A file without a name, or with one that says what it is. Dropped, it is gone.
#[derive(Debug)]
pub struct TempFile {
    kind: Kind,
    folder: PathBuf,
    files: TempFiles,
}

#[derive(Debug)]
enum Kind {
    #[cfg(target_os = "linux")]
    Unnamed(File),
    Named(NamedTempFile),
}

/// A folder that is gone when this is dropped; after a kill, when the folder above it is swept.
#[derive(Debug)]
pub struct TempFolder {
    folder: tempfile::TempDir,
    _lock: Option<File>,
    /// Behind the folder: dropped in this order.
    _above: Option<EmptyFolder>,
}

/// A folder that goes when nothing is left in it.
#[derive(Debug)]
struct EmptyFolder(PathBuf);

impl Drop for EmptyFolder {
    fn drop(&mut self) {
        let _holds_others = fs::remove_dir(&self.0);
    }
}

impl TempFiles {
    /// Remembers folders in one of the data directory's.
    pub(crate) fn at(registry: PathBuf) -> Self {
        Self { registry: Some(registry) }
    }

    /// Begins a file for its owner alone, on the disk of a folder.
    ///
    /// # Errors
    /// The system's own.
    pub fn create(&self, folder: &Path) -> io::Result<TempFile> {
        let temp = |kind| TempFile { kind, folder: folder.to_owned(), files: self.clone() };
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed(folder) {
            return Ok(temp(Kind::Unnamed(file)));
        }
        self.create_named(folder).map(|file| temp(Kind::Named(file)))
    }

    /// Begins a file with a name, which a sweep finds if this process dies.
    pub(crate) fn create_named(&self, folder: &Path) -> io::Result<NamedTempFile> {
        for _ in 0..NAMES_MAX {
            let file = named().tempfile_in(folder)?;
            if hold_temporary(file.as_file(), file.path())? {
                // Behind the name, which is still empty: a sweep that finds nothing in a folder removes its record.
                self.register(folder)?;
                return Ok(file);
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Hands a writer to `write`; the file appears under its name, whole and durable, when that succeeds, in the place of an
    /// older one. Else there is what was there before.
    ///
    /// # Errors
    /// What `write` fails with; the system's own, by `failed`.
    pub fn write_whole<T, E>(
        &self,
        path: &Path,
        failed: impl Fn(io::Error) -> E,
        write: impl FnOnce(&mut dyn Write) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.write_named(path, failed, write, TempFile::name_over)
    }

    /// The same, but what has the name already stays. Returns whether the file was written.
    ///
    /// # Errors
    /// As [`TempFiles::write_whole`].
    pub fn write_new<E>(
        &self,
        path: &Path,
        failed: impl Fn(io::Error) -> E,
        write: impl FnOnce(&mut dyn Write) -> std::result::Result<(), E>,
    ) -> std::result::Result<bool, E> {
        let mut is_new = true;
        self.write_named(path, failed, write, |file, path| match file.name_new(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                is_new = false;
                Ok(())
            }
            named => named,
        })?;
        Ok(is_new)
    }

    fn write_named<T, E>(
        &self,
        path: &Path,
        failed: impl Fn(io::Error) -> E,
        write: impl FnOnce(&mut dyn Write) -> std::result::Result<T, E>,
        name: impl FnOnce(TempFile, &Path) -> io::Result<()>,
    ) -> std::result::Result<T, E> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = self.create(folder).map_err(&failed)?;
        let mut out = BufWriter::with_capacity(WRITE_BYTES, &mut file);
        let value = write(&mut out)?;
        out.flush().map_err(&failed)?;
        drop(out);
        file.as_file().sync_all().and_then(|()| name(file, path)).map_err(&failed)?;
        SystemFiles.sync_directory(folder).map_err(failed)?;
        Ok(value)
    }

    /// Remembers that a file may get a temporary name in a folder. What is within a data directory is swept without.
    ///
    /// # Errors
    /// The system's own.
    pub fn register(&self, folder: &Path) -> io::Result<()> {
        let Some(registry) = &self.registry else { return Ok(()) };
        let folder = std::path::absolute(folder)?;
        let bytes = folder.as_os_str().as_encoded_bytes();
        let record = registry.join(blake3::hash(bytes).to_hex().as_str());
        if record.exists() {
            return Ok(());
        }
        SystemFiles.make_directory(registry)?;
        write_file(&record, bytes)
    }

    /// Removes what dead processes left in folders that were registered.
    fn sweep_registered(&self, failed: &mut Option<EngineError>) {
        let Some(registry) = &self.registry else { return };
        let records = match SystemFiles.list(registry) {
            Err(error) if error.kind() == ErrorKind::NotFound => return,
            records => records.map_err(EngineError::io("list", registry)),
        };
        let records = records.unwrap_or_else(|error| {
            failed.get_or_insert(error);
            Vec::new()
        });
        // A record with a temporary name is still being written.
        for record in records.into_iter().filter(|name| !is_temporary(name)) {
            let record = registry.join(record);
            let folder = match registered(&record) {
                Ok(Some(folder)) => folder,
                // Another sweep removed it.
                Ok(None) => continue,
                Err(source) => {
                    failed.get_or_insert_with(|| EngineError::io("read", &record)(source));
                    continue;
                }
            };
            // A drive that is not there now may come back with a file: its record stays.
            if !folder.exists() && !folder.parent().is_some_and(Path::exists) {
                continue;
            }
            let has_left = sweep_folder(&folder, &|_| None, failed);
            // A file may have got a name there, and found the record, before that was removed.
            if !has_left
                && fs::remove_file(&record).is_ok()
                && sweep_folder(&folder, &|_| None, failed)
                && let Err(error) = self.register(&folder)
            {
                failed.get_or_insert_with(|| EngineError::io("register", &folder)(error));
            }
        }
    }
}

/// Reads the folder that a record names; `None` where there is no such record.
fn registered(record: &Path) -> io::Result<Option<PathBuf>> {
    let Some(bytes) = read_bounded(record, PATH_BYTES_MAX)? else { return Ok(None) };
    let folder = path_of(bytes);
    if folder.is_absolute() {
        Ok(Some(folder))
    } else {
        Err(io::Error::new(ErrorKind::InvalidData, "it names no folder; remove it"))
    }
}

#[cfg(unix)]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(<OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes))
}

#[cfg(not(unix))]
fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from(String::from_utf8_lossy(&bytes).into_owned()))
}

/// The folders in which temporary files may be, and how to know those outside of the data directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leftovers {
    pub(crate) data: Option<PathBuf>,
    /// The system's temporary folder.
    pub(crate) temp: Option<PathBuf>,
    pub(crate) files: TempFiles,
}

impl Leftovers {
    /// Removes every temporary file and folder that a dead process left; those of living ones are locked, and stay.
    ///
    /// # Errors
    /// `Io` where one stays, after all others were tried.
    pub(crate) fn sweep(&self) -> Result<()> {
        let mut failed = None;
        self.sweep_own(&|_| Some(DEPTH_MAX), &mut failed);
        self.files.sweep_registered(&mut failed);
        failed.map_or(Ok(()), Err)
    }

    /// The same where that is cheap, for the start of a command: neither below `ledgers`, which has a folder for each, nor in folders
    /// of users and clients, which may have any number of names.
    pub(crate) fn sweep_at_start(&self) {
        let mut failed = None;
        self.sweep_own(&|name| Some(usize::from(name == "run")), &mut failed);
        if let Some(error) = failed {
            tracing::debug!(%error, "a temporary file stays");
        }
    }

    fn sweep_own(&self, below: &dyn Fn(&OsStr) -> Option<usize>, failed: &mut Option<EngineError>) {
        if let Some(data) = &self.data {
            sweep_folder(data, below, failed);
            // A restore of before had a name that says nothing here. One that is still under way stays.
            let former = SqliteStore::clear_former_restore(&data.join("store"), &SqliteOptions::default());
            if let Err(error) = former.or_else(|error| match error {
                StoreError::Locked { .. } => Ok(()),
                error => Err(error),
            }) {
                failed.get_or_insert(error.into());
            }
        }
        let temp = self.temp.as_ref().map(|temp| private_path(temp, FOLDER));
        if let Some(temp) = temp.filter(|temp| is_ours(temp)) {
            sweep_folder(&temp, &|_| None, failed);
        }
    }
}

/// Removes what dead processes left in a folder. `below` says of a folder in it how many levels below that are swept too, and of none
/// that it is not entered. Returns whether something stays, also where that cannot be known.
pub(crate) fn sweep_folder(
    folder: &Path,
    below: &dyn Fn(&OsStr) -> Option<usize>,
    failed: &mut Option<EngineError>,
) -> bool {
    let entries = match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return false,
        entries => entries.map_err(EngineError::io("list", folder)),
    };
    let swept = entries.and_then(|entries| {
        let mut stays = false;
        for (number, entry) in entries.enumerate() {
            if number == LISTED_MAX {
                let more = io::Error::other(format!("it has more than {LISTED_MAX} names"));
                return Err(EngineError::io("list", folder)(more));
            }
            let entry = entry.map_err(EngineError::io("list", folder))?;
            let path = entry.path();
            if !is_temporary(&entry.file_name().to_string_lossy()) {
                // A link to a folder is not followed: what it leads to is not ours.
                let levels =
                    below(&entry.file_name()).filter(|_| entry.file_type().is_ok_and(|kind| kind.is_dir()));
                stays |= levels.is_some_and(|levels| sweep_folder(&path, &|_| levels.checked_sub(1), failed));
                continue;
            }
            stays |= !remove_unlocked(&path).unwrap_or_else(|source| {
                failed.get_or_insert_with(|| EngineError::io("remove", &path)(source));
                false
            });
        }
        Ok(stays)
    });
    swept.unwrap_or_else(|error| {
        failed.get_or_insert(error);
        true
    })
}

impl TempFile {
    /// Returns the file.
    pub fn as_file(&self) -> &File {
        match &self.kind {
            #[cfg(target_os = "linux")]
            Kind::Unnamed(file) => file,
            Kind::Named(file) => file.as_file(),
        }
    }

    /// Returns a path by which this process can read it.
    pub fn path(&self) -> PathBuf {
        match &self.kind {
            #[cfg(target_os = "linux")]
            Kind::Unnamed(file) => within_process(file),
            Kind::Named(file) => file.path().to_owned(),
        }
    }

    /// Gives it a name that nothing has, on the same disk.
    ///
    /// # Errors
    /// `AlreadyExists`; the system's own.
    pub fn name_new(self, path: &Path) -> io::Result<()> {
        match self.kind {
            #[cfg(target_os = "linux")]
            Kind::Unnamed(file) => link(&file, path),
            Kind::Named(file) => file.persist_noclobber(path).map(drop).map_err(|error| error.error),
        }
    }

    /// Gives it a name in the place of what has it.
    ///
    /// # Errors
    /// The system's own.
    pub fn name_over(self, path: &Path) -> io::Result<()> {
        match self.kind {
            #[cfg(target_os = "linux")]
            Kind::Unnamed(file) => match link(&file, path) {
                // A file without a name cannot take one over: for a moment it has one of its own.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    // An empty locked file keeps the folder's record until the rename: a sweep between `register` and `link` would find
                    // nothing there and remove the record, and the file that gets its name next is already complete.
                    let is_known = self.files.registry.is_some();
                    let _registered = is_known.then(|| self.files.create_named(&self.folder)).transpose()?;
                    // Where nothing can be locked no sweep removes anything.
                    let _unlockable = file.try_lock();
                    let linked = named().make_in(&self.folder, |name| link(&file, name))?;
                    linked.persist(path).map_err(|error| error.error)
                }
                done => done,
            },
            Kind::Named(file) => file.persist(path).map(drop).map_err(|error| error.error),
        }
    }
}

impl Write for TempFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.as_file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TempFolder {
    /// Makes a folder for its owner alone in another one.
    ///
    /// # Errors
    /// The system's own.
    pub fn create(parent: &Path) -> io::Result<Self> {
        for _ in 0..NAMES_MAX {
            let mut builder = named();
            #[cfg(unix)]
            builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o700));
            let folder = builder.tempdir_in(parent)?;
            let lock = match File::open(folder.path()) {
                // A sweep removed it.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                // Where folders cannot be opened, as on Windows, no sweep can take them either.
                opened => opened.ok(),
            };
            if lock.as_ref().map_or(Ok(true), |lock| hold_temporary(lock, folder.path()))? {
                return Ok(Self { folder, _lock: lock, _above: None });
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Makes one in our own folder of the system's temporary folder, where a sweep need not look at the files of others.
    ///
    /// # Errors
    /// `Io` where the folder is not there, or is another user's.
    pub fn in_temp(temp: &Path) -> io::Result<Self> {
        for _ in 0..NAMES_MAX {
            let made = private_folder(temp, FOLDER).and_then(|above| Ok((Self::create(&above)?, above)));
            match made {
                // Another process removed the folder, since nothing was in it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                made => return made.map(|(made, above)| Self { _above: Some(EmptyFolder(above)), ..made }),
            }
        }
        Err(ErrorKind::NotFound.into())
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn named() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY.0).suffix(TEMPORARY.1);
    builder
}

/// Creates a file without a name. Returns `None` where the file system cannot do that, and where the system has no `/proc`, by which
/// the file gets its name later.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(folder, flags, Mode::RUSR | Mode::WUSR).ok()?);
    within_process(&file).exists().then_some(file)
}

#[cfg(target_os = "linux")]
fn within_process(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, within_process(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(test)]
mod tests;
