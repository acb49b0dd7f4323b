//! Calls that are repeated: what a session said is not said once more.
//!
//! A caller that heard of an error, timed out, or died before it heard anything cannot know what was stored, and calls again. The
//! id of its request tells, or the ids of its entries. Both stand with the events as keys, and the log refuses a key that is
//! there: of two calls at the same time one is stored, and the other finds it.

use std::collections::HashMap;

use serde_json::Value;
use stemmata_model::{
    Entry, EntryId, EventSeq, FormatId, Json, LedgerId, NewEvent, NewPayload, Note, NoteCode, Part, Party,
    Payload, SessionId, Timestamp, topics,
};
use stemmata_prompt::tool_output::noticed_artifact;
use stemmata_store::{Appended, EventKey, EventQuery, Keyed, NewKey, Order};

use super::outputs::OutputEvents;
use super::{FORMAT, TurnOf};
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Refusal, Result};

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
    /// Whole outputs, each with the entry that they are of. An output is stored where its entry is.
    outputs: OutputEvents,
    /// The other events.
    pub(super) events: Vec<NewEvent>,
    /// The entry of each event that is one.
    lines: Vec<Option<Line>>,
    digest: EventKey,
}

/// What a call has to store.
pub(super) enum Found {
    /// It is stored, as the call says it.
    Stored(Appended),
    /// These events, by these keys.
    New(News),
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
    of_events: Vec<NewKey>,
    /// Those of the call: they stand for all that is appended with it.
    of_call: Vec<NewKey>,
}

impl Keys {
    /// Returns the keys where so many events stand before the call's own, and so many are appended in all.
    pub(super) fn placed(&self, before: usize, all: usize) -> Vec<NewKey> {
        let of_events = self.of_events.iter().map(|key| NewKey { at: key.at + before, ..*key });
        let of_call = self.of_call.iter().map(|key| NewKey { at: 0, events: all, ..*key });
        of_events.chain(of_call).collect()
    }
}

/// An entry of a call.
struct Line {
    entry: Entry,
    key: EventKey,
    digest: EventKey,
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

