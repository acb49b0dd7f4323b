//! The backend in SQLite keeps every promise of the seam. Others have this test beside them.

use std::path::Path;
use std::sync::Arc;

use stemmata_store::{SqliteOptions, SqliteStore, Store, conformance};
use stemmata_testkit::faulty::FaultyStore;
use tempfile::TempDir;

fn open(dir: &Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(dir, SqliteOptions::default()).expect("a store"))
}

/// Opens an empty store of SQLite in a folder of its own each time.
fn each<T>(act: impl Fn(Arc<SqliteStore>) -> T) -> impl FnMut() -> T {
    let home = TempDir::new().expect("a directory");
    let mut made = 0;
    move || {
        made += 1;
        act(open(&home.path().join(made.to_string())))
    }
}

#[test]
fn sqlite_conforms() {
    conformance::run(&mut each(|store| store as Arc<dyn Store>));
}

#[test]
fn sqlite_conforms_while_everything_is_packed() {
    conformance::run(&mut each(|store| {
        let store = FaultyStore::new(Arc::into_inner(store).expect("nobody else has it"));
        store.pack_always();
        Arc::new(store) as Arc<dyn Store>
    }));
}

#[test]
fn what_is_acknowledged_is_there_after_a_restart() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    conformance::check_restart(&mut || open(&dir), &mut |store| {
        drop(store);
        open(&dir)
    });
}
