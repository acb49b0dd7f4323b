//! Ledgers in memory: the plain model of the seam, for tests and for programs that want nothing kept.
//!
//! Nothing is durable, whatever an append asks for. Queries look at every event of a ledger.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stemmata_model::{
    Event, EventSeq, Gone, LedgerId, NewEvent, NewPayload, Payload, SessionId, Timestamp, Topic, artifact_id,
    topics,
};

use super::checks::{check_append, check_change, check_marks, check_query, check_state};
use super::{
    Append, Appended, EventLog, EventQuery, Ledger, LedgerChange, OUTPUT_BYTES_MAX, OUTPUT_EVENTS_MAX, Order,
    Receipt, SavedState, chained, plain_bytes,
};
use crate::error::StoreError;

/// An [`EventLog`] that keeps everything in memory and nothing beyond its own life.
#[derive(Debug, Default)]
pub struct MemoryLog {
    state: Mutex<Logs>,
}

#[derive(Debug, Default)]
struct Logs {
    logs: BTreeMap<LedgerId, Log>,
    closed: bool,
}

#[derive(Debug, Clone)]
struct Log {
    ledger: Ledger,
    events: Vec<Event>,
    states: BTreeMap<String, SavedState>,
    receipts: BTreeMap<Topic, Receipt>,
    /// Raw output that still has its payload: how many events, how many bytes.
    output: (u64, u64),
}

impl MemoryLog {
    /// Makes a log without ledgers.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Logs> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, operation: &'static str) -> Result<MutexGuard<'_, Logs>, StoreError> {
        let logs = self.lock();
        if logs.closed { Err(StoreError::Closed { operation }) } else { Ok(logs) }
    }
}

impl Logs {
    /// Returns a ledger, made where it is not there.
    fn log(&mut self, id: &LedgerId, now: Timestamp) -> &mut Log {
        self.logs.entry(id.clone()).or_insert_with(|| Log::new(id.clone(), now))
    }
}

impl EventLog for MemoryLog {
    fn append(&self, append: Append) -> Result<Appended, StoreError> {
        check_append(&append)?;
        let mut logs = self.open("appending events")?;
        let found = logs.logs.get(&append.ledger).map_or(0, |log| log.ledger.last);
        if let Some(expected) = append.expected.filter(|expected| *expected != found) {
            return Err(StoreError::SequenceMoved { ledger: append.ledger, expected, found });
        }
        logs.log(&append.ledger, append.now).append(append.events, append.now)
    }

    fn events(&self, ledger: &LedgerId, query: &EventQuery) -> Result<Vec<Event>, StoreError> {
        check_query(query)?;
        let logs = self.lock();
        let events = logs.logs.get(ledger).map_or(&[] as &[Event], |log| &log.events);
        let wanted = events.iter().filter(|event| query.wants(event));
        Ok(match query.order {
            Order::OldestFirst => wanted.take(query.limit).cloned().collect(),
            Order::NewestFirst => wanted.rev().take(query.limit).cloned().collect(),
        })
    }

    fn ledger(&self, id: &LedgerId) -> Result<Option<Ledger>, StoreError> {
        Ok(self.lock().logs.get(id).map(|log| log.ledger.clone()))
    }

    fn ledgers(&self, after: Option<&LedgerId>, limit: usize) -> Result<Vec<Ledger>, StoreError> {
        let logs = self.lock();
        let rest = logs.logs.iter().filter(|(id, _)| after.is_none_or(|after| *id > after));
        Ok(rest.take(limit).map(|(_, log)| log.ledger.clone()).collect())
    }

    fn ledger_marked(&self, mark: &str) -> Result<Option<LedgerId>, StoreError> {
        let logs = self.lock();
        let found = logs.logs.iter().find(|(_, log)| log.ledger.marks.iter().any(|own| own == mark));
        Ok(found.map(|(id, _)| id.clone()))
    }

    fn change_ledger(&self, change: LedgerChange) -> Result<(), StoreError> {
        check_change(&change)?;
        let mut logs = self.open("changing a ledger")?;
        for mark in &change.marks {
            let holds = |log: &&Log| log.ledger.id != change.ledger && log.ledger.marks.contains(mark);
            if let Some(other) = logs.logs.values().find(holds) {
                return Err(StoreError::MarkTaken { mark: mark.clone(), ledger: other.ledger.id.clone() });
            }
        }
        let mut marks = logs.logs.get(&change.ledger).map_or(Vec::new(), |log| log.ledger.marks.clone());
        marks.extend(change.marks);
        marks.sort();
        marks.dedup();
        check_marks(marks.len())?;
        let ledger = &mut logs.log(&change.ledger, change.now).ledger;
        ledger.marks = marks;
        ledger.root = change.root.or(ledger.root.take());
        ledger.compacted_at = change.compacted_at.or(ledger.compacted_at);
        Ok(())
    }

