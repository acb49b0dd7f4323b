//! Cases of what a source selects and how it is rendered.
//!
//! The messages are a list; the reader over it answers as a ledger would.

use std::convert::Infallible;

use serde_json::{Value, json};
use stemmata_model::{EventSeq, Json, Party, Timestamp, Tokens, Topic};

use super::CaseVerdict;
use super::context::{list, text};
use stemmata_prompt::select::{
    ContextReader, Hit, Message, MessagePage, MessageQuery, MessagesOf, ReadOrder, RetrieveQuery, Scope,
    StateQuery, gather, topic_text,
};
use stemmata_prompt::strategy::{
    Anchors, DocumentFormat, MAX_TOKENS_DEFAULT, Since, Source, SourceTopic, Strategy, parse,
};

/// Messages of one topic in memory, each at its place in the ledger.
struct Listed {
    topic: Topic,
    messages: Vec<Message>,
}

impl ContextReader for Listed {
    type Error = Infallible;

    fn messages(&self, query: &MessageQuery) -> Result<MessagePage, Infallible> {
        let seq = |place: usize| u64::try_from(place + 1).ok().and_then(EventSeq::new);
        let is_asked = |(place, message): &(usize, &Message)| {
            query.sender.as_ref().is_none_or(|sender| *sender == message.sender)
                && query.since.is_none_or(|since| message.at >= Some(since))
                && query.after.is_none_or(|after| seq(*place) > Some(after))
                && query.through.is_none_or(|through| seq(*place) <= Some(through))
        };
        let is_own = query.of == MessagesOf::Topic(self.topic.clone());
        let asked = self.messages.iter().enumerate().filter(is_asked).filter(|_| is_own);
        let mut messages: Vec<Message> = asked.map(|(_, message)| message.clone()).collect();
        if query.order == ReadOrder::NewestFirst {
            messages.reverse();
        }
        messages.truncate(query.limit);
        Ok(MessagePage { messages, is_stopped: false })
    }

    fn state(&self, _: &StateQuery<'_>) -> Result<Option<String>, Infallible> {
        Ok(None)
    }

    fn retrieve(&self, _: &RetrieveQuery<'_>) -> Result<Vec<Hit>, Infallible> {
        Ok(Vec::new())
    }
}

fn message_of(message: &Value) -> Result<Message, String> {
    let content = message.get("content");
    let content = |field: &str| content.and_then(|content| content.get(field));
    Ok(Message {
        id: text(message, "id")?.to_owned(),
        at: Some(time(message.get("timestamp"))?),
        sender: Party::new(text(message, "sender")?).map_err(|error| error.to_string())?,
        text: content("text").and_then(Value::as_str).map(str::to_owned),
        data: content("data").filter(|data| !data.is_null()).map(Json::of),
        calls: Vec::new(),
        pieces: Vec::new(),
        answers: Vec::new(),
        images: Vec::new(),
    })
}

fn messages_of(messages: &Value) -> Result<Vec<Message>, String> {
    list(messages)?.iter().map(message_of).collect()
}

fn time(millis: Option<&Value>) -> Result<Timestamp, String> {
    let micros = millis.and_then(Value::as_i64).and_then(|millis| millis.checked_mul(1_000));
    micros.map(Timestamp::from_micros).ok_or_else(|| "no time in milliseconds".to_owned())
}

pub(super) fn selection_cases(group: &str, cases: &Value) -> Result<Vec<CaseVerdict>, String> {
    let messages = cases.get("messages").ok_or("no messages")?;
    let first = list(messages)?.first().ok_or("no messages")?;
    let name = text(first, "topic")?;
    let topic = Topic::new(name).map_err(|error| error.to_string())?;
    let reader = Listed { topic, messages: messages_of(messages)? };
    let last_start = time(cases.get("lastAgentStartTime"))?;
    let anchors = Anchors {
        cluster_start: time(cases.get("clusterCreatedAt"))?,
        last_task_end: time(cases.get("lastTaskEndTime"))?,
        // What the engine gives: right after the start.
        last_agent_start: Timestamp::from_micros(last_start.as_micros().saturating_add(1)),
    };
    let verdicts = list(cases.get("cases").ok_or("no cases")?)?.iter().map(|case| {
        let found = selected(case.get("source").ok_or("a case without a source")?, &reader, anchors);
        let fields = ["packId", "priority", "full", "compact"];
        let expected = match case.get("error").and_then(Value::as_str) {
            Some(error) => json!({"error": choices(error)}),
            None => fields.iter().map(|field| ((*field).to_owned(), case[*field].clone())).collect(),
        };
        Ok(CaseVerdict::of(format!("{group}/{}", text(case, "name")?), &expected, &found))
    });
    verdicts.collect()
}

/// Returns the choices that an error names: its wording is ours, what it offers is the source's.
fn choices(error: &str) -> Vec<&'static str> {
    let names = Since::NAMES.into_iter().chain(["ISO time"]);
    names.filter(|name| error.contains(name)).collect()
}

/// Runs a source as a strategy's: its JSON is parsed as anybody's.
fn selected(source: &Value, reader: &Listed, anchors: Anchors) -> Value {
    let mut source = source.clone();
    if let Some(fields) = source.as_object_mut() {
        fields.insert("topic".to_owned(), json!(reader.topic.as_str()));
    }
    let strategy = json!({"contextStrategy": {"sources": [source]}}).to_string();
    let strategy = match parse(&strategy, DocumentFormat::of(&strategy)) {
        Ok(strategy) => strategy,
        Err(error) => return json!({"error": choices(&error.to_string())}),
    };
    let scope = Scope {
        state: "",
        anchors,
        max_tokens: MAX_TOKENS_DEFAULT,
        after: None,
        through: None,
        trigger: None,
        task: "",
        told: &[],
    };
    let Strategy { sources, max_tokens: Tokens(_) } = strategy;
    let Some(source) = sources.first() else { return Value::Null };
    let Ok(found) = gather(source, &scope, reader);
    let mut items: Vec<&stemmata_prompt::select::Item> = found.items.iter().collect();
    items.sort_by_key(|item| reader.messages.iter().position(|message| message.id == item.id));
    let ids = |is_in: fn(&stemmata_prompt::select::Item) -> bool| -> Vec<&str> {
        items.iter().filter(|item| is_in(item)).map(|item| item.id.as_str()).collect()
    };
    json!({
        "packId": source_name(source),
        "priority": source.priority().as_str(),
        "full": ids(|item| item.in_full),
        "compact": ids(|item| item.in_compact),
    })
}

fn source_name(source: &Source) -> String {
    format!("source:{}:0", source.topic.as_str())
}

/// The file has one text of the last two messages, and the id of the pack.
pub(super) fn render_case(group: &str, case: &Value, messages: &Value) -> Result<Vec<CaseVerdict>, String> {
    let messages = messages_of(messages)?;
    let expected = text(case, "exact")?;
    let shown: Vec<Message> = messages
        .into_iter()
        .filter(|message| message.text.as_deref().is_some_and(|text| expected.contains(text)))
        .collect();
    let topic = text(case, "id")?.split(':').nth(1).unwrap_or_default();
    let topic = SourceTopic::Ledger(Topic::new(topic).map_err(|error| error.to_string())?);
    let found = topic_text(topic.as_str(), &shown);
    Ok(vec![CaseVerdict::of(format!("{group}/exact"), &json!(expected), &json!(found))])
}
