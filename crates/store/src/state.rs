//! What a service keeps beside its store: who may ask, what runs, what is pointed at, and who did what. Five small traits.
//!
//! Not the store: a backup does not hold it and a restore does not touch it, so that what was revoked stays revoked.

mod audit;
mod error;
mod grants;
mod jobs;
mod pointers;
mod tokens;

pub use self::audit::{
    AUDIT_AGE_MAX, AUDIT_PAGE_MAX, AUDIT_ROWS_MAX, AUDIT_TEXT_BYTES_MAX, Audit, AuditCut, AuditEntry,
    AuditOutcome, AuditQuery, AuditRetention, NewAuditEntry, RETENTION_OPERATION, SERVICE_PRINCIPAL,
};
pub use self::error::StateError;
pub use self::grants::{GRANTS_MAX, Grant, Grants};
pub use self::jobs::{
    Claim, ClaimRequest, FINISHED_JOBS_MAX, JOB_ERROR_BYTES_MAX, JOB_SUBJECT_BYTES_MAX, Job, JobCost, JobEnd,
    JobState, JobTries, Jobs, LEASE_MS_MAX, NewJob, OPEN_JOBS_MAX,
};
pub use self::pointers::{Expected, NewPointer, POINTERS_MAX, Pointer, PointerQuery, Pointers};
pub use self::tokens::{
    NewToken, TOKEN_LABEL_BYTES_MAX, TOKEN_LIMITS_MAX, TOKENS_MAX, Token, TokenHash, TokenLimits,
    TokenScopes, Tokens,
};

/// Rows that one page of a listing has at most.
pub const STATE_PAGE_MAX: usize = 10_000;

/// All of a service's state, in one place: what one method returned as stored, every other one sees.
///
/// Each write is one transaction, durable when it returns. Concurrent: threads and processes may use the same state at once. Time
/// comes in as a parameter, so that rules about it can be tested; a clock that goes back makes nothing valid again that was revoked.
pub trait ServiceState: Tokens + Grants + Jobs + Pointers + Audit {}

impl<T: Tokens + Grants + Jobs + Pointers + Audit + ?Sized> ServiceState for T {}
