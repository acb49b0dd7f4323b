//! Ledgers and their events as wire types.

use stemmata_api::v1;
use stemmata_model::{Event, Payload};
use stemmata_store::Ledger;

use crate::wire::raw;

/// Returns an event's wire form.
pub fn event(event: &Event) -> v1::Event {
    let mut wire = v1::Event {
        event_seq: event.seq.to_string(),
        session_id: event.session.to_string(),
        timestamp: event.at.to_string(),
        topic: event.topic.to_string(),
        sender: event.sender.to_string(),
        receiver: event.receiver.to_string(),
        payload: "plain".to_owned(),
        text: None,
        data: None,
        metadata: event.metadata.as_ref().map(raw),
        replayable: event.replayable,
        artifact: None,
        bytes: None,
    };
    match &event.payload {
        Payload::Plain { text, data } => {
            wire.text.clone_from(text);
            wire.data = data.as_ref().map(raw);
        }
        Payload::Line { id, line } => {
            "line".clone_into(&mut wire.payload);
            wire.artifact = Some(id.to_string());
            wire.data = Some(raw(line));
        }
        Payload::Gone(gone) => {
            if gone.forgotten { "forgotten" } else { "trimmed" }.clone_into(&mut wire.payload);
            wire.artifact = Some(gone.hash.to_string());
            wire.bytes = Some(gone.bytes);
        }
    }
    wire
}

/// Returns the wire form of a ledger.
pub fn ledger(ledger: &Ledger) -> v1::Ledger {
    v1::Ledger {
        id: ledger.id.to_string(),
        root: ledger.root.clone(),
        created_at: ledger.created_at.to_string(),
        last: ledger.last.to_string(),
        last_at: ledger.last_at.map(|at| at.to_string()),
        compacted_at: ledger.compacted_at.map(|at| at.to_string()),
        marks: ledger.marks.clone(),
    }
}
