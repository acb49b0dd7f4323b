//! Cleaning: nothing that was taken back stays in a file of the folder.
//!
//! What is taken back is `cut`'s.

use rusqlite::Connection;

use super::current::{new_name, remove_database, remove_others};
use super::error::{IndexError, While};
use super::{Index, IndexLock, open};
use crate::sqlite::io_error;
use crate::sqlite::statements::one;

const CLEANING: &str = "cleaning the search index";

/// What the files of an index may hold besides what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rest {
    /// What was written there before, and the store may have yet: it goes when the index is cleaned next.
    Stale = 1,
    /// What was forgotten: the index has to be cleaned.
    Forgotten = 2,
}

/// Notes, in the transaction that takes something back, what may be left of it in the files.
pub(super) fn leave(connection: &Connection, rest: Rest) -> Result<(), IndexError> {
    connection.while_(CLEANING).run("UPDATE meta SET unclean = max(unclean, ?1)", [rest as u8]).map(drop)
}

/// Puts a copy in the place of the index, because free pages, the gaps within pages and the log hold what was in them; and
/// removes every other file of the folder. An index of which nothing was taken back since it was cleaned needs no copy. Who
/// reads the one from before goes on with it, and is in nobody's way.
pub(super) fn clean(index: &Index, lock: &IndexLock) -> Result<(), IndexError> {
    if !index.is_current() {
        return Err(IndexError::Moved);
    }
    let is_clean =
        index.with(|connection| connection.while_(CLEANING).only("SELECT unclean = 0 FROM meta", [], one))?;
    if is_clean {
        return remove_others(&index.dir, index.files(), &index.name(), false);
    }
    let name = new_name()?;
    let published = copied(index, &name).and_then(|copy| copy.publish_only(lock));
    if published.is_err() {
        // The first error is the one to tell; the next who cleans removes what is left.
        let _removed = remove_database(index.files(), &index.dir, &name);
    }
    published
}

/// Writes what an index says into a file of its own. Memory is not taken for it, as it is by `VACUUM` in place.
fn copied(index: &Index, name: &str) -> Result<Index, IndexError> {
    let path = index.dir.join(name);
    let failed = |error| io_error(CLEANING, &path, error);
    // Made here, so that it is the owner's alone; what is empty SQLite writes to.
    index.files().create(&path).and_then(|mut file| file.sync()).map_err(failed)?;
    index.with(|connection| {
        let path = path.as_os_str().as_encoded_bytes();
        connection.while_(CLEANING).run("VACUUM INTO CAST(?1 AS TEXT)", [path]).map(drop)
    })?;
    open::cleaned(&index.dir, &path, index.options.clone())
}
