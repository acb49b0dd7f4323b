//! Checkpoints as files: saved, loaded, and refused.

use std::path::Path;

use serde_json::Value;

use crate::stage::Stage;
use crate::story::{SESSION, Story};

fn write(stage: &Stage, name: &str, text: &str) {
    stage.home.write(&format!("home/project/{name}"), text.as_bytes());
}

/// A session that worked in the project, with its newest commit.
fn worked(stage: &Stage) -> String {
    let project = stage.home.project();
    let mut story = Story::new(SESSION, &project.to_string_lossy());
    story
        .user("Mend the parser")
        .tool("cat src/parser.rs src/gone.rs", "fn parse() {}\n")
        .assistant("The parser is mended.");
    let path = stage.home.write("a.jsonl", story.text().as_bytes());
    stage.import(&path)["tip"].as_str().unwrap().to_owned()
}

#[test]
fn a_checkpoint_is_saved_and_loaded() {
    let stage = Stage::new();
    write(&stage, "src/parser.rs", "fn parse() {}\n");
    write(&stage, ".git/HEAD", &format!("{}\n", "1".repeat(40)));
    let tip = worked(&stage);
    let saved = stage.json(&["checkpoint", &tip, "--out", "kept", "--window", "200000"]);
    // The session's folder is another one each time, and so are its commit and the length of the file.
    let tamed = |text: &str| stage.tame(text).replace(&tip, "[TIP]");
    let mut shown = saved.clone();
    shown["bytes"] = 1.into();
    insta::assert_snapshot!("checkpoint_files_saved", tamed(&serde_json::to_string_pretty(&shown).unwrap()));
    let path = saved["path"].as_str().unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    for field in
        ["context_snapshot", "system_state", "task_queue", "metrics", "conversation", "file_checksums"]
    {
        assert!(!file[field].is_null(), "{field}");
    }
    assert_eq!(file["file_checksums"].as_object().unwrap().len(), 2, "{file}");
    // The clock of the test stands still: the second one would have the name of the first.
    stage.run(&["checkpoint", &tip, "--out", "kept"]).code(5).complains(&["exists"]);
    assert_eq!(
        std::fs::read_dir(Path::new(path).parent().unwrap()).unwrap().count(),
        1,
        "nothing is left beside it"
    );
    insta::assert_snapshot!("checkpoint_files_loaded", tamed(&stage.told(&["checkpoint", "--load", path])));
    write(&stage, "src/parser.rs", "fn parse() -> u8 { 1 }\n");
    write(&stage, "src/gone.rs", "it is back\n");
    write(&stage, ".git/HEAD", &format!("{}\n", "2".repeat(40)));
    insta::assert_snapshot!("checkpoint_files_drift", tamed(&stage.told(&["checkpoint", "--load", path])));
    let loaded = stage.json(&["checkpoint", "--load", path]);
    assert_eq!(loaded["drift"]["changed"], serde_json::json!(["src/parser.rs"]));
    assert_eq!((&loaded["ctx"], &loaded["imported"]), (&Value::from(tip.as_str()), &Value::from(false)));
    // Somebody else, whose store knows nothing of the commit.
    let other = Stage::new();
    let loaded = other.json(&["checkpoint", "--load", path]);
    assert_eq!((&loaded["named_ctx"], &loaded["imported"]), (&Value::from(tip), &Value::from(true)));
    let ctx = loaded["ctx"].as_str().unwrap();
    assert_eq!(other.json(&["show", ctx])["tags"], serde_json::json!(["from-checkpoint-file"]));
    assert!(other.run(&["export", ctx]).ok().text().contains("The parser is mended."));
    // Whoever wrote the file wrote what it says: it counts as what came from another machine.
    assert_eq!(other.json(&["list"])["sessions"][0]["foreign_machine"], "checkpoint-file");
    assert!(other.run(&["search", "mended"]).ok().text().contains("⇄ checkpoint-file"));
    let recalled = |more: &[&str]| {
        let args = [&["recall", "mended", "parser", "--everywhere"], more].concat();
        other.json(&args)["items"].to_string()
    };
    assert_eq!(recalled(&[]), "[]");
    assert!(recalled(&["--foreign"]).contains("The parser is mended"));
    assert!(other.json(&["checkpoint", "--load", path])["ctx"] == loaded["ctx"]);
}

