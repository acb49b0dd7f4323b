//! Calls that are repeated: what a session said is not said once more.
//!
//! A caller that heard of an error, timed out, or died before it heard anything cannot know what was stored, and calls again. The
//! id of its request tells, or the ids of its entries. Both stand with the events as keys, and the log refuses a key that is
//! there: of two calls at the same time one is stored, and the other finds it.

mod content;
mod held;

use std::collections::HashMap;

use stemmata_model::{
    Entry, EntryId, EventSeq, LedgerId, NewEvent, NewPayload, Note, NoteCode, Party, Payload, SessionId,
    Timestamp, topics,
};
use stemmata_store::{Appended, EventKey, EventQuery, Keyed, NewKey, Order, StoreError};

use self::content::{Hashing, Line};
use super::TurnOf;
use super::guard::said_of;
use super::outputs::OutputEvents;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::prompts::entry_of;

/// Bytes of a request's id at most.
pub const REQUEST_BYTES_MAX: usize = 256;

/// How long the id of a request is known, in microseconds: a day.
pub const REQUEST_KEPT_US: i64 = 24 * 60 * 60 * 1_000_000;

/// Events of one topic behind the first repeated entry among which a repeated event is looked for.
const REPEATED_MAX: usize = 256;

/// What a caller gives so that a call which it repeats is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SameCall {
    /// The ids of its entries, which are its own.
    #[default]
    Entries,
    /// An id of the call, of at most [`REQUEST_BYTES_MAX`] bytes, known for [`REQUEST_KEPT_US`]; `names_entries` says whether the
    /// entries have ids of its own too.
    Request {
        /// The id.
        id: String,
        /// Whether the entries' ids are the caller's.
        names_entries: bool,
    },
    /// Nothing: the entries' ids were made up, and a call that is repeated is another one.
    None,
}

impl SameCall {
    const fn names_entries(&self) -> bool {
        matches!(self, Self::Entries | Self::Request { names_entries: true, .. })
    }

    fn request(&self) -> Option<&str> {
        match self {
            Self::Request { id, .. } => Some(id),
            Self::Entries | Self::None => None,
        }
    }
}

/// One call of a turn, as its events are to be stored.
pub(super) struct Call<'a> {
    pub(super) turn: &'a TurnOf,
    pub(super) identity: &'a SameCall,
    /// Whether the session has its name from this call.
    pub(super) is_unnamed: bool,
    /// What else a call that repeats it has to say.
    about: Vec<String>,
    /// Whole outputs, each with the entry that they are of. An output is stored where its entry is.
    outputs: OutputEvents,
    /// The other events.
    pub(super) events: Vec<NewEvent>,
    /// The entry of each event that is one.
    lines: Vec<Option<Line>>,
    /// Of what the caller gave.
    digest: EventKey,
    /// The store's secret.
    secret: [u8; 32],
}

/// What a call has to store.
pub(super) enum Found {
    /// It is stored, as the call says it.
    Stored(Said),
    /// These events, by these keys.
    New(News),
}

/// Where a call is stored that says nothing new.
pub(super) struct Said {
    pub(super) appended: Appended,
    /// Its last entry that is known by its id.
    pub(super) entry: Option<EventSeq>,
    pub(super) notes: Vec<Note>,
}

/// What is new of a call.
#[derive(Default)]
pub(super) struct News {
    pub(super) events: Vec<NewEvent>,
    pub(super) keys: Keys,
    /// The last entry of the call that is stored already.
    pub(super) said: Option<EventSeq>,
    /// The entries that are not.
    pub(super) entries: Vec<Entry>,
    pub(super) notes: Vec<Note>,
}

/// What the events of a call are to be known by.
#[derive(Default)]
pub(super) struct Keys {
    /// Those of single events, by their place in the call.
    events: Vec<NewKey>,
    /// The call's own, which stands for all that is appended with it; or for its events from one on, which it goes with.
    call: Option<(NewKey, Option<usize>)>,
    /// Those of the session, which stay whatever the call said.
    session: Vec<NewKey>,
}

