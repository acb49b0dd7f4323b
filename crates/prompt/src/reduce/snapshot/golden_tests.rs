//! What the implementation that the source document describes did, against what this one does.

use serde_json::{Value, json};
use stemmata_model::{Event, LedgerId, Payload};

use super::*;
use crate::reduce::laws_tests::event;

/// The vectors, where the folder of them is there.
fn vectors() -> Option<Value> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the corpus is no part of the project: tests may run without"
    )]
    let Some(root) = std::env::var_os("STEMMATA_CORPUS").map(std::path::PathBuf::from) else {
        println!("skipped: STEMMATA_CORPUS is not set");
        return None;
    };
    let path = root.join("../golden/zeroshot_context.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: no {}", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).expect("the vectors are JSON"))
}

/// Makes an event of a message of the source: `s4` has the place 4.
fn event_of(message: &Value) -> Event {
    let text = |key: &str| message[key].as_str().expect("a text").to_owned();
    let seq = text("id").trim_start_matches('s').parse().expect("a place");
    let json = |value: &Value| (!value.is_null()).then(|| Json::of(value));
    let payload = Payload::Plain {
        text: message["content"]["text"].as_str().map(str::to_owned),
        data: json(&message["content"]["data"]),
    };
    let mut event = event(seq, "session", &text("topic"), payload);
    event.at = stemmata_model::Timestamp::from_micros(message["timestamp"].as_i64().expect("a time") * 1_000);
    event.metadata = json(&message["metadata"]);
    event
}

/// Puts our ids in the place of the source's.
fn expected(data: &Value) -> Value {
    let mut data = data.clone();
    let id = data["sourceMessageId"].as_str().expect("an id").trim_start_matches('s').to_owned();
    data["sourceMessageId"] = json!(id);
    data
}

/// Deviations:
/// - `s4` says nothing that the state has: the source publishes, since it compares times too; we do not, and the state
///   keeps its time and source. So what the source holds after it differs from ours in these two.
/// - Lengths are counted in characters here, in UTF-16 units there; the vectors have none where that shows.
#[test]
fn the_source_s_vectors_of_snapshots() {
    let Some(vectors) = vectors() else { return };
    let ledger = LedgerId::new("c1").expect("a name");
    let mut state = StateSnapshotter::new(&ledger);
    let steps = vectors["stateSnapshot"].as_array().expect("steps");
    let mut latest = Vec::new();
    for step in steps {
        let event = event_of(&step["message"]);
        let published = state.step(&event);
        latest.retain(|before: &Event| before.topic != event.topic);
        latest.push(event);
        if step["message"]["id"] == "s4" {
            assert_eq!(published, None, "nothing of the state has changed");
            continue;
        }
        let published = published.expect("published");
        assert_eq!(published.text, step["text"].as_str().expect("a text"));
        assert_eq!(published.data.to_value(), expected(&step["data"]));
    }
    let (begun, published) = StateSnapshotter::bootstrap(&ledger, &latest);
    let published = published.expect("published");
    assert_eq!(published.data.to_value(), expected(&vectors["snapshotBootstrap"]["data"]));
    assert_eq!(published.text, vectors["snapshotBootstrap"]["text"].as_str().expect("a text"));
    assert_eq!(begun, state);
    let again = StateSnapshotter::bootstrap(&ledger, &latest);
    assert_eq!(again, (begun.clone(), Some(published)));
    let last = latest.last().expect("an event");
    assert_eq!(begun.clone().step(last), None, "what comes again publishes nothing");
}
