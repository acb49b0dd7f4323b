//! The message bus: whoever waits for events of a ledger is woken when some are there, and reads them from the log.
//!
//! There is no queue: a subscription is a place in the ledger and a filter, so a slow one keeps nobody waiting, costs no
//! memory and misses nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stemmata_api::v1::FollowFrom;
use stemmata_model::{Event, EventSeq, Json, LedgerId, Party, SessionId, Topic};
use stemmata_store::{CURSOR_STATES, EventLog, EventQuery, PAGE_ROWS_MAX, SavedState};

use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

/// How often a subscription that waits checks for events that another process appended, where nothing tells this process of them
/// ([`Engine::listen`]). Each check is one small read.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The version of what a named cursor's state is.
const CURSOR_VERSION: u32 = 1;

/// Who waits for what in this process.
#[derive(Debug, Default)]
pub(crate) struct Bus {
    /// Only ledgers that somebody is subscribed to.
    slots: Mutex<HashMap<LedgerId, Slot>>,
    changed: Condvar,
    /// How many say that they tell of what other processes append.
    listening: AtomicUsize,
}

#[derive(Debug, Default)]
struct Slot {
    subscriptions: usize,
    /// How many appends were told of.
    appends: u64,
    /// The ledger's last event when it was checked for those of other processes; none before.
    last: Option<u64>,
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

    /// Returns when something was appended since `seen`, when `is_stopped`, or after a time.
    fn wait(&self, ledger: &LedgerId, (seen, is_stopped): (u64, &AtomicBool), at_most: Duration) {
        let slots = self.lock();
        let is_told = self.is_told();
        let at_most = if is_told { at_most } else { at_most.min(LOOK_EVERY) };
        let is_same = |slots: &mut HashMap<LedgerId, Slot>| {
            !is_stopped.load(Ordering::Relaxed)
                && self.is_told() == is_told
                && slots.get(ledger).is_some_and(|slot| slot.appends == seen)
        };
        let waited = self.changed.wait_timeout_while(slots, at_most, is_same);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Says whether somebody tells of what other processes append.
    fn is_told(&self) -> bool {
        self.listening.load(Ordering::Relaxed) > 0
    }

    /// Wakes those that wait for events of ledgers that have others than at the last check: one read a ledger, however many wait.
    fn check(&self, log: &dyn EventLog) -> Result<()> {
        let ledgers: Vec<LedgerId> = self.lock().keys().cloned().collect();
        let mut failed = None;
        for ledger in ledgers {
            let last = match last_of(log, &ledger) {
                Ok(last) => last,
                // Those who wait for other ledgers hear of theirs.
                Err(error) => {
                    failed.get_or_insert(error);
                    continue;
                }
            };
            if let Some(slot) = self.lock().get_mut(&ledger).filter(|slot| slot.last != Some(last)) {
                slot.last = Some(last);
                slot.appends += 1;
                self.changed.notify_all();
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Wakes all that wait, behind the lock, so that nobody who is about to wait misses it.
    fn wake_all(&self) {
        let slots = self.lock();
        self.changed.notify_all();
        drop(slots);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<LedgerId, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells subscriptions of events that other processes append. As long as one is kept they do not look by themselves.
pub struct Listening {
    log: Arc<dyn EventLog>,
    bus: Arc<Bus>,
}

impl std::fmt::Debug for Listening {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Listening")
    }
}

impl Listening {
    /// Wakes the subscriptions whose ledgers have new events. Call it when the files of the store or of the ledgers changed, and every
    /// few seconds besides, since the system may not say so.
    ///
    /// # Errors
    /// Where the storage fails; the next call tells of what this one did not.
    pub fn check(&self) -> Result<()> {
        self.bus.check(self.log.as_ref())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.bus.listening.fetch_sub(1, Ordering::Relaxed);
        // They look by themselves from now on.
        self.bus.wake_all();
    }
}

/// Ends the waiting of a [`Subscription`], from another thread.
#[derive(Debug, Clone)]
pub struct Stopper {
    bus: Arc<Bus>,
    is_stopped: Arc<AtomicBool>,
}

impl Stopper {
    /// Has the subscription wait for nothing any more.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.bus.wake_all();
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
    is_stopped: Arc<AtomicBool>,
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
        let is_stopped = Arc::default();
        Ok(Subscription { log, bus, ledger: ledger.clone(), filter, cursor, name, is_stopped })
    }

    /// Has subscriptions rely on being told of what other processes append, by [`Listening::check`].
    pub fn listen(&self) -> Listening {
        self.bus.listening.fetch_add(1, Ordering::Relaxed);
        Listening { log: Arc::clone(&self.log), bus: Arc::clone(&self.bus) }
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
            if self.is_stopped.load(Ordering::Relaxed) {
                return Ok(events);
            }
            self.bus.wait(&self.ledger, (seen, &self.is_stopped), rest);
        }
    }

    /// Returns what ends its waiting.
    pub fn stopper(&self) -> Stopper {
        Stopper { bus: Arc::clone(&self.bus), is_stopped: Arc::clone(&self.is_stopped) }
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
        let (bus, never) = (Bus::default(), AtomicBool::new(false));
        bus.listening.store(1, Ordering::Relaxed);
        let [mine, other] = ["mine", "other"].map(|name| LedgerId::new(name).expect("a name"));
        bus.enter(&mine);
        bus.enter(&mine);
        let begun = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| bus.wait(&mine, (0, &never), LONG));
            bus.wake(&mine);
        });
        assert!(begun.elapsed() < LONG / 2);
        bus.wake(&other);
        assert_eq!((bus.appends(&mine), bus.appends(&other)), (1, 0));
        // What happened between a look and the wait ends it too.
        bus.wait(&mine, (0, &never), LONG);
        assert!(begun.elapsed() < LONG / 2);
        bus.wait(&mine, (1, &never), Duration::from_millis(1));
        bus.leave(&mine);
        bus.wake(&mine);
        assert_eq!(bus.appends(&mine), 2);
        bus.leave(&mine);
        assert!(bus.lock().is_empty(), "nothing is kept of who is gone");
    }
}
