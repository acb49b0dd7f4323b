//! What a reported usage says beyond the entries: the system prompt and the tools. It is much the same in every call of a
//! session. Reports that each hold all the calls before are the sums of a session, and none of them is the size of a window.

use stemmata_model::{Tokens, Usage};

use super::estimate::Unbelievable;

/// Reports in a row that hold the one before and a whole request, before no report is believed.
const SUMS_MIN: u32 = 3;

/// Tokens by which a report may always grow: a tool more, another counter.
const GROWTH_MIN: Tokens = Tokens(256);

/// Permille of a count that what was counted takes at most, and that it takes at least: counters of other models are wrong by a third.
const COUNTED_PERMILLE: (u64, u64) = (600, 1_500);

/// What an answer reports of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// What the call took, the answer included.
    pub tokens: Tokens,
    /// What of it was sent; 0 where only the whole is reported.
    pub sent: Tokens,
}

impl Report {
    /// Reads a usage.
    pub fn of(usage: Usage) -> Self {
        let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = usage;
        let sent = [input_tokens, cache_read_tokens, cache_write_tokens].map(Tokens).into_iter().sum();
        Self { tokens: sent + Tokens(output_tokens), sent }
    }
}

/// What the reports of a session said beyond its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overheads {
    /// The smallest so far of those that were believed.
    pub least: Option<Tokens>,
    /// What the last report says was sent, and what the entries held then.
    pub last: Option<(Tokens, Tokens)>,
    /// Reports in a row that hold the one before and a whole request. One that does not takes one away from those that are sums.
    pub sums: u32,
}

impl Overheads {
    /// Takes in a report, believed or not: the entries up to its answer hold `held`, and the answer `answer` of that.
    ///
    /// Of one call, what is sent grows by what was said since; of a session, by a whole request. What a model thinks is no part of
    /// what is sent, so that an answer with many hidden thoughts is no sum.
    ///
    /// # Errors
    /// `Grows` where the reports are the sums of the session.
    pub fn see(&mut self, report: Report, held: Tokens, answer: Tokens) -> Result<(), Unbelievable> {
        let (sent, held) = match report.sent {
            Tokens(0) => (report.tokens, held),
            sent => (sent, held.saturating_sub(answer)),
        };
        match self.last {
            // Clients write one answer as several records, each with its usage.
            Some((last, _)) if sent == last => {}
            Some((last, _)) if sent < last => self.sums = 0,
            Some(last) if self.is_sum(last, sent, held) => self.sums = SUMS_MIN.min(self.sums) + 1,
            // Where much was said since, the sum of a session looks like one call.
            Some(_) if self.are_sums() => self.sums -= 1,
            Some(_) | None => self.sums = 0,
        }
        if self.last.is_none_or(|(last, _)| last != sent) {
            self.last = Some((sent, held));
        }
        let (overhead, least) = (sent.saturating_sub(held), self.least.unwrap_or_default());
        if self.are_sums() { Err(Unbelievable::Grows { overhead, least }) } else { Ok(()) }
    }

    /// Says whether a report holds the last one and a whole request: more than what was said since explains, and as much as the
    /// entries and the smallest overhead take.
    fn is_sum(&self, (sent_before, held_before): (Tokens, Tokens), sent: Tokens, held: Tokens) -> bool {
        let least = self.least.unwrap_or_default();
        let (small, large) = COUNTED_PERMILLE;
        let part = |tokens: Tokens, permille: u64| {
            let part = u128::from(tokens.0) * u128::from(permille) / 1_000;
            Tokens(u64::try_from(part).unwrap_or(u64::MAX))
        };
        let grown = sent.saturating_sub(sent_before);
        grown > part(held.saturating_sub(held_before), large) + GROWTH_MIN
            && grown >= part(held + least, small)
            && sent > part(held, large) + least + GROWTH_MIN
    }

    /// Takes in that the last report was believed.
    pub fn believe(&mut self) {
        let Some((sent, held)) = self.last else { return };
        let overhead = sent.saturating_sub(held);
        self.least = Some(self.least.map_or(overhead, |least| least.min(overhead)));
    }

