//! Turns: one call before the model is called and one after it, so that a harness cannot get the order wrong.
//!
//! `begin_turn` appends what the user said. `end_turn` appends what came of it, folds it, and makes a commit: the events,
//! the commit and the session's place in its timeline are one transaction where the store is the log.

use stemmata_model::{
    ArtifactId, Commit, CommitType, Entry, Event, EventSeq, FormatId, Json, LedgerId, NewEvent, NewPayload,
    Note, NoteCode, Party, Payload, Role, SessionId, Template, ThreadId, TicketId, Timestamp, Topic, Trigger,
    artifact_id, topics,
};
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_store::{
    Append, Appended, ContentPart, Coverage, Durability, EventQuery, Ledger, LedgerChange, NewContent,
    PAGE_ROWS_MAX, SessionKey, StoreError, Write,
};

use super::publish::{OVERTAKEN_MAX, with_openings};
use super::snapshots::is_trigger;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};
use crate::verbs::checkpoint::{CheckpointContent, CheckpointRequest, Checkpointed, Held, Spot};

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
}

impl TurnOf {
    /// Names a session of an agent in a ledger, without ticket and thread.
    pub const fn new(ledger: LedgerId, session: SessionId, agent: Party, template: Template) -> Self {
        Self { ledger, session, agent, template, ticket: None, thread: None }
    }
}

/// A turn that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnBegun {
    /// The event of what the user said.
    pub said: EventSeq,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// What came of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TurnMade {
    /// What the model said and called, and what its tools returned, in order.
    pub entries: Vec<Entry>,
    /// What else is to be known of the turn: statuses, errors, decisions.
    pub events: Vec<NewEvent>,
    /// Whether the session ends with it.
    pub ends: bool,
}

