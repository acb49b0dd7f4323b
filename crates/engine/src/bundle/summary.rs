//! How much of a bundle a reader takes in without being told to.

use stemmata_store::DEPTH_MAX;

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
