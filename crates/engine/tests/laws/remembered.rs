//! What a project's memory is made of: its ledger's events, and the sessions that were captured in it.

use stemmata_engine::{BeginTurn, Engine, TurnMade, TurnOf};
use stemmata_model::{
    Entry, EntryId, LedgerId, NewEvent, NewPayload, Part, Party, Role, SessionId, Template, Timestamp, Topic,
    topics,
};
use stemmata_prompt::reduce::memory::SessionMemory;
use stemmata_store::LedgerChange;

use crate::support::{Folder, answer, engine, import, record, user};

fn ledger() -> LedgerId {
    LedgerId::new("p").expect("a name")
}

/// An engine with a project where two turns of a transcript were captured.
fn captured(folder: &Folder) -> Engine {
    let engine = engine();
    let (now, root) = (Timestamp::from_micros(1), Some("/old".to_owned()));
    let change = LedgerChange { root, ..LedgerChange::new(ledger(), now) };
    engine.log().change_ledger(change).expect("made");
    let lines = [
        user(1, None, "Let's use the gas kiln."),
        answer(2, 1, "It is lit."),
        user(3, Some(2), "And now?"),
        answer(4, 3, "It is hot."),
    ];
    import(&engine, &folder.write("s.jsonl", lines.concat().as_bytes()));
    engine
}

#[test]
fn an_event_of_a_session_hides_nothing_of_its_transcript() {
    let folder = Folder::new();
    let engine = captured(&folder);
    let before = engine.remember(&ledger()).expect("remembered");
    assert_eq!((before.transcripts, before.memory.window.len()), (1, 4));
    assert!(before.memory.items.decisions.iter().any(|one| one.text.contains("gas kiln")));
    let session = SessionId::new(before.memory.window[0].proof.session.as_str()).expect("a name");
    for (topic, text) in [(topics::STATUS_EVENT, "hi"), (topics::DECISION_EVENT, "one shelf per firing")] {
        let payload = NewPayload::Plain { text: Some(text.to_owned()), data: None };
        let topic = Topic::new(topic).expect("a name");
        let event = NewEvent::new(session.clone(), topic, Party::new("ada").expect("a name"), payload);
        engine.publish(&ledger(), vec![event]).expect("published");
        let after = engine.remember(&ledger()).expect("remembered");
        assert_eq!((after.transcripts, &after.memory.window), (1, &before.memory.window));
        let decided = |words: &str| after.memory.items.decisions.iter().any(|one| one.text.contains(words));
        assert!(decided("gas kiln") && (text == "hi" || decided(text)), "{:?}", after.memory.items);
    }
}

#[test]
fn what_turns_and_the_transcript_of_their_session_tell_counts_once() {
    let folder = Folder::new();
    let engine = captured(&folder);
    let calls = |name: &str, arguments: &str, result: &str, is_error: bool| {
        let id = |kind: &str| EntryId::new(format!("{name}-{kind}")).expect("a name");
        let (call_id, name, arguments) = (id("id").to_string(), name.to_owned(), arguments.to_owned());
        let parts = vec![Part::Text(result.to_owned())];
        let call = Part::ToolCall { call_id: call_id.clone(), name, arguments };
        let result = Part::ToolResult { call_id, is_error, parts };
        [
            Entry::said(id("call"), Role::Assistant, vec![call]),
            Entry::said(id("result"), Role::Tool, vec![result]),
        ]
    };
    let (write, run) = (r#"{"file_path":"kiln.rs"}"#, r#"{"command":"make fire"}"#);
    // A harness records the turn, and the client that it drives writes the same into its transcript.
    let turn = TurnOf::new(
        ledger(),
        SessionId::new("s").expect("a name"),
        Party::new("worker").expect("a name"),
        Template::new("worker/main").expect("a name"),
    );
    let said =
        Entry::said(EntryId::new("p").expect("a name"), Role::User, vec![Part::Text("Fire.".to_owned())]);
    engine.begin_turn(&BeginTurn::new(turn.clone(), said)).expect("begun");
    let entries = [calls("Write", write, "", false), calls("Bash", run, "no gas", true)].concat();
    engine.end_turn(&turn, TurnMade { entries, ..TurnMade::default() }).expect("ended");
    let count = || {
        let items = engine.remember(&ledger()).expect("remembered").memory.items;
        let files = items.files.iter().map(|file| (file.path.clone(), file.created + file.edited));
        let errors = items.errors.iter().map(|error| error.times);
        (files.collect::<Vec<_>>(), errors.collect::<Vec<_>>())
    };
    let once = (vec![("kiln.rs".to_owned(), 1)], vec![1]);
    assert_eq!(count(), once);
    let mut transcript = user(5, None, "Fire.");
    for (number, (name, arguments, result, is_error)) in
        (6..).step_by(2).zip([("Write", write, "", false), ("Bash", run, "no gas", true)])
    {
        transcript += &record(
            "assistant",
            number,
            Some(number - 1),
            &format!(
                r#"{{"id":"m{number}","role":"assistant","content":[{{"type":"tool_use","id":"t{number}","name":"{name}","input":{arguments}}}]}}"#
            ),
        );
        transcript += &record(
            "user",
            number + 1,
            Some(number),
            &format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{number}","is_error":{is_error},"content":"{result}"}}]}}"#
            ),
        );
    }
    transcript += &answer(10, 9, "Cold.");
    import(&engine, &folder.write("same.jsonl", transcript.as_bytes()));
    let after = engine.remember(&ledger()).expect("remembered");
    assert!(after.memory.window.iter().any(|turn| turn.text == "Cold."), "{:?}", after.memory.window);
    assert_eq!(count(), once);
}

#[test]
fn a_wrong_state_of_a_transcript_is_found_and_mended_by_a_replay() {
    let folder = Folder::new();
    let engine = captured(&folder);
    let told = engine.remember(&ledger()).expect("remembered").memory;
    let check = |mends| engine.replay_transcripts(&ledger(), mends).expect("replayed");
    assert_eq!((check(false).sessions, check(false).different.len()), (1, 0));
    let states = engine.log().saved_states(&ledger(), "memory/").expect("a read");
    let mut wrong = states.into_iter().find(|state| state.position.is_some()).expect("a transcript's");
    let name = told.window[0].proof.session.clone();
    wrong.state = SessionMemory::new(&SessionId::new(name.as_str()).expect("a name"), None).save();
    engine.log().save_states(&ledger(), vec![wrong]).expect("saved");
    assert_ne!(engine.remember(&ledger()).expect("remembered").memory, told);
    assert_eq!((check(false).different, check(true).different), (vec![name.clone()], vec![name]));
    assert_eq!(check(false).different, Vec::<String>::new());
    assert_eq!(engine.remember(&ledger()).expect("remembered").memory, told);
}
