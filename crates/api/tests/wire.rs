//! How wire types are read and written.

use proptest::prelude::*;
use stemmata_api::v1::{Event, Events, State};
use stemmata_api::{PageRequest, RawJson};

/// JSON texts as clients write them, with what a parsed value would lose: doubled keys, many digits, escapes.
fn raw_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("-0.0".to_owned()),
        "[1-9][0-9]{0,39}(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,4})?",
        Just(r#""\u00e9\/\n\ud83d\ude00""#.to_owned()),
        "\"[a-z ]{0,8}\"",
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(" ,"))),
            prop::collection::vec(("[ab]", inner), 0..4).prop_map(|members| {
                let members = members.into_iter().map(|(key, value)| format!("\"{key}\": {value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

fn events(raw: &str) -> String {
    format!(
        r#"{{"ledger":"l","events":[{{"event_seq":"1","session_id":"s","timestamp":"2026-02-01T03:40:03.827000Z","topic":"T","sender":"a","receiver":"b","payload":"plain","data":{raw},"metadata":{raw},"replayable":true}}],"last":"1"}}"#
    )
}

proptest! {
    #[test]
    fn raw_json_is_written_as_it_was_read(raw in raw_json()) {
        // An option takes `null` for absent: that is no JSON of the caller's.
        prop_assume!(raw != "null");
        let text = events(&raw);
        for read in [
            serde_json::from_str::<Events>(&text),
            serde_json::from_slice(text.as_bytes()),
            serde_json::from_reader(text.as_bytes()),
        ] {
            prop_assert_eq!(serde_json::to_string(&read.unwrap()).unwrap(), text.as_str());
        }
        let state = format!(r#"{{"ledger":"l","through":"1","transcripts":0,"memory":{raw},"notes":[]}}"#);
        let read: State = serde_json::from_str(&state).unwrap();
        prop_assert_eq!(read.memory.as_str(), raw.as_str());
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), state);
    }
}

#[test]
fn a_request_refuses_what_it_does_not_know_and_names_it() {
    let error = serde_json::from_str::<PageRequest>(r#"{"limit":3,"offset":4}"#).unwrap_err();
    assert!(error.to_string().starts_with("unknown field `offset`"), "{error}");
}

#[test]
fn a_response_takes_what_it_does_not_know_and_null_for_absent() {
    let known = events("[]").replace(r#""event_seq""#, r#""text":null,"later":{},"event_seq""#);
    let read: Events = serde_json::from_str(&known).unwrap();
    assert_eq!(read, serde_json::from_str(&events("[]")).unwrap());
    assert!(matches!(read.events.as_slice(), [Event { text: None, .. }]));
}

#[test]
fn what_is_no_json_is_refused() {
    for text in ["", "{", "1 2", "{'a':1}", "nul"] {
        assert!(RawJson::parse(text).is_err(), "{text}");
    }
    assert_eq!(RawJson::parse(" {\"b\" : 1} ").unwrap().as_str(), "{\"b\" : 1}");
}
