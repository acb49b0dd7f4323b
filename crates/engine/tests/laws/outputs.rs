//! Outputs of tools in turns: within the limits for any output, whole in an artifact and a file where they are too large, and gone
//! from both when they are forgotten.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use stemmata_api::v1::ArtifactUnit;
use stemmata_engine::prompt::tool_output::{Extent, OutputLimits, TextRange};
use stemmata_engine::{
    BeginTurn, CollectOptions, Engine, EngineError, ForgetOptions, ForgetTarget, OutputFiles, OutputRules,
    Refusal, RetentionRules, ScrubTarget, StoreRules, TurnEnded, TurnMade, TurnOf,
};
use stemmata_model::{
    ArtifactId, Entry, EntryId, NoteCode, Part, Party, Payload, Principal, Role, Template, artifact_id,
    topics,
};
use stemmata_store::conformance::builders::damages;
use stemmata_store::conformance::ledger::builders::{ledger, session};
use stemmata_store::{EventQuery, FileLog, FileLogOptions, SqliteOptions, SqliteStore, Store, StoreError};
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::support::{Folder, engine, engine_on, native};

const LIMITS: OutputLimits = OutputLimits {
    lines_max: 30,
    bytes_max: 1_000,
    chars_max: 900,
    spill_chars: 2_000,
    keep: stemmata_engine::prompt::tool_output::Keep::HeadTail,
};

fn turn(of: &str) -> TurnOf {
    let agent = Party::new("worker").expect("a name");
    TurnOf::new(ledger("p"), session(of), agent, Template::new("worker/main").expect("a name"))
}

fn rules(folder: &Folder) -> OutputRules {
    let temp = folder.path().join("temp");
    fs::create_dir_all(&temp).expect("a folder");
    OutputRules { limits: LIMITS, files: Some(OutputFiles::new(Some(&temp), folder.path().join("outputs"))) }
}

fn result(name: &str, output: &str, is_error: bool) -> TurnMade {
    let call_id = name.to_owned();
    let call = Part::ToolCall { call_id, name: "Bash".to_owned(), arguments: "{}".to_owned() };
    let parts = vec![Part::Text(output.to_owned())];
    let result = Part::ToolResult { call_id: name.to_owned(), is_error, parts };
    let id = |kind: &str| EntryId::new(format!("{name}-{kind}")).expect("a name");
    let entries = vec![
        Entry::said(id("call"), Role::Assistant, vec![call]),
        Entry::said(id("result"), Role::Tool, vec![result]),
    ];
    TurnMade { entries, ..TurnMade::default() }
}

fn take(engine: &Engine, of: &str, output: &str) -> TurnEnded {
    let prompt = Entry::said(
        EntryId::new(format!("{of}-prompt")).expect("a name"),
        Role::User,
        vec![Part::Text("go".to_owned())],
    );
    engine.begin_turn(&BeginTurn::new(turn(of), prompt)).expect("begun");
    engine.end_turn(&turn(of), result(of, output, output.len() % 2 == 1)).expect("ended")
}

/// Returns what a commit says that a tool printed.
fn stored(engine: &Engine, ended: &TurnEnded) -> String {
    let id = ended.checkpoint.as_ref().expect("a commit").id;
    let text = String::from_utf8(native(engine, id)).expect("text");
    let line: serde_json::Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    let parts = line["parts"][0]["parts"].as_array().expect("parts");
    parts[0]["text"].as_str().expect("a text").to_owned()
}

fn reference(notice: &str) -> ArtifactId {
    let at = notice.find("art-").expect("a reference");
    notice[at..at + 68].parse().expect("an artifact")
}

/// Returns the file that a notice names.
fn file(notice: &str) -> PathBuf {
    let line = notice.lines().find_map(|line| line.strip_prefix("Saved to: "));
    PathBuf::from(line.expect("a path"))
}

