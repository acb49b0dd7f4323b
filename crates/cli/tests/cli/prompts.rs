//! Prompts, strategies and their explanation, as a person and a script meet them.

use serde_json::{Value, json};
use stemmata_testkit::model_server::{Answer, Asked, ModelServer};

use crate::stage::{Said, Stage, said};

const CONFIG: &str = "[profiles.careful]\nrole = \"worker\"\ninstructions = \"Change little.\"\n\n\
                      [templates.fixer]\nclient = \"claude-code\"\nmodel = \"claude-opus-4-5\"\nprofile = \"careful\"\n\
                      strategy = \"mine.json\"\n";

const STRATEGY: &str = "{\"sources\":[\n  {\"topic\":\"ISSUE_OPENED\",\"priority\":\"required\",\"strategy\":\"latest\",\"amount\":1},\n  \
                        {\"topic\":\"PLAN_READY\",\"priority\":\"required\",\"strategy\":\"latest\",\"amount\":1},\n  \
                        {\"topic\":\"VALIDATION_RESULT\",\"priority\":\"high\",\"since\":\"last_task_end\",\"strategy\":\"latest\",\"amount\":3,\"compactAmount\":1}\n],\
                        \"maxTokens\":4000}";

/// A cluster's ledger with an issue, a plan that replaces another one, and a rejected validation.
fn stage() -> Stage {
    let stage = Stage::new();
    stage.home.write("home/.config/stemmata/config.toml", CONFIG.as_bytes());
    stage.home.write("home/.config/stemmata/mine.json", STRATEGY.as_bytes());
    for (topic, text, from) in [
        ("ISSUE_OPENED", "The parser accepts an empty file", "user"),
        ("PLAN_READY", "Rewrite the parser", "planner"),
        ("PLAN_READY", "Refuse an empty file in `parse`", "planner"),
        ("VALIDATION_RESULT", "No test covers a file of spaces", "validator"),
    ] {
        stage.run(&["events", "append", topic, text, "--from", from, "--ledger", "c1"]).ok();
    }
    stage
}

fn assembled(stage: &Stage, more: &[&str]) -> Said {
    let mut args = vec!["assemble", "--ledger", "c1"];
    args.extend(more);
    stage.run(&args)
}

fn last_event(stage: &Stage) -> Value {
    let tail = stage.json(&["events", "query", "--ledger", "c1", "--latest", "1"]);
    tail["events"][0].clone()
}

#[test]
fn assemble_prints_only_the_prompt() {
    let stage = stage();
    let before = last_event(&stage);
    let said = assembled(&stage, &["--template", "fixer"]).ok();
    assert_eq!(said.stderr, "", "nothing beside the prompt");
    insta::assert_snapshot!("prompts_assemble", said.text());
    assert!(!said.text().contains("Rewrite the parser"), "the older plan is not in it");
    let json = assembled(&stage, &["--template", "fixer", "--json"]).ok().json();
    assert_eq!(json["prompt"].as_str().unwrap(), said.text());
    assert_eq!(json["trace"]["budget"]["max_tokens"], 4000);
    assert_eq!(json["metrics"]["strategy"]["sourcesCount"], 3);
    assert_eq!(last_event(&stage), before, "nothing was appended");
}

#[test]
fn the_same_place_gives_the_same_prompt() {
    let stage = stage();
    let last = last_event(&stage)["event_seq"].as_str().unwrap().to_owned();
    let prompt = || assembled(&stage, &["-t", "fixer", "--through", &last]).ok().stdout;
    let before = prompt();
    stage
        .run(&["events", "append", "PLAN_READY", "Another plan", "--from", "planner", "--ledger", "c1"])
        .ok();
    assert_eq!(prompt(), before);
    let later = assembled(&stage, &["-t", "fixer", "--after", &last]).ok().text();
    assert!(later.contains("Another plan") && !later.contains("empty file in `parse`"), "{later}");
}

#[test]
fn start_reads_what_the_loop_reads() {
    let stage = stage();
    let started = stage.json(&["start", "-t", "fixer"]);
    let wanted = ["claude", "--model", "claude-opus-4-5", "--append-system-prompt", "Change little."];
    assert_eq!(started["command"], Value::from(wanted.to_vec()));
    let prompt = assembled(&stage, &["-t", "fixer"]).ok().text();
    assert!(prompt.contains("careful") && prompt.contains("Change little."), "{prompt}");
    for (args, reasons) in [
        (vec!["-t", "ghost"], ["no template `ghost`", "fixer"]),
        (vec!["-s", "wroker"], ["no strategy `wroker`", "stemma strategy list"]),
        (vec!["-s", "worker", "-p", "ghost"], ["no profile `ghost`", "careful"]),
    ] {
        let said = assembled(&stage, &args);
        assert_ne!(said.code, 0, "{args:?}");
        said.complains(&reasons);
    }
}

