//! Reading a ledger from an SQLite file in the shape of seed 000, be it ours or that of the seed's own program.
//!
//! Foreign bytes: whatever stands in the file, nothing panics, and nothing in it is run. Appending is the caller's.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row};
use stemmata_model::{Json, LedgerId, NewEvent, NewPayload, Party, SessionId, Timestamp, Topic};

use super::export::{FORMAT_VERSION, failed};
use super::{EVENT_AT_US_MAX, EVENT_BYTES_MAX};
use crate::error::StoreError;

/// Events of one page, and the bytes after which a page ends before it has as many.
const PAGE_EVENTS: usize = 256;
const PAGE_BYTES: usize = 8 * 1024 * 1024;

const READING: &str = "reading a cluster's file";

/// A file with a cluster's messages that is being read, in their order.
#[derive(Debug)]
pub struct ClusterFile {
    connection: Connection,
    path: PathBuf,
    cluster: LedgerId,
    created_at: Option<Timestamp>,
    /// Whether it was written by us, and has what the seed's columns have no place for.
    is_ours: bool,
    /// The last row that was read; none before the first.
    after: Option<i64>,
    gone: u64,
    broken: u64,
}

impl ClusterFile {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// `NotAStore` where it is none of a cluster, holds several, or none at all; `TooNew`; `Backend`.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let no_cluster = |reason: &str| StoreError::NotAStore {
            path: path.display().to_string(),
            reason: format!("as a cluster's file: {reason}"),
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed(READING))?;
        // Nothing that the file's author put into its schema is run.
        let careful = "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON; PRAGMA cell_size_check = ON;";
        connection.execute_batch(careful).map_err(failed(READING))?;
        let is_table = |name: &str| {
            let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1 AND type = 'table')";
            connection.query_row(sql, [name], |row| row.get::<_, bool>(0))
        };
        let is_cluster = is_table("messages").map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => no_cluster("it is not an SQLite database"),
            _ => failed(READING)(error),
        })?;
        if !is_cluster {
            return Err(no_cluster("it has no table `messages`"));
        }
        let is_ours = is_table("stemmata_cluster").map_err(failed(READING))?;
        let own: Option<(i64, String, i64)> = if is_ours {
            let sql = "SELECT format_version, cluster_id, created_at_us FROM stemmata_cluster LIMIT 1";
            let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            connection.query_row(sql, [], read).optional().map_err(failed(READING))?
        } else {
            None
        };
        if let Some((version, ..)) = own.as_ref().filter(|(version, ..)| *version > FORMAT_VERSION) {
            let found = u32::try_from(*version).unwrap_or(u32::MAX);
            let supported = u32::try_from(FORMAT_VERSION).unwrap_or(1);
            return Err(StoreError::TooNew { found, supported });
        }
        let clusters: Vec<String> = {
            let mut statement = connection
                .prepare("SELECT DISTINCT cluster_id FROM messages LIMIT 2")
                .map_err(failed(READING))?;
            let found = statement.query_map([], |row| row.get(0)).and_then(Iterator::collect);
            found.map_err(failed(READING))?
        };
        let cluster = match (clusters.as_slice(), &own) {
            ([one], _) => one.clone(),
            ([], Some((_, cluster, _))) => cluster.clone(),
            ([], None) => return Err(no_cluster("it has no messages")),
            (_, _) => return Err(no_cluster("it holds several clusters")),
        };
        let cluster = LedgerId::new(cluster).map_err(|error| no_cluster(&error.to_string()))?;
        let created_at = own.map(|(_, _, at)| Timestamp::from_micros(at));
        let path = path.to_owned();
        Ok(Self { connection, path, cluster, created_at, is_ours, after: None, gone: 0, broken: 0 })
    }

    /// Returns the cluster's id.
    pub const fn cluster(&self) -> &LedgerId {
        &self.cluster
    }

    /// Returns when the cluster was made, where the file says so.
    pub const fn created_at(&self) -> Option<Timestamp> {
        self.created_at
    }

    /// Returns how many of the events read so far had no payload any more.
    pub const fn gone(&self) -> u64 {
        self.gone
    }

    /// Returns how many of the events read so far had data or metadata that is no JSON. They come without it, as the
    /// seed's program reads them.
    pub const fn broken(&self) -> u64 {
        self.broken
    }

    /// Returns the next events; none at the end.
    ///
    /// # Errors
    /// `Damaged` where a row is no message, `Bound` where one is too large, `Backend`.
    pub fn page(&mut self) -> Result<Option<Vec<NewEvent>>, StoreError> {
        let mut events = Vec::new();
        let mut bytes = 0;
        while events.len() < PAGE_EVENTS && bytes < PAGE_BYTES {
            let Some((message, size)) = self.row()? else { break };
            bytes += size;
            events.push(self.event(message)?);
        }
        Ok((!events.is_empty()).then_some(events))
    }

    /// Reads one row, unless it is too large to be held.
    fn row(&mut self) -> Result<Option<(Message, usize)>, StoreError> {
        let sql = if self.is_ours {
            "SELECT m.rowid, length(CAST(coalesce(m.content_text, '') AS BLOB)) + length(CAST(coalesce(m.content_data, '') AS BLOB)) \
             + length(CAST(coalesce(m.metadata, '') AS BLOB)), m.timestamp, m.topic, m.sender, m.receiver, m.content_text, \
             m.content_data, m.metadata, e.at_us, e.session, e.replayable, e.is_line, e.gone_hash, e.gone_bytes, e.gone_forgotten \
             FROM messages m LEFT JOIN stemmata_event e ON e.seq = m.rowid WHERE m.rowid > ?1 ORDER BY m.rowid LIMIT 1"
        } else {
            "SELECT m.rowid, length(CAST(coalesce(m.content_text, '') AS BLOB)) + length(CAST(coalesce(m.content_data, '') AS BLOB)) \
             + length(CAST(coalesce(m.metadata, '') AS BLOB)), m.timestamp, m.topic, m.sender, m.receiver, m.content_text, \
             m.content_data, m.metadata, NULL, NULL, NULL, NULL, NULL, NULL, NULL \
             FROM messages m WHERE m.rowid > ?1 ORDER BY m.rowid LIMIT 1"
        };
        let mut statement = self.connection.prepare_cached(sql).map_err(failed(READING))?;
        let mut rows = statement.query([self.after.unwrap_or(i64::MIN)]).map_err(failed(READING))?;
        let Some(row) = rows.next().map_err(failed(READING))? else { return Ok(None) };
        let number: i64 = row.get(0).map_err(failed(READING))?;
        self.after = Some(number);
        let size = row
            .get(1)
            .map(|size: i64| usize::try_from(size).unwrap_or(usize::MAX))
            .map_err(failed(READING))?;
        if size > EVENT_BYTES_MAX {
            let (value, bound) =
                (u64::try_from(size).unwrap_or(u64::MAX), u64::try_from(EVENT_BYTES_MAX).unwrap_or(u64::MAX));
            return Err(StoreError::Bound { what: "bytes of a message", value, bound });
        }
        let message =
            Message::read(row, number).map_err(|error| damaged(&self.path, number, &error.to_string()))?;
        Ok(Some((message, size)))
    }

    fn event(&mut self, message: Message) -> Result<NewEvent, StoreError> {
        let broken = |error: &dyn std::fmt::Display| damaged(&self.path, message.number, &error.to_string());
        let (topic, sender, receiver) =
            (Topic::new(message.topic), Party::new(message.sender), Party::new(message.receiver));
        let session = SessionId::new(message.session.unwrap_or_else(|| self.cluster.to_string()));
        let mut lost = false;
        let mut json = |text: Option<String>| {
            let parsed = text.map(|text| Json::parse(&text));
            lost |= matches!(parsed, Some(Err(_)));
            parsed.and_then(Result::ok)
        };
        let (data, mut metadata) = (json(message.data), json(message.metadata));
        let payload = match (message.is_line, data) {
            _ if message.gone.is_some() => NewPayload::Plain { text: None, data: None },
            (true, Some(line)) => NewPayload::Line(line),
            (_, data) => NewPayload::Plain { text: message.text, data },
        };
        if let Some(gone) = message.gone {
            metadata = Some(with_gone(metadata, &gone));
            self.gone += 1;
        }
        let session = session.map_err(|error| broken(&error))?;
        let topic = topic.map_err(|error| broken(&error))?;
        let sender = sender.map_err(|error| broken(&error))?;
        let receiver = receiver.map_err(|error| broken(&error))?;
        self.broken += u64::from(lost);
        let event = NewEvent::new(session, topic, sender, payload).to(receiver);
        let event = metadata.map_or(event.clone(), |metadata| event.with_metadata(metadata));
        let at = message.at_us.unwrap_or_else(|| message.timestamp.saturating_mul(1_000));
        let replayable = message.replayable.unwrap_or(event.replayable);
        // A time that no ledger takes is no reason to refuse the file: the event comes after the one before it.
        let at = Some(at).filter(|at| *at <= EVENT_AT_US_MAX).map(Timestamp::from_micros);
        Ok(NewEvent { at, replayable, ..event })
    }
}

