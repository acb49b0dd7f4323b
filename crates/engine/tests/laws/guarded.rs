//! Turns under a guard: what each call measures, prunes, archives, compacts and recovers, and that nothing is lost by it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use stemmata_api::v1::TurnTask;
use stemmata_engine::{
    BeginTurn, Engine, EngineError, EntryMark, Refusal, Stop, TurnGuard, TurnMade, TurnOf, WindowReport,
};
use stemmata_model::{
    CommitId, Entry, EntryId, Estimate, Event, Json, LedgerId, Part, Party, Payload, Reason, Role, SessionId,
    Template, Tokens, Usage, topics,
};
use stemmata_prompt::assemble::TaskFacts;
use stemmata_prompt::compact::{SummarizeError, Summarizer, SummaryAsked};
use stemmata_prompt::guard::{WindowSettings, Zone};
use stemmata_prompt::tool_output::OutputLimits;
use stemmata_prompt::window::{CompactSettings, ToolSummaryStrategy, WindowConfig, WindowConfigSettings};
use stemmata_store::{EventQuery, FileLog, FileLogOptions, LedgerChange, SessionKey, Store, Write};
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::support::{Folder, chain, engine, engine_on, native};

pub(crate) fn turn() -> TurnOf {
    TurnOf::new(
        LedgerId::new("p").expect("a name"),
        SessionId::new("s").expect("a name"),
        Party::new("worker").expect("a name"),
        Template::new("worker/main").expect("a name"),
    )
}

/// A window of so many tokens that is never compacted by itself.
pub(crate) fn config(limit: u64) -> WindowConfig {
    settings(limit, |compact| compact.is_automatic = false)
}

pub(crate) fn settings(limit: u64, change: impl FnOnce(&mut CompactSettings)) -> WindowConfig {
    let mut compact = CompactSettings { tool_call_cutoff: 0, ..CompactSettings::default() };
    change(&mut compact);
    let window = WindowSettings::of(Tokens(limit));
    WindowConfig::new(WindowConfigSettings { window, compact, output: OutputLimits::default() })
        .expect("limits")
}

pub(crate) fn guard(config: &WindowConfig) -> TurnGuard<'_> {
    TurnGuard { returns_entries: true, ..TurnGuard::new(config, &Estimate) }
}

/// The state of the work at the commit of a turn, where a rule asked for a checkpoint in it.
fn checkpoint_state(engine: &Engine, ctx: CommitId) -> Option<serde_json::Value> {
    let store = engine.store();
    let covered = |ctx| store.coverage(ctx).expect("a read");
    let turn = covered(ctx)?;
    let parent = store.commit(ctx).expect("a read").expect("a commit").core.parent;
    let query = EventQuery {
        after: parent.and_then(covered).map(|parent| parent.through),
        through: Some(turn.through),
        ..EventQuery::latest(topics::topic(topics::CHECKPOINT_STATE), 1)
    };
    match store.events(&turn.ledger, &query).expect("a read").pop()?.payload {
        Payload::Plain { data, .. } => data.map(|data| data.to_value()),
        Payload::Line { .. } | Payload::Gone(_) => None,
    }
}

pub(crate) fn id(name: &str) -> EntryId {
    EntryId::new(name).expect("a name")
}

/// An entry that takes so many tokens.
pub(crate) fn said(name: &str, role: Role, tokens: usize) -> Entry {
    Entry::said(id(name), role, vec![Part::Text("word".repeat(tokens))])
}

pub(crate) fn pair(name: &str, tokens: usize) -> [Entry; 2] {
    let call = Part::ToolCall { call_id: name.to_owned(), name: "t".to_owned(), arguments: "{}".to_owned() };
    let parts = vec![Part::Text("word".repeat(tokens))];
    let result = Part::ToolResult { call_id: name.to_owned(), is_error: false, parts };
    [
        Entry::said(id(&format!("{name}-call")), Role::Assistant, vec![call]),
        Entry::said(id(&format!("{name}-result")), Role::Tool, vec![result]),
    ]
}

pub(crate) fn begin(engine: &Engine, name: &str, tokens: usize, config: &WindowConfig) -> WindowReport {
    let begin =
        BeginTurn { guard: Some(guard(config)), ..BeginTurn::new(turn(), said(name, Role::User, tokens)) };
    engine.begin_turn(&begin).expect("begun").window.expect("a guard was given")
}

pub(crate) fn end(engine: &Engine, entries: Vec<Entry>, config: &WindowConfig) -> (CommitId, WindowReport) {
    let made = TurnMade { entries, ..TurnMade::default() };
    let ended = engine.end_guarded_turn(&turn(), made, Some(&guard(config))).expect("ended");
    (ended.checkpoint.expect("a commit").id, ended.window.expect("a guard was given"))
}

pub(crate) fn step(engine: &Engine, entries: Vec<Entry>, config: &WindowConfig) -> WindowReport {
    let made = TurnMade { entries, ..TurnMade::default() };
    let step = engine.guarded_step(&turn(), made, Some(&guard(config))).expect("a step");
    step.window.expect("a guard was given")
}

/// Takes a turn of two entries, and returns what its beginning and its end did.
pub(crate) fn take(
    engine: &Engine,
    name: &str,
    tokens: usize,
    config: &WindowConfig,
) -> (WindowReport, WindowReport) {
    let begun = begin(engine, &format!("{name}-prompt"), tokens, config);
    let answer = said(&format!("{name}-answer"), Role::Assistant, tokens);
    (begun, end(engine, vec![answer], config).1)
}

