//! Calls that are repeated after something of them was forgotten or scrubbed: what a closed commit holds is said, and what nothing
//! holds any more is said anew.

use proptest::prelude::*;
use stemmata_engine::{
    BeginTurn, Engine, EngineError, NewIds as _, RandomIds, Refusal, SameCall, ScrubTarget, StoreRules, Told,
    TurnGuard, TurnMade,
};
use stemmata_model::{
    Entry, EntryId, EventSeq, Json, NewEvent, NewPayload, NoteCode, Part, Principal, Role, Timestamp, Usage,
    topics,
};
use stemmata_prompt::assemble::TaskFacts;
use stemmata_store::{Append, EventKey, EventQuery, NewKey};

use crate::guarded::{guard, settings};
use crate::turns_again::{each, events, fact, request, said, turn};

const RULES: &str = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{5}'\n";

fn with_rules(engine: &Engine) -> Engine {
    engine.clone().with_rules(StoreRules { name: "secrets.toml".to_owned(), text: RULES.to_owned() })
}

fn begin(engine: &Engine, id: &str) -> Result<EventSeq, EngineError> {
    let begun = engine.begin_turn(&BeginTurn::new(turn("s"), said(id, Role::User, "go")))?;
    Ok(begun.said)
}

fn call(id: &str, arguments: &str) -> Entry {
    let (call_id, name) = (format!("call-{id}"), "read".to_owned());
    let parts = vec![
        Part::Text("look ACME-12345 now".to_owned()),
        Part::ToolCall { call_id, name, arguments: arguments.to_owned() },
    ];
    Entry { parts, ..said(id, Role::Assistant, "") }
}

fn result(id: &str, of: &str) -> Entry {
    let parts = vec![Part::Text("it says so".to_owned())];
    let parts = vec![Part::ToolResult { call_id: format!("call-{of}"), is_error: false, parts }];
    Entry { parts, ..said(id, Role::Tool, "") }
}

fn made(entries: Vec<Entry>) -> TurnMade {
    TurnMade { entries, ..TurnMade::default() }
}

/// The ids of all that the model is given.
fn window(engine: &Engine) -> Vec<String> {
    let config = settings(100_000, |_| ());
    let report = engine.turn_window(&turn("s"), &TurnGuard { returns_entries: true, ..guard(&config) });
    let entries = report.expect("a window").entries.expect("entries");
    entries.iter().map(|entry| entry.id.to_string()).collect()
}

/// Forgets what a session said at some of the places where it did.
fn forget(engine: &Engine, is_meant: impl Fn(usize) -> bool) {
    let topics = [topics::USER_TURN, topics::ASSISTANT_TURN, topics::TOOL_EVENT].map(topics::topic).to_vec();
    let query = EventQuery { topics, ..EventQuery::after(None, 4_000) };
    let said = engine.log().events(&turn("s").ledger, &query).expect("events");
    let places =
        said.iter().enumerate().filter(|(at, _)| is_meant(*at)).map(|(_, event)| event.seq).collect();
    let plan = engine.plan_forget_events(&Told::Events(turn("s").ledger, places)).expect("a plan");
    if !plan.is_empty() {
        engine.apply_forget_events(&plan).expect("forgotten");
    }
}

fn scrub(engine: &Engine) -> Engine {
    let engine = with_rules(engine);
    engine.scrub(&ScrubTarget::All, &Principal::new("ada").expect("a name")).expect("scrubbed");
    engine
}

