//! Compaction within turns, as a loop in any language meets it: its settings, and a model that writes summaries or fails to.

use serde_json::{Value, json};
use stemmata_testkit::model_server::{Answer, ModelServer};

use crate::stage::Stage;

/// Feeds a request of a turn of a session, and returns the answer.
fn turn(stage: &Stage, command: &str, (session, window): (&str, &Value), rest: &Value) -> Value {
    let mut request = json!({
        "turn": {"ledger": "c1", "session": session, "agent": "worker", "template": "fixer"},
        "window": window,
    });
    request.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    stage.feed(&["turn", command], request.to_string().as_bytes()).ok().json()
}

/// A window that one long turn fills.
fn window() -> Value {
    json!({"tokens": 4000, "reserve_tokens": 3000, "keep_recent_tokens": 300, "tool_call_cutoff": 2, "entries": true})
}

/// Takes a turn that is compacted when it ends, and returns what its end did.
fn long_turn(stage: &Stage, session: &str, window: &Value) -> Value {
    let said = |id: &str, role: &str| json!({"id": id, "role": role, "text": "The work goes on as it should. ".repeat(40)});
    turn(stage, "begin", (session, window), &json!({"said": said("u1", "user")}));
    let entries: Vec<Value> = (1..5).map(|number| said(&format!("a{number}"), "assistant")).collect();
    turn(stage, "end", (session, window), &json!({"entries": entries}))["window"].clone()
}

/// Takes a step with more results than stay visible, and returns what it did.
fn step_with_results(stage: &Stage, session: &str, window: &Value) -> Value {
    turn(stage, "begin", (session, window), &json!({"said": {"id": "u1", "role": "user", "text": "Look."}}));
    let pair = |id: String| {
        let text = "All of it is as it should be. ".repeat(30);
        [
            json!({"id": format!("{id}-call"), "role": "assistant", "calls": [{"id": id, "name": "t", "input": {}}]}),
            json!({"id": format!("{id}-result"), "role": "tool", "results": [{"id": id, "text": text}]}),
        ]
    };
    let entries: Vec<Value> = (1..4).flat_map(|number| pair(format!("c{number}"))).collect();
    turn(stage, "step", (session, window), &json!({"entries": entries}))["window"].clone()
}

fn configured(stage: &Stage, server: &ModelServer) {
    let endpoint = format!("{}/v1", server.url());
    for (key, value) in [
        ("llm.provider", "openai"),
        ("llm.endpoint", &endpoint),
        ("llm.model", "made-up-1"),
        ("llm.timeout_s", "1"),
        ("llm.attempts", "1"),
    ] {
        stage.run(&["config", "set", key, value]).ok();
    }
}

fn says(text: &str) -> Answer {
    Answer::Json(json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}))
}

