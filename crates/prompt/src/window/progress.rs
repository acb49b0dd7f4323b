//! The guards of compaction: a loop is seen, and a summarizer that fails three times is not asked again.

use stemmata_model::Tokens;
use thiserror::Error;

/// Compactions without progress that are a loop, and failures of a summarizer after which it is left alone.
const TRIES_MAX: usize = 3;

/// What a compaction must save of the window to be progress.
const PROGRESS_PERMILLE: u64 = 50;

/// A compaction that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionSeen {
    /// Tokens of the window before.
    pub before: Tokens,
    /// Tokens after.
    pub after: Tokens,
    /// The limit at which it was due.
    pub limit: Option<Tokens>,
}

impl CompactionSeen {
    /// Says whether it led anywhere: the window is below its limit, and by a twentieth smaller.
    pub fn is_progress(&self) -> bool {
        let saved = u128::from(self.before.saturating_sub(self.after).0) * 1_000;
        let is_smaller = saved >= u128::from(self.before.0) * u128::from(PROGRESS_PERMILLE) && saved > 0;
        is_smaller && self.limit.is_none_or(|limit| self.after < limit)
    }
}

/// Three compactions in a row led nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "{count} compactions in a row left the window at {after}: what is kept is too large; lower `keep_recent_tokens`, unpin \
     entries, or use a model with a larger window"
)]
pub struct CompactionLoop {
    /// How many.
    pub count: usize,
    /// What the last one left.
    pub after: Tokens,
}

/// Who makes the next summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextSummary {
    /// The model.
    Llm,
    /// Rules, because the model failed too often.
    Deterministic,
}

/// What a session's compactions came to so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// Compactions in a row without progress, the last at the end.
    idle: Vec<CompactionSeen>,
    /// Failures of the summarizer in a row.
    failures: usize,
}

impl Progress {
    /// Returns what compactions came to whose last ones in a row led nowhere.
    pub fn restored(idle: impl IntoIterator<Item = CompactionSeen>) -> Self {
        let mut progress = Self::default();
        idle.into_iter().for_each(|seen| progress.compacted(seen));
        progress
    }

    /// Returns the failures of the summarizer in a row.
    pub const fn failures(&self) -> usize {
        self.failures
    }

    /// Returns the same after so many failures in a row.
    #[must_use]
    pub fn with_failures(self, failures: usize) -> Self {
        Self { failures, ..self }
    }

    /// Returns the last compactions in a row that led nowhere.
    pub fn idle(&self) -> &[CompactionSeen] {
        &self.idle
    }

    /// Decides whether another compaction may be tried.
    ///
    /// # Errors
    /// [`CompactionLoop`] after three that led nowhere.
    pub fn may_compact(&self) -> Result<(), CompactionLoop> {
        match self.idle.last() {
            Some(last) if self.idle.len() >= TRIES_MAX => {
                Err(CompactionLoop { count: self.idle.len(), after: last.after })
            }
            _ => Ok(()),
        }
    }

    /// Says who makes the next summary.
    pub const fn next_summary(&self) -> NextSummary {
        if self.failures >= TRIES_MAX { NextSummary::Deterministic } else { NextSummary::Llm }
    }

    /// Remembers a compaction. One with progress ends a row of those without.
    pub fn compacted(&mut self, seen: CompactionSeen) {
        if seen.is_progress() {
            self.idle.clear();
        } else if self.idle.len() < TRIES_MAX {
            self.idle.push(seen);
        }
    }

    /// Remembers that the summarizer failed, or that its summary was refused.
    pub const fn summarizer_failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// Forgets the loop: the window is another one, since somebody changed its limits or pins.
    pub fn reset(&mut self) {
        self.idle.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(before: u64, after: u64) -> CompactionSeen {
        CompactionSeen { before: Tokens(before), after: Tokens(after), limit: Some(Tokens(100)) }
    }

    #[test]
    fn three_compactions_without_progress_are_a_loop_and_one_with_progress_ends_it() {
        let mut progress = Progress::default();
        for _ in 0..3 {
            assert_eq!(progress.may_compact(), Ok(()));
            progress.compacted(seen(200, 150));
        }
        assert_eq!(progress.may_compact(), Err(CompactionLoop { count: 3, after: Tokens(150) }));
        progress.compacted(seen(200, 50));
        assert_eq!(progress.may_compact(), Ok(()));
        assert!(!seen(100, 96).is_progress() && seen(100, 95).is_progress());
    }

    #[test]
    fn after_three_failures_the_rules_make_the_summary() {
        let mut progress = Progress::default();
        for _ in 0..3 {
            assert_eq!(progress.next_summary(), NextSummary::Llm);
            progress.summarizer_failed();
        }
        assert_eq!(progress.next_summary(), NextSummary::Deterministic);
    }
}
