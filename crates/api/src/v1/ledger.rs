//! Wire types of events and ledgers.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{ArtifactId, CommitId, EventSeq, LedgerId, Party, SessionId, Timestamp, Topic};

use super::{Durability, Note};
use crate::{PageRequest, PlanDigest, RawJson};

/// Events of one append at most.
pub const APPEND_EVENTS_MAX: usize = 4_096;

/// Bytes of the texts, data and metadata of one append at most.
pub const APPEND_BYTES_MAX: usize = 64 * 1024 * 1024;

/// An event of a ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Event {
    /// Its number, as a decimal string: readers that take numbers for floats lose great ones.
    pub event_seq: EventSeq,
    /// The session that it belongs to.
    pub session_id: SessionId,
    /// When it was appended, RFC 3339.
    pub timestamp: Timestamp,
    /// What it is about.
    pub topic: Topic,
    /// Who sent it.
    pub sender: Party,
    /// For whom it is.
    pub receiver: Party,
    /// `plain`, `line` (an entry as `stemmata-v1`), `trimmed` or `forgotten`.
    pub payload: String,
    /// Text; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Data, or the entry: JSON as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
    /// What programs say about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Whether it may enter a prompt.
    pub replayable: bool,
    /// Of an entry, and of what is gone: the artifact, `art-…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactId>,
    /// Of what is gone: the bytes that it had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A page of a ledger's events, ordered by their numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Events {
    /// The ledger.
    pub ledger: LedgerId,
    /// The events.
    pub events: Vec<Event>,
    /// The ledger's last number when they were read.
    pub last: String,
    /// If there may be more: continue with `after` this number; if the newest come first, with `through` it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<EventSeq>,
}

/// Events that were appended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Appended {
    /// The ledger.
    pub ledger: LedgerId,
    /// The first one's number.
    pub first: String,
    /// The last one's number, of those that were given.
    pub last: String,
    /// The number of the state that was published after them; absent where it did not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<EventSeq>,
    /// What was to be done, of a task that was ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished: Option<String>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Ledger {
    /// Its id.
    pub id: LedgerId,
    /// Where the project is; absent for a cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// When it was made, RFC 3339.
    pub created_at: Timestamp,
    /// The number of its last event, 0 without any.
    pub last: String,
    /// The time of that event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Timestamp>,
    /// When its window was compacted last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compacted_at: Option<Timestamp>,
    /// By what else it is found.
    pub marks: Vec<String>,
    /// Folders that were adopted: sessions that worked in them count for the project.
    pub adopted: Vec<String>,
}

/// All ledgers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LedgerPage {
    /// The ledgers, in the order of their ids.
    pub ledgers: Vec<Ledger>,
    /// If there may be more: continue with `after` this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<LedgerId>,
}

/// A ledger that was written as a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LedgerExported {
    /// The ledger.
    pub ledger: LedgerId,
    /// The file.
    pub path: String,
    /// Events in it.
    pub events: u64,
    /// Of these, events whose payload is gone.
    pub gone: u64,
    /// The last event in it.
    pub through: String,
}

/// Events that were forgotten, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct EventsForgotten {
    /// The session whose events are forgotten. Absent where single events were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How many events were emptied.
    pub events: u64,
    /// Where they are.
    pub ledgers: Vec<LedgerForgotten>,
    /// Commits that hold what the events said, and still do: `forget` deletes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_by: Vec<CommitId>,
    /// Stores that a restore, a rollback or a migration left beside this one: nothing of them is deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores_left: Vec<String>,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// What is left to do on disk; the next command does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
    /// Of a plan: what applying it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<PlanDigest>,
}

/// Events of a ledger that were emptied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct LedgerForgotten {
    /// The ledger.
    pub ledger: LedgerId,
    /// How many.
    pub events: u64,
}

/// Asks for ledgers, in the order of their ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LedgersRequest {
    /// Which part of them.
    #[serde(default = "PageRequest::first")]
    pub page: PageRequest,
}

/// Asks about one ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LedgerRequest {
    /// Its id.
    pub ledger: LedgerId,
}

/// Asks to make a folder part of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AdoptRequest {
    /// The project's ledger.
    pub ledger: LedgerId,
    /// The folder, absolute.
    pub folder: String,
    /// Home directories of the user who asks.
    #[serde(default)]
    pub homes: Vec<String>,
    /// Adopt the folder although it holds a home directory or projects.
    #[serde(default)]
    pub anyway: bool,
}

/// Asks to remove a folder from those that a project adopted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DisownRequest {
    /// The project's ledger.
    pub ledger: LedgerId,
    /// The folder, as it was adopted.
    pub folder: String,
}

/// An event to append.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NewEvent {
    /// What it is about.
    pub topic: String,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Data, kept as it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
    /// What programs say about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawJson>,
    /// Who sends it; absent: `user`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// For whom it is; absent: `broadcast`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// The session that it belongs to; absent: `stemma`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The discussion thread; kept in the metadata, where it is not named yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The ticket being worked on; kept in the metadata, where it is not named yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
}

/// Asks to append events, all or none of them, with nothing in between.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AppendRequest {
    /// The ledger.
    pub ledger: LedgerId,
    /// The events.
    pub events: Vec<NewEvent>,
    /// The number of the last event before them; with another one nothing is appended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// When the answer comes.
    pub durability: Durability,
}

/// Asks for events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EventsRequest {
    /// The ledger.
    pub ledger: LedgerId,
    /// Only these topics; all where none is named.
    #[serde(default)]
    pub topics: Vec<String>,
    /// Only those from this sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Only those for this receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// Only those of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Only those after this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<EventSeq>,
    /// Only those up to and with this number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<EventSeq>,
    /// Only those at this time or later, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only those at this time or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Only those that may enter a prompt, or only those that may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayable: Option<bool>,
    /// Whether the newest come first.
    #[serde(default)]
    pub newest_first: bool,
    /// How many at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Asks for events as they come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FollowRequest {
    /// The ledger.
    pub ledger: LedgerId,
    /// Only these topics; all where none is named.
    #[serde(default)]
    pub topics: Vec<String>,
    /// Only those from this sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// Only those for this receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<String>,
    /// Only those of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where to begin.
    pub from: FollowFrom,
    /// How many at most; absent: until it is cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// Events that were followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Followed {
    /// How many.
    pub events: u64,
}

/// Asks to forget events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ForgetEventsRequest {
    /// The ledger; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerId>,
    /// All events of this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The numbers of events; only with a ledger.
    #[serde(default)]
    pub events: Vec<EventSeq>,
}

/// Where following begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FollowFrom {
    /// With the ledger's first event.
    Beginning,
    /// With what is appended from now on.
    Now,
    /// With the event after this number.
    After(EventSeq),
    /// With the event after the last one that was read under this name.
    Cursor(String),
}
