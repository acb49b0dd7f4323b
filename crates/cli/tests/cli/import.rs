//! `import` as a person sees it, and again, and from several places.

use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::story::{self, SESSION};

#[test]
fn a_first_import_tells_what_it_found_and_what_to_do_next() {
    let stage = Stage::new();
    insta::assert_snapshot!("first_run_without_sessions", stage.told(&["import"]));
    let path = format!("home/.claude/projects/-home-ann-shop/{SESSION}.jsonl");
    stage.home.write(&path, story::retry("/home/ann/shop").text().as_bytes());
    stage.home.write("home/.claude/projects/-home-ann-shop/notes.jsonl", b"not a transcript\n");
    insta::assert_snapshot!("status_before_import", stage.told(&["status"]));
    insta::assert_snapshot!("first_import", stage.told(&["import"]));
    insta::assert_snapshot!("second_import", stage.told(&["import"]));
    insta::assert_snapshot!("status_after_import", stage.told(&["status"]));
}

#[test]
fn where_there_are_no_sessions_the_examples_stand_in() {
    let stage = Stage::new();
    let examples = stage.home.path().join("examples");
    let path = stage.home.write("examples/a.jsonl", story::retry("/home/ann/shop").text().as_bytes());
    let or = examples.to_str().unwrap();
    let first = stage.json(&["import", "--or", or]);
    assert_eq!(first["sessions"][0]["path"], path.to_str().unwrap());
    stage.home.write_session(&ClaudeSession::new(1).build());
    let second = stage.json(&["import", "--or", or]);
    assert_eq!(second["sessions"].as_array().unwrap().len(), 1);
    assert_ne!(second["sessions"][0]["path"], path.to_str().unwrap());
}

#[test]
fn what_was_appended_is_all_that_a_second_import_stores() {
    let stage = Stage::new();
    let whole = story::retry("/home/ann/shop");
    let text = whole.text();
    let cut: usize = whole.lines().iter().take(6).map(|line| line.len() + 1).sum();
    let path = stage.home.write("a.jsonl", &text.as_bytes()[..cut]);
    let first = stage.import(&path);
    stage.home.write("a.jsonl", text.as_bytes());
    let second = stage.import(&path);
    assert!(second["new_commits"].as_u64().unwrap() > 0);
    assert_eq!(stage.native(second["tip"].as_str().unwrap()), text.as_bytes());
    assert_eq!(stage.native(first["tip"].as_str().unwrap()), &text.as_bytes()[..cut]);
    let third = stage.import(&path);
    assert_eq!((&third["new_commits"], &third["bytes_stored"]), (&0.into(), &0.into()));
    assert_eq!(third["tip"], second["tip"]);
}

