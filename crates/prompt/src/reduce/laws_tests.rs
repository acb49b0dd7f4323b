//! The laws that every reducer keeps, and the events that they are tried with.

use proptest::prelude::*;
use serde_json::{Value, json};
use stemmata_model::{
    ArtifactId, Event, EventSeq, Gone, Json, LedgerId, Party, Payload, SessionId, Timestamp, Topic, topics,
};

use super::snapshot::{SENDER, StateSnapshotter};
use super::{Reducer, restore};

/// Makes an event; its time follows from its place.
pub(crate) fn event(seq: u64, session: &str, topic: &str, payload: Payload) -> Event {
    let party = |name: &str| Party::new(name).expect("a name");
    // Whose snapshots they are is asked for.
    let sender = if topic == topics::STATE_SNAPSHOT { SENDER } else { "agent" };
    Event {
        seq: EventSeq::new(seq).expect("a place"),
        session: SessionId::new(session).expect("a name"),
        at: Timestamp::from_micros(1_790_000_000_000_000 + i64::try_from(seq).expect("small") * 1_000_000),
        topic: Topic::new(topic).expect("a name"),
        sender: party(sender),
        receiver: party("broadcast"),
        payload,
        metadata: None,
        replayable: true,
    }
}

/// Makes a payload of text and data.
pub(crate) fn plain(text: &str, data: &Value) -> Payload {
    Payload::Plain { text: Some(text.to_owned()), data: Some(Json::of(data)) }
}

/// Words that reducers look for, and what they must stand.
const WORDS: [&str; 22] = [
    "let's use",
    "instead of",
    "decided to",
    "always",
    "never",
    "- [ ]",
    "- [x]",
    "```",
    "error:",
    "failed",
    "src/a.rs",
    "cargo test",
    "\n",
    ". ",
    "ö",
    "\u{1f3fa}",
    "<system-reminder>",
    "we'll go with",
    "from now on",
    "no, use",
    "left for later.",
    "which one is it?",
];

fn text() -> impl Strategy<Value = String> {
    let words = prop::collection::vec(prop::sample::select(&WORDS[..]), 0..12);
    prop_oneof![6 => words.prop_map(|words| words.join(" ")), 2 => ".{0,80}", 1 => "[xä]{2600}"]
}

/// Data of events: keys that reducers read, with values that they expect and others.
pub(crate) fn data() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
        Just(json!("true")),
        Just(json!("task_done")),
        Just(json!("task")),
        Just(json!("thread")),
        Just(json!("thread_closed")),
    ];
    let keys = prop::sample::select(vec![
        "title",
        "issue_number",
        "summary",
        "acceptanceCriteria",
        "filesAffected",
        "completionStatus",
        "canValidate",
        "percentComplete",
        "blockers",
        "nextSteps",
        "approved",
        "errors",
        "issues",
        "criteriaResults",
        "evidence",
        "exitCode",
        "rootCauses",
        "cause",
        "id",
        "version",
        "plan",
        "updatedAt",
        "decision",
        "kind",
        "supersedes",
        "reason",
    ]);
    leaf.prop_recursive(3, 40, 12, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..24).prop_map(Value::from),
            prop::collection::vec((keys.clone(), inner), 0..8).prop_map(|pairs| Value::Object(
                pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            )),
        ]
    })
}

fn line() -> impl Strategy<Value = Json> {
    let part = prop_oneof![
        text().prop_map(|text| json!({ "type": "text", "text": text })),
        (0..4, prop::sample::select(vec!["Bash", "Write", "Edit", "TodoWrite", "exec_command", "read"]), text(), data()).prop_map(
            |(call, name, command, other)| {
                let arguments = json!({ "command": command, "file_path": "src/a.rs", "content": "x", "todos": other });
                json!({ "type": "tool_call", "call_id": format!("c{call}"), "name": name, "arguments": arguments.to_string() })
            }
        ),
        (0..4, any::<bool>(), text()).prop_map(|(call, is_error, text)| {
            json!({ "type": "tool_result", "call_id": format!("c{call}"), "is_error": is_error, "parts": [{ "type": "text", "text": text }] })
        }),
        data(),
    ];
    let role = prop::sample::select(vec!["user", "assistant", "tool", "system"]);
    let lines = (role, prop::collection::vec(part, 0..4))
        .prop_map(|(role, parts)| json!({ "v": "stemmata-v1", "role": role, "parts": parts }));
    prop_oneof![6 => lines, 1 => data()].prop_map(|value| Json::of(&value))
}

fn payload() -> impl Strategy<Value = Payload> {
    let json = data().prop_map(|value| Json::of(&value));
    let id = ArtifactId::from_bytes([1; 32]);
    prop_oneof![
        6 => (prop::option::of(text()), prop::option::of(json)).prop_map(|(text, data)| Payload::Plain { text, data }),
        4 => line().prop_map(move |line| Payload::Line { id, line }),
        1 => Just(Payload::Gone(Gone { hash: id, bytes: 3, forgotten: true })),
    ]
}

