//! Who speaks in a prompt's turns where the ledger alone does not say.

use stemmata_model::{CommitId, EventSeq, SessionId, topics};
use stemmata_store::{EventQuery, Ledger, Order, Page, SessionFilter};

use super::reader::TURN_TOPICS;
use crate::engine::Engine;
use crate::error::{EngineError, Result, Wanted};

/// Captured sessions of one id that are read: copies of it.
const COPIES_MAX: usize = 16;

impl Engine {
    /// Returns the tip of a session that was captured and has no event in a ledger; `None` for one that has.
    ///
    /// # Errors
    /// `NotFound` for a session that is neither.
    pub(super) fn captured_only(&self, ledger: &Ledger, session: &SessionId) -> Result<Option<CommitId>> {
        let query = EventQuery { session: Some(session.clone()), ..EventQuery::after(None, 1) };
        if !self.log.events(&ledger.id, &query)?.is_empty() {
            return Ok(None);
        }
        let missing = || EngineError::NotFound { what: Wanted::Session, text: session.to_string() };
        self.captured_tip(session)?.map(Some).ok_or_else(missing)
    }

    /// Returns the newest commit of a session that was captured.
    pub(crate) fn captured_tip(&self, session: &SessionId) -> Result<Option<CommitId>> {
        let filter = SessionFilter { session_prefix: Some(session.to_string()), ..SessionFilter::default() };
        let copies = self.store.sessions(&filter, Page { skip: 0, rows_max: COPIES_MAX })?;
        Ok(copies.into_iter().filter(|copy| copy.session == *session).find_map(|copy| copy.tip))
    }

    /// Returns the session of a ledger that said something last, and what it goes on from.
    pub(super) fn newest_speaker(
        &self,
        ledger: &Ledger,
        through: Option<EventSeq>,
    ) -> Result<Option<(SessionId, Option<CommitId>)>> {
        let query = EventQuery {
            topics: TURN_TOPICS.iter().copied().map(topics::topic).collect(),
            through,
            order: Order::NewestFirst,
            limit: 1,
            ..EventQuery::default()
        };
        let Some(event) = self.log.events(&ledger.id, &query)?.into_iter().next() else { return Ok(None) };
        let opening = self.opening_of(&ledger.id, &event.session, through)?;
        Ok(Some((event.session, opening.and_then(|opening| opening.head))))
    }
}
