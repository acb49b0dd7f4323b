//! Batches: all or nothing, repeatable, bounded, and there after a restart.
//!
//! What single writes mean is in the other files.

use stemmata_model::{ArtifactId, CommitId, SummarySource};

use super::builders::{
    ALL, at, bytes_of, chain, checkpoint, commit, key, machine, principal, put, refused, see, session,
    sighting, write,
};
use super::{Make, Reopen};
use crate::error::{StoreError, StoreErrorKind};
use crate::filters::{SessionFilter, TipFilter};
use crate::seam::{
    BATCH_WRITES_MAX, BatchOutcome, CURSOR_BYTES_MAX, Commits, Damage, PAGE_ROWS_MAX, PART_BYTES_MAX,
    PARTS_MAX, Page, Store, Upkeep,
};
use crate::write::{Annotation, ContentPart, Link, LinkKind, NewContent, Placement, SessionOrigin, Write};

/// A batch that fails at its last write leaves nothing of the others.
pub(super) fn check_transactions(make: Make<'_, dyn Commits>) {
    let store = make();
    let kept = put(&*store, None, "kept", 1);
    let (id, mut writes) = checkpoint(Some(kept), "gone", 2);
    writes.push(see(id, sighting("s1", 3)));
    writes.push(Write::Session(Box::new(session("s1", "/w", Some(3)))));
    writes.push(Write::Annotate { commit: kept, change: Annotation::Pin, at: at(4), by: principal("ann") });
    let absent = CommitId::from_bytes([9; 16]);
    writes.push(see(absent, sighting("s1", 3)));
    let error = refused(&*store, writes);
    assert!(matches!(error, StoreError::CommitMissing(named) if named == absent), "{error}");

    assert_eq!(store.commit(id).expect("a read"), None);
    assert_eq!(store.sightings(id, 10).expect("a read"), []);
    assert_eq!(store.session(&key("s1")).expect("a read"), None);
    assert!(!store.annotations(kept).expect("a read").pinned);
    assert_eq!(store.usage().expect("a read").contents, 1);
    assert_eq!(put(&*store, Some(kept), "gone", 2), id, "the store goes on after a refused batch");
    assert!(store.commit_batch(Vec::new()).is_ok(), "an empty batch changes nothing");
}

/// Repeating a batch changes nothing, and says so.
pub(super) fn check_repeats(make: Make<'_, dyn Commits>) {
    let store = make();
    let (root, mut batch) = checkpoint(None, "root", 1);
    let (tip, more) = checkpoint(Some(root), "tip", 2);
    batch.extend(more);
    batch.push(see(tip, sighting("s1", 3)));
    let changes = [
        Annotation::Summary { text: Some("what happened".to_owned()), source: SummarySource::Model },
        Annotation::AddTag("good".to_owned()),
        Annotation::AddNote("look here".to_owned()),
        Annotation::Pin,
    ];
    batch.extend(changes.into_iter().map(|change| Write::Annotate {
        commit: tip,
        change,
        at: at(4),
        by: principal("ann"),
    }));
    let link = Link { from: tip, kind: LinkKind::DerivedFrom, to: root, entry: None };
    batch.push(Write::Link(link));
    let first = write(&*store, batch.clone());
    assert_eq!((first.new_contents, first.new_commits, first.new_bytes), (2, 2, 7));
    let seen = everything_of(&*store, tip);
    assert_eq!(write(&*store, batch), BatchOutcome::default());
    assert_eq!(everything_of(&*store, tip), seen);
}

fn everything_of(store: &dyn Commits, id: CommitId) -> String {
    let usage = store.usage().expect("a read");
    let counts = (usage.commits, usage.sessions, usage.contents, usage.distinct_bytes);
    format!(
        "{:?} {:?} {:?} {:?} {:?} {counts:?}",
        store.ancestors(id, 100).expect("a read"),
        store.sightings(id, 100).expect("a read"),
        store.annotations(id).expect("a read"),
        store.audit(id, 100).expect("a read"),
        store.links(id, 100).expect("a read"),
    )
}

