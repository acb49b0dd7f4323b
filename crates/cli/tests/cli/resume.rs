//! `resume`: the client's own session as it is, else a copy and why; where it runs, and what happens where it cannot.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::stage::{Said, Stage, said};
use crate::story::{self, SESSION};
use crate::terminal::Terminal;

/// A session in the project of the stage, where Claude Code keeps it.
fn session(stage: &Stage) -> PathBuf {
    let cwd = stage.home.project();
    let folder = stemmata_testkit::home::slug(cwd.to_str().unwrap());
    let transcript = story::retry(cwd.to_str().unwrap());
    let path = format!("home/.claude/projects/{folder}/{SESSION}.jsonl");
    let path = stage.home.write(&path, transcript.text().as_bytes());
    stage.import(&path);
    path
}

/// Puts a client on the `PATH` that says how it was called.
fn client(stage: &Stage, name: &str) -> PathBuf {
    let client = stage.home.write(&format!("bin/{name}"), b"#!/bin/sh\necho \"$0 $* in $(pwd)\"\n");
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755)).unwrap();
    client.parent().unwrap().to_owned()
}

fn run_with(stage: &Stage, bin: &Path, dir: &Path, args: &[&str]) -> Said {
    let mut command = stage.command(args);
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).current_dir(dir);
    said(command.output().unwrap())
}

fn transcripts(stage: &Stage) -> usize {
    let folders = std::fs::read_dir(stage.home.claude_config().join("projects")).unwrap();
    folders.map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count()).sum()
}

#[test]
fn an_unchanged_session_is_resumed_as_it_is_in_its_own_directory() {
    let stage = Stage::new();
    let path = session(&stage);
    let before = std::fs::read(&path).unwrap();
    let bin = client(&stage, "claude");
    let elsewhere = stage.home.path().join("home");
    for dir in [&stage.home.project(), &elsewhere] {
        let said = run_with(&stage, &bin, dir, &["resume", SESSION]).ok();
        let called =
            format!("--resume {SESSION} in {}", stage.home.project().canonicalize().unwrap().display());
        assert!(said.text().contains(&called), "{}", said.text());
        assert_eq!(said.stderr.contains("the session's own"), dir == &elsewhere, "{}", said.stderr);
    }
    assert_eq!((transcripts(&stage), std::fs::read(&path).unwrap()), (1, before), "nothing was written");
    let told = stage.json(&["resume", SESSION]);
    assert_eq!((&told["own_session"], &told["session_id"]), (&Value::from(true), &Value::from(SESSION)));
}

#[test]
fn a_copy_is_placed_where_the_own_session_is_not_meant_and_says_why() {
    let stage = Stage::new();
    session(&stage);
    let tip = stage.json(&["current"])["id"].clone();
    let parent = stage.json(&["show", tip.as_str().unwrap()])["parent"].clone();
    for (args, why) in [
        (vec!["resume", SESSION, "--copy"], None),
        (vec!["resume", SESSION, "--cwd", "/"], Some("another directory")),
        (vec!["resume", SESSION, "--in", "Codex"], Some("another client")),
        (vec!["resume", parent.as_str().unwrap()], Some("continues after it")),
        (vec!["resume", SESSION, "--stop", "root"], Some("only a part")),
    ] {
        let told = stage.json(&args);
        assert_eq!(told["own_session"], false, "{args:?}");
        let reason = told["copied_because"].as_str();
        assert_eq!(reason.is_some(), why.is_some(), "{args:?}: {reason:?}");
        assert!(why.is_none_or(|why| reason.unwrap().contains(why)), "{args:?}: {reason:?}");
        assert_ne!(told["session_id"], SESSION);
    }
}

/// What the client wrote meanwhile is read first, and the session with it is the one that is resumed.
#[test]
fn a_session_that_went_on_is_read_first() {
    let stage = Stage::new();
    let path = session(&stage);
    let mut more = story::retry(stage.home.project().to_str().unwrap());
    more.user("And now the documentation").assistant("Written.");
    std::fs::write(&path, more.text()).unwrap();
    let told = stage.json(&["resume", "@"]);
    assert_eq!(told["own_session"], true, "{told}");
    let native = stage.native(told["ctx"].as_str().unwrap());
    assert!(String::from_utf8(native).unwrap().contains("And now the documentation"));
}

