//! A backup and a restore that are cut off, or that fail, at each of their operations: what was there before stays.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::support::{chain, damages, try_open};
use stemmata_model::CommitId;
use stemmata_store::{Commits, Files as _, OnDisk, SqliteOptions, SqliteStore, SystemFiles, is_temporary};
use stemmata_testkit::disk::{Disk, Failure, Fault, Image, Keep, Platter};
use stemmata_testkit::files::RecordedFiles;
use stemmata_testkit::sample::is_full;
use tempfile::TempDir;

/// Operations of one backup or restore at most: far more than there are.
const OPERATIONS_MAX: u64 = 200;

/// A folder whose files are recorded on a disk, with a store and a backup of how it was earlier.
struct Home {
    folder: TempDir,
    disk: Disk,
    files: Arc<RecordedFiles>,
    before: Image,
    earlier: Vec<CommitId>,
    later: Vec<CommitId>,
}

impl Home {
    fn new() -> Self {
        let folder = TempDir::new().expect("a directory");
        let (disk, top) = (Disk::new(), folder.path().canonicalize().expect("it is there"));
        disk.plant("home", &Image::default());
        let files = Arc::new(RecordedFiles::new(&disk, "home", &top).expect("a folder"));
        let mut home =
            Self { folder, disk, files, before: Image::default(), earlier: Vec::new(), later: Vec::new() };
        let store = home.open("store");
        home.earlier = chain(&store, "s1", 3, 500);
        store
            .pack(&stemmata_store::PackOptions::new(stemmata_model::Timestamp::from_micros(1)))
            .expect("packed");
        store.backup(&home.at("backup")).expect("a backup");
        home.later = chain(&store, "s2", 2, 500);
        drop(store);
        home.before = Image::read(&top).expect("read");
        home
    }

