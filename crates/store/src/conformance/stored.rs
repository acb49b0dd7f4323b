//! The order of storing, and what it leaves for an index that follows it.
//!
//! The index is no part of a store.

use std::collections::BTreeSet;

use stemmata_model::{Closure, CommitId};

use super::Make;
use super::builders::{at, chain, checkpoint, key, machine, put, see, session, session_id, sighting, write};
use super::forget::{forget, wish};
use crate::maintain::collect::Collect;
use crate::maintain::forget::{Forget, Tombstone};
use crate::seam::{Follow, Store, StoredAt};
use crate::write::{SessionKey, Write};

/// Walks the whole order in small pages.
fn walk(store: &dyn Follow) -> Vec<(StoredAt, CommitId)> {
    let mut walked: Vec<(StoredAt, CommitId)> = Vec::new();
    loop {
        let page = store.stored_after(walked.last().map(|(at, _)| *at), 2).expect("a read");
        if page.is_empty() {
            return walked;
        }
        assert!(page.len() <= 2, "a page has a limit");
        walked.extend(page.into_iter().map(|(at, commit)| (at, commit.id)));
    }
}

fn ids(store: &dyn Follow) -> Vec<CommitId> {
    walk(store).into_iter().map(|(_, id)| id).collect()
}

fn place(store: &dyn Follow, of: CommitId) -> StoredAt {
    walk(store).into_iter().find(|(_, id)| *id == of).expect("it is stored").0
}

/// Takes what is due, and takes it back.
fn due(store: &dyn Follow) -> Vec<Option<StoredAt>> {
    let keys = store.index_due().expect("a read");
    store.index_done(&keys).expect("taken back");
    assert_eq!(store.index_due().expect("a read"), []);
    keys.into_iter().map(|key| key.first).collect()
}

/// Commits come in the order of storing whatever their ids and times are, and stay where they are.
pub(super) fn check_stored(make: Make<'_, dyn Follow>) {
    let store = make();
    assert_eq!(walk(&*store), []);
    let mut expected = chain(&*store, "new", 4);
    expected.push(put(&*store, None, "imported late\n", -5_000));
    expected.push(put(&*store, Some(expected[1]), "a branch\n", 7));
    assert_eq!(ids(&*store), expected);
    let (again, writes) = checkpoint(None, "new 0\n", 0);
    write(&*store, writes);
    assert_eq!(again, expected[0], "what is there already");
    let (open, mut writes) = checkpoint(Some(again), "open\n", 9);
    for write in &mut writes {
        if let Write::Commit(new) = write {
            new.closure = Closure::Provisional;
        }
    }
    expected.push(open);
    write(&*store, writes);
    let before = walk(&*store);
    expected.push(put(&*store, Some(open), "after it\n", 10));
    write(&*store, vec![Write::Cover { commit: open }]);
    assert_eq!(ids(&*store), expected);
    assert_eq!(walk(&*store)[..before.len()], before, "places stay");
    let all = store.stored_after(None, usize::MAX).expect("a read");
    for (number, (at, _)) in all.iter().enumerate() {
        assert_eq!(at.as_bytes().len(), all[0].0.as_bytes().len(), "an index compares their bytes");
        assert_eq!(
            store.stored_after(Some(at.before()), 9).expect("a read"),
            all[number..],
            "it begins with it"
        );
    }
    assert_eq!(store.stored_after(Some(StoredAt::START), 99).expect("a read"), all);
    assert_eq!(all[6].1.closure, Closure::Covered);
    let end = StoredAt::from_bytes(&vec![u8::MAX; all[0].0.as_bytes().len()]);
    assert_eq!(store.stored_after(end, 9).expect("a read"), []);
    assert_eq!(due(&*store), [], "nothing went");
}

/// A session's commits are those that it saw, whatever they continue, once each and in the order of storing.
pub(super) fn check_seen_by(make: Make<'_, dyn Follow>) {
    let store = make();
    let of = |key: &SessionKey| {
        let mut found: Vec<CommitId> = Vec::new();
        let mut after = None;
        loop {
            let page = store.seen_by(key, after, 2).expect("a read");
            let Some((last, _)) = page.last() else { return found };
            assert!(
                page.len() <= 2 && after < Some(*last),
                "a page has a limit, and goes on behind the last"
            );
            after = Some(*last);
            found.extend(page.into_iter().map(|(_, commit)| commit.id));
        }
    };
    let ids = chain(&*store, "turn", 4);
    let look = put(&*store, None, "a look\n", 3);
    let mut ticketed = sighting("one", 9);
    ticketed.ticket = stemmata_model::TicketId::new("T-7").ok();
    let mut elsewhere = sighting("one", 9);
    elsewhere.machine = machine("m2");
    let unwritten = stemmata_model::Sighting { source: None, ..sighting("one", 9) };
    for (id, sighting) in [
        (look, sighting("one", 9)),
        (ids[0], sighting("one", 9)),
        (ids[0], ticketed.clone()),
        (ids[2], sighting("two", 9)),
        (ids[2], ticketed),
        (ids[3], sighting("one", 9)),
        (ids[1], elsewhere),
        (ids[1], unwritten),
    ] {
        write(&*store, vec![see(id, sighting)]);
    }
    let api = SessionKey { machine: machine("m1"), path: format!("api:{}", session_id("one")) };
    assert_eq!(of(&key("one")), [ids[0], ids[2], ids[3], look]);
    assert_eq!(of(&key("two")), [ids[2]]);
    assert_eq!(of(&api), [ids[1]]);
    assert_eq!(of(&key("nobody")), []);
}

