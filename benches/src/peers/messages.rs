//! The peer that a ledger of messages usually is: one SQLite table with the columns and indexes of seed 000, a log in
//! WAL mode that is not synced at each commit.
//! Not the product behind it, whose language adds its own time.

use std::path::Path;

use anyhow::Context as _;
use rusqlite::{Connection, params};

/// The table and its indexes.
const SCHEMA: &str = "
CREATE TABLE messages (id TEXT PRIMARY KEY, timestamp INTEGER NOT NULL, topic TEXT NOT NULL, sender TEXT NOT NULL,
    receiver TEXT NOT NULL, content_text TEXT, content_data TEXT, metadata TEXT, cluster_id TEXT NOT NULL);
CREATE INDEX by_timestamp ON messages (timestamp);
CREATE INDEX by_topic ON messages (topic);
CREATE INDEX by_sender ON messages (cluster_id, sender);
CREATE INDEX by_cluster_topic ON messages (cluster_id, topic);
CREATE INDEX by_cluster_time ON messages (cluster_id, timestamp);";

/// A message, as the table holds it.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// What it is about.
    pub topic: String,
    /// Its text.
    pub text: String,
    /// Its data.
    pub data: String,
}

/// A table of messages.
#[derive(Debug)]
pub(crate) struct Messages {
    connection: Connection,
    next: i64,
}

impl Messages {
    /// Makes an empty table.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        let connection = Connection::open(path).context("opening the table of messages")?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self { connection, next: 0 })
    }

    /// Adds messages in one transaction.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn put(&mut self, messages: &[Message]) -> anyhow::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO messages VALUES (?1, ?2, ?3, 'bench', 'broadcast', ?4, ?5, NULL, 'cluster')",
        )?;
        for message in messages {
            self.next += 1;
            let id = format!("msg_{:032x}", self.next);
            insert.execute(params![id, self.next, message.topic, message.text, message.data])?;
        }
        drop(insert);
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    /// Reads the newest messages of a topic, as its query does it; returns how many.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn latest(&self, topic: &str, limit: usize) -> anyhow::Result<usize> {
        let mut select = self.connection.prepare_cached(
            "SELECT content_text, content_data FROM messages WHERE cluster_id = 'cluster' AND topic = ?1 \
             AND timestamp >= 0 ORDER BY timestamp DESC, rowid DESC LIMIT ?2",
        )?;
        let rows = select.query_map(params![topic, i64::try_from(limit)?], |row| row.get::<_, String>(0))?;
        let texts: Vec<String> = rows.collect::<rusqlite::Result<_>>()?;
        Ok(texts.len())
    }
}
