//! Times of repeated work, and how the work of several is alternated.
//! Not statistics: percentiles of all that was measured, nothing thrown away.

use std::time::{Duration, Instant};

use crate::machine;

/// What several runs of one thing took.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times {
    sorted: Vec<Duration>,
}

impl Times {
    /// Takes what was measured, in any order.
    pub(crate) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { sorted: times }
    }

    /// Returns the time that `percent` of the runs did not exceed; zero without a run.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let last = self.sorted.len().saturating_sub(1);
        let at = (self.sorted.len() * percent / 100).min(last);
        self.sorted.get(at).copied().unwrap_or_default()
    }

    /// Returns the time in the middle.
    pub(crate) fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// Returns the time of a run on average; zero without one.
    pub(crate) fn mean(&self) -> Duration {
        let runs = u32::try_from(self.sorted.len()).unwrap_or(u32::MAX);
        self.sorted.iter().sum::<Duration>().checked_div(runs).unwrap_or_default()
    }

    /// Returns the longest time.
    pub(crate) fn max(&self) -> Duration {
        self.percentile(100)
    }
}

/// What one run took: by the clock on the wall, and of the calling thread's time on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Spent {
    /// Waits included.
    pub wall: Duration,
    /// Waits aside.
    pub cpu: Duration,
}

/// What the runs of one contender took.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runs {
    /// By the clock on the wall.
    pub wall: Times,
    /// On a CPU: does not drift with neighbours and disks, and does not see them either.
    pub cpu: Times,
}

impl Runs {
    /// Takes the runs of several as those of one.
    pub(crate) fn together<const N: usize>(all: [Self; N]) -> Self {
        let (mut wall, mut cpu) = (Vec::new(), Vec::new());
        for runs in all {
            wall.extend(runs.wall.sorted);
            cpu.extend(runs.cpu.sorted);
        }
        Self { wall: Times::new(wall), cpu: Times::new(cpu) }
    }

    fn new(spent: &[Spent]) -> Self {
        Self {
            wall: Times::new(spent.iter().map(|spent| spent.wall).collect()),
            cpu: Times::new(spent.iter().map(|spent| spent.cpu).collect()),
        }
    }
}

/// One of several things that are timed in turn. It returns what it took itself, so that what it must prepare
/// does not count.
pub(crate) type Contender<'a> = Box<dyn FnMut(usize) -> anyhow::Result<Spent> + 'a>;

/// Runs each contender once a round, another one first each time, so that a neighbour's noise falls on all.
///
/// # Errors
/// The first error of a contender.
pub(crate) fn alternate<const N: usize>(
    rounds: usize,
    mut contenders: [Contender<'_>; N],
) -> anyhow::Result<[Runs; N]> {
    let mut spent = [const { Vec::new() }; N];
    for round in 0..rounds {
        for step in 0..N {
            let turn = (round + step) % N;
            if let (Some(contender), Some(spent)) = (contenders.get_mut(turn), spent.get_mut(turn)) {
                spent.push(contender(round)?);
            }
        }
    }
    Ok(spent.map(|spent| Runs::new(&spent)))
}

/// Runs something and returns what it took.
///
/// # Errors
/// Its own error.
pub(crate) fn timed<T>(act: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(Spent, T)> {
    let before = machine::thread_cpu();
    let start = Instant::now();
    let value = act()?;
    let wall = start.elapsed();
    let cpu = machine::thread_cpu().saturating_sub(before);
    Ok((Spent { wall, cpu }, value))
}

/// Runs something whose result is only that it is done, and returns what it took.
///
/// # Errors
/// Its own error.
pub(crate) fn spent<T>(act: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<Spent> {
    Ok(timed(act)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_what_was_measured() {
        let times = Times::new((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!(times.percentile(0), Duration::from_millis(1));
        assert_eq!(times.median(), Duration::from_millis(51));
        assert_eq!(times.percentile(99), Duration::from_millis(100));
        assert_eq!(times.max(), Duration::from_millis(100));
        assert_eq!(Times::default().median(), Duration::ZERO);
    }

    #[test]
    fn every_contender_runs_once_a_round_and_each_goes_first() {
        let order = std::cell::RefCell::new(Vec::new());
        let contender = |name: char| -> Contender<'_> {
            let order = &order;
            Box::new(move |round| {
                order.borrow_mut().push((round, name));
                Ok(Spent::default())
            })
        };
        let runs = alternate(2, [contender('a'), contender('b')]).expect("nothing fails");
        assert_eq!(runs.map(|runs| runs.wall.max()), [Duration::ZERO; 2]);
        assert_eq!(order.into_inner(), [(0, 'a'), (0, 'b'), (1, 'b'), (1, 'a')]);
    }
}
