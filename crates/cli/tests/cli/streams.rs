//! What reaches which stream with `--quiet` and `--json`, over the calls of all commands; and that 0 means all everywhere.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::screen::{CALLS, Scene};
use crate::stage::{Said, Stage};
use crate::story::{self, SESSION};

fn run(scene: &Scene, flag: &str, call: &str) -> Said {
    let mut args = scene.filled(call);
    if !args.iter().any(|arg| arg == flag) {
        // A command under `run` would take a flag at the end for its own.
        args.insert(0, flag.to_owned());
    }
    scene.stage.run(&args)
}

fn is_object(text: &[u8]) -> bool {
    serde_json::from_slice::<Value>(text).is_ok_and(|value| value.is_object())
}

#[test]
fn a_quiet_command_that_succeeds_says_nothing_beside_its_answer() {
    let scene = Scene::new();
    let (mut bad, mut good) = (Vec::new(), 0);
    for call in CALLS {
        let said = run(&scene, "--quiet", call);
        good += usize::from(said.code == 0);
        if said.code == 0 && !said.stderr.is_empty() {
            bad.push(format!("`{call}`: {}", said.stderr));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    assert!(good > CALLS.len() / 3, "only {good} calls succeeded");
}

#[test]
fn a_failure_with_json_is_one_object_on_standard_error() {
    let scene = Scene::new();
    let nowhere = CALLS.iter().filter(|call| call.contains("{tip}"));
    let nowhere = nowhere.map(|call| call.replace("{tip}", "nothing-like-it"));
    let groups = ["", "events", "tag", "turn", "bundle", "ledger", "secrets", "strategy", "git", "artifact"];
    let calls = groups.map(str::to_owned).into_iter().chain(nowhere);
    let calls: Vec<String> = CALLS.iter().map(|call| (*call).to_owned()).chain(calls).collect();
    let (mut bad, mut failed) = (Vec::new(), 0);
    for call in &calls {
        let said = if call.is_empty() { scene.stage.run(&["--json"]) } else { run(&scene, "--json", call) };
        // A command that did its work and found something has its object on standard output.
        if said.code == 0 || is_object(&said.stdout) {
            continue;
        }
        failed += 1;
        let is_problem = serde_json::from_str::<Value>(&said.stderr)
            .is_ok_and(|problem| problem["code"].is_string() && problem["exit_code"] == said.code);
        if !said.stdout.is_empty() || !is_problem {
            bad.push(format!("`{call}` ({}): {}{}", said.code, said.text(), said.stderr));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    assert!(failed > CALLS.len() / 3, "only {failed} calls failed");
}

#[test]
fn what_was_noted_before_a_failure_is_part_of_its_object() {
    let stage = Stage::new();
    stage.home.write("home/.config/stemmata/config.toml", b"[import]\nnothing_like_it = 1\n");
    let said = stage.run(&["show", "nothing", "--json"]).code(3);
    let problem: Value = serde_json::from_str(&said.stderr).unwrap();
    assert!(problem["notes"][0].as_str().unwrap().contains("nothing_like_it"), "{problem}");
    let group: Value = serde_json::from_str(&stage.run(&["events", "--json"]).code(2).stderr).unwrap();
    assert!(
        group["detail"].as_str().unwrap().starts_with("`stemma events` needs a command: append, "),
        "{group}"
    );
    stage.run(&["status", "--quiet"]).ok().complains(&[]);
    assert_eq!(stage.run(&["status", "--quiet"]).ok().stderr, "");
    // Without `--quiet`, and where it fails, the warning is there.
    stage.run(&["status"]).ok().complains(&["nothing_like_it"]);
    stage.run(&["show", "nothing", "--quiet"]).code(3).complains(&["nothing_like_it", "error: "]);
}

#[test]
fn zero_means_all_everywhere() {
    let stage = Stage::new();
    let path =
        stage.home.write("a.jsonl", story::retry(stage.home.project().to_str().unwrap()).text().as_bytes());
    stage.import(&path);
    for number in 0..25 {
        stage.run(&["events", "append", "STATUS", &format!("event {number}")]).ok();
    }
    let calls: &[&[&str]] = &[
        &["search", "retry", "--limit"],
        &["list", "--limit"],
        &["log", SESSION, "--limit"],
        &["history", SESSION, "--limit"],
        &["tips", "--limit"],
        &["scan", "--limit"],
        &["stats", "--limit"],
        &["events", "query", "--limit"],
        &["events", "tail", "--limit"],
        &["du", "--chains", "--limit"],
        &["events", "query", "--latest"],
        &["pointer", "list", "--limit"],
        &["audit", "--limit"],
        &["jobs", "--limit"],
    ];
    stage.run(&["pointer", "set", "main", SESSION]).ok();
    for call in calls {
        let limited = |limit: &'static str| stage.run(&[*call, &[limit]].concat()).ok().text();
        let all = limited("0");
        // Without a service there are no jobs, and nothing was deleted.
        let may_be_empty = ["jobs", "audit"].contains(&call[0]);
        assert!((may_be_empty || !all.is_empty()) && all == limited("1000"), "{call:?}: {all}");
    }
    let pages = stage.home.path().join("pages");
    std::fs::create_dir(&pages).unwrap();
    stage.run(&["generate-reference", pages.to_str().unwrap()]).ok();
    let page = std::fs::read_to_string(pages.join("cli.md")).unwrap();
    let sections = page.split("\n## ").flat_map(|section| section.split("\n### "));
    let limited: BTreeSet<&str> = sections
        .filter(|section| section.contains("--limit N`"))
        .filter_map(|section| section.trim_start_matches('#').lines().next()?.strip_prefix("stemma "))
        .collect();
    let tested = |name: &&str| calls.iter().any(|call| call.join(" ").starts_with(*name));
    assert_eq!(limited.iter().filter(|name| !tested(name)).collect::<Vec<_>>(), Vec::<&&str>::new());
    assert!(limited.len() > 7, "{limited:?}");
}

#[test]
fn tags_are_listed() {
    let stage = Stage::new();
    assert!(stage.run(&["tag", "list"]).ok().complains(&["stemma tag add"]).text().is_empty());
    let path = stage.home.write("a.jsonl", story::retry("/home/ann/shop").text().as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    for name in ["good", "better"] {
        stage.run(&["tag", "add", &tip, name]).ok();
    }
    let listed = stage.json(&["tag", "list"]);
    assert_eq!(
        (&listed["tags"][0]["name"], &listed["tags"][1]["ctx"]),
        (&"better".into(), &tip.as_str().into())
    );
    assert_eq!(stage.json(&["tag", "list", "go"])["tags"].as_array().unwrap().len(), 1);
    let text = stage.run(&["tag", "ls"]).ok().text();
    assert!(text.starts_with("better  ctx-") && text.lines().count() == 2, "{text}");
}

/// Found by a newcomer: `2>&1 | head` ended with a panic.
#[test]
fn readers_that_are_gone_never_make_a_command_panic() {
    let scene = Scene::new();
    let gone = || std::io::pipe().unwrap().1;
    for call in CALLS {
        for has_stdout in [true, false] {
            let mut command = scene.stage.command(&scene.filled(call));
            command.stderr(gone());
            if has_stdout {
                command.stdout(std::process::Stdio::null())
            } else {
                command.stdout(gone())
            };
            let code = command.status().unwrap().code();
            assert!(code.is_some_and(|code| code <= 12), "`{call}`: {code:?}");
        }
    }
}

#[test]
fn what_cannot_be_searched_is_not_said_to_hold_nothing() {
    let stage = Stage::new();
    stage.home.write_session(&stemmata_testkit::claude::ClaudeSession::new(5).turns(2).build());
    stage.run(&["import"]).ok();
    assert!(stage.run(&["search", "nosuchword"]).ok().stderr.starts_with("Nothing found.\n"));
    let index = stage.home.stemmata_home().join("index");
    std::fs::remove_dir_all(&index).unwrap();
    std::fs::write(&index, "in its way").unwrap();
    let said = stage.run(&["search", "nosuchword"]).ok().stderr;
    assert!(said.contains("note: ") && said.contains("Nothing found in what was searched."), "{said}");
}

#[test]
fn the_same_trouble_of_many_files_is_said_once() {
    let stage = Stage::new();
    for seed in 1..5 {
        stage.home.write_session(&stemmata_testkit::claude::ClaudeSession::new(seed).turns(2).build());
    }
    stage.run(&["status"]).ok();
    std::fs::write(stage.home.stemmata_home().join("secrets.toml"), "rules = 7\n").unwrap();
    let said = stage.run(&["import"]).code(5).text();
    assert!(
        said.contains("4 files could not be imported:") && said.contains("the same of 3 other files"),
        "{said}"
    );
    assert_eq!(said.matches("secrets.toml:1").count(), 1, "{said}");
}

/// A full disk is no success, whatever is printed.
#[test]
fn a_text_that_cannot_be_written_is_a_failure() {
    let scene = Scene::new();
    for args in [&["--version"][..], &["--help"], &["list"], &["list", "--json"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the full device");
        let ended = scene.stage.command(args).stdout(full).output().expect("the binary runs");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && said.contains("writing the output failed"), "{args:?}: {said}");
    }
}
