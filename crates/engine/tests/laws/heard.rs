//! A log that says what it is asked, to count it or to have something happen meanwhile.

use std::sync::Arc;

use stemmata_model::{EventSeq, LedgerId, SessionId, Timestamp, Topic};
use stemmata_store::{
    Append, Appended, EventKey, EventLog, EventPage, EventQuery, Keyed, Ledger, LedgerChange, Places,
    Receipt, SavedState, StoreError,
};

/// What a log is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// For a page, of so many events.
    Page(usize),
    /// To forget events: before it does.
    Forget,
}

/// A log that says what it is asked.
pub(crate) struct HeardLog {
    /// The log.
    pub(crate) log: Arc<dyn EventLog>,
    /// Who is told.
    pub(crate) hears: Box<dyn Fn(Asked) + Send + Sync>,
}

impl EventLog for HeardLog {
    fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.log.append(append)
    }

    fn page(&self, ledger: &LedgerId, query: &EventQuery) -> Result<EventPage, StoreError> {
        let page = self.log.page(ledger, query)?;
        (self.hears)(Asked::Page(page.events.len()));
        Ok(page)
    }

    fn keyed(&self, ledger: &LedgerId, keys: &[EventKey], now: Timestamp) -> Result<Vec<Keyed>, StoreError> {
        self.log.keyed(ledger, keys, now)
    }

    fn ledger(&self, id: &LedgerId) -> Result<Option<Ledger>, StoreError> {
        self.log.ledger(id)
    }

    fn ledgers(&self, after: Option<&LedgerId>, limit: usize) -> Result<Vec<Ledger>, StoreError> {
        self.log.ledgers(after, limit)
    }

    fn ledger_marked(&self, mark: &str) -> Result<Option<LedgerId>, StoreError> {
        self.log.ledger_marked(mark)
    }

    fn change_ledger(&self, change: LedgerChange) -> Result<(), StoreError> {
        self.log.change_ledger(change)
    }

    fn receipt(&self, ledger: &LedgerId, topic: &Topic) -> Result<Option<Receipt>, StoreError> {
        self.log.receipt(ledger, topic)
    }

    fn trim(&self, ledger: &LedgerId, topic: &Topic, through: EventSeq) -> Result<u64, StoreError> {
        self.log.trim(ledger, topic, through)
    }

    fn forget_events(&self, session: &SessionId) -> Result<u64, StoreError> {
        (self.hears)(Asked::Forget);
        self.log.forget_events(session)
    }

    fn forget_places(&self, ledger: &LedgerId, places: &Places) -> Result<u64, StoreError> {
        self.log.forget_places(ledger, places)
    }

    fn save_states(&self, ledger: &LedgerId, states: Vec<SavedState>) -> Result<(), StoreError> {
        self.log.save_states(ledger, states)
    }

    fn save_folded(&self, ledger: &LedgerId, epoch: u64, states: Vec<SavedState>) -> Result<(), StoreError> {
        self.log.save_folded(ledger, epoch, states)
    }

    fn saved_states(&self, ledger: &LedgerId, prefix: &str) -> Result<Vec<SavedState>, StoreError> {
        self.log.saved_states(ledger, prefix)
    }

    fn drop_states(&self, ledger: &LedgerId, prefix: &str) -> Result<(), StoreError> {
        self.log.drop_states(ledger, prefix)
    }

    fn close(&self) -> Result<(), StoreError> {
        self.log.close()
    }
}
