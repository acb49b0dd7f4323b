//! Chains: parents, depth, children, tips, and what closes or covers a commit.
//!
//! When commits are made is the engine's.

use stemmata_model::{
    Closure, Commit, CommitId, CommitType, Counts, FormatId, ThreadId, TicketId, artifact_id,
};

use super::Make;
use super::builders::{ALL, at, bytes_of, chain, commit, put, see, session_id, sighting, write};
use crate::error::StoreError;
use crate::filters::TipFilter;
use crate::seam::{Commits, Page};
use crate::write::{ContentPart, NewContent, Write};

pub(super) fn load(store: &dyn Commits, id: CommitId) -> Commit {
    store.commit(id).expect("a read").expect("it is there")
}

fn ids(commits: &[Commit]) -> Vec<CommitId> {
    commits.iter().map(|commit| commit.id).collect()
}

/// A commit comes back as it was given, with depth and lengths counted from the root.
pub(super) fn check_depth_and_lengths(make: Make<'_, dyn Commits>) {
    let store = make();
    let root = put(&*store, None, "12345", -7);
    let native = NewContent::literal(b"its own ten".to_vec());
    let summary = NewContent::literal(b"a summary".to_vec());
    let mut new = commit(Some(root), summary.id(), i64::MAX);
    new.core.native = Some(native.id());
    new.core.commit_type = CommitType::Compaction;
    let compaction = new.core.id();
    let whole = NewContent::literal(b"everything".to_vec());
    let mut snapshot = commit(Some(compaction), whole.id(), i64::MAX);
    snapshot.core.commit_type = CommitType::Snapshot { restated_entries: u64::MAX };
    snapshot.closure = Closure::Provisional;
    snapshot.counts.tokens = u64::MAX;
    let id = snapshot.core.id();
    // Content may come after what does not need it yet, and everything in one batch.
    let writes = vec![
        Write::Content(summary),
        Write::Content(native),
        Write::Commit(new.clone()),
        Write::Content(whole),
        Write::Commit(snapshot.clone()),
    ];
    write(&*store, writes);
    let stored = |new: crate::write::NewCommit, id, native_bytes, depth, cumulative_bytes| Commit {
        id,
        core: new.core,
        rules: new.rules,
        closure: new.closure,
        counts: new.counts,
        native_bytes,
        depth,
        cumulative_bytes,
    };
    assert_eq!(load(&*store, compaction), stored(new, compaction, 11, 1, 16));
    assert_eq!(load(&*store, id), stored(snapshot, id, 10, 2, 26));
    assert_eq!(load(&*store, root).core.created_at, at(-7));
}

/// Ancestors are the commit, its parent and so on, up to a limit.
pub(super) fn check_ancestors(make: Make<'_, dyn Commits>) {
    let store = make();
    let mut expected = chain(&*store, "turn", 12);
    chain(&*store, "beside", 3);
    expected.reverse();
    let tip = *expected.first().expect("twelve commits");
    assert_eq!(ids(&store.ancestors(tip, 100).expect("a read")), expected);
    assert_eq!(ids(&store.ancestors(tip, 4).expect("a read")), expected[..4]);
    assert_eq!(store.ancestors(tip, 0).expect("a read"), []);
    let middle = expected[6];
    assert_eq!(ids(&store.ancestors(middle, 100).expect("a read")), expected[6..]);
    let absent = CommitId::from_bytes([9; 16]);
    let error = store.ancestors(absent, 5).expect_err("it is not there");
    assert!(matches!(error, StoreError::CommitMissing(named) if named == absent), "{error}");
}

/// Children are listed in the order they were stored.
pub(super) fn check_children(make: Make<'_, dyn Commits>) {
    let store = make();
    let root = put(&*store, None, "root", 1);
    let children: Vec<CommitId> =
        (0..9).map(|step| put(&*store, Some(root), &format!("child {step}"), 50 - step)).collect();
    let grandchild = put(&*store, Some(children[0]), "grandchild", 2);
    assert_eq!(ids(&store.children(root, 100).expect("a read")), children);
    assert_eq!(ids(&store.children(root, 2).expect("a read")), children[..2]);
    assert_eq!(store.children(grandchild, 5).expect("a read"), []);
    assert_eq!(store.children(CommitId::from_bytes([9; 16]), 5).expect("a read"), []);
}

