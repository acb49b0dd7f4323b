//! Turns: what one leaves behind, that it leaves all of it or nothing, and that sessions of one ledger keep apart.

use std::sync::Arc;
use std::thread;

use stemmata_engine::{BeginTurn, Engine, EngineError, Refusal, Result, TurnBegun, TurnMade, TurnOf};
use stemmata_model::{
    CommitId, CommitType, Entry, EntryId, Event, Json, LedgerId, NewEvent, NewPayload, Part, Party, Payload,
    Role, SessionId, Template, Timestamp, Trigger, topics,
};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_store::{
    EventLog, EventQuery, FileLog, FileLogOptions, LedgerChange, Page, SessionFilter, SqliteOptions,
    SqliteStore, Store, TipFilter,
};
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::support::{chain, engine, engine_on, native};

fn turn(session: &str) -> TurnOf {
    TurnOf::new(
        LedgerId::new("p").expect("a name"),
        SessionId::new(session).expect("a name"),
        Party::new("worker").expect("a name"),
        Template::new("worker/main").expect("a name"),
    )
}

fn said(id: &str, role: Role, text: &str) -> Entry {
    Entry::said(EntryId::new(id).expect("a name"), role, vec![Part::Text(text.to_owned())])
}

fn made(name: &str) -> TurnMade {
    let call = Part::ToolCall {
        call_id: name.to_owned(),
        name: "Bash".to_owned(),
        arguments: "{\"command\":\"make\"}".to_owned(),
    };
    let output = vec![Part::Text("all fine".to_owned())];
    let result = Part::ToolResult { call_id: name.to_owned(), is_error: false, parts: output };
    let id = |kind: &str| EntryId::new(format!("{name}-{kind}")).expect("a name");
    TurnMade {
        entries: vec![
            Entry::said(id("call"), Role::Assistant, vec![call]),
            Entry::said(id("result"), Role::Tool, vec![result]),
            said(&format!("{name}-answer"), Role::Assistant, &format!("{name} is done")),
        ],
        ..TurnMade::default()
    }
}

fn begin(engine: &Engine, session: &str, said: Entry) -> Result<TurnBegun> {
    engine.begin_turn(&BeginTurn::new(turn(session), said))
}

fn take(engine: &Engine, session: &str, name: &str) -> CommitId {
    begin(engine, session, said(&format!("{name}-prompt"), Role::User, name)).expect("begun");
    let ended = engine.end_turn(&turn(session), made(name)).expect("ended");
    assert_eq!(ended.notes, Vec::new());
    ended.checkpoint.expect("a commit").id
}

fn events(engine: &Engine) -> Vec<Event> {
    engine.log().events(&turn("s").ledger, &EventQuery::after(None, 1_000)).expect("events")
}

/// Returns the lines of a session's events, as a transcript has them.
fn lines(engine: &Engine, session: &str) -> String {
    let own = events(engine).into_iter().filter(|event| event.session.as_str() == session);
    own.filter_map(|event| match event.payload {
        Payload::Line { line, .. } => Some(format!("{line}\n")),
        Payload::Plain { .. } | Payload::Gone(_) => None,
    })
    .collect()
}

#[test]
fn a_turn_leaves_events_state_and_a_commit() {
    let engine = engine();
    let tip = take(&engine, "s", "first");
    let topics: Vec<String> = events(&engine).iter().map(|event| event.topic.to_string()).collect();
    assert_eq!(topics, ["SESSION_STARTED", "user_turn", "assistant_turn", "tool_event", "assistant_turn"]);
    assert_eq!(String::from_utf8(native(&engine, tip)).expect("text"), lines(&engine, "s"));
    let coverage =
        engine.store().coverage(tip).expect("a read").expect("a commit of a turn covers its ledger");
    assert_eq!((coverage.ledger, coverage.through.get()), (turn("s").ledger, 5));
    let shown = engine.show(tip).expect("shown");
    assert_eq!(shown.sightings.first().map(|sighting| sighting.trigger), Some(Trigger::TurnBoundary));
    // The next one goes on from it, and the state knows both.
    let next = take(&engine, "s", "second");
    assert_eq!(chain(&engine, next).iter().map(|commit| commit.id).collect::<Vec<_>>(), [tip, next]);
    assert_eq!(String::from_utf8(native(&engine, next)).expect("text"), lines(&engine, "s"));
    let remembered = engine.remember(&turn("s").ledger).expect("remembered");
    let told = remembered.memory.text(10_000);
    assert!(told.contains("first is done") && told.contains("second is done"), "{told}");
    assert_eq!(remembered.transcripts, 0, "the session is told by its events, not by its commits once more");
}

