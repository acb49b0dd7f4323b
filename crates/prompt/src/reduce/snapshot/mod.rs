//! The state of a cluster of agents, as one short text and one object: what `STATE_SNAPSHOT` says.
//!
//! A snapshot is worth publishing only when what it says has changed; when, and by which event, is not part of that.

mod sections;
mod text;

use serde_json::{Map, Value};
use stemmata_model::{Event, EventSeq, Json, LedgerId, Payload, topics};

use super::cut::line;
use super::{LoadError, Reducer};
use sections::Said;

pub use sections::{
    ACCEPTANCE_CRITERIA_MAX, BLOCKERS_MAX, CRITERIA_RESULTS_MAX, ERRORS_MAX, FILES_AFFECTED_MAX,
    FIX_PLAN_CHARS_MAX, LIST_ITEM_CHARS_MAX, NEXT_STEPS_MAX, PLAN_CHARS_MAX, ROOT_CAUSES_MAX,
    SUMMARY_CHARS_MAX, TASK_CHARS_MAX,
};

/// Who sends snapshots.
pub const SENDER: &str = "state-snapshotter";

/// The version of the object that a snapshot carries.
const DATA_VERSION: u64 = 1;

/// The topics that change the state.
pub const TRIGGERS: [&str; 6] = [
    topics::ISSUE_OPENED,
    topics::PLAN_READY,
    topics::WORKER_PROGRESS,
    topics::IMPLEMENTATION_READY,
    topics::VALIDATION_RESULT,
    topics::INVESTIGATION_COMPLETE,
];

/// A part of the state, each replaced as a whole by its topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum Section {
    Task,
    Plan,
    Progress,
    Validation,
    Debug,
}

impl Section {
    const ALL: [Self; 5] = [Self::Task, Self::Plan, Self::Progress, Self::Validation, Self::Debug];

    fn key(self) -> &'static str {
        self.into()
    }

    fn of_topic(topic: &str) -> Option<Self> {
        match topic {
            topics::ISSUE_OPENED => Some(Self::Task),
            topics::PLAN_READY => Some(Self::Plan),
            topics::WORKER_PROGRESS | topics::IMPLEMENTATION_READY => Some(Self::Progress),
            topics::VALIDATION_RESULT => Some(Self::Validation),
            topics::INVESTIGATION_COMPLETE => Some(Self::Debug),
            _ => None,
        }
    }

    /// Returns the section of which an event speaks, and what it says after it: nothing where it is empty. None where
    /// the event does not speak of any.
    fn said(event: &Event) -> Option<(Self, Option<Map<String, Value>>)> {
        let section = Self::of_topic(event.topic.as_str())?;
        let Payload::Plain { text, data } = &event.payload else { return None };
        let data = data.as_ref().map(Json::to_value);
        // Where a task comes from is all that metadata says to a snapshot.
        let metadata = event.metadata.as_ref().filter(|_| section == Self::Task).map(Json::to_value);
        let said = Said { text: text.as_deref(), data: data.as_ref(), metadata: metadata.as_ref() };
        Some((section, sections::read(section, &said)?))
    }

    const fn index(self) -> usize {
        self as usize
    }

    /// The object does not say when a task changed, so no state may know it: one that was read from it would not.
    const fn time(self, at_millis: i64) -> i64 {
        match self {
            Self::Task => 0,
            Self::Plan | Self::Progress | Self::Validation | Self::Debug => at_millis,
        }
    }
}

/// What a section says, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    fields: Map<String, Value>,
    at_millis: i64,
}

/// What is to be appended as `STATE_SNAPSHOT`, from [`SENDER`], for everybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The state in at most five lines.
    pub text: String,
    /// The state as an object.
    pub data: Json,
}

/// The state of a cluster of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateSnapshotter {
    ledger: LedgerId,
    /// By [`Section::index`].
    held: [Option<Held>; 5],
    /// The event that changed it last, and when that was.
    source: Option<(String, i64)>,
}

impl StateSnapshotter {
    /// Folds the next event in; returns what is to be published, which is nothing where the state says what it said
    /// before.
    pub fn step(&mut self, event: &Event) -> Option<Publication> {
        self.change(event).then(|| self.publication())
    }

    /// Says whether an event is a snapshot that a state can be taken up from: one that this reducer published, and whose
    /// payload is there.
    pub fn is_snapshot(event: &Event) -> bool {
        Self::snapshot_data(event).is_some()
    }

    /// Says whether an event says something that enters the state. One of [`TRIGGERS`] may not: a worker's event without
    /// its status, or one whose payload is gone.
    pub fn speaks(event: &Event) -> bool {
        Section::said(event).is_some()
    }

    /// Folds the next event in; says whether the state says something else than before.
    fn change(&mut self, event: &Event) -> bool {
        let Some((section, fields)) = Section::said(event) else { return false };
        let slot = self.held.get_mut(section.index()).expect("each section has its place");
        if slot.as_ref().map(|held| &held.fields) == fields.as_ref() {
            return false;
        }
        let at_millis = event.at.as_micros().div_euclid(1_000);
        *slot = fields.map(|fields| Held { fields, at_millis: section.time(at_millis) });
        self.source = Some((event.seq.to_string(), at_millis));
        true
    }

