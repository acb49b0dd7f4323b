//! What an entry counts: messages and estimated tokens, by the rule of the model crate.

use stemmata_model::{Counts, IMAGE_TOKENS, Part};

use super::Line;

/// The counts of a line that is no record: an entry that no model sees.
pub(crate) const UNSEEN: Counts = Counts { messages: 0, entries: 1, tokens: 0 };

/// Counts one line.
pub(crate) fn counts(line: &Line) -> Counts {
    if !line.meta.visibility.agent {
        return UNSEEN;
    }
    let (chars, images) = line.parts.iter().fold((0, 0), |sum, part| add_seen(sum, seen(part)));
    Counts {
        messages: u64::from(line.is_message()),
        entries: 1,
        tokens: chars.div_ceil(4) + images * IMAGE_TOKENS.0,
    }
}

/// Returns the sum of two counts.
pub(crate) const fn add(left: Counts, right: Counts) -> Counts {
    Counts {
        messages: left.messages.saturating_add(right.messages),
        entries: left.entries.saturating_add(right.entries),
        tokens: left.tokens.saturating_add(right.tokens),
    }
}

const fn add_seen(left: (u64, u64), right: (u64, u64)) -> (u64, u64) {
    (left.0 + right.0, left.1 + right.1)
}

/// Returns the characters and images of a part that a model sees.
fn seen(part: &Part) -> (u64, u64) {
    match part {
        Part::Text(text) | Part::Thinking { text, .. } | Part::Summary { text, .. } => (chars(text), 0),
        Part::ToolCall { name, arguments, .. } => (chars(name) + chars(arguments), 0),
        Part::ToolResult { parts, .. } => parts.iter().fold((0, 0), |sum, part| add_seen(sum, seen(part))),
        Part::Image { .. } | Part::File { .. } => (0, 1),
        Part::Opaque { json, .. } => (chars(json), 0),
    }
}

pub(crate) fn chars(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}
