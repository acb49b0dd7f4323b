//! Between the two formats of rollouts: numbers put in or taken out, line by line. Everything else stays as it is.

use super::record::{Kind, Record};
use crate::json::{Field, is_blank, quote, without};
use crate::placing::replace;

/// Turns a rollout into one whose lines are numbered, or are not.
pub(super) fn upgrade(bytes: &[u8], is_paginated: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 16);
    let (mut next, mut has_header) = (0, false);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Ok(record) = Record::parse(line) else {
            out.extend_from_slice(line);
            continue;
        };
        let mut edits = Vec::new();
        if record.kind == Kind::SessionMeta && record.has_envelope && !has_header {
            has_header = true;
            edits.extend(mode(&record, is_paginated));
        }
        if is_paginated {
            edits.extend(number(&record, next));
            next += 1;
        } else {
            edits.extend(without_number(&record, line));
        }
        replace(line, edits, &mut out);
        debug_assert!(!is_blank(line), "a blank line is not a record");
    }
    out
}

type Edit = (std::ops::Range<usize>, String);

/// Says in the header which history it is.
fn mode(record: &Record<'_>, is_paginated: bool) -> Option<Edit> {
    let wanted = if is_paginated { "paginated" } else { "legacy" };
    match record.payload.history_mode {
        Some(field) => Some((field.span(), quote(wanted))),
        // Without a word it is not numbered.
        None if !is_paginated => None,
        None => {
            let end = record.body.span().end.checked_sub(1)?;
            let inside = record.body.raw().get(1..record.body.raw().len() - 1)?;
            let comma = if inside.trim().is_empty() { "" } else { "," };
            Some((end..end, format!("{comma}\"history_mode\":{}", quote(wanted))))
        }
    }
}

fn number(record: &Record<'_>, next: u64) -> Option<Edit> {
    if let Some(field) = record.envelope.ordinal {
        return Some((field.span(), next.to_string()));
    }
    if let Some(time) = record.envelope.timestamp.filter(|_| record.has_envelope) {
        return Some((time.span().end..time.span().end, format!(",\"ordinal\":{next}")));
    }
    // A line of old, or one that nobody knows.
    let start = record.whole_start()? + 1;
    Some((start..start, format!("\"ordinal\":{next},")))
}

fn without_number(record: &Record<'_>, line: &[u8]) -> Option<Edit> {
    record.envelope.ordinal?;
    let span = without(Field::whole(std::str::from_utf8(line).ok()?), "ordinal")?;
    Some((span, String::new()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Codex;
    use super::super::samples_tests::rollout;
    use super::*;
    use crate::adapter::Adapter;
    use crate::chain_tests::fatal;
    use crate::corpus_tests::{adapter_of, files};

    fn said(adapter: &dyn Adapter, bytes: &[u8]) -> Vec<String> {
        let entries = adapter.decode(bytes).entries.into_iter();
        let is_header = |parts: &str| parts.contains("session_meta");
        entries
            .map(|entry| format!("{:?} {:?}", entry.role, entry.parts))
            .filter(|parts| !is_header(parts))
            .collect()
    }

    fn values(bytes: &[u8]) -> Vec<Option<serde_json::Value>> {
        bytes.split(|byte| *byte == b'\n').map(|line| serde_json::from_slice(line).ok()).collect()
    }

    proptest! {
        #[test]
        fn there_and_back_is_the_same_rollout(letters in "H[tcEDUuAKFRXYWCB?]{0,20}") {
            let legacy = rollout(&letters, false);
            let there = upgrade(&legacy, true);
            prop_assert_eq!(Codex::PAGINATED.detect(&there).map(|found| found.format), Some(Codex::PAGINATED.format()));
            prop_assert_eq!(fatal(&Codex::PAGINATED, &there), Vec::<&str>::new());
            prop_assert_eq!(said(&Codex::LEGACY, &legacy), said(&Codex::PAGINATED, &there));
            let back = upgrade(&there, false);
            let with_mode = String::from_utf8_lossy(&back).replacen(",\"history_mode\":\"legacy\"", "", 1);
            prop_assert_eq!(with_mode, String::from_utf8_lossy(&legacy).into_owned());
            let numbered = rollout(&letters, true);
            // Only the place of the number within a line is another one.
            prop_assert_eq!(values(&upgrade(&upgrade(&numbered, false), true)), values(&upgrade(&numbered, true)));
        }
    }

    #[test]
    fn rollouts_of_the_corpus_keep_what_was_said() {
        for (name, bytes) in files("codex", ".jsonl") {
            let Some((adapter, found)) = adapter_of(&bytes) else { continue };
            let is_numbered = found.format == Codex::PAGINATED.format();
            if !is_numbered && found.format != Codex::LEGACY.format() {
                continue;
            }
            let other = upgrade(&bytes, !is_numbered);
            let target = if is_numbered { Codex::LEGACY } else { Codex::PAGINATED };
            assert_eq!(said(adapter, &bytes), said(&target, &other), "{name}");
        }
    }
}
