//! Damaged bytes: never handed out, named, found by `verify`, and no harm to the others.

use std::fs::{self, File};
use std::io::Write as _;

use super::support::{chain, damages, open, read, sighting, try_open};
use rusqlite::{Connection, params};
use stemmata_model::{ArtifactId, CommitId, Principal, Timestamp};
use stemmata_store::conformance::builders;
use stemmata_store::{
    Annotation, Commits, ContentPart, Link, LinkKind, NewContent, Page, SessionFilter, SqliteStore,
    StoreError, StoreErrorKind, TipFilter, Write,
};
use stemmata_testkit::sample::{is_full, stride};
use tempfile::TempDir;

const FILE: &str = "stemmata.db";

fn artifacts(store: &SqliteStore, ids: &[CommitId]) -> Vec<ArtifactId> {
    ids.iter().map(|id| store.commit(*id).expect("a read").expect("it is there").core.artifact).collect()
}

fn stored(database: &Connection, id: ArtifactId) -> Vec<u8> {
    database
        .query_row("SELECT bytes FROM content WHERE hash = ?1", params![id.as_bytes()], |row| row.get(0))
        .expect("a row")
}

fn replace(database: &Connection, id: ArtifactId, bytes: &[u8]) {
    let changed = database
        .execute("UPDATE content SET bytes = ?2 WHERE hash = ?1", params![id.as_bytes(), bytes])
        .expect("a row");
    assert_eq!(changed, 1);
}

#[test]
fn a_damaged_note_or_record_stops_no_other_change_of_its_commit() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let commit = chain(&store, "c", 1, 10)[0];
    let annotate = |change: Annotation, micros| {
        let (at, by) = (Timestamp::from_micros(micros), Principal::new("ann").expect("a name"));
        store.commit_batch(vec![Write::Annotate { commit, change, at, by }])
    };
    let note = |text: &str| Annotation::AddNote(text.to_owned());
    annotate(note("one"), 1).expect("a note");
    annotate(Annotation::AddTag("x".to_owned()), 2).expect("a tag");
    let database = Connection::open(home.path().join(FILE)).expect("a database");
    // A note without an author that a name can be, and a record of a change that no version knows.
    for sql in [
        "UPDATE annotation SET by = '', seal = NULL WHERE kind = 2",
        "UPDATE annotation SET change = 99, seal = NULL WHERE kind = 4 AND number = 1",
    ] {
        assert_eq!(database.execute(sql, []).expect(sql), 1, "{sql}");
    }
    annotate(note("two"), 3).expect("another note");
    annotate(Annotation::AddTag("y".to_owned()), 4).expect("another tag");
    annotate(Annotation::RemoveTag("x".to_owned()), 5).expect("removed");
    let annotations = store.annotations(commit).expect("a read");
    assert_eq!(
        (annotations.notes, annotations.tags),
        (vec!["one".to_owned(), "two".to_owned()], vec!["y".to_owned()])
    );
}

#[test]
fn damage_of_rows_that_are_not_asked_for_fails_no_read() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let ids = chain(&store, "c", 2, 10);
    let link = Link { from: ids[0], kind: LinkKind::DerivedFrom, to: ids[1], entry: None };
    let see = |name, observed| builders::see(ids[0], sighting(name, observed, 0));
    let (at, by) = (Timestamp::from_micros(1), Principal::new("ann").expect("a name"));
    let pin = Write::Annotate { commit: ids[0], change: Annotation::Pin, at, by };
    store
        .commit_batch(vec![Write::Link(link.clone()), see("first", 1), see("last", 1 << 60), pin])
        .expect("written");
    let database = Connection::open(home.path().join(FILE)).expect("a database");
    for sql in [
        "UPDATE annotation SET source = 'none', seal = NULL WHERE kind = 4",
        "UPDATE origin SET session = CAST(x'ff' AS TEXT), seal = NULL WHERE session = 'last'",
        "INSERT INTO link SELECT source, kind, target, CAST(x'ff' AS TEXT), NULL FROM link",
    ] {
        assert_eq!(database.execute(sql, []).expect(sql), 1, "{sql}");
    }
    assert!(store.annotations(ids[0]).expect("a read").pinned);
    assert_eq!(store.links(ids[0], 1).expect("a read"), [link]);
    assert_eq!(store.sightings(ids[0], 1).expect("a read").len(), 1);
    // What is asked for and cannot be read is an error.
    assert!(store.audit(ids[0], 9).is_err() && store.links(ids[0], 2).is_err());
    assert!(store.sightings(ids[0], 99).is_err());
}

