//! Backups and restores: whole, consistent while others write, and never half there.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::support::{chain, checkpoint, damages, open, read};
use rusqlite::Connection;
use stemmata_model::CommitId;
use stemmata_store::maintain::backup::Restored;
use stemmata_store::{Commits, OnDisk, SqliteOptions, SqliteStore, StoreError, StoreErrorKind};
use tempfile::TempDir;

const FILE: &str = "stemmata.db";

fn backup(store: &SqliteStore, to: &Path) -> stemmata_store::maintain::backup::BackedUp {
    store.backup(to).expect("a backup")
}

fn restore(from: &Path, home: &Path) -> Result<Restored, StoreError> {
    SqliteStore::restore(from, &home.join("store"), &home.join("store.aside"), &SqliteOptions::default())
}

/// Asserts that a folder is a sound store that gives every content of these commits as another store does.
#[track_caller]
fn assert_same(folder: &Path, original: &SqliteStore, ids: &[CommitId]) {
    let copy = open(folder);
    assert_eq!(damages(&copy), []);
    assert_eq!(copy.identity().expect("a read"), original.identity().expect("a read"));
    for id in ids {
        let commit = copy.commit(*id).expect("a read").expect("it is in the copy");
        assert_eq!(Some(&commit), original.commit(*id).expect("a read").as_ref());
        let artifact = commit.core.artifact;
        assert_eq!(read(&copy, artifact).expect("a read"), read(original, artifact).expect("a read"));
    }
}

/// Makes a pack file that the store's database names, and returns its path.
fn name_a_pack(dir: &Path, bytes: &[u8]) -> PathBuf {
    let name = blake3_of(bytes);
    fs::create_dir_all(dir.join("packs")).expect("a folder");
    let path = dir.join("packs").join(format!("{name}.pack"));
    File::create(&path).and_then(|mut file| file.write_all(bytes)).expect("a file");
    let hash: Vec<u8> =
        (0..32).map(|at| u8::from_str_radix(&name[2 * at..][..2], 16).expect("hex")).collect();
    Connection::open(dir.join(FILE))
        .and_then(|database| {
            database.execute(
                "INSERT INTO pack (name, bytes, made_at) VALUES (?1, ?2, 0)",
                rusqlite::params![hash, i64::try_from(bytes.len()).expect("small")],
            )
        })
        .expect("a row");
    path
}

/// An artifact is named by the same hash as a pack.
fn blake3_of(bytes: &[u8]) -> String {
    let id = stemmata_model::artifact_id(bytes);
    id.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_backup_is_a_store_with_everything_and_is_brought_up_to_date() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let store = open(&dir);
    let mut ids = chain(&store, "s1", 5, 2000);
    let pack = name_a_pack(&dir, b"a pack");
    let to = home.path().join("deep/er/backup");
    let first = backup(&store, &to);
    assert_eq!((first.commits, first.packs, first.packs_new, first.is_update), (5, 1, 1, false));
    let packed = to.join("packs").join(pack.file_name().expect("a name"));
    assert_eq!(fs::read(&packed).expect("it is there"), b"a pack");
    assert!(!to.join("lock").exists());

    let (next, batch) = checkpoint("s1", ids.last().copied(), 5, 2000);
    store.commit_batch(batch).expect("a batch");
    ids.push(next);
    Connection::open(dir.join(FILE)).and_then(|own| own.execute("DELETE FROM pack", [])).expect("a row less");
    fs::remove_file(&pack).expect("a file less");
    let newer = name_a_pack(&dir, b"another pack");
    let second = backup(&store, &to);
    assert_eq!((second.commits, second.packs, second.packs_new, second.is_update), (6, 1, 1, true));
    assert!(!packed.exists(), "what the store does not have any more is gone from the backup too");
    assert!(to.join("packs").join(newer.file_name().expect("a name")).exists());
    assert!(!to.join(".stemma-partial.tmp").exists());
    let third = backup(&store, &to);
    assert_eq!((third.packs, third.packs_new, third.copied_bytes), (1, 0, 0));
    Connection::open(to.join(FILE)).and_then(|own| own.execute("DELETE FROM pack", [])).expect("a row less");
    assert_same(&to, &store, &ids);
}

#[test]
fn a_damaged_or_missing_pack_is_told_and_the_earlier_one_of_a_backup_stays() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let store = open(&dir);
    chain(&store, "s1", 2, 500);
    let pack = name_a_pack(&dir, b"a pack");
    let sound = home.path().join("sound");
    assert_eq!(backup(&store, &sound).damages, []);
    fs::remove_file(&pack).expect("a file less");
    for (bytes, message) in
        [(None, "the pack file is not there"), (Some(b"a pock"), "its bytes have another hash")]
    {
        if let Some(bytes) = bytes {
            File::create(&pack).and_then(|mut file| file.write_all(bytes)).expect("a file");
        }
        let to = home.path().join(format!("damaged {}", bytes.is_some()));
        let found = backup(&store, &to).damages;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].check, found[0].message.as_str()), ("pack", message));
        assert_eq!(backup(&store, &sound).damages, [], "the backup has a sound one");
        let kept = sound.join("packs").join(pack.file_name().expect("a name"));
        assert_eq!(fs::read(kept).expect("it is there"), b"a pack");
    }
}