#[test]
fn a_file_that_is_no_checkpoint_stores_nothing() {
    let stage = Stage::new();
    for (text, reason) in [
        (String::new(), "it is empty"),
        ("{}".to_owned(), "no `stemmata_checkpoint`"),
        ("[".repeat(10 << 20), "not a checkpoint file"),
        ("{\"stemmata_checkpoint\":9}".to_owned(), "version 9"),
        ("{\"stemmata_checkpoint\":1,\"conversation\":[],\"digest\":\"\"}".to_owned(), "damaged"),
    ] {
        let path = stage.home.write("bad.json", text.as_bytes());
        stage
            .run(&["checkpoint", "--load", path.to_str().unwrap()])
            .code(1)
            .complains(&[reason, "nothing was stored"]);
    }
    stage.run(&["checkpoint", "--load", "absent.json"]).code(3);
    stage.run(&["checkpoint", "--load", "."]).code(1).complains(&["is not a file"]);
    stage.run(&["checkpoint", "--load", "a", "--out", "b"]).code(2);
    stage.run(&["checkpoint", "ctx-3f9k2m7q", "--load", "a"]).code(2).complains(&["cannot be used with"]);
    stage.run(&["checkpoint", "--session", "s"]).code(2).complains(&["--format"]);
    assert_eq!(stage.json(&["tips"])["commits"], serde_json::json!([]));
    write(&stage, "a-file", "in the way");
    let tip = worked(&stage);
    stage.run(&["checkpoint", &tip, "--out", "a-file"]).code(2).complains(&["is not a folder"]);
}

/// The repository that the command happens to run in says nothing of a session that worked elsewhere.
#[test]
fn a_session_whose_directory_is_gone_has_no_git_commit() {
    let stage = Stage::new();
    write(&stage, ".git/HEAD", &format!("{}\n", "1".repeat(40)));
    let mut story = Story::new(SESSION, "/nowhere/at/all");
    story.user("Mend the parser").assistant("The parser is mended.");
    let path = stage.home.write("a.jsonl", story.text().as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let saved = stage.json(&["checkpoint", &tip, "--out", "kept"]);
    assert_eq!(saved["git_head"], Value::Null);
    assert!(saved["notes"][0]["message"].as_str().unwrap().contains("/nowhere/at/all is gone"), "{saved}");
}

/// Feeds a call of a turn of session `s1`, and returns the newest commit.
fn turn(stage: &Stage, command: &str, rest: &str) -> String {
    let of = r#""turn":{"ledger":"c1","session":"s1","agent":"worker","template":"fixer"}"#;
    let said = stage.feed(&["turn", command], format!("{{{of},{rest}}}").as_bytes()).ok();
    said.json()["ctx"].as_str().unwrap_or_default().to_owned()
}

/// Each turn says what changed: what it does not name goes on, with a guard and without one.
#[test]
fn a_checkpoint_has_what_turns_said_of_their_work_each_where_it_was_said_last() {
    for window in ["", r#","window":{"tokens":100000}"#] {
        let stage = Stage::new();
        let work = |number: usize, facts: &str| {
            let entry =
                |role: &str| format!(r#"{{"id":"{role}{number}","role":"{role}","text":"{number}"}}"#);
            turn(&stage, "begin", &format!(r#""said":{},{facts}{window}"#, entry("user")));
            turn(&stage, "end", &format!(r#""entries":[{}]{window}"#, entry("assistant")))
        };
        let told = |ctx: &str, folder: &str| {
            let saved = stage.json(&["checkpoint", ctx, "--out", folder, "--window", "100000"]);
            assert!(saved["notes"].to_string().contains("names no directory"), "{saved}");
            let file = std::fs::read(saved["path"].as_str().unwrap()).unwrap();
            let file: Value = serde_json::from_slice(&file).unwrap();
            let text = file["task_queue"][0]["text"].clone();
            (file["system_state"]["phase"].clone(), text, file["system_state"]["tasks_completed"].clone())
        };
        let t1 = r#""task":{"id":"T1","text":"mend it"},"completed":["A","B","C"],"phase":"build""#;
        let first = work(1, t1);
        let second = work(2, r#""phase":"test""#);
        let third = work(3, r#""completed":["D"]"#);
        let fourth = work(4, r#""completed":["T1"]"#);
        assert_eq!(told(&second, "2"), ("test".into(), "mend it".into(), 3.into()), "{window}");
        assert_eq!(told(&first, "1"), ("build".into(), "mend it".into(), 3.into()), "{window}");
        assert_eq!(told(&third, "3"), ("test".into(), "mend it".into(), 4.into()), "{window}");
        // A task that is done is not open any more.
        assert_eq!(told(&fourth, "4"), ("test".into(), Value::Null, 5.into()), "{window}");
    }
}
