//! Ledgers in memory: the plain model of the seam, for tests and for programs that want nothing kept.
//!
//! Nothing is durable, whatever an append asks for. What happens to ledgers is in `logs`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use stemmata_model::{EventSeq, LedgerId, SessionId, Topic};

use super::logs::Logs;
use super::{
    Append, Appended, EventLog, EventPage, EventQuery, Ledger, LedgerChange, Places, Receipt, SavedState,
};
use crate::error::StoreError;

/// An [`EventLog`] that keeps everything in memory and nothing beyond its own life.
#[derive(Debug, Default)]
pub struct MemoryLog {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    logs: Logs,
    closed: bool,
}

impl MemoryLog {
    /// Makes a log without ledgers.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something to the ledgers as one transaction, or leaves nothing of it.
    fn write<T>(
        &self,
        operation: &'static str,
        act: impl FnOnce(&mut Logs) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut state = self.lock();
        if state.closed {
            return Err(StoreError::Closed { operation });
        }
        let done = act(&mut state.logs);
        if done.is_ok() {
            state.logs.commit();
        } else {
            state.logs.roll_back();
        }
        done
    }
}

impl EventLog for MemoryLog {
    fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.write("appending events", |logs| logs.append(append))
    }

    fn page(&self, ledger: &LedgerId, query: &EventQuery) -> Result<EventPage, StoreError> {
        self.lock().logs.page(ledger, query)
    }

    fn ledger(&self, id: &LedgerId) -> Result<Option<Ledger>, StoreError> {
        Ok(self.lock().logs.ledger(id))
    }

    fn ledgers(&self, after: Option<&LedgerId>, limit: usize) -> Result<Vec<Ledger>, StoreError> {
        Ok(self.lock().logs.ledgers(after, limit))
    }

    fn ledger_marked(&self, mark: &str) -> Result<Option<LedgerId>, StoreError> {
        Ok(self.lock().logs.ledger_marked(mark))
    }

    fn change_ledger(&self, change: LedgerChange) -> Result<(), StoreError> {
        self.write("changing a ledger", |logs| logs.change(change))
    }

    fn receipt(&self, ledger: &LedgerId, topic: &Topic) -> Result<Option<Receipt>, StoreError> {
        Ok(self.lock().logs.receipt(ledger, topic))
    }

    fn trim(&self, ledger: &LedgerId, topic: &Topic, through: EventSeq) -> Result<u64, StoreError> {
        self.write("trimming a ledger", |logs| Ok(logs.trim(ledger, topic, through)))
    }

    fn forget_events(&self, session: &SessionId) -> Result<u64, StoreError> {
        self.write("forgetting events", |logs| {
            let went = logs.forget(&|_, event| event.session == *session);
            Ok(u64::try_from(went.len()).expect("a length fits 64 bits"))
        })
    }

    fn forget_places(&self, ledger: &LedgerId, places: &Places) -> Result<u64, StoreError> {
        self.write("forgetting events", |logs| {
            let went = logs.forget(&|of, event| of == ledger && places.hold(event.seq));
            logs.drop_folded(ledger);
            Ok(u64::try_from(went.len()).expect("a length fits 64 bits"))
        })
    }

    fn save_states(&self, ledger: &LedgerId, states: Vec<SavedState>) -> Result<(), StoreError> {
        self.write("saving states", |logs| logs.save_states(ledger, None, states))
    }

    fn save_folded(&self, ledger: &LedgerId, epoch: u64, states: Vec<SavedState>) -> Result<(), StoreError> {
        self.write("saving states", |logs| logs.save_states(ledger, Some(epoch), states))
    }

    fn saved_states(&self, ledger: &LedgerId, prefix: &str) -> Result<Vec<SavedState>, StoreError> {
        Ok(self.lock().logs.saved_states(ledger, prefix))
    }

    fn drop_states(&self, ledger: &LedgerId, prefix: &str) -> Result<(), StoreError> {
        self.write("dropping states", |logs| {
            logs.raise_epochs(&|of| of == ledger);
            logs.drop_states(&|of, name| of == ledger && name.starts_with(prefix));
            Ok(())
        })
    }

    fn close(&self) -> Result<(), StoreError> {
        self.lock().closed = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use stemmata_model::{NewEvent, NewPayload, Timestamp};

    use super::*;
    use crate::conformance;
    use crate::ledger::logs;

    #[test]
    fn the_memory_is_a_log() {
        conformance::ledger::run(&mut || Box::new(MemoryLog::new()));
    }

    impl MemoryLog {
        fn set_last(&self, id: &LedgerId, last: u64) {
            let mut state = self.lock();
            let made = Ledger { last, ..logs::made(id, Timestamp::EPOCH) };
            state.logs.ledgers.put(id.clone(), made);
            state.logs.commit();
        }
    }

    #[test]
    fn numbers_go_on_beyond_what_a_float_holds() {
        let log = MemoryLog::new();
        let id = LedgerId::new("p").expect("a name");
        let last = (1_u64 << 53) + 1;
        log.set_last(&id, last);
        conformance::ledger::check_great_numbers(&log, "p", last);
        log.set_last(&id, u64::MAX >> 1);
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