    /// Begins from what a ledger says last: its newest `STATE_SNAPSHOT`, and the newest event of each of [`TRIGGERS`] that
    /// [speaks](Self::speaks), as far as there are any and in any order. What came after the snapshot is folded in. Returns what is to be
    /// published, which is nothing where the snapshot says it already.
    pub fn bootstrap(ledger: &LedgerId, latest: &[Event]) -> (Self, Option<Publication>) {
        let mut latest: Vec<&Event> = latest.iter().collect();
        latest.sort_by_key(|event| event.seq);
        let newest =
            latest.iter().rev().find_map(|event| Some((event.seq, Self::of_snapshot(ledger, event)?)));
        let (after, mut state) = match newest {
            Some((seq, state)) => (Some(seq), state),
            None => (None, Self::new(ledger)),
        };
        let is_later = |seq: EventSeq| after.is_none_or(|after| seq > after);
        let later = latest.into_iter().filter(|event| is_later(event.seq));
        let publications: Vec<Publication> = later.filter_map(|event| state.step(event)).collect();
        (state, publications.into_iter().next_back())
    }

    fn of_snapshot(ledger: &LedgerId, event: &Event) -> Option<Self> {
        Some(Self::of_data(ledger, Self::snapshot_data(event)?.as_object()?))
    }

    /// Returns the object of a snapshot. Of one of another version, or by somebody else, none: the triggers say it anew.
    fn snapshot_data(event: &Event) -> Option<Value> {
        if event.topic.as_str() != topics::STATE_SNAPSHOT || event.sender.as_str() != SENDER {
            return None;
        }
        let Payload::Plain { data: Some(data), .. } = &event.payload else { return None };
        let data = data.to_value();
        (data.as_object()?.get("version")?.as_u64()? == DATA_VERSION).then_some(data)
    }

    /// Reads an object as a snapshot carries it; whatever is beyond a bound is cut, what is none of it is left out.
    fn of_data(ledger: &LedgerId, data: &Map<String, Value>) -> Self {
        let mut state = Self::new(ledger);
        let time = |fields: &Map<String, Value>| fields.get("updatedAt").and_then(Value::as_i64).unwrap_or(0);
        for section in Section::ALL {
            let Some(fields) = data.get(section.key()).and_then(Value::as_object) else { continue };
            let slot = state.held.get_mut(section.index()).expect("each section has its place");
            *slot = sections::again(section, fields)
                .map(|read| Held { fields: read, at_millis: section.time(time(fields)) });
        }
        let source = data.get("sourceMessageId").and_then(Value::as_str);
        state.source = source.map(|id| (line(id, LIST_ITEM_CHARS_MAX), time(data)));
        state
    }

    /// Returns the state as a publication says it.
    pub fn publication(&self) -> Publication {
        Publication { text: self.text(), data: Json::of(&self.data()) }
    }

    /// Returns the state in at most five lines; empty while nothing is known.
    pub fn text(&self) -> String {
        text::render(|section| {
            let held = self.held.get(section.index()).and_then(Option::as_ref);
            held.map(|held| &held.fields)
        })
    }

    /// Returns the state as an object.
    pub fn data(&self) -> Value {
        let mut data = Map::new();
        data.insert("version".to_owned(), DATA_VERSION.into());
        data.insert("clusterId".to_owned(), self.ledger.as_str().into());
        data.insert("updatedAt".to_owned(), self.source.as_ref().map_or(0, |(_, at)| *at).into());
        let source = self.source.as_ref().map(|(id, _)| id.as_str());
        data.insert("sourceMessageId".to_owned(), source.map_or(Value::Null, Value::from));
        for section in Section::ALL {
            let Some(held) = self.held.get(section.index()).and_then(Option::as_ref) else { continue };
            let mut fields = held.fields.clone();
            if section != Section::Task {
                fields.insert("updatedAt".to_owned(), held.at_millis.into());
            }
            data.insert(section.key().to_owned(), Value::Object(fields));
        }
        Value::Object(data)
    }
}

impl Reducer for StateSnapshotter {
    const NAME: &'static str = "state_snapshotter";
    const VERSION: u32 = 1;

    fn new(ledger: &LedgerId) -> Self {
        Self { ledger: ledger.clone(), held: [None, None, None, None, None], source: None }
    }

    fn apply(&mut self, event: &Event) {
        // Who replays has nothing to publish: the ledger has it already.
        self.change(event);
    }

    fn save(&self) -> Json {
        Json::of(&self.data())
    }

    fn load(ledger: &LedgerId, version: u32, state: &Json) -> Result<Self, LoadError> {
        LoadError::check_version::<Self>(version)?;
        let data = state.to_value();
        let fields = data.as_object().ok_or_else(|| LoadError::nonsense::<Self>("it is not an object"))?;
        let read = Self::of_data(ledger, fields);
        // Whatever reading left out or changed was not written by this reducer for this ledger.
        if read.data() != data {
            return Err(LoadError::nonsense::<Self>("it does not say what was read from it"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