    /// Refuses a turn of a session that nobody has begun.
    ///
    /// # Errors
    /// `Refused`, store errors.
    pub fn check_begun(&self, turn: &TurnOf) -> Result<()> {
        if self.opening_of(&turn.ledger, &turn.session, None)?.is_some() {
            return Ok(());
        }
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
        let (lines, digest) = (&call.lines, call.digest);
        let (of_call, warned) = (call.key(now), call.warned_key());
        let names_entries = call.identity.names_entries();
        let entries = lines.iter().flatten().filter(|_| names_entries).map(|line| line.key);
        let asked: Vec<EventKey> =
            of_call.map(|(key, _)| key).into_iter().chain(entries).chain(warned).collect();
        let mut known: HashMap<EventKey, Keyed> = HashMap::new();
        // A call has as many entries as it has events, and the log answers for so many at once.
        for part in asked.chunks(stemmata_store::APPEND_KEYS_MAX) {
            let found = self.log.keyed(&call.turn.ledger, part, now)?;
            known.extend(found.into_iter().map(|keyed| (keyed.key, keyed)));
        }
        if let Some(keyed) = of_call.and_then(|(key, _)| known.get(&key)) {
            if keyed.digest == digest {
                return self.stored_at(call.turn, keyed.first, keyed.last).map(Found::Stored);
            }
            if let Some(id) = call.identity.request() {
                return Err(request_taken(id, keyed.first));
            }
        }
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
        for ((event, line), is_new) in call.events.iter().zip(lines).zip(is_new) {
            if !is_new || (line.is_none() && self.is_said(call.turn, event, after)?) {
                continue;
            }
            news.entries.extend(line.as_ref().map(|line| line.entry.clone()));
            if let Some(line) = line.as_ref().filter(|_| names_entries) {
                let (at, events) = (news.events.len(), 1);
                let key = NewKey { key: line.key, digest: line.digest, at, events, until: None };
                news.keys.of_events.push(key);
            }
            news.events.push(event.clone());
        }
        if let (true, Some((first, last))) = (news.events.is_empty(), repeated.ends()) {
            return self.stored_at(call.turn, first, last).map(Found::Stored);
        }
        if news.events.is_empty() && !call.events.is_empty() {
            // The end of a session that has ended.
            let query = EventQuery::latest(topics::topic(topics::SESSION_ENDED), 1);
            let query = EventQuery { session: Some(call.turn.session.clone()), ..query };
            if let Some(ended) = self.log.events(&call.turn.ledger, &query)?.first() {
                return self.stored_at(call.turn, ended.seq, ended.seq).map(Found::Stored);
            }
        }
        if !news.events.is_empty() {
            let key = |(key, until)| NewKey { key, digest, at: 0, events: 1, until };
            news.keys.of_call.extend(of_call.map(key));
            let opening = call.identity.request().filter(|_| call.is_unnamed);
            let opening = opening.map(|id| opening_key(&call.turn.agent, id));
            news.keys.of_call.extend(opening.zip(of_call.map(|(_, until)| until)).map(key));
        }
        if let Some(warned) = warned.filter(|warned| !known.contains_key(warned)) {
            let message = "a call without `request` and without ids of its entries would be stored twice if it is repeated";
            news.notes.push(Note::new(NoteCode::NotRepeatable, message.to_owned()));
            news.keys.of_call.push(NewKey { key: warned, digest: warned, at: 0, events: 1, until: None });
        }
        Ok(Found::New(news))
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

/// What a session says, and that it has ended.
pub(super) const SAID_TOPICS: [&str; 4] =
    [topics::USER_TURN, topics::ASSISTANT_TURN, topics::TOOL_EVENT, topics::SESSION_ENDED];

impl<'a> Call<'a> {
    /// Makes a call of what it is to store. `about` names the call, and says what else a call that repeats it has to say.
    pub(super) fn new(
        (turn, identity): (&'a TurnOf, &'a SameCall),
        about: &[&str],
        (outputs, events): (OutputEvents, Vec<NewEvent>),
    ) -> Result<Self> {
        let lines = events.iter().map(|event| line_of(turn, event)).collect::<Result<Vec<_>>>()?;
        let digest = digest_of_call(about, (&events, &lines), identity.names_entries());
        Ok(Self { turn, identity, is_unnamed: false, outputs, events, lines, digest })
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

/// Returns the entry of an event that is one.
fn line_of(turn: &TurnOf, event: &NewEvent) -> Result<Option<Line>> {
    let NewPayload::Line(line) = &event.payload else { return Ok(None) };
    if !SAID_TOPICS.contains(&event.topic.as_str()) {
        return Ok(None);
    }
    let Some(entry) = entry_of(line)? else { return Ok(None) };
    let key = EventKey::of(["entry", turn.session.as_str(), entry.id.as_str()]);
    Ok(Some(Line { digest: digest_of(&entry)?, key, entry }))
}

/// Returns the hash of all that two tries of one call have in common. Left out are times, the temporary folder that a notice names,
/// and ids that the caller did not give: these are other ones in each try.
fn digest_of_call(
    about: &[&str],
    (events, lines): (&[NewEvent], &[Option<Line>]),
    names_entries: bool,
) -> EventKey {
    let ids = lines.iter().flatten().map(|line| line.entry.id.as_str()).zip(0_usize..);
    let made_up: HashMap<&str, usize> = ids.filter(|_| !names_entries).collect();
    let mut told: Vec<Vec<u8>> = about.iter().map(|about| about.as_bytes().to_vec()).collect();
    for (event, line) in events.iter().zip(lines) {
        let topic = event.topic.as_str();
        let [name, content] = match (line, &event.payload) {
            (Some(line), _) => {
                let id = if names_entries { line.entry.id.as_str() } else { "" };
                [id.as_bytes().to_vec(), line.digest.as_bytes().to_vec()]
            }
            (None, NewPayload::Plain { text, data }) => {
                let data = data.as_ref().map_or_else(String::new, |data| with_places(topic, data, &made_up));
                [text.clone().unwrap_or_default().into_bytes(), data.into_bytes()]
            }
            // A pin, which says when. That there is one is said of the call.
            (None, NewPayload::Line(_)) => [Vec::new(), Vec::new()],
        };
        told.extend([topic.as_bytes().to_vec(), name, content]);
    }
    EventKey::of(told)
}

/// Returns an event's data. Hints name entries: those whose ids the caller did not give are named by their places.
fn with_places(topic: &str, data: &Json, made_up: &HashMap<&str, usize>) -> String {
    if topic != topics::CONTEXT_HINTS || made_up.is_empty() {
        return data.as_str().to_owned();
    }
    let mut data = data.to_value();
    for hint in data.get_mut("entries").and_then(Value::as_array_mut).into_iter().flatten() {
        let place = hint.get("id").and_then(Value::as_str).and_then(|id| made_up.get(id)).copied();
        if let (Some(place), Some(id)) = (place, hint.get_mut("id")) {
            *id = Value::from(place);
        }
    }
    data.to_string()
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
        if digest.is_some_and(|digest| digest != line.digest) {
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
    let reason = format!("`request` has {} bytes, and an id has 1 to {REQUEST_BYTES_MAX}", id.len());
    Err(EngineError::Refused { what: Refusal::RequestTaken, reasons: vec![reason] })
}

/// Returns the key of a call that began a session without a name.
fn opening_key(agent: &Party, request: &str) -> EventKey {
    EventKey::of(["opening", agent.as_str(), request])
}

/// Returns what an entry says, without its id and the time of the try. A notice of a whole output says what the output does,
/// whatever temporary folder it names.
fn digest_of(entry: &Entry) -> Result<EventKey> {
    let id = EntryId::new("entry").expect("a constant name is a name");
    let parts = entry.parts.iter().map(plain).collect();
    let adapter = Engine::adapter(&FormatId::new(FORMAT)?, FormatUse::Write)?;
    let mut said = Entry { kind: entry.kind.clone(), ..Entry::said(id, entry.role, parts) };
    said.meta.visibility = entry.meta.visibility;
    let bytes = adapter.encode(&[said]);
    Ok(EventKey::of([bytes]))
}

fn plain(part: &Part) -> Part {
    match part {
        Part::Text(text) => {
            Part::Text(noticed_artifact(text).map_or_else(|| text.clone(), |id| id.to_string()))
        }
        Part::ToolResult { call_id, is_error, parts } => {
            let (call_id, parts) = (call_id.clone(), parts.iter().map(plain).collect());
            Part::ToolResult { call_id, is_error: *is_error, parts }
        }
        other => other.clone(),
    }
}

/// Returns the entry of a line.
fn entry_of(line: &Json) -> Result<Option<Entry>> {
    let adapter = Engine::adapter(&FormatId::new(FORMAT)?, FormatUse::Read)?;
    Ok(adapter.decode(format!("{line}\n").as_bytes()).entries.into_iter().next())
}
