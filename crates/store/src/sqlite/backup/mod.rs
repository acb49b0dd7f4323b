//! Copying a store while it is in use: the database as of one moment, and the packs that it names.
//!
//! Specified in `docs/format/store.md`. Putting a backup back is `restore`'s.

pub(super) mod packs;
pub(super) mod restore;
mod room;
mod staging;
mod stamp;

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use self::packs::PackFile;
use self::staging::Staging;
use self::stamp::Stamp;
use super::alone::Alone;
use super::failure::{During, io_error};
use super::open::{self, STORE_FILE, SqliteOptions, sync_directory};
use crate::error::StoreError;
use crate::files::{Files, above, remove_if_there};
use crate::maintain::backup::BackedUp;
use crate::seam::Damage;
use crate::sqlite::statements::columns;

/// Pages that one step copies: about a megabyte, so that it can be interrupted at any moment.
const STEP_PAGES: i32 = 256;

/// Times that a backup begins anew because a pack that it was about to take had been replaced.
const ATTEMPTS_MAX: usize = 5;

/// The folder of packs beside a database.
pub(super) const PACKS: &str = "packs";

const COPYING: &str = "copying the database";
const BACKING_UP: &str = "a backup into";

/// Copies the store whose database is `path` into a folder.
pub(super) fn backup(path: &Path, options: &SqliteOptions, to: &Path) -> Result<BackedUp, StoreError> {
    let dir = path.parent().unwrap_or(path);
    let files = options.files.as_ref();
    let target = Target::look(files, dir, to)?;
    let source = open::connect_reader(path, options)?;
    let store_id = stamp::store_id(&source)?;
    if let State::Backup(stamp) = &target.state {
        stamp.hold(&target.folder, store_id)?;
    }
    let staging = target.staging(files)?;
    let mut done = BackedUp { is_update: target.is_update(), ..BackedUp::default() };
    let mut attempts = 0;
    loop {
        attempts += 1;
        done.damages.clear();
        let snapshot = Snapshot::take(files, &source, &staging.path().join(STORE_FILE), &target)?;
        (done.commits, done.database_bytes) = (snapshot.commits, snapshot.bytes);
        let taken = take_packs(dir, &target, &staging, &snapshot.packs, &mut done)?;
        if matches!(taken, Taken::All) || attempts == ATTEMPTS_MAX {
            let stamp = Stamp { store_id, last_row: snapshot.last_row };
            target.publish(staging, &stamp, &snapshot.packs, options)?;
            return Ok(done);
        }
    }
}

/// Where a backup goes.
struct Target {
    folder: PathBuf,
    state: State,
}

/// What is there.
enum State {
    /// Nothing, or an empty folder.
    New,
    /// An earlier backup.
    Backup(Stamp),
}

