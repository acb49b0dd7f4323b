//! Recall: what of earlier work fits a task.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, EventSeq, LedgerId, SessionId, ThreadId, TicketId, Timestamp};

use super::{CountedBy, Note};

/// Tokens of a pack, where nobody says how many.
pub const RECALL_TOKENS_DEFAULT: u64 = 2_000;

/// Asks what of earlier work fits a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecallRequest {
    /// The task in words, at most 16 KiB.
    pub text: String,
    /// The ledger whose memory is read; without one only what is stored is searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerId>,
    /// Tokens of the pack at most: [`RECALL_TOKENS_DEFAULT`] where absent, at least 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// What counts tokens: as in `AssembleRequest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// The model that reads it. One of which nothing is known needs a `counter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The thread that the task belongs to: what was done for it counts more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The ticket that the task belongs to: what was done for it counts more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<TicketId>,
    /// The session that asks: its own recent turns, which it knows, are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Whether what came in bundles from other machines may be in it.
    #[serde(default)]
    pub foreign: bool,
    /// Milliseconds for which what is new may be put into the index first. Absent: all of it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle_ms: Option<u64>,
}

/// A pack for a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Recalled {
    /// The text as it is to be injected: quoted data with where it comes from. Empty where nothing fits.
    pub text: String,
    /// Its tokens.
    pub tokens: u64,
    /// Tokens that it might have.
    pub max_tokens: u64,
    /// What counted them.
    pub counter: String,
    /// How sure its counts are.
    pub counted: CountedBy,
    /// What was searched.
    pub scope: RecallScope,
    /// What is in it, the best first.
    pub items: Vec<RecalledItem>,
    /// What is not in it, and why.
    pub skipped: RecallSkipped,
    /// What the user should know.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// What a pack was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RecallScope {
    /// The ledger whose memory, events and sessions were searched. Absent: all sessions and ledgers, and no memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerId>,
    /// The directory of the ledger's project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dir: Option<String>,
}

/// An item of a pack.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RecalledItem {
    /// `decision`, `fact`, `thread`, `task`, `error`, `file`, `linked`, `turn` or `hit`.
    pub kind: String,
    /// A commit whose chain holds it; absent for what events say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<CommitId>,
    /// The entry's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The event of the ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<EventSeq>,
    /// The ledger of the event, where it is not the one that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerId>,
    /// The session's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// When it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    /// The tokens of its text.
    pub tokens: u64,
    /// Its points: the sum of the reasons.
    pub score: f64,
    /// What made the score.
    pub reasons: Vec<RecallReason>,
    /// Its part of the pack's text.
    pub text: String,
    /// How much of it is there: `whole` with what was said next to it, `alone` or `compact`.
    pub form: String,
    /// The machine that recorded it, where it came in a bundle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_machine: Option<String>,
}

/// A part of an item's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RecallReason {
    /// `text`, `rank`, `dense`, `recency`, `thread`, `ticket`, `file`, `near`, `kind`, `superseded` or `tool_output`.
    pub name: String,
    /// The points; less than 0 where it speaks against the item.
    pub points: f64,
    /// The words or the name that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// How many candidates are not in a pack, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RecallSkipped {
    /// They did not fit the budget.
    pub budget: u64,
    /// The pack, or the task, says the same.
    pub duplicate: u64,
    /// They came in a bundle.
    pub foreign: u64,
}
