//! Small events and appends: for the checks, and for other tests of ledgers.

use stemmata_model::{
    Event, EventSeq, Json, LedgerId, NewEvent, NewPayload, Party, SessionId, Timestamp, Topic,
};

use crate::ledger::{Append, Appended, EventLog, EventQuery, SavedState};

/// Names a ledger.
pub fn ledger(name: &str) -> LedgerId {
    LedgerId::new(name).expect("a short name")
}

/// Names a session.
pub fn session(name: &str) -> SessionId {
    SessionId::new(name).expect("a short name")
}

/// Names a topic.
pub fn topic(name: &str) -> Topic {
    Topic::new(name).expect("a short name")
}

/// Names a sender or a receiver.
pub fn party(name: &str) -> Party {
    Party::new(name).expect("a short name")
}

/// Numbers an event.
pub fn seq(number: u64) -> EventSeq {
    EventSeq::new(number).expect("a small number")
}

/// Makes an event of a session, sent by `a`.
pub fn event(of: &str, about: &str, payload: NewPayload) -> NewEvent {
    NewEvent::new(session(of), topic(about), party("a"), payload)
}

/// Makes an event with text.
pub fn said(of: &str, about: &str, text: &str) -> NewEvent {
    event(of, about, NewPayload::Plain { text: Some(text.to_owned()), data: None })
}

/// Makes a saved state of version 1.
pub fn saved(name: &str, through: u64, state: &str) -> SavedState {
    let state = Json::parse(state).expect("JSON");
    SavedState { name: name.to_owned(), version: 1, through, position: None, state }
}

/// Makes an append at a fixed present.
pub fn append(to: &str, events: Vec<NewEvent>) -> Append {
    Append::new(ledger(to), events, Timestamp::from_micros(1_000))
}

/// Appends events.
pub fn put(log: &dyn EventLog, to: &str, events: Vec<NewEvent>) -> Appended {
    log.append(append(to, events)).expect("an append that can be done")
}

/// Reads all events of a ledger, page by page.
pub fn all(log: &dyn EventLog, of: &str) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let query = EventQuery::after(events.last().map(|event| event.seq), crate::PAGE_ROWS_MAX);
        let page = log.events(&ledger(of), &query).expect("a query that can be answered");
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}
