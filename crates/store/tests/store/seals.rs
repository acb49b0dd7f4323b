//! Rows that no hash covers: a changed one is named, and comes back from a copy or from what is read again.

use super::erase::wish;
use super::ledger::{ledger, line, put, said, saved, topic};
use super::support::{chain, checkpoint, damages, machine, open, session, sighting};
use rusqlite::Connection;
use stemmata_model::{CommitCore, CommitId, EventSeq, Json, Principal, SessionId, SummarySource, Timestamp};
use stemmata_store::maintain::forget::{Forget, Tombstone};
use stemmata_store::maintain::repair::{RepairOutcome, RepairSource};
use stemmata_store::{
    Annotation, Annotations, Commits, Coverage, EventLog, LedgerChange, Link, LinkKind, NewHole, OnDisk,
    Placement, SavedState, SqliteStore, Upkeep, Write,
};
use tempfile::TempDir;

const TABLES: [&str; 15] = [
    "origin",
    "sighting",
    "session",
    "cursor",
    "placement",
    "link",
    "annotation",
    "mark",
    "ledger",
    "ledger_mark",
    "name",
    "event",
    "receipt",
    "state",
    "coverage",
];

struct Stage {
    home: TempDir,
    store: SqliteStore,
    ids: Vec<CommitId>,
}

impl Stage {
    /// A store with rows in every sealed table.
    fn new() -> Self {
        let home = TempDir::new().expect("a directory");
        let store = open(&home.path().join("store"));
        let ids = chain(&store, "s1", 4, 300);
        let other = chain(&store, "s2", 2, 300);
        let by = Principal::new("ann@box/claude-code").expect("a name");
        let changes = [
            Annotation::Summary { text: Some("what it did".to_owned()), source: SummarySource::Given },
            Annotation::AddTag("release".to_owned()),
            Annotation::AddNote("look at it again".to_owned()),
            Annotation::Pin,
        ];
        let notes = changes.into_iter().enumerate().map(|(at, change)| Write::Annotate {
            commit: ids[1],
            change,
            at: Timestamp::from_micros(5 + i64::try_from(at).expect("small")),
            by: by.clone(),
        });
        store.commit_batch(notes.collect()).expect("a batch");
        let placement = Placement {
            path: "/home/ann/placed.jsonl".to_owned(),
            machine: machine(),
            session: SessionId::new("s3").expect("a name"),
            ctx: ids[0],
            taken_bytes: 5,
            placed_bytes: 6,
            keyed_hash: [3; 32],
            placed_at: Timestamp::from_micros(8),
        };
        let link = Link { from: ids[2], kind: LinkKind::DerivedFrom, to: ids[0], entry: None };
        store.commit_batch(vec![Write::Placement(Box::new(placement)), Write::Link(link)]).expect("a batch");
        let sessions = vec![session("s2", "/work/app", None).key];
        store.forget(&Forget { sessions, ..wish(&other, &[]) }).expect("a forgetting");
        events(&store, ids[3]);
        store.backup(&home.path().join("backup")).expect("a backup");
        assert_eq!(damages(&store), []);
        Self { home, store, ids }
    }

    fn database(&self) -> Connection {
        Connection::open(self.home.path().join("store/stemmata.db")).expect("a database")
    }

    fn sql(&self, sql: &str) {
        self.database().execute_batch(sql).expect(sql);
        let found = damages(&self.store);
        assert!(found.iter().any(|damage| damage.check == "seal"), "{sql}: {found:?}");
    }

    fn repair(&self, from_backup: bool) -> RepairOutcome {
        let backup = open(&self.home.path().join("backup"));
        let source = RepairSource { name: "the backup".to_owned(), store: &backup, packs: None };
        let sources = if from_backup { vec![source] } else { Vec::new() };
        let outcome = self.store.repair(&sources).expect("a repair");
        assert_eq!(outcome.remaining, []);
        outcome
    }

    fn noted(&self) -> Annotations {
        self.store.annotations(self.ids[1]).expect("a read")
    }

    fn rows(&self, sql: &str) -> i64 {
        self.database().query_row(sql, [], |row| row.get(0)).expect(sql)
    }
}

