//! The guard of a context window: how full it is, and what would be pruned.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, EntryId};

use super::Note;
use super::prompt::ClientWindow;

/// Asks how full the window of a context is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GuardRequest {
    /// The commit.
    pub ctx: String,
    /// Tokens that the model takes. Without it, what is known of the session's client and model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// What counts tokens; without it, the best that is known for the session's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// Tokens of the system prompt and the tools, where no reported usage says it.
    #[serde(default)]
    pub overhead_tokens: u64,
    /// Tasks completed so far: every few of them a checkpoint is due.
    #[serde(default)]
    pub tasks_completed: u64,
    /// What is about to be done, as `major_refactor`: before some operations a checkpoint is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_operation: Option<String>,
}

/// How full the window of a context is, and what a prune would keep and drop. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct GuardReport {
    /// The commit.
    pub ctx: CommitId,
    /// `safe`, `warning`, `danger` or `critical`; `unknown` where no window is known, and then `limit` is 0.
    pub zone: String,
    /// The part of the limit that is in use: 1 is all of it.
    pub ratio: f64,
    /// Tokens that the context takes.
    pub tokens: u64,
    /// What they rest on: `usage` (what the provider reported with the last answer, and a count of what came after it) or
    /// `count`.
    pub tokens_from: String,
    /// What of them no entry holds: the system prompt and the tools.
    pub overhead_tokens: u64,
    /// Tokens that the window holds; 0 where that is not known.
    pub limit: u64,
    /// Where that comes from.
    pub limit_from: String,
    /// Whether it is the window of the model's family, since no source says the model's own; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limit_assumed: bool,
    /// Where no window is known: the tokens of a common one, to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub common_limit: Option<u64>,
    /// Tokens that pruning aims at.
    pub target: u64,
    /// Tokens after the prune.
    pub tokens_after: u64,
    /// How much would be pruned: `untouched`, `pruned` or `minimal`; absent where even the smallest context does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<String>,
    /// The level of the alert that this zone is worth: `WARNING`, `DANGER` or `CRITICAL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alert_level: Option<String>,
    /// What to do about it.
    pub recommendation: String,
    /// Why a checkpoint is due: `context_size_threshold`, `task_milestone`, `risky_operation`, `emergency`.
    pub triggers: Vec<String>,
    /// The smallest context, where it does not fit the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<GuardOverflow>,
    /// The entries that the model sees, oldest first.
    pub items: Vec<GuardItem>,
    /// Entries that are hidden from the model already.
    pub hidden: u64,
    /// What counted tokens.
    pub counter: String,
    /// The model that answered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When the client that wrote the context compacts it itself, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientWindow>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// An entry, and whether a prune would keep it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct GuardItem {
    /// Its id.
    pub entry: EntryId,
    /// Its number in the chain: `show --entry @N` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<u64>,
    /// `keep` or `prune`.
    pub decision: String,
    /// `current_task`, `recent_history`, `old_history`, `system_prompts` or `examples`.
    pub category: String,
    /// `P1` (always kept), `P2` (if relevant), `P3` (if there is room) or `P4` (never).
    pub priority: String,
    /// What it is worth, from 0 to 100.
    pub score: u64,
    /// Why, in words.
    pub reason: String,
    /// Tokens that it takes of the window.
    pub tokens: u64,
    /// Whether a person asked for it to stay.
    pub pinned: bool,
    /// Its tool group: a number that its other members share. A group is kept or pruned whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u64>,
}

/// The smallest context that work can continue with, if it is larger than the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct GuardOverflow {
    /// What it takes.
    pub essential_tokens: u64,
    /// Its largest entry; absent where that is the system prompt and the tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<EntryId>,
    /// What the largest takes.
    pub largest_tokens: u64,
}
