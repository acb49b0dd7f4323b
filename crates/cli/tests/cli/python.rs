//! The agent in Python that the guide points to, as a program of somebody else: it knows HTTP and `requests`, and nothing of us.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use stemmata_testkit::model_server::{Answer, ModelServer};

use crate::stage::Stage;

/// A service on a port of its own, which ends with the test.
struct Serve {
    child: Child,
    url: String,
}

impl Serve {
    fn start(stage: &Stage) -> Self {
        let mut command = stage.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let of = |line: &str| {
            line.strip_prefix("Answering on ").filter(|url| url.starts_with("http:")).map(str::to_owned)
        };
        let url = lines.find_map(|line| of(&line.unwrap()));
        Self { child, url: url.expect("an address") }
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn has_requests() -> bool {
    let mut python = Command::new("python3");
    let asked = python.args(["-c", "import requests"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

fn says(text: &str) -> Answer {
    let message = json!({ "role": "assistant", "content": text });
    Answer::Json(
        json!({ "choices": [{ "message": message }], "usage": { "prompt_tokens": 300, "completion_tokens": 9 } }),
    )
}

fn calls(command: &str) -> Answer {
    let function = json!({ "name": "shell", "arguments": json!({ "command": command }).to_string() });
    let call = json!({ "id": "call_0", "type": "function", "function": function });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    Answer::Json(json!({ "choices": [{ "message": message, "finish_reason": "tool_calls" }] }))
}

/// The roles of a request's messages.
fn roles(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().filter_map(|message| message["role"].as_str()).collect()
}

#[test]
fn an_agent_in_python_goes_on_in_another_process() {
    if !has_requests() {
        println!(
            "skipped the agent in Python: `python3` with `requests` is not here (`pip install requests`)"
        );
        return;
    }
    let stage = Stage::new();
    let serve = Serve::start(&stage);
    let model = ModelServer::of(vec![
        calls("echo silver bells"),
        says("It says silver bells."),
        calls("exit 3"),
        says("You asked for bells."),
    ]);
    let run = |words: &str| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/python/agent.py");
        let mut command = Command::new("python3");
        command.args(["-B", script, "s-1", words]).current_dir(stage.home.project());
        command.env("STEMMATA_SERVER", &serve.url).env("MODEL_URL", model.url()).env("MODEL", "scripted");
        command.env_remove("HTTP_PROXY").env_remove("http_proxy").env("NO_PROXY", "127.0.0.1");
        let done = command.output().unwrap();
        let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{complaint}");
        (String::from_utf8(done.stdout).unwrap(), complaint)
    };
    let (first, stored) = run("What does it say?");
    assert_eq!(first, "It says silver bells.\n");
    let (second, _) = run("What did I ask for?");
    assert_eq!(second, "You asked for bells.\n");
    let asked: Vec<Value> = model.asked().into_iter().map(|asked| asked.body["messages"].clone()).collect();
    assert_eq!(roles(&asked[0]), ["system", "user"]);
    assert_eq!(roles(&asked[1]), ["system", "user", "assistant", "tool"]);
    // The second process has nothing but the session's name.
    assert_eq!(roles(&asked[2]), ["system", "user", "assistant", "tool", "assistant", "user"]);
    let text = asked[2].to_string();
    for word in [
        "Use the shell where it helps",
        "What does it say?",
        "silver bells\\n",
        "It says silver bells.",
        "What did I ask for?",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(asked[0][0], asked[2][0], "the system prompt stays the same");
    assert_eq!(asked[3].as_array().unwrap().last().unwrap()["role"], "tool");
    // What it did is in the store, as every session is.
    let commit =
        stored.strip_prefix("stored as ").and_then(|told| told.split(';').next()).expect(&stored).to_owned();
    let shown = stage.run(&["show", &commit]).ok().text();
    assert!(shown.contains("What does it say?") && shown.contains("silver bells"), "{shown}");
}
