//! What selection asks of a store: the one seam between this crate and I/O.
//!
//! Questions and answers only; the engine implements the trait over ledgers, chains, state and search.

use stemmata_model::{EventSeq, Party, Timestamp, Topic};

use super::message::Message;

/// Where messages come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessagesOf {
    /// Events of one topic of the ledger.
    Topic(Topic),
    /// What user, assistant and tools said in the session: from the chain that the turn goes on from, never from an
    /// abandoned branch.
    Turns,
}

/// In which order messages are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOrder {
    /// The oldest first.
    OldestFirst,
    /// The newest first.
    NewestFirst,
}

/// Asks for messages: those that all of it holds for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageQuery {
    /// Where they come from.
    pub of: MessagesOf,
    /// Only those of this sender.
    pub sender: Option<Party>,
    /// Only those at this time or later.
    pub since: Option<Timestamp>,
    /// Only those after this event: what the agent was already given.
    pub after: Option<EventSeq>,
    /// Only those up to and with this event: so that all reads of one prompt see the same ledger.
    pub through: Option<EventSeq>,
    /// Which come first.
    pub order: ReadOrder,
    /// At most so many, from 1 to [`AMOUNT_MAX`](crate::strategy::AMOUNT_MAX) + 1.
    pub limit: usize,
    /// No more once their texts and data have so many bytes together; the first comes whatever it has.
    pub bytes_max: usize,
}

/// Messages that were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePage {
    /// The messages, in the order asked for.
    pub messages: Vec<Message>,
    /// Whether `bytes_max` ended the page before its limit and before the last message that matches.
    pub is_stopped: bool,
}

/// Asks for what is known of the project or the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateQuery<'a> {
    /// Unicode scalar values that the text may have.
    pub chars_max: usize,
    /// Only where something of it changed after this event.
    pub after: Option<EventSeq>,
    /// The state as of this event.
    pub through: Option<EventSeq>,
    /// Messages that a source `turns` of the same prompt has, with their times: the state does not say them once more.
    pub told: &'a [(String, Option<Timestamp>)],
}

/// Asks for what fits the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrieveQuery<'a> {
    /// What is being worked on: the text of the message that began the turn.
    pub task: String,
    /// Hits at most.
    pub limit: usize,
    /// Only what was said after this event.
    pub after: Option<EventSeq>,
    /// Only what was said up to and with this event.
    pub through: Option<EventSeq>,
    /// Messages that a source `turns` of the same prompt has, with their times: they are no find.
    pub told: &'a [(String, Option<Timestamp>)],
    /// What sources `state` of the same prompt say: what stands there is no find.
    pub state: &'a str,
}

/// Why a passage that fits the task is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// A source `turns` of the prompt has it.
    InTurns,
    /// A source `state` of the prompt has it.
    InState,
    /// The window guard took it out of what the agent sees.
    Hidden,
    /// Better ones took all places.
    Limit,
}

impl LeftOut {
    /// Returns the reason in a trace.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InTurns => "left out: recent turns have it",
            Self::InState => "left out: the state has it",
            Self::Hidden => "left out: pruned or archived",
            Self::Limit => "left out: better ones took the places",
        }
    }
}

/// A passage that fits the task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// What names it: `ctx-…` with an entry, or an event's sequence number.
    pub id: String,
    /// When it was said, if that is known.
    pub at: Option<Timestamp>,
    /// Where it comes from, for the model: a session, a file, a topic. One line.
    pub origin: String,
    /// What it says.
    pub text: String,
    /// How well it fits, in thousandths; the scale is the retriever's.
    pub score_permille: u64,
    /// Why: the parts of the score in words.
    pub reasons: Vec<String>,
    /// Why it is not given: such a hit is for the trace alone.
    pub left_out: Option<LeftOut>,
}

/// Reads what a prompt may be made of.
///
/// - **Deterministic**: the same question against the same store gives the same answer. Nothing depends on a clock.
/// - **Bounded**: a call costs what its limit says, however many messages match. An index on topic and time, and the
///   stored flag `replayable`, make that possible: filter and limit belong into the store, not after it.
/// - **One view**: with `through`, what is appended while a prompt is made is not in it.
/// - Read-only, so it may be called again.
pub trait ContextReader {
    /// Why a read failed.
    type Error;

    /// Returns messages in the order asked for. Only those that may enter a prompt
    /// ([`may_replay`](stemmata_model::may_replay), decided when the event was appended) and that still have a payload.
    ///
    /// # Errors
    /// Where the storage fails.
    fn messages(&self, query: &MessageQuery) -> Result<MessagePage, Self::Error>;

    /// Returns what is known as text within the query's bound. Returns `None` if nothing is known, or if nothing changed
    /// after `after`.
    ///
    /// # Errors
    /// Where the storage fails.
    fn state(&self, query: &StateQuery<'_>) -> Result<Option<String>, Self::Error>;

    /// Returns the passages that fit best, the best first, ties in a fixed order; and behind them, for the trace, the best of
    /// those that were left out.
    ///
    /// # Errors
    /// Where the storage fails.
    fn retrieve(&self, query: &RetrieveQuery<'_>) -> Result<Vec<Hit>, Self::Error>;
}
