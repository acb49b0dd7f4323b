//! Checkpoints made by a program, and the review discussion that they are for.

use stemmata_engine::{CheckpointContent, CheckpointRequest, Engine, ErrorKind, Stop, Update};
use stemmata_model::{
    CommitId, FormatId, MachineId, NoteCode, Principal, SessionId, SummarySource, Template, ThreadId,
    TicketId, Timestamp, Trigger,
};
use stemmata_store::{Page, ResolveScope, TipFilter};

use crate::support::{chain, engine, native};

fn line(uuid: u32, role: &str, text: &str) -> Vec<u8> {
    let parent = match uuid {
        1 => "null".to_owned(),
        _ => format!("\"00000000-0000-4000-8000-{:012}\"", uuid - 1),
    };
    let line = format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{role}","message":{{"role":"{role}","content":"{text}"}},"uuid":"00000000-0000-4000-8000-{uuid:012}","timestamp":"2026-03-01T00:00:{:02}.000Z"}}"#,
        uuid % 60
    );
    (line + "\n").into_bytes()
}

fn request(parent: Option<CommitId>, content: Vec<u8>, second: i64) -> CheckpointRequest {
    CheckpointRequest {
        parent,
        principal: Some(Principal::new("iree/reviewer").expect("a name")),
        created_at: Some(Timestamp::from_micros(1_772_323_200_000_000 + second * 1_000_000)),
        trigger: Trigger::TurnBoundary,
        ..CheckpointRequest::delta(
            content,
            FormatId::new("claude-code-v1").expect("a name"),
            Template::new("reviewer").expect("a name"),
            SessionId::new("review-1").expect("a name"),
        )
    }
}

fn checkpoint(engine: &Engine, request: &CheckpointRequest) -> CommitId {
    engine.checkpoint(request).expect("a checkpoint").id
}

#[test]
fn a_checkpoint_is_queryable_at_once_and_carries_what_was_given() {
    let engine = engine();
    let given = CheckpointRequest {
        summary: Some("read the parser".to_owned()),
        ticket: Some(TicketId::new("tkt-17").expect("a name")),
        messages: Some(9),
        machine: Some(MachineId::new("forge").expect("a name")),
        ..request(None, line(1, "user", "look at the parser"), 1)
    };
    let made = engine.checkpoint(&given).expect("a checkpoint");
    assert!(made.notes.iter().any(|note| note.code == NoteCode::CountsCorrected), "{:?}", made.notes);
    let shown = engine.show(made.id).expect("shown");
    assert_eq!(
        (shown.summary.text.as_str(), shown.summary.source),
        ("read the parser", SummarySource::Given)
    );
    let first = shown.sightings.first().expect("a sighting");
    assert_eq!((first.machine.as_str(), first.principal.as_str()), ("forge", "iree/reviewer"));
    assert_eq!(first.ticket.as_ref().map(TicketId::as_str), Some("tkt-17"));
    assert_eq!(shown.commit.counts.messages, 1, "counts are corrected");

    let missing = engine.checkpoint(&request(Some(CommitId::from_bytes([9; 16])), line(1, "user", "x"), 1));
    assert!(missing.is_err_and(|error| error.kind() == ErrorKind::NotFound), "the parent must exist");
}

#[test]
fn a_checkpoint_that_holds_boundaries_counts_all_of_its_entries() {
    let engine = engine();
    let lines = stemmata_testkit::claude::ClaudeSession::new(3).turns(4).compactions(1).build().lines;
    let entries = u64::try_from(lines.len()).expect("small");
    let made = checkpoint(&engine, &request(None, (lines.join("\n") + "\n").into_bytes(), 1));
    let commit = engine.store().commit(made).expect("read").expect("there");
    assert_eq!(commit.counts.entries, entries);
}

#[test]
fn a_retry_with_the_same_key_is_the_same_commit() {
    let engine = engine();
    let first = CheckpointRequest {
        idempotency_key: Some("turn-1".to_owned()),
        ..request(None, line(1, "user", "hello"), 1)
    };
    let later = CheckpointRequest {
        created_at: Some(Timestamp::from_micros(1_900_000_000_000_000)),
        ..first.clone()
    };
    let (one, two) = (engine.checkpoint(&first).expect("made"), engine.checkpoint(&later).expect("made"));
    assert_eq!((one.id, one.existed, two.existed), (two.id, false, true));
    // Other content under the same key is no retry: it must not be taken for stored.
    let other =
        CheckpointRequest { content: request(None, line(2, "user", "other"), 1).content, ..first.clone() };
    let refused = engine.checkpoint(&other).expect_err("another content");
    assert!(
        refused.to_string().contains("turn-1") || format!("{refused:?}").contains("RequestTaken"),
        "{refused:?}"
    );
    assert_eq!(engine.store().usage().expect("usage").commits, 1);
}

#[test]
fn content_given_by_reference_must_exist() {
    let engine = engine();
    let root = checkpoint(&engine, &request(None, line(1, "user", "hello"), 1));
    let artifact = engine.store().commit(root).expect("read").expect("there").core.artifact;
    let by_reference = CheckpointRequest {
        content: CheckpointContent::Stored(artifact),
        ..request(Some(root), Vec::new(), 2)
    };
    let child = checkpoint(&engine, &by_reference);
    assert_eq!(native(&engine, child), [line(1, "user", "hello"), line(1, "user", "hello")].concat());
    let nowhere = CheckpointContent::Stored(stemmata_model::artifact_id(b"nowhere"));
    let missing =
        engine.checkpoint(&CheckpointRequest { content: nowhere, ..request(Some(root), Vec::new(), 3) });
    assert!(missing.is_err_and(|error| error.kind() == ErrorKind::NotFound));
}

