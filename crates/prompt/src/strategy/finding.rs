//! What is to be said of a strategy: errors and warnings, each with its place and its next step.

use super::document::Position;

/// Findings of one file at most: a file in which everything is wrong is not a strategy.
pub const FINDINGS_MAX: usize = 100;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The strategy cannot be used.
    Error,
    /// It can be used, and may not do what is meant.
    Warning,
}

impl Severity {
    /// Returns the name used in JSON and on the terminal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// What a finding is about. Stable: a script may rely on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum FindingCode {
    /// The file is no JSON or TOML, or too large.
    Unreadable,
    /// A field that strategies do not have.
    UnknownField,
    /// A field that must be there is not.
    MissingField,
    /// A value of the wrong kind, or outside its limits.
    BadValue,
    /// A deprecated name of a field.
    Deprecated,
    /// A topic that is neither well known nor in the ledger.
    UnknownTopic,
    /// No source gives the agent its issue, its state or its plan, or one that does is not required.
    MissingAnchor,
    /// A source without a priority.
    ImplicitPriority,
    /// `latest` without an amount takes everything.
    LatestWithoutAmount,
    /// An optional source that does not say how small it may become.
    NoCompactAmount,
    /// What changes often stands before what seldom does.
    VolatileBeforeStable,
    /// Two sources that select the same.
    DuplicateSource,
    /// A field that has no effect here.
    NoEffect,
}

impl FindingCode {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One thing to be said of a strategy or a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub code: FindingCode,
    /// Where it is.
    pub at: Position,
    /// What is wrong: lower case, no period.
    pub message: String,
    /// What to do about it, where that is known.
    pub suggestion: Option<String>,
}

impl Finding {
    pub(crate) fn error(code: FindingCode, at: Position, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code, at, message: message.into(), suggestion: None }
    }

    pub(crate) fn warning(code: FindingCode, at: Position, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, code, at, message: message.into(), suggestion: None }
    }

    #[must_use]
    pub(crate) fn try_instead(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}
