//! What turns said of their work: the phase, the current task, and the completed ones.
//!
//! The guard remembers where they said it and reads it there again, so that forgetting the event is enough. Checkpoint files hold the same,
//! as it was at their commit.

use serde_json::{Value, json};
use stemmata_model::{EventSeq, LedgerId, Payload, SessionId, topics};
use stemmata_store::{EventQuery, Order, PAGE_ROWS_MAX};

use crate::engine::Engine;
use crate::error::Result;

/// Status events among which the newest that says something is looked for, where its place is not known exactly: more than any
/// call appends.
const STATUS_EVENTS_MAX: usize = 64;

/// Events of the guard's memory among which the newest is looked for that was not forgotten.
const REMEMBERED_MAX: usize = 16;

/// What a status event says, each for itself.
const KEYS: [&str; 3] = ["phase", "current", "completed"];

/// The places between which the event stands that said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SaidAt {
    from: u64,
    /// None for an event that is about to be appended: it stands before what remembers it.
    through: Option<u64>,
}

impl SaidAt {
    /// The place of an event that is stored.
    pub(super) const fn stored(seq: EventSeq) -> Self {
        Self { from: seq.get(), through: Some(seq.get()) }
    }

    /// The place of an event that is appended behind the ledger's last one.
    pub(super) const fn behind(last: u64) -> Self {
        Self { from: last + 1, through: None }
    }

    fn read(value: &Value) -> Option<Self> {
        Some(Self { from: value.get(0)?.as_u64()?, through: value.get(1)?.as_u64() })
    }
}

/// What was said of the work, as far as it is still there.
#[derive(Default)]
pub(crate) struct Status {
    pub(crate) phase: Option<String>,
    pub(super) is_phase_changed: bool,
    /// The current task, as the turn named it.
    pub(crate) task: Value,
    /// The tasks that were named as completed last. None where nobody knows any more.
    completed: Option<Vec<String>>,
    pub(crate) tasks_completed: u64,
    /// Where each of [`KEYS`] was said last.
    places: [Option<SaidAt>; KEYS.len()],
}

impl Status {
    /// Takes in what a status event says.
    pub(super) fn see(&mut self, data: &Value, at: SaidAt) {
        if let Some(phase) = data.get("phase").and_then(Value::as_str) {
            // The first phase that anybody names is no change.
            self.is_phase_changed |= self.phase.as_deref().is_some_and(|known| known != phase);
        }
        if let Some(completed) = completed_in(data) {
            // A turn names 64 at most, those that it completed or all of the last ones: what it did not name before is new.
            let named = u64::try_from(completed.len()).unwrap_or(u64::MAX);
            let new = self.completed.as_ref().map_or(0, |known| {
                let new = completed.iter().filter(|id| !known.contains(id)).count();
                u64::try_from(new).unwrap_or(u64::MAX)
            });
            self.tasks_completed = self.tasks_completed.saturating_add(new).max(named);
        }
        for (key, place) in KEYS.iter().zip(&mut self.places) {
            if says(data, key) {
                *place = Some(at);
            }
        }
        KEYS.iter().filter(|key| says(data, key)).for_each(|key| self.take(key, data));
    }

    /// Returns whether the current task is one of those that were named as completed last.
    pub(crate) fn is_task_completed(&self) -> bool {
        let id = self.task.get("id").and_then(Value::as_str);
        id.is_some_and(|id| self.completed.iter().flatten().any(|completed| completed == id))
    }

    /// Takes over what an event says of one of [`KEYS`].
    fn take(&mut self, key: &str, data: &Value) {
        match key {
            "phase" => self.phase = data.get(key).and_then(Value::as_str).map(str::to_owned),
            "current" => self.task = data.get(key).cloned().unwrap_or_default(),
            _ => self.completed = completed_in(data),
        }
    }

    /// Returns the places of what was said, as data of an event: no word of it.
    pub(super) fn to_data(&self) -> Value {
        let places = self.places.map(|place| place.map(|SaidAt { from, through }| json!([from, through])));
        json!(places)
    }

