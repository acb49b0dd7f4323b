//! Settling in the background: a thread that keeps the index of a long-lived process up to date, so that its searches write nothing.
//!
//! Only who asks for it has it. What settling does is `settle`'s.

use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::settle::{SettleBudget, Settled};
use super::{SearchStep, StepUnit};
use crate::engine::Engine;

/// The pause between two settlings that nobody waits for: a store that is written to all the time is settled in larger steps.
const PAUSE: Duration = Duration::from_secs(1);

/// How often who waits for a settling checks whether it was told to stop.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Keeps an index up to date for as long as this is kept. Dropping it stops the settling that goes on, after a page at most, and ends
/// the thread.
#[derive(Debug)]
pub struct IndexKeeper {
    asked: Arc<Asked>,
    thread: Option<JoinHandle<()>>,
}

impl IndexKeeper {
    /// Has what is new settled soon. Does not wait for it.
    pub fn request(&self) {
        self.asked.tell(|state| state.is_due = true);
    }
}

impl Drop for IndexKeeper {
    fn drop(&mut self) {
        self.asked.tell(|state| state.is_over = true);
        if let Some(thread) = self.thread.take() {
            // A panic was printed by the thread; the index is as its last page left it.
            let _ended = thread.join();
        }
        self.asked.tell(|state| *state = State::default());
    }
}

/// What is asked of the thread, by the engine and its clones.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    state: Mutex<State>,
    told: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether there is a thread; else each search settles by itself.
    is_kept: bool,
    /// Something may be new, and nobody waits for it.
    is_due: bool,
    /// How often somebody asked and waits.
    asked: u64,
    /// Which of those are answered.
    answered: u64,
    last: Settled,
    is_over: bool,
}

impl Asked {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, what: impl FnOnce(&mut State)) {
        what(&mut self.lock());
        self.told.notify_all();
    }

    fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Has everything settled that there is now, and returns how that went; nothing where no thread does it. Where the budget ends
    /// first, or `step` stops it, the thread goes on.
    pub(super) fn settled(&self, budget: SettleBudget, step: &mut SearchStep<'_>) -> Option<Settled> {
        let mut state = self.lock();
        if !state.is_kept {
            return None;
        }
        let until = match budget {
            SettleBudget::All => None,
            SettleBudget::Within(time) if time.is_zero() => return Some(Settled::default()),
            SettleBudget::Within(time) => Instant::now().checked_add(time),
        };
        state.asked += 1;
        let own = state.asked;
        self.told.notify_all();
        while state.is_kept && !state.is_over && state.answered < own {
            let left = until.map_or(STOP_CHECK, |until| until.saturating_duration_since(Instant::now()));
            drop(state);
            if left.is_zero() || step(StepUnit::Commits, 0, None).is_break() {
                return Some(Settled::default());
            }
            state = self.lock();
            if state.answered < own {
                let waited = self.told.wait_timeout(state, left.min(STOP_CHECK));
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        Some(if state.answered < own { Settled::default() } else { state.last.clone() })
    }

    /// Waits for something to do: which askers it answers; nothing at the end.
    fn next(&self) -> Option<u64> {
        let mut state = self.lock();
        while !(state.is_over || state.is_due || state.asked > state.answered) {
            state = self.told.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_due = false;
        (!state.is_over).then_some(state.asked)
    }

    /// Waits before the next settling, unless somebody waits for it.
    fn pause(&self) {
        let is_idle = |state: &mut State| !state.is_over && state.asked == state.answered;
        drop(self.told.wait_timeout_while(self.lock(), PAUSE, is_idle));
    }
}

impl Engine {
    /// Settles new commits and events in a thread of its own: now, whenever it is asked, and for each search, which then waits for it
    /// within its budget instead of settling by itself. What fails is told to searches, and tried again.
    ///
    /// # Errors
    /// `AlreadyExists` where there is a keeper already; the system's own where it gives no thread.
    pub fn keep_settled(&self) -> io::Result<IndexKeeper> {
        let asked = Arc::clone(&self.index.asked);
        {
            let mut state = asked.lock();
            if state.is_kept {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            *state = State { is_kept: true, is_due: true, ..State::default() };
        }
        let (engine, heard) = (self.clone(), Arc::clone(&asked));
        let run = move || {
            while let Some(asked) = heard.next() {
                let step = &mut |_, _, _| {
                    if heard.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                let settled = engine.settle_now(SettleBudget::All, step);
                heard.tell(|state| {
                    state.answered = asked;
                    // What a store fails with, the search itself meets.
                    state.last = settled.unwrap_or_default();
                });
                heard.pause();
            }
        };
        match thread::Builder::new().name("stemma-index".to_owned()).spawn(run) {
            Ok(thread) => Ok(IndexKeeper { asked, thread: Some(thread) }),
            Err(error) => {
                asked.tell(|state| *state = State::default());
                Err(error)
            }
        }
    }
}
