//! Seed 004's success criteria, and the categories of tests that its testing strategy asks for: one test each, in its words.
//!
//! Each shows its criterion once, on a small case. The laws that hold it for any case are named in `docs/reference/seeds.md`.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use stemmata_api::v1::DecideRequest;
use stemmata_engine::prompt::strategy::{DocumentFormat, parse};
use stemmata_engine::{
    BeginTurn, CandidateKind, CompactOf, CompactWanted, CompactWith, DecisionKind, Engine, PromptMade,
    PromptOf, PromptWanted, RecallWanted, Stop, TurnContext, TurnMade,
};
use stemmata_model::{
    Entry, EntryKind, Estimate, FormatId, Json, NewEvent, Role, SessionId, Timestamp, TokenCounter as _,
    Tokens, topics,
};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_prompt::reduce::snapshot::StateSnapshotter;
use stemmata_prompt::window::KeepRecent;
use stemmata_runtimes::registry;
use stemmata_store::conformance::ledger::builders;
use stemmata_store::{FileLog, FileLogOptions, Finding, LedgerChange, Restored, Store};
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::contexts::{begin, event, ledger, profile, said, take, turn};
use crate::recall_fixtures::by_the_source;
use crate::support::{Folder, answer, compaction_at, engine, engine_on, import, user};

const EVENTS: &str = "contexts-v2/p/events.ndjson";
const SNAPSHOT: &str = "contexts-v2/p/snapshot.json";

fn files(home: &Path) -> Arc<FileLog> {
    Arc::new(FileLog::open(home, FileLogOptions::default()).expect("a log"))
}

fn restored(log: &FileLog) -> Restored {
    log.restore(&ledger(), Timestamp::from_micros(5)).expect("a restore")
}

fn put(home: &Path, name: &str, bytes: &[u8]) {
    let path = home.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    File::create(path).and_then(|mut file| file.write_all(bytes)).expect("written");
}

/// Makes the ledger that of a project.
fn in_project(engine: &Engine) {
    let root = Some("/old".to_owned());
    let change = LedgerChange { root, ..LedgerChange::new(ledger(), Timestamp::from_micros(1)) };
    engine.log().change_ledger(change).expect("made");
}

fn decided(text: &str) -> NewEvent {
    let data = format!("{{\"kind\":\"decision\",\"decision\":\"{text}\"}}");
    event("s", topics::DECISION_EVENT, "", &data)
}

/// Takes three turns with a decision each.
fn three_turns(engine: &Engine) {
    for name in ["first", "second", "third"] {
        take(engine, "s", name, vec![decided(&format!("Use the {name} table"))]);
    }
}

fn state<R: Reducer>(engine: &Engine, through: Option<u64>) -> Json {
    engine.fold::<R>(&ledger(), through).expect("folded").reducer.save()
}

fn prompt(engine: &Engine, strategy: &str, max_tokens: u64) -> PromptMade {
    let (profile, strategy) = (profile(), parse(strategy, DocumentFormat::Toml).expect("a strategy"));
    let of = PromptOf { ledger: ledger(), session: SessionId::new("s").ok(), tip: None };
    let max_tokens = Some(Tokens(max_tokens));
    let wanted = PromptWanted { max_tokens, ..PromptWanted::new(&profile, &strategy, &Estimate) };
    engine.assemble(&of, &wanted).expect("a prompt")
}

/// Two sections of optional packs that could each fill a budget.
const STRATEGY: &str = "maxTokens = 50000\n\
    [[sources]]\ntopic = \"turns\"\namount = 3\ncap = 60\npriority = \"medium\"\n\
    [[sources]]\ntopic = \"NOTE\"\namount = 8\ncap = 90\npriority = \"low\"\n";

fn noted(engine: &Engine) {
    let notes = (0..8).map(|number| event("s", "NOTE", &format!("note {number} {}", "n".repeat(80)), "{}"));
    engine.publish(&ledger(), notes.collect()).expect("published");
    three_turns(engine);
}

