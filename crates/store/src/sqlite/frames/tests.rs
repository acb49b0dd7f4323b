//! Every flipped bit of a log that SQLite itself wrote, and the states that a crash leaves.

use std::io::Cursor;
use std::path::Path;

use proptest::prelude::*;
use rusqlite::Connection;
use stemmata_testkit::sample::stride;
use tempfile::TempDir;

use super::*;

const PAGE_BYTES: usize = 512;
const FRAME_BYTES: usize = PAGE_BYTES + FRAME_HEADER_BYTES;

fn look_at(log: &[u8]) -> Found {
    look(&mut Cursor::new(log), log.len() as u64, PAGE_BYTES).expect("a log in memory")
}

fn begin(dir: &Path) -> Connection {
    let database = Connection::open(dir.join("own.db")).expect("a database");
    database
        .execute_batch(&format!(
            "PRAGMA page_size = {PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; \
             CREATE TABLE own (row INTEGER PRIMARY KEY, bytes BLOB);"
        ))
        .expect("a table");
    database
}

fn add(database: &Connection, bytes: i64) {
    database.execute("INSERT INTO own (bytes) VALUES (randomblob(?1))", [bytes]).expect("a row");
}

/// A log with one transaction more than asked for.
fn log_of(transactions: u64) -> Vec<u8> {
    let home = TempDir::new().expect("a directory");
    let database = begin(home.path());
    (0..transactions).for_each(|number| add(&database, if number % 2 == 0 { 100 } else { 1300 }));
    std::fs::read(home.path().join("own.db-wal")).expect("a log")
}

/// How many rows SQLite reads where this is its log.
fn rows_with(log: &[u8]) -> Option<u64> {
    let home = TempDir::new().expect("a directory");
    drop(begin(home.path()));
    let write = |name: &str, bytes: &[u8]| {
        use std::io::Write as _;
        std::fs::File::create(home.path().join(name)).and_then(|mut file| file.write_all(bytes))
    };
    write("own.db-wal", log).expect("a log");
    let database = Connection::open(home.path().join("own.db")).expect("a database");
    database
        .query_row("SELECT count(*) FROM own", [], |row| row.get::<_, i64>(0))
        .ok()
        .map(i64::cast_unsigned)
}

fn flipped(log: &[u8], bit: usize) -> Vec<u8> {
    let mut log = log.to_vec();
    log[bit / 8] ^= 1 << (bit % 8);
    log
}

#[test]
fn a_sound_log_lost_nothing() {
    let log = log_of(5);
    assert_eq!(look_at(&log), Found { readable: 6, lost: None, unfinished_at: None });
    assert_eq!(rows_with(&log), Some(5));
    assert_eq!(look_at(&[]), Found::default());
    assert_eq!(look_at(&[0; 4000]), Found::default());
}

#[test]
fn law_every_flipped_bit_is_found_and_what_it_takes_along_is_counted() {
    let log = log_of(4);
    for bit in (0..log.len() * 8).step_by(stride(1)) {
        let found = look_at(&flipped(&log, bit));
        let lost = found.lost.unwrap_or_else(|| panic!("bit {bit} of {}: {found:?}", log.len() * 8));
        // Which of two words a high bit was flipped in cannot always be told, and one of them ends a transaction.
        assert!((found.readable + lost.transactions).abs_diff(5) <= 1, "bit {bit}: {found:?}");
        let byte = bit / 8;
        let frame =
            byte.checked_sub(HEADER_BYTES).map_or(0, |at| HEADER_BYTES + at / FRAME_BYTES * FRAME_BYTES);
        assert_eq!(lost.offset, frame as u64, "bit {bit}: {found:?}");
    }
}

#[test]
fn sqlite_reads_as_many_transactions_as_is_said() {
    let log = log_of(6);
    for bit in (0..log.len() * 8).step_by(1009) {
        let log = flipped(&log, bit);
        // The first transaction makes the table, which is in the database already.
        assert_eq!(rows_with(&log), Some(look_at(&log).readable.saturating_sub(1)), "bit {bit}");
    }
}

