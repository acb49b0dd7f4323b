//! Publishing: what every event passes through on its way into a ledger.
//!
//! Secrets are replaced, sessions opened, waiting readers woken. What events mean is not known here.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use stemmata_model::{
    EventSeq, Json, LedgerId, NewEvent, NewPayload, Note, NoteCode, Party, SessionId, to_u64, topics,
};
use stemmata_redact::Scrubber;
use stemmata_store::{
    Append, Appended, BATCH_EVENTS_MAX, Durability, EventLog, EventQuery, Ledger, StoreError,
};

use super::opening::OPENER;
use super::snapshots::is_trigger;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

/// How often an append that others overtake is tried again.
pub(super) const OVERTAKEN_MAX: u32 = 32;

/// How to publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PublishOptions {
    /// Refuses where this is not the ledger's last number (0: no event yet).
    pub expected: Option<u64>,
    /// When to return.
    pub durability: Durability,
}

/// What was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Where the events are, with those that opened sessions before them.
    pub appended: Appended,
    /// Sessions that were opened, since nobody had opened them.
    pub opened: usize,
    /// Where the state of the cluster was published, since these events changed it.
    pub snapshot: Option<EventSeq>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl Engine {
    /// Appends events to a ledger, all or none, and wakes those that wait for them. Secrets in texts, data and metadata
    /// are replaced first, by the rules of the project where the ledger is one's. A session that nobody has opened in this
    /// ledger is opened in the same append, before its first event; the ledger's own id counts as open. Where the events
    /// change the state of the cluster, a `STATE_SNAPSHOT` follows them.
    ///
    /// # Errors
    /// `Rules`, `Scrub` where the rules for secrets cannot be applied, `Refused` where a secret cannot be replaced, and
    /// what the log refuses. Nothing is appended then.
    pub fn publish(&self, ledger: &LedgerId, events: Vec<NewEvent>) -> Result<Published> {
        self.publish_with(ledger, events, PublishOptions::default())
    }

    /// Publishes as [`Engine::publish`] does, where the ledger has not moved, or with another durability.
    ///
    /// # Errors
    /// As [`Engine::publish`]; `Store` with `SequenceMoved` where the ledger is elsewhere.
    pub fn publish_with(
        &self,
        ledger: &LedgerId,
        events: Vec<NewEvent>,
        options: PublishOptions,
    ) -> Result<Published> {
        let known = self.log.ledger(ledger)?;
        let (events, mut notes) = self.scrubbed_events(known.as_ref(), events)?;
        let (appended, opened) =
            self.append_opened(ledger, known.map_or(0, |known| known.last), &events, options)?;
        let (snapshot, note) = self.follow_up(ledger, &events, options.durability);
        notes.extend(note);
        Ok(Published { appended, opened, snapshot, notes })
    }

    /// Does what follows where events came into a ledger: wakes who waits, and publishes the cluster's state where they change
    /// it.
    pub(super) fn follow_up(
        &self,
        ledger: &LedgerId,
        events: &[NewEvent],
        durability: Durability,
    ) -> (Option<EventSeq>, Option<Note>) {
        self.bus.wake(ledger);
        if events.iter().any(is_trigger) { self.publish_snapshot(ledger, durability) } else { (None, None) }
    }

    /// Returns what replaces secrets in what is stored of a ledger.
    ///
    /// # Errors
    /// As [`Engine::scrubber_at`].
    pub(crate) fn scrubber_in(&self, ledger: Option<&Ledger>) -> Result<Scrubber> {
        self.scrubber_at(ledger.and_then(|ledger| ledger.root.as_deref()).map(Path::new))
    }

    /// Returns the scrubber of a ledger, which may not be there yet.
    ///
    /// # Errors
    /// Store errors, and rules for secrets that cannot be read.
    pub fn scrubber_of_ledger(&self, ledger: &LedgerId) -> Result<Scrubber> {
        self.scrubber_in(self.log.ledger(ledger)?.as_ref())
    }

    /// Replaces the secrets of events that go into a ledger, and says so.
    pub(super) fn scrubbed_events(
        &self,
        ledger: Option<&Ledger>,
        events: Vec<NewEvent>,
    ) -> Result<(Vec<NewEvent>, Vec<Note>)> {
        let scrubber = self.scrubber_in(ledger)?;
        let mut found = 0;
        let events: Result<Vec<NewEvent>> =
            events.into_iter().map(|event| scrub_event(&scrubber, event, &mut found)).collect();
        let note = (found > 0).then(|| {
            let message = format!("secrets were redacted in what was published: {found}");
            Note::new(NoteCode::Redacted, message)
        });
        Ok((events?, note.into_iter().collect()))
    }

    /// Appends events, and before them what opens their sessions. Two who open one session at the same time: the second
    /// looks again.
    fn append_opened(
        &self,
        ledger: &LedgerId,
        mut last: u64,
        events: &[NewEvent],
        options: PublishOptions,
    ) -> Result<(Appended, usize)> {
        let append = |events: Vec<NewEvent>, expected: Option<u64>| {
            let (ledger, now) = (ledger.clone(), self.clock.now());
            self.log.append(Append {
                expected,
                durability: options.durability,
                ..Append::new(ledger, events, now)
            })
        };
        let unopened = unopened(ledger, events);
        for tried in 0.. {
            let closed = closed(self.log.as_ref(), ledger, &unopened)?;
            let mut batch: Vec<NewEvent> = closed.iter().map(|session| opening(session)).collect();
            // Opened twice does no harm, and never getting anywhere would.
            let guard = (!closed.is_empty() && tried < OVERTAKEN_MAX).then_some(last);
            let mut expected = options.expected.or(guard);
            let mut first = None;
            let size = closed.len() + events.len();
            if size > BATCH_EVENTS_MAX && events.len() <= BATCH_EVENTS_MAX && options.expected.is_some() {
                // In two appends the first would stand where the second is refused, and the next try find another number.
                let what = "events at once, with those that open their sessions";
                let [value, bound] = [size, BATCH_EVENTS_MAX].map(to_u64);
                return Err(StoreError::Bound { what, value, bound }.into());
            }
            // A batch that is full without them: they go ahead, and the batch right after them.
            let appended = if closed.len() + events.len() > BATCH_EVENTS_MAX && !closed.is_empty() {
                append(std::mem::take(&mut batch), expected).and_then(|opened| {
                    first = Some(opened.first);
                    expected = Some(opened.last.get());
                    append(events.to_vec(), expected)
                })
            } else {
                batch.extend_from_slice(events);
                append(batch, expected)
            };
            match appended {
                Err(StoreError::SequenceMoved { found, .. }) if options.expected.is_none() => last = found,
                appended => {
                    let appended = appended?;
                    let first = first.unwrap_or(appended.first);
                    return Ok((Appended { first, ..appended }, closed.len()));
                }
            }
        }
        unreachable!("without a guard an append is never overtaken")
    }
}

