//! What the sources of a prompt read: bounded pages of events, what is known, and what search finds.
//!
//! Every read costs what its limit says, whatever the length of the ledger.

mod said;

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use stemmata_model::{
    CommitId, Entry, EntryId, EntryKind, EventSeq, Links, Note, NoteCode, Party, Role, SessionId, Timestamp,
    Topic, topics,
};
use stemmata_prompt::reduce::memory::ProjectMemory;
use stemmata_prompt::reduce::memory::v1::{Evidence, TurnSaid};
use stemmata_prompt::select::{
    ContextReader, Hit, Message, MessagePage, MessageQuery, MessagesOf, ReadOrder, RetrieveQuery,
    SUMMARY_SPEAKER, StateQuery, call_pieces, entry_text,
};
use stemmata_store::{EventQuery, Ledger, Order, PAGE_ROWS_MAX};

pub(crate) use self::said::{entry_of, message_of};
use self::said::{message_of_entry, tied};
use super::PromptOf;
use super::images::images_of;
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::ledger::{ChainEntries, Line, Opening, Reach};
use crate::recall::{Fitting, RetrieveOf, Seen};

/// The topics of what was said in a session.
pub(super) const TURN_TOPICS: [&str; 3] = [topics::USER_TURN, topics::ASSISTANT_TURN, topics::TOOL_EVENT];

/// Characters of a state by which two are compared: more than a memory's bounds let it have.
const COMPARED_CHARS_MAX: usize = 4_000_000;

/// What the ids of a chain's messages begin with: no event's number is of this form.
const CHAIN_ID: &str = "entry:";

/// Pages of events that are read for one question: enough for the most messages, and not for a ledger that forgot more.
const EVENT_PAGES_MAX: usize = 64;

/// Reads for one prompt.
pub(super) struct LedgerReader<'e> {
    engine: &'e Engine,
    ledger: &'e Ledger,
    session: Option<&'e SessionId>,
    /// What opened the session, where that names a context.
    opening: Option<Opening>,
    /// The session's thread and ticket.
    links: Links,
    /// The last visibility line that counts: the guard may have hidden entries behind the event that began the turn.
    shown_through: Option<EventSeq>,
    /// Entries of the session that its model does not see any more, read once.
    hidden: OnceCell<HashSet<EntryId>>,
    /// The event that began the turn, and its session.
    trigger: Option<(EventSeq, SessionId)>,
    /// The place that was asked for; none for what is known now.
    place: Option<EventSeq>,
    /// What is known there, and whether it is what the model was given already; each read once.
    known: OnceCell<KnownState>,
    is_known: OnceCell<bool>,
    /// The commit whose chain holds what was said before the session's own events.
    head: Option<CommitId>,
    /// Whose turns a prompt of no session has, found once.
    newest: OnceCell<Option<(SessionId, Option<CommitId>)>>,
    /// The messages of that chain, oldest first, read once; and whether older ones were left out.
    chain: OnceCell<Vec<ChainMessage>>,
    is_chain_cut: OnceCell<bool>,
    /// The entries of the session's own events that were read, by the numbers of these.
    lines: RefCell<HashMap<String, EntryId>>,
    /// What the retriever found, once for all forms that the prompt is tried in.
    gathered: OnceCell<Fitting>,
    notes: RefCell<Vec<Note>>,
}

/// What is known of a ledger or a line.
#[derive(Default)]
struct KnownState {
    memory: ProjectMemory,
    /// What a cluster's agents published; it counts in the place of the memory.
    published: Option<String>,
}

impl KnownState {
    fn text(&self, chars_max: usize) -> String {
        self.published.clone().unwrap_or_else(|| self.memory.text(chars_max))
    }
}

/// What was said in a chain.
struct ChainMessage {
    topic: &'static str,
    message: Message,
}

