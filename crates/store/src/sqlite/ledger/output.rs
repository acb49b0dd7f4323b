//! Letting go of payloads: raw output beyond its bounds, and what a trim names.
//!
//! Each payload is looked at once: a receipt knows up to where nothing is left.

use rusqlite::Connection;
use stemmata_model::{EventSeq, LedgerId, Topic, topics};

use super::names::Names;
use super::rows::{EventRow, LedgerRow, ReceiptRow, event_columns, place};
use crate::error::StoreError;
use crate::rules::output::receipt_after;
use crate::sqlite::failure::During;

/// Events that one transaction of a trim looks at.
const TRIM_STEP_EVENTS: usize = 4_096;

/// Lets go of the oldest raw output until a ledger keeps no more than it may. The caller writes the ledger's row.
pub(in crate::sqlite) fn bound(
    connection: &Connection,
    ledger: &mut LedgerRow,
    topic: i64,
) -> Result<(), StoreError> {
    if !ledger.has_too_much() {
        return Ok(());
    }
    let mut receipt = ReceiptRow::load(connection, (ledger.row, topic))?;
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

/// A trim that goes on over several transactions, so that none of them is long and others write in between. Where it
/// is broken off the receipt says how far it came.
pub(super) struct Trim<'a> {
    id: &'a LedgerId,
    topic: &'a Topic,
    through: i64,
    /// Up to where it has looked: at events that may not enter a prompt, and at those that may.
    looked: [i64; 2],
    trimmed: u64,
}

impl<'a> Trim<'a> {
    pub(super) fn new((id, topic): (&'a LedgerId, &'a Topic), through: EventSeq) -> Self {
        Self { id, topic, through: through.get().cast_signed(), looked: [0; 2], trimmed: 0 }
    }

    /// Returns how many payloads it let go of.
    pub(super) const fn trimmed(&self) -> u64 {
        self.trimmed
    }

    /// Lets go of the next payloads, within the transaction of the caller. Says whether there may be more.
    pub(super) fn step(&mut self, connection: &Connection) -> Result<bool, StoreError> {
        let Some(mut ledger) = LedgerRow::find(connection, self.id)? else { return Ok(false) };
        let Some(row) = Names::default().find(connection, self.topic.as_str())? else { return Ok(false) };
        let mut receipt = ReceiptRow::load(connection, (ledger.row, row))?;
        let gone = |row: &ReceiptRow| row.receipt.map_or(0, |receipt| receipt.events);
        let before = gone(&receipt);
        for (cleared, looked) in receipt.cleared.iter_mut().zip(self.looked) {
            *cleared = looked.max(*cleared);
        }
        let mut events = 0;
        let is_output = self.topic.as_str() == topics::AGENT_OUTPUT;
        while events < TRIM_STEP_EVENTS {
            let Some(event) = self.next((connection, ledger.row, row), &receipt)? else { break };
            if let Some(cleared) = receipt.cleared.get_mut(usize::from(event.replayable)) {
                *cleared = event.seq;
            }
            let is_output = is_output && !event.replayable;
            let_go((connection, &mut ledger), &mut receipt, event, is_output)?;
            events += 1;
        }
        self.looked = receipt.cleared;
        if gone(&receipt) > before {
            receipt.put(connection, (ledger.row, row))?;
            ledger.put(connection)?;
        }
        self.trimmed += gone(&receipt) - before;
        Ok(events == TRIM_STEP_EVENTS)
    }

    /// Returns the next event to look at, of both kinds in the order of their places: that is the order of the receipt's
    /// chain.
    fn next(
        &self,
        (connection, ledger, topic): (&Connection, i64, i64),
        receipt: &ReceiptRow,
    ) -> Result<Option<EventRow<String>>, StoreError> {
        let [raw, replayable] = receipt.cleared;
        let ask = |replayable, after| next((connection, ledger, topic), (replayable, after), self.through);
        Ok(match (ask(false, raw)?, ask(true, replayable)?) {
            (Some(raw), Some(replayable)) if replayable.seq < raw.seq => Some(replayable),
            (Some(event), _) | (None, Some(event)) => Some(event),
            (None, None) => None,
        })
    }
}

/// Returns the next event of a topic after a place, of those that may enter a prompt or of those that may not.
fn next(
    (connection, ledger, topic): (&Connection, i64, i64),
    (replayable, after): (bool, i64),
    through: i64,
) -> Result<Option<EventRow<String>>, StoreError> {
    let sql = concat!(
        "SELECT ",
        event_columns!(),
        " FROM event INDEXED BY event_by_topic WHERE ledger = ?1 AND topic = ?2 AND replayable = ?3 \
             AND seq > ?4 AND seq <= ?5 ORDER BY seq LIMIT 1"
    );
    connection.during("looking for payloads to let go of").first(
        sql,
        [ledger, topic, i64::from(replayable), after, through],
        EventRow::take,
    )
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
    receipt.receipt = Some(receipt_after(receipt.receipt.as_ref(), place("event.seq", event.seq)?, gone));
    if is_output {
        ledger.count_output(-1, -gone.bytes.cast_signed());
    }
    Ok(())
}
