//! Wire types of clients: their homes, hooks and transcripts.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, FormatId, SessionId, Timestamp};

use super::{Failure, LeftOut, Note, Session, StoppedReading, VaultRemoved};

/// The hooks of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Hooks {
    /// The client.
    pub runtime: String,
    /// The file that calls us.
    pub path: String,
    /// `current`, `changed` (not as `install` writes them now), `broken` (the program is gone), `none` (they were there
    /// once), `off` (never) or `unreadable`.
    pub state: String,
    /// The program that they call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Why the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When they were heard last; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<Timestamp>,
    /// When the client wrote a transcript last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
    /// Whether the client was used, for longer than a turn takes, and nothing was heard.
    pub unheard: bool,
    /// What went wrong last; absent where the same went well since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// When that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble_at: Option<Timestamp>,
}

/// What `doctor` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Diagnoses {
    /// Whether clients would take all of them with nothing lost.
    pub ok: bool,
    /// The transcripts, as they were named.
    pub transcripts: Vec<Diagnosis>,
    /// Those that could not be checked.
    pub failures: Vec<Failure>,
    /// With all of clients' homes: files of no known form, and of versions that are not known, by kind.
    #[serde(default)]
    pub unread: Vec<LeftOut>,
}

/// What a client's loader would make of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Diagnosis {
    /// The file.
    pub path: String,
    /// Its format.
    pub format: FormatId,
    /// The version of the client that wrote it, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether the client would take it with nothing lost.
    pub ok: bool,
    /// Its lines.
    pub lines: u64,
    /// Its bytes.
    pub bytes: u64,
    /// Messages of `messages_present` that the client would send to the model.
    pub messages_sent: u64,
    /// Messages of the conversation since its last compaction.
    pub messages_present: u64,
    /// What the loader would stumble over, in the order of the lines.
    pub findings: Vec<Finding>,
    /// The session whose transcript the store has with more: `recover` gives it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recoverable: Option<String>,
}

/// One thing that a loader would stumble over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Finding {
    /// `info`, `warning` (something is lost or made up) or `fatal` (refused, or history is lost in silence).
    pub severity: String,
    /// Stable name of the check.
    pub check: String,
    /// Line of the transcript (1 = first); absent where it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// One sentence.
    pub message: String,
}

/// A transcript that was repaired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Mended {
    /// The transcript, which stays as it is.
    pub path: String,
    /// The repaired copy; absent where nothing had to be changed and none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<String>,
    /// Its format.
    pub format: FormatId,
    /// The version of the client that wrote it, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Bytes of the repaired transcript.
    pub bytes: u64,
    /// Whether it is one document, in which changes are reported by message and not by line.
    pub is_document: bool,
    /// What was changed, in the order of the lines; empty where nothing had to be.
    pub changes: Vec<MendedLine>,
    /// Messages of `messages_present` that the client would send to the model now.
    pub messages_sent: u64,
    /// Messages of the conversation since its last compaction.
    pub messages_present: u64,
    /// What the loader would still stumble over; nothing of it is fatal.
    pub findings: Vec<Finding>,
}

/// Placed copies that nobody went on with, taken out of the store and out of their clients' folders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CopiesRemoved {
    /// Whether this is what would be removed: nothing was.
    pub dry_run: bool,
    /// Those that are gone, the last one that was placed first.
    pub removed: Vec<IdleCopy>,
    /// Those that stay.
    pub kept: Vec<IdleCopy>,
}

/// A placed copy that nobody went on with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct IdleCopy {
    /// The copy.
    pub session: Session,
    /// Why it stays; absent where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// A session's transcripts, given back to its client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Recovered {
    /// The session.
    pub session_id: SessionId,
    /// Whether this is what would be written: nothing was.
    pub dry_run: bool,
    /// Its transcript, then the files beside it and the transcripts of its subagents that were gone.
    pub files: Vec<RecoveredFile>,
    /// What was not given back.
    #[serde(default)]
    pub notes: Vec<Note>,
}

/// A transcript that was given back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct RecoveredFile {
    /// The file.
    pub path: String,
    /// `written` (nothing was there), `beside` (a damaged transcript), `replaced` (one) or `intact` (nothing to do).
    pub what: String,
    /// The commit that it ends with.
    pub ctx: CommitId,
    /// Its format.
    pub format: FormatId,
    /// Its bytes.
    pub bytes: u64,
    /// Messages that the client will send.
    pub messages: u64,
    /// What was wrong with the transcript that was there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
    /// Where the damaged transcript is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Secrets in it that stay replaced.
    pub still_redacted: u64,
}

/// One thing that a repair changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct MendedLine {
    /// Line of the transcript as it was (1 = first); absent for a new line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Stable name of what was done: `torn_tail`, `field`, `parent`, `result`, `order`, `checkpoint`, `compaction`,
    /// `set_aside`, `header`, `envelope`, `number` or `rewind`.
    pub kind: String,
    /// What was done and why.
    pub message: String,
}

/// What `install` and `uninstall` did to a client's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Installed {
    /// The runtime.
    pub runtime: String,
    /// The settings file.
    pub path: String,
    /// Whether it has to change.
    pub changed: bool,
    /// Whether it was changed.
    pub written: bool,
    /// Hooks that were added or taken out; a file of our own counts as one.
    #[serde(default)]
    pub hooks: u64,
    /// The copy of the file as it was; absent where there was none, or nothing changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Copies and folders of earlier installs that `uninstall` removed, with `--dry-run` the copies that it would.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// How the client's agent gets a brief of what a compaction loses; absent after `uninstall`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
    /// Whether its agent gets briefs (`--inject`).
    #[serde(default)]
    pub briefs: bool,
}

/// What `install --all` and `uninstall --all` did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct InstalledAll {
    /// One for each client.
    pub clients: Vec<Installed>,
    /// Clients without hooks: their agents can get no brief of what a compaction loses. Empty after `uninstall`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_brief: Vec<String>,
    /// Completion files of `setup`, and folders for them, that `uninstall --all` removed, with `--dry-run` the files that it would.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<String>,
    /// Secrets that an earlier version kept, which `uninstall --all` overwrote and removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<VaultRemoved>,
}

/// What `setup` did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Setup {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// The steps, in their order.
    pub steps: Vec<SetupStep>,
}

/// One step of `setup`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SetupStep {
    /// `clients`, `import`, `hooks`, `completions` or `git`.
    pub step: String,
    /// `done`, `due` (in a dry run), `declined`, `nothing` (done already, or not possible here) or `failed`.
    pub state: String,
    /// What it is about, in words.
    pub what: String,
}

/// A client's home.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Home {
    /// The runtime.
    pub runtime: String,
    /// Its configuration directory.
    pub path: String,
    /// Transcripts below it.
    pub transcripts: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Days after which the client deletes a transcript that nobody writes to; absent where it keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletes_after_days: Option<u64>,
    /// Transcripts that it deletes within a week.
    #[serde(default)]
    pub deletes_soon: u64,
}

/// A transcript that an import would read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Pending {
    /// The file.
    pub path: String,
    /// `new` or `changed`.
    pub state: String,
    /// Its bytes.
    pub bytes: u64,
    /// Days until its client deletes it; absent where that keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days_left: Option<u64>,
    /// Where an import stopped at a line that is too long: where that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StoppedReading>,
}
