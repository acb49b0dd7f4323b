//! Calls that are repeated, at once or later, alone or beside each other: stored once and answered alike; and what was forgotten
//! while a call was on its way.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use proptest::prelude::*;
use stemmata_engine::{
    BeginTurn, Clock, Engine, EngineError, NewIds, REQUEST_BYTES_MAX, REQUEST_KEPT_US, RandomIds, Refusal,
    SameCall, StepTaken, Told, TurnBegun, TurnGuard, TurnMade, TurnOf,
};
use stemmata_model::{
    Entry, EntryId, Event, LedgerId, NewEvent, NewPayload, NoteCode, Part, Party, Payload, Role, SessionId,
    Template, Timestamp, topics,
};
use stemmata_prompt::compact::{SummarizeError, Summarizer, SummaryAsked};
use stemmata_prompt::window::ToolSummaryStrategy;
use stemmata_store::{Appended, EventQuery, FileLog, FileLogOptions, SessionKey, Store, StoreError};

use crate::guarded::{self, guard, pair, settings};
use crate::support::{engine, memory, new_store};

const START: i64 = 1_800_000_000_000_000;

/// A clock that goes on with each look, so that no two calls have one time, and further when it is told to.
struct Moved(Arc<AtomicI64>);

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(START + self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// An engine whose log is the store, one whose log is beside it, and one whose log is files.
pub(crate) fn each(act: impl Fn(Engine, &AtomicI64)) {
    let folder = tempfile::tempdir().expect("a folder");
    let files = Arc::new(FileLog::open(folder.path(), FileLogOptions::default()).expect("a log"));
    for log in 0..3 {
        let (time, plain) = (Arc::new(AtomicI64::new(0)), engine());
        let store: Arc<dyn Store> = new_store();
        let clock = Arc::new(Moved(Arc::clone(&time)));
        let engine = Engine::over(store, clock, Arc::new(RandomIds), plain.identity().clone());
        let engine = match log {
            0 => engine,
            1 => engine.with_log(memory()),
            _ => engine.with_log(Arc::clone(&files) as _),
        };
        act(engine, &time);
    }
}

pub(crate) fn turn(session: &str) -> TurnOf {
    TurnOf::new(
        LedgerId::new("p").expect("a name"),
        SessionId::new(session).expect("a name"),
        Party::new("worker").expect("a name"),
        Template::new("worker").expect("a name"),
    )
}

pub(crate) fn said(id: &str, role: Role, text: &str) -> Entry {
    Entry::said(EntryId::new(id).expect("a name"), role, vec![Part::Text(text.to_owned())])
}

pub(crate) fn fact(text: &str) -> NewEvent {
    let payload = NewPayload::Plain { text: Some(text.to_owned()), data: None };
    NewEvent::new(turn("s").session, topics::topic(topics::DECISION_EVENT), turn("s").agent, payload)
}

pub(crate) fn request(id: &str) -> SameCall {
    SameCall::Request { id: id.to_owned(), names_entries: false }
}

/// Entries as a caller without ids of its own has them: other ones in each try.
fn nameless(texts: &[&str]) -> Vec<Entry> {
    texts.iter().map(|text| said(RandomIds.session().as_str(), Role::Assistant, text)).collect()
}

pub(crate) fn events(engine: &Engine) -> Vec<Event> {
    engine.log().events(&turn("s").ledger, &EventQuery::after(None, 4_000)).expect("events")
}

/// What was said, and what else was told, in order.
pub(crate) fn told(engine: &Engine) -> Vec<String> {
    let text = |event: Event| match event.payload {
        Payload::Line { line, .. } => {
            let parts = line.to_value()["parts"].to_string();
            Some(format!("{} {} {parts}", event.session, event.topic))
        }
        Payload::Plain { text: Some(text), .. } => Some(format!("{} {} {text}", event.session, event.topic)),
        Payload::Plain { .. } => {
            (event.topic.as_str() == topics::SESSION_ENDED).then(|| event.topic.to_string())
        }
        Payload::Gone(_) => None,
    };
    events(engine).into_iter().filter_map(text).collect()
}

/// One call.
#[derive(Debug, Clone)]
enum Act {
    Begin { by_request: bool },
    Step { entries: usize, tells: bool, by_request: bool },
    End { entries: usize, tells: bool, ends: bool, by_request: bool },
}

/// What a call answers: where it is stored.
fn run(engine: &Engine, number: usize, act: &Act) -> Appended {
    let entries = |count: usize, by_request: bool| -> Vec<Entry> {
        let text = |at| format!("{number}-{at}");
        let id = |at| if by_request { RandomIds.session().to_string() } else { text(at) };
        (0..count).map(|at| said(&id(at), Role::Assistant, &text(at))).collect()
    };
    let identity =
        |by_request| if by_request { request(&format!("call {number}")) } else { SameCall::Entries };
    let made = |count, tells: bool, ends, by_request| TurnMade {
        entries: entries(count, by_request),
        events: tells.then(|| fact(&format!("fact of {number}"))).into_iter().collect(),
        ends,
        identity: identity(by_request),
        ..TurnMade::default()
    };
    match *act {
        Act::Begin { by_request } => {
            let said = Entry { role: Role::User, ..entries(1, by_request).remove(0) };
            let begin = BeginTurn { identity: identity(by_request), ..BeginTurn::new(turn("s"), said) };
            let at = engine.begin_turn(&begin).expect("begun").said;
            Appended { first: at, last: at, last_at: Timestamp::EPOCH }
        }
        Act::Step { entries, tells, by_request } => {
            let step = engine.step(&turn("s"), made(entries, tells, false, by_request)).expect("a step");
            step.appended.expect("events")
        }
        Act::End { entries, tells, ends, by_request } => {
            let end = engine.end_turn(&turn("s"), made(entries, tells, ends, by_request)).expect("ended");
            end.appended.expect("events")
        }
    }
}

fn acts() -> impl Strategy<Value = Vec<(Act, Vec<prop::sample::Index>)>> {
    let act = prop_oneof![
        any::<bool>().prop_map(|by_request| Act::Begin { by_request }),
        (1..4_usize, any::<bool>(), any::<bool>()).prop_map(|(entries, tells, by_request)| Act::Step {
            entries,
            tells,
            by_request
        }),
        (1..3_usize, any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(entries, tells, ends, by_request)| Act::End { entries, tells, ends, by_request }),
    ];
    prop::collection::vec((act, prop::collection::vec(any::<prop::sample::Index>(), 0..3)), 1..10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is repeated whenever, the session has what the calls say once, in their order, and each is answered alike.
    #[test]
    fn what_is_repeated_at_any_time_stands_once_and_is_answered_alike(acts in acts()) {
        each(|engine, time| {
            let plain = Engine::over(memory(), Arc::new(Moved(Arc::default())), Arc::new(RandomIds), engine.identity().clone());
            let mut answers = Vec::new();
            for (number, (act, again)) in acts.iter().enumerate() {
                run(&plain, number, act);
                answers.push(run(&engine, number, act));
                for index in again {
                    // Less than a day in all.
                    time.fetch_add(60 * 60 * 1_000_000 / 2, Ordering::Relaxed);
                    let earlier = index.index(answers.len());
                    let answer = run(&engine, earlier, &acts[earlier].0);
                    assert_eq!((answer.first, answer.last), (answers[earlier].first, answers[earlier].last));
                }
            }
            assert_eq!(told(&engine), told(&plain));
        });
    }
}

/// A step whose entries are stored may come again with what else is to be known, in whatever part.
#[test]
fn what_is_not_there_yet_of_a_repeated_call_is_added_once() {
    each(|engine, _| {
        engine.begin_turn(&BeginTurn::new(turn("s"), said("u1", Role::User, "go"))).expect("begun");
        let made = |ids: &[&str], ends| TurnMade {
            entries: ids.iter().map(|id| said(id, Role::Assistant, id)).collect(),
            ends,
            ..TurnMade::default()
        };
        engine.step(&turn("s"), made(&["a1", "r1"], false)).expect("a step");
        let all = || TurnMade { events: vec![fact("settled")], ..made(&["a1", "r1", "z1"], true) };
        for _ in 0..3 {
            engine.end_turn(&turn("s"), all()).expect("ended");
            engine.step(&turn("s"), made(&["a1", "r1"], false)).expect("a step");
        }
        let told = told(&engine);
        assert_eq!(told.len(), 6, "{told:?}");
        assert!(
            told[3].contains("z1") && told[4].ends_with("settled") && told[5] == "SESSION_ENDED",
            "{told:?}"
        );
        engine.end_turn(&turn("s"), made(&[], true)).expect("it has ended");
        assert_eq!(self::told(&engine).len(), 6);
        let plain =
            || TurnMade { events: vec![fact("later")], identity: SameCall::None, ..TurnMade::default() };
        engine.step(&turn("s"), plain()).expect("a step");
        engine.step(&turn("s"), plain()).expect("another one");
        assert_eq!(self::told(&engine).len(), 8, "without an id it is another fact");
    });
}

#[test]
fn an_id_of_a_request_is_of_one_call_and_for_a_day() {
    each(|engine, time| {
        let begin = |text: &str| {
            let said = said(RandomIds.session().as_str(), Role::User, text);
            engine.begin_turn(&BeginTurn { identity: request("r"), ..BeginTurn::new(turn("s"), said) })
        };
        let first = begin("go").expect("begun");
        assert_eq!(begin("go").expect("the same").said, first.said);
        let step = |texts: &[&str], id: &str| {
            let made = TurnMade { entries: nameless(texts), identity: request(id), ..TurnMade::default() };
            engine.step(&turn("s"), made)
        };
        let refused = |done: Result<(), EngineError>| {
            let Err(EngineError::Refused { what: Refusal::RequestTaken, reasons }) = done else {
                panic!("{done:?}")
            };
            assert!(reasons[0].contains("request `r`"), "{reasons:?}");
        };
        refused(begin("stop").map(drop));
        refused(step(&["go"], "r").map(drop));
        step(&["one", "two"], "s").expect("a step");
        let stored = told(&engine);
        assert!(matches!(step(&["one"], "s"), Err(EngineError::Refused { what: Refusal::RequestTaken, .. })));
        for id in [String::new(), "x".repeat(REQUEST_BYTES_MAX + 1)] {
            assert!(matches!(step(&["x"], &id), Err(EngineError::Store(StoreError::Bound { .. }))));
        }
        assert_eq!(told(&engine), stored);
        time.store(REQUEST_KEPT_US, Ordering::Relaxed);
        assert_ne!(begin("stop").expect("another one").said, first.said);
    });
}

/// A call that names no session is known by its request alone.
#[test]
fn a_session_that_a_request_began_is_found_by_it() {
    each(|engine, _| {
        let of = |session: SessionId| TurnOf { session, ..turn("x") };
        let begin = |session: SessionId| -> Result<TurnBegun, EngineError> {
            let said = said(RandomIds.session().as_str(), Role::User, "go");
            let begin = BeginTurn::new(of(session), said);
            engine.begin_turn(&BeginTurn { identity: request("r"), names_session: true, ..begin })
        };
        let known = || engine.session_of_request(&turn("x").ledger, &turn("x").agent, "r").expect("a look");
        assert_eq!(known(), None);
        let start = Barrier::new(4);
        let all: Vec<(SessionId, Result<TurnBegun, EngineError>)> = thread::scope(|scope| {
            let calls: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let session = RandomIds.session();
                        start.wait();
                        let done = begin(session.clone());
                        (session, done)
                    })
                })
                .collect();
            calls.into_iter().map(|call| call.join().expect("no panic")).collect()
        });
        let session = known().expect("one began");
        for (named, done) in &all {
            match done {
                Ok(_) => assert_eq!(*named, session),
                Err(error) => {
                    assert!(matches!(error, EngineError::Store(StoreError::KeyTaken { .. })), "{error}");
                }
            }
        }
        assert_eq!(told(&engine).len(), 1);
        let again = begin(session.clone()).expect("the same");
        assert!(all.iter().flat_map(|(_, done)| done).all(|done| done.said == again.said));
        let other = Party::new("other").expect("a name");
        assert_eq!(engine.session_of_request(&turn("x").ledger, &other, "r").expect("a look"), None);
        engine.log().forget_events(&session).expect("forgotten");
        assert_eq!(known(), None);
    });
}

