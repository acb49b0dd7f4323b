//! An entry of a conversation as the text of a message.
//!
//! For a prompt in which earlier turns are quoted. What a client loads is `translate`'s in `stemmata-runtimes`.

use stemmata_model::quote::label;
use stemmata_model::{Entry, Part};

use super::message::Piece;
use crate::reduce::cut::cut;

/// Characters of a tool call's arguments at most.
pub const ARGUMENTS_CHARS_MAX: usize = 600;

/// Characters of a tool's result at most. The whole of it is in the chain.
pub const RESULT_CHARS_MAX: usize = 2_000;

/// Who a summary of a compaction is said by: its record has the role of a user, who did not write it.
pub const SUMMARY_SPEAKER: &str = "summary";

/// Returns what an entry says, a line or a paragraph for each part. Reasoning and parts that only a provider can read say
/// nothing; empty where nothing else is there.
pub fn entry_text(entry: &Entry) -> String {
    let texts = entry.parts.iter().filter_map(part_text);
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the same by its parts, of an entry that calls tools; nothing for other entries.
pub fn call_pieces(entry: &Entry) -> Vec<Piece> {
    let call = |part: &Part| match part {
        Part::ToolCall { call_id, .. } => Some(call_id.clone()),
        _ => None,
    };
    if entry.parts.iter().all(|part| call(part).is_none()) {
        return Vec::new();
    }
    let piece = |part: &Part| Some(Piece { text: part_text(part)?, call: call(part) });
    entry.parts.iter().filter_map(piece).collect()
}

fn part_text(part: &Part) -> Option<String> {
    let text = match part {
        Part::Text(text) | Part::Summary { text, .. } => text.trim_end().to_owned(),
        Part::Thinking { .. } | Part::Opaque { .. } => return None,
        Part::ToolCall { name, arguments, .. } => {
            format!("[call {}] {}", label(name), cut(arguments, ARGUMENTS_CHARS_MAX))
        }
        Part::ToolResult { is_error, parts, .. } => {
            let says = if *is_error { "[failed]" } else { "[result]" };
            format!("{says} {}", cut(&result_text(parts), RESULT_CHARS_MAX))
        }
        Part::Image { media_type, .. } => format!("[image {}]", label(media_type)),
        Part::File { name, .. } => format!("[file {}]", label(name)),
    };
    (!text.is_empty()).then_some(text)
}

/// Results do not hold calls or results of their own that a reader would miss: what is nested says only that it is there.
fn result_text(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(text.trim_end().to_owned()),
        Part::Image { media_type, .. } => Some(format!("[image {}]", label(media_type))),
        Part::File { name, .. } => Some(format!("[file {}]", label(name))),
        Part::ToolCall { name, .. } => Some(format!("[call {}]", label(name))),
        Part::Thinking { .. } | Part::ToolResult { .. } | Part::Opaque { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
