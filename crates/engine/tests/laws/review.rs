//! What a hostile reading of the engine found, each test named after what broke.
//!
//! Laws that hold for all inputs are in the files named after them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use stemmata_engine::{
    CaptureOptions, CheckpointRequest, Clock, Engine, EngineError, ErrorKind, Identity, LINE_BYTES_MAX,
    PlaceOptions, RandomIds, Stop,
};
use stemmata_model::{
    Closure, CommitId, CommitType, FormatId, Granularity, MachineId, NoteCode, SessionId, Template,
    Timestamp, Trigger,
};
use stemmata_store::conformance::builders::damages;
use stemmata_store::{LinkKind, Page, ResolveScope, SessionKey, StoreIdentity, TipFilter, Write};
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::support::{
    Folder, bytes_of, chain, closed, engine, engine_on, import, native, new_store, placing,
};

/// A record of a made-up conversation, as a line: number `n` hangs on `n - 1`.
fn record(n: u32, role: &str, text: &str) -> String {
    record_in("/work", n, role, text)
}

fn record_in(cwd: &str, n: u32, role: &str, text: &str) -> String {
    let parent = if n == 1 { "null".to_owned() } else { format!("\"{}\"", uuid(n - 1)) };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{role}","message":{{"role":"{role}","content":"{text}"}},"uuid":"{}","timestamp":"2026-03-01T00:{:02}:{:02}.000Z","sessionId":"5e55107e-0000-4000-8000-000000000000","cwd":"{cwd}","version":"2.1.39"}}"#,
        uuid(n),
        n / 60,
        n % 60
    ) + "\n"
}

fn uuid(n: u32) -> String {
    format!("00000000-0000-4000-8000-{n:012}")
}

/// Two records for each turn.
fn turns(count: u32) -> Vec<String> {
    let of = |n| [record(n, "user", &format!("ask {n}")), record(n + 1, "assistant", "done")];
    (1..=count * 2).step_by(2).flat_map(of).collect()
}

/// A compaction behind record `last` that preserves the first turn: its boundary, and what it sums up.
fn compacted(last: u32, summary: &str) -> String {
    let boundary = format!(
        r#"{{"parentUuid":null,"logicalParentUuid":"{}","isSidechain":false,"type":"system","subtype":"compact_boundary","content":"Conversation compacted","uuid":"{}","timestamp":"2026-03-01T01:00:00.000Z","compactMetadata":{{"trigger":"manual","preTokens":9,"preservedMessages":{{"anchorUuid":"{}","uuids":["{}","{}"]}}}}}}"#,
        uuid(last),
        uuid(last + 1),
        uuid(last + 2),
        uuid(1),
        uuid(2),
    );
    let summary = record(last + 2, "user", summary).replacen('{', "{\"isCompactSummary\":true,", 1);
    boundary + "\n" + &summary
}

fn live(engine: &Engine, path: &Path) -> CommitId {
    let options = CaptureOptions::live(Trigger::ToolCall);
    engine.capture(path, &options).expect("captured").session.tip.expect("a tip")
}

fn full() -> CaptureOptions {
    CaptureOptions { full: true, ..CaptureOptions::import() }
}

fn tips(engine: &Engine) -> Vec<CommitId> {
    let page = Page { skip: 0, rows_max: 100 };
    let tips = engine.store().tips(&TipFilter::default(), page).expect("tips");
    tips.into_iter().map(|commit| commit.id).collect()
}

fn key_of(path: &Path) -> SessionKey {
    let path = path.canonicalize().expect("a file").to_string_lossy().into_owned();
    SessionKey { machine: MachineId::new("m1").expect("a name"), path }
}

fn append(path: &Path, text: &str) {
    let mut file = std::fs::OpenOptions::new().append(true).open(path).expect("a file");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("appended");
}

/// Where a stored cursor has its version, and the mark of the rules behind the name of `claude-code-v1`.
const VERSION: std::ops::Range<usize> = 0..1;
const RULES: std::ops::Range<usize> = 16..32;

