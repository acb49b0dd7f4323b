//! Rows of ledgers, events and receipts as they are stored.
//!
//! What they say is in `crate::rules::ledger_rows`, and what they mean together is decided by who reads and writes them.

use rusqlite::types::ToSql;
use rusqlite::{Connection, Row, params};
use stemmata_model::{ArtifactId, EventSeq, Gone, LedgerId, Timestamp, artifact_id, to_u64};

use crate::error::StoreError;
use crate::ledger::Receipt;
use crate::rules::events::{plain_bytes, plain_length};
use crate::sqlite::failure::During;
use crate::sqlite::seals::{EVENT, Insert, LEDGER, RECEIPT};
use crate::sqlite::statements::{columns, one};

pub(in crate::sqlite) use crate::rules::ledger_rows::{
    EventRow, FORGOTTEN, LINE, LedgerRow, PLAIN, ReceiptRow, TRIMMED, place,
};

const READING: &str = "reading a ledger";
const WRITING: &str = "writing a ledger";

/// The columns of a ledger, in the order in which they are taken.
macro_rules! ledger_columns {
    () => {
        "row, id, created_at, last, last_at, root, compacted_at, output_events, output_bytes, epoch"
    };
}

pub(in crate::sqlite) use ledger_columns;

impl LedgerRow {
    pub(in crate::sqlite) fn find(
        connection: &Connection,
        id: &LedgerId,
    ) -> Result<Option<Self>, StoreError> {
        let sql = concat!("SELECT ", ledger_columns!(), " FROM ledger WHERE id = ?1");
        connection.during(READING).first(sql, [id.as_str()], Self::take)
    }

    pub(in crate::sqlite) fn load(connection: &Connection, row: i64) -> Result<Option<Self>, StoreError> {
        let sql = concat!("SELECT ", ledger_columns!(), " FROM ledger WHERE row = ?1");
        connection.during(READING).first(sql, [row], Self::take)
    }

    /// Takes the columns of `ledger` in their order.
    pub(in crate::sqlite) fn take(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (row, id, created_at, last, last_at, root, compacted_at, output_events, output_bytes, epoch) =
            columns(row)?;
        Ok(Self {
            row,
            id,
            created_at,
            last,
            last_at,
            root,
            compacted_at,
            output_events,
            output_bytes,
            epoch,
        })
    }

    /// Makes the row of a ledger that has none.
    pub(in crate::sqlite) fn make(
        connection: &Connection,
        id: &LedgerId,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let row: i64 =
            connection.during(WRITING).only("SELECT ifnull(max(row), 0) + 1 FROM ledger", [], one)?;
        let (id, created_at) = (id.as_str().to_owned(), now.as_micros());
        let made = Self { row, id, created_at, ..Self::default() };
        connection.during(WRITING).insert_sealed(Insert::New, &LEDGER, &made.values())?;
        Ok(made)
    }

    /// Writes over the ledger's row. Its id and the time when it was made stay.
    pub(in crate::sqlite) fn put(&self, connection: &Connection) -> Result<(), StoreError> {
        const SQL: &str = "UPDATE ledger SET last = ?4, last_at = ?5, root = ?6, compacted_at = ?7, output_events = ?8, \
             output_bytes = ?9, epoch = ?10, seal = ?11 WHERE row = ?1 AND id = ?2 AND created_at = ?3";
        connection.during(WRITING).seal(SQL, &LEDGER, &self.values()).map(|_| ())
    }

    fn values(&self) -> [&dyn ToSql; 10] {
        [
            &self.row,
            &self.id,
            &self.created_at,
            &self.last,
            &self.last_at,
            &self.root,
            &self.compacted_at,
            &self.output_events,
            &self.output_bytes,
            &self.epoch,
        ]
    }
}

/// The columns of an event, in the order in which they are taken.
macro_rules! event_columns {
    () => {
        "ledger, seq, at, topic, sender, receiver, session, kind, replayable, content, text, data, metadata, \
         hash, bytes"
    };
}

pub(in crate::sqlite) use event_columns;

impl<T: ToSql> EventRow<T> {
    pub(in crate::sqlite) fn values(&self) -> [&dyn ToSql; 15] {
        [
            &self.ledger,
            &self.seq,
            &self.at,
            &self.topic,
            &self.sender,
            &self.receiver,
            &self.session,
            &self.kind,
            &self.replayable,
            &self.content,
            &self.text,
            &self.data,
            &self.metadata,
            &self.hash,
            &self.bytes,
        ]
    }

    pub(in crate::sqlite) fn insert(&self, connection: &Connection) -> Result<(), StoreError> {
        const SQL: &str = concat!(
            "INSERT INTO event (",
            event_columns!(),
            ", seal) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
        );
        connection.during("appending an event").seal(SQL, &EVENT, &self.values()).map(|_| ())
    }
}

