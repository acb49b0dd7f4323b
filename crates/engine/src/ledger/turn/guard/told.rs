//! The tasks of a session and the hints for its entries, as callers sent them with their turns.
//!
//! They are read from the events that hold them, and nothing is saved beside these: so forgetting the events is enough. The guard
//! decides what follows.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use stemmata_api::v1::TurnTask;
use stemmata_model::{
    Entry, EntryId, EventSeq, FormatId, Json, NewEvent, NewPayload, Payload, SessionId, topics,
};
use stemmata_prompt::guard::derive::{GivenTasks, Hint};
use stemmata_prompt::guard::{Class, ContentType, Row, TaskGraph, TaskGraphError, TaskNode};
use stemmata_store::{EventQuery, Order};

use super::refused;
use crate::engine::Engine;
use crate::error::{FormatUse, Refusal, Result};
use crate::ledger::opening::OPENER;
use crate::ledger::turn::{FORMAT, TurnOf};

/// Events of a session that are read: of one with more, the newest say it.
const EVENTS_MAX: usize = 10_000;

/// What the caller knows of an entry. What is left out is derived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryHint {
    /// The entry.
    pub entry: EntryId,
    /// The id of the task that it belongs to.
    pub task: Option<String>,
    /// What it contains.
    pub content: Option<ContentType>,
    /// Its row of the priority matrix.
    pub row: Option<Row>,
    /// Its class, which is stronger than that of a row.
    pub class: Option<Class>,
    /// How many later entries refer to it.
    pub reference_count: Option<u32>,
    /// Whether nothing works without it: no prune drops it.
    pub is_essential: bool,
}

impl EntryHint {
    /// Makes a hint that says nothing yet.
    pub const fn new(entry: EntryId) -> Self {
        Self {
            entry,
            task: None,
            content: None,
            row: None,
            class: None,
            reference_count: None,
            is_essential: false,
        }
    }

    fn to_data(&self) -> Value {
        json!({
            "id": self.entry.as_str(),
            "task": self.task,
            "content": self.content.map(ContentType::as_str),
            "row": self.row.map(Row::as_str),
            "class": self.class.map(Class::as_str),
            "references": self.reference_count,
            "essential": self.is_essential,
        })
    }

    /// Reads what `to_data` wrote. A name that is not known says nothing.
    fn read(data: &Value) -> Option<Self> {
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let references = data.get("references").and_then(Value::as_u64);
        Some(Self {
            entry: EntryId::new(text("id")?).ok()?,
            task: text("task").map(str::to_owned),
            content: text("content").and_then(ContentType::read),
            row: text("row").and_then(Row::read),
            class: text("class").and_then(Class::read),
            reference_count: references.map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
            is_essential: data.get("essential").and_then(Value::as_bool).unwrap_or(false),
        })
    }
}

/// Returns the event that tells hints, or `None` where there are none.
pub(in crate::ledger::turn) fn hints_event(turn: &TurnOf, hints: &[EntryHint]) -> Option<NewEvent> {
    if hints.is_empty() {
        return None;
    }
    let hints: Vec<Value> = hints.iter().map(EntryHint::to_data).collect();
    let payload = NewPayload::Plain { text: None, data: Some(Json::of(&json!({ "entries": hints }))) };
    let sender = stemmata_model::Party::new(OPENER).expect("a constant name is a name");
    let topic = topics::topic(topics::CONTEXT_HINTS);
    Some(NewEvent::new(SessionId::clone(&turn.session), topic, sender, payload))
}

/// What was told of a session's work.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct WorkTold {
    /// In the order in which they began; once all is told, those that only others depend on come before.
    tasks: Vec<TaskNode>,
    /// Where each that began stands until then.
    places: HashMap<String, usize>,
    current: Option<String>,
    /// What was said in which task, oldest first.
    prompts: Vec<(EntryId, Option<String>)>,
    hints: HashMap<EntryId, EntryHint>,
}