    fn receipt(&self, ledger: &LedgerId, topic: &Topic) -> Result<Option<Receipt>, StoreError> {
        Ok(self.lock().logs.get(ledger).and_then(|log| log.receipts.get(topic).copied()))
    }

    fn trim(&self, ledger: &LedgerId, topic: &Topic, through: EventSeq) -> Result<u64, StoreError> {
        let mut logs = self.open("trimming a ledger")?;
        Ok(logs.logs.get_mut(ledger).map_or(0, |log| log.trim(topic, through)))
    }

    fn forget_events(&self, session: &SessionId) -> Result<u64, StoreError> {
        let mut logs = self.open("forgetting events")?;
        Ok(logs.logs.values_mut().map(|log| log.forget(session)).sum())
    }

    fn save_states(&self, ledger: &LedgerId, states: Vec<SavedState>) -> Result<(), StoreError> {
        states.iter().try_for_each(check_state)?;
        let mut logs = self.open("saving states")?;
        let log = logs.logs.get_mut(ledger).ok_or_else(|| StoreError::LedgerMissing(ledger.clone()))?;
        log.states.extend(states.into_iter().map(|state| (state.name.clone(), state)));
        Ok(())
    }

    fn saved_states(&self, ledger: &LedgerId, prefix: &str) -> Result<Vec<SavedState>, StoreError> {
        let logs = self.lock();
        let states = logs.logs.get(ledger).into_iter().flat_map(|log| log.states.values());
        Ok(states.filter(|state| state.name.starts_with(prefix)).cloned().collect())
    }

    fn drop_states(&self, ledger: &LedgerId, prefix: &str) -> Result<(), StoreError> {
        if let Some(log) = self.open("dropping states")?.logs.get_mut(ledger) {
            log.states.retain(|name, _| !name.starts_with(prefix));
        }
        Ok(())
    }

    fn close(&self) -> Result<(), StoreError> {
        self.lock().closed = true;
        Ok(())
    }
}

impl Log {
    fn new(id: LedgerId, now: Timestamp) -> Self {
        let ledger = Ledger {
            id,
            created_at: now,
            last: 0,
            last_at: None,
            root: None,
            compacted_at: None,
            marks: Vec::new(),
        };
        Self {
            ledger,
            events: Vec::new(),
            states: BTreeMap::new(),
            receipts: BTreeMap::new(),
            output: (0, 0),
        }
    }

    fn append(&mut self, events: Vec<NewEvent>, now: Timestamp) -> Result<Appended, StoreError> {
        let bound =
            || StoreError::Bound { what: "number of an event", value: u64::MAX, bound: u64::MAX >> 1 };
        let count = u64::try_from(events.len()).expect("a length fits 64 bits");
        let first = EventSeq::new(self.ledger.last + 1).ok_or_else(bound)?;
        let last = EventSeq::new(self.ledger.last + count).ok_or_else(bound)?;
        for new in events {
            let at = time_of(&new, self.ledger.last_at, now);
            let seq = EventSeq::new(self.ledger.last + 1).ok_or_else(bound)?;
            self.ledger.last = seq.get();
            self.ledger.last_at = Some(at);
            let event = event(new, seq, at);
            if is_output(&event) {
                self.output.0 += 1;
                self.output.1 += payload_bytes(&event.payload);
            }
            self.events.push(event);
        }
        self.bound_output();
        Ok(Appended { first, last, last_at: self.ledger.last_at.unwrap_or(now) })
    }

    fn bound_output(&mut self) {
        let topic = topics::topic(topics::AGENT_OUTPUT);
        while self.output.0 > OUTPUT_EVENTS_MAX || self.output.1 > OUTPUT_BYTES_MAX {
            let oldest = self.events.iter().position(|event| is_output(event) && is_there(&event.payload));
            let Some(oldest) = oldest else { return };
            self.let_go(oldest, &topic);
        }
    }

    fn trim(&mut self, topic: &Topic, through: EventSeq) -> u64 {
        let going: Vec<usize> = (0..self.events.len())
            .filter(|at| {
                let event = &self.events[*at];
                event.topic == *topic && event.seq <= through && is_there(&event.payload)
            })
            .collect();
        for at in &going {
            self.let_go(*at, topic);
        }
        u64::try_from(going.len()).expect("a length fits 64 bits")
    }

