//! What a caller tells of its work reaches the guard: tasks and what they depend on, hints about entries, a pin in the same act.

use std::sync::Arc;

use stemmata_api::v1::TurnTask;
use stemmata_engine::{
    BeginTurn, Engine, EngineError, EntryHint, GuardWanted, Guarded, GuardedItem, Refusal, TurnMade,
    WindowReport,
};
use stemmata_model::{Estimate, Role, Timestamp, Tokens, topics};
use stemmata_prompt::assemble::TaskFacts;
use stemmata_prompt::guard::{Category, Class, ContentType, Window, WindowSettings};
use stemmata_store::{EventQuery, Store};
use stemmata_testkit::memory::MemoryStore;

use crate::guarded::{config, events, guard, id, said, tip, turn};
use crate::support::{engine, engine_on};

fn task(name: &str, depends_on: &[&str]) -> TurnTask {
    let depends_on = depends_on.iter().map(|name| (*name).to_owned()).collect();
    TurnTask { id: name.to_owned(), text: format!("do {name}"), depends_on }
}

fn facts(current: TurnTask, completed: &[String]) -> TaskFacts {
    TaskFacts { current: Some(current), completed: completed.to_vec(), ..TaskFacts::NONE }
}

/// Begins a turn of a task with a prompt of so many tokens.
fn begin(engine: &Engine, task: TurnTask, completed: &[String], tokens: usize) -> WindowReport {
    let config = config(1_000);
    let prompt = said(&format!("{}-prompt", task.id), Role::User, tokens);
    let begin = BeginTurn {
        task: facts(task, completed),
        guard: Some(guard(&config)),
        ..BeginTurn::new(turn(), prompt)
    };
    engine.begin_turn(&begin).expect("begun").window.expect("a guard was given")
}

fn end(engine: &Engine, name: &str, tokens: usize) {
    let made = TurnMade { entries: vec![said(name, Role::Assistant, tokens)], ..TurnMade::default() };
    engine.end_turn(&turn(), made).expect("ended");
}

fn guarded(engine: &Engine) -> Guarded {
    let window = Window::new(WindowSettings::of(Tokens(1_000))).expect("limits");
    let wanted = GuardWanted {
        window: &window,
        counter: &Estimate,
        overhead: Tokens(0),
        tasks_completed: 0,
        next_operation: None,
        now: Timestamp::from_micros(1_900_000_000_000_000),
    };
    engine.live_window(tip(engine)).expect("a window").guard(&wanted).expect("judged")
}

fn item(guarded: &Guarded, name: &str) -> GuardedItem {
    let found = guarded.items.iter().find(|item| item.decision.id == id(name));
    found.unwrap_or_else(|| panic!("{name} is not in the window")).clone()
}

/// Seven tasks that are done, each after the other, and an eighth that needs the second.
fn worked(store: &Arc<MemoryStore>) -> Vec<String> {
    let mut done = Vec::new();
    for number in 0..7 {
        // A process for each turn: what was told is read from the ledger.
        let engine = engine_on("m1", Arc::clone(store) as Arc<dyn Store>);
        let name = format!("t{number}");
        begin(&engine, task(&name, &[]), &done, 60);
        end(&engine, &format!("{name}-answer"), 60);
        done.push(name);
    }
    done
}

#[test]
fn tasks_that_turns_named_decide_what_is_pruned() {
    let store = Arc::new(MemoryStore::default());
    let done = worked(&store);
    let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
    let report = begin(&engine, task("t7", &["t1", "never begun"]), &done, 120);
    let reason = |name: &str| {
        report.pruned.iter().find(|gone| gone.entry == id(name)).map(|gone| gone.reason.as_str())
    };
    assert_eq!(reason("t0-answer"), Some("always pruned (completed_task_details)"));
    assert_eq!((reason("t1-prompt"), reason("t1-answer")), (None, None), "the task depends on it");
    assert_eq!(reason("t2-answer"), Some("old, not named in the last turns"));
    end(&engine, "t7-answer", 10);
    let guarded = guarded(&engine);
    let of = |name: &str| {
        let decision = item(&guarded, name).decision;
        (decision.category, decision.class, decision.score.relevance, decision.why.text())
    };
    let (category, class, relevance, why) = of("t1-answer");
    assert_eq!((category, class, relevance), (Category::OldHistory, Class::P2, 25));
    assert!(why.starts_with("relevant to the current task (dependency_information)"), "{why}");
    assert_eq!((of("t7-answer").0, of("t7-answer").2), (Category::CurrentTask, 40));
    assert_eq!((of("t6-answer").0, of("t6-answer").2), (Category::RecentHistory, 0));
}

