//! What the guard remembers between calls: nothing that was forgotten, nothing twice, and what a call that is repeated does not do
//! once more.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use stemmata_api::v1::TurnTask;
use stemmata_engine::prompt::strategy::{DocumentFormat, Strategy, parse};
use stemmata_engine::{BeginTurn, Engine, EntryMark, PromptWanted, SameCall, Told, TurnGuard, TurnMade};
use stemmata_model::{
    CommitId, Entry, EntryId, Estimate, Granularity, Json, NewEvent, NewPayload, Part, Payload, Reason, Role,
    Tokens, topics,
};
use stemmata_prompt::assemble::TaskFacts;
use stemmata_prompt::compact::{SummarizeError, Summarizer, SummaryAsked};
use stemmata_prompt::guard::Zone;
use stemmata_prompt::window::{ToolSummaryStrategy, WindowConfig};
use stemmata_store::{EventQuery, FileLog, FileLogOptions, LedgerChange, Store, Write};
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::contexts::{profile, strategy};
use crate::guarded::{
    TOO_LONG, begin, config, data, end, events, guard, id, names_of, pair, root, said, seen, settings, step,
    take, tip, turn,
};
use crate::search::indexed;
use crate::support::{Folder, chain, engine, engine_on, new_store};

const SECRET: &str = "kilnwright";

fn facts(text: &str, completed: &[String]) -> TaskFacts {
    let current = TurnTask { id: "T1".to_owned(), text: text.to_owned(), depends_on: Vec::new() };
    TaskFacts { phase: Some(format!("of {text}")), current: Some(current), completed: completed.to_vec() }
}

/// Begins a turn that says something of its task, before an operation that has a checkpoint made.
fn begin_with(engine: &Engine, name: &str, (task, next): (TaskFacts, Option<&str>), config: &WindowConfig) {
    let guard = TurnGuard { next_operation: next, ..guard(config) };
    let begin = BeginTurn { guard: Some(guard), task, ..BeginTurn::new(turn(), said(name, Role::User, 10)) };
    engine.begin_turn(&begin).expect("begun");
}

fn saying(engine: &Engine, word: &str) -> Vec<String> {
    let all = engine.log().events(&turn().ledger, &EventQuery::after(None, 1_000)).expect("events");
    let says = all.into_iter().filter(|event| format!("{:?}", event.payload).contains(word));
    says.map(|event| event.topic.to_string()).collect()
}

#[test]
fn a_forgotten_task_is_in_no_event_of_the_guard() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = Arc::new(FileLog::open(folder.path(), FileLogOptions::default()).expect("a log"));
    for engine in [engine(), engine().with_log(log)] {
        let config = config(10_000);
        begin_with(&engine, "t0", (facts(SECRET, &[]), Some("large_merge")), &config);
        end(&engine, vec![said("a0", Role::Assistant, 10)], &config);
        begin_with(&engine, "t1", (TaskFacts::NONE, Some("major_refactor")), &config);
        end(&engine, vec![said("a1", Role::Assistant, 10)], &config);
        let states = events(&engine, topics::CHECKPOINT_STATE);
        assert_eq!(
            data(states.last().expect("a state"))["task_queue"][0]["text"],
            SECRET,
            "it is known still"
        );
        let told = saying(&engine, SECRET);
        assert!(told.iter().any(|topic| topic == topics::CHECKPOINT_STATE), "{told:?}");
        assert!(told.iter().all(|topic| topic != topics::CONTEXT_WINDOW), "{told:?}");
        let places = events(&engine, topics::STATUS_EVENT).iter().map(|event| event.seq).collect();
        let plan = engine.plan_forget_events(&Told::Events(turn().ledger, places)).expect("a plan");
        engine.apply_forget_events(&plan).expect("forgotten");
        assert_eq!(saying(&engine, SECRET), [""; 0]);
        begin_with(&engine, "t2", (TaskFacts::NONE, Some("large_merge")), &config);
        end(&engine, vec![said("a2", Role::Assistant, 10)], &config);
        assert_eq!(saying(&engine, SECRET), [""; 0]);
        let states = events(&engine, topics::CHECKPOINT_STATE);
        let state = data(states.last().expect("a state"));
        assert_eq!(
            (&state["task_queue"], &state["system_state"]["phase"]),
            (&serde_json::json!([]), &serde_json::Value::Null)
        );
    }
}