/// Rewrites a part of a stored cursor; what the engine keeps there is its own business, so only for this test.
fn edit_cursor(engine: &Engine, path: &Path, part: std::ops::Range<usize>) {
    let key = key_of(path);
    let mut value = engine.store().cursor(&key).expect("read").expect("a cursor");
    value[part].fill(99);
    engine.store().commit_batch(vec![Write::Cursor { key, value }]).expect("written");
}

fn request(content: &[u8]) -> CheckpointRequest {
    CheckpointRequest {
        created_at: Some(Timestamp::from_micros(1_772_323_200_000_000)),
        trigger: Trigger::TurnBoundary,
        ..CheckpointRequest::delta(
            content.to_vec(),
            FormatId::new("claude-code-v1").expect("a name"),
            Template::new("reviewer").expect("a name"),
            SessionId::new("review-1").expect("a name"),
        )
    }
}

fn api_session(engine: &Engine) -> stemmata_store::Session {
    let key = SessionKey { machine: MachineId::new("m1").expect("a name"), path: "api:review-1".to_owned() };
    engine.store().session(&key).expect("read").expect("a session")
}

#[test]
fn a_summary_with_a_secret_was_kept_as_the_sessions_title() {
    let engine = engine();
    let secret = ["ghp_", "a8F3kLmQ92xZ", "vB7nTy5Rw1Cd", "E4gH6jK0pSuX"].concat();
    let summary = Some(format!("pushed with {secret}"));
    engine
        .checkpoint(&CheckpointRequest { summary, ..request(record(1, "user", "hi").as_bytes()) })
        .expect("made");
    assert!(!format!("{:?}", api_session(&engine)).contains(&secret), "{:?}", api_session(&engine));
}

#[test]
fn a_secret_of_several_lines_was_stored_where_the_content_is_plain_text() {
    let engine = engine();
    let body = "MIIEowIBAAKCAQEAx7Kq2mWv9LpR4tYb8NcZ1sDf6GhJ3aEu5QoTx7Kq2mWv9LpR\n".repeat(6);
    let text = [
        "this is the key\n-----BEGIN RSA ",
        "PRIVATE KEY-----\n",
        &body,
        "-----END RSA ",
        "PRIVATE KEY-----\n",
    ]
    .concat();
    let format = FormatId::new("own-v1").expect("a name");
    let made = engine.checkpoint(&CheckpointRequest { format, ..request(text.as_bytes()) }).expect("made");
    let stored = String::from_utf8(native(&engine, made.id)).expect("text");
    assert!(!stored.contains("MIIEowIBAAKCAQEAx7Kq2mWv9LpR4tYb8NcZ"), "{stored}");
    assert!(stored.starts_with("this is the key\n"), "{stored}");
}

#[test]
fn a_summary_longer_than_a_title_failed_the_checkpoint() {
    let engine = engine();
    let summary = Some("what was found out \n".repeat(40));
    let made = engine
        .checkpoint(&CheckpointRequest { summary, ..request(record(1, "user", "hi").as_bytes()) })
        .expect("made");
    assert!(engine.show(made.id).expect("shown").summary.text.len() > 600, "the summary is whole");
    let title = api_session(&engine).title.expect("a title");
    assert!(title.chars().count() <= 200 && !title.contains('\n'), "{title:?}");
}

#[test]
fn a_sessions_counts_left_out_its_newest_checkpoint_and_grew_with_each_retry() {
    let engine = engine();
    let first = request(record(1, "user", "hi").as_bytes());
    let root = engine.checkpoint(&first).expect("made").id;
    let second = CheckpointRequest {
        parent: Some(root),
        created_at: Some(Timestamp::from_micros(1_772_323_300_000_000)),
        ..request(record(2, "assistant", "hello").as_bytes())
    };
    let tip = engine.checkpoint(&second).expect("made").id;
    engine.checkpoint(&second).expect("made again");
    let session = api_session(&engine);
    let commit = engine.store().commit(tip).expect("read").expect("there");
    assert_eq!(
        (session.tip, session.commits, session.messages, session.bytes),
        (Some(tip), 2, 2, commit.cumulative_bytes)
    );
}

