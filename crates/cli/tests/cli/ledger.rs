//! Events, state and what is remembered of a project, as a person and a script meet them.

use serde_json::Value;
use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::story::{SESSION, Story};

/// Numbers of a list of events.
fn numbers(shown: &Value) -> Vec<&str> {
    let events = shown["events"].as_array().expect("events");
    events.iter().map(|event| event["event_seq"].as_str().expect("a number")).collect()
}

fn overwrite(path: &std::path::Path, text: &str) {
    let mut file = std::fs::File::create(path).expect("a file");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("written");
}

#[test]
fn what_is_decided_is_in_the_state() {
    let stage = Stage::new();
    for args in [
        vec!["decision", "add", "Retries stop after five attempts", "--reason", "the queue has its own"],
        vec!["decision", "add", "The queue is called `jobs`", "--fact"],
        vec!["decision", "add", "Does the queue keep its order?", "--thread"],
        vec!["decision", "list"],
        vec!["decision", "close", "keep its order"],
        vec!["task", "add", "Repair the flaky test"],
        vec!["task", "add", "Write the guide"],
        vec!["task", "list"],
        vec!["task", "done", "6"],
        vec![
            "events",
            "append",
            "PLAN_READY",
            "Three steps",
            "--from",
            "planner",
            "--data",
            "{\"summary\":\"in three\"}",
        ],
        vec!["events", "tail", "-n", "3"],
        vec!["state"],
        vec!["state", "--at", "3"],
        vec!["replay", "--check"],
        vec!["restore"],
        vec!["ledger", "list"],
        vec!["task", "done", "2"],
        vec!["events", "query", "--topic", "PLAN_READY", "--from", "nobody"],
    ] {
        let name = args.join("_").replace([' ', '-', '`', '{', '}', '"', ':', '?'], "");
        let name: String = name.chars().take(40).collect();
        insta::assert_snapshot!(format!("ledger_{name}"), stage.told(&args));
    }
}

#[test]
fn events_come_back_as_they_were_given() {
    let stage = Stage::new();
    let lines = "{\"topic\":\"t\",\"text\":\"one\",\"data\":{\"big\":9007199254740993},\"sender\":\"a\",\"session_id\":\"s\"}\n\n\
                 {\"topic\":\"u\",\"receiver\":\"b\",\"metadata\":{\"contextSafe\":false},\"session_id\":\"s\"}\n";
    let appended = stage
        .feed(&["events", "append", "--lines", "--ledger", "cluster", "--json"], lines.as_bytes())
        .json();
    assert_eq!((&appended["ledger"], &appended["last"]), (&"cluster".into(), &"3".into()), "{appended}");
    let shown = stage.json(&["events", "query", "--ledger", "cluster"]);
    assert_eq!(numbers(&shown), ["1", "2", "3"]);
    let events = shown["events"].as_array().unwrap();
    assert_eq!((&events[0]["topic"], &events[0]["session_id"]), (&"SESSION_STARTED".into(), &"s".into()));
    assert_eq!((&events[1]["text"], &events[1]["sender"]), (&"one".into(), &"a".into()));
    assert_eq!(events[1]["data"].to_string(), "{\"big\":9007199254740993}", "no digit is lost");
    assert_eq!((&events[2]["receiver"], &events[2]["replayable"]), (&"b".into(), &false.into()));
    let latest = stage.json(&["events", "query", "--ledger", "cluster", "--latest", "2"]);
    assert_eq!(numbers(&latest), ["2", "3"], "the newest, oldest first");
    let after = stage.json(&["events", "query", "--ledger", "cluster", "--after", "1", "-n", "1"]);
    assert_eq!((numbers(&after), &after["next"]), (vec!["2"], &"2".into()));
    assert_eq!((&latest["next"], &shown["next"]), (&Value::Null, &Value::Null));
    let safe = stage.json(&["events", "query", "--ledger", "cluster", "--replayable", "--topic", "u"]);
    assert_eq!(numbers(&safe), Vec::<&str>::new());
}

