//! Contexts of turns: what a session goes on from, what it knows of it, and what it never hears of.

use std::sync::Arc;

use stemmata_api::v1::TurnTask;
use stemmata_engine::prompt::assemble::TaskFacts;
use stemmata_engine::prompt::profile::Profile;
use stemmata_engine::prompt::strategy::{DocumentFormat, Strategy, parse, shipped};
use stemmata_engine::{
    BeginTurn, Engine, EngineError, KEPT_TURNS_MAX, PromptMade, PromptOf, PromptWanted, Refusal, TurnBegun,
    TurnContext, TurnMade, TurnOf, Wanted,
};
use stemmata_model::{
    Closure, CommitId, Entry, EntryId, Estimate, Event, Granularity, Json, LedgerId, NewEvent, NewPayload,
    Part, Party, Payload, Role, SessionId, Template, ThreadId, TicketId, Trigger, topics,
};
use stemmata_store::{EventLog, EventQuery, FileLog, FileLogOptions, Page, SessionKey, Store, TipFilter};
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::search::{indexed, settle};
use crate::support::{Folder, answer, chain, engine, engine_on, import, native, new_store, user};

const STRATEGY: &str = "maxTokens = 50000\n[[sources]]\ntopic = \"state\"\n[[sources]]\ntopic = \"turns\"\nstrategy = \"latest\"\namount = 40\n[[sources]]\ntopic = \"NOTE\"\n";

pub(crate) fn ledger() -> LedgerId {
    LedgerId::new("p").expect("a name")
}

pub(crate) fn turn(session: &str) -> TurnOf {
    TurnOf::new(
        ledger(),
        SessionId::new(session).expect("a name"),
        Party::new("worker").expect("a name"),
        Template::new("worker/main").expect("a name"),
    )
}

pub(crate) fn said(id: &str, role: Role, text: &str) -> Entry {
    Entry::said(EntryId::new(id).expect("a name"), role, vec![Part::Text(text.to_owned())])
}

fn call(id: &str) -> Entry {
    let arguments = "{\"command\":\"make\"}".to_owned();
    let part = Part::ToolCall { call_id: id.to_owned(), name: "Bash".to_owned(), arguments };
    Entry::said(EntryId::new(format!("{id}-call")).expect("a name"), Role::Assistant, vec![part])
}

fn result(id: &str) -> Entry {
    let parts = vec![Part::Text("all fine".to_owned())];
    let part = Part::ToolResult { call_id: id.to_owned(), is_error: false, parts };
    Entry::said(EntryId::new(format!("{id}-result")).expect("a name"), Role::Tool, vec![part])
}

fn made(entries: Vec<Entry>) -> TurnMade {
    TurnMade { entries, ..TurnMade::default() }
}

pub(crate) fn event(session: &str, topic: &'static str, text: &str, data: &str) -> NewEvent {
    let payload = NewPayload::Plain { text: Some(text.to_owned()), data: Json::parse(data).ok() };
    NewEvent::new(turn(session).session, topics::topic(topic), turn(session).agent, payload)
}

pub(crate) fn profile() -> Profile {
    Profile::new(Party::new("worker").expect("a name"), "worker")
}

pub(crate) fn strategy() -> Strategy {
    parse(STRATEGY, DocumentFormat::Toml).expect("a strategy")
}

/// Begins a turn with a prompt.
pub(crate) fn begin(
    engine: &Engine,
    of: TurnOf,
    asked: (TurnContext, &str),
) -> Result<(TurnBegun, PromptMade), EngineError> {
    begin_by(engine, of, asked, &strategy())
}

/// Begins a turn with a prompt of a strategy.
pub(crate) fn begin_by(
    engine: &Engine,
    of: TurnOf,
    (context, text): (TurnContext, &str),
    strategy: &Strategy,
) -> Result<(TurnBegun, PromptMade), EngineError> {
    let profile = profile();
    let prompt = Some(PromptWanted::new(&profile, strategy, &Estimate));
    let id = format!("{}-{}", of.session, text.split(' ').next().unwrap_or_default());
    let asked = BeginTurn { context, prompt, ..BeginTurn::new(of, said(&id, Role::User, text)) };
    let mut begun = engine.begin_turn(&asked)?;
    let prompt = begun.prompt.take().expect("a prompt was asked for");
    Ok((begun, prompt))
}