/// A caller that timed out tries again while the first call still runs.
#[test]
fn calls_at_the_same_time_are_stored_once() {
    each(|engine, _| {
        let key = SessionKey { machine: engine.identity().machine.clone(), path: "api:s".to_owned() };
        for round in 0..4 {
            let start = Barrier::new(4);
            let call = || {
                start.wait();
                let name = format!("u{round}");
                engine.begin_turn(&BeginTurn::new(turn("s"), said(&name, Role::User, "go"))).expect("begun");
                let identity = request(&format!("step {round}"));
                let entries = nameless(&["one", "two"]);
                let step = engine.step(&turn("s"), TurnMade { entries, identity, ..TurnMade::default() });
                let entries = vec![said(&format!("z{round}"), Role::Assistant, "done")];
                let events = vec![fact(&format!("round {round}"))];
                let end = engine.end_turn(&turn("s"), TurnMade { entries, events, ..TurnMade::default() });
                let places =
                    |appended: Option<Appended>| appended.map(|appended| (appended.first, appended.last));
                let (step, end) = (step.expect("a step"), end.expect("ended"));
                (places(step.appended), places(end.appended), end.checkpoint.map(|made| made.id))
            };
            let answers: Vec<_> = thread::scope(|scope| {
                let calls: Vec<_> = (0..4).map(|_| scope.spawn(call)).collect();
                calls.into_iter().map(|call| call.join().expect("no panic")).collect()
            });
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
            assert_eq!(told(&engine).len(), (round + 1) * 5);
            let tip = engine.store().session(&key).expect("read").and_then(|session| session.tip);
            assert_eq!((answers[0].2, tip.is_some()), (tip, true), "all of them made one commit");
        }
    });
}

