//! Why a request got no answer. Which of these an overflow of the window is, `stemmata-prompt` tells by status and text.

use std::time::Duration;

/// A reply that was no success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The HTTP status.
    pub status: u16,
    /// The provider's code or type, where it names one: `context_length_exceeded`, `overloaded_error`. At most 100 characters.
    pub code: String,
    /// What the provider says, at most 500 characters.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

impl std::fmt::Display for Status {
    /// Leaves out what the provider did not say.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.status)?;
        if !self.code.is_empty() {
            write!(formatter, " {}", self.code)?;
        }
        if self.message.is_empty() { Ok(()) } else { write!(formatter, ": {}", self.message) }
    }
}

/// Why a request got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The address or the key is unusable. Nothing was sent.
    #[error("{reason}")]
    BadEndpoint {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The request is larger than [`crate::Limits::request_bytes_max`]. Nothing was sent.
    #[error("the request has {bytes} bytes; at most {bytes_max} are sent: ask for a smaller range")]
    RequestTooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The text could not be searched for secrets, so nothing was sent.
    #[error("the text could not be searched for secrets ({reason}); nothing was sent")]
    NotScrubbed {
        /// What the scrubber says.
        reason: String,
    },
    /// No connection, or it broke.
    #[error("{url} cannot be reached: {reason}")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        reason: String,
    },
    /// No answer in time.
    #[error("{url} gave no whole answer within {seconds} s")]
    TimedOut {
        /// Where.
        url: String,
        /// The limit of an attempt.
        seconds: u64,
    },
    /// The server answered with an error.
    #[error("{url} answered {status}")]
    Refused {
        /// Where.
        url: String,
        /// What it said.
        status: Status,
    },
    /// The reply is no reply of this API, or larger than [`crate::Limits::reply_bytes_max`].
    #[error("the answer of {url} cannot be used: {reason}")]
    BadReply {
        /// Where.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl LlmError {
    /// A short, stable word for logs and tests.
    pub fn code(&self) -> &'static str {
        match self {
            LlmError::BadEndpoint { .. } => "endpoint_bad",
            LlmError::RequestTooLarge { .. } => "request_too_large",
            LlmError::NotScrubbed { .. } => "not_scrubbed",
            LlmError::Unreachable { .. } => "unreachable",
            LlmError::TimedOut { .. } => "timed_out",
            LlmError::Refused { .. } => "refused",
            LlmError::BadReply { .. } => "reply_bad",
        }
    }
}