#[test]
fn a_templates_model_counts_the_tokens_of_its_prompts() {
    let stage = stage();
    let counter = |model: &str| {
        let config = CONFIG.replace("claude-opus-4-5", model);
        stage.home.write("home/.config/stemmata/config.toml", config.as_bytes());
        let said = assembled(&stage, &["-t", "fixer", "--json"]).ok();
        let asked = "{\"turn\":{\"ledger\":\"c1\",\"session\":\"m\",\"agent\":\"careful\",\"template\":\"fixer\"},\"said\":{\"role\":\"user\",\"text\":\"go\"}}";
        let begun = stage.feed(&["turn", "begin", "-t", "fixer"], asked.as_bytes()).ok();
        assert_eq!(begun.json()["prompt"]["trace"]["counter"], said.json()["trace"]["counter"], "{model}");
        assert_eq!(begun.stderr, said.stderr, "{model}");
        (said.json()["trace"]["counter"].as_str().unwrap().to_owned(), said.stderr)
    };
    assert_eq!(counter("gpt-5"), ("o200k".to_owned(), String::new()));
    let (estimate, note) = counter("opus");
    assert!(estimate.contains('4') || estimate.contains("estimate"), "{estimate}");
    assert!(note.contains("the model `opus` of template `fixer` is not known"), "{note}");
}

#[test]
fn metrics_go_to_stderr_and_to_the_ledger() {
    let stage = stage();
    let with = |variables: &[(&str, &str)]| {
        let mut command = stage.command(&["assemble", "--ledger", "c1", "-t", "fixer"]);
        command.envs(variables.iter().copied()).output().unwrap()
    };
    for (variable, value, says) in [
        ("STEMMATA_CONTEXT_METRICS", "1", true),
        ("ZEROSHOT_CONTEXT_METRICS", "true", true),
        ("ZEROSHOT_CONTEXT_METRICS", "0", false),
    ] {
        let told = String::from_utf8(with(&[(variable, value)]).stderr).unwrap();
        assert_eq!(
            told.starts_with("[ContextMetrics] {\"agentId\":\"careful\""),
            says,
            "{variable}={value}: {told}"
        );
    }
    let both = with(&[("STEMMATA_CONTEXT_METRICS", "0"), ("ZEROSHOT_CONTEXT_METRICS", "1")]);
    assert!(both.stderr.is_empty(), "our own name decides");
    let before = with(&[]).stdout;
    let recorded = with(&[("ZEROSHOT_CONTEXT_METRICS_LEDGER", "1")]);
    assert_eq!((&recorded.stdout, recorded.stderr.is_empty()), (&before, true));
    let event = last_event(&stage);
    assert_eq!((&event["topic"], &event["receiver"]), (&"CONTEXT_METRICS".into(), &"system".into()));
    assert_eq!((&event["sender"], &event["replayable"]), (&"careful".into(), &false.into()));
    assert_eq!(event["data"]["agentId"], "careful");
}

