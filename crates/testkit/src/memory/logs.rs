//! What happens to ledgers in memory, within a transaction that can be rolled back: what the store in memory keeps of them.
//!
//! Queries look at every event of a ledger.

use stemmata_model::{ArtifactId, Event, EventSeq, LedgerId, Payload, Timestamp, Topic, to_u64};
use stemmata_store::rules::checks::{
    self, check_append, check_change, check_epoch, check_keys, check_place, check_query, check_reach,
    check_state,
};
use stemmata_store::rules::events::{Filling, bytes_of, event, gone, is_output, is_there, next_time};
use stemmata_store::rules::output::{exceeds, receipt_after};
use stemmata_store::{
    Append, Appended, CURSOR_STATES, DerivedEvents, EventKey, EventPage, EventQuery, Keyed, Ledger,
    LedgerChange, Order, Receipt, SavedState, StoreError,
};

use super::table::Table;

/// Ledgers with their events, states and receipts.
#[derive(Debug)]
pub(crate) struct Logs {
    pub(crate) ledgers: Table<LedgerId, Ledger>,
    events: Table<(LedgerId, u64), Event>,
    states: Table<(LedgerId, String), SavedState>,
    receipts: Table<(LedgerId, Topic), Receipt>,
    keys: Table<(LedgerId, EventKey), Keyed>,
    /// Raw output that still has its payload, by ledger: how many events, how many bytes.
    output: Table<LedgerId, (u64, u64)>,
}

impl Default for Logs {
    fn default() -> Self {
        Self {
            ledgers: Table::new(),
            events: Table::new(),
            states: Table::new(),
            receipts: Table::new(),
            keys: Table::new(),
            output: Table::new(),
        }
    }
}

/// Returns a ledger as it is when it is made.
pub(crate) fn made(id: &LedgerId, now: Timestamp) -> Ledger {
    Ledger {
        id: id.clone(),
        created_at: now,
        last: 0,
        last_at: None,
        root: None,
        compacted_at: None,
        epoch: 0,
        marks: Vec::new(),
    }
}

impl Logs {
    pub(crate) fn commit(&mut self) {
        self.ledgers.commit();
        self.events.commit();
        self.states.commit();
        self.receipts.commit();
        self.keys.commit();
        self.output.commit();
    }

    pub(crate) fn roll_back(&mut self) {
        self.ledgers.roll_back();
        self.events.roll_back();
        self.states.roll_back();
        self.receipts.roll_back();
        self.keys.roll_back();
        self.output.roll_back();
    }

    pub(crate) fn append(&mut self, append: Append) -> Result<Appended, StoreError> {
        check_append(&append)?;
        let mut ledger = self.ledger(&append.ledger).unwrap_or_else(|| made(&append.ledger, append.now));
        let at = (ledger.last, ledger.epoch);
        let (first, last) = check_place(&append, at, |key| Ok(self.key(&append.ledger, key)))?;
        let id = append.ledger;
        for keyed in append.keys.iter().filter_map(|new| Keyed::placed(new, first)) {
            self.keys.put((id.clone(), keyed.key), keyed);
        }
        let mut last_at = append.now;
        for (number, new) in (first.get()..).zip(append.events) {
            let seq = EventSeq::new(number).unwrap_or(last);
            last_at = next_time(ledger.last_at, append.now, new.at);
            ledger.last_at = Some(last_at);
            let event = event(new, seq, last_at);
            if is_output(&event) {
                self.count_output(&id, |(events, bytes)| (events + 1, bytes + bytes_of(&event.payload)));
            }
            self.events.put((id.clone(), number), event);
        }
        ledger.last = last.get();
        self.ledgers.put(id.clone(), ledger);
        self.bound_output(&id);
        Ok(Appended { first, last, last_at })
    }

    pub(crate) fn page(&self, ledger: &LedgerId, query: &EventQuery) -> Result<EventPage, StoreError> {
        check_query(query)?;
        let mut wanted = self.of(ledger).filter(|event| query.wants(event));
        let mut page = Filling::new(query);
        while !page.is_full() {
            let next = match query.order {
                Order::OldestFirst => wanted.next(),
                Order::NewestFirst => wanted.next_back(),
            };
            let Some(event) = next else { break };
            page.take(event.clone());
        }
        Ok(page.page())
    }

