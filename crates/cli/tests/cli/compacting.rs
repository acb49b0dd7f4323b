//! `compact` that stores: by rules, by a scripted model that misbehaves, again, and not at all.

use std::process::Command;

use serde_json::{Value, json};
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::model_server::{Answer, ModelServer};

use crate::stage::{Said, Stage, said};

/// A session of a client, and its newest commit.
fn stage() -> (Stage, String) {
    let stage = Stage::new();
    let path = stage.home.write_session(&ClaudeSession::new(5).turns(24).build());
    // Older loaders find nothing behind a summary.
    let text = std::fs::read_to_string(&path).unwrap();
    let version = text.split("\"version\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    std::fs::write(&path, text.replace(&format!("\"version\":\"{version}\""), "\"version\":\"2.1.330\""))
        .unwrap();
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    (stage, tip)
}

#[test]
fn compact_and_guard_say_one_number_of_a_window() {
    let (stage, tip) = stage();
    let guarded = stage.json(&["guard", &tip]);
    let entries = guarded["tokens"].as_u64().unwrap() - guarded["overhead_tokens"].as_u64().unwrap();
    let planned = stage.json(&["compact", &tip, "--dry-run"]);
    assert_eq!(planned["tokens_before"], entries, "{guarded}");
    assert!(planned["tokens_after"].as_u64().unwrap() < entries, "{planned}");
}

/// Returns a command that asks the scripted server, once, for a second at most.
fn asking(stage: &Stage, server: &ModelServer, args: &[&str]) -> Command {
    let mut command = stage.command(args);
    command
        .env("STEMMATA_LLM_PROVIDER", "openai")
        .env("STEMMATA_LLM_ENDPOINT", format!("{}/v1", server.url()))
        .env("STEMMATA_LLM_MODEL", "made-up-1")
        .env("STEMMATA_LLM_TIMEOUT_S", "1")
        .env("STEMMATA_LLM_ATTEMPTS", "1");
    command
}

fn run(mut command: Command) -> Said {
    said(command.output().expect("the binary runs"))
}

fn text(text: &str) -> Answer {
    Answer::Json(json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}))
}

fn commits(stage: &Stage) -> Value {
    stage.json(&["du"])["total"]["commits"].clone()
}

fn resumes(stage: &Stage, id: &str) {
    let placed = stage.json(&["resume", id, "--here", "--print"]);
    let errors = placed["validation"]["findings"].as_array().cloned().unwrap_or_default();
    let bad: Vec<&Value> = errors.iter().filter(|found| found["severity"] != "info").collect();
    assert!(bad.is_empty(), "{bad:?}");
}

/// Found by a check: rules of one's own that nobody can read made what is stored unusable.
#[test]
fn a_compaction_of_what_is_stored_needs_no_rules_of_ones_own() {
    let (stage, tip) = stage();
    let rules = stage.home.write("data/stemmata/secrets.toml", b"[[rules]]\nkind = 'x'\nregex = '('\n");
    for args in [vec!["compact", &tip, "--dry-run"], vec!["compact", &tip]] {
        stage.run(&args).ok().complains(&["only the shipped rules", rules.to_str().unwrap()]);
    }
    // A summary that somebody wrote was never looked at.
    let written = stage.home.write("summary.md", b"Three shops were opened.");
    stage.run(&["compact", &tip, "--summary-file", written.to_str().unwrap()]).code(5);
}

