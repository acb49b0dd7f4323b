//! What can go wrong in a command, as a person reads it: the error, its causes, the next step, the exit code.
//!
//! What the service and the host failed with is a problem already; here is only how it is shown.

use std::io;
use std::path::{Path, PathBuf};

use stemmata_api::{Code, Kind, Problem};
use stemmata_model::{ParseIdError, ParseTimestampError};
use stemmata_service::{causes, of_kind};

use crate::output::put;
use crate::output::style::{Style, tame};

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
                "It failed, and none of the codes below fits: a file cannot be read, is not a transcript, \
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
            Self::Corrupt => {
                "Stored bytes or those of a bundle are damaged, or `verify`, `backup`, `restore`, `doctor` or `replay --check` found damage."
            }
            Self::Locked => "Another process holds the store or a database. Nothing was changed; try again.",
            Self::Full => "No space is left where the store is. What was acknowledged before is kept.",
            Self::Incompatible => {
                "The store or bundle was written by a newer version, the file is not a store, or a client's sessions are of a version that is not read. It was not touched."
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

    /// Returns the code of a kind of problem.
    pub(crate) fn of(kind: Kind) -> Self {
        Self::of_code(kind.exit_code().into())
    }

    /// Returns the code of a number that a response holds.
    pub(crate) fn of_code(code: u64) -> Self {
        Self::ALL.into_iter().find(|exit| u64::from(exit.code()) == code).unwrap_or(Self::Failure)
    }
}

/// A command's error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// An operation of the service failed.
    #[error("{0}")]
    Problem(Box<Problem>),
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
    /// The configuration cannot be used.
    #[error("{place}: {reason}")]
    Config { place: String, reason: String },
    /// A value on the command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The client's program is not there.
    #[error("`{program}` could not be started")]
    Client {
        program: String,
        command: String,
        #[source]
        source: io::Error,
    },
}

impl From<Box<Problem>> for CliError {
    fn from(problem: Box<Problem>) -> Self {
        Self::Problem(problem)
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
        Exit::of(self.problem().kind)
    }

    /// Says whether the reader of the output went away, which is no error.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the problem that it is: code, kind, the next step.
    pub(crate) fn problem(&self) -> Problem {
        let say = |code: Code| Problem::new(code, self.to_string()).because(causes(self));
        match self {
            Self::Problem(problem) => (**problem).clone(),
            Self::Io { source, path, .. } => say(of_kind(source)).with("path", path.display()),
            Self::Output(source) => say(of_kind(source)).with("path", "the standard output"),
            Self::NoHome { variable, .. } => say(Code::NoHome).with("variable", variable),
            Self::Config { place, .. } => match place.strip_prefix('$') {
                Some(variable) => {
                    let hint = format!("correct or unset the environment variable `{variable}`");
                    Problem { hint: Some(hint), ..say(Code::ConfigBad) }
                }
                None => say(Code::ConfigBad),
            },
            Self::Usage(_) => say(Code::BadRequest),
            Self::Client { command, .. } => say(Code::ClientNotStarted).with("command", command),
        }
    }
}

/// Returns an error with its causes, in one line.
pub(crate) fn with_causes(error: &CliError) -> String {
    stemmata_service::with_causes(&error.problem())
}

/// Renders a problem for a person. Only labels stand at the beginning of a line: a name with a line end in it cannot
/// pass for a hint of ours.
pub(crate) fn render(problem: &Problem) -> String {
    let indented = |text: &str| text.replace('\n', "\n  ");
    let mut text = format!("{}: {}\n", Style::Error.paint("error"), indented(&problem.detail));
    for cause in &problem.causes {
        put!(text, "  caused by: {}\n", indented(cause));
    }
    for candidate in &problem.candidates {
        put!(text, "  {}  {}\n", tame(&candidate.id), tame(&candidate.summary));
    }
    if let Some(hint) = &problem.hint {
        put!(text, "{}: {}\n", Style::Hint.paint("hint"), indented(hint));
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
            crate::output::screen::finish(&render(&error.problem()), false),
            "error: read /a failed\n  caused by: permission denied\nhint: check who may read and write that file\n"
        );
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(CliError::Output(closed()).is_closed_pipe());
        assert!(!CliError::io("read", Path::new("/a"), closed()).is_closed_pipe());
    }
}
