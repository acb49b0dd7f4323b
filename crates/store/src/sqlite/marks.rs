//! Marks: tombstones of what was forgotten, what is condemned, and what is left to do.
//!
//! Specified in `docs/format/store.md`; what follows from a mark is decided where it is read.

use rusqlite::{Connection, params};
use stemmata_model::{CommitId, CommitPrefix, Timestamp, to_u64};

use super::failure::{During, unreadable};
use super::seals::{Insert, MARK};
use crate::error::StoreError;
use crate::maintain::forget::Tombstone;
use crate::sqlite::statements::columns;

/// A commit that was forgotten: by its id.
pub(super) const TOMBSTONE: i64 = 0;
/// A commit that is condemned: by its id.
pub(super) const CONDEMNED_COMMIT: i64 = 1;
/// A content that is condemned: by its row, eight bytes, the highest first.
pub(super) const CONDEMNED_CONTENT: i64 = 2;
/// A pack file that is to be removed: by its name.
pub(super) const DOOMED: i64 = 3;
/// A session or a transcript that was forgotten: by a hash that only this store can make.
pub(super) const FORGOTTEN_SESSION: i64 = 4;
/// The database has to be rewritten and its log emptied, because a forgetting was interrupted: the key is empty, or
/// [`LOG_ONLY`].
pub(super) const UNFINISHED: i64 = 5;
/// Transactions that a damaged log lost: by the log's salts, the byte of the damage, and how many.
pub(super) const LOST: i64 = 6;
/// What a commit became when it was scrubbed: by its id; `by` is the id that it has now, as text.
pub(super) const REDIRECT: i64 = 7;
/// An index of the commits has to be cut: by the first row that it may hold and must not, eight bytes, the highest first. Its
/// time is later than that of any before it with this key.
pub(super) const INDEX_DUE: i64 = 8;
/// A session saw a commit that was stored before, which an index may have passed: by the row of its origin, as a content's.
pub(super) const INDEX_UNSEEN: i64 = 9;
/// The key of what is unfinished where only the log is left to be emptied.
pub(super) const LOG_ONLY: &[u8] = &[1];

const MARKING: &str = "marking what is to go";

/// Which kinds of marks there are at all: what is looked up for every write is looked up where there is a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Present {
    pub(super) tombstones: bool,
    pub(super) condemned: bool,
}

impl Present {
    pub(super) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM mark WHERE kind IN (0, 4)), \
                   EXISTS (SELECT 1 FROM mark WHERE kind BETWEEN 1 AND 2)";
        connection
            .during("looking for marks")
            .only(sql, [], |row| Ok(Self { tombstones: row.get(0)?, condemned: row.get(1)? }))
    }
}

/// The key of a content's mark.
pub(super) const fn content_key(row: i64) -> [u8; 8] {
    row.to_be_bytes()
}

/// The row that a content's mark is about.
pub(super) fn content_row(key: &[u8]) -> Option<i64> {
    Some(i64::from_be_bytes(key.try_into().ok()?))
}

/// Sets a mark; one that is there stays as it is.
pub(super) fn set(
    connection: &Connection,
    (kind, key): (i64, &[u8]),
    at: Timestamp,
    by: Option<&str>,
) -> Result<bool, StoreError> {
    let values = params![kind, key, at.as_micros(), by];
    let set = connection.during(MARKING).insert_sealed(Insert::OrIgnore, &MARK, values);
    set.map(|changed| changed > 0)
}

/// Returns when a mark was set and by whom.
pub(super) fn of(
    connection: &Connection,
    (kind, key): (i64, &[u8]),
) -> Result<Option<(Timestamp, Option<String>)>, StoreError> {
    connection.during("looking for marks").first(
        "SELECT at, by FROM mark WHERE kind = ?1 AND key = ?2",
        params![kind, key],
        |row: &rusqlite::Row<'_>| Ok((Timestamp::from_micros(row.get(0)?), row.get(1)?)),
    )
}

/// Removes a mark, and says whether it was there.
pub(super) fn remove(connection: &Connection, kind: i64, key: &[u8]) -> Result<bool, StoreError> {
    connection
        .during(MARKING)
        .run("DELETE FROM mark WHERE kind = ?1 AND key = ?2", params![kind, key])
        .map(|changed| changed > 0)
}

/// Says what a commit became; what was said before stays.
pub(super) fn redirect(
    connection: &Connection,
    from: CommitId,
    to: CommitId,
    at: Timestamp,
) -> Result<(), StoreError> {
    set(connection, (REDIRECT, &from.to_bytes()), at, Some(&to.to_string())).map(drop)
}

