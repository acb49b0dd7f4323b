//! Secrets that were replaced in a session's entries, counted by kind from the placeholders.
//!
//! Which sessions have some is not stored: the placeholders are all that is left of them.

use std::collections::BTreeMap;

use memchr::memmem;
use stemmata_model::Part;

use crate::scrubbing::PLACEHOLDER;

/// Characters of a kind at most: what is longer is somebody's own text.
const KIND_CHARS_MAX: usize = 64;

/// Counts the placeholders in a part of an entry.
pub(super) fn count(part: &Part, counts: &mut BTreeMap<String, u64>) {
    match part {
        Part::Text(text)
        | Part::Thinking { text, .. }
        | Part::Summary { text, .. }
        | Part::ToolCall { arguments: text, .. }
        | Part::Opaque { json: text, .. }
        | Part::File { data: Some(text), .. } => count_in(text, counts),
        Part::ToolResult { parts, .. } => parts.iter().for_each(|part| count(part, counts)),
        Part::Image { .. } | Part::File { data: None, .. } => {}
    }
}

fn count_in(text: &str, counts: &mut BTreeMap<String, u64>) {
    for at in memmem::find_iter(text.as_bytes(), PLACEHOLDER) {
        let start = at + PLACEHOLDER.len();
        // The kind and `]` follow. No further than a kind is long: a text may be full of beginnings that have no end.
        let mut rest = text.bytes().skip(start).take(KIND_CHARS_MAX + 1);
        let end = rest.position(|byte| byte == b']');
        let kind = end.and_then(|end| text.get(start..start + end));
        let is_kind = |kind: &&str| {
            !kind.is_empty()
                && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        };
        if let Some(kind) = kind.filter(is_kind) {
            *counts.entry(kind.to_owned()).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_counted_by_kind_and_other_texts_are_not() {
        let result = Part::ToolResult {
            call_id: "1".to_owned(),
            is_error: false,
            parts: vec![Part::Text("[REDACTED:a] [REDACTED:a][REDACTED:b-c]".to_owned())],
        };
        let mut counts = BTreeMap::new();
        for part in [result, Part::Text("[REDACTED:…] [REDACTED: x] [REDACTED:] [REDACTED:a".to_owned())] {
            count(&part, &mut counts);
        }
        assert_eq!(counts, BTreeMap::from([("a".to_owned(), 2), ("b-c".to_owned(), 1)]));
    }
}
