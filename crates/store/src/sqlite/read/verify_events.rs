//! Holding ledgers to what they promise: numbers without gaps, times that rise, payloads that are there.
//!
//! That rows are what was written is the seals' matter.

use rusqlite::{Connection, Row};

use super::Reader;
use crate::error::StoreError;
use crate::seam::{Damage, Verified};
use crate::sqlite::failure::During;
use crate::sqlite::ledger::rows::{EventRow, FORGOTTEN, LINE, LedgerRow, PLAIN, event_columns};
use crate::sqlite::statements::one;

/// The check of a ledger's events.
pub(in crate::sqlite) const EVENTS: &str = "event";
/// The check of what is counted of a ledger.
pub(in crate::sqlite) const LEDGERS: &str = "ledger";

const VERIFYING: &str = "verifying the ledgers";

type Report<'a> = &'a mut dyn FnMut(Damage);

impl Reader {
    pub(super) fn verify_ledgers(
        &mut self,
        verified: &mut Verified,
        found: Report<'_>,
    ) -> Result<(), StoreError> {
        let rows: Vec<i64> =
            self.connection().during(VERIFYING).list("SELECT row FROM ledger ORDER BY row", [], one)?;
        for row in rows {
            // Others append meanwhile: a ledger and its events are looked at as they are at one moment.
            verified.references +=
                self.within_read(|connection| match LedgerRow::load(connection, row)? {
                    Some(ledger) => verify_ledger(connection, &ledger, found),
                    None => Ok(0),
                })?;
        }
        Ok(())
    }
}

/// What follows from a ledger's events, as far as they were looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::sqlite) struct Counted {
    pub(in crate::sqlite) last: i64,
    pub(in crate::sqlite) last_at: Option<i64>,
    pub(in crate::sqlite) output_events: i64,
    pub(in crate::sqlite) output_bytes: i64,
}

impl Counted {
    /// Counts the events of a ledger, and hands each to `act` with the one before it.
    pub(in crate::sqlite) fn of(
        connection: &Connection,
        ledger: i64,
        act: &mut dyn FnMut(&EventRow<String>, &Self),
    ) -> Result<Self, StoreError> {
        let output: Option<i64> = connection.during(VERIFYING).only(
            "SELECT max(row) FROM name WHERE text = 'AGENT_OUTPUT'",
            [],
            one,
        )?;
        let sql = concat!("SELECT ", event_columns!(), " FROM event WHERE ledger = ?1 ORDER BY seq");
        let take = |row: &Row<'_>| Ok((EventRow::take(row), row.get(1)));
        let mut counted = Self::default();
        connection.during(VERIFYING).each(sql, [ledger], take, |(event, seq)| {
            // A row that cannot be read breaks its seal, which is told there.
            let Ok(event) = event else {
                counted.last = seq.unwrap_or(counted.last);
                return Ok(());
            };
            act(&event, &counted);
            if Some(event.topic) == output && !event.replayable && event.is_there() {
                counted.output_events += 1;
                counted.output_bytes += event.payload_bytes(connection)?;
            }
            (counted.last, counted.last_at) = (event.seq, Some(event.at));
            Ok(())
        })?;
        Ok(counted)
    }
}

fn verify_ledger(connection: &Connection, ledger: &LedgerRow, found: Report<'_>) -> Result<u64, StoreError> {
    let mut events = 0;
    let mut damages: Vec<Damage> = Vec::new();
    let mut tell = |check, seq: i64, message: String| {
        damages.push(Damage { check, object: format!("event {seq} of ledger {}", ledger.id), message });
    };
    let mut lines = Vec::new();
    let counted = Counted::of(connection, ledger.row, &mut |event, before| {
        events += 1;
        if event.seq != before.last + 1 {
            tell(EVENTS, event.seq, format!("the number before it is {}", before.last));
        }
        if before.last_at.is_some_and(|at| event.at <= at) {
            tell(EVENTS, event.seq, "it is not later than the event before it".to_owned());
        }
        let is_whole = match event.kind {
            PLAIN => event.content.is_none(),
            LINE => event.content.is_some(),
            FORGOTTEN => event.hash.is_some() && event.metadata.is_none(),
            _ => event.hash.is_some(),
        };
        if !is_whole {
            tell(EVENTS, event.seq, format!("it has not what its kind {} has", event.kind));
        }
        lines.extend(event.content.map(|content| (event.seq, content)));
    })?;
    for (seq, content) in lines {
        if !is_readable(connection, content)? {
            tell(EVENTS, seq, "its line is not in the store".to_owned());
        }
    }
    let known = Counted {
        last: ledger.last,
        last_at: ledger.last_at,
        output_events: ledger.output_events,
        output_bytes: ledger.output_bytes,
    };
    if known != counted {
        let message = format!("it says {known:?}, and its events say {counted:?}");
        damages.push(Damage { check: LEDGERS, object: format!("ledger {}", ledger.id), message });
    }
    damages.into_iter().for_each(found);
    Ok(events)
}

/// Says whether a content is there with its bytes, damaged or not: whether they are sound is the contents' matter.
fn is_readable(connection: &Connection, content: i64) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM content WHERE row = ?1 AND coding <> 5 \
               UNION ALL SELECT 1 FROM packed WHERE row = ?1)";
    connection.during(VERIFYING).only(sql, [content], one)
}
