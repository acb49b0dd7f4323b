//! The bounds that every log holds appends, queries and states to, checked before anything is done: each fails as `Bound`, unless it
//! says otherwise.
//!
//! What needs a look into the log (the last number, who has a mark) is each backend's own.

use stemmata_model::{EventSeq, Json, LedgerId, NewEvent, NewPayload, Timestamp};

use crate::error::StoreError;
use crate::ledger::{
    APPEND_KEYS_MAX, Append, BATCH_EVENTS_MAX, EVENT_AT_US_MAX, EVENT_BYTES_MAX, EventKey, EventQuery, Keyed,
    LedgerChange, MARK_BYTES_MAX, MARKS_MAX, QUERY_TOPICS_MAX, STATE_BYTES_MAX, SavedState,
};
use crate::rules::bounds::{EVENT_PAGE_BYTES_MAX, at_most};
use crate::rules::events::numbered;
use crate::seam::PAGE_ROWS_MAX;

/// Holds an append, its events and its keys to their bounds.
///
/// # Errors
/// `Bound`; `Empty` for no events.
pub fn check_append(append: &Append) -> Result<(), StoreError> {
    if append.events.is_empty() {
        return Err(StoreError::Empty { what: "an append" });
    }
    at_most("events of an append", append.events.len(), BATCH_EVENTS_MAX)?;
    check_at(append.now)?;
    check_keys(append.keys.len())?;
    let events = append.events.len();
    let ends = |key: &crate::ledger::NewKey| key.at.saturating_add(key.events).max(key.at.saturating_add(1));
    append.keys.iter().try_for_each(|key| at_most("events that a key stands for", ends(key), events))?;
    append.events.iter().try_for_each(check_event)
}

/// Holds keys that are given or asked for at once to their bound.
pub fn check_keys(count: usize) -> Result<(), StoreError> {
    at_most("keys at once", count, APPEND_KEYS_MAX)
}

/// Holds an append to the ledger as it is: its last number, its epoch, and `key`, which looks up what has a key. Returns the numbers
/// of the first and the last event.
///
/// # Errors
/// `SequenceMoved`, `EpochMoved`, `KeyTaken`, what `key` fails with, and `Bound` where no number is left.
pub fn check_place(
    append: &Append,
    (last, epoch): (u64, u64),
    mut key: impl FnMut(EventKey) -> Result<Option<Keyed>, StoreError>,
) -> Result<(EventSeq, EventSeq), StoreError> {
    let ledger = &append.ledger;
    if let Some(expected) = append.expected.filter(|expected| *expected != last) {
        return Err(StoreError::SequenceMoved { ledger: ledger.clone(), expected, found: last });
    }
    check_epoch(ledger, append.epoch, epoch)?;
    for new in &append.keys {
        if let Some(known) = key(new.key)?.filter(|known| known.holds(append.now)) {
            return Err(StoreError::KeyTaken { ledger: ledger.clone(), first: known.first });
        }
    }
    numbered(last, append.events.len())
}

fn check_at(at: Timestamp) -> Result<(), StoreError> {
    if at.as_micros() <= EVENT_AT_US_MAX {
        return Ok(());
    }
    let (value, bound) = (at.as_micros().cast_unsigned(), EVENT_AT_US_MAX.cast_unsigned());
    Err(StoreError::Bound { what: "microseconds since 1970 of an event's time", value, bound })
}

fn check_event(event: &NewEvent) -> Result<(), StoreError> {
    event.at.map_or(Ok(()), check_at)?;
    let length = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_str().len());
    let payload = match &event.payload {
        NewPayload::Plain { text, data } => text.as_ref().map_or(0, String::len) + length(data),
        NewPayload::Line(line) => line.as_str().len() + 1,
    };
    at_most("bytes of an event", payload + length(&event.metadata), EVENT_BYTES_MAX)
}

/// Holds a query to the bounds of its lists and of its page.
pub fn check_query(query: &EventQuery) -> Result<(), StoreError> {
    at_most("topics of a query", query.topics.len(), QUERY_TOPICS_MAX)?;
    at_most("topics that a query leaves out", query.without.len(), QUERY_TOPICS_MAX)?;
    at_most("events of a page", query.limit, PAGE_ROWS_MAX)?;
    at_most("bytes of a page of events", query.bytes_max, EVENT_PAGE_BYTES_MAX)
}

/// Holds a change of a ledger to the bounds of its marks and root.
pub fn check_change(change: &LedgerChange) -> Result<(), StoreError> {
    at_most("marks of a ledger", change.marks.len().max(change.let_go.len()), MARKS_MAX)?;
    let texts = change.marks.iter().chain(&change.let_go).chain(&change.root);
    texts.map(String::len).try_for_each(|bytes| at_most("bytes of a mark or a root", bytes, MARK_BYTES_MAX))
}

/// Holds a saved state to the bounds of its name, position and length.
pub fn check_state(state: &SavedState) -> Result<(), StoreError> {
    let position = state.position.as_ref().map_or(0, String::len);
    at_most("bytes of a state's name or position", state.name.len().max(position), MARK_BYTES_MAX)?;
    at_most("bytes of a saved state", state.state.as_str().len(), STATE_BYTES_MAX)
}

/// Holds what states have folded to what there is.
pub fn check_reach(states: &[SavedState], last: u64) -> Result<(), StoreError> {
    match states.iter().map(|state| state.through).max().filter(|through| *through > last) {
        Some(value) => Err(StoreError::Bound {
            what: "number of the last event that a state has folded",
            value,
            bound: last,
        }),
        None => Ok(()),
    }
}

/// Applies a change to the marks, the root and the time of compaction of a ledger.
///
/// # Errors
/// `Bound` for too many marks.
pub fn change(
    change: LedgerChange,
    marks: &mut Vec<String>,
    (root, compacted_at): (&mut Option<String>, &mut Option<Timestamp>),
) -> Result<(), StoreError> {
    marks.retain(|mark| !change.let_go.contains(mark));
    marks.extend(change.marks);
    marks.sort();
    marks.dedup();
    *root = change.root.or(root.take());
    *compacted_at = change.compacted_at.or(*compacted_at);
    check_marks(marks.len())
}

/// Holds the marks of a ledger to their bound, the new ones included.
pub fn check_marks(count: usize) -> Result<(), StoreError> {
    at_most("marks of a ledger", count, MARKS_MAX)
}

/// Refuses what was read before something was forgotten.
pub fn check_epoch(id: &LedgerId, expected: Option<u64>, found: u64) -> Result<(), StoreError> {
    match expected.filter(|expected| *expected != found) {
        Some(expected) => Err(StoreError::EpochMoved { ledger: id.clone(), expected, found }),
        None => Ok(()),
    }
}
