//! Appending events, with their lines as contents, and what is said of ledgers.
//!
//! What a ledger lets go of by itself is `sqlite::ledger::output`'s.

use rusqlite::params;
use stemmata_model::{Json, LedgerId, NewEvent, NewPayload, Timestamp, topics};

use super::Transaction;
use crate::error::StoreError;
use crate::ledger::{Append, Appended, Coverage, Keyed, LedgerChange, SavedState};
use crate::rules::checks::{check_epoch, check_marks, check_place, check_reach};
use crate::rules::events::{new_bytes, next_time};
use crate::rules::prepare::Literal;
use crate::sqlite::failure::During;
use crate::sqlite::ledger::rows::{EventRow, LINE, LedgerRow, PLAIN};
use crate::sqlite::ledger::{keys, marked, output};
use crate::sqlite::seals::{COVERAGE, Insert, LEDGER_MARK, STATE};
use crate::sqlite::statements::one;

const CHANGING: &str = "changing a ledger";

impl Transaction<'_> {
    pub(super) fn append(&mut self, append: &Append, lines: &[Option<Literal>]) -> Result<(), StoreError> {
        let found = self.find_ledger(&append.ledger)?;
        let known = |of: fn(&LedgerRow) -> i64| found.as_ref().map_or(0, of).cast_unsigned();
        let at = (known(|ledger| ledger.last), known(|ledger| ledger.epoch));
        let (first, last) = check_place(append, at, |key| match &found {
            Some(ledger) => keys::find(self.connection, ledger.row, key),
            None => Ok(None),
        })?;
        let mut ledger = match found {
            Some(ledger) => ledger,
            None => LedgerRow::make(self.connection, &append.ledger, append.now)?,
        };
        if !append.keys.is_empty() {
            keys::sweep(self.connection, append.now)?;
        }
        for keyed in append.keys.iter().filter_map(|new| Keyed::placed(new, first)) {
            keys::put(self.connection, ledger.row, &keyed)?;
        }
        let mut output = None;
        for ((number, event), line) in (first.get()..).zip(&append.events).zip(lines) {
            let before = ledger.last_at.map(Timestamp::from_micros);
            let at = next_time(before, append.now, event.at);
            ledger.last_at = Some(at.as_micros());
            let row = self.append_event((ledger.row, number.cast_signed(), at), event, line.as_ref())?;
            if row.1 {
                ledger.count_output(1, new_bytes(&event.payload).cast_signed());
                output = Some(row.0);
            }
        }
        ledger.last = last.get().cast_signed();
        if let Some(topic) = output {
            output::bound(self.connection, &mut ledger, topic)?;
        }
        self.put_ledger(&append.ledger, &ledger)?;
        let last_at = ledger.last_at.map_or(append.now, Timestamp::from_micros);
        self.outcome.appended = Some(Appended { first, last, last_at });
        Ok(())
    }

    /// Appends one event, and returns its topic's row and whether it is raw output.
    fn append_event(
        &mut self,
        (ledger, seq, at): (i64, i64, Timestamp),
        new: &NewEvent,
        line: Option<&Literal>,
    ) -> Result<(i64, bool), StoreError> {
        let content = line.map(|line| self.store_literal(line)).transpose()?;
        let (text, data) = match &new.payload {
            NewPayload::Plain { text, data } => (text.as_deref(), data.as_ref().map(Json::as_str)),
            NewPayload::Line(_) => (None, None),
        };
        let names = &mut self.memory.names;
        let mut row_of = |name: &str| names.row_of(self.connection, name);
        let row = EventRow {
            ledger,
            seq,
            at: at.as_micros(),
            topic: row_of(new.topic.as_str())?,
            sender: row_of(new.sender.as_str())?,
            receiver: row_of(new.receiver.as_str())?,
            session: row_of(new.session.as_str())?,
            kind: if content.is_some() { LINE } else { PLAIN },
            replayable: new.replayable,
            content,
            text,
            data,
            metadata: new.metadata.as_ref().map(Json::as_str),
            hash: None,
            bytes: None,
        };
        row.insert(self.connection)?;
        Ok((row.topic, new.topic.as_str() == topics::AGENT_OUTPUT && !new.replayable))
    }

    pub(super) fn cover_ledger(&mut self, coverage: &Coverage) -> Result<(), StoreError> {
        let commit = self.need_commit(coverage.commit)?.row;
        let ledger = self.need_ledger(&coverage.ledger)?.row;
        let through = coverage.through.get().cast_signed();
        self.connection.during("saying what a commit covers").seal(
            "INSERT INTO coverage (commit_row, ledger, through, seal) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (commit_row, ledger) DO UPDATE SET through = ?3, seal = ?4 WHERE through < ?3",
            &COVERAGE,
            params![commit, ledger, through],
        )?;
        Ok(())
    }

    pub(super) fn expect_epoch(&mut self, ledger: &LedgerId, epoch: u64) -> Result<(), StoreError> {
        check_epoch(ledger, Some(epoch), self.need_ledger(ledger)?.epoch.cast_unsigned())
    }

    pub(super) fn save_states(&mut self, ledger: &LedgerId, states: &[SavedState]) -> Result<(), StoreError> {
        let known = self.need_ledger(ledger)?;
        check_reach(states, known.last.cast_unsigned())?;
        let ledger = known.row;
        for state in states {
            let through = state.through.cast_signed();
            let values =
                params![ledger, state.name, state.version, through, state.position, state.state.as_str()];
            self.connection.during("saving states").insert_sealed(Insert::OrReplace, &STATE, values)?;
        }
        Ok(())
    }

    pub(super) fn change_ledger(&mut self, change: &LedgerChange) -> Result<(), StoreError> {
        let mut ledger = match self.find_ledger(&change.ledger)? {
            Some(ledger) => ledger,
            None => LedgerRow::make(self.connection, &change.ledger, change.now)?,
        };
        for mark in &change.let_go {
            self.connection
                .during(CHANGING)
                .run("DELETE FROM ledger_mark WHERE mark = ?1 AND ledger = ?2", params![mark, ledger.row])?;
        }
        for mark in &change.marks {
            self.mark_ledger(&ledger, mark)?;
        }
        let marks: i64 = self.connection.during(CHANGING).only(
            "SELECT count(*) FROM ledger_mark WHERE ledger = ?1",
            [ledger.row],
            one,
        )?;
        check_marks(usize::try_from(marks).unwrap_or(usize::MAX))?;
        ledger.root = change.root.clone().or(ledger.root);
        ledger.compacted_at = change.compacted_at.map(Timestamp::as_micros).or(ledger.compacted_at);
        self.put_ledger(&change.ledger, &ledger)
    }

    fn mark_ledger(&self, ledger: &LedgerRow, mark: &str) -> Result<(), StoreError> {
        if let Some(holder) = marked(self.connection, mark)? {
            if holder.as_str() == ledger.id {
                return Ok(());
            }
            return Err(StoreError::MarkTaken { mark: mark.to_owned(), ledger: holder });
        }
        self.connection.during(CHANGING).insert_sealed(
            Insert::OrReplace,
            &LEDGER_MARK,
            params![mark, ledger.row],
        )?;
        Ok(())
    }

    fn need_ledger(&mut self, id: &LedgerId) -> Result<LedgerRow, StoreError> {
        self.find_ledger(id)?.ok_or_else(|| StoreError::LedgerMissing(id.clone()))
    }

    fn find_ledger(&mut self, id: &LedgerId) -> Result<Option<LedgerRow>, StoreError> {
        if let Some(known) = self.memory.ledgers.get(id) {
            return Ok(Some(known.clone()));
        }
        let found = LedgerRow::find(self.connection, id)?;
        if let Some(ledger) = &found {
            self.memory.ledgers.put(id.clone(), ledger.clone());
        }
        Ok(found)
    }

    fn put_ledger(&mut self, id: &LedgerId, ledger: &LedgerRow) -> Result<(), StoreError> {
        ledger.put(self.connection)?;
        self.memory.ledgers.put(id.clone(), ledger.clone());
        Ok(())
    }
}