/// What a write refers to must be there; the error names it.
pub(super) fn check_missing(make: Make<'_, dyn Commits>) {
    let store = make();
    let absent = CommitId::from_bytes([9; 16]);
    let (orphan, writes) = checkpoint(Some(absent), "orphan", 1);
    let error = refused(&*store, writes);
    assert!(
        matches!(error, StoreError::ParentMissing { commit, parent } if commit == orphan && parent == absent),
        "{error}"
    );

    let nothing = ArtifactId::from_bytes([3; 32]);
    let error = refused(&*store, vec![Write::Commit(commit(None, nothing, 1))]);
    assert!(matches!(error, StoreError::ContentMissing(named) if named == nothing), "{error}");
    let root = put(&*store, None, "root", 1);
    let artifact = store.commit(root).expect("a read").expect("it is there").core.artifact;
    let mut with_native = commit(None, artifact, 2);
    with_native.core.native = Some(nothing);
    let error = refused(&*store, vec![Write::Commit(with_native)]);
    assert!(matches!(error, StoreError::ContentMissing(named) if named == nothing), "{error}");

    let mut placed = session("s1", "/w", None);
    placed.origin = SessionOrigin::Placed(absent);
    let mut tipped = session("s1", "/w", None);
    tipped.tip = Some(absent);
    let link = |from, to| Write::Link(Link { from, kind: LinkKind::Subagent, to, entry: None });
    let loose = [
        see(absent, sighting("s1", 1)),
        Write::Cover { commit: absent },
        Write::Session(Box::new(placed)),
        Write::Session(Box::new(tipped)),
        Write::Placement(Box::new(placement(absent, 1))),
        Write::Annotate { commit: absent, change: Annotation::Pin, at: at(1), by: principal("ann") },
        link(absent, root),
        link(root, absent),
    ];
    for write in loose {
        let shown = format!("{write:?}");
        let error = refused(&*store, vec![write]);
        assert!(matches!(error, StoreError::CommitMissing(named) if named == absent), "{shown}: {error}");
        assert_eq!(error.kind(), StoreErrorKind::NotFound);
    }
}

pub(super) fn placement(ctx: CommitId, micros: i64) -> Placement {
    Placement {
        machine: machine("m1"),
        path: "/home/ann/placed.jsonl".to_owned(),
        session: super::builders::session_id("placed"),
        ctx,
        taken_bytes: 100,
        placed_bytes: 120,
        keyed_hash: [5; 32],
        placed_at: at(micros),
    }
}

/// What is beyond a bound is refused whole, and pages are too.
pub(super) fn check_bounds(make: Make<'_, dyn Commits>) {
    let store = make();
    let root = put(&*store, None, "root", 1);
    let annotate = |change| Write::Annotate { commit: root, change, at: at(1), by: principal("ann") };
    let cursor = |bytes: usize| Write::Cursor { key: key("s1"), value: vec![1; bytes] };
    let part = |bytes: usize| Write::Content(NewContent::literal(vec![b'x'; bytes]));
    let mut titled = session("s1", "/w", None);
    titled.title = Some("ö".repeat(201));
    let mut pathed = session("s1", "/w", None);
    pathed.key.path = "p".repeat(4097);
    let id = ArtifactId::from_bytes([1; 32]);
    let many = vec![ContentPart::Bytes(Vec::new()); PARTS_MAX + 1];
    let too_much = [
        vec![cursor(1); BATCH_WRITES_MAX + 1],
        vec![cursor(CURSOR_BYTES_MAX + 1)],
        vec![part(PART_BYTES_MAX + 1)],
        vec![Write::Content(NewContent::composed(id, many))],
        vec![Write::Session(Box::new(titled))],
        vec![Write::Session(Box::new(pathed))],
        vec![annotate(Annotation::AddTag("t".repeat(129)))],
        vec![annotate(Annotation::AddNote("n".repeat(65_537)))],
    ];
    for batch in too_much {
        let error = refused(&*store, batch);
        assert!(matches!(error, StoreError::Bound { .. }), "{error}");
        assert_eq!(error.kind(), StoreErrorKind::Rejected);
    }
    let error = refused(&*store, vec![annotate(Annotation::AddTag(String::new()))]);
    assert!(matches!(error, StoreError::Empty { what: "a tag" }), "{error}");
    let outcome = write(&*store, vec![part(PART_BYTES_MAX), cursor(CURSOR_BYTES_MAX)]);
    assert_eq!(outcome.new_bytes, 4 * 1024 * 1024);

    let page = Page { skip: 0, rows_max: PAGE_ROWS_MAX + 1 };
    let sessions = store.sessions(&SessionFilter::default(), page);
    assert!(matches!(sessions, Err(StoreError::Bound { .. })), "{sessions:?}");
    let tips = store.tips(&TipFilter::default(), page);
    assert!(matches!(tips, Err(StoreError::Bound { .. })), "{tips:?}");
}

