//! Turns: one call before the model is called and one after it, so that a harness cannot get the order wrong.
//!
//! `begin_turn` appends what the user said and returns the prompt. `step` stores what came of a turn so far. `end_turn`
//! appends what came of it, folds it, and makes a commit: the events, the commit and the session's place in its timeline are
//! one transaction where the store is the log.

pub(crate) mod again;
mod append;
pub(crate) mod begin;
mod commit;
mod compact;
pub(crate) mod guard;
mod outputs;
mod results;
pub(crate) mod step;

use stemmata_api::v1::Checkpointed;
use stemmata_model::{
    Entry, EventSeq, FormatId, Granularity, Json, LedgerId, Links, NewEvent, NewPayload, Note, NoteCode,
    Party, Role, SessionId, Template, ThreadId, TicketId, topics,
};
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_prompt::window::silent_overflow;
use stemmata_store::{Appended, Durability};

use self::again::{Call, SameCall};
use self::append::Brings;
use self::commit::{Boundary, Stored};
use self::guard::{Acted, EntryHint, Guarding, TurnGuard, WindowReport, hints_event};
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

/// The format of a turn's lines.
const FORMAT: &str = "stemmata-v1";

/// Whose turns they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnOf {
    /// The ledger: a project's ([`Engine::project_at`]) or a cluster's.
    pub ledger: LedgerId,
    /// The session.
    pub session: SessionId,
    /// The agent: the sender of what it says and does.
    pub agent: Party,
    /// The kind of agent.
    pub template: Template,
    /// The ticket being worked on.
    pub ticket: Option<TicketId>,
    /// The discussion thread.
    pub thread: Option<ThreadId>,
    /// Where closed commits end.
    pub granularity: Granularity,
}

impl TurnOf {
    /// Names a session of an agent in a ledger, without ticket and thread, with a commit for each turn.
    pub const fn new(ledger: LedgerId, session: SessionId, agent: Party, template: Template) -> Self {
        let granularity = Granularity::Turn;
        Self { ledger, session, agent, template, ticket: None, thread: None, granularity }
    }

    /// Returns the thread and the ticket, which its events, its opening and its sightings carry.
    pub fn links(&self) -> Links {
        Links { thread: self.thread.clone(), ticket: self.ticket.clone() }
    }
}

/// What came of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnMade {
    /// What the model said and called, and what its tools returned, in order.
    pub entries: Vec<Entry>,
    /// What else is to be known of the turn: statuses, errors, decisions.
    pub events: Vec<NewEvent>,
    /// What the caller knows of its entries, for the guard.
    pub hints: Vec<EntryHint>,
    /// Whether the session ends with it.
    pub ends: bool,
    /// How a call that is repeated is known.
    pub identity: SameCall,
}

/// A turn that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnded {
    /// The events of the turn, or `None` if it had none.
    pub appended: Option<Appended>,
    /// The commit of everything that the session said since its last closed commit, or `None` if it said nothing. With the
    /// granularity `every:N` the commit is provisional until it has N turns.
    pub checkpoint: Option<Checkpointed>,
    /// The event of the cluster's state, where that has changed.
    pub snapshot: Option<EventSeq>,
    /// Whether the folded state was saved.
    pub saved: bool,
    /// How full the window is and what was done about it, where a guard was given.
    pub window: Option<WindowReport>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What was stored of a turn: its events, its commit, the cluster's state, what the guard did, and what the user should know.
struct Taken {
    appended: Option<Appended>,
    checkpoint: Option<Checkpointed>,
    snapshot: Option<EventSeq>,
    acted: Option<Acted>,
    /// Whether it was stored by an earlier try, and the session has said more since.
    is_late: bool,
    notes: Vec<Note>,
}

impl Engine {
    /// Ends a turn: appends what came of it and makes a commit of all that the session has said since its last one. A call
    /// that is repeated ([`SameCall`]), at once or later, appends only what is not there yet: events, and the session's end.
    /// After that it folds the events, saves the state where that is due, and tells the cluster's agents where its state
    /// has changed; an error of these leaves events and commit as they are, and is said in a note.
    ///
    /// # Errors
    /// As [`Engine::publish`] and [`Engine::checkpoint`]; `Refused` for an id, of an entry or a request, that stands for other
    /// content, and where the session was forgotten meanwhile. Nothing is stored then. Where the log is not the store, events that
    /// are stored without their commit are no error but a note: the next turn's commit holds them.
    pub fn end_turn(&self, turn: &TurnOf, made: TurnMade) -> Result<TurnEnded> {
        self.end_guarded_turn(turn, made, None)
    }

    /// Ends a turn as [`Engine::end_turn`] does. A guard measures the window in the same transaction, and compacts the session
    /// after it where that is due.
    ///
    /// # Errors
    /// As [`Engine::end_turn`], and `Refused` for a window of more than can be judged. A compaction that fails is a note.
    pub fn end_guarded_turn(
        &self,
        turn: &TurnOf,
        made: TurnMade,
        guard: Option<&TurnGuard<'_>>,
    ) -> Result<TurnEnded> {
        let ended = self.ended(turn, made, guard);
        self.unless_gone(turn, ended)
    }

