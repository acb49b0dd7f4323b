//! The order in which the loader makes messages of a context: a compaction's summary first, then what it keeps.

use stemmata_model::{Entry, EntryId, EntryKind, Part};

use super::RUNTIME;
use super::read::{OPAQUE_KEPT, OPAQUE_RETAINED, retained};

/// Puts the last compaction's summary ahead of the entries that it keeps, as the loader does. Which these are is said by
/// their order from then on. Messages that the compaction itself holds stand in their place where it names none that is there.
pub(crate) fn as_loaded(mut entries: Vec<Entry>) -> Vec<Entry> {
    let last = entries.iter().rposition(|entry| entry.kind == EntryKind::CompactionSummary);
    let first = last.and_then(|last| {
        let (before, after) = entries.split_at(last);
        let first = first_kept(after.first()?, before)?;
        before.iter().position(|entry| entry.id == first.id)
    });
    if let (Some(first), Some(last)) = (first, last)
        && let Some(moved) = entries.get_mut(first..=last)
    {
        moved.rotate_right(1);
    }
    if let (None, Some(last)) = (first, last) {
        let own = entries.get(last).map(held).unwrap_or_default();
        let rest = entries.split_off(last + 1);
        entries.extend(own.into_iter().chain(rest));
    }
    for entry in entries.iter_mut().filter(|entry| entry.kind == EntryKind::CompactionSummary) {
        entry.parts.retain(|part| kept(part).is_none() && retained_in(part).is_none());
    }
    entries
}

/// Returns the messages that a compaction holds, as entries of their own.
fn held(compaction: &Entry) -> Vec<Entry> {
    let Some(list) = compaction.parts.iter().find_map(retained_in) else { return Vec::new() };
    let named = (1..).zip(retained(list)).map(|(number, line)| {
        let id =
            EntryId::new(format!("{}-{number}", compaction.id)).unwrap_or_else(|_| compaction.id.clone());
        let mut entry = line.into_entry(id, compaction.native);
        entry.timestamp = compaction.timestamp;
        entry
    });
    named.collect()
}

/// Returns the messages that a part of a compaction holds, as JSON.
pub(super) fn retained_in(part: &Part) -> Option<&str> {
    match part {
        Part::Opaque { runtime, kind, json } if runtime == RUNTIME && kind == OPAQUE_RETAINED => Some(json),
        _ => None,
    }
}

/// Returns the entry that a compaction keeps first, of those that were written before it.
pub(super) fn first_kept<'e>(compaction: &Entry, before: &'e [Entry]) -> Option<&'e Entry> {
    let name = compaction.parts.iter().find_map(kept)?;
    if let Ok(number) = name.parse::<usize>() {
        return before.iter().filter(|entry| entry.kind != EntryKind::Unreadable).nth(number);
    }
    let id: String = serde_json::from_str(name).ok()?;
    before.iter().find(|entry| entry.id.as_str() == id)
}

/// Returns how a part names the first kept entry, as JSON.
pub(super) fn kept(part: &Part) -> Option<&str> {
    match part {
        Part::Opaque { runtime, kind, json } if runtime == RUNTIME && kind == OPAQUE_KEPT => Some(json),
        _ => None,
    }
}