impl EventRow<String> {
    pub(in crate::sqlite) fn take(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            ledger: row.get(0)?,
            seq: row.get(1)?,
            at: row.get(2)?,
            topic: row.get(3)?,
            sender: row.get(4)?,
            receiver: row.get(5)?,
            session: row.get(6)?,
            kind: row.get(7)?,
            replayable: row.get(8)?,
            content: row.get(9)?,
            text: row.get(10)?,
            data: row.get(11)?,
            metadata: row.get(12)?,
            hash: row.get(13)?,
            bytes: row.get(14)?,
        })
    }

    pub(in crate::sqlite) fn load(
        connection: &Connection,
        (ledger, seq): (i64, i64),
    ) -> Result<Option<Self>, StoreError> {
        let sql = concat!("SELECT ", event_columns!(), " FROM event WHERE ledger = ?1 AND seq = ?2");
        connection.during("reading an event").first(sql, [ledger, seq], Self::take)
    }

    /// Lets go of the payload, and returns what is left of it.
    pub(in crate::sqlite) fn let_go(
        &mut self,
        connection: &Connection,
        forgotten: bool,
    ) -> Result<Gone, StoreError> {
        const SQL: &str = "UPDATE event SET kind = ?8, content = ?10, text = ?11, data = ?12, metadata = ?13, \
             hash = ?14, bytes = ?15, seal = ?16 WHERE ledger = ?1 AND seq = ?2 \
             AND at = ?3 AND topic = ?4 AND sender = ?5 AND receiver = ?6 AND session = ?7 AND replayable = ?9";
        let (hash, bytes) = self.gist(connection)?;
        self.kind = if forgotten { FORGOTTEN } else { TRIMMED };
        (self.content, self.text, self.data) = (None, None, None);
        if forgotten {
            self.metadata = None;
        }
        (self.hash, self.bytes) = (Some(*hash.as_bytes()), Some(bytes.cast_signed()));
        connection.during("letting go of an event's payload").seal(SQL, &EVENT, &self.values())?;
        Ok(Gone { hash, bytes, forgotten })
    }

    /// Returns the length of the payload.
    pub(in crate::sqlite) fn payload_bytes(&self, connection: &Connection) -> Result<i64, StoreError> {
        if self.kind == PLAIN {
            return Ok(plain_length(self.text.as_deref(), self.data.as_deref()).cast_signed());
        }
        Ok(self.gist(connection)?.1.cast_signed())
    }

    /// Returns the hash and the length of the payload.
    fn gist(&self, connection: &Connection) -> Result<(ArtifactId, u64), StoreError> {
        let known = |found: (Option<[u8; 32]>, Option<i64>)| {
            let hash = ArtifactId::from_bytes(found.0.unwrap_or_default());
            (hash, found.1.unwrap_or_default().cast_unsigned())
        };
        if self.kind == PLAIN {
            let bytes = plain_bytes(self.text.as_deref(), self.data.as_deref());
            let length = to_u64(bytes.len());
            return Ok((artifact_id(&bytes), length));
        }
        if self.kind != LINE {
            return Ok(known((self.hash, self.bytes)));
        }
        // A line that damage took has no hash any more; what was to go is gone then.
        let sql = "SELECT hash, length FROM content WHERE row = ?1 \
                   UNION ALL SELECT hash, length FROM packed WHERE row = ?1 LIMIT 1";
        let found = connection.during("reading an event's line").first(sql, [self.content], columns)?;
        Ok(known(found.unwrap_or_default()))
    }
}

impl ReceiptRow {
    pub(in crate::sqlite) fn load(
        connection: &Connection,
        (ledger, topic): (i64, i64),
    ) -> Result<Self, StoreError> {
        type Columns = (i64, i64, [u8; 32], i64, [i64; 2]);
        let sql = "SELECT events, bytes, chain, through, raw_through, replayable_through FROM receipt \
                   WHERE ledger = ?1 AND topic = ?2";
        let found: Option<Columns> =
            connection.during("reading a receipt").first(sql, [ledger, topic], |row: &Row<'_>| {
                let cleared = [row.get(4)?, row.get(5)?];
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, cleared))
            })?;
        let Some((events, bytes, chain, through, cleared)) = found else { return Ok(Self::default()) };
        let (events, bytes) = (events.cast_unsigned(), bytes.cast_unsigned());
        let found = EventSeq::new(through.cast_unsigned());
        let through = found.unwrap_or(EventSeq::FIRST);
        let receipt = Some(Receipt { events, bytes, chain, through });
        Ok(Self { receipt, is_sound: found.is_some(), cleared })
    }

    /// Writes the row, once there is something to say.
    pub(in crate::sqlite) fn put(
        &self,
        connection: &Connection,
        (ledger, topic): (i64, i64),
    ) -> Result<(), StoreError> {
        let Some(Receipt { events, bytes, chain, through }) = self.receipt else { return Ok(()) };
        let [events, bytes, through] = [events, bytes, through.get()].map(u64::cast_signed);
        let [raw, replayable] = self.cleared;
        let values = params![ledger, topic, events, bytes, chain, through, raw, replayable];
        connection.during("writing a receipt").insert_sealed(Insert::OrReplace, &RECEIPT, values).map(|_| ())
    }
}
