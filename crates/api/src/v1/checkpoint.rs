//! Checkpoints as files: written for somebody to keep, and loaded.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, Timestamp};

use super::Note;

/// Asks for the checkpoint of a commit as a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckpointFileRequest {
    /// The commit.
    pub ctx: String,
    /// Tokens that the model takes. Absent: what is known of the session's client and model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// A checkpoint that was written, before a working tree was looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CheckpointFileMade {
    /// The commit.
    pub ctx: CommitId,
    /// Bytes that were written.
    pub bytes: u64,
}

/// The context that a checkpoint file leads to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CheckpointContext {
    /// The commit.
    pub ctx: CommitId,
    /// Whether it was made of the file's conversation: the store does not have the commit that the file names.
    pub imported: bool,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A checkpoint file that was saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CheckpointSaved {
    /// The file.
    pub path: String,
    /// The commit.
    pub ctx: CommitId,
    /// When the checkpoint was made.
    pub timestamp: Timestamp,
    /// Bytes of the file.
    pub bytes: u64,
    /// The commit that the working tree is at, where it is a repository's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_head: Option<String>,
    /// Files with a checksum, and files that were not there.
    pub files: u64,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A checkpoint file that was loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CheckpointLoaded {
    /// The file.
    pub path: String,
    /// When the checkpoint was made.
    pub timestamp: Timestamp,
    /// The commit to continue from.
    pub ctx: CommitId,
    /// The commit that the file names.
    pub named_ctx: CommitId,
    /// Whether `ctx` was made of the file's conversation: the store does not have the commit that the file names.
    pub imported: bool,
    /// The phase of the work, where it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Tasks that were completed.
    pub tasks_completed: u64,
    /// Tasks that were not.
    pub task_queue: Vec<CheckpointTask>,
    /// Tokens that were in the window.
    pub size: u64,
    /// Tokens that the window takes, where that was known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Results of tools in the window that were errors.
    pub errors: u64,
    /// The commit that the working tree was at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_head: Option<String>,
    /// The commit that it is at now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_head_now: Option<String>,
    /// How the working tree differs from what the checkpoint says of it.
    pub drift: CheckpointDrift,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A task of a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CheckpointTask {
    /// How its tracker names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: String,
}

/// How a working tree differs from what a checkpoint says of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CheckpointDrift {
    /// Files with other bytes.
    pub changed: Vec<String>,
    /// Files that were there, and are not.
    pub missing: Vec<String>,
    /// Files that were not there, and are.
    pub new: Vec<String>,
    /// Files that cannot be compared: too large, unreadable, or behind a link.
    pub unread: Vec<String>,
    /// Files that are as they were.
    pub same: u64,
}
