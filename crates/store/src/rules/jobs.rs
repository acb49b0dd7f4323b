//! What becomes of a background job: when it may be claimed, for how long, and what an end makes of it.
//!
//! A backend finds the row, asks here, and stores what it is told.

use stemmata_model::Timestamp;

use crate::error::StoreError;
use crate::rules::bounds::at_most;
use crate::state::{
    ClaimRequest, JOB_ERROR_BYTES_MAX, JOB_SUBJECT_BYTES_MAX, Job, JobCost, JobEnd, JobState, LEASE_MS_MAX,
    NewJob,
};

/// What the error of a job says whose holders did not come back.
const LOST: &str = "the process that did it ended without saying how it went";

/// What the error of a job says that cost what it may.
const SPENT: &str = "its budget is spent";

/// A job as a backend keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// The job.
    pub job: Job,
    /// The number of the claim that holds it, or held it last.
    pub claim: u64,
    /// Whether it was added once more while it ran.
    pub again: bool,
}

/// Holds a job to its bounds.
///
/// # Errors
/// `Bound`; `Empty` for a job without a subject or without an attempt.
pub fn check_job(job: &NewJob) -> Result<(), StoreError> {
    if job.subject.is_empty() {
        return Err(StoreError::Empty { what: "the subject of a job" });
    }
    if job.tries.attempts_max == 0 {
        return Err(StoreError::Empty { what: "the number of a job's attempts" });
    }
    at_most("bytes of a job's subject", job.subject.len(), JOB_SUBJECT_BYTES_MAX)
}

/// Holds the length of a lease to its bound.
///
/// # Errors
/// `Bound`.
pub fn check_lease(lease_ms: u64) -> Result<(), StoreError> {
    if lease_ms <= LEASE_MS_MAX {
        return Ok(());
    }
    Err(StoreError::Bound { what: "milliseconds of a lease", value: lease_ms, bound: LEASE_MS_MAX })
}

/// Returns the row that adding a job leads to, and whether it is new work.
pub fn added(known: Option<JobRow>, new: &NewJob) -> (JobRow, bool) {
    let anew = |claim| JobRow { job: waiting(new.clone()), claim, again: false };
    let Some(mut row) = known else { return (anew(0), true) };
    match row.job.state {
        JobState::Waiting => {
            // The pause after a failure is not cut short by whoever needs it too.
            if row.job.attempts == 0 {
                row.job.made.not_before = row.job.made.not_before.min(new.not_before);
            }
            (row, false)
        }
        JobState::Running => {
            row.again = true;
            (row, false)
        }
        JobState::Done | JobState::Failed => (anew(row.claim), true),
    }
}

fn waiting(made: NewJob) -> Job {
    Job {
        made,
        state: JobState::Waiting,
        attempts: 0,
        spent: JobCost::NONE,
        holder: None,
        begun_at: None,
        leased_until: None,
        ended_at: None,
        error: None,
    }
}

/// Says whether a job can be claimed.
pub fn is_claimable(job: &Job, now: Timestamp) -> bool {
    match job.state {
        JobState::Waiting => job.made.not_before <= now,
        // A clock that went back must not hold it up for ever: a lease is never longer than its bound.
        JobState::Running => {
            job.leased_until.is_none_or(|until| until <= now || later(now, LEASE_MS_MAX) < until)
        }
        JobState::Done | JobState::Failed => false,
    }
}

/// Claims a job that can be. Where its attempts are used up it has failed, and nobody holds it.
pub fn claimed(mut row: JobRow, request: &ClaimRequest, number: u64) -> JobRow {
    let job = &mut row.job;
    if job.attempts >= job.made.tries.attempts_max {
        return ended_for_good(row, request.now, Some(LOST));
    }
    job.state = JobState::Running;
    job.attempts += 1;
    job.holder = Some(request.holder.clone());
    job.begun_at = Some(request.now);
    job.leased_until = Some(later(request.now, request.lease_ms));
    row.claim = number;
    row
}

/// Says whether a claim holds the job still. One whose lease is over holds it as long as nobody else has claimed it.
pub fn is_held(row: &JobRow, claim: u64) -> bool {
    row.job.state == JobState::Running && row.claim == claim
}

/// Prolongs a claim.
pub fn beaten(mut row: JobRow, spent: JobCost, now: Timestamp, lease_ms: u64) -> JobRow {
    row.job.spent = sum(row.job.spent, spent);
    row.job.leased_until = Some(later(now, lease_ms));
    row
}

