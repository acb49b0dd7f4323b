//! The guard within turns: which window a session has, what a call of a turn did about it, and what callers do themselves.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, EntryId, LedgerId, SessionId, Timestamp};

use super::{Note, TurnImage, TurnOf};
use crate::RawJson;

/// Bytes of a provider's error that are read; the rest is left out.
pub const PROVIDER_ERROR_BYTES_MAX: usize = 64 * 1024;

/// Which window a session has, and how it is guarded. The same in every request of a session.
///
/// Absent: the window is guarded if `window.tokens` is configured, or if the window of the model is known that the request, the
/// session's last answer or the prompt names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnWindow {
    /// Tokens that the model takes. Absent: `window.tokens` of the configuration, else those of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The model that is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What counts tokens where none were reported; absent: the best that is known for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// Tokens of the system prompt and the tools, where no reported usage says it.
    #[serde(default)]
    pub overhead_tokens: u64,
    /// Tasks completed so far. Absent: the most that a turn named in `completed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks_completed: Option<u64>,
    /// What is about to be done, as `major_refactor`: before some operations a checkpoint is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_operation: Option<String>,
    /// Whether the session is compacted by itself when a turn ends. Recovery compacts anyway. This and the eight that follow:
    /// absent, what `window.*` of the configuration says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_compact: Option<bool>,
    /// Who writes the summaries of compactions: `llm` (the configured model, and rules where there is none) or `heuristic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact_with: Option<String>,
    /// Messages at which compaction is due where no limit of tokens is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_messages: Option<u64>,
    /// Tokens at which compaction is due where the window is not larger than the reserve; 0: `max_messages` decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Messages that a compaction keeps of the end, where `keep_recent_tokens` is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_recent: Option<u64>,
    /// Tokens that a compaction keeps of the end, at most half of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_recent_tokens: Option<u64>,
    /// Tokens of the window that are left for the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve_tokens: Option<u64>,
    /// Results of tools that stay visible. 0 archives none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_cutoff: Option<u64>,
    /// How archived results are summarized: `llm`, `heuristic`, or `off`, which archives none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_summary: Option<String>,
    /// Whether the answer holds the entries that the model is to be given.
    #[serde(default)]
    pub entries: bool,
}

impl TurnWindow {
    /// Returns one that says nothing: the configuration and the model say which window it is.
    pub const fn unsaid() -> Self {
        Self {
            tokens: None,
            model: None,
            counter: None,
            overhead_tokens: 0,
            tasks_completed: None,
            next_operation: None,
            auto_compact: None,
            compact_with: None,
            max_messages: None,
            max_tokens: None,
            keep_recent: None,
            keep_recent_tokens: None,
            reserve_tokens: None,
            tool_call_cutoff: None,
            tool_summary: None,
            entries: false,
        }
    }
}

/// How full the window of a session is, what the call did about it, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnWindowReport {
    /// `safe`, `warning`, `danger` or `critical`, before anything was pruned or compacted.
    pub zone: String,
    /// The part of the limit that was in use: 1 is all of it.
    pub ratio: f64,
    /// Tokens that the window took.
    pub tokens: u64,
    /// Tokens that it takes now.
    pub tokens_after: u64,
    /// What they rest on: `usage` (what the provider reported with the last answer, and a count of what came after it) or
    /// `count`.
    pub tokens_from: String,
    /// What of them no entry holds: the system prompt and the tools.
    pub overhead_tokens: u64,
    /// Tokens that the window holds.
    pub limit: u64,
    /// Where that comes from.
    pub limit_from: String,
    /// Whether it is the window of the model's family, since no source says the model's own; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limit_assumed: bool,
    /// Tokens that pruning aims at.
    pub target: u64,
    /// Whether the model can be called: not after an overflow.
    pub may_call: bool,
    /// The alert that was published: `WARNING`, `DANGER` or `CRITICAL`, once for each crossing upward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alert: Option<String>,
    /// What to do about the zone.
    pub recommendation: String,
    /// Why a checkpoint was made: `context_size_threshold`, `phase_transition`, `task_milestone`, `risky_operation`,
    /// `time_interval`, `emergency`.
    pub reasons: Vec<String>,
    /// What a prune would do, from the danger zone on; what it did, where `pruned` is not empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<TurnPrune>,
    /// Entries that the model no longer sees. The chain has them.
    pub pruned: Vec<TurnPruned>,
    /// Entries whose results were archived: summaries stand for them.
    pub archived: Vec<EntryId>,
    /// The compaction that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<TurnCompaction>,
    /// The smallest context, where it does not fit the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overflow: Option<TurnOverflow>,
    /// The entries that the model is to be given, oldest first, where the request asked for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<WindowEntry>>,
    /// What counted tokens.
    pub counter: String,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// An entry that the model of a session is to be given. Files and reasoning that only its provider can read are left out. No other
