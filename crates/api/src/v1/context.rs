//! Wire types of what gives conversations back, or changes what stands beside them.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{Closure, CommitId, FormatId, SessionId};

use super::{ExportForm, FoundRange, Losses, Note, Placed};

/// Tokens that a context is told in unless another budget is given.
pub const HANDOFF_TOKENS_DEFAULT: u64 = 8_000;

/// An agent that `start` would start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Started {
    /// The template.
    pub template: String,
    /// The runtime.
    pub runtime: String,
    /// `fresh`, `resume` (from a tip) or `fork` (from any other commit).
    pub mode: String,
    /// The client's command, program first.
    pub command: Vec<String>,
    /// The directory to run it in.
    pub cwd: String,
    /// What was placed for it; absent for a fresh start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed: Option<Placed>,
    /// What the user should know of the start itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// Asks for a transcript's own bytes up to a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NativeRequest {
    /// The commit.
    pub ctx: String,
    /// The first byte, counted from 0. Absent: from the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The byte behind the last one; beyond the end, the end. Absent: to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

impl NativeRequest {
    /// Returns the request for all bytes up to a commit.
    pub fn of(ctx: impl Into<String>) -> Self {
        Self { ctx: ctx.into(), from: None, to: None }
    }
}

/// Asks how long a transcript is up to a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NativeSizeRequest {
    /// The commit.
    pub ctx: String,
}

/// How long a transcript is up to a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct NativeSize {
    /// The commit.
    pub ctx: CommitId,
    /// Bytes. Absent for a transcript that is one document and has to be joined from several commits: that is known only
    /// when it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// The transcript's own bytes, written out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Native {
    /// The commit.
    pub ctx: CommitId,
    /// Bytes written.
    pub bytes: u64,
    /// The file; absent where it went to standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A context, written out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Materialized {
    /// The commit; absent for the empty context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<CommitId>,
    /// `compaction`, `root`, or the ancestor.
    pub stop: String,
    /// The format of the bytes.
    pub format: FormatId,
    /// How well they keep what they were made from: `native`, `upgraded`, `transcoded`, `rendered` or `raw`.
    pub tier: String,
    /// Bytes written.
    pub bytes: u64,
    /// Messages of the result.
    pub message_count: u64,
    /// Estimated tokens of the result.
    pub token_count: u64,
    /// Entries of the result.
    pub entry_count: u64,
    /// Commits that were read.
    pub commits_read: u64,
    /// Entries left out because they are on abandoned branches.
    pub abandoned_entries: u64,
    /// Compactions that were skipped.
    pub skipped_compactions: u64,
    /// Entries that are hidden from the model; `stop` `root` has them.
    #[serde(default)]
    pub hidden_entries: u64,
    /// Entries that got another parent.
    pub reparented: Vec<Reparented>,
    /// What a translation changed and dropped; absent where nothing was translated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
    /// What degraded the result.
    pub notes: Vec<Note>,
    /// The file; absent where it went to standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A conversation, written for people or for other programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Exported {
    /// The commit.
    pub ctx: CommitId,
    /// `root`, `compaction`, or the ancestor.
    pub stop: String,
    /// `html`, `markdown`, `atif`, `acp` or `otel-genai`.
    pub format: String,
    /// Bytes written.
    pub bytes: u64,
    /// Entries of the conversation, including those that are not shown.
    pub entry_count: u64,
    /// What degraded the result.
    pub notes: Vec<Note>,
    /// The file; absent where it went to standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// An entry whose parent is not part of a context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Reparented {
    /// The entry.
    pub entry: String,
    /// Its parent in the context; absent for the first entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// A session summarized as text within a budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Handoff {
    /// The commit.
    pub ctx: CommitId,
    /// `compaction`, `root`, or the ancestor.
    pub stop: String,
    /// `rendered`; `raw` where the stored format is not known, and the text describes stored bytes.
    pub tier: String,
    /// Tokens that were allowed.
    pub budget_tokens: u64,
    /// Estimated tokens of the text.
    pub token_count: u64,
    /// Turns that the text shows in part or whole.
    pub turns_told: u64,
    /// Turns of the context.
    pub turns: u64,
    /// Whether the context begins with the summary of a compaction, so that these are the turns since then.
    #[serde(default)]
    pub since_compaction: bool,
    /// Texts, calls and results that are shown whole.
    pub whole: u64,
    /// Those that are cut.
    pub cut: u64,
    /// Those that are left out.
    pub left_out: u64,
    /// The text; absent where it went to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The file; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What degraded the result.
    pub notes: Vec<Note>,
}

