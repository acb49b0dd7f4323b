//! What a bundle holds, and how much of it a reader takes in without being told to.

use std::collections::BTreeSet;

use stemmata_model::{CommitId, FormatId, MachineId, RulesHash};
use stemmata_store::{DEPTH_MAX, Session};

/// Commits of one bundle at most, unless the caller allows more: each takes some 100 bytes of memory.
pub const BUNDLE_COMMITS_MAX: u64 = 1_000_000;

/// Bytes that the contents of one bundle may have at most, unless the caller allows more.
pub const BUNDLE_CONTENT_BYTES_MAX: u64 = 16 * 1024 * 1024 * 1024;

/// Bounds that a caller may raise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleLimits {
    /// Commits.
    pub commits_max: u64,
    /// Commits of one chain.
    pub chain_max: u64,
    /// Bytes of all contents together, uncompressed and each range counted; none bounds them by the bundle's length
    /// and [`BUNDLE_CONTENT_BYTES_MAX`].
    pub content_bytes_max: Option<u64>,
}

impl Default for BundleLimits {
    fn default() -> Self {
        Self { commits_max: BUNDLE_COMMITS_MAX, chain_max: DEPTH_MAX, content_bytes_max: None }
    }
}

/// What a bundle holds, told without its contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BundleSummary {
    /// The commits that it was made for.
    pub tips: Vec<CommitId>,
    /// Commits that it continues and does not hold.
    pub prerequisites: Vec<CommitId>,
    /// Commits.
    pub commits: u64,
    /// Those whose contents were forgotten where the bundle was made.
    pub forgotten: u64,
    /// Contents.
    pub contents: u64,
    /// Contents that the receiver needs to have.
    pub needed_contents: u64,
    /// Bytes of content that it holds, uncompressed.
    pub content_bytes: u64,
    /// Bytes of the bundle.
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
    /// Files that clients keep beside transcripts.
    pub sidecars: u64,
    /// Of the commits, the states of these files.
    pub sidecar_commits: u64,
    /// The first thousand sessions.
    pub sessions: Vec<Session>,
    /// Formats of its commits.
    pub formats: BTreeSet<FormatId>,
    /// Machines that its commits were seen on.
    pub machines: BTreeSet<MachineId>,
    /// Redaction rules that its commits went through.
    pub rules: BTreeSet<RulesHash>,
    /// Commits whose ids could not be computed again, because a part of their content is only in the receiver's store.
    pub unchecked: u64,
}
