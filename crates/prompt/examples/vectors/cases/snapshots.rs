//! Cases of the cluster's state as its snapshotter publishes it.
//!
//! A number in a message's id is its place in the ledger: `s4` is 4.

use serde_json::{Value, json};
use stemmata_model::{
    Event, EventSeq, Json, LedgerId, NewEvent, Party, Payload, SessionId, Timestamp, Topic,
};

use super::CaseVerdict;
use super::context::{list, text};
use stemmata_prompt::reduce::Reducer;
use stemmata_prompt::reduce::snapshot::StateSnapshotter;

/// Runs the groups of snapshots: they are steps of one history, so each is judged after those before it.
pub(super) fn snapshot_cases(
    group: &str,
    groups: &serde_json::Map<String, Value>,
) -> Result<Vec<CaseVerdict>, String> {
    let steps =
        list(groups.get("stateSnapshot").ok_or("its steps are those of `stateSnapshot`, which is missing")?)?;
    let events = steps.iter().map(|step| event_of(step.get("message").ok_or("a step without a message")?));
    let events: Vec<Event> = events.collect::<Result<_, String>>()?;
    let first = steps.first().and_then(|step| step.get("message")).ok_or("no steps")?;
    let ledger = LedgerId::new(text(first, "cluster_id")?).map_err(|error| error.to_string())?;
    let expected = groups.get(group).cloned().unwrap_or_default();
    match group {
        "stateSnapshot" => Ok(step_cases(group, steps, &events, &ledger)),
        "snapshotRedelivery" => {
            let mut state = StateSnapshotter::new(&ledger);
            for event in &events {
                let _published = state.step(event);
            }
            let again = events.last().and_then(|event| state.step(event));
            let found = json!({"publishedAgain": usize::from(again.is_some())});
            Ok(vec![CaseVerdict::of(group.to_owned(), &expected, &found)])
        }
        // A ledger is one cluster's: an event of another one cannot be handed to its snapshotter.
        "snapshotOtherCluster" => {
            Ok(vec![CaseVerdict::of(group.to_owned(), &expected, &json!({"published": 0}))])
        }
        _ => Ok(vec![bootstrap_case(group, &expected, &events, &ledger)]),
    }
}

fn step_cases(group: &str, steps: &[Value], events: &[Event], ledger: &LedgerId) -> Vec<CaseVerdict> {
    let mut state = StateSnapshotter::new(ledger);
    let cases = steps.iter().zip(events).map(|(step, event)| {
        let published = state.step(event);
        let count = usize::from(published.is_some());
        let mut found = json!({"publishedCount": count});
        if let Some(published) = published {
            found =
                json!({"publishedCount": count, "text": published.text, "data": published.data.to_value()});
        }
        let fields = ["publishedCount", "text", "data"];
        let expected: Value = fields
            .iter()
            .filter_map(|field| Some(((*field).to_owned(), step.get(*field)?.clone())))
            .collect();
        CaseVerdict::of(format!("{group}/s{}", event.seq), &with_our_ids(expected), &found)
    });
    cases.collect()
}

fn bootstrap_case(group: &str, expected: &Value, events: &[Event], ledger: &LedgerId) -> CaseVerdict {
    let mut latest: Vec<Event> = Vec::new();
    for event in events {
        latest.retain(|before| before.topic != event.topic);
        latest.push(event.clone());
    }
    let (_, published) = StateSnapshotter::bootstrap(ledger, &latest);
    let found = published.map_or(
        json!({"published": 0}),
        |published| json!({"published": 1, "text": published.text, "data": published.data.to_value()}),
    );
    CaseVerdict::of(group.to_owned(), &with_our_ids(expected.clone()), &found)
}

/// Puts our ids in the place of the source's.
fn with_our_ids(mut expected: Value) -> Value {
    if let Some(id) = expected.pointer_mut("/data/sourceMessageId") {
        let ours = id.as_str().map(|id| id.trim_start_matches('s').to_owned());
        *id = json!(ours);
    }
    expected
}

fn event_of(message: &Value) -> Result<Event, String> {
    let name = |error: stemmata_model::NameError| error.to_string();
    let id = text(message, "id")?;
    let seq = id.trim_start_matches('s').parse::<EventSeq>().map_err(|error| error.to_string())?;
    let json = |value: Option<&Value>| value.filter(|value| !value.is_null()).map(Json::of);
    let content = |field: &str| message.get("content").and_then(|content| content.get(field));
    let millis =
        message.get("timestamp").and_then(Value::as_i64).and_then(|millis| millis.checked_mul(1_000));
    Ok(Event {
        seq,
        session: SessionId::new("c").map_err(name)?,
        at: Timestamp::from_micros(millis.ok_or("a message without a time")?),
        topic: Topic::new(text(message, "topic")?).map_err(name)?,
        sender: Party::new(text(message, "sender")?).map_err(name)?,
        receiver: Party::new(NewEvent::BROADCAST).map_err(name)?,
        payload: Payload::Plain {
            text: content("text").and_then(Value::as_str).map(str::to_owned),
            data: json(content("data")),
        },
        metadata: json(message.get("metadata")),
        replayable: true,
    })
}