#[test]
fn a_store_whose_database_is_gone_or_emptied_beside_its_packs_is_not_taken_for_new() {
    let home = TempDir::new().expect("a directory");
    drop(open(home.path()));
    let (database, packs) = (home.path().join(FILE), home.path().join("packs"));
    for log in ["stemmata.db-wal", "stemmata.db-shm"] {
        fs::remove_file(home.path().join(log)).ok();
    }
    File::create(&database).expect("emptied");
    drop(open(home.path()));
    File::create(&database).expect("emptied");
    fs::create_dir_all(&packs).expect("a folder");
    let pack = packs.join(format!("{}.pack", "a7".repeat(32)));
    File::create(&pack).expect("a pack");
    for is_gone in [false, true] {
        if is_gone {
            fs::remove_file(&database).expect("gone");
        }
        let error = try_open(home.path()).expect_err("it held something");
        assert!(
            matches!(&error, StoreError::NotAStore { reason, .. } if reason.contains("in one pack:")),
            "{error}"
        );
        assert_eq!(database.exists(), !is_gone, "nothing is made");
    }
    fs::remove_file(&pack).expect("moved away");
    drop(open(home.path()));
}

fn assert_corrupt(store: &SqliteStore, id: ArtifactId) {
    let mut handed_out = Vec::new();
    let result = store.read_content(id, None, &mut |piece| {
        handed_out.extend_from_slice(piece);
        Ok(())
    });
    let error = result.expect_err("it is damaged");
    assert!(matches!(&error, StoreError::Corrupt { artifact, .. } if *artifact == id), "{error}");
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    assert!(error.to_string().contains(&id.to_string()), "{error}");
    assert!(handed_out.is_empty(), "nothing of a damaged part is handed out");
}

#[test]
fn every_flipped_bit_of_a_content_is_found() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let ids = chain(&store, "s1", 3, 300);
    let artifacts = artifacts(&store, &ids);
    let (victim, others) = (artifacts[1], [artifacts[0], artifacts[2]]);
    let database = Connection::open(home.path().join(FILE)).expect("a database");
    let sound = stored(&database, victim);
    for bit in 0..sound.len() * 8 {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        replace(&database, victim, &bytes);
        match read(&store, victim) {
            // A bit of a frame that means nothing may be flipped without harm: the bytes are the right ones.
            Ok(bytes) => assert_eq!(stemmata_model::artifact_id(&bytes), victim, "bit {bit}"),
            Err(_) => assert_corrupt(&store, victim),
        }
    }
    replace(&database, victim, &sound[..sound.len() - 1]);
    assert_corrupt(&store, victim);
    let found = damages(&store);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].check, found[0].object.as_str()), ("content_hash", victim.to_string().as_str()));
    for other in others {
        read(&store, other).expect("the others are readable");
    }
    let (next, batch) = super::support::checkpoint("s1", ids.last().copied(), 3, 300);
    store.commit_batch(batch).expect("writing goes on");
    assert_eq!(store.ancestors(next, 9).expect("a read").len(), 4);
}

#[test]
fn a_damaged_part_damages_what_is_made_of_it_and_is_named_by_it() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let parts: Vec<Vec<u8>> = (0..3).map(|seed| super::support::turn(seed, 400)).collect();
    let whole = parts.concat();
    let id = stemmata_model::artifact_id(&whole);
    let composed = NewContent::composed(id, parts.iter().cloned().map(ContentPart::Bytes).collect());
    store.commit_batch(vec![Write::Content(composed)]).expect("a batch that can be applied");
    assert_eq!(read(&store, id).expect("a read"), whole);
    let database = Connection::open(home.path().join(FILE)).expect("a database");
    let part = stemmata_model::artifact_id(&parts[1]);
    let mut bytes = stored(&database, part);
    let last = bytes.len() - 1;
    bytes[last] ^= 0x40;
    replace(&database, part, &bytes);
    let mut handed_out = Vec::new();
    let error = store
        .read_content(id, None, &mut |piece| {
            handed_out.extend_from_slice(piece);
            Ok(())
        })
        .expect_err("its second part is damaged");
    assert!(matches!(&error, StoreError::Corrupt { artifact, .. } if *artifact == id), "{error}");
    assert_eq!(handed_out, parts[0], "only the sound part before it is handed out");
    let first = 0..u64::try_from(parts[0].len()).expect("a length");
    store.read_content(id, Some(first), &mut |_| Ok(())).expect("a range of sound parts is readable");
    let objects: Vec<String> = damages(&store).into_iter().map(|damage| damage.object).collect();
    assert_eq!(objects, [part.to_string(), id.to_string()]);

    database.execute("DELETE FROM content WHERE hash = ?1", params![part.as_bytes()]).expect("a row");
    assert!(read(&store, id).is_err());
    replace(&database, id, b"\xff\xff");
    assert_corrupt(&store, id);
}

