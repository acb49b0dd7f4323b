//! Prompts at a place of a ledger: what they know is what was known there, and it costs what came since a saved state.

use std::path::PathBuf;

use stemmata_api::v1::DecideRequest;
use stemmata_engine::prompt::assemble::Mode;
use stemmata_engine::prompt::strategy::{DocumentFormat, Strategy, parse, shipped};
use stemmata_engine::{
    BeginTurn, DecisionKind, Engine, PromptMade, PromptOf, PromptWanted, TurnBegun, TurnContext,
};
use stemmata_model::{Estimate, EventSeq, Role, Timestamp, topics};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_store::LedgerChange;

use crate::contexts::{begin, event, ledger, profile, said, strategy, take, turn};
use crate::search::{indexed, settle};
use crate::support::{Folder, answer, engine, import, new_store, user};

fn with_project(engine: &Engine) {
    let root = Some("/old".to_owned());
    let change = LedgerChange { root, ..LedgerChange::new(ledger(), Timestamp::from_micros(1)) };
    engine.log().change_ledger(change).expect("made");
}

/// A session that was captured, told up to a moment before the clock of these tests and then after it.
fn captured(engine: &Engine, folder: &Folder, is_later: bool) {
    let before =
        [user(1, None, "Let's use the gas kiln instead of the wood kiln."), answer(2, 1, "It is lit.")];
    let after =
        [user(3, Some(2), "Let's use the celadon glaze instead of the ash."), answer(4, 3, "It is mixed.")];
    let after = after.concat().replace("2026-01-01T00", "2027-01-15T08");
    let lines = if is_later { before.concat() + &after } else { before.concat() };
    import(engine, &written(folder, "s.jsonl", &lines));
}

/// Writes a transcript that was last written after the clock of these tests: no record is later than its file.
fn written(folder: &Folder, name: &str, lines: &str) -> PathBuf {
    let path = folder.write(name, lines.as_bytes());
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_800_100_000);
    std::fs::File::options().write(true).open(&path).expect("a file").set_modified(at).expect("a time");
    path
}

fn prompt(engine: &Engine, through: Option<u64>, strategy: &Strategy, mode: Mode) -> PromptMade {
    let of = PromptOf { ledger: ledger(), session: None, tip: None };
    let profile = profile();
    let through = through.and_then(EventSeq::new);
    let wanted = PromptWanted { through, mode, ..PromptWanted::new(&profile, strategy, &Estimate) };
    engine.assemble(&of, &wanted).expect("a prompt")
}

