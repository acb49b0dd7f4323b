//! `setup` and what undoes it: each step once, and nothing left behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;

/// Everything below a folder but our own data: paths and bytes.
fn all(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.insert(path.clone(), Vec::new());
            found.extend(all(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn setup_does_each_step_once() {
    let stage = Stage::new();
    stage.home.write_session(&ClaudeSession::new(7).turns(2).build());
    stage.home.write("home/.codex/config.toml", b"");
    let run = |args: &[&str]| {
        let mut command = stage.command(args);
        command.env("SHELL", "/bin/bash").env("PATH", "/usr/bin:/bin");
        let said = crate::stage::said(command.output().unwrap());
        stage.tame(&format!("exit {}\n{}---\n{}", said.code, said.text(), said.stderr))
    };
    assert!(run(&["setup"]).starts_with("exit 2"), "nobody can be asked");
    let untouched = all(stage.home.path());
    insta::assert_snapshot!("setup_dry_run", run(&["setup", "--dry-run"]));
    assert_eq!(all(stage.home.path()).keys().collect::<Vec<_>>(), untouched.keys().collect::<Vec<_>>());
    insta::assert_snapshot!("setup", run(&["setup", "--yes"]));
    let before = all(&stage.home.path().join("home"));
    insta::assert_snapshot!("setup_again", run(&["setup", "--yes"]));
    assert_eq!(all(&stage.home.path().join("home")), before);
    insta::assert_snapshot!("status_after_setup", run(&["status"]));
}

/// Found in use: `setup` and `status` counted subagents and copies, the first page and `list` did not, and nothing said so.
#[test]
fn sessions_are_counted_alike_everywhere() {
    let stage = Stage::new();
    let session = ClaudeSession::new(7).turns(4).subagents(1).build();
    stage.home.write_session(&session);
    let text = |args: &[&str]| stage.run(args).ok().text();
    let setup = text(&["setup", "--yes"]);
    assert!(
        setup.contains("2 transcripts imported, indexed for search: 1 session and 1 subagent\n"),
        "{setup}"
    );
    let id = stage.json(&["list"])["sessions"][0]["short_id"].as_str().unwrap().to_owned();
    for _ in 0..2 {
        stage.run(&["fork", &id, "--print"]).ok();
    }
    let counted = "1 session, 1 subagent and 2 copies";
    for args in [&["home"][..], &["status"], &["setup", "--yes"]] {
        let told = text(args);
        assert!(told.contains(counted), "{args:?}: {told}");
    }
    let rows = |args: &[&str]| stage.json(args)["sessions"].as_array().unwrap().len();
    assert_eq!((rows(&["list"]), rows(&["list", "--all"])), (1, 4));
    assert_eq!(
        stage.json(&["status"])["sessions"],
        serde_json::json!({ "listed": 1, "subagents": 1, "copies": 2 })
    );
    stage.home.write_session(&ClaudeSession::new(8).turns(2).build());
    let told = stage.run(&["import"]).ok().text();
    assert!(told.contains("You now have 2 sessions, 1 subagent and 2 copies in "), "{told}");
    assert_eq!(stage.json(&["index"])["state"], "whole");
}

#[test]
fn uninstall_leaves_nothing_that_install_made() {
    let stage = Stage::new();
    let home = stage.home.path().join("home");
    stage.home.write("home/.claude/settings.json", b"{\n  \"model\" : \"opus\"\n}\n");
    for client in [".codex", ".gemini", ".pi/agent"] {
        std::fs::create_dir_all(home.join(client)).unwrap();
    }
    let before = all(&home);
    insta::assert_snapshot!("install_all", stage.told(&["install", "--all"]));
    // Another version of the hooks, so that there are two copies.
    stage.run(&["install", "claude-code", "--inject"]).ok();
    assert_ne!(all(&home), before);
    let again = stage.json(&["install", "--all"]);
    assert_eq!(again["without_brief"], serde_json::json!(["aider", "openhands", "swe-agent"]));
    assert!(again["clients"].as_array().unwrap().iter().all(|client| client["brief"].is_string()), "{again}");
    let said = stage.run(&["install", "--all"]).ok().stderr;
    for line in [
        "can get a brief of what a compaction loses: claude-code, codex, gemini, pi (",
        "no hooks: aider, openhands, swe-agent",
    ] {
        assert!(said.contains(line), "{line} is not in {said}");
    }
    assert_eq!(stage.json(&["uninstall", "--all", "--dry-run"])["clients"].as_array().unwrap().len(), 4);
    insta::assert_snapshot!("uninstall_all", stage.told(&["uninstall", "--all"]));
    assert_eq!(all(&home), before);
    assert!(stage.run(&["uninstall", "--all"]).ok().text().contains("No client has hooks of ours"));
}

/// Found in review: empty lists of hooks were lost, and a backup that nobody recorded stayed.
#[test]
fn settings_come_back_byte_for_byte_whatever_they_were() {
    for settings in ["", "{}", "{\"hooks\": {}}\n", "{ \"hooks\" : { \"Stop\" : [] } }", "{\n\t\"a\": 1\n}\n"]
    {
        let stage = Stage::new();
        let path = stage.home.write("home/.claude/settings.json", settings.as_bytes());
        let before = all(&stage.home.path().join("home"));
        stage.run(&["install", "claude-code"]).ok();
        stage.run(&["install", "claude-code", "--inject"]).ok();
        assert!(std::fs::read_to_string(&path).unwrap().contains("hook claude-code"), "{settings}");
        stage.run(&["uninstall", "claude-code"]).ok();
        assert_eq!(all(&stage.home.path().join("home")), before, "{settings}");
    }
}

#[test]
fn what_install_made_goes_though_hooks_were_taken_out_by_hand() {
    for args in [["uninstall", "--all"], ["uninstall", "claude-code"]] {
        let stage = Stage::new();
        let path = stage.home.write("home/.claude/settings.json", b"{\"a\": 1}\n");
        let before = all(&stage.home.path().join("home"));
        stage.run(&["install", "claude-code"]).ok();
        std::fs::write(&path, "{\"a\": 1}\n").unwrap();
        let plan = stage.run(&[args[0], args[1], "--dry-run"]).ok().text();
        assert!(plan.contains("Would remove") && plan.contains("before-stemma"), "{plan}");
        let told = stage.run(&args).ok().text();
        assert!(told.contains("nothing to change\nRemoved") && told.contains("before-stemma"), "{told}");
        assert_eq!(all(&stage.home.path().join("home")), before);
    }
}

#[test]
fn uninstall_removes_the_completion_file_that_setup_wrote_unless_it_was_changed() {
    let file = "home/.config/fish/completions/stemma.fish";
    for is_changed in [false, true] {
        let stage = Stage::new();
        let before = all(&stage.home.path().join("home"));
        let mut command = stage.command(&["setup", "--yes"]);
        crate::stage::said(command.env("SHELL", "/usr/bin/fish").output().unwrap()).ok();
        let path = stage.home.path().join(file);
        assert!(path.is_file());
        if is_changed {
            std::fs::write(&path, "mine\n").unwrap();
        }
        let told = stage.run(&["uninstall", "--all"]).ok().text();
        assert_eq!((told.contains("stemma.fish"), path.exists()), (!is_changed, is_changed), "{told}");
        if !is_changed {
            assert_eq!(all(&stage.home.path().join("home")), before);
        }
    }
}
