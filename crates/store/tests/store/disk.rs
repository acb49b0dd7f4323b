//! Disks that are full or read-only: a clear error, nothing lost, and on it goes when there is room again.
//!
//! Needs to mount file systems, and says that it was skipped where it may not.

use std::path::Path;
use std::process::Command;

use super::support::{checkpoint, damages, open, read, try_open};
use stemmata_model::CommitId;
use stemmata_store::{Commits, StoreError, StoreErrorKind};
use stemmata_testkit::mount::Mount;

#[test]
fn a_full_disk_refuses_what_has_no_room_and_loses_nothing() {
    let Some(mount) = Mount::new("1536k") else { return };
    let dir = mount.path().join("store");
    let store = open(&dir);
    let mut ids: Vec<CommitId> = Vec::new();
    let mut step = 0;
    let refused = loop {
        let (id, batch) = checkpoint("s1", ids.last().copied(), step, 20_000);
        match store.commit_batch(batch) {
            Ok(_) => ids.push(id),
            Err(error) => break error,
        }
        step += 1;
    };
    assert!(matches!(refused, StoreError::Full { .. }), "{refused}");
    assert_eq!(refused.kind(), StoreErrorKind::Full);
    assert!(ids.len() > 5, "{} batches had room", ids.len());
    for _ in 0..3 {
        let (_, batch) = checkpoint("s1", ids.last().copied(), step, 20_000);
        let error = store.commit_batch(batch).expect_err("it is still full");
        assert_eq!(error.kind(), StoreErrorKind::Full, "{error}");
    }
    let tip = *ids.last().expect("some commits");
    let chain = store.ancestors(tip, 1000).expect("reads go on");
    assert_eq!(chain.len(), ids.len());
    for commit in &chain {
        read(&store, commit.core.artifact).expect("reads go on");
    }
    mount.remount("size=16m");
    let (next, batch) = checkpoint("s1", Some(tip), step, 20_000);
    store.commit_batch(batch).expect("there is room again");
    drop(store);
    let store = open(&dir);
    assert_eq!(store.ancestors(next, 1000).expect("a read").len(), ids.len() + 1);
    assert_eq!(damages(&store), []);
}

#[test]
fn a_full_disk_has_no_room_for_a_new_store_and_says_so() {
    let Some(mount) = Mount::new("16k") else { return };
    let error = try_open(&mount.path().join("store")).expect_err("there is no room");
    assert_eq!(error.kind(), StoreErrorKind::Full, "{error}");
    mount.remount("size=16m");
    let store = open(&mount.path().join("store"));
    super::support::chain(&store, "s1", 3, 500);
    assert_eq!(damages(&store), []);
}

#[test]
fn a_read_only_disk_is_named() {
    let Some(mount) = Mount::new("16m") else { return };
    let dir = mount.path().join("store");
    let ids = super::support::chain(&open(&dir), "s1", 3, 500);
    mount.remount("ro");
    match try_open(&dir) {
        Ok(store) => {
            assert_eq!(store.ancestors(ids[2], 9).expect("a read").len(), 3);
            let error = store.commit_batch(checkpoint("s1", Some(ids[2]), 3, 500).1).expect_err("read-only");
            assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
        }
        Err(error) => assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}"),
    }
    let error = try_open(&mount.path().join("other")).expect_err("read-only");
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    mount.remount("rw");
    assert_eq!(open(&dir).ancestors(ids[2], 9).expect("a read").len(), 3);
}

#[test]
fn wherever_the_room_ends_nothing_is_lost_and_it_goes_on() {
    let Some(mount) = Mount::new("64m") else { return };
    for pages in (60..220).step_by(7) {
        let dir = mount.path().join(pages.to_string());
        let used = used_kib(mount.path());
        mount.remount(&format!("size={}k", used + pages * 4));
        let mut ids: Vec<CommitId> = Vec::new();
        let opened = try_open(&dir);
        if let Ok(store) = &opened {
            for step in 0..100 {
                let (id, batch) = checkpoint("s1", ids.last().copied(), step, 3000);
                match store.commit_batch(batch) {
                    Ok(_) => ids.push(id),
                    Err(error) => {
                        assert_eq!(error.kind(), StoreErrorKind::Full, "{pages} pages: {error:?}");
                        break;
                    }
                }
            }
        }
        if let Err(error) = &opened {
            assert_eq!(error.kind(), StoreErrorKind::Full, "{pages} pages: {error:?}");
        }
        drop(opened);
        mount.remount("size=64m");
        let store = open(&dir);
        for id in &ids {
            let commit = store.commit(*id).expect("a read").expect("what was acknowledged is there");
            read(&store, commit.core.artifact).expect("and readable");
        }
        store.commit_batch(checkpoint("s1", ids.last().copied(), 200, 3000).1).expect("there is room again");
        assert_eq!(damages(&store), []);
    }
}

/// Kibibytes that a file system has in use.
fn used_kib(path: &Path) -> u64 {
    let output = Command::new("df").args(["-k", "--output=used"]).arg(path).output().expect("df");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().last().and_then(|line| line.trim().parse().ok()).expect("a number")
}