/// Returns what commits became, in the order of their ids, after one of them.
pub(super) fn redirects(
    connection: &Connection,
    after: Option<CommitId>,
    limit: usize,
) -> Result<Vec<(CommitId, CommitId)>, StoreError> {
    let after: Vec<u8> = after.map(|id| id.to_bytes().to_vec()).unwrap_or_default();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql = "SELECT key, by FROM mark WHERE kind = ?1 AND key > ?2 ORDER BY key LIMIT ?3";
    let ask = connection.during("reading redirects");
    let rows: Vec<([u8; 16], String)> = ask.list(sql, params![REDIRECT, after, limit], columns)?;
    let read = |(from, to): ([u8; 16], String)| {
        let to = to.parse().map_err(|_| unreadable("mark.by", &to, &"no id of a commit"))?;
        Ok((CommitId::from_bytes(from), to))
    };
    rows.into_iter().map(read).collect()
}

/// Returns the ids of forgotten commits that start so, ascending.
pub(super) fn tombstones_in(
    connection: &Connection,
    prefix: CommitPrefix,
    limit: usize,
) -> Result<Vec<CommitId>, StoreError> {
    let (low, high) = (prefix.low.to_bytes(), prefix.high.to_bytes());
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    connection.during("looking for tombstones").list(
        "SELECT key FROM mark WHERE kind = ?1 AND key BETWEEN ?2 AND ?3 ORDER BY key LIMIT ?4",
        params![TOMBSTONE, low, high, limit],
        |row| Ok(CommitId::from_bytes(row.get(0)?)),
    )
}

/// Returns when a mark was set.
pub(super) fn at(connection: &Connection, kind: i64, key: &[u8]) -> Result<Option<i64>, StoreError> {
    Ok(of(connection, (kind, key))?.map(|(at, _)| at.as_micros()))
}

/// Returns all marks of a kind, with the time that they were set at.
pub(super) fn all(connection: &Connection, kind: i64) -> Result<Vec<(Vec<u8>, i64)>, StoreError> {
    connection.during("looking for marks").list("SELECT key, at FROM mark WHERE kind = ?1", [kind], columns)
}

/// Returns the mark that stands for a tombstone. Names of sessions and paths are no commit ids: what is kept of
/// them says nothing to who does not know them already.
pub(super) fn of_tombstone(secret: &[u8; 32], tombstone: &Tombstone) -> (i64, Vec<u8>) {
    let hashed = |what: &str, parts: &[&str]| {
        let mut hasher = blake3::Hasher::new_keyed(secret);
        hasher.update(what.as_bytes());
        for part in parts {
            hasher.update(&[0]);
            hasher.update(part.as_bytes());
        }
        hasher.finalize().as_bytes().split_at(16).0.to_vec()
    };
    match tombstone {
        Tombstone::Commit(id) => (TOMBSTONE, id.to_bytes().to_vec()),
        Tombstone::Session(session) => (FORGOTTEN_SESSION, hashed("session", &[session.as_str()])),
        Tombstone::Transcript(key) => {
            (FORGOTTEN_SESSION, hashed("transcript", &[key.machine.as_str(), &key.path]))
        }
    }
}

/// Takes back everything that the forgetting which left a tombstone left, and says how many tombstones that were.
pub(super) fn lift(connection: &Connection, mark: &(i64, Vec<u8>)) -> Result<u64, StoreError> {
    let Some(at) = at(connection, mark.0, &mark.1)? else {
        return Ok(0);
    };
    // What comes back is itself again, and leads nowhere else.
    connection.during("lifting redirects").run(
        "DELETE FROM mark WHERE kind = ?1 AND key IN (SELECT key FROM mark WHERE kind = ?2 AND at = ?3)",
        [REDIRECT, TOMBSTONE, at],
    )?;
    let lifted = connection
        .during("lifting tombstones")
        .run("DELETE FROM mark WHERE kind IN (?1, ?2) AND at = ?3", [TOMBSTONE, FORGOTTEN_SESSION, at])?;
    Ok(to_u64(lifted))
}

/// Returns whether a commit is tombstoned.
pub(super) fn is_tombstoned(connection: &Connection, id: CommitId) -> Result<bool, StoreError> {
    Ok(at(connection, TOMBSTONE, &id.to_bytes())?.is_some())
}