/// Asks about the last compaction of a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LastCompactionRequest {
    /// The commit that the chain ends at.
    pub ctx: String,
    /// The session whose newest commit that is, where a session was named: then its newest compaction counts, also one that was
    /// made on a branch beside its chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// The context from before a compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Uncompacted {
    /// The commit just before the compaction.
    pub id: CommitId,
    /// Its context; absent where none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Materialized>,
    /// The compaction.
    #[serde(default)]
    pub compaction: String,
    /// What the user should know.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// What a compaction lost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Diff {
    /// The compaction.
    pub compaction: CommitId,
    /// The commit just before it.
    pub before: CommitId,
    /// Entries that were kept.
    pub kept_entries: u64,
    /// Messages and tool results that are gone, oldest first.
    pub lost_entries: Vec<LostEntry>,
    /// Files that tools worked on, and that the context after does not name.
    pub lost_files: Vec<String>,
    /// Files that the context after still names.
    pub kept_files: Vec<String>,
    /// Files, folders and patterns that commands may have touched, and that the context after does not name.
    pub unsure_files: Vec<String>,
    /// Commands that were run, and that the context after does not name.
    pub lost_commands: Vec<String>,
    /// Decisions and constraints that the context after does not say.
    #[serde(default)]
    pub lost_decisions: Vec<String>,
    /// What errors said that the context after does not say.
    #[serde(default)]
    pub lost_errors: Vec<String>,
    /// What the user should know.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// An entry that the context after a compaction no longer has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LostEntry {
    /// Its id.
    pub id: String,
    /// Who spoke.
    pub role: String,
    /// What it was for.
    pub kind: String,
    /// Its text, or the tools that it called, on one line.
    pub text: String,
}

/// A commit that was stored for a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Checkpointed {
    /// The commit.
    pub id: CommitId,
    /// Whether it was there before.
    pub existed: bool,
    /// What degraded the result.
    pub notes: Vec<Note>,
}

/// A commit's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Named {
    /// The commit.
    pub id: CommitId,
    /// The session that it was captured in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// `closed`, or `provisional` where the turn is open.
    pub closure: Closure,
}

/// A commit whose metadata was changed, as it stands now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Changed {
    /// The commit.
    pub id: CommitId,
    /// Its summary.
    pub summary: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its notes.
    pub notes: Vec<String>,
    /// Whether it is protected.
    pub pinned: bool,
    /// Tags that were added and that other commits have too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags_shared: Option<Vec<SharedTag>>,
}

/// A tag that several commits have, so that it names none of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SharedTag {
    /// The tag.
    pub tag: String,
    /// How many commits have it; at most 1000 are counted.
    pub commits: u64,
}

/// Asks to store a commit's context as a commit of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SnapshotRequest {
    /// The commit.
    pub ctx: String,
    /// Where the context begins: `compaction`, `root`, or an ancestor.
    pub stop: String,
}

/// Asks to change what stands beside a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UpdateRequest {
    /// The commit.
    pub ctx: String,
    /// Its new summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Tags to add.
    #[serde(default)]
    pub add_tags: Vec<String>,
    /// Tags to remove.
    #[serde(default)]
    pub remove_tags: Vec<String>,
    /// Notes to add.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Whether it is to be protected from collection; absent: as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<bool>,
    /// A discussion thread that it belongs to, beside those that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// A ticket that it was made for, beside those that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
}

/// Asks for a context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MaterializeRequest {
    /// The commit; absent for the empty context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<String>,
    /// End at this entry, as a fork there would: with it, or before it where it is a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Where the context begins: `compaction`, `root`, or an ancestor.
    pub stop: String,
    /// The format of the bytes; absent: the stored one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Tokens that a rendered text may have, where the format cannot be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
}

/// Asks for a conversation, written for people or for other programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExportRequest {
    /// The commit.
    pub ctx: String,
    /// Where it begins: `compaction`, `root`, or an ancestor.
    pub stop: String,
    /// What to write.
    pub form: ExportForm,
    /// Only the turns of these prompts; absent for all of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<FoundRange>,
}

/// Asks to summarize a context within a budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HandoffRequest {
    /// The commit.
    pub ctx: String,
    /// Where it begins: `compaction`, `root`, or an ancestor.
    pub stop: String,
    /// Tokens that the text may have.
    pub budget_tokens: u64,
    /// Who reads it. A pull request and a commit are told whole, whatever `stop` and `budget_tokens` say.
    #[serde(default = "HandoffReader::agent", rename = "for")]
    pub reader: HandoffReader,
}

/// Who reads what a session hands over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HandoffReader {
    /// Another agent, which goes on.
    Agent,
    /// A reviewer: the title of a pull request, an empty line, and its description as Markdown.
    Pr,
    /// Readers of the history: the subject of a commit, an empty line, and its body, wrapped at 72 columns.
    Commit,
}

impl HandoffReader {
    const fn agent() -> Self {
        Self::Agent
    }
}