/// Usage counts what is distinct once and what was captured as often as it was.
pub(super) fn check_usage(make: Make<'_, dyn Commits>) {
    let store = make();
    assert_eq!(store.usage().expect("a read").commits, 0);
    let root = put(&*store, None, "same bytes", 1);
    put(&*store, Some(root), "same bytes", 2);
    put(&*store, Some(root), "other bytes", 3);
    write(&*store, vec![Write::Session(Box::new(session("s1", "/w", None)))]);
    let usage = store.usage().expect("a read");
    let counts = (usage.commits, usage.sessions, usage.contents);
    assert_eq!(counts, (3, 1, 2));
    assert_eq!((usage.logical_bytes, usage.distinct_bytes), (31, 21));
    assert!(usage.content_bytes > 0 && usage.physical_bytes >= usage.content_bytes);
    assert_eq!(store.identity().expect("a read"), store.identity().expect("a read"));
}

/// Everything acknowledged is there after closing and opening again, the identity included.
///
/// # Panics
/// Where something is gone or changed.
pub fn check_restart(make: Make<'_, dyn Store>, reopen: Reopen<'_>) {
    let store = make();
    let ids = chain(&*store, "turn", 20);
    let tip = *ids.last().expect("twenty commits");
    let mut listed = session("s1", "/w", Some(9));
    listed.tip = Some(tip);
    let batch = vec![
        see(tip, sighting("s1", 3)),
        Write::Session(Box::new(listed.clone())),
        Write::Cursor { key: key("s1"), value: vec![1, 2, 3] },
        Write::Placement(Box::new(placement(tip, 4))),
    ];
    write(&*store, batch);
    let before = (everything_of(&*store, tip), store.identity().expect("a read"));

    let store = reopen(store);
    assert_eq!((everything_of(&*store, tip), store.identity().expect("a read")), before);
    assert_eq!(store.sessions(&SessionFilter::default(), ALL).expect("a read"), [listed]);
    assert_eq!(store.cursor(&key("s1")).expect("a read"), Some(vec![1, 2, 3]));
    let placed = store.placement(&machine("m1"), "/home/ann/placed.jsonl").expect("a read");
    assert_eq!(placed, Some(placement(tip, 4)));
    for (step, commit) in store.ancestors(tip, 100).expect("a read").into_iter().rev().enumerate() {
        assert_eq!(bytes_of(&*store, commit.core.artifact), format!("turn {step}\n").into_bytes());
    }
    put(&*store, Some(tip), "goes on", 500);
    verify_is_clean(&*store);
}

pub(super) fn verify_is_clean(store: &dyn Upkeep) {
    let mut damages: Vec<Damage> = Vec::new();
    let verified = store.verify(&mut |damage| damages.push(damage)).expect("a readable store");
    assert_eq!(damages, []);
    assert_eq!(verified.commits, store.usage().expect("a read").commits);
}
