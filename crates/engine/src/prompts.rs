//! Prompts: what an agent is told in a turn.
//!
//! What is selected, and how it is put together, is `stemmata_prompt`'s. Here is what it reads: the ledger, the chain that
//! the session goes on from, what is known, and what was found.

mod reader;

use stemmata_model::{Entry, EventSeq, LedgerId, SessionId, TokenCounter, Tokens, topics};
use stemmata_prompt::assemble::{Assembled, Mode, PromptRequest, Trigger, build};
use stemmata_prompt::profile::Profile;
use stemmata_prompt::select::{Message, entry_text};
use stemmata_prompt::strategy::{Anchors, Strategy};
use stemmata_store::{EventQuery, Ledger};

use self::reader::{LedgerReader, message_of};
use crate::engine::Engine;
use crate::error::{EngineError, Result, Wanted};

/// Where a prompt's messages come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptOf {
    /// The ledger: a project's or a cluster's.
    pub ledger: LedgerId,
    /// The session whose turns the prompt may have.
    pub session: Option<SessionId>,
}

/// What began the turn.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptTrigger {
    /// An event of the ledger.
    Event(EventSeq),
    /// What a user said that is not in the ledger.
    Said(Box<Entry>),
}

/// What a prompt is made from.
pub struct PromptWanted<'a> {
    /// Who the agent is. Its id is the agent that the strategy's `since` refers to.
    pub profile: &'a Profile,
    /// Which sources it gets, and the budget.
    pub strategy: &'a Strategy,
    /// The budget where it is another one than the strategy's.
    pub max_tokens: Option<Tokens>,
    /// Counts tokens.
    pub counter: &'a dyn TokenCounter,
    /// What began the turn.
    pub trigger: Option<PromptTrigger>,
    /// What the retriever looks for; what began the turn where absent.
    pub task: Option<&'a str>,
    /// Whole prompt or continuation.
    pub mode: Mode,
    /// The last event that the prompt may have; the ledger's last one where absent. The same place gives the same prompt.
    pub through: Option<EventSeq>,
    /// Which turn of its task it is.
    pub iteration: Option<u64>,
    /// The previous prompt of the session.
    pub previous: Option<&'a str>,
}

impl<'a> PromptWanted<'a> {
    /// Asks for a whole prompt with nothing but profile and sources.
    pub const fn new(profile: &'a Profile, strategy: &'a Strategy, counter: &'a dyn TokenCounter) -> Self {
        Self {
            profile,
            strategy,
            max_tokens: None,
            counter,
            trigger: None,
            task: None,
            mode: Mode::Full,
            through: None,
            iteration: None,
            previous: None,
        }
    }
}

impl Engine {
    /// Makes the prompt of a turn, and says why it is what it is. Changes nothing but what folds save. All of it is
    /// from before the ledger's last event of now, or with it.
    ///
    /// # Errors
    /// `NotFound` for a ledger or an event that is not there; store errors.
    pub fn assemble(&self, of: &PromptOf, wanted: &PromptWanted<'_>) -> Result<Assembled> {
        let known = self.log.ledger(&of.ledger)?;
        let known = known
            .ok_or_else(|| EngineError::NotFound { what: Wanted::Ledger, text: of.ledger.to_string() })?;
        let (topic, trigger) = match &wanted.trigger {
            None => (topics::topic(topics::USER_TURN), None),
            Some(PromptTrigger::Said(entry)) => (topics::topic(topics::USER_TURN), Some(said(entry))),
            Some(PromptTrigger::Event(seq)) => {
                let query =
                    EventQuery { through: Some(*seq), limit: 1, ..EventQuery::after(before(*seq), 1) };
                let events = self.log.page(&of.ledger, &query)?.events;
                let event = events.into_iter().find(|event| event.seq == *seq);
                let missing = || EngineError::NotFound {
                    what: Wanted::EventWithText,
                    text: format!("{}/{seq}", of.ledger),
                };
                let event = event.ok_or_else(missing)?;
                (event.topic.clone(), Some(message_of(&event).ok_or_else(missing)?))
            }
        };
        let last = EventSeq::new(known.last);
        let through = wanted.through.map_or(last, |through| last.map(|last| last.min(through)));
        let strategy = match wanted.max_tokens {
            Some(max_tokens) => &Strategy { max_tokens, ..wanted.strategy.clone() },
            None => wanted.strategy,
        };
        let anchors = self.anchors(&known, wanted.profile, through)?;
        let reader = LedgerReader::new(self, &known, of.session.as_ref());
        let request = PromptRequest {
            ledger: Some(&of.ledger),
            mode: wanted.mode,
            through,
            trigger: trigger.as_ref().map(|message| Trigger { topic: &topic, message }),
            iteration: wanted.iteration,
            task: wanted.task,
            previous: wanted.previous,
            ..PromptRequest::new(wanted.profile, strategy, anchors, wanted.counter)
        };
        build(&request, &reader)
    }

    fn anchors(&self, ledger: &Ledger, profile: &Profile, through: Option<EventSeq>) -> Result<Anchors> {
        Ok(Anchors {
            cluster_start: ledger.created_at,
            last_task_end: self.last_task_end(&ledger.id, &profile.id, through)?,
            last_agent_start: self.last_agent_start(&ledger.id, &profile.id, through)?,
        })
    }
}

/// Returns the place before an event.
fn before(seq: EventSeq) -> Option<EventSeq> {
    seq.get().checked_sub(1).and_then(EventSeq::new)
}

/// Returns what a user said as a message that no source has.
fn said(entry: &Entry) -> Message {
    Message {
        id: entry.id.to_string(),
        at: entry.timestamp.unwrap_or(stemmata_model::Timestamp::EPOCH),
        sender: stemmata_model::Party::new("user").expect("a constant name is a name"),
        text: Some(entry_text(entry)),
        data: None,
        calls: Vec::new(),
        answers: Vec::new(),
    }
}