impl Keys {
    /// Returns the keys where so many events stand before the call's own, and so many are appended in all.
    pub(super) fn placed(&self, before: usize, all: usize) -> Vec<NewKey> {
        let from = |at: usize, key: &NewKey| NewKey { at, events: all - at, ..*key };
        let of_events = self.events.iter().map(|key| NewKey { at: key.at + before, ..*key });
        let of_call = self.call.iter().map(|(key, at)| from(at.map_or(0, |at| at + before), key));
        let of_session = self.session.iter().map(|key| from(0, key));
        of_events.chain(of_call).chain(of_session).collect()
    }
}

impl Engine {
    /// Returns the session that a request began which named none, or `None` where none is known.
    ///
    /// # Errors
    /// `Refused` for an id that is none, store errors.
    pub fn session_of_request(
        &self,
        ledger: &LedgerId,
        agent: &Party,
        request: &str,
    ) -> Result<Option<SessionId>> {
        check_request(request)?;
        let found = self.log.keyed(ledger, &[opening_key(agent, request)], self.clock.now())?;
        let Some(keyed) = found.first() else { return Ok(None) };
        let query = EventQuery {
            through: Some(keyed.last),
            ..EventQuery::after(EventSeq::new(keyed.last.get() - 1), 1)
        };
        Ok(self.log.events(ledger, &query)?.into_iter().next().map(|event| event.session))
    }

    /// Refuses a turn of a session that nobody has begun, or that was forgotten.
    ///
    /// # Errors
    /// `Refused`, store errors.
    pub fn check_begun(&self, turn: &TurnOf) -> Result<()> {
        if self.opening_of(&turn.ledger, &turn.session, None)?.is_some() {
            return Ok(());
        }
        self.refuse_gone(turn)?;
        let reasons = vec![format!("session `{}` has not begun in ledger `{}`", turn.session, turn.ledger)];
        Err(EngineError::Refused { what: Refusal::TurnNotBegun, reasons })
    }

    /// Finds out what of a call is stored already. The answer holds as long as the log takes the keys.
    ///
    /// # Errors
    /// `Refused` for an id that stands for other content: of a request or of an entry.
    pub(super) fn find_call(&self, call: &Call<'_>) -> Result<Found> {
        call.identity.request().map_or(Ok(()), check_request)?;
        let now = self.clock.now();
        let (lines, names_entries) = (&call.lines, call.identity.names_entries());
        let (of_call, warned) = (call.key(now), call.warned_key());
        let mut known = self.keys_there(call, now)?;
        let named = || lines.iter().flatten().filter(|_| names_entries);
        if let Some(keyed) = of_call.and_then(|(key, _)| known.get(&key)) {
            let says_it = call.says(keyed.digest)?;
            if let (false, Some(id)) = (says_it, call.identity.request()) {
                return Err(request_taken(id, keyed.first));
            }
            // A single entry of it may be forgotten.
            if says_it && named().all(|line| known.contains_key(&line.key)) {
                return self.said(call, (keyed.first, keyed.last), &known);
            }
        }
        let missing: Vec<&Line> = named().filter(|line| !known.contains_key(&line.key)).collect();
        let held = self.held(call, &missing)?;
        known.extend(held.into_iter().map(|keyed| (keyed.key, keyed)));
        let (is_new, repeated) = if names_entries {
            sorted_out(lines, &known)?
        } else {
            (vec![true; lines.len()], Repeated::default())
        };
        let mut news = News { said: repeated.last, ..News::default() };
        let gone = |id: &EntryId| {
            let repeated = lines.iter().zip(&is_new).filter(|(_, is_new)| !**is_new);
            repeated.filter_map(|(line, _)| line.as_ref()).any(|line| line.entry.id == *id)
        };
        news.events.extend(call.outputs.iter().filter(|(of, _)| !gone(of)).map(|(_, event)| event.clone()));
        let after = repeated.first.map(|first| first.get().saturating_sub(call.events.len() as u64 + 1));
        let mut speaks = None;
        for ((event, line), is_new) in call.events.iter().zip(lines).zip(is_new) {
            if !is_new || (line.is_none() && self.is_said(call.turn, event, after)?) {
                continue;
            }
            news.entries.extend(line.as_ref().map(|line| line.entry.clone()));
            if let Some(line) = line {
                let (at, events) = (news.events.len(), 1);
                speaks = call.is_begin().then_some(at);
                let key = NewKey { key: line.key, digest: line.digest, at, events, until: None };
                news.keys.events.extend(names_entries.then_some(key));
            }
            news.events.push(event.clone());
        }
        if let (true, Some(ends)) = (news.events.is_empty(), repeated.ends()) {
            return self.said(call, ends, &known);
        }
        if news.events.is_empty() && !call.events.is_empty() {
            // The end of a session that has ended.
            let query = EventQuery::latest(topics::topic(topics::SESSION_ENDED), 1);
            let query = EventQuery { session: Some(call.turn.session.clone()), ..query };
            if let Some(ended) = self.log.events(&call.turn.ledger, &query)?.first() {
                return self.said(call, (ended.seq, ended.seq), &known);
            }
        }
        news.notes.extend(self.left_out(call, &known)?);
        if let (false, Some((key, until))) = (news.events.is_empty(), of_call) {
            let new = |key| NewKey { key, digest: call.digest, at: 0, events: 1, until };
            let is_free = !known.contains_key(&key);
            news.keys.call = is_free.then(|| (new(key), speaks));
            news.keys.session.extend(self.new_opening_key(call)?.map(new));
        }
        if let Some(warned) = warned.filter(|warned| !known.contains_key(warned)) {
            let message = "a call without `request` and without ids of its entries would be stored twice if it is repeated";
            news.notes.push(Note::new(NoteCode::NotRepeatable, message.to_owned()));
            let key = NewKey { key: warned, digest: warned, at: 0, events: 1, until: None };
            news.keys.session.push(key);
        }
        Ok(Found::New(news))
    }

