//! Migrations on a list of their own: what fails leaves the store as it was, and there is a way back.

use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::seam::Commits;
use crate::sqlite::SqliteStore;
use crate::sqlite::versions::Undo;
use crate::write::{NewContent, Write};

/// The steps of today, and one more that rewrites.
fn with_step(sql: &'static str, kind: StepKind) -> Vec<Migration> {
    let mut list: Vec<Migration> = MIGRATIONS.into();
    let undo = (kind == StepKind::Additive)
        .then_some(Undo { lost: "SELECT count(*) FROM moods", sql: "DROP TABLE moods" });
    list.push(Migration { to: 7, sql, read_version: 7, kind, about: "moods", undo });
    list
}

const REWRITING: &str = "CREATE TABLE moods (row INTEGER PRIMARY KEY, mood TEXT NOT NULL); \
     INSERT INTO moods SELECT row, hex(hash) FROM content; UPDATE content SET bytes = bytes || x''; \
     UPDATE content SET referred = 1; CREATE INDEX moods_by_mood ON moods (mood);";

struct Stage {
    _home: TempDir,
    dir: PathBuf,
    backup: PathBuf,
    aside: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let home = TempDir::new().expect("a directory");
        let dir = home.path().join("store");
        let stage =
            Self { backup: home.path().join("store.v5"), aside: home.path().join("aside"), dir, _home: home };
        stage.store(&["one", "two", "three"]);
        stage
    }

    fn store(&self, texts: &[&str]) {
        let store = SqliteStore::open(&self.dir, SqliteOptions::default()).expect("a store");
        let contents = texts.iter().map(|text| Write::Content(NewContent::literal(text.as_bytes().to_vec())));
        store.commit_batch(contents.collect()).expect("a batch");
    }

    fn connect(&self) -> Connection {
        connect(&self.dir, &SqliteOptions::default()).expect("a connection")
    }

    fn alone(&self) -> Alone {
        Alone::take(&self.dir, &SqliteOptions::default()).expect("nobody has it open")
    }

    fn way(&self) -> Way<'_> {
        Way { backup: &self.backup, aside: &self.aside, leave_commits: false }
    }

    fn migrate(&self, list: &[Migration]) -> Result<Migrated, StoreError> {
        migrate_with(&self.dir, &self.backup, &SqliteOptions::default(), list)
    }

    fn roll_back(&self, list: &[Migration]) -> Result<RolledBack, StoreError> {
        roll_back_with(&self.dir, self.way(), &SqliteOptions::default(), list)
    }

    /// Everything that is in the store: versions, schema and contents.
    fn state(&self) -> Vec<String> {
        let connection = self.connect();
        let sql = "SELECT read_version || ' ' || write_version FROM store \
                   UNION ALL SELECT * FROM (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name) \
                   UNION ALL SELECT row || ' ' || referred || ' ' || hex(bytes) FROM content";
        let mut statement = connection.prepare(sql).expect("a statement");
        statement.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a row")).collect()
    }
}

#[test]
fn a_step_that_rewrites_is_never_done_by_opening_and_is_by_migrating() {
    let (stage, list) = (Stage::new(), with_step(REWRITING, StepKind::Rewriting));
    let before = stage.state();
    let path = stage.dir.join(STORE_FILE);
    let error = versions::prepare_with(&mut stage.connect(), &path, &list).expect_err("it is too old");
    assert!(matches!(error, StoreError::NeedsMigration { found: 6, newest: 7 }), "{error}");
    assert_eq!(stage.state(), before);

    let plan = plan_with(&stage.connect(), &stage.dir, &list).expect("a plan");
    assert_eq!((plan.found, plan.newest, plan.steps.len()), (6, 7, 1));
    let migrated = stage.migrate(&list).expect("a migration");
    assert_eq!(migrated.plan, plan);
    assert_eq!(migrated.verified.expect("it was verified").contents, 3);
    assert_eq!(stage.state()[0], "7 7");
    versions::prepare_with(&mut stage.connect(), &path, &list).expect("it is up to date");
    assert_eq!(stage.migrate(&list).expect("nothing to do").backup, None);

    let back = stage.roll_back(&list).expect("a way back");
    assert_eq!(back, RolledBack::Restored { aside: stage.aside.clone(), lost_commits: 0 });
    assert_eq!(stage.state(), before);
    assert!(stage.aside.join(STORE_FILE).is_file(), "nothing is deleted");
}

#[test]
fn a_migration_that_is_stopped_anywhere_leaves_the_store_as_it_was() {
    let (stage, list) = (Stage::new(), with_step(REWRITING, StepKind::Rewriting));
    let before = stage.state();
    let mut stopped = 0;
    for steps in (1..).step_by(41) {
        let mut connection = stage.connect();
        let mut left = steps;
        let stop = move || {
            left -= 1;
            left <= 0
        };
        connection.progress_handler(1, Some(stop)).expect("a handler");
        match within_transaction(connection, &stage.alone(), &SqliteOptions::default(), &list) {
            Ok(_) => break,
            Err(_) => stopped += 1,
        }
        assert_eq!(stage.state(), before, "stopped after {steps} steps");
    }
    assert!(stopped > 20, "{stopped}");
    assert_eq!(stage.state()[0], "7 7");
}

