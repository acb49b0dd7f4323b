//! What can go wrong in a store, by kind.

use stemmata_model::{ArtifactId, CommitId};

/// A store's error.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A commit that was asked for is not there.
    #[error("{0} is not in the store")]
    CommitMissing(CommitId),
    /// A commit names a parent that is not there.
    #[error("parent {parent} of {commit} is not in the store")]
    ParentMissing {
        /// The commit that was to be stored.
        commit: CommitId,
        /// The parent that it names.
        parent: CommitId,
    },
    /// A commit that was forgotten, and that nothing brings back unless somebody takes that back.
    #[error("{0} was forgotten, and stays so until `stemma forget --undo` takes it back")]
    Forgotten(CommitId),
    /// The bytes of this content were forgotten; its hash and its length are what is left.
    #[error("the content {0} was forgotten")]
    ContentForgotten(ArtifactId),
    /// Content that is referred to is not there.
    #[error("{0} is not in the store")]
    ContentMissing(ArtifactId),
    /// The same id with other content.
    #[error(
        "{0} is in the store with other content; two commits never share an id, so one of them is damaged"
    )]
    Conflict(CommitId),
    /// Bytes that do not have the hash they are named by.
    #[error("{artifact} is damaged: {reason}")]
    Corrupt {
        /// The content that was asked for.
        artifact: ArtifactId,
        /// What was found.
        reason: String,
    },
    /// A cursor is not what the caller expected.
    #[error("another process has read {path} at the same time")]
    CursorMoved {
        /// The session's path.
        path: String,
    },
    /// Something is beyond its bound.
    #[error("{what} is {value}, more than {bound}")]
    Bound {
        /// What it is, with its unit.
        what: &'static str,
        /// What was given.
        value: u64,
        /// The bound.
        bound: u64,
    },
    /// Something that must not be empty is.
    #[error("{what} is empty")]
    Empty {
        /// What it is.
        what: &'static str,
    },
    /// Another process holds the store.
    #[error("the store is locked by another process (waited {waited_ms} ms)")]
    Locked {
        /// How long it was waited for.
        waited_ms: u64,
    },
    /// No space is left.
    #[error("no space is left where the store is ({operation})")]
    Full {
        /// What was being done.
        operation: &'static str,
    },
    /// The store cannot be written.
    #[error("the store is read-only ({operation})")]
    ReadOnly {
        /// What was being done.
        operation: &'static str,
    },
    /// The store was written by a newer version that older ones cannot read.
    #[error("the store has format {found}, and this version reads up to {supported}")]
    TooNew {
        /// The format that is needed to read it.
        found: u32,
        /// The newest format that this version reads.
        supported: u32,
    },
    /// The file is no store.
    #[error("{path} is no Stemmata store: {reason}")]
    NotAStore {
        /// The file.
        path: String,
        /// What was found instead.
        reason: String,
    },
    /// A sink's own error.
    #[error("writing the content out failed")]
    Sink(#[source] std::io::Error),
    /// A file operation failed.
    #[error("{operation} {path} failed")]
    Io {
        /// What was being done.
        operation: &'static str,
        /// To what.
        path: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The database said something else.
    #[error("the database failed ({operation})")]
    Backend {
        /// What was being done.
        operation: &'static str,
        /// What it said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The kinds of [`StoreError`], stable, for scripts and exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreErrorKind {
    /// Something that was asked for is not there.
    NotFound,
    /// A batch that cannot be applied.
    Rejected,
    /// Stored bytes are damaged.
    Corrupt,
    /// Try again later.
    Locked,
    /// Make room.
    Full,
    /// A store of another version, or none at all.
    Incompatible,
    /// The system failed.
    System,
}

impl StoreError {
    /// Returns the kind.
    pub const fn kind(&self) -> StoreErrorKind {
        match self {
            Self::CommitMissing(_) | Self::ContentMissing(_) | Self::ContentForgotten(_) => {
                StoreErrorKind::NotFound
            }
            Self::ParentMissing { .. }
            | Self::Forgotten(_)
            | Self::Conflict(_)
            | Self::CursorMoved { .. }
            | Self::Bound { .. }
            | Self::Empty { .. } => StoreErrorKind::Rejected,
            Self::Corrupt { .. } => StoreErrorKind::Corrupt,
            Self::Locked { .. } => StoreErrorKind::Locked,
            Self::Full { .. } => StoreErrorKind::Full,
            Self::TooNew { .. } | Self::NotAStore { .. } => StoreErrorKind::Incompatible,
            Self::ReadOnly { .. } | Self::Sink(_) | Self::Io { .. } | Self::Backend { .. } => {
                StoreErrorKind::System
            }
        }
    }
}
