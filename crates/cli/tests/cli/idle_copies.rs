//! What was placed for a client and never continued is no session: it stands in no list, and what it says counts once.

use std::io::Write as _;

use serde_json::Value;

use crate::stage::Stage;
use crate::story::{self, SESSION};

/// What commands say of a store, without what tells when they were asked.
fn told(stage: &Stage) -> Vec<(&'static str, Value)> {
    let ids = |rows: &Value, key: &str| -> Vec<Value> {
        rows.as_array().unwrap().iter().map(|row| row[key].clone()).collect()
    };
    let list = stage.json(&["list"]);
    let tree = stage.json(&["tree", SESSION]);
    vec![
        ("list", ids(&list["sessions"], "session_id").into()),
        ("state", stage.json(&["state", "--project", "/home/ann/shop"])),
        ("search", stage.json(&["search", "retry"])["hits"].clone()),
        (
            "recall",
            stage.json(&["recall", "why do we retry", "--project", "/home/ann/shop"])["items"].clone(),
        ),
        ("tree", ids(&tree["nodes"], "id").into()),
    ]
}

#[test]
fn what_nobody_continued_counts_nowhere() {
    let stage = Stage::new();
    let path = format!("home/.claude/projects/-home-ann-shop/{SESSION}.jsonl");
    let path = stage.home.write(&path, story::retry("/home/ann/shop").text().as_bytes());
    stage.import(&path);
    let before = told(&stage);
    assert!(before.iter().all(|(_, said)| said.as_array().is_none_or(|rows| !rows.is_empty())), "{before:?}");
    let cwd = stage.home.project();
    let cwd = cwd.to_str().unwrap();
    let last = format!("{SESSION}:2");
    let entries = stage.json(&["show", &format!("{SESSION}~0"), "--entries"])["entries"].clone();
    let entries: Vec<&str> =
        entries.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    let within = entries[entries.len() / 2];
    let first = stage.json(&["tree", SESSION])["nodes"][0]["id"].as_str().unwrap().to_owned();
    let first = stage.json(&["show", &first, "--entries"])["entries"][1]["id"].as_str().unwrap().to_owned();
    for command in [
        &["fork", SESSION, "--at", &first],
        &["resume", SESSION, "--in", "pi"][..],
        &["resume", SESSION, "--in", "codex"],
        &["resume", SESSION, "--in", "gemini"],
        &["fork", &last, "--in", "codex"],
        &["fork", &last],
        &["fork", SESSION, "--at", within],
        &["fork", SESSION],
    ] {
        stage.run(&[command, &["--cwd", cwd, "--print"]].concat()).ok();
    }
    // A copy of a copy.
    let all = stage.json(&["list", "--all"]);
    let copy = all["sessions"].as_array().unwrap().iter().find(|one| one["client"] == "codex").unwrap();
    stage.run(&["resume", copy["session_id"].as_str().unwrap(), "--in", "pi", "--cwd", cwd, "--print"]).ok();
    // What clients read of them is what was placed.
    stage.run(&["import"]).ok();
    for ((name, before), (_, after)) in before.iter().zip(told(&stage)) {
        assert_eq!(after, *before, "{name}");
    }
    assert_eq!(stage.json(&["list", "--all"])["sessions"].as_array().unwrap().len(), 10);
    // What clients write when they open one and close it again says nothing.
    for (client, line) in [
        (".claude", r#"{"type":"last-prompt","lastPrompt":"Done.","sessionId":"s"}"#),
        (
            ".pi",
            r#"{"type":"model_change","id":"0a0a0a0a","parentId":null,"timestamp":"2026-03-09T13:00:00.000Z","provider":"p","modelId":"m"}"#,
        ),
        (
            ".codex",
            r#"{"timestamp":"2026-03-09T13:00:00.000Z","type":"event_msg","payload":{"type":"shutdown_complete"}}"#,
        ),
    ] {
        let files = stage.files_of(client);
        let copies: Vec<_> =
            files.into_iter().filter(|path| !path.ends_with(format!("{SESSION}.jsonl"))).collect();
        assert!(!copies.is_empty(), "{client}");
        for copy in copies {
            let mut file = std::fs::OpenOptions::new().append(true).open(copy).unwrap();
            writeln!(file, "{line}").unwrap();
        }
    }
    stage.run(&["import"]).ok();
    for ((name, before), (_, after)) in before.iter().zip(told(&stage)) {
        assert_eq!(after, *before, "{name} after they were opened");
    }
    let tree = stage.json(&["tree", SESSION, "--copies"]);
    let shown = stage.json(&["tree", SESSION]);
    assert!(tree["nodes"].as_array().unwrap().len() > shown["nodes"].as_array().unwrap().len());
}
