//! Mutable metadata and its audit trail, links, cursors and placements.
//!
//! Nothing here is hashed.

use stemmata_model::{CommitId, EntryId, LedgerId, SummarySource, Timestamp};

use super::Make;
use super::builders::{at, chain, key, machine, principal, put, see, session, sighting, write};
use super::transactions::placement;
use crate::error::StoreError;
use crate::ledger::LedgerChange;
use crate::maintain::forget::Forget;
use crate::seam::{Commits, Described, Store};
use crate::write::{Annotation, AuditRecord, Link, LinkKind, Session, Write};

fn annotate(store: &dyn Commits, commit: CommitId, change: Annotation, micros: i64) {
    let annotate = Write::Annotate { commit, change, at: at(micros), by: principal("ann") };
    write(store, vec![annotate]);
}

fn summary(text: Option<&str>, source: SummarySource) -> Annotation {
    Annotation::Summary { text: text.map(str::to_owned), source }
}

/// Summaries obey trust; tags, notes and pins are sets.
pub(super) fn check_annotations(make: Make<'_, dyn Commits>) {
    let store = make();
    let id = put(&*store, None, "noted", 1);
    assert_eq!(store.annotations(id).expect("a read"), crate::write::Annotations::default());
    let steps = [
        (summary(Some("by rule"), SummarySource::Heuristic), Some(("by rule", SummarySource::Heuristic))),
        (summary(Some("by model"), SummarySource::Model), Some(("by model", SummarySource::Model))),
        (summary(Some("by rule"), SummarySource::Heuristic), Some(("by model", SummarySource::Model))),
        (summary(None, SummarySource::Heuristic), Some(("by model", SummarySource::Model))),
        (summary(Some("better"), SummarySource::Model), Some(("better", SummarySource::Model))),
        (summary(Some("said"), SummarySource::Given), Some(("said", SummarySource::Given))),
        (summary(Some("by model"), SummarySource::Model), Some(("said", SummarySource::Given))),
        (summary(None, SummarySource::Given), None),
        (summary(Some("by rule"), SummarySource::Heuristic), Some(("by rule", SummarySource::Heuristic))),
    ];
    for (step, (change, expected)) in (1..).zip(steps) {
        annotate(&*store, id, change, step);
        let expected = expected.map(|(text, source)| (text.to_owned(), source));
        assert_eq!(store.annotations(id).expect("a read").summary, expected, "step {step}");
    }
    annotate(&*store, id, Annotation::AddNote("second".to_owned()), 20);
    annotate(&*store, id, Annotation::AddNote("first".to_owned()), 10);
    annotate(&*store, id, Annotation::AddNote("second".to_owned()), 20);
    annotate(&*store, id, Annotation::AddNote("second".to_owned()), 30);
    for tag in ["b", "a", "b"] {
        annotate(&*store, id, Annotation::AddTag(tag.to_owned()), 40);
    }
    annotate(&*store, id, Annotation::Pin, 41);
    let now = store.annotations(id).expect("a read");
    assert_eq!(now.notes, ["first", "second", "second"]);
    assert_eq!(now.tags, ["a", "b"]);
    assert!(now.pinned);
    annotate(&*store, id, Annotation::RemoveTag("b".to_owned()), 42);
    annotate(&*store, id, Annotation::Unpin, 43);
    let now = store.annotations(id).expect("a read");
    assert_eq!((now.tags, now.pinned), (vec!["a".to_owned()], false));
}

/// Each change that changes something leaves one record, oldest first.
pub(super) fn check_audit(make: Make<'_, dyn Commits>) {
    let store = make();
    let id = put(&*store, None, "noted", 1);
    let changes = [
        (Annotation::AddTag("a".to_owned()), true),
        (Annotation::AddTag("a".to_owned()), false),
        (Annotation::RemoveTag("x".to_owned()), false),
        (summary(Some("said"), SummarySource::Given), true),
        (summary(Some("said"), SummarySource::Given), false),
        (summary(Some("by rule"), SummarySource::Heuristic), false),
        (Annotation::AddNote("n".to_owned()), true),
        (Annotation::Unpin, false),
        (Annotation::Pin, true),
        (Annotation::Pin, false),
        (Annotation::Unpin, true),
        (summary(None, SummarySource::Given), true),
        (Annotation::RemoveTag("a".to_owned()), true),
    ];
    let mut expected: Vec<AuditRecord> = Vec::new();
    for (step, (change, counts)) in (1..).zip(changes) {
        annotate(&*store, id, change.clone(), step);
        if counts {
            expected.push(AuditRecord { at: at(step), by: principal("ann"), change });
        }
        assert_eq!(store.audit(id, 100).expect("a read"), expected, "step {step}");
    }
    assert_eq!(store.audit(id, 2).expect("a read"), expected[..2]);
    annotate(&*store, id, Annotation::AddTag("early".to_owned()), 0);
    assert_eq!(store.audit(id, 1).expect("a read").first().map(|record| record.at), Some(at(0)));
    assert_eq!(store.audit(CommitId::from_bytes([9; 16]), 5).expect("a read"), []);
}

