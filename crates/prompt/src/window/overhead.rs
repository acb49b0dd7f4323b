//! What a reported usage says beyond the entries: the system prompt and the tools. It is much the same in every call of a
//! session, and a report by which it is not is none of a window.

use stemmata_model::Tokens;

use super::estimate::Unbelievable;

/// Answers in a row by which the rest has grown faster than the entries, before no report is believed.
const GROWTHS_MAX: u32 = 3;

/// Tokens by which it may always grow: a tool more, another counter.
const GROWTH_MIN: Tokens = Tokens(256);

/// Returns what an answer in a window of `limit` reports at most, where the entries hold `held` by count: the system prompt and the
/// tools alone do not fill a window, and a count is at most twice too small.
pub fn largest_report(limit: Tokens, held: Tokens) -> Tokens {
    (limit + limit.min(held)).saturating_sub(Tokens(1))
}

/// What the reports of a session said beyond its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overheads {
    /// The smallest so far.
    pub least: Option<Tokens>,
    /// The last one, and what the entries held then.
    pub last: Option<(Tokens, Tokens)>,
    /// Answers in a row by which it grew faster than the entries.
    pub growths: u32,
}

impl Overheads {
    /// Takes a report that is [`believed`](super::believed), about entries that hold so many tokens. Returns what it says beyond
    /// them.
    ///
    /// # Errors
    /// `Unbelievable` where it grows with every answer: what was reported then are the sums of a session.
    pub fn see(&mut self, reported: Tokens, held: Tokens) -> Result<Tokens, Unbelievable> {
        let overhead = reported.saturating_sub(held);
        let grows = self.last.is_some_and(|(last, before)| {
            let new = held.saturating_sub(before).0.saturating_mul(2);
            overhead.saturating_sub(last) > Tokens(new) + GROWTH_MIN
        });
        self.growths = if grows { self.growths.saturating_add(1) } else { 0 };
        self.last = Some((overhead, held));
        if let (true, Some(least)) = (self.is_growing(), self.least) {
            return Err(Unbelievable::Grows { overhead, least });
        }
        self.least = Some(self.least.map_or(overhead, |least| least.min(overhead)));
        Ok(overhead)
    }

    /// Says whether the reports of the session are its sums.
    pub const fn is_growing(&self) -> bool {
        self.growths >= GROWTHS_MAX
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_of_a_session_are_seen_and_the_smallest_rest_counts() {
        let mut overheads = Overheads::default();
        let mut sum = 0;
        let said: Vec<Result<Tokens, Unbelievable>> = (1..=6)
            .map(|answer| {
                sum += 3_000;
                overheads.see(Tokens(sum), Tokens(answer * 20))
            })
            .collect();
        assert_eq!(said[0], Ok(Tokens(2_980)));
        assert!(said[1].is_ok() && said[2].is_ok());
        for (said, overhead) in said[3..].iter().zip([11_920, 14_900, 17_880]) {
            let grows = Unbelievable::Grows { overhead: Tokens(overhead), least: Tokens(2_980) };
            assert_eq!(*said, Err(grows));
            assert!(
                grows.message().contains("2980") || grows.message().contains("2,980"),
                "{}",
                grows.message()
            );
        }
        // Reports of one call again.
        assert_eq!(overheads.see(Tokens(3_140), Tokens(140)), Ok(Tokens(3_000)));
    }

    #[test]
    fn no_report_fills_the_window_by_itself() {
        let largest = |held: u64| largest_report(Tokens(20_000), Tokens(held)).0;
        assert_eq!([largest(0), largest(100), largest(19_000)], [19_999, 20_099, 38_999]);
        assert_eq!([largest(20_000), largest(u64::MAX)], [39_999, 39_999], "no count is wrong by more");
    }

    proptest! {
        /// A counter that is wrong by half, and tools that come once, are no sums.
        #[test]
        fn true_reports_are_believed(
            steps in prop::collection::vec(1..3_000_u64, 1..20), base in 0..6_000_u64, wrong in 500..1_500_u64, more_at in 0..20_usize,
        ) {
            let (mut overheads, mut held) = (Overheads::default(), 0);
            for (at, step) in steps.iter().enumerate() {
                held += step;
                let rest = base + if at >= more_at { 4_000 } else { 0 };
                let reported = rest + held * wrong / 1_000;
                prop_assert!(overheads.see(Tokens(reported), Tokens(held)).is_ok());
            }
        }
    }
}
