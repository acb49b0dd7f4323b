//! Checkpoints as files: what is written comes back, nothing else is believed, and a file leads to the commit that it names or
//! to a chain that is marked as foreign.

use std::sync::{Arc, OnceLock};

use proptest::prelude::*;
use stemmata_engine::{
    CheckpointFile, CheckpointFileError, ContextSnapshot, Engine, EngineError, FOREIGN_TAG, ForgetOptions,
    ForgetTarget, Stop,
};
use stemmata_model::{
    CommitId, Principal, Timestamp, WORK_TASKS_MAX, WorkMetrics, WorkState, WorkTask, artifact_id,
};
use stemmata_store::conformance::builders::damages;
use stemmata_store::{Store, StoreError};
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::support::{Folder, bytes_of, engine, engine_on, import};

fn by() -> Principal {
    Principal::new("ada@m1").expect("a name")
}

fn session(engine: &Engine) -> CommitId {
    let folder = Folder::new();
    let bytes = bytes_of(&ClaudeSession::new(7).turns(3).build());
    import(engine, &folder.write("a.jsonl", &bytes)).session.tip.expect("a tip")
}

fn state() -> WorkState {
    WorkState {
        phase: Some("build".to_owned()),
        tasks_completed: 4,
        git_head: Some("0".repeat(40)),
        task_queue: vec![WorkTask { id: None, text: "say \"hello\"".to_owned(), status: "open".to_owned() }],
        metrics: WorkMetrics { size_tokens: 700, limit_tokens: Some(1_000), errors: 1 },
        file_checksums: [("src/a.rs".to_owned(), Some(artifact_id(b"a"))), ("gone".to_owned(), None)].into(),
    }
}

fn file() -> CheckpointFile {
    static FILE: OnceLock<CheckpointFile> = OnceLock::new();
    FILE.get_or_init(made).clone()
}

fn made() -> CheckpointFile {
    let engine = engine();
    let ctx = session(&engine);
    CheckpointFile {
        state: state(),
        ..engine.checkpoint_file(ctx, (700, Some(1_000))).expect("a checkpoint")
    }
}

fn commits(engine: &Engine) -> usize {
    engine.store().commits_after(None, 10_000).expect("commits").len()
}

#[test]
fn what_is_written_comes_back() {
    let file = file();
    let text = file.render();
    assert_eq!(CheckpointFile::parse(text.as_bytes()).expect("read"), file);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for field in [
        "timestamp",
        "context_snapshot",
        "system_state",
        "task_queue",
        "metrics",
        "conversation",
        "file_checksums",
    ] {
        assert!(!value[field].is_null(), "{field}");
    }
    assert_eq!(value["metrics"]["ratio_permille"], 700);
    let name = file.name();
    assert!(name.starts_with("checkpoint_20") && name.ends_with("Z.json") && !name.contains(':'), "{name}");
    let mut out = Vec::new();
    let format = stemmata_model::FormatId::new("stemmata-v1").expect("a name");
    let engine = engine();
    let ctx = session(&engine);
    engine.materialize(Some(ctx), Some(&format), Stop::Compaction, &mut out).expect("materialized");
    assert_eq!(file.conversation, out, "the conversation is what a model saw");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(2)))]

    #[test]
    fn a_file_with_other_bytes_is_refused_or_says_the_same(at: prop::sample::Index, byte: u8, cuts: bool) {
        let file = file();
        let mut bytes = file.render().into_bytes();
        let at = at.index(bytes.len());
        if cuts { bytes.truncate(at) } else { bytes[at] = byte }
        if let Ok(read) = CheckpointFile::parse(&bytes) {
            prop_assert_eq!(read, file);
        }
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        CheckpointFile::parse(&bytes).expect_err("no checkpoint");
    }
}

