//! The forms in which a conversation leaves for good, to be read elsewhere.

use serde::{Deserialize, Serialize};

/// A form of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExportForm {
    /// One page to read.
    Html,
    /// Text with headings.
    Markdown,
    /// The agent trajectory interchange format.
    Atif,
    /// Updates of the agent client protocol.
    Acp,
    /// OpenTelemetry's conventions for generative AI.
    OtelGenai,
}

impl ExportForm {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 5] = [Self::Html, Self::Markdown, Self::Atif, Self::Acp, Self::OtelGenai];

    /// Returns its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "markdown",
            Self::Atif => "atif",
            Self::Acp => "acp",
            Self::OtelGenai => "otel-genai",
        }
    }
}
