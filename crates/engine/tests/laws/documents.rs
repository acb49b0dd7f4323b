//! Transcripts that are one document: each state is a snapshot, and lists of several commits are one list.

use proptest::prelude::*;
use stemmata_engine::{
    CaptureOptions, CheckpointRequest, Engine, EngineError, ErrorKind, PlaceOptions, Stop,
};
use stemmata_model::{CommitId, CommitType, FormatId, SessionId, Template, Trigger};

use crate::support::{Folder, chain, closed, engine, import, native, placing};

fn message(role: &str, text: &str) -> String {
    format!(r#"  {{"role": "{role}", "content": [{{"type": "text", "text": "{text}"}}]}}"#)
}

/// An array of so many messages, with a call so that no other format claims it.
pub(crate) fn array(messages: usize, word: &str) -> String {
    let mut all = vec![
        message("user", "begin"),
        r#"  {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_x", "name": "look", "input": {}}]}"#
            .to_owned(),
        r#"  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_x", "content": "seen"}]}"#
            .to_owned(),
    ];
    for number in 0..messages {
        let role = if number % 2 == 0 { "assistant" } else { "user" };
        all.push(message(role, &format!("{word} {number} {}", "so it goes ".repeat(40))));
    }
    format!("[\n{}\n]\n", all.join(",\n"))
}

fn format() -> FormatId {
    FormatId::new("anthropic-messages-v1").expect("a name")
}

fn materialized(engine: &Engine, ctx: CommitId, stop: Stop) -> String {
    let mut bytes = Vec::new();
    engine.materialize(Some(ctx), None, stop, &mut bytes).expect("materialized");
    String::from_utf8(bytes).expect("text")
}

#[test]
fn invariant_07_a_document_comes_back_byte_for_byte_in_each_of_its_states() {
    let folder = Folder::new();
    let engine = engine();
    let mut tips = Vec::new();
    for messages in [3, 3, 9, 40] {
        let bytes = array(messages, "word");
        let path = folder.write("talk.json", bytes.as_bytes());
        let captured = import(&engine, &path);
        let tip = captured.session.tip.expect("a tip");
        assert_eq!(native(&engine, tip), bytes.as_bytes());
        assert_eq!(materialized(&engine, tip, Stop::Compaction), bytes);
        assert_eq!(captured.session.messages, u64::try_from(messages).expect("small") + 3, "the state's own");
        if tips.last() != Some(&(tip, messages)) {
            assert_eq!(captured.new_commits, 1);
            tips.push((tip, messages));
        }
    }
    assert_eq!(tips.len(), 3, "a state that is the same is not a commit");
    let (last, _) = tips.last().expect("a tip");
    let commits = chain(&engine, *last);
    let restated: Vec<u64> = commits
        .iter()
        .map(|commit| match commit.core.commit_type {
            CommitType::Snapshot { restated_entries } => restated_entries,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(restated, [0, 6, 12], "what stands before is restated");
    for (tip, messages) in tips {
        assert_eq!(native(&engine, tip), array(messages, "word").as_bytes(), "older states stay");
    }
}

#[test]
fn a_document_that_is_unchanged_or_only_touched_is_nothing_new() {
    let folder = Folder::new();
    let engine = engine();
    let bytes = array(5, "word");
    let path = folder.write("talk.json", bytes.as_bytes());
    let first = import(&engine, &path);
    assert_eq!(import(&engine, &path).new_commits, 0, "unchanged");
    folder.write("talk.json", bytes.as_bytes());
    let touched = import(&engine, &path);
    assert_eq!((touched.new_commits, touched.session.tip), (0, first.session.tip), "touched");
    let full =
        engine.capture(&path, &CaptureOptions { full: true, ..CaptureOptions::import() }).expect("read");
    assert_eq!((full.new_commits, full.session.tip), (0, first.session.tip), "read again");
    assert_eq!(full.session.messages, first.session.messages);
}

#[test]
fn a_document_that_grows_costs_what_is_new() {
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("talk.json", array(400, "word").as_bytes());
    let first = import(&engine, &path).bytes_stored;
    folder.write("talk.json", array(402, "word").as_bytes());
    let second = import(&engine, &path).bytes_stored;
    assert!(second * 10 < first, "{second} of {first} bytes again");
}

#[test]
fn a_cut_document_is_refused_and_what_was_there_stays() {
    let folder = Folder::new();
    let engine = engine();
    let bytes = array(5, "word");
    let (half, _) = bytes.split_at(bytes.len() - 200);
    let path = folder.write("talk.json", half.as_bytes());
    let torn = engine.capture(&path, &CaptureOptions::import());
    assert!(matches!(&torn, Err(EngineError::Torn { reason, .. }) if reason.contains("cut")), "{torn:?}");
    assert_eq!(torn.map_err(|error| error.kind()).err(), Some(ErrorKind::BadInput));
    folder.write("talk.json", bytes.as_bytes());
    let tip = import(&engine, &path).session.tip;
    folder.write("talk.json", half.as_bytes());
    assert!(engine.capture(&path, &CaptureOptions::live(Trigger::Explicit)).is_err());
    let session = engine.store().session(&import_key(&engine, tip)).expect("a store").expect("a session");
    assert_eq!(session.tip, tip, "the session stays where it was");
    folder.write("talk.json", array(7, "word").as_bytes());
    assert_eq!(chain(&engine, import(&engine, &path).session.tip.expect("a tip")).len(), 2);
}

fn import_key(engine: &Engine, tip: Option<CommitId>) -> stemmata_store::SessionKey {
    let all = engine
        .store()
        .sessions(&stemmata_store::SessionFilter::default(), stemmata_store::Page { skip: 0, rows_max: 9 })
        .expect("sessions");
    all.into_iter().find(|session| session.tip == tip).expect("the session").key
}

#[test]
fn secrets_in_a_document_are_replaced_and_it_stays_one() {
    let folder = Folder::new();
    let engine = engine();
    let secret = format!("{}{}", "ghp_", "x7Kq2mWv9LpR4tYb8NcZ1sDf6GhJ3aEu5QoT");
    let bytes = array(5, &format!("export GH={secret}"));
    let captured = import(&engine, &folder.write("talk.json", bytes.as_bytes()));
    let stored = native(&engine, captured.session.tip.expect("a tip"));
    assert_eq!(stored, bytes.replace(&secret, "[REDACTED:github-token]").as_bytes());
    assert_eq!(captured.bytes_redacted, 5 * 40);
    assert!(serde_json::from_slice::<serde_json::Value>(&stored).is_ok());
}

#[test]
fn a_document_can_be_cut_at_a_message() {
    let folder = Folder::new();
    let engine = engine();
    let tip =
        import(&engine, &folder.write("talk.json", array(6, "word").as_bytes())).session.tip.expect("a tip");
    let entries = engine.entries(tip).expect("entries");
    for (at, kept, is_prompt) in [(3, 4, false), (4, 4, true), (8, 8, true), (7, 8, false), (0, 0, true)] {
        let Some(entry) = entries.get(at) else { panic!("{} entries", entries.len()) };
        let options = PlaceOptions {
            runtime: Some("claude-code".to_owned()),
            at_entry: Some(entry.id.to_string()),
            ..placing(&folder)
        };
        let placed = engine.place(tip, &options);
        if kept == 0 {
            assert!(placed.is_err(), "nothing comes before");
            continue;
        }
        let placed = placed.unwrap_or_else(|error| panic!("at {at}: {error}"));
        assert_eq!((placed.messages, placed.prompt.is_some()), (kept, is_prompt), "at {at}");
    }
}

fn checkpoint(engine: &Engine, parent: Option<CommitId>, bytes: &str) -> CommitId {
    let template = Template::new("own/main").expect("a name");
    let session = SessionId::new("own").expect("a name");
    let request = CheckpointRequest::delta(bytes.as_bytes().to_vec(), format(), template, session);
    engine.checkpoint(&CheckpointRequest { parent, ..request }).expect("a checkpoint").id
}

#[test]
fn arrays_of_a_chain_come_back_as_one() {
    let engine = engine();
    let (one, two, three) = (message("user", "a"), message("assistant", "b"), message("user", "c"));
    let first = checkpoint(&engine, None, &format!("[\n{one},\n{two}\n]\n"));
    let empty = checkpoint(&engine, Some(first), " [ ]");
    let last = checkpoint(&engine, Some(empty), &format!("[{three}]"));
    let joined = format!("[\n{one},\n{two},{}\n]\n", three.trim());
    assert_eq!(String::from_utf8(native(&engine, last)).expect("text"), joined);
    assert_eq!(materialized(&engine, last, Stop::Compaction), joined);
    assert_eq!(materialized(&engine, last, Stop::Ancestor(empty)), format!(" [ {}]", three.trim()));
    let snapshot = engine.snapshot(last, Stop::Compaction).expect("a snapshot");
    let after = checkpoint(&engine, Some(snapshot), &format!("[{two}]"));
    assert_eq!(native(&engine, after).len(), joined.len() + 1 + two.trim().len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    /// However often a document is looked at, and by whom: the same states give the same commits.
    #[test]
    fn invariant_06_live_equals_imported_for_documents(
        states in proptest::collection::vec((0..12_usize, 0..3_usize), 1..6),
        looks in proptest::collection::vec(any::<bool>(), 6),
    ) {
        let folder = Folder::new();
        let (live, imported) = (engine(), engine());
        let mut tips = (None, None);
        for ((messages, word), is_live) in states.into_iter().zip(looks) {
            let path = folder.write("talk.json", array(messages, ["a", "b", "c"][word]).as_bytes());
            let how = if is_live { CaptureOptions::live(Trigger::ToolCall) } else { CaptureOptions::import() };
            tips.0 = live.capture(&path, &how).expect("captured").session.tip;
            tips.1 = import(&imported, &path).session.tip;
        }
        let (left, right) = (tips.0.expect("a tip"), tips.1.expect("a tip"));
        prop_assert_eq!(closed(&live, left), closed(&imported, right));
    }
}
