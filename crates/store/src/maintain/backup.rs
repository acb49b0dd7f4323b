//! Backups: what one holds, and what a restore did.
//!
//! Where the bytes go, and in which order, is in `docs/format/store.md`.

use std::path::PathBuf;

use crate::seam::{Damage, Verified};

/// What a backup holds, and what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackedUp {
    /// Commits in it.
    pub commits: u64,
    /// Bytes of its database.
    pub database_bytes: u64,
    /// Pack files in it.
    pub packs: u64,
    /// Pack files that were not in the folder before.
    pub packs_new: u64,
    /// Bytes of all its pack files.
    pub pack_bytes: u64,
    /// Bytes of pack files that were copied; the others are there already or share their bytes with the store.
    pub copied_bytes: u64,
    /// Whether an earlier backup was brought up to date.
    pub is_update: bool,
    /// Pack files that the store itself lacks or that are damaged in it. The backup is whole but for them.
    pub damages: Vec<Damage>,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// What was recomputed before the store was replaced.
    pub verified: Verified,
    /// Where the store that was there before is now; none where there was none.
    pub aside: Option<PathBuf>,
}