pub(crate) fn events(engine: &Engine, topic: &str) -> Vec<Event> {
    let all = engine.log().events(&turn().ledger, &EventQuery::after(None, 1_000)).expect("events");
    all.into_iter().filter(|event| event.topic.as_str() == topic).collect()
}

pub(crate) fn data(event: &Event) -> serde_json::Value {
    let Payload::Plain { data: Some(data), .. } = &event.payload else { panic!("an event with data") };
    data.to_value()
}

pub(crate) fn tip(engine: &Engine) -> CommitId {
    let machine = engine.identity().machine.clone();
    let key = SessionKey { machine, path: "api:s".to_owned() };
    engine.store().session(&key).expect("a read").and_then(|session| session.tip).expect("a tip")
}

fn names(entries: &[Entry]) -> String {
    entries.iter().map(|entry| entry.id.to_string()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn seen(report: &WindowReport) -> String {
    names(report.entries.as_deref().expect("entries were asked for"))
}

/// The ids of everything that was said, whether the model sees it or not.
pub(crate) fn root(engine: &Engine) -> String {
    let mut bytes = Vec::new();
    engine.materialize(Some(tip(engine)), None, Stop::Root, &mut bytes).expect("materialized");
    let format = stemmata_model::FormatId::new("stemmata-v1").expect("a name");
    names(&stemmata_runtimes::registry::by_format(&format).expect("an adapter").decode(&bytes).entries)
}

#[test]
fn each_crossing_upward_is_one_alert_also_for_another_process() {
    let store = Arc::new(MemoryStore::default());
    let config = config(1_000);
    let mut levels = Vec::new();
    for number in 0..8 {
        // A process for each turn: what was sent is read from the ledger.
        let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
        let (begun, ended) = take(&engine, &format!("t{number}"), 55, &config);
        levels.extend([begun, ended].into_iter().filter_map(|report| report.alert).map(|alert| alert.level));
    }
    assert_eq!(levels, ["WARNING", "DANGER"]);
    let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
    let alerts = events(&engine, topics::CONTEXT_SIZE_ALERT);
    let alert = data(alerts.first().expect("an alert"));
    assert_eq!((alert["level"].as_str(), alert["ratio"].as_f64()), (Some("WARNING"), Some(0.715)));
    assert!(alert["recommendation"].as_str().is_some_and(|text| text.contains("prun")), "{alert}");
    let history = engine.window_history(&turn(), 100).expect("a history");
    let sizes: Vec<u64> = history.iter().map(|sample| sample.size.0).collect();
    assert_eq!(sizes, (1..=16).map(|turn| turn * 55).collect::<Vec<_>>());
    assert_eq!(engine.window_history(&turn(), 3).expect("a history").len(), 3);
}

#[test]
fn a_critical_window_is_pruned_in_the_transaction_of_its_checkpoint() {
    let engine = engine();
    let config = config(1_000);
    for number in 0..8 {
        take(&engine, &format!("t{number}"), 55, &config);
    }
    // 880 tokens are in danger: a plan, and no prune.
    let planned = engine.turn_window(&turn(), &guard(&config)).expect("measured");
    assert_eq!((planned.zone, planned.pruned.len()), (Zone::Danger, 0));
    assert!(planned.plan.as_ref().is_some_and(|plan| plan.prune > 0 && plan.tokens_after <= 700));
    let before = root(&engine);
    let report = begin(&engine, "last", 100, &config);
    assert_eq!((report.zone, report.tokens), (Zone::Critical, Tokens(980)));
    assert!(report.tokens_after <= Tokens(700) && !report.pruned.is_empty(), "{report:?}");
    assert_eq!(report.plan.as_ref().map(|plan| plan.form.as_str()), Some("pruned"));
    assert!(report.reasons.iter().any(|reason| reason == Reason::Emergency));
    assert!(report.pruned.iter().all(|gone| !gone.reason.is_empty()));
    assert!(seen(&report).ends_with("last") && seen(&report).starts_with("t0-prompt"), "{}", seen(&report));
    // The commit has both, and everything can still be read.
    let (made, ended) = end(&engine, vec![said("done", Role::Assistant, 10)], &config);
    assert_eq!(root(&engine), format!("{before} last done"));
    assert_eq!(seen(&ended), format!("{} done", seen(&report)));
    assert_eq!(ended.tokens, report.tokens_after + Tokens(10), "one prune, and not one for each call");
    let reasons = engine.show(made).expect("shown").sightings.first().map(|sighting| sighting.reasons);
    let held = reasons.expect("a sighting");
    assert!(
        held.iter().any(|reason| reason == Reason::Emergency),
        "the turn's commit has its reasons: {held:?}"
    );
    let live = engine.live_window(made).expect("a window");
    assert_eq!(names(&live.entries), seen(&ended));
    // What the model sees is the same for whoever asks.
    assert_eq!(seen(&engine.turn_window(&turn(), &guard(&config)).expect("measured")), seen(&ended));
}

#[test]
fn a_turn_that_begins_once_more_prunes_once() {
    let engine = engine();
    let config = config(1_000);
    for number in 0..8 {
        take(&engine, &format!("t{number}"), 55, &config);
    }
    let report = begin(&engine, "last", 100, &config);
    let known = events(&engine, topics::CONTEXT_VISIBILITY).len();
    let again = begin(&engine, "last", 100, &config);
    assert_eq!(seen(&again), seen(&report));
    assert_eq!((again.tokens, again.pruned.len()), (report.tokens_after, 0));
    assert_eq!(events(&engine, topics::CONTEXT_VISIBILITY).len(), known);
    assert_eq!(events(&engine, topics::USER_TURN).len(), 9);
}

#[test]
fn a_context_that_can_t_be_made_small_enough_is_a_typed_overflow() {
    let engine = engine();
    let config = config(100);
    let report = begin(&engine, "huge", 200, &config);
    assert!(report.stop.is_some());
    let overflow = report.overflow.expect("an overflow");
    assert_eq!((overflow.largest, overflow.least, overflow.limit), (id("huge"), Tokens(200), Tokens(100)));
    let error = engine
        .recover(&turn(), ("prompt is too long: 210000 tokens > 200000 maximum", None), &guard(&config))
        .map(|_| ())
        .err();
    // What was refused is the limit then, and one prompt is all that there is.
    assert!(error.is_none() || matches!(error, Some(EngineError::Refused { what: Refusal::Recover, .. })));
    assert_eq!(events(&engine, topics::USER_TURN).len(), 1);
}

#[test]
fn reported_usage_is_what_a_window_takes() {
    let engine = engine();
    let config = config(10_000);
    begin(&engine, "p", 10, &config);
    let mut answer = said("a", Role::Assistant, 10);
    answer.meta.usage = Some(Usage { input_tokens: 7_400, output_tokens: 100, ..Usage::default() });
    let (_, report) = end(&engine, vec![answer], &config);
    assert_eq!((report.tokens, report.is_reported, report.zone), (Tokens(7_500), true, Zone::Warning));
    // The entries hold 20 tokens: that is all that a summary could stand for.
    assert_eq!((report.overhead, report.compaction, report.notes), (Tokens(7_480), None, Vec::new()));
    let report = begin(&engine, "q", 1_200, &config);
    assert_eq!((report.tokens, report.overhead), (Tokens(8_700), Tokens(7_480)));
    assert_eq!(report.zone, Zone::Danger);
}

#[test]
fn the_triggers_that_hold_are_recorded_with_the_state_of_the_work() {
    let engine = engine();
    let config = config(1_000);
    let facts = |phase: &str, done: usize| TaskFacts {
        phase: Some(phase.to_owned()),
        current: Some(TurnTask { id: "T1".to_owned(), text: "mend it".to_owned(), depends_on: Vec::new() }),
        completed: (0..done).map(|number| format!("D{number}")).collect(),
    };
    let begin = |name: &str, task: TaskFacts, next: Option<&str>| {
        let guard = TurnGuard { next_operation: next, ..guard(&config) };
        let begin =
            BeginTurn { guard: Some(guard), task, ..BeginTurn::new(turn(), said(name, Role::User, 10)) };
        let window = engine.begin_turn(&begin).expect("begun").window.expect("guarded");
        let made = end(&engine, vec![said(&format!("{name}-answer"), Role::Assistant, 10)], &config).0;
        let state = checkpoint_state(&engine, made);
        let sighting = engine.show(made).expect("shown").sightings.first().map(|sighting| sighting.reasons);
        assert_eq!(sighting, Some(window.reasons));
        (window.reasons.iter().map(Reason::as_str).collect::<Vec<_>>(), state)
    };
    assert_eq!(begin("t0", facts("plan", 4), None), (Vec::new(), None));
    let (reasons, state) = begin("t1", facts("build", 5), Some("large_merge"));
    assert_eq!(reasons, ["phase_transition", "task_milestone", "risky_operation"]);
    let state = state.expect("a state");
    assert_eq!(state["system_state"]["phase"], "build");
    assert_eq!(state["system_state"]["tasks_completed"], 5);
    // No folder is known of the ledger.
    assert_eq!(state["not_known"], serde_json::json!(["git_head", "file_checksums"]));
    let task = serde_json::json!([{ "id": "T1", "text": "mend it", "status": "in_progress" }]);
    assert_eq!(state["task_queue"], task);
    assert_eq!(
        state["metrics"],
        serde_json::json!({ "size": 30, "limit": 1_000, "ratio_permille": 30, "errors": 0 })
    );
    assert_eq!(begin("t2", facts("build", 6), None), (Vec::new(), None), "a milestone counts once");
}

#[test]
fn a_checkpoint_has_the_checksums_of_the_files_that_were_changed_below_the_project() {
    let folder = Folder::new();
    let project = folder.path().join("project");
    std::fs::create_dir_all(project.join(".git/refs/heads")).expect("a folder");
    folder.write("project/.git/HEAD", b"ref: refs/heads/main\n");
    let head = "0123456789abcdef0123456789abcdef01234567";
    folder.write("project/.git/refs/heads/main", format!("{head}\n").as_bytes());
    folder.write("project/a.rs", b"fn a() {}");
    folder.write("secret", b"mine");
    let engine = engine();
    let root = Some(project.to_string_lossy().into_owned());
    let now = stemmata_model::Timestamp::from_micros(1);
    let change = LedgerChange { root, ..LedgerChange::new(turn().ledger, now) };
    engine.store().commit_batch(vec![Write::ChangeLedger(Box::new(change))]).expect("a ledger");
    let config = config(1_000);
    begin(&engine, "p", 10, &config);
    let write = |name: &str| {
        let arguments =
            Json::of(&serde_json::json!({ "file_path": name, "content": "fn a() {}" })).to_string();
        let part = Part::ToolCall { call_id: name.to_owned(), name: "Write".to_owned(), arguments };
        let parts = vec![Part::Text("ok".to_owned())];
        let result = Part::ToolResult { call_id: name.to_owned(), is_error: false, parts };
        [
            Entry::said(id(&format!("{name}-call")), Role::Assistant, vec![part]),
            Entry::said(id(&format!("{name}-result")), Role::Tool, vec![result]),
        ]
    };
    let outside = folder.path().join("secret").to_string_lossy().into_owned();
    let entries: Vec<Entry> =
        ["a.rs", "gone.rs", "../secret", &outside].into_iter().flat_map(write).collect();
    let guard = TurnGuard { next_operation: Some("major_refactor"), ..guard(&config) };
    let made = TurnMade { entries, ..TurnMade::default() };
    let ended = engine.end_guarded_turn(&turn(), made, Some(&guard)).expect("ended");
    let state = checkpoint_state(&engine, ended.checkpoint.expect("a commit").id).expect("a state");
    assert_eq!(state["system_state"]["git_head"], head);
    let hash = stemmata_model::artifact_id(b"fn a() {}").to_string();
    assert_eq!(state["file_checksums"], serde_json::json!({ "a.rs": hash, "gone.rs": null }));
    let shared = stemmata_model::WorkState::of_json(&state).expect("the shape that checkpoint files have");
    assert_eq!(shared.file_checksums.len(), 2);
}

#[test]
fn results_above_the_cutoff_are_archived_with_one_summary_for_neighbours() {
    let engine = engine();
    let config = settings(100_000, |compact| {
        (compact.tool_call_cutoff, compact.is_automatic) = (2, false);
    });
    begin(&engine, "p", 10, &config);
    for name in ["c1", "c2"] {
        assert!(step(&engine, pair(name, 500).to_vec(), &config).archived.is_empty());
    }
    let two = [pair("c3", 500), pair("c4", 500)].concat();
    let report = step(&engine, two, &config);
    assert_eq!(names_of(&report.archived), "c1-call c1-result c2-call c2-result");
    assert_eq!(report.tool_summaries, 1);
    assert!(report.tokens < Tokens(1_300), "{}", report.tokens);
    let entries = report.entries.expect("entries");
    let last = entries.last().expect("a summary");
    assert_eq!(last.kind, stemmata_model::EntryKind::ToolSummary);
    assert!(
        names(&entries).starts_with("p c3-call c3-result c4-call c4-result digest-"),
        "{}",
        names(&entries)
    );
    let (made, _) = end(&engine, vec![said("done", Role::Assistant, 10)], &config);
    assert!(root(&engine).starts_with("p c1-call c1-result c2-call"), "{}", root(&engine));
    assert_eq!(native(&engine, made).iter().filter(|byte| **byte == b'\n').count(), 12);
}

pub(crate) fn names_of(ids: &[EntryId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Answers as a test says, and counts how often it was asked.
struct Model<F> {
    answer: F,
    times: AtomicUsize,
}

impl<F> Model<F> {
    fn new(answer: F) -> Self {
        Self { answer, times: AtomicUsize::new(0) }
    }

    fn times(&self) -> usize {
        self.times.load(Ordering::SeqCst)
    }
}

impl<F: Fn(&SummaryAsked<'_>) -> Result<String, SummarizeError> + Send + Sync> Summarizer for Model<F> {
    fn name(&self) -> &'static str {
        "model-x"
    }

    fn window_tokens(&self) -> Option<u64> {
        None
    }

    fn summarize(&self, asked: &SummaryAsked<'_>) -> Result<String, SummarizeError> {
        self.times.fetch_add(1, Ordering::SeqCst);
        (self.answer)(asked)
    }
}

fn down() -> Result<String, SummarizeError> {
    Err(SummarizeError::Failed { reason: "it is down".to_owned() })
}

fn asking<'a>(config: &'a WindowConfig, model: &'a dyn Summarizer) -> TurnGuard<'a> {
    TurnGuard { summarizer: Some(model), ..guard(config) }
}

#[test]
fn a_model_summarizes_archived_results_and_rules_do_where_it_fails() {
    type Said = fn() -> Result<String, SummarizeError>;
    let built = || Ok("It went on as it had begun.".to_owned());
    let rows: [(Said, ToolSummaryStrategy, &str, usize); 5] = [
        (built, ToolSummaryStrategy::Llm, "It went on", 0),
        (down, ToolSummaryStrategy::Llm, "Output excerpt", 1),
        (|| Ok(" \n".to_owned()), ToolSummaryStrategy::Llm, "Output excerpt", 1),
        (
            || Ok("It deleted src/never_seen_here.rs.".to_owned()),
            ToolSummaryStrategy::Llm,
            "Output excerpt",
            1,
        ),
        (built, ToolSummaryStrategy::Heuristic, "Output excerpt", 0),
    ];
    for (said, strategy, text, notes) in rows {
        let model = Model::new(move |asked: &SummaryAsked<'_>| {
            assert!(asked.conversation.chars().count() <= 12_000 && asked.chars_max == 1_200);
            said()
        });
        let engine = engine();
        let config =
            settings(100_000, |compact| (compact.tool_call_cutoff, compact.tool_summary) = (1, strategy));
        begin(&engine, "p", 10, &config);
        let entries = [pair("c1", 9_000), pair("c2", 500)].concat();
        let made = TurnMade { entries, ..TurnMade::default() };
        let guard = asking(&config, &model);
        let report =
            engine.guarded_step(&turn(), made, Some(&guard)).expect("a step").window.expect("guarded");
        let entries = report.entries.expect("entries");
        let Some(Part::Text(summary)) = entries.last().and_then(|entry| entry.parts.first()) else {
            panic!("a summary")
        };
        assert!(summary.contains(text), "{summary}");
        assert_eq!(report.notes.len(), notes, "{:?}", report.notes);
    }
}

#[test]
fn a_model_is_asked_once_while_others_write_to_the_ledger() {
    let engine = engine();
    let config = settings(100_000, |compact| compact.tool_call_cutoff = 1);
    begin(&engine, "p", 10, &config);
    // With a transaction open, this would wait for its own process without end.
    let model = Model::new(|_: &SummaryAsked<'_>| {
        let event = stemmata_model::NewEvent::new(
            SessionId::new("other").expect("a name"),
            topics::topic(topics::STATUS_EVENT),
            Party::new("somebody").expect("a name"),
            stemmata_model::NewPayload::Plain { text: Some("meanwhile".to_owned()), data: None },
        );
        engine.publish(&turn().ledger, vec![event]).expect("published");
        Ok("It went on as it had begun.".to_owned())
    });
    let made = TurnMade { entries: [pair("c1", 500), pair("c2", 500)].concat(), ..TurnMade::default() };
    let done = engine.guarded_step(&turn(), made, Some(&asking(&config, &model))).expect("a step");
    let window = done.window.expect("guarded");
    assert_eq!((model.times(), window.tool_summaries, window.notes), (1, 1, Vec::new()));
}

/// Takes turns until one is compacted, and returns what its end did.
fn until_compacted(engine: &Engine, first: usize, guard: &TurnGuard<'_>) -> (usize, WindowReport) {
    for number in first..first + 30 {
        begin(engine, &format!("t{number}-prompt"), 80, guard.config);
        let answer = said(&format!("t{number}-answer"), Role::Assistant, 80);
        let made = TurnMade { entries: vec![answer], ..TurnMade::default() };
        let window = engine.end_guarded_turn(&turn(), made, Some(guard)).expect("ended").window;
        let window = window.expect("a guard was given");
        if window.compaction.is_some() {
            return (number + 1, window);
        }
    }
    panic!("it is compacted at last")
}

#[test]
fn a_model_writes_the_compactions_of_turns_and_rules_do_after_three_failures() {
    let config = settings(4_000, |compact| {
        (compact.reserve_tokens, compact.keep_recent_tokens) = (Tokens(3_000), Tokens(200));
    });
    let with = |report: &WindowReport| report.compaction.as_ref().expect("a compaction").with.clone();
    let engine = engine();
    let works = Model::new(|_: &SummaryAsked<'_>| Ok("Goal: the work goes on.".to_owned()));
    let (next, report) = until_compacted(&engine, 0, &asking(&config, &works));
    assert_eq!((&*with(&report), works.times(), &report.notes), ("model", 1, &Vec::new()));
    let said = format!("{:?}", report.entries.expect("entries")[0]);
    assert!(said.contains("Goal: the work goes on."), "{said}");
    // Whoever sends nothing is asked for nothing.
    let silent = TurnGuard { compacts_with_model: false, ..asking(&config, &works) };
    let (mut next, report) = until_compacted(&engine, next, &silent);
    assert_eq!((&*with(&report), works.times()), ("heuristic", 1));
    let fails = Model::new(|_: &SummaryAsked<'_>| down());
    for time in 1..=5 {
        let (after, report) = until_compacted(&engine, next, &asking(&config, &fails));
        next = after;
        assert_eq!((&*with(&report), fails.times()), ("heuristic", time.min(3)), "{time}");
        let is_said = report.notes.iter().any(|note| note.message.contains("it is down"));
        assert_eq!(is_said, time <= 3, "{time}: {:?}", report.notes);
    }
}

#[test]
fn without_a_limit_of_tokens_messages_are_counted() {
    let engine = engine();
    let config = settings(1_000, |compact| {
        (compact.messages_max, compact.tokens_max) = (6, Tokens(0));
        (compact.keep_recent, compact.keep_recent_tokens) = (2, Tokens(0));
    });
    for number in 0..2 {
        let (_, ended) = take(&engine, &format!("t{number}"), 20, &config);
        assert_eq!(ended.compaction, None, "{number}");
    }
    let (_, ended) = take(&engine, "t2", 20, &config);
    let compaction = ended.compaction.clone().expect("a compaction");
    assert_eq!(compaction.reason, "6 messages reach 6");
    assert!(seen(&ended).ends_with(" t2-prompt t2-answer"), "{}", seen(&ended));
    assert_eq!(ended.entries.expect("entries").len(), 3);
}

#[test]
fn a_turn_that_reaches_the_limit_is_compacted_after_it() {
    let engine = engine();
    let config = settings(2_000, |compact| compact.reserve_tokens = Tokens(1_000));
    let mut made = None;
    for number in 0..8 {
        let (_, ended) = take(&engine, &format!("t{number}"), 80, &config);
        made = made.or_else(|| Some(number).zip(ended.compaction.clone()));
        assert_eq!(ended.compaction.is_some(), ended.tokens >= Tokens(1_000), "{number}: {ended:?}");
        if ended.compaction.is_some() {
            break;
        }
    }
    let (number, compaction) = made.expect("a compaction");
    assert!(compaction.reason.contains("reach the limit"), "{}", compaction.reason);
    assert_eq!((number, tip(&engine)), (6, compaction.ctx));
    let (starts, ends) = (events(&engine, topics::COMPACTION_START), events(&engine, topics::COMPACTION_END));
    assert_eq!((starts.len(), ends.len()), (1, 1));
    let end = data(&ends[0]);
    assert!(end["tokens_before"].as_u64() > end["tokens_after"].as_u64(), "{end}");
    let (begun, _) = take(&engine, "next", 80, &config);
    assert!(begun.tokens < Tokens(1_000), "{}", begun.tokens);
    assert!(root(&engine).starts_with("t0-prompt t0-answer t1-prompt"), "{}", root(&engine));
    // The switch stops the path that nobody asked for.
    let engine = engine_on("m2", Arc::new(MemoryStore::default()));
    let off = settings(2_000, |compact| {
        (compact.reserve_tokens, compact.is_automatic) = (Tokens(1_000), false);
    });
    assert!((0..8).all(|number| take(&engine, &format!("t{number}"), 80, &off).1.compaction.is_none()));
}

#[test]
fn three_compactions_that_lead_nowhere_are_the_last_ones() {
    let engine = engine();
    // The last turn alone is above the limit, and stays whole.
    let config = settings(2_000, |compact| compact.reserve_tokens = Tokens(1_900));
    let mut notes = Vec::new();
    for number in 0..6 {
        let (_, ended) = take(&engine, &format!("t{number}"), 60, &config);
        notes.push(ended.notes.iter().map(|note| note.message.clone()).collect::<String>());
    }
    let tries = events(&engine, topics::COMPACTION_START).len();
    assert!(tries >= 3, "{notes:?}");
    assert!(notes.last().is_some_and(|note| note.contains("no longer compacted")), "{notes:?}");
    take(&engine, "more", 60, &config);
    assert_eq!(events(&engine, topics::COMPACTION_START).len(), tries);
    // Another limit is another window.
    let wider = settings(2_000, |compact| compact.reserve_tokens = Tokens(1_850));
    take(&engine, "wider", 60, &wider);
    assert_eq!(events(&engine, topics::COMPACTION_START).len(), tries + 1);
}

pub(crate) const TOO_LONG: &str = "prompt is too long";

/// Some providers report no error: they cut the input, or stop where the window is full.
#[test]
fn an_answer_that_shows_an_overflow_is_said_and_compacts_the_session() {
    let engine = engine();
    let config = settings(100_000, |compact| compact.keep_recent_tokens = Tokens(20));
    for number in 0..4 {
        take(&engine, &format!("t{number}"), 200, &config);
    }
    begin(&engine, "more", 10, &config);
    let mut answer = said("cut", Role::Assistant, 10);
    answer.meta.stop_reason = Some("model_context_window_exceeded".to_owned());
    answer.meta.usage = Some(Usage { input_tokens: 900, output_tokens: 10, ..Usage::default() });
    let report = end(&engine, vec![answer], &config).1;
    let told = report.notes.iter().any(|note| note.message.contains("because the window was full"));
    assert!(told, "{:?}", report.notes);
    let made = report.compaction.expect("a compaction");
    assert!(made.reason.contains("the window was full"), "{}", made.reason);
}

/// The sizes in the error decide: what the entries do not hold, no prune can free.
#[test]
fn a_refused_context_is_judged_by_the_sizes_in_the_error() {
    let config = config(8_000);
    let session = || {
        let engine = engine();
        for number in 0..6 {
            take(&engine, &format!("t{number}"), 400, &config);
        }
        begin(&engine, "last", 10, &config);
        engine
    };
    let engine = session();
    let error = "prompt is too long: 90000 tokens > 8000 maximum";
    let error = engine.recover(&turn(), (error, None), &guard(&config)).expect_err("the entries are small");
    assert!(error.to_string().contains("the request took 90000 tokens"), "{error}");
    assert_eq!(events(&engine, topics::CONTEXT_VISIBILITY).len(), 0, "nothing that cannot help is pruned");

    let engine = session();
    let error = "prompt is too long: 9000 tokens > 8000 maximum";
    let recovered = engine.recover(&turn(), (error, None), &guard(&config)).expect("answered");
    let window = recovered.expect("an overflow").window;
    assert_eq!((window.limit, window.tokens, window.zone), (Tokens(8_000), Tokens(9_000), Zone::Critical));
    assert!(window.overhead > Tokens(4_000), "what no entry holds: {}", window.overhead);
    assert!(window.tokens_after < Tokens(8_000), "{}", window.tokens_after);
}

/// An error names the window that the model has, with or without what the request took. It may be larger or smaller than what
/// the session holds, and than the window that was set.
#[test]
fn the_window_in_an_error_decides_whether_it_is_larger_or_smaller_than_what_is_held() {
    let session = |limit: u64| {
        let (engine, config) = (engine(), config(limit));
        for number in 0..6 {
            take(&engine, &format!("t{number}"), 400, &config);
        }
        let held = begin(&engine, "last", 10, &config).tokens;
        assert_eq!(held, Tokens(4_810));
        move |maximum: u64| {
            let error = format!("This model's maximum context length is {maximum} tokens.");
            let recovered = engine.recover(&turn(), (&error, None), &guard(&config));
            recovered.map(|recovered| recovered.expect("an overflow").window)
        }
    };
    // Larger than what is held: what is beyond it is the system prompt and the tools.
    let window = session(8_000)(6_000).expect("answered");
    assert_eq!((window.limit, window.tokens, window.overhead), (Tokens(6_000), Tokens(6_001), Tokens(1_191)));
    assert!(window.tokens_after < Tokens(6_000), "{}", window.tokens_after);
    // Smaller: the entries alone are too much.
    let window = session(8_000)(3_000).expect("answered");
    assert_eq!((window.limit, window.tokens, window.zone), (Tokens(3_000), Tokens(4_810), Zone::Critical));
    assert!(window.tokens_after < Tokens(3_000), "{}", window.tokens_after);
    // Larger than the window that was set: it is not the model that takes so little.
    let error = session(8_000)(200_000).expect_err("the entries are small").to_string();
    assert!(error.contains("took 200001 tokens, the window was set to 8000, and"), "{error}");
    // The system prompt and the tools may take most of it.
    let window = session(200_000)(100_000).expect("there is room for some entries");
    assert_eq!((window.limit, window.overhead), (Tokens(100_000), Tokens(95_191)));
}

#[test]
fn an_overflow_is_answered_once_and_the_second_one_is_fatal() {
    let engine = engine();
    let config = config(100_000);
    for number in 0..6 {
        take(&engine, &format!("t{number}"), 400, &config);
    }
    begin(&engine, "last", 10, &config);
    let before = root(&engine);
    assert_eq!(
        engine.recover(&turn(), ("rate limit exceeded", None), &guard(&config)).expect("answered"),
        None
    );
    let recovered = engine.recover(&turn(), (TOO_LONG, None), &guard(&config)).expect("answered");
    let recovered = recovered.expect("an overflow");
    assert!(recovered.window.tokens_after.0 * 100 < recovered.window.tokens.0 * 95, "{:?}", recovered.window);
    assert!(seen(&recovered.window).ends_with("last"));
    assert!(root(&engine).starts_with(&before), "{}", root(&engine));
    let error = engine.recover(&turn(), (TOO_LONG, None), &guard(&config)).expect_err("refused again");
    assert!(matches!(error, EngineError::Refused { what: Refusal::Recover, .. }), "{error}");
    assert!(error.to_string().contains("refused the context again"), "{error}");
    // An answer ends it.
    end(&engine, vec![said("done", Role::Assistant, 10)], &config);
    begin(&engine, "more", 10, &config);
    assert!(engine.recover(&turn(), (TOO_LONG, None), &guard(&config)).expect("answered").is_some());
}

#[test]
fn what_was_pruned_comes_back_by_id_and_counts() {
    let engine = engine();
    let config = config(1_000);
    for number in 0..8 {
        take(&engine, &format!("t{number}"), 55, &config);
    }
    let report = begin(&engine, "last", 100, &config);
    let gone = report.pruned.first().expect("pruned").entry.clone();
    let mark = |ids: &[EntryId], mark| engine.mark_entries(&turn(), (ids, mark), Some(&guard(&config)));
    let marked = mark(std::slice::from_ref(&gone), EntryMark::Rehydrate).expect("shown");
    assert_eq!(marked.entries, std::slice::from_ref(&gone));
    let window = marked.window.expect("guarded");
    assert_eq!(window.tokens, report.tokens_after + Tokens(55));
    assert!(seen(&window).contains(gone.as_str()));
    assert!(
        mark(std::slice::from_ref(&gone), EntryMark::Rehydrate).expect("nothing to do").entries.is_empty()
    );
    let all: Vec<EntryId> = report.pruned.iter().map(|gone| gone.entry.clone()).collect();
    let error = mark(&all, EntryMark::Rehydrate).expect_err("no room");
    assert!(matches!(error, EngineError::Refused { what: Refusal::MarkEntries, .. }), "{error}");
    let error = mark(&[id("nobody")], EntryMark::Rehydrate).expect_err("unknown");
    assert!(matches!(error, EngineError::NotFound { .. }), "{error}");
    // Pinned it stays, whatever comes.
    assert_eq!(
        mark(std::slice::from_ref(&gone), EntryMark::Pin).expect("pinned").entries,
        std::slice::from_ref(&gone)
    );
    for number in 0..6 {
        let (begun, _) = take(&engine, &format!("u{number}"), 55, &config);
        assert!(seen(&begun).contains(gone.as_str()), "{number}");
    }
    assert_eq!(mark(std::slice::from_ref(&gone), EntryMark::Pin).expect("nothing to do").ctx, None);
    assert_eq!(mark(std::slice::from_ref(&gone), EntryMark::Unpin).expect("unpinned").entries, [gone]);
}

#[test]
fn a_group_comes_back_whole() {
    let engine = engine();
    let config = settings(100_000, |compact| compact.tool_call_cutoff = 1);
    begin(&engine, "p", 10, &config);
    step(&engine, [pair("c1", 50), pair("c2", 50)].concat(), &config);
    let marked =
        engine.mark_entries(&turn(), (&[id("c1-result")], EntryMark::Rehydrate), Some(&guard(&config)));
    let marked = marked.expect("shown");
    assert_eq!(names_of(&marked.entries), "c1-call c1-result");
    assert!(seen(&marked.window.expect("guarded")).starts_with("p c1-call c1-result c2-call"));
}

#[test]
fn a_session_in_a_log_of_files_is_guarded_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = Arc::new(FileLog::open(folder.path(), FileLogOptions::default()).expect("a log"));
    let engine = engine().with_log(log);
    let config = config(1_000);
    for number in 0..8 {
        take(&engine, &format!("t{number}"), 55, &config);
    }
    let report = begin(&engine, "last", 100, &config);
    assert!(!report.pruned.is_empty() && report.tokens_after <= Tokens(700));
    let (_, ended) = end(&engine, vec![said("done", Role::Assistant, 10)], &config);
    assert_eq!(seen(&ended), format!("{} done", seen(&report)));
}

#[test]
fn a_guarded_turn_is_there_whole_or_not_at_all() {
    let pruning = config(1_000);
    let compacting = settings(2_000, |compact| {
        (compact.reserve_tokens, compact.tool_call_cutoff) = (Tokens(1_100), 2);
    });
    for (config, turns) in [(&pruning, 8), (&compacting, 7)] {
        for number in 1..=8 {
            for fault in [Fault::Before, Fault::After] {
                let store = Arc::new(FaultyStore::new(MemoryStore::default()));
                let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
                for turn in 0..turns {
                    take(&engine, &format!("t{turn}"), 55, config);
                }
                let before = root(&engine);
                let what = format!("{number} {fault:?} {turns}");
                store.fail(number, fault);
                // A harness that hears of an error calls again with the same entries.
                let prompt = || BeginTurn {
                    guard: Some(guard(config)),
                    ..BeginTurn::new(turn(), said("last", Role::User, 100))
                };
                let begun =
                    engine.begin_turn(&prompt()).or_else(|_| engine.begin_turn(&prompt())).expect("begun");
                let part = || TurnMade { entries: pair("c", 20).to_vec(), ..TurnMade::default() };
                let step = |made| engine.guarded_step(&turn(), made, Some(&guard(config)));
                step(part()).or_else(|_| step(part())).expect("a step");
                let rest =
                    || TurnMade { entries: vec![said("done", Role::Assistant, 10)], ..TurnMade::default() };
                let finish = |made| engine.end_guarded_turn(&turn(), made, Some(&guard(config)));
                let ended = finish(rest()).or_else(|_| finish(rest())).expect("ended");
                let window = ended.window.expect("guarded");
                assert!(window.tokens_after < config.window().limit(), "{what}");
                assert_eq!(root(&engine), format!("{before} last c-call c-result done"), "{what}");
                let pruned = begun.window.expect("guarded").tokens_after;
                assert!(pruned < Tokens(950) || turns == 7, "{what}: {pruned}");
                let user = events(&engine, topics::USER_TURN).len();
                assert_eq!(user, turns + 1, "{what}");
                let ids: Vec<CommitId> =
                    chain(&engine, tip(&engine)).iter().map(|commit| commit.id).collect();
                assert!(!ids.is_empty(), "{what}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(4)))]

    #[test]
    fn after_every_call_the_window_fits_or_says_why_not_and_nothing_is_lost(
        turns in proptest::collection::vec((1..120_usize, 0..4_usize, 0..200_usize, proptest::bool::weighted(0.2)), 1..14),
        limit in 300..1_200_u64, cutoff in -1..4_i64, is_automatic: bool,
    ) {
        let engine = engine();
        let config = settings(limit, |compact| {
            (compact.tool_call_cutoff, compact.is_automatic) = (cutoff, is_automatic);
            compact.reserve_tokens = Tokens(limit / 4);
        });
        let mut all: Vec<String> = Vec::new();
        let mut pinned: Vec<EntryId> = Vec::new();
        for (number, (prompt, calls, result, pins)) in turns.into_iter().enumerate() {
            let name = format!("t{number}");
            let begun = begin(&engine, &name, prompt, &config);
            all.push(name.clone());
            check(&begun, &config, &pinned)?;
            if pins && prompt < 20 {
                engine.mark_entries(&turn(), (&[id(&name)], EntryMark::Pin), None).expect("pinned");
                pinned.push(id(&name));
            }
            for call in 0..calls {
                let made = pair(&format!("{name}-{call}"), result);
                all.extend(made.iter().map(|entry| entry.id.to_string()));
                let stepped = step(&engine, made.to_vec(), &config);
                check(&stepped, &config, &pinned)?;
                if cutoff > 0 {
                    let results = stepped.entries.iter().flatten().flat_map(|entry| &entry.parts);
                    let results = results.filter(|part| matches!(part, Part::ToolResult { .. })).count();
                    prop_assert!(i64::try_from(results).unwrap_or(0) <= cutoff);
                }
            }
            let answer = format!("{name}-answer");
            end(&engine, vec![said(&answer, Role::Assistant, 5)], &config);
            all.push(answer);
        }
        let root = root(&engine);
        let there: Vec<&str> = root.split(' ').filter(|name| !name.starts_with("vis-")).collect();
        prop_assert_eq!(there, all);
    }
}

fn check(report: &WindowReport, config: &WindowConfig, pinned: &[EntryId]) -> Result<(), TestCaseError> {
    let entries = report.entries.as_deref().expect("entries were asked for");
    prop_assert!(report.stop.is_some() || report.tokens_after <= config.window().limit());
    prop_assert_eq!(report.stop.is_some(), report.overflow.is_some() && report.zone == Zone::Critical);
    if report.plan.as_ref().is_some_and(|plan| plan.form == "pruned") && !report.pruned.is_empty() {
        // What has to stay may be more than the target.
        prop_assert!(config.window().zone(report.tokens_after) < Zone::Critical);
    }
    let calls: Vec<&str> = entries.iter().flat_map(Entry::calls).collect();
    let answers: Vec<&str> = entries.iter().flat_map(Entry::answers).collect();
    prop_assert_eq!(calls, answers, "pairs are whole");
    let text =
        entries.iter().flat_map(|entry| &entry.parts).map(|part| format!("{part:?}")).collect::<String>();
    for pin in pinned {
        let is_there = entries.iter().any(|entry| entry.id == *pin)
            || text.contains("[Pinned]")
            || text.contains("Pinned");
        prop_assert!(is_there, "{}", pin);
    }
    Ok(())
}
