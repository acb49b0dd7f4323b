//! The audit log: who destroyed what, and who asked for another's contexts.
//!
//! Not the trail of a commit's metadata, which lies in the store beside the commit and travels with it.

use std::time::Duration;

use stemmata_model::{Principal, Timestamp};

use super::error::StateError;

/// Rows that are kept at most: at a few hundred bytes a row some 30 MB.
pub const AUDIT_ROWS_MAX: u64 = 100_000;

/// How long a row is kept at most.
pub const AUDIT_AGE_MAX: Duration = Duration::from_hours(2 * 365 * 24);

/// Bytes of each text of a row at most.
pub const AUDIT_TEXT_BYTES_MAX: usize = 1_024;

/// Rows of one page at most.
pub const AUDIT_PAGE_MAX: usize = 10_000;

/// The operation of rows that say what retention dropped.
pub const RETENTION_OPERATION: &str = "audit.retention";

/// In whose name retention drops rows.
pub const SERVICE_PRINCIPAL: &str = "stemma";

/// How an operation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditOutcome {
    /// It is about to be done. Without a row after it with the same request: nobody knows how it ended.
    Begun,
    /// It was done.
    Done,
    /// It was refused, and nothing was done.
    Refused,
    /// It failed.
    Failed,
}

/// What is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAuditEntry {
    /// When.
    pub at: Timestamp,
    /// Who asked.
    pub principal: Principal,
    /// For what: `maintain.apply_forget`.
    pub operation: String,
    /// Whose data it is, where that is known and another's.
    pub whose: Option<Principal>,
    /// What it was done to: ids and numbers; no content, and no name of what was forgotten.
    pub target: String,
    /// How it went.
    pub outcome: AuditOutcome,
    /// What more there is to say: a number of commits, or a problem's code.
    pub detail: Option<String>,
    /// The request's id.
    pub request: Option<String>,
}

/// A row of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number, from 1 on and without gaps.
    pub number: u64,
    /// What it says.
    pub entry: NewAuditEntry,
}

/// Which rows are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditQuery {
    /// Before this number; the newest without one.
    pub before: Option<u64>,
    /// Of this principal only.
    pub principal: Option<Principal>,
    /// Of this operation only.
    pub operation: Option<String>,
    /// At most so many, and [`AUDIT_PAGE_MAX`].
    pub rows_max: usize,
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditRetention {
    /// Rows at most.
    pub rows_max: u64,
    /// How old a row may be.
    pub age_max: Duration,
}

impl AuditRetention {
    /// What holds where nothing else is said.
    pub const DEFAULT: Self = Self { rows_max: AUDIT_ROWS_MAX, age_max: AUDIT_AGE_MAX };
}

/// Rows that retention dropped: the oldest ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditCut {
    /// The number of the last one that is gone.
    pub through: u64,
    /// How many there were.
    pub rows: u64,
}

/// The audit log. Rows are added and read; only retention drops any, and says so in a row of its own.
pub trait Audit: Send + Sync {
    /// Adds a row and returns its number, after what retention has to drop was dropped.
    ///
    /// # Errors
    /// `Storage`, with `Bound` for a text that is too long.
    fn record(&self, entry: &NewAuditEntry) -> Result<u64, StateError>;

    /// Reads rows, the newest first.
    ///
    /// # Errors
    /// `Storage`.
    fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>, StateError>;

    /// Drops the oldest rows that are too many or too old, in one transaction with a row that says how many those were. Nothing
    /// where there are none.
    ///
    /// # Errors
    /// `Storage`.
    fn retain_audit(&self, keep: AuditRetention, now: Timestamp) -> Result<Option<AuditCut>, StateError>;
}