impl<'e> LedgerReader<'e> {
    pub(super) fn new(
        engine: &'e Engine,
        ledger: &'e Ledger,
        of: &'e PromptOf,
        place: Option<EventSeq>,
    ) -> Result<Self> {
        let through = through(ledger, place);
        let opening = match &of.session {
            Some(session) => engine.opening_of(&ledger.id, session, through)?,
            None => None,
        };
        let links = opening.as_ref().map(|opening| opening.links.clone()).unwrap_or_default();
        let captured = match &of.session {
            Some(session) if of.tip.is_none() && opening.is_none() => {
                engine.captured_only(ledger, session)?
            }
            Some(_) | None => None,
        };
        let opening = opening.filter(|opening| opening.head.is_some());
        let head = of.tip.or(opening.as_ref().and_then(|opening| opening.head)).or(captured);
        Ok(Self {
            engine,
            ledger,
            session: of.session.as_ref(),
            opening,
            links,
            shown_through: through,
            hidden: OnceCell::new(),
            trigger: None,
            place,
            known: OnceCell::new(),
            is_known: OnceCell::new(),
            head,
            newest: OnceCell::new(),
            chain: OnceCell::new(),
            is_chain_cut: OnceCell::new(),
            lines: RefCell::default(),
            gathered: OnceCell::new(),
            notes: RefCell::new(Vec::new()),
        })
    }

    /// Leaves the event that began the turn out of what is known and found: the prompt has it anyway.
    pub(super) fn without(self, trigger: Option<(EventSeq, SessionId)>) -> Self {
        Self { trigger, ..self }
    }

    /// Has entries left out that were hidden up to the ledger's last event, whatever place is asked for.
    pub(super) fn shown_now(self, is_now: bool) -> Self {
        let last = EventSeq::new(self.ledger.last);
        Self { shown_through: if is_now { last } else { self.shown_through }, ..self }
    }

    /// Returns the last event that may be read.
    pub(super) fn through(&self) -> Option<EventSeq> {
        through(self.ledger, self.place)
    }

