//! The message bus: whoever waits for events of a ledger is woken when some are there, and reads them from the log.
//!
//! There is no queue: a subscription is a place in the ledger and a filter, so a slow one keeps nobody waiting, costs no
//! memory and misses nothing.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stemmata_api::v1::FollowFrom;
use stemmata_model::{Event, EventSeq, Json, LedgerId, Party, SessionId, Topic};
use stemmata_store::{CURSOR_STATES, EventLog, EventQuery, PAGE_ROWS_MAX, SavedState};

use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

/// How often a subscription that waits looks for events that another process appended. Each look is one small read.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The version of what a named cursor's state is.
const CURSOR_VERSION: u32 = 1;

/// Who waits for what in this process.
#[derive(Debug, Default)]
pub(crate) struct Bus {
    /// Only ledgers that somebody is subscribed to.
    slots: Mutex<HashMap<LedgerId, Slot>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Slot {
    subscriptions: usize,
    /// How many appends were told of.
    appends: u64,
}

impl Bus {
    /// Wakes those that wait for events of a ledger. To be called after they can be read.
    pub(crate) fn wake(&self, ledger: &LedgerId) {
        if let Some(slot) = self.lock().get_mut(ledger) {
            slot.appends += 1;
            self.changed.notify_all();
        }
    }

    fn enter(&self, ledger: &LedgerId) {
        self.lock().entry(ledger.clone()).or_default().subscriptions += 1;
    }

    fn leave(&self, ledger: &LedgerId) {
        let mut slots = self.lock();
        if let Some(slot) = slots.get_mut(ledger) {
            slot.subscriptions -= 1;
            if slot.subscriptions == 0 {
                slots.remove(ledger);
            }
        }
    }

    fn appends(&self, ledger: &LedgerId) -> u64 {
        self.lock().get(ledger).map_or(0, |slot| slot.appends)
    }

    /// Returns when something was appended since `seen`, or after a time.
    fn wait(&self, ledger: &LedgerId, seen: u64, at_most: Duration) {
        let is_same =
            |slots: &mut HashMap<LedgerId, Slot>| slots.get(ledger).is_some_and(|slot| slot.appends == seen);
        let waited = self.changed.wait_timeout_while(self.lock(), at_most, is_same);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LedgerId, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which events a subscription is for: those that all of it holds for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventFilter {
    /// Only these topics; all where none is named.
    pub topics: Vec<Topic>,
    /// Only those from this sender.
    pub sender: Option<Party>,
    /// Only those for this receiver.
    pub receiver: Option<Party>,
    /// Only those of this session.
    pub session: Option<SessionId>,
    /// Only those that may enter a prompt, or only those that may not.
    pub replayable: Option<bool>,
}

/// A place in a ledger that events are read from, in their order, each once. Dropping it ends it.
pub struct Subscription {
    log: Arc<dyn EventLog>,
    bus: Arc<Bus>,
    ledger: LedgerId,
    filter: EventFilter,
    /// The last event that was looked at; 0 before the first.
    cursor: u64,
    name: Option<String>,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Subscription({:?} after {})", self.ledger, self.cursor)
    }
}

impl Engine {
    /// Subscribes to a ledger, which need not be there yet.
    ///
    /// # Errors
    /// `Refused` for a place beyond the ledger's end, where events would be passed over in silence; `Store` for too
    /// many topics or a name that is too long, and where the storage fails.
    pub fn subscribe(
        &self,
        ledger: &LedgerId,
        filter: EventFilter,
        from: FollowFrom,
    ) -> Result<Subscription> {
        let last = last_of(self.log.as_ref(), ledger)?;
        let (cursor, name) = match from {
            FollowFrom::Beginning => (0, None),
            FollowFrom::Now => (last, None),
            FollowFrom::After(seq) => (seq.get(), None),
            FollowFrom::Cursor(name) => {
                let state = format!("{CURSOR_STATES}{name}");
                let states = self.log.saved_states(ledger, &state)?;
                let own =
                    states.into_iter().find(|saved| saved.name == state && saved.version == CURSOR_VERSION);
                (own.map_or(0, |saved| saved.through), Some(state))
            }
        };
        if cursor > last {
            let reason = format!(
                "it begins after event {cursor}, and the last one is {last}: the cursor is another ledger's, or the ledger \
                 was brought back from an older copy; begin at the beginning, or now"
            );
            return Err(EngineError::Refused { what: Refusal::Subscribe, reasons: vec![reason] });
        }
        let (log, bus) = (Arc::clone(&self.log), Arc::clone(&self.bus));
        // What the log refuses is refused now, not with the first event.
        log.page(ledger, &filter.query(0, last, 0))?;
        bus.enter(ledger);
        Ok(Subscription { log, bus, ledger: ledger.clone(), filter, cursor, name })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.bus.leave(&self.ledger);
    }
}

impl EventFilter {
    fn query(&self, after: u64, through: u64, limit: usize) -> EventQuery {
        EventQuery {
            topics: self.topics.clone(),
            sender: self.sender.clone(),
            receiver: self.receiver.clone(),
            session: self.session.clone(),
            replayable: self.replayable,
            // Of a ledger without events there is nothing to return, whatever the bounds.
            through: Some(EventSeq::new(through).unwrap_or(EventSeq::FIRST)),
            ..EventQuery::after(EventSeq::new(after), limit)
        }
    }
}

impl Subscription {
    /// Returns the next event, waiting for it where there is none yet; none after a time. An event whose payload is gone
    /// comes without it.
    ///
    /// # Errors
    /// Where the storage fails; nothing is lost then, and the next call returns what this one would have.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Event>> {
        Ok(self.page_within(1, timeout)?.into_iter().next())
    }

