//! Texts of entries.

use stemmata_model::{Entry, Part};

/// Returns what an entry says, without calls, results and reasoning.
pub(super) fn of(entry: &Entry) -> String {
    let said = entry.parts.iter().filter_map(|part| match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(text.clone()),
        Part::Image { media_type, .. } => Some(format!("[image: {media_type}]")),
        Part::File { name, .. } => Some(format!("[file: {name}]")),
        Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } | Part::Opaque { .. } => None,
    });
    said.collect::<Vec<_>>().join("\n")
}

/// Returns what a tool returned.
pub(super) fn of_result(parts: &[Part]) -> String {
    let told = parts.iter().map(|part| match part {
        Part::Text(text) | Part::Summary { text, .. } => text.clone(),
        Part::Image { media_type, .. } => format!("[image: {media_type}]"),
        Part::File { name, .. } => format!("[file: {name}]"),
        Part::Opaque { kind, .. } => format!("[{kind}]"),
        Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => String::new(),
    });
    told.collect::<Vec<_>>().join("\n")
}
