//! The files of a vault: one of values, one with its key, both its owner's alone, and a lock.
//!
//! Values are appended. What is removed is left out of a new file under a new key, so that what remains of the old one on a
//! disk opens for nobody. A file and its key share a number; the highest number with values counts, and what an
//! interruption left of others is removed by whoever writes next.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::frame::{CHECK_BYTES, HEADER_BYTES, Header, Keys, MAGIC};
use super::{Vault, VaultError};

/// Bytes of a file of values at most.
pub(super) const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Names of a vault's folder that are looked at.
const NAMES_MAX: usize = 1_000;

/// Bytes before the first record.
const START_BYTES: u64 = (MAGIC.len() + CHECK_BYTES) as u64;

/// What others than the owner may do, in a mode.
const OTHERS: u32 = 0o077;

const VALUES: &str = "values-";
const KEY: &str = "key-";
/// The end of the name of a file that is not whole yet.
const UNFINISHED: &str = ".new";

/// A vault's folder, held by this process: alone for writing, with others for reading.
pub(super) struct Held {
    folder: PathBuf,
    _lock: File,
}

/// A file of values that is open, with its keys.
pub(super) struct Open {
    number: u32,
    path: PathBuf,
    file: File,
    pub(super) keys: Keys,
    /// The open parts of its records, with where their sealed parts begin.
    pub(super) records: Vec<(Header, u64)>,
    /// Where the last whole record ends.
    end: u64,
}

impl Held {
    /// Holds a vault's folder for writing; makes it where it is not there. Removes what an interruption left; a hook, which
    /// has no time for that, is refused.
    pub(super) fn to_write(vault: &Vault) -> Result<Self, VaultError> {
        let folder = &vault.folder;
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(VaultError::io("create", folder))?;
        check_private(folder)?;
        let held = Self { folder: folder.to_owned(), _lock: locked(vault, File::try_lock)? };
        if !vault.leaves_remains {
            held.clean()?;
        } else if let Some(path) = held.leftovers()?.pop() {
            return Err(VaultError::Unfinished { path });
        }
        Ok(held)
    }

    /// Holds a vault's folder for reading; none where there is none.
    pub(super) fn to_read(vault: &Vault) -> Result<Option<Self>, VaultError> {
        let folder = &vault.folder;
        if !folder.exists() {
            return Ok(None);
        }
        check_private(folder)?;
        let lock = locked(vault, File::try_lock_shared)?;
        Ok(Some(Self { folder: folder.to_owned(), _lock: lock }))
    }

    /// Opens the values; none where nothing was kept.
    pub(super) fn open(&self) -> Result<Option<Open>, VaultError> {
        self.current()?.map(|number| self.open_number(number)).transpose()
    }

    /// Opens the values to add some, and makes their file the first time.
    pub(super) fn open_or_make(&self) -> Result<Open, VaultError> {
        match self.current()? {
            Some(number) => self.open_number(number),
            None => self.make(1, |_| Ok(())),
        }
    }

