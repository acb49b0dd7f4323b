//! Seals: checksums of the rows that no hash covers and nothing else can say again.
//!
//! Who writes such a row seals it; `verify` holds it to its seal, reads do not look. Specified in
//! `docs/format/store.md`.
//!
//! A statement that writes a sealed table goes through `Transaction::execute_sealed`.

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};
use stemmata_model::to_u64;

use super::failure::During;
use crate::error::StoreError;

/// Added to a seal that its row does not have, where nothing gives the row back: it is kept, and no longer reported.
pub(super) const KEPT: i64 = 1 << 32;

/// A table whose rows have seals.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sealed {
    pub(super) table: &'static str,
    /// The columns that a seal is over, in order; those of the primary key are first.
    pub(super) columns: &'static [&'static str],
    /// How many of them are the primary key.
    pub(super) key: usize,
}

pub(super) const SIGHTING: Sealed = Sealed {
    table: "sighting",
    columns: &["origin", "created_at", "commit_row", "trigger", "observed_at", "offset", "length"],
    key: 3,
};

pub(super) const SESSION: Sealed = Sealed {
    table: "session",
    columns: &[
        "path",
        "machine",
        "session",
        "parent_session",
        "format",
        "template",
        "principal",
        "granularity",
        "came",
        "placed_from",
        "title",
        "cwd",
        "git_branch",
        "version",
        "started_at",
        "last_at",
        "tip",
        "commits",
        "messages",
        "bytes",
    ],
    key: 2,
};

pub(super) const CURSOR: Sealed = Sealed { table: "cursor", columns: &["path", "machine", "value"], key: 2 };

pub(super) const ANNOTATION: Sealed = Sealed {
    table: "annotation",
    columns: &["commit_row", "kind", "number", "at", "by", "change", "text", "source"],
    key: 3,
};

pub(super) const ORIGIN: Sealed = Sealed {
    table: "origin",
    columns: &["row", "principal", "machine", "session", "path", "ticket", "thread", "template_alias"],
    key: 1,
};

pub(super) const LINK: Sealed =
    Sealed { table: "link", columns: &["source", "kind", "target", "entry"], key: 4 };

pub(super) const PLACEMENT: Sealed = Sealed {
    table: "placement",
    columns: &["path", "machine", "session", "ctx", "taken_bytes", "placed_bytes", "keyed_hash", "placed_at"],
    key: 2,
};

pub(super) const MARK: Sealed = Sealed { table: "mark", columns: &["kind", "key", "at", "by"], key: 2 };

pub(super) const LEDGER: Sealed = Sealed {
    table: "ledger",
    columns: &[
        "row",
        "id",
        "created_at",
        "last",
        "last_at",
        "root",
        "compacted_at",
        "output_events",
        "output_bytes",
        "epoch",
    ],
    key: 1,
};

pub(super) const LEDGER_MARK: Sealed = Sealed { table: "ledger_mark", columns: &["mark", "ledger"], key: 1 };

pub(super) const NAME: Sealed = Sealed { table: "name", columns: &["row", "text"], key: 1 };

pub(super) const EVENT: Sealed = Sealed {
    table: "event",
    columns: &[
        "ledger",
        "seq",
        "at",
        "topic",
        "sender",
        "receiver",
        "session",
        "kind",
        "replayable",
        "content",
        "text",
        "data",
        "metadata",
        "hash",
        "bytes",
    ],
    key: 2,
};

pub(super) const RECEIPT: Sealed = Sealed {
    table: "receipt",
    columns: &["ledger", "topic", "events", "bytes", "chain", "through", "raw_through", "replayable_through"],
    key: 2,
};

pub(super) const STATE: Sealed = Sealed {
    table: "state",
    columns: &["ledger", "name", "version", "through", "position", "state"],
    key: 2,
};

pub(super) const COVERAGE: Sealed =
    Sealed { table: "coverage", columns: &["commit_row", "ledger", "through"], key: 2 };

pub(super) const EVENT_KEY: Sealed =
    Sealed { table: "event_key", columns: &["ledger", "key", "digest", "first", "last", "until"], key: 2 };

/// All tables whose rows have seals. What the others hold has hashes, or follows from what has.
pub(super) const SEALED: [&Sealed; 16] = [
    &ORIGIN,
    &SIGHTING,
    &SESSION,
    &CURSOR,
    &PLACEMENT,
    &LINK,
    &ANNOTATION,
    &MARK,
    &LEDGER,
    &LEDGER_MARK,
    &NAME,
    &EVENT,
    &RECEIPT,
    &STATE,
    &COVERAGE,
    &EVENT_KEY,
];

