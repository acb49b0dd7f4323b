//! Events: what writes them fails as batches do.

use stemmata_model::{EventSeq, LedgerId, SessionId, Timestamp, Topic};
use stemmata_store::{
    Append, Appended, EventKey, EventLog, EventPage, EventQuery, Keyed, Ledger, LedgerChange, Places,
    Receipt, SavedState, Store, StoreError,
};

use super::FaultyStore;

/// Appends, states and changes count as batches.
impl<S: Store> EventLog for FaultyStore<S> {
    fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.write(|| {
            let appended = self.inner.append(append)?;
            self.pack_if_wished()?;
            Ok(appended)
        })
    }

    fn page(&self, ledger: &LedgerId, query: &EventQuery) -> Result<EventPage, StoreError> {
        let bytes_max = query.bytes_max.min(self.pages().bytes_max);
        let page = self.inner.page(ledger, &EventQuery { bytes_max, ..query.clone() });
        if let Some(act) = &mut self.pages().meddler {
            act(&self.inner);
        }
        page
    }

    fn keyed(&self, ledger: &LedgerId, keys: &[EventKey], now: Timestamp) -> Result<Vec<Keyed>, StoreError> {
        self.inner.keyed(ledger, keys, now)
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
        self.write(|| self.inner.change_ledger(change))
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
        self.write(|| self.inner.save_states(ledger, states))
    }

    fn save_folded(&self, ledger: &LedgerId, epoch: u64, states: Vec<SavedState>) -> Result<(), StoreError> {
        self.write(|| self.inner.save_folded(ledger, epoch, states))
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