/// A caller that died before it heard of the end cannot know what was stored.
#[test]
fn a_turn_that_ends_once_more_is_stored_once() {
    let logs = tempfile::tempdir().expect("a folder");
    let files = FileLog::open(logs.path(), FileLogOptions::default()).expect("a log");
    for engine in [engine(), engine().with_log(Arc::new(files))] {
        begin(&engine, "s", said("first-prompt", Role::User, "first")).expect("begun");
        let step = engine.step(&turn("s"), made("first")).expect("a step");
        let count = events(&engine).len();
        assert_eq!(engine.step(&turn("s"), made("first")).expect("a step").checkpoint.map(|made| made.id), {
            step.checkpoint.map(|made| made.id)
        });
        assert_eq!(events(&engine).len(), count);
        let last = || TurnMade { events: vec![decision()], ..made("last") };
        let first = engine.end_turn(&turn("s"), last()).expect("ended");
        let tip = first.checkpoint.as_ref().expect("a commit").id;
        let count = events(&engine).len();
        let again = engine.end_turn(&turn("s"), last()).expect("ended");
        assert_eq!(again.checkpoint.expect("the commit").id, tip);
        assert_eq!(events(&engine).len(), count, "nothing is said twice");
        assert_eq!(String::from_utf8(native(&engine, tip)).expect("text"), lines(&engine, "s"));
        // The next turn is another one, and what it is given of the one before is not said once more.
        begin(&engine, "s", said("second-prompt", Role::User, "second")).expect("begun");
        engine.end_turn(&turn("s"), last()).expect("ended");
        assert_eq!(events(&engine).len(), count + 1);
    }
}

#[test]
fn a_session_goes_by_its_whole_name_however_short_it_is() {
    let engine = engine();
    take(&engine, "s", "one");
    take(&engine, "sa", "two");
    for name in ["s", "sa"] {
        let found = engine.find_session(name).expect("no two go by it").expect("one goes by it");
        assert_eq!(found.session.as_str(), name);
    }
    assert_eq!(engine.find_session("").expect("none"), None);
}

fn decision() -> NewEvent {
    let data = Json::parse("{\"kind\":\"decision\",\"decision\":\"Use a table\"}").expect("JSON");
    let payload = NewPayload::Plain { text: None, data: Some(data) };
    let agent = Party::new("worker").expect("a name");
    NewEvent::new(turn("s").session, topics::topic(topics::DECISION_EVENT), agent, payload)
}

#[test]
fn the_end_of_a_session_saves_the_state() {
    let engine = engine();
    take(&engine, "s", "first");
    let saved = || engine.log().saved_states(&turn("s").ledger, MemoryReducer::NAME).expect("a read");
    let [state] = &saved()[..] else { panic!("a checkpoint saves the state") };
    assert_eq!((state.name.as_str(), state.through), ("memory/ledger", 5));
    let ended = engine.end_turn(&turn("s"), TurnMade { ends: true, ..TurnMade::default() }).expect("ended");
    assert!(ended.saved && ended.checkpoint.is_none(), "nothing was said, so there is nothing to commit");
    let [state] = &saved()[..] else { panic!("one state") };
    assert_eq!((state.name.as_str(), state.through), ("memory/ledger", 6));
    assert_eq!(events(&engine).last().map(|event| event.topic.to_string()).as_deref(), Some("SESSION_ENDED"));
    let ended = engine.end_turn(&turn("s"), TurnMade { ends: true, ..made("last") }).expect("ended");
    let sightings = engine.show(ended.checkpoint.expect("a commit").id).expect("shown").sightings;
    assert_eq!(sightings.first().map(|sighting| sighting.trigger), Some(Trigger::SessionEnd));
}

