//! The workload: steps that append, save, trim, mark, forget and close.

use stemmata_model::{
    Event, EventSeq, Json, LedgerId, NewEvent, NewPayload, Party, SessionId, Timestamp, Topic,
};
use stemmata_store::{
    Append, Durability, EventLog, EventQuery, LedgerChange, MemoryStore, SavedState, StoreError,
};

/// What is done, one after the other.
pub const STEPS: usize = 11;

/// What words of the session begin with that a step forgets.
pub const FORGOTTEN: &str = "hush";

/// The step that forgets.
pub const FORGETTING: usize = 8;

/// Events of one page.
const PAGE: usize = 1_000;

/// Returns the ledger of the workload.
pub fn id() -> LedgerId {
    LedgerId::new("p").expect("a constant name is a name")
}

/// Makes an event.
pub fn said(session: &str, topic: &str, text: &str) -> NewEvent {
    let payload = NewPayload::Plain { text: Some(text.to_owned()), data: None };
    let topic = Topic::new(topic).expect("a name");
    NewEvent::new(SessionId::new(session).expect("a name"), topic, Party::new("a").expect("a name"), payload)
}

/// Makes an append to the ledger of the workload.
pub fn append(events: Vec<NewEvent>, durability: Durability) -> Append {
    let now = Timestamp::from_micros(1_790_000_000_000_000);
    Append { ledger: id(), events, expected: None, now, durability }
}

/// Reads all events.
///
/// # Errors
/// What the log says.
pub fn all(log: &dyn EventLog) -> Result<Vec<Event>, StoreError> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let page = log.events(&id(), &EventQuery::after(events.last().map(|event| event.seq), PAGE))?;
        if page.is_empty() {
            return Ok(events);
        }
        events.extend(page);
    }
}

/// Does a step. Doing it again completes it where it did not append.
///
/// # Errors
/// What the log says.
pub fn step(log: &dyn EventLog, number: usize) -> Result<(), StoreError> {
    let with = |durability, text: &str| {
        let events = vec![said("go", "t", text), said("keep", "u", "plain"), said("keep", "t", "plain")];
        log.append(append(events, durability)).map(drop)
    };
    match number {
        0 => with(Durability::Batch, "hush one"),
        1 => with(Durability::Full, &"two ".repeat(400)),
        2 => with(Durability::None, "hush three"),
        3 => log.save_states(
            &id(),
            vec![SavedState {
                name: "memory".to_owned(),
                version: 1,
                through: 5,
                position: None,
                state: Json::parse("\"hush\"").expect("JSON"),
            }],
        ),
        4 => with(Durability::Batch, "four"),
        5 => {
            let through = EventSeq::new(5).expect("a number");
            log.trim(&id(), &Topic::new("u").expect("a name"), through).map(drop)
        }
        6 => with(Durability::None, "six"),
        7 => log.change_ledger(LedgerChange {
            ledger: id(),
            now: Timestamp::EPOCH,
            root: Some("/src".to_owned()),
            compacted_at: None,
            marks: vec!["m".to_owned()],
            let_go: Vec::new(),
        }),
        FORGETTING => log.forget_events(&SessionId::new("go").expect("a name")).map(drop),
        9 => with(Durability::Batch, "nine"),
        _ => log.close(),
    }
}

/// Says whether a step leaves all or nothing when it fails.
pub const fn is_append(number: usize) -> bool {
    !matches!(number, 3 | 5 | 7 | FORGETTING)
}

/// Says whether a step is durable when it returns, and so makes durable what came before.
pub const fn is_durable(number: usize) -> bool {
    !matches!(number, 2 | 6 | 7 | 10)
}

/// Returns what there is after each step, from none on.
pub fn models() -> Vec<Vec<Event>> {
    let model = MemoryStore::default();
    let mut models = vec![Vec::new()];
    for number in 0..STEPS {
        step(&model, number).expect("the model does all");
        models.push(all(&model).expect("the model tells all"));
    }
    models
}
