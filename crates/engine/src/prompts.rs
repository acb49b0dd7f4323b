//! Prompts: what an agent is told in a turn.
//!
//! What is selected, and how it is put together, is `stemmata_prompt`'s. Here is what it reads: the ledger, the chain that
//! the session goes on from, what is known, and what was found.

mod guidance;
mod images;
mod kept;
mod reader;
mod speakers;
mod v1;

use stemmata_api::v1::PromptTrace;
use stemmata_model::{
    CommitId, Entry, Event, EventSeq, Json, LedgerId, NewEvent, NewPayload, Note, NoteCode, Party, SessionId,
    TokenCounter, Tokens, topics,
};
use stemmata_prompt::assemble::{Mode, PromptRequest, TaskFacts, Trigger, build, metrics};
use stemmata_prompt::profile::Profile;
use stemmata_prompt::select::{Message, entry_text};
use stemmata_prompt::strategy::{Anchors, Strategy};
use stemmata_store::{EventQuery, Ledger};

use self::guidance::MailWanted;
use self::images::images_of;
use self::kept::request_hash;
pub use self::kept::{KEPT_BYTES_MAX, KEPT_SESSIONS_MAX, KEPT_TURNS_MAX, KeptPrompt};
pub(crate) use self::reader::entry_of;
use self::reader::{LedgerReader, message_of};
use crate::engine::Engine;
use crate::error::{EngineError, Result, Wanted};
use crate::ledger::TurnOf;

/// For whom the metrics of prompts are, as in seed 000.
const METRICS_RECEIVER: &str = "system";

/// Where a prompt's messages come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptOf {
    /// The ledger: a project's or a cluster's.
    pub ledger: LedgerId,
    /// The session whose turns the prompt may have: its own events, and the chain that it goes on from up to its head; of one
    /// that was only captured its chain. Without a session and a tip the turns are those of the ledger's newest session, and a
    /// note names it.
    pub session: Option<SessionId>,
    /// A commit whose chain holds the turns, for a session that was captured; it counts in the place of the chain that
    /// `session` goes on from.
    pub tip: Option<CommitId>,
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
#[derive(Clone)]
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
    /// The last event that the prompt may have; the ledger's last one, and all that was captured by now, where absent. With
    /// an event it is of captured sessions what was said up to its time. So the same place gives the same prompt, but for
    /// what search ranks by everything that is stored, and for transcripts from before it that are captured only later.
    pub through: Option<EventSeq>,
    /// Which turn of its task it is.
    pub iteration: Option<u64>,
    /// The previous prompt of the session, for what a provider can reuse of it. [`Engine::begin_turn`] knows it.
    pub previous: Option<&'a str>,
    /// What is being worked on.
    pub facts: &'a TaskFacts,
    /// Whether the agent gets what people told it since its last turn for good: the mailbox moves on.
    /// [`Engine::begin_turn`] always delivers; who only looks does not.
    pub delivers: bool,
    /// Whether the metrics go into the ledger too, as `CONTEXT_METRICS`, which is in no prompt.
    pub logs_metrics: bool,
}

/// A prompt, and how it came to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptMade {
    /// The prompt.
    pub text: String,
    /// Every decision that led to it.
    pub trace: PromptTrace,
    /// What it cost, in the names of seed 000: for a line on standard error.
    pub metrics: Json,
    /// The last event that the prompt could have: where a continuation begins. None in an empty ledger.
    pub delivered: Option<EventSeq>,
    /// What the user should know.
    pub notes: Vec<Note>,
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
            facts: const { &TaskFacts::NONE },
            delivers: false,
            logs_metrics: false,
        }
    }
}

