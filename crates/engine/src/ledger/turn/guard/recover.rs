//! The answer to a provider that says that the context is too long: compact, else prune, and try again once.

use stemmata_model::{CommitId, Note, NoteCode, Reason, Tokens};
use stemmata_prompt::guard::Ratio;
use stemmata_prompt::guard::flow::{FatalReason, RETRIES_MAX};
use stemmata_prompt::window::{OverflowPhrase, OverflowSizes, overflow_of, overflow_sizes};

use super::act::shrunk;
use super::known::Known;
use super::{Guarding, TurnGuard, WindowReport, refused};
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::ledger::turn::TurnOf;
use crate::ledger::turn::append::Brings;
use crate::ledger::turn::commit::Boundary;

/// A session whose window was made smaller, so that the call can be tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The row of the table of overflows that the error fits.
    pub phrase: &'static OverflowPhrase,
    /// Tokens that the model takes, where the error says so.
    pub maximum: Option<Tokens>,
    /// The checkpoint that holds everything.
    pub checkpoint: Option<CommitId>,
    /// The window that the call can be tried again with, and what was done to it.
    pub window: WindowReport,
}

/// What is known of a context that a provider refused.
struct RefusedContext {
    /// What the window holds.
    limit: Tokens,
    /// Whose that is: the model may take more than the window was said to hold.
    limit_of: &'static str,
    /// What the request took. At least one token more than the model takes, where the error names only that.
    requested: Option<Tokens>,
    /// What the session's entries held of it.
    held: Tokens,
    /// What the system prompt and the tools take of it.
    overhead: Tokens,
}

impl RefusedContext {
    fn of(sizes: OverflowSizes, known: &Known, (before, guard): (&WindowReport, &TurnGuard<'_>)) -> Self {
        let window = guard.config.window().limit();
        // An earlier try that was cut off has compacted the session: what was refused is what it had before.
        let took = known.recovering.unwrap_or(before.tokens);
        let held = took.saturating_sub(before.overhead);
        let Some(maximum) = sizes.maximum else {
            // The provider takes less than that, whatever the window is said to be.
            let limit = took.max(Tokens(1)).min(window);
            return Self {
                limit,
                limit_of: "the model takes",
                requested: None,
                held,
                overhead: before.overhead,
            };
        };
        let requested = sizes.requested.unwrap_or(maximum + Tokens(1)).max(took);
        let overhead = requested.saturating_sub(held).max(guard.overhead);
        let limit_of = if window < maximum { "the window was set to" } else { "the model takes" };
        Self { limit: maximum.min(window), limit_of, requested: Some(requested), held, overhead }
    }

    /// Returns why nothing that can be done to the entries helps, where that is so.
    fn is_hopeless(&self) -> Option<String> {
        let requested = self.requested.filter(|_| self.overhead >= self.limit)?;
        Some(format!(
            "the request took {} tokens, {} {}, and the session's entries hold only {} of them: shorten the system prompt and \
             the tools, which take the rest",
            requested.0, self.limit_of, self.limit.0, self.held.0
        ))
    }

    /// Returns what is left for the entries.
    fn room(&self) -> Tokens {
        let overhead = self.requested.map_or(Tokens(0), |_| self.overhead);
        self.limit.saturating_sub(overhead).max(Tokens(1))
    }
}

impl Engine {
    /// Answers an error of a provider. `None` if it is no overflow: then nothing was done. Else the session is compacted, also
    /// where compaction by itself is off; if there is nothing to compact, or the window is still critical, it is pruned. The
    /// maximum that the error names is the limit. Where it names none, the context that was refused is, since the provider takes
    /// less. Nothing is lost either way.
    ///
    /// # Errors
    /// `Refused` for a second overflow before the model has answered, where even the smallest context does not fit, and where
    /// the entries hold less than what is too much: then nothing was done;
    /// as [`Engine::end_turn`].
    pub fn recover(
        &self,
        turn: &TurnOf,
        (text, code): (&str, Option<&str>),
        guard: &TurnGuard<'_>,
    ) -> Result<Option<Recovered>> {
        let Some(phrase) = overflow_of(text, code) else { return Ok(None) };
        let last = self.log.ledger(&turn.ledger)?.map_or(0, |known| known.last);
        let known = self.known_window(turn, guard, last)?;
        if known.recoveries >= RETRIES_MAX {
            return Err(refused(Refusal::Recover, FatalReason::RefusedAgain.to_string()));
        }
        let before = self.turn_window(turn, &TurnGuard { returns_entries: false, ..*guard })?;
        let context = RefusedContext::of(overflow_sizes(text), &known, (&before, guard));
        if let Some(reason) = context.is_hopeless() {
            return Err(refused(Refusal::Recover, reason));
        }
        let guard = &TurnGuard { overhead: context.overhead, ..*guard };
        let reasons = [Reason::Emergency].into_iter().collect();
        let degraded = |message| vec![Note::new(NoteCode::Degraded, message)];
        let (compaction, notes) = if known.recovering.is_some() {
            // The compaction is an act of its own. A try that ended behind it goes on there: a prune would hide more than is
            // needed.
            (None, degraded("an earlier try has compacted the session".to_owned()))
        } else {
            let wanted = guard.summarizer.filter(|_| guard.compacts_with_model);
            let model = known.summaries.model(wanted, self.clock.now());
            match self.compact_turns(turn, (guard, model), (context.room(), reasons)) {
                Ok((made, notes)) => (Some(made), notes),
                Err(error @ EngineError::Refused { .. }) => {
                    (None, degraded(format!("the window is pruned instead of compacted: {error}")))
                }
                Err(error) => return Err(error),
            }
        };
        let prunes = compaction.is_none() && known.recovering.is_none();
        let boundary = Boundary::Overflow { refused: context.limit, prunes };
        // A window that was compacted is another one than the request's.
        let guarding = Guarding { requested: context.requested.filter(|_| prunes), ..Guarding::new(guard) };
        let stored = self.append_and_commit(turn, &Brings::Events(&[]), (boundary, Some(&guarding)))?;
        self.bus.wake(&turn.ledger);
        let Some(acted) = stored.acted else { return Ok(None) };
        if let Some(stop) = acted.report.stop {
            let why = acted.report.overflow.map(|overflow| overflow.to_string());
            let reasons = [Some(stop.to_string()), why].into_iter().flatten().collect();
            return Err(EngineError::Refused { what: Refusal::Recover, reasons });
        }
        let mut report = self.with_entries(turn, guard, acted.report)?;
        // What was refused is judged by what refused it: the zone, the alert and the advice agree.
        let tokens = context.requested.unwrap_or(before.tokens).max(before.tokens);
        let window = shrunk(guard, boundary);
        report.zone = window.as_ref().unwrap_or_else(|| guard.config.window()).zone(tokens);
        (report.ratio, report.tokens) = (Ratio::of(tokens, report.limit), tokens);
        report.compaction = compaction;
        report.notes.extend(stored.notes.into_iter().chain(notes));
        let (checkpoint, maximum) = (stored.checkpoint.map(|made| made.id), overflow_sizes(text).maximum);
        Ok(Some(Recovered { phrase, maximum, checkpoint, window: report }))
    }
}
