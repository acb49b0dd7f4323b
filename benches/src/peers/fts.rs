//! SQLite's own full text search over the same texts: any of the words, the best 20 by BM25.
//! Not a store: it keeps no texts, no sessions, and knows no filters.

use std::path::Path;

use anyhow::Context as _;
use rusqlite::Connection;

/// The file in its folder.
const FILE: &str = "fts.db";

/// A table of words without their texts.
pub(crate) struct Fts {
    connection: Connection,
}

impl Fts {
    /// Makes an empty table in a folder.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn create(folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let connection = Connection::open(folder.join(FILE)).context("opening the table of words")?;
        connection.execute_batch(
            "PRAGMA journal_mode = wal; PRAGMA synchronous = normal; PRAGMA cache_size = -32768; \
             CREATE VIRTUAL TABLE words USING fts5 (text, content = '', tokenize = 'porter unicode61')",
        )?;
        Ok(Self { connection })
    }

    /// Adds texts in one transaction.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn add(&mut self, texts: &[String]) -> anyhow::Result<()> {
        let transaction = self.connection.transaction()?;
        for text in texts {
            transaction.prepare_cached("INSERT INTO words (text) VALUES (?1)")?.execute([text])?;
        }
        Ok(transaction.commit()?)
    }

    /// Returns the best rows.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn find(&self, words: &[String], hits: usize) -> anyhow::Result<Vec<i64>> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rank LIMIT ?2")?;
        let found = statement.query_map((words.join(" OR "), i64::try_from(hits)?), |row| row.get(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns what its file takes when nothing is left to write.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn bytes(&self) -> anyhow::Result<u64> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        let path = self.connection.path().context("a table in a file")?;
        Ok(std::fs::metadata(path)?.len())
    }
}