/// Takes a whole turn, and returns its commit.
pub(crate) fn take(engine: &Engine, session: &str, name: &str, events: Vec<NewEvent>) -> CommitId {
    let prompt = said(&format!("{name}-prompt"), Role::User, &format!("{name} please"));
    engine.begin_turn(&BeginTurn::new(turn(session), prompt)).expect("begun");
    let entries = vec![said(&format!("{name}-answer"), Role::Assistant, &format!("{name} is answered"))];
    let ended = engine.end_turn(&turn(session), TurnMade { events, ..made(entries) }).expect("ended");
    ended.checkpoint.expect("a commit").id
}

fn events(engine: &Engine, session: &str) -> Vec<Event> {
    let query = EventQuery { session: SessionId::new(session).ok(), ..EventQuery::after(None, 1_000) };
    engine.log().events(&ledger(), &query).expect("events")
}

fn tip_of(engine: &Engine, session: &str) -> Option<CommitId> {
    let key = SessionKey {
        machine: stemmata_model::MachineId::new("m1").expect("a name"),
        path: format!("api:{session}"),
    };
    engine.store().session(&key).expect("a read").and_then(|session| session.tip)
}

/// One branch, then an other one from the commit between them: what the first one did after it is not told.
fn forked() -> (Engine, CommitId, CommitId) {
    forked_on(engine())
}

pub(crate) fn forked_on(engine: Engine) -> (Engine, CommitId, CommitId) {
    let decided = |text: &str| format!("{{\"kind\":\"decision\",\"decision\":\"{text}\"}}");
    let base = take(
        &engine,
        "old",
        "base",
        vec![
            event("old", topics::DECISION_EVENT, "", &decided("Store times as numbers")),
            event(
                "old",
                topics::DECISION_EVENT,
                "",
                "{\"kind\":\"task\",\"decision\":\"Measure the parser\"}",
            ),
        ],
    );
    let supersedes = "{\"kind\":\"decision\",\"decision\":\"Store times as words\",\"supersedes\":\"Store times as numbers\"}";
    let left = take(
        &engine,
        "old",
        "left",
        vec![
            event("old", topics::DECISION_EVENT, "", supersedes),
            event("old", topics::DECISION_EVENT, "", &decided("Write it in Cobol")),
            event(
                "old",
                topics::DECISION_EVENT,
                "",
                "{\"kind\":\"task_done\",\"decision\":\"Measure the parser\"}",
            ),
            event("old", topics::ERROR_EVENT, "the linker exploded", "{}"),
        ],
    );
    (engine, base, left)
}

#[test]
fn a_fork_knows_nothing_of_the_branch_it_left() {
    let (engine, base, left) = forked();
    let fork = TurnContext::Fork { ctx: base, at: None };
    let (begun, prompt) = begin(&engine, turn("new"), (fork, "Go on elsewhere")).expect("begun");
    assert_eq!(begun.opened.map(|opened| (opened.ctx, opened.head, opened.prompt)), Some((base, base, None)));
    let rows = [
        ("the decision that it made", "Cobol", false),
        ("what it replaced", "Store times as words", false),
        ("what holds here", "Store times as numbers", true),
        ("the task that it ended", "[ ] Measure the parser", true),
        ("its error", "exploded", false),
        ("its turn", "left is answered", false),
        ("the turn before it", "base is answered", true),
    ];
    for (what, words, is_known) in rows {
        assert_eq!(prompt.text.contains(words), is_known, "{what}: {}", prompt.text);
    }
    // Who resumes the branch itself knows all of it.
    let (_, prompt) = begin(&engine, turn("again"), (TurnContext::Resume(left), "Go on")).expect("begun");
    for words in ["Cobol", "Store times as words", "exploded", "left is answered", "base is answered"] {
        assert!(prompt.text.contains(words), "{words}: {}", prompt.text);
    }
    // What the fork itself says and records comes on top, saved state or not.
    let decision = "{\"kind\":\"decision\",\"decision\":\"Use a table\"}";
    take(&engine, "new", "first", vec![event("new", topics::DECISION_EVENT, "", decision)]);
    let (_, prompt) = begin(&engine, turn("new"), (TurnContext::None, "And now")).expect("begun");
    for (words, is_known) in [("Use a table", true), ("first is answered", true), ("Cobol", false)] {
        assert_eq!(prompt.text.contains(words), is_known, "{words}: {}", prompt.text);
    }
}

