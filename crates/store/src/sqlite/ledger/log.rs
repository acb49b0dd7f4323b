//! The store as a log of events.
//!
//! Appends, states and changes are batches of one write; letting go is maintenance.

use std::sync::atomic::Ordering;

use rusqlite::params;
use stemmata_model::{EventSeq, LedgerId, SessionId, Timestamp, Topic};

use super::output::Trim;
use super::rows::LedgerRow;
use crate::error::StoreError;
use crate::ledger::{
    Append, Appended, Durability, EventKey, EventLog, EventPage, EventQuery, Keyed, Ledger, LedgerChange,
    Places, Receipt, SavedState,
};
use crate::rules::checks::{check_keys, check_query};
use crate::sqlite::failure::During;
use crate::sqlite::{SqliteStore, waited};
use crate::write::Write;

impl EventLog for SqliteStore {
    fn append(&self, append: Append) -> Result<Appended, StoreError> {
        let durability = append.durability;
        let outcome = self.write(vec![Write::Append(Box::new(append))], durability)?;
        Ok(outcome.appended.expect("an append that was applied says where"))
    }

    fn page(&self, ledger: &LedgerId, query: &EventQuery) -> Result<EventPage, StoreError> {
        check_query(query)?;
        self.read(|reader| reader.page(ledger, query))
    }

    fn keyed(&self, ledger: &LedgerId, keys: &[EventKey], now: Timestamp) -> Result<Vec<Keyed>, StoreError> {
        check_keys(keys.len())?;
        self.read(|reader| reader.keyed(ledger, keys, now))
    }

    fn ledger(&self, id: &LedgerId) -> Result<Option<Ledger>, StoreError> {
        self.read(|reader| reader.ledger(id))
    }

    fn ledgers(&self, after: Option<&LedgerId>, limit: usize) -> Result<Vec<Ledger>, StoreError> {
        self.read(|reader| reader.ledgers(after, limit))
    }

    fn ledger_marked(&self, mark: &str) -> Result<Option<LedgerId>, StoreError> {
        self.read(|reader| reader.ledger_marked(mark))
    }

    fn change_ledger(&self, change: LedgerChange) -> Result<(), StoreError> {
        self.write(vec![Write::ChangeLedger(Box::new(change))], Durability::Batch).map(|_| ())
    }

    fn receipt(&self, ledger: &LedgerId, topic: &Topic) -> Result<Option<Receipt>, StoreError> {
        self.read(|reader| reader.receipt(ledger, topic))
    }

    fn trim(&self, ledger: &LedgerId, topic: &Topic, through: EventSeq) -> Result<u64, StoreError> {
        self.hold_open("trimming a ledger")?;
        let mut trim = Trim::new((ledger, topic), through);
        loop {
            let step = self.group.with_writer(|writer| writer.maintain(|connection| trim.step(connection)));
            self.log.look(&self.group);
            if !step.map_err(|error| waited(error, &self.options))? {
                return Ok(trim.trimmed());
            }
        }
    }

    fn forget_events(&self, session: &SessionId) -> Result<u64, StoreError> {
        self.hold_open("forgetting events")?;
        self.forget_session(session).map_err(|error| waited(error, &self.options))
    }

    fn forget_places(&self, ledger: &LedgerId, places: &Places) -> Result<u64, StoreError> {
        self.hold_open("forgetting events")?;
        self.forget_parts(ledger, places).map_err(|error| waited(error, &self.options))
    }

    fn save_states(&self, ledger: &LedgerId, states: Vec<SavedState>) -> Result<(), StoreError> {
        let write = Write::SaveStates { ledger: ledger.clone(), states };
        self.write(vec![write], Durability::Batch).map(|_| ())
    }

    fn save_folded(&self, ledger: &LedgerId, epoch: u64, states: Vec<SavedState>) -> Result<(), StoreError> {
        let expected = Write::ExpectEpoch { ledger: ledger.clone(), epoch };
        let writes = vec![expected, Write::SaveStates { ledger: ledger.clone(), states }];
        self.write(writes, Durability::Batch).map(|_| ())
    }

    fn saved_states(&self, ledger: &LedgerId, prefix: &str) -> Result<Vec<SavedState>, StoreError> {
        self.read(|reader| reader.saved_states(ledger, prefix))
    }

    fn drop_states(&self, ledger: &LedgerId, prefix: &str) -> Result<(), StoreError> {
        self.hold_open("dropping saved states")?;
        let length = i64::try_from(prefix.len()).unwrap_or(i64::MAX);
        let dropped = self.group.with_writer(|writer| {
            writer.maintain(|connection| {
                if let Some(mut row) = LedgerRow::find(connection, ledger)? {
                    row.epoch = row.epoch.saturating_add(1);
                    row.put(connection)?;
                }
                connection
                    .execute(
                        "DELETE FROM state WHERE ledger = (SELECT row FROM ledger WHERE id = ?1) AND name >= ?2 \
                         AND substr(CAST(name AS BLOB), 1, ?3) = CAST(?2 AS BLOB)",
                        params![ledger.as_str(), prefix, length],
                    )
                    .map(|_| ())
                    .during("dropping saved states")
            })
        });
        dropped.map_err(|error| waited(error, &self.options))
    }

    fn close(&self) -> Result<(), StoreError> {
        self.closed.store(true, Ordering::Release);
        Ok(())
    }
}
