//! Wire types of bundles.

use std::collections::BTreeSet;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, FormatId, MachineId, RulesHash};

use super::{Note, Session};

/// Commits that a bundle may have unless its reader asks for more or fewer.
pub const BUNDLE_COMMITS_MAX: u64 = 1_000_000;

/// A bundle that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BundleExported {
    /// The file; absent where it went to standard output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The commits that it was made for.
    pub tips: Vec<CommitId>,
    /// Commits in it.
    pub commits: u64,
    /// Commits of the same chains that the receiver has.
    pub known_commits: u64,
    /// Commits that the receiver must have.
    pub prerequisites: Vec<CommitId>,
    /// How many sessions the bundle holds.
    pub sessions: u64,
    /// Files beside their transcripts.
    #[serde(default)]
    pub sidecars: u64,
    /// Of the commits, the states of these files.
    #[serde(default)]
    pub sidecar_commits: u64,
    /// Bytes of content, uncompressed.
    pub content_bytes: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A bundle that was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BundleImported {
    /// The commits that it was made for.
    pub tips: Vec<CommitId>,
    /// Commits in it.
    pub commits: u64,
    /// Those that were not here.
    pub new_commits: u64,
    /// Those that were here.
    pub known_commits: u64,
    /// Those that were not taken: they were forgotten here, or continue such a one.
    pub skipped_commits: u64,
    /// How many sessions the import added or completed.
    pub sessions: u64,
    /// Files beside their transcripts that are new or have another state.
    #[serde(default)]
    pub sidecars: u64,
    /// Links of which only one end is here.
    pub links_left_out: u64,
    /// Bytes of content that were not here, uncompressed.
    pub new_bytes: u64,
    /// Bytes that they take in the store.
    pub stored_bytes: u64,
    /// New commits that were scrubbed of secrets by other rules than those in force here.
    pub other_rules_commits: u64,
    /// Whether nothing was stored because only checking was asked for.
    pub dry_run: bool,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What is in a bundle that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BundleShown {
    /// The commits that it was made for.
    pub tips: Vec<CommitId>,
    /// Commits that it continues and does not hold.
    pub prerequisites: Vec<CommitId>,
    /// Commits.
    pub commits: u64,
    /// Those whose contents were forgotten where it was made.
    pub forgotten: u64,
    /// Contents.
    pub contents: u64,
    /// Contents that the receiver needs to have.
    pub needed_contents: u64,
    /// Commits whose ids can only be checked where these are.
    pub unchecked: u64,
    /// Bytes of content, uncompressed.
    pub content_bytes: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Where commits were seen.
    pub sightings: u64,
    /// Changes of summaries, tags, notes and pins.
    pub changes: u64,
    /// Links.
    pub links: u64,
    /// Placements.
    pub placements: u64,
    /// Sessions.
    pub session_count: u64,
    /// Files beside their transcripts.
    #[serde(default)]
    pub sidecars: u64,
    /// Of the commits, the states of these files.
    #[serde(default)]
    pub sidecar_commits: u64,
    /// The first thousand of them.
    pub sessions: Vec<Session>,
    /// Formats of its commits.
    pub formats: BTreeSet<FormatId>,
    /// Machines that its commits were seen on.
    pub machines: BTreeSet<MachineId>,
    /// Hashes of the redaction rules that its commits went through.
    pub rules: BTreeSet<RulesHash>,
}

/// What a store has, for `bundle export --have` on another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct BundleHave {
    /// Ends of chains, and some of the commits before them.
    pub commits: Vec<CommitId>,
}

/// Asks for a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BundleExportRequest {
    /// The commits that it is made for.
    #[serde(default)]
    pub commits: Vec<String>,
    /// Instead of them: all sessions that worked in this directory or below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether everything is wanted.
    #[serde(default)]
    pub all: bool,
    /// Commits that the receiver has.
    #[serde(default)]
    pub have: Vec<CommitId>,
}

/// Asks to take in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BundleImportRequest {
    /// Commits that it may have; absent: the bound of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits_max: Option<u64>,
    /// Bytes of content that it may have; absent: the bound of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_bytes_max: Option<u64>,
    /// Whether it is only checked.
    #[serde(default)]
    pub dry_run: bool,
}

/// Asks what is in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BundleShowRequest {
    /// Commits that it may have; absent: the bound of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits_max: Option<u64>,
    /// Bytes of content that it may have; absent: the bound of the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_bytes_max: Option<u64>,
}

/// Asks what a store has, so that a bundle leaves it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BundleHaveRequest {
    /// The commits whose chains are meant.
    #[serde(default)]
    pub commits: Vec<String>,
    /// Instead of them: all sessions that worked in this directory or below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether everything is meant.
    #[serde(default)]
    pub all: bool,
}
