//! What can be wrong with a bundle.

use std::io;

use stemmata_model::{CommitId, listed};

/// Commits that a message names at most.
const NAMED_MAX: usize = 5;

/// What is wrong with a bundle, or with reading or writing it. `kind` is the engine's.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The bytes are no bundle at all.
    #[error("this is not a bundle: {reason}")]
    NotABundle {
        /// What was found instead.
        reason: &'static str,
    },
    /// A newer version wrote it, in a way that this one cannot read.
    #[error("the bundle was written by a newer version: {what}")]
    Newer {
        /// What this version does not know.
        what: String,
    },
    /// The bytes end before the bundle does.
    #[error("the bundle is cut off at byte {at}")]
    Truncated {
        /// Where the bytes end.
        at: u64,
    },
    /// Bytes are not what was written.
    #[error("the bundle is damaged at byte {at}: {reason}")]
    Damaged {
        /// Where the record begins that is damaged.
        at: u64,
        /// What is wrong.
        reason: String,
    },
    /// It continues what is not here.
    #[error("the bundle continues {}, not in this store", listed(commits, NAMED_MAX))]
    Missing {
        /// Commits that are needed.
        commits: Vec<CommitId>,
    },
    /// More than is taken in without being told to.
    #[error("{what} in the bundle: {value}, more than {bound}")]
    Bound {
        /// What there is too much of.
        what: &'static str,
        /// How much there is, at least.
        value: u64,
        /// The bound.
        bound: u64,
        /// The flag of the command that raises it, where one does.
        flag: Option<&'static str>,
    },
    /// A list of commits that somebody has cannot be read.
    #[error("line {line} of the list of commits: {reason}")]
    Have {
        /// The line, 1 = first.
        line: u64,
        /// What is wrong.
        reason: String,
    },
    /// It cannot be read or written.
    #[error("{operation} the bundle failed")]
    Io {
        /// What was being done.
        operation: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl BundleError {
    pub(crate) fn io(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { operation, source }
    }
}
