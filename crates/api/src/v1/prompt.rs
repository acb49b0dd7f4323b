//! Prompts: what is asked of an assembly, and the prompt with the trace of every decision.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{EventSeq, LedgerId, Party, SessionId};

use super::{
    Note, PromptDecision, PromptTrace, PromptTraceSummary, ProviderApi, ProviderMessages, TraceDetail,
};
use crate::RawJson;

/// Bytes of a strategy or a profile at most.
pub const PROMPT_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Bytes of what a user says in a request at most.
pub const SAID_BYTES_MAX: u64 = 1024 * 1024;

/// Which strategy. A file is the caller's to read: a server opens no paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StrategySource {
    /// One that comes with Stemmata: `planner`, `worker`, `validator`, `live`.
    Name(String),
    /// The text of one: JSON or TOML.
    Text(String),
}

/// What begins the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PromptTrigger {
    /// An event of the ledger, by its number.
    Event(EventSeq),
    /// What a user says, which is not in the ledger.
    Said(String),
}

/// Asks for the prompt of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AssembleRequest {
    /// The ledger that the sources read.
    pub ledger: LedgerId,
    /// The session whose turns the prompt may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Which sources, and the budget.
    pub strategy: StrategySource,
    /// Who the agent is: the text of a profile, JSON or TOML. Absent: an agent without instructions, whose role is the
    /// strategy's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The agent's name in the ledger, in place of the profile's `id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<Party>,
    /// What begins the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<PromptTrigger>,
    /// The budget in tokens, in place of the strategy's; at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// What counts tokens: `estimate`, `utf16`, `o200k` or `cl100k`, also with a factor, as `o200k*1.180`. Absent: what is known
    /// of `model`; `estimate` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// The model that reads the prompt. One of which nothing is known needs a `counter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The last event that the model was given, for a continuation: only what came after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<EventSeq>,
    /// The last event that the prompt may have: the same number gives the same prompt. Absent: the ledger's last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<EventSeq>,
    /// What the retriever looks for; what begins the turn where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Which turn of its task it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
    /// Whether the metrics are appended to the ledger, as `CONTEXT_METRICS`, after the prompt was made.
    #[serde(default)]
    pub records_metrics: bool,
    /// How much the answer says of how the prompt came to be; `summary` where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceDetail>,
    /// The API whose request the prompt is to be: the answer has it in `messages`, too. Absent: in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<ProviderApi>,
}

/// A prompt, and how it came to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Assembled {
    /// The prompt.
    pub prompt: String,
    /// What counted its tokens. The same counter gives the same prompt again.
    pub counter: String,
    /// How sure its counts are.
    pub counted: CountedBy,
    /// Every decision that led to it, where the request asked for all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<PromptTrace>,
    /// The same in numbers, where the request asked for a summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_summary: Option<PromptTraceSummary>,
    /// What it cost, in the names of the metrics event; with `trace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<RawJson>,
    /// The prompt as an API takes it, where the request to assemble it named one. That of a turn is in the turn's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<ProviderMessages>,
    /// What the user should know.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// How sure a counter's counts are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CountedBy {
    /// Where the counter's factor comes from: `exact` (the model's own encoding), `shipped` (with Stemmata), `learned` (from what
    /// providers reported) or `given` (by the caller).
    pub from: String,
    /// The pairs of answers that it was learned from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u64>,
    /// How far a count may lie below the truth, in thousandths of the count.
    pub margin_permille: u64,
}

/// Asks how a prompt came to be. Changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ContextRequest {
    /// Which prompt.
    pub of: ContextOf,
    /// Whether it is compared with an earlier one: with the kept prompt before it, or with that of `before`.
    #[serde(default)]
    pub compares: bool,
    /// Where the earlier prompt of the same agent ended, if the prompt is made anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<EventSeq>,
}

/// Which prompt is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextOf {
    /// The prompt that the last turn of a session began with, as it was kept.
    Kept(KeptPromptOf),
    /// One that is made now, and kept nowhere. Its metrics are never recorded.
    Made(Box<AssembleRequest>),
}

/// Whose kept prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KeptPromptOf {
    /// The ledger.
    pub ledger: LedgerId,
    /// The session; absent: the one of which a prompt was kept last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The model that reads the prompt, for its window and for what images count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// How a prompt came to be, and what changed since an earlier one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ContextReport {
    /// The session, of a kept prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The event that began the turn, of a kept prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<EventSeq>,
    /// What counted its tokens; absent of prompts that were kept before it was written down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// Every decision that led to it.
    pub trace: PromptTrace,
    /// The same of the earlier prompt; absent where none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<PromptTrace>,
    /// Every candidate of either prompt, in the order of the later one; empty where no earlier one was asked for.
    #[serde(default)]
    pub changes: Vec<ContextChange>,
    /// What is known of the window of the model that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<ModelWindow>,
    /// The images of the messages in the prompt; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<ContextImages>,
    /// What the user should know.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// A model's window, and when clients compact in it by themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ModelWindow {
    /// The model, as it was asked about.
    pub model: String,
    /// Tokens of its window; absent where no source says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Where that comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether it is the window of the model's family, since no source says the model's own; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// The clients that run such models and whose threshold is known.
    pub clients: Vec<ClientWindow>,
}

/// A client's own compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ClientWindow {
    /// The client.
    pub client: String,
    /// Tokens of the window that it uses, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The tokens at which it compacts; absent where only its user sets that, or its window is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compacts_at: Option<u64>,
    /// Where that comes from.
    pub source: String,
    /// Whether the window is only assumed, as of the model's family; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
}

/// The images of the messages in a prompt. The prompt only names them, so they are not among its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ContextImages {
    /// How many.
    pub count: u64,
    /// Of these, those whose size is known.
    pub sized: u64,
    /// What they would count if they were sent along: by their sizes and by the model.
    pub tokens: u64,
}

/// A candidate in two prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ContextChange {
    /// What names it.
    pub id: String,
    /// What became of it in the earlier prompt; absent where it was no candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<PromptDecision>,
    /// What became of it in the later one; absent if it is not a candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<PromptDecision>,
    /// Tokens in the earlier prompt.
    pub tokens_before: u64,
    /// Tokens in the later one.
    pub tokens_after: u64,
    /// Whether its text is the same in both, byte for byte; false where a text was too long to keep.
    pub is_same_text: bool,
}