#[test]
fn a_title_that_was_given_later_was_not_seen() {
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("s.jsonl", turns(2).concat().as_bytes());
    assert_eq!(import(&engine, &path).session.title.as_deref(), Some("ask 1"));
    folder.append("s.jsonl", b"{\"type\":\"custom-title\",\"customTitle\":\"mine\",\"sessionId\":\"s\"}\n");
    assert_eq!(import(&engine, &path).session.title.as_deref(), Some("mine"));
}

#[test]
fn what_stood_before_a_line_that_is_too_long_was_dropped() {
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("s.jsonl", turns(3).concat().as_bytes());
    let bytes = turns(3).concat().len() as u64 + LINE_BYTES_MAX as u64 + 2;
    std::fs::OpenOptions::new().write(true).open(&path).expect("a file").set_len(bytes).expect("long");
    for _ in 0..2 {
        let error = engine.capture(&path, &CaptureOptions::import()).expect_err("too long");
        assert!(matches!(error, EngineError::LineTooLong { line: 7, .. }), "{error}");
    }
    let session = engine.store().session(&key_of(&path)).expect("read").expect("what was good is kept");
    assert_eq!(native(&engine, session.tip.expect("a tip")), turns(3).concat().as_bytes());
}

#[test]
fn a_full_import_left_covered_turns_open() {
    let folder = Folder::new();
    let engine = engine();
    let lines = turns(2);
    let path = folder.write("s.jsonl", lines[..1].concat().as_bytes());
    live(&engine, &path);
    folder.append("s.jsonl", lines[1..].concat().as_bytes());
    let tip = engine.capture(&path, &full()).expect("captured").session.tip.expect("a tip");
    assert_eq!(tips(&engine), [tip]);
}

#[test]
fn a_lost_cursor_left_covered_turns_open() {
    let folder = Folder::new();
    let engine = engine();
    let lines = turns(2);
    let path = folder.write("s.jsonl", lines[..1].concat().as_bytes());
    live(&engine, &path);
    folder.append("s.jsonl", lines[1..].concat().as_bytes());
    edit_cursor(&engine, &path, VERSION);
    let tip = import(&engine, &path).session.tip.expect("a tip");
    assert_eq!(tips(&engine), [tip]);
}

#[test]
fn an_import_under_other_rules_that_changes_all_was_not_linked() {
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(1).build()));
    let old = import(&engine, &path).session.tip.expect("a tip");
    let old = closed(&engine, old).last().copied().expect("a closed commit");
    edit_cursor(&engine, &path, RULES);
    // Other rules replace other bytes: for the engine that is another file.
    folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(2).build()));
    let captured = import(&engine, &path);
    let root = chain(&engine, captured.session.tip.expect("a tip"))[0].id;
    let links = engine.store().links(root, 10).expect("links");
    assert_eq!(links.first().map(|link| (link.kind, link.to)), Some((LinkKind::DerivedFrom, old)));
    let note = captured.notes.iter().find(|note| note.code == NoteCode::Rewritten).expect("a note");
    assert!(note.message.contains("redaction rules"), "{note}");
}

#[test]
fn a_session_of_one_turn_that_was_replaced_was_hidden() {
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("s.jsonl", record(1, "user", "the old question").as_bytes());
    let old = import(&engine, &path).session.tip.expect("a tip");
    folder.write("s.jsonl", turns(3).concat().as_bytes());
    let captured = import(&engine, &path);
    let new = captured.session.tip.expect("a tip");
    let mut tips = tips(&engine);
    tips.sort();
    let mut expected = vec![old, new];
    expected.sort();
    assert_eq!(tips, expected);
    assert!(captured.notes.iter().any(|note| note.code == NoteCode::Rewritten), "{:?}", captured.notes);
    let root = chain(&engine, new)[0].id;
    let links = engine.store().links(root, 10).expect("links");
    assert_eq!(links.first().map(|link| (link.from, link.to)), Some((root, old)));
}