#[test]
fn a_compaction_by_rules_keeps_the_recent_turns_and_is_undone() {
    let (stage, tip) = stage();
    let before = commits(&stage);
    let dry = stage.json(&["compact", &tip, "--dry-run"]);
    assert_eq!((&dry["id"], &dry["with"]), (&Value::Null, &json!("heuristic")));
    assert_eq!(commits(&stage), before, "nothing was stored");
    let made = stage.json(&["compact", &tip]);
    for field in ["parent", "tokens_before", "tokens_after", "kept_entries", "lost"] {
        assert_eq!(made[field], dry[field], "{field}");
    }
    let id = made["id"].as_str().unwrap();
    assert!(!notes(&made).contains("still open"), "the last answer is an end: {}", notes(&made));
    assert!(made["tokens_after"].as_u64() < made["tokens_before"].as_u64());
    assert!(made["kept_entries"].as_u64() > Some(0) && made["lost"]["entries"].as_u64() > Some(0), "{made}");
    assert_eq!(stage.json(&["uncompact", id])["id"], tip.as_str());
    let diff = stage.json(&["diff", id]);
    assert_eq!(
        diff["lost_entries"].as_array().unwrap().len() as u64,
        made["lost"]["entries"].as_u64().unwrap()
    );
    let context = stage.run(&["materialize", id, "--out", "-"]).ok().text();
    assert_eq!(context.matches("[Previous conversation summary]").count(), 1, "one heading");
    assert!(context.contains(&format!("stemma show {tip} --entry @N")));
    let whole = stage.run(&["materialize", &tip, "--out", "-"]).ok().text();
    assert_eq!(context.lines().last().map(|line| line.contains("\"assistant\"")), Some(true));
    assert!(context.len() < whole.len());
    resumes(&stage, id);
    let shown = stage.run(&["show", id, "--full"]).ok().text();
    assert_eq!(shown.matches('◆').count(), 1, "{shown}");
}

/// Without hooks, what the client wrote since the last import is read first, as `guard` and `handoff` do.
#[test]
fn a_session_is_compacted_as_it_is_now() {
    let stage = Stage::new();
    let path = stage.home.write_session(&ClaudeSession::new(5).turns(24).build());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let id = stage.json(&["list"])["sessions"][0]["session_id"].as_str().unwrap().to_owned();
    let mut text = std::fs::read_to_string(&path).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let mut added = last.clone();
    added["uuid"] = "aaaaaaaa-0000-4000-8000-000000000001".into();
    added["parentUuid"] = last["uuid"].clone();
    added["type"] = "user".into();
    added["message"] = json!({"role": "user", "content": "And now the last word"});
    text.push_str(&added.to_string());
    text.push('\n');
    std::fs::write(&path, text).unwrap();
    // What stores nothing reads nothing either, and says so.
    let printed = stage.run(&["compact", &id, "--with", "heuristic", "--print"]).ok();
    assert!(!printed.text().contains("the last word"));
    assert!(printed.stderr.contains(&format!("`stemma current {id}`")), "{}", printed.stderr);
    let made = stage.json(&["compact", &id, "--with", "heuristic"]);
    let printed = stage.run(&["compact", &id, "--with", "heuristic", "--print"]).ok();
    assert!(!printed.stderr.contains("stemma current"), "nothing came since: {}", printed.stderr);
    assert_ne!(made["parent"], tip.as_str());
    assert!(notes(&made).contains("still open"), "the last prompt has no answer: {}", notes(&made));
    let context = stage.run(&["materialize", made["id"].as_str().unwrap(), "--out", "-"]).ok().text();
    assert!(context.contains("And now the last word"), "{context}");
}

#[test]
fn what_is_compacted_again_is_a_branch_made_of_the_entries() {
    let (stage, tip) = stage();
    let first = stage.json(&["compact", &tip, "--with", "off"]);
    assert_eq!(first["with"], "off");
    let again = stage.json(&["compact", first["id"].as_str().unwrap(), "--again", "--ratio", "0.2"]);
    assert_eq!((&again["parent"], &again["with"]), (&json!(tip), &json!("heuristic")));
    assert!(again["tokens_after"].as_u64() > first["tokens_after"].as_u64());
    stage.run(&["compact", &tip, "--again"]).code(3).complains(&["compaction"]);
    let whole = stage.json(&["compact", &tip, "--keep", "1"]);
    assert!(whole["kept_entries"].as_u64() < again["kept_entries"].as_u64());
    // A client's summary stands for its conversation from the beginning.
    stage.run(&["compact", &tip, "--range", "@2..@5"]).code(5).complains(&["from its beginning"]);
    stage.run(&["compact", &tip, "--range", "@2"]).code(2).complains(&["FROM..TO"]);
}

/// Returns the notes of an answer, one below the other.
fn notes(answer: &Value) -> String {
    let notes = answer["notes"].as_array().cloned().unwrap_or_default();
    notes.iter().filter_map(|note| note["message"].as_str()).collect::<Vec<_>>().join("\n")
}