impl Target {
    fn look(files: &dyn Files, store: &Path, to: &Path) -> Result<Self, StoreError> {
        let folder = absolute(files, to)?;
        let refused = |reason: &str| StoreError::Refused {
            what: BACKING_UP,
            path: folder.display().to_string(),
            reason: reason.to_owned(),
        };
        if folder.starts_with(store) || store.starts_with(&folder) {
            return Err(refused("it is the store itself, or within it, or around it"));
        }
        let state = match fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => State::New,
            Err(source) => return Err(io_error("listing", &folder, source)),
            Ok(mut entries) => match Stamp::load(&folder)? {
                Some(stamp) => State::Backup(stamp),
                None if entries.next().is_none() => State::New,
                None => return Err(refused("there is something in it that is not a backup of this store")),
            },
        };
        Ok(Self { folder, state })
    }

    const fn is_update(&self) -> bool {
        matches!(self.state, State::Backup(_))
    }

    /// Makes the folder in which the backup is made: beside its own, or within the one that is brought up to date.
    fn staging<'a>(&self, files: &'a dyn Files) -> Result<Staging<'a>, StoreError> {
        if self.is_update() {
            staging::clear(files, &self.folder.join(".partial"))?;
            return Staging::begin(files, self.folder.join(staging::name("", "partial")));
        }
        beside(files, &self.folder, "partial")
    }

    /// Returns where packs of an earlier backup are.
    fn packs(&self) -> Option<PathBuf> {
        self.is_update().then(|| self.folder.join(PACKS))
    }

    /// Gives the backup its name, as the last step: before, nothing looks like a new backup.
    fn publish(
        &self,
        staging: Staging<'_>,
        stamp: &Stamp,
        packs: &[PackFile],
        options: &SqliteOptions,
    ) -> Result<(), StoreError> {
        let files = staging.files();
        let State::Backup(earlier) = &self.state else {
            stamp.write(files, staging.path())?;
            return staging.publish(&self.folder);
        };
        // A repair may read the backup that is brought up to date.
        let alone = Alone::take(&self.folder, options)?;
        // Packs go first: those that the earlier database does not name do no harm.
        packs::publish(files, &staging.path().join(PACKS), &self.folder.join(PACKS))?;
        stamp.later(earlier).write(files, &self.folder)?;
        let database = self.folder.join(STORE_FILE);
        drop_log(files, &database, &alone)?;
        let renamed = files.rename(&staging.path().join(STORE_FILE), &database);
        renamed.map_err(|source| io_error("replacing", &database, source))?;
        sync_directory(files, &self.folder)?;
        stamp.write(files, &self.folder)?;
        packs::remove_others(files, &self.folder.join(PACKS), packs)
    }
}

/// Makes a folder beside another one for what is not finished, and clears what an earlier version left under its own name for it.
fn beside<'a>(files: &'a dyn Files, folder: &Path, what: &str) -> Result<Staging<'a>, StoreError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    staging::clear(files, &folder.with_file_name(format!(".{name}.{what}")))?;
    Staging::begin(files, folder.with_file_name(staging::name(&name, what)))
}

/// Returns a path without links above its last name, and makes the folders that lead to it.
fn absolute(files: &dyn Files, path: &Path) -> Result<PathBuf, StoreError> {
    if let Ok(real) = fs::canonicalize(path) {
        return Ok(real);
    }
    let parent = above(path);
    open::make_directory(files, parent)?;
    let real = fs::canonicalize(parent).map_err(|source| io_error("opening", parent, source))?;
    let name = path.file_name().ok_or_else(|| StoreError::Refused {
        what: BACKING_UP,
        path: path.display().to_string(),
        reason: "it has no name".to_owned(),
    })?;
    Ok(real.join(name))
}

/// Empties and removes the log of a database that is about to be replaced: a new database must not meet it.
fn drop_log(files: &dyn Files, database: &Path, _alone: &Alone) -> Result<(), StoreError> {
    if fs::metadata(database).is_ok_and(|metadata| metadata.len() > 0) {
        leave_log(database)?;
    }
    // SQLite goes on where it could not remove a log that is empty of meaning; the new database would read it as its
    // own. The names are gone for good before the new database comes.
    for suffix in ["-wal", "-journal"] {
        let log = open::beside(database, suffix);
        remove_if_there(files, &log).map_err(|source| io_error("removing", &log, source))?;
    }
    sync_directory(files, database.parent().unwrap_or(database))
}

/// Has SQLite copy all of a database's log into it.
fn leave_log(database: &Path) -> Result<(), StoreError> {
    let connection = Connection::open_with_flags(
        database,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW,
    );
    // Leaving the log's mode needs the database for oneself: whoever reads the backup now is waited for.
    let left: rusqlite::Result<String> =
        connection.and_then(|own| own.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0)));
    match left {
        Ok(mode) if mode == "delete" => Ok(()),
        Ok(_) => Err(StoreError::Locked { waited_ms: 0 }),
        Err(error) => {
            let failed: Result<(), StoreError> = Err(error).during("opening the earlier backup");
            failed.map_err(|error| open::explain(error, database))
        }
    }
}