/// Rows in every table of ledgers: five events, of which one was trimmed.
fn events(store: &SqliteStore, covering: CommitId) {
    let plain = said("s1", "t", "plain").with_metadata(Json::parse("{\"a\":1}").expect("JSON"));
    put(store, "p", vec![said("s1", "old", "x"), plain, line("s1", "t", "a line").0]);
    put(store, "p", vec![said("s1", "AGENT_OUTPUT", "raw"), said("s2", "t", "last")]);
    store.trim(&ledger("p"), &topic("old"), EventSeq::FIRST).expect("a trim");
    let state = SavedState { version: 2, position: Some("here".to_owned()), ..saved("memory", 5, "{}") };
    let change = LedgerChange {
        ledger: ledger("p"),
        now: Timestamp::from_micros(9),
        root: Some("/work/app".to_owned()),
        compacted_at: Some(Timestamp::from_micros(8)),
        marks: vec!["remote:x".to_owned()],
        let_go: Vec::new(),
    };
    let covers = Coverage { commit: covering, ledger: ledger("p"), through: EventSeq::FIRST };
    let states = Write::SaveStates { ledger: ledger("p"), states: vec![state] };
    let batch = vec![states, Write::ChangeLedger(Box::new(change)), Write::Covers(covers)];
    store.commit_batch(batch).expect("a batch");
}

#[test]
fn every_column_of_every_sealed_row_is_guarded_and_rows_without_a_seal_are_left_alone() {
    let stage = Stage::new();
    let database = stage.database();
    for table in TABLES {
        let columns: Vec<String> = database
            .prepare(&format!("PRAGMA table_info({table})"))
            .and_then(|mut found| found.query_map([], |row| row.get(1))?.collect())
            .expect("columns");
        assert!(stage.rows(&format!("SELECT count(*) FROM {table} WHERE seal IS NOT NULL")) > 0, "{table}");
        assert_eq!(stage.rows(&format!("SELECT count(*) FROM {table} WHERE seal IS NULL")), 0, "{table}");
        for column in &columns {
            let set = format!(
                "UPDATE {table} SET \"{column}\" = CASE typeof(\"{column}\") WHEN 'integer' THEN \"{column}\" + 4096 \
                 WHEN 'text' THEN \"{column}\" || 'x' WHEN 'blob' THEN CAST(\"{column}\" || x'01' AS BLOB) ELSE 7 END"
            );
            database.execute_batch(&format!("BEGIN; {set}")).expect("a change");
            database.execute_batch("COMMIT").expect("a change");
            let found = damages(&stage.store);
            let named =
                found.iter().filter(|damage| damage.check == "seal" && damage.object == table).count();
            assert_eq!(
                i64::try_from(named).expect("small"),
                stage.rows(&format!("SELECT count(*) FROM {table}"))
            );
            let back = stage.home.path().join("backup/stemmata.db");
            database
                .execute_batch(&format!(
                    "ATTACH '{}' AS sound; DELETE FROM {table}; INSERT INTO {table} SELECT * FROM sound.{table}; \
                     DETACH sound",
                    back.display()
                ))
                .expect("the rows as they were");
            assert_eq!(damages(&stage.store), [], "{table}.{column}");
        }
        database.execute_batch(&format!("UPDATE {table} SET seal = NULL")).expect("a change");
        assert_eq!(damages(&stage.store), [], "{table}");
    }
}

#[test]
fn what_is_written_over_a_row_has_a_seal_of_its_own() {
    let stage = Stage::new();
    let by = Principal::new("bob").expect("a name");
    let change = Annotation::Summary { text: Some("better said".to_owned()), source: SummarySource::Given };
    let (next, batch) = checkpoint("s1", stage.ids.last().copied(), 4, 300);
    stage.store.commit_batch(batch).expect("a batch");
    let earlier = Write::Sighting { commit: next, sighting: Box::new(sighting("s1", 7, 3)) };
    let note = Write::Annotate { commit: stage.ids[1], change, at: Timestamp::from_micros(99), by };
    stage.store.commit_batch(vec![earlier, note]).expect("a batch");
    let other = open(&stage.home.path().join("other"));
    chain(&other, "s1", 2, 300);
    let records = stage.store.audit(stage.ids[1], 99).expect("a read");
    let merged = Write::MergeAnnotations { commit: stage.ids[1], records };
    other.commit_batch(vec![merged]).expect("a batch");
    for (store, dir) in [(&stage.store, "store"), (&other, "other")] {
        assert_eq!(damages(store), []);
        let database = Connection::open(stage.home.path().join(dir).join("stemmata.db")).expect("a database");
        for table in ["sighting", "session", "cursor", "annotation"] {
            let sql = format!("SELECT count(*) FROM {table} WHERE seal IS NULL");
            let without: i64 = database.query_row(&sql, [], |row| row.get(0)).expect("a count");
            assert_eq!(without, 0, "{dir} {table}");
        }
    }
}