#[test]
fn a_file_that_was_cut_at_a_boundary_did_not_say_what_it_had_held() {
    let folder = Folder::new();
    let engine = engine();
    let text = turns(3).concat();
    let path = folder.write("s.jsonl", text.as_bytes());
    let old = import(&engine, &path).session.tip.expect("a tip");
    let commits = chain(&engine, old);
    let kept = commits[commits.len() - 2].cumulative_bytes;
    folder.write("s.jsonl", &text.as_bytes()[..usize::try_from(kept).expect("small")]);
    let captured = import(&engine, &path);
    let note = captured.notes.iter().find(|note| note.code == NoteCode::Rewritten).expect("a note");
    assert!(note.message.contains(&old.to_string()), "{note}");
    assert!(tips(&engine).contains(&old));
}

#[test]
fn a_large_open_turn_that_was_only_touched_was_said_to_be_replaced() {
    let folder = Folder::new();
    let engine = engine();
    // More than one part, so that it cannot be compared in memory.
    let long = "word ".repeat(500_000);
    let mut lines = turns(1);
    lines.extend((3..6).map(|n| record(n, "assistant", &long)));
    let path = folder.write("s.jsonl", lines.concat().as_bytes());
    let old = import(&engine, &path).session.tip.expect("a tip");
    folder.write("s.jsonl", (lines.concat() + &record(6, "user", "next")).as_bytes());
    std::fs::rename(&path, folder.path().join("moved")).expect("moved");
    std::fs::copy(folder.path().join("moved"), &path).expect("another file with the same bytes");
    let captured = import(&engine, &path);
    assert!(captured.notes.is_empty(), "{:?}", captured.notes);
    assert_eq!(tips(&engine), [captured.session.tip.expect("a tip")]);
    assert_ne!(captured.session.tip, Some(old));
}

fn faulty() -> (Arc<FaultyStore<MemoryStore>>, Engine) {
    let inner = MemoryStore::new(StoreIdentity { store_id: [1; 16], secret: [2; 32] });
    let store = Arc::new(FaultyStore::new(inner));
    (Arc::clone(&store), engine_on("m1", store))
}

#[test]
fn a_second_reading_that_was_interrupted_forgot_the_first_one() {
    let folder = Folder::new();
    let (store, engine) = faulty();
    let path = folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(1).build()));
    let old = import(&engine, &path).session.tip.expect("a tip");
    let old = closed(&engine, old).last().copied().expect("a closed commit");
    // Enough for several batches.
    folder.write("s.jsonl", turns(900).concat().as_bytes());
    store.fail(2, Fault::Before);
    engine.capture(&path, &CaptureOptions::import()).expect_err("interrupted");
    let tip = import(&engine, &path).session.tip.expect("a tip");
    let root = chain(&engine, tip)[0].id;
    let links = engine.store().links(root, 10).expect("links");
    assert_eq!(links.first().map(|link| (link.from, link.to)), Some((root, old)));
}

