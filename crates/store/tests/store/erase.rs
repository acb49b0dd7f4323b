//! What is forgotten is in no file of the store any more: not in the inbox, not in pages that are free, not in the log,
//! not in packs.

use std::path::Path;
use std::time::Duration;

use stemmata_model::{ArtifactId, CommitId, Timestamp};
use stemmata_store::conformance::builders::principal;
use stemmata_store::maintain::forget::{Forget, Forgotten};
use stemmata_store::{
    Commits, ContentPart, NewContent, OnDisk, OpenFor, PackOptions, Patience, SqliteOptions, SqliteStore,
    Store, StoreError, Upkeep, Write,
};
use tempfile::TempDir;

use crate::packs::pack;
use crate::support::{damages, new_commit, open, read};

/// Bytes that no compression changes: they stand in a file as they are, or not at all.
pub(crate) fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(bytes).collect()
}

/// Returns the files of a folder that hold some of the marks: windows of the bytes, since pages cut long values.
pub(crate) fn holding(folder: &Path, secrets: &[&[u8]]) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).expect("a file");
            let held: std::collections::HashSet<&[u8]> = bytes.windows(16).collect();
            // A step that no page's bounds can always hit.
            let windows = secrets.iter().flat_map(|secret| secret.windows(16).step_by(61));
            if windows.into_iter().any(|window| held.contains(window)) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

pub(crate) fn wish(unroot: &[CommitId], cut: &[CommitId]) -> Forget {
    Forget {
        unroot: unroot.to_vec(),
        cut: cut.to_vec(),
        even_sighted: true,
        even_pinned: true,
        ..Forget::new(Timestamp::from_micros(1_790_000_000_000_000), principal("ann"))
    }
}

fn put(store: &dyn Store, parent: Option<CommitId>, bytes: &[u8], micros: i64) -> (CommitId, ArtifactId) {
    let content = NewContent::literal(bytes.to_vec());
    let artifact = content.id();
    let commit = new_commit(parent, artifact, micros);
    let id = commit.core.id();
    store.commit_batch(vec![Write::Content(content), Write::Commit(commit)]).expect("stored");
    (id, artifact)
}

fn clean(done: &Forgotten) {
    assert_eq!(done.unfinished, None);
}

#[test]
fn nothing_of_it_is_left_in_any_file() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let secrets: Vec<Vec<u8>> =
        (0..40).map(|seed| noise(seed + 1, 300 + 97 * usize::try_from(seed).expect("small"))).collect();
    let others: Vec<Vec<u8>> = (0..40).map(|seed| noise(seed + 1000, 700)).collect();
    let mut gone: Vec<CommitId> = Vec::new();
    let mut kept: Vec<ArtifactId> = Vec::new();
    let mut other = None;
    for (step, (secret, stays)) in (0..).zip(secrets.iter().zip(&others)) {
        gone.push(put(&store, gone.last().copied(), secret, step).0);
        let (id, artifact) = put(&store, other, stays, step);
        other = Some(id);
        kept.push(artifact);
    }
    let parts: Vec<&[u8]> = secrets.iter().map(Vec::as_slice).collect();
    assert!(!holding(home.path(), &parts).is_empty(), "it is there before");
    // Some of it is freed before without care, as every day's work does.
    let (last, rest) = gone.split_at(20);
    clean(&store.forget(&wish(rest, &[])).expect("forgotten"));
    assert_eq!(holding(home.path(), &parts[20..]), Vec::<String>::new());
    clean(&store.forget(&wish(&[], &last[..10])).expect("forgotten"));
    assert_eq!(holding(home.path(), &parts[..10]), Vec::<String>::new());
    clean(&store.forget(&wish(last, &[])).expect("forgotten"));
    assert_eq!(holding(home.path(), &parts), Vec::<String>::new());
    for (artifact, bytes) in kept.iter().zip(&others) {
        assert_eq!(&read(&store, *artifact).expect("a read"), bytes);
    }
    assert_eq!(damages(&store), []);
}

