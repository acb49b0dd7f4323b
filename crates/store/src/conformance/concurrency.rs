//! Threads that write and read one store at once.
//!
//! Processes at once are the tests of backends with files.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use stemmata_model::CommitId;

use super::Make;
use super::builders::{bytes_of, checkpoint, put, refused, see, sighting, write};
use crate::error::StoreError;
use crate::seam::Commits;

/// Threads that write at once.
const WRITERS: usize = 6;

/// Batches of each of them.
const BATCHES: usize = 25;

/// Every acknowledged batch of every thread is there, and one that is refused takes no other with it.
pub(super) fn check_writers_at_once(make: Make<'_, dyn Commits>) {
    let store = make();
    let root = put(&*store, None, "root", 0);
    let store = &*store;
    let tips: Vec<CommitId> = thread::scope(|scope| {
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || write_chain(store, root, writer))).collect();
        writers.into_iter().map(|writer| writer.join().expect("a writer that did not panic")).collect()
    });
    for (writer, tip) in tips.into_iter().enumerate() {
        let chain = store.ancestors(tip, 1000).expect("a read");
        assert_eq!(chain.len(), BATCHES + 1);
        for (step, commit) in chain.iter().rev().skip(1).enumerate() {
            let expected = format!("writer {writer} step {step}");
            assert_eq!(bytes_of(store, commit.core.artifact), expected.as_bytes());
            assert_eq!(store.sightings(commit.id, 9).expect("a read").len(), 1);
        }
    }
    let usage = store.usage().expect("a read");
    let expected = u64::try_from(WRITERS * BATCHES + 1).expect("a small number");
    assert_eq!((usage.commits, usage.contents), (expected, expected), "nothing of a refused batch is left");
}

fn write_chain(store: &dyn Commits, root: CommitId, writer: usize) -> CommitId {
    let mut tip = root;
    for step in 0..BATCHES {
        let micros = i64::try_from(step).expect("a small number");
        let (id, mut batch) = checkpoint(Some(tip), &format!("writer {writer} step {step}"), micros);
        batch.push(see(id, sighting(&format!("s{writer}"), micros)));
        if step % 5 == 0 {
            let (_, bad) = checkpoint(Some(CommitId::from_bytes([9; 16])), "never stored", 1);
            let error = refused(store, bad);
            assert!(matches!(error, StoreError::ParentMissing { .. }), "{error}");
        }
        let outcome = write(store, batch);
        assert_eq!((outcome.new_commits, outcome.new_contents), (1, 1));
        assert!(store.commit(id).expect("a read").is_some(), "a write is seen when it returns");
        tip = id;
    }
    tip
}

/// A reader sees chains that only grow, whole at every moment.
pub(super) fn check_readers_beside_a_writer(make: Make<'_, dyn Commits>) {
    let store = make();
    let store = &*store;
    let root = put(store, None, "root", 0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = 0;
            while !done.load(Ordering::Acquire) {
                let found = store.children(root, 1000).expect("a read");
                assert!(found.len() >= seen, "children never become fewer");
                seen = found.len();
                for commit in found.iter().rev().take(3) {
                    assert!(!bytes_of(store, commit.core.artifact).is_empty());
                    let grandchildren = store.children(commit.id, 9).expect("a read");
                    assert_eq!(grandchildren.len(), 1, "a batch is seen whole");
                }
            }
        });
        for step in 0..40 {
            let (child, mut batch) = checkpoint(Some(root), &format!("child {step}"), step);
            batch.extend(checkpoint(Some(child), &format!("grandchild {step}"), step).1);
            write(store, batch);
        }
        done.store(true, Ordering::Release);
        reader.join().expect("a reader that did not panic");
    });
}