/// The tombstone of a commit that holds a forgotten one, too.
#[test]
fn a_tombstone_that_another_one_gives_has_a_seal() {
    let stage = Stage::new();
    let known = stage.store.commit(stage.ids[0]).expect("a read").expect("a commit");
    let core = CommitCore { created_at: Timestamp::from_micros(77), ..known.core.clone() };
    stage.store.forget(&wish(&[], &stage.ids[..1])).expect("a forgetting");
    let hole = NewHole {
        core,
        rules: known.rules,
        counts: known.counts,
        artifact_bytes: known.native_bytes,
        native_bytes: 0,
        holds: Some(stage.ids[0]),
    };
    let id = hole.core.id();
    stage.store.commit_batch(vec![Write::Hole(Box::new(hole))]).expect("a batch");
    let tombstones = stage.store.tombstones(&[Tombstone::Commit(id)]).expect("a read");
    assert_eq!(tombstones, [Tombstone::Commit(id)]);
    assert_eq!(stage.rows("SELECT count(*) FROM mark WHERE seal IS NULL"), 0);
    assert_eq!(damages(&stage.store), []);
}

#[test]
fn tags_notes_summaries_and_pins_come_back_from_the_trail_of_changes() {
    for kind in 0..4 {
        for set in ["text = 'wrong'", "by = 'somebody'", "at = at + 1", "source = 2", "seal = seal + 1"] {
            let stage = Stage::new();
            let noted = stage.noted();
            let sound = stage.rows("SELECT sum(seal) FROM annotation");
            stage.sql(&format!("UPDATE annotation SET {set} WHERE kind = {kind}"));
            let outcome = stage.repair(false);
            assert_eq!(stage.noted(), noted, "{kind} {set}");
            assert_eq!(damages(&stage.store), []);
            let from: Vec<&str> = outcome.repaired.iter().map(|own| own.from.as_str()).collect();
            // A damaged seal cannot be told from a damaged row.
            if set.starts_with("seal") {
                assert_eq!(
                    (from, outcome.verified.kept_rows),
                    (vec!["kept as it is: nothing gave it back"], 1)
                );
            } else {
                assert_eq!(from, ["the trail of its changes"], "{kind} {set}");
                assert_eq!(stage.rows("SELECT sum(seal) FROM annotation"), sound);
            }
        }
    }
}

#[test]
fn a_trail_comes_back_from_a_copy_and_is_kept_and_marked_until_there_is_one() {
    let stage = Stage::new();
    let trail = stage.store.audit(stage.ids[1], 9).expect("a read");
    stage.sql("UPDATE annotation SET by = 'somebody' WHERE kind = 4");
    let outcome = stage.repair(false);
    assert_eq!((outcome.repaired.len(), outcome.verified.kept_rows), (4, 4), "{outcome:?}");
    assert!(outcome.repaired.iter().all(|own| own.from.starts_with("kept")), "{outcome:?}");
    let again = stage.repair(false);
    assert_eq!((again.repaired, again.verified.kept_rows), (Vec::new(), 4), "it is said once");
    assert_ne!(stage.store.audit(stage.ids[1], 9).expect("a read"), trail);
    let outcome = stage.repair(true);
    assert_eq!((outcome.repaired.len(), outcome.verified.kept_rows), (4, 0), "{outcome:?}");
    assert!(outcome.repaired.iter().all(|own| own.from == "the backup"), "{outcome:?}");
    assert_eq!(stage.store.audit(stage.ids[1], 9).expect("a read"), trail);
}

#[test]
fn a_damaged_cursor_is_dropped() {
    for sql in ["UPDATE cursor SET value = x'00'", "UPDATE cursor SET path = path || 'l'"] {
        let stage = Stage::new();
        stage.sql(sql);
        assert_eq!(stage.repair(true).repaired.len(), 1);
        assert_eq!(stage.rows("SELECT count(*) FROM cursor"), 0);
    }
}

#[test]
fn a_damaged_session_comes_back_from_a_copy_or_with_the_next_import() {
    for (sql, stays) in [
        ("UPDATE session SET title = 'wrong'", true),
        ("UPDATE session SET commits = 99, messages = 7", true),
        ("UPDATE session SET granularity = -8", false),
        ("UPDATE session SET path = path || 'l'", false),
        ("UPDATE session SET session = 's9'", false),
        ("UPDATE session SET title = CAST(x'ff' AS TEXT)", false),
    ] {
        let stage = Stage::new();
        let key = session("s1", "/work/app", None).key;
        let sound = stage.store.session(&key).expect("a read");
        stage.sql(sql);
        let is_moved = sql.contains("path");
        if !is_moved {
            let outcome = stage.repair(true);
            assert_eq!(outcome.repaired.len(), 1, "{sql}");
            assert_eq!(outcome.repaired[0].from, "the backup", "{sql}");
            assert_eq!(stage.store.session(&key).expect("a read"), sound, "{sql}");
            stage.sql(sql);
        }
        stage.repair(is_moved);
        assert_eq!(stage.rows("SELECT count(*) FROM session"), i64::from(stays), "{sql}");
        assert_eq!(stage.rows("SELECT count(*) FROM cursor"), 0, "its transcript is read again: {sql}");
        chain(&stage.store, "s1", 4, 300);
        assert_eq!(stage.store.session(&key).expect("a read"), sound, "{sql}");
        assert_eq!(stage.rows("SELECT count(*) FROM session WHERE seal IS NULL"), 0);
        assert_eq!(damages(&stage.store), []);
    }
}

