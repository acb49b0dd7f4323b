//! A summary of a context's beginning that no model made.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::CommitId;

use super::Note;

/// Asks for a summary of the beginning of a context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SummarizeRequest {
    /// The commit.
    pub ctx: String,
    /// Where the context begins: `compaction`, `root`, or an ancestor.
    pub stop: String,
    /// The full id of the entry that the context ends before; without it, the context ends with its last entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The full id of the first entry that stays in the window: all before it is summarized. Without it, everything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recent_from: Option<String>,
    /// The tokens of the summary as a share of those it is made of, in thousandths. Without it a tenth, and 2,000 tokens at least as
    /// far as these are a quarter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_permille: Option<u32>,
    /// Whether what users said is left out, of the summary and of what it is measured by: somebody else keeps it.
    pub exclude_user: bool,
}

/// A summary of the beginning of a context. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Summarized {
    /// The commit.
    pub ctx: CommitId,
    /// Entries that it was made of.
    pub entries: u64,
    /// Entries that stay in the window.
    pub recent_entries: u64,
    /// Estimated tokens that it was made of.
    pub tokens_before: u64,
    /// Tokens that it may have.
    pub tokens_max: u64,
    /// Estimated tokens of the summary.
    pub token_count: u64,
    /// What its sections show and leave out, in their order.
    pub sections: Vec<SummarySection>,
    /// The summary.
    pub text: String,
    /// What the user should know.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// A section of a summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SummarySection {
    /// `pins`, `prompts`, `tasks`, `files`, `commands`, `errors`, `notes` or `names`.
    pub name: String,
    /// Why its lines are kept.
    pub reason: String,
    /// Lines that it has.
    pub kept: u64,
    /// Lines and names that did not fit.
    pub dropped: u64,
}
