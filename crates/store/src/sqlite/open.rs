//! Opening a store's files: making them, telling them from others, and setting connections up.
//!
//! What the tables hold is specified in `docs/format/store.md`.
//!
//! What a store is opened for (a command, a recorder, a hook) is `OpenFor`. It decides how long locks are
//! waited for, and whether opening finishes what an interruption left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::alone::Shared;
use super::backup::PACKS;
use super::failure::{During, io_error, store_error};
use super::{log_damage, versions};
use crate::error::StoreError;
use crate::files::{Files, SystemFiles, above};
use crate::maintain::surroundings::refuse_network;
use crate::pack::PackName;
use crate::patience::Patience;
use crate::seam::StoreIdentity;

/// What is being done here, for errors.
const OPENING: &str = "opening the store";

/// The file of a store in its directory.
pub(super) const STORE_FILE: &str = "stemmata.db";

/// What every SQLite database starts with.
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Bytes of a page. Larger pages waste less space beside long rows, smaller ones make a commit write less;
/// measured: docs/decisions/0013-seals.md.
const PAGE_BYTES: u32 = 4096;

/// Statements that each connection keeps compiled: all that there are.
const STATEMENTS_MAX: usize = 96;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// How long a write or an opening waits for other processes before it fails as `Locked`, in milliseconds.
    pub busy_timeout_ms: u64,
    /// What keeps the files beside the database; a test gives another.
    pub files: Arc<dyn Files>,
    /// Whether a network file system is no reason to refuse: only where nothing else ever opens the store.
    pub allow_network: bool,
    /// What the store is opened for.
    pub open_for: OpenFor,
}

/// What a store is opened for: what is done there besides reading and writing, and how long others are waited for.
#[derive(Debug, Clone, Default)]
pub enum OpenFor {
    /// A command: ends what an interruption left, copies the log, and waits for each lock by itself.
    #[default]
    Command,
    /// A process that records while another program waits for nothing: as a command, but what an interruption left is left
    /// to commands.
    Recorder,
    /// A client's hook, while the client waits: all locks together are waited for no longer than this, and everything but
    /// its own writes is left to commands.
    Hook(Patience),
}

impl OpenFor {
    /// Returns whether an opening ends what an interruption left, and maintenance may be asked for.
    pub(super) const fn maintains(&self) -> bool {
        matches!(self, Self::Command)
    }

    /// Returns whether a long log is copied in the background.
    pub(super) const fn copies_log(&self) -> bool {
        !matches!(self, Self::Hook(_))
    }
}

impl SqliteOptions {
    /// Returns how long locks are waited for.
    pub fn patience(&self) -> Patience {
        match &self.open_for {
            OpenFor::Command | OpenFor::Recorder => {
                Patience::each(Duration::from_millis(self.busy_timeout_ms))
            }
            OpenFor::Hook(patience) => patience.clone(),
        }
    }
}

/// Long enough for another process to write its largest batch to a slow disk.
const BUSY_TIMEOUT_MS: u64 = 10_000;

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            busy_timeout_ms: BUSY_TIMEOUT_MS,
            files: Arc::new(SystemFiles),
            allow_network: false,
            open_for: OpenFor::Command,
        }
    }
}

/// A store that was opened.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) connection: Connection,
    pub(super) identity: StoreIdentity,
    /// To be kept as long as anything of it is open.
    pub(super) shared: Shared,
}

/// Opens or makes the store of a directory.
pub(super) fn open_store(dir: &Path, options: &SqliteOptions) -> Result<Opened, StoreError> {
    if !options.allow_network {
        refuse_network(options.files.as_ref(), dir)?;
    }
    let files = options.files.as_ref();
    make_directory(files, dir)?;
    // Links above the directory are the user's choice; below it there are none.
    let dir = fs::canonicalize(dir).map_err(|source| io_error("opening", dir, source))?;
    let path = dir.join(STORE_FILE);
    let shared = Shared::take(&dir, options)?;
    refuse_lost(files, &dir, &path)?;
    let new = make_file(files, &dir, &path)?;
    let mut connection = connect(&path, options)?;
    let lost = log_damage::find(&connection, &path);
    if let Some(lost) = lost {
        log_damage::refuse_empty(&connection, &path, lost)?;
    }
    if new {
        start_log(&connection, &path, options)?;
    }
    let identity = versions::prepare(&mut connection, &path).map_err(|error| explain(error, &path))?;
    if let Some(lost) = lost {
        log_damage::keep_in_mind(&connection, lost)?;
    }
    if new {
        // The files of the log are named in the directory by now; the name of the database must be safe too.
        sync_directory(files, &dir)?;
    }
    Ok(Opened { path, connection, identity, shared })
}