/// Tips are commits without children, newest first, by session, ticket and thread.
pub(super) fn check_tips(make: Make<'_, dyn Commits>) {
    let store = make();
    let root = put(&*store, None, "root", 1);
    let early = put(&*store, Some(root), "early", 10);
    let late = put(&*store, Some(root), "late", 30);
    let middle = put(&*store, Some(root), "middle", 20);
    let mut on_ticket = sighting("s1", 1);
    on_ticket.ticket = TicketId::new("T-1").ok();
    let mut on_both = sighting("s1", 1);
    on_both.ticket = TicketId::new("T-1").ok();
    on_both.thread = ThreadId::new("th").ok();
    let seen = vec![
        see(root, on_ticket.clone()),
        see(early, on_ticket),
        see(early, sighting("s2", 5)),
        see(late, on_both),
    ];
    write(&*store, seen);
    let tips = |filter: TipFilter| ids(&store.tips(&filter, ALL).expect("a read"));
    assert_eq!(tips(TipFilter::default()), [late, middle, early]);
    let by = |session: Option<&str>, ticket: Option<&str>, thread: Option<&str>| TipFilter {
        session: session.map(session_id),
        ticket: ticket.map(str::to_owned),
        thread: thread.map(str::to_owned),
        principal: None,
    };
    assert_eq!(tips(by(Some("s1"), None, None)), [late, early]);
    assert_eq!(tips(by(None, Some("T-1"), None)), [late, early]);
    assert_eq!(tips(by(None, Some("T-1"), Some("th"))), [late]);
    assert_eq!(tips(by(Some("s2"), Some("T-1"), None)), [], "one sighting has all, or it is not a match");
    assert_eq!(tips(by(Some("s9"), None, None)), []);
    let page = Page { skip: 1, rows_max: 1 };
    assert_eq!(ids(&store.tips(&TipFilter::default(), page).expect("a read")), [middle]);
    let page = Page { skip: 9, rows_max: 9 };
    assert_eq!(store.tips(&TipFilter::default(), page).expect("a read"), []);
    let grown = put(&*store, Some(late), "grown", 25);
    assert_eq!(tips(TipFilter::default()), [grown, middle, early]);
    assert_eq!(tips(by(None, Some("T-1"), None)), [late, early], "what follows is of no ticket");
    let mut same_time =
        vec![put(&*store, None, "a", 5), put(&*store, None, "b", 5), put(&*store, None, "c", 5)];
    same_time.sort();
    assert_eq!(tips(TipFilter::default())[3..], same_time, "by id where the times are equal");
}

/// A thread's tip is the last commit that says something in it: a snapshot that restates its parent in another format is passed
/// over, and so is what follows outside the thread.
pub(super) fn check_tips_of_a_thread(make: Make<'_, dyn Commits>) {
    let store = make();
    let in_thread = |id: CommitId| {
        let mut seen = sighting("s1", 1);
        seen.thread = ThreadId::new("th").ok();
        see(id, seen)
    };
    let snapshot = |of: CommitId, format: &str, bytes: &str| {
        let content = NewContent::literal(bytes.as_bytes().to_vec());
        let mut new = commit(Some(of), content.id(), 20);
        new.core.commit_type = CommitType::Snapshot { restated_entries: 0 };
        new.core.format = FormatId::new(format).expect("a name");
        let id = new.core.id();
        write(&*store, vec![Write::Content(content), Write::Commit(new), in_thread(id)]);
        id
    };
    let filter = TipFilter { thread: Some("th".to_owned()), ..TipFilter::default() };
    let tips = || ids(&store.tips(&filter, ALL).expect("a read"));
    let said = put(&*store, None, "said", 10);
    write(&*store, vec![in_thread(said)]);
    let placed = snapshot(said, "other-v1", "said again");
    assert_eq!(tips(), [said]);
    let outside = put(&*store, Some(placed), "outside", 30);
    assert_eq!(tips(), [said]);
    write(&*store, vec![in_thread(outside)]);
    assert_eq!(tips(), [outside], "the snapshot is looked through");
    let own = load(&*store, outside).core.format;
    let whole = snapshot(outside, own.as_str(), "all of it");
    assert_eq!(tips(), [whole], "an operator's snapshot in the same format is where the chain goes on");
}

