//! What can go wrong in a command, as a person reads it: the error, its causes, the next step, the exit code.
//!
//! Errors of the engine and the store keep their own texts; here is only how they are shown.

mod hints;

use std::io;
use std::path::{Path, PathBuf};

use stemmata_engine::{BundleError, EngineError, ErrorKind, VaultError};
use stemmata_model::{CommitId, ParseIdError, ParseTimestampError};
use stemmata_store::{StoreError, StoreErrorKind};

use crate::output::put;
use crate::output::style::{Style, tame};

pub(crate) use hints::hint_of;
use hints::hint_of_io;

/// How a command ended. Stable: scripts rely on the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well.
    Done,
    /// Something failed that has no code of its own.
    Failure,
    /// The command line is wrong.
    Usage,
    /// Something that was asked for is not there.
    NotFound,
    /// A name could be several things.
    Ambiguous,
    /// What was asked for would do harm or make no sense.
    Refused,
    /// Stored bytes are damaged.
    Corrupt,
    /// Another process holds the store.
    Locked,
    /// No space is left.
    Full,
    /// The store was written by another version.
    Incompatible,
    /// Some of it was done.
    Partial,
    /// A scan found secrets.
    Found,
    /// What a command under `run` ended with.
    Passed(u8),
}

impl Exit {
    /// All codes, in order.
    pub(crate) const ALL: [Self; 12] = [
        Self::Done,
        Self::Failure,
        Self::Usage,
        Self::NotFound,
        Self::Ambiguous,
        Self::Refused,
        Self::Corrupt,
        Self::Locked,
        Self::Full,
        Self::Incompatible,
        Self::Partial,
        Self::Found,
    ];

    /// Returns the number.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Ambiguous => 4,
            Self::Refused => 5,
            Self::Corrupt => 6,
            Self::Locked => 7,
            Self::Full => 8,
            Self::Incompatible => 9,
            Self::Partial => 10,
            Self::Found => 11,
            Self::Passed(code) => code,
        }
    }

    /// Returns what it means, for the generated page.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Done => {
                "All went well. Also when the reader of the output went away (`stemma log | head`)."
            }
            Self::Failure => {
                "It failed, and none of the codes below fits: a file cannot be read, is no transcript, \
                 or a value makes no sense. The message says which."
            }
            Self::Usage => {
                "The command line is wrong: an unknown command or flag, or a value of the wrong shape."
            }
            Self::NotFound => "A commit, session, tag, file or checkpoint that was named is not there.",
            Self::Ambiguous => "A prefix or name could be several things; the message lists up to ten.",
            Self::Refused => {
                "It would do harm or make no sense, and nothing was changed; the message gives reasons."
            }
            Self::Corrupt => "Stored bytes or those of a bundle are damaged, or `verify` found damage.",
            Self::Locked => "Another process holds the store or a database. Nothing was changed; try again.",
            Self::Full => "No space is left where the store is. What was acknowledged before is kept.",
            Self::Incompatible => {
                "The store or bundle was written by a newer version, or the file is no store. It was not touched."
            }
            Self::Partial => {
                "`import` finished, but some files could not be imported; the others were. Or `scan` or `scrub` could not \
                 read a ledger to its end, and found nothing in what it read, or did what it could."
            }
            Self::Found => {
                "`scan` found what today's rules take for secrets, also where it could not read everything."
            }
            Self::Passed(_) => "What the command under `run` ended with.",
        }
    }

    const fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Ambiguous => Self::Ambiguous,
            ErrorKind::Refused => Self::Refused,
            ErrorKind::Corrupt => Self::Corrupt,
            ErrorKind::Locked => Self::Locked,
            ErrorKind::Full => Self::Full,
            ErrorKind::Incompatible => Self::Incompatible,
            ErrorKind::BadInput | ErrorKind::System => Self::Failure,
        }
    }
}

/// A command's error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// A use case failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A file operation of the command itself failed.
    #[error("{operation} {} failed", path.display())]
    Io {
        operation: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Standard output cannot be written.
    #[error("writing the output failed")]
    Output(#[source] io::Error),
    /// There is no home directory to put data in.
    #[error("there is no place for {what}: neither `{variable}` nor `HOME` is set")]
    NoHome { what: &'static str, variable: &'static str },
    /// The store is as large as its owner lets it become.
    #[error("the store takes {used}, and `store.quota_mib` allows {bound}: nothing more is taken in")]
    Quota { used: String, bound: String, plan: String },
    /// The configuration cannot be used.
    #[error("{place}: {reason}")]
    Config { place: String, reason: String },
    /// A value on the command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A client deleted a transcript that the store has.
    #[error("the transcript {} is gone; the store has all that was captured of it, up to {ctx}", path.display())]
    TranscriptGone { path: PathBuf, ctx: CommitId },
    /// A directory's project has no ledger.
    #[error("there is no ledger of the project of {dir}")]
    NoLedger { dir: String },
    /// The client's program is not there.
    #[error("`{program}` could not be started")]
    Client {
        program: String,
        command: String,
        #[source]
        source: io::Error,
    },
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        Self::Engine(EngineError::Store(error))
    }
}

