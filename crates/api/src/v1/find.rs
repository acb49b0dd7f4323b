//! Wire types of names: what a reference means, and tags.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, SessionId};

/// Asks which commit a name means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FindRequest {
    /// What was typed: a tag, an id or a part of one, a session, a path, `@`, words of a title; with `~N` or `:N` behind.
    pub text: String,
    /// The directory of the asking person, for `@`; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub here: Option<String>,
    /// The same as an absolute path of the asking machine; absent where it cannot be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether a range of prompts is wanted, `REF:N..M`; else it is refused.
    #[serde(default)]
    pub takes_range: bool,
}

impl FindRequest {
    /// Asks for a commit by a name that is typed nowhere: no directory is known, and no path is meant.
    pub fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), here: None, path: None, takes_range: false }
    }
}

/// Which commit a name means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Found {
    /// The commit.
    pub ctx: CommitId,
    /// The session that was named, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The prompt that was named, where one was: the commit ends before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<FoundPrompt>,
    /// The prompts that were named, where a range was: `ctx` is a commit whose chain holds them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<FoundRange>,
    /// The id that was named, where scrubbing gave that commit the id in `ctx`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirected_from: Option<CommitId>,
    /// What is left in the session's transcript, where that was cut: the session is what the store has of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutTranscript>,
}

/// A transcript that lacks what was read in it before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct CutTranscript {
    /// Where it is.
    pub path: String,
    /// Messages that it has.
    pub messages: u64,
    /// Messages that were read in it.
    pub of: u64,
    /// The commit that has all of them, where the session went on in what was left; absent where the session has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<CommitId>,
}

/// Prompts that a reference names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FoundRange {
    /// The number of the first one.
    pub from: u64,
    /// The number of the last one.
    pub through: u64,
}

/// A prompt that a reference names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct FoundPrompt {
    /// A commit whose chain holds it.
    pub of: CommitId,
    /// Its entry, as `--at` takes it.
    pub entry: String,
}

/// Asks for tags.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TagsRequest {
    /// How they begin; empty for all.
    #[serde(default)]
    pub prefix: String,
}

/// Tags, in their order, at most a thousand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Tags {
    /// The tags.
    pub tags: Vec<TaggedCommit>,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct TaggedCommit {
    /// Its name.
    pub name: String,
    /// A commit that carries it.
    pub ctx: CommitId,
}