/// A copy shares its commits with the session that it was made of: whose a compaction beside them is, the compaction says.
#[test]
fn what_was_compacted_in_a_placed_copy_is_found_by_the_copy_alone() {
    let (stage, tip) = stage();
    let original = stage.json(&["list"])["sessions"][0]["session_id"].as_str().unwrap().to_owned();
    let placed = stage.json(&["resume", &tip, "--here", "--copy", "--print"]);
    let copy = placed["session_id"].as_str().unwrap();
    assert_ne!(copy, original);
    stage.run(&["compact", copy, "--again"]).code(3).complains(&["no compaction"]);
    let made = stage.json(&["compact", copy, "--with", "off"]);
    let undone = stage.json(&["uncompact", copy]);
    assert_eq!((&undone["compaction"], &undone["id"]), (&made["id"], &json!(tip)));
    assert_eq!(stage.json(&["diff", copy])["compaction"], made["id"]);
    let again = stage.json(&["compact", copy, "--again", "--ratio", "0.2"]);
    assert_eq!((&again["parent"], &again["with"]), (&json!(tip), &json!("heuristic")));
    for args in [&["uncompact", &original][..], &["diff", &original], &["compact", &original, "--again"]] {
        stage.run(args).code(3).complains(&["no compaction"]);
    }
    // The copy's compaction has an id, and that is enough.
    assert_eq!(stage.json(&["uncompact", made["id"].as_str().unwrap()])["id"], tip.as_str());
}

#[test]
fn uncompact_and_again_say_how_many_turns_came_after_the_compaction() {
    let stage = Stage::new();
    let path = stage.home.write_session(&ClaudeSession::new(5).turns(24).build());
    stage.import(&path);
    let id = stage.json(&["list"])["sessions"][0]["session_id"].as_str().unwrap().to_owned();
    let made = stage.json(&["compact", &id]);
    let later = |session: &str| notes(&stage.json(&["uncompact", session]));
    assert!(later(&id).contains("on a branch") && !later(&id).contains("later"), "{}", later(&id));
    let last: Value =
        serde_json::from_str(std::fs::read_to_string(&path).unwrap().lines().last().unwrap()).unwrap();
    let mut parent = last["uuid"].clone();
    for (turns, says) in [
        (1, "1 turn of the session came later and is not in this context"),
        (2, "2 turns of the session came later and are not in this context"),
    ] {
        let mut added = String::new();
        for (number, role) in ["user", "assistant"].into_iter().enumerate() {
            let mut line = last.clone();
            line["uuid"] = format!("aaaaaaaa-0000-4000-8000-{turns:06}{number:06}").into();
            line["parentUuid"] = std::mem::replace(&mut parent, line["uuid"].clone());
            line["type"] = role.into();
            let content = json!([{"type": "text", "text": format!("{role} {turns}")}]);
            line["message"] = json!({"id": format!("m{turns}"), "role": role, "content": content});
            added += &line.to_string();
            added.push('\n');
        }
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + &added).unwrap();
        stage.import(&path);
        assert!(later(&id).contains(says), "{}", later(&id));
        assert!(stage.run(&["uncompact", &id]).ok().stderr.contains(says));
        let again = stage.run(&["compact", &id, "--again", "--dry-run"]).ok();
        assert!(again.stderr.contains(says), "{}", again.stderr);
        assert!(notes(&stage.json(&["compact", &id, "--again", "--dry-run"])).contains(says));
    }
    // A commit has no later turns: only a session has.
    assert_eq!(later(made["id"].as_str().unwrap()), "");
}

#[test]
fn what_is_too_small_to_compact_is_refused_and_nothing_is_stored() {
    let stage = Stage::new();
    let path = stage.home.write_session(&ClaudeSession::new(5).turns(1).build());
    let text = std::fs::read_to_string(&path).unwrap();
    let first = text.lines().find(|line| line.contains("\"type\":\"user\"")).unwrap();
    let mut line: Value = serde_json::from_str(first).unwrap();
    line["message"] = json!({"role": "user", "content": "Hello there"});
    line["parentUuid"] = Value::Null;
    std::fs::write(&path, format!("{line}\n")).unwrap();
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let before = commits(&stage);
    for more in [&["--with", "heuristic"][..], &["--with", "off"], &["--keep", "1"], &["--dry-run"]] {
        let args = [&["compact", tip.as_str()], more].concat();
        let problem = stage.run(&[&args[..], &["--json"]].concat()).code(5);
        assert!(problem.stderr.contains("nothing_to_compact"), "{args:?}: {}", problem.stderr);
        let said = stage.run(&args).code(5).complains(&["tokens, fewer than its summary would take"]);
        assert!(!said.stderr.contains("--keep"), "to keep less would not help: {}", said.stderr);
    }
    assert_eq!(commits(&stage), before, "nothing was stored");
}

