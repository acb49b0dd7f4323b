//! Recall: requests read, and the engine's pack as the wire has it.

use std::time::Duration;

use stemmata_api::v1::{Note, RECALL_TOKENS_DEFAULT, RecallRequest, RecallScope, Recalled};
use stemmata_engine::{Engine, RecallNote, RecallWanted, SettleBudget};
use stemmata_model::Tokens;

use super::counters::counter;
use crate::fault::Fault;
use crate::wire;

pub(super) fn recalled(engine: &Engine, request: &RecallRequest) -> Result<Recalled, Fault> {
    let ledger = request.ledger.as_ref();
    let max_tokens = request.max_tokens.unwrap_or(RECALL_TOKENS_DEFAULT);
    let counter = counter(engine, request.counter.as_deref(), request.model.as_deref())?;
    let found = engine.recall(&RecallWanted {
        text: &request.text,
        ledger,
        max_tokens: Tokens(max_tokens),
        counter: &counter,
        thread: request.thread.as_ref(),
        ticket: request.ticket.as_ref(),
        session: request.session.as_ref(),
        foreign: request.foreign,
        budget: request
            .settle_ms
            .map_or(SettleBudget::All, |ms| SettleBudget::Within(Duration::from_millis(ms))),
    })?;
    let mut notes = counter.notes.clone();
    let has_items = !found.items.is_empty();
    notes.extend(found.notes.iter().map(|one| note(one, has_items)));
    let known = ledger.map(|ledger| engine.log().ledger(ledger)).transpose()?.flatten();
    let scope = RecallScope { ledger: ledger.cloned(), dir: known.and_then(|known| known.root) };
    Ok(wire::recall::recalled(found, (max_tokens, &counter), (scope, notes)))
}

fn note(note: &RecallNote, has_items: bool) -> Note {
    match note {
        RecallNote::Search(note) => wire::search::note(note),
        RecallNote::Memory(note) => note.clone(),
        RecallNote::NoMatch => Note::new(
            "no_match",
            if has_items {
                "nothing matches the task: the pack is the project's memory".to_owned()
            } else {
                "nothing matches the task".to_owned()
            },
        ),
        RecallNote::NothingFits { needs } => Note::new(
            "nothing_fits",
            format!("nothing fits the budget: the shortest item needs {needs} tokens"),
        ),
    }
}