#[test]
fn hostile_files_are_refused_with_the_reason() {
    let file = file();
    let text = file.render();
    let foreign = |bytes: &[u8]| {
        let error = CheckpointFile::parse(bytes).expect_err("refused");
        assert!(matches!(error, CheckpointFileError::Foreign { .. }), "{error}");
    };
    foreign(b"null");
    foreign(b"\xff\xfe");
    foreign(&vec![b'['; 10 << 20]);
    foreign(
        format!("{{\"stemmata_checkpoint\":1,\"x\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000))
            .as_bytes(),
    );
    foreign(format!("\"{}\"", "x".repeat(10 << 20)).as_bytes());
    foreign(b"{\"stemmata_checkpoint\":\"1\"}");
    let newer = text.replace("\"stemmata_checkpoint\": 1", "\"stemmata_checkpoint\": 2");
    assert_eq!(CheckpointFile::parse(newer.as_bytes()), Err(CheckpointFileError::Version { found: 2 }));
    let huge = vec![b' '; (64 << 20) + 1];
    assert_eq!(CheckpointFile::parse(&huge), Err(CheckpointFileError::TooLarge));
    let damaged = |text: &str, wanted: &str| match CheckpointFile::parse(text.as_bytes()) {
        Err(CheckpointFileError::Damaged { reason }) => assert!(reason.contains(wanted), "{reason}"),
        other => panic!("{wanted}: {other:?}"),
    };
    damaged("", "it is empty");
    damaged(text.get(..text.len() / 2).expect("ASCII"), "it is cut");
    damaged(&text.replace("\"build\"", "\"other\""), "digest");
    damaged("{\"stemmata_checkpoint\":1}", "conversation");
    damaged("{\"stemmata_checkpoint\":1,\"conversation\":{},\"digest\":\"\"}", "sequence");
    // Whoever makes a file with the right digest is held to the bounds all the same.
    let with = |state: WorkState| CheckpointFile { state, ..file.clone() }.render();
    for path in ["../../etc/passwd", "/etc/passwd", "a/../../b", "c:\\x", ""] {
        let sums = [(path.to_owned(), Some(artifact_id(b"x")))];
        damaged(&with(WorkState { file_checksums: sums.into(), ..state() }), "not a path below the tree");
    }
    let task = WorkTask { id: None, text: "t".to_owned(), status: "open".to_owned() };
    damaged(&with(WorkState { task_queue: vec![task; WORK_TASKS_MAX + 1], ..state() }), "too large");
    let conversation = b"{\"no\":\"entry\"}\n".to_vec();
    damaged(&CheckpointFile { conversation, ..file }.render(), "of its conversation");
}

#[test]
fn a_file_leads_to_the_commit_that_it_names() {
    let engine = engine();
    let ctx = session(&engine);
    let file = engine.checkpoint_file(ctx, (1, None)).expect("a checkpoint");
    let before = commits(&engine);
    let given = engine.give_checkpoint(&file, &by()).expect("given");
    assert_eq!((given.ctx, given.is_imported), (ctx, false));
    assert_eq!(commits(&engine), before);
}

#[test]
fn a_conversation_from_elsewhere_is_a_marked_chain_of_its_own_once() {
    let file = file();
    let engine = engine();
    let given = engine.give_checkpoint(&file, &by()).expect("given");
    assert!(given.is_imported && given.ctx != file.snapshot.ctx);
    let shown = engine.show(given.ctx).expect("shown");
    assert_eq!(shown.commit.core.parent, None);
    assert_eq!(shown.annotations.tags, [FOREIGN_TAG]);
    assert!(shown.annotations.notes[0].contains(&file.snapshot.ctx.to_string()));
    let mut out = Vec::new();
    engine.materialize(Some(given.ctx), None, Stop::Compaction, &mut out).expect("materialized");
    assert_eq!(out, file.conversation);
    let again = engine.give_checkpoint(&file, &by()).expect("given");
    assert_eq!((again.ctx, commits(&engine)), (given.ctx, 1));
    assert_eq!(engine.show(given.ctx).expect("shown").annotations.notes.len(), 1);
    assert_eq!(damages(engine.store()), []);
}

#[test]
fn a_commit_that_was_forgotten_does_not_come_back_by_a_file() {
    for everywhere in [true, false] {
        let engine = engine();
        let ctx = session(&engine);
        let file = engine.checkpoint_file(ctx, (1, None)).expect("a checkpoint");
        let options = ForgetOptions { everywhere, even_pinned: false, by: by() };
        let target = if everywhere {
            ForgetTarget::Commit(ctx)
        } else {
            let session = engine.latest_session(None).expect("a session");
            ForgetTarget::Session(session.key)
        };
        engine.forget(&target, &options).expect("forgotten");
        let before = commits(&engine);
        let error = engine.give_checkpoint(&file, &by()).expect_err("it was forgotten");
        assert!(matches!(error, EngineError::Store(StoreError::Forgotten(_))), "{error}");
        assert_eq!(commits(&engine), before);
    }
}

/// Whatever write fails, the next try ends with one chain that is marked.
#[test]
fn an_import_that_fails_leaves_nothing_unmarked_in_the_end() {
    let file = file();
    for number in 1..4 {
        for fault in [Fault::Before, Fault::After] {
            let store = Arc::new(FaultyStore::new(MemoryStore::default()));
            let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
            store.fail(number, fault);
            let _first = engine.give_checkpoint(&file, &by());
            let given =
                engine.give_checkpoint(&file, &by()).or_else(|_| engine.give_checkpoint(&file, &by()));
            let given = given.expect("given");
            assert_eq!(
                engine.show(given.ctx).expect("shown").annotations.tags,
                [FOREIGN_TAG],
                "{number} {fault:?}"
            );
            assert_eq!(commits(&engine), 1);
        }
    }
}

#[test]
fn a_file_without_a_conversation_gives_nothing_that_the_store_has_not() {
    let snapshot = ContextSnapshot {
        ctx: CommitId::from_bytes([7; 16]),
        format: "claude-code-v1".to_owned(),
        template: "claude-code/main".to_owned(),
        session: None,
        messages: 0,
    };
    let empty = CheckpointFile {
        timestamp: Timestamp::from_micros(1),
        snapshot,
        state: state(),
        conversation: Vec::new(),
    };
    assert_eq!(CheckpointFile::parse(empty.render().as_bytes()).expect("read"), empty);
    let engine = engine();
    let error = engine.give_checkpoint(&empty, &by()).expect_err("nothing to give");
    assert!(matches!(error, EngineError::Refused { .. }), "{error}");
    assert_eq!(commits(&engine), 0);
}