/// A row as it stands.
struct Message {
    number: i64,
    timestamp: i64,
    topic: String,
    sender: String,
    receiver: String,
    text: Option<String>,
    data: Option<String>,
    metadata: Option<String>,
    at_us: Option<i64>,
    session: Option<String>,
    replayable: Option<bool>,
    is_line: bool,
    gone: Option<(String, i64, bool)>,
}

impl Message {
    fn read(row: &Row<'_>, number: i64) -> rusqlite::Result<Self> {
        let gone: Option<String> = row.get(13)?;
        let left = |hash| Ok::<_, rusqlite::Error>((hash, row.get(14)?, row.get(15)?));
        Ok(Self {
            number,
            timestamp: row.get(2)?,
            topic: row.get(3)?,
            sender: row.get(4)?,
            receiver: row.get(5)?,
            text: row.get(6)?,
            data: row.get(7)?,
            metadata: row.get(8)?,
            at_us: row.get(9)?,
            session: row.get(10)?,
            replayable: row.get(11)?,
            is_line: row.get::<_, Option<bool>>(12)?.unwrap_or(false),
            gone: gone.map(left).transpose()?,
        })
    }
}

/// Says in an event's metadata what is left of its payload: a log takes no event without one.
fn with_gone(metadata: Option<Json>, (hash, bytes, forgotten): &(String, i64, bool)) -> Json {
    let hash: String = hash.chars().filter(char::is_ascii_alphanumeric).collect();
    let gone = format!("\"gone\":{{\"hash\":\"{hash}\",\"bytes\":{bytes},\"forgotten\":{forgotten}}}");
    let text = match metadata.as_ref().map(Json::as_str) {
        None | Some("{}") => format!("{{{gone}}}"),
        Some(text) => match text.strip_prefix('{') {
            Some(rest) => format!("{{{gone},{rest}"),
            None => format!("{{{gone},\"metadata\":{text}}}"),
        },
    };
    Json::parse(&text).ok().or(metadata).unwrap_or_else(|| Json::parse("{}").expect("an empty object"))
}

