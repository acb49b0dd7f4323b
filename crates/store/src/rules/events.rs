//! What every log makes of an event: its number and time, and what becomes of its payload when it is stored, trimmed and forgotten.
//!
//! What is refused is `checks`'s.

use stemmata_model::{
    ArtifactId, Event, EventSeq, Gone, Json, NewEvent, NewPayload, Payload, Timestamp, artifact_id, to_u64,
    topics,
};

use crate::error::StoreError;

pub use crate::ledger::Filling;

/// Returns a new event as it is stored.
pub fn event(new: NewEvent, seq: EventSeq, at: Timestamp) -> Event {
    let payload = match new.payload {
        NewPayload::Plain { text, data } => Payload::Plain { text, data },
        NewPayload::Line(line) => Payload::Line { id: artifact_id(format!("{line}\n").as_bytes()), line },
    };
    Event {
        seq,
        session: new.session,
        at,
        topic: new.topic,
        sender: new.sender,
        receiver: new.receiver,
        payload,
        metadata: new.metadata,
        replayable: new.replayable,
    }
}

/// Says whether an event is raw output, which is bounded.
pub fn is_output(event: &Event) -> bool {
    event.topic.as_str() == topics::AGENT_OUTPUT && !event.replayable
}

/// Says whether a payload is still stored.
pub const fn is_there(payload: &Payload) -> bool {
    !matches!(payload, Payload::Gone(_))
}

/// Returns what a payload takes, or took.
pub fn bytes_of(payload: &Payload) -> u64 {
    match payload {
        Payload::Plain { text, data } => plain_length(text.as_deref(), data.as_ref().map(Json::as_str)),
        Payload::Line { line, .. } => line_length(line),
        Payload::Gone(gone) => gone.bytes,
    }
}

/// Returns what a new payload takes.
pub fn new_bytes(payload: &NewPayload) -> u64 {
    match payload {
        NewPayload::Plain { text, data } => plain_length(text.as_deref(), data.as_ref().map(Json::as_str)),
        NewPayload::Line(line) => line_length(line),
    }
}

/// Returns the length of what [`plain_bytes`] returns.
pub fn plain_length(text: Option<&str>, data: Option<&str>) -> u64 {
    to_u64(text.map_or(0, str::len) + 1 + data.map_or(0, str::len))
}

fn line_length(line: &Json) -> u64 {
    to_u64(line.as_str().len() + 1)
}

/// Returns what stays of a payload that goes.
pub fn gone(payload: &Payload, forgotten: bool) -> Gone {
    match payload {
        Payload::Plain { text, data } => {
            let hash = artifact_id(&plain_bytes(text.as_deref(), data.as_ref().map(Json::as_str)));
            Gone { hash, bytes: bytes_of(payload), forgotten }
        }
        Payload::Line { id, .. } => Gone { hash: *id, bytes: bytes_of(payload), forgotten },
        Payload::Gone(gone) => Gone { forgotten, ..*gone },
    }
}

/// Returns the numbers of the first and the last of so many events after a ledger's last.
///
/// # Errors
/// `Bound` where no number is left.
pub(crate) fn numbered(last: u64, events: usize) -> Result<(EventSeq, EventSeq), StoreError> {
    let bound = || StoreError::Bound { what: "number of an event", value: u64::MAX, bound: u64::MAX >> 1 };
    let count = to_u64(events);
    let first = last.checked_add(1).and_then(EventSeq::new).ok_or_else(bound)?;
    let last = last.checked_add(count).and_then(EventSeq::new).ok_or_else(bound)?;
    Ok((first, last))
}

/// Returns the time of an event: later than the one before it, not before the present, and the given one where that is
/// later still.
pub fn next_time(last: Option<Timestamp>, now: Timestamp, given: Option<Timestamp>) -> Timestamp {
    let base = last.map_or(now, |last| now.max(Timestamp::from_micros(last.as_micros().saturating_add(1))));
    given.map_or(base, |given| base.max(given))
}

/// The bytes that a payload's hash covers, for [`stemmata_model::Gone`].
pub fn plain_bytes(text: Option<&str>, data: Option<&str>) -> Vec<u8> {
    let mut bytes = text.unwrap_or_default().as_bytes().to_vec();
    bytes.push(0);
    bytes.extend_from_slice(data.unwrap_or_default().as_bytes());
    bytes
}

/// Returns the next link of a receipt's chain.
pub fn chained(before: [u8; 32], hash: ArtifactId, bytes: u64) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&before).update(hash.as_bytes()).update(&bytes.to_le_bytes());
    *hasher.finalize().as_bytes()
}