#[test]
fn a_damaged_sighting_comes_back_from_a_copy_or_with_the_next_import() {
    for sql in [
        "UPDATE sighting SET trigger = 1 WHERE commit_row = 2",
        "UPDATE sighting SET observed_at = 3, offset = 9 WHERE commit_row = 2",
        "UPDATE sighting SET origin = 77 WHERE commit_row = 2",
        "UPDATE sighting SET commit_row = 3 WHERE commit_row = 4",
        "UPDATE sighting SET commit_row = 99 WHERE commit_row = 4",
        "UPDATE sighting SET created_at = 99 WHERE commit_row = 4",
    ] {
        let stage = Stage::new();
        let seen = |stage: &Stage| -> Vec<_> {
            stage.ids.iter().map(|id| stage.store.sightings(*id, 9).expect("a read")).collect()
        };
        let sound = seen(&stage);
        let sum = stage.rows("SELECT sum(seal) FROM sighting");
        if sql.contains("trigger") || sql.contains("observed") {
            stage.sql(sql);
            let outcome = stage.repair(true);
            assert_eq!(outcome.repaired[0].from, "the backup", "{sql}");
            assert_eq!((outcome.repaired.len(), seen(&stage)), (1, sound.clone()), "{sql}");
        }
        stage.sql(sql);
        stage.repair(false);
        assert_eq!(damages(&stage.store), [], "{sql}");
        let is_derived = sql.contains("created_at");
        assert_eq!(
            stage.rows("SELECT count(*) FROM cursor"),
            i64::from(is_derived),
            "it is read again: {sql}"
        );
        chain(&stage.store, "s1", 4, 300);
        assert_eq!(seen(&stage), sound, "{sql}");
        assert_eq!(stage.rows("SELECT sum(seal) FROM sighting"), sum);
    }
}

#[test]
fn a_sighting_without_a_transcript_is_dropped_where_another_is_and_else_kept() {
    let stage = Stage::new();
    let key = session("s1", "/work/app", None).key;
    let mut seen = sighting("api", 5, 0);
    seen.source = None;
    let write = Write::Sighting { commit: stage.ids[0], sighting: Box::new(seen) };
    stage.store.commit_batch(vec![write]).expect("a batch");
    let of_api = "WHERE origin = (SELECT row FROM origin WHERE session = 'api')";
    stage.sql(&format!("UPDATE sighting SET trigger = 2 {of_api}"));
    let outcome = stage.repair(false);
    assert_eq!(outcome.repaired[0].from, "dropped: its commit was seen elsewhere too");
    assert_eq!(stage.store.sightings(stage.ids[0], 9).expect("a read").len(), 1);
    assert!(stage.store.cursor(&key).expect("a read").is_some(), "nothing is to be read again");

    let stage = Stage::new();
    stage
        .database()
        .execute_batch("UPDATE origin SET path = NULL, seal = NULL; DELETE FROM session")
        .expect("rows less");
    stage.sql("UPDATE sighting SET trigger = 2 WHERE commit_row = 2");
    let outcome = stage.repair(false);
    assert_eq!((outcome.repaired.len(), outcome.verified.kept_rows), (1, 1), "{outcome:?}");
    assert_eq!(stage.store.sightings(stage.ids[1], 9).expect("a read").len(), 1);
}

#[test]
fn what_nothing_gives_back_is_kept() {
    for (table, sql) in [
        ("mark", "UPDATE mark SET at = 1"),
        ("origin", "UPDATE origin SET principal = 'somebody'"),
        ("link", "UPDATE link SET kind = 1"),
        ("placement", "UPDATE placement SET taken_bytes = 4"),
    ] {
        let stage = Stage::new();
        stage.sql(sql);
        let count = format!("SELECT count(*) FROM {table}");
        let rows = stage.rows(&count);
        let outcome = stage.repair(true);
        assert_eq!(i64::try_from(outcome.verified.kept_rows).expect("small"), rows, "{table}");
        assert_eq!(stage.rows(&count), rows, "{table}");
    }
}
