//! Statements of the source documents (docs/reference/seeds.md) that no other law holds.

use std::collections::HashMap;
use std::sync::Arc;

use stemmata_engine::{
    CaptureOptions, CheckpointRequest, EngineError, ErrorKind, PlaceOptions, Stop, Tier, Update,
};
use stemmata_model::{
    Closure, CommitCore, CommitId, CommitType, FormatId, MachineId, NoteCode, Principal, SessionId,
    SummarySource, Template, ThreadId, TicketId, Timestamp, Trigger, artifact_id,
};
use stemmata_store::conformance::builders;
use stemmata_store::{DEPTH_MAX, NewContent, Page, Store, StoreError, TipFilter, Write};
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::faulty::FaultyStore;

use crate::support::{Folder, bytes_of, chain, closed, engine, engine_on, import, native, new_store};

const PROMPT: &[u8] = br#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"look at the parser"},"uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-03-01T00:00:01.000Z"}
"#;

fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(1_772_323_200_000_000 + second * 1_000_000)
}

fn request(format: &str, content: &[u8], second: i64) -> CheckpointRequest {
    CheckpointRequest {
        created_at: Some(at(second)),
        ..CheckpointRequest::delta(
            content.to_vec(),
            FormatId::new(format).expect("a name"),
            Template::new("reviewer").expect("a name"),
            SessionId::new("s1").expect("a name"),
        )
    }
}

#[test]
fn a_checkpoint_gives_back_every_field_of_its_request() {
    let engine = engine();
    let root = engine.checkpoint(&request("claude-code-v1", PROMPT, 1)).expect("a root");
    let reasons = [
        Trigger::TurnBoundary,
        Trigger::ToolCall,
        Trigger::Compaction,
        Trigger::SessionEnd,
        Trigger::Explicit,
    ];
    let types = [
        CommitType::Delta,
        CommitType::Compaction,
        CommitType::Snapshot { restated_entries: 1 },
        CommitType::Delta,
        CommitType::Delta,
    ];
    for (second, (trigger, commit_type)) in (2..).zip(reasons.into_iter().zip(types)) {
        let given = CheckpointRequest {
            parent: Some(root.id),
            commit_type,
            principal: Some(Principal::new("iree/reviewer").expect("a name")),
            machine: Some(MachineId::new("forge").expect("a name")),
            trigger,
            ticket: Some(TicketId::new("tkt-17").expect("a name")),
            thread: Some(ThreadId::new("!room:x").expect("a name")),
            summary: Some("read the parser".to_owned()),
            messages: Some(1),
            tokens: Some(77),
            ..request("claude-code-v1", PROMPT, second)
        };
        let made = engine.checkpoint(&given).expect("a checkpoint");
        assert_eq!((made.existed, made.notes.len()), (false, 0), "{made:?}");
        let shown = engine.show(made.id).expect("shown");
        let core = CommitCore {
            parent: Some(root.id),
            commit_type,
            artifact: artifact_id(PROMPT),
            native: None,
            format: given.format.clone(),
            template: given.template.clone(),
            created_at: at(second),
        };
        assert_eq!((shown.commit.core, shown.commit.id), (core.clone(), core.id()));
        assert_eq!((shown.commit.counts.messages, shown.commit.counts.tokens), (1, 77));
        assert_eq!(
            (shown.summary.text.as_str(), shown.summary.source),
            ("read the parser", SummarySource::Given)
        );
        let [seen] = &shown.sightings[..] else { panic!("one sighting: {:?}", shown.sightings) };
        assert_eq!(
            (Some(&seen.principal), Some(&seen.machine), &seen.session, seen.trigger),
            (given.principal.as_ref(), given.machine.as_ref(), &given.session, trigger)
        );
        assert_eq!((&seen.ticket, &seen.thread), (&given.ticket, &given.thread));
    }
}

#[test]
fn each_byte_is_stored_once_however_often_it_is_checkpointed() {
    let folder = Folder::new();
    let bytes = bytes_of(&ClaudeSession::new(3).turns(6).build());
    let length = u64::try_from(bytes.len()).expect("small");
    let path = folder.write("s.jsonl", &bytes);
    let mut commits = Vec::new();
    for granularity in ["every:100", "turn", "message"] {
        let engine = engine();
        let granularity = granularity.parse().expect("a granularity");
        let options = CaptureOptions { granularity, ..CaptureOptions::import() };
        engine.capture(&path, &options).expect("captured");
        let usage = engine.store().usage().expect("usage");
        assert_eq!((usage.logical_bytes, usage.distinct_bytes), (length, length), "{granularity}");
        commits.push(usage.commits);
    }
    assert!(commits[0] < commits[1] && commits[1] < commits[2], "{commits:?}");
}