#[test]
fn lines_of_events_and_deltas_are_stored_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(SqliteStore::open(folder.path(), SqliteOptions::default()).expect("a store"));
    let engine = engine_on("m1", store);
    for number in 0..5 {
        take(&engine, "s", &format!("turn {number}"));
    }
    let usage = engine.store().usage().expect("a read");
    let length = u64::try_from(lines(&engine, "s").len()).expect("a length");
    assert_eq!((usage.distinct_bytes, usage.logical_bytes), (length, length));
}

#[test]
fn raw_output_is_in_the_ledger_and_in_no_commit() {
    let engine = engine();
    let payload = NewPayload::Plain { text: Some("raw noise".to_owned()), data: None };
    let output =
        NewEvent::new(turn("s").session, topics::topic(topics::AGENT_OUTPUT), turn("s").agent, payload);
    let ended = engine.end_turn(&turn("s"), TurnMade { events: vec![output], ..made("one") }).expect("ended");
    let bytes = native(&engine, ended.checkpoint.expect("a commit").id);
    assert!(!String::from_utf8(bytes).expect("text").contains("raw noise"));
    let last = events(&engine).pop().expect("an event");
    assert!(last.topic.as_str() == topics::AGENT_OUTPUT && !last.replayable);
}

#[test]
fn secrets_of_a_turn_reach_neither_events_nor_commits() {
    let engine = engine();
    let secret = concat!("ghp_", "a8Kd03jfKdlsPq92mZx7TbVn41LcYu6Re5Wo");
    begin(&engine, "s", said("a", Role::User, &format!("use {secret}"))).expect("begun");
    let answer = said("b", Role::Assistant, &format!("I used {secret}"));
    let made = TurnMade { entries: vec![answer], ..TurnMade::default() };
    let ended = engine.end_turn(&turn("s"), made).expect("ended");
    assert!(ended.notes.iter().any(|note| note.message.contains("secrets")), "{:?}", ended.notes);
    let tip = ended.checkpoint.expect("a commit").id;
    assert!(!lines(&engine, "s").contains(secret));
    assert_eq!(String::from_utf8(native(&engine, tip)).expect("text"), lines(&engine, "s"));
}

#[test]
fn sessions_of_one_ledger_keep_apart_whoever_is_faster() {
    let engine = engine();
    thread::scope(|scope| {
        for session in ["s0", "s1", "s2", "s3"] {
            let engine = &engine;
            scope.spawn(move || {
                for number in 0..6 {
                    take(engine, session, &format!("{session} turn {number}"));
                }
            });
        }
    });
    let numbers: Vec<u64> = events(&engine).iter().map(|event| event.seq.get()).collect();
    assert_eq!(numbers, (1..=4 * (1 + 6 * 4)).collect::<Vec<_>>());
    for session in ["s0", "s1", "s2", "s3"] {
        let filter = TipFilter { session: SessionId::new(session).ok(), ..TipFilter::default() };
        let page = stemmata_store::Page { skip: 0, rows_max: 10 };
        let tips = engine.store().tips(&filter, page).expect("tips");
        let [tip] = &tips[..] else { panic!("one branch, not {}", tips.len()) };
        assert_eq!(chain(&engine, tip.id).len(), 6);
        assert_eq!(String::from_utf8(native(&engine, tip.id)).expect("text"), lines(&engine, session));
    }
}

#[test]
fn a_log_that_is_elsewhere_has_commits_too() {
    let log = Arc::new(MemoryStore::default());
    let engine = engine().with_log(Arc::clone(&log) as Arc<dyn EventLog>);
    take(&engine, "s", "first");
    let tip = take(&engine, "s", "second");
    assert_eq!(chain(&engine, tip).len(), 2);
    assert_eq!(String::from_utf8(native(&engine, tip)).expect("text"), lines(&engine, "s"));
}