    /// Returns the line of the session, where it goes on from a context.
    fn own_line(&self) -> Option<Line<'_>> {
        let (session, opening) = self.session.zip(self.opening.as_ref())?;
        Some(Line { ledger: self.ledger, session, opening })
    }

    /// Returns what was known at an event, or is known now.
    fn known_at(&self, at: Option<EventSeq>) -> Result<KnownState> {
        if let (Some(line), Some(through)) = (self.own_line(), self.through()) {
            let at = at.map_or(through, |at| at.min(through));
            if at < line.opening.seq {
                return Ok(KnownState::default());
            }
            let known = self.engine.line_state(line, at)?;
            self.note(known.notes);
            return Ok(KnownState { memory: self.untold(known.memory), published: None });
        }
        // What is folded of the present is saved; an earlier place is folded again.
        let known = self.engine.own_state_of(&self.ledger.id, at.map(EventSeq::get))?;
        self.note(known.remembered.notes);
        let published = known.published.filter(|_| self.ledger.root.is_none());
        let memory = self.untold(known.remembered.memory);
        Ok(KnownState { memory, published: published.map(|known| known.text) })
    }

    fn untold(&self, mut memory: ProjectMemory) -> ProjectMemory {
        if let Some((seq, session)) = &self.trigger {
            memory.leave_out_event(session, *seq);
        }
        memory
    }

    fn known(&self) -> Result<&KnownState> {
        if let Some(known) = self.known.get() {
            return Ok(known);
        }
        let known = self.known_at(self.place)?;
        Ok(self.known.get_or_init(|| known))
    }

    /// Returns whether what is known was known at an event already, as a whole: a form that leaves things out may be the same.
    fn was_known_at(&self, at: EventSeq) -> Result<bool> {
        if let Some(known) = self.is_known.get() {
            return Ok(*known);
        }
        // The earlier one first: a line is then folded from the one to the other.
        let before = self.known_at(Some(at))?.text(COMPARED_CHARS_MAX);
        let is_known = self.known()?.text(COMPARED_CHARS_MAX) == before;
        Ok(*self.is_known.get_or_init(|| is_known))
    }

    /// Returns what the user should know of what was read.
    pub(super) fn into_notes(self) -> Vec<Note> {
        self.notes.into_inner()
    }

    fn note(&self, notes: Vec<Note>) {
        let mut known = self.notes.borrow_mut();
        for note in notes {
            if !known.contains(&note) {
                known.push(note);
            }
        }
    }

    /// Returns whose turns the prompt may have: the session's, or the newest one's where none is named. Turns of several sessions
    /// would read as one conversation.
    fn speaks(&self, of: &MessagesOf) -> Result<(Option<&SessionId>, Option<CommitId>)> {
        if self.session.is_some() || self.head.is_some() || !matches!(of, MessagesOf::Turns) {
            return Ok((self.session, self.head));
        }
        if self.newest.get().is_none() {
            let found = self.engine.newest_speaker(self.ledger, self.through())?;
            if let Some((session, _)) = &found {
                let message =
                    format!("no session is named: recent turns are those of the newest one, `{session}`");
                self.note(vec![Note::new(NoteCode::Degraded, message)]);
            }
            self.newest.get_or_init(|| found);
        }
        let newest = self.newest.get().and_then(Option::as_ref);
        Ok(newest.map_or((None, None), |(session, head)| (Some(session), *head)))
    }

    /// Reads events of topics, of one session where that is given.
    fn events(
        &self,
        query: &MessageQuery,
        topics: Vec<Topic>,
        session: Option<&SessionId>,
    ) -> Result<MessagePage> {
        let mut asked = Some(EventQuery {
            topics,
            sender: query.sender.clone(),
            session: session.cloned(),
            since: query.since,
            after: query.after,
            through: query.through,
            replayable: Some(true),
            order: match query.order {
                ReadOrder::OldestFirst => Order::OldestFirst,
                ReadOrder::NewestFirst => Order::NewestFirst,
            },
            limit: query.limit.min(PAGE_ROWS_MAX),
            bytes_max: query.bytes_max,
            ..EventQuery::default()
        });
        let hidden = session.map(|session| self.hidden(session)).transpose()?;
        let (mut messages, mut bytes) = (Vec::new(), 0_usize);
        for _ in 0..EVENT_PAGES_MAX {
            let Some(page_asked) = asked else { return Ok(MessagePage { messages, is_stopped: false }) };
            let page = self.engine.log.page(&self.ledger.id, &page_asked)?;
            for event in &page.events {
                let entry = entry_of(event);
                let message = match &entry {
                    Some(entry) if hidden.is_some_and(|hidden| hidden.contains(&entry.id)) => None,
                    Some(entry) => message_of_entry(event, entry),
                    None => message_of(event),
                };
                let Some(message) = message else { continue };
                if let Some(entry) = entry {
                    self.lines.borrow_mut().insert(message.id.clone(), entry.id);
                }
                bytes = bytes.saturating_add(bytes_of(&message));
                messages.push(message);
            }
            asked = page_asked.following(&page);
            let is_stopped = bytes >= query.bytes_max && asked.is_some() && messages.len() < query.limit;
            if messages.len() >= query.limit || is_stopped {
                messages.truncate(query.limit);
                return Ok(MessagePage { messages, is_stopped });
            }
            if let Some(next) = &mut asked {
                // Events that say nothing any more are many where they are some: whole pages get past them.
                next.limit = PAGE_ROWS_MAX;
            }
        }
        Ok(MessagePage { messages, is_stopped: asked.is_some() })
    }

    /// Returns the entries of the session that were pruned or archived and not shown again.
    fn hidden(&self, session: &SessionId) -> Result<&HashSet<EntryId>> {
        if let Some(known) = self.hidden.get() {
            return Ok(known);
        }
        let lines = (self.shown_through, PAGE_ROWS_MAX);
        let hidden = self.engine.hidden_in(&self.ledger.id, session, lines)?;
        let hidden = hidden.into_iter().filter(|(_, is_hidden)| *is_hidden).map(|(id, _)| id).collect();
        Ok(self.hidden.get_or_init(|| hidden))
    }

    /// Returns what was said in the chain below the session's own events.
    fn chain(&self, head: Option<CommitId>) -> Result<&[ChainMessage]> {
        if let Some(known) = self.chain.get() {
            return Ok(known);
        }
        let read = match head {
            Some(head) => self.engine.chain_entries(head, Reach::Window)?,
            None => ChainEntries::default(),
        };
        self.note(read.notes);
        self.is_chain_cut.get_or_init(|| read.is_cut);
        Ok(self.chain.get_or_init(|| read.entries.iter().filter_map(ChainMessage::of).collect()))
    }

    /// Reads the line: what was said in the chain, and then in the session's own events.
    fn line(&self, query: &MessageQuery, topics: Vec<Topic>) -> Result<MessagePage> {
        let (session, head) = self.speaks(&query.of)?;
        // What a continuation goes on from was said before all of it.
        if query.after.is_some() || head.is_none() {
            let has_own = session.is_some() || head.is_none();
            let none = MessagePage { messages: Vec::new(), is_stopped: false };
            return if has_own { self.events(query, topics, session) } else { Ok(none) };
        }
        let is_wanted = |said: &&ChainMessage| {
            topics.iter().any(|topic| topic.as_str() == said.topic)
                && query.sender.as_ref().is_none_or(|sender| *sender == said.message.sender)
                && query.since.is_none_or(|since| said.message.at >= Some(since))
        };
        let chain =
            || Ok::<Vec<&ChainMessage>, EngineError>(self.chain(head)?.iter().filter(is_wanted).collect());
        let own = || match session {
            Some(_) => self.events(query, topics.clone(), session),
            None => Ok(MessagePage { messages: Vec::new(), is_stopped: false }),
        };
        let mut page = match query.order {
            ReadOrder::NewestFirst => {
                let mut page = own()?;
                // A long session says enough by itself; its chain is not read then.
                if page.is_stopped || page.messages.len() >= query.limit {
                    return Ok(page);
                }
                page.messages.extend(chain()?.iter().rev().map(|said| said.message.clone()));
                page
            }
            ReadOrder::OldestFirst => {
                let mut messages: Vec<Message> = chain()?.iter().map(|said| said.message.clone()).collect();
                let mut is_stopped = false;
                if messages.len() < query.limit {
                    let own = own()?;
                    messages.extend(own.messages);
                    is_stopped = own.is_stopped;
                }
                MessagePage { messages, is_stopped }
            }
        };
        let whole = page.messages.len();
        let mut bytes = 0_usize;
        let fits = page.messages.iter().take(query.limit).take_while(|message| {
            let is_first = bytes == 0;
            bytes = bytes.saturating_add(bytes_of(message));
            is_first || bytes <= query.bytes_max
        });
        let fitting = fits.count();
        page.messages.truncate(fitting);
        let is_stopped = fitting < whole.min(query.limit);
        let is_chain_cut = self.is_chain_cut.get().copied().unwrap_or(false);
        let lacks_older = is_chain_cut && fitting < query.limit;
        Ok(MessagePage { is_stopped: page.is_stopped || is_stopped || lacks_older, ..page })
    }
}

