//! What a listing says of a session beside its row: how many prompts, how long, how it ended.
//!
//! A chain is read once for that and the figures are kept (`efforts`), so a listing reads what is new, and no more than a bound
//! of it: the newest sessions first, the others the next time.

use std::collections::HashMap;

use stemmata_model::CommitId;
use stemmata_prompt::story::TurnOutcome;
use stemmata_store::StoreErrorKind;

use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Bytes of chains that one listing reads: about a tenth of a second.
const READ_BYTES_MAX: u64 = 16 << 20;

/// What a chain comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionFigures {
    /// Prompts of people.
    pub prompts: u64,
    /// Microseconds of work.
    pub active_micros: i64,
    /// How the turn of the last prompt ended. Absent for a chain without prompts.
    pub outcome: Option<TurnOutcome>,
}

impl Engine {
    /// Returns the figures of chains by their newest commits, of those that are known or within the bound. `chains` are tips with
    /// the bytes of their chains.
    ///
    /// # Errors
    /// Store errors.
    pub fn session_figures(&self, chains: &[(CommitId, u64)]) -> Result<HashMap<CommitId, SessionFigures>> {
        let store_id = self.store.identity()?.store_id;
        let mut kept = self.efforts.load_figures(store_id);
        let (mut left, mut is_new) = (READ_BYTES_MAX, false);
        for (tip, bytes) in chains {
            // One that alone is more than the bound would else never be read.
            let is_next = *bytes <= left || left == READ_BYTES_MAX;
            if kept.contains_key(tip) || !is_next {
                continue;
            }
            left = left.saturating_sub(*bytes);
            if let Some(figures) = self.figures_of(*tip)? {
                kept.insert(*tip, figures);
                is_new = true;
            }
        }
        if is_new {
            self.efforts.keep_figures(store_id, &kept);
        }
        Ok(kept)
    }

    fn figures_of(&self, tip: CommitId) -> Result<Option<SessionFigures>> {
        let story = match self.overview(tip, None) {
            Ok(overview) => overview.story,
            // What is damaged, forgotten or of another version is said where it is read.
            Err(EngineError::Format { .. }) => return Ok(None),
            Err(EngineError::Store(error))
                if matches!(
                    error.kind(),
                    StoreErrorKind::NotFound | StoreErrorKind::Corrupt | StoreErrorKind::Rejected
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let prompted = || story.turns.iter().filter(|turn| turn.number.is_some());
        Ok(Some(SessionFigures {
            prompts: prompted().count() as u64,
            active_micros: story.active_micros,
            outcome: prompted().next_back().map(|turn| turn.outline.outcome()),
        }))
    }
}