    /// Returns the key by which a call that names no session finds the one that it begins, unless it has begun it already.
    fn new_opening_key(&self, call: &Call<'_>) -> Result<Option<EventKey>> {
        let Some(id) = call.identity.request().filter(|_| call.is_unnamed) else { return Ok(None) };
        let of = self.session_of_request(&call.turn.ledger, &call.turn.agent, id)?;
        Ok((of.as_ref() != Some(&call.turn.session)).then(|| opening_key(&call.turn.agent, id)))
    }

    /// Returns what keys of a call are there.
    fn keys_there(&self, call: &Call<'_>, now: Timestamp) -> Result<HashMap<EventKey, Keyed>> {
        let entries = call.lines.iter().flatten().filter(|_| call.identity.names_entries());
        let of_call = call.key(now).map(|(key, _)| key).into_iter();
        let asked: Vec<EventKey> =
            of_call.chain(entries.map(|line| line.key)).chain(call.warned_key()).collect();
        let mut known = HashMap::new();
        // A call has as many entries as it has events, and the log answers for so many at once.
        for part in asked.chunks(stemmata_store::APPEND_KEYS_MAX) {
            let found = self.log.keyed(&call.turn.ledger, part, now)?;
            known.extend(found.into_iter().map(|keyed| (keyed.key, keyed)));
        }
        Ok(known)
    }

    /// Says that a call is stored, from one event to another.
    fn said(
        &self,
        call: &Call<'_>,
        (first, last): (EventSeq, EventSeq),
        known: &HashMap<EventKey, Keyed>,
    ) -> Result<Found> {
        let lines = call.lines.iter().flatten();
        let entry = lines.filter_map(|line| known.get(&line.key)).map(|keyed| keyed.last).max();
        let notes = self.left_out(call, known)?.into_iter().collect();
        Ok(Found::Stored(Said { appended: self.stored_at(call.turn, first, last)?, entry, notes }))
    }

    /// Says of which entries that are stored already another usage or model was given now: what was stored first stays.
    fn left_out(&self, call: &Call<'_>, known: &HashMap<EventKey, Keyed>) -> Result<Option<Note>> {
        let mut other = Vec::new();
        for line in call.lines.iter().flatten() {
            let meta = &line.entry.meta;
            let Some(keyed) = known.get(&line.key).filter(|_| meta.usage.is_some() || meta.model.is_some())
            else {
                continue;
            };
            let (after, through) = (EventSeq::new(keyed.last.get() - 1), Some(keyed.last));
            let query = EventQuery { through, ..EventQuery::after(after, 1) };
            let event = self.log.events(&call.turn.ledger, &query)?.pop();
            let Some(stored) = event.as_ref().and_then(entry_of).map(|entry| entry.meta) else { continue };
            let is_usage = meta.usage.is_some() && meta.usage != stored.usage;
            if is_usage || meta.model.is_some() && meta.model != stored.model {
                other.push(line.entry.id.to_string());
            }
        }
        let what =
            "entries are stored already, and the other `usage` or `model` that was given now is left out";
        Ok(said_of(&other, NoteCode::Conflict, what))
    }