#[test]
fn numbers_and_keys_of_lines_stay_as_they_were_written() {
    let stage = Stage::new();
    let data = "{\"z\":9007199254740993.10,\"a\":123456789012345678901234567890}";
    let line = format!("{{\"topic\":\"t\",\"data\":{data},\"metadata\":null,\"session_id\":\"c\"}}\n");
    stage.feed(&["events", "append", "--lines", "--ledger", "c"], line.as_bytes()).ok();
    let shown = stage.run(&["events", "query", "--ledger", "c", "--json"]).ok().text();
    assert!(shown.contains(data), "{shown}");
}

#[test]
fn what_ends_or_replaces_nothing_is_refused() {
    let stage = Stage::new();
    stage.run(&["task", "Mend the flaky test"]).ok();
    stage.run(&["task", "Mend the slow test"]).ok();
    stage.run(&["decide", "Use spaces"]).ok();
    for (code, args) in [
        (2, vec!["decide", " "]),
        (2, vec!["task", ""]),
        (3, vec!["decide", "Use tabs", "--supersedes", "2"]),
        (3, vec!["decide", "Use tabs", "--supersedes", "99"]),
        (3, vec!["task", "--done", "99"]),
        (3, vec!["task", "--done", "4"]),
        (4, vec!["task", "--done", "mend"]),
        (2, vec!["restore", "--repair"]),
    ] {
        let said = stage.run(&args).code(code);
        assert!(!said.stderr.is_empty(), "{args:?}");
    }
    stage.run(&["decide", "Use tabs", "--supersedes", "use SPACES"]).ok();
    stage.run(&["task", "--done", "flaky"]).ok();
    let told = stage.run(&["state"]).ok().text();
    assert!(told.contains("[event 4] [superseded]"), "{told}");
    assert!(told.contains("[x] Mend the flaky test") && told.contains("[ ] Mend the slow test"), "{told}");
}

