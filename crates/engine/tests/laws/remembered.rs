//! What a project's memory is made of: its ledger's events, and the sessions that were captured in it.

use stemmata_engine::Engine;
use stemmata_model::{LedgerId, NewEvent, NewPayload, Party, SessionId, Timestamp, Topic, topics};
use stemmata_prompt::reduce::memory::SessionMemory;
use stemmata_store::LedgerChange;

use crate::support::{Folder, answer, engine, import, user};

fn ledger() -> LedgerId {
    LedgerId::new("p").expect("a name")
}

/// An engine with a project where two turns of a transcript were captured.
fn captured(folder: &Folder) -> Engine {
    let engine = engine();
    let (now, root) = (Timestamp::from_micros(1), Some("/old".to_owned()));
    let change = LedgerChange { ledger: ledger(), now, root, compacted_at: None, marks: Vec::new() };
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
