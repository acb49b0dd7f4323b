//! Ledgers: append-only logs of events, as a seam that stores and a folder of files stand behind.
//!
//! What events mean, and what is folded from them, is not known here.

mod derived;
mod export;
mod files;
mod import;
mod keys;
mod page;

pub use derived::DerivedEvents;
pub use export::{ExportedCluster, export_cluster};
#[cfg(any(test, feature = "conformance"))]
pub use files::check_ledger_bytes;
pub use files::{FileLog, FileLogOptions, Finding, IntegrityMode, Repaired, Restored};
pub use import::ClusterFile;
pub use keys::{APPEND_KEYS_MAX, EventKey, Keyed, NewKey};
pub use page::{EventPage, Filling};

use std::collections::BTreeSet;

pub use stemmata_model::Durability;

use stemmata_model::{
    CommitId, Event, EventSeq, Json, LedgerId, NewEvent, Party, Payload, SessionId, Timestamp, Topic,
};

use crate::error::StoreError;
use crate::rules::bounds::EVENT_PAGE_BYTES_MAX;

/// Events of one append at most, so that a transaction stays short.
pub const BATCH_EVENTS_MAX: usize = 4_096;

/// Bytes of one event's text, data and metadata together at most, and of one line.
pub const EVENT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Microseconds since 1970 of an event's time at most: the end of the year 9999. Times rise from event to event, and
/// after one at the end of all numbers none could.
pub const EVENT_AT_US_MAX: i64 = 253_402_300_799_999_999;

/// Topics that one query names at most.
pub const QUERY_TOPICS_MAX: usize = 64;

/// Marks of one ledger at most.
pub const MARKS_MAX: usize = 64;

/// Bytes of a mark, of a root and of a saved state's name at most.
pub const MARK_BYTES_MAX: usize = 4_096;

/// Bytes of one saved state at most.
pub const STATE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What the names of saved states begin with that say only how far somebody has read. They hold no words of any event,
/// and forgetting leaves them: who reads on would begin anew without them.
pub const CURSOR_STATES: &str = "cursor/";

/// Events of raw output that a ledger keeps at most; the oldest lose their payload first.
pub const OUTPUT_EVENTS_MAX: u64 = 8_192;

/// Bytes of payloads of raw output that a ledger keeps at most.
pub const OUTPUT_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Events to append to one ledger, all or none of them, with nothing in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The ledger; made where it is not there.
    pub ledger: LedgerId,
    /// The events, at most [`BATCH_EVENTS_MAX`].
    pub events: Vec<NewEvent>,
    /// Refuses the append unless this is the ledger's last number (0: no event yet).
    pub expected: Option<u64>,
    /// Refuses the append where something was forgotten since the ledger was at this epoch.
    pub epoch: Option<u64>,
    /// What the events are to be known by, at most [`APPEND_KEYS_MAX`]. Refuses the append where one of the keys is there.
    pub keys: Vec<NewKey>,
    /// The present.
    pub now: Timestamp,
    /// When to return. Within a batch of other writes it counts for nothing: such a batch is durable when it returns.
    pub durability: Durability,
}

impl Append {
    /// Appends events wherever the ledger ends, without keys.
    pub fn new(ledger: LedgerId, events: Vec<NewEvent>, now: Timestamp) -> Self {
        let durability = Durability::default();
        Self { ledger, events, expected: None, epoch: None, keys: Vec::new(), now, durability }
    }
}

/// Where an append's events are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Appended {
    /// The first one's place.
    pub first: EventSeq,
    /// The last one's place: `first` and as many more as there were events after the first.
    pub last: EventSeq,
    /// The last one's time.
    pub last_at: Timestamp,
}

/// In which order a read answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// By rising numbers.
    #[default]
    OldestFirst,
    /// By falling numbers.
    NewestFirst,
}