#[test]
fn a_checkpoint_waits_for_no_pipe_in_the_place_of_a_file_of_git() {
    for file in ["HEAD", "commondir"] {
        let folder = Folder::new();
        let project = folder.path().join("project");
        std::fs::create_dir_all(project.join(".git")).expect("a folder");
        let made = std::process::Command::new("mkfifo").arg(project.join(".git").join(file)).status();
        if !made.is_ok_and(|status| status.success()) {
            println!("skipped: no mkfifo here");
            return;
        }
        let engine = engine();
        let root = Some(project.to_string_lossy().into_owned());
        let now = stemmata_model::Timestamp::from_micros(1);
        let change = LedgerChange { root, ..LedgerChange::new(turn().ledger, now) };
        engine.store().commit_batch(vec![Write::ChangeLedger(Box::new(change))]).expect("a ledger");
        let (done, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            begin_with(&engine, "p", (TaskFacts::NONE, Some("large_merge")), &config(10_000));
            done.send(data(&events(&engine, topics::CHECKPOINT_STATE)[0])).expect("somebody listens");
        });
        let state =
            heard.recv_timeout(std::time::Duration::from_secs(20)).expect("an answer without a writer");
        assert_eq!(state["system_state"]["git_head"], serde_json::Value::Null);
    }
}

#[test]
fn every_field_of_the_guard_s_events_is_documented() {
    let engine = engine();
    let config = settings(2_000, |compact| compact.reserve_tokens = Tokens(1_000));
    begin_with(&engine, "p", (facts("mend it", &["D1".to_owned()]), Some("large_merge")), &config);
    end(&engine, vec![said("p-answer", Role::Assistant, 10)], &config);
    for number in 0..9 {
        take(&engine, &format!("t{number}"), 80, &config);
    }
    begin(&engine, "large", 1_200, &config);
    let page = include_str!("../../../../docs/format/state.md");
    for topic in [
        topics::CONTEXT_WINDOW,
        topics::CHECKPOINT_STATE,
        topics::CONTEXT_SIZE_ALERT,
        topics::COMPACTION_START,
        topics::COMPACTION_END,
    ] {
        let of_topic = format!("`{topic}`");
        let about = |part: &&str| part.lines().next().is_some_and(|title| title.contains(&of_topic));
        let section = page.split("\n### ").find(about).unwrap_or_else(|| panic!("no section on {topic}"));
        let found = events(&engine, topic);
        assert!(!found.is_empty(), "{topic}");
        for event in found {
            let fields = data(&event).as_object().expect("an object").clone();
            for (key, value) in fields {
                let is_about =
                    |row: &&str| row.split('|').nth(1).is_some_and(|cell| cell.contains(&format!("`{key}`")));
                let row = section.lines().find(is_about);
                let row =
                    row.unwrap_or_else(|| panic!("docs/format/state.md has no row on `{key}` of {topic}"));
                let inner = value.as_object().filter(|_| key != "file_checksums").into_iter().flatten();
                for (inner, _) in inner {
                    assert!(
                        row.contains(&format!("`{inner}`")),
                        "`{key}.{inner}` of {topic} is not in its row"
                    );
                }
            }
        }
    }
}

/// A turn names 64 tasks at most.
#[test]
fn milestones_go_on_where_a_turn_names_the_last_tasks_only() {
    let engine = engine();
    let config = config(100_000);
    let mut milestones = Vec::new();
    for number in 0..30_usize {
        let done: Vec<String> = (0..(number + 1) * 5).map(|task| format!("D{task}")).collect();
        let last = done.split_at(done.len().saturating_sub(64)).1;
        let guard = guard(&config);
        let task = TaskFacts { phase: None, current: None, completed: last.to_vec() };
        let prompt = said(&format!("t{number}"), Role::User, 1);
        let begin = BeginTurn { guard: Some(guard), task, ..BeginTurn::new(turn(), prompt) };
        let window = engine.begin_turn(&begin).expect("begun").window.expect("guarded");
        milestones.push(window.reasons.iter().any(|reason| reason == Reason::TaskMilestone));
        end(&engine, vec![said(&format!("a{number}"), Role::Assistant, 1)], &config);
    }
    assert_eq!(milestones, [true; 30]);
    let states = events(&engine, topics::CHECKPOINT_STATE);
    assert_eq!(data(states.last().expect("a state"))["system_state"]["tasks_completed"], 150);
}