    /// Has a new file under a new key stand for the old one: `fill` writes what is kept. The old file and key are gone when
    /// this returns.
    pub(super) fn replace(
        &self,
        old: &Open,
        fill: impl FnOnce(&mut Filling<'_>) -> Result<(), VaultError>,
    ) -> Result<(), VaultError> {
        self.make(old.number.saturating_add(1), fill)?;
        self.clean()
    }

    /// Removes all values and their key.
    pub(super) fn remove_all(&self) -> Result<(), VaultError> {
        // From here on the values do not count, whatever of them and of their key an interruption leaves.
        for (number, path) in self.numbered(VALUES)? {
            let gone = self.folder.join(format!("{VALUES}{number:08}{UNFINISHED}"));
            std::fs::rename(&path, &gone).map_err(VaultError::io("rename", &path))?;
        }
        self.sync()?;
        self.clean()
    }

    fn current(&self) -> Result<Option<u32>, VaultError> {
        Ok(self.numbered(VALUES)?.into_iter().map(|(number, _)| number).max())
    }

    fn make(
        &self,
        number: u32,
        fill: impl FnOnce(&mut Filling<'_>) -> Result<(), VaultError>,
    ) -> Result<Open, VaultError> {
        let mut secret = [0; 32];
        random(&mut secret)?;
        let key_path = self.path(KEY, number);
        let mut key = create(&key_path)?;
        key.write_all(&secret).and_then(|()| key.sync_all()).map_err(VaultError::io("write", &key_path))?;
        let keys = Keys::of(&secret);
        let path = self.path(VALUES, number);
        let unfinished = self.folder.join(format!("{VALUES}{number:08}{UNFINISHED}"));
        let mut output = create(&unfinished)?;
        output
            .write_all(&[MAGIC.as_slice(), keys.check()].concat())
            .map_err(VaultError::io("write", &unfinished))?;
        fill(&mut Filling { keys: &keys, file: &mut output, path: &unfinished })?;
        output.sync_all().map_err(VaultError::io("sync", &unfinished))?;
        // The key is durable before values under it count.
        self.sync()?;
        std::fs::rename(&unfinished, &path).map_err(VaultError::io("rename", &unfinished))?;
        self.sync()?;
        self.open_number(number)
    }

    fn open_number(&self, number: u32) -> Result<Open, VaultError> {
        let key_path = self.path(KEY, number);
        check_private(&key_path)?;
        let mut secret = [0; 32];
        File::open(&key_path)
            .and_then(|mut file| file.read_exact(&mut secret))
            .map_err(VaultError::io("read the key", &key_path))?;
        let keys = Keys::of(&secret);
        let path = self.path(VALUES, number);
        check_private(&path)?;
        let mut file =
            OpenOptions::new().read(true).write(true).open(&path).map_err(VaultError::io("open", &path))?;
        let mut start = [0; MAGIC.len() + CHECK_BYTES];
        file.read_exact(&mut start).map_err(VaultError::io("read", &path))?;
        if start.first_chunk() != Some(MAGIC) {
            return Err(VaultError::NoVault { path });
        }
        if start.last_chunk() != Some(keys.check()) {
            return Err(VaultError::WrongKey { path, key: key_path });
        }
        let (records, end) = records(&mut file).map_err(VaultError::io("read", &path))?;
        Ok(Open { number, path, file, keys, records, end })
    }

    /// Removes what an interruption left.
    fn clean(&self) -> Result<(), VaultError> {
        let left = self.leftovers()?;
        if left.is_empty() {
            return Ok(());
        }
        left.iter().try_for_each(|path| wipe(path))?;
        self.sync()
    }

    /// Returns files of lower numbers, keys of no values and files that never became whole.
    fn leftovers(&self) -> Result<Vec<PathBuf>, VaultError> {
        let current = self.current()?;
        let mut old: Vec<PathBuf> = Vec::new();
        for prefix in [KEY, VALUES] {
            let others = self.numbered(prefix)?.into_iter().filter(|(number, _)| Some(*number) != current);
            old.extend(others.map(|(_, path)| path));
        }
        old.extend(
            self.names()?
                .into_iter()
                .filter(|name| name.ends_with(UNFINISHED))
                .map(|name| self.folder.join(name)),
        );
        Ok(old)
    }

    fn numbered(&self, prefix: &str) -> Result<Vec<(u32, PathBuf)>, VaultError> {
        let names = self.names()?.into_iter();
        Ok(names
            .filter_map(|name| {
                let number = name.strip_prefix(prefix)?.parse().ok()?;
                Some((number, self.folder.join(name)))
            })
            .collect())
    }

    fn names(&self) -> Result<Vec<String>, VaultError> {
        let entries = std::fs::read_dir(&self.folder).map_err(VaultError::io("read", &self.folder))?;
        let names = entries.take(NAMES_MAX).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.collect())
    }

    fn path(&self, prefix: &str, number: u32) -> PathBuf {
        self.folder.join(format!("{prefix}{number:08}"))
    }

    fn sync(&self) -> Result<(), VaultError> {
        File::open(&self.folder)
            .and_then(|folder| folder.sync_all())
            .map_err(VaultError::io("sync", &self.folder))
    }
}

/// A new file of values on its way.
pub(super) struct Filling<'a> {
    pub(super) keys: &'a Keys,
    file: &'a mut File,
    path: &'a Path,
}

impl Filling<'_> {
    pub(super) fn push(&mut self, record: &[u8]) -> Result<(), VaultError> {
        self.file.write_all(record).map_err(VaultError::io("write", self.path))
    }
}