/// The same with the strategy that comes with Stemmata: its retriever searches the whole project.
#[test]
fn the_retriever_tells_a_fork_nothing_of_the_branch_it_left() {
    let (store, index) = (new_store(), tempfile::tempdir().expect("a folder"));
    let (engine, base, left) = forked_on(indexed(&store, index.path()));
    let live = shipped("live").expect("a strategy");
    // Another session goes on from the branch, and a third has nothing to do with either.
    begin(&engine, turn("further"), (TurnContext::Resume(left), "Cobol it is")).expect("begun");
    let further =
        event("further", topics::DECISION_EVENT, "Cobol further", "{\"decision\":\"Cobol further\"}");
    engine
        .end_turn(
            &turn("further"),
            TurnMade {
                events: vec![further],
                ..made(vec![said("f", Role::Assistant, "Cobol goes further")])
            },
        )
        .expect("ended");
    let aside = event("aside", topics::DECISION_EVENT, "Cobol is taught aside", "{}");
    take(&engine, "aside", "aside", vec![aside]);
    settle(&engine);
    let asked = "Go on with Cobol, the linker that exploded, base, left, aside, numbers and words";
    let fork = TurnContext::Fork { ctx: base, at: None };
    let (_, prompt) = begin_by(&engine, turn("new"), (fork, asked), &live).expect("begun");
    let rows = [
        ("the decision that it made", "Write it in Cobol", false),
        ("what it replaced", "Store times as words", false),
        ("what holds here", "Store times as numbers", true),
        ("its error", "linker exploded", false),
        ("its turn", "left is answered", false),
        ("its prompt", "left please", false),
        ("who went on from it", "Cobol goes further", false),
        ("what they decided", "Cobol further", false),
        ("what is not a branch of it", "Cobol is taught aside", true),
        ("the turn before it", "base is answered", true),
    ];
    for (what, words, is_known) in rows {
        assert_eq!(prompt.text.contains(words), is_known, "{what}: {}", prompt.text);
    }
    let (_, prompt) =
        begin_by(&engine, turn("again"), (TurnContext::Resume(left), asked), &live).expect("begun");
    for words in ["Write it in Cobol", "linker exploded", "left is answered"] {
        assert!(prompt.text.contains(words), "{words}: {}", prompt.text);
    }
    assert!(!prompt.text.contains("Cobol goes further"), "{}", prompt.text);
}

#[test]
fn resume_opens_a_new_session_and_names_its_context() {
    let (engine, base, left) = forked();
    let old = tip_of(&engine, "old");
    let links =
        TurnOf { thread: ThreadId::new("t-1").ok(), ticket: TicketId::new("K-7").ok(), ..turn("new") };
    let task = TaskFacts {
        phase: Some("implement".to_owned()),
        current: Some(TurnTask {
            id: "T2".to_owned(),
            text: "Skip empty lines".to_owned(),
            depends_on: vec!["T1".to_owned()],
        }),
        completed: vec!["T1".to_owned()],
    };
    let (profile, strategy) = (profile(), strategy());
    let asked = BeginTurn {
        context: TurnContext::Resume(left),
        task,
        prompt: Some(PromptWanted::new(&profile, &strategy, &Estimate)),
        ..BeginTurn::new(links.clone(), said("p", Role::User, "Go on"))
    };
    let begun = engine.begin_turn(&asked).expect("begun");
    let prompt = begun.prompt.expect("a prompt").text;
    assert!(prompt.contains("Current: T2: Skip empty lines\nDepends on: T1 (done)"), "{prompt}");
    assert!(prompt.ends_with("## User turn\n\nGo on\n"), "{prompt}");
    let told = events(&engine, "new");
    let topics: Vec<&str> = told.iter().map(|event| event.topic.as_str()).collect();
    assert_eq!(topics, ["SESSION_STARTED", "status_event", "user_turn"]);
    let [started, status, _] = &told[..] else { panic!("three events") };
    let data = |event: &Event| match &event.payload {
        Payload::Plain { data: Some(data), .. } => data.to_value(),
        other => panic!("{other:?}"),
    };
    let expected = serde_json::json!({
        "mode": "resume", "ctx": left.to_string(), "head": left.to_string(), "template": "worker/main",
        "thread": "t-1", "ticket": "K-7",
    });
    assert_eq!(data(started), expected);
    assert_eq!(data(status)["current"]["depends_on"], serde_json::json!(["T1"]));
    assert!(told.iter().all(|event| event.links() == links.links()), "{told:?}");
    let ended = engine.end_turn(&links, made(vec![said("a", Role::Assistant, "Done.")])).expect("ended");
    let tip = ended.checkpoint.expect("a commit").id;
    let shown = engine.show(tip).expect("shown");
    assert_eq!(shown.commit.core.parent, Some(left));
    let sighting = shown.sightings.first().expect("a sighting");
    assert_eq!((&sighting.thread, &sighting.ticket), (&links.thread, &links.ticket));
    assert!(events(&engine, "new").iter().all(|event| event.links() == links.links()));
    assert_eq!(tip_of(&engine, "old"), old, "the session that it goes on from is as it was");
    // Another context is another session's.
    for context in
        [TurnContext::Resume(base), TurnContext::Fork { ctx: left, at: Some("left-answer".to_owned()) }]
    {
        let asked = BeginTurn { context, ..BeginTurn::new(links.clone(), said("q", Role::User, "What?")) };
        let refused = engine.begin_turn(&asked);
        assert!(matches!(refused, Err(EngineError::Refused { what: Refusal::BeginTurn, .. })), "{refused:?}");
    }
}

