//! Wire types of compactions that are asked for.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, FormatId, SessionId};

use super::Note;

/// Bytes of a summary that stands for a chain at most: far more than any model takes as one message.
pub const SUMMARY_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Asks to make a compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CompactRequest {
    /// The commit whose context is compacted.
    pub ctx: String,
    /// The session whose newest commit that is, where a session was named: the compaction is found as its, and with `again` its
    /// newest one counts, also one that was made on a branch beside its chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The summary, where the caller wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What makes it otherwise; absent: `heuristic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub with: Option<SummaryWith>,
    /// What such a summary should look at, in the caller's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// Only these entries, where the format can keep what is around them; absent: all but the recent ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<CompactRange>,
    /// Tokens of the summary as a share of those it is made of, in thousandths, from 1 to 1000; absent: a tenth, and 2,000 tokens
    /// at least as far as these are a quarter, but at most an eighth of the window and a quarter of what it replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_permille: Option<u32>,
    /// Tokens at the end that stay as they are, where the format can keep them; absent: what `window.keep_recent_tokens` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_tokens: Option<u64>,
    /// Compacts once more what the newest compaction of the chain, or of the session, stands for, on a branch beside it: the same
    /// entries, unless `range` or `keep_tokens` says otherwise, or it kept nothing at the end.
    #[serde(default)]
    pub again: bool,
    /// Stores no compaction: the answer says what would come of it. A model is asked all the same.
    #[serde(default)]
    pub dry_run: bool,
}

impl CompactRequest {
    /// Asks to compact all but the recent entries of a commit's context, without a model.
    pub fn of(ctx: impl Into<String>) -> Self {
        Self {
            ctx: ctx.into(),
            session: None,
            summary: None,
            with: None,
            focus: None,
            range: None,
            ratio_permille: None,
            keep_tokens: None,
            again: false,
            dry_run: false,
        }
    }
}

/// What makes a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SummaryWith {
    /// Nothing: only pins stay, and where everything can be read.
    Off,
    /// Counters of names, files, commands and errors; the same entries give the same text.
    Heuristic,
    /// The configured model, above what `heuristic` makes. If it fails, that stands alone.
    Llm,
}

/// Some entries of a context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CompactRange {
    /// The first: an id, or `@N`.
    pub from: String,
    /// The one behind the last: an id, or `@N`.
    pub to: String,
}

/// A compaction that was made, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Compacted {
    /// The compaction commit; absent where nothing was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<CommitId>,
    /// The commit that it stands for.
    pub parent: CommitId,
    /// The format of its record.
    pub format: FormatId,
    /// Tokens of the window's entries before, as `guard` counts them; estimated where it cannot.
    pub tokens_before: u64,
    /// Tokens of the window's entries after, counted by the same counter.
    pub tokens_after: u64,
    /// Bytes of the record.
    pub bytes: u64,
    /// Who wrote the summary: `given`, `off`, `heuristic`, or `model`.
    pub with: String,
    /// The session that continues from the compaction; absent if it is a branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<SessionId>,
    /// Entries of the context that stay as they are.
    pub kept_entries: u64,
    /// What the context after it no longer has.
    pub lost: LostCounts,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// How much a compaction lost; `diff` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LostCounts {
    /// Messages and tool results.
    pub entries: u64,
    /// Files that tools worked on and that are no longer named.
    pub files: u64,
    /// Commands that are no longer named.
    pub commands: u64,
    /// Decisions and constraints that are no longer stated.
    pub decisions: u64,
}