/// A process died between what the user said and what the guard does about it; somebody marked an entry since.
#[test]
fn a_turn_whose_window_was_only_measured_since_is_guarded_when_it_begins_again() {
    let engine = engine();
    let config = config(1_000);
    for number in 0..8 {
        take(&engine, &format!("t{number}"), 55, &config);
    }
    let prompt = || said("last", Role::User, 100);
    engine.begin_turn(&BeginTurn::new(turn(), prompt())).expect("begun");
    let mark = (&[id("t0-prompt")][..], EntryMark::Pin);
    engine.mark_entries(&turn(), mark, Some(&guard(&config))).expect("pinned");
    let report = begin(&engine, "last", 100, &config);
    assert_eq!(report.zone, Zone::Critical);
    assert!(!report.pruned.is_empty() && report.tokens_after <= Tokens(700), "{report:?}");
    let again = begin(&engine, "last", 100, &config);
    assert_eq!((again.tokens, again.pruned.len()), (report.tokens_after, 0));
}

/// Whoever forgets a session's events forgets what the guard remembers, too.
#[test]
fn a_forgotten_memory_of_the_guard_is_no_empty_window() {
    let engine = engine();
    let config = config(1_000);
    for number in 0..6 {
        take(&engine, &format!("t{number}"), 55, &config);
    }
    let last = events(&engine, topics::CONTEXT_WINDOW).last().map(|event| event.seq).expect("remembered");
    let plan = engine.plan_forget_events(&Told::Events(turn().ledger, [last].into())).expect("a plan");
    engine.apply_forget_events(&plan).expect("forgotten");
    let report = begin(&engine, "next", 55, &config);
    assert_eq!(report.tokens, Tokens(13 * 55));
    assert_eq!(report.alert.map(|alert| alert.level), Some("WARNING"), "not sent before");
    let alerts = events(&engine, topics::CONTEXT_SIZE_ALERT).len();
    let last = events(&engine, topics::CONTEXT_WINDOW).last().map(|event| event.seq).expect("remembered");
    let plan = engine.plan_forget_events(&Told::Events(turn().ledger, [last].into())).expect("a plan");
    engine.apply_forget_events(&plan).expect("forgotten");
    step(&engine, pair("c", 1).to_vec(), &config);
    assert!(events(&engine, topics::CONTEXT_SIZE_ALERT).len() <= alerts + 1);
}

#[test]
fn what_was_shown_again_is_not_archived_at_the_next_step() {
    let engine = engine();
    let config = settings(100_000, |compact| compact.tool_call_cutoff = 1);
    begin(&engine, "p", 10, &config);
    step(&engine, [pair("c1", 50), pair("c2", 50)].concat(), &config);
    let mark = (&[id("c1-result")][..], EntryMark::Rehydrate);
    engine.mark_entries(&turn(), mark, Some(&guard(&config))).expect("shown");
    for name in ["c3", "c4"] {
        let report = step(&engine, pair(name, 50).to_vec(), &config);
        assert!(seen(&report).contains("c1-call c1-result"), "{}", seen(&report));
        assert_eq!(report.archived.len(), 2, "one older result goes: {:?}", report.archived);
    }
}

#[test]
fn an_id_that_stands_twice_is_not_archived() {
    let engine = engine();
    let config = settings(100_000, |compact| compact.tool_call_cutoff = 1);
    begin(&engine, "p", 10, &config);
    let twice = [pair("c1", 50), pair("c2", 50), pair("c3", 50), pair("c1", 50)].concat();
    // As a session has them that was imported: ids of a turn stand once.
    let made = TurnMade { entries: twice, identity: SameCall::None, ..TurnMade::default() };
    let stepped = engine.guarded_step(&turn(), made, Some(&guard(&config))).expect("a step");
    let report = stepped.window.expect("a guard was given");
    assert_eq!(names_of(&report.archived), "c2-call c2-result");
    assert_eq!(seen(&report).matches("c1-result").count(), 2);
}

#[test]
fn an_entry_may_have_the_name_of_what_no_entry_holds() {
    let engine = engine();
    let config = config(1_000);
    begin(&engine, "overhead", 400, &config);
    end(&engine, vec![said("a", Role::Assistant, 400)], &config);
    for number in 0..4 {
        take(&engine, &format!("t{number}"), 1, &config);
    }
    let report = begin(&engine, "last", 150, &config);
    let plan = report.plan.as_ref().expect("a plan");
    assert_eq!(plan.prune, u64::try_from(report.pruned.len()).expect("few"));
    assert_eq!(plan.keep + plan.prune, 11, "every entry is counted");
}

