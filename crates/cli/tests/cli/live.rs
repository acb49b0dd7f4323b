//! Hooks: what a client's nudge does, whatever it is called with, and how it gets into a client's settings.

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;

const SESSION: &str = "3f9c1d20-5a5b-4c8e-9d1a-0b7e6f4a2c11";

fn lines(turns: u64) -> Vec<String> {
    ClaudeSession::new(7).turns(turns).build().lines
}

/// A transcript of one turn where the client keeps it.
fn transcript(stage: &Stage) -> PathBuf {
    let path = stage.home.project().join(format!("{SESSION}.jsonl"));
    std::fs::write(&path, lines(1).join("\n") + "\n").unwrap();
    path
}

fn nudge(stage: &Stage, event: &str, path: &std::path::Path) {
    let input =
        json!({ "session_id": SESSION, "transcript_path": path, "hook_event_name": event, "cwd": "/w" });
    let said = stage.feed(&["hook", "claude-code"], input.to_string().as_bytes()).ok();
    assert_eq!((said.stdout.as_slice(), said.stderr.as_str()), (&b""[..], ""));
}

fn commits(stage: &Stage) -> Vec<Value> {
    let tip = stage.json(&["list"])["sessions"][0]["tip"].as_str().unwrap().to_owned();
    stage.json(&["history", &tip])["commits"].as_array().unwrap().clone()
}

#[test]
fn hooks_leave_the_chain_that_an_import_leaves() {
    let (live, imported) = (Stage::new(), Stage::new());
    let path = transcript(&live);
    // The first contact is left to an import in the background; whoever comes first does it.
    nudge(&live, "SessionStart", &path);
    assert_eq!(live.json(&["list"])["sessions"].as_array().unwrap().len(), 1);
    // From then on the hook itself captures what is new.
    let all = lines(3);
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    for line in &all[lines(1).len()..] {
        writeln!(file, "{line}").unwrap();
        nudge(&live, "PostToolUse", &path);
    }
    nudge(&live, "Stop", &path);
    let whole = imported.home.project().join(format!("{SESSION}.jsonl"));
    std::fs::write(&whole, all.join("\n") + "\n").unwrap();
    imported.import(&whole);
    let closed = |stage: &Stage| -> Vec<String> {
        let commits = commits(stage);
        let closed = commits.iter().filter(|commit| commit["provisional"] != json!(true));
        closed.map(|commit| commit["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(closed(&live), closed(&imported));
    assert_eq!(live.native(SESSION), std::fs::read(&path).unwrap());
}

#[test]
fn a_hook_never_fails_its_client_and_says_what_was_wrong() {
    let stage = Stage::new();
    for (input, args) in [
        (&b"garbage"[..], &["hook", "claude-code"][..]),
        (b"", &["hook", "codex", "Stop"]),
        (b"[1,2]", &["hook", "claude-code"]),
        (b"{\"transcript_path\":\"/nowhere/at/all.jsonl\"}", &["hook", "claude-code", "Stop"]),
        (b"{\"transcript_path\":null}", &["hook", "abacus"]),
    ] {
        let said = stage.feed(args, input).ok();
        assert_eq!((said.stdout.as_slice(), said.stderr.as_str()), (&b""[..], ""), "{args:?}");
    }
    let trouble = stage.json(&["status"])["hook_trouble"].as_str().unwrap().to_owned();
    assert!(trouble.contains("no JSON"), "{trouble}");
    // Called as another version of this program wants it.
    let bare =
        std::process::Command::new(env!("CARGO_BIN_EXE_stemma")).args(["hook", "--later"]).output().unwrap();
    assert_eq!((bare.status.code(), bare.stdout.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn what_a_hook_cannot_store_is_taken_up_by_the_next_command() {
    let stage = Stage::new();
    let path = transcript(&stage);
    stage.import(&path);
    std::fs::write(&path, lines(2).join("\n") + "\n").unwrap();
    let store = rusqlite::Connection::open(stage.database()).unwrap();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    nudge(&stage, "Stop", &path);
    store.execute_batch("ROLLBACK").unwrap();
    drop(store);
    let before = stage.home.stemmata_home().join("run/pending");
    assert_eq!(std::fs::read_dir(&before).unwrap().count(), 1);
    assert_eq!(stage.native(SESSION), std::fs::read(&path).unwrap());
    assert_eq!(std::fs::read_dir(&before).unwrap().count(), 0);
}

#[test]
fn hooks_are_put_into_settings_and_taken_out_again() {
    let stage = Stage::new();
    let settings = stage.home.claude_config().join("settings.json");
    let settings =
        if settings.parent().unwrap().parent().unwrap().is_dir() { settings } else { panic!("no home") };
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let own = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [{ \"hooks\": [{ \"type\": \"command\", \"command\": \"make lint\" }] }]\n  }\n}\n";
    std::fs::write(&settings, own).unwrap();
    let shown = stage.run(&["install", "claude-code", "--dry-run"]).ok();
    assert!(shown.text().contains('+') && shown.text().contains("hook claude-code"), "{}", shown.text());
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), own);
    let done = stage.json(&["install", "claude-code"]);
    assert_eq!((done["written"].as_bool(), done["changed"].as_bool()), (Some(true), Some(true)));
    assert_eq!(std::fs::read_to_string(done["kept"].as_str().unwrap()).unwrap(), own);
    let with = std::fs::read_to_string(&settings).unwrap();
    assert!(with.contains("make lint") && with.matches("hook claude-code").count() == 5, "{with}");
    assert_eq!(stage.json(&["install", "claude-code"])["changed"].as_bool(), Some(false));
    assert_eq!(stage.json(&["uninstall", "claude-code"])["written"].as_bool(), Some(true));
    assert_eq!(std::fs::read_to_string(&settings).unwrap(), own);
    // A comment is no JSON: nothing is touched.
    std::fs::write(&settings, "{\n  // mine\n  \"model\": \"opus\"\n}\n").unwrap();
    stage.run(&["install", "claude-code"]).code(2).complains(&["line 2", "left as it is"]);
    assert!(std::fs::read_to_string(&settings).unwrap().contains("// mine"));
    stage.run(&["install", "abacus"]).code(2).complains(&["claude-code", "codex"]);
}
