//! `bureau-agent-v1` and `bureau-events-v1`: CBOR arrays of the messages and of the events of Bureau's agents. No client
//! loads them. Normative: `docs/format/bureau.md`.
//!
//! One array is a whole conversation, or what was added since the last commit. What an array holds is taken byte by byte,
//! however it was spelled; what is written here is deterministic.
//!
//! The scrubber sees the texts of an array as JSON (`Adapter::readable`). What it replaces is written back string by string
//! (`Adapter::rewritten`); every other byte stays.

mod agent;
mod events;
mod join;
#[cfg(test)]
pub(crate) mod samples_tests;
mod validate;

use stemmata_model::{Entry, FormatId};

use crate::adapter::{
    Adapter, ClientPlace, Confidence, ContextPlan, Detection, PlaceRequest, PlanStop, Segments, SourceError,
    Validator,
};
use crate::cbor::{self, Broken, Fault, Item, List, Member, json, scrub};
use crate::document::{Dialect, Record, join as documents};
use crate::json::{RecordError, quote};
use crate::lines::Line;
use crate::placing::unplaced;
use crate::readable::Readable;
use crate::reading::Reading;
use crate::translate::{Intake, IntakeRow};

/// The runtime of arrays of messages.
pub const AGENT: &str = "bureau-agent";

/// The runtime of arrays of events.
pub const EVENTS: &str = "bureau-events";

/// What both of them take.
pub(crate) const INTAKES: &[IntakeRow] = &[(AGENT, &NO_IMAGES), (EVENTS, &NO_IMAGES)];

const NO_IMAGES: Intake = Intake { takes_images: false, ..Intake::ANY };

/// Items of an array that are looked at to say what it is.
const LOOKED_AT_MAX: usize = 16;

/// The adapter of one kind of array.
#[derive(Debug, Clone, Copy)]
pub struct Bureau {
    name: &'static str,
    dialect: &'static Dialect,
    /// Says how sure it is of the members of one item of an array, of which the last may be cut off.
    claims: fn(&[Member<'_>]) -> Option<Confidence>,
    encode: fn(&[Entry]) -> Vec<u8>,
    validator: fn() -> Box<dyn Validator>,
}

impl Bureau {
    /// The adapter of `bureau-agent-v1`.
    pub const AGENT: Self = Self {
        name: "bureau-agent-v1",
        dialect: &agent::DIALECT,
        claims: agent::claims,
        encode: agent::encode,
        validator: validate::of_messages,
    };

    /// The adapter of `bureau-events-v1`.
    pub const EVENTS: Self = Self {
        name: "bureau-events-v1",
        dialect: &events::DIALECT,
        claims: events::claims,
        encode: events::encode,
        validator: validate::of_events,
    };
}

impl Adapter for Bureau {
    fn format(&self) -> FormatId {
        FormatId::new(self.name).expect("the names are short and plain")
    }

    fn join(&self, contents: &[&[u8]]) -> Option<Vec<u8>> {
        documents::join_by(&join::pieces, contents)
    }

    fn closing(&self, _bytes: &[u8], _keep: usize) -> Vec<u8> {
        Vec::new()
    }

    fn opening(&self, bytes: &[u8], keep: usize) -> (usize, Vec<u8>) {
        join::opening(bytes, keep)
    }

    fn is_frame(&self, between: &[u8]) -> bool {
        cbor::is_frame(between) || crate::json::is_blank(between)
    }

    fn readable(&self, bytes: &[u8]) -> Option<Readable> {
        scrub::readable(bytes)
    }

    fn rewritten(&self, bytes: &[u8], json: &str) -> Option<Vec<u8>> {
        scrub::rewritten(bytes, json)
    }

    fn reading(&self) -> Reading {
        Reading::document(self.dialect)
    }

    fn detect(&self, head: &[u8]) -> Option<Detection> {
        let list = List::beginning(head)?;
        let mut confidence = None;
        for item in list.items.iter().take(LOOKED_AT_MAX) {
            confidence = Some((self.claims)(&item.members()?)?).max(confidence);
        }
        // The first item may be longer than what is looked at.
        let cut = || (self.claims)(&cbor::cut_members(head, list.inside.end));
        let confidence = confidence.or_else(|| cut().filter(|_| list.items.is_empty()))?;
        Some(Detection { format: self.format(), version: None, confidence })
    }

    fn encode(&self, entries: &[Entry]) -> Vec<u8> {
        (self.encode)(entries)
    }

    fn plan_context(&self, chain: &mut dyn Segments, stop: PlanStop) -> Result<ContextPlan, SourceError> {
        documents::plan_context_by(&join::pieces, chain, stop)
    }

    fn is_placeable(&self) -> bool {
        false
    }

    fn client_place(&self, request: &PlaceRequest) -> ClientPlace {
        unplaced(request, ".cbor")
    }

    fn validator(&self, _client_version: Option<&str>) -> Box<dyn Validator> {
        (self.validator)()
    }
}

/// Reads the records of an array, each item one.
fn records(bytes: &[u8], line: fn(Item<'_>) -> Line) -> Result<Vec<Record>, RecordError> {
    let list = List::whole(bytes).map_err(|Broken { fault, offset }| RecordError::NotCbor {
        offset,
        reason: fault.as_str(),
        is_cut: fault == Fault::Cut,
    })?;
    Ok(list.items.into_iter().map(|item| Record { span: item.span(), line: line(item) }).collect())
}

/// Returns where the items of an array stand.
fn inside(bytes: &[u8]) -> Option<std::ops::Range<usize>> {
    List::whole(bytes).ok().map(|list| list.inside)
}

/// Returns a text that is a member of a map.
fn text(members: &[Member<'_>], key: &str) -> Option<String> {
    Item::get(members, key)?.untagged().text().map(std::borrow::Cow::into_owned)
}

/// Returns the members of a map that is a member of another one.
fn map<'a>(members: &[Member<'a>], key: &str) -> Option<Vec<Member<'a>>> {
    Item::get(members, key)?.untagged().members()
}

/// Returns JSON that Go has as raw JSON: in a byte string; others may write a text, or the value itself.
fn raw_json(item: Option<Item<'_>>) -> Option<String> {
    let item = item?.untagged();
    if item.is_null() {
        return None;
    }
    let Some(said) = item.bytes().or_else(|| item.text_bytes()) else { return Some(json::of_item(item)) };
    let is_json = |text: &str| serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
    Some(match std::str::from_utf8(&said) {
        Ok(text) if is_json(text) => text.to_owned(),
        _ => quote(&String::from_utf8_lossy(&said)),
    })
}

/// Carries an item that is no part of a conversation.
fn carried(runtime: &str, kind: &str, item: Item<'_>) -> Line {
    Line::metadata(runtime, kind, &json::of_item(item), None)
}
