//! What becomes of an event's payload when it is stored, trimmed and forgotten.

use stemmata_model::{
    Event, EventSeq, Gone, NewEvent, NewPayload, Payload, Timestamp, artifact_id, to_u64, topics,
};

use super::plain_bytes;

/// Returns a new event as it is stored.
pub(crate) fn event(new: NewEvent, seq: EventSeq, at: Timestamp) -> Event {
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
pub(crate) fn is_output(event: &Event) -> bool {
    event.topic.as_str() == topics::AGENT_OUTPUT && !event.replayable
}

/// Says whether a payload is still stored.
pub(crate) const fn is_there(payload: &Payload) -> bool {
    !matches!(payload, Payload::Gone(_))
}

/// Returns what a payload takes, or took.
pub(crate) fn bytes_of(payload: &Payload) -> u64 {
    match payload {
        Payload::Plain { text, data } => {
            let length = text.as_ref().map_or(0, String::len)
                + 1
                + data.as_ref().map_or(0, |data| data.as_str().len());
            to_u64(length)
        }
        Payload::Line { line, .. } => to_u64(line.as_str().len() + 1),
        Payload::Gone(gone) => gone.bytes,
    }
}

/// Returns what stays of a payload that goes.
pub(crate) fn gone(payload: &Payload, forgotten: bool) -> Gone {
    match payload {
        Payload::Plain { text, data } => {
            let hash = artifact_id(&plain_bytes(text.as_deref(), data.as_ref()));
            Gone { hash, bytes: bytes_of(payload), forgotten }
        }
        Payload::Line { id, .. } => Gone { hash: *id, bytes: bytes_of(payload), forgotten },
        Payload::Gone(gone) => Gone { forgotten, ..*gone },
    }
}
