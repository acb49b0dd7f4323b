//! Wire types of the store itself: its size, its health, its versions.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, MachineId, SessionId};

use crate::PlanDigest;

/// What `verify` checked and found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Verify {
    /// Whether all is well.
    pub ok: bool,
    /// Contents whose hash was recomputed.
    pub contents: u64,
    /// Commits whose id, parent, depth and length were recomputed.
    pub commits: u64,
    /// Those of them that are states of files beside transcripts.
    #[serde(default)]
    pub sidecar_commits: u64,
    /// Sightings, timelines and links whose ends were looked up.
    pub references: u64,
    /// Files of packs that nothing refers to, as a crash leaves them; the next packing removes them.
    pub leftover_files: u64,
    /// Byte of the log at which a last transaction begins that is not whole, as a crash leaves it before anything
    /// of it is promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished_log_at: Option<u64>,
    /// Rows of metadata that are not what was written, and that a repair kept as they are: nothing gave them back.
    pub kept_rows: u64,
    /// Everything that is wrong, after a repair what still is.
    pub damages: Vec<Damage>,
    /// How many more there are that are not listed.
    pub damages_unlisted: u64,
    /// What `--repair` repaired.
    pub repaired: Vec<Repaired>,
}

/// One thing that was repaired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Repaired {
    /// The content, the pack or the part of the database.
    pub object: String,
    /// Where the sound bytes came from, or how it was recomputed.
    pub from: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Damage {
    /// Stable name of the check.
    pub check: String,
    /// The commit or artifact that it is about.
    pub object: String,
    /// What is wrong.
    pub message: String,
}

/// How much there is, and what it takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Du {
    /// Native bytes of all commits, each counted once: what was captured.
    pub logical_bytes: u64,
    /// Bytes of all files of the store.
    pub physical_bytes: u64,
    /// Bytes that are distinct, uncompressed.
    pub distinct_bytes: u64,
    /// Bytes that these take, compressed; the rest of the files is metadata, indexes and free pages.
    pub content_bytes: u64,
    /// Of these, bytes that wait to be packed.
    pub inbox_bytes: u64,
    /// Of these, bytes of pack files.
    pub packed_bytes: u64,
    /// Pack files.
    pub packs: u64,
    /// Commits, those of files beside transcripts aside.
    pub commits: u64,
    /// Sessions.
    pub sessions: u64,
    /// Files that clients keep beside transcripts.
    #[serde(default)]
    pub sidecars: u64,
    /// Bytes of all their states; `logical_bytes` counts them too.
    #[serde(default)]
    pub sidecar_bytes: u64,
    /// Distinct contents.
    pub contents: u64,
    /// Bytes of the search index, which is not part of the store and can be rebuilt; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_bytes: Option<u64>,
}

/// What the chains of sessions take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DuChains {
    /// The chains, the one that takes most first.
    pub chains: Vec<DuChain>,
    /// All that match, also those that `-n` leaves out.
    pub total: DuTotal,
    /// What the files beside their transcripts take; `total` leaves it out.
    pub sidecars: DuSidecars,
}

/// What the files take that clients keep beside transcripts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DuSidecars {
    /// Files.
    pub files: u64,
    /// Bytes of all their states.
    pub logical_bytes: u64,
    /// Bytes that they take.
    pub stored_bytes: u64,
    /// Of these, bytes in packs.
    pub packed_bytes: u64,
}

/// What a session's chain takes. A commit counts for the chain whose session began first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DuChain {
    /// The session.
    pub session_id: SessionId,
    /// The transcript's path, or `api:<session>` for one without a file.
    pub path: String,
    /// The machine's id.
    pub machine: MachineId,
    /// For a subagent: the session that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
    /// Its first prompt, or the name that the client gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The newest commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<CommitId>,
    /// Commits that count for this chain.
    pub commits: u64,
    /// Their native bytes: what was captured.
    pub logical_bytes: u64,
    /// Bytes that they take: frames of the inbox and shares of pack blocks.
    pub stored_bytes: u64,
    /// Of these, bytes in packs.
    pub packed_bytes: u64,
    /// Commits of this chain that count for chains that began earlier.
    pub shared_commits: u64,
    /// Their native bytes.
    pub shared_logical_bytes: u64,
    /// Bytes that they take.
    pub shared_stored_bytes: u64,
    /// Where a client copied it from another session: the commit that it was copied from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<CommitId>,
}