impl WorkTold {
    /// Returns what a program says of its work beside entries that are in no session: which task is the current one, and which are
    /// done. What the last prompt began is of the current one.
    pub(crate) fn given_by(
        (task, completed): (Option<&TurnTask>, &[String]),
        hints: &[EntryHint],
        prompt: Option<&EntryId>,
    ) -> Result<Self> {
        let mut told = Self::default();
        for name in completed {
            told.node(name).is_completed = true;
        }
        for name in hints.iter().filter_map(|hint| hint.task.as_deref()) {
            told.node(name);
        }
        if let Some(task) = task {
            told.begin(&task.id, task.depends_on.clone());
        }
        told.prompts.extend(prompt.map(|prompt| (prompt.clone(), told.current.clone())));
        told.hints = hints.iter().map(|hint| (hint.entry.clone(), hint.clone())).collect();
        match told.finish() {
            Err(error @ TaskGraphError::Cycle { .. }) => {
                Err(refused(Refusal::TaskCycle, format!("{error}; leave one of them out of `depends_on`")))
            }
            _ => Ok(told),
        }
    }

    /// Returns the tasks, where a turn named one.
    pub(crate) fn given(&self) -> Option<GivenTasks<'_>> {
        let current = self.current.as_deref()?;
        Some(GivenTasks { tasks: &self.tasks, current })
    }

    /// Returns what was told of each entry of a window.
    pub(crate) fn hints(&self, entries: &[Entry]) -> Vec<Hint> {
        let places: HashMap<&EntryId, usize> =
            self.prompts.iter().enumerate().map(|(place, (id, _))| (id, place)).collect();
        // What stands before the first prompt of a window belongs to the prompt before that, which is no longer there.
        let first = entries.iter().position(|entry| places.contains_key(&entry.id)).unwrap_or(entries.len());
        let place = entries.get(first).and_then(|entry| places.get(&entry.id)).copied();
        let before = place.unwrap_or(self.prompts.len()).checked_sub(1);
        let leading = before.and_then(|place| self.prompts.get(place)).and_then(|(_, task)| task.as_ref());
        let hint = |(at, entry): (usize, &Entry)| {
            let prompt = places.get(&entry.id).and_then(|place| self.prompts.get(*place));
            let task = prompt.and_then(|(_, task)| task.as_ref()).or(leading.filter(|_| at < first)).cloned();
            let Some(own) = self.hints.get(&entry.id) else { return Hint { task, ..Hint::default() } };
            Hint {
                task: own.task.clone().filter(|own| self.knows(own)).or(task),
                content: own.content,
                row: own.row,
                class: own.class,
                reference_count: own.reference_count,
                is_essential: own.is_essential,
                is_pinned: false,
            }
        };
        entries.iter().enumerate().map(hint).collect()
    }

    fn knows(&self, task: &str) -> bool {
        self.places.contains_key(task)
    }

    /// Takes in what a status event says.
    fn see_status(&mut self, data: &Value) {
        let list = |value: Option<&Value>| -> Vec<String> {
            let ids = value.and_then(Value::as_array).into_iter().flatten();
            ids.filter_map(|id| id.as_str().map(str::to_owned)).collect()
        };
        let completed = list(data.get("completed"));
        for name in &completed {
            self.node(name).is_completed = true;
        }
        let Some(current) = data.get("current") else { return };
        let Some(name) = current.get("id").and_then(Value::as_str) else { return };
        let mut needs = list(current.get("depends_on"));
        let mut seen = HashSet::new();
        needs.retain(|need| seen.insert(need.clone()));
        self.begin(name, needs);
    }

    /// Makes a task the current one. What is worked on again is not done.
    fn begin(&mut self, name: &str, depends_on: Vec<String>) {
        let node = self.node(name);
        (node.depends_on, node.is_completed) = (depends_on, false);
        self.current = Some(name.to_owned());
    }

    fn node(&mut self, name: &str) -> &mut TaskNode {
        let end = self.tasks.len();
        let at = *self.places.entry(name.to_owned()).or_insert(end);
        if at == end {
            self.tasks.push(TaskNode { name: name.to_owned(), ..TaskNode::default() });
        }
        self.tasks.get_mut(at).expect("a place in the list")
    }

    /// Adds the tasks that only others depend on. Before those that began: how long ago these did stays the same.
    fn finish(&mut self) -> std::result::Result<(), TaskGraphError> {
        let mut seen = HashSet::new();
        let needs = self.tasks.iter().flat_map(|task| &task.depends_on);
        let unknown = needs.filter(|need| !self.places.contains_key(*need) && seen.insert(*need));
        let unknown: Vec<TaskNode> =
            unknown.map(|name| TaskNode { name: name.clone(), ..TaskNode::default() }).collect();
        self.tasks.splice(0..0, unknown);
        TaskGraph::new(&self.tasks, self.current.as_deref()).map(|_| ())
    }

    fn see_new(&mut self, events: &[NewEvent]) -> Result<()> {
        for event in events {
            match &event.payload {
                NewPayload::Line(line) => self.see(event.topic.as_str(), Some(line), None)?,
                NewPayload::Plain { data, .. } => self.see(event.topic.as_str(), None, data.as_ref())?,
            }
        }
        Ok(())
    }

    fn see(&mut self, topic: &str, line: Option<&Json>, data: Option<&Json>) -> Result<()> {
        match (topic, line, data) {
            (topics::STATUS_EVENT, _, Some(data)) => self.see_status(&data.to_value()),
            (topics::CONTEXT_HINTS, _, Some(data)) => {
                let data = data.to_value();
                let hints = data.get("entries").and_then(Value::as_array).into_iter().flatten();
                for hint in hints.filter_map(EntryHint::read) {
                    self.hints.insert(hint.entry.clone(), hint);
                }
            }
            (topics::USER_TURN, Some(line), _) => {
                let adapter = Engine::adapter(&FormatId::new(FORMAT)?, FormatUse::Read)?;
                let entries = adapter.decode(format!("{line}\n").as_bytes()).entries;
                self.prompts.extend(entries.into_iter().map(|entry| (entry.id, self.current.clone())));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Engine {
    /// Returns what was told of a session's work in its events up to `last` and in those that are about to be appended.
    pub(crate) fn told(&self, turn: &TurnOf, events: &[NewEvent], last: u64) -> Result<WorkTold> {
        let mut told = self.told_before(turn, last)?;
        told.see_new(events)?;
        // A turn that names a circle is refused. Where somebody else told of one, nothing says which task comes first.
        if told.finish().is_err() {
            told.tasks.iter_mut().for_each(|task| task.depends_on.clear());
        }
        Ok(told)
    }

    fn told_before(&self, turn: &TurnOf, last: u64) -> Result<WorkTold> {
        let Some(through) = EventSeq::new(last) else { return Ok(WorkTold::default()) };
        let newest = |topics: &[&'static str], limit: usize| EventQuery {
            session: Some(turn.session.clone()),
            topics: topics.iter().copied().map(topics::topic).collect(),
            through: Some(through),
            order: Order::NewestFirst,
            ..EventQuery::after(None, limit)
        };
        // Most sessions are told nothing: they need not be read.
        if self
            .log
            .events(&turn.ledger, &newest(&[topics::STATUS_EVENT, topics::CONTEXT_HINTS], 1))?
            .is_empty()
        {
            return Ok(WorkTold::default());
        }
        let of = [topics::STATUS_EVENT, topics::CONTEXT_HINTS, topics::USER_TURN];
        let mut told = WorkTold::default();
        for event in self.log.events(&turn.ledger, &newest(&of, EVENTS_MAX))?.iter().rev() {
            match &event.payload {
                Payload::Line { line, .. } => told.see(event.topic.as_str(), Some(line), None)?,
                Payload::Plain { data, .. } => told.see(event.topic.as_str(), None, data.as_ref())?,
                Payload::Gone(_) => {}
            }
        }
        Ok(told)
    }

    /// Refuses a task that depends on itself by way of others.
    pub(in crate::ledger::turn) fn check_task(&self, turn: &TurnOf, task: Option<&TurnTask>) -> Result<()> {
        let Some(task) = task.filter(|task| !task.depends_on.is_empty()) else { return Ok(()) };
        let last = self.log.ledger(&turn.ledger)?.map_or(0, |known| known.last);
        let mut told = self.told_before(turn, last)?;
        told.begin(&task.id, task.depends_on.clone());
        match told.finish() {
            Err(error @ TaskGraphError::Cycle { .. }) => Err(refused(
                Refusal::TaskCycle,
                format!("{error}; leave one of them out of `depends_on` of task `{}`", task.id),
            )),
            // More than can be judged is said where the window is.
            Ok(())
            | Err(
                TaskGraphError::Duplicate { .. }
                | TaskGraphError::Unknown { .. }
                | TaskGraphError::TooMany { .. },
            ) => Ok(()),
        }
    }
}