#[test]
fn frames_of_an_earlier_round_are_no_damage() {
    let home = TempDir::new().expect("a directory");
    let database = begin(home.path());
    (0..8).for_each(|_| add(&database, 900));
    database.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).expect("a copy");
    add(&database, 10);
    let log = std::fs::read(home.path().join("own.db-wal")).expect("a log");
    let found = look_at(&log);
    assert_eq!((found.readable, found.lost, found.unfinished_at), (1, None, None));
    let frames = log.len() / FRAME_BYTES;
    assert!(frames > 10);
    let more = |after| has_more(&mut Cursor::new(&log), log.len() as u64, PAGE_BYTES, after).expect("a look");
    assert!(more(0) && !more(frames as u64) && !more(3));
    for bit in 0..(HEADER_BYTES + FRAME_BYTES) * 8 {
        assert!(look_at(&flipped(&log, bit)).lost.is_some(), "bit {bit}");
    }
}

#[test]
fn what_was_rolled_back_after_it_was_written_is_no_damage() {
    let home = TempDir::new().expect("a directory");
    let database = begin(home.path());
    add(&database, 10);
    database.execute_batch("PRAGMA cache_size = 2; BEGIN;").expect("a transaction");
    (0..60).for_each(|_| add(&database, 400));
    database.execute_batch("ROLLBACK").expect("an end");
    let log = || std::fs::read(home.path().join("own.db-wal")).expect("a log");
    assert_eq!((look_at(&log()).readable, look_at(&log()).lost), (2, None));
    assert!(log().len() > 20 * FRAME_BYTES, "it was written");
    add(&database, 10);
    let found = look_at(&log());
    assert_eq!((found.readable, found.lost, found.unfinished_at), (3, None, None));
}

proptest! {
    /// The last transaction of a log is not promised before its sync: any of its sectors may be missing.
    #[test]
    fn law_a_torn_last_transaction_is_no_damage(
        missing in proptest::collection::btree_set(0_usize..10, 1..6),
        earlier in any::<bool>(),
        cut in any::<bool>(),
    ) {
        let home = TempDir::new().expect("a directory");
        let database = begin(home.path());
        if earlier {
            (0..6).for_each(|_| add(&database, 900));
            database.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).expect("a copy");
        }
        (0..3).for_each(|_| add(&database, 200));
        let path = home.path().join("own.db-wal");
        let mut before = std::fs::read(&path).expect("a log");
        let readable = look_at(&before).readable;
        add(&database, 1700);
        let mut log = std::fs::read(&path).expect("a log");
        before.resize(log.len(), 0);
        let changed: Vec<usize> = (0..log.len()).filter(|at| before[*at] != log[*at]).collect();
        let (first, last) = (changed[0] / 512, changed[changed.len() - 1] / 512);
        let mut torn = false;
        for sector in missing.iter().map(|sector| first + sector).filter(|sector| *sector <= last) {
            let range = sector * 512..((sector + 1) * 512).min(log.len());
            torn |= log[range.clone()] != before[range.clone()];
            log[range.clone()].copy_from_slice(&before[range]);
        }
        if cut {
            log.truncate(last * 512);
        }
        let found = look_at(&log);
        prop_assert_eq!(found.lost, None);
        prop_assert!(found.readable == readable || !torn || found.readable == readable + 1);
    }

    #[test]
    fn law_what_many_bits_damage_is_found_where_more_was_committed_behind_it(
        at in 0_usize..4000,
        noise in proptest::collection::vec(any::<u8>(), 2..600),
    ) {
        let log = log_of(7);
        let last = log.len() - 6 * FRAME_BYTES;
        let at = HEADER_BYTES + at % (last - HEADER_BYTES);
        let mut damaged = log.clone();
        let end = (at + noise.len()).min(last);
        damaged[at..end].copy_from_slice(&noise[..end - at]);
        let found = look_at(&damaged);
        prop_assert!(damaged == log || found.lost.is_some(), "{:?}", found);
    }

    #[test]
    fn law_any_bytes_are_looked_through(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        let _found = look_at(&bytes);
    }
}