    /// Returns the next events that are there, at most so many, and fewer where they are large; none at the end of the
    /// ledger only. Does not wait.
    ///
    /// # Errors
    /// As [`Subscription::next`].
    pub fn page(&mut self, limit: usize) -> Result<Vec<Event>> {
        let limit = limit.min(PAGE_ROWS_MAX);
        // What is appended while this reads is for the next page: without an upper end the cursor could pass it.
        let last = last_of(self.log.as_ref(), &self.ledger)?;
        if limit == 0 || last <= self.cursor {
            return Ok(Vec::new());
        }
        let page = self.log.page(&self.ledger, &self.filter.query(self.cursor, last, limit))?;
        self.cursor = page.next.map_or(last, EventSeq::get);
        Ok(page.events)
    }

    /// Returns the next events, as [`Subscription::page`] does, waiting for the first where there is none yet; none after a
    /// time.
    ///
    /// # Errors
    /// As [`Subscription::next`].
    pub fn page_within(&mut self, limit: usize, timeout: Duration) -> Result<Vec<Event>> {
        let begun = Instant::now();
        loop {
            // Taken before the look: what is appended after it ends the wait at once.
            let seen = self.bus.appends(&self.ledger);
            let events = self.page(limit)?;
            let rest = timeout.saturating_sub(begun.elapsed());
            if !events.is_empty() || limit == 0 || rest.is_zero() {
                return Ok(events);
            }
            self.bus.wait(&self.ledger, seen, rest.min(LOOK_EVERY));
        }
    }

    /// Returns the last event that was returned or passed over; none before the first. A subscription that begins after
    /// it goes on where this one is.
    pub fn cursor(&self) -> Option<EventSeq> {
        EventSeq::new(self.cursor)
    }

    /// Keeps under the subscription's name that all up to here is done with, durably: whoever subscribes under this name
    /// next begins after it. What was returned and never acknowledged is returned again then. Where another reader of this
    /// name is further already, its place stays.
    ///
    /// # Errors
    /// `Refused` without a name, and where the storage fails.
    pub fn acknowledge(&self) -> Result<()> {
        let Some(name) = &self.name else {
            let reasons =
                vec!["the subscription has no name to keep it under: begin it as `Named`".to_owned()];
            return Err(EngineError::Refused { what: Refusal::Acknowledge, reasons });
        };
        let saved = self.log.saved_states(&self.ledger, name)?.into_iter().find(|saved| saved.name == *name);
        if saved.map_or(0, |saved| saved.through) >= self.cursor {
            return Ok(());
        }
        let state = SavedState {
            name: name.clone(),
            version: CURSOR_VERSION,
            through: self.cursor,
            position: None,
            state: Json::of(&serde_json::Value::Null),
        };
        Ok(self.log.save_states(&self.ledger, vec![state])?)
    }
}

fn last_of(log: &dyn EventLog, ledger: &LedgerId) -> Result<u64> {
    Ok(log.ledger(ledger)?.map_or(0, |ledger| ledger.last))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Far more than any machine needs.
    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn an_append_ends_the_wait_of_its_ledger_only() {
        let bus = Bus::default();
        let [mine, other] = ["mine", "other"].map(|name| LedgerId::new(name).expect("a name"));
        bus.enter(&mine);
        bus.enter(&mine);
        let begun = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| bus.wait(&mine, 0, LONG));
            bus.wake(&mine);
        });
        assert!(begun.elapsed() < LONG / 2);
        bus.wake(&other);
        assert_eq!((bus.appends(&mine), bus.appends(&other)), (1, 0));
        // What happened between a look and the wait ends it too.
        bus.wait(&mine, 0, LONG);
        assert!(begun.elapsed() < LONG / 2);
        bus.wait(&mine, 1, Duration::from_millis(1));
        bus.leave(&mine);
        bus.wake(&mine);
        assert_eq!(bus.appends(&mine), 2);
        bus.leave(&mine);
        assert!(bus.lock().is_empty(), "nothing is kept of who is gone");
    }
}
