//! Both backends keep every promise of the seam.

use std::path::PathBuf;

use stemmata_store::{MemoryStore, SqliteOptions, SqliteStore, Store, conformance};
use stemmata_testkit::faulty::FaultyStore;
use tempfile::TempDir;

fn open(dir: &std::path::Path) -> Box<dyn Store> {
    Box::new(SqliteStore::open(dir, SqliteOptions::default()).expect("a store"))
}

#[test]
fn memory_conforms() {
    conformance::run(&mut || Box::new(MemoryStore::default()));
}

#[test]
fn sqlite_conforms() {
    let home = TempDir::new().expect("a directory");
    let mut made = 0;
    conformance::run(&mut || {
        made += 1;
        open(&home.path().join(made.to_string()))
    });
}

#[test]
fn sqlite_conforms_while_everything_is_packed() {
    let home = TempDir::new().expect("a directory");
    let mut made = 0;
    conformance::run(&mut || {
        made += 1;
        let dir = home.path().join(made.to_string());
        let store = SqliteStore::open(&dir, SqliteOptions::default()).expect("a store");
        let store = FaultyStore::new(store);
        store.pack_always();
        Box::new(store)
    });
}

#[test]
fn what_is_acknowledged_is_there_after_a_restart() {
    let home = TempDir::new().expect("a directory");
    let dir: PathBuf = home.path().join("store");
    conformance::check_restart(&mut || open(&dir), &mut |store| {
        drop(store);
        open(&dir)
    });
}
