//! A log that was not copied yet and of which a bit flipped: either nothing is lost, or `verify` says so.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::support::{chain, checkpoint, damages, open};
use stemmata_model::CommitId;
use stemmata_store::{Commits, OnDisk, SqliteStore, Upkeep};
use stemmata_testkit::sample::stride;
use tempfile::TempDir;

/// Checkpoints in the log.
const CHECKPOINTS: u64 = 5;

/// Bits between two that are flipped in a full run; a prime, so that all places of a word are met.
const STEP_BITS: usize = 2399;

struct Log {
    database: Vec<u8>,
    bytes: Vec<u8>,
    ids: Vec<CommitId>,
}

impl Log {
    fn new() -> Self {
        let home = TempDir::new().expect("a directory");
        let ids = chain(&open(home.path()), "s1", CHECKPOINTS, 700);
        let bytes = |name: &str| fs::read(home.path().join(name)).expect("a file");
        Self { database: bytes("stemmata.db"), bytes: bytes("stemmata.db-wal"), ids }
    }

    /// Makes the files of a store whose log has a flipped bit; the index of the log is gone, as after a restart.
    fn flipped(&self, dir: &Path, bit: usize) {
        let mut log = self.bytes.clone();
        log[bit / 8] ^= 1 << (bit % 8);
        for (name, bytes) in [("stemmata.db", &self.database), ("stemmata.db-wal", &log)] {
            fs::File::create(dir.join(name)).and_then(|mut file| file.write_all(bytes)).expect("a file");
        }
    }

    fn is_whole(&self, store: &SqliteStore) -> bool {
        self.ids.iter().all(|id| store.commit(*id).expect("a read").is_some())
    }
}

#[test]
fn law_a_flipped_bit_of_the_log_takes_nothing_along_in_silence() {
    let log = Log::new();
    let mut lost = 0;
    for bit in (0..log.bytes.len() * 8).step_by(stride(STEP_BITS)).chain((0..8 * 60).step_by(stride(1))) {
        let home = TempDir::new().expect("a directory");
        log.flipped(home.path(), bit);
        // A log that lost what made the tables leaves no store, and that is said.
        let Ok(store) = super::support::try_open(home.path()) else { continue };
        let found = damages(&store);
        assert!(found.iter().any(|damage| damage.check == "log"), "bit {bit}: {found:?}");
        lost += usize::from(!log.is_whole(&store));
    }
    assert!(lost > 10, "{lost}");
}

#[test]
fn what_was_lost_is_told_until_a_repair_whatever_is_written_meanwhile() {
    let log = Log::new();
    let home = TempDir::new().expect("a directory");
    // Of the last frame but one transaction: some of the chain is still there.
    log.flipped(home.path(), (log.bytes.len() - 9 * 4120) * 8);
    {
        let store = open(home.path());
        assert!(!log.is_whole(&store));
        let found = damages(&store);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].check, found[0].object.as_str()), ("log", "stemmata.db-wal"));
        assert!(found[0].message.contains("import again"), "{found:?}");
        // Enough that the log is copied and starts anew.
        chain(&store, "other", 120, 40_000);
    }
    let store = open(home.path());
    assert_eq!(damages(&store).len(), 1, "{:?}", damages(&store));
    let outcome = store.repair(&[]).expect("a repair");
    assert_eq!(outcome.remaining, []);
    assert_eq!(outcome.repaired.len(), 1, "{:?}", outcome.repaired);
    let mut parent = None;
    for step in 0..CHECKPOINTS {
        let (id, batch) = checkpoint("s1", parent, step, 700);
        store.commit_batch(batch).expect("what was lost comes again");
        parent = Some(id);
    }
    drop(store);
    let store = open(home.path());
    assert!(log.is_whole(&store));
    assert_eq!(damages(&store), []);
}

#[test]
fn a_log_whose_end_was_never_written_is_no_damage() {
    let log = Log::new();
    let home = TempDir::new().expect("a directory");
    log.flipped(home.path(), 0);
    let mut torn = log.bytes.clone();
    let end = torn.len();
    // Sectors of the last transaction that never came to the disk.
    torn[end - 8000..end - 6000].fill(7);
    fs::File::create(home.path().join("stemmata.db-wal"))
        .and_then(|mut file| file.write_all(&torn))
        .expect("a file");
    let store = open(home.path());
    let mut found = Vec::new();
    let verified = store.verify(&mut |damage| found.push(damage)).expect("a look");
    assert_eq!(found, []);
    assert!(verified.unfinished_log_at.is_some());
    assert!(!log.is_whole(&store));
}

#[test]
fn a_store_in_use_has_no_damage() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| chain(&store, "s1", 60, 3000));
        let other = open(home.path());
        while !writer.is_finished() {
            assert_eq!(damages(&other), []);
        }
    });
}