#[test]
fn a_placed_file_that_was_read_again_was_no_longer_a_child() {
    type Lose<'a> = &'a dyn Fn(&Engine, &Path);
    let lost: [Lose<'_>; 3] =
        [&|_, _| {}, &|engine, path| edit_cursor(engine, path, VERSION), &|engine, path| {
            edit_cursor(engine, path, RULES);
        }];
    for (number, lose) in lost.into_iter().enumerate() {
        let folder = Folder::new();
        let engine = engine();
        let path = folder.write("s.jsonl", turns(4).concat().as_bytes());
        let ctx = closed(&engine, import(&engine, &path).session.tip.expect("a tip"))[1];
        let placed = engine.place(ctx, &placing(&folder)).expect("placed");
        append(&placed.path, &record(99, "user", "go on"));
        lose(&engine, &placed.path);
        let options = if number == 0 { full() } else { CaptureOptions::import() };
        let captured = engine.capture(&placed.path, &options).expect("captured");
        let child = chain(&engine, captured.session.tip.expect("a tip"));
        let parent = child.iter().rev().nth(1).map(|commit| commit.id);
        assert_eq!(parent, Some(ctx), "case {number}");
        assert_eq!(captured.notes, [], "case {number}");
        let whole = engine.capture(&placed.path, &full()).expect("captured");
        assert_eq!((whole.session.tip, whole.new_commits), (captured.session.tip, 0), "case {number}");
    }
}

#[test]
fn a_placed_session_forgot_the_messages_of_the_commit_that_it_continues() {
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("s.jsonl", turns(4).concat().as_bytes());
    let tip = import(&engine, &path).session.tip.expect("a tip");
    let placed = engine.place(tip, &placing(&folder)).expect("placed");
    append(&placed.path, &record(99, "user", "go on"));
    let captured = import(&engine, &placed.path);
    assert_eq!((captured.session.messages, captured.entries), (9, 9));
}

#[test]
fn a_placed_file_that_could_not_be_recorded_stayed_in_the_clients_home() {
    let folder = Folder::new();
    for number in 1.. {
        let (store, engine) = faulty();
        let path = folder.write("s.jsonl", turns(2).concat().as_bytes());
        let tip = import(&engine, &path).session.tip.expect("a tip");
        store.fail(number, Fault::Before);
        let placed = engine.place(tip, &placing(&folder));
        let left: Vec<PathBuf> = crate::support::jsonl_below(&folder.path().join("client"));
        if placed.is_ok() {
            assert!(number > 1, "placing writes to the store");
            break;
        }
        assert_eq!(left, Vec::<PathBuf>::new(), "write {number}");
    }
}

#[test]
fn paths_were_not_mapped_in_what_has_no_transcript_of_its_own() {
    let folder = Folder::new();
    let engine = engine();
    let mut lines = turns(2);
    lines.push(record(5, "user", &"a long question ".repeat(40)));
    lines.push(record_in("/work/below", 6, "assistant", "went to a folder below"));
    let path = folder.write("s.jsonl", lines.concat().as_bytes());
    let tip = import(&engine, &path).session.tip.expect("a tip");
    let compacted = engine.compact_given(tip, "short").expect("compacted").id;
    let snapshot = engine.snapshot(tip, Stop::Compaction).expect("a snapshot");
    for ctx in [tip, compacted, snapshot] {
        let options = PlaceOptions { stop: Stop::Root, ..placing(&folder) };
        let placed = engine.place(ctx, &options).expect("placed");
        let text = std::fs::read_to_string(&placed.path).expect("a file");
        assert!(!text.contains("\"cwd\":\"/work"), "{text}");
        assert!(text.contains("\"cwd\":\"/new/place/below\""), "{text}");
    }
}

#[test]
fn a_record_with_an_endless_path_could_not_be_imported() {
    let folder = Folder::new();
    let engine = engine();
    let long = format!("/{}", "x".repeat(5_000));
    let text = record(1, "user", "hi") + &record_in(&long, 2, "assistant", "done");
    let captured = import(&engine, &folder.write("s.jsonl", text.as_bytes()));
    assert_eq!(native(&engine, captured.session.tip.expect("a tip")), text.as_bytes());
}

#[test]
fn a_named_pipe_was_waited_for() {
    let folder = Folder::new();
    let pipe = folder.path().join("pipe.jsonl");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: no mkfifo here");
        return;
    }
    let (said, heard) = std::sync::mpsc::channel();
    let named = pipe.clone();
    std::thread::spawn(move || {
        let engine = engine();
        let captured = engine.capture(&named, &CaptureOptions::import()).map_err(|error| error.to_string());
        let report = engine.import(&[named], &CaptureOptions::import(), 1, &|_| ()).expect("a report");
        said.send((captured, report.failures.len())).expect("somebody listens");
    });
    let (captured, failures) =
        heard.recv_timeout(std::time::Duration::from_secs(20)).expect("an answer without a writer");
    assert!(captured.is_err_and(|message| message.contains("pipe.jsonl is not a transcript")));
    assert_eq!(failures, 1);
}

#[test]
fn folders_too_deep_were_passed_over_in_silence() {
    let folder = Folder::new();
    let mut deep = folder.path().to_owned();
    deep.extend(std::iter::repeat_n("d", 40));
    std::fs::create_dir_all(&deep).expect("folders");
    std::fs::File::create(deep.join("s.jsonl")).expect("a file");
    let report = engine()
        .import(&[folder.path().to_owned()], &CaptureOptions::import(), 1, &|_| ())
        .expect("a report");
    assert_eq!((report.sessions.len(), report.failures.len()), (0, 1), "{report:?}");
}

