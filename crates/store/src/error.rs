//! What can go wrong in a store, by kind.

use stemmata_model::{ArtifactId, CommitId, EventSeq, LedgerId};

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
    /// A session's newest commit is not what the caller expected.
    #[error("another process has written session {path} at the same time")]
    TipMoved {
        /// The session's path.
        path: String,
    },
    /// A ledger is not there.
    #[error("there is no ledger `{0}`")]
    LedgerMissing(LedgerId),
    /// A ledger has more events, or fewer, than the caller thought.
    #[error("ledger `{ledger}` is at {found}, not at {expected}: another process has appended to it")]
    SequenceMoved {
        /// The ledger.
        ledger: LedgerId,
        /// The last number that the caller expected.
        expected: u64,
        /// The last number that there is.
        found: u64,
    },
    /// What was made of a ledger's events before something of it was forgotten.
    #[error("something of ledger `{ledger}` was forgotten meanwhile: what was made of it before is not kept")]
    EpochMoved {
        /// The ledger.
        ledger: LedgerId,
        /// The epoch that the caller had read.
        expected: u64,
        /// The epoch that it is.
        found: u64,
    },
    /// A key that events of a ledger have already.
    #[error("event {first} of ledger `{ledger}` has a key of these events already")]
    KeyTaken {
        /// The ledger.
        ledger: LedgerId,
        /// The first event that has it.
        first: EventSeq,
    },
    /// A mark that another ledger has.
    #[error("`{mark}` is a mark of ledger `{ledger}` already")]
    MarkTaken {
        /// The mark.
        mark: String,
        /// The ledger that has it.
        ledger: LedgerId,
    },
    /// A write after the log was closed.
    #[error("the event log was closed ({operation})")]
    Closed {
        /// What was to be done.
        operation: &'static str,
    },
    /// What was forgotten is gone for everybody who reads, and still in a file.
    #[error("forgotten data is still in files of the store: {reason}")]
    Unclean {
        /// What stood in the way.
        reason: String,
    },
    /// What was planned is not what would happen now; nothing was changed.
    #[error("the store changed since this was planned: something else would go now")]
    PlanMoved,
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
    /// The store is older than what this version brings up to date.
    #[error("the store has write version {found}, and this version reads from {oldest} on")]
    TooOld {
        /// The store's write version.
        found: u32,
        /// The oldest one that is read.
        oldest: u32,
    },
    /// The store is older, and what brings it up to date rewrites it: nothing that happens by itself.
    #[error("the store has write version {found}, and this version needs {newest}")]
    NeedsMigration {
        /// The store's write version.
        found: u32,
        /// The one that it has to have.
        newest: u32,
    },
    /// Other processes have the store open, and what was asked for would replace its files under them; nothing was
    /// changed.
    #[error("{path} is in use by {}", users(pids))]
    InUse {
        /// The folder.
        path: String,
        /// Those that the system names; none where it does not say.
        pids: Vec<u32>,
    },
    /// The store lies where several programs cannot share it safely.
    #[error(
        "{path} is on a network file system ({file_system} at {mount}), where programs that share a database \
         can destroy it"
    )]
    Network {
        /// The folder.
        path: String,
        /// The type of the file system.
        file_system: String,
        /// Where it is mounted.
        mount: String,
    },
    /// The file is no store.
    #[error("{path} is not a Stemmata store: {reason}")]
    NotAStore {
        /// The file.
        path: String,
        /// What was found instead.
        reason: String,
    },
    /// There is not enough room for what is to be written; nothing was begun.
    #[error("{path} has {free_bytes} bytes free, and {needed_bytes} are needed")]
    NoRoom {
        /// The folder.
        path: String,
        /// Bytes that are to be written.
        needed_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
    },
    /// What was asked for would do harm or make no sense; nothing was changed.
    #[error("{what} {path} is refused: {reason}")]
    Refused {
        /// What was asked for.
        what: &'static str,
        /// To what.
        path: String,
        /// Why.
        reason: String,
    },
    /// A whole store or backup that was to be used is damaged; nothing was changed.
    #[error("{path} is damaged{}{first}", if *damages == 1 { ": ".to_owned() } else { format!(" in {damages} places, first: ") })]
    Damaged {
        /// The folder.
        path: String,
        /// How many things are wrong.
        damages: u64,
        /// The first of them.
        first: String,
    },
    /// A file of a ledger is not what was written; nothing was changed.
    #[error("{}", of_file(path, finding))]
    LedgerDamaged {
        /// The file.
        path: String,
        /// What is wrong with it.
        finding: String,
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
    /// Pages of the database are not what was written.
    #[error("the database of the store is damaged ({operation})")]
    DatabaseDamaged {
        /// What was being done.
        operation: &'static str,
        /// What it said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
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

/// Returns what an error says, with its causes: for a text that stands where the error itself cannot go along.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// The kinds of [`StoreError`], stable, for scripts and exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreErrorKind {
    /// Something that was asked for is not there.
    NotFound,
    /// A batch that cannot be applied.
    Rejected,
    /// What was asked for is refused.
    Refused,
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
    /// Makes the error of a group once more for each of its members; one that cannot be copied is told as one of the operation.
    pub(crate) fn again(&self, operation: &'static str) -> Self {
        match self {
            Self::Locked { waited_ms } => Self::Locked { waited_ms: *waited_ms },
            Self::Full { operation } => Self::Full { operation },
            Self::ReadOnly { operation } => Self::ReadOnly { operation },
            Self::TooNew { found, supported } => Self::TooNew { found: *found, supported: *supported },
            Self::NotAStore { path, reason } => {
                Self::NotAStore { path: path.clone(), reason: reason.clone() }
            }
            Self::LedgerDamaged { path, finding } => {
                Self::LedgerDamaged { path: path.clone(), finding: finding.clone() }
            }
            Self::DatabaseDamaged { operation, source } => {
                Self::DatabaseDamaged { operation, source: source.to_string().into() }
            }
            Self::Io { operation, path, source } => {
                let source = match source.raw_os_error() {
                    Some(number) => std::io::Error::from_raw_os_error(number),
                    None => std::io::Error::new(source.kind(), source.to_string()),
                };
                Self::Io { operation, path: path.clone(), source }
            }
            other => Self::Backend { operation, source: with_causes(other).into() },
        }
    }

    /// Returns the kind.
    pub const fn kind(&self) -> StoreErrorKind {
        match self {
            Self::CommitMissing(_)
            | Self::ContentMissing(_)
            | Self::ContentForgotten(_)
            | Self::LedgerMissing(_) => StoreErrorKind::NotFound,
            Self::ParentMissing { .. }
            | Self::Forgotten(_)
            | Self::Conflict(_)
            | Self::CursorMoved { .. }
            | Self::TipMoved { .. }
            | Self::SequenceMoved { .. }
            | Self::EpochMoved { .. }
            | Self::KeyTaken { .. }
            | Self::MarkTaken { .. }
            | Self::Closed { .. }
            | Self::PlanMoved
            | Self::Bound { .. }
            | Self::Empty { .. } => StoreErrorKind::Rejected,
            Self::Refused { .. } | Self::Network { .. } => StoreErrorKind::Refused,
            Self::Corrupt { .. }
            | Self::Damaged { .. }
            | Self::DatabaseDamaged { .. }
            | Self::LedgerDamaged { .. } => StoreErrorKind::Corrupt,
            Self::Locked { .. } | Self::InUse { .. } | Self::Unclean { .. } => StoreErrorKind::Locked,
            Self::Full { .. } | Self::NoRoom { .. } => StoreErrorKind::Full,
            Self::TooNew { .. }
            | Self::TooOld { .. }
            | Self::NeedsMigration { .. }
            | Self::NotAStore { .. } => StoreErrorKind::Incompatible,
            Self::ReadOnly { .. } | Self::Sink(_) | Self::Io { .. } | Self::Backend { .. } => {
                StoreErrorKind::System
            }
        }
    }
}

/// Names processes in an error's sentence.
fn users(pids: &[u32]) -> String {
    let named: Vec<String> = pids.iter().map(u32::to_string).collect();
    match named.as_slice() {
        [] => "another process".to_owned(),
        [one] => format!("process {one}"),
        all => format!("processes {}", all.join(", ")),
    }
}

/// Says what is wrong with a file; many findings name it themselves.
fn of_file(path: &str, finding: &str) -> String {
    if finding.contains(path) { finding.to_owned() } else { format!("{path} is damaged: {finding}") }
}

/// Reports a row that cannot be read as what it should be.
pub(crate) fn unreadable(column: &'static str, row: &dyn ToString, found: &dyn ToString) -> StoreError {
    let source = format!("`{column}` of {} holds {}", row.to_string(), found.to_string());
    StoreError::Backend { operation: "reading a row", source: source.into() }
}
