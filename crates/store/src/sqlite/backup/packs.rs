//! The pack files that a database names: taking them over, by link where the disk allows it.
//!
//! What is in a pack is not looked at here, only whether its bytes have the hash that it is named by.

use std::fs;
use std::io;
use std::path::Path;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::files::{Files, copy, each_part};
use crate::sqlite::failure::{During, io_error};
use crate::sqlite::open::sync_directory;

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

/// Returns the packs that a database names.
pub(in crate::sqlite) fn listed(connection: &Connection) -> Result<Vec<PackFile>, StoreError> {
    const LISTING: &str = "listing the packs";
    connection.during(LISTING).list("SELECT name, bytes FROM pack ORDER BY row", [], |row| {
        Ok(PackFile { name: row.get(0)?, bytes: row.get::<_, i64>(1)?.cast_unsigned() })
    })
}

impl PackFile {
    /// Says whether a folder has it, whole.
    pub(in crate::sqlite) fn is_sound(&self, files: &dyn Files, folder: &Path) -> Result<bool, StoreError> {
        let path = folder.join(self.file());
        match hash(files, &path) {
            Ok(hash) => Ok(hash == self.name),
            // Missing, or a link in its place.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidInput) => {
                Ok(false)
            }
            Err(source) => Err(io_error("reading", &path, source)),
        }
    }

    /// Puts the one of another folder in the place of one that is missing or damaged, if it is sound itself.
    pub(in crate::sqlite) fn replace(
        &self,
        files: &dyn Files,
        from: &Path,
        into: &Path,
    ) -> Result<bool, StoreError> {
        crate::sqlite::open::make_directory(files, into)?;
        let (from, to) = (from.join(self.file()), into.join(self.file()));
        let temporary = into.join(format!("{}.mending", self.file()));
        if temporary.exists() {
            files.remove(&temporary).map_err(|source| io_error("removing", &temporary, source))?;
        }
        copy(files, &from, &temporary).map_err(|source| io_error("copying", &from, source))?;
        if self.hold(files, &temporary, Got::Copied)? == Got::Damaged {
            return Ok(false);
        }
        files.rename(&temporary, &to).map_err(|source| io_error("naming", &to, source))?;
        sync_directory(files, into)?;
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
    pub(super) fn take(&self, files: &dyn Files, from: &Path, into: &Path) -> Result<Got, StoreError> {
        let (from, to) = (from.join(self.file()), into.join(self.file()));
        if to.exists() {
            files.remove(&to).map_err(|source| io_error("removing", &to, source))?;
        }
        if files.link(&from, &to).is_ok() {
            return self.hold(files, &to, Got::Linked);
        }
        match copy(files, &from, &to) {
            Ok(()) => self.hold(files, &to, Got::Copied),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Got::Missing),
            Err(source) => Err(io_error("copying", &from, source)),
        }
    }

    fn hold(&self, files: &dyn Files, taken: &Path, got: Got) -> Result<Got, StoreError> {
        if hash(files, taken).map_err(|source| io_error("reading", taken, source))? == self.name {
            return Ok(got);
        }
        files.remove(taken).map_err(|source| io_error("removing", taken, source))?;
        Ok(Got::Damaged)
    }
}

fn hash(files: &dyn Files, path: &Path) -> io::Result<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    each_part(files.open(path)?.as_ref(), |part| {
        hasher.update(part);
        Ok(())
    })?;
    Ok(*hasher.finalize().as_bytes())
}

/// Moves packs into the folder of an earlier backup.
pub(super) fn publish(files: &dyn Files, from: &Path, into: &Path) -> Result<(), StoreError> {
    crate::sqlite::open::make_directory(files, into)?;
    for name in files.list(from).map_err(|source| io_error("listing", from, source))? {
        let (path, to) = (from.join(&name), into.join(&name));
        files.rename(&path, &to).map_err(|source| io_error("moving", &path, source))?;
    }
    sync_directory(files, into)
}

/// Removes the packs of a backup that its database does not name any more.
pub(super) fn remove_others(files: &dyn Files, folder: &Path, kept: &[PackFile]) -> Result<(), StoreError> {
    let kept: std::collections::HashSet<String> = kept.iter().map(PackFile::file).collect();
    for name in files.list(folder).map_err(|source| io_error("listing", folder, source))? {
        let path = folder.join(&name);
        if path.extension().is_some_and(|own| own == "pack") && !kept.contains(&name) {
            files.remove(&path).map_err(|source| io_error("removing", &path, source))?;
        }
    }
    Ok(())
}
