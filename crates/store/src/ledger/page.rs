//! Pages of events: how much one holds, and how a reader goes on from it.
//!
//! Which events a query wants, and where they are, is each backend's own.
//!
//! A page ends at `EVENT_PAGE_BYTES_MAX`. A short page need not be the last one: only its `next` says whether more may follow.

use stemmata_model::{Event, EventSeq, Json, Payload};

use super::{EventQuery, Order};

/// Events that a read returned, in the order that was asked for.
///
/// A page that is shorter than was asked for need not be the last one: only `next` tells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventPage {
    /// The events. None only where there is none, or none was asked for.
    pub events: Vec<Event>,
    /// The last of them where the page ended by its bounds, and there may be more behind it; none where nothing more of
    /// what was asked for was there.
    pub next: Option<EventSeq>,
}

impl EventQuery {
    /// Returns the query for what comes after a page of this one, with the same bounds; none where nothing does.
    #[must_use]
    pub fn following(&self, page: &EventPage) -> Option<Self> {
        let next = page.next?;
        match self.order {
            Order::OldestFirst => Some(Self { after: Some(next), ..self.clone() }),
            Order::NewestFirst => {
                let through = EventSeq::new(next.get() - 1)?;
                Some(Self { through: Some(through), ..self.clone() })
            }
        }
    }

    /// Returns the query for what a page of this one leaves of its limit; none where nothing is left.
    #[must_use]
    pub fn rest(&self, page: &EventPage) -> Option<Self> {
        let limit = self.limit.saturating_sub(page.events.len());
        self.following(page).filter(|_| limit > 0).map(|query| Self { limit, ..query })
    }
}

/// Returns the bytes of an event that count for a page: those of its text, data, line and metadata. What else an event
/// has is short, and bounded by their number.
pub(crate) fn bytes_of(event: &Event) -> usize {
    let length = |json: Option<&Json>| json.map_or(0, |json| json.as_str().len());
    let payload = match &event.payload {
        Payload::Plain { text, data } => text.as_ref().map_or(0, String::len) + length(data.as_ref()),
        Payload::Line { line, .. } => line.as_str().len(),
        Payload::Gone(_) => 0,
    };
    payload + length(event.metadata.as_ref())
}

/// A page in the making.
#[derive(Debug)]
pub struct Filling {
    events: Vec<Event>,
    bytes: usize,
    events_max: usize,
    bytes_max: usize,
    is_full: bool,
}

impl Filling {
    /// Begins a page of a query.
    pub fn new(query: &EventQuery) -> Self {
        let (events_max, bytes_max) = (query.limit, query.bytes_max);
        Self { events: Vec::new(), bytes: 0, events_max, bytes_max, is_full: events_max == 0 }
    }

    /// Says whether nothing more fits.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Takes the next event that is wanted, unless it does not fit any more. The first one always does.
    pub fn take(&mut self, event: Event) {
        let bytes = self.bytes.saturating_add(bytes_of(&event));
        if !self.is_full && (self.events.is_empty() || bytes <= self.bytes_max) {
            self.events.push(event);
            self.bytes = bytes;
            self.is_full = self.events.len() >= self.events_max;
        } else {
            self.is_full = true;
        }
    }

    /// Ends the page: it says where to go on where more may follow.
    pub fn page(self) -> EventPage {
        let next = self.events.last().filter(|_| self.is_full).map(|event| event.seq);
        EventPage { events: self.events, next }
    }
}
