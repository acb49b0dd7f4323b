//! Prompts over a ledger: the same events give the same bytes, within the budget, at a cost that is bounded.

use std::sync::Arc;

use stemmata_engine::{Engine, PromptOf, PromptWanted, TurnMade};
use stemmata_model::{Estimate, NewEvent, Payload, Role, SessionId, Timestamp, Tokens, topics};
use stemmata_store::{EventQuery, FileLog, FileLogOptions, LedgerChange, SqliteOptions, SqliteStore};
use stemmata_testkit::memory::MemoryStore;

use crate::contexts::{event, ledger, profile, said, strategy, turn};
use crate::support::{engine, engine_on};

/// Appends the same events in batches that end elsewhere, to a project's ledger.
fn recorded(engine: &Engine, batches: &[usize]) {
    let change = LedgerChange::new(ledger(), Timestamp::from_micros(1));
    engine.log().change_ledger(change).expect("made");
    let mut events: Vec<NewEvent> = (0..30)
        .map(|number| {
            event("s", if number % 3 == 0 { "NOTE" } else { "OTHER" }, &format!("note {number}"), "{}")
        })
        .map(|event| NewEvent { at: None, ..event })
        .collect();
    for size in batches.iter().copied().cycle() {
        if events.is_empty() {
            break;
        }
        let rest = events.split_off(size.min(events.len()));
        engine.publish(&ledger(), std::mem::replace(&mut events, rest)).expect("published");
    }
}

#[test]
fn invariant_01_same_events_same_prompt_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let sqlite = tempfile::tempdir().expect("a folder");
    let files = || FileLog::open(folder.path(), FileLogOptions::default()).expect("a log");
    let store = || SqliteStore::open(sqlite.path(), SqliteOptions::default()).expect("a store");
    let prompt = |engine: &Engine| {
        let of = PromptOf { ledger: ledger(), session: SessionId::new("s").ok(), tip: None };
        let (profile, strategy) = (profile(), strategy());
        let made =
            engine.assemble(&of, &PromptWanted::new(&profile, &strategy, &Estimate)).expect("a prompt");
        (made.text, made.trace)
    };
    let memory = engine_on("m1", Arc::new(MemoryStore::default()));
    recorded(&memory, &[1]);
    let wanted = prompt(&memory);
    assert!(wanted.0.contains("note 27") && !wanted.0.contains("note 28"), "{}", wanted.0);
    let in_files = engine_on("m1", Arc::new(MemoryStore::default())).with_log(Arc::new(files()));
    recorded(&in_files, &[1]);
    assert_eq!(prompt(&in_files), wanted);
    drop(in_files);
    let reopened = engine_on("m1", Arc::new(MemoryStore::default())).with_log(Arc::new(files()));
    assert_eq!(prompt(&reopened), wanted, "files, opened again");
    let in_tables = engine_on("m1", Arc::new(store()));
    recorded(&in_tables, &[1]);
    assert_eq!(prompt(&in_tables), wanted);
    drop(in_tables);
    assert_eq!(prompt(&engine_on("m1", Arc::new(store()))), wanted, "tables, opened again");
    let in_batches = engine_on("m1", Arc::new(MemoryStore::default()));
    recorded(&in_batches, &[7, 1, 4]);
    assert_eq!(prompt(&in_batches), wanted, "however they were appended");
}

#[test]
fn invariant_02_a_prompt_stays_within_its_budget() {
    let engine = engine();
    recorded(&engine, &[10]);
    let of = PromptOf { ledger: ledger(), session: SessionId::new("s").ok(), tip: None };
    let (profile, strategy) = (profile(), strategy());
    for max_tokens in [1, 20, 60, 100, 200, 400, 10_000] {
        let wanted = PromptWanted {
            max_tokens: Some(Tokens(max_tokens)),
            ..PromptWanted::new(&profile, &strategy, &Estimate)
        };
        let made = engine.assemble(&of, &wanted).expect("a prompt");
        let budget = &made.trace.budget;
        assert!(budget.final_tokens <= max_tokens.max(budget.used_tokens), "{budget:?}");
        assert!(budget.final_tokens <= max_tokens || budget.over_budget_tokens > 0, "{budget:?}");
    }
}

#[test]
fn a_million_events_of_a_source_are_bounded_and_said() {
    let engine = engine();
    let change = LedgerChange::new(ledger(), Timestamp::from_micros(1));
    engine.log().change_ledger(change).expect("made");
    for _ in 0..5 {
        let batch = (0..1_000).map(|number| event("s", "NOTE", &format!("note {number}"), "{}")).collect();
        engine.publish(&ledger(), batch).expect("published");
    }
    let of = PromptOf { ledger: ledger(), session: None, tip: None };
    let (profile, strategy) = (profile(), strategy());
    let made = engine.assemble(&of, &PromptWanted::new(&profile, &strategy, &Estimate)).expect("a prompt");
    let notes = made.trace.candidates.iter().find(|one| one.id == "source:NOTE:2").expect("a candidate");
    assert!(notes.is_cut && notes.items.len() <= 4_097, "{} items", notes.items.len());
}

#[test]
fn metrics_go_to_the_ledger_and_into_no_prompt() {
    let engine = engine();
    recorded(&engine, &[10]);
    let of = PromptOf { ledger: ledger(), session: SessionId::new("s").ok(), tip: None };
    let (profile, strategy) = (profile(), strategy());
    let wanted = PromptWanted { logs_metrics: true, ..PromptWanted::new(&profile, &strategy, &Estimate) };
    let made = engine.assemble(&of, &wanted).expect("a prompt");
    let latest = EventQuery::latest(topics::topic(topics::CONTEXT_METRICS), 1);
    let told = engine.log().events(&ledger(), &latest).expect("a read").pop().expect("an event");
    assert_eq!((told.receiver.as_str(), told.replayable), ("system", false));
    let Payload::Plain { data: Some(data), .. } = told.payload else { panic!("data") };
    assert_eq!(data.to_value(), made.metrics.to_value());
    assert_eq!(engine.assemble(&of, &wanted).expect("a prompt").text, made.text);
}

#[test]
fn what_the_agent_may_not_see_is_in_no_prompt() {
    let engine = engine();
    let mut hidden = said("h", Role::Assistant, "for people only");
    hidden.meta.visibility.agent = false;
    let entries = vec![hidden, said("a", Role::Assistant, "for both")];
    let ended = engine.end_turn(&turn("s"), TurnMade { entries, ..TurnMade::default() }).expect("ended");
    let tip = ended.checkpoint.expect("a commit").id;
    let (profile, strategy) = (profile(), strategy());
    // Told by its events, and by its chain.
    for (session, tip) in [(SessionId::new("s").ok(), None), (None, Some(tip))] {
        let of = PromptOf { ledger: ledger(), session, tip };
        let made =
            engine.assemble(&of, &PromptWanted::new(&profile, &strategy, &Estimate)).expect("a prompt");
        assert!(made.text.contains("for both") && !made.text.contains("people only"), "{}", made.text);
    }
}
