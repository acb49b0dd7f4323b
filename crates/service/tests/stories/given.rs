//! Entries that a program sends to be judged: what goes, why, and what is left; and that nothing of it is stored.

use serde_json::{Value, json};
use stemmata_api::v1::{GuardGiven, GuardReport, GuardRequest, SessionsRequest};
use stemmata_api::{Answer, Service};

use crate::{MISSING, Stage, code};

fn asked(more: &Value) -> GuardRequest {
    let mut request = json!({ "counter": "estimate" });
    for (name, value) in more.as_object().expect("an object") {
        request[name] = value.clone();
    }
    serde_json::from_value(request).expect("a request")
}

fn guard(service: &dyn Service, more: &Value) -> Answer<GuardReport> {
    service.guard(&asked(more))
}

/// A text of about so many tokens of four characters.
fn words(tokens: usize) -> String {
    "word".repeat(tokens)
}

fn said(id: &str, role: &str, text: &str) -> Value {
    json!({ "id": id, "role": role, "text": text })
}

/// A call and its result, in an entry each.
fn called(number: usize, output: &str) -> [Value; 2] {
    let id = format!("k{number}");
    let call = json!({ "id": id, "name": "bash", "input": { "c": format!("make {number}") } });
    let result = json!({ "id": id, "text": output });
    [
        json!({ "id": format!("a{number}"), "role": "assistant", "calls": [call] }),
        json!({ "id": format!("r{number}"), "role": "tool", "results": [result] }),
    ]
}

fn ids(given: &GuardGiven) -> Vec<&str> {
    given.entries.iter().map(|entry| entry.id.as_str()).collect()
}

#[test]
fn what_is_too_much_goes_with_a_reason_and_pairs_stay_whole() {
    let stage = Stage::new();
    let service: &dyn Service = stage.service.as_ref();
    let mut entries = vec![said("u1", "user", "make it faster")];
    entries.extend(called(1, &words(600)));
    entries.push(json!({ "id": "debug", "role": "assistant", "text": words(150), "hint": { "row": "temporary_debug_info" } }));
    entries.push(said("u2", "user", "and now the parser"));
    entries.push(json!({ "id": "rule", "role": "user", "text": words(100), "hint": { "essential": true } }));
    entries.extend(called(2, &words(100)));
    entries.push(said("u3", "user", "go on"));
    let request = json!({ "entries": entries, "window": 1_000 });
    let report = guard(service, &request).expect("judged");
    assert_eq!(report, guard(service, &request).expect("judged"), "the same entries give the same");
    let given = report.given.expect("what becomes of them");
    assert_eq!(
        (report.zone.as_str(), report.limit, report.limit_from.as_str()),
        ("critical", 1_000, "the request")
    );
    assert!(
        report.tokens > 950 && report.tokens_after <= report.target,
        "{} {}",
        report.tokens,
        report.tokens_after
    );
    let pruned: Vec<&str> = given.pruned.iter().map(|one| one.entry.as_str()).collect();
    assert!(pruned.contains(&"debug") && pruned.contains(&"a1") == pruned.contains(&"r1"), "{pruned:?}");
    assert!(given.pruned.iter().all(|one| !one.reason.is_empty() && one.tokens > 0), "{:?}", given.pruned);
    let left = ids(&given);
    assert!(["u1", "u2", "rule", "u3"].iter().all(|id| left.contains(id)), "{left:?}");
    assert_eq!(left.len() + pruned.len(), entries.len());
    assert!(given.may_call && given.cut.is_empty() && given.archived.is_empty());
    let decided: Vec<&str> =
        report.items.iter().filter(|item| item.decision == "prune").map(|item| item.entry.as_str()).collect();
    assert_eq!(decided, pruned, "the decisions say the same");
    assert_eq!((report.ctx, report.client), (None, None));
}

#[test]
fn large_outputs_are_cut_and_old_results_archived() {
    let stage = Stage::new();
    let service: &dyn Service = stage.service.as_ref();
    let mut entries = vec![said("u1", "user", "look")];
    for number in 1..=4 {
        entries.extend(called(number, &format!("output {number}")));
    }
    entries.extend(called(5, &"line\n".repeat(3_000)));
    let request = json!({
        "entries": entries, "window": 100_000, "limits": { "tool_call_cutoff": 2, "tool_summary": "heuristic" },
    });
    let report = guard(service, &request).expect("judged");
    let given = report.given.expect("what becomes of them");
    let cut = given.cut.first().expect("one is cut");
    assert_eq!((given.cut.len(), cut.entry.as_str(), cut.call.as_deref()), (1, "r5", Some("k5")));
    assert!(
        cut.reason.contains("3000 lines of at most 2000") || cut.reason.contains("lines of at most"),
        "{}",
        cut.reason
    );
    assert!(cut.before_chars == 15_000 && cut.after_chars < 15_000, "{cut:?}");
    let archived: Vec<&str> =
        given.archived.iter().flat_map(|one| &one.entries).map(stemmata_model::EntryId::as_str).collect();
    assert_eq!(archived, ["a1", "r1", "a2", "r2", "a3", "r3"]);
    let summary = given.archived.first().expect("one").summary.as_str();
    assert_eq!(ids(&given), ["u1", summary, "a4", "r4", "a5", "r5"]);
    let told = given.entries.get(1).and_then(|entry| entry.text.clone()).expect("a text");
    assert!(told.starts_with("[Tool outputs summary]") && told.contains("Count: 3"), "{told}");
    assert!(report.tokens_after < report.tokens && given.pruned.is_empty());
    let whole = given.entries.last().and_then(|entry| entry.results.first()).expect("a result");
    assert!(whole.text.contains("[tool output truncated: lines "), "{}", whole.text.len());
}

