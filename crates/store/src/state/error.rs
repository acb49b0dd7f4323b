//! What can go wrong in a service's state.

use stemmata_model::{CommitId, JobKind, PointerKey, TokenId};

use crate::error::StoreError;

/// An error of a service's state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A pointer does not point to what the caller expected.
    #[error("pointer `{key}` {}", pointing(found.as_ref()))]
    PointerMoved {
        /// The pointer.
        key: PointerKey,
        /// What it points to; nothing where there is no such pointer.
        found: Option<CommitId>,
    },
    /// A job that another process has taken over meanwhile, or that somebody ended.
    #[error("job `{kind}` of `{subject}` is not this process's any more: its lease was over")]
    LeaseLost {
        /// The kind of the job.
        kind: JobKind,
        /// What it is about.
        subject: String,
    },
    /// A token that is there already.
    #[error("there is a token `{0}` already")]
    TokenTaken(TokenId),
    /// As many as there may be.
    #[error("there are {bound} {what} already, and no more are kept")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many there may be.
        bound: u64,
    },
    /// Something was done, and the audit log could not be told.
    #[error("it was done, but the audit log could not be written")]
    DoneUnrecorded {
        /// Why.
        #[source]
        source: Box<StateError>,
    },
    /// The database, or a bound of it.
    #[error("the service's state: {0}")]
    Storage(#[from] StoreError),
}

fn pointing(found: Option<&CommitId>) -> String {
    match found {
        Some(commit) => format!("points to {commit} by now"),
        None => "does not exist".to_owned(),
    }
}
