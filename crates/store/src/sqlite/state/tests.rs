//! Which databases are a service's state, and how an older one becomes one of today.

use rusqlite::Connection;
use stemmata_model::PointerKey;
use tempfile::TempDir;

use super::{FILE, STEPS, SqliteState};
use crate::error::StoreError;
use crate::files::{Files as _, SystemFiles};
use crate::sqlite::{SqliteOptions, SqliteStore};
use crate::state::Pointers as _;

/// A next version that adds a table.
const NEXT: &[(u32, &str)] = &[STEPS[0], (1, "CREATE TABLE later (one INTEGER)")];

/// A next version that older programs cannot read.
const OTHER: &[(u32, &str)] = &[STEPS[0], (2, "ALTER TABLE pointer RENAME TO other")];

fn opened(dir: &TempDir, steps: &[(u32, &str)]) -> Result<(), StoreError> {
    SqliteState::opened(dir.path(), &SqliteOptions::default(), steps).map(drop)
}

#[test]
fn a_state_is_brought_up_to_date_and_a_newer_one_is_read_as_long_as_it_can_be() {
    let dir = TempDir::new().expect("a directory");
    for steps in [&STEPS[..], NEXT, &STEPS[..], NEXT] {
        opened(&dir, steps).expect("a state of either version");
    }
    let connection = Connection::open(dir.path().join(FILE)).expect("a database");
    let sql = "SELECT write_version FROM about";
    let version: u32 = connection.query_row(sql, [], |row| row.get(0)).expect("a version");
    assert_eq!(version, 2, "the older program leaves it as it is");
    drop(connection);

    let dir = TempDir::new().expect("a directory");
    opened(&dir, OTHER).expect("a new state");
    let error = opened(&dir, &STEPS).expect_err("too new");
    assert!(matches!(error, StoreError::TooNew { found: 2, supported: 1 }), "{error}");
}

#[test]
fn neither_a_store_nor_a_text_is_taken_for_a_state() {
    let dir = TempDir::new().expect("a directory");
    drop(SqliteStore::open(dir.path(), SqliteOptions::default()).expect("a store"));
    for suffix in ["", "-wal"] {
        let store = dir.path().join(format!("stemmata.db{suffix}"));
        std::fs::rename(store, dir.path().join(format!("{FILE}{suffix}"))).expect("renamed");
    }
    let error = SqliteState::open(dir.path(), SqliteOptions::default()).expect_err("a store");
    assert!(
        matches!(&error, StoreError::NotAStore { reason, .. } if reason.contains("another database")),
        "{error}"
    );

    let dir = TempDir::new().expect("a directory");
    let mut file = SystemFiles.create(&dir.path().join(FILE)).expect("a file");
    file.append(b"a text").expect("written");
    let error = SqliteState::open(dir.path(), SqliteOptions::default()).expect_err("a text");
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("state");
    let state = SqliteState::open(&dir, SqliteOptions::default()).expect("a state");
    assert_eq!(state.pointer(&PointerKey::new("main").expect("a key")).expect("a read"), None);
    let mode = |name: &str| std::fs::metadata(dir.join(name)).expect("a file").permissions().mode() & 0o777;
    assert_eq!([mode("."), mode(FILE), mode("service.db-wal")], [0o700, 0o600, 0o600]);
}
