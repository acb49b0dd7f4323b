//! Values that are not what their fields want, in each request that has such a field: which problem answers them.

use std::fmt::Debug;
use std::ops::ControlFlow;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stemmata_api::v1::{self, CheckpointRequest};
use stemmata_api::{Answer, Control, Problem, Service, read_request};

use crate::Stage;

/// A text that no name may be, no id, no time and no number.
const NAME: &str = "a\nb";
const ID: &str = "ctx-?";
const TIME: &str = "soon";
const SEQ: &str = "07";

/// Sends a request.
type Ask = fn(&dyn Service, &[u8]) -> Box<Problem>;

fn refused<Q: DeserializeOwned, A: Debug>(json: &[u8], act: impl FnOnce(&Q) -> Answer<A>) -> Box<Problem> {
    read_request(json).and_then(|request| act(&request)).expect_err("it is refused")
}

/// A request that nothing is wrong with but what a row puts into it, and the rows: where, the value, the code and the beginning of
/// what is said.
struct Case {
    ask: Ask,
    good: Value,
    rows: Vec<(&'static str, Value, &'static str, &'static str)>,
}

fn case(ask: Ask, good: Value, rows: &[(&'static str, Value, &'static str, &'static str)]) -> Case {
    Case { ask, good, rows: rows.to_vec() }
}

fn bad_name(at: &'static str, says: &'static str) -> (&'static str, Value, &'static str, &'static str) {
    (at, json!(NAME), "bad_name", says)
}

fn bad_time(at: &'static str) -> (&'static str, Value, &'static str, &'static str) {
    (at, json!(TIME), "bad_time", "`soon` is not a timestamp such as")
}

fn of_ledger(ask: Ask, rest: Value) -> Case {
    let mut good = json!({ "ledger": "l" });
    let Value::Object(rest) = rest else { panic!("{rest} is no object") };
    good.as_object_mut().expect("an object").extend(rest);
    case(ask, good, &[bad_name("/ledger", "ledger holds a control character at byte 1")])
}

fn chains() -> Vec<Case> {
    let checkpoint = json!({
        "commit_type": "delta", "format": "f-v1", "template": "t", "session": "s", "trigger": "explicit",
        "artifact": format!("art-{}", "0".repeat(64)), "principal": "p", "machine": "m", "ticket": "k", "thread": "h", "ledger": "l",
        "created_at": "2026-02-01T03:40:03Z", "restated_entries": 0,
    });
    vec![
        case(
            |local, json| refused(json, |request| local.short_ids(request)),
            json!({ "ids": [MISSING_ID], "sessions": ["s"] }),
            &[
                ("/ids/0", json!(ID), "bad_id", "`ctx-?` is not an id: `ctx-` wants 26 to 26 characters"),
                bad_name("/sessions/0", "session holds a control character"),
            ],
        ),
        case(
            |local, json| refused(json, |request| local.resolve(request)),
            json!({ "scope": { "principal": "p" }, "at": "2026-02-01T03:40:03Z" }),
            &[bad_name("/scope/principal", "principal holds a control character"), bad_time("/at")],
        ),
        case(
            |local, json| {
                refused(json, |request: &CheckpointRequest| local.checkpoint(request, &mut std::io::empty()))
            },
            checkpoint,
            &[
                (
                    "/artifact",
                    json!("art-?"),
                    "bad_id",
                    "`art-?` is not an id: `art-` wants 64 to 64 characters",
                ),
                bad_name("/format", "format holds a control character"),
                bad_name("/template", "template holds a control character"),
                bad_name("/principal", "principal holds a control character"),
                bad_name("/machine", "machine holds a control character"),
                bad_name("/session", "session holds a control character"),
                bad_name("/ticket", "ticket holds a control character"),
                bad_name("/thread", "thread holds a control character"),
                bad_name("/ledger", "ledger holds a control character"),
                bad_time("/created_at"),
            ],
        ),
        case(
            |local, json| refused(json, |request| local.sessions(request)),
            json!({ "page": {}, "since": null, "until": null }),
            &[bad_time("/since"), bad_time("/until")],
        ),
        case(
            |local, json| refused(json, |request| local.stats(request, &Control::none())),
            json!({ "by": "day", "since": null, "until": null }),
            &[bad_time("/since"), bad_time("/until")],
        ),
        case(
            |local, json| refused(json, |request| local.search(request, &Control::none())),
            json!({ "text": "x", "filter": { "since": null, "until": null }, "form": "words" }),
            &[bad_time("/filter/since"), bad_time("/filter/until")],
        ),
    ]
}

/// The id of a commit that no store has.
const MISSING_ID: &str = crate::MISSING;

fn given_back() -> Vec<Case> {
    let placement = json!({
        "ctx": MISSING_ID, "session_id": "s", "machine": "m", "path": "/p", "format": "f-v1", "taken_bytes": 0,
        "taken_lines": 0, "placed_bytes": 0, "messages": 0, "hash": "0".repeat(64), "taken_in_by_client": false,
        "written": { "device": 0, "inode": 0, "modified_ns": "0" }, "cwd": "/",
    });
    vec![
        case(
            |local, json| refused(json, |request| local.record_placement(request)),
            placement,
            &[
                ("/ctx", json!(ID), "bad_id", "`ctx-?` is not an id"),
                bad_name("/session_id", "session holds a control character"),
                bad_name("/machine", "machine holds a control character"),
                bad_name("/format", "format holds a control character"),
                ("/hash", json!("0"), "bad_request", "`hash`: "),
                ("/written/modified_ns", json!("x"), "bad_request", "`modified_ns`: "),
            ],
        ),
        case(
            |local, json| refused(json, |request| local.read_artifact(request)),
            json!({ "artifact": "" }),
            &[
                ("/artifact", json!("art-0"), "bad_id", "`art-0` is not a whole artifact id"),
                ("/artifact", json!("x"), "bad_id", "`x` does not start with `art-`"),
            ],
        ),
    ]
}

fn ledgers() -> Vec<Case> {
    let seq = |at| (at, json!(SEQ), "bad_request", "");
    let named = |at| (at, json!(NAME), "bad_request", "");
    vec![
        of_ledger(|local, json| refused(json, |request| local.ledger(request)), json!({})),
        of_ledger(|local, json| refused(json, |request| local.adopt(request)), json!({ "folder": "/f" })),
        of_ledger(|local, json| refused(json, |request| local.disown(request)), json!({ "folder": "/f" })),
        of_ledger(
            |local, json| refused(json, |request| local.append(request)),
            json!({ "events": [], "durability": "batch" }),
        ),
        case(
            |local, json| refused(json, |request| local.append(request)),
            json!({ "ledger": "l", "events": [{ "topic": "T" }], "durability": "batch", "expected": "0" }),
            &[
                ("/expected", json!("x"), "bad_request", "`expected`: `x` is not a number of an event"),
                ("/events/0/topic", json!(NAME), "bad_request", "`events`: event 1: topic holds a control"),
            ],
        ),
        of_ledger(|local, json| refused(json, |request| local.events(request)), json!({})),
        case(
            |local, json| {
                begun(local);
                refused(json, |request| local.events(request))
            },
            json!({ "ledger": "l", "topics": ["T"] }),
            &[
                seq("/after"),
                seq("/through"),
                bad_time("/since"),
                bad_time("/until"),
                named("/topics/0"),
                named("/sender"),
                named("/receiver"),
                named("/session"),
            ],
        ),
        of_ledger(|local, json| refused(json, |request| follow(local, request)), json!({ "from": "now" })),
        case(
            |local, json| {
                begun(local);
                refused(json, |request| follow(local, request))
            },
            json!({ "ledger": "l", "topics": ["T"], "from": { "after": "1" } }),
            &[
                ("/from/after", json!(SEQ), "bad_request", "`from`: `07` is not a sequence number"),
                named("/topics/0"),
                named("/sender"),
                named("/receiver"),
                named("/session"),
            ],
        ),
        case(
            |local, json| refused(json, |request| local.plan_forget_events(request)),
            json!({ "ledger": "l", "session": null, "events": ["1"] }),
            &[
                bad_name("/ledger", "ledger holds a control character"),
                named("/session"),
                ("/events/0", json!(SEQ), "bad_request", "`events`: `07` is not a sequence number"),
            ],
        ),
    ]
}

fn states() -> Vec<Case> {
    vec![
        of_ledger(|local, json| refused(json, |request| local.state(request)), json!({})),
        of_ledger(|local, json| refused(json, |request| local.decisions(request)), json!({})),
        of_ledger(|local, json| refused(json, |request| local.tasks(request)), json!({})),
        of_ledger(
            |local, json| refused(json, |request| local.decide(request)),
            json!({ "text": "x", "kind": "fact" }),
        ),
        of_ledger(|local, json| refused(json, |request| local.finish_task(request)), json!({ "task": "x" })),
        of_ledger(
            |local, json| refused(json, |request| local.close_thread(request)),
            json!({ "thread": "x" }),
        ),
        of_ledger(
            |local, json| refused(json, |request| local.replay(request, &Control::none())),
            json!({ "check": true }),
        ),
        of_ledger(
            |local, json| refused(json, |request| local.restore_state(request)),
            json!({ "repair": false }),
        ),
    ]
}

fn follow(local: &dyn Service, request: &v1::FollowRequest) -> Answer<v1::Followed> {
    local.follow(request, &mut |_| ControlFlow::Break(()), &Control::none())
}

/// Makes the ledger that is asked about.
fn begun(local: &dyn Service) {
    let append = json!({ "ledger": "l", "events": [{ "topic": "T" }], "durability": "batch" });
    let append = read_request(append.to_string().as_bytes()).expect("a request");
    local.append(&append).expect("appended");
}

#[test]
fn each_wrong_value_of_each_request_is_answered_with_its_code() {
    let stage = Stage::new();
    let cases = [chains(), given_back(), ledgers(), states()].into_iter().flatten();
    for Case { ask, good, rows } in cases {
        for (at, value, code, says) in rows {
            let mut json = good.clone();
            let (parent, field) = at.rsplit_once('/').expect("a place");
            let holder = json.pointer_mut(parent).expect("its holder");
            match holder {
                Value::Array(items) => items[0] = value,
                other => other[field] = value,
            }
            let problem = ask(stage.service.as_ref(), json.to_string().as_bytes());
            assert_eq!(problem.code, code, "{at} of {json}: {problem:?}");
            assert!(problem.detail.starts_with(says), "{at} of {json}: {}", problem.detail);
            // A list is named, and not what stands in it. What the service reads as text itself may name no field.
            let path = at.trim_start_matches('/').trim_end_matches("/0").replace('/', ".");
            let named = problem.about.get("field");
            assert!(
                named.is_none_or(|named| *named == path) || code == "bad_request",
                "{at} of {json}: {named:?}"
            );
        }
    }
}
