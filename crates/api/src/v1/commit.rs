//! Wire types of commits and of what stands beside them.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A commit: what is hashed, what is derived, and its first sighting as provenance. Ids are always whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Commit {
    /// `ctx-…`
    pub id: String,
    /// The commit before; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// `delta`, `compaction` or `snapshot`.
    pub commit_type: String,
    /// For a snapshot: how many of its leading entries the parent chain says already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restated_entries: Option<u64>,
    /// `art-…`: the entries since the parent, the summary prefix, or the whole context.
    pub artifact: String,
    /// `art-…`: the transcript's own bytes of this place, where they are not the artifact itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<String>,
    /// How the bytes are encoded.
    pub format: String,
    /// What kind of agent it was.
    pub template: String,
    /// The greatest time of its records, RFC 3339 in UTC.
    pub created_at: String,
    /// Who ran it: `<user>@<machine>/<runtime>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// Where: the machine's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The session that it was captured in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What made it happen: `turn_boundary`, `tool_call`, `compaction`, `session_end` or `explicit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The ticket being worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket_id: Option<String>,
    /// The discussion thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Messages in this commit.
    pub message_count: u64,
    /// Estimated tokens of what a model sees of this commit.
    pub token_count: u64,
    /// Entries of any kind in this commit.
    pub entry_count: u64,
    /// What it is about; always there.
    pub summary: Summary,
    /// Names that were given to it, ascending.
    pub tags: Vec<String>,
    /// Notes that were written about it, oldest first.
    pub notes: Vec<String>,
    /// Whether it is protected from collection.
    pub pinned: bool,
    /// `closed`; `provisional` where its turn was still open; `covered` where later commits hold its bytes too.
    pub closure: String,
    /// The redaction rules that its bytes went through: their hash in hex.
    pub rules: String,
    /// Bytes of its own native content.
    pub native_bytes: u64,
    /// Commits before it in its chain.
    pub depth: u64,
    /// Native bytes from the root up to and with it.
    pub cumulative_bytes: u64,
    /// With `show`: where it was captured; the first is its provenance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sightings: Option<Vec<Sighting>>,
    /// With `show` and `tree`: links from and to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<Link>>,
    /// With `show` and `tree`: commits that continue it, in the order in which they were stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub children: Option<Vec<String>>,
    /// With `show`: changes of summary, tags, notes and pin, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<Vec<Audit>>,
    /// With `show --entries`: its own entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<Entry>>,
}

/// A summary and who wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Summary {
    /// The text.
    pub text: String,
    /// `given`, `llm`, or `heuristic` where it was derived from the entries by rule.
    pub source: String,
}

/// Where, when and by whom a commit was captured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Sighting {
    /// Who ran it.
    pub principal: String,
    /// Where: the machine's id.
    pub machine: String,
    /// The session.
    pub session_id: String,
    /// What made it happen.
    pub checkpoint: String,
    /// The ticket being worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket_id: Option<String>,
    /// The discussion thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// A configured name for the kind of agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_alias: Option<String>,
    /// When it was captured, by that machine's clock.
    pub observed_at: String,
    /// The bytes of a transcript that it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// A range of a transcript, before secrets were replaced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Source {
    /// Its path on that machine.
    pub path: String,
    /// Bytes from the start.
    pub offset: u64,
    /// Bytes of the range.
    pub length: u64,
}

/// A link between commits that is no parent link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Link {
    /// The commit that depends.
    pub from: String,
    /// `derived_from` or `subagent`.
    pub kind: String,
    /// The commit that it depends on.
    pub to: String,
    /// The entry of `to` that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

/// A change of what stands beside a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Audit {
    /// When.
    pub at: String,
    /// Who.
    pub by: String,
    /// What: `summary`, `add_tag`, `remove_tag`, `add_note`, `pin` or `unpin`.
    pub change: String,
    /// The text, tag or note that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An entry of a conversation, in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Entry {
    /// Its id, for `--at`.
    pub id: String,
    /// The entry before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// `message`, `tool_result`, `compaction_summary`, `metadata` and so on.
    pub kind: String,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Its text or the tools that it calls, on one line, cut to 120 characters.
    pub text: String,
}

/// Commits of a listing, in its order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CommitPage {
    /// The commits.
    pub commits: Vec<Commit>,
    /// Where the listing goes on (`--skip`); absent where it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_skip: Option<u64>,
}

/// Commits that continue one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Children {
    /// The commit that they continue.
    pub of: String,
    /// In the order in which they were stored.
    pub commits: Vec<Commit>,
}

/// The nearest checkpoints at or before a point in time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Resolved {
    /// The point in time.
    pub at: String,
    /// One, or several on different branches that share that time.
    pub commits: Vec<Commit>,
}
