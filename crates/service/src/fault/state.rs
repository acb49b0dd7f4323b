//! Errors of what a service keeps beside its store, as problems.

use std::error::Error;

use stemmata_api::{Code, Problem};
use stemmata_store::state::StateError;
use stemmata_store::{StoreError, StoreErrorKind};

use super::{causes, problem_of_store, say};

/// Returns the problem that an error of the service's own state is.
pub(super) fn of(error: &StateError) -> Problem {
    let problem = match error {
        StateError::PointerMoved { key, found } => {
            let problem = say(Code::PointerMoved, error).with("key", key);
            match found {
                Some(found) => problem.with("ctx", found),
                None => problem,
            }
        }
        StateError::DoneUnrecorded { .. } => say(Code::AuditNotWritten, error),
        StateError::LeaseLost { .. } => say(Code::LeaseLost, error),
        StateError::TokenTaken(_) => say(Code::Internal, error),
        StateError::TooMany { bound, .. } => say(Code::TooMany, error).with("bound", bound),
        StateError::Storage(source) => return of_storage(source, error),
    };
    problem.because(causes(error))
}

/// Returns the problem of the database of the service's own state. What helps a store does not help it.
pub(super) fn of_storage(source: &StoreError, error: &(impl Error + 'static)) -> Problem {
    let problem = problem_of_store(source);
    let code = match source.kind() {
        StoreErrorKind::Corrupt => Code::StateDamaged,
        StoreErrorKind::Incompatible if !matches!(source, StoreError::TooNew { .. }) => Code::StateDamaged,
        StoreErrorKind::System | StoreErrorKind::Refused => Code::StateFailed,
        _ => return Problem { detail: error.to_string(), ..problem }.because(causes(error)),
    };
    say(code, error).because(causes(error))
}