/// A closed store of six commits, as the bytes of its file.
fn small_store() -> (Vec<CommitId>, Vec<u8>) {
    let home = TempDir::new().expect("a directory");
    let ids = chain(&open(home.path()), "s1", 6, 300);
    let database = Connection::open(home.path().join(FILE)).expect("a database");
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a copied log");
    (ids, fs::read(home.path().join(FILE)).expect("a file"))
}

fn place(bytes: &[u8]) -> TempDir {
    let home = TempDir::new().expect("a directory");
    File::create(home.path().join(FILE)).and_then(|mut file| file.write_all(bytes)).expect("a file");
    home
}

/// Asks for everything; answers may be errors, but come.
fn ask(store: &SqliteStore, ids: &[CommitId]) -> usize {
    let mut answered = 0;
    for id in ids {
        let answers = [
            store.commit(*id).is_ok(),
            store.ancestors(*id, 9).is_ok(),
            store.children(*id, 9).is_ok(),
            store.sightings(*id, 9).is_ok(),
            store.annotations(*id).is_ok(),
            store.links(*id, 9).is_ok(),
        ];
        answered += answers.iter().filter(|answer| **answer).count();
    }
    let page = Page { skip: 0, rows_max: 9 };
    let answers = [
        store.usage().is_ok(),
        store.sessions(&SessionFilter::default(), page).is_ok(),
        store.tips(&TipFilter::default(), page).is_ok(),
        store.commits_after(None, 9).is_ok(),
    ];
    answered + answers.iter().filter(|answer| **answer).count()
}

#[test]
fn damaged_rows_are_found_and_never_panic() {
    let (ids, sound) = small_store();
    assert_eq!(damages(&open(place(&sound).path())), []);
    let verified = [
        "UPDATE commits SET created_at = created_at + 1 WHERE row = 3",
        "UPDATE commits SET parent = 99 WHERE row = 4",
        "UPDATE commits SET parent = 5 WHERE row = 4",
        "UPDATE commits SET figures = x'00' WHERE row = 3",
        "UPDATE commits SET figures = x'05050505050500' WHERE row = 3",
        "UPDATE commits SET state = 77 WHERE row = 3",
        "UPDATE commits SET kind = 77 WHERE row = 3",
        "UPDATE commits SET artifact = 77 WHERE row = 3",
        "UPDATE commits SET tip = 1 WHERE row = 3",
        "UPDATE commits SET id = x'00' WHERE row = 3",
        "UPDATE commits SET origin = NULL WHERE row = 3",
        "UPDATE kind SET rules = x'00'",
        "UPDATE kind SET format = ''",
        "UPDATE sighting SET commit_row = 77 WHERE commit_row = 3",
        "DELETE FROM origin",
        "UPDATE session SET tip = x'00'",
        "UPDATE content SET length = -1 WHERE row = 3",
        "UPDATE content SET length = 1000000000000 WHERE row = 3",
        "UPDATE content SET coding = 77 WHERE row = 3",
        "UPDATE content SET dictionary = 77 WHERE row = 3",
        "UPDATE content SET bytes = 'text' WHERE row = 3",
        "UPDATE content SET hash = x'00' WHERE row = 3",
        "UPDATE content SET hash = 7 WHERE row = 3",
        "DELETE FROM content WHERE row = 3",
    ];
    for sql in verified {
        let home = place(&sound);
        Connection::open(home.path().join(FILE)).and_then(|database| database.execute_batch(sql)).expect(sql);
        let store = open(home.path());
        assert!(!damages(&store).is_empty(), "{sql}");
        ask(&store, &ids);
    }
    for sql in ["UPDATE origin SET machine = ''", "UPDATE sighting SET trigger = 77"] {
        let home = place(&sound);
        Connection::open(home.path().join(FILE)).and_then(|database| database.execute_batch(sql)).expect(sql);
        let store = open(home.path());
        assert!(store.sightings(ids[0], 9).is_err(), "{sql}");
    }
}

