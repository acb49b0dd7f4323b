//! Wire types of sessions that are placed where a client looks.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, FormatId, MachineId, SessionId};

use super::{Losses, Note};

/// A session that was placed where the client looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Placed {
    /// The commit that it continues.
    pub ctx: CommitId,
    /// The new session id.
    pub session_id: SessionId,
    /// The file that was written.
    pub path: String,
    /// Its format.
    pub format: FormatId,
    /// Bytes of the file.
    pub bytes: u64,
    /// Messages that the client will send.
    pub messages: u64,
    /// The client's own command line that resumes it, program first.
    pub resume_command: Vec<String>,
    /// The client's own command line that takes the file in first; absent where it finds it by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import_command: Option<Vec<String>>,
    /// The directory to run it in.
    pub cwd: String,
    /// The text of the user's entry that was cut off, to edit and send again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// What a translation changed and dropped; absent where nothing was translated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
    /// Whether it is the client's own session, which is resumed as it is: nothing was written.
    #[serde(default)]
    pub own_session: bool,
    /// Why a copy was placed, where the client's own session could have been resumed; absent for a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copied_because: Option<String>,
    /// Whether this is what would be written: nothing was.
    #[serde(default)]
    pub dry_run: bool,
    /// Files that were written beside it, as the client keeps them.
    #[serde(default)]
    pub sidecars: u64,
    /// What degraded the result.
    pub notes: Vec<Note>,
}

/// Asks to prepare a context that a client will load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PreparePlacementRequest {
    /// The commit.
    pub ctx: String,
    /// The runtime that goes on with it; absent: the one that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Where the context begins: `compaction`, `root`, or an ancestor.
    pub stop: String,
    /// Ends it at this entry: an assistant's is kept, a user's is left out and its text returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Stores nothing, neither a translation nor the commit that ends at the entry: `continues` is the commit to translate.
    #[serde(default)]
    pub dry_run: bool,
}

/// A context that a client is about to load: `materialize` of `continues` and `stop` writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PreparedPlacement {
    /// The commit to continue: the one that was asked for, the one that ends at the entry, or a translation.
    pub continues: CommitId,
    /// Where the context of that commit begins.
    pub stop: String,
    /// Its format.
    pub format: FormatId,
    /// Where its session began to work; paths below it are mapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_cwd: Option<String>,
    /// The text of the user's entry that was cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// For a translation: the commit, start and entry that it is made from. Absent where the client gets the stored bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversion_of: Option<ConversionOf>,
    /// What the translation changed and dropped. Absent without a translation; a dry run does not translate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What a translation is made from: an import on another machine makes it again to recognize the copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ConversionOf {
    /// The commit that was asked for.
    pub ctx: CommitId,
    /// Where its context begins: `compaction`, `root`, or an ancestor.
    pub stop: String,
    /// The entry that it ends at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// Says that a session was placed where a client looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecordPlacementRequest {
    /// The commit that it continues.
    pub ctx: CommitId,
    /// The new session id.
    pub session_id: SessionId,
    /// The machine that it was placed on.
    pub machine: MachineId,
    /// Where what the client adds is read: the file, or its place in the client's database.
    pub path: String,
    /// Its format.
    pub format: FormatId,
    /// Bytes of the context that were taken.
    pub taken_bytes: u64,
    /// Lines of these in the file.
    pub taken_lines: u64,
    /// Bytes of the file.
    pub placed_bytes: u64,
    /// Messages that the client will send.
    pub messages: u64,
    /// The BLAKE3 hash of the file, in hex.
    pub hash: String,
    /// What the system says of the file; absent before it has its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<WrittenFile>,
    /// Whether the client takes the file in by a command of its own and keeps a copy.
    #[serde(default)]
    pub taken_in_by_client: bool,
    /// The directory to run the client in.
    pub cwd: String,
}

/// What a system says of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WrittenFile {
    /// Its device.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// When it was changed last: nanoseconds since 1970, as a decimal string.
    pub modified_ns: String,
}

/// A placement that the store knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct PlacementRecorded {
    /// The commit that it continues.
    pub ctx: CommitId,
}
