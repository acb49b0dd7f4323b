//! Files that have no name until they are whole, so that a killed process leaves nothing of them; and the sweep of what is left
//! where a file system, or the replacing of another file, asks for a name all the same.
//!
//! Whoever writes under a temporary name holds a lock on it. A name without a lock is what a dead process left.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use stemmata_store::{Files as _, SystemFiles, is_temporary, remove_unlocked, write_file};
use tempfile::NamedTempFile;

use crate::error::{EngineError, Result};

const PREFIX: &str = ".stemma-";
const SUFFIX: &str = ".tmp";

/// Bytes that are gathered before they are written.
const WRITE_BYTES: usize = 256 * 1024;

/// Times that a temporary name is taken anew, where a sweep removed it before it was locked.
const NAMES_MAX: u32 = 8;

/// Bytes of a folder's path at most.
const PATH_BYTES_MAX: u64 = 64 * 1024;

/// Names of one folder that a sweep looks at.
const LISTED_MAX: usize = 100_000;

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
    fn create_named(&self, folder: &Path) -> io::Result<NamedTempFile> {
        for _ in 0..NAMES_MAX {
            let file = named().tempfile_in(folder)?;
            if is_held(file.as_file(), file.path()) {
                // Still empty.
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
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = self.create(folder).map_err(&failed)?;
        let mut out = BufWriter::with_capacity(WRITE_BYTES, &mut file);
        let value = write(&mut out)?;
        out.flush().map_err(&failed)?;
        drop(out);
        file.as_file().sync_all().and_then(|()| file.name_over(path)).map_err(&failed)?;
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
        for record in SystemFiles.list(registry).unwrap_or_default().into_iter().take(LISTED_MAX) {
            let record = registry.join(record);
            let Ok(Some(bytes)) = stemmata_store::read_bounded(&record, PATH_BYTES_MAX) else { continue };
            let Ok(path) = String::from_utf8(bytes) else { continue };
            let folder = PathBuf::from(path);
            let has_left = sweep_folder(&folder, failed);
            if !has_left && folder.is_absolute() && fs::remove_file(&record).is_ok() {
                // A file may have got a name there, and found the record, before that was removed.
                if sweep_folder(&folder, failed) {
                    let _tried_again_by_its_owner = self.register(&folder);
                }
            }
        }
    }
}

/// The folders in which temporary files may be, and how to know those outside of the data directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leftovers {
    pub(crate) data: Option<PathBuf>,
    /// The system's temporary folder, and that of large outputs in it.
    pub(crate) temp: Vec<PathBuf>,
    pub(crate) files: TempFiles,
}

impl Leftovers {
    /// Removes every temporary file and folder that a dead process left; those of living ones are locked, and stay.
    ///
    /// # Errors
    /// `Io` where one stays, after all others were tried.
    pub(crate) fn sweep(&self) -> Result<()> {
        self.sweep_all(&[("", DEPTH_MAX)])
    }

    /// The same where that is cheap, for the start of a command: not below `ledgers`, which has a folder for each.
    pub(crate) fn sweep_at_start(&self) {
        if let Err(error) = self.sweep_all(&[("", 1), ("run", 1)]) {
            tracing::debug!(%error, "a temporary file stays");
        }
    }

    fn sweep_all(&self, below: &[(&str, usize)]) -> Result<()> {
        let mut failed = None;
        for (data, (folder, depth)) in
            self.data.iter().flat_map(|data| below.iter().map(move |walk| (data, walk)))
        {
            sweep_tree(&data.join(folder), *depth, &mut failed);
        }
        for folder in &self.temp {
            sweep_folder(folder, &mut failed);
        }
        self.files.sweep_registered(&mut failed);
        failed.map_or(Ok(()), Err)
    }
}

fn sweep_tree(folder: &Path, depth: usize, failed: &mut Option<EngineError>) {
    sweep_folder(folder, failed);
    let Some(depth) = depth.checked_sub(1) else { return };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(LISTED_MAX) {
        // A link is none: what is behind it is not ours.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            sweep_tree(&entry.path(), depth, failed);
        }
    }
}

/// Removes what dead processes left in a folder. Returns whether something stays.
pub(crate) fn sweep_folder(folder: &Path, failed: &mut Option<EngineError>) -> bool {
    let mut stays = false;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(LISTED_MAX);
    for entry in entries.filter(|entry| is_temporary(&entry.file_name().to_string_lossy())) {
        match remove_unlocked(&entry.path()) {
            Ok(is_gone) => stays |= !is_gone,
            Err(source) => {
                stays = true;
                failed.get_or_insert_with(|| EngineError::io("remove", &entry.path())(source));
            }
        }
    }
    stays
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
                    file.try_lock().map_err(io::Error::from)?;
                    self.files.register(&self.folder)?;
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
            let folder = named().tempdir_in(parent)?;
            // Where folders cannot be opened, as on Windows, no sweep can take them either.
            let lock = File::open(folder.path()).ok();
            if lock.as_ref().is_none_or(|lock| is_held(lock, folder.path())) {
                return Ok(Self { folder, _lock: lock });
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn named() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    builder
}

/// Locks what was just made; no, where a sweep removed it before. Where nothing can be locked no sweep removes anything.
fn is_held(file: &File, path: &Path) -> bool {
    let _unlockable = file.try_lock();
    path.symlink_metadata().is_ok()
}

/// Creates a file without a name; none where the file system, or a system without `/proc`, has no such.
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
