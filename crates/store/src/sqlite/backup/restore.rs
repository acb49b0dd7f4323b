//! Putting a backup in the place of a store: copied, verified, then exchanged in one step.
//!
//! The backup itself is only read, so that it may lie on a disk that cannot be written.

use std::fs;
use std::path::{Path, PathBuf};

use super::staging::{self, Staging};
use super::{PACKS, beside, room};
use crate::error::StoreError;
use crate::files::{Files, copy};
use crate::maintain::backup::Restored;
use crate::seam::{Damage, Upkeep, Verified};
use crate::sqlite::SqliteStore;
use crate::sqlite::alone::Alone;
use crate::sqlite::failure::io_error;
use crate::sqlite::open::{self, STORE_FILE, SqliteOptions, not_a_store, sync_directory};
use crate::sqlite::waited;

const RESTORING: &str = "restoring";

pub(in crate::sqlite) fn restore(
    from: &Path,
    dir: &Path,
    aside: &Path,
    options: &SqliteOptions,
) -> Result<Restored, StoreError> {
    let files = options.files.as_ref();
    let dir = super::absolute(files, dir)?;
    let Ready { staging, alone, verified, is_there } = ready(from, &dir, aside, options)?;
    if !is_there {
        staging.publish(&dir)?;
        return Ok(Restored { verified, aside: None });
    }
    open::make_directory(files, aside.parent().unwrap_or(aside))?;
    staging.exchange(&alone, aside)?;
    Ok(Restored { verified, aside: Some(aside.to_owned()) })
}

impl SqliteStore {
    /// Checks that [`SqliteStore::restore`] would succeed: copies the backup and verifies the copy, then removes it. The store stays
    /// as it is; `aside` of the answer is where it would go.
    ///
    /// # Errors
    /// As [`SqliteStore::restore`].
    pub fn check_restore(
        from: &Path,
        dir: &Path,
        aside: &Path,
        options: &SqliteOptions,
    ) -> Result<Restored, StoreError> {
        check_restore(from, dir, aside, options).map_err(|error| waited(error, options))
    }

    /// Removes what a restore of an earlier version left beside a store when it was killed.
    ///
    /// # Errors
    /// `Locked` where a living process is at it; `Io`.
    pub fn clear_former_restore(dir: &Path, options: &SqliteOptions) -> Result<(), StoreError> {
        clear_former(options.files.as_ref(), dir)
    }
}

/// Removes what a restore of an earlier version left beside a store when it was killed: its name said nothing to a sweep.
///
/// # Errors
/// `Locked` where a living process is at it; `Io`.
pub(in crate::sqlite) fn clear_former(files: &dyn Files, dir: &Path) -> Result<(), StoreError> {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    staging::clear(files, &dir.with_file_name(format!(".{name}.{RESTORING}")))
}

/// Does everything that [`restore`] does before it replaces the store, and removes the copy again.
fn check_restore(
    from: &Path,
    dir: &Path,
    aside: &Path,
    options: &SqliteOptions,
) -> Result<Restored, StoreError> {
    let dir = super::absolute(options.files.as_ref(), dir)?;
    let Ready { verified, is_there, .. } = ready(from, &dir, aside, options)?;
    Ok(Restored { verified, aside: is_there.then(|| aside.to_owned()) })
}

/// A verified copy of a backup beside the store that it is to replace.
struct Ready<'a> {
    staging: Staging<'a>,
    /// Keeps others out until the store is replaced.
    alone: Alone,
    verified: Verified,
    /// Whether there is a store to replace.
    is_there: bool,
}

fn ready<'a>(
    from: &Path,
    dir: &Path,
    aside: &Path,
    options: &'a SqliteOptions,
) -> Result<Ready<'a>, StoreError> {
    let from = fs::canonicalize(from).map_err(|source| io_error("opening", from, source))?;
    let parts = refuse(&from, dir, aside)?;
    // From the beginning: what others wrote while the backup is copied would be moved aside with the store.
    let alone = Alone::take(dir, options)?;
    let staging = staged(options.files.as_ref(), &from, dir, &parts)?;
    let verified = verified(staging.path(), &from, options)?;
    let is_there = dir.read_dir().is_ok_and(|mut entries| entries.next().is_some());
    Ok(Ready { staging, alone, verified, is_there })
}

