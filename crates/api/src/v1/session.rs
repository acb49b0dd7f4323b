//! Wire types of sessions and trees.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, FormatId, Granularity, MachineId, Principal, SessionId, Template, Timestamp};

use super::Commit;
use crate::PageRequest;

/// A session: one transcript on one machine, or what a program checkpointed under one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Session {
    /// The runtime's own id.
    pub session_id: SessionId,
    /// The transcript's path, or `api:<session>` for one without a file.
    pub path: String,
    /// The machine's id.
    pub machine: MachineId,
    /// For a subagent: the session that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
    /// The client that wrote it.
    pub client: String,
    /// The shortest reference that means it: the first or the last characters of its id; the id of its newest commit where
    /// another copy of the session is the better one. In listings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_id: Option<String>,
    /// Its commits, where each of them is a turn. Prompts, which `SESSION:N` counts, are fewer: a turn may begin with a
    /// client's own command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// With `folded`: copies of it that nobody used, which have no rows of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forks: Option<u64>,
    /// How its transcript is encoded.
    pub format: FormatId,
    /// What kind of agent it was.
    pub template: Template,
    /// Who ran it.
    pub principal: Principal,
    /// How often closed commits are made: `turn`, `message` or `every:N`.
    pub granularity: Granularity,
    /// `imported`, `placed` (by `resume` or `fork`) or `api`.
    pub origin: String,
    /// For a placed one: the commit that it was placed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placed_from: Option<CommitId>,
    /// Its first prompt, or the name that the client gave it, on one line without what clients and Markdown put around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The name of its project, as `list` shows it: the repository's, `repo/2` in a worktree of it, else that of the directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The git branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<String>,
    /// The version of the runtime that wrote it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The earliest record, RFC 3339 in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The latest record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Timestamp>,
    /// The newest commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<CommitId>,
    /// Commits of the chain from the root to the tip.
    pub commits: u64,
    /// Messages in the chain.
    pub messages: u64,
    /// Bytes of the chain.
    pub bytes: u64,
    /// With `log`: the newest commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip_commit: Option<Commit>,
    /// With `log`: compactions in its chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compactions: Option<u64>,
    /// With `log`, where its chain is long: whether only the newest commits were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compactions_cut: Option<bool>,
    /// With `log`: subagents' sessions that belong to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagents: Option<u64>,
    /// With `list` and `log`, where a client copied it from another session: the commit that it was copied from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<CommitId>,
    /// With `list`: prompts of people, as `SESSION:N` counts them. Like the two below absent where its chain was not read for that
    /// yet: a listing reads a bound of what is new, the newest sessions first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<u64>,
    /// With `list`: seconds of work, without pauses over ten minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_seconds: Option<u64>,
    /// With `list`: how its last turn ended, as in an outline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// With `list`: `true` where its transcript is gone, so that only this store has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_here: Option<bool>,
    /// Where it was captured by another machine than the store's: that machine's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_machine: Option<String>,
    /// With `list` and `log`, where reading of its transcript stopped at a line that is too long: where that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedReading>,
}

/// Where reading of a transcript stopped before its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct StoppedReading {
    /// The last line that was read, 1 = first; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Bytes of the transcript that were read.
    pub read_bytes: u64,
    /// Bytes that it has.
    pub bytes: u64,
    /// The same in words.
    pub what: String,
}

/// Sessions, the one with the latest activity first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<Session>,
    /// Where the listing continues; absent if it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A whole tree, parents before children; the first node is the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Tree {
    /// The commits.
    pub nodes: Vec<Commit>,
    /// Whether there is more than is shown.
    pub is_cut: bool,
    /// The session that the root was captured in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
}

/// Commits of which each continues the one before, and nothing else happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TreeRun {
    /// How many; more than one.
    pub commits: u64,
    /// Their messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The subagents that they started.
    pub subagents: Vec<TreeSubagent>,
}

/// A subagent that a commit started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TreeSubagent {
    /// Its newest commit; its first one where its session is not there.
    pub tip: CommitId,
    /// Its session, where that is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Session>,
}

/// Asks for sessions, the one with the latest activity first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SessionsRequest {
    /// Only those that worked in this directory or below it; a project's name or id as in `SearchFilter`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only those whose id begins so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_prefix: Option<String>,
    /// Only those of this client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Only those that were active at this time or later, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only those that were active last at this time or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Only those on this git branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Only those with these words in their titles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether copies that nobody used are counted in the rows of their originals, in place of rows of their own.
    #[serde(default)]
    pub folded: bool,
    /// Whether subagents' sessions are listed too.
    #[serde(default)]
    pub with_subagents: bool,
    /// Whether sessions are listed too that retention has emptied.
    #[serde(default)]
    pub with_emptied: bool,
    /// What is wanted of each beside what is known of the session itself; it takes a look at every chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<SessionDetails>,
    /// Which part of them.
    #[serde(default = "PageRequest::first")]
    pub page: PageRequest,
}

/// What is wanted of each session of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionDetails {
    /// How many prompts it has, how long it took and how it ended; and whether only this store has it.
    Figures,
    /// How many compactions and subagents it has.
    Counts,
    /// These, and its newest commit.
    CountsAndTip,
}

/// Asks for the tree that a commit is part of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TreeRequest {
    /// The commit.
    pub ctx: String,
    /// Whether it is wanted for a drawing: commits that only continue what came before are summed up in the `run` of the next
    /// one, `children` are the next ones that are drawn, and subagents are told.
    #[serde(default)]
    pub folded: bool,
    /// Whether what happened in each commit is wanted, too: its turns, and the subagents that it started.
    #[serde(default)]
    pub turns: bool,
    /// Whether commits are wanted, too, that were made for placed copies which nobody went on with.
    #[serde(default)]
    pub copies: bool,
}

impl SessionsRequest {
    /// Returns the request for all sessions that are no subagents and hold something, without details.
    pub const fn all() -> Self {
        Self {
            project: None,
            session_prefix: None,
            client: None,
            since: None,
            until: None,
            branch: None,
            title: None,
            folded: false,
            with_subagents: false,
            with_emptied: false,
            details: None,
            page: PageRequest::first(),
        }
    }
}

/// Asks for one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// Its id, a unique beginning of it, or its transcript's path.
    pub reference: String,
}

/// Asks for the session with the latest activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LatestSessionRequest {
    /// Only of those that worked in this directory or below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether any session will do where none worked there.
    #[serde(default)]
    pub or_any: bool,
}
