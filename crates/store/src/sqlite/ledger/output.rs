//! Letting go of payloads: raw output beyond its bounds, and what a trim names.
//!
//! Each payload is looked at once: a receipt knows up to where nothing is left.

use rusqlite::{Connection, OptionalExtension};
use stemmata_model::{EventSeq, LedgerId, Topic, topics};

use super::names::Names;
use super::rows::{EventRow, LedgerRow, ReceiptRow, event_columns};
use crate::error::StoreError;
use crate::sqlite::failure::During;

/// Lets go of the oldest raw output until a ledger keeps no more than it may. The caller writes the ledger's row.
pub(in crate::sqlite) fn bound(
    connection: &Connection,
    ledger: &mut LedgerRow,
    topic: i64,
) -> Result<(), StoreError> {
    if !ledger.has_too_much() {
        return Ok(());
    }
    let mut receipt = ReceiptRow::load(connection, (ledger.row, topic))?.unwrap_or_default();
    while ledger.has_too_much() {
        let Some(event) = next((connection, ledger.row, topic), (false, receipt.cleared[0]), i64::MAX)?
        else {
            break;
        };
        let [raw, _] = &mut receipt.cleared;
        *raw = event.seq;
        let_go((connection, ledger), &mut receipt, event, true)?;
    }
    receipt.put(connection, (ledger.row, topic))
}

/// Lets go of the payloads of a topic up to a place, and returns how many there were.
pub(in crate::sqlite) fn trim(
    connection: &Connection,
    (id, topic): (&LedgerId, &Topic),
    through: EventSeq,
) -> Result<u64, StoreError> {
    let Some(mut ledger) = LedgerRow::find(connection, id)? else { return Ok(0) };
    let Some(row) = Names::default().find(connection, topic.as_str())? else { return Ok(0) };
    let mut receipt = ReceiptRow::load(connection, (ledger.row, row))?.unwrap_or_default();
    let before = receipt.events;
    let through = through.get().cast_signed();
    let is_output = topic.as_str() == topics::AGENT_OUTPUT;
    loop {
        // Of both kinds in the order of their places: that is the order of the receipt's chain.
        let ask = |replayable: bool| {
            let cleared = receipt.cleared;
            next(
                (connection, ledger.row, row),
                (replayable, cleared.get(usize::from(replayable)).copied().unwrap_or(0)),
                through,
            )
        };
        let (raw, replayable) = (ask(false)?, ask(true)?);
        let event = match (raw, replayable) {
            (Some(raw), Some(replayable)) if replayable.seq < raw.seq => replayable,
            (Some(event), _) | (None, Some(event)) => event,
            (None, None) => break,
        };
        if let Some(cleared) = receipt.cleared.get_mut(usize::from(event.replayable)) {
            *cleared = event.seq;
        }
        let is_output = is_output && !event.replayable;
        let_go((connection, &mut ledger), &mut receipt, event, is_output)?;
    }
    if receipt.events > before {
        receipt.put(connection, (ledger.row, row))?;
        ledger.put(connection)?;
    }
    Ok((receipt.events - before).cast_unsigned())
}

/// Returns the next event of a topic after a place, of those that may enter a prompt or of those that may not.
fn next(
    (connection, ledger, topic): (&Connection, i64, i64),
    (replayable, after): (bool, i64),
    through: i64,
) -> Result<Option<EventRow<String>>, StoreError> {
    connection
        .prepare_cached(concat!(
            "SELECT ",
            event_columns!(),
            " FROM event INDEXED BY event_by_topic WHERE ledger = ?1 AND topic = ?2 AND replayable = ?3 \
             AND seq > ?4 AND seq <= ?5 ORDER BY seq LIMIT 1"
        ))
        .and_then(|mut statement| {
            let values = [ledger, topic, i64::from(replayable), after, through];
            statement.query_row(values, EventRow::take).optional()
        })
        .during("looking for payloads to let go of")
}

fn let_go(
    (connection, ledger): (&Connection, &mut LedgerRow),
    receipt: &mut ReceiptRow,
    mut event: EventRow<String>,
    is_output: bool,
) -> Result<(), StoreError> {
    if !event.is_there() {
        return Ok(());
    }
    let gone = event.let_go(connection, false)?;
    receipt.add(event.seq, gone);
    if is_output {
        ledger.count_output(-1, -gone.bytes.cast_signed());
    }
    Ok(())
}