#[test]
fn another_machine_gives_the_same_ids() {
    let transcript = ClaudeSession::new(7).turns(4).compactions(1).subagents(1).build();
    let tips: Vec<serde_json::Value> = [Stage::new(), Stage::new()]
        .iter()
        .map(|stage| {
            stage.home.write_session(&transcript);
            let result = stage.json(&["import"]);
            let mut tips: Vec<String> = result["sessions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|session| session["tip"].to_string())
                .collect();
            tips.sort();
            tips.into()
        })
        .collect();
    assert_eq!(tips[0], tips[1]);
}

#[test]
fn granularity_comes_from_flag_environment_and_file() {
    let text = story::retry("/home/ann/shop").text();
    let commits = |configure: &dyn Fn(&mut std::process::Command)| {
        let stage = Stage::new();
        let path = stage.home.write("a.jsonl", text.as_bytes());
        stage.home.write("home/.config/stemmata/config.toml", b"[capture]\ngranularity = \"message\"\n");
        let mut command = stage.command(&["import", path.to_str().unwrap(), "--json"]);
        configure(&mut command);
        let output = command.output().unwrap();
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        result["sessions"][0]["commits"].as_u64().unwrap()
    };
    let by_file = commits(&|_| {});
    let by_environment = commits(&|command| {
        command.env("STEMMATA_GRANULARITY", "turn");
    });
    let by_flag = commits(&|command| {
        command.env("STEMMATA_GRANULARITY", "message").args(["--granularity", "every:100"]);
    });
    assert!(by_file > by_environment && by_environment > by_flag, "{by_file} {by_environment} {by_flag}");
}

#[test]
fn a_secret_never_lands_in_the_store_or_the_log_and_is_counted() {
    let stage = Stage::new();
    // Put together here, so that no scanner of this repository stumbles over it.
    let secret = format!("{}{}", "AKIA", "Q3EGRYZ7PLMNX2TV");
    let mut story = story::Story::new(SESSION, "/home/ann/shop");
    story.user(&format!("the key is {secret}")).assistant("I keep it to myself.");
    let path = stage.home.write("a.jsonl", story.text().as_bytes());
    let session = stage.import(&path);
    assert!(session["bytes_redacted"].as_u64().unwrap() > 0, "{session}");
    let told = stage.told(&["import", path.to_str().unwrap(), "--full"]);
    let id = stage.json(&["list"])["sessions"][0]["short_id"].as_str().unwrap().to_owned();
    assert!(told.contains(&format!("Redacted 1 secret in {id} «")), "{told}");
    let shown = stage.told(&["show", &id]);
    assert!(shown.contains("1 secret replaced (") && shown.contains("--clients"), "{shown}");
    assert_eq!(stage.json(&["show", &id])["overview"]["redacted"][0]["count"], 1);
    let native = stage.native(session["tip"].as_str().unwrap());
    assert!(!String::from_utf8(native).unwrap().contains(&secret));
    for folder in ["store", "logs"] {
        for entry in std::fs::read_dir(stage.home.stemmata_home().join(folder)).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
        }
    }
}

#[test]
fn an_import_of_nothing_new_is_short_and_a_quiet_one_says_nothing() {
    let stage = Stage::new();
    let torn = format!("{}{{\"type\":\"user\"", story::retry("/home/ann/shop").text());
    let path = stage.home.write("a.jsonl", torn.as_bytes());
    let path = path.to_str().unwrap();
    let first = stage.told(&["import", path]);
    assert!(first.contains("You now have 1 session") && !first.contains("no newline"), "{first}");
    let again = stage.told(&["import", path]);
    assert!(again.contains("nothing new") && !again.contains("You now have"), "{again}");
    let quiet = stage.run(&["import", path, "-q"]).ok();
    assert_eq!((quiet.text().as_str(), quiet.stderr.as_str()), ("", ""));
}

#[test]
fn an_interrupted_import_leaves_a_sound_store_and_goes_on() {
    let stage = Stage::new();
    let mut bytes = Vec::new();
    ClaudeSession::new(13).approx_bytes(16_000_000).write_to(&mut bytes).unwrap();
    let path = stage.home.write("a.jsonl", &bytes);
    let mut command = stage.command(&["import", path.to_str().unwrap(), "--quiet"]);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let log = stage.database().with_file_name("stemmata.db-wal");
    let is_writing = || std::fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 500_000);
    while !is_writing() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let interrupted = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupted.is_ok());
    let ended = child.wait().unwrap();
    if ended.code() == Some(0) {
        println!("skipped the interruption: the import was quicker");
    }
    assert_eq!(stage.json(&["verify"])["ok"], true);
    let session = stage.import(&path);
    assert!(stage.native(session["tip"].as_str().unwrap()) == bytes);
    assert_eq!(stage.json(&["verify"])["ok"], true);
}

/// A database of a version of opencode that nobody knows yet, with so many sessions.
fn newer_database(stage: &Stage, sessions: usize) {
    let folder = stage.home.path().join("home/.local/share/opencode");
    std::fs::create_dir_all(&folder).unwrap();
    let database = rusqlite::Connection::open(folder.join("opencode.db")).unwrap();
    database.execute_batch("CREATE TABLE session_v9 (id text PRIMARY KEY, body text)").unwrap();
    for number in 0..sessions {
        database.execute("INSERT INTO session_v9 VALUES (?1, '')", [format!("ses_{number:026}")]).unwrap();
    }
}

