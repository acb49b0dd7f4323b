//! What can go wrong in a use case, by kind, with the next step.

mod names;

use std::path::PathBuf;

use crate::bundle::BundleError;

pub use stemmata_api::Candidate;
use stemmata_model::{CommitId, FormatId, NameError};
use stemmata_redact::{RuleFailure, RuleFileError};
use stemmata_store::state::StateError;
use stemmata_store::{StoreError, StoreErrorKind};

pub use names::{Absent, FormatUse, Refusal, Wanted};

use crate::capture::policy::HeldBack;
use crate::home::{Quota, QuotaPlan};
use crate::search::SearchError;
use crate::settings::SettingError;
use crate::verbs::find::CANDIDATES_MAX;

/// An engine's error.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store of a data directory cannot be opened.
    #[error("the store in {} cannot be opened", folder.display())]
    OpenStore {
        /// The folder of the store.
        folder: PathBuf,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// What a service keeps beside the store failed, or refused.
    #[error(transparent)]
    State(#[from] StateError),
    /// What a service keeps beside the store cannot be opened.
    #[error("the service's state in {} cannot be opened", folder.display())]
    OpenState {
        /// Its folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: StoreError,
    },
    /// The machine's identity cannot be read.
    #[error("{} does not say who this machine is: {reason}", path.display())]
    MachineFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// What is not to be captured cannot be read.
    #[error("{} is not a list of exclusions: {reason}", path.display())]
    CaptureFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Exclusions and pauses that make no sense.
    #[error("{reason}")]
    Policy {
        /// What is wrong with them.
        reason: String,
    },
    /// A setting that makes no sense.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A client deleted a transcript that the store has.
    #[error("the transcript {} is gone; the store has all that was captured of it, up to {ctx}", path.display())]
    TranscriptGone {
        /// Where it was.
        path: PathBuf,
        /// The last commit of it.
        ctx: CommitId,
    },
    /// The store is as large as its owner lets it become.
    #[error("the store takes {} bytes, and its owner allows {}: nothing more is captured", quota.used_bytes, quota.bound_bytes)]
    QuotaReached {
        /// How full it is.
        quota: Quota,
        /// What would make room.
        plan: Box<QuotaPlan>,
    },
    /// A file operation failed.
    #[error("{operation} {} failed", path.display())]
    Io {
        /// What was being done.
        operation: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A file is no transcript of a runtime that is known.
    #[error("{} is not a transcript: {reason}", path.display())]
    NotATranscript {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        reason: String,
        /// Whether that is a bundle.
        is_bundle: bool,
    },
    /// A client's database, or some of its sessions, is of a version that is not read.
    #[error("{}: {} not read: {reason}", path.display(), unseen(*sessions))]
    UnknownSchema {
        /// The database.
        path: PathBuf,
        /// Its sessions that are not read, where they can be counted.
        sessions: Option<u64>,
        /// What is of another form, and what to do.
        reason: String,
    },
    /// A line is longer than anything that a runtime writes.
    #[error("line {line} of {} (at byte {offset}) is longer than {bound_bytes} bytes", path.display())]
    LineTooLong {
        /// The file.
        path: PathBuf,
        /// The line, 1 = first.
        line: u64,
        /// Where it starts.
        offset: u64,
        /// The bound.
        bound_bytes: usize,
    },
    /// A document is longer than what is held in memory.
    #[error("{} has {bytes} bytes, and a document of at most {bound_bytes} is read", path.display())]
    DocumentTooLong {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        bytes: u64,
        /// The bound.
        bound_bytes: u64,
    },
    /// A document is cut, or is being written.
    #[error("{} is not a whole document, and nothing of it was imported: {reason}", path.display())]
    Torn {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// What is compressed in a file cannot be unpacked whole.
    #[error("{} is damaged: what is compressed in it ends after {bytes} bytes ({lines} lines)", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Bytes that could be unpacked.
        bytes: u64,
        /// Whole lines among them.
        lines: u64,
        /// What was found there.
        #[source]
        source: std::io::Error,
    },
    /// A client's database is in use, and cannot be read now.
    #[error("{} cannot be read now: {reason}; nothing of it is lost, try again in a moment", path.display())]
    Busy {
        /// The database.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file shrank while it was read.
    #[error("{} shrank while it was read: {expected} bytes were there, then {found}", path.display())]
    Shrank {
        /// The file.
        path: PathBuf,
        /// Its length when reading began.
        expected: u64,
        /// Where reading ended.
        found: u64,
    },
    /// Nothing goes by that name.
    #[error("no {what} matches `{text}`")]
    NotFound {
        /// What was looked for.
        what: Wanted,
        /// The name that was given.
        text: String,
    },
    /// A chain has no prompt of that number.
    #[error("{}", no_prompt(of, *number, *prompts))]
    NoPrompt {
        /// The chain, as it was named.
        of: String,
        /// The number that was asked for.
        number: u64,
        /// How many prompts the chain has.
        prompts: u64,
    },
    /// A range of prompts that cannot be used.
    #[error("`{text}` {}", why.text())]
    PromptRange {
        /// The range that was given.
        text: String,
        /// What it is of.
        of: String,
        /// Its first prompt.
        from: u64,
        /// Why it cannot be used.
        why: BadRange,
    },
    /// Nothing goes by a reference.
    #[error("no commit, session or tag matches `{text}`")]
    NoReference {
        /// The reference that was given.
        text: String,
        /// A few things with a name like it.
        near: Vec<Candidate>,
    },
    /// Nothing is known of how a model counts.
    #[error("nothing is known of how the model `{model}` counts{}", near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    ModelUnknown {
        /// The name that was given.
        model: String,
        /// The known name that it probably means.
        near: Option<&'static str>,
    },
    /// There is nothing of a kind in a place or up to a moment.
    #[error("there is no {what} {place}")]
    NothingThere {
        /// What was looked for.
        what: Absent,
        /// Where or up to when it was looked for.
        place: String,
    },
    /// Several things go by that name.
    #[error("`{text}` is ambiguous ({} matches)", if candidates.len() < CANDIDATES_MAX { candidates.len().to_string() } else { format!("{CANDIDATES_MAX} or more") })]
    Ambiguous {
        /// The name that was given.
        text: String,
        /// Up to ten of them.
        candidates: Vec<Candidate>,
    },
    /// Several things of one kind go by that name.
    #[error("`{text}` could be {} {what}s", candidates.len())]
    Several {
        /// What was looked for.
        what: Wanted,
        /// The name that was given.
        text: String,
        /// All of them.
        candidates: Vec<Candidate>,
    },
    /// A stop that is not on the way to the root.
    #[error("{stop} is not an ancestor of {ctx}: {looked} commits were searched, down to the root")]
    NoAncestor {
        /// The commit that was materialized.
        ctx: CommitId,
        /// The stop that was asked for.
        stop: CommitId,
        /// How many commits were looked at.
        looked: u64,
    },
    /// A format that this version cannot read or write.
    #[error("format `{format}` cannot be {operation} by this version; it knows {known}")]
    Format {
        /// The format.
        format: FormatId,
        /// What for.
        operation: FormatUse,
        /// What it knows.
        known: String,
    },
    /// What was asked for would do harm or make no sense.
    #[error("{what} is refused: {}", reasons.join("; "))]
    Refused {
        /// What was asked for.
        what: Refusal,
        /// Why.
        reasons: Vec<String>,
    },
    /// Somebody does not want this captured.
    #[error("{} is not captured: {reason}", path.display())]
    HeldBack {
        /// The transcript.
        path: PathBuf,
        /// Why.
        reason: HeldBack,
    },
    /// Rules for secrets that make no sense: nothing is taken in before they do.
    #[error(transparent)]
    Rules(#[from] RuleFileError),
    /// A rule for secrets that cannot be tried: nothing may pass for clean.
    #[error(transparent)]
    Scrub(#[from] RuleFailure),
    /// A name that is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Something is wrong with a bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// A search that makes no sense.
    #[error(transparent)]
    Search(#[from] SearchError),
}

/// The kinds of [`EngineError`], for programs that embed the engine. Exit codes and problems are the service's to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Something that was asked for is not there.
    NotFound,
    /// Something was named ambiguously.
    Ambiguous,
    /// What was given is bad.
    BadInput,
    /// What was asked for is refused.
    Refused,
    /// Stored bytes are damaged.
    Corrupt,
    /// Try again later.
    Locked,
    /// Make room.
    Full,
    /// A store of another version.
    Incompatible,
    /// The system failed.
    System,
}

/// Why a range of prompts cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadRange {
    /// One point of a session is wanted.
    OnePoint,
    /// It ends before it begins.
    Backwards,
    /// Prompts of it lie before where the context begins.
    BeforeTheStart,
}

impl BadRange {
    const fn text(self) -> &'static str {
        match self {
            Self::OnePoint => "is a range of prompts, and one point of a session is wanted",
            Self::Backwards => "ends before it begins",
            Self::BeforeTheStart => {
                "has prompts before the place where the context begins; leave out `--from`"
            }
        }
    }
}

impl EngineError {
    /// Returns the kind.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Store(error)
            | Self::OpenStore { source: error, .. }
            | Self::OpenState { source: error, .. }
            | Self::State(StateError::Storage(error)) => match error.kind() {
                StoreErrorKind::NotFound => ErrorKind::NotFound,
                StoreErrorKind::Rejected => ErrorKind::BadInput,
                StoreErrorKind::Refused => ErrorKind::Refused,
                StoreErrorKind::Corrupt => ErrorKind::Corrupt,
                StoreErrorKind::Locked => ErrorKind::Locked,
                StoreErrorKind::Full => ErrorKind::Full,
                StoreErrorKind::Incompatible => ErrorKind::Incompatible,
                StoreErrorKind::System => ErrorKind::System,
            },
            Self::Io { source, .. } | Self::Bundle(BundleError::Io { source, .. })
                if source.kind() == std::io::ErrorKind::StorageFull =>
            {
                ErrorKind::Full
            }
            Self::State(StateError::DoneUnrecorded { .. }) => ErrorKind::System,
            Self::State(_) => ErrorKind::Refused,
            Self::Busy { .. } => ErrorKind::Locked,
            Self::UnknownSchema { .. } => ErrorKind::Incompatible,
            Self::QuotaReached { .. } => ErrorKind::Full,
            Self::Io { .. } | Self::Shrank { .. } | Self::MachineFile { .. } | Self::CaptureFile { .. } => {
                ErrorKind::System
            }
            Self::Policy { .. }
            | Self::Setting(_)
            | Self::NotATranscript { .. }
            | Self::LineTooLong { .. }
            | Self::DocumentTooLong { .. }
            | Self::Torn { .. }
            | Self::Damaged { .. }
            | Self::Format { .. }
            | Self::Search(_)
            | Self::ModelUnknown { .. }
            | Self::PromptRange { .. }
            | Self::Name(_) => ErrorKind::BadInput,
            Self::NotFound { .. }
            | Self::NoPrompt { .. }
            | Self::NoReference { .. }
            | Self::NothingThere { .. }
            | Self::NoAncestor { .. }
            | Self::TranscriptGone { .. } => ErrorKind::NotFound,
            Self::Ambiguous { .. } | Self::Several { .. } => ErrorKind::Ambiguous,
            Self::Bundle(error) => match error {
                BundleError::NotABundle { .. } | BundleError::Bound { .. } | BundleError::Have { .. } => {
                    ErrorKind::BadInput
                }
                BundleError::Newer { .. } => ErrorKind::Incompatible,
                BundleError::Truncated { .. } | BundleError::Damaged { .. } => ErrorKind::Corrupt,
                BundleError::Missing { .. } => ErrorKind::NotFound,
                BundleError::Io { .. } => ErrorKind::System,
            },
            Self::Refused { .. } | Self::HeldBack { .. } | Self::Rules(_) | Self::Scrub(_) => {
                ErrorKind::Refused
            }
        }
    }

    /// Wraps a failed file operation.
    pub fn io(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { operation, path, source }
    }
}

/// Says how many prompts a chain has, where one was asked for that it has not.
/// Returns an error with what caused it, as one line.
pub(crate) fn with_cause(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Says how many sessions are not read.
fn unseen(sessions: Option<u64>) -> String {
    match sessions {
        None => "its sessions are".to_owned(),
        Some(1) => "1 session is".to_owned(),
        Some(many) => format!("{many} sessions are"),
    }
}

fn no_prompt(of: &str, number: u64, prompts: u64) -> String {
    match prompts {
        0 => format!("`{of}` has no prompt: no person wrote in it"),
        1 => format!("`{of}` has 1 prompt; there is no prompt {number}"),
        prompts => format!("`{of}` has {prompts} prompts; there is no prompt {number}"),
    }
}

/// A use case's result.
pub type Result<T, E = EngineError> = std::result::Result<T, E>;
