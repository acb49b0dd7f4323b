//! Seals of rows: written with them, and held to them.
//!
//! Which rows have seals, and what they are over, is in `crate::rules::seals`. Who writes such a row seals it; `verify` holds it
//! to its seal, reads do not look.
//!
//! A statement that writes a sealed table goes through `Statements::seal`.

use std::sync::OnceLock;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::failure::During;
use super::statements::Statements;
use crate::error::StoreError;
use crate::rules::seals::{KEPT, Sealable};
use crate::seam::{Damage, Verified};

pub(super) use crate::rules::seals::{
    ANNOTATION, COVERAGE, CURSOR, EVENT, EVENT_KEY, LEDGER, LEDGER_MARK, LINK, MARK, NAME, ORIGIN, PLACEMENT,
    RECEIPT, SEALED, SESSION, SIGHTING, STATE, Sealed,
};

/// What becomes of a row that is there with the key of one that is inserted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Insert {
    /// There is none.
    New,
    /// It stays as it is.
    OrIgnore,
    /// It goes.
    OrReplace,
    /// All its columns are replaced: those that a newer version added keep what they hold.
    OrUpdate,
}

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
        let mut sealing = self.sealing();
        for value in values {
            match value.to_sql()? {
                ToSqlOutput::Borrowed(value) => sealing.add(sealable(value)),
                ToSqlOutput::Owned(value) => sealing.add(sealable(ValueRef::from(&value))),
                _ => sealing.add(Sealable::Null),
            }
        }
        Ok(sealing.seal())
    }

    /// Returns the seal of a row that was read, or is to be.
    pub(super) fn seal_of(&self, values: &[Value]) -> i64 {
        let mut sealing = self.sealing();
        for value in values {
            sealing.add(sealable(ValueRef::from(value)));
        }
        sealing.seal()
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
            let mut sealing = self.sealing();
            for at in 0..self.columns.len() {
                sealing.add(sealable(row.get_ref(at).during(during)?));
            }
            let stored = row.get_ref(self.columns.len()).during(during)?.as_i64().unwrap_or(i64::MIN);
            if stored == sealing.seal() {
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

    /// Reports each row whose seal is not its own, but for those that are kept: these are counted.
    pub(super) fn verify(
        &self,
        connection: &Connection,
        verified: &mut Verified,
        found: &mut dyn FnMut(Damage),
    ) -> Result<(), StoreError> {
        self.broken(connection, "verifying the store", &mut |broken| {
            if broken.is_kept {
                verified.kept_rows += 1;
                return;
            }
            let message = format!("the row of {} is not what was written", self.named(&broken));
            found(Damage { check: "seal", object: self.table.to_owned(), message });
        })
    }

    /// Returns the statement that inserts a row with its seal: made once, since making it takes a while for each row.
    fn inserting(&self, insert: Insert) -> &'static str {
        static MADE: [[OnceLock<String>; 4]; SEALED.len()] =
            [const { [const { OnceLock::new() }; 4] }; SEALED.len()];
        let of_table = SEALED.iter().zip(&MADE).find(|(sealed, _)| sealed.table == self.table);
        let made = of_table.and_then(|(_, made)| made.get(insert as usize));
        made.expect("every sealed table has its statements").get_or_init(|| self.made(insert))
    }

    fn made(&self, insert: Insert) -> String {
        let names = format!("\"{}\"", self.columns.join("\", \""));
        let holes = vec!["?"; self.columns.len() + 1].join(", ");
        let columns = self.columns.iter().skip(self.key).chain(&["seal"]);
        let set: Vec<String> = columns.map(|name| format!("\"{name}\" = excluded.\"{name}\"")).collect();
        let (begin, end) = match insert {
            Insert::New => ("INSERT", String::new()),
            Insert::OrIgnore => ("INSERT OR IGNORE", String::new()),
            Insert::OrReplace => ("INSERT OR REPLACE", String::new()),
            Insert::OrUpdate => ("INSERT", format!(" ON CONFLICT DO UPDATE SET {}", set.join(", "))),
        };
        format!("{begin} INTO {} ({names}, seal) VALUES ({holes}){end}", self.table)
    }

    /// Writes a row over the one with a key.
    pub(super) fn replace(
        &self,
        connection: &Connection,
        broken: &Broken,
        values: &[Value],
    ) -> rusqlite::Result<()> {
        self.remove(connection, broken)?;
        let sql = self.inserting(Insert::OrReplace);
        let seal = Value::Integer(self.seal_of(values));
        connection.execute(sql, params_from_iter(values.iter().chain([&seal])))?;
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

const fn sealable(value: ValueRef<'_>) -> Sealable<'_> {
    match value {
        ValueRef::Null => Sealable::Null,
        ValueRef::Integer(number) => Sealable::Integer(number),
        ValueRef::Real(number) => Sealable::Real(number),
        ValueRef::Text(text) => Sealable::Text(text),
        ValueRef::Blob(bytes) => Sealable::Blob(bytes),
    }
}

impl Statements<'_, StoreError> {
    /// Runs a statement that writes a sealed row, whose seal is one value more. Returns how many rows it changed.
    pub(super) fn seal(
        &self,
        sql: &str,
        sealed: &Sealed,
        values: &[&dyn ToSql],
    ) -> Result<usize, StoreError> {
        let seal = sealed.seal(values).map_err(|error| self.fail(error))?;
        let with_seal: Vec<&dyn ToSql> = values.iter().copied().chain([&seal as &dyn ToSql]).collect();
        self.run(sql, with_seal.as_slice())
    }

    /// Inserts a sealed row.
    pub(super) fn insert_sealed(
        &self,
        insert: Insert,
        sealed: &Sealed,
        values: &[&dyn ToSql],
    ) -> Result<usize, StoreError> {
        self.seal(sealed.inserting(insert), sealed, values)
    }
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