#[test]
fn a_beginning_is_compacted_where_that_is_due_and_asked_for() {
    let stage = Stage::new();
    let service: &dyn Service = stage.service.as_ref();
    let mut entries = Vec::new();
    for number in 1..=40 {
        entries.push(said(
            &format!("u{number}"),
            "user",
            &format!("question {number} about src/part{number}.rs"),
        ));
        entries.push(said(&format!("z{number}"), "assistant", &format!("{number} {}", words(200))));
    }
    entries.push(said("now", "user", "and the next one?"));
    let limits = json!({ "tokens": 10_000, "reserve_tokens": 3_000, "keep_recent_tokens": 2_000, "compact_with": "heuristic" });
    let due = guard(service, &json!({ "entries": entries, "limits": limits }))
        .expect("judged")
        .given
        .expect("given");
    assert!(
        due.compaction_due && due.compaction.is_none() && !due.pruned.is_empty(),
        "{}",
        due.compaction_reason
    );
    let report =
        guard(service, &json!({ "entries": entries, "limits": limits, "compacts": true })).expect("judged");
    let given = report.given.expect("what becomes of them");
    let made = given.compaction.as_ref().expect("a compaction");
    let first = given.entries.first().expect("an entry");
    assert_eq!((first.id.as_str(), first.kind.as_str()), (made.summary.as_str(), "compaction_summary"));
    assert!(first.text.as_ref().is_some_and(|text| text.starts_with("[Previous conversation summary]")));
    assert_eq!(made.covers.first().map(stemmata_model::EntryId::as_str), Some("u1"));
    assert_eq!(given.entries.last().map(|entry| entry.id.as_str()), Some("now"));
    assert!(made.tokens_after < made.tokens_before && report.tokens_after <= report.target, "{made:?}");
    assert_eq!(given.entries.len() + made.covers.len() + given.pruned.len(), entries.len() + 1);
}

#[test]
fn what_cannot_be_judged_is_refused_and_nothing_is_stored() {
    let stage = Stage::new();
    let service: &dyn Service = stage.service.as_ref();
    let entries = json!([said("u1", "user", &words(500)), { "role": "user", "text": "unnamed" }]);
    let sessions =
        || service.sessions(&serde_json::from_value::<SessionsRequest>(json!({})).expect("a request"));
    let before = sessions().expect("sessions");
    let overflow = guard(service, &json!({ "entries": entries, "window": 100 })).expect("judged");
    let given = overflow.given.expect("given");
    assert!(!given.may_call && given.entries.is_empty() && overflow.form.is_none(), "{given:?}");
    assert_eq!(overflow.overflow.and_then(|why| why.largest).map(|id| id.to_string()).as_deref(), Some("u1"));
    let named = guard(service, &json!({ "entries": entries, "window": 9_000 }))
        .expect("judged")
        .given
        .expect("given");
    assert_eq!(ids(&named), ["u1", "entry-2"], "an entry without an id has its place for one");
    let twice = json!([said("u1", "user", "a"), said("u1", "user", "b")]);
    for (request, wanted, word) in [
        (json!({}), "bad_request", "name a commit"),
        (json!({ "ctx": MISSING, "entries": [] }), "bad_request", "one of them is judged"),
        (json!({ "ctx": MISSING, "compacts": true }), "bad_request", "about `entries`"),
        (json!({ "entries": entries }), "window_bad", "not known"),
        (json!({ "entries": twice, "window": 9_000 }), "bad_request", "entry 2: another entry has its id"),
        (
            json!({ "entries": [{ "role": "user" }], "window": 9_000 }),
            "bad_request",
            "entry 1: it says nothing",
        ),
        (
            json!({ "entries": entries, "window": 9_000, "task": { "id": "a", "text": "x", "depends_on": ["a"] } }),
            "task_cycle",
            "circle",
        ),
    ] {
        let problem = guard(service, &request).expect_err("refused");
        assert_eq!(problem.code, wanted, "{request}: {}", problem.detail);
        assert!(problem.detail.contains(word), "{request}: {}", problem.detail);
    }
    assert_eq!(code(guard(service, &json!({ "ctx": MISSING }))), "commit_not_found");
    assert_eq!(sessions().expect("sessions"), before);
    let ledgers = service.ledgers(&serde_json::from_value(json!({})).expect("a request")).expect("ledgers");
    assert!(ledgers.ledgers.is_empty(), "{ledgers:?}");
}
