//! Forgetting: what goes, what stays and why, holes, and tombstones.
//!
//! Whether anything is left in a file is each backend's own test.

use stemmata_model::{
    Closure, Commit, CommitId, CommitPrefix, EventSeq, Json, LedgerId, NewEvent, NewPayload, Party, Payload,
    SummarySource, TicketId, artifact_id, topics,
};

use super::Make;
use super::builders::{
    ALL, at, bytes_of, chain, checkpoint, commit, key, principal, put, refused, see, session, session_id,
    sighting, write,
};
use super::chains::load;
use super::transactions::verify_is_clean;
use crate::error::StoreError;
use crate::filters::TipFilter;
use crate::ledger::{Append, EventQuery};
use crate::maintain::forget::{Forget, Forgotten, Keep, Kept, Tombstone};
use crate::seam::{HOLE_BYTES_MAX, Store, Upkeep};
use crate::write::{
    Annotation, ContentPart, Link, LinkKind, NewCommit, NewContent, NewHole, SessionKey, SessionOrigin, Write,
};

pub(super) fn wish(unroot: &[CommitId], cut: &[CommitId], sessions: &[SessionKey]) -> Forget {
    Forget {
        unroot: unroot.to_vec(),
        cut: cut.to_vec(),
        sessions: sessions.to_vec(),
        ..Forget::new(at(1_000), principal("ann"))
    }
}

/// Forgets twice: the first time only to hear what would happen, which must be what then happens.
pub(super) fn forget(store: &dyn Upkeep, wish: &Forget) -> Forgotten {
    let before = store.usage().expect("a read");
    let planned = store.forget(&Forget { dry_run: true, ..wish.clone() }).expect("a plan");
    let after = store.usage().expect("a read");
    assert_eq!(
        (before.commits, before.contents),
        (after.commits, after.contents),
        "a dry run changes nothing"
    );
    let expect = Some(planned.clone());
    let done = store.forget(&Forget { expect, ..wish.clone() }).expect("a forgetting");
    assert_eq!(planned, done, "the plan is what happens");
    done
}

fn pin(commit: CommitId, change: Annotation) -> Write {
    Write::Annotate { commit, change, at: at(50), by: principal("ann") }
}

fn captured(store: &dyn Upkeep, name: &str, ids: &[CommitId]) {
    let mut listed = session(name, "/w", Some(9));
    listed.tip = ids.last().copied();
    let seen = ids.iter().map(|id| see(*id, sighting(name, 9)));
    write(store, seen.chain([Write::Session(Box::new(listed))]).collect());
    write(store, vec![Write::Cursor { key: key(name), value: vec![1, 2, 3] }]);
}

/// Events that are named go in the same act as a commit, with their lines, and no others.
pub(super) fn check_forgotten_beside(make: Make<'_, dyn Store>) {
    let store = make();
    let store = store.as_ref();
    let [kept, gone] = ["{\"kept\":1}", "{\"gone\":1}"].map(|text| Json::parse(text).expect("JSON"));
    let event = |line: &Json| {
        let topic = topics::topic(topics::TOOL_OUTPUT);
        let sender = Party::new("worker").expect("a name");
        NewEvent::new(session_id("s"), topic, sender, NewPayload::Line(line.clone()))
    };
    let ledger = LedgerId::new("p").expect("a name");
    let append = Append::new(ledger.clone(), vec![event(&kept), event(&gone)], at(1));
    store.append(append).expect("appended");
    let id = chain(store, "c", 1)[0];
    let named = [(ledger.clone(), [EventSeq::new(2).expect("a place")].into())];
    let done = forget(store, &Forget { events: named.to_vec(), ..wish(&[], &[id], &[]) });
    assert_eq!((done.cut, done.events), (vec![id], 1));
    let events = store.events(&ledger, &EventQuery::after(None, 9)).expect("a read");
    let payloads: Vec<bool> = events.iter().map(|event| matches!(event.payload, Payload::Gone(_))).collect();
    assert_eq!(payloads, [false, true]);
    let length =
        |line: &Json| store.content_length(artifact_id(format!("{line}\n").as_bytes())).expect("a read");
    assert_eq!((length(&kept).is_some(), length(&gone)), (true, None));
}

