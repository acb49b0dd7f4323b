//! Repairs: what is mended has its hash, what cannot be mended stays named, and nothing gets worse.

use std::fs;

use super::support::{chain, damages, open, read};
use rusqlite::Connection;
use stemmata_model::{ArtifactId, Timestamp};
use stemmata_store::maintain::repair::{RepairOutcome, RepairSource};
use stemmata_store::{Commits, ContentPart, NewContent, OnDisk, PackOptions, SqliteStore, Write};
use tempfile::TempDir;

const FILE: &str = "stemmata.db";

struct Stage {
    home: TempDir,
    store: SqliteStore,
    artifacts: Vec<ArtifactId>,
    wholes: Vec<Vec<u8>>,
}

impl Stage {
    fn new(packed: bool) -> Self {
        let home = TempDir::new().expect("a directory");
        let store = open(&home.path().join("store"));
        let ids = chain(&store, "s1", 6, 900);
        let artifacts: Vec<ArtifactId> = ids
            .iter()
            .map(|id| store.commit(*id).expect("a read").expect("it is there").core.artifact)
            .collect();
        let wholes = artifacts.iter().map(|id| read(&store, *id).expect("a read")).collect();
        if packed {
            let packed = store.pack(&PackOptions::new(Timestamp::EPOCH)).expect("a pack");
            assert!(packed.packs > 0);
        }
        store.backup(&home.path().join("backup")).expect("a backup");
        Self { home, store, artifacts, wholes }
    }

    fn sql(&self, sql: &str) {
        Connection::open(self.home.path().join("store").join(FILE))
            .and_then(|own| own.execute_batch(sql))
            .expect(sql);
    }

    fn repair(&self, from_backup: bool) -> RepairOutcome {
        let folder = self.home.path().join("backup");
        let backup = open(&folder);
        let source =
            RepairSource { name: "the backup".to_owned(), store: &backup, packs: Some(folder.join("packs")) };
        let sources = if from_backup { vec![source] } else { Vec::new() };
        self.store.repair(&sources).expect("a repair")
    }

    #[track_caller]
    fn assert_whole(&self) {
        assert_eq!(damages(&self.store), []);
        for (id, whole) in self.artifacts.iter().zip(&self.wholes) {
            assert!(read(&self.store, *id).expect("a read") == *whole);
        }
        let again = open(&self.home.path().join("store"));
        assert_eq!(damages(&again), []);
    }
}

#[test]
fn a_damaged_content_comes_back_from_a_backup_and_stays_named_without() {
    let stage = Stage::new(false);
    assert_eq!(stage.repair(true).repaired, [], "there is nothing to mend");
    for sql in [
        "UPDATE content SET bytes = x'00' WHERE row = 2",
        "UPDATE content SET length = 7, coding = 9 WHERE row IN (1, 3)",
        "UPDATE content SET bytes = x'' WHERE row > 0",
    ] {
        stage.sql(sql);
        let before = damages(&stage.store);
        let without = stage.repair(false);
        assert_eq!((without.repaired, without.remaining), (Vec::new(), before.clone()), "{sql}");
        let with = stage.repair(true);
        assert!(
            !with.repaired.is_empty() && with.repaired.iter().all(|own| own.from == "the backup"),
            "{with:?}"
        );
        assert_eq!(with.remaining, [], "{sql}");
        stage.assert_whole();
    }
}

