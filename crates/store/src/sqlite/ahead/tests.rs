//! What comes between reading ahead and deleting is seen: nothing goes that somebody has come to need.

use std::path::Path;

use stemmata_model::{CommitId, Json, NewPayload, Timestamp, artifact_id};
use tempfile::TempDir;

use super::Ahead;
use crate::conformance::builders;
use crate::maintain::collect::{Collect, Collected};
use crate::maintain::forget::Forget;
use crate::rules::collect::collect;
use crate::seam::{Commits, Upkeep};
use crate::sqlite::{SqliteOptions, SqliteStore};
use crate::write::{ContentPart, NewCommit, NewContent, Write};

const FIRST: &[u8] = b"the first of the contents";
const SECOND: &[u8] = b"the second, another one";
const THIRD: &[u8] = b"the third, and the last";

fn open(home: &Path) -> SqliteStore {
    SqliteStore::open(home, SqliteOptions::default()).expect("a store")
}

fn commit(bytes: &[u8], micros: i64) -> NewCommit {
    builders::commit(None, artifact_id(bytes), micros)
}

fn literal(bytes: &[u8]) -> Write {
    Write::Content(NewContent::literal(bytes.to_vec()))
}

fn put(store: &SqliteStore, bytes: &[u8], micros: i64) -> CommitId {
    let commit = commit(bytes, micros);
    let id = commit.core.id();
    store.commit_batch(vec![literal(bytes), Write::Commit(commit)]).expect("stored");
    id
}

/// The beginning of another content as a content of its own.
fn sliced(of: &[u8]) -> (Vec<u8>, Write) {
    let bytes = of[..10].to_vec();
    let parts = vec![ContentPart::Slice { of: artifact_id(of), offset: 0, length: 10 }];
    (bytes.clone(), Write::Content(NewContent::composed(artifact_id(&bytes), parts)))
}

/// Collects with what was read before `meanwhile`.
fn collect_late(store: &SqliteStore, retired: &[CommitId], meanwhile: impl FnOnce()) -> Collected {
    let wish = Collect {
        retired: retired.to_vec(),
        now: Timestamp::from_micros(9),
        grace_us: 0,
        expect: None,
        dry_run: false,
    };
    let ahead = store.read(|reader| Ahead::read(reader.connection())).expect("read");
    meanwhile();
    let done = store.group.with_writer(|writer| {
        writer.maintain(|connection| {
            store.within(connection, Some(&ahead), |tables| collect(tables, &wish)).map(|(done, _)| done)
        })
    });
    assert_eq!(builders::damages(store), []);
    done.expect("collected")
}

fn bytes_of(store: &SqliteStore, bytes: &[u8]) -> Option<Vec<u8>> {
    builders::read(store, artifact_id(bytes)).ok()
}

#[test]
fn what_is_needed_since_is_kept() {
    let home = TempDir::new().expect("a folder");
    let store = open(home.path());
    // Contents that nobody needs, ripe to be deleted.
    store.commit_batch([FIRST, SECOND, THIRD].map(literal).to_vec()).expect("stored");
    let condemned = collect_late(&store, &[], || ());
    assert_eq!((condemned.condemned.contents, condemned.deleted.contents), (3, 0));
    let (slice, composed) = sliced(SECOND);
    let done = collect_late(&store, &[], || {
        store.commit_batch(vec![Write::Commit(commit(FIRST, 1))]).expect("stored");
        let batch = vec![composed, Write::Commit(commit(&slice, 2))];
        store.commit_batch(batch).expect("stored");
    });
    assert_eq!((done.deleted.contents, done.revived), (1, 0), "two are needed by now: {done:?}");
    assert_eq!(bytes_of(&store, FIRST).as_deref(), Some(FIRST));
    assert_eq!(bytes_of(&store, &slice), Some(slice));
    assert_eq!(bytes_of(&store, THIRD), None);
}

#[test]
fn a_line_that_an_event_is_since_is_kept() {
    use crate::conformance::ledger::builders::{event, put};

    let home = TempDir::new().expect("a folder");
    let store = open(home.path());
    let bytes = [b"\"".as_slice(), FIRST, b"\"\n"].concat();
    // What nobody needs is the line as a range of something longer.
    let long = [bytes.as_slice(), SECOND].concat();
    let parts = vec![ContentPart::Slice { of: artifact_id(&long), offset: 0, length: bytes.len() as u64 }];
    let cut = Write::Content(NewContent::composed(artifact_id(&bytes), parts));
    store.commit_batch(vec![literal(&long), cut]).expect("stored");
    assert_eq!(collect_late(&store, &[], || ()).condemned.contents, 2);
    let done = collect_late(&store, &[], || {
        let line = Json::parse(str::from_utf8(&bytes).expect("text")).expect("JSON");
        put(&store, "p", vec![event("s", "t", NewPayload::Line(line))]);
    });
    assert_eq!(done.deleted.contents, 0, "{done:?}");
    assert_eq!(bytes_of(&store, &bytes), Some(bytes));
}

#[test]
fn what_leans_since_on_what_goes_has_its_own_bytes() {
    let home = TempDir::new().expect("a folder");
    let store = open(home.path());
    let old = [put(&store, FIRST, 1), put(&store, SECOND, 2)];
    assert_eq!(collect_late(&store, &old, || ()).condemned.commits, 2);
    let (slice, composed) = sliced(FIRST);
    let done = collect_late(&store, &old, || {
        store.commit_batch(vec![composed, Write::Commit(commit(&slice, 3))]).expect("stored");
        store.commit_batch(vec![Write::Commit(commit(SECOND, 4))]).expect("stored");
    });
    assert_eq!((done.deleted.commits, done.copied_out), (2, 1), "{done:?}");
    assert_eq!(bytes_of(&store, FIRST), None);
    assert_eq!(bytes_of(&store, &slice), Some(slice));
    assert_eq!(bytes_of(&store, SECOND).as_deref(), Some(SECOND), "another commit names it now");
}

#[test]
fn a_hole_that_is_filled_since_keeps_what_it_names() {
    let home = TempDir::new().expect("a folder");
    let store = open(home.path());
    let emptied = put(&store, FIRST, 1);
    let wish = Forget {
        cut: vec![emptied],
        even_sighted: true,
        even_pinned: true,
        ..Forget::new(Timestamp::from_micros(1), builders::principal("ann"))
    };
    store.forget(&wish).expect("forgotten");
    store.lift(&crate::maintain::forget::Tombstone::Commit(emptied)).expect("lifted");
    store.commit_batch(vec![literal(FIRST)]).expect("stored");
    assert_eq!(collect_late(&store, &[], || ()).condemned.contents, 1, "a hole needs no bytes");
    let done = collect_late(&store, &[], || {
        store.commit_batch(vec![Write::Commit(commit(FIRST, 1))]).expect("filled");
    });
    assert_eq!(done.deleted.contents, 0, "{done:?}");
    assert_eq!(bytes_of(&store, FIRST).as_deref(), Some(FIRST));
}
