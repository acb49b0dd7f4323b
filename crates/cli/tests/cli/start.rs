//! `start`: one way to begin, whatever the context.

use serde_json::Value;

use crate::stage::Stage;
use crate::story::{self, SESSION};

const CONFIG: &str = "[templates.reviewer]\nruntime = \"claude-code\"\nsystem_prompt = \"Review it.\"\n\
                      tools = [\"Read\"]\n\n[templates.moved]\nruntime = \"codex\"\ntools = [\"x\"]\n\n\
                      [templates.broken]\nmodle = \"x\"\n";

fn stage() -> (Stage, Vec<Value>) {
    let stage = Stage::new();
    stage.home.write("home/.config/stemmata/config.toml", CONFIG.as_bytes());
    let text = story::retry(stage.home.project().to_str().unwrap()).text();
    let path = stage.home.write(&format!("home/.claude/projects/-p/{SESSION}.jsonl"), text.as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let commits = stage.json(&["history", &tip])["commits"].as_array().unwrap().clone();
    (stage, commits)
}

#[test]
fn fresh_resumed_and_forked_are_one_operation() {
    let (stage, commits) = stage();
    let start = |context: &str| {
        stage.run(&["--json", "start", "-t", "reviewer", "-c", context, "--", "-p", "go on"]).ok().json()
    };
    let tail = ["--append-system-prompt", "Review it.", "--tools", "Read", "-p", "go on"];
    let fresh = start("none");
    assert_eq!((&fresh["mode"], &fresh["placed"]), (&"fresh".into(), &Value::Null));
    let mut wanted = vec!["claude"];
    wanted.extend(tail);
    assert_eq!(fresh["command"], Value::from(wanted));
    let older = commits.last().unwrap()["id"].as_str().unwrap();
    for (context, mode, ctx) in [
        (commits[0]["id"].as_str().unwrap(), "resume", &commits[0]["id"]),
        (SESSION, "resume", &commits[0]["id"]),
        (older, "fork", &commits.last().unwrap()["id"]),
    ] {
        let started = start(context);
        assert_eq!((&started["mode"], &started["placed"]["ctx"]), (&mode.into(), ctx), "{context}");
        let session = started["placed"]["session_id"].as_str().unwrap();
        let mut wanted = vec!["claude", "--resume", session];
        wanted.extend(tail);
        assert_eq!(started["command"], Value::from(wanted));
        assert!(std::path::Path::new(started["placed"]["path"].as_str().unwrap()).is_file());
    }
}

#[test]
fn what_is_printed_is_what_is_run() {
    let (stage, commits) = stage();
    let tip = commits[0]["id"].as_str().unwrap();
    let printed = stage.run(&["start", "-t", "reviewer", "--print", "-c", tip]).ok().text();
    assert!(printed.starts_with("STEMMATA_TEMPLATE=reviewer STEMMATA_SESSION="), "{printed}");
    assert!(printed.trim_end().ends_with("--append-system-prompt 'Review it.' --tools Read"), "{printed}");
    // A client of our own, which says what it was told.
    let bin = stage
        .home
        .write("bin/claude", b"#!/bin/sh\necho \"$STEMMATA_TEMPLATE $STEMMATA_SESSION $@\"; pwd; exit 4\n");
    std::fs::set_permissions(&bin, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = stage.command(&["start", "-t", "reviewer", "--", "hi"]);
    let path = format!("{}:/usr/bin:/bin", bin.parent().unwrap().display());
    let said = command.env("PATH", path).output().unwrap();
    assert_eq!(said.status.code(), Some(4), "{}", String::from_utf8_lossy(&said.stderr));
    let told = String::from_utf8(said.stdout).unwrap();
    let project = stage.home.project().canonicalize().unwrap();
    assert_eq!(
        told,
        format!("reviewer  --append-system-prompt Review it. --tools Read hi\n{}\n", project.display())
    );
}

#[test]
fn a_wrong_template_stops_start_alone_and_is_told_by_name() {
    let (stage, _) = stage();
    for (template, reasons) in [
        ("broken", ["config.toml", "`templates.broken.modle` is not a field"]),
        ("moved", ["template `moved`", "`tools` is set, but codex has no"]),
        ("ghost", ["no template `ghost`", "broken, moved, reviewer"]),
    ] {
        stage.run(&["start", "-t", template, "--print"]).code(1).complains(&reasons);
    }
    let shown = stage.json(&["config"]);
    assert_eq!(shown["unknown"], Value::from(Vec::<String>::new()));
    let names: Vec<&str> =
        shown["templates"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["broken", "moved", "reviewer"]);
    assert!(shown["templates"][0]["error"].as_str().unwrap().contains("templates.broken.modle"));
    stage.run(&["config"]).ok();
}
