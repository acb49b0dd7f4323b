//! Times of repeated work, and how the work of several is alternated.
//! Not statistics: percentiles of all that was measured, nothing thrown away.

use std::time::{Duration, Instant};

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

    /// Returns the longest time.
    pub(crate) fn max(&self) -> Duration {
        self.percentile(100)
    }
}

/// One of several things that are timed in turn. It returns what it took itself, so that what it must prepare
/// does not count.
pub(crate) type Contender<'a> = Box<dyn FnMut(usize) -> anyhow::Result<Duration> + 'a>;

/// Runs each contender once a round, another one first each time, so that a neighbour's noise falls on all.
///
/// # Errors
/// The first error of a contender.
pub(crate) fn alternate(rounds: usize, contenders: &mut [Contender<'_>]) -> anyhow::Result<Vec<Times>> {
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..rounds {
        for step in 0..contenders.len() {
            let turn = (round + step) % contenders.len();
            if let (Some(contender), Some(times)) = (contenders.get_mut(turn), times.get_mut(turn)) {
                times.push(contender(round)?);
            }
        }
    }
    Ok(times.into_iter().map(Times::new).collect())
}

/// Runs something and returns what it took.
///
/// # Errors
/// Its own error.
pub(crate) fn timed<T>(act: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<(Duration, T)> {
    let start = Instant::now();
    let value = act()?;
    Ok((start.elapsed(), value))
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
                Ok(Duration::ZERO)
            })
        };
        let times = alternate(2, &mut [contender('a'), contender('b')]).expect("nothing fails");
        assert_eq!(times.len(), 2);
        assert_eq!(order.into_inner(), [(0, 'a'), (0, 'b'), (1, 'b'), (1, 'a')]);
    }
}