/// Commits are found by tag, in the order of their ids.
pub(super) fn check_tags(make: Make<'_, dyn Commits>) {
    let store = make();
    let mut ids = chain(&*store, "turn", 6);
    for id in &ids[..4] {
        annotate(&*store, *id, Annotation::AddTag("good".to_owned()), 1);
    }
    annotate(&*store, ids[5], Annotation::AddTag("goo".to_owned()), 1);
    annotate(&*store, ids[0], Annotation::RemoveTag("good".to_owned()), 2);
    let mut expected = ids.drain(1..4).collect::<Vec<_>>();
    expected.sort();
    assert_eq!(store.tagged("good", 10).expect("a read"), expected);
    assert_eq!(store.tagged("good", 2).expect("a read"), expected[..2]);
    assert_eq!(store.tagged("g", 10).expect("a read"), []);
    let names = |beginning| {
        let found = store.tags(beginning, 10).expect("a read");
        found.into_iter().map(|(tag, _)| tag).collect::<Vec<_>>()
    };
    assert_eq!(
        (names("g"), names("good"), names("b")),
        (vec!["goo".into(), "good".into()], vec!["good".into()], vec![])
    );
}

/// Links are a set and are found from both ends.
pub(super) fn check_links(make: Make<'_, dyn Commits>) {
    let store = make();
    let ids = chain(&*store, "turn", 4);
    let link = |from: usize, kind, to: usize, entry: Option<&str>| Link {
        from: ids[from],
        kind,
        to: ids[to],
        entry: entry.and_then(|name| EntryId::new(name).ok()),
    };
    let mut links = vec![
        link(0, LinkKind::DerivedFrom, 1, None),
        link(0, LinkKind::DerivedFrom, 1, Some("e1")),
        link(0, LinkKind::Subagent, 1, None),
        link(2, LinkKind::Subagent, 0, Some("e2")),
    ];
    let beside = link(2, LinkKind::DerivedFrom, 3, None);
    for _ in 0..2 {
        let batch = links.iter().chain([&beside]).cloned().map(Write::Link).collect();
        write(&*store, batch);
    }
    links.sort();
    assert_eq!(store.links(ids[0], 10).expect("a read"), links);
    assert_eq!(store.links(ids[0], 2).expect("a read"), links[..2]);
    assert_eq!(store.links(ids[3], 10).expect("a read"), std::slice::from_ref(&beside));
    assert_eq!(store.links(CommitId::from_bytes([9; 16]), 10).expect("a read"), []);
    assert_eq!(store.copies(10).expect("a read"), links[1..2]);
    let gone = links.remove(1);
    let unknown = Link { to: CommitId::from_bytes([9; 16]), ..beside.clone() };
    for _ in 0..2 {
        write(&*store, [&gone, &unknown].into_iter().cloned().map(Write::Unlink).collect());
        assert_eq!(store.links(ids[0], 10).expect("a read"), links, "one is gone and no other");
    }
    assert_eq!(store.links(ids[3], 10).expect("a read"), [beside]);
}