/// A session goes with all that only it needs, and its rows with it.
pub(super) fn check_forget(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let gone = chain(&*store, "gone", 5);
    let other = chain(&*store, "other", 3);
    captured(&*store, "gone", &gone);
    captured(&*store, "other", &other);
    let link = Link { from: gone[0], kind: LinkKind::DerivedFrom, to: other[1], entry: None };
    write(&*store, vec![Write::Link(link), pin(gone[3], Annotation::AddNote("what it held".to_owned()))]);
    write(&*store, vec![Write::Anchors { commit: gone[1], hashes: vec![7, 9] }]);
    // A session that is named twice is one.
    let done = forget(&*store, &wish(&gone, &[], &[key("gone"), key("gone")]));
    assert_eq!(done.removed.len(), 5);
    assert_eq!((done.kept, done.sessions, done.contents), (Vec::new(), 1, 5));
    for (step, id) in gone.iter().enumerate() {
        assert_eq!(store.commit(*id).expect("a read"), None);
        let artifact = artifact_id(format!("gone {step}\n").as_bytes());
        assert_eq!(store.content_length(artifact).expect("a read"), None);
        assert_eq!(store.sightings(*id, 10).expect("a read"), []);
    }
    assert_eq!(store.session(&key("gone")).expect("a read"), None);
    assert_eq!(store.cursor(&key("gone")).expect("a read"), None);
    assert_eq!(store.links(other[1], 10).expect("a read"), []);
    assert_eq!(store.anchored(&[7, 9], 10).expect("a read"), []);
    assert_eq!(load(&*store, other[2]).depth, 2);
    assert!(store.session(&key("other")).expect("a read").is_some());
    verify_is_clean(&*store);
    let again = forget(&*store, &wish(&gone, &[], &[key("gone")]));
    assert_eq!((again.removed, again.contents), (Vec::new(), 0), "there is nothing left to forget");
}

/// Children, pins, tags, tickets and other sessions keep what they need, and the result says which.
pub(super) fn check_forget_keeps(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let ids = chain(&*store, "kept", 8);
    captured(&*store, "kept", &ids);
    let branch = put(&*store, Some(ids[1]), "a branch\n", 90);
    let mut ticketed = sighting("elsewhere", 9);
    ticketed.ticket = TicketId::new("T-7").ok();
    write(&*store, vec![see(ids[3], ticketed), see(ids[5], sighting("elsewhere", 9))]);
    write(&*store, vec![pin(ids[6], Annotation::Pin), pin(ids[4], Annotation::AddTag("good".to_owned()))]);
    let done = forget(&*store, &wish(&ids, &[], &[key("kept")]));
    assert_eq!(done.removed, [ids[7]]);
    let kept = |place: usize, because| Kept { commit: ids[place], because };
    let expected = [
        kept(6, Keep::Pin),
        kept(5, Keep::Session),
        kept(4, Keep::Tag),
        kept(3, Keep::Ticket),
        kept(2, Keep::Child),
        kept(1, Keep::Child),
        kept(0, Keep::Child),
    ];
    assert_eq!(done.kept, expected);
    assert_eq!(load(&*store, branch).depth, 2);
    let seen = store.sightings(ids[5], 10).expect("a read");
    assert_eq!(seen.iter().map(|seen| seen.session.as_str()).collect::<Vec<_>>(), ["elsewhere"]);
    assert_eq!(store.sightings(ids[0], 10).expect("a read"), [], "what is forgotten saw nothing");
    let tips = store.tips(&TipFilter::default(), ALL).expect("a read");
    assert_eq!(
        tips.iter().map(|tip| tip.id).collect::<Vec<_>>(),
        [branch, ids[6]],
        "what was before it is a tip"
    );
    verify_is_clean(&*store);

    let named = Forget { even_sighted: true, even_pinned: true, ..wish(&ids, &[], &[]) };
    let done = forget(&*store, &named);
    assert_eq!(done.removed, [ids[6], ids[5], ids[4], ids[3], ids[2]], "who names it means it");
    assert_eq!(done.kept, [kept(1, Keep::Child), kept(0, Keep::Child)]);
    verify_is_clean(&*store);
}

