//! Migrations: what would bring a store to this version, what was done, and the way back.
//!
//! Which steps there are is the backend's.

use std::path::PathBuf;

use crate::seam::Verified;

/// What a step does to what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Only adds tables and columns: done when the store is opened, in a moment.
    Additive,
    /// Rewrites what is there: done by `migrate` alone, with a backup first.
    Rewriting,
}

/// One step from a version to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigrationStep {
    /// The write version after it.
    pub to: u32,
    /// What it does to what is stored.
    pub kind: StepKind,
    /// What it is for, in a few words.
    pub about: &'static str,
}

/// What would bring a store to this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationPlan {
    /// The store's write version.
    pub found: u32,
    /// The newest that this program knows.
    pub newest: u32,
    /// The steps between, in order; none where the store is up to date.
    pub steps: Vec<MigrationStep>,
}

/// What a migration did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// What was to be done, and is.
    pub plan: MigrationPlan,
    /// The backup that was made before; none where nothing was to be done.
    pub backup: Option<PathBuf>,
    /// What was recomputed afterwards.
    pub verified: Option<Verified>,
}

/// How a store went back to the version before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RolledBack {
    /// What the migration added was empty and is gone; all that is stored stays.
    Undone {
        /// The write version from which.
        from: u32,
        /// The write version now.
        to: u32,
    },
    /// The backup from before the migration is the store again.
    Restored {
        /// Where the store of the newer version is now.
        aside: PathBuf,
        /// Commits that only that one has.
        lost_commits: u64,
    },
}