#[test]
fn words_of_several_decisions_replace_none_and_name_them() {
    let stage = Stage::new();
    for text in ["Use tabs in Go", "Use tabs in Make", "Use ink"] {
        stage.run(&["decide", text]).ok();
    }
    let refused = stage.run(&["decide", "Use spaces", "--supersedes", "use tabs"]).code(4);
    for part in ["`use tabs` could be 2 decisions", "2  Use tabs in Go", "3  Use tabs in Make"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    assert!(!stage.run(&["state"]).ok().text().contains("superseded"));
    // A number means one, whatever the words; and what holds no more is no candidate.
    stage.run(&["decide", "Use spaces in Go", "--supersedes", "2"]).ok();
    stage.run(&["decide", "Use spaces in Make", "--supersedes", "use tabs"]).ok();
    let told = stage.run(&["state"]).ok().text();
    assert_eq!(told.matches("[superseded]").count(), 2, "{told}");
    stage.run(&["task", "Mend the flaky test"]).ok();
    stage.run(&["task", "Mend the slow test"]).ok();
    let refused = stage.run(&["task", "--done", "mend"]).code(4);
    for part in ["`mend` could be 2 open tasks", "7  Mend the flaky test", "8  Mend the slow test"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
}

#[test]
fn a_task_is_meant_by_all_its_words_before_some_and_whatever_the_space() {
    let stage = Stage::new();
    for text in ["glaze", "glaze the cup", "fire  the\tkiln"] {
        stage.run(&["task", "add", text]).ok();
    }
    stage.run(&["task", "done", "glaze"]).ok();
    stage.run(&["task", "done", " FIRE the   kiln"]).ok();
    let open = stage.json(&["task", "list"]);
    let open: Vec<&str> =
        open["tasks"].as_array().expect("tasks").iter().filter_map(|one| one["text"].as_str()).collect();
    assert_eq!(open, ["glaze the cup"]);
}

#[test]
fn each_task_of_a_list_has_a_name_that_ends_it() {
    let stage = Stage::new();
    let long = "glaze the cup ".repeat(20);
    let todos = serde_json::json!({ "todos": [
        { "content": format!("{long} A"), "status": "pending" },
        { "content": format!("{long} B"), "status": "pending" },
        { "content": "sweep", "status": "pending" },
    ]});
    let data = serde_json::json!({ "name": "TodoWrite", "call_id": "c", "arguments": todos }).to_string();
    stage.run(&["events", "append", "tool_event", "--data", &data]).ok();
    let open = stage.json(&["task"]);
    let tasks = open["tasks"].as_array().expect("tasks");
    assert_eq!(tasks.len(), 3, "{open}");
    let name = tasks.iter().find(|one| one["text"].as_str().is_some_and(|text| text.starts_with("glaze")));
    let name = name.and_then(|one| one["name"].as_str()).expect("a name");
    stage.run(&["task", "--done", name]).ok();
    let left = stage.json(&["task"]);
    let left = left["tasks"].as_array().expect("tasks");
    assert_eq!(left.len(), 2, "one of the two long ones: {left:?}");
    assert!(left.iter().all(|one| one["name"] != name), "{left:?}");
}

#[test]
fn forgetting_events_of_a_session_that_has_none_says_where_to_look() {
    let stage = Stage::new();
    stage.run(&["decide", "Use ink"]).ok();
    let unknown = stage.run(&["events", "forget", "nobody"]).code(3);
    assert!(unknown.stderr.contains("`stemma events query --topic SESSION_STARTED`"), "{}", unknown.stderr);
    assert!(!unknown.stderr.contains("stemma list"), "{}", unknown.stderr);
    let known = stage.json(&["events", "query", "--topic", "SESSION_STARTED"]);
    assert_eq!(known["events"][0]["session_id"], "stemma", "the hint leads to sessions");
    stage.run(&["events", "forget", "--event", "99"]).code(3).complains(&["`stemma events query`"]);
    let mut story = Story::new(SESSION, "/home/ann/shop");
    story.user("Look.").assistant("Done.");
    stage.import(&stage.home.write("a.jsonl", story.text().as_bytes()));
    for everywhere in [&["events", "forget", SESSION][..], &["events", "forget", SESSION, "--everywhere"]] {
        let captured = stage.run(everywhere).code(3);
        captured.complains(&[
            "captured transcript",
            &format!("`stemma forget {SESSION}`"),
            "SESSION_STARTED",
        ]);
    }
}

/// A store with ledgers in files, each with a secret before and after its middle, of which the first is damaged there.
fn damaged_beside_sound(stage: &Stage) {
    stage.run(&["config", "set", "ledger.engine", "files"]).ok();
    for ledger in ["a", "b"] {
        for text in ["ACME-771234", "middle", "ACME-771235"] {
            stage.run(&["events", "append", "note", text, "--ledger", ledger]).ok();
        }
    }
    let path = stage.home.stemmata_home().join("contexts-v2/a/events.ndjson");
    let text = std::fs::read_to_string(&path).unwrap();
    overwrite(&path, &text.replacen("\"middle\"", "\"m1ddle\"", 1));
}

#[test]
fn a_scan_goes_on_behind_a_damaged_ledger_and_says_what_it_could_not_read() {
    let stage = Stage::new();
    damaged_beside_sound(&stage);
    let unsure = stage.run(&["scan"]).code(10);
    assert!(unsure.text().contains("Incomplete") && !unsure.text().contains("Clean"), "{}", unsure.text());
    unsure.complains(&[
        "ledger a was not scanned to its end",
        "line 3 at byte",
        "`stemma restore --ledger 'a'`",
    ]);
    let unsure = stage.run(&["scrub", "--all", "--dry-run"]).code(10);
    assert!(!unsure.text().contains("Clean"), "{}", unsure.text());
    unsure.complains(&["ledger a was not scrubbed to its end", "`stemma restore --ledger 'a'`"]);
    let rules = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";
    overwrite(&stage.home.stemmata_home().join("secrets.toml"), rules);
    let scan = stage.run(&["scan", "--json"]).code(11);
    let found = scan.json();
    let places: Vec<String> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{}#{}", one["ledger"].as_str().unwrap(), one["event"].as_str().unwrap()))
        .collect();
    assert_eq!(places, ["a#2", "b#2", "b#4"]);
    assert_eq!((&found["complete"], &found["unread"][0]["ledger"]), (&false.into(), &"a".into()), "{found}");
    assert_eq!(scan.stderr.matches("line 3 at byte").count(), 1, "once: {}", scan.stderr);
    // It goes on within the damaged ledger, too.
    let rest = stage.run(&["scan", "--after", "a#2", "--json"]).code(11).json();
    assert_eq!((rest["findings"].as_array().unwrap().len(), &rest["complete"]), (2, &false.into()));
    // What can be scrubbed is, and the rest is said.
    let done = stage.run(&["scrub", "--all", "--yes", "--json"]).code(10).json();
    assert_eq!(done["unread"][0]["ledger"], "a", "{done}");
    let left = stage.run(&["scan", "--json"]).code(11).json();
    assert_eq!(
        (left["findings"].as_array().unwrap().len(), &left["findings"][0]["ledger"]),
        (1, &"a".into())
    );
    stage.run(&["restore", "--ledger", "a", "--repair"]).ok();
    stage.run(&["scrub", "--all", "--yes"]).ok();
    let clean = stage.run(&["scan", "--json"]).ok().json();
    assert_eq!((&clean["complete"], &clean["unread"]), (&true.into(), &serde_json::json!([])));
}

#[test]
fn only_a_folder_of_sessions_can_be_adopted() {
    let stage = Stage::new();
    stage.run(&["decide", "Use spaces"]).ok();
    let above = stage.home.path().to_string_lossy().into_owned();
    let home = stage.home.path().join("home").to_string_lossy().into_owned();
    for folder in ["/", "C:\\", "../nowhere", "shop/../..", ""] {
        stage.run(&["ledger", "adopt", folder, "--yes"]).code(5);
    }
    let link = stage.home.path().join("link").to_string_lossy().into_owned();
    std::os::unix::fs::symlink(&home, &link).unwrap();
    for folder in [
        "..",
        &link,
        "/mnt/c/Users/bob",
        "/var/home/bob",
        "/export/home",
        &home,
        &above,
        &format!("{home}//"),
        "/home",
        "/Users/",
        "/home/bob",
        "C:\\Users\\bob",
        "/root",
    ] {
        stage.run(&["ledger", "adopt", folder]).code(5).complains(&["home directory", "--yes"]);
    }
    stage.run(&["ledger", "adopt", "/home/bob", "--yes"]).ok();
    for folder in ["/Users/ann/shop", "C:\\work\\shop", "."] {
        stage.run(&["ledger", "adopt", folder]).ok();
    }
}

#[test]
fn an_append_says_why_it_is_refused() {
    let stage = Stage::new();
    assert_eq!(stage.run(&["events", "query", "--ledger", "nobody"]).code(3).text(), "");
    assert_eq!(stage.run(&["events", "tail"]).code(3).text(), "", "no ledger is made by looking");
    for (args, input) in [
        (vec!["events", "append"], ""),
        (vec!["events", "append", "t", "--data", "{"], ""),
        (vec!["events", "append", "--lines"], ""),
        (vec!["events", "append", "--lines"], "{\"text\":\"no topic\"}\n"),
        (vec!["events", "append", "--lines"], "{\"topic\":\"t\",\"colour\":1}\n"),
        (vec!["events", "append", "--lines"], "[1]\n"),
    ] {
        let said = stage.feed(&args, input.as_bytes()).code(2);
        assert!(!said.stderr.is_empty(), "{args:?}");
    }
    stage.run(&["events", "append", "t", "x", "--expect", "7"]).code(1);
}

#[test]
fn a_cursor_goes_on_where_it_stopped() {
    let stage = Stage::new();
    for text in ["one", "two", "three"] {
        stage.run(&["events", "append", "t", text]).ok();
    }
    let follow = |count: &str| {
        let said = stage
            .run(&["events", "follow", "--topic", "t", "--cursor", "bot", "--count", count, "--json"])
            .ok()
            .text();
        let texts = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].to_string());
        texts.collect::<Vec<_>>()
    };
    assert_eq!(follow("2"), ["\"one\"", "\"two\""]);
    assert_eq!(follow("1"), ["\"three\""]);
}