#[test]
fn invariant_05_a_turn_is_there_whole_or_not_at_all() {
    // A turn has two writes; a fault at each of them, before and after it was applied, and the harness tries again.
    for number in 1..=2 {
        for fault in [Fault::Before, Fault::After] {
            let store = Arc::new(FaultyStore::new(MemoryStore::default()));
            let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
            take(&engine, "s", "before");
            let known = events(&engine).len();
            store.fail(number, fault);
            let prompt = said("prompt", Role::User, "again");
            let begun = begin(&engine, "s", prompt);
            let ended = engine.end_turn(&turn("s"), made("again"));
            assert!(begun.is_err() || ended.is_err(), "{number} {fault:?}");
            let tips =
                engine.store().tips(&TipFilter::default(), stemmata_store::Page { skip: 0, rows_max: 9 });
            let tip = tips.expect("tips").first().expect("a tip").id;
            let covered = engine.store().coverage(tip).expect("a read").expect("coverage").through;
            let later = events(&engine).into_iter().filter(|event| event.seq > covered);
            let open: Vec<String> = later.map(|event| event.topic.to_string()).collect();
            assert!(
                open.iter().all(|topic| topic == "user_turn"),
                "{number} {fault:?}: {open:?} is in no commit"
            );
            assert!(events(&engine).len() >= known);
            // Whatever stayed open is in the next commit.
            let tip = take(&engine, "s", "after");
            assert_eq!(String::from_utf8(native(&engine, tip)).expect("text"), lines(&engine, "s"));
        }
    }
}

#[test]
fn a_turn_that_changes_the_state_of_the_cluster_publishes_it() {
    let engine = engine();
    begin(&engine, "s", said("prompt", Role::User, "go")).expect("begun");
    let plan = |session: &str| {
        let payload = NewPayload::Plain { text: Some("Measure first".to_owned()), data: None };
        let session = SessionId::new(session).expect("a name");
        NewEvent::new(
            session,
            topics::topic(topics::PLAN_READY),
            Party::new("worker").expect("a name"),
            payload,
        )
    };
    let ended =
        engine.end_turn(&turn("s"), TurnMade { events: vec![plan("s")], ..made("one") }).expect("ended");
    let snapshot =
        events(&engine).into_iter().find(|event| Some(event.seq) == ended.snapshot).expect("published");
    let Payload::Plain { text, .. } = snapshot.payload else { panic!("{snapshot:?}") };
    assert_eq!(text.as_deref(), Some("Plan: Measure first"));
    let again =
        engine.end_turn(&turn("s"), TurnMade { events: vec![plan("s")], ..made("two") }).expect("ended");
    assert_eq!(again.snapshot, None, "it says nothing new");
}

#[test]
fn a_session_of_turns_has_its_first_prompt_for_a_title() {
    let engine = engine();
    take(&engine, "s", "Fix the parser");
    take(&engine, "s", "Then the lexer");
    let sessions =
        engine.store().sessions(&SessionFilter::default(), Page { skip: 0, rows_max: 10 }).expect("sessions");
    let titles: Vec<Option<&str>> = sessions.iter().map(|session| session.title.as_deref()).collect();
    assert_eq!(titles, [Some("Fix the parser")]);
}

#[test]
fn an_id_with_other_content_is_refused_and_nothing_is_stored() {
    let engine = engine();
    take(&engine, "s", "a");
    let of = |id: &str, text: &str| TurnMade {
        entries: vec![said(id, Role::Assistant, text)],
        ..TurnMade::default()
    };
    begin(&engine, "s", said("b-prompt", Role::User, "go on")).expect("begun");
    let count = events(&engine).len();
    let errors = [
        engine.end_turn(&turn("s"), of("a-answer", "DIFFERENT")).expect_err("refused"),
        engine.step(&turn("s"), of("b-prompt", "an answer")).expect_err("refused"),
        begin(&engine, "s", said("a-prompt", Role::User, "something else")).expect_err("refused"),
    ];
    for (error, id) in errors.iter().zip(["`a-answer`", "`b-prompt`", "`a-prompt`"]) {
        assert!(matches!(error, EngineError::Refused { what: Refusal::EntryTaken, .. }), "{error}");
        assert!(error.to_string().contains(id), "{error}");
    }
    assert_eq!(events(&engine).len(), count, "nothing was stored");
    take(&engine, "other", "a");
    let again = engine.end_turn(&turn("s"), of("b-answer", "done")).expect("ended");
    let repeated = engine.end_turn(&turn("s"), of("b-answer", "done")).expect("the same");
    assert_eq!(again.appended, repeated.appended);
}