/// A session that ends at a commit, or was placed from one, keeps it; one that is told to give it up ends before.
pub(super) fn check_forget_ends(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let ids = chain(&*store, "ends", 4);
    captured(&*store, "first", &ids[..2]);
    let mut second = session("second", "/w", Some(9));
    second.tip = Some(ids[3]);
    second.origin = SessionOrigin::Placed(ids[2]);
    write(&*store, vec![Write::Session(Box::new(second))]);
    let done = forget(&*store, &wish(&ids[2..], &[], &[]));
    assert_eq!(done.removed, []);
    let all = Forget { even_sighted: true, ..wish(&ids[2..], &[], &[]) };
    assert_eq!(forget(&*store, &all).removed, [ids[3], ids[2]]);
    let listed = store.session(&key("second")).expect("a read").expect("it stays");
    assert_eq!((listed.tip, listed.commits, listed.origin), (Some(ids[1]), 2, SessionOrigin::Imported));
    assert_eq!(listed.bytes, load(&*store, ids[1]).cumulative_bytes);
    let rest = Forget { even_sighted: true, ..wish(&ids, &[], &[]) };
    forget(&*store, &rest);
    let listed = store.session(&key("second")).expect("a read").expect("it stays");
    assert_eq!((listed.tip, listed.commits, listed.title), (None, 0, None));
    verify_is_clean(&*store);
}

/// A commit that is cut is a hole: its contents are gone, it and its children stay.
pub(super) fn check_holes(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let ids = chain(&*store, "hole", 4);
    let twin = put(&*store, None, "hole 1\n", 77);
    let summary = Annotation::Summary { text: Some("what it held".to_owned()), source: SummarySource::Given };
    write(&*store, vec![pin(ids[1], Annotation::AddNote("secret".to_owned())), pin(ids[1], summary)]);
    let done = forget(&*store, &wish(&[], &[ids[1]], &[]));
    assert_eq!((done.cut.as_slice(), done.cut_too.as_slice()), (&[ids[1]][..], &[twin][..]));
    let hole = load(&*store, ids[1]);
    assert_eq!((hole.closure, hole.depth, hole.core.parent), (Closure::Forgotten, 1, Some(ids[0])));
    assert_eq!(hole.core.id(), hole.id);
    let artifact = hole.core.artifact;
    let error = store.read_content(artifact, None, &mut |_| Ok(())).expect_err("its bytes are gone");
    assert!(matches!(error, StoreError::ContentForgotten(named) if named == artifact), "{error}");
    assert_eq!(store.content_length(artifact).expect("a read"), Some(7));
    let said = store.annotations(ids[1]).expect("a read");
    assert_eq!((said.notes, said.summary), (Vec::new(), None), "nothing that was said of it stays");
    assert_eq!(bytes_of(&*store, load(&*store, ids[2]).core.artifact), b"hole 2\n");
    let tips = store.tips(&TipFilter::default(), ALL).expect("a read");
    assert_eq!(tips.iter().map(|tip| tip.id).collect::<Vec<_>>(), [ids[3]], "a hole is not a tip");
    let child = put(&*store, Some(ids[1]), "goes on behind the hole\n", 99);
    assert_eq!(load(&*store, child).depth, 2);
    // The same bytes from somebody who was not told to forget them are theirs.
    let own = put(&*store, None, "hole 1\n", 200);
    assert_eq!(bytes_of(&*store, load(&*store, own).core.artifact), b"hole 1\n");
    assert_eq!(load(&*store, ids[1]).closure, Closure::Forgotten);
    verify_is_clean(&*store);
}

