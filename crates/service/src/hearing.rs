//! What other processes do to the files of a data directory: the program reports changes of files, and a thread here acts on them.
//!
//! How the system reports them is the program's. Where it does not, the thread checks every few seconds.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use stemmata_api::{Answer, Code, Problem};
use stemmata_engine::RECALL_CHECK;

use crate::fault::problem_of;
use crate::local::Local;

/// How often what others did is checked at least, where the system reports no changes of files.
pub(crate) const CHECK_EVERY: Duration = RECALL_CHECK;

/// The pause after a check: a process that writes all the time is checked on no more often.
const PAUSE: Duration = Duration::from_millis(20);

/// A folder to be told of, and whether all below it counts.
pub type HeardFolder = (PathBuf, bool);

/// Is told of each file that changed; nothing where only something is known to have changed.
pub type Changed = Arc<dyn Fn(Option<&Path>) + Send + Sync>;

/// Begins to tell of changes in folders, until the value that is returned is dropped. Folders that cannot be heard of are passed over.
pub type Hear = Arc<dyn Fn(&[HeardFolder], Changed) -> Box<dyn Any + Send> + Send + Sync>;

/// Wakes a thread: something changed, or it is over.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    state: Mutex<Rung>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct Rung {
    is_rung: bool,
    is_over: bool,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, Rung> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ring(&self) {
        self.lock().is_rung = true;
        self.rung.notify_all();
    }

    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.rung.notify_all();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Waits until it is time for the next check; says whether to go on.
    ///
    /// A file changes before what was written to it counts: SQLite writes a commit, syncs it, and only then others see it, which no
    /// change of a file says. So checks follow each change at growing intervals.
    pub(crate) fn wait(&self, pace: &mut Pace) -> bool {
        if !self.pause(PAUSE) {
            return false;
        }
        let is_quiet = |rung: &mut Rung| !rung.is_rung && !rung.is_over;
        let waited = self.rung.wait_timeout_while(self.lock(), pace.0, is_quiet);
        let mut rung = waited.unwrap_or_else(PoisonError::into_inner).0;
        pace.0 = if rung.is_rung { PAUSE } else { pace.0.saturating_mul(2).min(CHECK_EVERY) };
        rung.is_rung = false;
        !rung.is_over
    }

    /// Waits so long, whether it is rung or not; says whether to go on.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let waited = self.rung.wait_timeout_while(self.lock(), time, |rung| !rung.is_over);
        !waited.unwrap_or_else(PoisonError::into_inner).0.is_over
    }
}

/// How long until the next check.
#[derive(Debug)]
pub(crate) struct Pace(Duration);

impl Default for Pace {
    fn default() -> Self {
        Self(PAUSE)
    }
}

/// Tells the subscriptions of a service of what other processes append, for as long as it is kept.
#[derive(Debug)]
pub struct Hearing {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

impl Local {
    /// Has subscriptions of this service hear of events that other processes append when they do, instead of looking for them all
    /// the time.
    ///
    /// # Errors
    /// Those of opening the store; `io_failed` where the system gives no thread.
    pub fn hear_others(&self, hear: &Hear) -> Answer<Hearing> {
        let engine = self.home().engine().map_err(|error| Box::new(problem_of(&error)))?;
        let listening = engine.listen();
        let bell = Arc::new(Bell::default());
        let rung = Arc::clone(&bell);
        let heard = hear(&self.home().changing_folders(), Arc::new(move |_| rung.ring()));
        let waiting = Arc::clone(&bell);
        let thread = thread::Builder::new().name("stemma-hear".to_owned()).spawn(move || {
            let _heard = heard;
            let mut pace = Pace::default();
            while waiting.wait(&mut pace) {
                if let Err(error) = listening.check() {
                    tracing::warn!(%error, "events of other processes could not be read");
                }
            }
        });
        let thread = thread.map_err(|error| Box::new(Problem::new(Code::IoFailed, error.to_string())))?;
        Ok(Hearing { bell, thread: Some(thread) })
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.bell.end();
        if let Some(thread) = self.thread.take() {
            // A panic was printed by the thread.
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_follow_a_change_at_growing_intervals() {
        let (bell, mut pace) = (Bell::default(), Pace::default());
        let mut waits = Vec::new();
        for _ in 0..4 {
            assert!(bell.wait(&mut pace));
            waits.push(pace.0);
        }
        assert_eq!(waits, [2, 4, 8, 16].map(|times| PAUSE * times));
        bell.ring();
        assert!(bell.wait(&mut pace));
        assert_eq!(pace.0, PAUSE, "it was rung");
        pace.0 = CHECK_EVERY;
        bell.end();
        assert!(!bell.wait(&mut pace));
    }
}