/// A turn that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnded {
    /// Its events; none where there were none.
    pub appended: Option<Appended>,
    /// The commit of all that the session has said since its last one; none where it has said nothing.
    pub checkpoint: Option<Checkpointed>,
    /// The event of the cluster's state, where that has changed.
    pub snapshot: Option<EventSeq>,
    /// Whether the folded state was saved.
    pub saved: bool,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl Engine {
    /// Begins a turn: appends what the user said, with the session's opening before it where it has none.
    ///
    /// # Errors
    /// As [`Engine::publish`].
    pub fn begin_turn(&self, turn: &TurnOf, said: &Entry) -> Result<TurnBegun> {
        let events = self.events_of(turn, std::slice::from_ref(said))?;
        let published = self.publish(&turn.ledger, events)?;
        Ok(TurnBegun { said: published.appended.last, notes: published.notes })
    }

    /// Ends a turn: appends what came of it and makes a commit of all that the session has said since its last one.
    /// After that it folds the events, saves the state where that is due, and tells the cluster's agents where its state
    /// has changed; an error of these leaves events and commit as they are, and is said in a note.
    ///
    /// # Errors
    /// As [`Engine::publish`] and [`Engine::checkpoint`]. Nothing is stored then. Where the log is not the store, events that
    /// are stored without their commit are no error but a note: the next turn's commit holds them.
    pub fn end_turn(&self, turn: &TurnOf, made: TurnMade) -> Result<TurnEnded> {
        let mut events = self.events_of(turn, &made.entries)?;
        events.extend(made.events);
        if made.ends {
            let payload = NewPayload::Plain { text: None, data: None };
            let topic = topics::topic(topics::SESSION_ENDED);
            events.push(NewEvent::new(turn.session.clone(), topic, turn.agent.clone(), payload));
        }
        let known = self.log.ledger(&turn.ledger)?;
        let (events, mut notes) = self.scrubbed_events(known.as_ref(), events)?;
        let (appended, checkpoint, waits) = self.append_and_commit(turn, &events, made.ends)?;
        notes.extend(waits);
        self.bus.wake(&turn.ledger);
        notes.extend(checkpoint.iter().flat_map(|made| made.notes.clone()));
        let (snapshot, note) = if events.iter().any(is_trigger) {
            self.publish_snapshot(&turn.ledger, Durability::default())
        } else {
            (None, None)
        };
        notes.extend(note);
        let is_checkpointed = checkpoint.is_some();
        let saved = self.save_if_due(turn, made.ends || is_checkpointed).unwrap_or_else(|error| {
            let message = format!("the turn is stored, but its events were not folded: {error}");
            notes.push(Note::new(NoteCode::Degraded, message));
            false
        });
        Ok(TurnEnded { appended, checkpoint, snapshot, saved, notes })
    }

    /// Folds what came, and saves the state at a checkpoint, a session's end, and where so much is new that it is due. Says
    /// whether it was saved.
    fn save_if_due(&self, turn: &TurnOf, always: bool) -> Result<bool> {
        let folded = self.fold::<MemoryReducer>(&turn.ledger, None)?;
        self.save_folded(&turn.ledger, &folded, always)
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

    /// Appends events and makes the commit that covers them, in one transaction where the store is the log.
    fn append_and_commit(&self, turn: &TurnOf, events: &[NewEvent], ends: bool) -> Result<Stored> {
        let append = |expected| -> Result<Append> {
            Ok(Append {
                ledger: turn.ledger.clone(),
                events: with_openings(self.log.as_ref(), &turn.ledger, events)?,
                expected,
                now: self.clock.now(),
                durability: Durability::default(),
            })
        };
        let tries = if self.is_log_the_store && !events.is_empty() { OVERTAKEN_MAX } else { 0 };
        for _ in 0..tries {
            let known = self.log.ledger(&turn.ledger)?;
            let own = append(Some(known.as_ref().map_or(0, |known| known.last)))?;
            match self.commit_lines(turn, (Some(own), known), ends) {
                Err(EngineError::Store(StoreError::SequenceMoved { .. })) => {}
                done => return done.map(|(appended, made)| (appended, made, None)),
            }
        }
        // The log is not the store, or others append without end: the events first, and then a commit that covers them.
        let appended = if events.is_empty() { None } else { Some(self.log.append(append(None)?)?) };
        let known = self.log.ledger(&turn.ledger).map_err(Into::into);
        let committed = known.and_then(|known| self.commit_lines(turn, (None, known), ends));
        match (appended, committed) {
            // The events are there: a caller that heard of an error would append them once more.
            (Some(appended), Err(error)) => {
                let message =
                    format!("the turn's events are stored, its commit waits for the next turn: {error}");
                Ok((Some(appended), None, Some(Note::new(NoteCode::Degraded, message))))
            }
            (appended, committed) => Ok((appended, committed?.1, None)),
        }
    }

    /// Makes a commit of the session's lines after the last one that a commit covers, up to the ledger's last one and with
    /// what is to be appended.
    fn commit_lines(
        &self,
        turn: &TurnOf,
        (append, ledger): (Option<Append>, Option<Ledger>),
        ends: bool,
    ) -> Result<(Option<Appended>, Option<Checkpointed>)> {
        let (last, cwd) = ledger.map_or((0, None), |known| (known.last, known.root));
        let machine = self.identity.machine.clone();
        let key = SessionKey { machine, path: format!("api:{}", turn.session) };
        let known = self.store.session(&key)?;
        let parent = match known.as_ref().and_then(|session| session.tip) {
            Some(tip) => self.store.commit(tip)?,
            None => None,
        };
        let covered = match &parent {
            Some(parent) => self.covered_by(parent, &turn.ledger, last)?,
            None => None,
        };
        let mut lines = self.lines_after(turn, covered, last)?;
        let new = append.iter().flat_map(|append| &append.events);
        let own = new.filter(|event| event.session == turn.session);
        lines.extend(own.filter_map(|event| Line::told(&event.topic, new_line(event)?)));
        let count = append.as_ref().map_or(0, |append| append.events.len());
        let through = last + u64::try_from(count).expect("a length fits 64 bits");
        let (Some(through), false) = (EventSeq::new(through), lines.is_empty()) else {
            let appended = append.map(|append| self.log.append(append)).transpose()?;
            return Ok((appended, None));
        };
        let held = held(&lines, append.map(|append| Write::Append(Box::new(append))), self.is_log_the_store);
        let scrubber = self.scrubber_at(cwd.as_deref().map(std::path::Path::new))?;
        let request = request(turn, parent.as_ref(), (&held, ends), self.clock.now());
        let ledger = turn.ledger.clone();
        let elsewhere = (!self.is_log_the_store).then(|| {
            let change = LedgerChange::new(ledger.clone(), self.clock.now());
            Write::ChangeLedger(Box::new(change))
        });
        let spot = Spot { parent: parent.as_ref(), key: &key, cwd, scrubber: &scrubber };
        let (made, done) = self.commit_held(&request, held, spot, |commit, batch| {
            // A ledger that is kept elsewhere is known to the store by name only.
            batch.extend(elsewhere);
            batch.push(Write::Covers(Coverage { commit, ledger, through }));
        })?;
        Ok((done.appended, Some(made)))
    }

    /// Returns how far the chain of a commit covers a ledger: its newest commits may be of something else.
    fn covered_by(&self, tip: &Commit, ledger: &LedgerId, last: u64) -> Result<Option<EventSeq>> {
        let mut walk = Walk::new(self.store.as_ref(), tip.core.parent);
        let mut next = Some(tip.id);
        while let Some(commit) = next {
            let coverage = self.store.coverage(commit)?;
            // Beyond the ledger's end it is of a log that was kept elsewhere.
            let own = coverage.filter(|known| known.ledger == *ledger && known.through.get() <= last);
            if let Some(own) = own {
                return Ok(Some(own.through));
            }
            next = walk.next()?.map(|commit| commit.id);
        }
        Ok(None)
    }

    /// Returns the lines of a session's events after one and up to another, in order.
    fn lines_after(&self, turn: &TurnOf, after: Option<EventSeq>, through: u64) -> Result<Vec<Line>> {
        let mut lines = Vec::new();
        let mut query = EventSeq::new(through).map(|through| EventQuery {
            session: Some(turn.session.clone()),
            through: Some(through),
            ..EventQuery::after(after, PAGE_ROWS_MAX)
        });
        while let Some(asked) = query {
            let page = self.log.page(&turn.ledger, &asked)?;
            lines.extend(page.events.iter().filter_map(|event| Line::told(&event.topic, line(event)?)));
            query = asked.following(&page);
        }
        Ok(lines)
    }
}

/// What was stored of a turn: its events, its commit, and why there is none.
type Stored = (Option<Appended>, Option<Checkpointed>, Option<Note>);

/// A line that a commit is to hold.
struct Line {
    id: ArtifactId,
    bytes: Vec<u8>,
}

impl Line {
    fn of(line: &Json) -> Self {
        let bytes = format!("{line}\n").into_bytes();
        Self { id: artifact_id(&bytes), bytes }
    }

    /// Returns what an event's line adds to a commit. Raw output is in none.
    fn told(topic: &Topic, line: &Json) -> Option<Self> {
        (topic.as_str() != topics::AGENT_OUTPUT).then(|| Self::of(line))
    }
}

/// Returns the line that an event has.
const fn line(event: &Event) -> Option<&Json> {
    match &event.payload {
        Payload::Line { line, .. } => Some(line),
        Payload::Plain { .. } | Payload::Gone(_) => None,
    }
}

/// Returns the line that an event will have.
const fn new_line(event: &NewEvent) -> Option<&Json> {
    match &event.payload {
        NewPayload::Line(line) => Some(line),
        NewPayload::Plain { .. } => None,
    }
}

/// Returns what a commit of lines holds: ranges of the lines' own contents, so that nothing is stored twice. Where the
/// store has no such contents, because the log is elsewhere, they are stored first.
fn held(lines: &[Line], append: Option<Write>, are_stored: bool) -> Held {
    let bytes: Vec<u8> = lines.iter().flat_map(|line| line.bytes.iter().copied()).collect();
    let artifact = artifact_id(&bytes);
    let mut contents: Vec<Write> = append.into_iter().collect();
    if !are_stored {
        contents.extend(lines.iter().map(|line| Write::Content(NewContent::literal(line.bytes.clone()))));
    }
    if lines.len() > 1 {
        let slice = |line: &Line| ContentPart::Slice {
            of: line.id,
            offset: 0,
            length: u64::try_from(line.bytes.len()).expect("a length fits 64 bits"),
        };
        contents.push(Write::Content(NewContent::composed(artifact, lines.iter().map(slice).collect())));
    }
    Held { artifact, contents, bytes }
}

fn request(
    turn: &TurnOf,
    parent: Option<&Commit>,
    (held, ends): (&Held, bool),
    now: Timestamp,
) -> CheckpointRequest {
    CheckpointRequest {
        parent: parent.map(|parent| parent.id),
        commit_type: CommitType::Delta,
        content: CheckpointContent::Stored(held.artifact),
        format: FormatId::new(FORMAT).expect("a constant name is a name"),
        template: turn.template.clone(),
        principal: None,
        machine: None,
        session: turn.session.clone(),
        trigger: if ends { Trigger::SessionEnd } else { Trigger::TurnBoundary },
        ticket: turn.ticket.clone(),
        thread: turn.thread.clone(),
        summary: None,
        messages: None,
        tokens: None,
        created_at: Some(now),
        idempotency_key: None,
    }
}
