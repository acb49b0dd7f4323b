//! Ledgers that are damaged: `verify` names what is wrong, a repair gives back what can be proved and lets appends go on.

use rusqlite::Connection;
use stemmata_model::{Event, EventSeq, Json};
use stemmata_store::maintain::repair::{RepairOutcome, RepairSource};
use stemmata_store::{EventLog, LedgerChange, OnDisk, SavedState, SqliteStore, StoreError};
use tempfile::TempDir;

use crate::ledger::{all, ledger, line, put, said};
use crate::support::{damages, open};
use stemmata_store::conformance::ledger::builders::topic;

struct Stage {
    home: TempDir,
    store: SqliteStore,
    events: Vec<Event>,
}

impl Stage {
    /// Five events of a ledger, a state, and a backup of all of it.
    fn new() -> Self {
        let home = TempDir::new().expect("a directory");
        let store = open(&home.path().join("store"));
        put(
            &store,
            "p",
            vec![said("s", "t", "one"), line("s", "t", "two").0, said("s", "AGENT_OUTPUT", "three")],
        );
        put(&store, "p", vec![said("s", "t", "four"), said("s", "t", "five")]);
        let state = Json::parse("{}").expect("JSON");
        let state = SavedState { name: "memory".to_owned(), version: 1, through: 5, position: None, state };
        store.save_states(&ledger("p"), vec![state]).expect("saved");
        store.backup(&home.path().join("backup")).expect("a backup");
        let events = all(&store, "p");
        Self { home, store, events }
    }

    /// Hurts the store, and returns the checks that say so.
    fn hurt(&self, sql: &str) -> Vec<&'static str> {
        let database = Connection::open(self.home.path().join("store/stemmata.db")).expect("a database");
        database.execute_batch(sql).expect(sql);
        let mut checks: Vec<&'static str> = damages(&self.store).iter().map(|damage| damage.check).collect();
        checks.dedup();
        checks
    }

    fn repair(&self, from_backup: bool) -> RepairOutcome {
        let backup = open(&self.home.path().join("backup"));
        let source = RepairSource { name: "the backup".to_owned(), store: &backup, packs: None };
        let sources = if from_backup { vec![source] } else { Vec::new() };
        self.store.repair(&sources).expect("a repair")
    }
}

#[test]
fn what_is_wrong_with_a_ledger_is_named() {
    for (sql, expected) in [
        ("DELETE FROM event WHERE seq = 2", &["event"] as &[_]),
        ("DELETE FROM event WHERE seq = 5", &["ledger"]),
        ("UPDATE event SET at = at - 9, seal = NULL WHERE seq = 4", &["event"]),
        ("UPDATE event SET kind = 1, seal = NULL WHERE seq = 1", &["event"]),
        ("UPDATE event SET topic = 99, seal = NULL WHERE seq = 1", &["reference"]),
        ("UPDATE ledger SET output_bytes = 1, seal = NULL", &["ledger"]),
        ("UPDATE event SET text = 'won' WHERE seq = 1", &["seal"]),
        ("DELETE FROM content", &["event"]),
    ] {
        assert_eq!(Stage::new().hurt(sql), expected, "{sql}");
    }
}

#[test]
fn events_come_back_from_a_copy_that_has_their_seal() {
    for set in ["text = 'won'", "at = at + 1", "topic = 2", "content = 7", "kind = 3", "metadata = '1'"] {
        let stage = Stage::new();
        stage.hurt(&format!("UPDATE event SET {set}"));
        let outcome = stage.repair(true);
        assert_eq!(outcome.remaining, [], "{set}");
        assert_eq!(all(&stage.store, "p"), stage.events, "{set}");
        assert!(outcome.repaired.iter().any(|own| own.from == "the backup"), "{outcome:?}");
    }
}

#[test]
fn an_event_that_nothing_gives_back_is_kept_and_marked_until_a_copy_is_there() {
    let stage = Stage::new();
    stage.hurt("UPDATE event SET text = 'won' WHERE seq = 1");
    let outcome = stage.repair(false);
    assert_eq!((outcome.remaining.as_slice(), outcome.verified.kept_rows), (&[] as &[_], 1));
    put(&stage.store, "p", vec![said("s", "t", "it goes on")]);
    let outcome = stage.repair(true);
    assert_eq!((outcome.remaining.as_slice(), outcome.verified.kept_rows), (&[] as &[_], 0));
    assert_eq!(all(&stage.store, "p")[..5], stage.events);
}

#[test]
fn what_is_counted_of_a_ledger_comes_back_from_its_events() {
    for set in ["last = 3", "last = last + 4096", "last_at = 5", "output_events = 7", "output_bytes = 0"] {
        let stage = Stage::new();
        assert!(stage.hurt(&format!("UPDATE ledger SET {set}")).contains(&"seal"), "{set}");
        let outcome = stage.repair(false);
        assert_eq!((outcome.remaining.as_slice(), outcome.verified.kept_rows), (&[] as &[_], 0), "{set}");
        assert_eq!(put(&stage.store, "p", vec![said("s", "t", "next")]).first.get(), 6, "{set}");
    }
}

#[test]
fn a_ledger_whose_row_cannot_be_proved_goes_on_all_the_same() {
    let stage = Stage::new();
    stage.hurt("UPDATE ledger SET last = 2, root = '/elsewhere'");
    let outcome = stage.repair(false);
    assert_eq!((outcome.remaining.as_slice(), outcome.verified.kept_rows), (&[] as &[_], 1));
    assert_eq!(put(&stage.store, "p", vec![said("s", "t", "next")]).first.get(), 6);
    let root = Some("/here".to_owned());
    let change = LedgerChange { root, ..LedgerChange::new(ledger("p"), stage.events[0].at) };
    stage.store.change_ledger(change).expect("said anew");
    assert_eq!(damages(&stage.store), []);
}

#[test]
fn events_that_are_lost_stay_missed_and_their_numbers_are_not_given_again() {
    let stage = Stage::new();
    stage.hurt("DELETE FROM event WHERE seq = 5");
    let outcome = stage.repair(false);
    assert_eq!(outcome.remaining.iter().map(|damage| damage.check).collect::<Vec<_>>(), ["ledger"]);
    assert_eq!(put(&stage.store, "p", vec![said("s", "t", "next")]).first.get(), 6);
}

#[test]
fn a_damaged_receipt_is_an_error_for_who_reads_it_and_stops_no_trim() {
    let stage = Stage::new();
    let topic = topic("t");
    let trim = |seq| {
        let through = EventSeq::new(seq).expect("a number");
        stage.store.trim(&ledger("p"), &topic, through).expect("trimmed")
    };
    assert_eq!(trim(1), 1);
    for through in ["0", "-1"] {
        stage.hurt(&format!("UPDATE receipt SET through = {through}, seal = NULL"));
        let error = stage.store.receipt(&ledger("p"), &topic).expect_err("no place");
        assert!(matches!(error, StoreError::Backend { .. }), "{error}");
    }
    assert_eq!(trim(4), 2);
    let receipt = stage.store.receipt(&ledger("p"), &topic).expect("a read").expect("some went");
    assert_eq!((receipt.events, receipt.through.get()), (3, 4));
}

#[test]
fn a_damaged_state_is_dropped() {
    let stage = Stage::new();
    assert_eq!(stage.hurt("UPDATE state SET state = '[]'"), ["seal"]);
    let outcome = stage.repair(false);
    assert_eq!(outcome.remaining, []);
    assert_eq!(stage.store.saved_states(&ledger("p"), "").expect("a read"), []);
}
