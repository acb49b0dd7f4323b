//! Files in the folder of packs that no row names: those that were replaced, and what a crash left.
//!
//! Only who holds the lock of packs removes any: a file that another process is about to name is none of these.

use std::collections::BTreeSet;
use std::io;

use rusqlite::Connection;

use super::{Packs, UNNAMED};
use crate::error::StoreError;
use crate::pack::PackName;
use crate::sqlite::Maintained;
use crate::sqlite::failure::{During, io_error};
use crate::sqlite::marks::DOOMED;

const LOOKING: &str = "looking for packs that are to be removed";

/// Removes every pack file that no row names, and the marks of those that were to be removed. The caller holds
/// the lock of packs. Returns how many files went.
pub(in crate::sqlite) fn remove_leftovers(store: &Maintained<'_>) -> Result<u64, StoreError> {
    let packs = store.packs;
    let (named, doomed) =
        store.pool.reader()?.within_read(|connection| Ok((names(connection)?, doomed(connection)?)))?;
    let mut removed = 0;
    for file in packs.list()? {
        let is_left = match PackName::of_file(&file) {
            Some(name) => !named.contains(&name),
            None => file == UNNAMED,
        };
        if is_left {
            match PackName::of_file(&file) {
                Some(name) => packs.remove(name)?,
                None => packs.remove_file(&file)?,
            }
            removed += 1;
        }
    }
    if removed > 0 {
        packs.sync()?;
    }
    for name in &doomed {
        packs.let_go(*name);
    }
    if !doomed.is_empty() {
        // Only now that the files are gone for good.
        store.group.maintain(|connection| {
            for name in &doomed {
                connection
                    .during(LOOKING)
                    .run("DELETE FROM mark WHERE kind = ?1 AND key = ?2", (DOOMED, name.0.as_slice()))?;
            }
            Ok(())
        })?;
    }
    Ok(removed)
}

/// Finishes what a crash left, where nobody else is at it: for opening a store. Costs two looks where there is
/// nothing to do; packs that no row names are left to whoever packs, forgets or collects next.
pub(in crate::sqlite) fn finish_removal(store: &Maintained<'_>) -> Result<(), StoreError> {
    let is_due = store.packs.has(UNNAMED) || !store.pool.reader()?.within_read(doomed)?.is_empty();
    if is_due { remove_unless_busy(store) } else { Ok(()) }
}

/// Removes what a crash left, where there is more in the folder than rows name.
pub(super) fn remove_strays(store: &Maintained<'_>) -> Result<(), StoreError> {
    let named = store.pool.reader()?.within_read(names)?.len();
    let is_pack = |file: &String| *file == UNNAMED || PackName::of_file(file).is_some();
    let there = store.packs.list()?.iter().filter(|file| is_pack(file)).count();
    if there > named { remove_unless_busy(store) } else { Ok(()) }
}

fn remove_unless_busy(store: &Maintained<'_>) -> Result<(), StoreError> {
    if let Some(_lock) = store.packs.lock()? {
        remove_leftovers(store)?;
    }
    Ok(())
}

fn names(connection: &Connection) -> Result<BTreeSet<PackName>, StoreError> {
    connection.during(LOOKING).list("SELECT name FROM pack", [], |row| Ok(PackName(row.get(0)?)))
}

fn doomed(connection: &Connection) -> Result<Vec<PackName>, StoreError> {
    let sql = "SELECT key FROM mark WHERE kind = ?1";
    connection.during(LOOKING).list(sql, [DOOMED], |row| Ok(PackName(row.get(0)?)))
}

impl Packs {
    /// Returns the names of files in the folder; none where there is no folder.
    pub(in crate::sqlite) fn list(&self) -> Result<Vec<String>, StoreError> {
        match self.files.list(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            listed => listed.map_err(|source| io_error("listing", &self.folder, source)),
        }
    }

    fn has(&self, file: &str) -> bool {
        self.files.open(&self.folder.join(file)).is_ok()
    }

    fn remove_file(&self, file: &str) -> Result<(), StoreError> {
        let path = self.folder.join(file);
        self.files.remove(&path).map_err(|source| io_error("removing", &path, source))
    }

    fn sync(&self) -> Result<(), StoreError> {
        let synced = self.files.sync_directory(&self.folder);
        synced.map_err(|source| io_error("syncing", &self.folder, source))
    }
}