/// Puts a backup in the place of a store as it is, in the version that it has.
pub(in crate::sqlite) fn exchange(
    files: &dyn Files,
    from: &Path,
    alone: &Alone,
    aside: &Path,
) -> Result<(), StoreError> {
    let from = fs::canonicalize(from).map_err(|source| io_error("opening", from, source))?;
    let parts = refuse(&from, alone.dir(), aside)?;
    staged(files, &from, alone.dir(), &parts)?.exchange(alone, aside)
}

/// Copies a backup beside the store that it is to replace.
fn staged<'a>(
    files: &'a dyn Files,
    from: &Path,
    dir: &Path,
    parts: &[StoreFile],
) -> Result<Staging<'a>, StoreError> {
    let staging = beside(files, dir, RESTORING)?;
    room::check(staging.path(), parts.iter().map(|part| part.bytes).sum())?;
    let packs = staging.make_folder(PACKS)?;
    for part in parts {
        let to = staging.path().join(&part.name);
        copy(files, &from.join(&part.name), &to).map_err(|source| io_error("copying", &to, source))?;
    }
    sync_directory(files, &packs)?;
    Ok(staging)
}

/// Returns the files of a backup, unless it is none or cannot take the store's place.
fn refuse(from: &Path, dir: &Path, aside: &Path) -> Result<Vec<StoreFile>, StoreError> {
    let parts = files_of(from)?;
    let reason = if from.starts_with(dir) || dir.starts_with(from) {
        "the backup is the store itself, or within it, or around it"
    } else if aside.exists() {
        "the name that the present store would be moved to is taken"
    } else {
        return Ok(parts);
    };
    Err(StoreError::Refused { what: RESTORING, path: from.display().to_string(), reason: reason.to_owned() })
}

/// A file of a store, by its path within it.
struct StoreFile {
    name: PathBuf,
    bytes: u64,
}

/// Returns the files that a store is made of: the database, its log where it has one, its packs.
fn files_of(dir: &Path) -> Result<Vec<StoreFile>, StoreError> {
    let mut names = vec![PathBuf::from(STORE_FILE)];
    match fs::metadata(dir.join(STORE_FILE)) {
        // SQLite takes it for a new database.
        Ok(metadata) if metadata.len() == 0 => {
            return Err(not_a_store(&dir.join(STORE_FILE), &"it is empty"));
        }
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) | Err(_) => return Err(not_a_store(&dir.join(STORE_FILE), &"there is no such file")),
    }
    let log = PathBuf::from(format!("{STORE_FILE}-wal"));
    names.extend(dir.join(&log).is_file().then_some(log));
    if let Ok(entries) = fs::read_dir(dir.join(PACKS)) {
        for entry in entries {
            let entry = entry.map_err(|source| io_error("listing", dir, source))?;
            let name = PathBuf::from(PACKS).join(entry.file_name());
            names.extend(name.extension().is_some_and(|own| own == "pack").then_some(name));
        }
    }
    let file = |name: PathBuf| {
        let metadata = fs::metadata(dir.join(&name)).map_err(|source| io_error("reading", dir, source))?;
        Ok(StoreFile { bytes: metadata.len(), name })
    };
    names.into_iter().map(file).collect()
}

/// Opens the copy, which brings it up to this version, and verifies all of it.
fn verified(copy: &Path, from: &Path, options: &SqliteOptions) -> Result<Verified, StoreError> {
    let store = SqliteStore::open(copy, options.clone())?;
    sound(from, |found| store.verify(found))
}

/// Verifies a store, and fails with the first damage where there is any.
pub(in crate::sqlite) fn sound(
    path: &Path,
    verify: impl FnOnce(&mut dyn FnMut(Damage)) -> Result<Verified, StoreError>,
) -> Result<Verified, StoreError> {
    let (mut damages, mut first) = (0, String::new());
    let verified = verify(&mut |damage| {
        if damages == 0 {
            first = format!("{}: {}", damage.object, damage.message);
        }
        damages += 1;
    })?;
    if damages > 0 {
        return Err(StoreError::Damaged { path: path.display().to_string(), damages, first });
    }
    Ok(verified)
}