/// A session that was forgotten saw nothing, and no index has to look for it.
pub(super) fn check_forgotten_sessions(make: Make<'_, dyn Store>) {
    let store = make();
    let id = put(&*store, None, "a turn\n", 1);
    write(&*store, vec![see(id, sighting("one", 9)), see(id, sighting("two", 9))]);
    forget(&*store, &wish(&[], &[], &[key("one")]));
    let seen = [key("one"), key("two")].map(|key| store.seen_by(&key, None, 9).expect("a read").len());
    assert_eq!(seen, [0, 1]);
    let unseen = store.index_unseen(9).expect("a read").into_iter().map(|key| key.session);
    assert_eq!(unseen.collect::<Vec<_>>(), [key("two")]);
}

/// Forgetting, collecting and filling a hole leave the first commit concerned, and a dry run leaves nothing.
pub(super) fn check_index_due(make: Make<'_, dyn Store>) {
    let store = make();
    let ids = chain(&*store, "turn", 5);
    let places: Vec<StoredAt> = ids.iter().map(|id| place(&*store, *id)).collect();
    let all = wish(&ids[3..], &[], &[]);
    store.forget(&Forget { dry_run: true, ..all.clone() }).expect("a plan");
    assert_eq!(due(&*store), []);
    forget(&*store, &all);
    assert_eq!(due(&*store), [Some(places[3])]);
    forget(&*store, &wish(&[], &ids[1..2], &[]));
    assert_eq!(due(&*store), [Some(places[1])]);
    forget(&*store, &wish(&[], &ids[1..2], &[]));
    assert_eq!(due(&*store), [], "a hole holds nothing");
    store.lift(&Tombstone::Commit(ids[1])).expect("lifted");
    assert_eq!(due(&*store), []);
    write(&*store, checkpoint(Some(ids[0]), "turn 1\n", 10).1);
    assert_eq!(due(&*store), [Some(places[1])], "it was passed as a hole");
    assert_eq!(place(&*store, ids[1]), places[1]);
    // What two leave is there for both, the least first.
    forget(&*store, &wish(&ids[2..3], &[], &[]));
    let last = put(&*store, Some(ids[1]), "another\n", 90);
    let its = place(&*store, last);
    let gone = |now| Collect { retired: vec![last], now: at(now), grace_us: 1, expect: None, dry_run: false };
    store.collect(&gone(100)).expect("condemned");
    assert_eq!(store.index_due().expect("a read").len(), 1, "what is condemned is there");
    store.collect(&gone(200)).expect("deleted");
    let mut expected = vec![Some(places[2]), Some(its)];
    expected.dedup();
    assert_eq!(due(&*store), expected);
    let kept = put(&*store, Some(ids[1]), "seen\n", 95);
    let mut listed = session("one", "/w", Some(9));
    listed.tip = Some(kept);
    write(&*store, vec![see(kept, sighting("one", 9)), Write::Session(Box::new(listed))]);
    assert_eq!(due(&*store), []);
    forget(&*store, &wish(&[], &[], &[key("one")]));
    assert_eq!(due(&*store), [None], "where it was seen goes");
    store.leave_index_due().expect("left");
    let seen = store.index_due().expect("a read");
    assert_eq!(seen.iter().map(|key| key.first).collect::<Vec<_>>(), [None]);
    store.leave_index_due().expect("left again by another process");
    store.index_done(&seen).expect("taken back");
    assert_eq!(due(&*store), [None], "only what was seen is taken back");
}

/// A sighting of a commit that an earlier batch stored leaves its session; one that comes with its commit does not.
pub(super) fn check_index_unseen(make: Make<'_, dyn Follow>) {
    let store = make();
    let sessions = || -> Vec<SessionKey> {
        store.index_unseen(9).expect("a read").into_iter().map(|key| key.session).collect()
    };
    let (id, mut writes) = checkpoint(None, "a turn\n", 1);
    writes.push(see(id, sighting("one", 9)));
    write(&*store, writes);
    assert_eq!(sessions(), []);
    write(&*store, vec![see(id, sighting("one", 9))]);
    assert_eq!(sessions(), [], "what is known already");
    for name in ["three", "two"] {
        write(&*store, vec![see(id, sighting(name, 9))]);
    }
    let found = store.index_unseen(9).expect("a read");
    assert_eq!(sessions().into_iter().collect::<BTreeSet<_>>(), [key("three"), key("two")].into());
    assert_eq!(store.index_unseen(1).expect("a read"), found[..1]);
    let other = put(&*store, Some(id), "another\n", 2);
    write(&*store, vec![see(other, sighting("two", 10))]);
    store.index_unseen_done(&found).expect("taken back");
    assert_eq!(sessions(), [key("two")], "only what was seen is taken back");
}