    /// Lets go of one payload and writes the receipt.
    fn let_go(&mut self, at: usize, topic: &Topic) {
        let event = &mut self.events[at];
        let gone = gone(&event.payload, false);
        if is_output(event) {
            self.output.0 -= 1;
            self.output.1 -= gone.bytes;
        }
        event.payload = Payload::Gone(gone);
        let before = self.receipts.get(topic).copied();
        self.receipts.insert(
            topic.clone(),
            Receipt {
                events: before.map_or(0, |receipt| receipt.events) + 1,
                bytes: before.map_or(0, |receipt| receipt.bytes) + gone.bytes,
                chain: chained(before.map_or([0; 32], |receipt| receipt.chain), gone.hash, gone.bytes),
                through: event.seq,
            },
        );
    }

    fn forget(&mut self, session: &SessionId) -> u64 {
        let mut forgotten = 0;
        for event in &mut self.events {
            let own = event.session == *session;
            let derived = forgotten > 0 && event.topic.as_str() == topics::STATE_SNAPSHOT;
            let known = matches!(event.payload, Payload::Gone(gone) if gone.forgotten);
            if (own || derived) && !known {
                let gone = gone(&event.payload, true);
                if is_output(event) && is_there(&event.payload) {
                    self.output.0 -= 1;
                    self.output.1 -= gone.bytes;
                }
                event.payload = Payload::Gone(gone);
                event.metadata = None;
                forgotten += 1;
            }
        }
        if forgotten > 0 {
            self.states.clear();
        }
        forgotten
    }
}

/// Returns the time of an event: later than the one before it, not before the present, and the given one where that is
/// later still.
pub(crate) fn time_of(new: &NewEvent, last: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let base = last.map_or(now, |last| now.max(Timestamp::from_micros(last.as_micros().saturating_add(1))));
    new.at.map_or(base, |given| base.max(given))
}

fn event(new: NewEvent, seq: EventSeq, at: Timestamp) -> Event {
    let payload = match new.payload {
        NewPayload::Plain { text, data } => Payload::Plain { text, data },
        NewPayload::Line(line) => Payload::Line { id: artifact_id(format!("{line}\n").as_bytes()), line },
    };
    Event {
        seq,
        session: new.session,
        at,
        topic: new.topic,
        sender: new.sender,
        receiver: new.receiver,
        payload,
        metadata: new.metadata,
        replayable: new.replayable,
    }
}

/// Says whether an event is raw output, which is bounded.
fn is_output(event: &Event) -> bool {
    event.topic.as_str() == topics::AGENT_OUTPUT && !event.replayable
}

const fn is_there(payload: &Payload) -> bool {
    !matches!(payload, Payload::Gone(_))
}

fn payload_bytes(payload: &Payload) -> u64 {
    gone(payload, false).bytes
}

/// Returns what stays of a payload that goes.
fn gone(payload: &Payload, forgotten: bool) -> Gone {
    match payload {
        Payload::Plain { text, data } => {
            let bytes = plain_bytes(text.as_deref(), data.as_ref());
            let length = u64::try_from(bytes.len()).expect("a length fits 64 bits");
            Gone { hash: artifact_id(&bytes), bytes: length, forgotten }
        }
        Payload::Line { id, line } => {
            let length = u64::try_from(line.as_str().len() + 1).expect("a length fits 64 bits");
            Gone { hash: *id, bytes: length, forgotten }
        }
        Payload::Gone(gone) => Gone { forgotten, ..*gone },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    #[test]
    fn the_memory_is_a_log() {
        conformance::ledger::run(&mut || Box::new(MemoryLog::new()));
    }

    #[test]
    fn numbers_go_on_beyond_what_a_float_holds() {
        let log = MemoryLog::new();
        let id = LedgerId::new("p").expect("a name");
        let last = (1_u64 << 53) + 1;
        log.lock().log(&id, Timestamp::EPOCH).ledger.last = last;
        conformance::ledger::check_great_numbers(&log, "p", last);
        log.lock().log(&id, Timestamp::EPOCH).ledger.last = u64::MAX >> 1;
        let event = NewEvent::new(
            SessionId::new("s").expect("a name"),
            Topic::new("t").expect("a name"),
            stemmata_model::Party::new("a").expect("a name"),
            NewPayload::Plain { text: None, data: None },
        );
        let append = Append {
            ledger: id,
            events: vec![event],
            expected: None,
            now: Timestamp::EPOCH,
            durability: crate::ledger::Durability::None,
        };
        assert!(matches!(log.append(append), Err(StoreError::Bound { .. })), "the last number there is");
    }
}
