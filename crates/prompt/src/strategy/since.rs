//! From when on a source takes messages.
//!
//! When an agent began and ended is the engine's to look up; here it is a value.

use std::fmt;
use std::str::FromStr;

use stemmata_model::Timestamp;

/// The lower bound of a source's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// From the cluster's beginning.
    ClusterStart,
    /// From the moment on at which the agent ended its last task, that moment included.
    LastTaskEnd,
    /// After the moment at which the agent began last, that moment excluded.
    LastAgentStart,
    /// From a time on, that time included.
    Time(Timestamp),
}

/// When what happened that sources refer to. Each is from when on messages count, inclusive: `last_agent_start` is a
/// microsecond after the agent's start, and both are the cluster's start where the agent never began or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchors {
    /// When the cluster or the project's ledger was made.
    pub cluster_start: Timestamp,
    /// When the agent ended its last task.
    pub last_task_end: Timestamp,
    /// Right after the agent began last.
    pub last_agent_start: Timestamp,
}

/// A text that is no lower bound.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a `since`; use `cluster_start`, `last_task_end`, `last_agent_start`, an ISO time such as `2026-01-01T00:00:00Z`, or milliseconds since 1970"
)]
pub struct ParseSinceError {
    /// The text as given, cut to 64 characters.
    pub text: String,
}

impl Since {
    /// The names, for messages and completion.
    pub const NAMES: [&'static str; 3] = ["cluster_start", "last_task_end", "last_agent_start"];

    /// Reads a number of milliseconds since 1970, as JavaScript writes times.
    ///
    /// # Errors
    /// `ParseSinceError` where it is negative or beyond the year 9999.
    pub fn from_millis(millis: i64) -> Result<Self, ParseSinceError> {
        let error = || ParseSinceError { text: millis.to_string() };
        if !(0..=MILLIS_MAX).contains(&millis) {
            return Err(error());
        }
        millis.checked_mul(1_000).map(|micros| Self::Time(Timestamp::from_micros(micros))).ok_or_else(error)
    }

    /// Returns the time from which on messages count, that time included.
    pub const fn resolve(self, anchors: &Anchors) -> Timestamp {
        match self {
            Self::ClusterStart => anchors.cluster_start,
            Self::LastTaskEnd => anchors.last_task_end,
            Self::LastAgentStart => anchors.last_agent_start,
            Self::Time(at) => at,
        }
    }
}

/// The last millisecond of the year 9999.
const MILLIS_MAX: i64 = 253_402_300_799_999;

impl FromStr for Since {
    type Err = ParseSinceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "cluster_start" => Ok(Self::ClusterStart),
            "last_task_end" => Ok(Self::LastTaskEnd),
            "last_agent_start" => Ok(Self::LastAgentStart),
            _ => {
                // A day without a time is its beginning in UTC, as in JavaScript.
                let is_day = text.len() == "2026-01-01".len();
                let time = if is_day { format!("{text}T00:00:00Z") } else { text.to_owned() };
                let parsed = Timestamp::parse(&time).map(Self::Time);
                parsed.map_err(|_| ParseSinceError { text: text.chars().take(64).collect() })
            }
        }
    }
}

impl fmt::Display for Since {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClusterStart => formatter.write_str("cluster_start"),
            Self::LastTaskEnd => formatter.write_str("last_task_end"),
            Self::LastAgentStart => formatter.write_str("last_agent_start"),
            Self::Time(at) => write!(formatter, "{at}"),
        }
    }
}