/// Returns what is in a folder that has one thing in it.
fn only(folder: &Path) -> PathBuf {
    let found: Vec<_> =
        fs::read_dir(folder).expect("listed").map(|entry| entry.expect("read").path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

fn whole(engine: &Engine, id: ArtifactId, page: usize) -> String {
    let (mut text, mut from) = (String::new(), 0);
    loop {
        let range = TextRange { unit: ArtifactUnit::Bytes, from, to: None };
        let read = engine.read_artifact(id, range, page).expect("read");
        assert!(read.text.len() <= page && read.from_byte == from);
        text.push_str(&read.text);
        from = read.to_byte;
        if !read.is_cut {
            assert_eq!(read.bytes, text.len() as u64);
            return text;
        }
    }
}

fn options() -> ForgetOptions {
    ForgetOptions { everywhere: false, even_pinned: false, by: Principal::new("ada").expect("a name") }
}

fn big(seed: &str) -> String {
    (1..=400).map(|line| format!("{seed} line {line}\n")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(2)))]

    #[test]
    fn law_any_output_is_stored_within_the_limits_and_can_be_read_whole(
        piece in "[a-zé日😀\\n\\u{1}\"\\\\]{0,60}", times in 0..120_usize, page in 40..3_000_usize, in_files: bool,
    ) {
        let folder = Folder::new();
        let output = piece.repeat(times);
        let mut engine = engine().with_outputs(rules(&folder));
        if in_files {
            let log = FileLog::open(folder.path(), FileLogOptions::default()).expect("a log");
            engine = engine.with_log(Arc::new(log));
        }
        let ended = take(&engine, "s", &output);
        prop_assert!(ended.notes.is_empty(), "{:?}", ended.notes);
        let text = stored(&engine, &ended);
        prop_assert!(Extent::of(&text).fits(&LIMITS), "{text}");
        if output.chars().count() > LIMITS.spill_chars {
            prop_assert_eq!(whole(&engine, reference(&text), page), output.clone());
            prop_assert_eq!(fs::read_to_string(file(&text)).expect("a file"), output.clone());
        } else if Extent::of(&output).fits(&LIMITS) {
            prop_assert_eq!(&text, &output);
        }
        // The same turn once more is no other one.
        let events = engine.log().events(&ledger("p"), &EventQuery::after(None, 99)).expect("events");
        let again = engine.end_turn(&turn("s"), result("s", &output, output.len() % 2 == 1)).expect("ended");
        prop_assert_eq!(again.checkpoint.map(|made| made.id), ended.checkpoint.map(|made| made.id));
        prop_assert_eq!(engine.log().events(&ledger("p"), &EventQuery::after(None, 99)).expect("events"), events);
        prop_assert_eq!(damages(engine.store()), []);
    }
}

#[test]
fn large_outputs_have_the_default_limits_and_several_parts() {
    let engine = engine();
    let output = "0123456789 and more of it é\n".repeat(60_000);
    let text = stored(&engine, &take(&engine, "s", &output));
    assert!(
        text.starts_with(
            "[tool output too large: 1680000 chars, 1740000 bytes, 60001 lines]\nReference: art-"
        ),
        "{text}"
    );
    let id = reference(&text);
    assert_eq!(whole(&engine, id, 100_000), output);
    let lines = TextRange { unit: ArtifactUnit::Lines, from: 59_999, to: Some(60_001) };
    let read = engine.read_artifact(id, lines, 1_000).expect("read");
    assert_eq!(read.text, "0123456789 and more of it é\n".repeat(2));
    assert_eq!(read.sha256.expect("a digest").len(), 64);
    for (unit, from) in
        [(ArtifactUnit::Lines, 60_002), (ArtifactUnit::Bytes, 1_740_001), (ArtifactUnit::Chars, 1_680_001)]
    {
        let error = engine
            .read_artifact(id, TextRange { unit, from, to: None }, 1_000)
            .expect_err("it is behind the end");
        assert!(
            matches!(error, EngineError::Store(StoreError::Bound { value, .. }) if value == from),
            "{error}"
        );
    }
}

