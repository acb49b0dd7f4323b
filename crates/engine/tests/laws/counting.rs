//! What a prompt costs: it reads the events that its sources select, however many there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stemmata_engine::prompt::strategy::{DocumentFormat, parse};
use stemmata_engine::{Engine, PromptOf, PromptWanted};
use stemmata_model::{Estimate, EventSeq, LedgerId, SessionId, Timestamp, Topic};
use stemmata_store::{
    Append, Appended, EventKey, EventLog, EventPage, EventQuery, Keyed, Ledger, LedgerChange, MemoryStore,
    Places, Receipt, SavedState, StoreError,
};

use crate::contexts::{event, ledger, profile};
use crate::support::engine_on;

/// A log that counts the events that it hands out, and how often it is asked.
struct CountingLog {
    log: MemoryStore,
    events: AtomicUsize,
    pages: AtomicUsize,
}

impl EventLog for CountingLog {
    fn append(&self, append: Append) -> Result<Appended, StoreError> {
        self.log.append(append)
    }

    fn page(&self, ledger: &LedgerId, query: &EventQuery) -> Result<EventPage, StoreError> {
        let page = self.log.page(ledger, query)?;
        self.events.fetch_add(page.events.len(), Ordering::Relaxed);
        self.pages.fetch_add(1, Ordering::Relaxed);
        Ok(page)
    }

    fn keyed(&self, ledger: &LedgerId, keys: &[EventKey], now: Timestamp) -> Result<Vec<Keyed>, StoreError> {
        self.log.keyed(ledger, keys, now)
    }

    fn ledger(&self, id: &LedgerId) -> Result<Option<Ledger>, StoreError> {
        EventLog::ledger(&self.log, id)
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
        EventLog::close(&self.log)
    }
}

/// Returns the events that a prompt reads, and how often it asks, where the ledger has so many events.
fn cost(events: usize) -> (usize, usize) {
    let log = Arc::new(CountingLog {
        log: MemoryStore::default(),
        events: AtomicUsize::new(0),
        pages: AtomicUsize::new(0),
    });
    let engine: Engine =
        engine_on("m1", Arc::new(MemoryStore::default())).with_log(Arc::clone(&log) as Arc<dyn EventLog>);
    engine.log().change_ledger(LedgerChange::new(ledger(), Timestamp::from_micros(1))).expect("made");
    for start in (0..events).step_by(500) {
        let topics = ["PLAN_READY", "VALIDATION_RESULT", "NOTE"];
        let batch =
            (start..start + 500).map(|at| event("s", topics[at % 3], &format!("event {at}"), "{}")).collect();
        engine.publish(&ledger(), batch).expect("published");
    }
    let strategy = "[[sources]]\ntopic = \"PLAN_READY\"\nstrategy = \"latest\"\namount = 1\n\
                    [[sources]]\ntopic = \"VALIDATION_RESULT\"\nstrategy = \"latest\"\namount = 5\ncompactAmount = 1\n\
                    [[sources]]\ntopic = \"NOTE\"\nstrategy = \"oldest\"\namount = 7\nsince = \"last_task_end\"\n";
    let strategy = parse(strategy, DocumentFormat::Toml).expect("a strategy");
    let profile = profile();
    log.events.store(0, Ordering::Relaxed);
    log.pages.store(0, Ordering::Relaxed);
    let of = PromptOf { ledger: ledger(), session: None, tip: None };
    let made = engine.assemble(&of, &PromptWanted::new(&profile, &strategy, &Estimate)).expect("a prompt");
    assert!(made.text.contains("event 2\n") && made.text.contains("PLAN_READY"), "{}", made.text);
    (log.events.load(Ordering::Relaxed), log.pages.load(Ordering::Relaxed))
}

#[test]
fn a_source_costs_its_amount_whatever_the_length() {
    let (events, pages) = cost(1_500);
    assert!(events <= 1 + 5 + 7 + 2, "{events} events were read for 13");
    assert_eq!(cost(6_000), (events, pages), "of four times the ledger");
}