    /// Says whether the reports of the session are its sums.
    pub const fn are_sums(&self) -> bool {
        self.sums >= SUMS_MIN
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reports, each with what the entries hold then.
    type Reports = Vec<(u64, u64)>;

    /// Takes reports in, each with what the entries hold, as far as they are believed; and returns which are not.
    fn unbelieved(reports: &[(u64, u64)]) -> Vec<usize> {
        let mut overheads = Overheads::default();
        let mut takes = |(at, (sent, held)): (usize, &(u64, u64))| {
            let report = Report { tokens: Tokens(*sent), sent: Tokens(*sent) };
            match overheads.see(report, Tokens(*held), Tokens(0)) {
                Ok(()) => {
                    overheads.believe();
                    None
                }
                Err(_) => Some(at),
            }
        };
        reports.iter().enumerate().filter_map(&mut takes).collect()
    }

    /// Reports of calls, and their sums, where the entries take `permille` of what is counted.
    fn reports(steps: &[(u64, u64)], overhead: u64, tools: (usize, u64)) -> (Reports, Reports) {
        let (mut held, mut taken, mut sum) = (0, 0, 0);
        let mut of = |(at, (new, permille)): (usize, &(u64, u64))| {
            held += new;
            taken += new * permille / 1_000;
            let sent = overhead + taken + if at >= tools.0 { tools.1 } else { 0 };
            sum += sent;
            ((sent, held), (sum, held))
        };
        steps.iter().enumerate().map(&mut of).unzip()
    }

    #[test]
    fn sums_of_a_session_are_seen_and_the_smallest_rest_counts() {
        let mut overheads = Overheads::default();
        let mut see = |sum: u64, held: u64| {
            let report = Report { tokens: Tokens(sum), sent: Tokens(0) };
            let seen = overheads.see(report, Tokens(held), Tokens(10));
            if seen.is_ok() {
                overheads.believe();
            }
            seen
        };
        for answer in 1..=3 {
            assert_eq!(see(answer * 3_000, answer * 20), Ok(()));
        }
        for (answer, overhead) in (4..).zip([11_920, 14_900, 17_880]) {
            let grows = Unbelievable::Grows { overhead: Tokens(overhead), least: Tokens(2_980) };
            assert_eq!(see(answer * 3_000, answer * 20), Err(grows));
            assert!(grows.message().contains("2980"), "{}", grows.message());
        }
        assert!(see(18_000, 120).is_err(), "the same answer once more");
        assert_eq!(see(3_140, 140), Ok(()), "reports of one call again");
    }

    #[test]
    fn sums_are_seen_where_texts_are_of_ordinary_length() {
        let sums = [2_852, 7_056, 12_612, 19_520, 27_780];
        assert_eq!(
            unbelieved(
                &[1, 2, 3, 4, 5].map(|at: u64| (sums[usize::try_from(at).expect("small") - 1], at * 1_350))
            ),
            [3, 4]
        );
    }

    /// What a model thinks is reported with its answer, and sent no more.
    #[test]
    fn hidden_thoughts_that_grow_are_no_sums() {
        let mut overheads = Overheads::default();
        for (at, thought) in (1_u64..).zip([0, 4_000, 12_000, 25_000, 60_000]) {
            let sent = Tokens(1_500 + at * 40);
            let report = Report { tokens: sent + Tokens(thought), sent };
            assert_eq!(overheads.see(report, Tokens(at * 40), Tokens(20)), Ok(()));
            overheads.believe();
        }
    }

    fn steps(tokens: u64) -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((1..tokens, 700..1_300_u64), 1..20)
    }

    proptest! {
        /// A counter that is wrong by a third, and tools that come once, are no sums.
        #[test]
        fn true_reports_are_believed(
            steps in prop_oneof![steps(50), steps(3_000), steps(30_000)], overhead in 0..30_000_u64,
            tools in (0..20_usize, 0..30_000_u64),
        ) {
            let (calls, _) = reports(&steps, overhead, tools);
            prop_assert_eq!(unbelieved(&calls), Vec::<usize>::new());
        }

        /// From the fifth answer on, whatever the counter makes of the turns.
        #[test]
        fn sums_are_not(
            steps in prop::collection::vec((400..1_600_u64, 700..1_300_u64), 8..20), overhead in 500..30_000_u64,
        ) {
            let (_, sums) = reports(&steps, overhead, (0, 0));
            prop_assert_eq!(unbelieved(&sums).into_iter().filter(|at| *at >= 4).count(), steps.len() - 4);
        }
    }
}