#[test]
fn a_backup_beside_writers_is_of_one_moment() {
    let home = TempDir::new().expect("a directory");
    let store = open(&home.path().join("store"));
    chain(&store, "s0", 200, 4000);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 1..4 {
            let (store, stop) = (&store, &stop);
            scope.spawn(move || {
                let mut round = 0;
                while !stop.load(Ordering::Relaxed) {
                    round += 1;
                    chain(store, &format!("s{writer}-{round}"), 3, 1000);
                }
            });
        }
        for number in 0..4 {
            let to = home.path().join("backups").join(number.to_string());
            let done = backup(&store, &to);
            let copy = open(&to);
            assert_eq!(damages(&copy), []);
            assert_eq!(copy.usage().expect("a read").commits, done.commits);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_backup_goes_nowhere_where_it_could_do_harm() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let store = open(&dir);
    let ids = chain(&store, "s1", 2, 500);
    let other = home.path().join("other");
    chain(&open(&other), "s2", 1, 500);
    let foreign = home.path().join("foreign");
    backup(&open(&other), &foreign);
    let used = home.path().join("used");
    backup(&store, &used);
    chain(&open(&used), "s3", 1, 500);
    let full = home.path().join("full");
    fs::create_dir(&full).expect("a folder");
    File::create(full.join("letter.txt")).expect("a file");
    for (to, reason) in [
        (&dir, "the store itself"),
        (&dir.join("backup"), "the store itself"),
        (&home.path().to_owned(), "the store itself"),
        (&other, "not a backup of this store"),
        (&full, "not a backup of this store"),
        (&foreign, "another store"),
        (&used, "commits were added"),
    ] {
        let error = store.backup(to).expect_err("it would do harm");
        assert!(matches!(&error, StoreError::Refused { .. }), "{error}");
        assert_eq!(error.kind(), StoreErrorKind::Refused);
        assert!(error.to_string().contains(reason), "{error}");
    }
    assert_eq!(store.ancestors(ids[1], 9).expect("a read").len(), 2);
    // What a crash left of a backup is not in the way of the next one.
    let to = home.path().join("b");
    let left = home.path().join(".b.partial");
    fs::create_dir_all(left.join("packs")).expect("a folder");
    File::create(left.join(FILE)).and_then(|mut file| file.write_all(b"half")).expect("a file");
    let lock = File::create(left.join("lock")).expect("a file");
    lock.try_lock().expect("a lock");
    let error = store.backup(&to).expect_err("another process is at it");
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    drop(lock);
    // By the name of today, too.
    let today = home.path().join(".stemma-b-partial.tmp");
    fs::create_dir_all(today.join("packs")).expect("a folder");
    let lock = File::open(&today).expect("a folder");
    lock.try_lock().expect("a lock");
    let error = store.backup(&to).expect_err("another process is at it");
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    drop(lock);
    backup(&store, &to);
    assert!(!left.exists() && !today.exists());
    assert_same(&to, &store, &ids);
}

#[test]
fn a_restore_moves_the_present_store_aside_and_verifies_first() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let store = open(&dir);
    let ids = chain(&store, "s1", 3, 500);
    let to = home.path().join("backup");
    backup(&store, &to);
    let later = chain(&store, "s2", 2, 500);
    drop(store);

    let restored = restore(&to, home.path()).expect("a restore");
    assert_eq!(restored.aside, Some(home.path().join("store.aside")));
    assert_eq!(restored.verified.commits, 3);
    let store = open(&dir);
    assert_eq!(store.commit(later[0]).expect("a read"), None);
    assert_same(&to, &store, &ids);
    assert_same(&dir, &store, &ids);
    drop(store);
    let aside = open(&home.path().join("store.aside"));
    assert!(aside.commit(later[1]).expect("a read").is_some(), "nothing is deleted");
    assert!(matches!(restore(&to, home.path()), Err(StoreError::Refused { .. })), "the name is taken");
    assert!(!dir.join("backup").exists() && !dir.join("lock").exists());
    assert!(!home.path().join(".stemma-store-restoring.tmp").exists());

    // Into nothing, and into an empty folder.
    for new in ["new", "empty"] {
        let new = home.path().join(new);
        fs::create_dir(&new).expect("a folder");
        assert_eq!(restore(&to, &new).expect("a restore").aside, None);
        assert_same(&new.join("store"), &open(&dir), &ids);
    }
}

#[test]
fn a_damaged_backup_is_not_restored_and_the_store_stays() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("store");
    let store = open(&dir);
    let ids = chain(&store, "s1", 3, 500);
    let to = home.path().join("backup");
    backup(&store, &to);
    Connection::open(to.join(FILE))
        .and_then(|own| own.execute("UPDATE content SET bytes = x'00' WHERE row = 2", []))
        .expect("a row");
    drop(store);
    let error = restore(&to, home.path()).expect_err("it is damaged");
    assert!(matches!(error, StoreError::Damaged { damages: 1, .. }), "{error}");
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    let error = restore(&dir, home.path()).expect_err("it is the store itself");
    assert!(matches!(error, StoreError::Refused { .. }), "{error}");
    let nothing = home.path().join("nothing");
    fs::create_dir(&nothing).expect("a folder");
    assert!(matches!(restore(&nothing, home.path()), Err(StoreError::NotAStore { .. })));
    assert!(!home.path().join(".stemma-store-restoring.tmp").exists());
    let store = open(&dir);
    assert_same(&dir, &store, &ids);
}
