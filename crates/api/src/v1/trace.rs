//! The trace of a prompt, as it is answered and as it is kept: version 1. Normative: `docs/reference/strategy.md`.
//!
//! Every decision is here, and nothing of the prompt's text. Fields keep their order, so that the same prompt gives the same
//! bytes. What is kept is read again: a word of these enums never goes away, and a field that is added has a `serde(default)`.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a prompt came to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PromptTrace {
    /// The version of the trace: 1.
    pub version: u32,
    /// `full` or `continuation`.
    pub mode: String,
    /// Whose prompt it is.
    pub turn: PromptTurn,
    /// Only what came after this event is in it; absent in a full prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The last event that it could have: where the next continuation begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// What counted the tokens; absent of prompts that were kept before it was written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<String>,
    /// Sources of the strategy.
    pub sources: u64,
    /// The budget.
    pub budget: PromptBudget,
    /// The sections, in the order of the prompt.
    pub sections: Vec<PromptSection>,
    /// Every candidate once, in the order of the prompt.
    pub candidates: Vec<PromptCandidate>,
    /// Characters of the prompt.
    pub chars: u64,
    /// What the guard on characters did.
    pub truncation: PromptTruncation,
    /// What the prompt shares with the previous one; absent where none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_prefix: Option<CachedPrefix>,
}

impl PromptTrace {
    /// The version of this form.
    pub const VERSION: u32 = 1;
}

/// How much of a trace an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum TraceDetail {
    /// None of it.
    None,
    /// Counts and tokens by section and by reason, in `trace_summary`.
    Summary,
    /// All of it, in `trace`, and the `metrics` that are made of it.
    Full,
}

/// What came into a prompt and what did not, in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PromptTraceSummary {
    /// `full` or `continuation`.
    pub mode: String,
    /// Only what came after this event is in it; absent in a full prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The last event that it could have: where the next continuation begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// The budget.
    pub budget: PromptBudget,
    /// Characters of the prompt.
    pub chars: u64,
    /// Whether the guard on characters cut it.
    pub is_cut: bool,
    /// What the prompt shares with the previous one; absent where none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_prefix: Option<CachedPrefix>,
    /// The sections that had something to say, in the order of the prompt.
    pub sections: Vec<PromptSectionTotal>,
    /// What became of the candidates, and why, in the order in which it first happened.
    pub reasons: Vec<PromptReasonTotal>,
}

/// A section of a prompt in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PromptSectionTotal {
    /// Its name.
    pub id: String,
    /// Tokens of it in the prompt.
    pub tokens: u64,
    /// Tokens that all of it would take.
    pub full_tokens: u64,
    /// Messages and hits that are in the prompt.
    pub included: u64,
    /// Messages and hits that are not.
    pub left_out: u64,
}

/// The candidates for a prompt that one decision was taken about for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PromptReasonTotal {
    /// The decision.
    pub decision: PromptDecision,
    /// Why.
    pub reason: PromptReason,
    /// How many candidates.
    pub candidates: u64,
    /// Tokens of them in the prompt.
    pub tokens: u64,
    /// Tokens that all of them would take.
    pub full_tokens: u64,
}

/// Whose prompt it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PromptTurn {
    /// The ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
    /// The agent.
    pub agent: String,
    /// Its role.
    pub role: String,
    /// Which turn of its task it is; absent where nobody counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
    /// The topic of the message that began the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triggered_by: Option<String>,
    /// Who sent that message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_from: Option<String>,
    /// The id of that message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_id: Option<String>,
}

/// The budget of a prompt, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PromptBudget {
    /// Tokens that the prompt might have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Tokens that are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_tokens: Option<u64>,
    /// Tokens that required parts need beyond the budget.
    pub over_budget_tokens: u64,
    /// The sum of the parts' tokens: what the choice went by.
    pub used_tokens: u64,
    /// Tokens of the prompt counted as one text.
    pub final_tokens: u64,
}

/// What a section of a prompt had and took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PromptSection {
    /// Its name.
    pub id: String,
    /// `fixed`, `topic`, `turns`, `state`, `retrieved` or `trigger`.
    pub kind: String,
    /// Tokens that it might take before unused budget was lent.
    pub cap_tokens: u64,
    /// Tokens that were kept free for it.
    pub floor_tokens: u64,
    /// Tokens that it took.
    pub used_tokens: u64,
    /// Of these, tokens beyond its cap.
    pub lent_tokens: u64,
}

