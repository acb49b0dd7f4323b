//! Ledgers and their events as wire types.

use stemmata_api::v1;
use stemmata_engine::{EventsPlan, Published, adopted_folders};
use stemmata_model::{Event, LedgerId, Payload};
use stemmata_store::{Appended, Ledger};

use crate::wire::raw;

/// Returns an event's wire form.
pub(crate) fn event(event: &Event) -> v1::Event {
    let mut wire = v1::Event {
        event_seq: event.seq,
        session_id: event.session.clone(),
        timestamp: event.at,
        topic: event.topic.clone(),
        sender: event.sender.clone(),
        receiver: event.receiver.clone(),
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
            wire.artifact = Some(*id);
            wire.data = Some(raw(line));
        }
        Payload::Gone(gone) => {
            if gone.forgotten { "forgotten" } else { "trimmed" }.clone_into(&mut wire.payload);
            wire.artifact = Some(gone.hash);
            wire.bytes = Some(gone.bytes);
        }
    }
    wire
}

/// Returns the wire form of a ledger.
pub(crate) fn ledger(ledger: &Ledger) -> v1::Ledger {
    v1::Ledger {
        id: ledger.id.clone(),
        root: ledger.root.clone(),
        created_at: ledger.created_at,
        last: ledger.last.to_string(),
        last_at: ledger.last_at,
        compacted_at: ledger.compacted_at,
        marks: ledger.marks.clone(),
        adopted: adopted_folders(ledger).map(str::to_owned).collect(),
    }
}

/// Returns the wire form of events that were published: what opened their sessions stands before them and is not counted.
pub(crate) fn appended(ledger: &LedgerId, done: &Published) -> v1::Appended {
    let Appended { first, last, .. } = done.appended;
    let first = first.get().saturating_add(done.opened as u64).min(last.get());
    v1::Appended {
        ledger: ledger.clone(),
        first: first.to_string(),
        last: last.to_string(),
        snapshot: done.snapshot,
        finished: None,
        notes: done.notes.clone(),
    }
}

/// Returns the wire form of a plan to forget events, without its digest.
pub(crate) fn forgotten(session_id: Option<String>, plan: &EventsPlan) -> v1::EventsForgotten {
    let ledgers = plan.counts();
    let ledgers: Vec<v1::LedgerForgotten> =
        ledgers.map(|(ledger, events)| v1::LedgerForgotten { ledger: ledger.clone(), events }).collect();
    let events = ledgers.iter().map(|one| one.events).sum();
    let held_by = plan.holding().iter().copied().collect();
    v1::EventsForgotten {
        session_id,
        events,
        ledgers,
        held_by,
        stores_left: Vec::new(),
        dry_run: true,
        unfinished: None,
        digest: None,
    }
}