#[test]
fn nobody_says_that_everything_is_imported_where_a_version_is_not_read() {
    let stage = Stage::new();
    newer_database(&stage, 3);
    let said = "3 sessions are not read";
    let setup = stage.told(&["setup", "--dry-run"]);
    assert!(setup.contains(said) && setup.contains("3 sessions of a version"), "{setup}");
    let status = stage.told(&["status"]);
    assert!(status.contains(said) && !status.contains("Everything is imported"), "{status}");
    let doctor = stage.told(&["doctor", "--all"]);
    assert!(doctor.contains(said) && !doctor.contains("exit 0"), "{doctor}");
    let import = stage.told(&["import"]);
    assert!(import.contains(said) && import.contains("exit 9"), "{import}");
    let output = stage.command(&["import", "--json"]).output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let [one] = told["left_out"].as_array().unwrap().as_slice() else { panic!("{told}") };
    assert_eq!(
        (&one["kind"], &one["of"], &one["count"]),
        (&"unknown_schema".into(), &"session".into(), &3.into())
    );
    // What others hold is imported all the same.
    stage.home.write_session(&ClaudeSession::new(1).build());
    let import = stage.told(&["import"]);
    assert!(import.contains(said) && import.contains("exit 10"), "{import}");
    assert!(!stage.told(&["setup", "--dry-run"]).contains("everything is imported"));
}

#[test]
fn nobody_says_that_everything_is_imported_where_a_form_is_not_known() {
    let at = "\"timestamp\":\"2026-01-01T00:00:00.000Z\"";
    let pi = format!("{{\"type\":\"session\",\"version\":9,\"id\":\"a1\",{at},\"cwd\":\"/p\"}}\n");
    let gemini = "{\"sessionId\":\"s1\",\"projectHash\":\"p\",\"startTime\":\"2026-01-01T00:00:00.000Z\",\"schemaVersion\":9}\n";
    let codex = format!(
        "{{{at},\"type\":\"session_meta\",\"payload\":{{\"id\":\"0195f0f0-0000-7000-8000-000000000001\",{at},\"cwd\":\"/p\",\
         \"originator\":\"codex\",\"cli_version\":\"0.169.0\",\"history_mode\":\"woven\"}}}}\n"
    );
    for (path, text, said) in [
        (".pi/agent/sessions/--p--/2026_a1.jsonl", pi.as_str(), "of a version that is not known (version 9)"),
        (
            ".gemini/tmp/p/chats/session-1-s1.jsonl",
            gemini,
            "of a version that is not known (`schemaVersion` 9)",
        ),
        (
            ".codex/sessions/2026/01/01/rollout-2026-01-01T00-00-00-0195f0f0-0000-7000-8000-000000000001.jsonl",
            codex.as_str(),
            "of a version that is not known (history mode \"woven\")",
        ),
        (
            ".claude/projects/-p/11111111-1111-4111-8111-111111111111.jsonl",
            "{\"kind\":\"novel\"}\n",
            "is not read",
        ),
    ] {
        let stage = Stage::new();
        stage.home.write(&format!("home/{path}"), text.as_bytes());
        let first = stage.told(&["import"]);
        assert!(first.contains("1 file") && first.contains(path), "{first}");
        let again = stage.told(&["import"]);
        assert!(!again.contains(path), "said twice: {again}");
        for told in [stage.told(&["status"]), stage.told(&["setup", "--dry-run"])] {
            assert!(
                told.contains(said) && !told.to_lowercase().contains("everything is imported"),
                "{path}: {told}"
            );
        }
        let unread = &stage.json(&["status"])["unread"];
        assert_eq!((unread.as_array().unwrap().len(), &unread[0]["count"]), (1, &1.into()), "{unread}");
        // A session that is known does not hide it.
        stage.home.write_session(&ClaudeSession::new(1).build());
        stage.told(&["import"]);
        let status = stage.told(&["status"]);
        assert!(status.contains(said) && !status.contains("Everything is imported"), "{path}: {status}");
    }
}

