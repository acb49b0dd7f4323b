//! What to look at now, while clients write: which files, when, after what was heard of them.
//!
//! Pure: events and the time come in, looks come out. Hearing of changes and reading files is the edge's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How soon and how often to look. Times are milliseconds of a clock that only goes forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchPace {
    /// A file is looked at once nothing was heard of it for so long: a client writes several lines at a time.
    pub quiet_ms: u64,
    /// A file that is never quiet is looked at after so long all the same.
    pub busy_ms: u64,
    /// All files are looked at so often, whatever was heard: events get lost, and folders come and go.
    pub sweep_ms: u64,
    /// A file that could not be captured is looked at again after so long, then after twice that, and so on.
    pub retry_ms: u64,
    /// Files that wait at most; where there are more, all files are looked at instead.
    pub waiting_max: usize,
}

impl WatchPace {
    /// Returns the pace where changes are heard of.
    pub const fn heard() -> Self {
        Self { quiet_ms: 200, busy_ms: 2_000, sweep_ms: 60_000, retry_ms: 1_000, waiting_max: 4_096 }
    }

    /// Returns the pace where files have to be looked at to know.
    pub const fn polled(every_ms: u64) -> Self {
        Self { sweep_ms: every_ms, ..Self::heard() }
    }
}

/// Doublings of the time before a look is tried again at most: a minute, with a second to begin with.
const DOUBLINGS_MAX: u32 = 6;

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// These files and folders.
    At(Vec<PathBuf>),
    /// All that is watched.
    Everything,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    first_ms: u64,
    last_ms: u64,
    /// Looks that failed since one went well.
    failures: u32,
}

/// What waits to be looked at.
#[derive(Debug)]
pub struct Agenda {
    pace: WatchPace,
    waiting: BTreeMap<PathBuf, Waiting>,
    /// When each file is due, so that the next one is found without looking at all.
    order: BTreeSet<(u64, PathBuf)>,
    sweep_at_ms: u64,
}

impl Agenda {
    /// Returns an agenda that begins with everything: much may have happened while nobody watched.
    pub const fn new(pace: WatchPace, now_ms: u64) -> Self {
        Self { pace, waiting: BTreeMap::new(), order: BTreeSet::new(), sweep_at_ms: now_ms }
    }

    /// Takes another pace from now on.
    pub fn keep_pace(&mut self, pace: WatchPace, now_ms: u64) {
        self.pace = pace;
        self.sweep_at_ms = self.sweep_at_ms.min(now_ms.saturating_add(pace.sweep_ms));
    }

    /// Hears that a file or a folder changed.
    pub fn changed(&mut self, path: &Path, now_ms: u64) {
        let known = self.waiting.get(path).copied();
        let waiting = match known {
            Some(known) => Waiting { last_ms: now_ms, ..known },
            None => Waiting { first_ms: now_ms, last_ms: now_ms, failures: 0 },
        };
        self.put(path, waiting, known);
    }

    /// Hears that something changed which nobody can name any more.
    pub fn missed(&mut self, now_ms: u64) {
        self.sweep_at_ms = self.sweep_at_ms.min(now_ms.saturating_add(self.pace.quiet_ms));
    }

    /// Takes back a file whose look failed, to try again later. `failures` is how often it failed in a row.
    pub fn failed(&mut self, path: &Path, failures: u32, now_ms: u64) {
        let known = self.waiting.get(path).copied();
        let first_ms = known.map_or(now_ms, |known| known.first_ms);
        self.put(path, Waiting { first_ms, last_ms: now_ms, failures: failures.max(1) }, known);
    }

    /// Returns what is due, and takes it off.
    pub fn take(&mut self, now_ms: u64) -> Option<Look> {
        if self.sweep_at_ms <= now_ms {
            self.sweep_at_ms = now_ms.saturating_add(self.pace.sweep_ms);
            // What failed keeps its time: that everything is looked at is no reason to ask a full disk at once.
            self.waiting.retain(|_, waiting| waiting.failures > 0);
            let waiting = &self.waiting;
            self.order.retain(|(_, path)| waiting.contains_key(path));
            return Some(Look::Everything);
        }
        let mut due = Vec::new();
        while let Some((at, path)) = self.order.pop_first() {
            if at > now_ms {
                self.order.insert((at, path));
                break;
            }
            self.waiting.remove(&path);
            due.push(path);
        }
        (!due.is_empty()).then_some(Look::At(due))
    }

    /// Returns all that waits, at the end: also what is not due yet.
    pub fn take_all(&mut self) -> Vec<PathBuf> {
        self.order.clear();
        std::mem::take(&mut self.waiting).into_keys().collect()
    }

