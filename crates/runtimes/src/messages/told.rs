//! What an API's own compaction is to another runtime: a summary that the user says, apart from the answer beside it.

use stemmata_model::{Body, Entry, EntryId, EntryKind, EntryMeta, Part, Role};

use super::RESPONSES;
use super::anthropic::is_failed;
use super::responses::is_sealed_kind;

/// What stands for a summary that only the provider can read.
const SEALED: &str =
    "[What was said before was compacted, and only the provider that did it can read its summary.]";

/// Returns whether an entry stands for a summary that only its provider can read.
pub fn is_sealed(entry: &Entry) -> bool {
    let is_sealed = |part: &Part| matches!(part, Part::Summary { text, .. } if text == SEALED);
    entry.kind == EntryKind::CompactionSummary && entry.parts.iter().any(is_sealed)
}

/// Returns whether an entry holds or stands for a summary that only its provider can read.
pub(crate) fn holds_sealed(entry: &Entry) -> bool {
    is_sealed(entry) || entry.parts.iter().any(is_sealed_item)
}

/// Takes the summaries out of answers, and leaves out what the API takes for nothing.
pub(super) fn told(entries: Vec<Entry>) -> Vec<Entry> {
    let mut told = Vec::with_capacity(entries.len());
    for mut entry in entries {
        entry.parts.retain(|part| !is_failed(part));
        if entry.parts.iter().any(is_sealed_item) {
            let words = Part::Summary { text: SEALED.to_owned(), covers: Vec::new() };
            told.push(summary(&entry, vec![words]));
            told.push(entry);
        } else if entry.role == Role::Assistant && entry.parts.iter().any(is_summary) {
            let (said, rest): (Vec<Part>, Vec<Part>) = entry.parts.iter().cloned().partition(is_summary);
            told.push(summary(&entry, said));
            if !rest.is_empty() {
                told.push(Entry { kind: EntryKind::Message, parts: rest, ..entry });
            }
        } else {
            told.push(entry);
        }
    }
    told
}

fn is_sealed_item(part: &Part) -> bool {
    matches!(part, Part::Opaque { runtime, kind, .. } if runtime == RESPONSES && is_sealed_kind(kind))
}

const fn is_summary(part: &Part) -> bool {
    matches!(part, Part::Summary { .. })
}

fn summary(entry: &Entry, parts: Vec<Part>) -> Entry {
    let name = blake3::Hash::from_bytes(blake3::derive_key(
        "stemmata.messages.summary.v1",
        entry.id.as_str().as_bytes(),
    ));
    Entry {
        id: EntryId::new(format!("summary-{}", name.to_hex().split_at(24).0)).expect("hex digits are a name"),
        parent: entry.parent.clone(),
        timestamp: entry.timestamp,
        role: Role::User,
        kind: EntryKind::CompactionSummary,
        body: Body::Text,
        parts,
        meta: EntryMeta { visibility: entry.meta.visibility, ..EntryMeta::default() },
        native: entry.native,
    }
}
