//! Snapshots by example: limits, what changes nothing, where they begin.

use serde_json::json;
use stemmata_model::{ArtifactId, Gone};

use super::*;
use crate::reduce::laws_tests::{event, plain};

fn ledger() -> LedgerId {
    LedgerId::new("kiln").expect("a name")
}

fn told(topic: &str, text: &str, data: &Value) -> Event {
    event(7, "s", topic, plain(text, data))
}

fn section(topic: &str, text: &str, data: &Value) -> Value {
    let mut state = StateSnapshotter::new(&ledger());
    state.step(&told(topic, text, data));
    let mut data = state.data();
    let key = Section::of_topic(topic).expect("a trigger").key();
    let mut section = data[key].take();
    if let Some(fields) = section.as_object_mut() {
        fields.remove("updatedAt");
    }
    section
}

#[test]
fn each_topic_fills_its_section_within_its_limits() {
    let long = "ä".repeat(2_600);
    let cut = |chars: usize| format!("{}...", "ä".repeat(chars - 3));
    let many: Vec<String> = (0..30).map(|n| format!("item  {n}")).collect();
    let last = |count: usize| (30 - count..30).map(|n| format!("item {n}")).collect::<Vec<_>>();
    for (topic, text, data, expected) in [
        (
            topics::ISSUE_OPENED,
            long.as_str(),
            json!({ "title": long, "issueNumber": 4 }),
            json!({ "raw": cut(2_000), "title": cut(300), "issueNumber": 4 }),
        ),
        (topics::ISSUE_OPENED, " \n", json!({ "title": null }), Value::Null),
        (
            topics::ISSUE_OPENED,
            "a\n b ",
            json!({ "title": " c\n\td " }),
            json!({ "raw": "a\n b", "title": "c d" }),
        ),
        (
            topics::PLAN_READY,
            &long,
            json!({ "summary": long, "filesAffected": many }),
            json!({ "text": cut(2_500), "summary": cut(300), "filesAffected": last(20) }),
        ),
        (
            topics::PLAN_READY,
            "",
            json!({ "acceptanceCriteria": ["one", { "id": "A", "priority": "MUST", "criterion": "two" }, { "id": 3, "text": "three" }, { "summary": long }, {}, 5, null] }),
            json!({ "acceptanceCriteria": ["one", "A (MUST): two", "3: three", cut(200)] }),
        ),
        (
            topics::WORKER_PROGRESS,
            "at  work",
            json!({ "canValidate": "true", "percentComplete": 33.4, "blockers": many, "nextSteps": many }),
            json!({ "canValidate": true, "percentComplete": 33, "blockers": last(5), "nextSteps": last(10), "lastSummary": "at work" }),
        ),
        (
            topics::IMPLEMENTATION_READY,
            "",
            json!({ "completionStatus": { "summary": "by data", "canValidate": "maybe" } }),
            json!({ "lastSummary": "by data" }),
        ),
        (topics::WORKER_PROGRESS, "no status", json!({ "foo": 1 }), Value::Null),
        (
            topics::VALIDATION_RESULT,
            "",
            json!({ "approved": "false", "errors": many, "issues": ["not read"] }),
            json!({ "approved": false, "errors": last(5) }),
        ),
        (
            topics::VALIDATION_RESULT,
            "",
            json!({ "approved": 1, "issues": [{ "message": "m" }, {}, { "bug": "b", "error": "e" }, 7] }),
            json!({ "errors": ["m", "b"] }),
        ),
        (
            topics::VALIDATION_RESULT,
            "",
            json!({ "criteriaResults": [{ "id": 1, "status": "PASS", "evidence": { "command": "make\n test", "exitCode": 0, "output": "…" } }, { "evidence": {} }] }),
            json!({ "criteriaResults": [{ "id": "1", "status": "PASS", "evidence": { "command": "make test", "exitCode": 0 } }] }),
        ),
        (
            topics::INVESTIGATION_COMPLETE,
            &long,
            json!({ "successCriteria": "green", "rootCauses": ["a", { "cause": "b" }, { "description": "c" }, 1] }),
            json!({ "fixPlan": cut(1_200), "successCriteria": "green", "rootCauses": ["a", "b", "c"] }),
        ),
    ] {
        assert_eq!(section(topic, text, &data), expected, "{topic} {data}");
    }
}