#[test]
fn invariant_01_the_same_place_gives_the_same_prompt_whatever_came_later() {
    let (engine, folder) = (engine(), Folder::new());
    with_project(&engine);
    captured(&engine, &folder, false);
    let note = |text| engine.publish(&ledger(), vec![event("s", "NOTE", text, "{}")]).expect("published");
    let place = note("the first").appended.last.get();
    let at = |through| prompt(&engine, through, &strategy(), Mode::Full);
    let first = at(Some(place));
    assert!(first.text.contains("gas kiln") && first.text.contains("the first"), "{}", first.text);
    let check = |what: &str| assert_eq!(at(Some(place)), first, "{what}");
    note("the second");
    check("an event later");
    captured(&engine, &folder, true);
    check("a session that goes on");
    let other = [user(11, None, "Let's use slabs instead of coils."), answer(12, 11, "Fine.")].concat();
    let other =
        other.replace("2026-01-01T00", "2027-01-15T08").replace(r#""sessionId":"s""#, r#""sessionId":"t""#);
    import(&engine, &written(&folder, "t.jsonl", &other));
    check("another session");
    engine.save_state(&ledger()).expect("saved");
    check("a saved state");
    let now = at(None).text;
    assert!(["celadon", "slabs", "the second"].iter().all(|words| now.contains(words)), "{now}");
    let state = engine.state_of(&ledger(), Some(place)).expect("a state").remembered.memory.text(9_000);
    assert!(state.contains("gas kiln") && !state.contains("celadon"), "{state}");
}

/// What others do between two tries, and what the first try itself leaves, is in neither prompt.
#[test]
fn a_begin_that_is_repeated_gives_the_same_prompt() {
    let (folder, index) = (Folder::new(), tempfile::tempdir().expect("a folder"));
    let engine = indexed(&new_store(), index.path());
    with_project(&engine);
    captured(&engine, &folder, false);
    let live = shipped("live").expect("a strategy");
    let try_it = || -> TurnBegun {
        let profile = profile();
        let prompt =
            Some(PromptWanted { logs_metrics: true, ..PromptWanted::new(&profile, &live, &Estimate) });
        let words = said("q", Role::User, "Fire the gas kiln with the celadon glaze");
        engine.begin_turn(&BeginTurn { prompt, ..BeginTurn::new(turn("s"), words) }).expect("begun")
    };
    let first = try_it();
    let text = &first.prompt.as_ref().expect("a prompt").text;
    assert!(text.contains("gas kiln instead of"), "{text}");
    assert_eq!(try_it(), first);
    engine.publish(&ledger(), vec![event("x", "NOTE", "the kiln is hot", "{}")]).expect("published");
    captured(&engine, &folder, true);
    settle(&engine);
    assert_eq!(try_it(), first);
    let metrics = stemmata_store::EventQuery::latest(topics::topic(topics::CONTEXT_METRICS), 9);
    assert_eq!(engine.log().events(&ledger(), &metrics).expect("events").len(), 1, "of one prompt");
}

#[test]
fn an_earlier_place_is_folded_from_a_state_before_it() {
    let engine = engine();
    let publish = |count: usize| {
        let events = (0..count).map(|number| event("s", "NOTE", &format!("note {number}"), "{}")).collect();
        engine.publish(&ledger(), events).expect("published");
        engine.save_state(&ledger()).expect("saved");
    };
    for _ in 0..30 {
        publish(250);
    }
    let last = engine.log().ledger(&ledger()).expect("a read").expect("there").last;
    for back in [1, 100, 900] {
        let place = last - back;
        let folded = engine.fold::<MemoryReducer>(&ledger(), Some(place)).expect("folded");
        assert!(folded.replayed <= 2_500, "{} back: {} replayed of {last}", back, folded.replayed);
        assert_eq!(folded.through, place);
    }
    // The state of the place is that of a ledger that ends there.
    let place = last - 100;
    let query = |after| stemmata_store::EventQuery::after(EventSeq::new(after), 1_000);
    let mut whole = MemoryReducer::new(&ledger());
    let mut after = 0;
    while after < place {
        for event in engine.log().events(&ledger(), &query(after)).expect("events") {
            after = event.seq.get();
            if after <= place {
                whole.apply(&event);
            }
        }
    }
    let folded = engine.fold::<MemoryReducer>(&ledger(), Some(place)).expect("folded");
    assert_eq!(folded.reducer.save(), whole.save());
    // What forgetting drops is dropped of these, too.
    engine.log().forget_events(&turn("s").session).expect("forgotten");
    assert_eq!(engine.log().saved_states(&ledger(), "").expect("a read"), []);
}

#[test]
fn a_continuation_says_the_state_only_where_it_changed() {
    let engine = engine();
    with_project(&engine);
    let decide = |text: &str| {
        let (text, reason) = (text.to_owned(), None);
        let decision =
            DecideRequest { ledger: ledger(), kind: DecisionKind::Decision, text, reason, supersedes: None };
        engine.decide(&decision).expect("decided").appended.last.get()
    };
    let state = parse("maxTokens = 9000\n[[sources]]\ntopic = \"state\"\n", DocumentFormat::Toml)
        .expect("a strategy");
    let after = |after: u64| {
        let after = EventSeq::new(after).expect("a number");
        let mode = Mode::Continuation { after, is_profile_changed: false };
        prompt(&engine, None, &state, mode).text
    };
    let first = decide("Store times as numbers");
    let note = engine.publish(&ledger(), vec![event("s", "NOTE", "nothing", "{}")]).expect("published");
    let note = note.appended.last.get();
    let second = decide("Store names as words");
    assert!(after(first).contains("Store names") && after(first).contains("Store times"), "{}", after(first));
    assert!(after(note).contains("Store names"), "{}", after(note));
    assert!(!after(second).contains("Store names"), "{}", after(second));
    engine.publish(&ledger(), vec![event("s", "NOTE", "more", "{}")]).expect("published");
    assert!(!after(second).contains("Store names"), "{}", after(second));
}

#[test]
fn a_continuation_says_the_state_of_a_line_only_where_it_changed() {
    let engine = engine();
    let decided = |text: &str| {
        vec![event(
            "new",
            topics::DECISION_EVENT,
            "",
            &format!("{{\"kind\":\"decision\",\"decision\":\"{text}\"}}"),
        )]
    };
    let base = take(&engine, "old", "base", Vec::new());
    begin(&engine, turn("new"), (TurnContext::Resume(base), "Go on")).expect("begun");
    take(&engine, "new", "first", decided("Use a table"));
    let last =
        || EventSeq::new(engine.log().ledger(&ledger()).expect("a read").expect("there").last).expect("one");
    let after = |after: EventSeq| {
        let of = PromptOf { ledger: ledger(), session: Some(turn("new").session), tip: None };
        let profile = profile();
        let text = "maxTokens = 9000\n[[sources]]\ntopic = \"state\"\n";
        let state = parse(text, DocumentFormat::Toml).expect("a strategy");
        let mode = Mode::Continuation { after, is_profile_changed: false };
        let wanted = PromptWanted { mode, ..PromptWanted::new(&profile, &state, &Estimate) };
        engine.assemble(&of, &wanted).expect("a prompt").text
    };
    let known = last();
    assert!(!after(known).contains("Use a table"), "{}", after(known));
    engine.publish(&ledger(), decided("Use a list")).expect("published");
    assert!(after(known).contains("Use a list") && after(known).contains("Use a table"), "{}", after(known));
    assert!(!after(last()).contains("Use a list"), "{}", after(last()));
}

/// Who assembles one prompt after the other without taking turns gets what people said once, too.
#[test]
fn a_continuation_has_only_the_guidance_that_came_since() {
    let engine = engine();
    let guide = |text: &str| {
        let mail = event("p", topics::USER_GUIDANCE_CLUSTER, text, "{}");
        engine.publish(&ledger(), vec![mail]).expect("published").appended.last
    };
    let first = guide("Mind the gap");
    let mode = |after| Mode::Continuation { after, is_profile_changed: false };
    assert!(prompt(&engine, None, &strategy(), Mode::Full).text.contains("Mind the gap"));
    guide("Mind the step");
    let next = prompt(&engine, None, &strategy(), mode(first)).text;
    assert!(next.contains("Mind the step") && !next.contains("Mind the gap"), "{next}");
    // Many that were given before keep none back that was not.
    for number in 0..300 {
        guide(&format!("Mind number {number}"));
    }
    let before = guide("Mind the last but one");
    guide("Mind the last");
    let next = prompt(&engine, None, &strategy(), mode(before)).text;
    assert!(next.contains("Mind the last\n") && !next.contains("number 299"), "{next}");
}