    /// Reads what `to_data` wrote.
    pub(super) fn read(&mut self, data: Option<&Value>) {
        let mut places = data.and_then(Value::as_array).into_iter().flatten().map(SaidAt::read);
        self.places = self.places.map(|_| places.next().flatten());
    }
}

/// Returns the tasks that an event names as completed. A turn that names none says nothing of them.
fn completed_in(data: &Value) -> Option<Vec<String>> {
    let ids = data.get("completed")?.as_array().filter(|ids| !ids.is_empty())?;
    Some(ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect())
}

/// Returns whether an event says something of one of [`KEYS`].
fn says(data: &Value, key: &str) -> bool {
    match key {
        "phase" => data.get(key).is_some_and(Value::is_string),
        "current" => data.get(key).is_some_and(Value::is_object),
        _ => completed_in(data).is_some(),
    }
}

impl Engine {
    /// Returns what the turns of a session said up to an event, each key where it was said last.
    pub(crate) fn status_through(
        &self,
        ledger: &LedgerId,
        session: &SessionId,
        through: EventSeq,
    ) -> Result<Status> {
        let of = |topic: &'static str| EventQuery {
            session: Some(session.clone()),
            topics: vec![topics::topic(topic)],
            through: Some(through),
            ..EventQuery::after(None, PAGE_ROWS_MAX)
        };
        let data = |payload: &Payload| match payload {
            Payload::Plain { data, .. } => data.as_ref().map(stemmata_model::Json::to_value),
            Payload::Line { .. } | Payload::Gone(_) => None,
        };
        let mut status = Status::default();
        let remembered =
            EventQuery { order: Order::NewestFirst, limit: REMEMBERED_MAX, ..of(topics::CONTEXT_WINDOW) };
        let remembered = self.log.events(ledger, &remembered)?;
        let state = remembered.into_iter().find_map(|event| Some((event.seq, data(&event.payload)?)));
        if let Some((seq, state)) = &state {
            status.read(state.get("said"));
            status.tasks_completed = state.get("tasks_completed").and_then(Value::as_u64).unwrap_or(0);
            self.load_said(ledger, session, &mut status, *seq)?;
        }
        let since = state.map(|(seq, _)| seq);
        let mut query = Some(EventQuery { after: since, ..of(topics::STATUS_EVENT) });
        while let Some(asked) = query {
            let page = self.log.page(ledger, &asked)?;
            for event in &page.events {
                if let Some(said) = data(&event.payload) {
                    status.see(&said, SaidAt::stored(event.seq));
                }
            }
            query = asked.following(&page);
        }
        Ok(status)
    }

    /// Reads what was said at the places that the event `state` remembers. What was forgotten since is not known any more.
    pub(super) fn load_said(
        &self,
        ledger: &LedgerId,
        session: &SessionId,
        status: &mut Status,
        state: EventSeq,
    ) -> Result<()> {
        let mut places = status.places;
        for (key, place) in KEYS.iter().zip(&mut places) {
            let Some(SaidAt { from, through }) = place.take() else { continue };
            let query = EventQuery {
                session: Some(session.clone()),
                topics: vec![topics::topic(topics::STATUS_EVENT)],
                through: through.map_or(Some(state), EventSeq::new),
                order: Order::NewestFirst,
                ..EventQuery::after(EventSeq::new(from.saturating_sub(1)), STATUS_EVENTS_MAX)
            };
            let events = self.log.events(ledger, &query)?;
            let found = events.into_iter().find_map(|event| match event.payload {
                Payload::Plain { data: Some(data), .. } => {
                    Some((event.seq, data.to_value())).filter(|(_, data)| says(data, key))
                }
                Payload::Plain { .. } | Payload::Line { .. } | Payload::Gone(_) => None,
            });
            if let Some((seq, data)) = found {
                status.take(key, &data);
                *place = Some(SaidAt::stored(seq));
            }
        }
        status.places = places;
        Ok(())
    }
}