#[test]
fn the_text_says_the_sections_that_are_there() {
    let mut state = StateSnapshotter::new(&ledger());
    assert_eq!(state.text(), "");
    for (topic, text, data, expected) in [
        (topics::VALIDATION_RESULT, "", json!({ "approved": null }), "Validation: pending"),
        (topics::ISSUE_OPENED, "fire\nthe kiln", json!({}), "Task: fire the kiln\nValidation: pending"),
        (
            topics::WORKER_PROGRESS,
            "",
            json!({ "canValidate": false }),
            "Task: fire the kiln\nProgress: canValidate=false\nValidation: pending",
        ),
        (
            topics::WORKER_PROGRESS,
            "half",
            json!({ "percentComplete": "50" }),
            "Task: fire the kiln\nValidation: pending",
        ),
        (
            topics::INVESTIGATION_COMPLETE,
            "",
            json!({ "successCriteria": "1200 °C" }),
            "Task: fire the kiln\nValidation: pending\nDebug: 1200 °C",
        ),
    ] {
        let published = state.step(&told(topic, text, &data));
        assert_eq!(published.map(|published| published.text).as_deref(), Some(expected), "{topic}");
    }
}

#[test]
fn what_changes_nothing_is_not_published_and_leaves_no_trace() {
    let mut state = StateSnapshotter::new(&ledger());
    let first = told(topics::PLAN_READY, "dig", &json!({ "summary": "s" }));
    assert!(state.step(&first).is_some());
    let before = state.clone();
    let mut later = told(topics::PLAN_READY, " dig ", &json!({ "summary": "s", "unknown": 1 }));
    (later.seq, later.at) = (EventSeq::new(99).expect("a place"), stemmata_model::Timestamp::from_micros(5));
    let gone = Gone { hash: ArtifactId::from_bytes([7; 32]), bytes: 9, forgotten: false };
    for event in [
        later,
        told(topics::WORKER_PROGRESS, "x", &json!({ "foo": 1 })),
        told("USER_TURN", "x", &json!({ "approved": true })),
        told(topics::ISSUE_OPENED, "", &json!({})),
        event(8, "s", topics::PLAN_READY, Payload::Gone(gone)),
    ] {
        assert_eq!(state.step(&event), None, "{event:?}");
        assert_eq!(state, before);
    }
}

#[test]
fn a_cluster_goes_on_from_its_last_snapshot() {
    let ledger = ledger();
    let mut state = StateSnapshotter::new(&ledger);
    let mut plan = told(topics::PLAN_READY, "dig", &json!({}));
    let published = state.step(&plan).expect("published");
    let mut snapshot = told(topics::STATE_SNAPSHOT, &published.text, &published.data.to_value());
    snapshot.seq = EventSeq::new(8).expect("a place");
    let (begun, again) = StateSnapshotter::bootstrap(&ledger, &[plan.clone(), snapshot.clone()]);
    assert_eq!((begun, again), (state.clone(), None));
    let by_another = Event { sender: plan.sender.clone(), ..snapshot.clone() };
    assert!(StateSnapshotter::is_snapshot(&snapshot) && !StateSnapshotter::is_snapshot(&by_another));

    plan.seq = EventSeq::new(9).expect("a place");
    plan.payload = plain("fill", &json!({}));
    let (begun, again) = StateSnapshotter::bootstrap(&ledger, &[plan.clone(), snapshot.clone()]);
    assert_eq!(
        again.map(|publication| publication.text).as_deref(),
        Some("Plan: fill"),
        "it came after the snapshot"
    );
    assert!(state.step(&plan).is_some());
    assert_eq!(begun, state);

    for nonsense in [json!({ "version": 2, "plan": { "text": "other" } }), json!([]), json!({ "plan": 1 })] {
        snapshot.payload = plain("", &nonsense);
        let (begun, _) = StateSnapshotter::bootstrap(&ledger, &[snapshot.clone(), plan.clone()]);
        assert_eq!(begun.text(), "Plan: fill", "the topics say it");
    }
}

#[test]
fn a_saved_state_of_another_kind_is_refused() {
    let ledger = ledger();
    let mut state = StateSnapshotter::new(&ledger);
    state.step(&told(topics::VALIDATION_RESULT, "", &json!({ "approved": true })));
    assert_eq!(StateSnapshotter::load(&ledger, 1, &state.save()), Ok(state.clone()));
    assert!(matches!(
        StateSnapshotter::load(&ledger, 2, &state.save()),
        Err(LoadError::Version { found: 2, expected: 1, .. })
    ));
    let mut other = state.data();
    other["clusterId"] = json!("pottery");
    let mut long = state.data();
    long["plan"] = json!({ "text": "x".repeat(3_000), "updatedAt": 1 });
    for nonsense in [json!(null), json!([1]), json!({}), other, long, json!({ "version": 1 })] {
        let loaded = StateSnapshotter::load(&ledger, 1, &Json::of(&nonsense));
        assert!(matches!(loaded, Err(LoadError::Nonsense { .. })), "{nonsense}");
    }
    let (begun, why) = crate::reduce::restore::<StateSnapshotter>(&ledger, Some((1, &Json::of(&json!(3)))));
    assert_eq!(begun, StateSnapshotter::new(&ledger));
    assert!(why.is_some_and(|why| why.to_string().contains("replay the ledger")));
}
