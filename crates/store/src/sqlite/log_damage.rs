//! Transactions that the log lost to a damaged frame: found, kept in mind, and let go.
//!
//! What lies in the file is read by `frames`. A store whose log is damaged is opened like any other, as it was at an
//! earlier moment, and the next write goes over what cannot be read: a mark keeps that in mind until a repair.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use rusqlite::Connection;
use stemmata_model::Timestamp;

use super::SqliteStore;
use super::failure::{During, io_error};
use super::frames::{self, Found, Lost};
use super::marks::{self, LOST};
use super::open::{STORE_FILE, log_of, not_a_store};
use super::read::verify::unread;
use crate::error::StoreError;
use crate::maintain::repair::Repaired;
use crate::seam::{Damage, Verified};
use crate::sqlite::statements::one;

const LOOKING: &str = "looking through the log";

/// What the damage of a log is called.
pub(super) const CHECK: &str = "log";

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// What to do about lost transactions, in every message about them.
const NEXT: &str = "import again, which brings back what transcripts still hold, take the rest from a backup, \
     and have `--repair` let them go";

/// Opens the log, if there is any.
fn open(database: &Path) -> Result<Option<(File, u64)>, StoreError> {
    let path = log_of(database);
    let opened = File::open(&path).and_then(|file| file.metadata().map(|metadata| (file, metadata.len())));
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(io_error(LOOKING, &path, source)),
    }
}

fn page_bytes(connection: &Connection) -> Result<usize, StoreError> {
    let bytes: i64 = connection.during(LOOKING).only("PRAGMA page_size", [], one)?;
    Ok(usize::try_from(bytes).unwrap_or_default())
}

/// Looks through the whole log.
fn look(database: &Path, page_bytes: usize) -> Result<Found, StoreError> {
    let Some((file, bytes)) = open(database)? else {
        return Ok(Found::default());
    };
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
    match frames::look(&mut reader, bytes, page_bytes) {
        Ok(found) => Ok(found),
        // Somebody emptied it meanwhile: what it held is in the database.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Found::default()),
        Err(source) => Err(io_error(LOOKING, &log_of(database), source)),
    }
}

/// Returns what the log lost, before the first write goes over it. Costs a look at the headers of frames that SQLite
/// does not read, and no more where they are of an earlier round. Nothing from a store that cannot be written: nobody
/// goes over anything then, and `verify` tells of it.
pub(super) fn find(connection: &Connection, database: &Path) -> Option<Lost> {
    find_in(connection, database).ok().flatten()
}