#[test]
fn bytes_flipped_anywhere_in_the_file_never_panic_and_never_change_what_is_read() {
    let (ids, sound) = small_store();
    let expected: Vec<Vec<u8>> = {
        let home = place(&sound);
        let store = open(home.path());
        artifacts(&store, &ids).into_iter().map(|id| read(&store, id).expect("a read")).collect()
    };
    let mut unread = 0;
    for place_of in (0..sound.len()).step_by(stride(397)) {
        let mut bytes = sound.clone();
        bytes[place_of] ^= 0xff;
        let home = place(&bytes);
        let Ok(store) = try_open(home.path()) else {
            unread += 1;
            continue;
        };
        ask(&store, &ids);
        let _found = damages(&store);
        for (id, expected) in ids.iter().zip(&expected) {
            let Ok(Some(commit)) = store.commit(*id) else { continue };
            if let Ok(bytes) = read(&store, commit.core.artifact) {
                let sound_commit = commit.core.id() == *id;
                assert!(!sound_commit || bytes == *expected, "byte {place_of}: other bytes are handed out");
            }
        }
    }
    assert!(unread < sound.len() / 397 / 2, "{unread} damaged stores could not be opened at all");
}

#[test]
fn a_table_of_marks_that_cannot_be_read_is_a_damage_and_no_failure() {
    let (_, sound) = small_store();
    let home = place(&sound);
    let store = open(home.path());
    Connection::open(home.path().join(FILE))
        .and_then(|database| database.execute_batch("ALTER TABLE mark RENAME COLUMN at TO it"))
        .expect("a damaged schema");
    let found: Vec<&str> = damages(&store).iter().map(|damage| damage.check).collect();
    assert!(found.contains(&"database"), "{found:?}");
}

/// The bytes of a store's database and of its log, which holds all of its commits but the first.
fn store_with_log() -> (Vec<CommitId>, Vec<u8>, Vec<u8>) {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let first = chain(&store, "s1", 1, 300);
    let database = Connection::open(home.path().join(FILE)).expect("a database");
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a copied log");
    let mut ids = first;
    for step in 1..12 {
        let (id, batch) = super::support::checkpoint("s1", ids.last().copied(), step, 300);
        store.commit_batch(batch).expect("a batch that can be applied");
        ids.push(id);
    }
    let bytes = |name: &str| fs::read(home.path().join(name)).expect("a file");
    (ids, bytes(FILE), bytes("stemmata.db-wal"))
}

/// Opens a store whose log is as given, and says how many commits of the chain it has: all up to some one.
fn commits_with_log(ids: &[CommitId], database: &[u8], (log, is_flipped): (&[u8], bool)) -> usize {
    let home = place(database);
    File::create(home.path().join("stemmata.db-wal"))
        .and_then(|mut file| file.write_all(log))
        .expect("a file");
    let store = open(home.path());
    let there = ids.iter().take_while(|id| store.commit(**id).expect("a read").is_some()).count();
    assert!(
        ids[there..].iter().all(|id| store.commit(*id).expect("a read").is_none()),
        "a gap after {there}"
    );
    for id in artifacts(&store, &ids[..there]) {
        read(&store, id).expect("what is there is whole");
    }
    // A log that ends early is what a crash leaves; one that goes on behind a damage is not.
    let found: Vec<&str> = damages(&store).iter().map(|damage| damage.check).collect();
    assert_eq!(found, if is_flipped { vec!["log"] } else { Vec::new() });
    let parent = there.checked_sub(1).map(|last| ids[last]);
    store.commit_batch(super::support::checkpoint("s2", parent, 99, 300).1).expect("writing goes on");
    there
}

#[test]
fn a_log_torn_or_flipped_anywhere_leaves_whole_commits_up_to_some_one() {
    let (ids, database, log) = store_with_log();
    assert_eq!(commits_with_log(&ids, &database, (&log, false)), ids.len());
    let mut counts = Vec::new();
    let step = if is_full() { 1999 } else { 3999 };
    for cut in (0..log.len()).step_by(step) {
        counts.push(commits_with_log(&ids, &database, (&log[..cut], false)));
        let mut flipped = log.clone();
        flipped[cut] ^= 0x10;
        let there = commits_with_log(&ids, &database, (&flipped, true));
        assert!(there < ids.len() || cut < 32, "a flipped bit at {cut} was not noticed");
        // Later pages of the file are there, but the log ends where it is torn.
        let mut torn = log.clone();
        torn[cut..].fill(0);
        commits_with_log(&ids, &database, (&torn, false));
    }
    assert!(counts.is_sorted() && counts.first() == Some(&1), "{counts:?}");
    counts.dedup();
    assert!(counts.len() > 6, "{counts:?}");
}