/// A provisional commit closes; a closed or covered one never opens again.
pub(super) fn check_closures(make: Make<'_, dyn Commits>) {
    let store = make();
    let content = NewContent::literal(b"open".to_vec());
    let closed = commit(None, content.id(), 1);
    let mut provisional = closed.clone();
    provisional.closure = Closure::Provisional;
    let id = closed.core.id();
    write(&*store, vec![Write::Content(content), Write::Commit(provisional.clone())]);
    assert_eq!(load(&*store, id).closure, Closure::Provisional);
    write(&*store, vec![Write::Commit(closed.clone())]);
    assert_eq!(load(&*store, id).closure, Closure::Closed);
    let cover = Write::Cover { commit: id };
    write(&*store, vec![Write::Commit(provisional.clone()), cover.clone()]);
    assert_eq!(load(&*store, id).closure, Closure::Closed, "a closed commit is left alone");

    let mut other = provisional;
    other.core.created_at = at(2);
    let covered = other.core.id();
    let cover = Write::Cover { commit: covered };
    write(&*store, vec![Write::Commit(other.clone()), cover]);
    other.closure = Closure::Closed;
    write(&*store, vec![Write::Commit(other)]);
    assert_eq!(load(&*store, covered).closure, Closure::Covered);
    let tips = store.tips(&TipFilter::default(), ALL).expect("a read");
    assert_eq!(ids(&tips), [id], "what is covered is not a tip");
}

/// Counts that are set are those of the commit from then on, whose chain and id stay.
pub(super) fn check_counts(make: Make<'_, dyn Commits>) {
    let store = make();
    let root = put(&*store, None, "root", 1);
    let child = put(&*store, Some(root), "child", 2);
    let before = load(&*store, child);
    let counts = Counts { messages: 7, entries: 9, tokens: 11 };
    write(&*store, vec![Write::Counts { commit: child, counts }]);
    assert_eq!(load(&*store, child), Commit { counts, ..before });
    let absent = commit(Some(child), artifact_id(b"absent"), 3).core.id();
    let refused = store.commit_batch(vec![Write::Counts { commit: absent, counts }]);
    assert!(matches!(refused, Err(StoreError::CommitMissing(id)) if id == absent), "{refused:?}");
}

/// A covered commit keeps its bytes and may be continued, and covering it again changes nothing.
pub(super) fn check_covers(make: Make<'_, dyn Commits>) {
    let store = make();
    let root = put(&*store, None, "root", 1);
    let open = NewContent::literal(b"an open turn".to_vec());
    let open_id = open.id();
    let mut provisional = commit(Some(root), open_id, 2);
    provisional.closure = Closure::Provisional;
    let covered = provisional.core.id();
    write(&*store, vec![Write::Content(open), Write::Commit(provisional)]);
    let whole = b"an open turn that closed";
    let parts = vec![
        ContentPart::Slice { of: open_id, offset: 0, length: 12 },
        ContentPart::Bytes(b" that closed".to_vec()),
    ];
    let closed = commit(Some(root), artifact_id(whole), 3);
    let content = Write::Content(NewContent::composed(artifact_id(whole), parts));
    let batch = vec![content, Write::Commit(closed), Write::Cover { commit: covered }];
    write(&*store, batch.clone());
    write(&*store, batch);
    assert_eq!(load(&*store, covered).closure, Closure::Covered);
    assert_eq!(bytes_of(&*store, open_id), b"an open turn");
    assert_eq!(bytes_of(&*store, artifact_id(whole)), whole);
    assert_eq!(store.usage().expect("a read").distinct_bytes, 4 + 24, "what they share is stored once");
    let child = put(&*store, Some(covered), "somebody resumed it", 9);
    assert_eq!(load(&*store, child).depth, 2);
}
