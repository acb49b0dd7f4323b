//! Recall: what of earlier work fits a task, as a pack within a budget.
//!
//! What is scored, chosen and written is decided by `stemmata_prompt`; here is what it chooses from.

mod branch;
mod dense;
mod fitting;
mod gather;
mod open;
mod pack;

pub(crate) use fitting::{Fitting, Seen};
pub(crate) use pack::RetrieveOf;

use stemmata_api::v1::{RecallSkipped, RecalledItem};
use stemmata_model::{LedgerId, Note, SessionId, ThreadId, TicketId};
use stemmata_model::{TokenCounter, Tokens};

use crate::search::{SearchNote, SettleBudget};

/// The least budget of a pack: below it there is no room for one item.
pub const RECALL_TOKENS_MIN: Tokens = Tokens(64);

/// What to recall.
pub struct RecallWanted<'a> {
    /// The task in words, from 1 byte to 16 KiB. Words in quotes are words like others.
    pub text: &'a str,
    /// The ledger of the project or the cluster; without one everything that is stored is searched, and no memory is read.
    pub ledger: Option<&'a LedgerId>,
    /// Tokens of the pack at most, by the counter; at least [`RECALL_TOKENS_MIN`].
    pub max_tokens: Tokens,
    /// Counts tokens.
    pub counter: &'a dyn TokenCounter,
    /// The thread that the task belongs to: what was done for it counts more.
    pub thread: Option<&'a ThreadId>,
    /// The ticket that the task belongs to: what was done for it counts more.
    pub ticket: Option<&'a TicketId>,
    /// The session that asks: it knows its own recent turns, so they are left out.
    pub session: Option<&'a SessionId>,
    /// Whether what came in bundles from other machines may be in the pack. Its author may be anybody.
    pub foreign: bool,
    /// How long the index may take in what is new before.
    pub budget: SettleBudget,
}

impl<'a> RecallWanted<'a> {
    /// Asks for a pack of this machine's own records, without thread, ticket and session, after the index took in all that
    /// is new.
    pub const fn new(
        text: &'a str,
        ledger: Option<&'a LedgerId>,
        max_tokens: Tokens,
        counter: &'a dyn TokenCounter,
    ) -> Self {
        Self {
            text,
            ledger,
            max_tokens,
            counter,
            thread: None,
            ticket: None,
            session: None,
            foreign: false,
            budget: SettleBudget::All,
        }
    }
}

/// A pack for a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    /// The text as it is to be injected: quoted data with where it comes from. Empty where nothing fits.
    pub text: String,
    /// Its tokens, by the counter that was given.
    pub tokens: Tokens,
    /// What is in it, the best first.
    pub items: Vec<RecalledItem>,
    /// What is not in it.
    pub skipped: RecallSkipped,
    /// What the user should know.
    pub notes: Vec<RecallNote>,
}

/// What the user should know of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecallNote {
    /// Search lacks something.
    Search(SearchNote),
    /// The memory lacks something.
    Memory(Note),
    /// Nothing has a word of the task: the pack is the state of the project alone.
    NoMatch,
    /// Nothing fits the budget.
    NothingFits {
        /// The least budget that has room for an item.
        needs: Tokens,
    },
}
