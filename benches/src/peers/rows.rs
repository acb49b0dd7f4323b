//! The peer with the least in it that is still a database: a bare SQLite table, a compressed row a delta.
//! Not a context store: no ids, no chains, no hashes, nothing verified.

use std::path::Path;

use anyhow::Context as _;
use rusqlite::Connection;

/// zstd's own default.
const LEVEL: i32 = 3;

/// The file in its folder.
const FILE: &str = "rows.db";

/// A table of rows.
pub(crate) struct Rows {
    connection: Connection,
    compressor: zstd::bulk::Compressor<'static>,
    next: i64,
}

impl Rows {
    /// Makes an empty table in a folder; every row is durable when it was added.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn create(folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let connection = Connection::open(folder.join(FILE)).context("opening the bare table")?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute_batch("CREATE TABLE delta (i INTEGER PRIMARY KEY, parent INTEGER, bytes BLOB)")?;
        Ok(Self { connection, compressor: zstd::bulk::Compressor::new(LEVEL)?, next: 0 })
    }

    /// Adds a delta in a transaction of its own.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let compressed = self.compressor.compress(bytes)?;
        let mut insert = self.connection.prepare_cached("INSERT INTO delta VALUES (?1, ?2, ?3)")?;
        insert.execute((self.next, self.next - 1, compressed))?;
        self.next += 1;
        Ok(())
    }

    /// Adds many deltas in one transaction.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn put_all(&mut self, deltas: &[Vec<u8>]) -> anyhow::Result<()> {
        self.connection.execute_batch("BEGIN")?;
        for delta in deltas {
            self.put(delta)?;
        }
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    /// Puts the first `count` deltas, one after the other, into `into`.
    ///
    /// # Errors
    /// The database's, or what the decoder says.
    pub(crate) fn get(&self, count: usize, into: &mut Vec<u8>) -> anyhow::Result<()> {
        into.clear();
        let mut decompressor = zstd::bulk::Decompressor::new()?;
        let mut delta = Vec::new();
        let mut select = self.connection.prepare_cached("SELECT bytes FROM delta WHERE i < ?1 ORDER BY i")?;
        let mut rows = select.query([i64::try_from(count)?])?;
        while let Some(row) = rows.next()? {
            let stored = row.get_ref(0)?.as_blob()?;
            delta.clear();
            let length = zstd::zstd_safe::get_frame_content_size(stored).ok().flatten();
            delta.reserve(usize::try_from(length.context("a frame without its length")?)?);
            decompressor.decompress_to_buffer(stored, &mut delta)?;
            into.extend_from_slice(&delta);
        }
        Ok(())
    }

    /// Closes it with nothing left in its log.
    ///
    /// # Errors
    /// The database's.
    pub(crate) fn close(self) -> anyhow::Result<()> {
        drop(self.compressor);
        tidy(&self.connection)
    }
}

/// Rewrites every database below a folder as densely as it can be, with nothing left in its log.
///
/// # Errors
/// The database's.
pub(crate) fn vacuum(folder: &Path) -> anyhow::Result<()> {
    for entry in folder.read_dir()?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "db") {
            let connection =
                Connection::open(&path).with_context(|| format!("opening {}", path.display()))?;
            connection.execute_batch("VACUUM")?;
            tidy(&connection)?;
        }
    }
    Ok(())
}

fn tidy(connection: &Connection) -> anyhow::Result<()> {
    // It answers with a row, which `execute` would refuse.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch;

    #[test]
    fn deltas_come_back_in_order() {
        let folder = scratch::folder().expect("a folder");
        let mut rows = Rows::create(folder.path()).expect("made");
        rows.put(b"one\n").expect("added");
        rows.put_all(&[b"two\n".to_vec(), b"three\n".to_vec()]).expect("added");
        let mut bytes = Vec::new();
        rows.get(2, &mut bytes).expect("read");
        assert_eq!(bytes, b"one\ntwo\n");
        rows.close().expect("closed");
        vacuum(folder.path()).expect("tidied");
        assert!(scratch::bytes_below(folder.path()).expect("listed") > 0);
    }
}