/// Returns the last event of a ledger up to a place.
fn through(ledger: &Ledger, place: Option<EventSeq>) -> Option<EventSeq> {
    let last = EventSeq::new(ledger.last);
    place.map_or(last, |place| last.map(|last| last.min(place)))
}

impl ContextReader for LedgerReader<'_> {
    type Error = EngineError;

    fn messages(&self, query: &MessageQuery) -> Result<MessagePage> {
        let topics = match &query.of {
            MessagesOf::Topic(topic) => vec![topic.clone()],
            MessagesOf::Turns => TURN_TOPICS.iter().copied().map(topics::topic).collect(),
        };
        let is_said = topics.iter().any(|topic| TURN_TOPICS.contains(&topic.as_str()));
        if is_said { self.line(query, topics) } else { self.events(query, topics, None) }
    }

    fn state(&self, query: &StateQuery<'_>) -> Result<Option<String>> {
        if let Some(after) = query.after
            && self.was_known_at(after)?
        {
            return Ok(None);
        }
        let known = self.known()?;
        let newest = || self.newest.get()?.as_ref().map(|(session, _)| session);
        let session = self.session.or_else(newest);
        let none = HashSet::new();
        let hidden = session.map_or(Ok(&none), |session| self.hidden(session))?;
        let text = if known.published.is_some() || (query.told.is_empty() && hidden.is_empty()) {
            known.text(query.chars_max)
        } else {
            let mut memory = known.memory.clone();
            let is_hidden = |turn: &TurnSaid| {
                session.is_some_and(|session| session.as_str() == turn.proof.session)
                    && EntryId::new(turn.proof.source.as_str()).is_ok_and(|id| hidden.contains(&id))
            };
            memory
                .window
                .retain(|turn| !is_hidden(turn) && !query.told.iter().any(|told| is_turn(turn, told)));
            memory.text(query.chars_max)
        };
        Ok((!text.is_empty()).then_some(text))
    }

    fn retrieve(&self, query: &RetrieveQuery<'_>) -> Result<Vec<Hit>> {
        let of = RetrieveOf {
            ledger: self.ledger,
            session: self.session,
            links: &self.links,
            line: self.own_line(),
            trigger: self.trigger.as_ref(),
            is_past: self.place.is_some(),
        };
        if self.gathered.get().is_none() {
            let (fitting, notes) = self.engine.fitting(&of, query)?;
            self.note(notes);
            self.gathered.get_or_init(|| fitting);
        }
        let none = HashSet::new();
        let lines = self.lines.borrow();
        let seen = Seen {
            session: self.session,
            hidden: self.session.map_or(Ok(&none), |session| self.hidden(session))?,
            entries: query.told.iter().filter_map(|(id, _)| entry_told(id, &lines)).collect(),
            events: query.told.iter().filter_map(|(id, at)| Some((id.parse().ok()?, (*at)?))).collect(),
            state: query.state,
        };
        Ok(self.gathered.get().map(|fitting| fitting.hits(&seen, query.limit)).unwrap_or_default())
    }
}