#[test]
fn packs_that_hold_it_are_rewritten() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let secrets: Vec<Vec<u8>> = (0..8).map(|seed| noise(seed + 1, 3_000)).collect();
    let mut ids: Vec<(CommitId, ArtifactId)> = Vec::new();
    for (step, secret) in (0..).zip(&secrets) {
        ids.push(put(&store, ids.last().map(|(id, _)| *id), secret, step));
    }
    assert_eq!(pack(&store).contents, 8);
    let parts: Vec<&[u8]> = secrets.iter().map(Vec::as_slice).collect();
    clean(&store.forget(&wish(&[], &[ids[2].0])).expect("forgotten"));
    assert_eq!(holding(home.path(), &parts[2..3]), Vec::<String>::new());
    clean(&store.forget(&wish(&[ids[7].0, ids[6].0], &[])).expect("forgotten"));
    assert_eq!(holding(home.path(), &parts[6..]), Vec::<String>::new());
    for (place, (_, artifact)) in ids.iter().enumerate().filter(|(place, _)| ![2, 6, 7].contains(place)) {
        assert_eq!(&read(&store, *artifact).expect("a read"), &secrets[place]);
    }
    assert_eq!(damages(&store), []);
}

#[test]
fn what_a_crash_interrupted_the_next_opening_ends() {
    let home = TempDir::new().expect("a directory");
    let secret = noise(7, 2_000);
    // A reader may be stopped: it is not waited for as a write waits.
    let options = SqliteOptions { busy_timeout_ms: 600_000, ..SqliteOptions::default() };
    let store = SqliteStore::open(home.path(), options).expect("a store");
    let (id, _) = put(&store, None, &secret, 1);
    // Another process reads, and holds the log as it was.
    let reader = rusqlite::Connection::open(home.path().join("stemmata.db")).expect("a connection");
    reader.execute_batch("BEGIN; SELECT count(*) FROM commits;").expect("a read");
    let count: i64 = reader.query_row("SELECT count(*) FROM commits", [], |row| row.get(0)).expect("a read");
    assert_eq!(count, 1);
    let done = store.forget(&wish(&[id], &[])).expect("forgotten");
    assert!(done.unfinished.is_some(), "the reader is in the way, and that is said");
    assert_eq!(store.commit(id).expect("a read"), None);
    drop((reader, store));
    let store = open(home.path());
    assert_eq!(holding(home.path(), &[&secret]), Vec::<String>::new());
    assert_eq!(damages(&store), []);
}

/// Found in review: after a killed `forget` a hook rewrote the whole database while its client waited.
#[test]
fn what_a_crash_interrupted_a_hook_leaves_to_a_command() {
    let home = TempDir::new().expect("a directory");
    let secret = noise(7, 2_000);
    put(&open(home.path()), None, &secret, 1);
    // As a `forget` leaves it that is killed between removing the rows and rewriting the database.
    let connection = rusqlite::Connection::open(home.path().join("stemmata.db")).expect("a connection");
    connection
        .execute("INSERT INTO mark (kind, key, at) VALUES (5, zeroblob(0), 1)", [])
        .and_then(|_| connection.execute("DELETE FROM content", []))
        .expect("as it is then");
    drop(connection);
    let patience = Patience::together(Duration::from_millis(20));
    for open_for in [OpenFor::Hook(patience), OpenFor::Recorder] {
        let options = SqliteOptions { open_for, ..SqliteOptions::default() };
        let store = SqliteStore::open(home.path(), options).expect("a store");
        assert!(!holding(home.path(), &[&secret]).is_empty(), "nothing was rewritten");
        let (id, _) = put(&store, None, b"what the hook is there for", 2);
        assert!(store.commit(id).expect("a read").is_some());
        for refused in [
            store.pack(&PackOptions::new(Timestamp::EPOCH)).map(drop),
            store.forget(&wish(&[id], &[])).map(drop),
        ] {
            assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
        }
    }
    drop(open(home.path()));
    assert_eq!(holding(home.path(), &[&secret]), Vec::<String>::new(), "a command ends it");
}

/// Has the inbox hold a content that a pack holds too, as it is when packing is killed between two of its steps.
fn unpack(home: &Path, artifact: ArtifactId, bytes: &[u8]) {
    let connection = rusqlite::Connection::open(home.join("stemmata.db")).expect("a connection");
    let (row, block): (i64, i64) = connection
        .query_row("SELECT row, block FROM packed WHERE hash = ?1", [artifact.as_bytes()], |found| {
            Ok((found.get(0)?, found.get(1)?))
        })
        .expect("a packed content");
    let length = i64::try_from(bytes.len()).expect("small");
    let values = rusqlite::params![row, artifact.as_bytes(), length, bytes];
    let run = |sql: &str| connection.execute(sql, [row]).map(|_| ());
    connection
        .execute("INSERT INTO content VALUES (?1, ?2, ?3, 0, NULL, 0, ?4)", values)
        .and_then(|_| run("DELETE FROM packed WHERE row = ?1"))
        .and_then(|()| connection.execute("DELETE FROM block WHERE row = ?1", [block]).map(|_| ()))
        .and_then(|()| run("UPDATE store SET packed_content = min(packed_content, ?1 - 1)"))
        .expect("as before its step");
}