#[test]
fn a_model_writes_above_the_record_and_is_shown_no_secret() {
    let (stage, tip) = stage();
    let server = ModelServer::of(vec![text("Goal: the work goes on.\nNext steps: none are known.")]);
    let args = ["compact", &tip, "--with", "llm", "--focus", "the parser", "--json"];
    let made = run(asking(&stage, &server, &args)).ok().json();
    assert_eq!(made["with"], "model", "{made}");
    let context = stage.run(&["materialize", made["id"].as_str().unwrap(), "--out", "-"]).ok().text();
    let at = |text: &str| context.find(text).unwrap_or_else(|| panic!("{text}: {context}"));
    assert!(at("Goal: the work goes on.") < at("## User, verbatim"));
    let inventive =
        ModelServer::of(vec![text("Goal: the work goes on.\nNext steps: mend src/made_up_by_me.rs.")]);
    let args = ["compact", &tip, "--with", "llm", "--dry-run"];
    run(asking(&stage, &inventive, &args)).ok().complains(&["a sentence of `made-up-1` was left out: "]);
    let asked = server.asked();
    let question = asked[0].body["messages"][1]["content"].as_str().unwrap();
    assert!(question.contains("Look first at: the parser") && question.contains("<record>"));
    resumes(&stage, made["id"].as_str().unwrap());
}

/// A proxy would get the key and the conversation, and lead them to a machine of its own.
#[test]
fn a_model_of_this_machine_is_asked_past_every_proxy() {
    let (stage, tip) = stage();
    let proxy = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    proxy.set_nonblocking(true).unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    for variable in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "https_proxy", "http_proxy"] {
        for host in ["127.0.0.1", "LocalHost", "[::ffff:127.0.0.1]"] {
            let server = ModelServer::of(vec![text("Goal: the work goes on.\nNext steps: none are known.")]);
            let mut command =
                asking(&stage, &server, &["compact", &tip, "--with", "llm", "--dry-run", "--json"]);
            let endpoint = format!("{}/v1", server.url()).replace("127.0.0.1", host);
            command.env(variable, &address).env("STEMMATA_LLM_ENDPOINT", &endpoint);
            command.env("STEMMATA_LLM_KEY_ENV", "MINE").env("MINE", "made-up-key");
            let made = run(command).ok().json();
            assert_eq!(
                (&made["with"], server.asked().len()),
                (&json!("model"), 1),
                "{variable} {host}: {made}"
            );
            assert!(proxy.accept().is_err(), "{variable} {host}");
        }
    }
    // Another machine is reached through the proxy, and never with a key in the clear.
    let server = ModelServer::of(vec![text("no")]);
    let ask = |endpoint: &str| {
        let mut command = asking(&stage, &server, &["compact", &tip, "--with", "llm", "--dry-run"]);
        command.env("HTTP_PROXY", &address).env("STEMMATA_LLM_ENDPOINT", endpoint);
        command.env("STEMMATA_LLM_KEY_ENV", "MINE").env("MINE", "made-up-key");
        run(command)
    };
    ask("http://192.0.2.1/v1").code(2).complains(&["unencrypted to another machine"]);
    assert!(proxy.accept().is_err());
    ask("https://192.0.2.1/v1");
    assert!(proxy.accept().is_ok());
}