#[test]
fn that_a_call_cannot_be_repeated_is_said_once() {
    each(|engine, _| {
        engine.begin_turn(&BeginTurn::new(turn("s"), said("u", Role::User, "go"))).expect("begun");
        let step = |identity: SameCall| -> StepTaken {
            let made = TurnMade { entries: nameless(&["one"]), identity, ..TurnMade::default() };
            engine.step(&turn("s"), made).expect("a step")
        };
        let says =
            |step: &StepTaken| step.notes.iter().filter(|note| note.code == NoteCode::NotRepeatable).count();
        assert_eq!(says(&step(request("r"))), 0);
        assert_eq!([says(&step(SameCall::None)), says(&step(SameCall::None))], [1, 0]);
        assert_eq!(told(&engine).len(), 4, "equal texts are two");
    });
}

#[test]
fn a_session_that_nobody_began_has_no_turn_to_end() {
    each(|engine, _| {
        let refused = engine.check_begun(&turn("s"));
        assert!(
            matches!(refused, Err(EngineError::Refused { what: Refusal::TurnNotBegun, .. })),
            "{refused:?}"
        );
        engine.begin_turn(&BeginTurn::new(turn("s"), said("u", Role::User, "go"))).expect("begun");
        engine.check_begun(&turn("s")).expect("it has");
    });
}