/// A row that is not what was written.
pub(super) struct Broken {
    /// Its sealed columns.
    pub(super) values: Vec<Value>,
    /// The seal of the row that was written.
    pub(super) seal: i64,
    /// Whether it was reported before, and kept.
    pub(super) is_kept: bool,
}

impl Sealed {
    /// Returns the seal of a row.
    pub(super) fn seal(&self, values: &[&dyn ToSql]) -> rusqlite::Result<i64> {
        debug_assert_eq!(values.len(), self.columns.len(), "{}", self.table);
        let mut hasher = hasher(self.table);
        for value in values {
            match value.to_sql()? {
                ToSqlOutput::Borrowed(value) => add(&mut hasher, value),
                ToSqlOutput::Owned(value) => add(&mut hasher, ValueRef::from(&value)),
                _ => add(&mut hasher, ValueRef::Null),
            }
        }
        Ok(number(&hasher))
    }

    /// Returns the seal of a row that was read, or is to be.
    pub(super) fn seal_of(&self, values: &[Value]) -> i64 {
        let mut hasher = hasher(self.table);
        for value in values {
            add(&mut hasher, ValueRef::from(value));
        }
        number(&hasher)
    }

    /// Calls back for each row whose seal is not its own. Rows without one are not looked at.
    pub(super) fn broken(
        &self,
        connection: &Connection,
        during: &'static str,
        found: &mut dyn FnMut(Broken),
    ) -> Result<(), StoreError> {
        let names: Vec<String> = self.columns.iter().map(|name| format!("\"{name}\"")).collect();
        let sql = format!("SELECT {}, seal FROM {} WHERE seal IS NOT NULL", names.join(", "), self.table);
        let mut statement = connection.prepare(&sql).during(during)?;
        let mut rows = statement.query([]).during(during)?;
        while let Some(row) = rows.next().during(during)? {
            let mut hasher = hasher(self.table);
            for at in 0..self.columns.len() {
                add(&mut hasher, row.get_ref(at).during(during)?);
            }
            let stored = row.get_ref(self.columns.len()).during(during)?.as_i64().unwrap_or(i64::MIN);
            if stored == number(&hasher) {
                continue;
            }
            let values: rusqlite::Result<Vec<Value>> =
                (0..self.columns.len()).map(|at| row.get_ref(at).map(value_of)).collect();
            found(Broken {
                values: values.during(during)?,
                seal: stored & (KEPT - 1),
                is_kept: stored & !(KEPT - 1) == KEPT,
            });
        }
        Ok(())
    }

    /// Writes a row over the one with a key.
    pub(super) fn replace(
        &self,
        connection: &Connection,
        broken: &Broken,
        values: &[Value],
    ) -> rusqlite::Result<()> {
        self.remove(connection, broken)?;
        let names: Vec<String> = self.columns.iter().map(|name| format!("\"{name}\"")).collect();
        let holes: Vec<String> = (1..=self.columns.len() + 1).map(|at| format!("?{at}")).collect();
        let sql = format!(
            "INSERT OR REPLACE INTO {} ({}, seal) VALUES ({})",
            self.table,
            names.join(", "),
            holes.join(", ")
        );
        let seal = Value::Integer(self.seal_of(values));
        connection.execute(&sql, params_from_iter(values.iter().chain([&seal])))?;
        Ok(())
    }

    /// Removes the row with a key.
    pub(super) fn remove(&self, connection: &Connection, broken: &Broken) -> rusqlite::Result<()> {
        self.at_key(connection, &format!("DELETE FROM {}", self.table), broken)
    }

    /// Keeps a row that nothing gives back as it is, and marks it.
    pub(super) fn keep(&self, connection: &Connection, broken: &Broken) -> rusqlite::Result<()> {
        let sql = format!("UPDATE {} SET seal = {}", self.table, broken.seal | KEPT);
        self.at_key(connection, &sql, broken)
    }

