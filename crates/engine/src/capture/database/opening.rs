//! Opens a client's database so that nothing of the user's is changed, and reads one state of it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{FILE, failed};
use crate::capture::cursor::FileStamp;
use crate::error::{EngineError, Result};
use crate::temporary::TempFolder;

/// How long a writer is waited for: readers of a log need not wait at all but for moments, and a hook has little time.
const BUSY: Duration = Duration::from_millis(250);

/// Times that the two files are read or copied: a client that writes meanwhile makes a copy worthless.
const COPIES_MAX: usize = 5;

/// Opens a database, or a copy of it where only that can be read; the copy is gone with the folder.
pub(super) fn connection(database: &Path) -> Result<(Connection, Option<TempFolder>)> {
    let beside = |ending: &str| {
        let mut name = database.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let (log, index) = (beside("-wal"), beside("-shm"));
    let has = |path: &Path| std::fs::metadata(path).is_ok_and(|file| file.len() > 0);
    let (connection, copy) = if has(&beside("-journal")) {
        // Somebody changes pages in place, which an immutable file has not: SQLite waits for the end of it.
        (connect(database, "mode=ro"), None)
    } else if !states(database).has_log() {
        (connect(database, "immutable=1"), None)
    } else if index.is_file() {
        (connect(database, "mode=ro"), None)
    } else {
        let copy = copied(database, &log)?;
        (connect(&copy.path().join(FILE), "mode=rw"), Some(copy))
    };
    Ok((connection.map_err(|error| failed(database, &error))?, copy))
}

/// Reads until nobody wrote meanwhile. A database without a log is read as a file that stays as it is: half of a change may
/// be in what was read else, and nothing says so. Where there is a log, SQLite itself gives one state.
pub(super) fn steady<T>(database: &Path, mut read: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 0..COPIES_MAX {
        let before = states(database);
        let read = read();
        if before.has_log() || states(database) == before {
            return read;
        }
    }
    Err(changed(database, "read"))
}

fn connect(database: &Path, how: &str) -> rusqlite::Result<Connection> {
    let mut uri = "file:".to_owned();
    for byte in database.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _written = write!(uri, "%{byte:02X}");
        }
    }
    let is_copy = how == "mode=rw";
    let access = if is_copy { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    let flags = access | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(format!("{uri}?{how}"), flags)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

/// What a database and its log are at a moment.
#[derive(Debug, PartialEq, Eq)]
struct States {
    database: Option<FileStamp>,
    log: Option<FileStamp>,
}

impl States {
    fn has_log(&self) -> bool {
        self.log.is_some_and(|log| log.length > 0)
    }
}

fn states(database: &Path) -> States {
    let state = |path: &Path| std::fs::metadata(path).ok().map(|state| FileStamp::of(&state));
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    States { database: state(database), log: state(Path::new(&log)) }
}

fn changed(database: &Path, what: &str) -> EngineError {
    let reason = format!("it changed each of the {COPIES_MAX} times that it was {what}");
    EngineError::Busy { path: database.to_owned(), reason }
}

/// Copies a database and its log as they are at one moment.
fn copied(database: &Path, log: &Path) -> Result<TempFolder> {
    for _ in 0..COPIES_MAX {
        // Only its owner can look into it, and it is gone when the session was read.
        let folder = TempFolder::in_temp(&tempfile::env::temp_dir());
        let folder = folder.map_err(EngineError::io("create a private folder to copy", database))?;
        let before = states(database);
        for (from, name) in [(database, FILE.to_owned()), (log, format!("{FILE}-wal"))] {
            std::fs::copy(from, folder.path().join(name)).map_err(EngineError::io("copy", from))?;
        }
        if states(database) == before {
            return Ok(folder);
        }
    }
    Err(changed(database, "copied"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads while a client writes the first times; returns what came of it, and how often it was read.
    fn read_beside(writes: usize, has_log: bool) -> (Result<usize>, usize) {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join(FILE);
        let put = |name: &str, bytes: usize| {
            use std::io::Write as _;
            let file = std::fs::File::create(folder.path().join(name));
            file.and_then(|mut file| file.write_all(&vec![b'x'; bytes])).expect("written");
        };
        put(FILE, 1);
        put("opencode.db-wal", usize::from(has_log));
        let mut times = 0;
        let read = steady(&database, || {
            times += 1;
            if times <= writes {
                put(FILE, 1 + times);
            }
            Ok(times)
        });
        (read, times)
    }

    /// Found in review: what was read while a client wrote was taken for one state.
    #[test]
    fn what_was_read_while_somebody_wrote_is_read_again() {
        for (writes, has_log, wanted) in [(0, false, 1), (1, false, 2), (3, false, 4), (9, true, 1)] {
            let (read, times) = read_beside(writes, has_log);
            assert_eq!((read.expect("read"), times), (wanted, wanted), "{writes} {has_log}");
        }
        let (read, times) = read_beside(usize::MAX, false);
        let said = read.expect_err("it never stayed").to_string();
        assert!(said.contains("each of the 5 times that it was read") && times == COPIES_MAX, "{said}");
    }
}