impl Engine {
    /// Makes the prompt of a turn, and says why it is what it is. All of it is from before the ledger's last event of now,
    /// or with it. Changes nothing but what folds save, the mailbox where it delivers, and the ledger where metrics go into
    /// it.
    ///
    /// # Errors
    /// `NotFound` for a ledger, a session or an event that is not there; store errors.
    pub fn assemble(&self, of: &PromptOf, wanted: &PromptWanted<'_>) -> Result<PromptMade> {
        let known = self.log.ledger(&of.ledger)?;
        let known = known
            .ok_or_else(|| EngineError::NotFound { what: Wanted::Ledger, text: of.ledger.to_string() })?;
        let mut began = None;
        let (topic, trigger) = match &wanted.trigger {
            None => (topics::topic(topics::USER_TURN), None),
            Some(PromptTrigger::Said(entry)) => (topics::topic(topics::USER_TURN), Some(said(entry))),
            Some(PromptTrigger::Event(seq)) => {
                let (event, message) = self.trigger_at(&of.ledger, *seq)?;
                began = Some((*seq, event.session));
                (event.topic, Some(message))
            }
        };
        let reader = LedgerReader::new(self, &known, of, wanted.through)?;
        let reader = reader.without(began.clone()).shown_now(wanted.delivers);
        let through = reader.through();
        let strategy = match wanted.max_tokens {
            Some(max_tokens) => &Strategy { max_tokens, ..wanted.strategy.clone() },
            None => wanted.strategy,
        };
        let anchors = self.anchors(&known, wanted.profile, through)?;
        let said = began.as_ref().map(|(seq, _)| *seq);
        // Who delivers relies on the mailbox: what came before `after` and was never delivered is still to be.
        let after = match wanted.mode {
            Mode::Continuation { after, .. } if !wanted.delivers => Some(after),
            Mode::Continuation { .. } | Mode::Full => None,
        };
        let mail = MailWanted { said, after, through };
        let mailbox = self.mailbox(&of.ledger, &wanted.profile.id, mail)?;
        let request = PromptRequest {
            ledger: Some(&of.ledger),
            mode: wanted.mode,
            through,
            trigger: trigger.as_ref().map(|message| Trigger { topic: &topic, message }),
            iteration: wanted.iteration,
            facts: wanted.facts,
            guidance: &mailbox.messages,
            task: wanted.task,
            previous: wanted.previous,
            ..PromptRequest::new(wanted.profile, strategy, anchors, wanted.counter)
        };
        let made = build(&request, &reader)?;
        let mut notes = reader.into_notes();
        let metrics = metrics(&made.trace);
        if wanted.delivers {
            self.deliver(&of.ledger, mailbox)?;
        }
        if wanted.logs_metrics {
            notes.extend(self.log_metrics(&of.ledger, &wanted.profile.id, &metrics));
        }
        Ok(PromptMade { text: made.text, trace: made.trace, metrics, delivered: through, notes })
    }

    /// Makes the prompt of a turn that has begun, and keeps it for `context debug`, for what the next one shares with it, and
    /// for a try that is repeated. What cannot be kept is a note: the prompt is good without.
    pub(crate) fn prompt_of_turn(
        &self,
        turn: &TurnOf,
        wanted: &PromptWanted<'_>,
        said: EventSeq,
    ) -> Result<PromptMade> {
        let of = PromptOf { ledger: turn.ledger.clone(), session: Some(turn.session.clone()), tip: None };
        let mut kept = self.kept_before(&turn.ledger, &turn.session, said)?;
        let previous = kept.previous().map(str::to_owned);
        let wanted = PromptWanted {
            trigger: Some(PromptTrigger::Event(said)),
            through: Some(said),
            previous: wanted.previous.or(previous.as_deref()),
            delivers: true,
            mode: match wanted.mode {
                Mode::Continuation { after, is_profile_changed } => Mode::Continuation {
                    after,
                    is_profile_changed: is_profile_changed || kept.had_other_profile(wanted.profile),
                },
                Mode::Full => Mode::Full,
            },
            ..wanted.clone()
        };
        let request = request_hash(&wanted);
        // What search finds, and what was captured, is more by now than when the turn began: only what was kept is the same.
        if let Some(made) = kept.made(&request) {
            return Ok(made);
        }
        let mut made = self.assemble(&of, &wanted)?;
        match self.keep_prompt((&turn.ledger, &turn.session), kept, (said, &made), (request, wanted.profile))
        {
            Ok(note) => made.notes.extend(note),
            Err(error) => {
                let message = format!("the prompt was not kept: {error}; `context debug` cannot show it");
                made.notes.push(Note::new(NoteCode::Degraded, message));
            }
        }
        Ok(made)
    }

    fn trigger_at(&self, ledger: &LedgerId, seq: EventSeq) -> Result<(Event, Message)> {
        let query = EventQuery { through: Some(seq), ..EventQuery::after(before(seq), 1) };
        let events = self.log.page(ledger, &query)?.events;
        let event = events.into_iter().find(|event| event.seq == seq);
        let missing =
            || EngineError::NotFound { what: Wanted::EventWithText, text: format!("{ledger}/{seq}") };
        let event = event.ok_or_else(missing)?;
        let message = message_of(&event).ok_or_else(missing)?;
        Ok((event, message))
    }

    /// Appends the metrics of a prompt, after it was made. They are in the ledger's own session: no agent said them.
    fn log_metrics(&self, ledger: &LedgerId, agent: &Party, metrics: &Json) -> Vec<Note> {
        let publish = || {
            let session = SessionId::new(ledger.as_str())?;
            let payload = NewPayload::Plain { text: None, data: Some(metrics.clone()) };
            let event =
                NewEvent::new(session, topics::topic(topics::CONTEXT_METRICS), agent.clone(), payload);
            let policy = Json::of(&serde_json::json!({ "replayPolicy": "raw_log_only" }));
            let event = event.with_metadata(policy).to(Party::new(METRICS_RECEIVER)?);
            self.publish(ledger, vec![event])
        };
        match publish() {
            Ok(published) => published.notes,
            Err(error) => {
                let message = format!("the prompt's metrics are not in the ledger: {error}");
                vec![Note::new(NoteCode::Degraded, message)]
            }
        }
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
        at: entry.timestamp,
        sender: Party::new("user").expect("a constant name is a name"),
        text: Some(entry_text(entry)),
        data: None,
        calls: Vec::new(),
        pieces: Vec::new(),
        answers: Vec::new(),
        images: images_of(entry),
    }
}
