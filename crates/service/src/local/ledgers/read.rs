//! Requests about events, read once: names, numbers and times become the engine's.

use stemmata_api::RawJson;
use stemmata_api::v1::{
    APPEND_BYTES_MAX, APPEND_EVENTS_MAX, EventsRequest, FollowRequest, ForgetEventsRequest, NewEvent,
};
use stemmata_engine::{EventFilter, Told};
use stemmata_model::{Json, Links, NameError, NewPayload, Party, SessionId, ThreadId, TicketId, Topic};
use stemmata_store::{EventQuery, Order};

use crate::fault::Fault;
use crate::local::{bad_request, items_max};

/// Who sends an event, and to which session it belongs, where it does not say.
const SENDER: &str = "user";
const SESSION: &str = "stemma";

/// Reads the number of an event, or 0.
pub(super) fn number(text: &str, field: &'static str) -> Result<u64, Fault> {
    text.parse().map_err(|_| bad_request(field, format!("`{text}` is not a number of an event")))
}

fn party(text: Option<&str>, field: &'static str) -> Result<Option<Party>, Fault> {
    let party = text.map(Party::new).transpose();
    party.map_err(|error| bad_request(field, error))
}

fn session(text: Option<&str>) -> Result<Option<SessionId>, Fault> {
    let session = text.map(SessionId::new).transpose();
    session.map_err(|error| bad_request("session", error))
}

fn topics(names: &[String]) -> Result<Vec<Topic>, Fault> {
    let topics: Result<_, _> = names.iter().map(|name| Topic::new(name.as_str())).collect();
    topics.map_err(|error| bad_request("topics", error))
}

/// Reads events to append. What is wrong with one names it.
pub(in crate::local) fn events(events: &[NewEvent]) -> Result<Vec<stemmata_model::NewEvent>, Fault> {
    if events.len() > APPEND_EVENTS_MAX {
        let reason = format!("more than {APPEND_EVENTS_MAX} events; append them in several calls");
        return Err(bad_request("events", reason));
    }
    let bytes: usize = events.iter().map(bytes_of).sum();
    if bytes > APPEND_BYTES_MAX {
        let reason = format!("more than {APPEND_BYTES_MAX} bytes; append them in several calls");
        return Err(bad_request("events", reason));
    }
    let read = |(at, one): (usize, &NewEvent)| {
        event(one).map_err(|reason| bad_request("events", format!("event {}: {reason}", at + 1)))
    };
    events.iter().enumerate().map(read).collect()
}

fn bytes_of(event: &NewEvent) -> usize {
    let json = |json: &Option<RawJson>| json.as_ref().map_or(0, |json| json.as_str().len());
    event.text.as_ref().map_or(0, String::len) + json(&event.data) + json(&event.metadata)
}

fn event(event: &NewEvent) -> Result<stemmata_model::NewEvent, String> {
    let name = |error: NameError| error.to_string();
    let json = |value: &Option<RawJson>, field: &str| {
        let json = value.as_ref().map(|json| Json::parse(json.as_str())).transpose();
        json.map_err(|error| format!("`{field}`: {error}"))
    };
    let topic = Topic::new(event.topic.as_str()).map_err(name)?;
    let sender = Party::new(event.sender.as_deref().unwrap_or(SENDER)).map_err(name)?;
    let session = SessionId::new(event.session_id.as_deref().unwrap_or(SESSION)).map_err(name)?;
    let payload = NewPayload::Plain { text: event.text.clone(), data: json(&event.data, "data")? };
    let mut read = stemmata_model::NewEvent::new(session, topic, sender, payload);
    if let Some(receiver) = &event.receiver {
        read = read.to(Party::new(receiver.as_str()).map_err(name)?);
    }
    let links = Links {
        thread: event.thread.as_deref().map(ThreadId::new).transpose().map_err(name)?,
        ticket: event.ticket.as_deref().map(TicketId::new).transpose().map_err(name)?,
    };
    let read = match json(&event.metadata, "metadata")? {
        Some(metadata) => read.with_metadata(metadata),
        None => read,
    };
    Ok(read.with_links(&links))
}

pub(super) fn query(request: &EventsRequest) -> Result<EventQuery, Fault> {
    Ok(EventQuery {
        after: request.after,
        through: request.through,
        topics: topics(&request.topics)?,
        sender: party(request.sender.as_deref(), "sender")?,
        receiver: party(request.receiver.as_deref(), "receiver")?,
        session: session(request.session.as_deref())?,
        since: request.since,
        until: request.until,
        replayable: request.replayable,
        order: if request.newest_first { Order::NewestFirst } else { Order::OldestFirst },
        limit: items_max(request.limit),
        ..EventQuery::default()
    })
}

pub(super) fn filter(request: &FollowRequest) -> Result<EventFilter, Fault> {
    Ok(EventFilter {
        topics: topics(&request.topics)?,
        sender: party(request.sender.as_deref(), "sender")?,
        receiver: party(request.receiver.as_deref(), "receiver")?,
        session: session(request.session.as_deref())?,
        replayable: None,
    })
}

pub(super) fn told(request: &ForgetEventsRequest) -> Result<Told, Fault> {
    match (session(request.session.as_deref())?, request.ledger.clone()) {
        (Some(session), ledger) if request.events.is_empty() => Ok(Told::Session(session, ledger)),
        (None, Some(ledger)) if !request.events.is_empty() => {
            Ok(Told::Events(ledger, request.events.iter().copied().collect()))
        }
        _ => Err(bad_request("events", "give a session, or the numbers of events with their ledger")),
    }
}