#[test]
fn files_that_are_no_transcripts_are_counted_by_kind_and_shown_once() {
    let stage = Stage::new();
    stage.home.write_session(&ClaudeSession::new(1).build());
    let write = |name: &str| stage.home.write(&format!("home/.claude/projects/-p/{name}"), b"{}");
    for name in ["a.txt", "b.txt", "c.json", "deep/d.txt", "no-ending", "e.jsonl"] {
        write(name);
    }
    stage.home.write("home/.claude/projects/-p/empty.jsonl", b"");
    let first = stage.told(&["import"]);
    assert!(first.contains("3 .txt files, 1 .json file, 1 other file skipped: no transcripts"), "{first}");
    assert!(
        first.contains("2 files skipped that are not transcripts") && first.contains("e.jsonl"),
        "{first}"
    );
    let again = stage.told(&["import"]);
    assert!(!again.contains("skipped") && again.contains("nothing new"), "{again}");
    write("f.txt");
    write("g.jsonl");
    let more = stage.told(&["import"]);
    assert!(more.contains("  1 .txt file skipped") && !more.contains(".json file"), "{more}");
    assert!(more.contains("g.jsonl") && !more.contains("e.jsonl"), "{more}");
    // Nobody sees what a quiet import of a hook says.
    write("h.txt");
    stage.run(&["import", "--json"]).ok();
    assert!(stage.told(&["import"]).contains("  1 .txt file skipped"));
    let status = stage.told(&["status"]);
    assert!(status.contains("5 .txt files, 1 .json file, 1 other file beside the transcripts"), "{status}");
    for name in ["e.jsonl", "g.jsonl"] {
        std::fs::remove_file(stage.home.path().join("home/.claude/projects/-p").join(name)).unwrap();
    }
    let status = stage.told(&["status"]);
    let said = "Everything is imported but 5 .txt files, 1 .json file, 1 other file: no transcripts.";
    assert!(status.contains(said), "{status}");
}

