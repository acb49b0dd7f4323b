//! Notes: what a degraded or repaired path did, so that it reaches the user.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of thing a note tells; stable, for scripts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, with = "String"))]
pub enum NoteCode {
    /// A line could not be parsed; its bytes are kept.
    UnparsableLine,
    /// The last line has no newline or is cut; its bytes are kept.
    TornTail,
    /// A record type that this version does not know; carried as it is.
    UnknownRecord,
    /// A parent id names a record that is not there; the nearest earlier one stands in.
    MissingParent,
    /// A compaction names records to preserve that could not be found.
    MissingPreserved,
    /// Records were left out because they are on an abandoned branch.
    AbandonedBranch,
    /// A record got another parent, because the one it had is not part of the result.
    Reparented,
    /// A tool call without a result got a marked, made-up one.
    SyntheticResult,
    /// A tool result without its call.
    OrphanResult,
    /// Given counts were wrong and were corrected.
    CountsCorrected,
    /// The file was rewritten or shrank since it was last read.
    Rewritten,
    /// Secrets were replaced.
    Redacted,
    /// The same id with other content exists; kept apart.
    Conflict,
    /// Something was left out for its size.
    TooLarge,
    /// Something was left out, or not taken in, because it was forgotten.
    Forgotten,
    /// Content was scrubbed of secrets by other rules than those in force.
    OtherRules,
    /// It was recorded by another machine, and came in a bundle.
    Foreign,
    /// A call that has no id: repeated, it is another one.
    NotRepeatable,
    /// Anything else that degraded a result.
    Degraded,
    /// A code of one operation alone, or one that a newer version knows.
    #[serde(untagged)]
    Other(Box<str>),
}

impl NoteCode {
    /// Returns the stable name used in JSON output.
    pub fn as_str(&self) -> &str {
        match self {
            Self::UnparsableLine => "unparsable_line",
            Self::TornTail => "torn_tail",
            Self::UnknownRecord => "unknown_record",
            Self::MissingParent => "missing_parent",
            Self::MissingPreserved => "missing_preserved",
            Self::AbandonedBranch => "abandoned_branch",
            Self::Reparented => "reparented",
            Self::SyntheticResult => "synthetic_result",
            Self::OrphanResult => "orphan_result",
            Self::CountsCorrected => "counts_corrected",
            Self::Rewritten => "rewritten",
            Self::Redacted => "redacted",
            Self::Conflict => "conflict",
            Self::TooLarge => "too_large",
            Self::Forgotten => "forgotten",
            Self::OtherRules => "other_rules",
            Self::Foreign => "foreign",
            Self::NotRepeatable => "not_repeatable",
            Self::Degraded => "degraded",
            Self::Other(code) => code,
        }
    }
}

impl PartialEq<&str> for NoteCode {
    fn eq(&self, code: &&str) -> bool {
        self.as_str() == *code
    }
}

impl From<&str> for NoteCode {
    /// Takes a code that no variant stands for.
    fn from(code: &str) -> Self {
        Self::Other(code.into())
    }
}

/// Something that the user should know about a result that is good but not plain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// Stable name of its kind.
    pub code: NoteCode,
    /// One sentence.
    pub message: String,
    /// The line of the transcript (1 = first) that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

impl Note {
    /// Makes a note that is not about one line.
    pub fn new(code: impl Into<NoteCode>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), line: None }
    }

    /// Makes a note about a line of the transcript (1 = first).
    pub fn at_line(code: NoteCode, line: u64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), line: Some(line) }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "line {line}: {}", self.message),
            None => formatter.write_str(&self.message),
        }
    }
}