    /// Says where events stand.
    fn stored_at(&self, turn: &TurnOf, first: EventSeq, last: EventSeq) -> Result<Appended> {
        let query = EventQuery { through: Some(last), ..EventQuery::after(EventSeq::new(last.get() - 1), 1) };
        let found = self.log.events(&turn.ledger, &query)?;
        let last_at = found.first().map_or(self.clock.now(), |event| event.at);
        Ok(Appended { first, last, last_at })
    }

    /// Says whether the session said an event behind a place already: what stands beside entries has no id. Without a place
    /// no entry of the call is repeated, and the event is new unless the session has ended and would end once more.
    fn is_said(&self, turn: &TurnOf, event: &NewEvent, after: Option<u64>) -> Result<bool> {
        let is_end = event.topic.as_str() == topics::SESSION_ENDED;
        let (topics, limit) = match after {
            Some(_) => (vec![event.topic.clone()], REPEATED_MAX),
            // The last thing that the session said.
            None if is_end => (SAID_TOPICS.map(topics::topic).to_vec(), 1),
            None => return Ok(false),
        };
        let query = EventQuery {
            session: Some(event.session.clone()),
            topics,
            order: if after.is_some() { Order::OldestFirst } else { Order::NewestFirst },
            ..EventQuery::after(after.and_then(EventSeq::new), limit)
        };
        let is_same = |known: &stemmata_model::Event| {
            let is_same = match (&known.payload, &event.payload) {
                (Payload::Plain { text, data }, NewPayload::Plain { text: new, data: more }) => {
                    text == new && data == more
                }
                // A pin's line holds the time of the try, so no two are equal: a pin that was not part of the same call is new.
                _ => false,
            };
            is_same && known.topic == event.topic
        };
        Ok(self.log.events(&turn.ledger, &query)?.iter().any(is_same))
    }
}

/// The name of a call that begins a turn.
pub(super) const BEGIN: &str = "begin";

/// What a session says, and that it has ended.
pub(super) const SAID_TOPICS: [&str; 4] =
    [topics::USER_TURN, topics::ASSISTANT_TURN, topics::TOOL_EVENT, topics::SESSION_ENDED];

impl<'a> Call<'a> {
    /// Makes a call of what it is to store, each event as it was `given` and as it is stored. `about` names the call, and says what
    /// else a call that repeats it has to say.
    pub(super) fn new(
        (turn, identity): (&'a TurnOf, &'a SameCall),
        about: &[&str],
        (outputs, events): (OutputEvents, Vec<NewEvent>),
        (given, secret): (&[NewEvent], [u8; 32]),
    ) -> Result<Self> {
        let hashing = Hashing::Keyed(&secret);
        let pairs = given.iter().zip(&events);
        let lines = pairs.map(|pair| Line::of(turn, pair, hashing)).collect::<Result<Vec<_>>>()?;
        let about: Vec<String> = about.iter().map(|about| (*about).to_owned()).collect();
        let told: Vec<_> = given
            .iter()
            .zip(&lines)
            .map(|(event, line)| (event, line.as_ref().map(|line| (&line.entry.id, line.digest))))
            .collect();
        let digest = hashing.of_call(&about, &told, identity.names_entries());
        Ok(Self { turn, identity, is_unnamed: false, about, outputs, events, lines, digest, secret })
    }

    fn is_begin(&self) -> bool {
        self.about.first().is_some_and(|name| name == BEGIN)
    }

    /// Says whether a hash is one of what the call says.
    fn says(&self, digest: EventKey) -> Result<bool> {
        if self.digest == digest {
            return Ok(true);
        }
        let mut told = Vec::with_capacity(self.events.len());
        for (event, line) in self.events.iter().zip(&self.lines) {
            let line = match line {
                Some(line) => Some((&line.entry.id, Hashing::Former.of_entry(&line.entry)?)),
                None => None,
            };
            told.push((event, line));
        }
        Ok(Hashing::Former.of_call(&self.about, &told, self.identity.names_entries()) == digest)
    }