#[test]
fn packs_that_hold_it_beside_the_inbox_are_rewritten() {
    for members in [1, 400] {
        let home = TempDir::new().expect("a directory");
        let store = open(home.path());
        let secret = noise(7, 900);
        let mut kept = Vec::new();
        let mut tip = None;
        for step in 0..members {
            let bytes = noise(1_000 + step, if members == 1 { 600_000 } else { 700 });
            let (id, artifact) = put(&store, tip, &bytes, step.cast_signed());
            kept.push((artifact, bytes));
            tip = Some(id);
        }
        let (gone, artifact) = put(&store, None, &secret, 1);
        assert_eq!(pack(&store).blocks, 2);
        unpack(home.path(), artifact, &secret);
        assert_eq!(read(&store, artifact).expect("a read"), secret);
        clean(&store.forget(&wish(&[gone], &[])).expect("forgotten"));
        assert_eq!(holding(home.path(), &[&secret]), Vec::<String>::new(), "{members}");
        for (artifact, bytes) in &kept {
            assert_eq!(&read(&store, *artifact).expect("a read"), bytes);
        }
        assert_eq!(damages(&store), []);
    }
}

/// A client that reads slowly must not keep what is forgotten in the WAL: nothing waits for a sink within a transaction.
#[test]
fn nothing_is_left_where_somebody_reads_for_long() {
    let home = TempDir::new().expect("a directory");
    let (store, other) = (open(home.path()), open(home.path()));
    let secret = noise(7, 3_000);
    let gone = put(&store, None, &secret, 0).0;
    // More than a window: of many contents, and of one that is a list of others.
    let mut parts: Vec<Vec<u8>> = (0..2).map(|seed| noise(seed + 100, 3_000_000)).collect();
    let mut ids: Vec<ArtifactId> =
        (1..).zip(&parts).map(|(step, bytes)| put(&store, None, bytes, step).1).collect();
    let all: Vec<ContentPart> = ids
        .iter()
        .map(|of| ContentPart::Slice { of: *of, offset: 0, length: 3_000_000 })
        .chain([ContentPart::Bytes(b"the end".to_vec())])
        .collect();
    let whole = [parts.concat(), b"the end".to_vec()].concat();
    let list = NewContent::composed(stemmata_model::artifact_id(&whole), all);
    ids.push(list.id());
    store.commit_batch(vec![Write::Content(list)]).expect("stored");
    parts.push(whole);
    let mut done = None;
    let mut got = vec![Vec::new(); ids.len()];
    let each = &mut |number: usize, bytes: &[u8]| {
        // Beside the first bytes, while the reader has not got the next ones.
        done.get_or_insert_with(|| other.forget(&wish(&[], &[gone])).expect("forgotten"));
        got[number].extend_from_slice(bytes);
        Ok(())
    };
    store.read_contents(&ids, each).expect("all of it");
    clean(&done.expect("it was forgotten"));
    assert!(got == parts, "what was read is what was stored");

    // A list whose parts go while it is read is no damage.
    let mut seen = 0;
    let all: Vec<CommitId> =
        store.commits_after(None, 100).expect("a read").iter().map(|one| one.id).collect();
    let failed = store.read_content(*ids.last().expect("some"), None, &mut |bytes| {
        if seen == 0 {
            clean(&other.forget(&Forget { cut: all.clone(), ..wish(&[], &[]) }).expect("forgotten"));
        }
        seen += bytes.len();
        Ok(())
    });
    // Nothing is a commit's any more, and what nobody needs goes: the rest is gone, or was kept for the list.
    assert!(
        failed.is_ok()
            || matches!(failed, Err(StoreError::ContentForgotten(_) | StoreError::ContentMissing(_))),
        "{failed:?}"
    );
}