/// Many commits are described as each is by itself, and all below a commit is found, parents first.
pub(super) fn check_descriptions(make: Make<'_, dyn Commits>) {
    let store = make();
    let trunk = chain(&*store, "turn", 5);
    let side = put(&*store, Some(trunk[1]), "side", 70);
    let other = put(&*store, Some(trunk[1]), "other", 71);
    let below = put(&*store, Some(side), "below", 72);
    let apart = put(&*store, None, "apart", 1);
    annotate(&*store, trunk[2], Annotation::AddTag("b".to_owned()), 20);
    annotate(&*store, trunk[2], Annotation::AddTag("a".to_owned()), 21);
    annotate(&*store, trunk[2], Annotation::RemoveTag("b".to_owned()), 22);
    annotate(&*store, side, Annotation::AddNote("a note".to_owned()), 23);
    annotate(&*store, side, Annotation::Pin, 24);
    annotate(&*store, apart, summary(Some("said"), SummarySource::Given), 25);
    let link = |from, kind, to| Write::Link(Link { from, kind, to, entry: None });
    write(
        &*store,
        vec![
            link(side, LinkKind::DerivedFrom, trunk[2]),
            link(apart, LinkKind::Subagent, side),
            see(side, sighting("later", 9)),
            see(side, sighting("first", 3)),
            see(trunk[0], sighting("once", 5)),
        ],
    );
    let all = |from, limit| -> Vec<CommitId> {
        store.below(&[from], limit).expect("a read").into_iter().map(|commit| commit.id).collect()
    };
    let [root, first, second, third, last] = [trunk[0], trunk[1], trunk[2], trunk[3], trunk[4]];
    assert_eq!(all(root, 99), [root, first, second, side, other, third, below, last]);
    assert_eq!(all(root, 4), [root, first, second, side]);
    assert_eq!((all(below, 99), all(root, 0)), (vec![below], vec![]));
    let missing = CommitId::from_bytes([9; 16]);
    assert_eq!(all(missing, 9), []);
    let several = |limit| -> Vec<CommitId> {
        let found = store.below(&[third, missing, apart, side], limit).expect("a read");
        found.into_iter().map(|commit| commit.id).collect()
    };
    assert_eq!(several(99), [third, apart, side, last, below]);
    assert_eq!(several(4), [third, apart, side, last]);
    let asked = [below, side, missing, apart, root, second, side];
    let described = store.described(&asked).expect("a read");
    let alone: Vec<Described> = asked
        .iter()
        .filter_map(|id| {
            Some(Described {
                commit: store.commit(*id).expect("a read")?,
                annotations: store.annotations(*id).expect("a read"),
                changes: store.audit(*id, 99).expect("a read").len().try_into().expect("small"),
                sightings: store.sightings(*id, 99).expect("a read"),
                links: store.links(*id, 99).expect("a read"),
                coverage: store.coverage(*id).expect("a read"),
            })
        })
        .collect();
    assert_eq!(described, alone);
    assert_eq!((described[1].sightings.len(), described[1].changes, described[1].links.len()), (2, 2, 2));
    let many = vec![root; crate::seam::PAGE_ROWS_MAX + 1];
    assert!(matches!(store.described(&many), Err(StoreError::Bound { .. })));
    assert!(matches!(store.below(&many, 1), Err(StoreError::Bound { .. })));
}

/// Cursors are kept as they are, one for a session.
pub(super) fn check_cursors(make: Make<'_, dyn Commits>) {
    let store = make();
    for value in [vec![], vec![0, 255, 1], vec![7; 1000]] {
        let cursor = Write::Cursor { key: key("s1"), value: value.clone() };
        write(&*store, vec![cursor]);
        assert_eq!(store.cursor(&key("s1")).expect("a read"), Some(value));
    }
    assert_eq!(store.cursor(&key("s2")).expect("a read"), None);
    assert_eq!(store.session(&key("s1")).expect("a read"), None, "a cursor makes no session");
}

/// A batch that expects a cursor is applied only where the cursor is just that.
pub(super) fn check_expected_cursors(make: Make<'_, dyn Commits>) {
    let store = make();
    let step = |expected: Option<&[u8]>, value: &[u8]| {
        let (key, expected) = (key("s1"), expected.map(<[u8]>::to_vec));
        store.commit_batch(vec![
            Write::ExpectCursor { key: key.clone(), value: expected },
            Write::Cursor { key, value: value.to_vec() },
        ])
    };
    let is_moved =
        |error: StoreError| matches!(error, StoreError::CursorMoved { path } if path == key("s1").path);
    assert!(step(Some(b"one"), b"two").is_err_and(is_moved), "there is none yet");
    assert!(step(None, b"one").is_ok());
    assert!(step(None, b"two").is_err_and(is_moved));
    assert!(step(Some(b"on"), b"two").is_err_and(is_moved));
    assert!(step(Some(b"one"), b"two").is_ok());
    assert!(step(Some(b"one"), b"three").is_err_and(is_moved));
    assert_eq!(store.cursor(&key("s1")).expect("a read"), Some(b"two".to_vec()));
}