    fn ended(&self, turn: &TurnOf, made: TurnMade, guard: Option<&TurnGuard<'_>>) -> Result<TurnEnded> {
        let ends = made.ends;
        let boundary = Boundary::TurnEnd { ends_session: ends };
        let Taken { appended, checkpoint, snapshot, acted, is_late, mut notes } =
            self.take(turn, made, (boundary, guard))?;
        let is_checkpointed = checkpoint.is_some();
        let saved = self.save_if_due(turn, ends || is_checkpointed).unwrap_or_else(|error| {
            let message = format!("the turn is stored, but its events were not folded: {error}");
            notes.push(Note::new(NoteCode::Degraded, message));
            false
        });
        let window = match acted.zip(guard) {
            Some((mut acted, guard)) => {
                if !ends && !is_late {
                    self.compact_if_due(turn, guard, &mut acted);
                }
                Some(self.with_entries(turn, guard, acted.report)?)
            }
            None => None,
        };
        Ok(TurnEnded { appended, checkpoint, snapshot, saved, window, notes })
    }

    /// Stores what came of a turn, up to a boundary.
    fn take(
        &self,
        turn: &TurnOf,
        made: TurnMade,
        (boundary, guard): (Boundary, Option<&TurnGuard<'_>>),
    ) -> Result<Taken> {
        let known = self.log.ledger(&turn.ledger)?;
        // As the caller gave it: what rules and limits make of it may be another thing when the call is repeated.
        let given = self.events_made(turn, &made)?;
        let (made, outputs, mut notes) = self.within_output_limits(turn, known.as_ref(), made)?;
        let overflow = guard.and_then(|guard| silent(&made.entries, guard));
        let events = self.events_made(turn, &made)?;
        let links = &turn.links();
        let with_links = |events: Vec<NewEvent>| events.into_iter().map(move |event| event.with_links(links));
        let (said, redacted) = self.scrubbed_events(known.as_ref(), with_links(events).collect())?;
        notes.extend(redacted);
        let outputs = outputs.into_iter().map(|(entry, event)| (entry, event.with_links(links))).collect();
        let about = if boundary == Boundary::Step { "step" } else { "end" };
        let given = (given.as_slice(), self.store.identity()?.secret);
        let call = Call::new((turn, &made.identity), &[about], (outputs, said), given)?;
        let guarding = guard.map(Guarding::new);
        let stored = self.append_and_commit(turn, &Brings::Call(&call), (boundary, guarding.as_ref()))?;
        notes.extend(stored.notes.iter().cloned());
        if let Some(appended) = stored.appended.filter(|_| !stored.is_repeated) {
            // It is stored: what cannot be said now is said where the window is asked for.
            notes.extend(self.unanswering(turn, &stored.said, appended.first.get() - 1).ok().flatten());
        }
        notes.extend(stored.checkpoint.iter().flat_map(|made| made.notes.clone()));
        let (snapshot, note) = self.follow_up(&turn.ledger, &call.events, Durability::default());
        notes.extend(note);
        let Stored { appended, checkpoint, mut acted, is_late, .. } = stored;
        // A report that cannot be true shows nothing.
        if let (Some(why), Some(acted)) = (overflow, acted.as_mut().filter(|acted| !acted.left_aside)) {
            acted.see_overflow(why);
        }
        Ok(Taken { appended, checkpoint, snapshot, acted, is_late, notes })
    }

    /// Folds what came, and saves the state at a checkpoint, a session's end, and where so much is new that it is due. Says
    /// whether it was saved.
    fn save_if_due(&self, turn: &TurnOf, always: bool) -> Result<bool> {
        let folded = self.fold::<MemoryReducer>(&turn.ledger, None)?;
        self.save_folded(&turn.ledger, &folded, always)
    }

    /// Returns the events of what came of a turn, its outputs aside.
    fn events_made(&self, turn: &TurnOf, made: &TurnMade) -> Result<Vec<NewEvent>> {
        let mut events = self.events_of(turn, &made.entries)?;
        events.extend(made.events.iter().cloned());
        events.extend(hints_event(turn, &made.hints));
        if made.ends {
            let payload = NewPayload::Plain { text: None, data: None };
            let topic = topics::topic(topics::SESSION_ENDED);
            events.push(NewEvent::new(turn.session.clone(), topic, turn.agent.clone(), payload));
        }
        Ok(events)
    }

    /// Returns entries as events: the line of each, under the topic of who speaks.
    fn events_of(&self, turn: &TurnOf, entries: &[Entry]) -> Result<Vec<NewEvent>> {
        let format = FormatId::new(FORMAT)?;
        let adapter = Self::adapter(&format, FormatUse::Write)?;
        let mut events = Vec::with_capacity(entries.len());
        for entry in entries {
            let stamped = Entry {
                timestamp: Some(entry.timestamp.unwrap_or_else(|| self.clock.now())),
                ..entry.clone()
            };
            let bytes = adapter.encode(std::slice::from_ref(&stamped));
            let text = String::from_utf8_lossy(&bytes);
            let line = Json::parse(text.trim_end()).expect("an encoded entry is a line of JSON");
            let (name, sender) = match entry.role {
                Role::User | Role::System => (topics::USER_TURN, Party::new("user")?),
                Role::Assistant => (topics::ASSISTANT_TURN, turn.agent.clone()),
                Role::Tool => (topics::TOOL_EVENT, turn.agent.clone()),
            };
            let payload = NewPayload::Line(line);
            events.push(NewEvent::new(turn.session.clone(), topics::topic(name), sender, payload));
        }
        Ok(events)
    }
}

/// Returns why the last answer shows an overflow that no error said.
fn silent(entries: &[Entry], guard: &TurnGuard<'_>) -> Option<&'static str> {
    let answer = entries.iter().rev().find(|entry| entry.role == Role::Assistant)?;
    let (usage, stop) = (answer.meta.usage?, answer.meta.stop_reason.as_deref());
    silent_overflow(usage, stop, guard.config.window().limit())
}