/// A commit of which only the row is known can be stored and continued; it destroys nothing and brings nothing back.
pub(super) fn check_new_holes(make: Make<'_, dyn Upkeep>) {
    let (whole, store) = (make(), make());
    let ids = chain(&*whole, "far", 3);
    let cores: Vec<NewHole> = ids.iter().map(|id| hole_of(&load(&*whole, *id))).collect();
    let hole = |place: usize| Write::Hole(Box::new(cores[place].clone()));
    assert!(matches!(refused(&*store, vec![hole(1)]), StoreError::ParentMissing { .. }));
    let long = NewHole { artifact_bytes: HOLE_BYTES_MAX + 1, ..cores[0].clone() };
    assert!(matches!(refused(&*store, vec![Write::Hole(Box::new(long))]), StoreError::Bound { .. }));
    write(&*store, vec![hole(0), hole(1)]);
    write(&*store, vec![hole(0)]);
    let stored = load(&*store, ids[1]);
    assert_eq!(stored, Commit { closure: Closure::Forgotten, ..load(&*whole, ids[1]) });
    let error = store.read_content(stored.core.artifact, None, &mut |_| Ok(())).expect_err("no bytes");
    assert!(matches!(error, StoreError::ContentForgotten(id) if id == stored.core.artifact), "{error}");
    assert_eq!(store.tips(&TipFilter::default(), ALL).expect("a read"), [], "a hole is not a tip");
    let child = put(&*store, Some(ids[1]), "far 2 here\n", 99);
    assert_eq!(load(&*store, child).cumulative_bytes, stored.cumulative_bytes + 11);
    verify_is_clean(&*store);

    // Who has it keeps it, and who gets it has a hole no more.
    write(&*whole, vec![hole(2)]);
    assert_eq!(load(&*whole, ids[2]).closure, Closure::Closed);
    let same = put(&*store, None, "far 0\n", at(0).as_micros());
    assert_eq!(bytes_of(&*store, load(&*store, same).core.artifact), b"far 0\n");

    // What was forgotten may be a hole, and stays forgotten.
    let all = Forget { even_sighted: true, ..wish(&ids, &[], &[]) };
    assert_eq!(forget(&*whole, &all).removed.len(), 3);
    write(&*whole, vec![hole(0), hole(1)]);
    assert_eq!(load(&*whole, ids[1]).closure, Closure::Forgotten);
    let content = Write::Content(NewContent::literal(b"far 0\n".to_vec()));
    let again = NewCommit {
        core: cores[0].core.clone(),
        rules: cores[0].rules,
        closure: Closure::Closed,
        counts: cores[0].counts,
    };
    assert!(matches!(refused(&*whole, vec![content, Write::Commit(again)]), StoreError::Forgotten(_)));
    // A hole holds nothing: bytes that it shared with another commit go with that one.
    let other = put(&*whole, None, "far 1\n", 500);
    let artifact = load(&*whole, other).core.artifact;
    assert_eq!(bytes_of(&*whole, artifact), b"far 1\n");
    forget(&*whole, &Forget { even_sighted: true, ..wish(&[other], &[], &[]) });
    whole.read_content(artifact, None, &mut |_| Ok(())).expect_err("nobody needs its bytes");
    verify_is_clean(&*whole);
}

fn hole_of(commit: &Commit) -> NewHole {
    NewHole {
        core: commit.core.clone(),
        rules: commit.rules,
        counts: commit.counts,
        artifact_bytes: commit.native_bytes,
        native_bytes: commit.native_bytes,
        holds: None,
    }
}

/// What was forgotten is not taken in again, until somebody takes that back.
pub(super) fn check_tombstones(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let ids = chain(&*store, "tomb", 3);
    captured(&*store, "tomb", &ids);
    let of = [
        Tombstone::Commit(ids[2]),
        Tombstone::Session(session_id("tomb")),
        Tombstone::Transcript(key("tomb")),
    ];
    assert_eq!(store.tombstones(&of).expect("a read"), []);
    assert!(!store.has_tombstones().expect("a read"));
    forget(&*store, &wish(&ids[1..], &[], &[key("tomb")]));
    assert!(store.has_tombstones().expect("a read"));
    assert_eq!(store.tombstones(&of).expect("a read"), of);
    assert_eq!(store.tombstones(&[Tombstone::Commit(ids[0])]).expect("a read"), []);
    let begins_as = |id: CommitId| id.to_string()[..12].parse::<CommitPrefix>().expect("a prefix");
    assert_eq!(store.tombstones_in(begins_as(ids[1]), 9).expect("a read"), [ids[1]]);
    assert_eq!(store.tombstones_in(begins_as(ids[0]), 9).expect("a read"), []);
    let (again, writes) = checkpoint(Some(ids[0]), "tomb 1\n", 10);
    assert_eq!(again, ids[1]);
    let other = NewContent::literal(b"of the same batch".to_vec());
    let other_id = other.id();
    let error = refused(&*store, [vec![Write::Content(other)], writes.clone()].concat());
    assert!(matches!(error, StoreError::Forgotten(id) if id == ids[1]), "{error}");
    assert_eq!(store.content_length(other_id).expect("a read"), None, "nothing of the batch is there");

    let cut = Forget { at: at(2_000), ..wish(&[], &[ids[0]], &[]) };
    forget(&*store, &cut);
    let (root, root_writes) = checkpoint(None, "tomb 0\n", 0);
    assert_eq!(root, ids[0]);
    assert!(matches!(refused(&*store, root_writes.clone()), StoreError::Forgotten(id) if id == root));

    assert_eq!(store.lift(&of[1]).expect("lifted"), 4, "two commits, a session and a transcript");
    assert_eq!(store.tombstones(&of).expect("a read"), []);
    write(&*store, writes);
    assert_eq!(bytes_of(&*store, load(&*store, ids[1]).core.artifact), b"tomb 1\n");
    assert!(
        matches!(refused(&*store, root_writes.clone()), StoreError::Forgotten(_)),
        "of another forgetting"
    );
    assert_eq!(store.lift(&Tombstone::Commit(root)).expect("lifted"), 1);
    write(&*store, root_writes);
    assert_eq!(load(&*store, root).closure, Closure::Closed, "the hole is filled");
    assert_eq!(bytes_of(&*store, load(&*store, root).core.artifact), b"tomb 0\n");
    assert_eq!(store.lift(&of[1]).expect("nothing to lift"), 0);
    verify_is_clean(&*store);
}

