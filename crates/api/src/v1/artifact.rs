//! Reading ranges of artifacts: whole outputs of tools, and any other stored content that is text.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::ArtifactId;

/// Bytes of one answer at most.
pub const ARTIFACT_READ_BYTES_MAX: u64 = 1024 * 1024;

/// Asks for a range of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ArtifactReadRequest {
    /// The artifact, `art-…`.
    pub artifact: String,
    /// The range. Absent: all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<ArtifactRange>,
    /// Bytes of the text at most. Absent: 1,048,576, which is the most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<u64>,
}

/// A range of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ArtifactRange {
    /// What it counts.
    pub unit: ArtifactUnit,
    /// The first one: lines count from 1, bytes and characters from 0.
    pub from: u64,
    /// The last line, or the byte or character behind the last one. Absent: to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

/// What a range counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ArtifactUnit {
    /// Lines.
    Lines,
    /// Bytes. A character belongs to the range that its first byte is in.
    Bytes,
    /// Characters.
    Chars,
}

/// A range of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ArtifactText {
    /// The artifact.
    pub artifact: ArtifactId,
    /// The text.
    pub text: String,
    /// Bytes of the whole before the text.
    pub from_byte: u64,
    /// Bytes of the whole up to the end of the text. A range of bytes that begins here continues it.
    pub to_byte: u64,
    /// Bytes of the whole.
    pub bytes: u64,
    /// Whether the bound on an answer ended the text, and not its range.
    pub is_cut: bool,
    /// The SHA-256 of the whole, in hex, where it is the output of a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}