#[test]
fn a_subagent_that_came_before_its_parent_was_never_linked() {
    let folder = Folder::new();
    let engine = engine();
    let session = ClaudeSession::new(17).turns(4).subagents(2).build();
    let main =
        folder.write(&format!("{}.jsonl", session.session_id), (session.lines.join("\n") + "\n").as_bytes());
    let sides: Vec<PathBuf> = session
        .subagents
        .iter()
        .map(|side| {
            let name = side.path.rsplit('/').next().expect("a name");
            folder.write(name, (side.lines.join("\n") + "\n").as_bytes())
        })
        .collect();
    let take =
        |paths: &[PathBuf]| engine.import(paths, &CaptureOptions::import(), 1, &|_| ()).expect("imported");
    let report = take(&sides);
    take(&[main]);
    for side in &report.sessions {
        let root = chain(&engine, side.captured.session.tip.expect("a tip"))[0].id;
        let links = engine.store().links(root, 10).expect("links");
        assert!(links.len() == 1 && links[0].entry.is_some(), "{links:?}");
    }
}

#[test]
fn a_covered_commit_made_a_moment_ambiguous() {
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("s.jsonl", turns(1).concat().as_bytes());
    live(&engine, &path);
    // A line without a time: what was seen first and what closed have the same moment.
    folder.append("s.jsonl", b"{\"type\":\"mode\",\"mode\":\"plan\",\"sessionId\":\"s\"}\n");
    folder.append("s.jsonl", record(3, "user", "next").as_bytes());
    let session = import(&engine, &path).session;
    let first = chain(&engine, session.tip.expect("a tip"))[0].clone();
    let scope = ResolveScope::Session(session.session.clone());
    let found = engine.resolve(&scope, first.core.created_at).expect("resolved");
    assert_eq!(found, [first.id]);
}

#[test]
fn a_fork_at_an_entry_above_a_snapshot_restated_what_came_before() {
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("s.jsonl", turns(3).concat().as_bytes());
    let tip = import(&engine, &path).session.tip.expect("a tip");
    let snapshot = engine.snapshot(tip, Stop::Compaction).expect("a snapshot");
    let at = |ctx: CommitId| {
        let options = PlaceOptions { at_entry: Some(uuid(4)), ..placing(&folder) };
        engine.place(ctx, &options).expect("placed").ctx
    };
    assert_eq!(at(snapshot), at(tip));
}

#[test]
fn preserved_records_far_back_failed_the_import() {
    let folder = Folder::new();
    let engine = engine();
    // Turns of which a planner keeps two in memory, and the third is to be kept.
    let long = "x".repeat(46 * 1024 * 1024);
    let mut text = record(1, "user", &format!("ask 1 {long}")) + &record(2, "assistant", "done");
    for turn in 1..=3 {
        let n = turn * 2 + 1;
        text += &record(n, "user", &long);
        text += &record(n + 1, "assistant", "done");
    }
    text += &compacted(8, "what happened so far");
    let captured = import(&engine, &folder.write("s.jsonl", text.as_bytes()));
    let last = engine.store().commit(captured.session.tip.expect("a tip")).expect("read").expect("there");
    assert_eq!(last.core.commit_type, CommitType::Compaction);
    let mut context = Vec::new();
    engine.materialize(Some(last.id), None, Stop::Compaction, &mut context).expect("materialized");
    assert!(String::from_utf8_lossy(&context).contains("ask 1"), "the kept turn is there");
}

#[test]
fn a_compaction_larger_than_a_part_lost_what_it_preserves() {
    let folder = Folder::new();
    let engine = engine();
    let mut text = turns(1).concat();
    text += &compacted(2, &"what happened so far ".repeat(300_000));
    let captured = import(&engine, &folder.write("s.jsonl", text.as_bytes()));
    let tip = captured.session.tip.expect("a tip");
    assert_eq!(native(&engine, tip), text.as_bytes());
    let mut context = Vec::new();
    engine.materialize(Some(tip), None, Stop::Compaction, &mut context).expect("materialized");
    assert!(String::from_utf8_lossy(&context).contains("ask 1"), "the kept turn is there");
}