/// What contents that stay have of one that goes is copied out before.
pub(super) fn check_copied_out(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let secret = b"the first half is shared and the rest is secret";
    let literal = NewContent::literal(secret.to_vec());
    let of = literal.id();
    let shared = commit(None, of, 1);
    let gone = shared.core.id();
    let slice = |offset, length| ContentPart::Slice { of, offset, length };
    let first = b"the first half and more";
    let second = b"the first half is shared, twice";
    let composed = |bytes: &[u8], parts| Write::Content(NewContent::composed(artifact_id(bytes), parts));
    let batch = vec![
        Write::Content(literal),
        Write::Commit(shared),
        composed(first, vec![slice(0, 14), ContentPart::Bytes(b" and more".to_vec())]),
        composed(second, vec![slice(0, 24), ContentPart::Bytes(b", twice".to_vec())]),
        Write::Commit(commit(None, artifact_id(first), 2)),
        Write::Commit(commit(None, artifact_id(second), 3)),
    ];
    write(&*store, batch);
    let done = forget(&*store, &wish(&[gone], &[], &[]));
    assert_eq!((done.removed.as_slice(), done.copied_out, done.bytes), (&[gone][..], 2, 47));
    assert_eq!(store.content_length(of).expect("a read"), None);
    assert_eq!(bytes_of(&*store, artifact_id(first)), first);
    assert_eq!(bytes_of(&*store, artifact_id(second)), second);
    verify_is_clean(&*store);
    let cut: Vec<CommitId> = [first.as_slice(), second]
        .iter()
        .zip([2, 3])
        .map(|(bytes, micros)| commit(None, artifact_id(bytes), micros).core.id())
        .collect();
    let done = forget(&*store, &wish(&[], &cut[..1], &[]));
    assert_eq!(done.cut, cut[..1]);
    assert_eq!(
        store.content_length(artifact_id(b" and more")).expect("a read"),
        None,
        "what it was made of goes"
    );
    assert_eq!(bytes_of(&*store, artifact_id(second)), second);
    verify_is_clean(&*store);
}

/// A hole that is cut gets the tombstone that it never had, and what holds a forgotten commit is forgotten with it.
pub(super) fn check_sealed_holes(make: Make<'_, dyn Upkeep>) {
    let (whole, store) = (make(), make());
    let ids = chain(&*whole, "far", 2);
    let hole =
        |place: usize, holds| Write::Hole(Box::new(NewHole { holds, ..hole_of(&load(&*whole, ids[place])) }));
    write(&*store, vec![hole(0, None), hole(1, None)]);
    write(&*store, vec![pin(ids[0], Annotation::AddNote("what it held".to_owned()))]);
    let done = forget(&*store, &wish(&[], &ids[..1], &[]));
    assert_eq!(store.annotations(ids[0]).expect("a read").notes, [""; 0], "nor what was said of it stays");
    assert_eq!((done.sealed.as_slice(), done.cut.as_slice(), done.contents), (&ids[..1], &[][..], 0));
    let (_, writes) = checkpoint(None, "far 0\n", 0);
    assert!(matches!(refused(&*store, writes), StoreError::Forgotten(id) if id == ids[0]));
    assert_eq!(forget(&*store, &wish(&[], &ids[..1], &[])).sealed, [], "once is enough");

    let of = |place: usize| Tombstone::Commit(ids[place]);
    write(&*store, vec![hole(1, Some(ids[1]))]);
    assert_eq!(store.tombstones(&[of(1)]).expect("a read"), [], "nothing forgotten is held");
    write(&*store, vec![hole(1, Some(ids[0]))]);
    assert_eq!(store.tombstones(&[of(1)]).expect("a read"), [of(1)]);
    assert_eq!(store.lift(&of(0)).expect("lifted"), 2, "they are lifted together");
    let again = load(&*whole, ids[0]);
    let held = NewHole { holds: Some(ids[0]), ..hole_of(&again) };
    write(&*whole, vec![Write::Hole(Box::new(held))]);
    assert_eq!(load(&*whole, ids[0]), again, "who has it keeps it");
    verify_is_clean(&*store);
}