impl From<ParseTimestampError> for CliError {
    fn from(error: ParseTimestampError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<ParseIdError> for CliError {
    fn from(error: ParseIdError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<stemmata_model::NameError> for CliError {
    fn from(error: stemmata_model::NameError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl CliError {
    /// Wraps a failed file operation.
    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), source }
    }

    /// Returns the exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Engine(error) => exit_of(error),
            Self::Io { source, .. } | Self::Output(source) => exit_of_io(source),
            Self::Usage(_) => Exit::Usage,
            Self::Quota { .. } => Exit::Full,
            Self::Client { .. } | Self::NoLedger { .. } | Self::TranscriptGone { .. } => Exit::NotFound,
            Self::NoHome { .. } | Self::Config { .. } => Exit::Failure,
        }
    }

    /// Says whether the reader of the output went away, which is no error.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Engine(EngineError::Io { source, operation, .. }) => {
                *operation == "write" && source.kind() == io::ErrorKind::BrokenPipe
            }
            Self::Output(source)
            | Self::Engine(
                EngineError::Store(StoreError::Sink(source))
                | EngineError::Bundle(BundleError::Io { source, .. }),
            ) => source.kind() == io::ErrorKind::BrokenPipe,
            _ => false,
        }
    }

    /// Returns the next step, where one is known.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Engine(error) => hint_of(error),
            Self::Io { source, .. } | Self::Output(source) => hint_of_io(source),
            Self::NoHome { variable, .. } => Some(format!("set `{variable}` to a directory of yours")),
            Self::Config { .. } => {
                Some("`stemma config` shows every key, its value and where it comes from".to_owned())
            }
            Self::Usage(_) => None,
            Self::TranscriptGone { ctx, .. } => Some(format!(
                "`stemma native {ctx} --out FILE` writes it again byte for byte, `stemma resume {ctx}` goes on with it"
            )),
            Self::NoLedger { .. } => Some(
                "`stemma decide`, `stemma task` and `stemma events append` make one; `stemma ledger list` lists all"
                    .to_owned(),
            ),
            Self::Quota { plan, .. } => Some(plan.trim_end().to_owned()),
            Self::Client { command, .. } => {
                Some(format!("the session is placed; where the client is installed, run `{command}`"))
            }
        }
    }
}

/// Returns the exit code of an engine's error.
pub(crate) fn exit_of(error: &EngineError) -> Exit {
    match error {
        EngineError::Io { source, .. }
        | EngineError::Bundle(BundleError::Io { source, .. })
        | EngineError::Vault(VaultError::Io { source, .. }) => exit_of_io(source),
        EngineError::Store(error) | EngineError::OpenStore { source: error, .. } => exit_of_store(error),
        // What somebody asked for on the command line.
        EngineError::Policy { .. } => Exit::Usage,
        other => Exit::of(other.kind()),
    }
}

fn exit_of_store(error: &StoreError) -> Exit {
    match error {
        StoreError::Io { source, .. } | StoreError::Sink(source) => exit_of_io(source),
        other => match other.kind() {
            StoreErrorKind::NotFound => Exit::NotFound,
            StoreErrorKind::Refused => Exit::Refused,
            StoreErrorKind::Corrupt => Exit::Corrupt,
            StoreErrorKind::Locked => Exit::Locked,
            StoreErrorKind::Full => Exit::Full,
            StoreErrorKind::Incompatible => Exit::Incompatible,
            StoreErrorKind::Rejected | StoreErrorKind::System => Exit::Failure,
        },
    }
}

fn exit_of_io(source: &io::Error) -> Exit {
    match source.kind() {
        io::ErrorKind::NotFound => Exit::NotFound,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Exit::Full,
        _ => Exit::Failure,
    }
}

/// Returns an error with its causes, in one line.
pub(crate) fn with_causes(error: &CliError) -> String {
    let causes = causes(error).into_iter().map(|cause| format!(": {cause}"));
    format!("{error}{}", causes.collect::<String>())
}

/// Returns the texts of an error's causes, outermost first, without repeating what was said.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> Vec<String> {
    let mut said = error.to_string();
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if text != said {
            causes.push(text.clone());
        }
        said = text;
        next = cause.source();
    }
    causes
}

/// Renders an error for a person. Only labels stand at the beginning of a line: a name with a line end in it cannot
/// pass for a hint of ours.
pub(crate) fn render(error: &CliError) -> String {
    let indented = |text: &str| text.replace('\n', "\n  ");
    let mut text = format!("{}: {}\n", Style::Error.paint("error"), indented(&error.to_string()));
    for cause in causes(error) {
        put!(text, "  caused by: {}\n", indented(&cause));
    }
    if let CliError::Engine(EngineError::Ambiguous { candidates, .. }) = error {
        for candidate in candidates {
            put!(text, "  {}  {}\n", candidate.id, tame(&candidate.summary));
        }
    }
    if let Some(hint) = error.hint() {
        put!(text, "{}: {}\n", Style::Hint.paint("hint"), indented(&hint));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_their_position() {
        for (position, exit) in Exit::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(exit.code()), position);
        }
    }

    #[test]
    fn an_error_is_told_with_causes_and_the_next_step() {
        let error = CliError::io("read", Path::new("/a"), io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(
            crate::output::screen::finish(&render(&error), false),
            "error: read /a failed\n  caused by: permission denied\nhint: check who may read and write it\n"
        );
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(CliError::Output(closed()).is_closed_pipe());
        assert!(CliError::from(StoreError::Sink(closed())).is_closed_pipe());
        assert!(!CliError::io("read", Path::new("/a"), closed()).is_closed_pipe());
    }
}