/// A database as of one moment, copied.
struct Snapshot {
    packs: Vec<PackFile>,
    commits: u64,
    last_row: i64,
    bytes: u64,
}

impl Snapshot {
    /// Copies the database within one read, which holds no writer back.
    fn take(files: &dyn Files, source: &Connection, to: &Path, target: &Target) -> Result<Self, StoreError> {
        let read = source.unchecked_transaction().during(COPYING)?;
        let ask = (&*read).during(COPYING);
        let sql = "SELECT count(*), ifnull(max(row), 0) FROM commits";
        let (commits, last_row): (i64, i64) = ask.only(sql, [], columns)?;
        let packs = packs::listed(&read)?;
        let sql = "SELECT page_count, page_size FROM pragma_page_count(), pragma_page_size()";
        let (pages, page_bytes): (i64, i64) = ask.only(sql, [], columns)?;
        let bytes = pages.saturating_mul(page_bytes).cast_unsigned();
        let known = target.packs();
        let is_new = |pack: &&PackFile| known.as_ref().is_none_or(|known| !known.join(pack.file()).exists());
        let new_packs: u64 = packs.iter().filter(is_new).map(|pack| pack.bytes).sum();
        let folder = to.parent().unwrap_or(to);
        let copied = if room::is_same_device(Path::new(read.path().unwrap_or_default()), folder) {
            0
        } else {
            new_packs
        };
        room::check(folder, bytes.saturating_add(copied))?;
        copy_pages(files, &read, to)?;
        read.finish().during(COPYING)?;
        Ok(Self { packs, commits: commits.cast_unsigned(), last_row, bytes })
    }
}

fn copy_pages(files: &dyn Files, source: &Connection, to: &Path) -> Result<(), StoreError> {
    // An attempt before may have left one.
    remove_if_there(files, to).map_err(|source| io_error("removing", to, source))?;
    drop(files.create(to).map_err(|source| io_error("making", to, source))?);
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut copy = Connection::open_with_flags(to, flags).during(COPYING)?;
    // Nobody sees the copy before it is whole and synced: it needs no journal of its own.
    copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;").during(COPYING)?;
    {
        let backup = Backup::new(source, &mut copy).during(COPYING)?;
        loop {
            match backup.step(STEP_PAGES).during(COPYING)? {
                StepResult::Done => break,
                StepResult::More => {}
                _ => return Err(StoreError::Locked { waited_ms: 0 }),
            }
        }
    }
    copy.close().map_err(|(_, error)| error).during(COPYING)?;
    files.sync_file(to).map_err(|source| io_error("syncing", to, source))
}

/// Whether every pack that a snapshot names was there.
enum Taken {
    All,
    Gone,
}

fn take_packs(
    store: &Path,
    target: &Target,
    staging: &Staging<'_>,
    packs: &[PackFile],
    done: &mut BackedUp,
) -> Result<Taken, StoreError> {
    let files = staging.files();
    let into = staging.make_folder(PACKS)?;
    let mut taken = Taken::All;
    (done.packs, done.pack_bytes, done.packs_new, done.copied_bytes) = (0, 0, 0, 0);
    for pack in packs {
        done.packs += 1;
        done.pack_bytes += pack.bytes;
        if target.packs().is_some_and(|known| pack.is_in(&known)) {
            continue;
        }
        let damaged = |message: String| Damage { check: "pack", object: pack.file(), message };
        match pack.take(files, &store.join(PACKS), &into)? {
            packs::Got::Linked => done.packs_new += 1,
            packs::Got::Copied => {
                done.packs_new += 1;
                done.copied_bytes += pack.bytes;
            }
            packs::Got::Missing => {
                taken = Taken::Gone;
                done.damages.push(damaged("the pack file is not there".to_owned()));
            }
            packs::Got::Damaged => done.damages.push(damaged("its bytes have another hash".to_owned())),
        }
    }
    sync_directory(files, &into)?;
    Ok(taken)
}