#[test]
fn a_model_that_misbehaves_costs_nothing_but_its_summary() {
    let (stage, tip) = stage();
    let status = |code: u16| Answer::Status(code, Vec::new(), "{\"error\":{\"message\":\"no\"}}".to_owned());
    let rows = [
        (text(""), 3),
        (text("It rewrote src/made_up_by_me.rs and ran `nonsense --wild`."), 3),
        (Answer::Json(json!({"choices": 7})), 1),
        (Answer::Cut, 1),
        (Answer::Blanks(9 << 20), 1),
        (Answer::Closed, 1),
        (Answer::Silence, 1),
        (status(429), 1),
        (status(500), 1),
        (Answer::Status(503, Vec::new(), String::new()), 1),
    ];
    let by_rules = stage.json(&["compact", &tip, "--dry-run"]);
    for (answer, times) in rows {
        let server = ModelServer::of(vec![answer.clone()]);
        let said =
            run(asking(&stage, &server, &["compact", &tip, "--with", "llm", "--dry-run", "--json"])).ok();
        let made = said.json();
        assert_eq!(
            (&made["with"], &made["tokens_after"]),
            (&json!("heuristic"), &by_rules["tokens_after"]),
            "{answer:?}"
        );
        let notes = made["notes"].to_string();
        assert!(notes.contains("made by rules") && notes.contains("made-up-1"), "{notes}");
        assert!(!notes.contains(" : ") && !notes.contains(": \""), "{notes}");
        assert_eq!(server.asked().len(), times, "{answer:?}");
    }
    let itself = ModelServer::start(|asked| {
        let question = asked.body["messages"][1]["content"].as_str().unwrap_or_default();
        text(question.split("</conversation>").next().unwrap_or_default())
    });
    let made =
        run(asking(&stage, &itself, &["compact", &tip, "--with", "llm", "--dry-run", "--json"])).ok().json();
    assert_eq!((&made["with"], itself.asked().len()), (&json!("heuristic"), 3));
    let huge = ModelServer::of(vec![text(&"Progress: it goes on and on. ".repeat(50_000))]);
    let made =
        run(asking(&stage, &huge, &["compact", &tip, "--with", "llm", "--dry-run", "--json"])).ok().json();
    assert_eq!(made["with"], "model");
    assert!(made["tokens_after"].as_u64() < made["tokens_before"].as_u64());
}

#[test]
fn a_model_that_is_not_configured_is_named_and_no_key_is_ever_shown() {
    let (stage, tip) = stage();
    let ask = ["compact", &tip, "--with", "llm"];
    stage.run(&ask).code(2).complains(&["llm.provider", "stemma config set"]);
    let mut command = stage.command(&ask);
    command.env("STEMMATA_LLM_PROVIDER", "anthropic").env("STEMMATA_LLM_MODEL", "m");
    run(command).code(2).complains(&["ANTHROPIC_API_KEY"]);
    // A key in the place of its name is refused, and not repeated.
    let wrong = stage.run(&["config", "set", "llm.key_env", "sk-very-secret-1"]).code(2);
    assert!(
        !wrong.stderr.contains("very-secret") && wrong.stderr.contains("environment variable"),
        "{}",
        wrong.stderr
    );
    let mut command = stage.command(&ask);
    command
        .env("STEMMATA_LLM_PROVIDER", "openai")
        .env("STEMMATA_LLM_MODEL", "m")
        .env("STEMMATA_LLM_ENDPOINT", "http://example.org/v1")
        .env("STEMMATA_LLM_KEY_ENV", "OPENAI_API_KEY")
        .env("OPENAI_API_KEY", "sk-very-secret-2");
    let refused = run(command).code(2).complains(&["unencrypted"]);
    assert!(!refused.stderr.contains("very-secret"));
    stage.run(&["compact", &tip, "--print", "--with", "llm"]).code(2).complains(&["--with heuristic"]);
    stage.run(&["compact", &tip, "--summary-file", "x", "--focus", "y"]).code(2);
}

#[test]
fn a_printed_summary_is_by_rules_and_says_where_nothing_is_summarized() {
    let (stage, tip) = stage();
    let asked = ["compact", &tip, "--print", "--ratio", "0.1", "--exclude-user"];
    let printed = stage.run(&asked).ok().text();
    assert!(!printed.is_empty());
    assert_eq!(stage.run(&[&asked[..], &["--with", "heuristic"]].concat()).ok().text(), printed);
    let entries = ["materialize", &tip, "--from", "start", "--format", "stemmata-v1", "--out", "-"];
    let entries = stage.run(&entries).ok().text();
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned();
    let (first, last) = (id(entries.lines().next().unwrap()), id(entries.lines().last().unwrap()));
    let nothing = stage.run(&["compact", &tip, "--print", "--recent-from", &first]).ok();
    assert_eq!(nothing.text().trim(), "");
    assert!(nothing.stderr.contains("no entry to summarize"), "{}", nothing.stderr);
    let late = ["compact", &tip, "--print", "--recent-from", &last, "--at", &first];
    stage.run(&late).code(2).complains(&["`--recent-from`"]);
}
