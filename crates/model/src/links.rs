//! Links: the thread and the ticket that an event belongs to.
//!
//! Events carry them in their metadata, under two reserved keys; commits carry them in sightings.

use serde_json::{Map, Value};

use crate::{Event, Json, NewEvent, ThreadId, TicketId};

/// The key of the thread in an event's metadata and in what `SESSION_STARTED` says.
const THREAD: &str = "thread";

/// The key of the ticket.
const TICKET: &str = "ticket";

/// The thread and the ticket that something belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Links {
    /// The discussion thread.
    pub thread: Option<ThreadId>,
    /// The ticket being worked on.
    pub ticket: Option<TicketId>,
}

impl Links {
    /// Neither thread nor ticket.
    pub const NONE: Self = Self { thread: None, ticket: None };

    /// Says whether there is neither a thread nor a ticket.
    pub const fn is_none(&self) -> bool {
        self.thread.is_none() && self.ticket.is_none()
    }

    /// Reads the links out of metadata or data. What is no name counts as absent: metadata may come from anywhere.
    pub fn of(json: Option<&Json>) -> Self {
        let value = json.map(Json::to_value);
        let text = |key: &str| value.as_ref().and_then(|value| value.get(key)?.as_str());
        Self {
            thread: text(THREAD).and_then(|text| ThreadId::new(text).ok()),
            ticket: text(TICKET).and_then(|text| TicketId::new(text).ok()),
        }
    }

    /// Adds the links to an object. Keys that are there stay.
    pub fn add_to(&self, object: &mut Map<String, Value>) {
        let links = [
            (THREAD, self.thread.as_ref().map(ThreadId::as_str)),
            (TICKET, self.ticket.as_ref().map(TicketId::as_str)),
        ];
        for (key, value) in links {
            if let Some(value) = value {
                object.entry(key).or_insert_with(|| value.into());
            }
        }
    }
}

impl NewEvent {
    /// Says in the metadata which thread and ticket the event belongs to. Keys that are there stay, and metadata that is
    /// no object stays as it is.
    #[must_use]
    pub fn with_links(mut self, links: &Links) -> Self {
        if links.is_none() {
            return self;
        }
        let metadata = self.metadata.as_ref().map_or_else(|| Value::Object(Map::new()), Json::to_value);
        if let Value::Object(mut object) = metadata {
            links.add_to(&mut object);
            // Neither key decides whether the event may enter a prompt.
            self.metadata = Some(Json::of(&Value::Object(object)));
        }
        self
    }
}

impl Event {
    /// Returns the thread and the ticket that its metadata names.
    pub fn links(&self) -> Links {
        Links::of(self.metadata.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewPayload, Party, SessionId, topics};

    #[test]
    fn links_are_added_to_metadata_and_replace_nothing() {
        let links = Links { thread: ThreadId::new("t1").ok(), ticket: TicketId::new("K-7").ok() };
        for (metadata, expected) in [
            ("", r#"{"thread":"t1","ticket":"K-7"}"#),
            (r#"{"a":1}"#, r#"{"a":1,"thread":"t1","ticket":"K-7"}"#),
            (r#"{"ticket":"own"}"#, r#"{"thread":"t1","ticket":"own"}"#),
            ("[1]", "[1]"),
        ] {
            let payload = NewPayload::Plain { text: None, data: None };
            let event = NewEvent::new(
                SessionId::new("s").expect("a name"),
                topics::topic(topics::USER_TURN),
                Party::new("user").expect("a name"),
                payload,
            );
            let event = match Json::parse(metadata) {
                Ok(metadata) => event.with_metadata(metadata),
                Err(_) => event,
            };
            let found = event.with_links(&links).metadata.map(|json| json.to_value());
            assert_eq!(found, serde_json::from_str(expected).ok(), "{metadata}");
        }
        assert_eq!(Links::of(Json::parse(r#"{"thread":7,"ticket":"\u0000"}"#).ok().as_ref()), Links::NONE);
    }
}