fn find_in(connection: &Connection, database: &Path) -> Result<Option<Lost>, StoreError> {
    let page_bytes = page_bytes(connection)?;
    let Some((mut file, bytes)) = open(database)? else {
        return Ok(None);
    };
    let read: i64 = connection.during(LOOKING).only("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1))?;
    let more = frames::has_more(&mut file, bytes, page_bytes, u64::try_from(read).unwrap_or(0));
    if !more.unwrap_or(false) || look(database, page_bytes)?.lost.is_none() {
        return Ok(None);
    }
    connection.execute_batch("BEGIN IMMEDIATE").during(LOOKING)?;
    // Nobody writes now: what was half written is whole, or was never committed.
    let found = look(database, page_bytes);
    connection.execute_batch("ROLLBACK").during(LOOKING)?;
    Ok(found?.lost)
}

/// Refuses a database that has no tables because the log lost them: it would be taken for a new one.
pub(super) fn refuse_empty(connection: &Connection, path: &Path, lost: Lost) -> Result<(), StoreError> {
    let tables: i64 = connection.during(LOOKING).only("SELECT count(*) FROM sqlite_schema", [], one)?;
    if tables > 0 {
        return Ok(());
    }
    let reason = format!(
        "its log {} is damaged at byte {}, and all of the store was in it: restore a backup, or move both files away \
         and import again",
        log_name(),
        lost.offset
    );
    Err(not_a_store(path, &reason))
}

/// Keeps in mind what the log lost.
pub(super) fn keep_in_mind(connection: &Connection, lost: Lost) -> Result<(), StoreError> {
    if !is_known(connection, lost)? {
        marks::set(connection, (LOST, &key(lost)), Timestamp::from_micros(0), None)?;
    }
    Ok(())
}

/// The key of a mark: the log's salts, where the damage begins, and how many transactions are lost.
fn key(lost: Lost) -> [u8; 24] {
    let mut key = [0; 24];
    let parts = [u64::from(lost.salts[0]) << 32 | u64::from(lost.salts[1]), lost.offset, lost.transactions];
    for (place, part) in key.chunks_exact_mut(8).zip(parts) {
        place.copy_from_slice(&part.to_be_bytes());
    }
    key
}

/// Says whether there is a mark of this log: what is found later in it is the rest of the same damage.
fn is_known(connection: &Connection, lost: Lost) -> Result<bool, StoreError> {
    let salts = key(lost);
    Ok(marks::all(connection, LOST)?.iter().any(|(known, _)| known.get(..8) == salts.get(..8)))
}

impl SqliteStore {
    /// Reports what the log lost.
    pub(super) fn verify_log(
        &self,
        verified: &mut Verified,
        found: &mut dyn FnMut(Damage),
    ) -> Result<(), StoreError> {
        let known = self.read(|reader| {
            let connection = reader.connection();
            Ok((page_bytes(connection)?, marks::all(connection, LOST)?))
        });
        let (page_bytes, marks) = match known {
            Ok(known) => known,
            Err(error) => {
                found(unread("what is known of the log", &error));
                return Ok(());
            }
        };
        for (key, _) in &marks {
            let part =
                |at: usize| key.get(at..at + 8).and_then(|part| part.try_into().ok()).map(u64::from_be_bytes);
            let (offset, transactions) = (part(8).unwrap_or(0), part(16).unwrap_or(0));
            found(damage(&format!(
                "{} from byte {offset} on could not be read when the store was opened, and are lost; {NEXT}",
                counted(transactions)
            )));
        }
        let looked = look(&self.path, page_bytes)?;
        if looked.lost.is_none() && looked.unfinished_at.is_none() {
            return Ok(());
        }
        // Somebody may be writing: what counts is what is there when nobody does. A store that cannot be written is
        // one that nobody writes.
        let calm = self.group.with_writer(|writer| {
            writer.rehearse(|connection| {
                let looked = look(&self.path, page_bytes)?;
                let lost = looked.lost.filter(|lost| !is_known(connection, *lost).unwrap_or(false));
                Ok(Found { lost, ..looked })
            })
        });
        let looked = calm.unwrap_or(looked);
        verified.unfinished_log_at = looked.unfinished_at;
        if let Some(lost) = looked.lost {
            found(damage(&format!(
                "{} cannot be read any more, because the frame at byte {} is damaged; {NEXT}",
                counted(lost.transactions),
                lost.offset
            )));
        }
        Ok(())
    }

    /// Lets go of what the log lost: copies what can be read into the database, and empties the log.
    pub(super) fn repair_log(&self) -> Result<Vec<Repaired>, StoreError> {
        self.log.empty(&self.group);
        let page_bytes = self.read(|reader| page_bytes(reader.connection()))?;
        if look(&self.path, page_bytes)?.lost.is_some() {
            return Ok(Vec::new());
        }
        self.group.maintain(|connection| {
            for (key, _) in marks::all(connection, LOST)? {
                marks::remove(connection, LOST, &key)?;
            }
            Ok(())
        })?;
        let from = "emptied; what could not be read is let go of: import again".to_owned();
        Ok(vec![Repaired { object: log_name(), from }])
    }
}

fn counted(transactions: u64) -> String {
    format!("{transactions} {}", if transactions == 1 { "transaction" } else { "transactions" })
}

fn log_name() -> String {
    format!("{STORE_FILE}-wal")
}

fn damage(message: &str) -> Damage {
    Damage { check: CHECK, object: log_name(), message: message.to_owned() }
}
