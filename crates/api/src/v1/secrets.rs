//! Wire types of what looks for secrets, and keeps them.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, EventSeq, LedgerId, SessionId, Timestamp};

use super::Found;
use crate::PlanDigest;

/// What today's rules would find in what is stored. Holds no byte of a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Scan {
    /// The commit that was named, where a commit was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meant: Option<Found>,
    /// Commits that were checked.
    pub commits: u64,
    /// Events with content that were checked.
    pub events: u64,
    /// Bytes of their content.
    pub bytes: u64,
    /// Commits among them whose content was forgotten.
    pub holes: u64,
    /// Where to continue with `--after`, if the limit ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Whether everything was checked: no limit ended it, and no ledger is in `unread`.
    pub complete: bool,
    /// Ledgers that could not be read to their end.
    pub unread: Vec<UnreadLedger>,
    /// What was found.
    pub findings: Vec<ScanFinding>,
}

/// A ledger that could not be read to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct UnreadLedger {
    /// The ledger.
    pub ledger: LedgerId,
    /// What keeps it from being read.
    pub reason: String,
}

/// Secrets in the clients' own transcripts. Holds no byte of a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ClientScan {
    /// Transcripts that were read.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether all transcripts were read: the limit did not end the scan, and `unread` is empty.
    pub complete: bool,
    /// Transcripts and folders that could not be read.
    pub unread: Vec<UnreadFile>,
    /// What was found, in the order of paths and lines.
    pub findings: Vec<ClientFinding>,
}

/// A secret in a client's own transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ClientFinding {
    /// The client, as in `claude-code`.
    pub client: String,
    /// The transcript.
    pub path: String,
    /// The line, 1 = first.
    pub line: u64,
    /// The rule's kind, as in `github-token`.
    pub kind: String,
    /// Equal for equal secrets, in files and in this store.
    pub fingerprint: String,
}

/// A file or folder that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct UnreadFile {
    /// Its path.
    pub path: String,
    /// What keeps it from being read.
    pub reason: String,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ScanFinding {
    /// The commit that holds it; absent where an event or a saved state does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The ledger of the event or of the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerId>,
    /// The number of the event in its ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<EventSeq>,
    /// The session of the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The name of the saved state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The line of the commit's content, 1 = first; absent where it is in its summary, tags or notes, or in a field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The field of a session that ends at the commit (`title`, `cwd`, `git_branch` or `version`), or of the event
    /// (`text`, `data`, `entry` or `metadata`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The id of the record, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The rule's kind, as in `github-token`.
    pub kind: String,
    /// Bytes of it.
    pub bytes: u64,
    /// Equal for equal secrets in this store.
    pub fingerprint: String,
}

/// What was scrubbed, or what would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Scrub {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The commit that was named, where a commit was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meant: Option<Found>,
    /// Commits that were checked.
    pub looked_at: u64,
    /// Findings by their kind.
    pub kinds: Vec<ScrubKind>,
    /// Commits with findings.
    pub dirty: u64,
    /// Events that were checked.
    pub events_looked_at: u64,
    /// Events with findings.
    pub events: u64,
    /// Events that were emptied: those, and what was published after them.
    pub events_forgotten: u64,
    /// Ledgers that lose saved states, because these or their events have findings.
    pub ledgers: Vec<LedgerId>,
    /// Ledgers that could not be read to their end: what they hold may stay.
    pub unread: Vec<UnreadLedger>,
    /// Commits that get other ids, those that follow included.
    pub rewritten: u64,
    /// Which commit became which.
    pub redirects: Vec<ScrubRedirect>,
    /// Files beside transcripts that have another state. Their commits are among those above.
    #[serde(default)]
    pub sidecars: u64,
    /// Sessions that end at another commit.
    pub sessions: Vec<SessionId>,
    /// Their titles without secrets, in the same order; empty where one has none.
    pub titles: Vec<String>,
    /// Contents whose bytes are gone.
    pub contents: u64,
    /// Bytes of them, uncompressed.
    pub bytes: u64,
    /// Stores that a restore, a rollback or a migration left beside this one: nothing of them is deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores_left: Vec<String>,
    /// What is left to do on disk; the next command does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
    /// In a plan: what applying it names. It stands for all of the above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<PlanDigest>,
}

/// Findings of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ScrubKind {
    /// The rule's kind.
    pub kind: String,
    /// How many.
    pub findings: u64,
}

/// What a commit became.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ScrubRedirect {
    /// The id that it had.
    pub from: CommitId,
    /// The id that it has.
    pub to: CommitId,
}

/// Projects' rules for secrets that are trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TrustedRules {
    /// The rules, the oldest first.
    pub trusted: Vec<TrustedFile>,
}

/// A project's rules that are trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TrustedFile {
    /// The file, as it was when it was trusted.
    pub path: String,
    /// The BLAKE3 hash of its text, in hex.
    pub hash: String,
    /// When it was trusted.
    pub trusted_at: Timestamp,
    /// Whether the file is there and still the same.
    pub is_current: bool,
}

/// Secrets that an earlier version kept in files of this machine, overwritten and removed, or to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct VaultRemoved {
    /// The folder; absent where nothing is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// How many files.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

/// Asks what today's rules would find in what is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScanRequest {
    /// A commit, session or tag; absent: everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The same as an absolute path of the asking machine; absent where it cannot be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Where to go on: the `next` of the answer before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Findings after which it stops, when it is through with what holds the last; absent: 10,000; 0: as many as one answer may
    /// hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Asks to replace what today's rules find in what is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScrubRequest {
    /// A commit, session or tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The same as an absolute path of the asking machine; absent where it cannot be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether everything is meant.
    #[serde(default)]
    pub all: bool,
}
