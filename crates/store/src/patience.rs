//! How long locks of other processes are waited for. Every wait has an end, and it is decided here.
//!
//! Not the locks themselves: those are in `files` and in SQLite.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The longest pause between two looks at a lock: short beside what a person notices.
const PAUSE_MAX: Duration = Duration::from_millis(5);

/// The first pause; each one after it is twice as long.
const PAUSE_FIRST: Duration = Duration::from_micros(20);

/// Pauses after which they are not doubled any more.
const DOUBLINGS_MAX: u32 = 8;

/// How long a process waits for other processes' locks.
#[derive(Debug, Clone)]
pub struct Patience {
    at_most: Duration,
    /// Microseconds that are left for all locks together; none where each lock has its own time.
    left_us: Option<Arc<AtomicU64>>,
}

impl Patience {
    /// Waits so long for each lock.
    pub const fn each(at_most: Duration) -> Self {
        Self { at_most, left_us: None }
    }

    /// Waits so long for all locks together, also those that clones of this value wait for. A hook has this one, since
    /// ten locks with a bound of their own are ten times the bound for its client.
    pub fn together(at_most: Duration) -> Self {
        Self { at_most, left_us: Some(Arc::new(AtomicU64::new(micros(at_most)))) }
    }

    /// Returns the bound in milliseconds, for messages.
    pub fn bound_ms(&self) -> u64 {
        u64::try_from(self.at_most.as_millis()).unwrap_or(u64::MAX)
    }

    /// Begins to wait for one lock.
    pub fn wait(&self) -> Wait {
        Wait { patience: self.clone(), waited: Duration::ZERO, looks: 0 }
    }

    /// Looks until there is an answer; none where patience ends first.
    ///
    /// # Errors
    /// The first that a look returns.
    pub fn until<T, E>(&self, mut look: impl FnMut() -> Result<Option<T>, E>) -> Result<Option<T>, E> {
        let mut wait = self.wait();
        loop {
            match look()? {
                Some(found) => return Ok(Some(found)),
                None if wait.pause() => {}
                None => return Ok(None),
            }
        }
    }

    fn left(&self, waited: Duration) -> Duration {
        match &self.left_us {
            Some(left) => Duration::from_micros(left.load(Ordering::Relaxed)),
            None => self.at_most.saturating_sub(waited),
        }
    }

    fn spend(&self, spent: Duration) {
        if let Some(left) = &self.left_us {
            let less = |left: u64| Some(left.saturating_sub(micros(spent)));
            let _always = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
    }
}

/// One wait for a lock.
#[derive(Debug)]
pub struct Wait {
    patience: Patience,
    waited: Duration,
    looks: u32,
}

impl Wait {
    /// Sleeps a little, longer each time, and says whether to look again; `false` without a pause where patience is at
    /// its end.
    pub fn pause(&mut self) -> bool {
        let nap = PAUSE_FIRST.saturating_mul(1 << self.looks.min(DOUBLINGS_MAX)).min(PAUSE_MAX);
        self.looks = self.looks.saturating_add(1);
        self.pause_for(nap)
    }

    /// As [`Wait::pause`], with a pause of this length.
    pub fn pause_for(&mut self, nap: Duration) -> bool {
        let nap = nap.min(self.patience.left(self.waited));
        if nap.is_zero() {
            return false;
        }
        let began = Instant::now();
        thread::sleep(nap);
        let slept = began.elapsed();
        self.waited = self.waited.saturating_add(slept);
        self.patience.spend(slept);
        true
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The naps of waits that share a bound add up to it, however many waits there are: a hook takes a dozen locks.
    #[test]
    fn locks_that_share_a_bound_are_not_waited_for_longer_than_it() {
        let shared = Patience::together(Duration::from_millis(3));
        let waited = |patience: &Patience| {
            let mut wait = patience.wait();
            while wait.pause() {}
            wait.waited
        };
        let all: Vec<Duration> = (0..4).map(|_| waited(&shared.clone())).collect();
        assert!(all[0] >= Duration::from_millis(3), "{all:?}");
        assert_eq!(all[1..], [Duration::ZERO; 3], "the first one used it up");
        let own = Patience::each(Duration::from_millis(1));
        assert!((0..3).all(|_| waited(&own) >= Duration::from_millis(1)), "each has its own");
        assert!(!Patience::each(Duration::ZERO).wait().pause());
        assert_eq!(shared.until(|| Ok::<_, ()>(None::<()>)), Ok(None));
        assert_eq!(shared.until(|| Ok::<_, ()>(Some(7))), Ok(Some(7)), "what is free needs no patience");
    }
}
