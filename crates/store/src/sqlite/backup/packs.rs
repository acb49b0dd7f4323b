//! The pack files that a database names: taking them over, by link where the disk allows it.
//!
//! What is in a pack is not looked at here, only whether its bytes have the hash that it is named by.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use crate::error::StoreError;
use crate::sqlite::failure::During;
use crate::sqlite::open::{io_error, sync_directory};

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// A pack file that a database names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sqlite) struct PackFile {
    name: [u8; 32],
    pub(super) bytes: u64,
}

/// How a pack came over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Got {
    Linked,
    Copied,
    Missing,
    Damaged,
}

/// Returns the packs that a database names; none from a format without packs.
pub(in crate::sqlite) fn listed(connection: &Connection) -> Result<Vec<PackFile>, StoreError> {
    const LISTING: &str = "listing the packs";
    let known: Option<i64> = connection
        .query_row("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'pack'", [], |row| row.get(0))
        .optional()
        .during(LISTING)?;
    if known.is_none() {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare("SELECT name, bytes FROM pack ORDER BY row").during(LISTING)?;
    let packs = statement.query_map([], |row| {
        Ok(PackFile { name: row.get(0)?, bytes: row.get::<_, i64>(1)?.cast_unsigned() })
    });
    packs.during(LISTING)?.collect::<rusqlite::Result<_>>().during(LISTING)
}

impl PackFile {
    /// Says whether a folder has it, whole.
    pub(in crate::sqlite) fn is_sound(&self, folder: &Path) -> Result<bool, StoreError> {
        let path = folder.join(self.file());
        match hash(&path) {
            Ok(hash) => Ok(hash == self.name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(io_error("reading", &path, source)),
        }
    }

    /// Puts the one of another folder in the place of one that is missing or damaged, if it is sound itself.
    pub(in crate::sqlite) fn replace(&self, from: &Path, into: &Path) -> Result<bool, StoreError> {
        crate::sqlite::open::make_directory(into)?;
        let (from, to) = (from.join(self.file()), into.join(self.file()));
        let temporary = into.join(format!("{}.mending", self.file()));
        if temporary.exists() {
            fs::remove_file(&temporary).map_err(|source| io_error("removing", &temporary, source))?;
        }
        copy(&from, &temporary).map_err(|source| io_error("copying", &from, source))?;
        if self.hold(&temporary, Got::Copied)? == Got::Damaged {
            return Ok(false);
        }
        fs::rename(&temporary, &to).map_err(|source| io_error("naming", &to, source))?;
        sync_directory(into)?;
        Ok(true)
    }

    /// Returns its file name.
    pub(in crate::sqlite) fn file(&self) -> String {
        format!("{}.pack", blake3::Hash::from_bytes(self.name).to_hex())
    }

    /// Says whether a folder of an earlier backup has it. Its hash was held when it came there.
    pub(super) fn is_in(&self, folder: &Path) -> bool {
        fs::metadata(folder.join(self.file())).is_ok_and(|metadata| metadata.len() == self.bytes)
    }

    /// Takes it from one folder into another, and holds what arrived to its name.
    pub(super) fn take(&self, from: &Path, into: &Path) -> Result<Got, StoreError> {
        let (from, to) = (from.join(self.file()), into.join(self.file()));
        if to.exists() {
            fs::remove_file(&to).map_err(|source| io_error("removing", &to, source))?;
        }
        if fs::hard_link(&from, &to).is_ok() {
            return self.hold(&to, Got::Linked);
        }
        match copy(&from, &to) {
            Ok(()) => self.hold(&to, Got::Copied),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Got::Missing),
            Err(source) => Err(io_error("copying", &from, source)),
        }
    }

    fn hold(&self, taken: &Path, got: Got) -> Result<Got, StoreError> {
        if hash(taken).map_err(|source| io_error("reading", taken, source))? == self.name {
            return Ok(got);
        }
        fs::remove_file(taken).map_err(|source| io_error("removing", taken, source))?;
        Ok(Got::Damaged)
    }
}

/// Copies a file for its owner only, durably.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut copy = options.open(to)?;
    let copied = io::copy(&mut source, &mut copy).and_then(|_| copy.flush()).and_then(|()| copy.sync_all());
    if copied.is_err() {
        // What is half there must not be taken for the whole; the first error is the one to tell.
        let _removed = fs::remove_file(to);
    }
    copied
}

fn hash(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(*hasher.finalize().as_bytes());
        }
        hasher.update(buffer.get(..read).unwrap_or_default());
    }
}

/// Moves packs into the folder of an earlier backup.
pub(super) fn publish(from: &Path, into: &Path) -> Result<(), StoreError> {
    crate::sqlite::open::make_directory(into)?;
    let listing = |source| io_error("listing", from, source);
    for entry in fs::read_dir(from).map_err(listing)? {
        let path = entry.map_err(listing)?.path();
        let to = into.join(path.file_name().unwrap_or_default());
        fs::rename(&path, &to).map_err(|source| io_error("moving", &path, source))?;
    }
    sync_directory(into)
}

/// Removes the packs of a backup that its database does not name any more.
pub(super) fn remove_others(folder: &Path, kept: &[PackFile]) -> Result<(), StoreError> {
    let kept: std::collections::HashSet<String> = kept.iter().map(PackFile::file).collect();
    let listing = |source| io_error("listing", folder, source);
    for entry in fs::read_dir(folder).map_err(listing)? {
        let path = entry.map_err(listing)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|own| own == "pack") && !kept.contains(&name) {
            fs::remove_file(&path).map_err(|source| io_error("removing", &path, source))?;
        }
    }
    Ok(())
}