#[test]
fn a_full_disk_and_an_outcome_that_does_not_verify_leave_the_store_as_it_was() {
    let stage = Stage::new();
    stage.store(&["x".repeat(9000).as_str()]);
    let before = stage.state();
    let large = with_step(
        "CREATE TABLE moods AS WITH RECURSIVE n (v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 500) \
         SELECT randomblob(9000) AS mood FROM n;",
        StepKind::Rewriting,
    );
    let connection = stage.connect();
    connection.query_row("PRAGMA max_page_count = 60", [], |_| Ok(())).expect("a bound");
    let error = within_transaction(connection, &stage.alone(), &SqliteOptions::default(), &large)
        .expect_err("it is full");
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert_eq!(stage.state(), before);
    for sql in
        ["UPDATE content SET bytes = x'00' WHERE row = 2", "UPDATE nothing SET a = 1", "DROP TABLE link"]
    {
        let error = stage.migrate(&with_step(sql, StepKind::Rewriting)).expect_err("it does harm");
        assert!(matches!(error, StoreError::Damaged { .. } | StoreError::Backend { .. }), "{error}");
        assert_eq!(stage.state(), before, "{sql}");
        // A migration of which nothing came may be tried again over the same backup.
        assert!(stage.backup.join(STORE_FILE).is_file());
    }
}

#[test]
fn what_was_added_and_never_used_is_dropped_again_and_what_is_used_is_not() {
    let list = with_step("CREATE TABLE moods (row INTEGER PRIMARY KEY)", StepKind::Additive);
    let stage = Stage::new();
    let before = stage.state();
    let path = stage.dir.join(STORE_FILE);
    let error = stage.roll_back(&list).expect_err("it is not there yet");
    assert!(matches!(&error, StoreError::Refused { .. }), "{error}");
    versions::prepare_with(&mut stage.connect(), &path, &list).expect("additive steps are done by opening");
    assert_eq!(stage.roll_back(&list).expect("a way back"), RolledBack::Undone { from: 7, to: 6 });
    assert_eq!(stage.state(), before);

    versions::prepare_with(&mut stage.connect(), &path, &list).expect("and forth");
    stage.connect().execute("INSERT INTO moods VALUES (1)", []).expect("a row");
    let used = stage.state();
    let error = stage.roll_back(&list).expect_err("it is in use");
    assert!(error.to_string().contains("no backup from before"), "{error}");
    assert_eq!(stage.state(), used);
}

#[test]
fn each_step_of_today_can_be_taken_back() {
    let stage = Stage::new();
    assert_eq!(stage.roll_back(&MIGRATIONS).expect("a way back"), RolledBack::Undone { from: 6, to: 5 });
    assert_eq!(stage.state()[0], "3 5");
    stage.store(&["four"]);
    assert_eq!(stage.state()[0], "3 6");
    assert_eq!(stage.roll_back(&MIGRATIONS).expect("a way back"), RolledBack::Undone { from: 6, to: 5 });
    let error = stage.roll_back(&MIGRATIONS).expect_err("only the newest is taken back");
    assert!(error.to_string().contains("write version 5, not 6"), "{error}");
}

/// The first step makes at once what several did: a store that went through them is the same.
#[test]
fn a_store_is_made_as_it_became() {
    let stage = Stage::new();
    stage.roll_back(&MIGRATIONS).expect("a way back");
    let frozen = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/v5/stemmata.db");
    let tables = |connection: &Connection| -> Vec<String> {
        let sql = "SELECT t.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || coalesce(c.dflt_value, '-') || ' ' \
                   || c.pk || ' ' || c.cid FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' \
                   UNION ALL SELECT name || ' ' || tbl_name || ' ' || coalesce(sql, '-') FROM sqlite_schema WHERE type = 'index' \
                   ORDER BY 1";
        let mut statement = connection.prepare(sql).expect("a statement");
        statement.query_map([], |row| row.get(0)).expect("rows").map(|row| row.expect("a row")).collect()
    };
    let then =
        Connection::open_with_flags(frozen, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the fixture");
    assert_eq!(tables(&stage.connect()), tables(&then));
}

#[test]
fn a_store_from_before_the_first_step_is_refused() {
    let stage = Stage::new();
    stage.connect().execute("UPDATE store SET write_version = 4", []).expect("an update");
    let error = SqliteStore::open(&stage.dir, SqliteOptions::default()).expect_err("it is too old");
    assert!(matches!(error, StoreError::TooOld { found: 4, oldest: 5 }), "{error}");
    assert!(matches!(stage.migrate(&MIGRATIONS), Err(StoreError::TooOld { .. })));
}