    /// Returns all events of all ledgers.
    pub(crate) fn all_events(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().map(|(_, event)| event)
    }

    /// Returns a key whose first event was not forgotten.
    fn key(&self, ledger: &LedgerId, key: EventKey) -> Option<Keyed> {
        let keyed = self.keys.get(&(ledger.clone(), key)).copied()?;
        let event = self.events.get(&(ledger.clone(), keyed.first.get()))?;
        (!matches!(event.payload, Payload::Gone(gone) if gone.forgotten)).then_some(keyed)
    }

    pub(crate) fn keyed(
        &self,
        ledger: &LedgerId,
        keys: &[EventKey],
        now: Timestamp,
    ) -> Result<Vec<Keyed>, StoreError> {
        check_keys(keys.len())?;
        let known = keys.iter().filter_map(|key| self.key(ledger, *key));
        Ok(known.filter(|keyed| keyed.holds(now)).collect())
    }

    pub(crate) fn ledger(&self, id: &LedgerId) -> Option<Ledger> {
        self.ledgers.get(id).cloned()
    }

    pub(crate) fn ledgers(&self, after: Option<&LedgerId>, limit: usize) -> Vec<Ledger> {
        let rest = self.ledgers.iter().filter(|(id, _)| after.is_none_or(|after| *id > after));
        rest.take(limit).map(|(_, ledger)| ledger.clone()).collect()
    }

    pub(crate) fn ledger_marked(&self, mark: &str) -> Option<LedgerId> {
        let found = self.ledgers.iter().find(|(_, ledger)| ledger.marks.iter().any(|own| own == mark));
        found.map(|(id, _)| id.clone())
    }

    pub(crate) fn change(&mut self, change: LedgerChange) -> Result<(), StoreError> {
        check_change(&change)?;
        for mark in &change.marks {
            if let Some(ledger) = self.ledger_marked(mark).filter(|other| *other != change.ledger) {
                return Err(StoreError::MarkTaken { mark: mark.clone(), ledger });
            }
        }
        let mut ledger = self.ledger(&change.ledger).unwrap_or_else(|| made(&change.ledger, change.now));
        let id = change.ledger.clone();
        checks::change(change, &mut ledger.marks, (&mut ledger.root, &mut ledger.compacted_at))?;
        self.ledgers.put(id, ledger);
        Ok(())
    }

    pub(crate) fn receipt(&self, ledger: &LedgerId, topic: &Topic) -> Option<Receipt> {
        self.receipts.get(&(ledger.clone(), topic.clone())).copied()
    }

    pub(crate) fn trim(&mut self, ledger: &LedgerId, topic: &Topic, through: EventSeq) -> u64 {
        let is_going =
            |event: &&Event| event.topic == *topic && event.seq <= through && is_there(&event.payload);
        let going: Vec<Event> = self.of(ledger).filter(is_going).cloned().collect();
        let count = to_u64(going.len());
        for event in going {
            self.let_go(ledger, event);
        }
        count
    }

    /// Forgets events, what was made of them after the first of them, and all saved states of their ledgers but
    /// cursors. Returns the hashes of what they said, one for each event.
    pub(crate) fn forget(&mut self, is_meant: &dyn Fn(&LedgerId, &Event) -> bool) -> Vec<ArtifactId> {
        let ids: Vec<LedgerId> = self.ledgers.iter().map(|(id, _)| id.clone()).collect();
        ids.iter().flat_map(|id| self.forget_in(id, &|event| is_meant(id, event))).collect()
    }

    fn forget_in(&mut self, ledger: &LedgerId, is_meant: &dyn Fn(&Event) -> bool) -> Vec<ArtifactId> {
        let mut going: Vec<Event> = Vec::new();
        let mut derived = DerivedEvents::default();
        for event in self.of(ledger) {
            let known = matches!(event.payload, Payload::Gone(gone) if gone.forgotten);
            if known {
                continue;
            }
            if is_meant(event) {
                derived.goes(&event.session);
            } else if !derived.hold(&event.topic, &event.session) {
                continue;
            }
            going.push(event.clone());
        }
        let mut hashes = Vec::with_capacity(going.len());
        for mut event in going {
            let gone = gone(&event.payload, true);
            hashes.push(gone.hash);
            if is_output(&event) && is_there(&event.payload) {
                self.count_output(ledger, |(events, bytes)| (events - 1, bytes - gone.bytes));
            }
            event.payload = Payload::Gone(gone);
            event.metadata = None;
            self.events.put((ledger.clone(), event.seq.get()), event);
        }
        if !hashes.is_empty() {
            self.drop_folded(ledger);
        }
        hashes
    }