#[test]
fn any_stored_text_is_read_and_what_is_none_is_refused() {
    let engine = engine();
    let ended = take(&engine, "s", "fine");
    let commit = engine.store().commit(ended.checkpoint.expect("a commit").id).expect("read").expect("there");
    let text = whole(&engine, commit.core.artifact, 50);
    assert_eq!(text.as_bytes(), native(&engine, commit.id));
    let absent =
        engine.read_artifact(artifact_id(b"never"), TextRange::WHOLE, 10).expect_err("nothing is there");
    assert!(matches!(absent, EngineError::Store(StoreError::ContentMissing(_))), "{absent}");
    for bytes in [&[0x80, 0xff, 0xfe][..], b"text \xff more"] {
        let content = stemmata_store::NewContent::literal(bytes.to_vec());
        let id = content.id();
        engine.store().commit_batch(vec![stemmata_store::Write::Content(content)]).expect("stored");
        let refused = engine.read_artifact(id, TextRange::WHOLE, 100).expect_err("no text");
        assert!(matches!(refused, EngineError::Refused { .. }), "{refused}");
    }
}

fn stores(folder: &Folder) -> Vec<Engine> {
    let sqlite = SqliteStore::open(&folder.path().join("store"), SqliteOptions::default()).expect("a store");
    let log = FileLog::open(folder.path(), FileLogOptions::default()).expect("a log");
    vec![
        engine_on("m1", Arc::new(MemoryStore::default())),
        engine_on("m1", Arc::new(sqlite)),
        engine_on("m1", Arc::new(MemoryStore::default())).with_log(Arc::new(log)),
    ]
}

fn assert_gone(engine: &Engine, id: ArtifactId, file: &Path) {
    let error = engine.read_artifact(id, TextRange::WHOLE, 1_000).expect_err("it was forgotten");
    assert!(matches!(error, EngineError::Store(StoreError::ContentForgotten(_))), "{error}");
    assert!(!file.exists(), "the file is gone");
    assert_eq!(damages(engine.store()), []);
}

#[test]
fn forgetting_a_session_or_a_commit_reaches_the_artifact_and_the_file_and_no_other_one() {
    for everything in [true, false] {
        let folder = Folder::new();
        for engine in stores(&folder) {
            let engine = engine.with_outputs(rules(&folder));
            let (ended, other) = (take(&engine, "s", &big("mine")), take(&engine, "t", &big("other")));
            let (text, kept) = (stored(&engine, &ended), stored(&engine, &other));
            let ctx = ended.checkpoint.as_ref().expect("a commit").id;
            let target = if everything {
                ForgetTarget::Session(engine.find_session("s").expect("found").expect("there").key)
            } else {
                ForgetTarget::Commit(ctx)
            };
            let plan = engine.plan_forget(&target, &options()).expect("a plan");
            let planned = plan.report.clone();
            assert_eq!(engine.apply_forget(plan).expect("forgotten"), planned, "the plan is what happens");
            assert_gone(&engine, reference(&text), &file(&text));
            assert_eq!(whole(&engine, reference(&kept), 1_000), big("other"));
            assert!(file(&kept).exists());
            fs::remove_file(file(&kept)).expect("removed");
        }
    }
}

/// An agent that reads an output names it in a later turn.
#[test]
fn forgetting_a_commit_leaves_the_outputs_of_others_that_it_names() {
    let folder = Folder::new();
    for engine in stores(&folder) {
        let engine = engine.with_outputs(rules(&folder));
        let notice = stored(&engine, &take(&engine, "s", &big("mine")));
        let id = reference(&notice);
        let id_prompt = EntryId::new("s-second").expect("a name");
        let prompt = Entry::said(id_prompt, Role::User, vec![Part::Text(format!("read {id}"))]);
        engine.begin_turn(&BeginTurn::new(turn("s"), prompt)).expect("begun");
        let ended =
            engine.end_turn(&turn("s"), result("s2", &format!("{id} has lines"), false)).expect("ended");
        let target = ForgetTarget::Commit(ended.checkpoint.expect("a commit").id);
        engine.apply_forget(engine.plan_forget(&target, &options()).expect("a plan")).expect("forgotten");
        assert_eq!(whole(&engine, id, 1_000), big("mine"));
        assert!(file(&notice).exists());
        fs::remove_file(file(&notice)).expect("removed");
    }
}

