//! Ledgers as the engine uses them: whose they are, who is woken by them, what clusters do with them.
//!
//! How events are kept is the store's; what is folded from them is `stemmata-prompt`'s.

mod bus;
mod cluster;
mod decide;
mod fold;
mod forget;
mod holding;
mod line;
mod memory;
mod opening;
mod project;
mod publish;
mod snapshots;
mod state;
mod turn;

pub(crate) use bus::Bus;
pub use bus::{EventFilter, LOOK_EVERY, Listening, Stopper, Subscription};
pub use cluster::{Cluster, GUIDANCE_MAX, Guidance, TokenTotals, TokensByRole};
pub use fold::{Folded, SAVE_EVENTS};
pub use forget::{EventsPlan, Told};
pub(crate) use line::{ChainEntries, Line, Reach, line_name};
pub use memory::{MEMORY_SESSIONS_MAX, Remembered};
pub(crate) use memory::{Remembering, TranscriptPlace, Transcripts};
pub(crate) use opening::Opening;
pub use project::{Adopt, Project, ProjectDir, ProjectScope, RepositoryKey, adopted_folders, repository_top};
pub(crate) use project::{Elsewhere, ProjectSessions, git_would_wait_for};
pub use publish::{PublishOptions, Published};
pub(crate) use publish::{scrub_json, scrub_text};
pub use state::{LedgerState, PublishedState};
pub use turn::again::{REQUEST_BYTES_MAX, REQUEST_KEPT_US, SameCall};
pub use turn::begin::{BeginTurn, Opened, TASK_IDS_MAX, TASK_TEXT_BYTES_MAX, TurnBegun, TurnContext};
pub(crate) use turn::guard::{CALLS_NAMED_APART, WorkTold, gone, said_of};
pub use turn::guard::{
    CHECKSUM_BYTES_MAX, CHECKSUM_FILES_MAX, EntryHint, EntryMark, Marked, Recovered, TurnConversation,
    TurnGuard, WindowReport, WindowSample,
};
pub use turn::step::StepTaken;
pub use turn::{TurnEnded, TurnMade, TurnOf};

use stemmata_model::LedgerId;
use stemmata_store::{Ledger, PAGE_ROWS_MAX};

use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Hands every ledger to `act`, in the order of their ids, a page at a time.
    ///
    /// # Errors
    /// What `act` fails with, and where the storage fails.
    pub fn each_ledger(&self, mut act: impl FnMut(&Ledger) -> Result<()>) -> Result<()> {
        self.ledgers_while(None, |ledger| act(ledger).map(|()| true)).map(drop)
    }

    /// Returns every ledger, in the order of their ids.
    pub(crate) fn all_ledgers(&self) -> Result<Vec<Ledger>> {
        let mut ledgers = Vec::new();
        self.each_ledger(|ledger| {
            ledgers.push(ledger.clone());
            Ok(())
        })?;
        Ok(ledgers)
    }

    /// Hands the ledgers after one to `act`, as [`Engine::each_ledger`] does, until that says no. Says what it said last.
    pub(crate) fn ledgers_while(
        &self,
        mut after: Option<LedgerId>,
        mut act: impl FnMut(&Ledger) -> Result<bool>,
    ) -> Result<bool> {
        loop {
            let page = self.log.ledgers(after.as_ref(), PAGE_ROWS_MAX)?;
            let Some(last) = page.last() else { return Ok(true) };
            after = Some(last.id.clone());
            for ledger in &page {
                if !act(ledger)? {
                    return Ok(false);
                }
            }
        }
    }
}
