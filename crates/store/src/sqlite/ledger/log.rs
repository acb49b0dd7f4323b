//! The store as a log of events.
//!
//! Appends, states and changes are batches of one write; letting go is maintenance.

use std::sync::atomic::Ordering;

use rusqlite::params;
use stemmata_model::{EventSeq, Json, LedgerId, SessionId, Timestamp, Topic};

use super::names::Names;
use super::output::Trim;
use super::read::{READING, known, marked};
use super::rows::{LedgerRow, ReceiptRow, ledger_columns};
use super::{forget, keys};
use crate::error::StoreError;
use crate::ledger::{
    Append, Appended, Durability, EventKey, EventLog, EventPage, EventQuery, Keyed, Ledger, LedgerChange,
    Places, Receipt, SavedState,
};
use crate::rules::checks::{check_keys, check_query};
use crate::sqlite::failure::{During, unreadable};
use crate::sqlite::read::commits::sql_limit;
use crate::sqlite::statements::columns;
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
        self.within_read(|connection| {
            let Some(LedgerRow { row, .. }) = LedgerRow::find(connection, ledger)? else {
                return Ok(Vec::new());
            };
            let found = keys.iter().filter_map(|key| keys::find(connection, row, *key).transpose());
            found.filter(|keyed| keyed.as_ref().map_or(true, |keyed| keyed.holds(now))).collect()
        })
    }

    fn ledger(&self, id: &LedgerId) -> Result<Option<Ledger>, StoreError> {
        self.within_read(|connection| {
            LedgerRow::find(connection, id)?.map(|row| known(connection, row)).transpose()
        })
    }

    fn ledgers(&self, after: Option<&LedgerId>, limit: usize) -> Result<Vec<Ledger>, StoreError> {
        let values = params![after.map_or("", LedgerId::as_str), sql_limit(limit)];
        let sql = concat!("SELECT ", ledger_columns!(), " FROM ledger WHERE id > ?1 ORDER BY id LIMIT ?2");
        self.within_read(|connection| {
            let rows: Vec<LedgerRow> = connection.during(READING).list(sql, values, LedgerRow::take)?;
            rows.into_iter().map(|row| known(connection, row)).collect()
        })
    }

    fn ledger_marked(&self, mark: &str) -> Result<Option<LedgerId>, StoreError> {
        self.within_read(|connection| marked(connection, mark))
    }

    fn change_ledger(&self, change: LedgerChange) -> Result<(), StoreError> {
        self.write(vec![Write::ChangeLedger(Box::new(change))], Durability::Batch).map(|_| ())
    }

    fn receipt(&self, ledger: &LedgerId, topic: &Topic) -> Result<Option<Receipt>, StoreError> {
        self.within_read(|connection| {
            let Some(ledger) = LedgerRow::find(connection, ledger)? else { return Ok(None) };
            let Some(topic) = Names::default().find(connection, topic.as_str())? else { return Ok(None) };
            let row = ReceiptRow::load(connection, (ledger.row, topic))?;
            if row.receipt.is_some() && !row.is_sound {
                return Err(unreadable("receipt.through", &"it", &"no place"));
            }
            Ok(row.receipt)
        })
    }

    fn trim(&self, ledger: &LedgerId, topic: &Topic, through: EventSeq) -> Result<u64, StoreError> {
        self.hold_open("trimming a ledger")?;
        let mut trim = Trim::new((ledger, topic), through);
        loop {
            let step = self.group.maintain(|connection| trim.step(connection));
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
        type Columns = (String, u32, i64, Option<String>, String);
        let sql = "SELECT s.name, s.version, s.through, s.position, s.state FROM ledger l JOIN state s \
                   ON s.ledger = l.row WHERE l.id = ?1 AND s.name >= ?2 AND s.name < CAST(?3 AS TEXT) \
                   ORDER BY s.name";
        // No text has such a byte: what begins with the prefix is before this, whichever character follows.
        let end = [prefix.as_bytes(), &[0xff]].concat();
        let values = params![ledger.as_str(), prefix, end];
        let rows: Vec<Columns> = self
            .within_read(|connection| connection.during("reading saved states").list(sql, values, columns))?;
        let state = |(name, version, through, position, state): Columns| {
            let state = Json::parse(&state).map_err(|error| unreadable("state.state", &name, &error))?;
            Ok(SavedState { name, version, through: through.cast_unsigned(), position, state })
        };
        rows.into_iter().map(state).collect()
    }

    fn drop_states(&self, ledger: &LedgerId, prefix: &str) -> Result<(), StoreError> {
        self.hold_open("dropping saved states")?;
        let dropped = self.group.with_writer(|writer| {
            writer.maintain(|connection| match LedgerRow::find(connection, ledger)? {
                Some(mut row) => forget::drop_states(connection, &mut row, (prefix, false)),
                None => Ok(()),
            })
        });
        dropped.map_err(|error| waited(error, &self.options))
    }

    fn close(&self) -> Result<(), StoreError> {
        self.closed.store(true, Ordering::Release);
        Ok(())
    }
}