/// entry has its id, and no other call that of one of its calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct WindowEntry {
    /// Its id.
    pub id: EntryId,
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// `message`, `tool_result`, `tool_summary` (stands for archived results) or `compaction_summary`.
    pub kind: String,
    /// What it says; absent where it only calls or returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The model's reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// The tools that it asks for.
    pub calls: Vec<WindowCall>,
    /// What tools returned.
    pub results: Vec<WindowResult>,
    /// What a user shows; left out where that is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<TurnImage>,
}

/// A tool that the model asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct WindowCall {
    /// Pairs the call with its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments; a text if they are not JSON.
    pub input: RawJson,
}

/// What a tool returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct WindowResult {
    /// The call that it answers.
    pub id: String,
    /// What it returned.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
    /// The images that it returned; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<TurnImage>,
}

/// How much a prune keeps and drops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnPrune {
    /// `untouched`, `pruned` or `minimal`.
    pub form: String,
    /// Entries that stay.
    pub keep: u64,
    /// Entries that go.
    pub prune: u64,
    /// Tokens of the window after it.
    pub tokens_after: u64,
}

/// An entry that was pruned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnPruned {
    /// Its id: `turn rehydrate` brings it back.
    pub entry: EntryId,
    /// Tokens that it took.
    pub tokens: u64,
    /// Why it went.
    pub reason: String,
}

/// A compaction that a call of a turn made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnCompaction {
    /// The compaction commit, from which the session continues.
    pub ctx: CommitId,
    /// The commit before it: `uncompact` gives its context.
    pub parent: CommitId,
    /// Estimated tokens of the context before, without the system prompt and the tools.
    pub tokens_before: u64,
    /// Estimated tokens of the context after.
    pub tokens_after: u64,
    /// Who wrote the summary: `heuristic` or `model`.
    pub with: String,
    /// Why it was due.
    pub reason: String,
}

/// The smallest context that work can continue with, if it is larger than the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnOverflow {
    /// What it takes.
    pub essential_tokens: u64,
    /// Its largest entry; absent where that is the system prompt and the tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<EntryId>,
    /// What the largest takes.
    pub largest_tokens: u64,
    /// Why the model can't be called, and what to do.
    pub reason: String,
}

/// Asks how full the window of a session is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnWindowRequest {
    /// Whose turns they are.
    pub turn: TurnOf,
    /// Which window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<TurnWindow>,
    /// Samples of the past to return at most; at most 1,000.
    #[serde(default)]
    pub samples_max: u64,
}

/// How full the window of a session is, and was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnWindowShown {
    /// The ledger.
    pub ledger: LedgerId,
    /// The session.
    pub session: SessionId,
    /// The window now. Nothing was changed.
    pub window: TurnWindowReport,
    /// What it took after earlier calls, oldest first.
    pub history: Vec<TurnWindowSample>,
}

/// A size of a window in the past.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnWindowSample {
    /// When.
    pub at: Timestamp,
    /// Tokens that it took.
    pub tokens: u64,
    /// The part of the limit that was in use.
    pub ratio: f64,
}

/// Hands over an error of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecoverTurnRequest {
    /// Whose turn it is.
    pub turn: TurnOf,
    /// What the provider says.
    pub error: String,
    /// Its code or type of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Which window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<TurnWindow>,
}

/// What became of an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnRecovered {
    /// The ledger.
    pub ledger: LedgerId,
    /// The session.
    pub session: SessionId,
    /// Whether the call is to be tried again, with the window as it is now. Not if the error is not an overflow: then nothing was
    /// done.
    pub retry: bool,
    /// Who phrases an overflow so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The checkpoint that has everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<CommitId>,
    /// The window, and what was done to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<TurnWindowReport>,
}

/// Asks to show hidden entries of a live session again, or to pin or unpin entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MarkTurnEntriesRequest {
    /// Whose turns they are.
    pub turn: TurnOf,
    /// Full ids of entries, at most 4,096.
    pub entries: Vec<String>,
    /// `rehydrate`, `pin` or `unpin`. Absent: the caller's to fill in; the command takes its own name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// Which window: what comes back has to fit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<TurnWindow>,
}

/// Entries of a live session that were marked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnEntriesMarked {
    /// The ledger.
    pub ledger: LedgerId,
    /// The session.
    pub session: SessionId,
    /// The entries: what comes back comes back as whole tool groups. What was marked already is left out.
    pub entries: Vec<EntryId>,
    /// The commit that has it; absent where nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<CommitId>,
    /// The window after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<TurnWindowReport>,
}