    /// Returns when something will be due.
    pub fn next_ms(&self) -> u64 {
        self.order.first().map_or(self.sweep_at_ms, |(at, _)| self.sweep_at_ms.min(*at))
    }

    fn put(&mut self, path: &Path, waiting: Waiting, known: Option<Waiting>) {
        if let Some(known) = known {
            self.order.remove(&(self.due_ms(known), path.to_owned()));
        } else if self.waiting.len() >= self.pace.waiting_max {
            return self.missed(waiting.last_ms);
        }
        self.order.insert((self.due_ms(waiting), path.to_owned()));
        self.waiting.insert(path.to_owned(), waiting);
    }

    fn due_ms(&self, waiting: Waiting) -> u64 {
        if let Some(doublings) = waiting.failures.checked_sub(1) {
            let wait_ms = self.pace.retry_ms.saturating_mul(1 << doublings.min(DOUBLINGS_MAX));
            return waiting.last_ms.saturating_add(wait_ms);
        }
        let quiet_ms = waiting.last_ms.saturating_add(self.pace.quiet_ms);
        quiet_ms.min(waiting.first_ms.saturating_add(self.pace.busy_ms))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACE: WatchPace =
        WatchPace { quiet_ms: 20, busy_ms: 100, sweep_ms: 1_000_000, retry_ms: 50, waiting_max: 8 };

    fn path(number: u8) -> PathBuf {
        PathBuf::from(format!("/p/{number}.jsonl"))
    }

    /// An agenda whose first look, at everything, is over.
    fn begun() -> Agenda {
        let mut agenda = Agenda::new(PACE, 0);
        assert_eq!(agenda.take(0), Some(Look::Everything));
        agenda
    }

    proptest! {
        /// Whatever is heard, and whenever somebody looks.
        #[test]
        fn every_change_is_followed_by_a_look_in_time(
            steps in proptest::collection::vec((0_u64..40, 0_u8..12), 1..200),
        ) {
            let mut agenda = begun();
            let mut now_ms = 0;
            // When each file changed first since it was looked at.
            let mut unseen: BTreeMap<PathBuf, u64> = BTreeMap::new();
            for (wait_ms, number) in steps {
                for _ in 0..wait_ms {
                    now_ms += 1;
                    match agenda.take(now_ms) {
                        Some(Look::Everything) => unseen.clear(),
                        Some(Look::At(paths)) => {
                            for path in paths {
                                prop_assert!(unseen.remove(&path).is_some(), "looked at for nothing");
                            }
                        }
                        None => prop_assert!(agenda.next_ms() > now_ms),
                    }
                    for since in unseen.values() {
                        prop_assert!(now_ms < since + PACE.busy_ms, "a change waits too long");
                    }
                }
                agenda.changed(&path(number), now_ms);
                unseen.entry(path(number)).or_insert(now_ms);
                prop_assert!(agenda.waiting.len() <= PACE.waiting_max);
                prop_assert_eq!(agenda.waiting.len(), agenda.order.len());
            }
        }
    }

    #[test]
    fn a_burst_is_one_look_and_a_stream_is_one_each_while() {
        let mut agenda = begun();
        let mut looks = Vec::new();
        for now_ms in 1..=400 {
            if now_ms <= 250 {
                agenda.changed(&path(1), now_ms);
            }
            if agenda.take(now_ms).is_some() {
                looks.push(now_ms);
            }
        }
        assert_eq!(looks, [101, 202, 270]);
    }

    #[test]
    fn what_failed_is_tried_again_later_and_later() {
        let mut agenda = begun();
        let mut now_ms = 0;
        for (failures, wait_ms) in [(1, 50), (2, 100), (3, 200), (40, 3_200)] {
            agenda.failed(&path(1), failures, now_ms);
            assert_eq!(agenda.next_ms(), now_ms + wait_ms);
            // A change does not make it sooner, nor does a look at everything.
            agenda.changed(&path(1), now_ms);
            now_ms += wait_ms;
            assert_eq!(agenda.take(now_ms - 1), None);
            assert_eq!(agenda.take(now_ms), Some(Look::At(vec![path(1)])));
        }
    }

    #[test]
    fn too_much_at_once_is_a_look_at_everything() {
        let mut agenda = begun();
        for number in 0..20 {
            agenda.changed(&path(number), 1);
        }
        assert_eq!(agenda.take(21), Some(Look::Everything));
        assert_eq!(agenda.take(22), None);
        agenda.missed(30);
        assert_eq!(agenda.next_ms(), 50);
        agenda.changed(&path(3), 40);
        assert_eq!(agenda.take_all(), [path(3)]);
        agenda.keep_pace(WatchPace::polled(10), 50);
        assert_eq!(agenda.next_ms(), 50);
    }
}
