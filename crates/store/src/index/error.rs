//! What goes wrong with an index, told apart by what is to be done about it.
//!
//! An index can always be made again; none of this loses anything.

use rusqlite::{Connection, ErrorCode};

use crate::error::StoreError;
use crate::seam::StoredAt;
use crate::sqlite::statements::Statements;
use crate::sqlite::store_error;

/// Why an index could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// What is in the files is not what was written: to be set aside and made again.
    #[error("the search index is damaged: {reason}")]
    Damaged {
        /// What was found.
        reason: String,
    },
    /// A newer version of this program made it: to be left alone.
    #[error("the search index has format {format}, and this version reads {known}")]
    Newer {
        /// Its format.
        format: u32,
        /// What this version reads.
        known: u32,
    },
    /// An older version made it: to be made again.
    #[error("the search index has format {format}, which is an older one")]
    Older {
        /// Its format.
        format: u32,
    },
    /// It belongs to another store: to be made again.
    #[error("the search index belongs to another store")]
    OtherStore,
    /// Another process has settled it meanwhile, or has put another one in its place: to be read again.
    #[error("the search index has moved on")]
    Moved,
    /// An entry that is indexed is in no commit any more: the index has to be cut before this commit and settled again.
    #[error("a turn that the search index holds was rewritten")]
    Rewritten {
        /// Where to cut.
        before: StoredAt,
    },
    /// More than an index takes at once.
    #[error("{value} {what}, and the search index takes {bound}")]
    Bound {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        value: usize,
        /// How much there may be.
        bound: usize,
    },
    /// The storage refuses: locked, full, read-only, or something else.
    #[error(transparent)]
    Storage(#[from] StoreError),
}

impl IndexError {
    pub(super) fn damaged(reason: impl Into<String>) -> Self {
        Self::Damaged { reason: reason.into() }
    }
}

/// Names the operation that something is part of, for the errors of the database.
pub(super) trait While {
    type Out;

    fn while_(self, operation: &'static str) -> Self::Out;
}

impl<T> While for rusqlite::Result<T> {
    type Out = Result<T, IndexError>;

    fn while_(self, operation: &'static str) -> Self::Out {
        self.map_err(|error| index_error(error, operation))
    }
}

impl<'c> While for &'c Connection {
    type Out = Statements<'c, IndexError>;

    fn while_(self, operation: &'static str) -> Self::Out {
        Statements::new(self, operation, index_error)
    }
}

fn index_error(error: rusqlite::Error, operation: &'static str) -> IndexError {
    match (&error, error.sqlite_error_code()) {
        // Our own statements have no mistakes: where they meet one, the tables are not ours.
        (_, Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown)) => {
            IndexError::damaged(error.to_string())
        }
        // A value of another type than the one that is written there.
        (
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::QueryReturnedNoRows,
            _,
        ) => IndexError::damaged(format!("{operation}: {error}")),
        _ => IndexError::Storage(store_error(error, operation)),
    }
}