#[test]
fn a_damaged_part_comes_back_out_of_a_whole_and_a_lost_list_as_bytes() {
    let stage = Stage::new(false);
    let parts: Vec<Vec<u8>> = (0..3).map(|seed| super::support::turn(seed, 400)).collect();
    let whole = parts.concat();
    let id = stemmata_model::artifact_id(&whole);
    let composed = NewContent::composed(id, parts.iter().cloned().map(ContentPart::Bytes).collect());
    stage.store.commit_batch(vec![Write::Content(composed)]).expect("a batch");
    // Another store has the whole in one piece, and none of its parts by itself.
    let other = open(&stage.home.path().join("other"));
    other.commit_batch(vec![Write::Content(NewContent::literal(whole.clone()))]).expect("a batch");
    let source = || RepairSource { name: "the other".to_owned(), store: &other, packs: None };
    for sql in [
        "UPDATE content SET bytes = x'00' WHERE row = (SELECT max(row) - 2 FROM content)".to_owned(),
        "UPDATE content SET bytes = x'ff' WHERE coding = 3".to_owned(),
        "UPDATE content SET bytes = x'' WHERE coding = 3".to_owned(),
    ] {
        stage.sql(&sql);
        assert!(!damages(&stage.store).is_empty(), "{sql}");
        let outcome = stage.store.repair(&[source()]).expect("a repair");
        assert_eq!(outcome.remaining, [], "{sql}");
        assert!(read(&stage.store, id).expect("a read") == whole, "{sql}");
    }
    stage.assert_whole();
}

#[test]
fn a_pack_that_was_deleted_or_damaged_comes_back_whole_or_content_by_content() {
    let stage = Stage::new(true);
    let packs = stage.home.path().join("store/packs");
    let pack = fs::read_dir(&packs)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.extension().is_some_and(|own| own == "pack"))
        .expect("a pack");
    let name = pack.file_name().expect("a name").to_string_lossy().into_owned();
    for damage in [None, Some(b"nothing of worth".as_slice())] {
        // Another file under the name, as damage would be: the backup may share the bytes.
        fs::remove_file(&pack).expect("a file less");
        if let Some(bytes) = damage {
            std::io::Write::write_all(&mut fs::File::create(&pack).expect("a file"), bytes).expect("written");
        }
        let found = damages(&open(&stage.home.path().join("store")));
        assert!(found.iter().any(|own| own.message.contains(&name)), "{found:?}");
        let outcome = stage.repair(true);
        assert_eq!((outcome.repaired[0].object.as_str(), outcome.remaining), (name.as_str(), Vec::new()));
        stage.assert_whole();
    }
    // A store without packs gives the contents one by one.
    let other = open(&stage.home.path().join("other"));
    for whole in &stage.wholes {
        other.commit_batch(vec![Write::Content(NewContent::literal(whole.clone()))]).expect("a batch");
    }
    fs::remove_file(&pack).expect("a file less");
    let reopened = open(&stage.home.path().join("store"));
    let source = RepairSource { name: "the other".to_owned(), store: &other, packs: None };
    let outcome = reopened.repair(&[source]).expect("a repair");
    assert_eq!(outcome.remaining, []);
    assert!(outcome.repaired.iter().any(|own| own.from == "the other"), "{outcome:?}");
    stage.assert_whole();
    let done = stage.store.backup(&stage.home.path().join("backup")).expect("a backup");
    assert_eq!(done.damages, [], "the pack of which nothing is needed any more is not named any more");
}

#[test]
fn what_follows_from_commits_is_recomputed() {
    for sql in [
        "UPDATE commits SET tip = 1 - tip",
        "UPDATE commits SET figures = x'05050505050500' WHERE row = 3",
        "UPDATE commits SET origin = NULL WHERE row = 3",
        "UPDATE sighting SET created_at = 7 WHERE commit_row = 2",
        "UPDATE session SET tip = zeroblob(16)",
    ] {
        let stage = Stage::new(false);
        stage.sql(sql);
        assert!(!damages(&stage.store).is_empty(), "{sql}");
        let outcome = stage.repair(false);
        assert_eq!(outcome.remaining, [], "{sql}");
        assert!(!outcome.repaired.is_empty(), "{sql}");
        stage.assert_whole();
        let page = stemmata_store::Page { skip: 0, rows_max: 9 };
        assert_eq!(stage.store.tips(&stemmata_store::TipFilter::default(), page).expect("a read").len(), 1);
    }
}