/// Ends a claim.
pub fn ended(mut row: JobRow, end: &JobEnd, spent: JobCost, now: Timestamp) -> JobRow {
    row.job.spent = sum(row.job.spent, spent);
    match end {
        JobEnd::Done => ended_for_good(row, now, None),
        JobEnd::Later { not_before } => {
            row.job.attempts = row.job.attempts.saturating_sub(1);
            put_off(row, *not_before)
        }
        JobEnd::Failed { error } => {
            let job = &row.job;
            let is_spent = job.made.budget.is_some_and(|budget| reaches(job.spent, budget));
            if is_spent || job.attempts >= job.made.tries.attempts_max {
                let error = if is_spent { format!("{SPENT}: {error}") } else { error.clone() };
                return ended_for_good(row, now, Some(&error));
            }
            row.job.error = Some(cut(error));
            let pause_ms = backoff_ms(job_tries(&row), row.job.attempts);
            put_off(row, later(now, pause_ms))
        }
    }
}

const fn job_tries(row: &JobRow) -> u64 {
    row.job.made.tries.backoff_ms
}

/// Returns how long a job waits after so many attempts.
pub fn backoff_ms(first_ms: u64, attempts: u32) -> u64 {
    let doublings = attempts.saturating_sub(1).min(32);
    first_ms.saturating_mul(1 << doublings).min(LEASE_MS_MAX * 24)
}

/// Says whether a budget has nothing left. A budget of nothing is none of that kind.
pub const fn reaches(spent: JobCost, budget: JobCost) -> bool {
    (budget.tokens > 0 && spent.tokens >= budget.tokens)
        || (budget.micro_dollars > 0 && spent.micro_dollars >= budget.micro_dollars)
        || (budget.busy_ms > 0 && spent.busy_ms >= budget.busy_ms)
}

fn put_off(mut row: JobRow, not_before: Timestamp) -> JobRow {
    row.job.state = JobState::Waiting;
    row.job.made.not_before = not_before;
    row.job.leased_until = None;
    row.again = false;
    row
}

/// Ends a job. What was added while it ran is done next, whether it failed or not: what made it fail may be over.
fn ended_for_good(mut row: JobRow, now: Timestamp, error: Option<&str>) -> JobRow {
    row.job.error = error.map(cut);
    row.job.ended_at = Some(now);
    row.job.leased_until = None;
    if row.again {
        row.job.state = JobState::Waiting;
        row.job.attempts = 0;
        row.job.made.not_before = now;
        row.again = false;
        return row;
    }
    row.job.state = if error.is_some() { JobState::Failed } else { JobState::Done };
    row
}

fn cut(text: &str) -> String {
    let end = text.floor_char_boundary(JOB_ERROR_BYTES_MAX.min(text.len()));
    text[..end].to_owned()
}

const fn sum(one: JobCost, other: JobCost) -> JobCost {
    JobCost {
        tokens: one.tokens.saturating_add(other.tokens),
        micro_dollars: one.micro_dollars.saturating_add(other.micro_dollars),
        busy_ms: one.busy_ms.saturating_add(other.busy_ms),
    }
}

/// Returns a time so many milliseconds later.
pub fn later(now: Timestamp, ms: u64) -> Timestamp {
    let micros = i64::try_from(ms.saturating_mul(1000)).unwrap_or(i64::MAX);
    Timestamp::from_micros(now.as_micros().saturating_add(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_day() {
        assert_eq!(
            [0, 1, 2, 3, 99].map(|tries| backoff_ms(1000, tries)),
            [1000, 1000, 2000, 4000, 86_400_000]
        );
        assert_eq!(backoff_ms(u64::MAX, 3), 86_400_000);
    }

    #[test]
    fn a_budget_is_spent_when_one_kind_of_it_is() {
        let cost = |tokens, micro_dollars, busy_ms| JobCost { tokens, micro_dollars, busy_ms };
        assert!(reaches(cost(5, 0, 0), cost(5, 100, 0)) && reaches(cost(0, 0, 9), cost(0, 0, 8)));
        assert!(!reaches(cost(4, 99, 1_000), cost(5, 100, 0)) && !reaches(cost(9, 9, 9), JobCost::NONE));
    }

    #[test]
    fn an_error_is_cut_between_characters() {
        let text = "é".repeat(JOB_ERROR_BYTES_MAX);
        assert_eq!(cut(&text).len(), JOB_ERROR_BYTES_MAX);
        assert_eq!(cut(&format!("a{text}")).len(), JOB_ERROR_BYTES_MAX - 1);
    }
}