#[test]
fn a_commit_of_something_else_between_turns_repeats_no_line() {
    let engine = engine();
    let first = take(&engine, "s", "first");
    let note = b"{\"v\":\"stemmata-v1\",\"id\":\"n\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"by hand\"}]}\n";
    let request = stemmata_engine::CheckpointRequest {
        parent: Some(first),
        ..stemmata_engine::CheckpointRequest::delta(
            note.to_vec(),
            stemmata_model::FormatId::new("stemmata-v1").expect("a name"),
            turn("s").template,
            turn("s").session,
        )
    };
    engine.checkpoint(&request).expect("a checkpoint");
    let tip = take(&engine, "s", "second");
    let text = String::from_utf8(native(&engine, tip)).expect("text");
    assert_eq!(text.matches("first is done").count(), 1);
    assert_eq!(text.matches("by hand").count(), 1);
    assert_eq!(chain(&engine, tip).len(), 3);
}

#[test]
fn a_commit_of_something_else_is_remembered_beside_the_turns_and_a_compaction_is_noted() {
    let engine = engine();
    let (ledger, now) = (turn("s").ledger, Timestamp::from_micros(1));
    let root = Some("/old".to_owned());
    let change = LedgerChange { root, ..LedgerChange::new(ledger.clone(), now) };
    engine.log().change_ledger(change).expect("made");
    let first = take(&engine, "s", "first");
    let told = || engine.remember(&ledger).expect("remembered");
    assert_eq!((told().transcripts, told().memory.window.len()), (0, 2), "its events tell it");
    let note = |text: &str| {
        format!(
            "{{\"v\":\"stemmata-v1\",\"id\":\"{text}\",\"role\":\"user\",\"parts\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}\n"
        )
    };
    let by_hand = |parent, text: &str, commit_type| {
        let format = stemmata_model::FormatId::new("stemmata-v1").expect("a name");
        let (template, session) = (turn("s").template, turn("s").session);
        let delta =
            stemmata_engine::CheckpointRequest::delta(note(text).into_bytes(), format, template, session);
        let request = stemmata_engine::CheckpointRequest { parent: Some(parent), commit_type, ..delta };
        engine.checkpoint(&request).expect("a checkpoint").id
    };
    let second = by_hand(first, "by hand", CommitType::Delta);
    let words = |words: &str| told().memory.window.iter().filter(|turn| turn.text.contains(words)).count();
    assert_eq!((told().transcripts, words("by hand"), words("first is done")), (1, 1, 1));
    assert_eq!(engine.log().ledger(&ledger).expect("a read").expect("there").compacted_at, None);
    let compaction = by_hand(second, "a summary", CommitType::Compaction);
    let at = engine.show(compaction).expect("shown").commit.core.created_at;
    take(&engine, "s", "last");
    assert_eq!((words("by hand"), words("first is done"), words("last is done")), (1, 1, 1));
    assert_eq!(engine.log().ledger(&ledger).expect("a read").expect("there").compacted_at, Some(at));
}

#[test]
fn lines_of_other_sessions_and_raw_output_are_in_no_delta() {
    let engine = engine();
    let line = |text: &str| {
        let line = format!("{{\"v\":\"stemmata-v1\",\"id\":\"{text}\",\"role\":\"user\",\"parts\":[]}}");
        NewPayload::Line(stemmata_model::Json::parse(&line).expect("JSON"))
    };
    let event = |session: &str, topic: &'static str, text: &str| {
        NewEvent::new(turn(session).session, topics::topic(topic), turn(session).agent, line(text))
    };
    let events =
        vec![event("other", topics::USER_TURN, "strange"), event("s", topics::AGENT_OUTPUT, "noise")];
    let ended = engine.end_turn(&turn("s"), TurnMade { events, ..made("one") }).expect("ended");
    let text = String::from_utf8(native(&engine, ended.checkpoint.expect("a commit").id)).expect("text");
    assert!(!text.contains("strange") && !text.contains("noise"), "{text}");
}
