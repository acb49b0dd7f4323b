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

use stemmata_model::{CommitId, EventSeq, LedgerId, Note, SessionId, ThreadId, TicketId, Timestamp};
use stemmata_model::{TokenCounter, Tokens};
use stemmata_prompt::retrieve::{CandidateKind, Form, RecallReason};

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
#[derive(Debug, Clone, PartialEq, Default)]
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

/// An item of a pack.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalledItem {
    /// What it is.
    pub kind: CandidateKind,
    /// A commit whose chain holds it; `None` for an event.
    pub ctx: Option<CommitId>,
    /// The entry's id.
    pub entry: Option<String>,
    /// The event of the ledger.
    pub event: Option<EventSeq>,
    /// The ledger of the event, where it is not the one that was asked about.
    pub ledger: Option<LedgerId>,
    /// The session's id; empty where that is not known.
    pub session: String,
    /// The client; empty where that is not known.
    pub client: String,
    /// When it was said.
    pub timestamp: Option<Timestamp>,
    /// The tokens of its text.
    pub tokens: Tokens,
    /// Thousandths of a point: the sum of the reasons. May be less than 0.
    pub score_permille: i64,
    /// What made the score.
    pub reasons: Vec<RecallReason>,
    /// Its part of the pack's text, with where it comes from.
    pub text: String,
    /// How much of it is there.
    pub form: Form,
    /// The machine that recorded it, where it came in a bundle.
    pub foreign_machine: Option<String>,
}

/// How many candidates are not in a pack, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecallSkipped {
    /// They did not fit the budget.
    pub budget: u64,
    /// The pack, or the task, says the same.
    pub duplicate: u64,
    /// They came in a bundle. What memories hold of bundles is not counted.
    pub foreign: u64,
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
