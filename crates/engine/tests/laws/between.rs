//! A log in which something happens between two calls of whoever uses it, as if another process did it.

use std::sync::Mutex;

use stemmata_model::{EventSeq, LedgerId, SessionId, Topic};
use stemmata_store::{
    Append, Appended, EventLog, EventPage, EventQuery, Ledger, LedgerChange, MemoryStore, Places, Receipt,
    SavedState, StoreError,
};

type Happening = Box<dyn FnMut(&MemoryStore) + Send>;

/// A log in memory in which something happens after each read of events, before the reader gets to act on it.
#[derive(Default)]
pub(crate) struct BetweenLog {
    pub(crate) inner: MemoryStore,
    /// How many bytes a page has, where it is not as many as the reader asks for.
    pub(crate) bytes_max: Option<usize>,
    pub(crate) happening: Mutex<Option<Happening>>,
}

impl BetweenLog {
    /// From now on has this happen after each read.
    pub(crate) fn after_reads(&self, happening: impl FnMut(&MemoryStore) + Send + 'static) {
        *self.happening.lock().expect("no panic") = Some(Box::new(happening));
    }

    /// From now on has this happen after the next read only.
    pub(crate) fn after_one_read(&self, happening: impl FnOnce(&MemoryStore) + Send + 'static) {
        let mut once = Some(happening);
        self.after_reads(move |log| {
            if let Some(happening) = once.take() {
                happening(log);
            }
        });
    }
}

impl EventLog for BetweenLog {
    fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.inner.append(append)
    }

    fn page(&self, ledger: &LedgerId, query: &EventQuery) -> Result<EventPage, StoreError> {
        let bytes_max = self.bytes_max.unwrap_or(query.bytes_max);
        let page = self.inner.page(ledger, &EventQuery { bytes_max, ..query.clone() });
        if let Some(happening) = self.happening.lock().expect("no panic").as_mut() {
            happening(&self.inner);
        }
        page
    }

    fn ledger(&self, id: &LedgerId) -> Result<Option<Ledger>, StoreError> {
        self.inner.ledger(id)
    }

    fn ledgers(&self, after: Option<&LedgerId>, limit: usize) -> Result<Vec<Ledger>, StoreError> {
        self.inner.ledgers(after, limit)
    }

    fn ledger_marked(&self, mark: &str) -> Result<Option<LedgerId>, StoreError> {
        self.inner.ledger_marked(mark)
    }

    fn change_ledger(&self, change: LedgerChange) -> Result<(), StoreError> {
        self.inner.change_ledger(change)
    }

    fn receipt(&self, ledger: &LedgerId, topic: &Topic) -> Result<Option<Receipt>, StoreError> {
        self.inner.receipt(ledger, topic)
    }

    fn trim(&self, ledger: &LedgerId, topic: &Topic, through: EventSeq) -> Result<u64, StoreError> {
        self.inner.trim(ledger, topic, through)
    }

    fn forget_events(&self, session: &SessionId) -> Result<u64, StoreError> {
        self.inner.forget_events(session)
    }

    fn forget_places(&self, ledger: &LedgerId, places: &Places) -> Result<u64, StoreError> {
        self.inner.forget_places(ledger, places)
    }

    fn save_states(&self, ledger: &LedgerId, states: Vec<SavedState>) -> Result<(), StoreError> {
        self.inner.save_states(ledger, states)
    }

    fn save_folded(&self, ledger: &LedgerId, epoch: u64, states: Vec<SavedState>) -> Result<(), StoreError> {
        self.inner.save_folded(ledger, epoch, states)
    }

    fn saved_states(&self, ledger: &LedgerId, prefix: &str) -> Result<Vec<SavedState>, StoreError> {
        self.inner.saved_states(ledger, prefix)
    }

    fn drop_states(&self, ledger: &LedgerId, prefix: &str) -> Result<(), StoreError> {
        self.inner.drop_states(ledger, prefix)
    }

    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
    }
}