/// Forgotten entries are known by nothing: who says one again says it anew.
#[test]
fn what_was_forgotten_is_not_taken_for_a_repetition() {
    each(|engine, _| {
        engine.begin_turn(&BeginTurn::new(turn("s"), said("u", Role::User, "go"))).expect("begun");
        let step = || TurnMade { entries: vec![said("a", Role::Assistant, "craft")], ..TurnMade::default() };
        let first = engine.step(&turn("s"), step()).expect("a step").appended.expect("events").last;
        engine.log().forget_events(&turn("s").session).expect("forgotten");
        // What comes late of a forgotten session may say what went.
        for _ in 0..2 {
            let late = engine.step(&turn("s"), step());
            let is_refused = matches!(late, Err(EngineError::Refused { what: Refusal::TurnForgotten, .. }));
            assert!(is_refused, "{late:?}");
        }
        assert!(engine.check_begun(&turn("s")).is_err());
        engine.begin_turn(&BeginTurn::new(turn("s"), said("u", Role::User, "go"))).expect("begun anew");
        let again = engine.step(&turn("s"), step()).expect("a step").appended.expect("events").last;
        assert!(again > first);
    });
}

/// A model that has something happen while it is asked, the first time.
struct Meanwhile<'a> {
    act: Mutex<Option<Box<dyn FnOnce() + Send + 'a>>>,
    was_asked: AtomicBool,
}