/// Any stream of events, with places that rise by one.
pub(crate) fn streams() -> impl Strategy<Value = Vec<Event>> {
    let topic = prop::sample::select(vec![
        topics::USER_TURN,
        topics::ASSISTANT_TURN,
        topics::TOOL_EVENT,
        topics::STATUS_EVENT,
        topics::DECISION_EVENT,
        topics::ERROR_EVENT,
        topics::ISSUE_OPENED,
        topics::PLAN_READY,
        topics::WORKER_PROGRESS,
        topics::IMPLEMENTATION_READY,
        topics::VALIDATION_RESULT,
        topics::INVESTIGATION_COMPLETE,
        topics::STATE_SNAPSHOT,
        topics::SESSION_STARTED,
        topics::COMPACTION_END,
        "POTTERY",
    ]);
    let one = (topic, prop::sample::select(vec!["s1", "s2", "s3"]), payload(), prop::option::of(data()));
    prop::collection::vec(one, 0..30).prop_map(|rows| {
        let numbered = (1..).zip(rows).map(|(seq, (topic, session, payload, metadata))| {
            let mut event = event(seq, session, topic, payload);
            event.metadata = metadata.map(|value| Json::of(&value));
            event
        });
        numbered.collect()
    })
}

fn fold<R: Reducer>(mut reducer: R, events: &[Event]) -> R {
    for event in events {
        reducer.apply(event);
    }
    reducer
}

fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(fields) => fields.values().any(has_float),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Checks all laws of [`Reducer`] for one stream.
pub(crate) fn check<R: Reducer>(events: &[Event], bytes_max: usize) -> Result<(), TestCaseError> {
    let ledger = LedgerId::new("ledger").expect("a name");
    let whole = fold(R::new(&ledger), events).save();
    prop_assert_eq!(&fold(R::new(&ledger), events).save(), &whole, "the same events, the same bytes");
    prop_assert!(!has_float(&whole.to_value()), "no floats: {}", whole);
    prop_assert_eq!(&Json::of(&whole.to_value()), &whole, "sorted keys");
    prop_assert!(whole.as_str().len() <= bytes_max, "{} bytes", whole.as_str().len());
    for cut in 0..=events.len() {
        let (head, tail) = events.split_at(cut);
        let saved = fold(R::new(&ledger), head).save();
        let (loaded, why) = restore::<R>(&ledger, Some((R::VERSION, &saved)));
        prop_assert_eq!(why, None, "what was saved can be loaded: {}", saved);
        prop_assert_eq!(&loaded.save(), &saved, "loading changes nothing");
        prop_assert_eq!(&fold(loaded, tail).save(), &whole, "cut at {}", cut);
    }
    let (begun, why) = restore::<R>(&ledger, Some((R::VERSION + 1, &whole)));
    prop_assert!(why.is_some(), "another version is refused");
    prop_assert_eq!(begun.save(), R::new(&ledger).save());
    Ok(())
}

/// Checks that any JSON is read or refused, and that what is read is what would be written.
pub(crate) fn check_nonsense<R: Reducer>(value: &Value) -> Result<(), TestCaseError> {
    let ledger = LedgerId::new("ledger").expect("a name");
    if let Ok(read) = R::load(&ledger, R::VERSION, &Json::of(value)) {
        prop_assert_eq!(&read.save().to_value(), value);
    }
    Ok(())
}

/// Bytes of a snapshotter's state at most: the sum of its limits, each character four bytes and each quoted.
const SNAPSHOT_BYTES_MAX: usize = 100_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(2)))]

    #[test]
    fn the_snapshotter_keeps_the_laws(events in streams()) {
        check::<StateSnapshotter>(&events, SNAPSHOT_BYTES_MAX)?;
    }

    #[test]
    fn the_snapshotter_reads_what_it_wrote_or_refuses(value in data()) {
        check_nonsense::<StateSnapshotter>(&value)?;
    }

    #[test]
    fn a_snapshot_leads_to_the_state_that_it_was_made_of(events in streams()) {
        let ledger = LedgerId::new("ledger").expect("a name");
        let mut state = StateSnapshotter::new(&ledger);
        for each in &events {
            let Some(published) = state.step(each) else { continue };
            let payload = Payload::Plain { text: Some(published.text), data: Some(published.data) };
            let snapshot = event(1_000, "s", topics::STATE_SNAPSHOT, payload);
            let (begun, again) = StateSnapshotter::bootstrap(&ledger, &[each.clone(), snapshot]);
            prop_assert_eq!((&begun, again), (&state, None));
        }
    }
}
