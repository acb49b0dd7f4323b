//! The answer to a provider that says that the context is too long: compact, else prune, and try again once.

use stemmata_model::{CommitId, Note, NoteCode, Reason, Tokens};
use stemmata_prompt::guard::flow::{FatalReason, RETRIES_MAX};
use stemmata_prompt::window::{OverflowPhrase, overflow_of};

use super::{Guarding, TurnGuard, WindowReport, refused};
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::ledger::turn::TurnOf;
use crate::ledger::turn::commit::Boundary;

/// A session whose window was made smaller, so that the call can be tried again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The row of the table of overflows that the error fits.
    pub phrase: &'static OverflowPhrase,
    /// The checkpoint that holds everything.
    pub checkpoint: Option<CommitId>,
    /// The window that the call can be tried again with, and what was done to it.
    pub window: WindowReport,
}

impl Engine {
    /// Answers an error of a provider. `None` if it is no overflow: then nothing was done. Else the session is compacted, also
    /// where compaction by itself is off; if there is nothing to compact, or the window is still critical, it is pruned. The
    /// context that was refused is the new limit, since the provider takes less. Nothing is lost either way.
    ///
    /// # Errors
    /// `Refused` for a second overflow before the model has answered, and where even the smallest context does not fit;
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
        let refused_tokens = known.recovering.unwrap_or(before.tokens).max(Tokens(1));
        let reasons = [Reason::Emergency].into_iter().collect();
        let degraded = |message| vec![Note::new(NoteCode::Degraded, message)];
        let (compaction, notes) = if known.recovering.is_some() {
            // The compaction is an act of its own. A try that ended behind it goes on there: a prune would hide more than is
            // needed.
            (None, degraded("an earlier try has compacted the session".to_owned()))
        } else {
            let wanted = guard.summarizer.filter(|_| guard.compacts_with_model);
            let model = known.summaries.model(wanted, self.clock.now());
            match self.compact_turns(turn, (guard, model), (refused_tokens, reasons)) {
                Ok((made, notes)) => (Some(made), notes),
                Err(error @ EngineError::Refused { .. }) => {
                    (None, degraded(format!("the window is pruned instead of compacted: {error}")))
                }
                Err(error) => return Err(error),
            }
        };
        let prunes = compaction.is_none() && known.recovering.is_none();
        let boundary = Boundary::Overflow { refused: refused_tokens, prunes };
        let guarding = Guarding::new(guard);
        let stored = self.append_and_commit(turn, &[], (boundary, Some(&guarding)))?;
        self.bus.wake(&turn.ledger);
        let Some(acted) = stored.acted else { return Ok(None) };
        if let Some(stop) = acted.report.stop {
            let why = acted.report.overflow.map(|overflow| overflow.to_string());
            let reasons = [Some(stop.to_string()), why].into_iter().flatten().collect();
            return Err(EngineError::Refused { what: Refusal::Recover, reasons });
        }
        let mut report = self.with_entries(turn, guard, acted.report)?;
        (report.zone, report.ratio, report.tokens) = (before.zone, before.ratio, before.tokens);
        report.compaction = compaction;
        report.notes.extend(stored.notes.into_iter().chain(notes));
        Ok(Some(Recovered { phrase, checkpoint: stored.checkpoint.map(|made| made.id), window: report }))
    }
}
