//! Wire types of the commands around git.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, Timestamp};

/// Where the lines of a file came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Blame {
    /// The file.
    pub path: String,
    /// The lines that were asked for, in their order.
    pub lines: Vec<BlamedLine>,
}

/// Where a line came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BlamedLine {
    /// The line (1 = first).
    pub line: u64,
    /// Its text.
    pub text: String,
    /// The commit of git that it is of; absent where it is not committed, or there is no git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// The first line of that commit's message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_summary: Option<String>,
    /// The context that its trailer names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    /// The commit that holds the tool call; absent, as all that follows, where no captured session wrote the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ctx: Option<CommitId>,
    /// How it was found: `trailer` (on the chain that git's commit names), `search`, or `neighbour` for a blank line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// The client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The entry that made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The tool, as the runtime spells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_at: Option<Timestamp>,
    /// What the user had asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// What the agent thought or said before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// What `git install` and `git uninstall` did to a repository's hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct GitHook {
    /// The hook.
    pub path: String,
    /// Whether it has to change.
    pub changed: bool,
    /// Whether it was changed.
    pub written: bool,
    /// The other hooks that are called for the same, each alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<GitHook>,
}

/// Asks where lines of a file came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BlameRequest {
    /// The file, absolute.
    pub file: String,
    /// The directory of its project: sessions that worked there, below or above are searched.
    pub project: String,
    /// All lines of the file.
    pub lines: Vec<String>,
    /// The first line that is asked for (1 = first).
    pub from_line: u64,
    /// The last one, itself included.
    pub to_line: u64,
    /// Lines whose commit a trailer in git names.
    #[serde(default)]
    pub known: Vec<KnownLine>,
}

/// A line whose commit a trailer in git names; it counts where the store has that commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct KnownLine {
    /// The line (1 = first).
    pub line: u64,
    /// The commit.
    pub ctx: String,
}