/// A batch that expects a session's newest commit is applied only where it is just that.
pub(super) fn check_expected_tips(make: Make<'_, dyn Commits>) {
    let store = make();
    let [first, second] = ["one", "two"].map(|text| Some(put(&*store, None, text, 1)));
    let goes_to = |expected: Option<CommitId>, tip: Option<CommitId>| {
        let moved = Session { tip, ..session("s1", "/w", None) };
        store.commit_batch(vec![
            Write::ExpectTip { key: key("s1"), tip: expected },
            Write::Session(Box::new(moved)),
        ])
    };
    let is_moved =
        |error: StoreError| matches!(error, StoreError::TipMoved { path } if path == key("s1").path);
    assert!(goes_to(first, second).is_err_and(is_moved), "there is none yet");
    assert_eq!(store.session(&key("s1")).expect("a read"), None, "nothing of it is there");
    assert!(goes_to(None, first).is_ok());
    assert!(goes_to(None, second).is_err_and(is_moved));
    assert!(goes_to(first, second).is_ok());
    assert_eq!(store.session(&key("s1")).expect("a read").and_then(|session| session.tip), second);
}

/// A batch that expects a ledger's epoch is applied only where nothing was forgotten since.
pub(super) fn check_expected_epochs(make: Make<'_, dyn Store>) {
    let store = make();
    let ledger = LedgerId::new("p").expect("a name");
    let expect = |epoch| {
        let change = Write::ChangeLedger(Box::new(LedgerChange::new(ledger.clone(), Timestamp::EPOCH)));
        store.commit_batch(vec![change, Write::ExpectEpoch { ledger: ledger.clone(), epoch }])
    };
    assert!(expect(0).is_ok());
    store.forget(&Forget::new(Timestamp::EPOCH, principal("ann"))).expect("nothing to forget");
    assert!(expect(0).is_err_and(|error| matches!(error, StoreError::EpochMoved { .. })));
    let now = store.ledger(&ledger).expect("a read").expect("it is there").epoch;
    assert!(now > 0 && expect(now).is_ok());
}

/// The latest placement at a path counts.
pub(super) fn check_placements(make: Make<'_, dyn Commits>) {
    let store = make();
    let ids = chain(&*store, "turn", 2);
    let path = "/home/ann/placed.jsonl";
    let newer = placement(ids[1], 20);
    for placed in [placement(ids[0], 10), newer.clone(), placement(ids[0], 15)] {
        write(&*store, vec![Write::Placement(Box::new(placed))]);
    }
    assert_eq!(store.placement(&machine("m1"), path).expect("a read"), Some(newer));
    assert_eq!(store.placement(&machine("m2"), path).expect("a read"), None);
    assert_eq!(store.placement(&machine("m1"), "/home/ann").expect("a read"), None);
}

/// Records of two stores merge to the same metadata, in whatever order they come, and leave what was said here.
pub(super) fn check_merges(make: Make<'_, dyn Commits>) {
    let said = |micros, who, change| AuditRecord { at: at(micros), by: principal(who), change };
    let tag = |name: &str| Annotation::AddTag(name.to_owned());
    let theirs = [
        said(20, "bob", Annotation::RemoveTag("a".to_owned())),
        said(5, "bob", tag("b")),
        said(30, "bob", summary(Some("by model"), SummarySource::Model)),
        said(12, "bob", Annotation::AddNote("theirs".to_owned())),
        said(41, "bob", Annotation::Unpin),
    ];
    let mut merged = Vec::new();
    for order in [[0, 1, 2, 3, 4], [4, 2, 0, 3, 1]] {
        let store = make();
        let id = put(&*store, None, "noted", 1);
        annotate(&*store, id, tag("a"), 10);
        annotate(&*store, id, summary(Some("said"), SummarySource::Given), 11);
        annotate(&*store, id, Annotation::AddNote("ours".to_owned()), 13);
        annotate(&*store, id, Annotation::Pin, 40);
        for place in order {
            let records = vec![theirs[place].clone()];
            write(&*store, vec![Write::MergeAnnotations { commit: id, records: records.clone() }]);
            write(&*store, vec![Write::MergeAnnotations { commit: id, records }]);
        }
        let now = store.annotations(id).expect("a read");
        assert_eq!(now.tags, ["b"]);
        assert_eq!(now.notes, ["theirs", "ours"]);
        assert_eq!(now.summary, Some(("said".to_owned(), SummarySource::Given)));
        assert!(!now.pinned);
        assert_eq!(store.tagged("b", 9).expect("a read"), [id]);
        assert_eq!(store.tagged("a", 9).expect("a read"), []);
        let trail: std::collections::BTreeSet<AuditRecord> =
            store.audit(id, 100).expect("a read").into_iter().collect();
        assert_eq!(trail.len(), 9);
        assert_eq!(crate::rules::annotation::merged_annotations(&trail), now);
        merged.push((now, trail));
        // What is said from now on changes what was merged.
        annotate(&*store, id, tag("a"), 50);
        assert_eq!(store.annotations(id).expect("a read").tags, ["a", "b"]);
    }
    assert_eq!(merged[0], merged[1]);
}
