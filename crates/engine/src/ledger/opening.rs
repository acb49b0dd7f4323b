//! Openings: what a session's `SESSION_STARTED` says of the context that it goes on from.
//!
//! Written once, when the first turn begins; everything else about the line is read from it.

use serde_json::{Map, Value};
use stemmata_model::{
    CommitId, Event, EventSeq, Json, LedgerId, Links, NewEvent, NewPayload, Party, Payload, SessionId, topics,
};
use stemmata_store::EventQuery;

use super::turn::TurnOf;
use super::turn::begin::TurnContext;
use crate::engine::Engine;
use crate::error::Result;

/// Openings of a session that are looked at where the first one was forgotten: it may have been begun again.
const OPENINGS_MAX: usize = 64;

/// The name of this program as a sender: it opens sessions and compacts them.
pub(super) const OPENER: &str = "stemmata";

/// What a session's `SESSION_STARTED` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opening {
    /// Where the event is.
    pub(crate) seq: EventSeq,
    /// The context that was asked for, or `None` if the session begins from nothing.
    pub(crate) ctx: Option<CommitId>,
    /// The entry at which it was forked.
    pub(crate) at: Option<String>,
    /// The commit that the first one of the session follows; where it was scrubbed since, what it became.
    pub(crate) head: Option<CommitId>,
    /// The thread and the ticket.
    pub(crate) links: Links,
}

impl Engine {
    /// Returns what opened a session in a ledger, up to an event: of what was not forgotten. Reads one event, where nothing was.
    pub(crate) fn opening_of(
        &self,
        ledger: &LedgerId,
        session: &SessionId,
        through: Option<EventSeq>,
    ) -> Result<Option<Opening>> {
        let query = EventQuery {
            session: Some(session.clone()),
            topics: vec![topics::topic(topics::SESSION_STARTED)],
            through,
            ..EventQuery::after(None, 1)
        };
        let is_forgotten = |event: &Event| matches!(event.payload, Payload::Gone(gone) if gone.forgotten);
        let mut found = self.log.events(ledger, &query)?.into_iter().next();
        if found.as_ref().is_some_and(is_forgotten) {
            let query = EventQuery { limit: OPENINGS_MAX, ..query };
            found = self.log.events(ledger, &query)?.into_iter().find(|event| !is_forgotten(event));
        }
        let Some(event) = found else { return Ok(None) };
        let data = match &event.payload {
            Payload::Plain { data: Some(data), .. } => data.to_value(),
            Payload::Plain { .. } | Payload::Line { .. } | Payload::Gone(_) => Value::Null,
        };
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let head = text("head").and_then(|head| head.parse().ok());
        Ok(Some(Opening {
            seq: event.seq,
            ctx: text("ctx").and_then(|ctx| ctx.parse().ok()),
            at: text("at").map(str::to_owned),
            head: head.map(|head| self.newest_of(head)).transpose()?,
            links: event.links(),
        }))
    }
}

/// Returns the event that opens a session: it names the context, the head, thread and ticket.
pub(super) fn opening(turn: &TurnOf, context: &TurnContext, head: Option<CommitId>) -> NewEvent {
    let mut data = Map::new();
    let (mode, ctx, at) = match context {
        TurnContext::None => ("none", None, None),
        TurnContext::Resume(ctx) => ("resume", Some(ctx), None),
        TurnContext::Fork { ctx, at } => ("fork", Some(ctx), at.clone()),
    };
    data.insert("mode".to_owned(), mode.into());
    let texts = [
        ("ctx", ctx.map(ToString::to_string)),
        ("head", head.map(|head| head.to_string())),
        ("at", at),
        ("template", Some(turn.template.to_string())),
    ];
    data.extend(texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), Value::from(text?)))));
    let links = turn.links();
    links.add_to(&mut data);
    let payload = NewPayload::Plain { text: None, data: Some(Json::of(&Value::Object(data))) };
    let sender = Party::new(OPENER).expect("a constant name is a name");
    NewEvent::new(turn.session.clone(), topics::topic(topics::SESSION_STARTED), sender, payload)
        .with_links(&links)
}