fn last_text(window: &Value) -> &str {
    window["entries"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap()
}

#[test]
fn a_configured_model_writes_the_summaries_of_turns() {
    let stage = Stage::new();
    // Without a model rules write them, and that is no news.
    let plain = long_turn(&stage, "plain", &window());
    assert_eq!((&plain["compaction"]["with"], &plain["notes"]), (&json!("heuristic"), &json!([])));
    assert!(last_text(&step_with_results(&stage, "plain-2", &window())).contains("Call ID: c1"));
    let server = ModelServer::of(vec![says("Goal: the work goes on.")]);
    configured(&stage, &server);
    let made = long_turn(&stage, "compacted", &window());
    assert_eq!((&made["compaction"]["with"], &made["notes"]), (&json!("model"), &json!([])));
    assert!(made["entries"][0]["text"].as_str().unwrap().contains("Goal: the work goes on."), "{made}");
    let archived = step_with_results(&stage, "archived", &window());
    assert!(last_text(&archived).ends_with("Goal: the work goes on."), "{archived}");
    assert_eq!(server.asked().len(), 2);
    let question = server.asked()[1].body["messages"][1]["content"].as_str().unwrap().to_owned();
    assert!(question.contains("All of it is as it should be") && question.contains("1200 characters"));
    // Who wants nothing sent says so in a request, or once for all.
    let mut rules = window();
    (rules["compact_with"], rules["tool_summary"]) = (json!("heuristic"), json!("heuristic"));
    assert_eq!(long_turn(&stage, "rules", &rules)["compaction"]["with"], "heuristic");
    step_with_results(&stage, "rules-2", &rules);
    stage.run(&["config", "set", "window.compact_with", "heuristic"]).ok();
    assert_eq!(long_turn(&stage, "rules-3", &window())["compaction"]["with"], "heuristic");
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn a_model_that_misbehaves_costs_a_turn_nothing_but_its_summary() {
    let stage = Stage::new();
    let status = Answer::Status(500, Vec::new(), "{\"error\":{\"message\":\"no\"}}".to_owned());
    let answers = [
        says(""),
        says("It rewrote src/made_up_by_me.rs and ran `nonsense --wild`."),
        Answer::Json(json!({"choices": 7})),
        Answer::Cut,
        Answer::Blanks(9 << 20),
        Answer::Closed,
        Answer::Silence,
        status,
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let server = ModelServer::of(vec![answer.clone()]);
        configured(&stage, &server);
        let made = long_turn(&stage, &format!("compacted-{number}"), &window());
        assert_eq!(made["compaction"]["with"], "heuristic", "{answer:?}");
        assert!(made["notes"].to_string().contains("made by rules"), "{answer:?}: {}", made["notes"]);
        let archived = step_with_results(&stage, &format!("archived-{number}"), &window());
        assert!(last_text(&archived).contains("Call ID: c1"), "{answer:?}: {archived}");
        assert!(archived["notes"].to_string().contains("made-up-1"), "{answer:?}: {}", archived["notes"]);
    }
    // One that answers with the conversation itself.
    let echo = ModelServer::start(|asked| says(asked.body["messages"][1]["content"].as_str().unwrap_or("")));
    configured(&stage, &echo);
    let made = long_turn(&stage, "echoed", &window());
    assert_eq!(made["compaction"]["with"], "heuristic");
    assert!(made["notes"].to_string().contains("made by rules"), "{}", made["notes"]);
    let archived = step_with_results(&stage, "echoed-results", &window());
    assert!(last_text(&archived).contains("Call ID: c1"), "{archived}");
    // A model that is configured and cannot be asked is a note, and no error.
    stage.run(&["config", "set", "llm.endpoint", "ftp://nowhere"]).ok();
    let made = long_turn(&stage, "unusable", &window());
    assert_eq!(made["compaction"]["with"], "heuristic");
    assert!(made["notes"].to_string().contains("no model can be asked"), "{}", made["notes"]);
}

#[test]
fn the_settings_of_compaction_are_configured_and_explained_in_the_order_in_which_they_act() {
    let stage = Stage::new();
    let explained = |tokens: &str| {
        let report = stage.run(&["config", "explain", "window", "--window", tokens, "--json"]).ok().json();
        let rows = report["limits"].as_array().unwrap().iter();
        let rows = rows.map(|row| format!("{} {}", row["name"].as_str().unwrap(), row["value"]));
        rows.skip_while(|row| !row.starts_with("tool_call_cutoff")).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        explained("100000"),
        "tool_call_cutoff 10, warning 70000, danger 85000, critical 95000, target 70000, reserve_tokens 16384, \
         compact_at 83616, keep_recent_tokens 20000, window 100000"
    );
    for (key, value) in [
        ("window.max_messages", "9"),
        ("window.max_tokens", "900"),
        ("window.keep_recent", "3"),
        ("window.keep_recent_tokens", "700"),
        ("window.reserve_tokens", "2000"),
        ("window.tool_call_cutoff", "4"),
        ("window.auto_compact", "0"),
    ] {
        stage.run(&["config", "set", key, value]).ok();
    }
    assert!(
        explained("10000")
            .ends_with("reserve_tokens 2000, compact_at 8000, keep_recent_tokens 700, window 10000")
    );
    // Half of where it is due, at most.
    assert!(explained("1000").ends_with("target 700, max_tokens 900, keep_recent_tokens 450, window 1000"));
    stage.run(&["config", "set", "window.max_tokens", "0"]).ok();
    stage.run(&["config", "set", "window.keep_recent_tokens", "0"]).ok();
    stage.run(&["config", "set", "window.tool_summary", "off"]).ok();
    assert!(explained("1000").starts_with("tool_call_cutoff 0, "));
    assert!(explained("1000").ends_with("max_messages 9, keep_recent 3, window 1000"));
    for (key, value) in [
        ("window.max_messages", "0"),
        ("window.keep_recent", "0"),
        ("window.tool_summary", "weird"),
        ("window.compact_with", "off"),
        ("window.auto_compact", "sometimes"),
    ] {
        stage.run(&["config", "set", key, value]).code(2).complains(&[key]);
    }
    let of = json!({"ledger": "c1", "session": "s1", "agent": "worker", "template": "fixer"});
    for (window, reason) in [
        (json!({"tokens": 0}), "a window of 0 tokens holds nothing"),
        (json!({"tokens": 1000, "keep_recent": 0, "keep_recent_tokens": 0}), "would keep nothing"),
        (json!({"tokens": 1000, "max_messages": 0}), "would always be due"),
        (json!({"tokens": 1000, "compact_with": "weird"}), "llm, heuristic"),
    ] {
        let request = json!({"turn": of, "window": window, "entries": []});
        let said = stage.feed(&["turn", "step"], request.to_string().as_bytes());
        assert!(said.code != 0 && said.stderr.contains(reason), "{window}: {} {}", said.code, said.stderr);
    }
    assert_eq!(stage.run(&["events", "query", "--ledger", "c1"]).text(), "", "nothing was stored");
}

#[test]
fn a_dry_run_of_a_live_session_sees_what_its_open_turn_has_said() {
    let stage = Stage::new();
    let mut calm = window();
    (calm["auto_compact"], calm["tokens"], calm["reserve_tokens"]) =
        (json!(false), json!(100_000), json!(1000));
    let ended = long_turn(&stage, "s1", &calm);
    assert_eq!(ended["compaction"], Value::Null);
    let dry = || stage.json(&["compact", "s1", "--dry-run", "--keep", "100"]);
    let before = dry();
    turn(
        &stage,
        "begin",
        ("s1", &calm),
        &json!({"said": {"id": "u2", "role": "user", "text": "One more. ".repeat(100)}}),
    );
    let after = dry();
    assert_eq!((&after["id"], &after["with"]), (&Value::Null, &json!("heuristic")));
    assert!(after["tokens_before"].as_u64() > before["tokens_before"].as_u64(), "{before} {after}");
    let made = stage.json(&["compact", "s1", "--keep", "100"]);
    for field in ["tokens_before", "tokens_after", "kept_entries", "lost"] {
        assert_eq!(made[field], after[field], "{field}");
    }
    assert_eq!(made["moved"], "s1");
}