/// The seed's own example: a conversation of 100 turns in 20 checkpoints is stored as 100 turns, where full snapshots would
/// store 5 + 10 + … + 100 = 1,050.
#[test]
fn twenty_checkpoints_of_a_hundred_turns_store_a_hundred_turns() {
    let engine = engine();
    let turn = |number: u32| format!("{{\"turn\":{number:04},\"said\":\"{}\"}}\n", "word ".repeat(8));
    let (mut parent, mut whole, mut snapshots) = (None, Vec::new(), 0);
    for checkpoint in 0..20_u32 {
        let delta: String = (checkpoint * 5..checkpoint * 5 + 5).map(turn).collect();
        whole.extend_from_slice(delta.as_bytes());
        snapshots += whole.len();
        let made = engine.checkpoint(&CheckpointRequest {
            parent,
            ..request("own-v1", delta.as_bytes(), i64::from(checkpoint))
        });
        parent = Some(made.expect("stored").id);
    }
    let usage = engine.store().usage().expect("usage");
    let length = u64::try_from(turn(0).len()).expect("small");
    assert_eq!((usage.logical_bytes, usage.distinct_bytes), (100 * length, 100 * length));
    assert_eq!(u64::try_from(snapshots).expect("small"), 1_050 * length);
    assert_eq!(native(&engine, parent.expect("a tip")), whole);
}

#[test]
fn every_commit_has_a_summary_and_the_same_entries_have_the_same() {
    let folder = Folder::new();
    let path = folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(5).turns(5).compactions(1).build()));
    let summaries = || {
        let engine = engine();
        let tip = import(&engine, &path).session.tip.expect("a tip");
        engine.history(tip, 0, 100).expect("a history").into_iter().map(|row| row.summary).collect::<Vec<_>>()
    };
    let derived = summaries();
    assert!(derived.len() > 4);
    for summary in &derived {
        assert!(!summary.text.trim().is_empty() && summary.source == SummarySource::Heuristic, "{summary:?}");
    }
    assert_eq!(derived, summaries());
}

#[test]
fn a_format_that_is_not_known_is_kept_and_reported_and_never_guessed() {
    let engine = engine();
    let made = engine
        .checkpoint(&CheckpointRequest { messages: Some(3), ..request("own-v1", b"{\"n\":1}\n", 1) })
        .expect("stored");
    assert!(made.notes.iter().any(|note| note.code == NoteCode::Degraded), "{:?}", made.notes);
    assert_eq!(native(&engine, made.id), b"{\"n\":1}\n");
    let refused = engine.materialize(Some(made.id), None, Stop::Compaction, &mut std::io::sink());
    assert!(
        refused
            .is_err_and(|error| error.kind() == ErrorKind::BadInput && error.to_string().contains("own-v1"))
    );

    let shown = engine.show(made.id).expect("shown all the same");
    assert_eq!(shown.summary.text, "3 messages (format `own-v1` is not known)");
    assert_eq!(engine.history(made.id, 0, 9).expect("listed all the same").len(), 1);

    let known = engine.checkpoint(&request("claude-code-v1", PROMPT, 2)).expect("stored").id;
    let mut bytes = Vec::new();
    let same = FormatId::new("claude-code-v1").expect("a name");
    let context =
        engine.materialize(Some(known), Some(&same), Stop::Compaction, &mut bytes).expect("a context");
    assert_eq!((context.tier, bytes.as_slice()), (Tier::Native, PROMPT));
    let other = FormatId::new("own-v1").expect("a name");
    let refused = engine.materialize(Some(known), Some(&other), Stop::Compaction, &mut std::io::sink());
    assert!(refused.is_err_and(|error| error.to_string().contains("own-v1")));
}

