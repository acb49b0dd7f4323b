//! Keys of events as they are stored: found, given, and forgotten with their first event.

use rusqlite::{Connection, params};
use stemmata_model::Timestamp;

use super::rows::{FORGOTTEN, place};
use crate::error::StoreError;
use crate::ledger::{EventKey, Keyed};
use crate::sqlite::failure::During;
use crate::sqlite::seals::{EVENT_KEY, Insert};
use crate::sqlite::statements::columns;

const READING: &str = "reading keys of events";
const WRITING: &str = "writing keys of events";

/// Keys that are over which one append removes, so that it stays short.
const SWEPT_MAX: i64 = 64;

/// Finds a key of a ledger. It stays while its first event is only trimmed; forgetting the event removes it.
pub(in crate::sqlite) fn find(
    connection: &Connection,
    ledger: i64,
    key: EventKey,
) -> Result<Option<Keyed>, StoreError> {
    let sql = "SELECT k.digest, k.first, k.last, k.until FROM event_key k JOIN event e \
               ON e.ledger = k.ledger AND e.seq = k.first AND e.kind <> ?3 \
               WHERE k.ledger = ?1 AND k.key = ?2";
    let found: Option<([u8; 16], i64, i64, Option<i64>)> =
        connection.during(READING).first(sql, params![ledger, key.as_bytes(), FORGOTTEN], columns)?;
    let place = |seq| place("event_key.first", seq);
    let keyed = |(digest, first, last, until): (_, _, _, Option<i64>)| {
        let (digest, until) = (EventKey::from_bytes(digest), until.map(Timestamp::from_micros));
        Ok(Keyed { key, digest, first: place(first)?, last: place(last)?, until })
    };
    found.map(keyed).transpose()
}

/// Gives a key, in the place of one that is over.
pub(in crate::sqlite) fn put(connection: &Connection, ledger: i64, keyed: &Keyed) -> Result<(), StoreError> {
    let (key, digest) = (keyed.key.as_bytes(), keyed.digest.as_bytes());
    let [first, last] = [keyed.first, keyed.last].map(|seq| seq.get().cast_signed());
    connection
        .during(WRITING)
        .insert_sealed(
            Insert::OrReplace,
            &EVENT_KEY,
            params![ledger, key, digest, first, last, keyed.until.map(Timestamp::as_micros)],
        )
        .map(drop)
}

/// Removes keys that are over, a few at once.
pub(in crate::sqlite) fn sweep(connection: &Connection, now: Timestamp) -> Result<(), StoreError> {
    let sql = "DELETE FROM event_key WHERE (ledger, key) IN (SELECT ledger, key FROM event_key \
               INDEXED BY event_key_by_until WHERE until <= ?1 LIMIT ?2)";
    connection.during(WRITING).run(sql, [now.as_micros(), SWEPT_MAX]).map(drop)
}

/// Removes the keys of a ledger whose first event was forgotten.
pub(in crate::sqlite) fn forget(connection: &Connection, ledger: i64) -> Result<(), StoreError> {
    let sql = "DELETE FROM event_key WHERE ledger = ?1 AND NOT EXISTS (SELECT 1 FROM event e \
               WHERE e.ledger = ?1 AND e.seq = event_key.first AND e.kind <> ?2)";
    connection.during(WRITING).run(sql, [ledger, FORGOTTEN]).map(drop)
}
