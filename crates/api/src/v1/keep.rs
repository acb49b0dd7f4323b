//! Wire types of what expires and deletes.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, LedgerId, SessionId};

use super::Found;
use crate::PlanDigest;

/// What was forgotten, or what would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Forget {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Ids of the sessions that are gone.
    pub sessions: Vec<SessionId>,
    /// Their titles, in the same order; empty where one has none.
    pub titles: Vec<String>,
    /// Their transcripts that clients of this machine still have: nothing of them is deleted.
    #[serde(default)]
    pub transcripts_left: Vec<String>,
    /// Stores that a restore, a rollback or a migration left beside this one: nothing of them is deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores_left: Vec<String>,
    /// Files beside their transcripts that are gone.
    #[serde(default)]
    pub sidecars: u64,
    /// Of the commits below, the states of these files.
    #[serde(default)]
    pub sidecar_commits: u64,
    /// The commit that was named, where a commit was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meant: Option<Found>,
    /// Commits that are gone.
    pub removed: Vec<CommitId>,
    /// Commits that become empty placeholders: their contents are deleted, what follows them stays.
    pub cut: Vec<CommitId>,
    /// Commits that become empty placeholders because they hold the same content as one of `cut`.
    pub cut_too: Vec<CommitId>,
    /// Commits that came here as empty placeholders, and that nothing may fill from now on.
    pub sealed: Vec<CommitId>,
    /// Commits that stay, and why.
    pub kept: Vec<Kept>,
    /// What continues from commits that stay or become placeholders.
    pub branches: Vec<ForgetBranch>,
    /// Copies that hold the same entries.
    pub copies: Vec<ForgetCopy>,
    /// Commits of copies and branches that are pinned or tagged, and so were not cut.
    pub spared: Vec<CommitId>,
    /// Commits that stay while the whole outputs of tools that they name go, since these stand in the forgotten session alone.
    pub without_outputs: u64,
    /// Ledgers of the project, all of whose events are emptied.
    pub ledgers: Vec<LedgerId>,
    /// Events that are emptied: of the sessions, of the ledgers, and those whose line was in deleted content.
    pub events: u64,
    /// Contents whose bytes are gone.
    pub contents: u64,
    /// Bytes of them, uncompressed.
    pub bytes: u64,
    /// What is left to do on disk; the next command does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
    /// In a plan: what applying it names. It stands for all of the above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<PlanDigest>,
}

/// A commit that stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Kept {
    /// The commit.
    pub id: CommitId,
    /// Why: `child`, `pin`, `tag`, `ticket` or `session`.
    pub because: String,
}

/// Something that continues from a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ForgetBranch {
    /// The commit that it continues from.
    pub from: CommitId,
    /// Its first commit; absent where a session ends there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<CommitId>,
    /// The session that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// That session's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Commits that hold the same entries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ForgetCopy {
    /// The root of their tree.
    pub root: CommitId,
    /// The commits.
    pub commits: Vec<CommitId>,
    /// The session that they belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// That session's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// How much of a forgetting was taken back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Unforgotten {
    /// Commits, sessions and transcripts that may be imported again.
    pub lifted: u64,
}

/// What was collected, or what would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Gc {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// Days that something stays condemned.
    pub grace_days: u64,
    /// Sessions that retention has expired.
    pub retired: Vec<RetiredSession>,
    /// Files beside their transcripts, which go with them.
    #[serde(default)]
    pub sidecars: u64,
    /// Provisional commits that retention has expired.
    pub provisional: u64,
    /// What this run condemned.
    pub condemned: CollectedAmount,
    /// What was condemned before, and waits for the end of its grace.
    pub waiting: CollectedAmount,
    /// What was deleted.
    pub deleted: CollectedAmount,
    /// How much was condemned and is needed again.
    pub revived: u64,
    /// Expired commits that stay, and why.
    pub kept: Vec<Kept>,
    /// Contents that were packed.
    pub packed_contents: u64,
    /// Bytes that these took before; in a plan, bytes that wait to be packed.
    pub inbox_bytes: u64,
    /// Bytes of the pack files that were made.
    pub pack_bytes: u64,
    /// Whether another process was packing, so that this was left to it.
    pub packing_busy: bool,
    /// Bytes that the store's files became smaller by.
    pub bytes_freed: u64,
    /// What is left to do on disk, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
    /// In a plan: what applying it names. It stands for what would be condemned and deleted; packing harms nothing, and more
    /// may come to be packed meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<PlanDigest>,
}

/// A session that retention has expired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RetiredSession {
    /// Its id.
    pub session_id: SessionId,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Why.
    pub because: String,
}

/// How many things, and how many bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CollectedAmount {
    /// Commits.
    pub commits: u64,
    /// Contents.
    pub contents: u64,
    /// Bytes of the contents, uncompressed.
    pub bytes: u64,
}

/// Asks to forget sessions or commits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ForgetRequest {
    /// A commit, session or tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The same as an absolute path of the asking machine; absent where it cannot be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Instead: all that worked in this directory or below it, and its ledgers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether branches and copies are cut too.
    #[serde(default)]
    pub everywhere: bool,
    /// Whether pinned and tagged commits are forgotten too.
    #[serde(default)]
    pub even_pinned: bool,
}

/// Asks to remove every tombstone left by one `forget`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UnforgetRequest {
    /// A commit, session or transcript that it forgot.
    pub reference: String,
}

/// Asks to delete what retention has expired and what nothing references.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CollectRequest {
    /// Days that something stays condemned; absent: as configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_days: Option<u64>,
}