#[test]
fn context_debug_says_why_a_prompt_is_what_it_is() {
    let stage = stage();
    let mut debug = vec!["context", "debug", "--ledger", "c1", "--template", "fixer"];
    insta::assert_snapshot!("prompts_context_debug", stage.told(&debug));
    debug.extend(["--max-tokens", "40"]);
    insta::assert_snapshot!("prompts_context_debug_small", stage.told(&debug));
    stage
        .run(&["events", "append", "PLAN_READY", "Another plan", "--from", "planner", "--ledger", "c1"])
        .ok();
    let diff = ["context", "debug", "--ledger", "c1", "--template", "fixer", "--diff", "9"];
    insta::assert_snapshot!("prompts_context_diff", stage.told(&diff));
    let report = stage.json(&diff);
    let changed: Vec<&str> = report["changes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["is_same_text"] == false)
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!(changed, ["source:PLAN_READY:1"]);
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let stage = stage();
    for (args, flag) in [
        (vec!["context", "debug", "--ledger", "c1", "--diff", "2"], "--diff SEQ"),
        (vec!["context", "debug", "--ledger", "c1", "--trigger", "77"], "--trigger"),
        (vec!["context", "debug", "--ledger", "c1", "--max-tokens", "7"], "--max-tokens"),
        (vec!["context", "debug", "--ledger", "c1", "--profile", "nope"], "--profile"),
        (vec!["turn", "end", "--template", "fixer"], "--template"),
    ] {
        let said = stage.run(&args);
        assert_eq!(said.code, 2, "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(flag), "{args:?}: {}", said.stderr);
    }
}

#[test]
fn a_model_counts_and_shows_its_window() {
    let stage = stage();
    let debug = ["context", "debug", "--ledger", "c1", "--template", "fixer", "--model", "gpt-5"];
    let shown = stage.told(&debug);
    assert!(shown.contains("(o200k)") && shown.contains("window 400,000 tokens of gpt-5"), "{shown}");
    assert!(shown.contains("codex: 258,400, compacts at 232,560"), "{shown}");
    let report = stage.json(&debug);
    assert_eq!(report["window"]["clients"][0]["client"], "codex");
    let pack = stage.json(&["recall", "plan", "--ledger", "c1", "--model", "claude-opus-4-5"]);
    assert_eq!((&pack["counter"], &pack["counted"]["from"]), (&"o200k*1.180".into(), &"shipped".into()));
    for command in ["assemble", "recall"] {
        let mut args = vec![command, "--ledger", "c1", "--model", "gpt5"];
        args.extend(if command == "recall" { ["plan", "--max-tokens=400"] } else { ["--template", "fixer"] });
        let said = stage.run(&args);
        assert_eq!(said.code, 2, "{}", said.stderr);
        assert!(
            said.stderr.contains("did you mean `gpt-5`?") && said.stderr.contains("--counter"),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn strategy_check_says_lines() {
    let stage = stage();
    let write = |name: &str, text: &str| {
        stage.home.write(&format!("home/project/{name}"), text.as_bytes()).display().to_string()
    };
    let mine = write("mine.json", STRATEGY);
    stage.run(&["strategy", "check", &mine]).ok();
    let bad = write(
        "bad.json",
        "{\"sources\":[\n  {\"topic\":\"PLAN_READY\",\"ammount\":1,\"since\":\"last_taks_end\"}\n]}",
    );
    let told = stage.told(&["strategy", "check", "bad.json"]);
    assert!(told.starts_with("exit 1\n"), "{told}");
    insta::assert_snapshot!("prompts_strategy_check", told);
    let report = stage.run(&["strategy", "check", &bad, "--json"]).code(1).json();
    assert_eq!((&report["is_valid"], &report["file"]), (&false.into(), &bad.into()));
    assert_eq!(
        (&report["findings"][0]["line"], &report["findings"][0]["code"]),
        (&2.into(), &"unknown_field".into())
    );
    let used = assembled(&stage, &["--strategy", "bad.json"]).code(1);
    used.complains(&["line 2", "stemma strategy check"]);
    insta::assert_snapshot!("prompts_strategy_list", stage.told(&["strategy", "list"]));
    let text = stage.run(&["strategy", "show", "worker"]).ok().text();
    stage.feed(&["strategy", "check", "-"], text.as_bytes()).ok();
    let json = stage.run(&["strategy", "show", "planner", "--format", "json"]).ok().text();
    stage.feed(&["strategy", "check", "--role", "planner", "-"], json.as_bytes()).ok();
    stage.run(&["strategy", "show", "wroker"]).code(3).complains(&["no strategy `wroker`"]);
    // No more is read than a strategy may have.
    stage.run(&["strategy", "check", "/dev/zero"]).code(2);
}

/// Begins a turn of session `s1`, steps once and ends it; returns what each printed.
fn turn(stage: &Stage, said: &str, answer: &str) -> [Value; 3] {
    let of = "\"turn\":{\"ledger\":\"c1\",\"session\":\"s1\",\"agent\":\"careful\",\"template\":\"fixer\"}";
    let call = "{\"role\":\"assistant\",\"calls\":[{\"id\":\"c1\",\"name\":\"bash\",\"input\":{\"command\":\"ls\"}}]}";
    let result = "{\"role\":\"tool\",\"results\":[{\"id\":\"c1\",\"text\":\"src\"}]}";
    let fed = |args: &[&str], input: String| stage.feed(args, input.as_bytes()).ok().json();
    [
        fed(
            &["turn", "begin", "--template", "fixer"],
            format!("{{{of},\"said\":{{\"id\":\"u-{said}\",\"role\":\"user\",\"text\":\"{said}\"}}}}"),
        ),
        fed(&["turn", "step"], format!("{{{of},\"entries\":[{call},{result}]}}")),
        fed(
            &["turn", "end"],
            format!("{{{of},\"entries\":[{{\"role\":\"assistant\",\"text\":\"{answer}\"}}]}}"),
        ),
    ]
}

#[test]
fn a_loop_in_any_language_begins_steps_and_ends_turns() {
    let stage = stage();
    let [begun, stepped, ended] = turn(&stage, "refuse", "It refuses empty files now.");
    let prompt = begun["prompt"]["prompt"].as_str().unwrap();
    assert!(prompt.contains("Change little.") && prompt.trim_end().ends_with("refuse"), "{prompt}");
    assert_eq!((&begun["ledger"], &begun["session"]), (&"c1".into(), &"s1".into()));
    assert_ne!(stepped["ctx"], Value::Null, "a step is a provisional commit");
    let tip = ended["ctx"].as_str().unwrap();
    assert_eq!(stage.json(&["show", tip])["closure"], "closed");
    let debug = ["context", "debug", "--ledger", "c1"];
    let first = stage.run(&[&debug[..], &["--diff"]].concat()).ok();
    first.complains(&["only one turn"]);
    turn(&stage, "again", "It still does.");
    insta::assert_snapshot!("prompts_context_kept", stage.told(&debug));
    let report = stage.json(&[&debug[..], &["--session", "s1", "--diff"]].concat());
    assert!(report["trace"]["cached_prefix"]["tokens"].as_u64().unwrap() > 0, "{report}");
    let changed = report["changes"].as_array().unwrap().iter().filter(|one| one["is_same_text"] == false);
    assert!(changed.clone().any(|one| one["id"] == "trigger"), "{report}");
    for (args, reason) in [
        (vec!["context", "debug", "--ledger", "c1", "--session", "nobody"], "no turn of session `nobody`"),
        (vec!["context", "debug", "--ledger", "ghost"], "ghost"),
    ] {
        stage.run(&args).code(3).complains(&[reason]);
    }
    for (input, reason) in [
        ("", "expects a JSON object on standard input"),
        (
            "{\"turn\":{\"agent\":\"a\",\"template\":\"t\"},\"said\":{\"role\":\"robot\",\"text\":\"x\"}}",
            "`role` is `robot`",
        ),
        ("{\"turn\":{\"agent\":\"a\",\"template\":\"t\"},\"said\":{\"role\":\"user\"}}", "says nothing"),
        ("{\"turn\":{\"agent\":\"a\",\"template\":\"t\"},\"sayed\":{}}", "sayed"),
        (
            "{\"turn\":{\"ledger\":\"c1\",\"session\":\"s1\",\"agent\":\"a\",\"template\":\"t\"},\"context\":{\"resume\":\"TIP\"},\"said\":{\"role\":\"user\",\"text\":\"x\"}}",
            "begin another session",
        ),
    ] {
        let said = stage.feed(&["turn", "begin"], input.replace("TIP", tip).as_bytes());
        assert_ne!(said.code, 0, "{input}");
        said.complains(&[reason]);
    }
}

/// Vectors are asked for where a server is configured, and one that cannot be asked costs a warning.
#[test]
fn recall_goes_by_meaning_where_a_server_is_configured() {
    let stage = stage();
    let recall = ["recall", "parser", "--ledger", "c1", "--max-tokens", "400"];
    assert!(!stage.json(&recall).to_string().contains("\"dense\""));
    let server = ModelServer::start(|asked: &Asked| {
        let texts = asked.body["input"].as_array().cloned().unwrap_or_default();
        let is_near = |text: &Value| text == "parser" || text.to_string().contains("accepts");
        let vector = |text: &Value| if is_near(text) { json!([1.0, 0.1]) } else { json!([0.1, 1.0]) };
        let data = texts.iter().enumerate();
        let data: Vec<Value> =
            data.map(|(index, text)| json!({ "index": index, "embedding": vector(text) })).collect();
        Answer::Json(json!({ "data": data }))
    });
    let configure = |url: &str| {
        let config = format!("{CONFIG}\n[retriever]\ndense_url = \"{url}\"\ndense_model = \"small\"\n");
        stage.home.write("home/.config/stemmata/config.toml", config.as_bytes());
    };
    configure(&format!("{}/v1", server.url()));
    // A proxy that is asked is no server at all.
    let proxied =
        stage.command(&[&recall[..], &["--json"]].concat()).env("ALL_PROXY", "http://127.0.0.1:1").output();
    let found = said(proxied.unwrap()).ok().json();
    let reasons = found["items"][0]["reasons"].to_string();
    assert!(reasons.contains("\"dense\""), "{found}");
    assert_eq!(server.asked()[0].path, "/v1/embeddings");
    configure("ftp://nowhere");
    stage.run(&recall).ok().complains(&["retriever.dense_url", "ftp://"]);
}

#[test]
fn recall_json_is_the_contract() {
    let stage = stage();
    turn(&stage, "refuse", "I decided to refuse empty files in the parser.");
    stage.run(&["decide", "The parser refuses empty files", "--ledger", "c1"]).ok();
    let found = stage.json(&["recall", "parser", "empty", "files", "--ledger", "c1", "--max-tokens", "400"]);
    assert_eq!(found["max_tokens"], 400);
    assert!(found["tokens"].as_u64().unwrap() <= 400, "{found}");
    let items = found["items"].as_array().unwrap();
    let points = |one: &Value, field: &str| (one[field].as_f64().unwrap() * 1_000.0).round();
    for item in items {
        let sum: f64 = item["reasons"].as_array().unwrap().iter().map(|one| points(one, "points")).sum();
        assert!((sum - points(item, "score")).abs() < 0.5, "{item}");
    }
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("refuse empty files in the parser"), "{text}");
    for item in items {
        for line in item["text"].as_str().unwrap().lines() {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
    let plain = stage.run(&["recall", "parser empty files", "--ledger", "c1", "--max-tokens", "400"]).ok();
    assert_eq!(plain.text().trim_end(), text.trim_end());
    for (args, reason) in [
        (vec!["recall", "--ledger", "c1", " "], "name the task in words"),
        (vec!["recall", "--ledger", "c1", "x", "--max-tokens", "3"], "at least 64"),
        (vec!["recall", "--ledger", "ghost", "x"], "ghost"),
    ] {
        let said = stage.run(&args);
        assert_ne!(said.code, 0, "{args:?}");
        assert!(said.stderr.contains(reason), "{args:?}: {}", said.stderr);
    }
}

#[test]
fn env_names_ticket_and_thread() {
    let stage = stage();
    let printed = stage.run(&["start", "fixer", "--print", "--ticket", "T-9"]).ok().text();
    assert!(printed.contains("STEMMATA_TICKET=T-9 "), "{printed}");
    let of = "\"turn\":{\"ledger\":\"c1\",\"session\":\"s2\",\"agent\":\"a\",\"template\":\"t\"}";
    for (input, args) in [
        (format!("{{{of},\"said\":{{\"role\":\"user\",\"text\":\"hi\"}}}}"), "begin"),
        (format!("{{{of},\"entries\":[{{\"role\":\"assistant\",\"text\":\"ok\"}}]}}"), "end"),
    ] {
        let file = stage.home.write("request.json", input.as_bytes());
        let mut command = stage.command(&["turn", args]);
        command.env("STEMMATA_TICKET", "T-9").env("STEMMATA_THREAD", "a\nb");
        let done = command.stdin(std::fs::File::open(file).unwrap()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let tips = stage.json(&["tips", "--ticket", "T-9"]);
    assert_eq!(tips["commits"].as_array().unwrap().len(), 1, "{tips}");
}

/// The example that the guide points to.
#[test]
fn the_loop_from_the_shell_runs() {
    let stage = stage();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/shell/loop.sh");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_stemma"));
    let mut command = std::process::Command::new("sh");
    command.env_clear().envs(stage.home.environment()).current_dir(stage.home.project()).arg(script);
    command.env("PATH", format!("{}:/usr/bin:/bin", program.parent().unwrap().display()));
    let done = command.output().unwrap();
    let (told, complaint) =
        (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr).into_owned());
    assert!(done.status.success(), "{told}\n{complaint}");
    assert!(told.contains("\"ctx\": \"ctx-") && told.contains("session nightly"), "{told}\n{complaint}");
}

#[test]
fn an_open_thread_is_recorded_recalled_and_closed() {
    let stage = stage();
    let run = |args: &[&str]| stage.run(&[args, &["--ledger", "c1"]].concat());
    run(&["decide", "--thread", "Does the queue keep its order"]).ok();
    run(&["decide", "--thread", "Does the cache keep its order"]).ok();
    let recalled = run(&["recall", "queue order"]).ok().text();
    assert!(recalled.contains("Does the queue keep its order"), "{recalled}");
    run(&["decide", "--close", "keep its order"]).code(4).complains(&["keep its order"]);
    run(&["decide", "--close", "nothing of it"]).code(3).complains(&["thread"]);
    let closed = run(&["decide", "--close", "QUEUE", "--json"]).ok().json();
    assert_eq!(closed["finished"], "Does the queue keep its order");
    run(&["decide", "--close", "QUEUE"]).code(3);
    run(&["decide"]).code(2);
}
