//! Background jobs in the database.

use rusqlite::{Connection, Row, params};
use stemmata_model::{JobKind, Timestamp};

use super::super::failure::{During, unreadable};
use super::super::statements::one;
use super::{SqliteState, at, count, name};
use crate::error::StoreError;
use crate::rules::jobs::{
    JobRow, added, beaten, check_job, check_lease, claimed, ended, is_claimable, is_held,
};
use crate::state::{
    Claim, ClaimRequest, FINISHED_JOBS_MAX, Job, JobCost, JobEnd, JobState, JobTries, Jobs, NewJob,
    OPEN_JOBS_MAX, STATE_PAGE_MAX, StateError,
};

const READING: &str = "reading jobs";
const ADDING: &str = "adding a job";
const CLAIMING: &str = "claiming a job";
const ENDING: &str = "ending a job";

const COLUMNS: &str = "kind, subject, state, claim, again, added_at, not_before, attempts_max, backoff_ms, \
     budget, attempts, spent, holder, begun_at, leased_until, ended_at, error";

impl Jobs for SqliteState {
    fn add_job(&self, job: &NewJob) -> Result<bool, StateError> {
        check_job(job)?;
        self.writing(ADDING, |transaction| {
            let known = found(transaction, &job.kind, &job.subject)?;
            let (row, is_new) = added(known, job);
            if is_new
                && count(transaction, ADDING, "SELECT count(*) FROM job WHERE state < 2")? >= OPEN_JOBS_MAX
            {
                return Err(StateError::TooMany { what: "jobs", bound: OPEN_JOBS_MAX });
            }
            put(transaction, &row)?;
            Ok(is_new)
        })
    }

    fn claim_job(&self, request: &ClaimRequest) -> Result<Option<Claim>, StateError> {
        check_lease(request.lease_ms)?;
        self.writing(CLAIMING, |transaction| {
            // Each one that is looked at has ended or is claimed then, so that this ends.
            while let Some(row) = next(transaction, request)? {
                let sql = "UPDATE job_claim SET last = last + 1 RETURNING last";
                let number: i64 = transaction.during(CLAIMING).only(sql, [], one)?;
                let row = claimed(row, request, number.cast_unsigned());
                put(transaction, &row)?;
                if is_held(&row, number.cast_unsigned()) {
                    return Ok(Some(Claim { job: row.job, number: row.claim }));
                }
            }
            Ok(None)
        })
    }

    fn beat_job(
        &self,
        claim: &Claim,
        spent: JobCost,
        now: Timestamp,
        lease_ms: u64,
    ) -> Result<(), StateError> {
        check_lease(lease_ms)?;
        self.writing(ENDING, |transaction| {
            Ok(put(transaction, &beaten(held(transaction, claim)?, spent, now, lease_ms))?)
        })
    }

    fn end_job(
        &self,
        claim: &Claim,
        end: &JobEnd,
        spent: JobCost,
        now: Timestamp,
    ) -> Result<Job, StateError> {
        self.writing(ENDING, |transaction| {
            let row = ended(held(transaction, claim)?, end, spent, now);
            put(transaction, &row)?;
            transaction.during(ENDING).run(
                "DELETE FROM job WHERE state >= 2 AND (kind, subject) NOT IN \
                 (SELECT kind, subject FROM job WHERE state >= 2 ORDER BY ended_at DESC, kind, subject LIMIT ?1)",
                [FINISHED_JOBS_MAX.cast_signed()],
            )?;
            Ok(row.job)
        })
    }

    fn jobs(&self, rows_max: usize) -> Result<Vec<Job>, StateError> {
        let rows_max = i64::try_from(rows_max.min(STATE_PAGE_MAX)).unwrap_or(i64::MAX);
        self.reading(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM job ORDER BY CASE state WHEN 1 THEN 0 WHEN 0 THEN 1 ELSE 2 END, \
                 CASE WHEN state < 2 THEN not_before ELSE -ended_at END, kind, subject LIMIT ?1"
            );
            let rows: Vec<_> = connection.during(READING).list(&sql, [rows_max], |row| Ok(job(row)))?;
            Ok(rows.into_iter().map(|row| row.map(|row| row.job)).collect::<Result<_, _>>()?)
        })
    }
}