    fn at_key(&self, connection: &Connection, sql: &str, broken: &Broken) -> rusqlite::Result<()> {
        let wanted: Vec<String> = self
            .columns
            .iter()
            .take(self.key)
            .enumerate()
            // A text that is none was taken as its bytes.
            .map(|(at, name)| format!("CAST(\"{name}\" AS BLOB) IS CAST(?{} AS BLOB)", at + 1))
            .collect();
        let sql = format!("{sql} WHERE {}", wanted.join(" AND "));
        connection.execute(&sql, params_from_iter(broken.values.iter().take(self.key)))?;
        Ok(())
    }

    /// Names a row for people, by its key.
    pub(super) fn named(&self, broken: &Broken) -> String {
        let parts: Vec<String> = self
            .columns
            .iter()
            .zip(&broken.values)
            .take(self.key)
            .map(|(name, value)| format!("{name} {}", text_of(value)))
            .collect();
        parts.join(", ")
    }
}

/// Takes a value; a text that is none is taken as its bytes.
fn value_of(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(text) => match str::from_utf8(text) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Blob(text.to_vec()),
        },
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => format!("`{text}`"),
        Value::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn hasher(table: &str) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    add(&mut hasher, ValueRef::Text(table.as_bytes()));
    hasher
}

/// Adds a value as its type, its length and its bytes, so that no two rows have one encoding.
fn add(hasher: &mut blake3::Hasher, value: ValueRef<'_>) {
    let number;
    let (kind, bytes): (u8, &[u8]) = match value {
        ValueRef::Null => (0, &[]),
        ValueRef::Integer(value) => {
            number = value.to_le_bytes();
            (1, &number)
        }
        ValueRef::Real(value) => {
            number = value.to_bits().to_le_bytes();
            (2, &number)
        }
        ValueRef::Text(text) => (3, text),
        ValueRef::Blob(bytes) => (4, bytes),
    };
    let length = to_u64(bytes.len());
    hasher.update(&[kind]).update(&length.to_le_bytes()).update(bytes);
}

/// The first four bytes of a hash, as a positive number.
fn number(hasher: &blake3::Hasher) -> i64 {
    let hash = hasher.finalize();
    i64::from(u32::from_le_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default()))
}

/// Runs a statement that writes a sealed row, whose seal is one value more.
pub(super) fn execute_sealed(
    connection: &Connection,
    sql: &str,
    sealed: &Sealed,
    values: &[&dyn ToSql],
    operation: &'static str,
) -> Result<usize, StoreError> {
    let seal = sealed.seal(values).during(operation)?;
    let with_seal: Vec<&dyn ToSql> = values.iter().copied().chain([&seal as &dyn ToSql]).collect();
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute(with_seal.as_slice()))
        .during(operation)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::sqlite::open::{Opened, SqliteOptions, open_store};

    #[test]
    fn every_column_of_a_sealed_table_is_sealed() {
        let home = TempDir::new().expect("a directory");
        let Opened { connection, .. } = open_store(home.path(), &SqliteOptions::default()).expect("a store");
        for sealed in SEALED {
            let found: Vec<(String, i64)> = connection
                .prepare(&format!("PRAGMA table_info({})", sealed.table))
                .and_then(|mut found| found.query_map([], |row| Ok((row.get(1)?, row.get(5)?)))?.collect())
                .expect("columns");
            let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            let known: Vec<&str> = sealed.columns.iter().copied().chain(["seal"]).collect();
            assert_eq!(names, known, "{}", sealed.table);
            let key: Vec<i64> = found.iter().map(|(_, place)| *place).filter(|place| *place > 0).collect();
            assert_eq!(key, (1..).take(sealed.key).collect::<Vec<_>>(), "{}", sealed.table);
        }
    }

    #[test]
    fn a_seal_is_of_the_bytes_that_the_format_says() {
        let row = [Value::Text("a".into()), Value::Text("m".into()), Value::Blob(vec![1, 2])];
        let mut bytes = Vec::new();
        for (kind, value) in [(3_u8, b"cursor".as_slice()), (3, b"a"), (3, b"m"), (4, &[1, 2])] {
            bytes.push(kind);
            bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
            bytes.extend_from_slice(value);
        }
        let hash = blake3::hash(&bytes);
        let wanted = u32::from_le_bytes(hash.as_bytes()[..4].try_into().expect("four bytes"));
        assert_eq!(CURSOR.seal_of(&row), i64::from(wanted));
        assert_eq!(CURSOR.seal(&[&"a", &"m", &[1_u8, 2].as_slice()]).expect("a seal"), i64::from(wanted));
    }
}
