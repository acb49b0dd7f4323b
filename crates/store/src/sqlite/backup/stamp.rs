//! The stamp of a backup: whose it is, and how far it goes.
//!
//! It tells a backup from a store that somebody works with, which no backup may replace.

use std::io;
use std::path::Path;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::files::{Files, read_bounded, remove_if_there};
use crate::sqlite::failure::{During, io_error};
use crate::sqlite::open::{STORE_FILE, sync_directory};

/// The stamp's file in a backup.
pub(super) const STAMP_FILE: &str = "backup";

/// What its first line is.
const HEADER: &str = "stemmata backup 1";

/// Bytes of a stamp at most; ours has about 80.
const STAMP_BYTES_MAX: u64 = 4096;

/// Whose backup it is, and the last row of its commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) store_id: [u8; 16],
    pub(super) last_row: i64,
}

/// Returns the id of a store.
pub(super) fn store_id(connection: &Connection) -> Result<[u8; 16], StoreError> {
    connection.query_row("SELECT store_id FROM store", [], |row| row.get(0)).during("reading the store's id")
}

impl Stamp {
    /// Reads the stamp of a folder; none where it has none.
    pub(super) fn load(folder: &Path) -> Result<Option<Self>, StoreError> {
        let path = folder.join(STAMP_FILE);
        let failed = |source| io_error("reading", &path, source);
        let Some(bytes) = read_bounded(&path, STAMP_BYTES_MAX).map_err(failed)? else { return Ok(None) };
        let text = String::from_utf8(bytes).map_err(|_| failed(io::ErrorKind::InvalidData.into()))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != HEADER {
            return None;
        }
        let id = u128::from_str_radix(lines.next()?.strip_prefix("store ")?, 16).ok()?;
        let last_row = lines.next()?.strip_prefix("last row ")?.parse().ok()?;
        Some(Self { store_id: id.to_be_bytes(), last_row })
    }

    fn text(&self) -> String {
        format!("{HEADER}\nstore {:032x}\nlast row {}\n", u128::from_be_bytes(self.store_id), self.last_row)
    }

    /// Returns the stamp of a folder that holds the one or the other.
    pub(super) fn later(&self, other: &Self) -> Self {
        Self { last_row: self.last_row.max(other.last_row), ..*self }
    }

    /// Refuses the backup of another store, and one that somebody has worked with as a store of its own.
    pub(super) fn hold(&self, folder: &Path, store_id: [u8; 16]) -> Result<(), StoreError> {
        let refused = |reason: &str| {
            Err(StoreError::Refused {
                what: "a backup into",
                path: folder.display().to_string(),
                reason: reason.to_owned(),
            })
        };
        if self.store_id != store_id {
            return refused("it is the backup of another store");
        }
        let database = folder.join(STORE_FILE);
        if !database.exists() {
            return Ok(());
        }
        let read = Connection::open_with_flags(&database, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .and_then(|own| {
                own.query_row("SELECT ifnull(max(row), 0) FROM commits", [], |row| row.get::<_, i64>(0))
            });
        match read {
            Ok(last_row) if last_row > self.last_row => {
                refused("commits were added to it since it was made; move it away to keep them")
            }
            // A damaged backup is there to be replaced.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Writes the stamp, whole or not at all.
    pub(super) fn write(&self, files: &dyn Files, folder: &Path) -> Result<(), StoreError> {
        let (temporary, path) = (folder.join(".backup.new"), folder.join(STAMP_FILE));
        remove_if_there(files, &temporary).map_err(|source| io_error("removing", &temporary, source))?;
        files
            .create(&temporary)
            .and_then(|mut file| file.append(self.text().as_bytes()).and_then(|()| file.sync()))
            .and_then(|()| files.rename(&temporary, &path))
            .map_err(|source| io_error("writing", &path, source))?;
        sync_directory(files, folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_comes_back_and_other_text_is_none() {
        let stamp = Stamp { store_id: [0x0f; 16], last_row: 77 };
        assert_eq!(Stamp::parse(&stamp.text()), Some(stamp));
        for text in ["", "stemmata backup 2\n", "stemmata backup 1\nstore x\nlast row 1\n", "\u{fffd}"] {
            assert_eq!(Stamp::parse(text), None, "{text}");
        }
    }
}