#[test]
fn success_deterministic_replay_and_reliable_restore_under_fault_conditions() {
    let home = tempfile::tempdir().expect("a folder");
    let engine = engine().with_log(files(home.path()));
    take(&engine, "s", "before", vec![decided("Use no table")]);
    engine
        .fold::<MemoryReducer>(&ledger(), None)
        .and_then(|one| engine.save_folded(&ledger(), &one, true))
        .expect("saved");
    let snapshot = fs::read(home.path().join(SNAPSHOT)).expect("a snapshot");
    let saved_bytes = fs::read(home.path().join(EVENTS)).expect("events").len();
    three_turns(&engine);
    let bytes = fs::read(home.path().join(EVENTS)).expect("events");
    let damages: [&[u8]; 3] = [&snapshot, b"\x01no snapshot", b""];
    for cut in (saved_bytes..=bytes.len()).rev().step_by(307) {
        for damaged in damages {
            let copy = tempfile::tempdir().expect("a folder");
            put(copy.path(), EVENTS, &bytes[..cut]);
            put(copy.path(), SNAPSHOT, damaged);
            let log = files(copy.path());
            let known = restored(&log);
            assert!(cut == bytes.len() || !known.findings.is_empty(), "{cut}: a loss is said");
            let again = engine_on("m1", Arc::new(MemoryStore::default())).with_log(log);
            // The state is that of the same events in the log that nothing happened to.
            let folded = state::<MemoryReducer>(&again, None);
            assert_eq!(folded, state::<MemoryReducer>(&engine, Some(known.events)), "{cut}");
            assert_eq!(folded, again.replay::<MemoryReducer>(&ledger()).expect("replayed").reducer.save());
        }
    }
}

#[test]
fn success_better_relevance_in_multi_turn_coding_tasks() {
    let (engine, folder) = (engine(), Folder::new());
    in_project(&engine);
    let talk = [
        ("Where do retries give up?", "After max_attempts, in net/backoff.rs."),
        ("Which lexer reads the dates?", "The lexer of dates is parse/calendar.rs."),
        ("Why is the cache cold?", "The cache is filled by warm_up in store/preload.rs."),
        ("Rename the banner", "Renamed."),
        ("Sort the imports", "Sorted."),
        ("Bump the version", "Bumped."),
        ("Write the notes", "Written."),
    ];
    let numbers = (1..).step_by(2);
    let lines: String = talk
        .iter()
        .zip(numbers)
        .map(|((asked, told), at)| {
            user(at, at.checked_sub(1).filter(|at| *at > 0), asked) + &answer(at + 1, at, told)
        })
        .collect();
    let tip = import(&engine, &folder.write("s.jsonl", lines.as_bytes())).session.tip.expect("a tip");
    for (question, expected) in [
        ("retries give up too early", "net/backoff.rs"),
        ("the lexer takes wrong dates", "parse/calendar.rs"),
        ("cold cache after a restart", "store/preload.rs"),
    ] {
        let own = ledger();
        let wanted = RecallWanted::new(question, Some(&own), Tokens(400), &Estimate);
        let pack = engine.recall(&wanted).expect("a pack").text;
        assert!(pack.contains(expected), "{question}: {pack}");
        let source = by_the_source(&engine, tip, question);
        assert!(!source.contains(expected), "the rule of the source finds it too: {source}");
    }
}

#[test]
fn success_predictable_bounded_prompt_construction() {
    let engine = engine();
    noted(&engine);
    for max_tokens in [1, 40, 80, 160, 320, 5_000] {
        let made = prompt(&engine, STRATEGY, max_tokens);
        let budget = &made.trace.budget;
        assert_eq!(Estimate.count(&made.text).0, budget.final_tokens);
        assert!(budget.final_tokens <= max_tokens + budget.over_budget_tokens, "{budget:?}");
        assert_eq!(
            budget.over_budget_tokens > 0,
            max_tokens == 1,
            "only the heading is required: {budget:?}"
        );
        let again = prompt(&engine, STRATEGY, max_tokens);
        assert_eq!((&again.text, &again.trace), (&made.text, &made.trace), "the same again");
    }
}

