//! Wire types of what is known of a project: memory, tasks, and how they are made anew.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::LedgerId;

use super::Note;
use crate::RawJson;

/// What is known of a project or a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct State {
    /// The ledger.
    pub ledger: LedgerId,
    /// Where the project is; absent for a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The last event that is in it.
    pub through: String,
    /// Captured sessions that are in it.
    pub transcripts: u64,
    /// Decisions, facts, tasks, files, errors and recent turns: docs/format/state.md.
    pub memory: RawJson,
    /// What a cluster's agents published, by section; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<RawJson>,
    /// The memory as text, where it was asked for; empty while nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What a cluster's agents published as text, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_text: Option<String>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A task that is not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OpenTask {
    /// What `stemma task done` takes: the number of its event, or letters made of its words.
    pub name: String,
    /// The id that its list gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What is to be done.
    pub text: String,
    /// The session that it comes from.
    pub session_id: String,
    /// The entry or event that says so.
    pub source: String,
}

/// The open tasks of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OpenTasks {
    /// The tasks.
    pub tasks: Vec<OpenTask>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A decision or fact that holds, or a thread that is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct KnownDecision {
    /// What `stemma decision` takes: the number of its event, letters made of its words, or of a thread the entry that says it.
    pub name: String,
    /// What it is; never a task.
    pub kind: DecisionKind,
    /// What was decided, what holds, or what is open.
    pub text: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The session that it comes from.
    pub session_id: String,
}

/// The decisions and facts of a project that hold, and its open threads, each kind oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Decisions {
    /// The decisions.
    pub decisions: Vec<KnownDecision>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What a replay found of one reducer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ReplayedReducer {
    /// The reducer.
    pub name: String,
    /// The last event that was in its saved state, 0 without one.
    pub saved_through: String,
    /// Whether the saved state with the events after it was what the replay gave.
    pub same: bool,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What a replay found of sessions that were captured from transcripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ReplayedTranscripts {
    /// Sessions that were folded again.
    pub sessions: u64,
    /// Those whose saved state said something else.
    pub different: Vec<String>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What a replay found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Replayed {
    /// The ledger.
    pub ledger: LedgerId,
    /// The last event that was folded.
    pub through: String,
    /// Each reducer.
    pub reducers: Vec<ReplayedReducer>,
    /// The captured sessions.
    pub transcripts: ReplayedTranscripts,
    /// Whether all were the same.
    pub same: bool,
}

/// What the state of a ledger was restored from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RestoredLedger {
    /// The ledger.
    pub ledger: LedgerId,
    /// Where the project is; absent for a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The last event that can be read.
    pub last: String,
    /// `store` or `files`.
    pub engine: String,
    /// Each reducer.
    pub reducers: Vec<RestoredReducer>,
    /// Captured sessions that are in the memory.
    pub transcripts: u64,
    /// Events and entries that had to be read again.
    pub read: u64,
    /// Damaged lines that were set aside.
    pub quarantined: u64,
    /// Numbers of events that are lost.
    pub lost: Vec<String>,
    /// What was wrong, and what was done about it.
    pub notes: Vec<Note>,
}

/// What one reducer's state was restored from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RestoredReducer {
    /// The reducer.
    pub name: String,
    /// The last event that was in its saved state, 0 without one.
    pub saved_through: String,
    /// Events after it that were folded again.
    pub replayed: u64,
}

/// Asks what is known of a project or a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StateRequest {
    /// Its ledger.
    pub ledger: LedgerId,
    /// As it was after this event; absent: now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Characters of its text at most; absent: no text is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_chars_max: Option<u64>,
}

/// Asks to remember something that a person decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DecideRequest {
    /// The ledger.
    pub ledger: LedgerId,
    /// What it is.
    pub kind: DecisionKind,
    /// What was decided.
    pub text: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The decision that it replaces: its number or the beginning of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
}

/// Asks to end a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FinishTaskRequest {
    /// The ledger.
    pub ledger: LedgerId,
    /// The task: the number of its event, its id or its name.
    pub task: String,
}

/// Asks to close an open thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CloseThreadRequest {
    /// The ledger.
    pub ledger: LedgerId,
    /// The thread: the number of its event, or words of it.
    pub thread: String,
}

/// Asks to fold a ledger's events again and to compare the result with what is saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {
    /// The ledger.
    pub ledger: LedgerId,
    /// Whether nothing is saved.
    #[serde(default)]
    pub check: bool,
}

/// Asks to make the state of a ledger anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RestoreStateRequest {
    /// The ledger.
    pub ledger: LedgerId,
    /// Whether damaged lines are set aside.
    #[serde(default)]
    pub repair: bool,
}

/// What is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// A decision.
    Decision,
    /// A fact.
    Fact,
    /// A task.
    Task,
    /// Something that is open: a question, or work that was put off.
    Thread,
}

impl DecisionKind {
    /// Returns the name used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Fact => "fact",
            Self::Task => "task",
            Self::Thread => "thread",
        }
    }
}
