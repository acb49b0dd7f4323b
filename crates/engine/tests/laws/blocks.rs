//! The memory of a project with many sessions: what is saved in blocks says what a memory from nothing says.

use proptest::prelude::*;
use stemmata_engine::{Engine, ForgetOptions, ForgetTarget, Remembered};
use stemmata_model::{LedgerId, NewEvent, NewPayload, Party, Principal, SessionId, Timestamp, topics};
use stemmata_store::LedgerChange;

use crate::support::{Folder, answer, engine, import, user};

/// More than are in no block.
const SESSIONS: u32 = 40;

fn ledger() -> LedgerId {
    LedgerId::new("p").expect("a name")
}

fn project() -> Engine {
    let engine = engine();
    let root = Some("/old".to_owned());
    let change = LedgerChange { root, ..LedgerChange::new(ledger(), Timestamp::from_micros(1)) };
    engine.log().change_ledger(change).expect("made");
    engine
}

/// A turn of a session, as lines of its own client: later sessions are newer, and a turn that is added is the newest of all.
fn turn(session: u32, number: u32) -> String {
    let parent = (number > 0).then(|| number * 2);
    let said = format!("Let's use kiln {session}x{number} for the shelf{session}.");
    let lines = user(number * 2 + 1, parent, &said) + &answer(number * 2 + 2, number * 2 + 1, "It is lit.");
    let (day, hour) = if number == 0 { (1 + session / 20, session % 20) } else { (20, number) };
    lines
        .replace("aaaaaaaa", &format!("{session:08x}"))
        .replace("\"sessionId\":\"s\"", &format!("\"sessionId\":\"s{session}\""))
        .replace("2026-01-01T00:", &format!("2026-01-{day:02}T{hour:02}:"))
}

fn begin(engine: &Engine, folder: &Folder, session: u32) {
    import(engine, &folder.write(&format!("s{session}.jsonl"), turn(session, 0).as_bytes()));
}

fn go_on(engine: &Engine, folder: &Folder, session: u32, number: u32) {
    let name = format!("s{session}.jsonl");
    folder.append(&name, turn(session, number).as_bytes());
    import(engine, &folder.path().join(name));
}

fn publish(engine: &Engine, session: u32, text: &str) {
    let payload = NewPayload::Plain { text: Some(text.to_owned()), data: None };
    let session = SessionId::new(format!("s{session}")).expect("a name");
    let topic = topics::topic(topics::DECISION_EVENT);
    let event = NewEvent::new(session, topic, Party::new("ada").expect("a name"), payload);
    engine.publish(&ledger(), vec![event]).expect("published");
}

fn forget(engine: &Engine, session: u32) {
    let Ok(Some(known)) = engine.find_session(&format!("s{session}")) else { return };
    let by = Principal::new("ada").expect("a name");
    let options = ForgetOptions { everywhere: false, even_pinned: false, by };
    let plan = engine.plan_forget(&ForgetTarget::Session(known.key), &options).expect("a plan");
    engine.apply_forget(plan).expect("forgotten");
}

fn remember(engine: &Engine) -> Remembered {
    engine.remember(&ledger()).expect("remembered")
}

/// Returns the memory as it is made from nothing; what is saved stays as it was.
fn from_nothing(engine: &Engine) -> Remembered {
    let saved = engine.log().saved_states(&ledger(), "memory").expect("a read");
    engine.log().drop_states(&ledger(), "memory").expect("dropped");
    let made = remember(engine);
    engine.log().save_states(&ledger(), saved).expect("saved");
    made
}

#[derive(Debug, Clone, Copy)]
enum Deed {
    Begin,
    GoOn(u32),
    Publish(u32),
    Forget(u32),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        2 => Just(Deed::Begin),
        3 => (0..SESSIONS).prop_map(Deed::GoOn),
        1 => (0..SESSIONS).prop_map(Deed::Publish),
        1 => (0..SESSIONS).prop_map(Deed::Forget),
    ];
    prop::collection::vec(deed, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(8)))]

    #[test]
    fn invariant_01_blocks_say_what_a_memory_from_nothing_says(deeds in deeds()) {
        let (engine, folder) = (project(), Folder::new());
        (0..SESSIONS).for_each(|session| begin(&engine, &folder, session));
        let mut gone = Vec::new();
        for (deed, number) in deeds.into_iter().zip(1..) {
            match deed {
                Deed::Begin => begin(&engine, &folder, SESSIONS + number),
                Deed::GoOn(session) if !gone.contains(&session) => go_on(&engine, &folder, session, number),
                Deed::Publish(session) => publish(&engine, session, "one shelf per firing"),
                Deed::Forget(session) => {
                    forget(&engine, session);
                    gone.push(session);
                }
                Deed::GoOn(_) => {}
            }
            let saved = remember(&engine);
            let made = from_nothing(&engine);
            prop_assert_eq!(&saved.memory, &made.memory);
            prop_assert_eq!(saved.transcripts, made.transcripts);
            prop_assert_eq!(&remember(&engine).memory, &made.memory);
        }
    }
}

#[test]
fn of_sessions_in_blocks_nothing_is_read_again() {
    let (engine, folder) = (project(), Folder::new());
    (0..SESSIONS).for_each(|session| begin(&engine, &folder, session));
    let before = remember(&engine);
    assert_eq!((before.transcripts, before.read), (u64::from(SESSIONS), u64::from(SESSIONS) * 2));
    assert!(before.memory.items.decisions.iter().any(|one| one.text.contains("kiln 3x0")));
    // Without the states of sessions only those that are in no block can be read.
    let states = engine.log().saved_states(&ledger(), "memory/").expect("a read");
    engine.log().drop_states(&ledger(), "memory/").expect("dropped");
    let after = remember(&engine);
    assert_eq!((after.memory, after.transcripts, after.read), (before.memory, u64::from(SESSIONS), 32));
    engine.log().save_states(&ledger(), states).expect("saved");
    // The last turn of a session is open, so it is read each time of those that are in no block.
    go_on(&engine, &folder, SESSIONS - 1, 1);
    assert_eq!(remember(&engine).read, 34, "the new turn and what is in no block");
    begin(&engine, &folder, SESSIONS);
    let read = remember(&engine).read;
    assert!((32..60).contains(&read), "{read}: what is in no block, and one block of sixteen");
    assert_eq!(remember(&engine).read, 32, "the block is there again");
}

#[test]
fn what_is_forgotten_is_in_no_block() {
    let (engine, folder) = (project(), Folder::new());
    (0..SESSIONS).for_each(|session| begin(&engine, &folder, session));
    let said = |word: &str| {
        let states = engine.log().saved_states(&ledger(), "memory").expect("a read");
        states.iter().filter(|state| state.state.as_str().contains(word)).count()
    };
    remember(&engine);
    assert_eq!(said("kiln 3x0"), 2, "its block and the blocks as one; of an open turn no state is saved");
    forget(&engine, 3);
    assert_eq!(said("kiln 3x0"), 0);
    let after = remember(&engine);
    assert_eq!((after.transcripts, said("kiln 3x0")), (u64::from(SESSIONS) - 1, 0));
    assert_eq!(said("kiln 4x0"), 2);
}