#[test]
fn success_clear_operational_observability_for_debugging_context_selection() {
    let engine = engine();
    noted(&engine);
    let made = prompt(&engine, STRATEGY, 160);
    let told = |id: &str| made.trace.candidates.iter().find(|one| one.id == id).expect("a candidate");
    let (turns, notes) = (told("source:turns:0"), told("source:NOTE:1"));
    assert_eq!((turns.decision.as_str(), turns.reason.as_str()), ("full", "fits"));
    assert_eq!((notes.decision.as_str(), notes.reason.as_str()), ("compact", "budget"));
    // Why not all of it: it takes more than there was, and these are the messages that are out.
    assert!(
        notes.room_tokens.is_some_and(|room| notes.tokens <= room && room < notes.full_tokens),
        "{notes:?}"
    );
    assert_eq!(notes.items.iter().filter(|item| item.included).count(), 1, "{notes:?}");
    assert_eq!(notes.items.len(), 8);
    // What the trace says of a text is true of the prompt.
    for one in &made.trace.candidates {
        let [offset, chars] = [one.offset_chars, one.chars].map(|at| usize::try_from(at).expect("small"));
        let part: String = made.text.chars().skip(offset).take(chars).collect();
        assert_eq!(Estimate.count(&part).0, one.tokens, "{one:?}");
        assert_eq!(one.chars == 0, one.decision.as_str() == "skipped", "{one:?}");
    }
}

#[test]
fn category_reducer_determinism_the_same_stream_gives_the_same_state() {
    let stream = || -> Vec<NewEvent> {
        let plan = |number: usize| event("s", topics::PLAN_READY, &format!("Plan {number}"), "{}");
        let events =
            (0..24).map(
                |number| if number % 3 == 0 { plan(number) } else { decided(&format!("Use table {number}")) },
            );
        events.collect()
    };
    let home = tempfile::tempdir().expect("a folder");
    let engines = [engine(), engine(), engine().with_log(files(home.path()))];
    let states = engines.iter().zip([24, 1, 5]).map(|(engine, size)| {
        for batch in stream().chunks(size) {
            // Not published: the state that a cluster publishes in between would make it another stream.
            engine.log().append(builders::append("p", batch.to_vec())).expect("appended");
        }
        (state::<MemoryReducer>(engine, None), state::<StateSnapshotter>(engine, None))
    });
    let states: Vec<_> = states.collect();
    assert!(states[0].0.to_string().contains("Use table 23") && states[0].1.to_string().contains("Plan 21"));
    assert_eq!(states[1], states[0], "event by event");
    assert_eq!(states[2], states[0], "in files");
}

#[test]
fn category_crash_recovery_partial_writes_and_truncated_lines() {
    let home = tempfile::tempdir().expect("a folder");
    let engine_before = engine().with_log(files(home.path()));
    three_turns(&engine_before);
    let known = state::<MemoryReducer>(&engine_before, None);
    drop(engine_before);
    let mut file = fs::OpenOptions::new().append(true).open(home.path().join(EVENTS)).expect("events");
    file.write_all(b"{\"event_seq\":99,\"session_id\":\"s\",\"ti").expect("a line that was cut off");
    drop(file);
    let log = files(home.path());
    let found = restored(&log).findings;
    assert!(matches!(found[..], [Finding::TornLine { .. }]), "{found:?}");
    let engine = engine().with_log(log);
    assert_eq!(state::<MemoryReducer>(&engine, None), known, "only the line is gone");
    take(&engine, "s", "fourth", Vec::new());
    // A write that fails, before and after it was applied: the caller's second try leaves the turn once.
    for (number, fault) in [(1, Fault::Before), (1, Fault::After), (2, Fault::Before), (2, Fault::After)] {
        let store = Arc::new(FaultyStore::new(MemoryStore::default()));
        let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
        let asked = || BeginTurn::new(turn("s"), said("q", Role::User, "go"));
        let made = || TurnMade { entries: vec![said("a", Role::Assistant, "gone")], ..TurnMade::default() };
        store.fail(number, fault);
        engine.begin_turn(&asked()).or_else(|_| engine.begin_turn(&asked())).expect("begun");
        let ended = engine.end_turn(&turn("s"), made()).or_else(|_| engine.end_turn(&turn("s"), made()));
        let tip = ended.expect("ended").checkpoint.expect("a commit").id;
        assert_eq!(ids(&engine, tip, Stop::Root), ["q", "a"], "{number} {fault:?}");
    }
}

