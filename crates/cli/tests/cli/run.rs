//! `run`: a command under it is as it would be alone, and what it read and printed is a session.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;
use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;

fn sessions(stage: &Stage) -> Vec<Value> {
    stage.json(&["list"])["sessions"].as_array().unwrap().clone()
}

fn streams(stage: &Stage) -> Vec<PathBuf> {
    let folder = stage.home.stemmata_home().join("run/streams");
    let all = std::fs::read_dir(folder);
    let all: Vec<PathBuf> =
        all.map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
    let is_stream = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
    let streams: Vec<PathBuf> = all.iter().filter(is_stream).cloned().collect();
    // What is left where there is no stream belongs to none.
    if streams.is_empty() { all } else { streams }
}

fn tip(session: &Value) -> String {
    session["tip"].as_str().unwrap().to_owned()
}

/// A command under `stemma run` whose output is read while it runs.
fn started(stage: &Stage, script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = stage.command(&["run", "--", "sh", "-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
}

#[test]
fn bytes_and_exit_code_pass_through_and_the_lines_are_a_session() {
    let stage = Stage::new();
    let script = "cat; printf 'no\\tnewline \\377\\000'; echo oops >&2; exit 7";
    let said = stage.feed(&["run", "--", "sh", "-c", script], b"why does it hang?\nand where\n").code(7);
    assert_eq!(said.stdout, b"why does it hang?\nand where\nno\tnewline \xff\0");
    assert_eq!(said.stderr, "oops\n");
    let all = sessions(&stage);
    assert_eq!(all.len(), 1);
    assert_eq!((&all[0]["format"], &all[0]["title"]), (&"generic-v1".into(), &"why does it hang?".into()));
    assert_eq!(all[0]["cwd"].as_str().map(PathBuf::from), Some(stage.home.project().canonicalize().unwrap()));
    let native = String::from_utf8(stage.native(&tip(&all[0]))).unwrap();
    let lines: Vec<Value> = native.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told: Vec<(&str, &str)> =
        lines.iter().map(|line| (line["fd"].as_str().unwrap(), line["line"].as_str().unwrap())).collect();
    assert!(told.contains(&("stdin", "and where")), "{told:?}");
    assert!(told.contains(&("stdout", "why does it hang?")), "{told:?}");
    assert_eq!(told.last(), Some(&("stdout", "no\tnewline \u{fffd}\0")));
    assert_eq!(streams(&stage), Vec::<PathBuf>::new());
}

#[test]
fn a_projects_rules_for_secrets_count_from_the_first_line() {
    let stage = Stage::new();
    let rules = stage.home.project().join(".stemmata");
    std::fs::create_dir_all(&rules).unwrap();
    let rule = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";
    std::fs::write(rules.join("secrets.toml"), rule).unwrap();
    stage.run(&["secrets", "trust"]).ok().complains(&["count from now on"]);
    stage.feed(&["run", "--", "cat"], b"see ACME-771234\n").code(0);
    let all = sessions(&stage);
    let native = String::from_utf8(stage.native(&tip(&all[0]))).unwrap();
    assert!(native.contains("see [REDACTED:ticket]") && !native.contains("ACME-"), "{native}");
}

#[test]
fn structured_output_is_kept_byte_for_byte() {
    let stage = Stage::new();
    let printed = concat!(
        r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"11111111-2222-4333-8444-555555555555","claude_code_version":"2.1.330"}"#,
        "\n",
        r#"{"type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"done"}]},"parent_tool_use_id":null,"session_id":"11111111-2222-4333-8444-555555555555","uuid":"u1"}"#,
        "\n",
        r#"{"type":"result","subtype":"success","result":"done","session_id":"11111111-2222-4333-8444-555555555555"}"#,
        "\n"
    );
    let file = stage.home.write("stream.txt", printed.as_bytes());
    let said =
        stage.feed(&["run", "--ticket", "T-12", "--", "cat", file.to_str().unwrap()], b"ignored\n").ok();
    assert_eq!(said.text(), printed);
    let all = sessions(&stage);
    assert_eq!((&all[0]["format"], &all[0]["cwd"]), (&"claude-stream-v1".into(), &"/w".into()));
    assert_eq!(stage.native(&tip(&all[0])), printed.as_bytes());
    let sighting = &stage.json(&["show", &tip(&all[0])])["sightings"][0];
    assert_eq!((&sighting["ticket_id"], &sighting["checkpoint"]), (&"T-12".into(), &"session_end".into()));
    stage.run(&["run", "--timed", "--", "cat", file.to_str().unwrap()]).ok();
    assert!(sessions(&stage).iter().any(|session| session["format"] == "generic-v1"));
}

#[test]
fn a_request_to_terminate_reaches_the_command_and_what_it_said_is_kept() {
    let stage = Stage::new();
    let script = "trap 'kill $!; echo bye; exit 3' TERM; sleep 60 & echo ready; wait";
    let (mut child, mut out) = started(&stage, script);
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    signal(&child, rustix::process::Signal::TERM);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("bye\n", Some(3)));
    assert!(String::from_utf8(stage.native(&tip(&sessions(&stage)[0]))).unwrap().contains("bye"));
    // A command that a signal ends, ends this one by the same.
    let mut ended = stage.command(&["run", "--", "sh", "-c", "echo x; kill -KILL $$"]);
    assert_eq!(ended.stdout(Stdio::null()).status().unwrap().signal(), Some(9));
    assert_eq!(sessions(&stage).len(), 2);
}