/// Which events a read returns: those that all of it holds for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// Only those after this place.
    pub after: Option<EventSeq>,
    /// Only those up to and with this place.
    pub through: Option<EventSeq>,
    /// Only these topics, at most [`QUERY_TOPICS_MAX`]; all where none is named.
    pub topics: Vec<Topic>,
    /// None of these topics, at most [`QUERY_TOPICS_MAX`]: their payloads are not read.
    pub without: Vec<Topic>,
    /// Only those from this sender.
    pub sender: Option<Party>,
    /// Only those for this receiver.
    pub receiver: Option<Party>,
    /// Only those of this session.
    pub session: Option<SessionId>,
    /// Only those at this time or later.
    pub since: Option<Timestamp>,
    /// Only those at this time or earlier.
    pub until: Option<Timestamp>,
    /// Only those that may enter a prompt, or only those that may not.
    pub replayable: Option<bool>,
    /// Only those that somebody had forgotten.
    pub forgotten: bool,
    /// In which order.
    pub order: Order,
    /// At most so many; 0 is none. At most [`PAGE_ROWS_MAX`](crate::PAGE_ROWS_MAX).
    pub limit: usize,
    /// No more once their texts, data, lines and metadata have so many bytes together: the first event comes whatever it
    /// has. At most [`EVENT_PAGE_BYTES_MAX`], which is what it is unless somebody says less.
    pub bytes_max: usize,
}

impl Default for EventQuery {
    fn default() -> Self {
        Self {
            after: None,
            through: None,
            topics: Vec::new(),
            without: Vec::new(),
            sender: None,
            receiver: None,
            session: None,
            since: None,
            until: None,
            replayable: None,
            forgotten: false,
            order: Order::default(),
            limit: 0,
            bytes_max: EVENT_PAGE_BYTES_MAX,
        }
    }
}

impl EventQuery {
    /// Asks for the oldest events after a place.
    pub fn after(after: Option<EventSeq>, limit: usize) -> Self {
        Self { after, limit, ..Self::default() }
    }

    /// Asks for the newest events of a topic.
    pub fn latest(topic: Topic, limit: usize) -> Self {
        Self { topics: vec![topic], order: Order::NewestFirst, limit, ..Self::default() }
    }

    /// Says whether an event is one of those asked for, limit aside.
    pub fn wants(&self, event: &Event) -> bool {
        self.after.is_none_or(|after| event.seq > after)
            && self.through.is_none_or(|through| event.seq <= through)
            && (self.topics.is_empty() || self.topics.contains(&event.topic))
            && !self.without.contains(&event.topic)
            && self.sender.as_ref().is_none_or(|sender| *sender == event.sender)
            && self.receiver.as_ref().is_none_or(|receiver| *receiver == event.receiver)
            && self.session.as_ref().is_none_or(|session| *session == event.session)
            && self.since.is_none_or(|since| event.at >= since)
            && self.until.is_none_or(|until| event.at <= until)
            && self.replayable.is_none_or(|replayable| replayable == event.replayable)
            && (!self.forgotten || matches!(event.payload, Payload::Gone(gone) if gone.forgotten))
    }
}

/// A ledger as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// Its id.
    pub id: LedgerId,
    /// When it was made.
    pub created_at: Timestamp,
    /// The number of its last event that is as durable as its append asked for, 0 without any. Never falls.
    pub last: u64,
    /// The time of that event.
    pub last_at: Option<Timestamp>,
    /// Where the project is, as text; none for a cluster.
    pub root: Option<String>,
    /// When the window of what is folded from it was compacted last.
    pub compacted_at: Option<Timestamp>,
    /// Rises whenever something of it is forgotten or its saved states are dropped, and may rise at other times: what was
    /// made of its events before is not to be kept.
    pub epoch: u64,
    /// By what else it is found, ascending: a repository's remote, its root commit, an earlier place.
    pub marks: Vec<String>,
}

/// A change of what is known of a ledger, which is made where it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerChange {
    /// The ledger.
    pub ledger: LedgerId,
    /// The present.
    pub now: Timestamp,
    /// Where the project is now; none leaves that as it is.
    pub root: Option<String>,
    /// When its window was compacted; none leaves that as it is.
    pub compacted_at: Option<Timestamp>,
    /// Marks to add. A mark that another ledger has is refused as `MarkTaken`.
    pub marks: Vec<String>,
    /// Marks to let go of first, where it has them: they lead nowhere then, or to whom they are given next.
    pub let_go: Vec<String>,
}

impl LedgerChange {
    /// A change of nothing, which makes the ledger where it is not there.
    pub const fn new(ledger: LedgerId, now: Timestamp) -> Self {
        Self { ledger, now, root: None, compacted_at: None, marks: Vec::new(), let_go: Vec::new() }
    }
}