#[test]
fn the_memory_of_a_project_holds_the_sessions_of_its_clients() {
    let stage = Stage::new();
    stage.home.write_session(&ClaudeSession::new(3).turns(3).build());
    let imported = stage.json(&["import"]);
    let entries = imported["sessions"][0]["entries"].as_u64().unwrap();
    let cwd = stage.json(&["list"])["sessions"][0]["cwd"].as_str().unwrap().to_owned();
    stage.run(&["state"]).code(3).complains(&["no ledger"]);
    stage.run(&["decide", "We keep the old parser"]).ok();
    assert_eq!(stage.json(&["state"])["transcripts"], 0, "the sessions are of another folder");
    stage.run(&["ledger", "adopt", &cwd]).ok();
    let recalls = || stage.json(&["recall", "parser", "turn"])["items"].to_string();
    let (known, recalled) = (stage.json(&["state"]), recalls());
    // The project was moved: `@` is its newest session, wherever that worked.
    assert_eq!(stage.json(&["show", "@", "--meta"])["id"], imported["sessions"][0]["tip"]);
    assert!(imported["sessions"][0]["tip"].is_string(), "{imported}");
    stage.run(&["guard", "--last"]).ok();
    assert_eq!(
        (&known["transcripts"], stage.run(&["ledger", "adopt", "--list"]).ok().text()),
        (&1.into(), format!("{cwd}\n"))
    );
    // What was adopted by mistake is out of every view again.
    stage.run(&["ledger", "adopt", "--remove", &format!("{cwd}/")]).ok();
    assert_eq!(stage.json(&["state"])["transcripts"], 0);
    assert_ne!(recalls(), recalled);
    assert_eq!(stage.run(&["ledger", "adopt", "--list"]).ok().text(), "");
    stage.run(&["ledger", "adopt", "--remove", &cwd]).code(3).complains(&["--list"]);
    stage.run(&["ledger", "adopt", &cwd]).ok();
    let after = stage.json(&["state"]);
    assert_eq!(after["transcripts"], 1);
    assert!(!after["memory"]["window"].as_array().unwrap().is_empty(), "{after}");
    // Reading again reads only the turn that is still open, and says the same.
    assert_eq!(stage.json(&["state"])["memory"], after["memory"]);
    let replayed = stage.json(&["replay", "--check"]);
    let transcripts = &replayed["transcripts"];
    assert_eq!((&transcripts["sessions"], &transcripts["different"]), (&1.into(), &serde_json::json!([])));
    let restored = stage.json(&["restore"]);
    assert_eq!(restored["transcripts"], 1);
    assert!(restored["read"].as_u64().unwrap() < entries, "{restored}");
}

