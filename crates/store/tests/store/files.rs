//! The files of a store: who may read them, what is no store, and which formats are read.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use super::support::{chain, damages, open, read, try_open};
use rusqlite::Connection;
use stemmata_store::{Commits, SqliteOptions, SqliteStore, StoreError, StoreErrorKind};
use stemmata_testkit::disk::{Disk, Image};
use stemmata_testkit::files::RecordedFiles;
use tempfile::TempDir;

const FILE: &str = "stemmata.db";

#[test]
fn the_linked_sqlite_does_not_corrupt_its_log() {
    // 3.7.0 to 3.51.2 can lose a committed transaction when the log starts anew.
    assert!(rusqlite::version_number() >= 3_051_003, "{}", rusqlite::version());
}

#[cfg(unix)]
#[test]
fn directory_and_files_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("deep/er");
    let store = open(&dir);
    chain(&store, "s1", 2, 500);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&home.path().join("deep")), mode(&dir)), (0o700, 0o700));
    for name in [FILE, "stemmata.db-wal", "stemmata.db-shm"] {
        assert_eq!(mode(&dir.join(name)), 0o600, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_directory_is_not_followed() {
    let home = TempDir::new().expect("a directory");
    let elsewhere = home.path().join("elsewhere");
    open(&elsewhere);
    let dir = home.path().join("store");
    fs::create_dir(&dir).expect("a directory");
    std::os::unix::fs::symlink(elsewhere.join(FILE), dir.join(FILE)).expect("a link");
    let error = try_open(&dir).expect_err("a link is not a store");
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
    std::os::unix::fs::symlink(&elsewhere, home.path().join("link")).expect("a link");
    open(&home.path().join("link"));
}

#[test]
fn a_network_file_system_is_refused_and_named_until_it_is_allowed() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("deep/store");
    for (file_system, is_refused) in [("nfs4", true), ("fuse.sshfs", true), ("9p", false), ("ext4", false)] {
        let disk = Disk::new();
        disk.plant("home", &Image::default());
        let files = RecordedFiles::new(&disk, "home", home.path()).expect("a folder");
        let files = Arc::new(files.lying_on(file_system));
        let options = SqliteOptions { files, ..SqliteOptions::default() };
        let opened = SqliteStore::open(&dir, options.clone());
        if !is_refused {
            opened.expect("a disk of this machine");
            continue;
        }
        let error = opened.expect_err("other machines may write it");
        let StoreError::Network { path, file_system: named, mount } = &error else { panic!("{error}") };
        assert_eq!((Path::new(path), named.as_str()), (dir.as_path(), file_system));
        assert_eq!(Path::new(mount), home.path().canonicalize().expect("it is there"));
        assert!(!home.path().join("deep").exists(), "nothing is made there");
        SqliteStore::open(&dir, SqliteOptions { allow_network: true, ..options }).expect("it is allowed");
        fs::remove_dir_all(home.path().join("deep")).expect("removed");
    }
}

fn write(path: &Path, bytes: &[u8]) {
    File::create(path).and_then(|mut file| file.write_all(bytes)).expect("a file");
}

#[test]
fn what_is_no_store_is_left_alone_and_named() {
    let garbage: Vec<u8> =
        (0..9000_u32).flat_map(|step| step.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let header = [b"SQLite format 3\0".as_slice(), &garbage].concat();
    for bytes in [b"x".as_slice(), b"{\"not\":\"a database\"}\n", &garbage, &header] {
        let home = TempDir::new().expect("a directory");
        write(&home.path().join(FILE), bytes);
        let error = try_open(home.path()).expect_err("it is not a store");
        assert!(matches!(&error, StoreError::NotAStore { path, .. } if path.ends_with(FILE)), "{error}");
        assert_eq!(error.kind(), StoreErrorKind::Incompatible);
        assert_eq!(fs::read(home.path().join(FILE)).expect("it is there"), bytes);
    }
    let home = TempDir::new().expect("a directory");
    let other = Connection::open(home.path().join(FILE)).expect("a database");
    other.execute_batch("CREATE TABLE notes (text TEXT)").expect("a table");
    let error = try_open(home.path()).expect_err("it is another program's");
    assert_eq!(
        error.to_string(),
        format!(
            "{} is not a Stemmata store: it is another program's database",
            home.path().canonicalize().expect("it is there").join(FILE).display()
        )
    );
    fs::create_dir(home.path().join("sub")).expect("a directory");
    fs::create_dir(home.path().join("sub").join(FILE)).expect("a directory");
    assert!(matches!(try_open(&home.path().join("sub")), Err(StoreError::NotAStore { .. })));
}

#[test]
fn a_store_cut_at_any_page_is_an_error_and_never_a_panic() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("whole");
    let store = open(&dir);
    let ids = chain(&store, "s1", 60, 3000);
    drop(store);
    let whole = fs::read(dir.join(FILE)).expect("a database");
    assert!(whole.len() > 40_000, "the log was copied when the store was closed");
    for cut in (0..whole.len()).step_by(7777) {
        let dir = home.path().join(cut.to_string());
        fs::create_dir(&dir).expect("a directory");
        write(&dir.join(FILE), &whole[..cut]);
        let Ok(store) = try_open(&dir) else {
            continue;
        };
        let found = damages(&store);
        let readable = ids.iter().filter(|id| matches!(store.commit(**id), Ok(Some(_)))).count();
        assert!(cut == 0 || !found.is_empty(), "cut at {cut}: {readable} of 60 are readable");
        let _answer = store.usage();
        let _answer = store.commit_batch(super::support::checkpoint("s2", None, 0, 300).1);
    }
}

#[test]
fn a_store_of_a_newer_format_is_refused_or_left_as_it_is() {
    let home = TempDir::new().expect("a directory");
    let ids = chain(&open(home.path()), "s1", 3, 500);
    let newer = Connection::open(home.path().join(FILE)).expect("a database");
    newer
        .execute_batch(
            "UPDATE store SET write_version = 9; ALTER TABLE commits ADD COLUMN mood TEXT; \
             ALTER TABLE session ADD COLUMN mood TEXT; \
             CREATE TABLE moods (row INTEGER PRIMARY KEY); INSERT INTO moods VALUES (7); \
             UPDATE commits SET mood = 'good'; UPDATE session SET mood = 'good';",
        )
        .expect("a newer format");
    let store = open(home.path());
    let last = ids.last().copied();
    let (next, batch) = super::support::checkpoint("s1", last, 3, 500);
    store.commit_batch(batch).expect("an older version goes on writing");
    assert_eq!(store.ancestors(next, 9).expect("a read").len(), 4);
    assert_eq!(damages(&store), []);
    drop(store);
    let kept: (i64, i64, i64, i64) = newer
        .query_row(
            "SELECT (SELECT count(*) FROM commits WHERE mood = 'good'), \
             (SELECT count(*) FROM session WHERE mood = 'good'), (SELECT row FROM moods), \
             (SELECT write_version FROM store)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .expect("what the newer version wrote");
    assert_eq!(kept, (3, 1, 7, 9));

    newer.execute("UPDATE store SET read_version = 99", []).expect("a format that has to be understood");
    let error = try_open(home.path()).expect_err("it cannot be read");
    assert_eq!(error.to_string(), "the store has format 99, and this version reads up to 3");
    assert_eq!(error.kind(), StoreErrorKind::Incompatible);
}

#[test]
fn stores_opened_at_once_are_one_store() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("new");
    let stores: Vec<SqliteStore> = std::thread::scope(|scope| {
        let opening: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| SqliteStore::open(&dir, SqliteOptions::default()).expect("a store")))
            .collect();
        opening.into_iter().map(|opening| opening.join().expect("no panic")).collect()
    });
    let identity = stores[0].identity().expect("a read");
    for (number, store) in stores.iter().enumerate() {
        assert_eq!(store.identity().expect("a read"), identity);
        let ids = chain(store, &format!("s{number}"), 5, 500);
        for id in ids {
            let commit = stores[0].commit(id).expect("a read").expect("every store sees it");
            assert!(read(&stores[0], commit.core.artifact).is_ok());
        }
    }
    let other = open(&home.path().join("other")).identity().expect("a read");
    assert!(other.store_id != identity.store_id && other.secret != identity.secret);
}