fn damaged(path: &Path, row: i64, reason: &str) -> StoreError {
    StoreError::Damaged {
        path: path.display().to_string(),
        damages: 1,
        first: format!("row {row} of `messages`: {reason}"),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::ledger::{Append, EventLog};
    use crate::sqlite::{SqliteOptions, SqliteStore};

    #[test]
    fn a_time_that_no_ledger_takes_is_none() {
        let folder = TempDir::new().expect("a directory");
        let path = folder.path().join("seed.db");
        let database = Connection::open(&path).expect("a database");
        database
            .execute_batch(
                "CREATE TABLE messages (id TEXT, timestamp INTEGER, topic TEXT, sender TEXT, receiver TEXT, \
                 content_text TEXT, content_data TEXT, metadata TEXT, cluster_id TEXT); \
                 INSERT INTO messages (timestamp, topic, sender, receiver, cluster_id) VALUES \
                 (5, 't', 'ann', 'bob', 'c'), (9223372036854775807, 't', 'ann', 'bob', 'c'), (7, 't', 'ann', 'bob', 'c')",
            )
            .expect("a table");
        let mut file = ClusterFile::open(&path).expect("a cluster");
        let events = file.page().expect("a page").expect("events");
        let times: Vec<Option<i64>> = events.iter().map(|event| event.at.map(Timestamp::as_micros)).collect();
        assert_eq!(times, [Some(5_000), None, Some(7_000)]);
        let (ledger, now) = (LedgerId::new("c").expect("a name"), Timestamp::from_micros(5_000));
        let append = Append::new(ledger, events, now);
        let store = SqliteStore::open(folder.path(), SqliteOptions::default()).expect("a store");
        let appended = store.append(append).expect("an append");
        assert_eq!(appended.last_at.as_micros(), 7_000);
    }
}