#[test]
fn a_scrub_reaches_the_artifact_and_the_file() {
    let folder = Folder::new();
    for engine in stores(&folder) {
        let engine = engine.with_outputs(rules(&folder));
        let text = stored(&engine, &take(&engine, "s", &format!("{}ACME-771234\n{}", big("a"), big("b"))));
        assert!(!text.contains("ACME-771234"));
        let rules = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";
        let engine =
            engine.with_rules(StoreRules { name: "secrets.toml".to_owned(), text: rules.to_owned() });
        engine.scrub(&ScrubTarget::All, &options().by).expect("scrubbed");
        assert_gone(&engine, reference(&text), &file(&text));
        // What comes after that rule is stored without the secret.
        let text = stored(&engine, &take(&engine, "t", &format!("{}ACME-771234\n{}", big("a"), big("b"))));
        let clean = whole(&engine, reference(&text), 1_000);
        assert!(!clean.contains("ACME-771234") && clean.ends_with(&big("b")));
        assert_eq!(fs::read_to_string(file(&text)).expect("a file"), clean);
    }
}

/// A secret that stands where a part ends, or where a cut falls, is known by the whole of it only.
#[test]
fn a_secret_across_parts_and_cuts_is_replaced() {
    let rules = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";
    let rules = StoreRules { name: "secrets.toml".to_owned(), text: rules.to_owned() };
    for before in [512 * 1_024 - 5, 800, 40] {
        let engine =
            engine().with_rules(rules.clone()).with_outputs(OutputRules { limits: LIMITS, files: None });
        let output = format!("{} ACME-771234 {}", "x".repeat(before), "y".repeat(900));
        let ended = take(&engine, "s", &output);
        let events = engine.log().events(&ledger("p"), &EventQuery::after(None, 99)).expect("events");
        for event in &events {
            let Payload::Line { line, .. } = &event.payload else { continue };
            assert!(!line.as_str().contains("771234"), "{before}");
        }
        assert!(ended.notes.iter().any(|note| note.code == NoteCode::Redacted), "{before}");
    }
}

/// A crash between the file and the turn leaves a file that nothing names: collection removes it, and the turn is stored when
/// it is tried again.
#[test]
fn a_turn_that_fails_after_the_file_was_written_leaves_nothing_behind() {
    let folder = Folder::new();
    let store = Arc::new(FaultyStore::new(MemoryStore::default()));
    let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>).with_outputs(rules(&folder));
    let id = EntryId::new("s-prompt").expect("a name");
    let prompt = Entry::said(id, Role::User, vec![Part::Text("go".to_owned())]);
    engine.begin_turn(&BeginTurn::new(turn("s"), prompt)).expect("begun");
    store.fail(1, Fault::Before);
    engine.end_turn(&turn("s"), result("s", &big("mine"), false)).expect_err("the store fails");
    let files = || fs::read_dir(only(&folder.path().join("temp"))).expect("listed").count();
    assert_eq!(files(), 1, "the file is written first");
    let options = CollectOptions { rules: RetentionRules::default(), grace_days: 0 };
    engine.collect(&options).expect("collected");
    assert_eq!(files(), 0, "nothing names it");
    let ended = engine.end_turn(&turn("s"), result("s", &big("mine"), false)).expect("ended");
    let text = stored(&engine, &ended);
    assert_eq!(whole(&engine, reference(&text), 999), big("mine"));
    assert_eq!(fs::read_to_string(file(&text)).expect("a file"), big("mine"));
}

/// An agent without a file has the artifact.
#[test]
fn a_file_that_cannot_be_written_is_a_note_and_the_artifact_is_there() {
    let folder = Folder::new();
    let rules = rules(&folder);
    fs::remove_dir(folder.path().join("temp")).expect("removed");
    folder.write("temp", b"a file where the folder would be");
    let engine = engine().with_outputs(rules);
    let ended = take(&engine, "s", &big("mine"));
    assert!(ended.notes.iter().any(|note| note.code == NoteCode::Degraded), "{:?}", ended.notes);
    let text = stored(&engine, &ended);
    assert!(!text.contains("Saved to"), "{text}");
    assert_eq!(whole(&engine, reference(&text), 1_000), big("mine"));
    let outputs = EventQuery::latest(topics::topic(topics::TOOL_OUTPUT), 9);
    let events = engine.log().events(&ledger("p"), &outputs).expect("events");
    assert!(events.iter().all(|event| !event.replayable), "no prompt gets them");
}

