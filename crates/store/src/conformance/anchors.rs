//! Anchors: kept with a commit, found by hash, gone with what is covered.

use stemmata_model::{Closure, CommitId};

use super::Make;
use super::builders::{checkpoint, commit, put, write};
use crate::error::StoreError;
use crate::seam::{ANCHORS_MAX, Commits};
use crate::write::{NewContent, Write};

/// Anchors are found by hash in the order of the commits' ids, once each, and not where a commit is covered.
pub(super) fn check_anchors(make: Make<'_, dyn Commits>) {
    let store = make();
    let one = put(&*store, None, "one", 1);
    let two = put(&*store, None, "two", 2);
    let anchors = |commit: CommitId, hashes: &[u64]| Write::Anchors { commit, hashes: hashes.to_vec() };
    let find = |hashes: &[u64], limit| store.anchored(hashes, limit).expect("a read");
    assert_eq!(find(&[7, 8], 10), []);
    for _ in 0..2 {
        write(&*store, vec![anchors(one, &[7, u64::MAX, 7]), anchors(two, &[7, 0])]);
    }
    let (low, high) = (one.min(two), one.max(two));
    assert_eq!(find(&[7], 10), [(7, low), (7, high)]);
    assert_eq!(find(&[7], 1), [(7, low)]);
    assert_eq!(find(&[u64::MAX, 5, 0], 10), [(u64::MAX, one), (0, two)], "in the order of the hashes");
    assert_eq!(find(&[], 10), []);

    let content = NewContent::literal(b"open".to_vec());
    let mut open = commit(None, content.id(), 3);
    open.closure = Closure::Provisional;
    let provisional = open.core.id();
    write(&*store, vec![Write::Content(content), Write::Commit(open), anchors(provisional, &[9, 10])]);
    assert_eq!(find(&[9], 10), [(9, provisional)]);
    let (closed, mut writes) = checkpoint(None, "open and closed", 3);
    writes.push(Write::Cover { commit: provisional });
    writes.push(anchors(closed, &[9]));
    write(&*store, writes);
    assert_eq!(find(&[9, 10], 10), [(9, closed)], "a covered commit holds none");

    let missing = CommitId::from_bytes([9; 16]);
    let (third, mut writes) = checkpoint(None, "third", 4);
    writes.extend([anchors(third, &[11]), anchors(missing, &[11])]);
    assert!(matches!(store.commit_batch(writes), Err(StoreError::CommitMissing(id)) if id == missing));
    assert_eq!(find(&[11], 10), [], "nothing of a batch that is refused stays");
    let many = vec![1; ANCHORS_MAX + 1];
    assert!(matches!(store.commit_batch(vec![anchors(one, &many)]), Err(StoreError::Bound { .. })));
    assert!(matches!(store.anchored(&many, 1), Err(StoreError::Bound { .. })));
}
