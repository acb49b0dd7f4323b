//! Wire types of commits and of what stands beside them.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{
    ArtifactId, Closure, CommitId, EntryId, FormatId, LedgerId, MachineId, Principal, Reason, Role,
    RulesHash, SessionId, SummarySource, Template, ThreadId, TicketId, Timestamp, Trigger,
};

use super::{Link, OverviewTurn, SessionOverview, ShownTurn, Source, TreeRun, TreeSubagent};
use crate::PageRequest;

/// Bytes of one checkpoint's content at most: a delta is kilobytes, a whole context of today's largest windows some megabytes.
pub const CONTENT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// A commit: what is hashed, what is derived, and its first sighting as provenance. Ids are always whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Commit {
    /// `ctx-…`
    pub id: CommitId,
    /// The commit before; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<CommitId>,
    /// `delta`, `compaction` or `snapshot`.
    pub commit_type: CommitType,
    /// For a snapshot: how many of its leading entries the parent chain says already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restated_entries: Option<u64>,
    /// `art-…`: the entries since the parent, the summary prefix, or the whole context.
    pub artifact: ArtifactId,
    /// `art-…`: the transcript's own bytes of this place, where they are not the artifact itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub native: Option<ArtifactId>,
    /// How the bytes are encoded.
    pub format: FormatId,
    /// What kind of agent it was.
    pub template: Template,
    /// The greatest time of its records, RFC 3339 in UTC.
    pub created_at: Timestamp,
    /// Who ran it: `<user>@<machine>/<runtime>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
    /// Where: the machine's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineId>,
    /// The session that it was captured in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// What made it happen: `turn_boundary`, `tool_call`, `compaction`, `session_end` or `explicit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Trigger>,
    /// The ticket being worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket_id: Option<TicketId>,
    /// The discussion thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
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
    pub closure: Closure,
    /// The redaction rules that its bytes went through: their hash in hex.
    pub rules: RulesHash,
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
    pub children: Option<Vec<CommitId>>,
    /// With `show`: changes of summary, tags, notes and pin, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<Vec<Audit>>,
    /// With `show --entries`: its own entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<Entry>>,
    /// In a folded tree: the commits between the node before and this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<TreeRun>,
    /// With `log REF`, where a prompt of a person is in it: the number of the first one, as in `SESSION:N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u64>,
    /// In a folded tree: the subagents that it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagents: Option<Vec<TreeSubagent>>,
    /// With `show`: what was said and done in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<Box<ShownTurn>>,
    /// With `show SESSION`, whose newest commit this is: the session at a glance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overview: Option<Box<SessionOverview>>,
    /// With `tree`: the turns in it. One that has a number begins with a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Vec<OverviewTurn>>,
    /// With `tree`, of a transcript with branches: the commit that it continues, where that is not its parent. `parent` is what
    /// stands before it in the transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<CommitId>,
    /// With `tree`: whether it begins on a branch beside the way to the end of the trunk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_beside: bool,
}

/// A summary and who wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Summary {
    /// The text.
    pub text: String,
    /// `given`, `llm`, or `heuristic` where it was derived from the entries by rule.
    pub source: SummarySource,
}

/// Where, when and by whom a commit was captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Sighting {
    /// Who ran it.
    pub principal: Principal,
    /// Where: the machine's id.
    pub machine: MachineId,
    /// The session.
    pub session_id: SessionId,
    /// What made it happen.
    pub checkpoint: Trigger,
    /// The rules by which it was due: `context_size_threshold`, `phase_transition`, `task_milestone`, `risky_operation`,
    /// `time_interval`, `emergency`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
    /// The ticket being worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket_id: Option<TicketId>,
    /// The discussion thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<ThreadId>,
    /// A configured name for the kind of agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_alias: Option<Template>,
    /// When it was captured, by that machine's clock.
    pub observed_at: Timestamp,
    /// The bytes of a transcript that it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// A change of what stands beside a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Audit {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Principal,
    /// What: `summary`, `add_tag`, `remove_tag`, `add_note`, `pin` or `unpin`.
    pub change: String,
    /// The text, tag or note that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An entry of a conversation, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Entry {
    /// Its id, for `--at`.
    pub id: EntryId,
    /// The entry before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<EntryId>,
    /// `system`, `user`, `assistant` or `tool`.
    pub role: Role,
    /// `message`, `tool_result`, `compaction_summary`, `metadata` and so on.
    pub kind: String,
    /// When it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
    /// Its text or the tools that it calls, on one line, cut to 120 characters.
    pub text: String,
}

