//! How many sessions there are, by the rules of the listing: its rows, and what it leaves out or folds into them.

use std::collections::HashMap;

use stemmata_model::SessionId;
use stemmata_store::{PAGE_ROWS_MAX, Page, Session, SessionFilter};

use crate::engine::Engine;
use crate::error::Result;

/// Rows that are read for each session that is counted at most: the others are of subagents.
const SUBAGENTS_READ_MAX: usize = 32;

/// How many sessions there are. Those that hold nothing any more are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionTotals {
    /// Sessions that a folded listing shows.
    pub listed: u64,
    /// Sessions of subagents.
    pub subagents: u64,
    /// Copies that a folded listing counts in the row of their original.
    pub copies: u64,
    /// Whether only the newest ones were counted.
    pub is_cut: bool,
}

impl Engine {
    /// Counts the newest sessions of the store, until `rows_max` are counted that are of no subagent, and gives each that is no copy:
    /// those that a folded listing shows, and subagents.
    ///
    /// # Errors
    /// Store errors.
    pub fn session_totals(&self, rows_max: usize, each: &mut dyn FnMut(Session)) -> Result<SessionTotals> {
        let folds = self.folds()?;
        let (mut totals, mut read) = (SessionTotals::default(), 0);
        let mut seen: HashMap<(SessionId, bool), Vec<Session>> = HashMap::new();
        let mut left = rows_max;
        while left > 0 && read < rows_max.saturating_mul(SUBAGENTS_READ_MAX) {
            let page = Page { skip: read as u64, rows_max: left.min(PAGE_ROWS_MAX) };
            let rows = self.store.sessions(&SessionFilter::default(), page)?;
            let is_last = rows.len() < page.rows_max;
            read += rows.len();
            for session in rows {
                left -= usize::from(session.parent_session.is_none());
                if session.tip.is_none() {
                    continue;
                }
                let is_subagent = session.parent_session.is_some();
                // A subagent may go by the id of the session that it belongs to.
                let known = seen.entry((session.session.clone(), is_subagent)).or_default();
                let is_copy = folds.hides(&session) || self.is_one_of(&session, known)?;
                known.extend((!is_copy).then(|| session.clone()));
                if is_copy {
                    totals.copies += 1;
                } else {
                    totals.subagents += u64::from(is_subagent);
                    totals.listed += u64::from(!is_subagent);
                    each(session);
                }
            }
            if is_last {
                return Ok(totals);
            }
        }
        Ok(SessionTotals { is_cut: true, ..totals })
    }
}
