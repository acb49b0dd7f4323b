//! Rows of ledgers, events and receipts as a database stores them, and what they say.
//!
//! Specified in `docs/format/store.md`; how a row is found, written and taken is each backend's own.

use stemmata_model::{
    ArtifactId, Event, EventSeq, Gone, Json, LedgerId, Party, Payload, SessionId, Timestamp, Topic,
};

use super::output::exceeds;
use crate::error::{StoreError, unreadable};
use crate::ledger::{Ledger, Receipt};

/// Text and data are in the row.
pub const PLAIN: i64 = 0;
/// The payload is a content.
pub const LINE: i64 = 1;
/// The payload is gone, by a bound or by a trim.
pub const TRIMMED: i64 = 2;
/// The payload is gone, because somebody had it forgotten.
pub const FORGOTTEN: i64 = 3;

/// A row of `ledger`.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the columns are specified in docs/format/store.md")]
pub struct LedgerRow {
    pub row: i64,
    pub id: String,
    pub created_at: i64,
    pub last: i64,
    pub last_at: Option<i64>,
    pub root: Option<String>,
    pub compacted_at: Option<i64>,
    /// Raw output that still has its payload.
    pub output_events: i64,
    pub output_bytes: i64,
    /// Rises with every forgetting.
    pub epoch: i64,
}

impl LedgerRow {
    /// Returns the ledger, with the marks that other rows have.
    ///
    /// # Errors
    /// `Backend` for a row that no version writes, as for all rows.
    pub fn into_ledger(self, marks: Vec<String>) -> Result<Ledger, StoreError> {
        Ok(Ledger {
            id: LedgerId::new(self.id).map_err(|error| unreadable("ledger.id", &self.row, &error))?,
            created_at: Timestamp::from_micros(self.created_at),
            last: self.last.cast_unsigned(),
            last_at: self.last_at.map(Timestamp::from_micros),
            root: self.root,
            compacted_at: self.compacted_at.map(Timestamp::from_micros),
            epoch: self.epoch.cast_unsigned(),
            marks,
        })
    }

    /// Counts raw output that comes, or goes.
    pub const fn count_output(&mut self, events: i64, bytes: i64) {
        self.output_events = self.output_events.saturating_add(events);
        self.output_bytes = self.output_bytes.saturating_add(bytes);
    }

    /// Says whether there is more raw output than a ledger keeps.
    pub fn has_too_much(&self) -> bool {
        // Damage can make a count negative. That counts as zero, so that nothing is trimmed because of it.
        exceeds(self.output_events.max(0).cast_unsigned(), self.output_bytes.max(0).cast_unsigned())
    }
}

/// A row of `event`, with its texts as they are at hand.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the columns are specified in docs/format/store.md")]
pub struct EventRow<T> {
    pub ledger: i64,
    pub seq: i64,
    pub at: i64,
    pub topic: i64,
    pub sender: i64,
    pub receiver: i64,
    pub session: i64,
    pub kind: i64,
    pub replayable: bool,
    pub content: Option<i64>,
    pub text: Option<T>,
    pub data: Option<T>,
    pub metadata: Option<T>,
    pub hash: Option<[u8; 32]>,
    pub bytes: Option<i64>,
}

impl<T> EventRow<T> {
    /// Returns whether its payload is still stored.
    pub const fn is_there(&self) -> bool {
        self.kind < TRIMMED
    }
}

impl EventRow<String> {
    /// Returns the bytes of its texts.
    pub fn bytes_held(&self) -> usize {
        [&self.text, &self.data, &self.metadata].into_iter().flatten().map(String::len).sum()
    }

    /// Returns the event. `name` looks up the text of a name's number, `line` reads the event's line; `None` if the line was removed
    /// after the row was read.
    ///
    /// # Errors
    /// `Backend`, and what the arguments fail with.
    pub fn event(
        &self,
        mut name: impl FnMut(i64) -> Result<String, StoreError>,
        line: impl FnOnce() -> Result<Option<Payload>, StoreError>,
    ) -> Result<Option<Event>, StoreError> {
        let bad = |column, error: &dyn ToString| unreadable(column, &self.seq, error);
        let json = |column, text: Option<&String>| {
            text.map(|text| Json::parse(text).map_err(|error| bad(column, &error))).transpose()
        };
        let session = SessionId::new(name(self.session)?).map_err(|error| bad("event.session", &error))?;
        let topic = Topic::new(name(self.topic)?).map_err(|error| bad("event.topic", &error))?;
        let sender = Party::new(name(self.sender)?).map_err(|error| bad("event.sender", &error))?;
        let receiver = Party::new(name(self.receiver)?).map_err(|error| bad("event.receiver", &error))?;
        let metadata = json("event.metadata", self.metadata.as_ref())?;
        let payload = match self.kind {
            PLAIN => {
                Payload::Plain { data: json("event.data", self.data.as_ref())?, text: self.text.clone() }
            }
            LINE => match line()? {
                Some(payload) => payload,
                None => return Ok(None),
            },
            _ => {
                let (hash, bytes) = (self.hash.unwrap_or_default(), self.bytes.unwrap_or_default());
                let (hash, forgotten) = (ArtifactId::from_bytes(hash), self.kind == FORGOTTEN);
                Payload::Gone(Gone { hash, bytes: bytes.cast_unsigned(), forgotten })
            }
        };
        Ok(Some(Event {
            seq: place("event.seq", self.seq)?,
            session,
            at: Timestamp::from_micros(self.at),
            topic,
            sender,
            receiver,
            payload,
            metadata,
            replayable: self.replayable,
        }))
    }
}

/// Returns the line that a content is.
///
/// # Errors
/// `Corrupt` where it is none.
pub fn line(id: ArtifactId, bytes: &[u8]) -> Result<Payload, StoreError> {
    let damaged = |reason: String| StoreError::Corrupt { artifact: id, reason };
    let text = str::from_utf8(bytes).ok().and_then(|text| text.strip_suffix('\n'));
    let text = text.ok_or_else(|| damaged("it is not a line".to_owned()))?;
    let line = Json::parse(text).map_err(|error| damaged(error.to_string()))?;
    Ok(Payload::Line { id, line })
}

/// A row of `receipt`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReceiptRow {
    /// What it says; none before anything is gone. Letting go continues behind a damaged place, and mends it.
    pub receipt: Option<Receipt>,
    /// Whether the place in the row was one.
    pub is_sound: bool,
    /// Up to where no payload is left: of events that may not enter a prompt, and of those that may.
    pub cleared: [i64; 2],
}

/// Reads the place of an event.
///
/// # Errors
/// `Backend` for no place.
pub fn place(column: &'static str, seq: i64) -> Result<EventSeq, StoreError> {
    EventSeq::new(seq.cast_unsigned()).ok_or_else(|| unreadable(column, &seq, &"no place"))
}