/// Commits of a listing, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CommitPage {
    /// The commits.
    pub commits: Vec<Commit>,
    /// Where the listing continues (`--skip`); absent if it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_skip: Option<u64>,
}

/// Asks for commits, newest first, all sessions together. With several fields: those for which all are true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CommitsRequest {
    /// Only those of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Only those that this one ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
    /// Only those of this ticket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<TicketId>,
    /// Only those of this thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// Only those in this format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<FormatId>,
    /// Only those made at this time or later, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only those made before this time, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Only those whose summary is from here: `heuristic` finds those that nobody wrote one for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_source: Option<SummarySource>,
    /// Which part of the list.
    #[serde(default = "PageRequest::first")]
    pub page: PageRequest,
}

/// Commits, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CommitsFound {
    /// The commits.
    pub commits: Vec<Commit>,
    /// Where the listing continues; absent if it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Commits that continue one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Children {
    /// The commit that they continue.
    pub of: CommitId,
    /// In the order in which they were stored.
    pub commits: Vec<Commit>,
    /// Where the listing continues; absent if it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The nearest checkpoints at or before a point in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Resolved {
    /// The point in time.
    pub at: Timestamp,
    /// One, or several on different branches that share that time.
    pub commits: Vec<Commit>,
}

/// Asks how short ids may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShortIdsRequest {
    /// Whole ids of commits of one output.
    #[serde(default)]
    pub ids: Vec<CommitId>,
    /// Whole ids of sessions.
    #[serde(default)]
    pub sessions: Vec<SessionId>,
}

/// How short ids may be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ShortIds {
    /// Characters at which each of the commits' ids names one commit of the store.
    pub chars: u64,
    /// The shortest reference to each of the sessions, in the order of the request.
    #[serde(default)]
    pub sessions: Vec<String>,
}

/// Asks for everything that is known about a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ShowRequest {
    /// The commit.
    pub ctx: String,
    /// Whether its own entries are wanted too.
    #[serde(default)]
    pub entries: bool,
}

/// Asks for a commit and its ancestors, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HistoryRequest {
    /// The commit to start from.
    pub ctx: String,
    /// Whether prompts are numbered; it reads the whole chain.
    #[serde(default)]
    pub numbered: bool,
    /// How many to leave out first.
    #[serde(default)]
    pub skip: u64,
    /// How many at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Asks for the commits that continue one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChildrenRequest {
    /// The commit.
    pub ctx: String,
    /// Which part of them.
    #[serde(default = "PageRequest::first")]
    pub page: PageRequest,
}

/// Asks for the ends of branches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TipsRequest {
    /// Only those of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Only those of this ticket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// Only those of this thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// How many to leave out first.
    #[serde(default)]
    pub skip: u64,
    /// How many at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Asks for the nearest checkpoints at or before a point in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    /// Whose.
    pub scope: ResolveScope,
    /// The point in time, RFC 3339.
    pub at: Timestamp,
}

/// Asks to store a commit for a program. Its content comes beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckpointRequest {
    /// The commit before; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// What the content is.
    pub commit_type: CommitType,
    /// For a snapshot: how many of its leading entries the parent chain says already.
    #[serde(default)]
    pub restated_entries: u64,
    /// A content that is stored already; then none comes beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactId>,
    /// How the content is encoded.
    pub format: FormatId,
    /// What kind of agent it was.
    pub template: Template,
    /// Who ran it; the store's own user where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub principal: Option<Principal>,
    /// Where it ran; the store's own machine where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineId>,
    /// The session that it belongs to.
    pub session: SessionId,
    /// What made it happen.
    pub trigger: Trigger,
    /// The ticket being worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<TicketId>,
    /// The discussion thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// What the agent understood, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Messages in the content, as the caller counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Tokens of the content, as the caller counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// When it happened, RFC 3339; the present where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// A name for this checkpoint within the session: with the same one it is stored once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The ledger whose memory is folded and saved afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerId>,
}

/// Whose checkpoints are meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResolveScope {
    /// Those of one principal.
    Principal(String),
    /// Those of one session.
    Session(String),
    /// Those of sessions that worked in this directory or below it.
    Project(String),
}

/// What a commit's content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(inline))]
#[serde(rename_all = "snake_case")]
pub enum CommitType {
    /// The entries since the parent.
    Delta,
    /// A summary that stands for what came before.
    Compaction,
    /// A whole context.
    Snapshot,
}