/// The notice names the file, and the file is in the temporary folder of whoever calls.
#[test]
fn a_turn_that_is_repeated_with_another_temporary_folder_is_stored_once() {
    let folder = Folder::new();
    let store = Arc::new(MemoryStore::default());
    let at = |temp: Option<&str>| {
        let temp = temp.map(|name| folder.path().join(name));
        if let Some(temp) = &temp {
            fs::create_dir_all(temp).expect("a folder");
        }
        let files = OutputFiles::new(temp.as_deref(), folder.path().join("outputs"));
        let rules = OutputRules { limits: LIMITS, files: Some(files) };
        engine_on("m1", Arc::clone(&store) as Arc<dyn Store>).with_outputs(rules)
    };
    let ended = take(&at(Some("a")), "s", &big("mine"));
    let all =
        |engine: &Engine| engine.log().events(&ledger("p"), &EventQuery::after(None, 99)).expect("events");
    let events = all(&at(None));
    for temp in [Some("b-with-a-longer-name"), None] {
        let engine = at(temp);
        let again = engine.end_turn(&turn("s"), result("s", &big("mine"), big("mine").len() % 2 == 1));
        let again = again.expect("ended").checkpoint.map(|made| made.id);
        assert_eq!(again, ended.checkpoint.as_ref().map(|made| made.id), "{temp:?}");
        assert_eq!(all(&engine), events, "{temp:?}");
    }
    // Another output under the same id is refused.
    let other = at(None).end_turn(&turn("s"), result("s", &big("else"), false)).expect_err("taken");
    assert!(matches!(other, EngineError::Refused { what: Refusal::EntryTaken, .. }), "{other:?}");
}

/// A head is digits: a rule that finds some would leave an output that nobody can read.
#[test]
fn a_rule_of_one_s_own_that_finds_digits_leaves_outputs_readable() {
    let rules = "[[rules]]\nkind = 'digest'\nkeywords = ['sha256']\nregex = 'sha256.{1,4}[0-9a-f]{64}'\n";
    let rules = StoreRules { name: "secrets.toml".to_owned(), text: rules.to_owned() };
    let engine = engine().with_rules(rules).with_outputs(OutputRules { limits: LIMITS, files: None });
    let text = stored(&engine, &take(&engine, "s", &big("mine")));
    assert_eq!(whole(&engine, reference(&text), 1_000), big("mine"));
}

/// A secret is known by the whole of its line only: what the ends of a notice show is cut after it was replaced.
#[test]
fn the_ends_that_a_notice_shows_hold_no_part_of_a_secret() {
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
    for before in (0..2_100).step_by(150) {
        let engine = engine().with_outputs(OutputRules { limits: LIMITS, files: None });
        let output = format!("{} {token} {}", "x".repeat(before), "y".repeat(2_000));
        let text = stored(&engine, &take(&engine, "s", &output));
        assert!(!text.contains("ghp_") && !text.contains("c3D4e5a1B2"), "{before}: {text}");
    }
}

/// A snapshot, and a commit of elsewhere, cover none of a ledger: what came before them is not the commit's own.
#[test]
fn forgetting_a_commit_behind_one_that_covers_nothing_leaves_earlier_outputs() {
    let folder = Folder::new();
    let engine = engine().with_outputs(rules(&folder));
    let notice = stored(&engine, &take(&engine, "s", &big("mine")));
    let id = reference(&notice);
    // A session of its own in the same ledger reads it, and prints as much.
    let other = stored(&engine, &take(&engine, "t", &format!("{id}\n{}", big("other"))));
    let ended = take(&engine, "t2", &format!("{id} and {}", reference(&other)));
    let target = ForgetTarget::Commit(ended.checkpoint.expect("a commit").id);
    engine.apply_forget(engine.plan_forget(&target, &options()).expect("a plan")).expect("forgotten");
    assert_eq!(whole(&engine, id, 1_000), big("mine"));
    assert!(whole(&engine, reference(&other), 1_000).ends_with(&big("other")));
}