#[test]
fn a_turn_that_was_scrubbed_or_lost_an_event_is_not_stored_twice() {
    for scrubs in [true, false] {
        each(|engine, _| {
            begin(&engine, "u1").expect("begun");
            let step = |engine: &Engine, entries| engine.step(&turn("s"), made(entries)).expect("a step");
            step(&engine, vec![call("a1", "{}")]);
            step(&engine, vec![result("r1", "a1")]);
            let end = || made(vec![said("z1", Role::Assistant, "done")]);
            let first = engine.end_turn(&turn("s"), end()).expect("ended");
            let engine = if scrubs {
                scrub(&engine)
            } else {
                forget(&engine, |at| at == 1);
                engine
            };
            let (before, stored) = (window(&engine), events(&engine).len());
            assert_eq!(before, ["u1", "a1", "r1", "z1"]);
            let all = vec![call("a1", "{}"), result("r1", "a1"), said("z1", Role::Assistant, "done")];
            engine.end_turn(&turn("s"), made(all)).expect("ended");
            let again = step(&engine, vec![call("a1", "{ }")]).appended.expect("it is stored");
            assert_eq!((again.first.get(), again.last.get()), (3, 3));
            let last = engine.end_turn(&turn("s"), end()).expect("ended").appended.expect("stored").last;
            assert_eq!(Some(last), first.appended.map(|appended| appended.last));
            assert_eq!((window(&engine), events(&engine).len()), (before, stored), "scrubbed: {scrubs}");
            let other = engine.step(&turn("s"), made(vec![said("a1", Role::Assistant, "another")]));
            let is_taken = matches!(&other, Err(EngineError::Refused { what: Refusal::EntryTaken, .. }));
            assert_eq!(is_taken, !scrubs, "what a rule replaced cannot be compared: {other:?}");
            step(&engine, vec![said("a2", Role::Assistant, "new")]);
            assert_eq!(window(&engine).last().map(String::as_str), Some("a2"));
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever single events are forgotten whenever, after all calls were made once more the model is given each entry once.
    #[test]
    fn after_any_forgetting_repeated_calls_say_each_entry_once(
        sizes in prop::collection::vec((0..3_usize, any::<bool>()), 1..5),
        went in prop::collection::vec(any::<bool>(), 16),
        when in any::<prop::sample::Index>(),
        scrubs in any::<bool>(),
    ) {
        let acts: Vec<(usize, usize, bool)> =
            sizes.iter().enumerate().map(|(at, (size, ends))| (at, *size, *ends)).collect();
        let run = |engine: &Engine, (at, size, ends): (usize, usize, bool)| {
            begin(engine, &format!("u{at}")).expect("begun");
            let entries = (0..=size).map(|n| said(&format!("a{at}-{n}"), Role::Assistant, "see ACME-12345"));
            let entries = made(entries.collect());
            if ends {
                engine.end_turn(&turn("s"), entries).map(drop).expect("ended");
            } else {
                engine.step(&turn("s"), entries).map(drop).expect("a step");
            }
        };
        each(|engine, _| {
            let when = when.index(acts.len());
            let mut engine = engine;
            for act in &acts {
                run(&engine, *act);
                if act.0 == when {
                    forget(&engine, |at| went[at % went.len()]);
                    engine = if scrubs { scrub(&engine) } else { engine };
                }
            }
            for _ in 0..2 {
                for act in &acts {
                    run(&engine, *act);
                }
            }
            let mut expected: Vec<String> = acts.iter().flat_map(|(at, size, _)| {
                let said = (0..=*size).map(move |n| format!("a{at}-{n}"));
                said.chain([format!("u{at}")])
            }).collect();
            let mut given = window(&engine);
            given.sort();
            expected.sort();
            assert_eq!(given, expected);
        });
    }
}

/// The rules of today have no say in whether a call is the same one.
#[test]
fn a_call_is_the_same_whatever_rules_replace_of_it() {
    each(|engine, _| {
        begin(&engine, "u").expect("begun");
        let calls = [
            made(vec![call("a", "{}"), result("r", "a")]),
            TurnMade {
                identity: request("q"),
                events: vec![fact("ACME-12345")],
                ..made(vec![call("b", "{}")])
            },
        ];
        let first: Vec<_> = calls
            .iter()
            .map(|made| engine.step(&turn("s"), made.clone()).expect("a step").appended)
            .collect();
        let stored = events(&engine).len();
        let engine = with_rules(&engine);
        for (made, first) in calls.iter().zip(first) {
            let again = engine.step(&turn("s"), made.clone()).expect("the same call");
            assert_eq!(again.appended.map(|it| it.last), first.map(|it| it.last));
            let other = TurnMade { entries: vec![said("a", Role::Assistant, "other")], ..made.clone() };
            assert!(matches!(engine.step(&turn("s"), other), Err(EngineError::Refused { .. })));
        }
        assert_eq!(events(&engine).len(), stored);
    });
}

/// A store of before has hashes of what the rules of its day left, without a secret.
#[test]
fn a_call_that_an_earlier_version_stored_is_known() {
    each(|engine, _| {
        begin(&engine, "u").expect("begun");
        let line = |id: &str| {
            let says = r#""role":"assistant","kind":"message","body":"text","parts":[{"type":"text","text":"ACME-12345"}]"#;
            format!(r#"{{"v":"stemmata-v1","id":"{id}",{says}}}"#)
        };
        let payload = NewPayload::Line(Json::parse(&line("old")).expect("JSON"));
        let topic = topics::topic(topics::ASSISTANT_TURN);
        let event = NewEvent::new(turn("s").session, topic, turn("s").agent, payload);
        let (key, digest) = (EventKey::of(["entry", "s", "old"]), EventKey::of([line("entry") + "\n"]));
        let keys = vec![NewKey { key, digest, at: 0, events: 1, until: None }];
        let now = Timestamp::from_micros(1_900_000_000_000_000);
        let append = Append { keys, ..Append::new(turn("s").ledger, vec![event], now) };
        engine.log().append(append).expect("as an earlier version did");
        let stored = events(&engine).len();
        engine.step(&turn("s"), made(vec![said("old", Role::Assistant, "ACME-12345")])).expect("the same");
        assert_eq!(events(&engine).len(), stored);
        let other = engine.step(&turn("s"), made(vec![said("old", Role::Assistant, "other")]));
        assert!(matches!(other, Err(EngineError::Refused { what: Refusal::EntryTaken, .. })), "{other:?}");
    });
}

#[test]
fn what_a_begin_said_that_was_forgotten_is_said_anew_and_answered_alike() {
    each(|engine, _| {
        let first = begin(&engine, "u0").expect("begun");
        assert_eq!(begin(&engine, "u0").expect("again"), first);
        engine.step(&turn("s"), made(vec![said("a", Role::Assistant, "one")])).expect("a step");
        forget(&engine, |at| at == 0);
        let anew = begin(&engine, "u0").expect("anew");
        assert!(anew > first, "{anew}");
        assert_eq!(begin(&engine, "u0").expect("again"), anew);
        assert!(window(&engine).contains(&"u0".to_owned()));
    });
    // Without ids of its own, and without a session: known by its request.
    each(|engine, _| {
        let begin = || {
            let said = said(RandomIds.session().as_str(), Role::User, "go");
            let begin =
                BeginTurn { identity: request("r"), names_session: true, ..BeginTurn::new(turn("s"), said) };
            engine.begin_turn(&begin).expect("begun").said
        };
        let first = begin();
        forget(&engine, |at| at == 0);
        let anew = begin();
        assert!(anew > first, "{anew}");
        assert_eq!(begin(), anew);
        let of = engine.session_of_request(&turn("s").ledger, &turn("s").agent, "r").expect("a look");
        assert_eq!(of, Some(turn("s").session));
    });
}

#[test]
fn a_begin_that_pins_later_is_answered_alike() {
    each(|engine, _| {
        let begin = |pins: bool| {
            let task = TaskFacts { phase: Some("A".to_owned()), ..TaskFacts::NONE };
            let begin = BeginTurn::new(turn("s"), said("u1", Role::User, "go"));
            engine.begin_turn(&BeginTurn { task, pins, ..begin }).expect("begun").said.get()
        };
        assert_eq!([false, true, true, false, true].map(begin), [3; 5]);
    });
}

#[test]
fn a_call_of_a_forgotten_session_is_told_so() {
    each(|engine, _| {
        begin(&engine, "u").expect("begun");
        engine.log().forget_events(&turn("s").session).expect("forgotten");
        let refused = engine.check_begun(&turn("s"));
        assert!(
            matches!(&refused, Err(EngineError::Refused { what: Refusal::TurnForgotten, .. })),
            "{refused:?}"
        );
    });
}

#[test]
fn json_is_compared_by_value_and_another_usage_is_said_to_be_left_out() {
    each(|engine, _| {
        begin(&engine, "u").expect("begun");
        let usage = |input_tokens| Some(Usage { input_tokens, ..Usage::default() });
        let step = |arguments: &str, tokens, identity: SameCall| {
            let mut entry = call("a", arguments);
            entry.meta.usage = usage(tokens);
            let step = engine.step(&turn("s"), TurnMade { identity, ..made(vec![entry]) });
            let step = step.expect("a step");
            let codes = step.notes.iter().map(|note| &note.code).filter(|code| **code == NoteCode::Conflict);
            (step.appended.map(|it| it.last), codes.count())
        };
        let first = step(r#"{"a":1,"b":[1,2]}"#, 10, SameCall::Entries);
        assert_eq!(first.1, 0);
        assert_eq!(step(r#"{ "b": [1, 2], "a": 1 }"#, 10, SameCall::Entries), first);
        assert_eq!(step(r#"{"a":1,"b":[1,2]}"#, 11, SameCall::Entries), (first.0, 1));
        let entry = EntryId::new("a").expect("a name");
        let other = engine.step(&turn("s"), made(vec![Entry { id: entry, ..call("b", r#"{"a":2}"#) }]));
        assert!(matches!(other, Err(EngineError::Refused { what: Refusal::EntryTaken, .. })), "{other:?}");
    });
}
