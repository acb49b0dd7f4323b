//! What one thread asks another to do, where only the latest request counts.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use stemmata_api::CancelToken;

/// The latest request, until a worker takes it.
pub(crate) struct Latest<T> {
    slot: Mutex<Slot<T>>,
    changed: Condvar,
}

struct Slot<T> {
    waiting: Option<(T, CancelToken)>,
    /// Ends what the worker took last.
    running: CancelToken,
    is_over: bool,
}

impl<T> Default for Latest<T> {
    fn default() -> Self {
        let slot = Slot { waiting: None, running: CancelToken::default(), is_over: false };
        Self { slot: Mutex::new(slot), changed: Condvar::new() }
    }
}

impl<T> Latest<T> {
    /// Asks for something, and cancels what was asked for before.
    pub(crate) fn ask(&self, request: T) {
        let mut slot = self.locked();
        slot.running.cancel();
        slot.running = CancelToken::default();
        slot.waiting = Some((request, slot.running.clone()));
        self.changed.notify_one();
    }

    /// Cancels everything; workers are told that there is no more to do.
    pub(crate) fn end(&self) {
        let mut slot = self.locked();
        slot.running.cancel();
        slot.waiting = None;
        slot.is_over = true;
        self.changed.notify_all();
    }

    /// Waits for the next request; none once [`Latest::end`] was called.
    pub(crate) fn next(&self) -> Option<(T, CancelToken)> {
        let mut slot = self.locked();
        loop {
            if slot.is_over {
                return None;
            }
            if let Some(next) = slot.waiting.take() {
                return Some(next);
            }
            slot = self.changed.wait(slot).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Locks the slot. A thread that panicked with the lock left the slot whole: each change of it is one assignment.
    fn locked(&self) -> MutexGuard<'_, Slot<T>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_request_is_done_and_the_one_before_cancelled() {
        let latest = Latest::default();
        latest.ask(1);
        let (first, cancel) = latest.next().unwrap();
        latest.ask(2);
        latest.ask(3);
        assert_eq!((first, cancel.is_cancelled()), (1, true));
        let (last, cancel) = latest.next().unwrap();
        assert_eq!((last, cancel.is_cancelled()), (3, false));
        latest.ask(4);
        latest.end();
        assert!(latest.next().is_none() && cancel.is_cancelled());
    }
}