impl<'a> Meanwhile<'a> {
    fn new(act: impl FnOnce() + Send + 'a) -> Self {
        Self { act: Mutex::new(Some(Box::new(act))), was_asked: AtomicBool::new(false) }
    }
}

impl Summarizer for Meanwhile<'_> {
    fn name(&self) -> &'static str {
        "model-x"
    }

    fn window_tokens(&self) -> Option<u64> {
        None
    }

    fn summarize(&self, asked: &SummaryAsked<'_>) -> Result<String, SummarizeError> {
        self.was_asked.store(true, Ordering::Relaxed);
        if let Some(act) = self.act.lock().expect("no panic").take() {
            act();
        }
        Ok(format!("The tools said: {}", asked.conversation))
    }
}

fn holds(engine: &Engine, word: &str) -> bool {
    let events =
        engine.log().events(&guarded::turn().ledger, &EventQuery::after(None, 4_000)).expect("events");
    events.iter().any(|event| format!("{:?}", event.payload).contains(word))
}

/// Steps of results that a model summarizes, and what is done while it is asked at the last one.
fn forget_meanwhile(engine: &Engine, forget: impl FnOnce() + Send) -> Result<StepTaken, EngineError> {
    let config = settings(100_000, |compact| {
        (compact.tool_call_cutoff, compact.tool_summary) = (1, ToolSummaryStrategy::Llm);
    });
    guarded::begin(engine, "p", 10, &config);
    let [call, mut result] = pair("c1", 50);
    result.parts = vec![Part::ToolResult {
        call_id: "c1".to_owned(),
        is_error: false,
        parts: vec![Part::Text(format!("kilnwright {}", "word ".repeat(50)))],
    }];
    let made = TurnMade { entries: vec![call, result], ..TurnMade::default() };
    engine.guarded_step(&guarded::turn(), made, Some(&guard(&config))).expect("a step");
    assert!(holds(engine, "kilnwright"));
    let model = Meanwhile::new(forget);
    let guard = TurnGuard { summarizer: Some(&model), ..guard(&config) };
    let made = TurnMade { entries: pair("c2", 50).to_vec(), ..TurnMade::default() };
    let step = engine.guarded_step(&guarded::turn(), made, Some(&guard));
    assert!(model.was_asked.load(Ordering::Relaxed));
    step
}

#[test]
fn what_is_forgotten_while_a_model_is_asked_does_not_come_back() {
    each(|engine, _| {
        let step = forget_meanwhile(&engine, || {
            engine.log().forget_events(&guarded::turn().session).expect("forgotten");
        });
        let refused = matches!(&step, Err(EngineError::Refused { what: Refusal::TurnForgotten, .. }));
        assert!(refused, "the session is gone: {step:?}");
        assert!(!holds(&engine, "kilnwright"));
    });
    // One of its events alone: the result that is summarized, or whatever it appended last.
    for is_meant in [|event: &Event| event.topic.as_str() == topics::TOOL_EVENT, |_: &Event| true] {
        each(|engine, _| {
            let step = forget_meanwhile(&engine, || {
                let query = EventQuery::after(None, 4_000);
                let events = engine.log().events(&guarded::turn().ledger, &query).expect("events");
                let places = [events.into_iter().rfind(is_meant).expect("one").seq].into();
                let told = Told::Events(guarded::turn().ledger, places);
                let plan = engine.plan_forget_events(&told).expect("a plan");
                engine.apply_forget_events(&plan).expect("forgotten");
            });
            step.expect("the session goes on without it");
        });
    }
    each(|engine, _| {
        let other = || engine.log().forget_events(&turn("other").session).map(drop);
        engine
            .publish(&guarded::turn().ledger, vec![NewEvent { session: turn("other").session, ..fact("x") }])
            .expect("told");
        forget_meanwhile(&engine, || other().expect("forgotten")).expect("another session is no reason");
    });
}
