//! Background jobs: what is to be done, and who does it. A job runs once, however many processes look for work.
//!
//! What a job does, and when it is needed, is the engine's.

use stemmata_model::{JobKind, Timestamp};

use super::error::StateError;

/// Jobs that wait or run at most.
pub const OPEN_JOBS_MAX: u64 = 10_000;

/// Jobs that have ended and are still shown, the newest ones.
pub const FINISHED_JOBS_MAX: u64 = 100;

/// Bytes of a job's subject at most.
pub const JOB_SUBJECT_BYTES_MAX: usize = 512;

/// Bytes that are kept of a job's error.
pub const JOB_ERROR_BYTES_MAX: usize = 1_024;

/// Milliseconds of a lease at most: who died holds a job up for so long.
pub const LEASE_MS_MAX: u64 = 60 * 60 * 1000;

/// What something costs, or may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobCost {
    /// Tokens of models.
    pub tokens: u64,
    /// Money, in millionths of a dollar.
    pub micro_dollars: u64,
    /// Time, in milliseconds.
    pub busy_ms: u64,
}

impl JobCost {
    /// Nothing.
    pub const NONE: Self = Self { tokens: 0, micro_dollars: 0, busy_ms: 0 };
}

/// How often a job is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobTries {
    /// Attempts at most, the first one too.
    pub attempts_max: u32,
    /// Milliseconds between the first attempt that fails and the second; twice as long each time.
    pub backoff_ms: u64,
}

/// A job that is to be done. Kind and subject name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// What is to be done.
    pub kind: JobKind,
    /// To what: an id, or `store`.
    pub subject: String,
    /// When it was found to be needed.
    pub added_at: Timestamp,
    /// Not before.
    pub not_before: Timestamp,
    /// How often it is tried.
    pub tries: JobTries,
    /// What all attempts together may cost.
    pub budget: Option<JobCost>,
}

/// Where a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// It waits for its time, or for somebody to do it.
    Waiting,
    /// Somebody does it, or died doing it.
    Running,
    /// It was done.
    Done,
    /// It failed as often as it may, or spent its budget.
    Failed,
}

/// A job as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What it was added as.
    pub made: NewJob,
    /// Where it is.
    pub state: JobState,
    /// How often it was begun.
    pub attempts: u32,
    /// What it has cost.
    pub spent: JobCost,
    /// Who does it, or did last: a process, for people.
    pub holder: Option<String>,
    /// When it was begun last.
    pub begun_at: Option<Timestamp>,
    /// Until when nobody else takes it.
    pub leased_until: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// Asks for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// Which kinds the caller can do.
    pub kinds: Vec<JobKind>,
    /// Who asks: a process, for people.
    pub holder: String,
    /// The present.
    pub now: Timestamp,
    /// For how long nobody else takes it, in milliseconds, at most [`LEASE_MS_MAX`].
    pub lease_ms: u64,
}

/// A job that is the caller's for a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The job.
    pub job: Job,
    /// The number of this claim, which no other one has: who lost a job cannot end it for its next holder.
    pub number: u64,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEnd {
    /// It was done.
    Done,
    /// It failed; it may be tried again.
    Failed {
        /// Why, for people; no content.
        error: String,
    },
    /// It was not begun, because it cannot be done now: it waits until then, and the attempt does not count.
    Later {
        /// Until when.
        not_before: Timestamp,
    },
}

/// Background jobs.
///
/// A job is done by one process at a time: by who claimed it, until that says how it ended or its lease is over. A process that
/// stands still for longer than its lease finds `LeaseLost`; what it did meanwhile must do no harm beside the next one's.
pub trait Jobs: Send + Sync {
    /// Adds a job, and says whether it is new. One that waits stays as it is, but for an earlier `not_before` if it has not
    /// failed yet; one that runs is done once more afterwards; one that has ended begins anew.
    ///
    /// # Errors
    /// `TooMany`; `Storage`, as for all below, with `Bound` for what is too long.
    fn add_job(&self, job: &NewJob) -> Result<bool, StateError>;

    /// Takes the job that has waited longest for its time, or one whose holder's lease is over. One that was begun as often as it
    /// may be has failed then.
    fn claim_job(&self, request: &ClaimRequest) -> Result<Option<Claim>, StateError>;

    /// Prolongs a claim, and adds what was spent since.
    ///
    /// # Errors
    /// `LeaseLost`.
    fn beat_job(
        &self,
        claim: &Claim,
        spent: JobCost,
        now: Timestamp,
        lease_ms: u64,
    ) -> Result<(), StateError>;

    /// Ends a claim, and returns the job as it is then.
    ///
    /// # Errors
    /// `LeaseLost`.
    fn end_job(&self, claim: &Claim, end: &JobEnd, spent: JobCost, now: Timestamp)
    -> Result<Job, StateError>;

    /// Lists jobs: those that run, those that wait by their time, those that have ended with the newest first.
    fn jobs(&self, rows_max: usize) -> Result<Vec<Job>, StateError>;
}
