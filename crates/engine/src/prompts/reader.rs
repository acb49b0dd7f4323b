//! What the sources of a prompt read: bounded pages of events, what is known, and what search finds.
//!
//! Every read costs what its limit says, whatever the length of the ledger.

use stemmata_model::{Entry, Event, FormatId, Part, Payload, SessionId, topics};
use stemmata_prompt::select::{
    ContextReader, Hit, Message, MessagePage, MessageQuery, MessagesOf, ReadOrder, RetrieveQuery, StateQuery,
    entry_text,
};
use stemmata_store::{EventQuery, Ledger, Order, PAGE_ROWS_MAX};

use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};

/// The topics of what was said in a session.
const TURN_TOPICS: [&str; 3] = [topics::USER_TURN, topics::ASSISTANT_TURN, topics::TOOL_EVENT];

/// Reads for one prompt.
pub(super) struct LedgerReader<'e> {
    engine: &'e Engine,
    ledger: &'e Ledger,
    session: Option<&'e SessionId>,
}

impl<'e> LedgerReader<'e> {
    pub(super) const fn new(engine: &'e Engine, ledger: &'e Ledger, session: Option<&'e SessionId>) -> Self {
        Self { engine, ledger, session }
    }
}

impl ContextReader for LedgerReader<'_> {
    type Error = EngineError;

    fn messages(&self, query: &MessageQuery) -> Result<MessagePage> {
        let topics = match &query.of {
            MessagesOf::Topic(topic) => vec![topic.clone()],
            MessagesOf::Turns => TURN_TOPICS.iter().copied().map(topics::topic).collect(),
        };
        let is_said = topics.iter().any(|topic| TURN_TOPICS.contains(&topic.as_str()));
        let mut asked = Some(EventQuery {
            topics,
            sender: query.sender.clone(),
            session: self.session.filter(|_| is_said).cloned(),
            since: query.since,
            after: query.after,
            through: query.through,
            replayable: Some(true),
            order: match query.order {
                ReadOrder::OldestFirst => Order::OldestFirst,
                ReadOrder::NewestFirst => Order::NewestFirst,
            },
            limit: query.limit.min(PAGE_ROWS_MAX),
            bytes_max: query.bytes_max,
            ..EventQuery::default()
        });
        let (mut messages, mut bytes) = (Vec::new(), 0_usize);
        while let Some(page_asked) = asked {
            let page = self.engine.log.page(&self.ledger.id, &page_asked)?;
            for event in &page.events {
                let Some(message) = message_of(event) else { continue };
                bytes = bytes.saturating_add(bytes_of(&message));
                messages.push(message);
            }
            asked = page_asked.following(&page);
            let is_stopped = bytes >= query.bytes_max && asked.is_some() && messages.len() < query.limit;
            if messages.len() >= query.limit || is_stopped {
                messages.truncate(query.limit);
                return Ok(MessagePage { messages, is_stopped });
            }
            if let Some(next) = &mut asked {
                next.limit = (query.limit - messages.len()).min(PAGE_ROWS_MAX);
            }
        }
        Ok(MessagePage { messages, is_stopped: false })
    }

    fn state(&self, query: &StateQuery) -> Result<Option<String>> {
        let at = query.through.map(stemmata_model::EventSeq::get);
        // What is folded of the present is saved; an earlier place is folded again.
        let at = at.filter(|at| *at < self.ledger.last);
        let known = self.engine.state_of(&self.ledger.id, at)?;
        let text = match &known.published {
            Some(published) if self.ledger.root.is_none() => published.text.clone(),
            _ => known.remembered.memory.text(query.chars_max),
        };
        Ok((!text.is_empty()).then_some(text))
    }

    fn retrieve(&self, query: &RetrieveQuery) -> Result<Vec<Hit>> {
        self.engine.retrieve(self.ledger, query)
    }
}

fn bytes_of(message: &Message) -> usize {
    message.text.as_ref().map_or(0, String::len)
        + message.data.as_ref().map_or(0, |data| data.to_string().len())
}

/// Returns what an event says; nothing for one whose payload is gone.
pub(super) fn message_of(event: &Event) -> Option<Message> {
    let Payload::Line { line, .. } = &event.payload else { return Message::of(event) };
    let format = FormatId::new("stemmata-v1").expect("a constant name is a name");
    let adapter = Engine::adapter(&format, FormatUse::Read).ok()?;
    let entry = adapter.decode(format!("{line}\n").as_bytes()).entries.into_iter().next()?;
    let (calls, answers) = tied(&entry);
    Some(Message {
        id: event.seq.to_string(),
        at: event.at,
        sender: event.sender.clone(),
        text: Some(entry_text(&entry)),
        data: None,
        calls,
        answers,
    })
}

/// Returns the calls that an entry makes, and those that it answers.
fn tied(entry: &Entry) -> (Vec<String>, Vec<String>) {
    let calls = entry.parts.iter().filter_map(|part| match part {
        Part::ToolCall { call_id, .. } => Some(call_id.clone()),
        _ => None,
    });
    (calls.collect(), entry.answers().map(str::to_owned).collect())
}