/// Returns the job that has waited longest for its time and can be claimed.
fn next(connection: &Connection, request: &ClaimRequest) -> Result<Option<JobRow>, StoreError> {
    let kinds: Vec<&str> = request.kinds.iter().map(JobKind::as_str).collect();
    let kinds = serde_json::to_string(&kinds).expect("a list of texts");
    let sql = format!(
        "SELECT {COLUMNS} FROM job WHERE state < 2 AND kind IN (SELECT value FROM json_each(?1)) \
         ORDER BY not_before, kind, subject"
    );
    let mut first = None;
    connection.during(CLAIMING).each(
        &sql,
        [kinds],
        |row| Ok(job(row)),
        |row| {
            let row = row?;
            if first.is_none() && is_claimable(&row.job, request.now) {
                first = Some(row);
            }
            Ok(())
        },
    )?;
    Ok(first)
}

fn found(connection: &Connection, kind: &JobKind, subject: &str) -> Result<Option<JobRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM job WHERE kind = ?1 AND subject = ?2");
    connection.during(READING).first(&sql, [kind.as_str(), subject], |row| Ok(job(row)))?.transpose()
}

/// Returns the job of a claim that holds it still.
fn held(connection: &Connection, claim: &Claim) -> Result<JobRow, StateError> {
    let NewJob { kind, subject, .. } = &claim.job.made;
    let found = found(connection, kind, subject)?.filter(|row| is_held(row, claim.number));
    found.ok_or_else(|| StateError::LeaseLost { kind: kind.clone(), subject: subject.clone() })
}

fn put(connection: &Connection, row: &JobRow) -> Result<(), StoreError> {
    let JobRow { job, claim, again } = row;
    let made = &job.made;
    let micros = |at: Option<Timestamp>| at.map(Timestamp::as_micros);
    connection.during(ADDING).run(
        &format!(
            "INSERT OR REPLACE INTO job ({COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
        ),
        params![
            made.kind.as_str(),
            made.subject,
            code(job.state),
            claim.cast_signed(),
            again,
            made.added_at.as_micros(),
            made.not_before.as_micros(),
            made.tries.attempts_max,
            i64::try_from(made.tries.backoff_ms).unwrap_or(i64::MAX),
            made.budget.map(cost_text),
            job.attempts,
            cost_text(job.spent),
            job.holder,
            micros(job.begun_at),
            micros(job.leased_until),
            micros(job.ended_at),
            job.error
        ],
    )?;
    Ok(())
}

fn job(row: &Row<'_>) -> Result<JobRow, StoreError> {
    let subject: String = column(row, 1)?;
    let cost = |text: &str| cost_of(text).ok_or_else(|| unreadable("spent", &subject, &text));
    let budget = column::<Option<String>>(row, 9)?.map(|text| cost(&text)).transpose()?;
    let code: u8 = column(row, 2)?;
    let time = |number| Ok::<_, StoreError>(column::<Option<i64>>(row, number)?.map(at));
    let job = Job {
        state: state_of(code).ok_or_else(|| unreadable("state", &subject, &code))?,
        attempts: column(row, 10)?,
        spent: cost(&column::<String>(row, 11)?)?,
        holder: column(row, 12)?,
        begun_at: time(13)?,
        leased_until: time(14)?,
        ended_at: time(15)?,
        error: column(row, 16)?,
        made: NewJob {
            kind: name("kind", &column::<String>(row, 0)?)?,
            added_at: at(column(row, 5)?),
            not_before: at(column(row, 6)?),
            tries: JobTries {
                attempts_max: column(row, 7)?,
                backoff_ms: column::<i64>(row, 8)?.cast_unsigned(),
            },
            budget,
            subject,
        },
    };
    Ok(JobRow { job, claim: column::<i64>(row, 3)?.cast_unsigned(), again: column(row, 4)? })
}

fn column<T: rusqlite::types::FromSql>(row: &Row<'_>, number: usize) -> Result<T, StoreError> {
    row.get(number).during(READING)
}

/// Costs are three numbers that are read together only.
fn cost_text(cost: JobCost) -> String {
    format!("{} {} {}", cost.tokens, cost.micro_dollars, cost.busy_ms)
}

fn cost_of(text: &str) -> Option<JobCost> {
    let mut numbers = text.split(' ').map(|number| number.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    let cost = JobCost { tokens: next()?, micro_dollars: next()?, busy_ms: next()? };
    numbers.next().is_none().then_some(cost)
}

const fn code(state: JobState) -> u8 {
    match state {
        JobState::Waiting => 0,
        JobState::Running => 1,
        JobState::Done => 2,
        JobState::Failed => 3,
    }
}

const fn state_of(code: u8) -> Option<JobState> {
    match code {
        0 => Some(JobState::Waiting),
        1 => Some(JobState::Running),
        2 => Some(JobState::Done),
        3 => Some(JobState::Failed),
        _ => None,
    }
}