#[test]
fn a_fork_at_an_entry_begins_behind_answers_and_before_prompts() {
    let (engine, _, left) = forked();
    for (number, (at, words, cut)) in [
        ("left-answer", "left is answered", None),
        ("left-prompt", "base is answered", Some("left please")),
        ("base-answer", "base is answered", None),
    ]
    .into_iter()
    .enumerate()
    {
        let context = TurnContext::Fork { ctx: left, at: Some(at.to_owned()) };
        let session = format!("fork{number}");
        let (begun, prompt) = begin(&engine, turn(&session), (context, "Go")).expect("begun");
        let opened = begun.opened.expect("a context was named");
        assert_eq!(opened.prompt.as_deref(), cut, "{at}");
        assert!(prompt.text.contains(words), "{at}: {}", prompt.text);
        assert_eq!(prompt.text.contains("left please"), at == "left-answer", "{at}: {}", prompt.text);
    }
    let elsewhere = take(&engine, "other", "elsewhere", Vec::new());
    let context = TurnContext::Fork { ctx: left, at: Some("elsewhere-answer".to_owned()) };
    let refused = begin(&engine, turn("none"), (context, "Go")).map(drop);
    assert!(
        matches!(refused, Err(EngineError::NotFound { what: Wanted::Entry, .. })),
        "{refused:?} {elsewhere}"
    );
    assert_eq!(events(&engine, "none"), Vec::new(), "what is refused leaves nothing");
}

#[test]
fn the_first_commit_of_a_resumed_session_follows_its_context() {
    let engine = engine();
    let folder = Folder::new();
    let lines = [user(1, None, "Why is it slow?"), answer(2, 1, "The cache is cold.")].concat();
    let captured = import(&engine, &folder.write("s.jsonl", lines.as_bytes()));
    let ctx = captured.session.tip.expect("a tip");
    let (_, prompt) = begin(&engine, turn("new"), (TurnContext::Resume(ctx), "Warm it")).expect("begun");
    for words in ["Why is it slow?", "The cache is cold.", "Warm it"] {
        assert!(prompt.text.contains(words), "{words}: {}", prompt.text);
    }
    let usage = || engine.store().usage().expect("usage").commits;
    let before = usage();
    begin(&engine, turn("idle"), (TurnContext::Resume(ctx), "Never mind")).expect("begun");
    assert_eq!(usage(), before, "a turn that never ends leaves no commit");
    let ended =
        engine.end_turn(&turn("new"), made(vec![said("a", Role::Assistant, "Warm.")])).expect("ended");
    let tip = ended.checkpoint.expect("a commit").id;
    let commits = chain(&engine, tip);
    let formats: Vec<&str> = commits.iter().map(|commit| commit.core.format.as_str()).collect();
    assert_eq!(formats, ["claude-code-v1", "stemmata-v1", "stemmata-v1"], "a snapshot stands between");
    let text = String::from_utf8(native(&engine, tip)).expect("text");
    assert_eq!(text.matches("Warm it").count(), 1, "{text}");
    // A context that was captured can be looked at without a session of turns.
    let of = PromptOf { ledger: ledger(), session: None, tip: Some(ctx) };
    let (profile, strategy) = (profile(), strategy());
    let prompt = engine.assemble(&of, &PromptWanted::new(&profile, &strategy, &Estimate)).expect("a prompt");
    let turns = prompt.text.rsplit("## Recent turns").next().unwrap_or_default();
    assert!(turns.contains("The cache is cold.") && !turns.contains("Warm"), "{}", prompt.text);
}