/// Refuses a directory whose database is gone or emptied while packs of its contents are there: it would be taken for new.
fn refuse_lost(files: &dyn Files, dir: &Path, path: &Path) -> Result<(), StoreError> {
    if fs::metadata(path).is_ok_and(|found| found.len() > 0) {
        return Ok(());
    }
    let packs = files.list(&dir.join(PACKS)).unwrap_or_default();
    let packs = packs.iter().filter(|name| PackName::of_file(name).is_some()).count();
    if packs == 0 {
        return Ok(());
    }
    let packs = if packs == 1 { "one pack".to_owned() } else { format!("{packs} packs") };
    let reason = format!(
        "the database is empty or gone, and the store's contents are still there in {packs}: restore a backup, or \
         move the folder `{PACKS}` away to begin anew"
    );
    Err(not_a_store(path, &reason))
}

/// Sets up an empty database, patiently: SQLite does not wait by itself where several processes begin at once.
pub(super) fn start_log(
    connection: &Connection,
    path: &Path,
    options: &SqliteOptions,
) -> Result<(), StoreError> {
    let sql = format!(
        "PRAGMA page_size = {PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
    );
    let mut wait = options.patience().wait();
    loop {
        match connection.execute_batch(&sql).map_err(|error| open_error(error, connection, path)) {
            Err(StoreError::Locked { .. }) if wait.pause() => {}
            done => return done,
        }
    }
}

/// Opens one more connection to a store that is open: for reads.
pub(super) fn connect_reader(path: &Path, options: &SqliteOptions) -> Result<Connection, StoreError> {
    let connection = connect(path, options)?;
    connection
        .execute_batch("PRAGMA query_only = ON;")
        .map_err(|error| open_error(error, &connection, path))?;
    Ok(connection)
}

/// Opens a connection and sets up what every connection needs.
pub(super) fn connect(path: &Path, options: &SqliteOptions) -> Result<Connection, StoreError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags).during(OPENING)?;
    if connection.is_readonly(rusqlite::MAIN_DB).unwrap_or(false) && !log_of(path).exists() {
        connection = connect_sealed(path)?;
    }
    wait_for_locks(&mut connection, options.patience())
        .map_err(|error| open_error(error, &connection, path))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Without it SQLite plans a statement anew each time another value is bound to its `LIMIT`, which takes longer than most
    // look-ups. No plan here depends on a value.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(|error| open_error(error, &connection, path))?;
    // Copying the log at every closing would cost a short-lived process several syncs; `log` decides when.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .map_err(|error| open_error(error, &connection, path))?;
    connection
        .execute_batch(
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; \
             PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; \
             PRAGMA cell_size_check = ON; PRAGMA wal_autocheckpoint = 0; PRAGMA secure_delete = ON;",
        )
        .map_err(|error| open_error(error, &connection, path))?;
    Ok(connection)
}

/// Has a connection wait for other processes, looking often at first.
pub(crate) fn wait_for_locks(connection: &mut Connection, patience: Patience) -> rusqlite::Result<()> {
    let mut wait = patience.wait();
    connection.busy_handler(Some(move |looks: i32| {
        if looks == 0 {
            wait = patience.wait();
        }
        wait.pause()
    }))
}

/// Opens a database that cannot be written and has no log, as on a disk that is read-only: nobody writes it, and the
/// files that processes share need not be made.
pub(crate) fn connect_sealed(path: &Path) -> Result<Connection, StoreError> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            other => {
                uri.push('%');
                for digit in [other >> 4, other & 0xf] {
                    uri.extend(char::from_digit(u32::from(digit), 16));
                }
            }
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags).during(OPENING)
}

