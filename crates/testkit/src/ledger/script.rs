//! The workload: steps that append, save, trim, mark, forget and close.

use crate::memory::MemoryStore;
use stemmata_model::{Event, LedgerId, NewEvent, Timestamp};
use stemmata_store::conformance::ledger::builders::{self, said};
use stemmata_store::{Append, Durability, EventLog, EventQuery, LedgerChange, StoreError};

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
    builders::ledger("p")
}

/// Makes an append to the ledger of the workload.
pub fn append(events: Vec<NewEvent>, durability: Durability) -> Append {
    let now = Timestamp::from_micros(1_790_000_000_000_000);
    Append { now, durability, ..builders::append("p", events) }
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
        3 => log.save_states(&id(), vec![builders::saved("memory", 5, "\"hush\"")]),
        4 => with(Durability::Batch, "four"),
        5 => {
            let through = builders::seq(5);
            log.trim(&id(), &builders::topic("u"), through).map(drop)
        }
        6 => with(Durability::None, "six"),
        7 => log.change_ledger(LedgerChange {
            root: Some("/src".to_owned()),
            marks: vec!["m".to_owned()],
            ..LedgerChange::new(id(), Timestamp::EPOCH)
        }),
        FORGETTING => log.forget_events(&builders::session("go")).map(drop),
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
