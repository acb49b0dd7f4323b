//! A service that gives the store's files up when another process needs them alone, and opens them again afterwards.
//!
//! Each operation borrows it. Who needs the store alone recalls its lease (`stemmata_engine::Home::recall`); then nothing new begins,
//! what runs is given time and is cancelled after that, and everything that has a file of the store open is dropped.

mod opened;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use stemmata_api::{Answer, Borrowed, CancelToken, Code, Lender, Loan, Problem, Service, Use};

use crate::hearing::{Bell, Hear, Pace};
use crate::local::Local;
use opened::Opened;

/// How long an operation waits for a store that is away; then its caller is told to come back.
const AWAY_WAIT: Duration = Duration::from_secs(2);

/// How long what runs may go on when the store is needed by another process; then it is cancelled.
const RUNNING_WAIT: Duration = Duration::from_secs(5);

/// How often it is checked whether a store that is away can be opened again.
const OPEN_CHECK: Duration = Duration::from_millis(20);

/// The same after it could not be opened: what is wrong with it does not change so fast.
const FAILED_CHECK: Duration = Duration::from_secs(1);

/// Makes a service over a data directory, of which nothing is open yet.
pub type MakeLocal = Box<dyn Fn() -> Answer<Local> + Send>;

/// Lends the service over a store of this machine, as long as no other process needs the store alone.
pub struct Lending {
    shared: Arc<Shared>,
    keeper: Option<JoinHandle<()>>,
}

/// What operations and the thread that opens and closes the store share.
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    bell: Arc<Bell>,
}

#[derive(Default)]
struct State {
    service: Option<Arc<Local>>,
    /// Why there is none, where it could not be opened.
    trouble: Option<Box<Problem>>,
    /// Nothing new begins.
    is_recalled: bool,
    running: BTreeMap<u64, Running>,
    lent: u64,
}

/// An operation that runs.
struct Running {
    wanted: Use,
    cancel: CancelToken,
    is_recalled: Arc<AtomicBool>,
}

impl Running {
    fn recall(&self) {
        self.is_recalled.store(true, Ordering::Release);
        self.cancel.cancel();
    }
}

/// Gives a service back when it is dropped.
struct Lent {
    shared: Arc<Shared>,
    number: u64,
    is_recalled: Arc<AtomicBool>,
}

impl Loan for Lent {
    fn is_recalled(&self) -> bool {
        self.is_recalled.load(Ordering::Acquire)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.shared.lock().running.remove(&self.number);
        self.shared.changed.notify_all();
    }
}

impl Lending {
    /// Opens the store, and lends it until this is dropped. `hear` reports changes of files, by which it learns that it is needed by
    /// another process, and what others append.
    ///
    /// # Errors
    /// Those of opening the store; `store_away` where another process has it for itself; `io_failed` where the system gives no thread.
    pub fn start(make: MakeLocal, hear: Hear) -> Answer<Self> {
        let shared =
            Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), bell: Arc::default() });
        let opened = Opened::open(&make, &hear, &shared.bell)?.ok_or_else(away)?;
        shared.lock().service = Some(Arc::clone(&opened.local));
        let keeping = Keeping { shared: Arc::clone(&shared), make, hear };
        let keeper = thread::Builder::new().name("stemma-lend".to_owned()).spawn(move || keeping.run(opened));
        let keeper = keeper.map_err(|error| Box::new(Problem::new(Code::IoFailed, error.to_string())))?;
        Ok(Self { shared, keeper: Some(keeper) })
    }
}

impl Drop for Lending {
    /// Ends what still runs, and closes the store.
    fn drop(&mut self) {
        self.shared.bell.end();
        self.shared.recall(|_| true);
        self.shared.changed.notify_all();
        if let Some(keeper) = self.keeper.take() {
            // A panic was printed by the thread.
            let _ended = keeper.join();
        }
    }
}