#[test]
fn what_was_said_can_be_forgotten_wherever_ledgers_are() {
    for engine in ["store", "files"] {
        let stage = Stage::new();
        stage.run(&["config", "set", "ledger.engine", engine]).ok();
        stage.run(&["decide", "The password is grapefruit"]).ok();
        stage.run(&["state"]).ok();
        assert_eq!(
            stage.json(&["events", "forget", "stemma", "--dry-run"])["events"],
            2,
            "{engine}: the opening too"
        );
        assert!(stage.run(&["state"]).ok().text().contains("grapefruit"), "{engine}: nothing was done yet");
        stage.run(&["events", "forget", "stemma", "--yes"]).ok();
        assert!(!stage.run(&["state"]).ok().text().contains("grapefruit"), "{engine}");
        let shown = stage.json(&["events", "query"]);
        assert_eq!(
            (numbers(&shown), &shown["events"][1]["payload"]),
            (vec!["1", "2"], &"forgotten".into()),
            "{engine}"
        );
        stage.run(&["events", "forget", "stemma", "--yes"]).code(3);
    }
}

#[test]
fn forgetting_leaves_what_other_ledgers_and_events_say() {
    let stage = Stage::new();
    for (ledger, text) in [("one", "grapefruit"), ("one", "plum"), ("two", "quince")] {
        stage.run(&["events", "append", "note", text, "--ledger", ledger]).ok();
    }
    let texts = |ledger: &str| {
        let shown = stage.json(&["events", "query", "--ledger", ledger, "--topic", "note"]);
        let events = shown["events"].as_array().expect("events").clone();
        events.iter().map(|event| event["text"].as_str().unwrap_or("-").to_owned()).collect::<Vec<_>>()
    };
    stage.run(&["events", "forget", "--event", "2", "--ledger", "one", "--yes"]).ok();
    assert_eq!((texts("one"), texts("two")), (vec!["-".into(), "plum".into()], vec!["quince".into()]));
    stage.run(&["events", "forget", "--event", "2", "--ledger", "one", "--yes"]).code(3);
    let would = stage.json(&["events", "forget", "stemma", "--ledger", "one", "--dry-run"]);
    assert_eq!(would["ledgers"], serde_json::json!([{ "ledger": "one", "events": 2 }]));
    stage.run(&["events", "forget", "stemma", "--ledger", "one", "--yes"]).ok();
    assert_eq!((texts("one"), texts("two")), (vec!["-".into(), "-".into()], vec!["quince".to_owned()]));
    stage.run(&["events", "append", "note", "pear", "--ledger", "one"]).ok();
    stage.run(&["events", "forget", "stemma", "--everywhere", "--yes"]).ok();
    assert_eq!((texts("one"), texts("two")), (vec!["-".into(); 3], vec!["-".to_owned()]));
}