/// A clock that lets something happen the first time it is asked: between the look at a cursor and the write.
struct Interrupt(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Clock for Interrupt {
    fn now(&self) -> Timestamp {
        let now = self.0.lock().expect("no test fails inside").take();
        if let Some(act) = now {
            act();
        }
        Timestamp::from_micros(1_800_000_000_000_000)
    }
}

#[test]
fn two_that_read_one_file_at_once_left_a_turn_open_and_the_session_behind() {
    let folder = Folder::new();
    let store = new_store();
    let other = engine_on("m1", store.clone());
    let lines = turns(3);
    let path = folder.write("s.jsonl", lines[..3].concat().as_bytes());
    live(&other, &path);
    folder.append("s.jsonl", lines[3].as_bytes());
    let (faster, rest, there) = (other.clone(), lines[4..].concat(), path.clone());
    let act: Box<dyn FnOnce() + Send> = Box::new(move || {
        append(&there, &rest);
        live(&faster, &there);
    });
    let identity = Identity {
        machine: MachineId::new("m1").expect("a name"),
        machine_label: "m1".to_owned(),
        user: "ada".to_owned(),
        former: Vec::new(),
    };
    let slower =
        Engine::over(store, Arc::new(Interrupt(Mutex::new(Some(act)))), Arc::new(RandomIds), identity);
    let seen = live(&slower, &path);
    let tip = other.store().session(&key_of(&path)).expect("read").expect("a session").tip.expect("a tip");
    assert!(native(&other, tip) == lines.concat().as_bytes(), "the session does not go back");
    assert_eq!(tips(&other), [tip]);
    assert_eq!(seen, tip);
    let open = other.store().commits_after(None, 100).expect("commits");
    let open = open.iter().filter(|commit| commit.closure == Closure::Provisional).count();
    assert_eq!(open, 1);
}

#[test]
fn a_granularity_that_changed_was_said_to_be_a_rewritten_file() {
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("s.jsonl", turns(3).concat().as_bytes());
    import(&engine, &path);
    let captured = engine
        .capture(&path, &CaptureOptions { granularity: Granularity::Message, ..full() })
        .expect("captured");
    for note in &captured.notes {
        assert!(!note.message.contains("rewritten"), "{note}");
    }
    assert_eq!(captured.session.granularity, Granularity::Message);
    assert_eq!(native(&engine, captured.session.tip.expect("a tip")), turns(3).concat().as_bytes());
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_is_no_text_was_placed_somewhere_else() {
    use std::os::unix::ffi::OsStringExt as _;
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("s.jsonl", turns(2).concat().as_bytes());
    let tip = import(&engine, &path).session.tip.expect("a tip");
    let cwd = PathBuf::from(std::ffi::OsString::from_vec(b"/work/\xff".to_vec()));
    let refused = engine.place(tip, &PlaceOptions { cwd, ..placing(&folder) });
    assert!(refused.is_err_and(|error| error.kind() == ErrorKind::Refused));
}

#[cfg(target_os = "linux")]
#[test]
fn two_files_whose_names_are_no_text_were_one_session() {
    use std::os::unix::ffi::OsStringExt as _;
    let folder = Folder::new();
    let engine = engine();
    let name = |bytes: &[u8]| folder.path().join(std::ffi::OsString::from_vec(bytes.to_vec()));
    let (one, two) = (name(b"a\xfe.jsonl"), name(b"a\xff.jsonl"));
    for (path, count) in [(&one, 1), (&two, 2)] {
        std::fs::File::create(path).expect("a file");
        append(path, &turns(count).concat());
    }
    let (first, second) = (import(&engine, &one).session, import(&engine, &two).session);
    assert_ne!(first.key, second.key);
}

#[test]
fn an_early_look_that_ended_where_a_commit_closed_later_was_covered_instead() {
    let folder = Folder::new();
    let engine = engine();
    let lines = turns(2);
    let path = folder.write("s.jsonl", lines[..2].concat().as_bytes());
    live(&engine, &path);
    let (begun, rest) = lines[2].split_at(40);
    folder.append("s.jsonl", begun.as_bytes());
    import(&engine, &path);
    folder.append("s.jsonl", rest.as_bytes());
    let tip = import(&engine, &path).session.tip.expect("a tip");
    let closures: Vec<Closure> = chain(&engine, tip).iter().map(|commit| commit.closure).collect();
    assert_eq!(closures, [Closure::Closed, Closure::Provisional]);
    assert_eq!(tips(&engine), [tip]);
}

#[test]
fn an_import_into_a_full_store_tried_every_file() {
    let folder = Folder::new();
    let (store, engine) = faulty();
    for name in ["a.jsonl", "b.jsonl", "c.jsonl"] {
        folder.write(name, turns(2).concat().as_bytes());
    }
    store.fail(1, Fault::Before);
    let report =
        engine.import(&[folder.path().to_owned()], &CaptureOptions::import(), 1, &|_| ()).expect("a report");
    assert_eq!((report.sessions.len(), report.failures.len(), store.batches()), (0, 3, 1), "{report:?}");
    assert!(report.failures.iter().all(|failure| failure.error.kind() == ErrorKind::Full), "{report:?}");
}

#[test]
fn a_tree_with_very_many_children_did_not_say_that_it_is_cut() {
    let engine = engine();
    let root = engine.checkpoint(&request(record(1, "user", "hi").as_bytes())).expect("made").id;
    for n in 0..1_001 {
        let text = record(2, "assistant", &format!("answer {n}"));
        let child = CheckpointRequest { parent: Some(root), ..request(text.as_bytes()) };
        engine.checkpoint(&child).expect("made");
    }
    let tree = engine.tree(root).expect("a tree");
    assert!(tree.is_cut && tree.nodes.len() == 1_001, "{} nodes", tree.nodes.len());
}

#[test]
fn the_retry_key_of_one_session_was_taken_for_anothers() {
    let engine = engine();
    let with = |session: &str, key: &str, text: &str| {
        let asked = CheckpointRequest {
            session: SessionId::new(session).expect("a name"),
            idempotency_key: Some(key.to_owned()),
            ..request(record(1, "user", text).as_bytes())
        };
        engine.checkpoint(&asked).expect("made")
    };
    assert_ne!(with("a", "b#c", "one").id, with("a#b", "c", "two").id);
}

#[test]
fn what_follows_a_torn_line_in_a_placed_session_is_still_a_record() {
    let folder = Folder::new();
    let engine = engine();
    let text = turns(2).concat() + r#"{"parentUuid":"00000000"#;
    let tip = import(&engine, &folder.write("s.jsonl", text.as_bytes())).session.tip.expect("a tip");
    let placed = engine.place(tip, &placing(&folder)).expect("placed");
    append(&placed.path, &record(5, "user", "go on"));
    let child = import(&engine, &placed.path).session.tip.expect("a tip");
    let mut context = Vec::new();
    let made = engine.materialize(Some(child), None, Stop::Root, &mut context).expect("materialized");
    assert_eq!(made.counts.messages, 5, "{}", String::from_utf8_lossy(&context));
    let again = engine.place(child, &placing(&folder)).expect("placed again");
    assert_eq!(again.messages, 5);
}

#[test]
fn an_open_turn_was_stored_whole_each_time_it_was_looked_at() {
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("s.jsonl", record(1, "user", "go").as_bytes());
    let mut seen = Vec::new();
    for n in 2..320 {
        folder.append("s.jsonl", record(n, "assistant", &format!("step {n}")).as_bytes());
        seen.push((live(&engine, &path), std::fs::metadata(&path).expect("a file").len()));
    }
    folder.append("s.jsonl", record(320, "user", "next").as_bytes());
    live(&engine, &path);
    let file = std::fs::read(&path).expect("a file");
    for (ctx, length) in seen {
        assert!(native(&engine, ctx) == file[..usize::try_from(length).expect("small")], "{ctx}");
    }
    let usage = engine.store().usage().expect("usage");
    let length = u64::try_from(file.len()).expect("small");
    // Once in pieces, and once whole because there were so many.
    assert!(usage.distinct_bytes < length * 2, "{} bytes for {length}", usage.distinct_bytes);
    assert_eq!(tips(&engine).len(), 1);
    assert_eq!(damages(engine.store()), []);
}