#[test]
fn a_chain_is_listed_where_contents_are_missing_and_given_summaries_need_none() {
    let folder = Folder::new();
    let path = folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(8).turns(4).build()));
    let memory = Arc::try_unwrap(crate::support::memory()).expect("one owner");
    let store = Arc::new(FaultyStore::new(memory));
    let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
    let tip = import(&engine, &path).session.tip.expect("a tip");
    let commits = chain(&engine, tip);
    let by = Principal::new("ada@m1").expect("a name");
    let update = Update { summary: Some("the first turn".to_owned()), ..Update::default() };
    engine.update(commits[0].id, update, &by).expect("updated");
    for commit in &commits[..2] {
        store.lose(commit.core.artifact);
    }

    let rows = engine.history(tip, 0, 100).expect("the chain can be listed");
    let told: Vec<&str> = rows.iter().rev().map(|row| row.summary.text.as_str()).collect();
    assert_eq!(told.len(), commits.len());
    assert_eq!(told[0], "the first turn");
    assert_eq!(told[1], format!("{} messages (their content is missing)", commits[1].counts.messages));
    assert_eq!(engine.show(commits[1].id).expect("metadata stays").commit, commits[1]);
    assert_eq!(engine.tree(tip).expect("a tree").nodes.len(), commits.len());
    match engine.native(tip, &mut std::io::sink()) {
        Err(EngineError::Store(StoreError::ContentMissing(named))) => {
            assert_eq!(named, commits[0].core.artifact);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_ambiguous_prefix_lists_its_candidates() {
    let engine = engine();
    let mut starts: HashMap<String, i64> = HashMap::new();
    // Four characters are 20 bits: about a thousand ids hold a pair that begins alike.
    let (prefix, seconds) = (1..100_000)
        .find_map(|second| {
            let template = Template::new("reviewer").expect("a name");
            let made = builders::commit(None, artifact_id(PROMPT), at(second).as_micros()).core;
            let core = CommitCore { template, ..made };
            let prefix = core.id().to_string()[..8].to_owned();
            let earlier = starts.insert(prefix.clone(), second)?;
            Some((prefix, [earlier, second]))
        })
        .expect("a pair");
    let mut ids = seconds.map(|second| {
        engine.checkpoint(&request("claude-code-v1", PROMPT, second)).expect("stored").id.to_string()
    });
    ids.sort();
    match engine.find(&prefix) {
        Err(EngineError::Ambiguous { candidates, .. }) => {
            let named: Vec<&str> = candidates.iter().map(|candidate| candidate.id.as_str()).collect();
            assert_eq!(named, ids);
            assert!(candidates.iter().all(|candidate| candidate.summary == "look at the parser"));
        }
        other => panic!("{other:?}"),
    }
    for id in &ids {
        let apart =
            (9..=30).find(|chars| ids.iter().filter(|other| other.starts_with(&id[..*chars])).count() == 1);
        let found = engine.find(&id[..apart.expect("they differ")]).expect("it is unique");
        assert_eq!(found.to_string(), *id);
    }
}

#[test]
fn a_granularity_stays_with_its_chain() {
    let folder = Folder::new();
    let bytes = bytes_of(&ClaudeSession::new(13).turns(5).tool_calls(3).build());
    let by_message =
        CaptureOptions { granularity: "message".parse().expect("a granularity"), ..CaptureOptions::import() };
    let whole = engine();
    let expected = whole.capture(&folder.write("whole.jsonl", &bytes), &by_message).expect("captured");
    let parts = engine();
    let half = bytes.len() / 2;
    parts.capture(&folder.write("parts.jsonl", &bytes[..half]), &by_message).expect("captured");
    folder.append("parts.jsonl", &bytes[half..]);
    // Asked for turns now: what the chain began with counts, or its ids would depend on who asked last.
    let captured = import(&parts, &folder.path().join("parts.jsonl"));
    assert_eq!(captured.session.tip, expected.session.tip);
    assert_eq!(captured.session.granularity, by_message.granularity);
}

#[test]
fn current_names_what_a_session_knows_at_this_moment() {
    let folder = Folder::new();
    let engine = engine();
    let lines = ClaudeSession::new(19).turns(3).tool_calls(4).build().lines;
    let path = folder.write("s.jsonl", format!("{}\n", lines[..2].join("\n")).as_bytes());
    let session = import(&engine, &path).session;
    let mut written = 2;
    let mut provisional = 0;
    while written < lines.len() {
        let more = lines.len().min(written + 3);
        folder.append("s.jsonl", format!("{}\n", lines[written..more].join("\n")).as_bytes());
        written = more;
        let now = engine.current(&session).expect("a commit");
        let known = String::from_utf8(native(&engine, now)).expect("text");
        assert_eq!(known, format!("{}\n", lines[..written].join("\n")));
        assert_eq!(engine.current(&session).expect("a commit"), now, "asking changes nothing");
        let commit = engine.store().commit(now).expect("read").expect("there");
        provisional += usize::from(commit.closure == Closure::Provisional);
    }
    assert!(provisional > 3, "it answers in the middle of turns: {provisional}");
    let imported = import(&engine_on("m2", new_store()), &path);
    assert_eq!(engine.current(&session).expect("a commit"), imported.session.tip.expect("a tip"));
}

#[test]
fn an_id_from_one_machine_leads_to_the_same_context_on_another() {
    let folder = Folder::new();
    let bytes = bytes_of(&ClaudeSession::new(23).turns(4).compactions(1).build());
    let reviewer = engine_on("m-left", new_store());
    let tip = import(&reviewer, &folder.write("left.jsonl", &bytes)).session.tip.expect("a tip");
    let finding = closed(&reviewer, tip)[1];

    let author = engine_on("m-right", new_store());
    import(&author, &folder.write("right.jsonl", &bytes));
    let contexts = [&reviewer, &author].map(|engine| {
        let mut context = Vec::new();
        engine.materialize(Some(finding), None, Stop::Compaction, &mut context).expect("a context");
        context
    });
    assert_eq!(contexts[0], contexts[1]);
    let options = PlaceOptions {
        runtime: None,
        config_dir: folder.path().join("client"),
        cwd: "/other/home".into(),
        stop: Stop::Compaction,
        at_entry: None,
        client_version: None,
    };
    let placed = author.place(finding, &options).expect("placed");
    assert_eq!(placed.ctx, finding);
    let seen = author.show(finding).expect("shown").sightings;
    assert!(seen.iter().all(|sighting| sighting.machine.as_str() == "m-right"), "{seen:?}");
}

#[test]
fn a_walk_ends_at_the_nearest_compaction_and_each_kind_has_its_reason() {
    let folder = Folder::new();
    let engine = engine();
    let bytes = bytes_of(&ClaudeSession::new(29).turns(9).compactions(2).build());
    let tip = import(&engine, &folder.write("s.jsonl", &bytes)).session.tip.expect("a tip");
    let commits = chain(&engine, tip);
    let mut since = 0;
    let mut compactions = 0;
    for commit in &commits {
        since += 1;
        let is_compaction = commit.core.commit_type == CommitType::Compaction;
        if is_compaction {
            since = 1;
            compactions += 1;
        }
        let context = engine.materialize(Some(commit.id), None, Stop::Compaction, &mut std::io::sink());
        assert_eq!(context.expect("a context").commits_read, since, "{}", commit.id);
        let seen = engine.store().sightings(commit.id, 9).expect("sightings");
        let expected = match (is_compaction, commit.closure) {
            (true, _) => Trigger::Compaction,
            (false, Closure::Closed) => Trigger::TurnBoundary,
            (false, _) => Trigger::Explicit,
        };
        assert_eq!(seen.iter().map(|sighting| sighting.trigger).collect::<Vec<_>>(), [expected]);
    }
    assert_eq!(compactions, 2);
}

#[test]
fn what_was_captured_for_a_ticket_or_a_thread_is_found_by_it() {
    let folder = Folder::new();
    let engine = engine();
    let options = CaptureOptions {
        ticket: Some(TicketId::new("tkt-4").expect("a name")),
        thread: Some(ThreadId::new("!room:x").expect("a name")),
        ..CaptureOptions::import()
    };
    let path = folder.write("a.jsonl", &bytes_of(&ClaudeSession::new(1).build()));
    let captured = engine.capture(&path, &options).expect("captured");
    import(&engine, &folder.write("b.jsonl", &bytes_of(&ClaudeSession::new(2).build())));
    let page = Page { skip: 0, rows_max: 10 };
    for filter in [
        TipFilter { ticket: Some("tkt-4".to_owned()), ..TipFilter::default() },
        TipFilter { thread: Some("!room:x".to_owned()), ..TipFilter::default() },
    ] {
        let tips = engine.store().tips(&filter, page).expect("tips");
        assert_eq!(tips.iter().map(|commit| Some(commit.id)).collect::<Vec<_>>(), [captured.session.tip]);
    }
}

#[test]
fn a_chain_is_walked_whole_and_has_a_bound() {
    let engine = engine();
    let content = NewContent::literal(PROMPT.to_vec());
    let artifact = content.id();
    engine.store().commit_batch(vec![Write::Content(content)]).expect("stored");
    let mut tip: Option<CommitId> = None;
    let mut next = || {
        let commit = builders::commit(tip, artifact, 0);
        tip = Some(commit.core.id());
        Write::Commit(commit)
    };
    for _ in 0..DEPTH_MAX / 1_000 {
        let batch = (0..1_000).map(|_| next()).collect();
        engine.store().commit_batch(batch).expect("stored");
    }
    let refused = engine.store().commit_batch(vec![next()]);
    assert!(matches!(refused, Err(StoreError::Bound { bound: DEPTH_MAX, .. })), "{refused:?}");
    let newest = engine.store().tips(&TipFilter::default(), Page { skip: 0, rows_max: 1 }).expect("tips");
    let skip = usize::try_from(DEPTH_MAX).expect("small") - 2;
    let rows = engine.history(newest[0].id, skip, 10).expect("a history");
    let depths: Vec<u64> = rows.iter().map(|row| row.commit.depth).collect();
    assert_eq!(depths, [1, 0]);
}