/// Returns the path of a database's log.
pub(crate) fn log_of(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// Returns the path of a file that SQLite keeps beside a database.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Says what is wrong with a file that SQLite could not open or read.
fn open_error(error: rusqlite::Error, connection: &Connection, path: &Path) -> StoreError {
    let operation = "opening the store";
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => not_a_store(path, &error),
        Some(ErrorCode::CannotOpen) if connection.is_readonly(rusqlite::MAIN_DB).unwrap_or(false) => {
            StoreError::ReadOnly { operation }
        }
        _ if is_index_not_made(&error) => why_not_made(path).unwrap_or_else(|| store_error(error, operation)),
        _ => store_error(error, operation),
    }
}

/// Names the file in errors that come from looking into it for the first time.
pub(super) fn explain(error: StoreError, path: &Path) -> StoreError {
    let (operation, source) = match error {
        StoreError::DatabaseDamaged { source, .. } => return not_a_store(path, &source),
        StoreError::Backend { operation, source } => (operation, source),
        other => return other,
    };
    match source.downcast::<rusqlite::Error>() {
        Ok(source) => {
            let cannot_open = source.sqlite_error_code() == Some(ErrorCode::CannotOpen);
            let why = if cannot_open || is_index_not_made(&source) { why_not_made(path) } else { None };
            why.unwrap_or(StoreError::Backend { operation, source })
        }
        Err(source) => StoreError::Backend { operation, source },
    }
}

/// Says whether the file that processes share could not be made or opened.
fn is_index_not_made(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMOPEN)
}

/// Tries what SQLite says only that it cannot do, opening or making the files of the log, to hear the reason.
fn why_not_made(path: &Path) -> Option<StoreError> {
    let operation = "opening the store";
    ["-wal", "-shm"].into_iter().find_map(|suffix| {
        let name = beside(path, suffix);
        let mut open = OpenOptions::new();
        open.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
        let source = open.open(&name).err()?;
        Some(match source.kind() {
            io::ErrorKind::PermissionDenied => StoreError::ReadOnly { operation },
            _ => io_error(operation, &name, source),
        })
    })
}

pub(super) fn not_a_store(path: &Path, reason: &dyn ToString) -> StoreError {
    StoreError::NotAStore { path: path.display().to_string(), reason: reason.to_string() }
}

/// Makes a directory for its owner only, and the names on the way to it durable.
pub(crate) fn make_directory(files: &dyn Files, dir: &Path) -> Result<(), StoreError> {
    let missing: Vec<&Path> = dir.ancestors().take_while(|ancestor| !ancestor.exists()).collect();
    for made in missing.iter().rev().filter(|made| !made.as_os_str().is_empty()) {
        files.make_directory(made).map_err(|source| io_error("making the directory", made, source))?;
    }
    for made in missing {
        sync_directory(files, above(made))?;
    }
    Ok(())
}

/// Makes an empty file for its owner only, or looks at the one that is there. Says whether it is empty.
pub(super) fn make_file(files: &dyn Files, dir: &Path, path: &Path) -> Result<bool, StoreError> {
    match files.create(path) {
        Ok(mut file) => {
            file.sync().map_err(|source| io_error("making", path, source))?;
            sync_directory(files, dir)?;
            return Ok(true);
        }
        Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {}
        // Where nothing can be made there may still be something to read.
        Err(_) if path.exists() => {}
        Err(source) => return Err(io_error("making", path, source)),
    }
    let metadata = fs::symlink_metadata(path).map_err(|source| io_error("opening", path, source))?;
    if !metadata.is_file() {
        return Err(not_a_store(path, &"it is a link or a directory, not a file"));
    }
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(16).read_to_end(&mut start))
        .map_err(|source| io_error("opening", path, source))?;
    if start.is_empty() {
        return Ok(true);
    }
    if start.as_slice() == SQLITE_MAGIC {
        return Ok(false);
    }
    Err(not_a_store(path, &"it is not an SQLite database"))
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(files: &dyn Files, dir: &Path) -> Result<(), StoreError> {
    files.sync_directory(dir).map_err(|source| io_error("syncing the directory", dir, source))
}