    /// Has folder and disk hold what they held at the beginning.
    fn reset(&mut self) {
        let top = self.folder.path().canonicalize().expect("it is there");
        for entry in fs::read_dir(&top).expect("names") {
            fs::remove_dir_all(entry.expect("a name").path()).expect("removed");
        }
        self.before.write(&top).expect("written");
        self.disk = Disk::new();
        self.disk.plant("home", &self.before);
        self.files = Arc::new(RecordedFiles::new(&self.disk, "home", &top).expect("a folder"));
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn options(&self) -> SqliteOptions {
        let files = Arc::<RecordedFiles>::clone(&self.files);
        SqliteOptions { files, busy_timeout_ms: 50, ..SqliteOptions::default() }
    }

    fn open(&self, name: &str) -> SqliteStore {
        SqliteStore::open(&self.at(name), self.options()).expect("a store")
    }

    fn backup(&self) -> bool {
        SqliteStore::open(&self.at("store"), self.options())
            .is_ok_and(|store| store.backup(&self.at("backup")).is_ok())
    }

    fn restore(&self, aside: &str) -> bool {
        let (from, to) = (self.at("backup"), self.at("store"));
        SqliteStore::restore(&from, &to, &self.at(aside), &self.options()).is_ok()
    }
}

/// Says whether a folder holds a sound store with these commits.
fn holds(folder: &Path, ids: &[CommitId]) -> bool {
    folder.join("stemmata.db").is_file()
        && try_open(folder).is_ok_and(|store| {
            damages(&store).is_empty() && ids.iter().all(|id| matches!(store.commit(*id), Ok(Some(_))))
        })
}

/// Asserts that the store from before is in its place or aside, and that the backup is whole.
#[track_caller]
fn assert_nothing_is_lost(top: &Path, home: &Home, place: &str) {
    let kept = ["store", "aside", "aside-again"].iter().any(|name| holds(&top.join(name), &home.later));
    assert!(kept, "{place}: the store from before is gone");
    assert!(holds(&top.join("backup"), &home.earlier), "{place}: the backup is not whole");
    // What is left of a copy has a name by which every sweep finds it.
    for (folder, known) in [(top.to_owned(), &TOP[..]), (top.join("backup"), &BACKUP)] {
        for name in SystemFiles.list(&folder).expect("names") {
            assert!(known.contains(&name.as_str()) || is_temporary(&name), "{place}: {name}");
        }
    }
}

const TOP: [&str; 4] = ["store", "backup", "aside", "aside-again"];
/// `.backup.new` is half a stamp, without words.
const BACKUP: [&str; 6] =
    ["stemmata.db", "stemmata.db-wal", "stemmata.db-shm", "packs", "backup", ".backup.new"];

/// Cuts the power at each operation of an act, and hands out what may be left.
fn each_cut(home: &Home, act: impl FnOnce(), look: &dyn Fn(&Path, &str)) -> usize {
    home.files.catch_up().expect("read");
    let mut platter = Platter::new(&home.disk);
    home.disk.start_record();
    act();
    home.files.catch_up().expect("read");
    let record = home.disk.end_record();
    let states = TempDir::new().expect("a directory");
    for (number, op) in record.iter().enumerate() {
        platter.follow(op);
        let seed = u64::try_from(number).expect("small");
        for keep in [Keep::All, Keep::Nothing, Keep::Names, Keep::Data, Keep::Last, Keep::Random(seed)] {
            let state = states.path().join("state");
            platter.cut("home", keep).write(&state).expect("written");
            look(&state, &format!("operation {number}, {keep:?}"));
            fs::remove_dir_all(&state).expect("removed");
        }
    }
    record.len()
}

#[test]
fn a_backup_that_is_cut_off_leaves_the_earlier_one_or_the_new_one() {
    let mut home = Home::new();
    home.reset();
    let cuts = each_cut(&home, || assert!(home.backup()), &|top, place| {
        assert_nothing_is_lost(top, &home, place);
        let store = try_open(&top.join("store")).expect("the store opens");
        store.backup(&top.join("backup")).expect("the next backup completes");
        drop(store);
        assert!(holds(&top.join("backup"), &home.later), "{place}: the next backup");
    });
    assert!(cuts > 10, "{cuts} operations");
}

#[test]
fn a_restore_that_is_cut_off_leaves_the_store_from_before() {
    let mut home = Home::new();
    home.reset();
    let cuts = each_cut(&home, || assert!(home.restore("aside")), &|top, place| {
        assert_nothing_is_lost(top, &home, place);
        let options = SqliteOptions { busy_timeout_ms: 50, ..SqliteOptions::default() };
        SqliteStore::restore(&top.join("backup"), &top.join("store"), &top.join("aside-again"), &options)
            .expect("the next restore completes");
        assert_nothing_is_lost(top, &home, &format!("{place}, done again"));
        assert!(holds(&top.join("store"), &home.earlier), "{place}: the next restore");
    });
    assert!(cuts > 10, "{cuts} operations");
}

#[test]
fn a_backup_or_restore_that_fails_anywhere_loses_nothing_and_completes_the_next_time() {
    let mut home = Home::new();
    let mut faults = 0;
    // One in so many operations fails; `cargo xtask faults files` fails all.
    let (step, faults_min) = if is_full() { (3, 20) } else { (7, 10) };
    for (number, failure) in (0..).zip(Failure::ALL) {
        for at in (number % step..OPERATIONS_MAX).step_by(usize::try_from(step).expect("small")) {
            home.reset();
            home.disk.arm(Fault { failure, at });
            let done = home.backup() && home.restore("aside");
            let came = home.disk.disarm();
            let place = format!("{failure:?} at {at}");
            assert!(came || done, "{place}: it fails without a fault");
            if !came {
                break;
            }
            faults += 1;
            assert_nothing_is_lost(home.folder.path(), &home, &place);
            assert!(home.restore("aside-again"), "{place}: it does not complete the next time");
            assert_nothing_is_lost(home.folder.path(), &home, &place);
        }
    }
    assert!(faults > faults_min, "{faults} faults");
}