#[test]
fn a_lock_held_by_another_process_is_waited_for_and_named() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let ids = chain(&store, "s1", 2, 500);
    let other = Connection::open(home.path().join(FILE)).expect("a database");
    other.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let (next, batch) = super::support::checkpoint("s1", ids.last().copied(), 2, 500);
    let error = store.commit_batch(batch.clone()).expect_err("it is locked");
    assert!(matches!(error, StoreError::Locked { waited_ms } if waited_ms >= 50), "{error}");
    assert_eq!(error.kind(), StoreErrorKind::Locked);
    assert_eq!(store.ancestors(ids[1], 9).expect("reads go on").len(), 2);
    other.execute_batch("COMMIT").expect("a lock given back");
    store.commit_batch(batch).expect("the lock is gone");
    assert_eq!(store.ancestors(next, 9).expect("a read").len(), 3);
}

#[test]
fn metadata_and_indexes_take_few_bytes_a_commit() {
    // What one more commit costs: the tables' fixed pages are paid once, by the first thousand.
    let home = TempDir::new().expect("a directory");
    let mut sizes = Vec::new();
    for commits in [1000, 3000] {
        let dir = home.path().join(commits.to_string());
        let store = open(&dir);
        chain(&store, "0f8fad5b-d9cb-469f-a165-70867728950e", commits, 2000);
        let log = fs::metadata(dir.join("stemmata.db-wal")).expect("a log").len();
        assert!(log < 32 * 1024 * 1024, "the log is copied while commits go on, and has {log} bytes");
        drop(store);
        let database = Connection::open(dir.join(FILE)).expect("a database");
        let (metadata, hashes): (i64, i64) = database
            .query_row(
                "SELECT (SELECT sum(pgsize) FROM dbstat WHERE name <> 'content'), \
                 (SELECT sum(payload) FROM dbstat WHERE name = 'content' AND pagetype <> 'internal') \
                 - (SELECT sum(length(bytes)) FROM content)",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .expect("the sizes of tables");
        sizes.push(metadata + hashes);
    }
    let each = (sizes[1] - sizes[0]) / 2000;
    println!("{} bytes for 1,000 commits, {each} for each one more", sizes[0]);
    assert!(each <= 200, "{each} bytes a commit");
    assert!(sizes[0] <= 1000 * 200 + 204 * 1024, "{} bytes for 1,000 commits", sizes[0]);
}
