//! The guard of a context window: how full it is, and what would be pruned.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, EntryId};

use super::prompt::ClientWindow;
use super::{Note, TurnEntry, TurnPruned, TurnTask, TurnWindow, WindowEntry};

/// Asks how full the window of a context is, or of entries that a program has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GuardRequest {
    /// The commit. Absent: `entries` says what is judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<String>,
    /// Entries of a program, oldest first, in place of a commit; at most 10,000. They are stored nowhere. An entry has no time here, so
    /// that its age gives it no points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<TurnEntry>>,
    /// How the window of `entries` is guarded, as in a turn: the settings that it names, in place of the configured ones. Its `entries`
    /// says nothing here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<TurnWindow>,
    /// The current task, for `entries`: what it depends on stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TurnTask>,
    /// Ids of tasks that are done, for `entries`, in the order in which they began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<String>,
    /// Whether `entries` are compacted by rules where that is due, before anything is pruned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compacts: bool,
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
    /// The commit; absent where entries were judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<CommitId>,
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
    /// What becomes of the entries that the request has; absent where a commit was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<GuardGiven>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What becomes of entries that a program sent: what is cut, archived, compacted and pruned of them, in this order, and what is left.
/// `items` of the report are the entries after the first three.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct GuardGiven {
    /// Outputs of tools that are larger than the limits.
    pub cut: Vec<GuardCut>,
    /// Results of tools above the cutoff: the oldest, each with the call that it answers.
    pub archived: Vec<GuardArchived>,
    /// Whether the beginning is due to be compacted.
    pub compaction_due: bool,
    /// Why it is, or is not.
    pub compaction_reason: String,
    /// The compaction, where it is due and the request has it made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<GuardCompaction>,
    /// Entries that are pruned so that the rest is within the target.
    pub pruned: Vec<TurnPruned>,
    /// The entries that the model is to be given, oldest first; empty if even the smallest context does not fit.
    pub entries: Vec<WindowEntry>,
    /// Whether the model can be called with them.
    pub may_call: bool,
}

/// An output of a tool that is cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct GuardCut {
    /// The entry that it is in.
    pub entry: EntryId,
    /// The call that it answers; absent if the entry is not a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Characters before.
    pub before_chars: u64,
    /// Characters after.
    pub after_chars: u64,
    /// Why: the limit that it is above.
    pub reason: String,
}

/// Results that are archived together: one summary stands for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct GuardArchived {
    /// The entries, with those of their calls.
    pub entries: Vec<EntryId>,
    /// The entry that replaces them.
    pub summary: EntryId,
    /// Why.
    pub reason: String,
}

/// A compaction of entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct GuardCompaction {
    /// The entries that the summary stands for.
    pub covers: Vec<EntryId>,
    /// The entry that holds the summary.
    pub summary: EntryId,
    /// Tokens of the window before.
    pub tokens_before: u64,
    /// Tokens of the window after.
    pub tokens_after: u64,
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