#[test]
fn a_refusal_of_another_prompt_is_the_first_one() {
    let engine = engine();
    let config = config(100_000);
    for number in 0..6 {
        take(&engine, &format!("t{number}"), 400, &config);
    }
    begin(&engine, "one", 10, &config);
    assert!(engine.recover(&turn(), (TOO_LONG, None), &guard(&config)).expect("answered").is_some());
    engine.recover(&turn(), (TOO_LONG, None), &guard(&config)).expect_err("refused again");
    // The user gave up on it, and asks for something else.
    begin(&engine, "two", 10, &config);
    assert!(engine.recover(&turn(), (TOO_LONG, None), &guard(&config)).expect("answered").is_some());
}

#[test]
fn a_recovery_that_failed_halfway_goes_on_when_it_is_repeated() {
    for number in 1..=6 {
        for fault in [Fault::Before, Fault::After] {
            let store = Arc::new(FaultyStore::new(MemoryStore::default()));
            let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
            let config = config(100_000);
            for turn in 0..6 {
                take(&engine, &format!("t{turn}"), 400, &config);
            }
            begin(&engine, "last", 10, &config);
            let before = root(&engine);
            let recover = || engine.recover(&turn(), (TOO_LONG, None), &guard(&config));
            store.fail(number, fault);
            let first = recover();
            let what = format!("{number} {fault:?}");
            if first.is_err() {
                match recover() {
                    Ok(recovered) => {
                        let window = recovered.expect("an overflow").window;
                        assert_eq!(window.pruned, [], "{what}: it was compacted");
                    }
                    // All of it was stored, and the caller did not hear of it.
                    Err(error) => {
                        assert!(error.to_string().contains("refused the context again"), "{what}: {error}");
                    }
                }
            }
            let compactions = chain(&engine, tip(&engine)).into_iter();
            let compactions = compactions
                .filter(|commit| commit.core.commit_type == stemmata_model::CommitType::Compaction);
            assert_eq!(compactions.count(), 1, "{what}");
            assert!(root(&engine).starts_with(&before), "{what}");
        }
    }
}

/// A closed commit ends before calls that wait; what was decided behind them is the next one's.
#[test]
fn a_reason_is_on_one_commit() {
    let engine = engine();
    let config = config(10_000);
    let turn = stemmata_engine::TurnOf { granularity: Granularity::Message, ..turn() };
    begin(&engine, "p", 10, &config);
    let [call, result] = pair("c", 10);
    let made = |entries| TurnMade { entries, ..TurnMade::default() };
    let risky = TurnGuard { next_operation: Some("large_merge"), ..guard(&config) };
    let first = engine.guarded_step(&turn, made(vec![said("a", Role::Assistant, 10), call]), Some(&risky));
    let second = engine.guarded_step(&turn, made(vec![result]), Some(&guard(&config)));
    let of = |made: Option<stemmata_api::v1::Checkpointed>| -> (CommitId, Vec<&'static str>) {
        let id = made.expect("a commit").id;
        let shown = engine.show(id).expect("shown");
        (
            id,
            shown.sightings.iter().flat_map(|sighting| sighting.reasons.iter()).map(Reason::as_str).collect(),
        )
    };
    let (first, early) = of(first.expect("a step").checkpoint);
    let (second, late) = of(second.expect("a step").checkpoint);
    assert_ne!(first, second);
    assert_eq!((early, late), (Vec::new(), vec!["risky_operation"]));
}

/// What is pruned or archived is not in the prompt that the turn gets, either.
#[test]
fn a_prompt_quotes_nothing_that_was_pruned() {
    quotes_nothing_that_was_pruned(&engine(), &strategy());
    let (store, dir) = (new_store(), tempfile::TempDir::new().expect("a folder"));
    let retriever = "maxTokens = 50000\n[[sources]]\ntopic = \"turns\"\namount = 40\n[[sources]]\ntopic = \"retriever\"\namount = 40\n";
    let strategy = parse(retriever, DocumentFormat::Toml).expect("a strategy");
    quotes_nothing_that_was_pruned(&indexed(&store, dir.path()), &strategy);
}