#[test]
fn what_a_killed_run_recorded_is_taken_up_by_the_next_command() {
    let stage = Stage::new();
    let (mut child, mut out) = started(&stage, "echo ready; read line; echo never");
    let mut input = child.stdin.take().unwrap();
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    signal(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    let _gone = input.write_all(b"x\n");
    assert_eq!(streams(&stage).len(), 1);
    let native = stage.native(&tip(&sessions(&stage)[0]));
    assert!(String::from_utf8(native).unwrap().contains("ready"));
    let here = stage.home.project();
    assert!(
        sessions(&stage)[0]["cwd"]
            .as_str()
            .is_some_and(|cwd| cwd.ends_with(here.file_name().unwrap().to_str().unwrap()))
    );
    assert_eq!(streams(&stage).len(), 0);
}

#[test]
fn a_store_that_is_locked_or_gone_does_not_stop_the_command() {
    let stage = Stage::new();
    stage.run(&["status"]).ok();
    let store = rusqlite::Connection::open(stage.database()).unwrap();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    let said = stage.run(&["run", "--", "echo", "hi"]).ok();
    assert_eq!((said.text().as_str(), said.stderr.as_str()), ("hi\n", ""));
    assert_eq!(streams(&stage).len(), 1);
    store.execute_batch("ROLLBACK").unwrap();
    drop(store);
    let trouble = stage.json(&["status"])["hook_trouble"].as_str().unwrap().to_owned();
    assert!(trouble.contains("stemma run"), "{trouble}");
    assert_eq!((sessions(&stage).len(), streams(&stage).len()), (1, 0));
    // No data directory at all.
    let file = stage.home.write("file", b"");
    let mut command = stage.command(&["run", "--", "echo", "hi"]);
    let said = command.env("STEMMATA_HOME", file.join("below")).output().unwrap();
    assert_eq!((said.status.code(), said.stdout.as_slice()), (Some(0), &b"hi\n"[..]));
    let told = String::from_utf8(said.stderr).unwrap();
    assert!(told.contains("nothing of this was recorded") && told.contains("below"), "{told}");
    let mut silent = stage.command(&["run", "--", "true"]);
    let said = silent.env("STEMMATA_HOME", file.join("below")).output().unwrap();
    assert_eq!(said.stderr, b"", "what said nothing lost nothing");
}

/// Starts a command that prints more than a pipe holds, and less than two pipes and what is on its way between them.
fn unread(stage: &Stage) -> std::process::Child {
    let script = "head -c 120000 /dev/zero | tr '\\0' x";
    let mut command = stage.command(&["run", "--", "sh", "-c", script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

/// A command that has ended, and whose output nobody reads, was not stored before somebody did.
#[test]
fn what_a_command_said_is_stored_though_nobody_reads_it() {
    let stage = Stage::new();
    let mut child = unread(&stage);
    let is_stored = || {
        let listed = sessions(&stage);
        let native = listed
            .first()
            .and_then(|session| Some(stage.native(session["tip"].as_str()?)))
            .unwrap_or_default();
        String::from_utf8(native).unwrap().matches('x').count() >= 120_000
    };
    let stored = (0..200).any(|_| is_stored());
    let mut text = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(stored, "before anybody read it");
    assert_eq!((text.len(), text.iter().all(|byte| *byte == b'x')), (120_000, true));
    assert_eq!(streams(&stage).len(), 0);
}

#[test]
fn a_signal_ends_what_waits_for_its_reader_alone() {
    let stage = Stage::new();
    let mut child = unread(&stage);
    assert!((0..200).any(|_| !sessions(&stage).is_empty()), "the command is over and stored");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let ended = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(15), "{ended}");
}

/// Found in review: `status` said nothing, and what was printed was gone.
#[test]
fn what_could_not_be_recorded_is_told_by_status() {
    let printed = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"cwd\":\"/w\"}\n{}\n";
    for (name, text, told) in [
        ("run/streams", "", ["nothing of this was recorded", "streams"]),
        ("secrets.toml", "rules = 7\n", ["secrets cannot be found in 2 lines", "secrets.toml"]),
    ] {
        let stage = Stage::new();
        stage.run(&["status"]).ok();
        let at = stage.home.stemmata_home().join(name);
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(&at, text).unwrap();
        let file = stage.home.write("stream.txt", printed.as_bytes());
        let said = stage.run(&["run", "--", "cat", file.to_str().unwrap()]).ok();
        assert_eq!((said.text().as_str(), said.stderr.as_str()), (printed, ""));
        std::fs::remove_file(&at).unwrap();
        let status = stage.json(&["status"]);
        let trouble = status["hook_trouble"].as_str().unwrap_or_default();
        assert!(told.iter().all(|told| trouble.contains(told)), "{trouble}");
        assert_eq!((sessions(&stage).len(), streams(&stage).len()), (0, 0));
        stage.run(&["run", "--", "cat", file.to_str().unwrap()]).ok();
        let after = stage.json(&["status"])["hook_trouble"].clone();
        assert_eq!(after, serde_json::Value::Null, "what went well again is not a trouble");
    }
}

/// Found in review: `run` closed the pipe 200 ms after its command, and what that had left in the background was ended by
/// a signal.
#[test]
fn what_a_command_left_behind_prints_on_and_is_recorded() {
    let stage = Stage::new();
    let over = stage.home.path().join("over");
    // It writes once `stemma` is gone, and again after that: a closed pipe would have ended it.
    let left = "read line; echo one; echo two; echo > ";
    let fifo = stage.home.path().join("go");
    let script =
        format!("mkfifo '{0}'; ({left}'{1}') < '{0}' & echo first; exit 3", fifo.display(), over.display());
    let mut command = stage.command(&["run", "--", "sh", "-c", &script]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut child = command.env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!((line.as_str(), child.wait().unwrap().code()), ("first\n", Some(3)));
    assert_eq!(sessions(&stage).len(), 0, "it is still being written");
    std::fs::OpenOptions::new().write(true).open(&fifo).unwrap().write_all(b"go\n").unwrap();
    // A reader sees the end when the last process that could print is gone, and not before.
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "one\ntwo\n");
    let all = sessions(&stage);
    let native = String::from_utf8(stage.native(&tip(&all[0]))).unwrap();
    assert!(["first", "one", "two"].iter().all(|said| native.contains(said)), "{native}");
    assert_eq!((all.len(), over.exists()), (1, true));
    assert_eq!(streams(&stage), Vec::<PathBuf>::new());
}

/// Found in review: `run` never ended while what the command left behind printed without a pause, nor where so much was
/// printed that nobody heard of its end.
#[test]
fn a_background_that_never_pauses_does_not_keep_the_command_from_ending() {
    let stage = Stage::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    for script in ["yes & echo $! > pid; exit 3", "yes | head -c 20000000 & exit 3"] {
        let mut command = stage.command(&["run", "--", "sh", "-c", script]);
        let null = std::fs::File::create("/dev/null").unwrap();
        let ended = command.env("PATH", &path).stdout(null).stderr(Stdio::null()).status().unwrap();
        assert_eq!(ended.code(), Some(3), "{script}");
        let file = stage.home.project().join("pid");
        if let Ok(text) = std::fs::read_to_string(&file) {
            let pid = rustix::process::Pid::from_raw(text.trim().parse().unwrap()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            std::fs::remove_file(file).unwrap();
        }
    }
}

/// Found in review: the record was taken for no transcript, and the next command deleted it.
#[test]
fn a_record_that_begins_with_a_long_line_is_stored() {
    let stage = Stage::new();
    let long = "word ".repeat(40_000);
    for (name, printed) in [
        ("text", format!("{long}\nsecond\n")),
        (
            "structured",
            format!(
                "{{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"cwd\":\"/w\",\"x\":\"{long}\"}}\n{{\"type\":\"result\",\"session_id\":\"s\",\"result\":\"second\"}}\n"
            ),
        ),
    ] {
        let file = stage.home.write(name, printed.as_bytes());
        // The store is held, so that the next command takes the record up.
        stage.run(&["status"]).ok();
        let store = rusqlite::Connection::open(stage.database()).unwrap();
        for is_held in [false, true] {
            let before = sessions(&stage).len();
            if is_held {
                store.execute_batch("BEGIN IMMEDIATE").unwrap();
            }
            stage.run(&["run", "--", "cat", file.to_str().unwrap()]).ok();
            if is_held {
                store.execute_batch("ROLLBACK").unwrap();
            }
            let all = sessions(&stage);
            assert_eq!((all.len(), streams(&stage).len()), (before + 1, 0), "{name} {is_held}");
            let native = stage.native(&tip(&all[0]));
            assert!(native.len() > 200_000 && String::from_utf8(native).unwrap().contains("second"));
        }
    }
}

/// Found in review: whatever could not be captured was deleted with a word to nobody.
#[test]
fn a_record_that_cannot_be_captured_is_kept_and_named() {
    let stage = Stage::new();
    stage.run(&["status"]).ok();
    let folder = stage.home.stemmata_home().join("run/streams");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("odd.jsonl"), "the only copy\n").unwrap();
    std::fs::write(folder.join("empty.jsonl"), "").unwrap();
    stage.run(&["list"]).ok().complains(&["not a transcript", "aside"]);
    let kept = folder.join("aside/odd.jsonl");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "the only copy\n");
    assert!(!folder.join("empty.jsonl").exists());
    let status = stage.json(&["status"]);
    assert_eq!(status["set_aside"], serde_json::json!([kept.to_str().unwrap()]));
    assert!(stage.run(&["status"]).ok().text().contains("set aside"));
}

#[test]
fn where_a_project_is_excluded_nothing_is_recorded() {
    let stage = Stage::new();
    stage.run(&["exclude", "."]).ok();
    assert_eq!(stage.run(&["run", "--", "echo", "hi"]).ok().text(), "hi\n");
    assert_eq!((sessions(&stage).len(), streams(&stage).len()), (0, 0));
    stage.run(&["run", "--", "./no-such-program"]).code(3).complains(&["no-such-program"]);
    stage.run(&["run"]).code(2);
}

#[test]
fn secrets_are_replaced_before_anything_is_written() {
    let stage = Stage::new();
    let secret = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    let (mut child, mut out) = started(&stage, &format!("echo {secret}; read line"));
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line.trim(), secret, "what is passed on is what was printed");
    signal(&child, rustix::process::Signal::KILL);
    child.wait().unwrap();
    let kept = std::fs::read_to_string(&streams(&stage)[0]).unwrap();
    assert!(kept.contains("[REDACTED:") && !kept.contains(&secret), "{kept}");
}

/// Found in review: each line by itself holds no secret, so all of them lay on the disk, and `scan` said clean.
#[test]
fn a_secret_in_several_lines_never_reaches_the_disk() {
    let stage = Stage::new();
    let tail = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    let delta = |text: &str| {
        let event = serde_json::json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":text}});
        format!("{}\n", serde_json::json!({"type":"stream_event","event":event,"session_id":"s"}))
    };
    let init = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"cwd\":\"/w\"}\n";
    let mut streamed = init.to_owned();
    for part in ["see gh", "p_A1b2C3d4E5f6", "G7h8I9j0K1l2M3n4", "O5p6Q7r8 there"] {
        streamed.push_str(&delta(part));
    }
    streamed.push_str("{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_stop\",\"index\":0},\"session_id\":\"s\"}\n");
    let body: Vec<String> = (0..6).map(|row| format!("{}{}", &tail[row..], &tail[..28 + row % 3])).collect();
    let printed =
        format!("-----BEGIN RSA {0} KEY-----\n{1}\n-----END RSA {0} KEY-----\n", "PRIVATE", body.join("\n"));
    for (name, text, parts) in [
        ("deltas", &streamed, ["G7h8I9j0K1l2M3n4", "p_A1b2C3d4"]),
        ("key", &printed, [&body[0][..20], &body[5][..20]]),
    ] {
        // What `run` records, while it does.
        let file = stage.home.write(name, text.as_bytes());
        let (mut child, mut out) =
            started(&stage, &format!("cat '{}'; echo over; read line", file.display()));
        let mut said = String::new();
        while !said.contains("over") {
            assert!(out.read_line(&mut said).unwrap() > 0);
        }
        signal(&child, rustix::process::Signal::KILL);
        child.wait().unwrap();
        let kept = std::fs::read_to_string(&streams(&stage)[0]).unwrap();
        assert!(
            kept.contains("[REDACTED:") && parts.iter().all(|part| !kept.contains(part)),
            "{name}: {kept}"
        );
        stage.json(&["list"]);
        // What an import takes in, and what is found in what older versions stored.
        let bare = stage.home.write(
            &format!("{name}.jsonl"),
            match name {
                "key" => text
                    .lines()
                    .map(|line| {
                        format!(
                            "{}\n",
                            serde_json::json!({"t":"2026-01-01T00:00:00Z","fd":"stdout","line":line})
                        )
                    })
                    .collect::<String>(),
                _ => text.clone(),
            }
            .as_bytes(),
        );
        stage.run(&["import", bare.to_str().unwrap()]).ok();
        for session in sessions(&stage) {
            let native = String::from_utf8(stage.native(&tip(&session))).unwrap();
            assert!(parts.iter().all(|part| !native.contains(part)), "{name}: {native}");
        }
        assert_ne!(stage.run(&["scan"]).code, 11);
    }
}

/// What older versions stored of such a secret is found by `scan`, and `scrub` replaces it.
#[test]
fn a_secret_in_several_lines_is_found_in_what_is_stored() {
    let stage = Stage::new();
    let delta = |text: &str| {
        let event = serde_json::json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":text}});
        format!("{}\n", serde_json::json!({"type":"stream_event","event":event,"session_id":"s"}))
    };
    let init = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"cwd\":\"/w\"}\n";
    let text = format!("{init}{}{}{}", delta("see ACM"), delta("E-77"), delta("1234 there"));
    let file = stage.home.write("stream.jsonl", text.as_bytes());
    stage.run(&["import", file.to_str().unwrap()]).ok();
    assert_ne!(stage.run(&["scan"]).code, 11, "no rule knows it yet");
    let rule = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";
    std::fs::write(stage.home.stemmata_home().join("secrets.toml"), rule).unwrap();
    stage.run(&["scan"]).code(11);
    stage.run(&["scrub", "--all", "--yes"]).ok();
    assert_ne!(stage.run(&["scan"]).code, 11);
    let native = String::from_utf8(stage.native(&tip(&sessions(&stage)[0]))).unwrap();
    let wanted = format!("{init}{}{}{}", delta("see [REDACTED:ticket]"), delta(""), delta(" there"));
    assert_eq!(native, wanted);
}

/// A newcomer met them as `@`, as «(no prompt)», as only here, and among the sessions to fork, where placing one failed.
#[test]
fn a_record_of_a_command_is_called_by_its_command_and_is_in_nobodys_way() {
    let stage = Stage::new();
    stage.run(&["run", "--", "echo", "hi"]).ok();
    stage.run(&["show", "@"]).code(3);
    let session = stage
        .home
        .write_session(&ClaudeSession::new(3).turns(2).cwd(stage.home.project().to_str().unwrap()).build());
    stage.import(&session);
    let work = stage.run(&["show", "@"]).ok().text();
    let secret = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    stage.run(&["run", "--", "sh", "-c", "echo \"$0\"\n", "two words"]).ok();
    stage.run(&["run", "--", "echo", &secret]).ok();
    stage.run(&["run", "--", "printf", "%s", &"long ".repeat(100)]).ok();
    let listed = sessions(&stage);
    let titles: Vec<&str> = listed.iter().filter_map(|session| session["title"].as_str()).collect();
    let is_there = |title: &str| titles.contains(&title);
    assert!(is_there("echo hi") && is_there("sh -c 'echo \"$0\" ' 'two words'"), "{titles:?}");
    assert!(is_there("echo [REDACTED:github-token]"), "{titles:?}");
    assert!(titles.iter().any(|title| title.starts_with("printf %s") && title.ends_with('…')), "{titles:?}");
    assert!(!stage.run(&["list", "--json"]).ok().text().contains(&secret));
    assert_eq!(stage.run(&["show", "@"]).ok().text(), work);
    assert_eq!(stage.run(&["status", "--json"]).ok().json()["only_here_sessions"], 0);
    assert!(!stage.run(&["recover"]).ok().text().contains("echo"));
    for (command, shown) in [("fork", false), ("resume", false), ("show", true)] {
        let said = stage.run(&[command]).code(2).text();
        assert_eq!(said.contains("echo hi"), shown, "{said}");
    }
    assert!(stage.run(&["fork", "--in", "codex"]).code(2).text().contains("echo hi"));
    let home = stage.run(&[] as &[&str]).ok().text();
    assert!(home.contains("echo hi") && !home.contains("--in"), "{home}");
}

/// The command line reaches a record that the next command takes up, and a structured one, which says nothing of it.
#[test]
fn the_command_line_is_kept_beside_a_record() {
    let stage = Stage::new();
    let init = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"cwd\":\"/w\"}\n";
    let file = stage.home.write("stream.txt", init.as_bytes());
    stage.run(&["status"]).ok();
    let store = rusqlite::Connection::open(stage.database()).unwrap();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    stage.run(&["run", "--", "cat", file.to_str().unwrap()]).ok();
    store.execute_batch("ROLLBACK").unwrap();
    let title = sessions(&stage)[0]["title"].clone();
    assert_eq!(title, format!("cat {}", file.display()));
    assert_eq!(streams(&stage), Vec::<PathBuf>::new(), "nothing stays beside it");
}