/// Returns events with what opens their sessions before them, where nobody has.
pub(super) fn with_openings(
    log: &dyn EventLog,
    ledger: &LedgerId,
    events: &[NewEvent],
) -> Result<Vec<NewEvent>> {
    let unopened = unopened(ledger, events);
    let closed = closed(log, ledger, &unopened)?;
    Ok(closed.into_iter().map(opening).chain(events.iter().cloned()).collect())
}

/// Returns the sessions whose first event in a batch does not open them, but for the ledger's own.
fn unopened(ledger: &LedgerId, events: &[NewEvent]) -> Vec<SessionId> {
    let mut seen = BTreeSet::new();
    let first = events.iter().filter(|event| seen.insert(&event.session));
    let first = first.filter(|event| {
        event.topic.as_str() != topics::SESSION_STARTED && event.session.as_str() != ledger.as_str()
    });
    first.map(|event| event.session.clone()).collect()
}

/// Returns those sessions that no event of a ledger has opened. One read each, of one event.
fn closed<'s>(
    log: &dyn EventLog,
    ledger: &LedgerId,
    sessions: &'s [SessionId],
) -> Result<Vec<&'s SessionId>> {
    let mut closed = Vec::new();
    for session in sessions {
        let query = EventQuery {
            session: Some(session.clone()),
            topics: vec![topics::topic(topics::SESSION_STARTED)],
            ..EventQuery::after(None, 1)
        };
        if log.events(ledger, &query)?.is_empty() {
            closed.push(session);
        }
    }
    Ok(closed)
}

fn opening(session: &SessionId) -> NewEvent {
    let sender = Party::new(OPENER).expect("a constant name is a name");
    let payload = NewPayload::Plain { text: None, data: None };
    NewEvent::new(session.clone(), topics::topic(topics::SESSION_STARTED), sender, payload)
}

fn scrub_event(scrubber: &Scrubber, event: NewEvent, found: &mut usize) -> Result<NewEvent> {
    let mut json = |json: Json| scrub_json(scrubber, json, found);
    let metadata = event.metadata.map(&mut json).transpose()?;
    let payload = match event.payload {
        NewPayload::Line(line) => NewPayload::Line(json(line)?),
        NewPayload::Plain { text, data } => {
            let data = data.map(&mut json).transpose()?;
            let text = text.map(|text| scrub_text(scrubber, text, found)).transpose()?;
            NewPayload::Plain { text, data }
        }
    };
    Ok(NewEvent { payload, metadata, ..event })
}

/// Replaces the secrets of a text, and adds how many there were.
pub(crate) fn scrub_text(scrubber: &Scrubber, text: String, found: &mut usize) -> Result<String> {
    let clean = scrubber.scrub_text(&text)?;
    *found += clean.findings.len();
    let clean = match clean.text {
        Cow::Borrowed(_) => None,
        Cow::Owned(clean) => Some(clean),
    };
    Ok(clean.unwrap_or(text))
}

/// Replaces the secrets of a value, and adds how many there were.
pub(crate) fn scrub_json(scrubber: &Scrubber, json: Json, found: &mut usize) -> Result<Json> {
    let clean = scrubber.scrub_line(json.as_str().as_bytes())?;
    *found += clean.findings.len();
    let Cow::Owned(clean) = clean.bytes else { return Ok(json) };
    let clean = std::str::from_utf8(&clean).ok().and_then(|clean| Json::parse(clean).ok());
    clean.ok_or_else(|| EngineError::Refused {
        what: Refusal::Publish,
        reasons: vec!["its data holds a secret that cannot be replaced without breaking it".to_owned()],
    })
}