#[test]
fn what_is_left_out_is_named_once_by_kind() {
    let stage = Stage::new();
    let mut text = story::retry("/home/ann/shop").text();
    for kind in ["dream", "dream", "omen"] {
        text.extend(["{\"type\":\"", kind, "\",\"uuid\":\"", kind, "\"}\n"]);
    }
    text.push_str("no record\n");
    let folder = "home/.claude/projects/-home-ann-shop";
    stage.home.write(&format!("{folder}/{SESSION}.jsonl"), text.as_bytes());
    stage.home.write(&format!("{folder}/notes.jsonl"), b"not a transcript\n");
    let told = stage.told(&["import"]);
    assert_eq!(told.matches("`dream`").count(), 1, "{told}");
    assert!(
        told.contains("2 records of the unknown type `dream`")
            && told.contains("1 record of the unknown type `omen`")
    );
    let json = stage.json(&["import", "--full"]);
    let kinds: Vec<(String, u64)> = json["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["kind"].as_str().unwrap().to_owned(), one["count"].as_u64().unwrap()))
        .collect();
    let wanted =
        [("unknown_record", 2), ("unknown_record", 1), ("unreadable_record", 1), ("not_a_transcript", 1)];
    assert_eq!(kinds, wanted.map(|(kind, count)| (kind.to_owned(), count)));
}

/// A block of an answer that is not known, in a record that is; a record that is not, and Codex' own.
#[test]
fn what_is_not_understood_is_named_by_every_command_and_counted_once() {
    let stage = Stage::new();
    let at = "\"timestamp\":\"2026-01-01T00:00:00.000Z\"";
    let record = |kind: &str, number: u32, content: &str| {
        format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"00000000-0000-4000-8000-00000000000{number}\",\"parentUuid\":null,\"sessionId\":\
             \"{SESSION}\",{at},\"cwd\":\"/p\",\"message\":{{\"role\":\"{kind}\",\"content\":{content}}}}}\n"
        )
    };
    let new = "[{\"type\":\"tool_use_v9\",\"words\":\"a lamp\"}]";
    let text = record("user", 1, "\"hello\"") + &record("assistant", 2, new) + &record("user_v9", 3, "1");
    let path = stage.home.write(&format!("home/.claude/projects/-p/{SESSION}.jsonl"), text.as_bytes());
    let codex = format!(
        "{{{at},\"type\":\"session_meta\",\"payload\":{{\"id\":\"0195f0f0-0000-7000-8000-000000000001\",{at},\"cwd\":\"/p\",\
         \"originator\":\"codex\",\"cli_version\":\"0.169.0\"}}}}\n{{{at},\"type\":\"event_msg\",\"payload\":{{\"type\":\"dream\"}}}}\n"
    );
    let rollout = "rollout-2026-01-01T00-00-00-0195f0f0-0000-7000-8000-000000000001.jsonl";
    stage.home.write(&format!("home/.codex/sessions/2026/01/01/{rollout}"), codex.as_bytes());
    stage.home.write("home/.claude/projects/-p/novel.jsonl", b"{\"kind\":\"novel\"}\n");
    // A hook hears of one, and an import reads the rest.
    let input = serde_json::json!({ "transcript_path": path, "hook_event_name": "Stop" }).to_string();
    stage.run(&["hook", "claude-code", "--input", &input]).ok();
    let unread = || -> Vec<(String, u64)> {
        let status = stage.json(&["status"]);
        let all = status["unread"].as_array().unwrap();
        let records = all.iter().filter(|one| one["of"] == "record");
        let named = |one: &serde_json::Value| one["what"].as_str().unwrap_or_default().to_owned();
        records.map(|one| (named(one), one["count"].as_u64().unwrap())).collect()
    };
    let name = |name: &str, count: u64| (name.to_owned(), count);
    assert_eq!(unread(), [name("assistant/tool_use_v9", 1), name("user_v9", 1)]);
    stage.run(&["import"]).code(0);
    let codex = name("event_msg/dream", 1);
    assert_eq!(unread(), [name("assistant/tool_use_v9", 1), name("user_v9", 1), codex.clone()]);
    // What follows is counted from where the last turn ended, and nothing twice.
    let more = record("user", 4, "\"again\"") + &record("assistant", 5, new) + &record("assistant", 6, new);
    let both = text.clone() + &more;
    for length in [text.len() + more.len() / 2, both.len()] {
        stage.home.write(&format!("home/.claude/projects/-p/{SESSION}.jsonl"), &both.as_bytes()[..length]);
        stage.run(&["import"]).code(0);
    }
    assert_eq!(unread(), [name("assistant/tool_use_v9", 3), name("user_v9", 1), codex]);
    for args in [&["status"] as &[&str], &["setup", "--dry-run"], &["doctor", "--all"]] {
        let told = stage.told(args);
        for said in ["`assistant/tool_use_v9`", "`user_v9`", "`event_msg/dream`", "novel.jsonl"] {
            assert!(told.contains(said), "{args:?} {said}: {told}");
        }
    }
    std::fs::remove_file(stage.home.path().join("home/.claude/projects/-p/novel.jsonl")).unwrap();
    let status = stage.told(&["status"]);
    assert!(status.contains("Everything is imported") && status.contains("not understood"), "{status}");
}

#[test]
fn what_was_forgotten_is_said_once() {
    let stage = Stage::new();
    for seed in 1..4 {
        stage.home.write_session(&ClaudeSession::new(seed).build());
    }
    let project = stage.json(&["import"])["sessions"].as_array().unwrap().len();
    assert_eq!(project, 3);
    for session in stage.json(&["list"])["sessions"].as_array().unwrap() {
        stage.run(&["forget", session["session_id"].as_str().unwrap(), "--yes"]).ok();
    }
    let told = stage.told(&["import"]);
    assert_eq!(told.matches("this session was forgotten").count(), 1, "{told}");
    assert!(told.contains("3 notes about what was forgotten"), "{told}");
}
