//! Invariant 1 through the engine: a saved state and the events after it are the whole ledger folded, wherever it was
//! saved; and what is wrong with states and ledgers is said.

use std::sync::Arc;

use proptest::prelude::*;
use stemmata_engine::{Engine, SAVE_EVENTS};
use stemmata_model::{Json, NewEvent, NewPayload, topics};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_prompt::reduce::snapshot::StateSnapshotter;
use stemmata_store::conformance::ledger::builders::{self, ledger};
use stemmata_store::{EventLog, SavedState};
use stemmata_testkit::memory::MemoryStore;

use crate::support::engine;

fn event(session: &str, topic: &str, text: &str) -> NewEvent {
    let data = format!(
        "{{\"summary\":\"{text}\",\"percentComplete\":5,\"kind\":\"decision\",\"decision\":\"{text}\"}}"
    );
    let payload = NewPayload::Plain { text: Some(text.to_owned()), data: Json::parse(&data).ok() };
    builders::event(session, topic, payload)
}

fn over(log: &Arc<MemoryStore>) -> Engine {
    engine().with_log(Arc::clone(log) as Arc<dyn EventLog>)
}

fn append(log: &MemoryStore, events: Vec<NewEvent>) {
    builders::put(log, "p", events);
}

fn any_events() -> impl Strategy<Value = Vec<NewEvent>> {
    let topics = prop::sample::select(vec![
        topics::ISSUE_OPENED,
        topics::PLAN_READY,
        topics::WORKER_PROGRESS,
        topics::VALIDATION_RESULT,
        topics::DECISION_EVENT,
        topics::USER_TURN,
        topics::ERROR_EVENT,
        "another",
    ]);
    let one = (prop::sample::select(vec!["p", "s1", "s2"]), topics, "[a-z ]{0,12}");
    prop::collection::vec(one.prop_map(|(session, topic, text)| event(session, topic, &text)), 1..40)
}

fn holds<R: Reducer>(events: &[NewEvent], cut: usize) {
    let log = Arc::new(MemoryStore::default());
    let engine = over(&log);
    let (before, after) = events.split_at(cut.min(events.len() - 1) + 1);
    append(&log, before.to_vec());
    let first = engine.fold::<R>(&ledger("p"), None).expect("folded");
    engine.save_folded(&ledger("p"), &first, true).expect("saved");
    if !after.is_empty() {
        append(&log, after.to_vec());
    }
    let resumed = engine.fold::<R>(&ledger("p"), None).expect("folded");
    let whole = engine.replay::<R>(&ledger("p")).expect("replayed");
    assert_eq!(resumed.reducer.save(), whole.reducer.save());
    assert_eq!(
        resumed.replayed,
        u64::try_from(after.len()).expect("a small number"),
        "only what is new was read"
    );
    assert_eq!((resumed.through, whole.replayed), (whole.through, whole.through));
    // A state from before the save is folded from the beginning, and is what it was.
    let cut = u64::try_from(before.len()).expect("a small number");
    let earlier = engine.fold::<R>(&ledger("p"), Some(cut - 1)).expect("folded");
    assert_eq!((earlier.saved_through, earlier.through), (0, cut - 1));
    let again = engine.fold::<R>(&ledger("p"), Some(cut)).expect("folded");
    assert_eq!(again.reducer.save(), first.reducer.save());
}

proptest! {
    #[test]
    fn invariant_01_a_saved_state_and_its_tail_are_the_whole_ledger_folded(
        events in any_events(),
        cut in 0_usize..40,
    ) {
        holds::<StateSnapshotter>(&events, cut);
        holds::<MemoryReducer>(&events, cut);
    }
}

#[test]
fn states_that_cannot_be_gone_on_from_are_ignored_and_that_is_said() {
    let log = Arc::new(MemoryStore::default());
    let engine = over(&log);
    append(&log, vec![event("p", topics::PLAN_READY, "one"), event("p", topics::PLAN_READY, "two")]);
    let whole = engine.replay::<StateSnapshotter>(&ledger("p")).expect("replayed").reducer.save();
    let sound = SavedState {
        name: format!("{}/ledger", StateSnapshotter::NAME),
        version: StateSnapshotter::VERSION,
        through: 1,
        position: None,
        state: whole.clone(),
    };
    for (state, word) in [
        (SavedState { version: 99, ..sound.clone() }, "version 99"),
        (SavedState { state: Json::parse("[1]").expect("JSON"), ..sound }, "cannot be read"),
    ] {
        log.save_states(&ledger("p"), vec![state]).expect("saved");
        let folded = engine.fold::<StateSnapshotter>(&ledger("p"), None).expect("folded");
        assert_eq!(folded.reducer.save(), whole);
        assert_eq!((folded.replayed, folded.saved_through), (2, 0));
        let [note] = &folded.notes[..] else { panic!("one note, not {:?}", folded.notes) };
        assert!(note.message.contains(word), "{note}");
    }
}