#[test]
fn category_retrieval_relevance_fixtures_select_expected_decisions_files_and_issues() {
    let engine = engine();
    in_project(&engine);
    let decide = |text: &str| {
        let (kind, text) = (DecisionKind::Decision, text.to_owned());
        let ledger = ledger();
        let decision = DecideRequest { ledger, kind, text, reason: None, supersedes: None };
        engine.decide(&decision).expect("decided");
    };
    decide("Retries wait twice as long each time");
    decide("Dates are stored as numbers");
    let folder = Folder::new();
    let write = r#"{"id":"m4","role":"assistant","content":[{"type":"tool_use","id":"t4","name":"Write","input":{"file_path":"/old/src/calendar_lexer.rs","content":"fn lex() {}"}}],"stop_reason":"tool_use"}"#;
    let result =
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t4","content":"written"}]}"#;
    let lines = [
        user(1, None, "Write the calendar lexer"),
        crate::support::record("assistant", 2, Some(1), write),
        crate::support::record("user", 3, Some(2), result),
        answer(4, 3, "It is there."),
    ];
    import(&engine, &folder.write("s.jsonl", lines.concat().as_bytes()));
    take(&engine, "t", "else", vec![event("t", topics::ERROR_EVENT, "issue 17: the damper sticks", "{}")]);
    for (question, kind, expected) in [
        ("how long do retries wait", CandidateKind::Decision, "twice as long"),
        ("mend the calendar lexer", CandidateKind::File, "calendar_lexer.rs"),
        ("the damper", CandidateKind::Error, "issue 17"),
    ] {
        let own = ledger();
        let pack =
            engine.recall(&RecallWanted::new(question, Some(&own), Tokens(400), &Estimate)).expect("a pack");
        let is_expected =
            pack.items.iter().any(|item| item.kind == kind.as_str() && item.text.contains(expected));
        assert!(is_expected, "{question}: {:?}", pack.items);
    }
}

#[test]
fn category_prompt_budget_section_caps_are_enforced() {
    let engine = engine();
    noted(&engine);
    let strategy = |cap: &str| {
        format!(
            "maxTokens = 50000\n[[sources]]\ntopic = \"NOTE\"\namount = 8\npriority = \"high\"\n{cap}\n\
             [[sources]]\ntopic = \"turns\"\namount = 6\npriority = \"low\"\ncap = \"100%\"\n"
        )
    };
    // A little too few tokens for both in full.
    let max_tokens = prompt(&engine, &strategy(""), 5_000).trace.budget.used_tokens - 5;
    let decided = |cap: &str| -> Vec<&str> {
        let trace = prompt(&engine, &strategy(cap), max_tokens).trace;
        for section in &trace.sections {
            assert!(section.used_tokens <= section.cap_tokens + section.lent_tokens, "{section:?}");
        }
        let sources = trace.candidates.iter().filter(|one| one.id.starts_with("source:"));
        sources.map(|one| one.decision.as_str()).collect()
    };
    assert_eq!(decided(""), ["full", "compact"], "the more important one takes what it can");
    assert_eq!(decided("cap = 60"), ["compact", "full"], "and with a cap no more than that");
}

