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
fn entries_of_a_file_are_judged_and_nothing_is_stored() {
    let stage = Stage::new();
    let long = "word".repeat(800);
    let entries = format!(
        r#"[{{"id":"u1","role":"user","text":"make it faster"}},
            {{"id":"a1","role":"assistant","text":"{long}","hint":{{"row":"temporary_debug_info"}}}},
            {{"id":"u2","role":"user","text":"go on"}}]"#
    );
    let list = stage.home.write("entries.json", entries.as_bytes());
    let list = list.to_str().unwrap();
    let report = guarded(&stage, &["--entries", list, "--window", "1000", "--counter", "estimate"]);
    let left =
        report["given"]["entries"].as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap());
    assert_eq!(left.collect::<Vec<_>>(), ["u1", "u2"]);
    let shown = stage.run(&["guard", "--entries", list, "--window", "1000"]).ok().text();
    assert!(shown.contains("a prune would drop 1 of 3 entries") && shown.contains("a1"), "{shown}");
    // A whole request, with what the flags say in place of what it says.
    let request = format!(r#"{{"window":100000,"compacts":true,"entries":{entries}}}"#);
    let file = stage.home.write("request.json", request.as_bytes());
    let file = file.to_str().unwrap();
    assert_eq!(guarded(&stage, &["--entries", file])["limit"], 100_000);
    assert_eq!(guarded(&stage, &["--entries", file, "--window", "2000"])["limit"], 2_000);
    let mut piped = stage.command(&["guard", "--entries", "-", "--json"]);
    let done = piped.stdin(std::fs::File::open(file).unwrap()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    stage.run(&["guard", "--entries", list]).code(1).complains(&["is not known"]);
    stage.run(&["guard", "--entries", list, "--last"]).code(2);
    let broken = stage.home.write("broken.json", b"[{]");
    let refused = stage.run(&["guard", "--entries", broken.to_str().unwrap()]);
    assert!(refused.code != 0 && refused.stdout.is_empty(), "{}", refused.stderr);
    assert_eq!(stage.json(&["list"])["sessions"], serde_json::json!([]));
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
fn a_live_codex_session_is_guarded_as_it_is_now_in_the_window_that_it_reports() {
    let stage = Stage::new();
    let line = |second: u32, kind: &str, payload: Value| {
        let at = format!("2026-01-01T00:00:{second:02}.000Z");
        format!("{}\n", serde_json::json!({"timestamp": at, "type": kind, "payload": payload}))
    };
    let said = |second, role: &str, part: &str, text: &str| {
        let content = serde_json::json!([{"type": part, "text": text}]);
        line(
            second,
            "response_item",
            serde_json::json!({"type": "message", "role": role, "content": content}),
        )
    };
    let id = "01a1ffc3-10c3-7793-a024-3ccf54e49278";
    let mut text = line(
        0,
        "session_meta",
        serde_json::json!({"id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/srv",
            "originator": "codex", "cli_version": "0.40.0"}),
    );
    text += &said(1, "user", "input_text", "hello");
    text += &said(2, "assistant", "output_text", "hello to you");
    let name = format!("rollout-2026-01-01T00-00-00-{id}.jsonl");
    let path = stage.home.write(&name, text.as_bytes());
    stage.import(&path);
    let before = guarded(&stage, &[id]);
    text += &said(3, "user", "input_text", "And now the last word");
    text += &line(
        4,
        "event_msg",
        serde_json::json!({"type": "token_count", "info": {"model_context_window": 123_000}}),
    );
    std::fs::write(&path, text).unwrap();
    let after = guarded(&stage, &[id]);
    let items = |report: &Value| report["items"].as_array().unwrap().len();
    assert_eq!(items(&after), items(&before) + 1);
    assert_eq!(after["limit"], 123_000, "{after}");
    assert!(after["limit_from"].as_str().unwrap().starts_with("codex: "), "{after}");
}

#[test]
fn a_window_of_nothing_is_refused_and_where_nobody_knows_one_the_tokens_are_said() {
    let stage = Stage::new();
    let text = story::retry("/home/ann/shop").text().replace("claude-test", "mystery-1");
    let path = stage.home.write("a.jsonl", text.as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let said = stage.run(&["guard", &tip, "--window", "0", "--json"]);
    let problem: Value = serde_json::from_str(&said.stderr).unwrap();
    assert_eq!(problem["code"], "window_bad", "{problem}");
    assert!(said.stderr.contains("a window of 0 tokens holds nothing"), "{problem}");
    let known = guarded(&stage, &[&tip, "--window", "100000"]);
    let report = guarded(&stage, &[&tip]);
    assert_eq!((&report["zone"], &report["limit"]), (&"unknown".into(), &0.into()), "{report}");
    assert_eq!(report["tokens"], known["tokens"]);
    let shown = stage.run(&["guard", &tip]).ok();
    for wanted in
        ["`--window N`", "the window of the model `mystery-1` is not known: of 200,000 that would be 0 %"]
    {
        assert!(shown.text().contains(wanted), "{}", shown.text());
    }
    assert_eq!((&report["common_limit"], &known["common_limit"]), (&200_000.into(), &Value::Null));
    stage.run(&["guard", &tip, "--window", "-3"]).code(2);
    stage.run(&["guard", &tip, "--window", "100", "--counter", "abacus"]).code(2);
    stage.run(&["guard", "ctx-nothing", "--window", "100"]).code(3);
}

/// Nobody said the window of such a model: it gets its family's, which is marked wherever it is shown.
#[test]
fn the_window_of_an_unknown_model_of_a_known_family_is_assumed_and_marked() {
    let stage = Stage::new();
    let text = story::retry("/home/ann/shop").text();
    for (model, limit, is_assumed) in [
        ("claude-opus-4-8", 1_000_000, false),
        ("anthropic/claude-opus-4.5", 200_000, false),
        ("claude-opus-9", 1_000_000, true),
        ("gpt-9", 400_000, true),
    ] {
        let path = stage.home.write("a.jsonl", text.replace("claude-test", model).as_bytes());
        let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
        let report = guarded(&stage, &[&tip]);
        assert_eq!(
            (&report["limit"], report["limit_assumed"] == true),
            (&limit.into(), is_assumed),
            "{report}"
        );
        let shown = stage.run(&["guard", &tip]).ok();
        assert_eq!(shown.text().contains("assumed"), is_assumed, "{}", shown.text());
        let explained = stage.json(&["config", "explain", "window", "--model", model]);
        assert_eq!(explained["assumed"] == true, is_assumed, "{explained}");
        let request = format!(
            r#"{{"turn":{{"ledger":"c1","session":"{}","agent":"worker","template":"fixer"}},"window":{{"model":"{model}"}},
            "said":{{"id":"u1","role":"user","text":"Go"}}}}"#,
            model.replace(['/', '.'], "-")
        );
        let begun = stage.feed(&["turn", "begin"], request.as_bytes()).ok().json();
        let window = &begun["window"];
        assert_eq!(
            (&window["limit"], window["limit_assumed"] == true),
            (&limit.into(), is_assumed),
            "{window}"
        );
    }
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
    stage.run(&["config", "set", "window.target", "2"]).ok();
    stage.run(&["config", "set", "window.zones", "1,2,3"]).ok();
    let report = guarded(&stage, &[&tip, "--overhead", "200"]);
    assert_eq!((&report["limit"], &report["limit_from"]), (&5000.into(), &"`window.tokens`".into()));
    assert_eq!(report["target"], 100);
    assert_eq!(guarded(&stage, &[&tip, "--window", "100000"])["limit"], 100_000);
    stage.run(&["config", "set", "window.target", "3"]).code(1).complains(&["lower the target"]);
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
fn a_call_in_the_warning_zone_writes_a_line_to_the_log_without_words_of_the_session() {
    let stage = Stage::new();
    let log = || std::fs::read_to_string(stage.home.stemmata_home().join("logs/stemma.log")).unwrap();
    let lines = || log().lines().filter(|line| line.contains("warning zone")).count();
    let said = |id: &str, role: &str, words: usize| {
        format!(r#"{{"id":"{id}","role":"{role}","text":"{}"}}"#, "word".repeat(words))
    };
    turn(&stage, "begin", &format!(r#""said":{}"#, said("u1", "user", 600)));
    assert_eq!(lines(), 0, "{}", log());
    let ended = turn(&stage, "end", &format!(r#""entries":[{}]"#, said("a1", "assistant", 150)));
    assert_eq!((&ended["window"]["zone"], lines()), (&"warning".into(), 1), "{}", log());
    assert!(log().contains("tokens=750 limit=1000") && !log().contains("wordword"), "{}", log());
    turn(&stage, "begin", &format!(r#""said":{}"#, said("u2", "user", 150)));
    assert_eq!(lines(), 1, "900 tokens are in danger: {}", log());
}

#[test]
fn a_window_that_leaves_the_safe_zone_in_one_step_writes_one_line_to_the_log() {
    let stage = Stage::new();
    let said = |id: &str, words: usize| {
        let text = "word".repeat(words);
        turn(&stage, "begin", &format!(r#""said":{{"id":"{id}","role":"user","text":"{text}"}}"#))
    };
    said("u1", 10);
    assert_eq!(said("u2", 860)["window"]["zone"], "danger");
    assert_eq!(said("u3", 10)["window"]["zone"], "danger");
    let log = std::fs::read_to_string(stage.home.stemmata_home().join("logs/stemma.log")).unwrap();
    assert_eq!(log.lines().filter(|line| line.contains("the danger zone")).count(), 1, "{log}");
}

#[test]
fn a_request_may_begin_with_a_byte_order_mark() {
    let stage = Stage::new();
    let of = r#"{"turn":{"ledger":"c1","session":"s1","agent":"worker","template":"fixer"},"#;
    let request = format!("\u{feff}{of}\"said\":{{\"role\":\"user\",\"text\":\"go\"}}}}");
    assert_eq!(stage.feed(&["turn", "begin"], request.as_bytes()).ok().json()["session"], "s1");
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
        (format!(r#"{{{of},"window":{{"tool_summary":"weird"}},"entries":[]}}"#), "weird"),
        (format!(r#"{{{of},"window":{{"tokens":9,"tool_summary":"weird"}},"entries":[]}}"#), "weird"),
    ] {
        let said = stage.feed(&["turn", "step"], input.as_bytes());
        assert!(said.code != 0 && said.stderr.contains(reason), "{input}: {} {}", said.code, said.stderr);
    }
}

/// The caller names tasks, their dependencies and hints for entries; the guard uses them to decide what it keeps.
#[test]
fn the_tasks_of_a_loop_and_its_hints_decide_what_the_guard_keeps() {
    let stage = Stage::new();
    let words = "word".repeat(60);
    let said = |id: &str, role: &str, more: &str| {
        format!(r#"{{"id":"{id}","role":"{role}","text":"{words}"{more}}}"#)
    };
    let mut done: Vec<String> = Vec::new();
    for number in 0..8 {
        let needs = if number == 7 { r#"["t1"]"# } else { "[]" };
        let task = format!(r#""task":{{"id":"t{number}","text":"do it","depends_on":{needs}}}"#);
        let completed = serde_json::to_string(&done).unwrap();
        let begin = format!(
            r#""said":{},{task},"completed":{completed},"pin":{}"#,
            said(&format!("u{number}"), "user", ""),
            number == 2
        );
        // Room for all of it: nothing is pruned until somebody asks.
        let of = r#""turn":{"ledger":"c1","session":"s1","agent":"worker","template":"fixer"}"#;
        stage.feed(&["turn", "begin"], format!("{{{of},{begin}}}").as_bytes()).ok();
        let hint = match number {
            3 => r#","hint":{"essential":true}"#,
            7 => r#","hint":{"row":"temporary_debug_info"}"#,
            _ => "",
        };
        let answer = said(&format!("a{number}"), "assistant", hint);
        stage.feed(&["turn", "end"], format!(r#"{{{of},"entries":[{answer}]}}"#).as_bytes()).ok();
        done.push(format!("t{number}"));
    }
    let report = guarded(&stage, &["s1", "--window", "1000"]);
    let of = |id: &str, key: &str| {
        let items = report["items"].as_array().unwrap();
        items.iter().find(|item| item["entry"] == id).unwrap_or_else(|| panic!("{id}"))[key].clone()
    };
    for (id, decision, reason) in [
        ("a0", "prune", "always pruned (completed_task_details)"),
        ("a1", "keep", "relevant to the current task (dependency_information)"),
        ("u2", "keep", "pinned"),
        ("a3", "keep", "marked as essential"),
        ("a7", "prune", "always pruned (temporary_debug_info)"),
    ] {
        assert_eq!((of(id, "decision"), of(id, "reason")), (decision.into(), reason.into()), "{id}");
    }
    assert_eq!(of("u7", "category"), "current_task");
    let of = r#""turn":{"ledger":"c1","session":"s1","agent":"worker","template":"fixer"}"#;
    let circle = r#""task":{"id":"t1","text":"do it","depends_on":["t7"]}"#;
    let refused = stage.feed(
        &["turn", "begin", "--json"],
        format!(r#"{{{of},{circle},"said":{}}}"#, said("u8", "user", "")).as_bytes(),
    );
    let problem: Value = serde_json::from_str(&refused.stderr).unwrap();
    assert_eq!(problem["code"], "task_cycle", "{problem}");
    let bad = format!(r#"{{{of},"entries":[{}]}}"#, said("a8", "assistant", r#","hint":{"class":"P9"}"#));
    stage.feed(&["turn", "step"], bad.as_bytes()).code(2).complains(&["P9", "P1, P2, P3, P4"]);
}

#[test]
fn a_range_across_a_tool_group_is_refused_with_where_the_group_is() {
    let stage = Stage::new();
    turn(&stage, "begin", r#""said":{"id":"u1","role":"user","text":"go on"}"#);
    let entries = r#""entries":[
        {"id":"c","role":"assistant","calls":[{"id":"c1","name":"t","input":{}}]},
        {"id":"r","role":"tool","results":[{"id":"c1","text":"done"}]},
        {"id":"a1","role":"assistant","text":"It is done."}]"#;
    let ended = turn(&stage, "end", entries);
    let ctx = ended["ctx"].as_str().unwrap();
    let said = stage.run(&["compact", ctx, "--range", "@1..@3"]).code(5);
    assert!(said.stderr.contains("a call from its results: they are at @2 to @3"), "{}", said.stderr);
}

#[test]
fn a_window_that_makes_no_sense_is_refused_with_what_to_correct() {
    let stage = Stage::new();
    for args in [&["guard", "--window", "-1"][..], &["config", "explain", "window", "--window", "-1"]] {
        let said = stage.run(args).code(2).complains(&["'-1'", "positive"]);
        assert!(!said.stderr.contains("tip:"), "{}", said.stderr);
    }
    let mut command = stage.command(&["guard", "x"]);
    let output = command.env("STEMMATA_WINDOW_ZONES", "9,8,7").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("unset the environment variable `STEMMATA_WINDOW_ZONES`"), "{said}");
}

/// What is pinned is in a summary that is only printed, too: as far as the context is known that it is made of.
#[test]
fn a_printed_summary_has_what_is_pinned_and_says_where_it_has_no_room() {
    let stage = Stage::new();
    let rule = format!("The port of the billing service is 8443. {}", "It stays that way. ".repeat(40));
    let of = r#""turn":{"ledger":"c1","session":"s1","agent":"worker","template":"fixer"}"#;
    let mut ctx = String::new();
    for number in 0..6 {
        let text = if number == 1 {
            rule.clone()
        } else {
            format!("Look at {number}. {}", "words and ".repeat(200))
        };
        let said = serde_json::json!({"id": format!("u{number}"), "role": "user", "text": text});
        stage.feed(&["turn", "begin"], format!(r#"{{{of},"said":{said}}}"#).as_bytes()).ok();
        let answer =
            serde_json::json!({"id": format!("a{number}"), "role": "assistant", "text": "done ".repeat(200)});
        let ended =
            stage.feed(&["turn", "end", "--json"], format!(r#"{{{of},"entries":[{answer}]}}"#).as_bytes());
        ctx = ended.ok().json()["ctx"].as_str().unwrap().to_owned();
    }
    let pin = stage
        .feed(&["turn", "pin", "--json"], format!(r#"{{{of},"entries":["u1"]}}"#).as_bytes())
        .ok()
        .json();
    let pinned = pin["ctx"].as_str().unwrap().to_owned();
    let print = |ctx: &str, more: &[&str]| {
        stage
            .run(&[&["compact", ctx, "--with", "heuristic", "--print", "--exclude-user"], more].concat())
            .ok()
    };
    let with = print(&pinned, &["--ratio", "0.5"]);
    assert!(
        with.text().contains(&format!("## Pinned, verbatim\n@3: {}", rule.trim_end())),
        "{}",
        with.text()
    );
    assert!(!with.stderr.contains("what is pinned"), "{}", with.stderr);
    // Before anybody pinned it.
    assert!(!print(&ctx, &["--ratio", "0.5"]).text().contains("## Pinned"));
    let small = print(&pinned, &["--ratio", "0.05"]);
    assert!(
        small.stderr.contains("what is pinned takes more") && small.stderr.contains("`--ratio`"),
        "{}",
        small.stderr
    );
}

/// An id that stands twice names no place.
#[test]
fn an_entry_id_that_stands_twice_is_ambiguous() {
    let stage = Stage::new();
    let mut lines = Vec::new();
    for answer in ["a1", "a2"] {
        for (id, role, text) in
            [("u1", "user", "and again"), (answer, "assistant", "it is done, as it was asked for")]
        {
            let parts = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
            lines.push(format!(r#"{{"v":"stemmata-v1","id":"{id}","role":"{role}","parts":{parts}}}"#));
        }
    }
    let args = ["checkpoint", "--format", "stemmata-v1", "--session", "s1", "--json"];
    let ctx = stage.feed(&args, format!("{}\n", lines.join("\n")).as_bytes()).ok().json()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let print = ["compact", &ctx, "--with", "heuristic", "--print"];
    for option in ["--at", "--recent-from"] {
        stage.run(&[&print[..], &[option, "u1"]].concat()).code(4).complains(&["u1", "@1", "@3"]);
    }
    stage.run(&[&print[..], &["--at", "a2"]].concat()).code(0).complains(&["fewer tokens than its heading"]);
}

/// A session of six turns, and its newest commit.
fn six_turns() -> (Stage, String) {
    let stage = Stage::new();
    let mut ctx = String::new();
    for number in 0..6 {
        turn(&stage, "begin", &format!(r#""said":{{"id":"u{number}","role":"user","text":"go on"}}"#));
        let text = "It is done. ".repeat(60);
        let entries = format!(r#""entries":[{{"id":"a{number}","role":"assistant","text":"{text}"}}]"#);
        turn(&stage, "end", &entries)["ctx"].as_str().unwrap().clone_into(&mut ctx);
    }
    (stage, ctx)
}

#[test]
fn a_range_that_is_compacted_again_stays_that_range() {
    let (stage, ctx) = six_turns();
    let counts = |made: Value| (made["lost"]["entries"].clone(), made["kept_entries"].clone());
    let first = counts(stage.json(&["compact", &ctx, "--range", "u1..u3", "--with", "off"]));
    assert_eq!(first, (4.into(), 8.into()));
    assert_eq!(counts(stage.json(&["compact", "s1", "--again", "--ratio", "0.5"])), first);
    let chosen = ["compact", "s1", "--again", "--range", "u1..u4", "--with", "off"];
    assert_eq!(counts(stage.json(&chosen)), (6.into(), 6.into()));
}

/// No client loads a session of turns: the hints name one that does.
#[test]
fn the_hints_of_a_compaction_name_a_client_that_can_continue_it() {
    let (stage, ctx) = six_turns();
    let made = stage.run(&["compact", &ctx, "--with", "off"]).ok().complains(&["stemma resume ctx-"]);
    let undone = stage.run(&["uncompact", "s1"]).ok();
    let diff = stage.run(&["diff", "s1"]).ok();
    for said in [made, undone, diff] {
        let hint = said.stderr.split("`stemma resume ").nth(1).and_then(|rest| rest.split('`').next());
        let hint: Vec<&str> = hint.expect("a hint").split(' ').collect();
        assert!(hint.contains(&"--in"), "{}", said.stderr);
        stage.run(&[&["resume"], &hint[..], &["--print", "--here"]].concat()).ok();
    }
}
