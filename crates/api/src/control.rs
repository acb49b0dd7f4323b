//! How a caller watches a long operation and ends it: progress and cancellation.
//!
//! How often an operation reports and asks is its own; between two questions it does a bounded amount of work.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::problem::{Code, Problem};
use crate::service::Answer;

/// What a caller gives to a long operation.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// Gets reports of the progress.
    pub progress: &'a dyn Progress,
    /// Ends it.
    pub cancel: Option<&'a CancelToken>,
    /// The id of the request that it is part of, for the audit log.
    pub request: Option<&'a str>,
}

impl Control<'_> {
    /// Returns the control that shows no progress and never cancels.
    pub const fn none() -> Control<'static> {
        Control { progress: &Silent, cancel: None, request: None }
    }

    /// Returns whether the operation should end.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(CancelToken::is_cancelled)
    }

    /// Fails once the caller has cancelled.
    ///
    /// # Errors
    /// `cancelled`.
    pub fn check(&self) -> Answer<()> {
        if self.is_cancelled() {
            return Err(Box::new(Problem::new(Code::Cancelled, "cancelled before it was done")));
        }
        Ok(())
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}

/// Gets reports of an operation's progress. Concurrent: several threads may report at once. It must not block for long.
pub trait Progress: Sync {
    /// Takes one step down. Steps may come in any order; `done` never goes back within one operation's unit.
    fn step(&self, step: &Step<'_>);
}

/// Shows nothing.
struct Silent;

impl Progress for Silent {
    fn step(&self, _: &Step<'_>) {}
}

/// How far an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// How many units are done.
    pub done: u64,
    /// How many there are in all, where that is known.
    pub total: Option<u64>,
    /// What is counted.
    pub unit: Unit,
    /// What is being worked on: a path, an id.
    pub item: Option<&'a str>,
}

/// What progress is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Files.
    Files,
    /// Commits.
    Commits,
    /// Events.
    Events,
}

/// Cancels an operation from another thread or from a signal. Clones cancel together; it cannot be taken back.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Cancelling>);

/// What clones share.
#[derive(Default)]
struct Cancelling {
    is_cancelled: AtomicBool,
    /// Who waits and wants to be woken, by number.
    waiting: Mutex<(u64, BTreeMap<u64, Arc<Wake>>)>,
}

/// Wakes somebody.
type Wake = dyn Fn() + Send + Sync;

impl CancelToken {
    /// Asks the operation to end.
    pub fn cancel(&self) {
        let waiting = {
            let waiting = self.lock();
            // Set behind the lock: who registers sees it, or is among those that are woken.
            self.0.is_cancelled.store(true, Ordering::Release);
            waiting.1.values().map(Arc::clone).collect::<Vec<_>>()
        };
        for wake in waiting {
            wake();
        }
    }

    /// Returns whether it was asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Acquire)
    }

    /// Calls `wake` when this is cancelled, at once where it was; until the value that is returned is dropped. For what waits
    /// without looking. `wake` must not block.
    pub fn on_cancel(&self, wake: impl Fn() + Send + Sync + 'static) -> OnCancel {
        let mut waiting = self.lock();
        if self.is_cancelled() {
            drop(waiting);
            wake();
            return OnCancel { token: self.clone(), number: None };
        }
        waiting.0 += 1;
        let number = waiting.0;
        waiting.1.insert(number, Arc::new(wake));
        drop(waiting);
        OnCancel { token: self.clone(), number: Some(number) }
    }

    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Arc<Wake>>)> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelToken").field(&self.is_cancelled()).finish()
    }
}

/// Somebody who is woken by a [`CancelToken`], for as long as this is kept.
#[derive(Debug)]
#[must_use = "nobody is woken once it is dropped"]
pub struct OnCancel {
    token: CancelToken,
    number: Option<u64>,
}

impl Drop for OnCancel {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.token.lock().1.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_cancels_and_the_check_says_so() {
        let token = CancelToken::default();
        let control = Control { cancel: Some(&token), ..Control::none() };
        assert!(control.check().is_ok() && Control::none().check().is_ok());
        token.clone().cancel();
        let problem = control.check().unwrap_err();
        assert!(problem.is(Code::Cancelled), "{problem}");
        assert_eq!(problem.http_status(), 499);
    }

    #[test]
    fn who_waits_is_woken_once_and_only_while_he_waits() {
        let (token, woken) = (CancelToken::default(), Arc::new(Mutex::new(Vec::new())));
        let wakes = |name: &'static str| {
            let woken = Arc::clone(&woken);
            move || woken.lock().unwrap().push(name)
        };
        let gone = token.on_cancel(wakes("gone"));
        let _stays = token.on_cancel(wakes("stays"));
        drop(gone);
        token.cancel();
        assert_eq!(*woken.lock().unwrap(), ["stays"]);
        let _late = token.on_cancel(wakes("late"));
        assert_eq!(*woken.lock().unwrap(), ["stays", "late"]);
    }
}
