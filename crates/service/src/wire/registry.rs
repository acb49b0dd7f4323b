//! What a service keeps beside its store, as wire types.

use stemmata_api::v1;
use stemmata_engine::Engine;
use stemmata_model::{CommitId, Note};
use stemmata_store::state::{AuditEntry, AuditOutcome, Job, JobCost, JobState, Pointer};

use crate::fault::Fault;

/// Returns the wire form of a pointer, without notes.
pub(crate) fn pointer(pointer: Pointer) -> v1::Pointer {
    let Pointer { key, commit, set_at, by } = pointer;
    v1::Pointer { key, ctx: commit, set_at, by, notes: Vec::new() }
}

/// Says what became of a commit that is no longer in the store.
pub(crate) fn moved(engine: &Engine, ctx: CommitId) -> Result<Option<Note>, Fault> {
    if engine.store().commit(ctx)?.is_some() {
        return Ok(None);
    }
    let scrubbed = engine.redirected(&ctx.to_string())?;
    Ok(Some(match scrubbed.first() {
        Some((_, now)) => Note::new("commit_scrubbed", format!("{ctx} was scrubbed and is {now} now")),
        None => Note::new("commit_gone", format!("{ctx} is no longer in the store")),
    }))
}

/// Returns the wire form of a job.
pub(crate) fn job(job: Job) -> v1::Job {
    let Job { made, state, attempts, spent, holder, begun_at, leased_until, ended_at, error } = job;
    v1::Job {
        kind: made.kind,
        subject: made.subject,
        state: match state {
            JobState::Waiting => v1::JobState::Waiting,
            JobState::Running => v1::JobState::Running,
            JobState::Done => v1::JobState::Done,
            JobState::Failed => v1::JobState::Failed,
        },
        attempts,
        attempts_max: made.tries.attempts_max,
        added_at: made.added_at,
        not_before: made.not_before,
        begun_at,
        leased_until,
        ended_at,
        holder,
        spent: cost(spent),
        budget: made.budget.map(cost),
        error,
    }
}

const fn cost(cost: JobCost) -> v1::JobCost {
    let JobCost { tokens, micro_dollars, busy_ms } = cost;
    v1::JobCost { tokens, micro_dollars, busy_ms }
}

/// Returns the wire form of a row of the audit log.
pub(crate) fn audit_entry(row: AuditEntry) -> v1::AuditEntry {
    let AuditEntry { number, entry } = row;
    v1::AuditEntry {
        number,
        at: entry.at,
        principal: entry.principal,
        operation: entry.operation,
        whose: entry.whose,
        target: entry.target,
        outcome: match entry.outcome {
            AuditOutcome::Begun => v1::AuditOutcome::Begun,
            AuditOutcome::Done => v1::AuditOutcome::Done,
            AuditOutcome::Refused => v1::AuditOutcome::Refused,
            AuditOutcome::Failed => v1::AuditOutcome::Failed,
        },
        detail: entry.detail,
        request: entry.request,
    }
}