impl Open {
    /// Returns the sealed part of a record.
    pub(super) fn body(&mut self, header: &Header, at: u64) -> Result<Vec<u8>, VaultError> {
        let length = usize::try_from(header.body_bytes).expect("a bound of a few MiB fits");
        let mut body = vec![0; length];
        self.file
            .seek(SeekFrom::Start(at))
            .and_then(|_| self.file.read_exact(&mut body))
            .map_err(VaultError::io("read", &self.path))?;
        Ok(body)
    }

    /// Adds records, durable when this returns. What an interrupted writing left behind the last whole one is cut off.
    pub(super) fn append(&mut self, records: &[u8]) -> Result<(), VaultError> {
        let length = u64::try_from(records.len()).expect("a length fits 64 bits");
        if self.end.saturating_add(length) > FILE_BYTES_MAX {
            return Err(VaultError::Full { path: self.path.clone(), bound_bytes: FILE_BYTES_MAX });
        }
        self.file
            .set_len(self.end)
            .and_then(|()| self.file.seek(SeekFrom::Start(self.end)))
            .and_then(|_| self.file.write_all(records))
            .and_then(|()| self.file.sync_all())
            .map_err(VaultError::io("write", &self.path))?;
        self.end += length;
        Ok(())
    }

    /// Returns the length of what is whole, in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.end
    }
}

/// Reads the open parts of all whole records, and where the last one ends.
fn records(file: &mut File) -> io::Result<(Vec<(Header, u64)>, u64)> {
    let length = file.metadata()?.len();
    let mut reader = io::BufReader::new(file);
    reader.seek(SeekFrom::Start(START_BYTES))?;
    let header_bytes = u64::try_from(HEADER_BYTES).expect("a constant fits");
    let (mut records, mut at) = (Vec::new(), START_BYTES);
    let mut bytes = [0; HEADER_BYTES];
    while at.saturating_add(header_bytes) <= length {
        reader.read_exact(&mut bytes)?;
        let Some(header) = Header::decode(&bytes) else { break };
        let (body_at, body) = (at + header_bytes, u64::from(header.body_bytes));
        if body_at.saturating_add(body) > length {
            break;
        }
        records.push((header, body_at));
        at = body_at + body;
        reader.seek_relative(i64::from(header.body_bytes))?;
    }
    Ok((records, at))
}

/// Refuses what others than its owner may read or change.
fn check_private(path: &Path) -> Result<(), VaultError> {
    let metadata = std::fs::metadata(path).map_err(VaultError::io("read", path))?;
    if metadata.mode() & OTHERS == 0 {
        return Ok(());
    }
    Err(VaultError::Exposed { path: path.to_owned(), mode: metadata.mode() & 0o777 })
}

fn locked(vault: &Vault, lock: fn(&File) -> Result<(), TryLockError>) -> Result<File, VaultError> {
    let path = vault.folder.join("lock");
    let mut options = OpenOptions::new();
    let file = options.read(true).append(true).create(true).mode(0o600).open(&path);
    let file = file.map_err(VaultError::io("open", &path))?;
    let take = || match lock(&file) {
        Ok(()) => Ok(Some(())),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(VaultError::io("lock", &path)(source)),
    };
    match vault.patience.until(take)? {
        Some(()) => Ok(file),
        None => Err(VaultError::Locked { path, waited_ms: vault.patience.bound_ms() }),
    }
}

fn create(path: &Path) -> Result<File, VaultError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(VaultError::io("create", path))
}

/// Overwrites a file and removes it. Where a file system writes elsewhere what is overwritten, the old bytes stay until it
/// needs their room; without the key, which went the same way, values say nothing.
fn wipe(path: &Path) -> Result<(), VaultError> {
    let wiped = OpenOptions::new().write(true).open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        io::copy(&mut io::repeat(0).take(length), &mut file)?;
        file.sync_all()
    });
    wiped.and_then(|()| std::fs::remove_file(path)).map_err(VaultError::io("remove", path))
}

/// Fills bytes with what nobody can guess.
pub(super) fn random(bytes: &mut [u8]) -> Result<(), VaultError> {
    getrandom::fill(bytes).map_err(|error| VaultError::Random { reason: error.to_string() })
}