/// What a reducer made of a ledger, or of one session, up to a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedState {
    /// The reducer's name, with what it folded where that is not the ledger: unique in its ledger.
    pub name: String,
    /// The reducer's version.
    pub version: u32,
    /// The ledger's last event that is folded in; 0 where none is.
    pub through: u64,
    /// How far it has read what is not the ledger, in its own words.
    pub position: Option<String>,
    /// The state.
    pub state: Json,
}

/// What a ledger let go of in one topic, because it keeps only so much of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Receipt {
    /// Events whose payload is gone.
    pub events: u64,
    /// Bytes that these payloads had.
    pub bytes: u64,
    /// A chain over them, oldest first: BLAKE3 of the chain before (32 zero bytes at first), the payload's hash (32
    /// bytes) and its length (8 bytes, the lowest first).
    pub chain: [u8; 32],
    /// The newest of them.
    pub through: EventSeq,
}

/// Events of a ledger, by their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Places {
    /// All there are.
    All,
    /// These.
    These(BTreeSet<EventSeq>),
}

impl Places {
    /// Says whether a place is one of them.
    pub fn hold(&self, seq: EventSeq) -> bool {
        match self {
            Self::All => true,
            Self::These(these) => these.contains(&seq),
        }
    }
}

/// An append-only log of events, many ledgers of them.
///
/// - **Atomic**: an append is there whole or not at all, and its events stand next to each other.
/// - **Ordered**: numbers rise by one; an append that returned before another began stands before it. A number is
///   never given twice, whatever happens to its event.
/// - **Durable** as the append asks ([`Durability`]); the memory keeps nothing beyond its own life, and says so.
/// - **Concurrent**: every method may be called from any thread, and for backends with files from any process.
/// - **Times rise**: an event's time is the greatest of the present, a microsecond after the event before it, and the
///   time it was given. A time that is far ahead stays ahead of all later events of the ledger; one beyond
///   [`EVENT_AT_US_MAX`] is refused.
/// - **Bounded**: reads take a limit, and a page has [`EVENT_PAGE_BYTES_MAX`] bytes at most; the newest *k* events of a topic cost O(*k*), whatever else there is.
/// - **Raw output** (`AGENT_OUTPUT` that may not enter a prompt) is bounded by [`OUTPUT_EVENTS_MAX`] and
///   [`OUTPUT_BYTES_MAX`]: with the append that goes beyond them the oldest lose their payloads, and a receipt says so.
pub trait EventLog: Send + Sync {
    /// Appends events.
    ///
    /// # Errors
    /// `SequenceMoved` where `expected` is not the last number, `EpochMoved` where something was forgotten since `epoch`,
    /// `KeyTaken` for a key that is there, `Bound`, `Empty` for no events, `Closed`; `Locked`,
    /// `Full`, `ReadOnly`, `Io`, `Backend` where the storage refuses. Nothing is appended then.
    fn append(&self, append: Append) -> Result<Appended, StoreError>;

    /// Returns events, with the payloads that are there, as many as the query's bounds allow, and says where to go on
    /// ([`EventQuery::following`]); none for a ledger that is not there.
    ///
    /// # Errors
    /// `Bound`, `Corrupt`, and where the storage fails.
    fn page(&self, ledger: &LedgerId, query: &EventQuery) -> Result<EventPage, StoreError>;

    /// Returns all events that a query asks for, page after page, and so many bytes as they have, all at once: for a few, or
    /// for as many as a person wants to see. Who reads a ledger through goes by [`EventLog::page`].
    ///
    /// # Errors
    /// As [`EventLog::page`].
    fn events(&self, ledger: &LedgerId, query: &EventQuery) -> Result<Vec<Event>, StoreError> {
        let mut page = self.page(ledger, query)?;
        let mut rest = query.rest(&page);
        let mut events = page.events;
        while let Some(query) = rest {
            page = self.page(ledger, &query)?;
            rest = query.rest(&page);
            events.append(&mut page.events);
        }
        Ok(events)
    }

