//! Forgetting what ledgers know: of sessions that have no transcript, and in a log that is not the store.
//!
//! What a store forgets of its commits, and of the events whose lines they have, is `verbs/forget`'s.

use stemmata_model::{EventSeq, LedgerId, Payload, SessionId};
use stemmata_store::maintain::forget::MEMORY_STATES;
use stemmata_store::{EventQuery, PAGE_ROWS_MAX, Session};

use crate::engine::Engine;
use crate::error::{EngineError, Result};

impl Engine {
    /// Forgets what the events of a session say, in all ledgers: what was said on the command line, or by a program, and is
    /// in no commit. Places, times and hashes stay. Returns how many events that were, or would be.
    ///
    /// # Errors
    /// `NotFound` where no ledger has an event of it that still says something; what the log refuses.
    pub fn forget_told(&self, session: &SessionId, dry_run: bool) -> Result<u64> {
        let mut there = 0;
        self.each_ledger(|ledger| {
            there += self.told_in(&ledger.id, session)?;
            Ok(())
        })?;
        if there == 0 {
            return Err(EngineError::NotFound { what: "session with events", text: session.to_string() });
        }
        if dry_run { Ok(there) } else { Ok(self.log.forget_events(session)?) }
    }

    /// Counts the events of a session that still say something.
    fn told_in(&self, ledger: &LedgerId, session: &SessionId) -> Result<u64> {
        let mut count = 0;
        let mut after: Option<EventSeq> = None;
        loop {
            let query =
                EventQuery { session: Some(session.clone()), ..EventQuery::after(after, PAGE_ROWS_MAX) };
            let page = self.log.events(ledger, &query)?;
            let Some(last) = page.last() else { return Ok(count) };
            after = Some(last.seq);
            let is_forgotten = |payload: &Payload| matches!(payload, Payload::Gone(gone) if gone.forgotten);
            let told = page.iter().filter(|event| !is_forgotten(&event.payload)).count();
            count += u64::try_from(told).expect("a length fits 64 bits");
        }
    }

    /// Forgets in a log that is not the store what the store has forgotten: events of the sessions, and memories, which may
    /// hold words of any of it.
    pub(crate) fn forget_elsewhere(&self, sessions: &[Session]) -> Result<u64> {
        if self.is_log_the_store {
            return Ok(0);
        }
        let mut events = 0;
        for session in sessions {
            events += self.log.forget_events(&session.session)?;
        }
        self.each_ledger(|ledger| Ok(self.log.drop_states(&ledger.id, MEMORY_STATES)?))?;
        Ok(events)
    }
}