#[test]
fn a_turn_that_names_no_task_goes_on_with_the_one_before() {
    let engine = engine();
    begin(&engine, task("t0", &[]), &[], 10);
    end(&engine, "t0-answer", 10);
    engine.begin_turn(&BeginTurn::new(turn(), said("more", Role::User, 10))).expect("begun");
    end(&engine, "more-answer", 10);
    let found = guarded(&engine);
    for name in ["t0-prompt", "t0-answer", "more", "more-answer"] {
        assert_eq!(item(&found, name).decision.score.relevance, 40, "{name}");
    }
}

#[test]
fn tasks_that_depend_on_each_other_in_a_circle_are_refused_before_anything_is_stored() {
    let engine = engine();
    begin(&engine, task("a", &["b"]), &[], 10);
    end(&engine, "a-answer", 10);
    let last = |engine: &Engine| {
        engine.log().events(&turn().ledger, &EventQuery::after(None, 1_000)).expect("events").len()
    };
    let before = last(&engine);
    for (name, needs) in [("b", "a"), ("c", "c")] {
        let prompt = said(&format!("{name}-prompt"), Role::User, 10);
        let circle = BeginTurn { task: facts(task(name, &[needs]), &[]), ..BeginTurn::new(turn(), prompt) };
        let error = engine.begin_turn(&circle).expect_err("refused");
        assert!(matches!(error, EngineError::Refused { what: Refusal::TaskCycle, .. }), "{error}");
        assert!(error.to_string().contains("in a circle"), "{error}");
        assert_eq!(last(&engine), before, "nothing was stored");
    }
    begin(&engine, task("b", &[]), &["a".to_owned()], 10);
}

#[test]
fn what_a_caller_knows_of_an_entry_is_stronger_than_what_is_read_from_it() {
    let engine = engine();
    begin(&engine, task("t0", &[]), &[], 100);
    let entries = ["debug", "result", "example"].map(|name| said(name, Role::Assistant, 250)).to_vec();
    let hint = |name: &str| EntryHint::new(id(name));
    let hints = vec![
        EntryHint { class: Some(Class::P4), ..hint("debug") },
        EntryHint { is_essential: true, reference_count: Some(3), ..hint("result") },
        EntryHint {
            content: Some(ContentType::Examples),
            task: Some("nobody's".to_owned()),
            ..hint("example")
        },
    ];
    engine.end_turn(&turn(), TurnMade { entries, hints, ..TurnMade::default() }).expect("ended");
    let found = guarded(&engine);
    let of = |name: &str| {
        let decision = item(&found, name).decision;
        (decision.category, decision.class, decision.score.references, decision.why.text())
    };
    assert_eq!(of("debug").1, Class::P4);
    assert_eq!((of("result").2, of("result").3.contains("marked as essential")), (6, true));
    assert_eq!(of("example").0, Category::Examples);
    assert_eq!(
        item(&found, "example").decision.score.relevance,
        40,
        "a task that no turn named says nothing"
    );
    let report = begin(&engine, task("t1", &[]), &["t0".to_owned()], 150);
    let gone: Vec<String> = report.pruned.iter().map(|gone| gone.entry.to_string()).collect();
    assert_eq!(gone, ["debug", "example"]);
}

#[test]
fn a_task_is_pinned_in_the_act_that_begins_its_turn() {
    let engine = engine();
    let begin = BeginTurn { pins: true, ..BeginTurn::new(turn(), said("task", Role::User, 10)) };
    let made = engine.begin_turn(&begin).expect("begun");
    let [pin] = &events(&engine, topics::CONTEXT_VISIBILITY)[..] else { panic!("one pin") };
    assert_eq!(pin.seq.get() + 1, made.said.get());
    assert_eq!(engine.begin_turn(&begin).expect("begun again").said, made.said);
    assert_eq!(events(&engine, topics::CONTEXT_VISIBILITY).len(), 1, "it is pinned once");
    end(&engine, "answer", 10);
    let pins = |engine: &Engine| engine.live_window(tip(engine)).expect("a window").pins;
    assert!(pins(&engine).contains(&id("task")));
    // A try without a pin came first.
    let later = BeginTurn::new(turn(), said("later", Role::User, 10));
    engine.begin_turn(&later).expect("begun");
    engine.begin_turn(&BeginTurn { pins: true, ..later }).expect("begun again");
    end(&engine, "later-answer", 10);
    assert!(pins(&engine).contains(&id("later")));
}
