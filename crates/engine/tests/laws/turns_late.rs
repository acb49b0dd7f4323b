//! Calls that come again when the session has gone on since: what they say of pins, hints, results and commits.

use stemmata_engine::{BeginTurn, Engine, EngineError, EntryHint, Refusal, SameCall, StepTaken, TurnMade};
use stemmata_model::{Closure, Entry, EntryId, NoteCode, Part, Role, Tokens, topics};

use crate::guarded::{guard, settings};
use crate::turns_again::{each, events, request, said, turn};

fn begin<'a>(id: &str, text: &str, pins: bool, identity: SameCall) -> BeginTurn<'a> {
    BeginTurn { pins, identity, ..BeginTurn::new(turn("s"), said(id, Role::User, text)) }
}

fn made(entries: Vec<Entry>) -> TurnMade {
    TurnMade { entries, ..TurnMade::default() }
}

fn pins(engine: &Engine) -> usize {
    let is_pin = |event: &stemmata_model::Event| event.topic.as_str() == topics::CONTEXT_VISIBILITY;
    events(engine).iter().filter(|event| is_pin(event)).count()
}

/// A retry whose entry has another id that the caller made up, and one after the entry was unpinned.
#[test]
fn a_repeated_beginning_pins_once() {
    each(|engine, _| {
        let first = engine.begin_turn(&begin("made up 1", "go", true, request("r"))).expect("begun").said;
        let again = engine.begin_turn(&begin("made up 2", "go", true, request("r"))).expect("the same").said;
        assert_eq!((again, pins(&engine)), (first, 1));
        let own = || begin("u2", "on", false, SameCall::Entries);
        engine.begin_turn(&own()).expect("begun");
        engine.begin_turn(&own()).expect("the same");
        let pinned = BeginTurn { pins: true, ..own() };
        for _ in 0..2 {
            engine.begin_turn(&pinned).expect("the same entry, and a pin");
            assert_eq!(pins(&engine), 2, "the earlier try had none");
        }
    });
}

/// Hints name entries, whose ids are other ones in each try where the caller gave none.
#[test]
fn a_repeated_call_with_hints_is_the_same_call() {
    each(|engine, _| {
        engine.begin_turn(&begin("u", "go", false, SameCall::Entries)).expect("begun");
        let step = |id: &str, is_essential| {
            let entry = said(id, Role::Assistant, "one");
            let hint = EntryHint { is_essential, ..EntryHint::new(entry.id.clone()) };
            let made = TurnMade { hints: vec![hint], identity: request("h"), ..made(vec![entry]) };
            engine.step(&turn("s"), made)
        };
        let first = step("made up 1", true).expect("a step").appended;
        assert_eq!(
            step("made up 2", true).expect("the same").appended.map(|all| all.last),
            first.map(|all| all.last)
        );
        let other = step("made up 3", false);
        assert!(matches!(other, Err(EngineError::Refused { what: Refusal::RequestTaken, .. })), "{other:?}");
    });
}

/// The end of a turn comes again while the next turn runs.
#[test]
fn a_late_end_closes_no_newer_turn() {
    each(|engine, _| {
        engine.begin_turn(&begin("u1", "go", false, SameCall::Entries)).expect("begun");
        let end = || made(vec![said("a1", Role::Assistant, "done")]);
        let first = engine.end_turn(&turn("s"), end()).expect("ended").checkpoint.expect("a commit").id;
        engine.begin_turn(&begin("u2", "on", false, SameCall::Entries)).expect("begun");
        engine.step(&turn("s"), made(vec![said("a2", Role::Assistant, "so far")])).expect("a step");
        let late = engine.end_turn(&turn("s"), end()).expect("the same").checkpoint.expect("a commit");
        assert_eq!((late.id, late.existed), (first, true));
        let step = engine.step(&turn("s"), made(vec![said("a3", Role::Assistant, "more")])).expect("a step");
        let open =
            engine.store().commit(step.checkpoint.expect("a commit").id).expect("a look").expect("there");
        assert_eq!((open.closure, open.core.parent), (Closure::Provisional, Some(first)));
    });
}

/// A late end of a turn of a session that is due for a compaction leaves that to the end of the turn that runs.
#[test]
fn a_late_end_compacts_nothing() {
    each(|engine, _| {
        let config = settings(100_000, |compact| {
            (compact.reserve_tokens, compact.keep_recent_tokens) = (Tokens(80_000), Tokens(10));
        });
        let long = |id: &str, role| said(id, role, &"word ".repeat(24_000));
        let begin = |id: &str| BeginTurn::new(turn("s"), said(id, Role::User, "go"));
        let end = || made(vec![long("a1", Role::Assistant)]);
        engine.begin_turn(&begin("u1")).expect("begun");
        engine.end_turn(&turn("s"), end()).expect("ended");
        engine.begin_turn(&begin("u2")).expect("begun");
        engine.step(&turn("s"), made(vec![said("a2", Role::Assistant, "so far")])).expect("a step");
        let late = engine.end_guarded_turn(&turn("s"), end(), Some(&guard(&config))).expect("the same");
        let late = late.window.expect("a window");
        assert_eq!(late.compaction, None);
        let end = made(vec![said("a3", Role::Assistant, "done")]);
        let ended = engine.end_guarded_turn(&turn("s"), end, Some(&guard(&config))).expect("ended");
        assert!(ended.window.expect("a window").compaction.is_some(), "it was due");
    });
}

fn call(id: &str) -> Entry {
    let arguments = "{}".to_owned();
    let part = Part::ToolCall { call_id: id.to_owned(), name: "look".to_owned(), arguments };
    Entry::said(EntryId::new(format!("call {id}")).expect("a name"), Role::Assistant, vec![part])
}

fn result(id: &str) -> Entry {
    let parts = vec![Part::Text("seen".to_owned())];
    let part = Part::ToolResult { call_id: id.to_owned(), is_error: false, parts };
    Entry::said(EntryId::new(format!("result {id}")).expect("a name"), Role::Tool, vec![part])
}

/// A result that is stored already is no second one when it comes again with what is new.
#[test]
fn only_new_results_are_looked_at() {
    each(|engine, _| {
        engine.begin_turn(&begin("u", "go", false, SameCall::Entries)).expect("begun");
        let orphans =
            |step: &StepTaken| step.notes.iter().filter(|note| note.code == NoteCode::OrphanResult).count();
        let step = |entries| engine.step(&turn("s"), made(entries)).expect("a step");
        step(vec![call("c")]);
        assert_eq!(orphans(&step(vec![result("c")])), 0);
        let end = vec![result("c"), said("a", Role::Assistant, "done")];
        assert_eq!(orphans(&step(end)), 0, "the result was stored before");
        assert_eq!(orphans(&step(vec![result("none")])), 1);
    });
}