#[test]
fn a_cluster_travels_as_one_file() {
    let stage = Stage::new();
    for (topic, text) in [("ISSUE_OPENED", "one"), ("PLAN_READY", "two")] {
        stage.run(&["events", "append", topic, text, "--ledger", "c1", "--session", "c1"]).ok();
    }
    let before = stage.json(&["events", "query", "--ledger", "c1"]);
    let file = stage.home.path().join("c1.db");
    let file = file.to_str().unwrap();
    let exported = stage.json(&["ledger", "export", "--ledger", "c1", "--out", file]);
    assert_eq!(exported["events"].to_string(), before["events"].as_array().unwrap().len().to_string());
    stage.run(&["ledger", "export", "--ledger", "c1", "--out", file]).code(5);
    stage.run(&["ledger", "import", file, "--into", "c2"]).ok();
    let after = stage.json(&["events", "query", "--ledger", "c2"]);
    let texts = |shown: &Value| -> Vec<String> {
        shown["events"].as_array().unwrap().iter().map(|event| event["text"].to_string()).collect()
    };
    assert_eq!(texts(&after), texts(&before));
}

#[test]
fn ledgers_in_files_are_restored_and_repaired() {
    let stage = Stage::new();
    stage.run(&["config", "set", "ledger.engine", "files"]).ok();
    for text in ["one", "two", "three"] {
        stage.run(&["decide", text]).ok();
    }
    let ledger = stage.json(&["ledger", "list"])["ledgers"][0]["id"].as_str().unwrap().to_owned();
    let path = stage.home.stemmata_home().join("contexts-v2").join(&ledger).join("events.ndjson");
    let text = std::fs::read_to_string(&path).unwrap();
    // A torn end is dropped, and that is said.
    overwrite(&path, &text[..text.len() - 10]);
    let torn = stage.run(&["restore"]).ok();
    assert!(torn.stderr.contains("was not written to its end"), "{}", torn.stderr);
    assert!(torn.text().contains("3 events, in files"), "{}", torn.text());
    // A bad line in the middle stops, names its place, and is set aside on demand.
    let text = std::fs::read_to_string(&path).unwrap();
    overwrite(&path, &text.replacen("\"one\"", "\"0ne\"", 1));
    let stopped = stage.run(&["restore"]).code(6);
    assert!(stopped.stderr.contains("line 2 at byte"), "{}", stopped.stderr);
    stage.run(&["state"]).code(6);
    let repaired = stage.run(&["restore", "--repair"]).ok();
    assert!(repaired.text().contains("1 damaged line set aside, 1 event lost"), "{}", repaired.text());
    let told = stage.run(&["state"]).ok();
    assert!(!told.stderr.contains("opened session"), "a repair speaks for itself: {}", told.stderr);
    let told = told.text();
    assert!(told.contains("two") && !told.contains("0ne"), "{told}");
}

