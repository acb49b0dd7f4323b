//! Wire types of events, ledgers and state.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Note;
use crate::RawJson;

/// An event of a ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Event {
    /// Its number, as a decimal string: readers that take numbers for floats lose great ones.
    pub event_seq: String,
    /// The session that it belongs to.
    pub session_id: String,
    /// When it was appended, RFC 3339.
    pub timestamp: String,
    /// What it is about.
    pub topic: String,
    /// Who sent it.
    pub sender: String,
    /// For whom it is.
    pub receiver: String,
    /// `plain`, `line` (an entry as `stemmata-v1`), `trimmed` or `forgotten`.
    pub payload: String,
    /// Text; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Data, or the entry: JSON as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
    /// What programs say about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Whether it may enter a prompt.
    pub replayable: bool,
    /// Of an entry, and of what is gone: the artifact, `art-…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// Of what is gone: the bytes that it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// Events of a ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Events {
    /// The ledger.
    pub ledger: String,
    /// The events.
    pub events: Vec<Event>,
    /// The ledger's last number when they were read.
    pub last: String,
    /// Where there may be more: `--after` this number goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Events that were appended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Appended {
    /// The ledger.
    pub ledger: String,
    /// The first one's number.
    pub first: String,
    /// The last one's number, of those that were given.
    pub last: String,
    /// The number of the state that was published after them; absent where it did not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Ledger {
    /// Its id.
    pub id: String,
    /// Where the project is; absent for a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// When it was made, RFC 3339.
    pub created_at: String,
    /// The number of its last event, 0 without any.
    pub last: String,
    /// The time of that event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<String>,
    /// When its window was compacted last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compacted_at: Option<String>,
    /// By what else it is found.
    pub marks: Vec<String>,
}

/// All ledgers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LedgerPage {
    /// The ledgers, in the order of their ids.
    pub ledgers: Vec<Ledger>,
}

/// What is known of a project or a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct State {
    /// The ledger.
    pub ledger: String,
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
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A task that is not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct OpenTask {
    /// What `stemma task --done` takes: the number of its event, or letters made of its words.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub ledger: String,
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
    pub ledger: String,
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

/// A ledger that was written as a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LedgerExported {
    /// The ledger.
    pub ledger: String,
    /// The file.
    pub path: String,
    /// Events in it.
    pub events: u64,
    /// Of these, events whose payload is gone.
    pub gone: u64,
    /// The last event in it.
    pub through: String,
}

/// Events that were forgotten, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct EventsForgotten {
    /// The session; none where events were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How many events say nothing any more.
    pub events: u64,
    /// Where they are.
    pub ledgers: Vec<LedgerForgotten>,
    /// Whether nothing was done.
    pub dry_run: bool,
}

/// Events of a ledger that say nothing any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LedgerForgotten {
    /// The ledger.
    pub ledger: String,
    /// How many.
    pub events: u64,
}
