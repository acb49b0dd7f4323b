//! Turns: begun before a model is called, stored in steps, and ended.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{
    CommitId, EventSeq, Granularity, LedgerId, Party, SessionId, Template, ThreadId, TicketId,
};

use super::{
    Assembled, NewEvent, Note, ProviderApi, ProviderMessages, StrategySource, TraceDetail, TurnWindow,
    TurnWindowReport,
};
use crate::RawJson;

/// Bytes of a request about a turn at most.
pub const TURN_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Entries of a step at most.
pub const TURN_ENTRIES_MAX: usize = 10_000;

/// Whose turns they are. The same in every request of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnOf {
    /// The ledger. Absent: the caller's to fill in; the command takes that of the current directory's project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerId>,
    /// The session. Absent only where one begins: a new id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The agent's name in the ledger.
    pub agent: Party,
    /// The kind of agent.
    pub template: Template,
    /// The discussion thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The ticket being worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<TicketId>,
    /// Where closed commits end: `turn` where absent, `message` or `every:N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<Granularity>,
}

/// What a session continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnContext {
    /// A commit: the session knows what its chain says.
    Resume(String),
    /// A commit, or an entry of its chain.
    Fork(TurnFork),
}

/// Where a session forks off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnFork {
    /// The commit.
    pub ctx: String,
    /// The entry: its id, at least 4 letters of its beginning, or `@N`. Absent: the commit's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// Something that was said, called or returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnEntry {
    /// Its id. Absent: a new one, or one made of its neighbour's where that has one. An entry that is given again with its id is
    /// stored once; other content under it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// What it says; absent where it only calls or returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The model's reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// The tools that it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<TurnCall>,
    /// What tools returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<TurnResult>,
    /// Images that a user shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<TurnImage>,
    /// What it is for: `message`, `tool_result`, `tool_result_archived`, `tool_summary` or `instruction`. Absent: a tool's result where
    /// a tool speaks, else a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether the model sees it; absent: it does. What it does not see is not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_visible: Option<bool>,
    /// Whether a person sees it; absent: it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_visible: Option<bool>,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the provider reported with the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<TurnUsage>,
    /// Why the model stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// What the caller knows of it, for the guard of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<TurnHint>,
}

/// What the caller knows of an entry. What is left out is read from the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnHint {
    /// The id of the task that it belongs to; one that no turn named says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What it contains: `system_prompt`, `current_task`, `acceptance_criteria`, `active_code`, `recent_feedback`, `task_history`,
    /// `examples` or `other`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Its row of the priority matrix, such as `deprecated_context` or `temporary_debug_info`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
    /// `P1` to `P4`: stronger than its row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// How many later entries refer to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub references: Option<u32>,
    /// Whether nothing works without it: no prune drops it.
    #[serde(default)]
    pub essential: bool,
}

/// Tokens of one call of a model, as its provider reported them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnUsage {
    /// Of the input, without what was read from or written to a cache.
    #[serde(default)]
    pub input_tokens: u64,
    /// Of the answer.
    #[serde(default)]
    pub output_tokens: u64,
    /// Of the input that was read from a cache.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// Of the input that was written to a cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
}

/// The model asks for a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnCall {
    /// Pairs the call with its result.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub input: RawJson,
}

/// A tool returned something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnResult {
    /// The call that it answers.
    pub id: String,
    /// What it returned.
    pub text: String,
    /// Images that it returned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<TurnImage>,
    /// Whether it failed.
    #[serde(default)]
    pub is_error: bool,
}

/// An image: its bytes, or where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnImage {
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Its bytes in base64, or a `data:` URL of them, whose media type counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Its address (`https`, `http` or `gs`), where the bytes are not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The task that a turn is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnTask {
    /// Its id.
    pub id: String,
    /// What is to be done.
    pub text: String,
    /// Ids of tasks that have to be done before it. They need not be known.
    #[serde(default)]
    pub depends_on: Vec<String>,
}

/// The prompt that a turn begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnPrompt {
    /// Which sources, and the budget.
    pub strategy: StrategySource,
    /// Who the agent is: the text of a profile. Absent: an agent without instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The budget in tokens, in place of the strategy's; at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// What counts tokens: as in `AssembleRequest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// The model that reads it. One of which nothing is known needs a `counter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The last event that the model was given, for a continuation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<EventSeq>,
    /// Which turn of its task it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
    /// Whether the metrics are appended to the ledger.
    #[serde(default)]
    pub records_metrics: bool,
    /// How much the answer says of how the prompt came to be; `summary` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceDetail>,
}

/// Asks to begin a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BeginTurnRequest {
    /// Whose turn it is.
    pub turn: TurnOf,
    /// An id of the call, of 1 to 256 bytes: a call that is repeated with it within 24 hours is stored once and answered alike,
    /// also where it names no session; other content under it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What the session continues; absent: nothing, or what it continues already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<TurnContext>,
    /// What the user says.
    pub said: TurnEntry,
    /// The phase of the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The current task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TurnTask>,
    /// Ids of tasks that are done.
    #[serde(default)]
    pub completed: Vec<String>,
    /// Whether what the user says is pinned: no prune drops it, and summaries hold it word for word.
    #[serde(default)]
    pub pin: bool,
    /// The prompt to make; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<TurnPrompt>,
    /// Which window the session has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<TurnWindow>,
    /// The API whose request the answer is to have in `messages`: the conversation so far, what the prompt says of it, and what the
    /// user says. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<ProviderApi>,
}

/// A turn that has begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnBegun {
    /// The ledger.
    pub ledger: LedgerId,
    /// The session.
    pub session: SessionId,
    /// The event of what the user said.
    pub said: EventSeq,
    /// The commit whose chain the session knows, where a context was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitId>,
    /// The user's prompt that a fork cut off, for its author to edit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_prompt: Option<String>,
    /// The prompt, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<Assembled>,
    /// How full the window is, and what was done about it; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<TurnWindowReport>,
    /// What the model is to be sent, where the request named an API: who the agent is as the system prompt, the conversation as the
    /// session's model sees it, and last what the prompt says besides and what the user says. The prompt's own turns are left out,
    /// since the conversation has them. If the prompt is a continuation, it is one message with what is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<ProviderMessages>,
    /// What the user should know.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// Asks to store what came of a turn: so far, or all the rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TurnMadeRequest {
    /// Whose turn it is.
    pub turn: TurnOf,
    /// An id of the call, of 1 to 256 bytes: a call that is repeated with it within 24 hours is stored once and answered alike;
    /// other content under it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What the model said and called, and what its tools returned, in order. What the session has under the same id with the
    /// same content is not stored once more.
    #[serde(default)]
    pub entries: Vec<TurnEntry>,
    /// What else is to be known of the turn.
    #[serde(default)]
    pub events: Vec<NewEvent>,
    /// Whether the session ends with it.
    #[serde(default)]
    pub ends: bool,
    /// Which window the session has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<TurnWindow>,
}

/// What of a turn was stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TurnStored {
    /// The ledger.
    pub ledger: LedgerId,
    /// The session.
    pub session: SessionId,
    /// Its first event; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<EventSeq>,
    /// Its last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<EventSeq>,
    /// The commit of what the session has said since its last closed one; absent where there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<CommitId>,
    /// The event of the cluster's state, where that has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<EventSeq>,
    /// How full the window is, and what was done about it; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<TurnWindowReport>,
    /// What the user should know.
    #[serde(default)]
    pub notes: Vec<Note>,
}