#[test]
fn resolve_names_the_nearest_checkpoint_and_every_candidate_of_a_tie() {
    let engine = engine();
    let root = checkpoint(&engine, &request(None, line(1, "user", "a"), 10));
    let next = checkpoint(&engine, &request(Some(root), line(2, "assistant", "b"), 20));
    let scope = ResolveScope::Principal(Principal::new("iree/reviewer").expect("a name"));
    let at = |second: i64| Timestamp::from_micros(1_772_323_200_000_000 + second * 1_000_000);
    assert!(engine.resolve(&scope, at(9)).is_err_and(|error| error.kind() == ErrorKind::NotFound));
    assert_eq!(engine.resolve(&scope, at(15)).expect("found"), [root]);
    assert_eq!(engine.resolve(&scope, at(20)).expect("found"), [next]);
    let mut fork = checkpoint(&engine, &request(Some(root), line(2, "assistant", "c"), 20));
    let mut tie = engine.resolve(&scope, at(99)).expect("found");
    tie.sort();
    let mut expected = vec![next, fork];
    expected.sort();
    assert_eq!(tie, expected, "a tie is never decided by chance");
    // A late arrival with an earlier time is found at its place.
    let early = checkpoint(&engine, &request(Some(root), line(2, "assistant", "d"), 12));
    assert_eq!(engine.resolve(&scope, at(15)).expect("found"), [early]);
    // On one chain the last of the same time is the nearest.
    fork = checkpoint(&engine, &request(Some(fork), line(3, "user", "e"), 20));
    let mut tie = engine.resolve(&scope, at(20)).expect("found");
    tie.sort();
    let mut expected = vec![next, fork];
    expected.sort();
    assert_eq!(tie, expected);
}

/// The acceptance story of the design: two discussions start from one reviewer's context, and know nothing of
/// each other; the finding is closed from the tip of its thread.
#[test]
fn a_review_discussion_resumes_a_reviewer_who_is_not_running() {
    let engine = engine();
    let opening = [line(1, "user", "review the change"), line(2, "assistant", "two findings")].concat();
    let reviewed = checkpoint(&engine, &request(None, opening, 1));
    let thread = |name: &str, machine: &str, parent: CommitId, text: &str, second: i64| CheckpointRequest {
        thread: Some(ThreadId::new(name).expect("a name")),
        machine: Some(MachineId::new(machine).expect("a name")),
        session: SessionId::new(name).expect("a name"),
        ..request(
            Some(parent),
            [line(3, "user", text), line(4, "assistant", "because of the cache")].concat(),
            second,
        )
    };
    let one = checkpoint(&engine, &thread("finding-1", "m-left", reviewed, "what do you mean by stale?", 10));
    let two = checkpoint(&engine, &thread("finding-2", "m-right", reviewed, "why is this slow?", 11));
    let answer = [line(5, "user", "I fixed it"), line(6, "assistant", "I see the fix")].concat();
    let more = CheckpointRequest {
        thread: Some(ThreadId::new("finding-1").expect("a name")),
        session: SessionId::new("finding-1").expect("a name"),
        ..request(Some(one), answer, 20)
    };
    let tip_one = checkpoint(&engine, &more);

    let mut children: Vec<CommitId> =
        engine.store().children(reviewed, 10).expect("children").iter().map(|commit| commit.id).collect();
    children.sort();
    let mut expected = vec![one, two];
    expected.sort();
    assert_eq!(children, expected, "two branches with one parent");

    let filter = TipFilter { thread: Some("finding-1".to_owned()), ..TipFilter::default() };
    let tips = engine.store().tips(&filter, Page { skip: 0, rows_max: 10 }).expect("tips");
    assert_eq!(
        tips.iter().map(|commit| commit.id).collect::<Vec<_>>(),
        [tip_one],
        "a thread is found by its id"
    );

    let mut memory = Vec::new();
    engine.materialize(Some(tip_one), None, Stop::Compaction, &mut memory).expect("materialized");
    let memory = String::from_utf8(memory).expect("text");
    for known in
        ["review the change", "two findings", "what do you mean by stale?", "I fixed it", "I see the fix"]
    {
        assert!(memory.contains(known), "the reviewer remembers `{known}`");
    }
    assert!(!memory.contains("why is this slow?"), "the other discussion stays out");
    assert_eq!(chain(&engine, tip_one).len(), 3);
}

#[test]
fn metadata_changes_leave_an_audit_trail_and_the_commit_alone() {
    let engine = engine();
    let root = checkpoint(&engine, &request(None, line(1, "user", "hello"), 1));
    let before = engine.store().commit(root).expect("read");
    let by = Principal::new("ada@m1").expect("a name");
    let update = Update {
        summary: Some("greeting".to_owned()),
        add_tags: vec!["start".to_owned()],
        notes: vec!["check again".to_owned()],
        pin: Some(true),
        ..Update::default()
    };
    engine.update(root, update, &by).expect("updated");
    engine.update(root, Update { pin: Some(true), ..Update::default() }, &by).expect("updated");
    let untag = Update { remove_tags: vec!["start".to_owned()], pin: Some(false), ..Update::default() };
    engine.update(root, untag, &by).expect("updated");
    let shown = engine.show(root).expect("shown");
    assert_eq!(shown.summary.text, "greeting");
    assert_eq!((shown.annotations.tags.len(), shown.annotations.pinned), (0, false));
    assert_eq!(shown.audit.len(), 6, "a change that changes nothing leaves no record: {:?}", shown.audit);
    assert_eq!(engine.store().commit(root).expect("read"), before, "the commit never changes");
    assert_eq!(engine.find("start").map_err(|error| error.kind()), Err(ErrorKind::NotFound));
}