#[test]
fn a_begin_that_is_repeated_begins_once() {
    let (engine, base, _) = forked();
    let resume = || TurnContext::Resume(base);
    let mail = event("p", topics::USER_GUIDANCE_CLUSTER, "Mind the gap", "{}");
    engine.publish(&ledger(), vec![mail]).expect("published");
    let first = begin(&engine, turn("new"), (resume(), "Go on")).expect("begun");
    assert!(first.1.text.contains("Mind the gap"), "{}", first.1.text);
    let again = begin(&engine, turn("new"), (resume(), "Go on")).expect("begun");
    assert_eq!(again, first);
    assert_eq!(events(&engine, "new").len(), 2);
    // Of two faults one is after the events were stored.
    for (number, fault) in [Fault::Before, Fault::After].into_iter().enumerate() {
        let store = Arc::new(FaultyStore::new(MemoryStore::default()));
        let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
        store.fail(1, fault);
        assert!(begin(&engine, turn("s"), (TurnContext::None, "Go")).is_err(), "{number}");
        begin(&engine, turn("s"), (TurnContext::None, "Go")).expect("begun");
        assert_eq!(events(&engine, "s").len(), 2, "{fault:?}");
    }
    // The next turn gets no guidance twice, and knows what it shares with the last prompt.
    let (_, next) = begin(&engine, turn("new"), (resume(), "And then")).expect("begun");
    assert!(!next.text.contains("Mind the gap"), "{}", next.text);
    assert!(
        next.trace.cached_prefix.is_some_and(|prefix| prefix.chars > 20),
        "{:?}",
        next.trace.cached_prefix
    );
    let kept = engine.kept_prompts(&ledger(), &turn("new").session).expect("kept");
    assert_eq!(kept.len(), KEPT_TURNS_MAX);
    assert_eq!(kept.last().and_then(|kept| kept.text.as_deref()), Some(next.text.as_str()));
}

#[test]
fn current_names_what_was_said_so_far() {
    for (granularity, closed_after_call, closed_after_result) in
        [(Granularity::Turn, 1, 1), (Granularity::Every(2), 1, 1), (Granularity::Message, 2, 3)]
    {
        let engine = engine();
        take(&engine, "s", "first", Vec::new());
        let of = TurnOf { granularity, ..turn("s") };
        let session = || {
            let filter = stemmata_store::SessionFilter::default();
            let page = Page { skip: 0, rows_max: 9 };
            engine.store().sessions(&filter, page).expect("sessions").into_iter().next().expect("a session")
        };
        let text = |ctx| String::from_utf8(native(&engine, ctx)).expect("text");
        let closed =
            |ctx| chain(&engine, ctx).iter().filter(|commit| commit.closure == Closure::Closed).count();
        let lines = || {
            let told = events(&engine, "s").into_iter().filter_map(|event| match event.payload {
                Payload::Line { line, .. } => Some(format!("{line}\n")),
                Payload::Plain { .. } | Payload::Gone(_) => None,
            });
            told.collect::<String>()
        };
        let id = said("second-prompt", Role::User, "second please");
        engine.begin_turn(&BeginTurn::new(of.clone(), id)).expect("begun");
        let now = engine.current(&session()).expect("current");
        assert_eq!(text(now), lines(), "{granularity}: the prompt is in it");
        assert_eq!(engine.current(&session()).expect("current"), now, "{granularity}: nothing is new");
        let step = engine.step(&of, made(vec![call("c")])).expect("a step");
        let checkpoint = step.checkpoint.expect("a commit").id;
        assert_eq!(closed(checkpoint), closed_after_call, "{granularity}");
        let splits = granularity == Granularity::Message && text(checkpoint).contains("c-call");
        assert!(!splits, "a closed commit never ends between a call and its result");
        let now = engine.current(&session()).expect("current");
        assert_eq!(text(now), lines(), "{granularity}: the call is in it");
        let step = engine.step(&of, made(vec![result("c")])).expect("a step");
        let checkpoint = step.checkpoint.expect("a commit").id;
        assert_eq!((text(checkpoint), closed(checkpoint)), (lines(), closed_after_result), "{granularity}");
        let trigger = engine.show(checkpoint).expect("shown").sightings.first().map(|one| one.trigger);
        assert_eq!(trigger, Some(Trigger::ToolCall));
        let ended = engine.end_turn(&of, made(vec![said("end", Role::Assistant, "done")])).expect("ended");
        let tip = ended.checkpoint.expect("a commit").id;
        assert_eq!(text(tip), lines(), "{granularity}");
        let is_open = granularity == Granularity::Every(2);
        assert_eq!(
            engine.store().commit(tip).expect("a read").expect("there").closure == Closure::Provisional,
            is_open
        );
        assert_eq!(engine.current(&session()).expect("current"), tip, "{granularity}");
        let third = take_as(&engine, &of, "third");
        assert_eq!(text(third), lines(), "{granularity}");
        assert!(
            chain(&engine, third).iter().all(|commit| commit.closure == Closure::Closed),
            "{granularity}"
        );
        let counted = chain(&engine, third).iter().map(|commit| commit.counts.messages).sum::<u64>();
        assert_eq!(session().messages, counted, "{granularity}");
        let tips = engine.store().tips(&TipFilter::default(), Page { skip: 0, rows_max: 9 }).expect("tips");
        assert_eq!(tips.iter().map(|tip| tip.id).collect::<Vec<_>>(), [third], "{granularity}");
    }
}