/// A candidate for a prompt, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PromptCandidate {
    /// What names it, for example `source:PLAN_READY:2`.
    pub id: String,
    /// Its section.
    pub section: String,
    /// `required`, `high`, `medium` or `low`.
    pub priority: String,
    /// Its place in the prompt, from 0.
    pub position: u64,
    /// Characters of the prompt before it.
    pub offset_chars: u64,
    /// `full`, `compact`, `skipped`, `truncated` or `dropped`.
    pub decision: PromptDecision,
    /// Why: `required`, `over_budget`, `fits`, `lent`, `only_form`, `budget`, `empty`, `trigger`, `max_chars`, `joined`.
    pub reason: PromptReason,
    /// The form that was chosen, also where it was dropped later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<PromptVariant>,
    /// Tokens of what is in the prompt.
    pub tokens: u64,
    /// Characters of what is in the prompt.
    pub chars: u64,
    /// Tokens of the full form.
    pub full_tokens: u64,
    /// Tokens of the compact form; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact_tokens: Option<u64>,
    /// Tokens that were free for it when it was decided; absent without a budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_tokens: Option<u64>,
    /// Whether all of it is in the prefix that the previous prompt has too.
    pub cached: bool,
    /// Whether messages that its source selects were left out because they are too many or too large to read.
    pub is_cut: bool,
    /// What it is made of.
    pub items: Vec<PromptItem>,
}

/// A message or hit that a candidate is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PromptItem {
    /// What names it: an event's number, an entry, `ctx-…`.
    pub id: String,
    /// Tokens of its part of the text.
    pub tokens: u64,
    /// Whether it is in the prompt.
    pub included: bool,
    /// The images that it has, which the prompt only names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<PromptImage>,
    /// How well it fits, in thousandths, of hits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_permille: Option<u64>,
    /// Why it was found, of hits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// An image of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PromptImage {
    /// Pixels from left to right; absent where its first bytes do not say its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// Pixels from top to bottom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<u32>,
}

/// What the guard on a prompt's characters did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PromptTruncation {
    /// Whether it did anything.
    pub applied: bool,
    /// Characters that the prompt might have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chars_max: Option<u64>,
    /// Characters before.
    pub before_chars: u64,
    /// Characters after.
    pub after_chars: u64,
}

/// What a prompt begins with that the previous one began with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CachedPrefix {
    /// Whole tokens.
    pub tokens: u64,
    /// Characters.
    pub chars: u64,
}

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum PromptDecision {
    /// Its whole text is in the prompt.
    Full,
    /// Its compact form is in the prompt.
    Compact,
    /// It was not chosen.
    Skipped,
    /// It was chosen, and cut by the guard on characters.
    Truncated,
    /// It was chosen, and left out by the guard on characters.
    Dropped,
}

impl PromptDecision {
    /// Returns the name used in JSON and on the terminal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Compact => "compact",
            Self::Skipped => "skipped",
            Self::Truncated => "truncated",
            Self::Dropped => "dropped",
        }
    }
}

/// Which form of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum PromptVariant {
    /// The full one.
    Full,
    /// The compact one.
    Compact,
}

/// Why a decision was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum PromptReason {
    /// It is required, and within budget and cap.
    Required,
    /// It is required, and needs more than was left of the budget.
    OverBudget,
    /// It fits within its section's cap.
    Fits,
    /// It is beyond its section's cap, on budget that nobody else used.
    Lent,
    /// The full form is empty, so the compact one stands for it.
    OnlyForm,
    /// What was left of the budget, or of the section's cap, was too little for the full form, or for either.
    Budget,
    /// Both forms are empty: its source found nothing.
    Empty,
    /// All that its source selects began the turn, and closes the prompt.
    Trigger,
    /// The prompt had too many characters.
    MaxChars,
    /// The packs count more tokens together than apart.
    Joined,
}

impl PromptReason {
    /// Returns the name used in JSON and on the terminal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::OverBudget => "over_budget",
            Self::Fits => "fits",
            Self::Lent => "lent",
            Self::OnlyForm => "only_form",
            Self::Budget => "budget",
            Self::Empty => "empty",
            Self::Trigger => "trigger",
            Self::MaxChars => "max_chars",
            Self::Joined => "joined",
        }
    }
}