/// What chains take together. What they share counts once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct DuTotal {
    /// Chains.
    pub chains: u64,
    /// Commits that count for them.
    pub commits: u64,
    /// Their native bytes.
    pub logical_bytes: u64,
    /// Bytes that they take.
    pub stored_bytes: u64,
    /// Of these, bytes in packs.
    pub packed_bytes: u64,
    /// Chains that clients copied from others.
    pub copies: u64,
    /// Native bytes that count for these.
    pub copies_logical_bytes: u64,
    /// Bytes that these take.
    pub copies_stored_bytes: u64,
}

/// What a backup holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BackedUp {
    /// Its folder.
    pub path: String,
    /// Commits in it.
    pub commits: u64,
    /// Bytes of its database.
    pub database_bytes: u64,
    /// Pack files in it.
    pub packs: u64,
    /// Pack files that were not there before.
    pub packs_new: u64,
    /// Bytes of all its pack files.
    pub pack_bytes: u64,
    /// Bytes of pack files that were copied; the others were there or share their bytes with the store.
    pub copied_bytes: u64,
    /// Whether an earlier backup was brought up to date.
    pub is_update: bool,
    /// Packs that the store itself lacks, or that are damaged in it; the backup is whole but for them.
    pub damages: Vec<Damage>,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Restored {
    /// The store's folder.
    pub path: String,
    /// The backup.
    pub from: String,
    /// Commits that were verified.
    pub commits: u64,
    /// Contents that were verified.
    pub contents: u64,
    /// Where the store that was there before is now; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aside: Option<String>,
    /// Whether the backup was only copied and verified, and nothing was replaced; `aside` is where the store would go.
    #[serde(default)]
    pub dry_run: bool,
}

/// What packing did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Packing {
    /// Contents that moved into packs.
    pub contents: u64,
    /// Their bytes, uncompressed.
    pub content_bytes: u64,
    /// Bytes that they took before.
    pub inbox_bytes: u64,
    /// Pack files that were made.
    pub packs: u64,
    /// Blocks in them.
    pub blocks: u64,
    /// Blocks that are compressed against the conversations that they are copies of.
    pub based_blocks: u64,
    /// Bytes of the pack files that were made.
    pub pack_bytes: u64,
    /// Contents that stay where they are because they are damaged.
    pub damaged: u64,
    /// Whether another process was packing, so that nothing was done.
    pub busy: bool,
    /// Bytes of all files of the store before.
    pub physical_bytes_before: u64,
    /// Bytes of all files of the store now.
    pub physical_bytes: u64,
}

/// What would bring the store to this version, or what was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Migration {
    /// The write version that the store had.
    pub found: u64,
    /// The newest that this program knows.
    pub newest: u64,
    /// The write version that it has now.
    pub now: u64,
    /// The steps between the two.
    pub steps: Vec<MigrationStep>,
    /// The backup that was made before; absent where nothing was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// Of a migration that was done: commits that were verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<u64>,
    /// Of a migration that was done: contents that were verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contents: Option<u64>,
    /// Of a way back to a backup: where the newer store is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aside: Option<String>,
    /// Of a way back to a backup: commits that only the newer store has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_commits: Option<u64>,
    /// Of a plan: what applying it takes; absent where nothing is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<PlanDigest>,
}

/// One step from a version to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct MigrationStep {
    /// The write version after it.
    pub to: u64,
    /// `additive` or `rewriting`; `rollback` for the way back.
    pub kind: String,
    /// What it is for.
    pub about: String,
}

/// Asks what the chains of sessions take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ChainCostsRequest {
    /// Only those of sessions that worked in this directory or below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How many are listed at most; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Asks to pack what waits for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PackRequest {
    /// The level of compression; absent: the store's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u64>,
}