#[test]
fn a_session_that_nobody_opened_is_named() {
    let log = Arc::new(MemoryStore::default());
    let engine = over(&log);
    append(
        &log,
        vec![
            event("s1", topics::SESSION_STARTED, ""),
            event("s1", topics::USER_TURN, "fine"),
            event("p", topics::USER_TURN, "the ledger's own"),
            event("stemmata", "EVENT_LOST", "a repair's"),
            event("s2", topics::USER_TURN, "of nobody"),
            event("s2", topics::SESSION_STARTED, "too late"),
        ],
    );
    let folded = engine.fold::<StateSnapshotter>(&ledger("p"), None).expect("folded");
    let [note] = &folded.notes[..] else { panic!("one note, not {:?}", folded.notes) };
    assert!(note.message.contains("`s2` (event 5)") && !note.message.contains("stemmata` ("), "{note}");
    // What was opened before the saved state needs no second opening.
    engine.save_folded(&ledger("p"), &folded, true).expect("saved");
    append(&log, vec![event("s1", topics::USER_TURN, "goes on")]);
    assert_eq!(engine.fold::<StateSnapshotter>(&ledger("p"), None).expect("folded").notes, Vec::new());
}

#[test]
fn a_state_is_saved_once_enough_has_come() {
    let log = Arc::new(MemoryStore::default());
    let engine = over(&log);
    let some = usize::try_from(SAVE_EVENTS).expect("a small number");
    append(&log, vec![event("p", topics::STATUS_EVENT, "x"); some - 1]);
    let folded = engine.fold::<StateSnapshotter>(&ledger("p"), None).expect("folded");
    assert!(!engine.save_folded(&ledger("p"), &folded, false).expect("not saved"));
    append(&log, vec![event("p", topics::STATUS_EVENT, "x")]);
    let folded = engine.fold::<StateSnapshotter>(&ledger("p"), None).expect("folded");
    assert!(engine.save_folded(&ledger("p"), &folded, false).expect("saved"));
    let folded = engine.fold::<StateSnapshotter>(&ledger("p"), None).expect("folded");
    assert_eq!((folded.saved_through, folded.replayed), (SAVE_EVENTS, 0));
    assert!(!engine.save_folded(&ledger("p"), &folded, true).expect("nothing is new"));
    append(&log, vec![event("p", topics::STATUS_EVENT, "x"); 2]);
    let folded = engine.fold::<StateSnapshotter>(&ledger("p"), None).expect("folded");
    assert!(!engine.save_folded(&ledger("p"), &folded, false).expect("not saved"));
    let engine = engine.with_save_events(2);
    assert!(engine.save_folded(&ledger("p"), &folded, false).expect("saved: it was told so"));
}

#[test]
fn a_fold_that_knows_what_was_forgotten_is_not_saved() {
    let log = Arc::new(MemoryStore::default());
    let engine = over(&log);
    append(
        &log,
        vec![event("s1", topics::ISSUE_OPENED, "secret"), event("s2", topics::PLAN_READY, "a plan")],
    );
    let held = engine.fold::<StateSnapshotter>(&ledger("p"), None).expect("folded");
    assert!(held.reducer.save().as_str().contains("secret"));
    // Another process has it forgotten while this one holds what it made of it.
    log.forget_events(&builders::session("s1")).expect("forgotten");
    assert!(!engine.save_folded(&ledger("p"), &held, true).expect("no error"), "it must not come back");
    assert_eq!(log.saved_states(&ledger("p"), "").expect("a read"), []);
    let again = engine.fold::<StateSnapshotter>(&ledger("p"), None).expect("folded");
    assert!(engine.save_folded(&ledger("p"), &again, true).expect("saved"));
    assert!(!again.reducer.save().as_str().contains("secret"));
}