#[test]
fn a_session_that_a_process_has_open_is_copied() {
    let stage = Stage::new();
    let path = session(&stage);
    let bin = client(&stage, "claude");
    let mut holder = std::process::Command::new("/bin/sh");
    holder.args(["-c", "exec 3<\"$1\"; read -r line", "sh", path.to_str().unwrap()]);
    let mut holder = holder.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let opened = format!("/proc/{}/fd/3", holder.id());
    while std::fs::read_link(&opened).is_err() {
        std::thread::yield_now();
    }
    let told = run_with(&stage, &bin, &stage.home.project(), &["resume", SESSION, "--json"]).ok().json();
    drop(holder.stdin.take());
    holder.wait().unwrap();
    let why = told["copied_because"].as_str().unwrap();
    assert!(why.contains("Claude Code has it open"), "{why}");
}

/// A client that has the session open by its picker, and is idle since, shows it nowhere but in its own register.
#[test]
fn a_session_of_which_the_client_says_that_it_is_open_is_copied() {
    let stage = Stage::new();
    session(&stage);
    let bin = client(&stage, "claude");
    let mut holder = std::process::Command::new("/bin/sh");
    holder.args(["-c", "read -r line"]).stdin(std::process::Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    let pid = holder.id();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let began = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().to_owned();
    let register = |began: &str| {
        let said =
            serde_json::json!({ "pid": pid, "sessionId": SESSION, "procStart": began, "status": "idle" });
        stage.home.write(&format!("home/.claude/sessions/{pid}.json"), said.to_string().as_bytes());
    };
    let resumed = || run_with(&stage, &bin, &stage.home.project(), &["resume", SESSION, "--dry-run"]).ok();
    register(&began);
    let told = resumed();
    // Another process has the number now.
    register("1");
    let of_another = resumed();
    drop(holder.stdin.take());
    holder.wait().unwrap();
    let (told, of_another) = (told.text(), of_another.text());
    assert!(told.contains(&format!("Claude Code has it open (process {pid})")), "{told}");
    assert!(of_another.contains("Would resume the client's own session"), "{of_another}");
}

#[test]
fn a_client_that_is_missing_is_said_before_anything_is_written() {
    let stage = Stage::new();
    session(&stage);
    let bin = stage.home.path().join("empty");
    for args in [&["resume", SESSION][..], &["resume", SESSION, "--in", "codex"], &["resume", "--last"]] {
        let said = run_with(&stage, &bin, &stage.home.project(), args).code(3);
        said.complains(&["is not on the `PATH`", "nothing was written", "`--print`", "`--in CLIENT`"]);
    }
    // A dry run needs no client: it says all that it would, and what is missing.
    for (args, program) in [
        (&["resume", SESSION, "--in", "codex", "--dry-run"][..], "codex"),
        (&["resume", SESSION, "--in", "pi", "--dry-run"], "pi"),
        (&["resume", "--last", "--dry-run"], "claude"),
    ] {
        let said = run_with(&stage, &bin, &stage.home.project(), args).ok();
        assert!(said.text().contains("Would "), "{}", said.text());
        said.complains(&[&format!("`{program}` was not found on the `PATH`")]);
        let json = [args, &["--json"]].concat();
        let notes = run_with(&stage, &bin, &stage.home.project(), &json).ok().json()["notes"].to_string();
        assert!(notes.contains("was not found"), "{notes}");
    }
    assert_eq!(transcripts(&stage), 1);
    assert!(!stage.home.path().join("home/.codex").exists());
}

#[test]
fn the_last_session_is_one_whose_client_is_installed() {
    let stage = Stage::new();
    session(&stage);
    let codex = stage.json(&["fork", SESSION, "--in", "codex"]);
    let path = PathBuf::from(codex["path"].as_str().unwrap());
    let more = r#"{"timestamp":"2026-03-09T11:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Go on."}]}}"#;
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{more}\n")).unwrap();
    stage.import(&path);
    let bin = client(&stage, "claude");
    let said = run_with(&stage, &bin, &stage.home.project(), &["resume", "--last"]).ok();
    assert!(said.text().contains(&format!("--resume {SESSION}")), "{} {}", said.text(), said.stderr);
    said.complains(&["Skipped", "no installed client can resume it"]);
}

#[test]
fn a_directory_that_is_gone_is_said_with_the_next_step() {
    let stage = Stage::new();
    let transcript = story::retry("/no/such/place");
    let path = stage.home.write("a.jsonl", transcript.text().as_bytes());
    stage.import(&path);
    for command in ["resume", "fork"] {
        let said = stage.run(&[command, SESSION, "--print"]).ok();
        said.complains(&["/no/such/place is gone; using the current one", "`--cwd DIR`"]);
        stage.run(&[command, SESSION, "--print", "--here"]).ok();
    }
    stage.run(&["resume", SESSION, "--print", "--cwd", "/no/such/place"]).code(2);
}

#[test]
fn a_dry_run_says_what_would_be_written_and_writes_nothing() {
    let stage = Stage::new();
    session(&stage);
    stage.run(&["import"]).ok();
    client(&stage, "pi");
    let bin = client(&stage, "claude");
    let commits = || stage.json(&["status"])["usage"]["commits"].clone();
    let before = commits();
    for args in [
        &["fork", SESSION, "--dry-run"][..],
        &["fork", SESSION, "--dry-run", "--in", "codex"],
        &["resume", SESSION, "--dry-run", "--in", "pi"],
        &["resume", SESSION, "--dry-run", "--copy"],
        &["resume", SESSION, "--dry-run"],
    ] {
        let said = run_with(&stage, &bin, &stage.home.project(), args).ok();
        assert!(said.text().starts_with("Would "), "{}", said.text());
        assert!(said.stderr.contains("Nothing was written"), "{}", said.stderr);
    }
    assert_eq!((transcripts(&stage), commits()), (1, before));
    for home in [".codex", ".pi"] {
        assert!(!stage.home.path().join("home").join(home).exists(), "{home}");
    }
}

#[test]
fn a_dry_run_says_the_size_of_what_would_be_written() {
    let stage = Stage::new();
    session(&stage);
    stage.run(&["import"]).ok();
    for client in ["codex", "pi", "claude"] {
        let placed = |dry: &[&str]| {
            stage.json(&[&["fork", SESSION, "--here", "--in", client][..], dry].concat())["bytes"].clone()
        };
        assert_eq!(placed(&["--dry-run"]), placed(&[]), "{client}");
    }
}

#[test]
fn clients_go_by_the_names_that_people_type() {
    let stage = Stage::new();
    session(&stage);
    stage.run(&["resume", SESSION, "--in", "Claude Code", "--print"]).ok();
    stage.run(&["fork", SESSION, "--in", "codx"]).code(2).complains(&["Did you mean `codex`?"]);
    stage.run(&["fork", SESSION, "--in", "cursor"]).code(2).complains(&["supported clients: claude-code"]);
}

/// On a terminal a person is asked where the session's directory is another one, and every answer counts.
#[test]
fn a_person_is_asked_in_which_directory_to_go_on() {
    let stage = Stage::new();
    let path = session(&stage);
    let before = std::fs::read(&path).unwrap();
    let bin = client(&stage, "claude");
    let (own, elsewhere) = (stage.home.project(), stage.home.path().join("home"));
    for (answer, wanted) in [
        ("", Some(&own)),
        ("y", Some(&own)),
        ("YES", Some(&own)),
        ("n", None),
        ("nonsense", None),
        ("here", Some(&elsewhere)),
        ("h", Some(&elsewhere)),
    ] {
        let placed = transcripts(&stage);
        let mut command = stage.command(&["resume", SESSION]);
        command.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).current_dir(&elsewhere);
        let mut terminal = Terminal::start(command, (120, 24));
        let asked = terminal.until(|screen| screen.printed.contains("[Y/n/here]"));
        assert!(asked.printed.contains("project (its directory)?"), "{asked:#?}");
        terminal.press(&format!("{answer}\r"));
        let (status, screen) = terminal.end();
        assert_eq!(status.code(), Some(0), "{answer}: {screen:#?}");
        let printed = screen.printed.replace('\r', "");
        match wanted {
            Some(dir) => {
                assert!(printed.ends_with(&format!(" in {}\n", dir.display())), "{answer}: {printed}");
            }
            None => assert!(printed.contains("Nothing was started"), "{answer}: {printed}"),
        }
        // In its own directory the session goes on itself; elsewhere it is a copy, and declined it is nothing.
        let copies = usize::from(wanted == Some(&elsewhere));
        assert_eq!(transcripts(&stage), placed + copies, "{answer}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