fn take_as(engine: &Engine, of: &TurnOf, name: &str) -> CommitId {
    let prompt = said(&format!("{name}-prompt"), Role::User, &format!("{name} please"));
    engine.begin_turn(&BeginTurn::new(of.clone(), prompt)).expect("begun");
    let entries = vec![said(&format!("{name}-answer"), Role::Assistant, &format!("{name} is answered"))];
    engine.end_turn(of, made(entries)).expect("ended").checkpoint.expect("a commit").id
}

#[test]
fn a_step_is_there_whole_or_not_at_all() {
    for fault in [Fault::Before, Fault::After] {
        let store = Arc::new(FaultyStore::new(MemoryStore::default()));
        let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
        let prompt = said("p", Role::User, "go");
        engine.begin_turn(&BeginTurn::new(turn("s"), prompt)).expect("begun");
        store.fail(1, fault);
        assert!(engine.step(&turn("s"), made(vec![call("c"), result("c")])).is_err());
        let count = events(&engine, "s").len();
        match tip_of(&engine, "s") {
            None => assert_eq!(count, 2, "{fault:?}"),
            Some(tip) => {
                let through = engine.store().coverage(tip).expect("a read").expect("coverage").through.get();
                assert_eq!((count, through), (4, 4), "{fault:?}");
            }
        }
        let tip = take(&engine, "s", "after", Vec::new());
        assert_eq!(chain(&engine, tip).len(), 1, "{fault:?}: all of it is in one commit");
    }
}

#[test]
fn forgetting_drops_kept_prompts_and_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs: [Option<Arc<dyn EventLog>>; 2] =
        [None, Some(Arc::new(FileLog::open(folder.path(), FileLogOptions::default()).expect("a log")))];
    for log in logs {
        let engine = match log {
            Some(log) => engine().with_log(log),
            None => engine(),
        };
        let base = take(&engine, "old", "base", Vec::new());
        begin(&engine, turn("new"), (TurnContext::Resume(base), "Go on")).expect("begun");
        let names = || {
            let states = engine.log().saved_states(&ledger(), "memory-").expect("a read");
            states.into_iter().map(|state| state.name).collect::<Vec<_>>()
        };
        assert_eq!(names(), ["memory-kept", "memory-line/new/", "memory-prompt/new/"]);
        assert_eq!(engine.kept_prompts(&ledger(), &turn("new").session).expect("kept").len(), 1);
        engine.log().forget_events(&turn("old").session).expect("forgotten");
        assert_eq!(names(), Vec::<String>::new());
    }
}

#[test]
fn what_nobody_should_ask_for_is_refused() {
    let (engine, base, _) = forked();
    let many = TaskFacts { completed: vec!["T".to_owned(); 65], ..TaskFacts::NONE };
    let long = TaskFacts { phase: Some("x".repeat(4_097)), ..TaskFacts::NONE };
    for task in [many, long] {
        let begin = BeginTurn { task, ..BeginTurn::new(turn("new"), said("p", Role::User, "Go")) };
        assert!(engine.begin_turn(&begin).is_err());
    }
    // A session of commits that no turn made is somebody's already.
    let context = TurnContext::Resume(base);
    let refused = begin(&engine, turn("old"), (context, "Go")).map(drop);
    assert!(matches!(refused, Err(EngineError::Refused { what: Refusal::BeginTurn, .. })), "{refused:?}");
    assert_eq!(events(&engine, "new"), Vec::new());
}