    /// Returns the key by which a repeated call finds this one, and when the key is free again. A call that has neither an id nor
    /// entries has no key.
    fn key(&self, now: Timestamp) -> Option<(EventKey, Option<Timestamp>)> {
        let session = self.turn.session.as_str();
        match self.identity {
            SameCall::Request { id, .. } => {
                let until = Timestamp::from_micros(now.as_micros().saturating_add(REQUEST_KEPT_US));
                Some((EventKey::of(["request", session, id]), Some(until)))
            }
            // The ids are part of the digest. A call with other events beside the same entries is another one.
            SameCall::Entries if self.lines.iter().any(Option::is_some) => {
                Some((EventKey::of(["call".as_bytes(), session.as_bytes(), self.digest.as_bytes()]), None))
            }
            SameCall::Entries | SameCall::None => None,
        }
    }

    /// Returns the key under which is kept that a session was warned: a call like this one is stored twice if it is repeated.
    fn warned_key(&self) -> Option<EventKey> {
        (*self.identity == SameCall::None).then(|| EventKey::of(["warned", self.turn.session.as_str()]))
    }
}

/// Where the entries of a call stand that are stored already.
#[derive(Default)]
struct Repeated {
    first: Option<EventSeq>,
    last: Option<EventSeq>,
}

impl Repeated {
    fn see(&mut self, keyed: &Keyed) {
        self.first = Some(self.first.map_or(keyed.first, |first| first.min(keyed.first)));
        self.last = self.last.max(Some(keyed.last));
    }

    fn ends(&self) -> Option<(EventSeq, EventSeq)> {
        self.first.zip(self.last)
    }
}

/// Returns for each event of a call whether it is new as far as ids tell, and where the entries stand that are not.
fn sorted_out(lines: &[Option<Line>], known: &HashMap<EventKey, Keyed>) -> Result<(Vec<bool>, Repeated)> {
    let (mut is_new, mut repeated) = (Vec::with_capacity(lines.len()), Repeated::default());
    let mut own: HashMap<EventKey, EventKey> = HashMap::new();
    for line in lines {
        let Some(line) = line else {
            is_new.push(true);
            continue;
        };
        let keyed = known.get(&line.key);
        let digest = keyed.map(|keyed| keyed.digest).or_else(|| own.get(&line.key).copied());
        if !digest.map_or(Ok(true), |digest| line.says(digest))? {
            let what = format!("entry `{}` of the session", line.entry.id);
            return Err(taken(&what, keyed.map(|keyed| keyed.first)));
        }
        own.insert(line.key, line.digest);
        if let Some(keyed) = keyed {
            repeated.see(keyed);
        }
        is_new.push(digest.is_none());
    }
    Ok((is_new, repeated))
}

/// Refuses an id that stands for other content: a pin, a prune or a summary could not say which of the two it means.
fn taken(what: &str, place: Option<EventSeq>) -> EngineError {
    let place = place.map_or_else(|| "in the same request".to_owned(), |seq| format!("at event {seq}"));
    let reason = format!("{what} has other content already, {place}; give what is new another id");
    EngineError::Refused { what: Refusal::EntryTaken, reasons: vec![reason] }
}

fn request_taken(id: &str, first: EventSeq) -> EngineError {
    let reason = format!(
        "request `{id}` of the session has other content already, at event {first}; give what is new another `request`"
    );
    EngineError::Refused { what: Refusal::RequestTaken, reasons: vec![reason] }
}

/// Refuses what is no id of a request.
fn check_request(id: &str) -> Result<()> {
    if !id.is_empty() && id.len() <= REQUEST_BYTES_MAX {
        return Ok(());
    }
    let [value, bound] = [id.len(), REQUEST_BYTES_MAX].map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX));
    Err(StoreError::Bound { what: "bytes of `request`, which has at least 1", value, bound }.into())
}

/// Returns the key of a call that began a session without a name.
fn opening_key(agent: &Party, request: &str) -> EventKey {
    EventKey::of(["opening", agent.as_str(), request])
}
