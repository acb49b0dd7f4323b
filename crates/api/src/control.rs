//! How a caller watches a long operation and ends it: progress and cancellation.
//!
//! How often an operation reports and asks is its own; between two questions it does a bounded amount of work.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Asks the operation to end.
    pub fn cancel(&self) {
        // The flag guards no other data, so `Relaxed` is enough.
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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
}
