//! What every backend of a service's state must do: tokens, grants, jobs, pointers and the audit log.
//!
//! Crashes and processes at once are each backend's own tests.

mod audit;
mod jobs;
mod pointers;
mod tokens;

use std::sync::Arc;

use stemmata_model::{JobKind, PointerKey, Timestamp};

use crate::state::{JobTries, NewJob, ServiceState};

/// Makes an empty state.
pub type MakeState<'a> = &'a mut dyn FnMut() -> Arc<dyn ServiceState>;

const CHECKS: &[fn(MakeState<'_>)] = &[
    pointers::check_pointers,
    pointers::check_listing,
    pointers::check_races,
    tokens::check_tokens,
    tokens::check_single_use,
    tokens::check_bounds,
    tokens::check_grants,
    jobs::check_claims,
    jobs::check_failures,
    jobs::check_lost_leases,
    jobs::check_added_again,
    jobs::check_bounds,
    jobs::check_races,
    audit::check_audit,
    audit::check_retention,
    audit::check_bounds,
];

/// Checks a backend of a service's state.
///
/// # Panics
/// Where it breaks a promise.
pub fn run(make: MakeState<'_>) {
    for check in CHECKS {
        check(make);
    }
}

/// Names a time, in seconds.
pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// Names a pointer.
pub fn key(text: &str) -> PointerKey {
    PointerKey::new(text).expect("a pointer's name")
}

/// A job of the kind `k` that waits from second 0 on and is tried three times, ten seconds apart.
pub fn job(subject: &str) -> NewJob {
    NewJob {
        kind: kind("k"),
        subject: subject.to_owned(),
        added_at: at(0),
        not_before: at(0),
        tries: JobTries { attempts_max: 3, backoff_ms: 10_000 },
        budget: None,
    }
}

/// Names a kind of job.
pub fn kind(text: &str) -> JobKind {
    JobKind::new(text).expect("a short name")
}