    /// Drops what was made of a ledger's events, and has no fold that is under way be saved.
    pub(crate) fn drop_folded(&mut self, ledger: &LedgerId) {
        self.raise_epochs(&|id| id == ledger);
        self.drop_states(&|of, name| of == ledger && !name.starts_with(CURSOR_STATES));
    }

    pub(crate) fn expect_epoch(&self, ledger: &LedgerId, epoch: u64) -> Result<(), StoreError> {
        let known = self.ledgers.get(ledger).ok_or_else(|| StoreError::LedgerMissing(ledger.clone()))?;
        check_epoch(ledger, Some(epoch), known.epoch)
    }

    pub(crate) fn save_states(
        &mut self,
        ledger: &LedgerId,
        states: Vec<SavedState>,
    ) -> Result<(), StoreError> {
        states.iter().try_for_each(check_state)?;
        let known = self.ledgers.get(ledger).ok_or_else(|| StoreError::LedgerMissing(ledger.clone()))?;
        check_reach(&states, known.last)?;
        for state in states {
            self.states.put((ledger.clone(), state.name.clone()), state);
        }
        Ok(())
    }

    pub(crate) fn saved_states(&self, ledger: &LedgerId, prefix: &str) -> Vec<SavedState> {
        let own = self.states.iter().filter(|((of, name), _)| of == ledger && name.starts_with(prefix));
        own.map(|(_, state)| state.clone()).collect()
    }

    /// Drops the states that are meant: by their ledger and their name.
    pub(crate) fn drop_states(&mut self, is_meant: &dyn Fn(&LedgerId, &str) -> bool) {
        let keys = self.states.iter().map(|(key, _)| key).filter(|(of, name)| is_meant(of, name));
        let keys: Vec<(LedgerId, String)> = keys.cloned().collect();
        for key in &keys {
            self.states.remove(key);
        }
    }

    /// Has no fold that is under way be saved, of the ledgers that are meant.
    pub(crate) fn raise_epochs(&mut self, is_meant: &dyn Fn(&LedgerId) -> bool) {
        let meant = self.ledgers.iter().filter(|(id, _)| is_meant(id));
        let meant: Vec<Ledger> = meant.map(|(_, ledger)| ledger.clone()).collect();
        for ledger in meant {
            self.ledgers.put(ledger.id.clone(), Ledger { epoch: ledger.epoch + 1, ..ledger });
        }
    }

    /// The events of a ledger, oldest first.
    fn of(&self, ledger: &LedgerId) -> impl DoubleEndedIterator<Item = &Event> {
        let range = (ledger.clone(), 0)..=(ledger.clone(), u64::MAX);
        self.events.range(range).map(|(_, event)| event)
    }

    fn count_output(&mut self, ledger: &LedgerId, change: impl FnOnce((u64, u64)) -> (u64, u64)) {
        let before = self.output.get(ledger).copied().unwrap_or_default();
        self.output.put(ledger.clone(), change(before));
    }

    fn bound_output(&mut self, ledger: &LedgerId) {
        let (mut events, mut bytes) = self.output.get(ledger).copied().unwrap_or_default();
        let mut going = Vec::new();
        for event in self.of(ledger).filter(|event| is_output(event) && is_there(&event.payload)) {
            if !exceeds(events, bytes) {
                break;
            }
            events -= 1;
            bytes -= bytes_of(&event.payload);
            going.push(event.clone());
        }
        for event in going {
            self.let_go(ledger, event);
        }
    }

    /// Lets go of one payload and writes the receipt.
    fn let_go(&mut self, ledger: &LedgerId, mut event: Event) {
        let gone = gone(&event.payload, false);
        if is_output(&event) {
            self.count_output(ledger, |(events, bytes)| (events - 1, bytes - gone.bytes));
        }
        let receipt = receipt_after(self.receipt(ledger, &event.topic).as_ref(), event.seq, gone);
        self.receipts.put((ledger.clone(), event.topic.clone()), receipt);
        event.payload = Payload::Gone(gone);
        self.events.put((ledger.clone(), event.seq.get()), event);
    }
}
