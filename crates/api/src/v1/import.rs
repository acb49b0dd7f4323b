//! Wire types of `import` and `watch`, the contract that scripts rely on most.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, FormatId, SessionId};

use super::Note;

/// What an import found and did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Import {
    /// Sessions, in the order of their paths; those where nothing was new too.
    pub sessions: Vec<Imported>,
    /// Files that could not be imported.
    pub failures: Vec<Failure>,
    /// Files below named folders that are not transcripts.
    pub skipped: Vec<String>,
    /// Files below named folders that are excluded from capture.
    pub excluded: Vec<HeldBack>,
    /// Everything that was not imported, or not understood, by kind.
    pub left_out: Vec<LeftOut>,
    /// Sums.
    pub totals: Totals,
}

/// What was not imported, or imported without being understood, of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LeftOut {
    /// `unknown_schema` (sessions of a version that is not read), `unknown_version` (read as far as they are like a known one),
    /// `unknown_record` and `unreadable_record` (kept as they are), `not_a_transcript` (of no known form, with a transcript's
    /// name), `other_file` (without one), `excluded`, or the code of the problem that kept a file from being read.
    pub kind: String,
    /// What is counted: `session`, `record` or `file`.
    pub of: String,
    /// How many; 1 where nobody can count them.
    pub count: u64,
    /// Those of them that no earlier import showed. What is excluded and what cannot be read counts each time, and where no import
    /// answers, all of them.
    #[serde(default)]
    pub new: u64,
    /// The record's type, the version, the ending of the files' names, the exclusion, or what is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
    /// The first of the files.
    pub paths: Vec<String>,
}

impl LeftOut {
    /// Says whether it may be a session that is not there, or not as it should be: then not everything is imported.
    pub fn may_be_session(&self) -> bool {
        self.kind != "other_file" && self.kind != "excluded" && !self.is_kept()
    }

    /// Says whether it is there with all its bytes, and only what it says is not understood.
    pub fn is_kept(&self) -> bool {
        self.of == "record"
    }
}

/// A session that `watch` captured something of, one object a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Watched {
    /// The transcript.
    pub path: String,
    /// The runtime's own id of the session.
    pub session_id: SessionId,
    /// The transcript's format.
    pub format: FormatId,
    /// The newest commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<CommitId>,
    /// Commits that are new.
    pub new_commits: u64,
    /// Commits of the chain from the root to the tip.
    pub commits: u64,
    /// Bytes of the transcript that were secrets and were replaced.
    pub bytes_redacted: u64,
    /// What degraded the result.
    pub notes: Vec<Note>,
}

/// How many secrets of one kind were redacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RedactedKind {
    /// The rule's kind, as in `github-token`.
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// A session that was imported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Imported {
    /// The transcript.
    pub path: String,
    /// The runtime's own id of the session.
    pub session_id: SessionId,
    /// The transcript's format.
    pub format: FormatId,
    /// The newest commit; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<CommitId>,
    /// Commits of the chain from the root to the tip.
    pub commits: u64,
    /// Entries of the chain.
    pub entries: u64,
    /// Bytes of the transcript.
    pub bytes_in: u64,
    /// Bytes of it that were secrets and were replaced; 0 means that `native` of the tip equals the file.
    pub bytes_redacted: u64,
    /// Secrets that were redacted in what this import read, by kind.
    pub redacted: Vec<RedactedKind>,
    /// What degraded the result.
    pub notes: Vec<Note>,
    /// Commits that are new with this import.
    pub new_commits: u64,
    /// Bytes that the store took for what is new.
    pub bytes_stored: u64,
    /// Files that its client keeps beside it, and that were new or changed.
    #[serde(default)]
    pub sidecars: u64,
    /// Its first prompt, or the name that the client gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// For a subagent: the session that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<SessionId>,
}

/// A file that could not be imported. Everything good of it and of the others is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Failure {
    /// The file.
    pub path: String,
    /// The stable name of what went wrong.
    pub code: String,
    /// What went wrong, with the position where there is one.
    pub error: String,
    /// Causes, outermost first.
    pub causes: Vec<String>,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The exit code that stands for this kind of failure.
    pub exit_code: u64,
}

/// A file that is excluded from capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct HeldBack {
    /// The file.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// Sums over all sessions of an import.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Totals {
    /// Sessions.
    pub sessions: u64,
    /// Commits of their chains.
    pub commits: u64,
    /// Bytes of their transcripts.
    pub bytes_in: u64,
    /// Bytes that the store took for what is new.
    pub bytes_stored: u64,
    /// Notes.
    pub notes: u64,
    /// Commits that are new with this import.
    pub new_commits: u64,
    /// Chains that were found to be copies of others: new ones, and old ones whose original came now.
    pub copies: u64,
    /// Entries.
    pub entries: u64,
    /// Bytes that were secrets and were replaced.
    pub bytes_redacted: u64,
    /// Files that could not be imported.
    pub failures: u64,
    /// Files that are not transcripts.
    pub skipped: u64,
    /// Files that are excluded from capture.
    pub excluded: u64,
    /// Files that clients keep beside transcripts, and that were new or changed.
    #[serde(default)]
    pub sidecars: u64,
    /// Bytes of these files.
    #[serde(default)]
    pub sidecar_bytes: u64,
    /// Bytes that the store took for them; `bytes_stored` leaves them out.
    #[serde(default)]
    pub sidecar_bytes_stored: u64,
    /// Of these files, those in which secrets were replaced.
    #[serde(default)]
    pub sidecars_altered: u64,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}
