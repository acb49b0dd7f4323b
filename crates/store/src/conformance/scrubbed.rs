//! What a scrub leaves: redirects, and other words about commits that stay.

use stemmata_model::CommitId;

use super::Make;
use super::builders::{at, chain, principal, put, write};
use super::forget::{forget, wish};
use super::transactions::verify_is_clean;
use crate::maintain::forget::{Forget, Reworded, Tombstone};
use crate::seam::Upkeep;
use crate::write::{Annotation, AuditRecord, Write};

/// What a commit became outlives it; the first that is said stays, and pages follow each other.
pub(super) fn check_redirects(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let id = |byte: u8| CommitId::from_bytes([byte; 16]);
    assert_eq!(store.redirects(None, 9).expect("read"), Vec::new());
    let redirect = |from: u8, to: u8| Write::Redirect { from: id(from), to: id(to), at: at(5) };
    write(&*store, vec![redirect(7, 9), redirect(3, 7)]);
    write(&*store, vec![redirect(7, 1)]);
    assert_eq!(store.redirects(None, 9).expect("read"), [(id(3), id(7)), (id(7), id(9))]);
    assert_eq!(store.redirects(None, 1).expect("read"), [(id(3), id(7))]);
    assert_eq!(store.redirects(Some(id(3)), 9).expect("read"), [(id(7), id(9))]);
    assert_eq!(store.redirects(Some(id(7)), 9).expect("read"), Vec::new());
    verify_is_clean(&*store);
}

/// A commit that comes back is itself again: what it became is forgotten with its tombstone.
pub(super) fn check_lifted_redirects(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let (old, new) = (chain(&*store, "old", 2), chain(&*store, "new", 1));
    let redirect = |from| Write::Redirect { from, to: new[0], at: at(5) };
    let other = CommitId::from_bytes([3; 16]);
    write(&*store, vec![redirect(old[0]), redirect(old[1]), redirect(other)]);
    store.forget(&Forget { even_sighted: true, ..wish(&old, &[], &[]) }).expect("a forgetting");
    assert_eq!(store.redirects(None, 9).expect("read").len(), 3);
    assert_eq!(store.lift(&Tombstone::Commit(old[1])).expect("lifted"), 2);
    assert_eq!(store.redirects(None, 9).expect("read"), [(other, new[0])]);
    verify_is_clean(&*store);
}

/// Words that were said of a commit that stays are replaced, in its metadata and in its records; all else stays.
pub(super) fn check_reworded(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let id = put(&*store, None, "noted", 1);
    let said = |change, micros| Write::Annotate { commit: id, change, at: at(micros), by: principal("ann") };
    write(&*store, vec![said(Annotation::AddTag("secret".to_owned()), 10)]);
    write(&*store, vec![said(Annotation::AddNote("the secret".to_owned()), 11)]);
    write(&*store, vec![said(Annotation::AddNote("plain".to_owned()), 12), said(Annotation::Pin, 13)]);
    let records = store.audit(id, 9).expect("a read");
    let reword = |index: usize, change| {
        let from = records[index].clone();
        Reworded { commit: id, to: AuditRecord { change, ..from.clone() }, from }
    };
    let never = AuditRecord { change: Annotation::AddNote("never".to_owned()), ..records[0].clone() };
    let reworded = vec![
        reword(0, Annotation::AddTag("[gone]".to_owned())),
        reword(1, Annotation::AddNote("the [gone]".to_owned())),
        Reworded { commit: id, from: never.clone(), to: records[2].clone() },
        Reworded { commit: CommitId::from_bytes([9; 16]), from: never.clone(), to: never },
    ];
    let done = forget(&*store, &Forget { reworded: reworded.clone(), ..wish(&[], &[], &[]) });
    assert_eq!((done.reworded, done.removed.len()), (1, 0));
    let now = store.annotations(id).expect("a read");
    assert_eq!((now.tags, now.notes), (vec!["[gone]".to_owned()], vec!["the [gone]".into(), "plain".into()]));
    assert!(now.pinned);
    assert_eq!(store.tagged("[gone]", 9).expect("a read"), [id]);
    assert_eq!(store.tagged("secret", 9).expect("a read"), []);
    assert_eq!(store.audit(id, 9).expect("a read").len(), 4);
    let again = forget(&*store, &Forget { reworded, ..wish(&[], &[], &[]) });
    assert_eq!(again.reworded, 0, "twice is once");
    // What is said from now on goes on from it.
    write(&*store, vec![said(Annotation::RemoveTag("[gone]".to_owned()), 20)]);
    assert_eq!(store.annotations(id).expect("a read").tags, Vec::<String>::new());
    verify_is_clean(&*store);
}