impl Lender for Lending {
    fn lend(&self, wanted: Use, cancel: &CancelToken) -> Answer<Borrowed> {
        let until = Instant::now() + AWAY_WAIT;
        let mut state = self.shared.lock();
        loop {
            if self.shared.bell.is_over() {
                return Err(Box::new(Problem::new(Code::StoreAway, "the service ends")));
            }
            if let Some(service) = state.service.clone().filter(|_| !state.is_recalled) {
                state.lent += 1;
                let (number, is_recalled) = (state.lent, Arc::new(AtomicBool::new(false)));
                let running =
                    Running { wanted, cancel: cancel.clone(), is_recalled: Arc::clone(&is_recalled) };
                state.running.insert(number, running);
                drop(state);
                let lent = Lent { shared: Arc::clone(&self.shared), number, is_recalled };
                return Ok(Borrowed::new(service as Arc<dyn Service>, Box::new(lent)));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || cancel.is_cancelled() {
                return Err(state.trouble.clone().unwrap_or_else(away));
            }
            let again = self.shared.changed.wait_timeout(state, left);
            state = again.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn away() -> Box<Problem> {
    Box::new(Problem::new(Code::StoreAway, "another process has the store for itself; nothing was done"))
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels some of what runs.
    fn recall(&self, of: impl Fn(&Running) -> bool) {
        // Outside of the lock: who is woken may give the service back at once.
        let tokens: Vec<Running> = self
            .lock()
            .running
            .values()
            .filter(|running| of(running))
            .map(|running| Running {
                wanted: running.wanted,
                cancel: running.cancel.clone(),
                is_recalled: Arc::clone(&running.is_recalled),
            })
            .collect();
        tokens.iter().for_each(Running::recall);
    }

    /// Waits until nothing runs, or so long; says whether nothing does.
    fn is_idle_within(&self, at_most: Duration) -> bool {
        let is_busy = |state: &mut State| !state.running.is_empty();
        let waited = self.changed.wait_timeout_while(self.lock(), at_most, is_busy);
        waited.unwrap_or_else(PoisonError::into_inner).0.running.is_empty()
    }
}

/// The thread that opens and closes the store.
struct Keeping {
    shared: Arc<Shared>,
    make: MakeLocal,
    hear: Hear,
}

impl Keeping {
    fn run(self, opened: Opened) {
        let (mut opened, mut pace) = (Some(opened), Pace::default());
        loop {
            let goes_on = match &mut opened {
                Some(open) => self.keep_open(open, &mut pace),
                None => self.shared.bell.pause(self.pause()),
            };
            if !goes_on {
                break;
            }
            match opened.take() {
                Some(open) if open.is_recalled() => opened = self.closed(open),
                Some(open) => opened = Some(open),
                None => opened = self.reopened(),
            }
        }
        self.shared.lock().service = None;
        // What runs was cancelled; who does not hear of it keeps the store open until the process ends.
        self.shared.is_idle_within(RUNNING_WAIT);
    }

    /// Waits for something to do, and tells of what others did; says whether to go on.
    fn keep_open(&self, open: &mut Opened, pace: &mut Pace) -> bool {
        let goes_on = self.shared.bell.wait(pace);
        if goes_on && !open.is_recalled() {
            open.tell(&self.hear, &self.shared.bell);
        }
        goes_on
    }

    fn pause(&self) -> Duration {
        if self.shared.lock().trouble.is_some() { FAILED_CHECK } else { OPEN_CHECK }
    }

    /// Closes the store once nothing uses it; returns it where who needed it is gone before.
    fn closed(&self, open: Opened) -> Option<Opened> {
        self.shared.lock().is_recalled = true;
        self.shared.recall(|running| running.wanted == Use::Subscription);
        let cancel_at = Instant::now() + RUNNING_WAIT;
        let mut is_cancelled = false;
        while !self.shared.is_idle_within(OPEN_CHECK) {
            if !is_cancelled && Instant::now() >= cancel_at {
                tracing::warn!("another process needs the store: what still runs is cancelled");
                self.shared.recall(|_| true);
                is_cancelled = true;
            }
            if self.shared.bell.is_over() || !open.is_recalled() {
                self.shared.lock().is_recalled = false;
                self.shared.changed.notify_all();
                return Some(open);
            }
        }
        self.shared.lock().service = None;
        drop(open);
        tracing::info!("the store was closed: another process needs it");
        None
    }

    /// Opens the store again, unless another process still has it for itself.
    fn reopened(&self) -> Option<Opened> {
        let opened = Opened::open(&self.make, &self.hear, &self.shared.bell);
        let mut state = self.shared.lock();
        match opened {
            Ok(None) => {
                state.trouble = None;
                None
            }
            Ok(Some(opened)) => {
                state.service = Some(Arc::clone(&opened.local));
                (state.trouble, state.is_recalled) = (None, false);
                drop(state);
                self.shared.changed.notify_all();
                tracing::info!("the store was opened again");
                Some(opened)
            }
            Err(problem) => {
                if state.trouble.is_none() {
                    tracing::warn!(
                        code = problem.code,
                        detail = problem.detail,
                        "the store cannot be opened"
                    );
                }
                state.trouble = Some(problem);
                None
            }
        }
    }
}