fn quotes_nothing_that_was_pruned(engine: &Engine, strategy: &Strategy) {
    let config = config(1_000);
    let text = |name: &str| format!("{name} {}", "word".repeat(54));
    let entry = |name: &str, role| {
        Entry::said(
            EntryId::new(name).expect("a name"),
            role,
            vec![Part::Text(text(&format!("says-{name}")))],
        )
    };
    for number in 0..8 {
        let prompt = entry(&format!("t{number}"), Role::User);
        engine
            .begin_turn(&BeginTurn { guard: Some(guard(&config)), ..BeginTurn::new(turn(), prompt) })
            .expect("begun");
        end(engine, vec![entry(&format!("a{number}"), Role::Assistant)], &config);
    }
    let profile = profile();
    let words = (0..8).map(|number| format!("says-a{number} says-t{number}")).collect::<Vec<_>>().join(" ");
    let words = format!("{words} {}", "word ".repeat(50).trim_end());
    let last =
        Entry::said(EntryId::new("last").expect("a name"), Role::User, vec![Part::Text(words.clone())]);
    let begin = BeginTurn {
        guard: Some(guard(&config)),
        prompt: Some(PromptWanted::new(&profile, strategy, &Estimate)),
        ..BeginTurn::new(turn(), last)
    };
    let made = engine.begin_turn(&begin).expect("begun");
    let report = made.window.expect("guarded");
    let prompt = made.prompt.expect("a prompt").text.replace(&words, "");
    assert!(!report.pruned.is_empty());
    let turns = prompt.split_once("says-").map(|(_, turns)| turns).expect("turns are quoted");
    for gone in &report.pruned {
        assert!(!turns.contains(&format!("says-{} ", gone.entry)), "{}: {prompt}", gone.entry);
    }
    assert!(prompt.contains("says-a7 "), "{prompt}");
}

struct Down(AtomicU32);

impl Summarizer for Down {
    fn name(&self) -> &'static str {
        "model-x"
    }

    fn window_tokens(&self) -> Option<u64> {
        None
    }

    fn summarize(&self, _: &SummaryAsked<'_>) -> Result<String, SummarizeError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(SummarizeError::Failed { reason: "it is down".to_owned() })
    }
}

#[test]
fn a_model_that_fails_three_times_is_not_asked_any_more() {
    let engine = engine();
    let config = settings(100_000, |compact| {
        (compact.tool_call_cutoff, compact.tool_summary) = (1, ToolSummaryStrategy::Llm);
    });
    let model = Down(AtomicU32::new(0));
    begin(&engine, "p", 10, &config);
    for number in 0..6 {
        let guard = TurnGuard { summarizer: Some(&model), ..guard(&config) };
        let entries = pair(&format!("c{number}"), 50).to_vec();
        let made = TurnMade { entries, ..TurnMade::default() };
        let report =
            engine.guarded_step(&turn(), made, Some(&guard)).expect("a step").window.expect("guarded");
        assert_eq!(report.notes.len(), usize::from(number > 0), "{number}: {:?}", report.notes);
    }
    assert_eq!(model.0.load(Ordering::Relaxed), 3);
}

/// A batch has a bound: what the guard decided then is not stored, and not reported as done.
#[test]
fn a_turn_that_fills_a_batch_reports_nothing_that_was_not_stored() {
    let engine = engine();
    let config = settings(1_000_000, |compact| compact.tool_call_cutoff = 1);
    begin(&engine, "p", 10, &config);
    let payload = || NewPayload::Plain { text: None, data: Some(Json::of(&serde_json::json!({}))) };
    let noted = || NewEvent::new(turn().session, topics::topic("NOTE"), turn().agent, payload());
    let made = TurnMade {
        entries: [pair("c1", 5), pair("c2", 5), pair("c3", 5)].concat(),
        events: std::iter::repeat_with(noted).take(stemmata_store::BATCH_EVENTS_MAX - 6).collect(),
        ..TurnMade::default()
    };
    let report = engine.guarded_step(&turn(), made, Some(&guard(&config))).expect("a step").window;
    let report = report.expect("guarded");
    assert_eq!((report.archived.len(), report.tool_summaries), (0, 0));
    assert!(report.notes.iter().any(|note| note.message.contains("could not act")), "{:?}", report.notes);
    assert!(
        events(&engine, topics::TOOL_SUMMARY).iter().all(|event| matches!(event.payload, Payload::Gone(_)))
    );
}