#[test]
fn what_a_command_meets_in_ledgers_is_told_and_stops_no_other_ledger() {
    let stage = Stage::new();
    stage.run(&["config", "set", "ledger.engine", "files"]).ok();
    for (ledger, text) in [("a", "one"), ("a", "two"), ("b", "three")] {
        stage.run(&["events", "append", "note", text, "--ledger", ledger]).ok();
    }
    let path =
        |ledger: &str| stage.home.stemmata_home().join("contexts-v2").join(ledger).join("events.ndjson");
    // A write that did not finish: whoever goes on says so.
    let text = std::fs::read_to_string(path("b")).unwrap();
    overwrite(&path("b"), &text[..text.len() - 10]);
    let appended = stage.run(&["events", "append", "note", "four", "--ledger", "b"]).ok();
    assert!(appended.stderr.contains("was not written to its end"), "{}", appended.stderr);
    // A damaged ledger is listed, and stops nobody who works with another one.
    let text = std::fs::read_to_string(path("a")).unwrap();
    overwrite(&path("a"), &text.replacen("\"one\"", "\"0ne\"", 1));
    stage.run(&["events", "tail", "--ledger", "a"]).code(6);
    let listed = stage.run(&["ledger", "list"]).ok();
    assert!(listed.stderr.contains("line 2 at byte") && listed.text().contains('b'), "{}", listed.stderr);
    stage.run(&["decide", "Go on"]).ok();
    let told = stage.run(&["state"]).ok();
    assert!(told.text().contains("Go on") && told.stderr.contains("line 2 at byte"), "{}", told.stderr);
    stage.run(&["restore", "--ledger", "a", "--repair"]).ok();
    assert_eq!(stage.run(&["ledger", "list"]).ok().stderr, "");
}

#[test]
fn a_checkpoint_saves_the_state_of_the_project_it_is_made_in() {
    let stage = Stage::new();
    stage.run(&["decide", "Retries stop after five attempts"]).ok();
    let saved =
        |stage: &Stage| stage.json(&["replay", "--check"])["reducers"][0]["saved_through"].to_string();
    assert_eq!(saved(&stage), "\"0\"", "one decision is no reason to save");
    let line = b"{\"v\":\"stemmata-v1\",\"id\":\"a\",\"role\":\"user\",\"parts\":[]}\n";
    let args = ["checkpoint", "--format", "stemmata-v1", "--template", "worker/main", "--session", "s"];
    stage.feed(&args, line).ok();
    assert_eq!(saved(&stage), "\"2\"");
    // So does a number of events that somebody chose.
    stage.run(&["config", "set", "ledger.save_events", "1"]).ok();
    stage.run(&["decide", "The queue is called `jobs`"]).ok();
    stage.run(&["state"]).ok();
    assert_ne!(saved(&stage), "\"2\"");
}

#[test]
fn files_of_version_1_are_named_wherever_ledgers_are() {
    for engine in ["store", "files"] {
        let stage = Stage::new();
        stage.run(&["config", "set", "ledger.engine", engine]).ok();
        stage.run(&["decide", "one"]).ok();
        let folder = stage.home.stemmata_home().join("contexts");
        std::fs::create_dir_all(&folder).unwrap();
        overwrite(&folder.join("context-7.json"), "{}");
        let said = stage.run(&["restore"]).ok().stderr;
        assert!(said.contains("context-7.json is of version 1"), "{engine}: {said}");
    }
}

#[test]
fn each_of_several_decisions_of_one_prompt_has_a_short_name_that_replaces_it_alone() {
    let stage = Stage::new();
    let here = stage.home.project();
    let mut story = crate::story::Story::new(crate::story::SESSION, here.to_str().unwrap());
    story.user("Let's use the gas kiln. Never fire at night.").assistant("So be it.");
    stage.import(&stage.home.write("a.jsonl", story.text().as_bytes()));
    stage.run(&["decision", "add", "Use cones"]).ok();
    let names = || {
        let listed = stage.json(&["decision", "list"]);
        let all = listed["decisions"].as_array().unwrap().iter();
        all.map(|one| (one["text"].as_str().unwrap().to_owned(), one["name"].as_str().unwrap().to_owned()))
            .collect::<std::collections::BTreeMap<_, _>>()
    };
    let before = names();
    let found: Vec<&String> = before.values().filter(|name| name.starts_with('d')).collect();
    assert!(found.len() == 2 && found[0] != found[1] && found[0].len() == 7, "{before:?}");
    stage.run(&["decision", "add", "Use the wood kiln", "--supersedes", found[0]]).ok();
    let after = names();
    assert!(
        after.contains_key("Use the wood kiln") && !after.values().any(|name| name == found[0]),
        "{after:?}"
    );
    assert!(after.values().any(|name| name == found[1]), "{after:?}");
}