/// Returns the entry that a message is: one of the chain, or one that an event says.
fn entry_told<'a>(id: &'a str, lines: &'a HashMap<String, EntryId>) -> Option<&'a str> {
    id.strip_prefix(CHAIN_ID).or_else(|| lines.get(id).map(EntryId::as_str))
}

/// Returns whether a turn of the state is a message that the prompt has: an event, which is known by its number and time, or
/// an entry of the chain.
fn is_turn(turn: &TurnSaid, (id, at): &(String, Option<Timestamp>)) -> bool {
    let Evidence { at: said_at, ordinal, source, .. } = &turn.proof;
    let is_event = *id == ordinal.to_string() && said_at.as_ref().is_some_and(|said| Some(said.0) == *at);
    is_event || id.strip_prefix(CHAIN_ID).is_some_and(|entry| entry == source)
}

impl ChainMessage {
    /// Returns what an entry of a chain says; nothing for one that says nothing to a model.
    fn of(entry: &Entry) -> Option<Self> {
        let text = entry_text(entry);
        if text.is_empty() || !entry.meta.visibility.agent {
            return None;
        }
        let (calls, answers) = tied(entry);
        let (topic, sender) = match entry.role {
            Role::User | Role::System if answers.is_empty() => (topics::USER_TURN, "user"),
            Role::Assistant => (topics::ASSISTANT_TURN, "assistant"),
            Role::User | Role::System | Role::Tool => (topics::TOOL_EVENT, "tool"),
        };
        let sender = if entry.kind == EntryKind::CompactionSummary { SUMMARY_SPEAKER } else { sender };
        Some(Self {
            topic,
            message: Message {
                id: format!("{CHAIN_ID}{}", entry.id),
                at: entry.timestamp,
                sender: Party::new(sender).expect("a constant name is a name"),
                text: Some(text),
                data: None,
                calls,
                pieces: call_pieces(entry),
                answers,
                images: images_of(entry),
            },
        })
    }
}

fn bytes_of(message: &Message) -> usize {
    message.text.as_ref().map_or(0, String::len)
        + message.data.as_ref().map_or(0, |data| data.to_string().len())
}
