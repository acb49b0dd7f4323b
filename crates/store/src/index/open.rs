//! Opening an index's database, and making it.
//!
//! Which file it is, is `current`'s.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};

use super::error::{IndexError, While};
use super::{Index, IndexOptions};
use crate::sqlite::statements::columns;
use crate::sqlite::{connect_sealed, io_error, log_of, sync_directory, wait_for_locks};

/// The format that this version writes.
const FORMAT: u32 = 3;

/// Bytes of a page: a chunk of terms fits one.
const PAGE_BYTES: u32 = 8192;

/// Statements that each connection keeps compiled: all that there are.
const STATEMENTS_MAX: usize = 64;

const OPENING: &str = "opening the search index";

/// Opens an index that is there.
pub(super) fn existing(dir: &Path, name: &str, options: IndexOptions) -> Result<Index, IndexError> {
    let path = dir.join(name);
    if !path.exists() {
        return Err(IndexError::damaged(format!("`{name}` is gone")));
    }
    let connection = connect(&path, &options)?;
    let (format, store_id): (u32, Vec<u8>) =
        connection.while_(OPENING).only("SELECT format, store_id FROM meta WHERE one = 1", [], columns)?;
    match format.cmp(&FORMAT) {
        Ordering::Greater => return Err(IndexError::Newer { format, known: FORMAT }),
        Ordering::Less => return Err(IndexError::Older { format }),
        Ordering::Equal => {}
    }
    if store_id != options.store_id {
        return Err(IndexError::OtherStore);
    }
    Ok(index(dir, &path, options, connection))
}

/// Makes an empty index.
pub(super) fn new(dir: &Path, name: &str, options: IndexOptions) -> Result<Index, IndexError> {
    let path = dir.join(name);
    let failed = |error| io_error("making the search index", &path, error);
    options.files.create(&path).and_then(|mut file| file.sync()).map_err(failed)?;
    let connection = connect(&path, &options)?;
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = {PAGE_BYTES}; PRAGMA journal_mode = WAL; BEGIN IMMEDIATE;"
        ))
        .and_then(|()| connection.execute_batch(include_str!("schema.sql")))
        .and_then(|()| {
            connection.execute(
                "INSERT INTO meta (one, format, terms, store_id, through, through_id, epoch, unclean) \
                 VALUES (1, ?1, ?2, ?3, 0, NULL, 0, 0)",
                params![FORMAT, options.terms, options.store_id],
            )
        })
        .and_then(|_| connection.execute_batch("COMMIT"))
        .while_("making the search index")?;
    sync_directory(options.files.as_ref(), dir)?;
    Ok(index(dir, &path, options, connection))
}

/// Opens the copy of an index that was just written, as one whose files hold nothing of what was taken back.
pub(super) fn cleaned(dir: &Path, path: &Path, options: IndexOptions) -> Result<Index, IndexError> {
    let connection = connect(path, &options)?;
    connection
        .execute_batch("PRAGMA journal_mode = WAL; UPDATE meta SET unclean = 0;")
        .while_("cleaning the search index")?;
    Ok(index(dir, path, options, connection))
}

fn index(dir: &Path, path: &Path, options: IndexOptions, connection: Connection) -> Index {
    Index {
        dir: dir.to_owned(),
        path: path.to_owned(),
        options,
        idle: Mutex::new(vec![connection]),
        columns: Mutex::new(HashMap::new()),
    }
}

/// Opens a connection and sets it up.
pub(super) fn connect(path: &Path, options: &IndexOptions) -> Result<Connection, IndexError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags).while_(OPENING)?;
    if connection.is_readonly(rusqlite::MAIN_DB).unwrap_or(false) && !log_of(path).exists() {
        connection = connect_sealed(path)?;
    }
    wait_for_locks(&mut connection, options.patience.clone()).while_(OPENING)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Without it SQLite plans a statement anew each time another value is bound to a `LIMIT` or beside a comparison: a third of a
    // look-up's time. No plan here depends on a value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).while_(OPENING)?;
    // What a power cut loses is settled again: a sync for each settling would cost more.
    connection
        .execute_batch(
            "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY; \
             PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;",
        )
        .while_(OPENING)?;
    Ok(connection)
}
