//! The guard of a context window, as a person and a script meet it.

use std::fmt::Write as _;

use serde_json::Value;
use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::story;

/// A small session that was imported, and its newest commit.
fn imported(stage: &Stage) -> String {
    let path = stage.home.write("a.jsonl", story::retry("/home/ann/shop").text().as_bytes());
    stage.import(&path)["tip"].as_str().unwrap().to_owned()
}

fn guarded(stage: &Stage, args: &[&str]) -> Value {
    stage.json(&[&["guard"], args].concat())
}

#[test]
fn guard_says_what_a_prune_would_drop_and_why() {
    let stage = Stage::new();
    let mut story = story::Story::new(story::SESSION, "/home/ann/shop");
    for turn in 0..6 {
        story
            .user(&format!("Task {turn}: {}", "look at the parser ".repeat(10)))
            .tool(&format!("cat src/part{turn}.rs"), &"fn parse() {} // long\n".repeat(20))
            .assistant(&format!("Part {turn} is done."));
    }
    let path = stage.home.write("a.jsonl", story.text().replace("\"usage\"", "\"used\"").as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let args = [&tip, "--window", "900", "--completed", "5", "--next", "large_merge"];
    let report = guarded(&stage, &args);
    insta::assert_snapshot!("window_guard", serde_json::to_string_pretty(&report).unwrap());
    let sum: u64 =
        report["items"].as_array().unwrap().iter().map(|item| item["tokens"].as_u64().unwrap()).sum();
    assert_eq!(sum, report["tokens"].as_u64().unwrap());
    insta::assert_snapshot!("window_guard_text", stage.run(&[&["guard"], &args[..]].concat()).ok().text());
    let roomy = guarded(&stage, &[&tip, "--window", "100000"]);
    assert_eq!((&roomy["zone"], &roomy["form"]), (&"safe".into(), &"untouched".into()));
}

#[test]
fn a_live_claude_session_is_guarded_as_it_is_now() {
    let stage = Stage::new();
    let session = ClaudeSession::new(3).turns(3).build();
    let path = stage.home.write_session(&session);
    stage.json(&["import"]);
    let id = stage.json(&["list"])["sessions"][0]["session_id"].as_str().unwrap().to_owned();
    let before = guarded(&stage, &[&id, "--window", "200000"]);
    let mut text = std::fs::read_to_string(&path).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let mut said = last.clone();
    said["uuid"] = "aaaaaaaa-0000-4000-8000-000000000001".into();
    said["parentUuid"] = last["uuid"].clone();
    said["type"] = "user".into();
    said["message"] = serde_json::json!({"role": "user", "content": "And now the last word"});
    writeln!(text, "{said}").unwrap();
    std::fs::write(&path, text).unwrap();
    let after = guarded(&stage, &[&id, "--window", "200000"]);
    let entries = |report: &Value| report["items"].as_array().unwrap().len();
    assert_eq!(entries(&after), entries(&before) + 1);
    assert!(after["tokens"].as_u64() > before["tokens"].as_u64());
    let item = after["items"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(item["entry"], said["uuid"]);
    let number = format!("@{}", item["ordinal"]);
    let shown = stage.run(&["show", &id, "--entry", &number]).ok().text();
    assert!(shown.contains("And now the last word"), "{shown}");
}

#[test]
fn a_window_of_nothing_and_one_that_nobody_knows_are_refused() {
    let stage = Stage::new();
    let text = story::retry("/home/ann/shop").text().replace("claude-test", "mystery-1");
    let path = stage.home.write("a.jsonl", text.as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    for (args, reason) in [
        (&["--window", "0"][..], "a window of 0 tokens holds nothing"),
        (&[], "the window of the model `mystery-1` is not known"),
    ] {
        let said = stage.run(&[&["guard", &tip], args, &["--json"]].concat());
        let problem: Value = serde_json::from_str(&said.stderr).unwrap();
        assert_eq!(problem["code"], "window_bad", "{problem}");
        assert!(said.stderr.contains(reason), "{problem}");
    }
    stage.run(&["guard", &tip, "--window", "-3"]).code(2);
    stage.run(&["guard", &tip, "--window", "100", "--counter", "abacus"]).code(2);
    stage.run(&["guard", "ctx-nothing", "--window", "100"]).code(3);
}

#[test]
fn what_does_not_fit_at_all_is_named() {
    let stage = Stage::new();
    let tip = imported(&stage);
    let report = guarded(&stage, &[&tip, "--window", "5", "--overhead", "900"]);
    assert_eq!((&report["zone"], &report["form"]), (&"critical".into(), &Value::Null));
    assert!(report["overflow"]["essential_tokens"].as_u64().unwrap() > 5, "{report}");
    assert!(report["triggers"].as_array().unwrap().contains(&"emergency".into()));
}

#[test]
fn configured_limits_hold_where_the_request_names_none() {
    let stage = Stage::new();
    let tip = imported(&stage);
    stage.run(&["config", "set", "window.tokens", "5000"]).ok();
    stage.run(&["config", "set", "window.zones", "1,2,3"]).ok();
    stage.run(&["config", "set", "window.target", "2"]).ok();
    let report = guarded(&stage, &[&tip, "--overhead", "200"]);
    assert_eq!((&report["limit"], &report["limit_from"]), (&5000.into(), &"`window.tokens`".into()));
    assert_eq!(report["target"], 100);
    assert_eq!(guarded(&stage, &[&tip, "--window", "100000"])["limit"], 100_000);
    stage.run(&["config", "set", "window.target", "3"]).ok();
    let said = stage.run(&["guard", &tip]);
    assert!(said.stderr.contains("lower the target"), "{}", said.stderr);
    for zones in ["85,70,95", "70,85", "70,85,101", "0,1,2", "a,b,c"] {
        stage.run(&["config", "set", "window.zones", zones]).code(2);
    }
}

#[test]
fn config_explain_window_names_the_order() {
    let stage = Stage::new();
    let explain = |more: &[&str]| stage.run(&[&["config", "explain", "window"], more].concat());
    let report = explain(&["--window", "100000", "--json"]).ok().json();
    let names: Vec<&str> =
        report["limits"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let of = |name: &str| names.iter().position(|known| *known == name).unwrap();
    assert!(of("warning") < of("danger") && of("danger") < of("critical") && of("critical") < of("window"));
    assert!(explain(&["--window", "100000"]).ok().text().contains("a window of 100,000 tokens"));
    assert!(explain(&["--window", "0"]).code(1).stderr.contains("holds nothing"));
    assert!(explain(&["--model", "mystery-1"]).code(1).stderr.contains("not known"));
    assert!(explain(&["--model", "claude-opus-4-1"]).ok().text().contains("claude-opus-4-1"));
    stage.run(&["config", "explain", "import.threads", "--window", "5"]).code(2);
}

/// Feeds a request of a turn of session `s1`, and returns the answer.
fn turn(stage: &Stage, command: &str, rest: &str) -> Value {
    let of = r#""turn":{"ledger":"c1","session":"s1","agent":"worker","template":"fixer"}"#;
    let window = r#""window":{"tokens":1000,"auto_compact":false,"tool_call_cutoff":2,"entries":true}"#;
    stage.feed(&["turn", command], format!("{{{of},{window},{rest}}}").as_bytes()).ok().json()
}

/// What a call of a turn says of the window, without ids and times that differ.
fn told(answer: &Value) -> String {
    let mut window = answer["window"].clone();
    let entries = window["entries"].as_array().unwrap().iter().map(|entry| match entry["kind"].as_str() {
        Some("tool_summary") => "tool_summary".to_owned(),
        _ => entry["id"].as_str().unwrap().to_owned(),
    });
    window["entries"] = entries.collect::<Vec<_>>().join(" ").into();
    serde_json::to_string_pretty(&window).unwrap()
}

#[test]
fn a_loop_in_any_language_has_its_window_guarded() {
    let stage = Stage::new();
    let said = |id: &str, role: &str, words: usize| {
        format!(r#"{{"id":"{id}","role":"{role}","text":"{}"}}"#, "word".repeat(words))
    };
    let result = |id: &str| {
        format!(
            r#"{{"id":"{id}-call","role":"assistant","calls":[{{"id":"{id}","name":"t","input":{{}}}}]}},
               {{"id":"{id}-result","role":"tool","results":[{{"id":"{id}","text":"{}"}}]}}"#,
            "word".repeat(60)
        )
    };
    turn(&stage, "begin", &format!(r#""said":{}"#, said("u1", "user", 20)));
    let step =
        turn(&stage, "step", &format!(r#""entries":[{},{},{}]"#, result("c1"), result("c2"), result("c3")));
    insta::assert_snapshot!("window_turn_archived", told(&step));
    turn(&stage, "end", &format!(r#""entries":[{}]"#, said("a1", "assistant", 300)));
    let critical = turn(&stage, "begin", &format!(r#""said":{}"#, said("u2", "user", 450)));
    insta::assert_snapshot!("window_turn_pruned", told(&critical));
    let pruned = critical["window"]["pruned"][0]["entry"].as_str().unwrap().to_owned();
    let error = r#""error":"prompt is too long: 1001 tokens > 1000 maximum""#;
    let recovered = turn(&stage, "recover", error);
    assert_eq!((&recovered["retry"], &recovered["window"]["may_call"]), (&true.into(), &true.into()));
    let of = r#""turn":{"ledger":"c1","session":"s1","agent":"worker","template":"fixer"}"#;
    let again = stage
        .feed(&["turn", "recover"], format!(r#"{{{of},"window":{{"tokens":1000}},{error}}}"#).as_bytes());
    again.code(5).complains(&["refused the context again"]);
    turn(&stage, "end", &format!(r#""entries":[{}]"#, said("a2", "assistant", 10)));
    let shown = turn(&stage, "window", r#""samples_max":3"#);
    assert_eq!(shown["history"].as_array().unwrap().len(), 3);
    let pinned = turn(&stage, "pin", r#""entries":["u2"]"#);
    assert_eq!(pinned["entries"], serde_json::json!(["u2"]));
    assert_eq!(turn(&stage, "unpin", r#""entries":["u2"]"#)["entries"], serde_json::json!(["u2"]));
    let unknown = format!(r#"{{{of},"entries":["nobody"]}}"#);
    stage.feed(&["turn", "rehydrate"], unknown.as_bytes()).code(3).complains(&["nobody"]);
    assert!(!pruned.is_empty());
    for (input, reason) in [
        (format!(r#"{{{of},"window":{{"tokens":0}},"entries":[]}}"#), "0 tokens"),
        (format!(r#"{{{of},"window":{{"tool_summary":"weird"}},"entries":[]}}"#), "not known"),
        (format!(r#"{{{of},"window":{{"tokens":9,"tool_summary":"weird"}},"entries":[]}}"#), "weird"),
    ] {
        let said = stage.feed(&["turn", "step"], input.as_bytes());
        assert!(said.code != 0 && said.stderr.contains(reason), "{input}: {} {}", said.code, said.stderr);
    }
}