#[test]
fn category_hard_cutover_version_one_is_ignored_with_explicit_messaging() {
    let home = tempfile::tempdir().expect("a folder");
    let old = b"{\"version\":1,\"turns\":[{\"user\":\"a secret plan of version one\"}]}";
    put(home.path(), "contexts/context-bc6fec14.json", old);
    let log = files(home.path());
    let engine = engine().with_log(Arc::clone(&log) as Arc<dyn stemmata_store::EventLog>);
    three_turns(&engine);
    let found = restored(&log).findings;
    let path = home.path().join("contexts/context-bc6fec14.json");
    assert_eq!(found, [Finding::VersionOne { path: path.clone() }]);
    assert!(found[0].to_string().contains(&path.display().to_string()), "{}", found[0]);
    assert!(!state::<MemoryReducer>(&engine, None).to_string().contains("version one"));
    assert_eq!(fs::read(path).expect("it is left alone"), old);
}

/// The ids of a context's entries; a summary is `S`.
fn ids(engine: &Engine, ctx: stemmata_model::CommitId, stop: Stop) -> Vec<String> {
    let mut bytes = Vec::new();
    engine.materialize(Some(ctx), None, stop, &mut bytes).expect("materialized");
    let format = FormatId::new("stemmata-v1").expect("a name");
    let name = |entry: &Entry| match entry.kind {
        EntryKind::CompactionSummary => "S".to_owned(),
        _ => entry.id.to_string(),
    };
    registry::by_format(&format).expect("an adapter").decode(&bytes).entries.iter().map(name).collect()
}

#[test]
fn category_integration_restore_resume_and_compaction_checkpoints() {
    let home = tempfile::tempdir().expect("a folder");
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let open = || engine_on("m1", Arc::clone(&store)).with_log(files(home.path()));
    let engine = open();
    for name in ["one", "two", "three"] {
        let long = format!("{name} {}", "It went as it should. ".repeat(30));
        engine
            .begin_turn(&BeginTurn::new(turn("s"), said(&format!("{name}-prompt"), Role::User, &long)))
            .expect("begun");
        let entries = vec![said(&format!("{name}-answer"), Role::Assistant, &long)];
        engine
            .end_turn(&turn("s"), TurnMade { entries, events: vec![decided(name)], ..TurnMade::default() })
            .expect("ended");
    }
    let keep = KeepRecent::Tokens(Tokens(350));
    let wanted = CompactWanted { keep, ..CompactWanted::new(CompactWith::Heuristic) };
    let compaction = engine.compact(&CompactOf::Session(turn("s")), &wanted).expect("compacted");
    let known = state::<MemoryReducer>(&engine, None);
    drop(engine);
    // Restored: the same state, and the session goes on from its compaction.
    assert_eq!(restored(&files(home.path())).findings, []);
    let engine = open();
    assert_eq!(state::<MemoryReducer>(&engine, None), known);
    let next = take(&engine, "s", "four", Vec::new());
    let recent = ["S", "three-prompt", "three-answer", "four-prompt", "four-answer"];
    assert_eq!(ids(&engine, next, Stop::Compaction), recent);
    // Resumed by another session: it knows what was decided before the compaction, too.
    let (begun, prompt) = begin(&engine, turn("again"), (TurnContext::Resume(next), "Go on")).expect("begun");
    assert_eq!(begun.opened.map(|opened| opened.ctx), Some(next));
    assert!(prompt.text.contains("one") && prompt.text.contains("four is answered"), "{}", prompt.text);
    // And the compaction can be undone.
    assert_eq!(compaction_at(&engine, next), (compaction.id, compaction.parent));
    let all = ["one-prompt", "one-answer", "two-prompt", "two-answer", "three-prompt", "three-answer"];
    assert_eq!(ids(&engine, compaction.parent, Stop::Compaction), all);
    assert_eq!(ids(&engine, next, Stop::Root), [&all[..], &recent[3..]].concat());
}