    /// Returns those of some keys that are there, at most [`APPEND_KEYS_MAX`] asked for at once. A key goes with the payload of
    /// its first event, and when its time is over.
    ///
    /// # Errors
    /// `Bound`, and where the storage fails.
    fn keyed(&self, ledger: &LedgerId, keys: &[EventKey], now: Timestamp) -> Result<Vec<Keyed>, StoreError>;

    /// Returns what is known of a ledger.
    fn ledger(&self, id: &LedgerId) -> Result<Option<Ledger>, StoreError>;

    /// Returns ledgers in the order of their ids, after one of them. One that is damaged is listed as far as it can be read.
    fn ledgers(&self, after: Option<&LedgerId>, limit: usize) -> Result<Vec<Ledger>, StoreError>;

    /// Returns the ledger that has a mark.
    fn ledger_marked(&self, mark: &str) -> Result<Option<LedgerId>, StoreError>;

    /// Changes what is known of a ledger. Idempotent.
    ///
    /// # Errors
    /// `MarkTaken`, `Bound`, `Closed`, and where the storage fails.
    fn change_ledger(&self, change: LedgerChange) -> Result<(), StoreError>;

    /// Returns what a ledger let go of in a topic by its own bounds; none where it still has all.
    fn receipt(&self, ledger: &LedgerId, topic: &Topic) -> Result<Option<Receipt>, StoreError>;

    /// Lets go of the payloads of a topic's events up to a place. Numbers, times and hashes stay, and the receipt
    /// tells of them. Idempotent. Returns how many had one.
    fn trim(&self, ledger: &LedgerId, topic: &Topic, through: EventSeq) -> Result<u64, StoreError>;

    /// Forgets the payloads and metadata of a session's events in all ledgers, what `STATE_SNAPSHOT` and the session's
    /// `CHECKPOINT_STATE` say after the first of them, and all saved states of ledgers that had any, [`CURSOR_STATES`] aside.
    /// Leaves nothing of it in any file. Returns how many events that were. Whoever asks again has the files looked at again.
    ///
    /// # Errors
    /// `Unclean` where the events are forgotten and their words still in a file; `Closed`, and where the storage fails.
    fn forget_events(&self, session: &SessionId) -> Result<u64, StoreError>;

    /// Forgets the payloads and metadata of events of one ledger, what `STATE_SNAPSHOT` and their sessions' `CHECKPOINT_STATE`
    /// say after the first of them, and all of its saved states, [`CURSOR_STATES`] aside; the states also where no event is
    /// meant. Leaves nothing of it in any file. Returns how many events that were; none for a ledger that is not there.
    ///
    /// Idempotent. A backend may do it in parts, the newest events first: interrupted between two of them, the oldest still
    /// say what they said, and whoever asks again ends it.
    ///
    /// # Errors
    /// As [`EventLog::forget_events`].
    fn forget_places(&self, ledger: &LedgerId, places: &Places) -> Result<u64, StoreError>;

    /// Keeps states, each in the place of the one of its name. Durable when it returns.
    ///
    /// # Errors
    /// `Bound`, `Closed`, `LedgerMissing`, and where the storage fails.
    fn save_states(&self, ledger: &LedgerId, states: Vec<SavedState>) -> Result<(), StoreError>;

    /// Keeps states that were folded from events which were read since the ledger was at an epoch; none of them where
    /// something was forgotten meanwhile. Durable when it returns.
    ///
    /// # Errors
    /// `EpochMoved`, and as [`EventLog::save_states`].
    fn save_folded(&self, ledger: &LedgerId, epoch: u64, states: Vec<SavedState>) -> Result<(), StoreError>;

    /// Returns the saved states whose names start so, in the order of their names.
    fn saved_states(&self, ledger: &LedgerId, prefix: &str) -> Result<Vec<SavedState>, StoreError>;

    /// Removes the saved states whose names start so. Folds that are under way are not saved any more.
    fn drop_states(&self, ledger: &LedgerId, prefix: &str) -> Result<(), StoreError>;

    /// Ends all writing through this value: what comes later fails as `Closed`. Reads go on.
    fn close(&self) -> Result<(), StoreError>;
}

/// How far a commit covers a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    /// The commit.
    pub commit: CommitId,
    /// The ledger.
    pub ledger: LedgerId,
    /// The last event that the commit's chain holds, by its number in the log that was in use then: nothing says that the store's own
    /// ledger of that id has it.
    pub through: EventSeq,
}