/// What sessions that stay keep of what goes is cleared with it.
pub(super) fn check_cleared_sessions(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let ids = chain(&*store, "two", 3);
    captured(&*store, "one", &ids);
    captured(&*store, "two", &ids);
    let cleared =
        Forget { unread: vec![key("one")], untitled: vec![key("one")], ..wish(&[], &ids[..1], &[]) };
    forget(&*store, &cleared);
    let title = |name: &str| store.session(&key(name)).expect("a read").expect("it stays").title;
    assert_eq!((title("one"), title("two")), (None, session("two", "/w", Some(9)).title));
    assert_eq!(store.cursor(&key("one")).expect("a read"), None);
    assert!(store.cursor(&key("two")).expect("a read").is_some());
}

/// A session that was forgotten is told to be, also where other sessions keep all that it went through.
pub(super) fn check_session_tombstones(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let ids = chain(&*store, "two", 3);
    captured(&*store, "one", &ids);
    captured(&*store, "two", &ids);
    let done = forget(&*store, &wish(&ids, &[], &[key("one")]));
    assert_eq!((done.removed.len(), done.kept.len(), done.sessions), (0, 3, 1));
    let of = [Tombstone::Session(session_id("one")), Tombstone::Transcript(key("one"))];
    assert_eq!(store.tombstones(&of).expect("a read"), of);
    assert_eq!(store.lift(&of[0]).expect("lifted"), 2);
    assert_eq!(store.tombstones(&of).expect("a read"), []);
    let all = wish(&ids, &[], &[key("two")]);
    let done = forget(&*store, &Forget { is_final: false, ..all });
    assert_eq!((done.removed.len(), done.sessions), (3, 1));
    assert!(!store.has_tombstones().expect("a read"), "what may come again leaves none");
    assert_eq!(chain(&*store, "two", 3), ids, "and comes again");
}

/// A content that a hole names and that came back with another commit goes with that one: the hole keeps its hash.
pub(super) fn check_refilled(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let ids = chain(&*store, "hole", 3);
    forget(&*store, &wish(&[], &ids[1..2], &[]));
    let artifact = load(&*store, ids[1]).core.artifact;
    let again = put(&*store, None, "hole 1\n", 500);
    assert_eq!(bytes_of(&*store, artifact), b"hole 1\n");
    let done = forget(&*store, &wish(&[again], &[], &[]));
    assert_eq!((done.removed.as_slice(), done.contents), (&[again][..], 1));
    let error = store.read_content(artifact, None, &mut |_| Ok(())).expect_err("nothing is there");
    assert!(matches!(error, StoreError::ContentForgotten(of) if of == artifact), "{error}");
    verify_is_clean(&*store);
}

/// Between a plan and its forgetting somebody else writes: nothing goes that nobody was shown.
pub(super) fn check_moved_plans(make: Make<'_, dyn Upkeep>) {
    let store = make();
    let ids = chain(&*store, "gone", 3);
    let asked = Forget { even_sighted: true, ..wish(&ids, &[], &[]) };
    let plan = |wish: &Forget| store.forget(&Forget { dry_run: true, ..wish.clone() }).expect("a plan");
    let shown = Forget { expect: Some(plan(&asked)), ..asked.clone() };
    let branch = put(&*store, Some(ids[1]), "a branch\n", 90);
    let error = store.forget(&shown).expect_err("it keeps what the branch needs");
    assert!(matches!(error, StoreError::PlanMoved), "{error}");
    assert!(ids.iter().all(|id| store.commit(*id).expect("a read").is_some()));
    assert_eq!(
        store.tombstones(&ids.iter().copied().map(Tombstone::Commit).collect::<Vec<_>>()).expect("a read"),
        []
    );
    let again = plan(&asked);
    let done = store.forget(&Forget { expect: Some(again), ..asked }).expect("a forgetting");
    assert_eq!((done.removed, load(&*store, branch).depth), (vec![ids[2]], 2));
    verify_is_clean(&*store);
}
