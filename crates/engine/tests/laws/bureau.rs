//! Transcripts that are CBOR: stored byte for byte, without their secrets, and joined by their heads.

use stemmata_engine::{CaptureOptions, CheckpointRequest, EngineError, PlaceOptions, ScanTarget, Stop};
use stemmata_model::{CommitType, FormatId, SessionId, Template, Trigger};
use stemmata_runtimes::registry;

use crate::support::{Folder, chain, engine, import, native, placing};

fn format() -> FormatId {
    FormatId::new("bureau-agent-v1").expect("a name")
}

/// A string or a container with its head. Lengths up to 255 are enough here.
fn headed(major: u8, count: usize, content: &[u8]) -> Vec<u8> {
    let count = u8::try_from(count).expect("small");
    let head = if count < 24 { vec![major << 5 | count] } else { vec![major << 5 | 0x18, count] };
    [&head, content].concat()
}

fn text(text: &str) -> Vec<u8> {
    headed(3, text.len(), text.as_bytes())
}

fn map(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let all: Vec<u8> = members.iter().flat_map(|(key, value)| [text(key), value.clone()].concat()).collect();
    headed(5, members.len(), &all)
}

fn message(role: &str, said: &str) -> Vec<u8> {
    let block = map(&[("Text", text(said)), ("Type", text("text"))]);
    map(&[("Role", text(role)), ("Content", headed(4, 1, &block))])
}

/// A call whose input is raw JSON in a byte string, as Go writes it.
fn call(input: &str) -> Vec<u8> {
    let own =
        map(&[("ID", text("c1")), ("Name", text("sh")), ("Input", headed(2, input.len(), input.as_bytes()))]);
    let block = map(&[("Type", text("tool_use")), ("ToolUse", own)]);
    map(&[("Role", text("assistant")), ("Content", headed(4, 1, &block))])
}

fn array(items: &[Vec<u8>]) -> Vec<u8> {
    headed(4, items.len(), &items.concat())
}

fn secret() -> String {
    format!("{}{}", "ghp_", "x7Kq2mWv9LpR4tYb8NcZ1sDf6GhJ3aEu5QoT")
}

#[test]
fn invariant_07_an_array_comes_back_byte_for_byte_in_each_of_its_states() {
    let (folder, engine) = (Folder::new(), engine());
    let first = array(&[message("user", "begin")]);
    let second = array(&[message("user", "begin"), message("assistant", "so it goes")]);
    let mut tips = Vec::new();
    for bytes in [&first, &first, &second] {
        let captured = import(&engine, &folder.write("talk.cbor", bytes));
        assert_eq!(captured.session.format, format());
        tips.extend(captured.session.tip);
        assert_eq!(native(&engine, captured.session.tip.expect("a tip")), *bytes);
    }
    assert_eq!(chain(&engine, tips[2]).len(), 2, "a state that is the same is not a commit");
    assert_eq!(native(&engine, tips[0]), first, "older states stay");
    let report =
        engine.import(&[folder.path().to_owned()], &CaptureOptions::import(), 1, &|_| ()).expect("imported");
    assert_eq!(report.sessions.len(), 1, "a folder's are found");
    folder.write("talk.cbor", &second[..second.len() - 1]);
    let torn = engine.capture(&folder.path().join("talk.cbor"), &CaptureOptions::import());
    assert!(matches!(&torn, Err(EngineError::Torn { reason, .. }) if reason.contains("cut")), "{torn:?}");
}

#[test]
fn invariant_13_secrets_are_replaced_in_strings_and_in_raw_json() {
    let (folder, engine) = (Folder::new(), engine());
    let with = |word: &str| {
        array(&[
            message("user", &format!("export GH={word} é")),
            call(&format!("{{\"command\":\"login {word}\",\"n\":1.50}}")),
            message("user", "Go on."),
        ])
    };
    let captured = import(&engine, &folder.write("talk.cbor", &with(&secret())));
    let tip = captured.session.tip.expect("a tip");
    let clean = with("[REDACTED:github-token]");
    assert_eq!(native(&engine, tip), clean);
    assert_eq!(captured.bytes_redacted, 2 * 40);
    let mut found = Vec::new();
    engine
        .scan(&ScanTarget::These(vec![tip], Vec::new()), &mut |secret| {
            found.push(secret);
            true
        })
        .expect("scanned");
    assert!(found.is_empty(), "what is stored holds none");
    let again = import(&engine, &folder.write("other.cbor", &clean));
    assert_eq!((again.session.tip, again.bytes_redacted), (Some(tip), 0), "clean bytes are the same commit");
}

fn request(parent: Option<stemmata_model::CommitId>, bytes: Vec<u8>) -> CheckpointRequest {
    let template = Template::new("bureau-agent/main").expect("a name");
    let session = SessionId::new("hand-made").expect("a name");
    CheckpointRequest { parent, ..CheckpointRequest::delta(bytes, format(), template, session) }
}

#[test]
fn deltas_of_programs_join_by_their_heads_and_compactions_begin_anew() {
    let engine = engine();
    let first = array(&[message("user", &format!("use {}", secret()))]);
    let clean = message("user", "use [REDACTED:github-token]");
    let mut tip = None;
    for bytes in [first, array(&[message("assistant", "aye"), message("user", "and?")]), array(&[])] {
        let made = engine.checkpoint(&request(tip, bytes)).expect("a commit");
        tip = Some(made.id);
    }
    let whole = array(&[clean, message("assistant", "aye"), message("user", "and?")]);
    assert_eq!(native(&engine, tip.expect("a tip")), whole);
    let mut context = Vec::new();
    engine.materialize(tip, None, Stop::Compaction, &mut context).expect("materialized");
    assert_eq!(context, whole);
    let survivors = array(&[message("user", "what survived")]);
    let compaction = CheckpointRequest {
        commit_type: CommitType::Compaction,
        trigger: Trigger::Compaction,
        ..request(tip, survivors)
    };
    let made = engine.checkpoint(&compaction).expect("a commit");
    let after = engine.checkpoint(&request(Some(made.id), array(&[message("assistant", "go on")])));
    let after = after.expect("a commit").id;
    let materialized = |stop| {
        let mut context = Vec::new();
        engine.materialize(Some(after), None, stop, &mut context).expect("materialized");
        context
    };
    let kept = array(&[message("user", "what survived"), message("assistant", "go on")]);
    assert_eq!(materialized(Stop::Compaction), kept);
    let adapter = registry::by_format(&format()).expect("an adapter");
    assert_eq!(
        adapter.decode(&materialized(Stop::Root)).entries.len(),
        4,
        "real messages, what survived not twice"
    );
}

#[test]
fn a_fork_within_an_array_counts_what_it_keeps() {
    let (folder, engine) = (Folder::new(), engine());
    let items =
        [message("user", "a"), message("assistant", "b"), message("user", "c"), message("assistant", "d")];
    let captured = import(&engine, &folder.write("talk.cbor", &array(&items)));
    let tip = captured.session.tip.expect("a tip");
    let adapter = registry::by_format(&format()).expect("an adapter");
    let entries = adapter.decode(&native(&engine, tip)).entries;
    let options = PlaceOptions {
        runtime: Some("claude-code".to_owned()),
        at_entry: Some(entries[1].id.to_string()),
        ..placing(&folder)
    };
    let placed = engine.place(tip, &options).expect("placed");
    // What is placed goes on from the beginning of the array.
    let translated = engine.store().commit(placed.ctx).expect("a store").expect("a commit");
    assert_eq!(native(&engine, translated.core.parent.expect("a parent")), array(&items[..2]));
    assert_eq!(placed.messages, 2);
}
