//! A session that went on in another client: what it said before counts once, and a point of it is one of its own.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::stage::Stage;
use crate::story::{SESSION, Story, go_on};

const CLIENTS: [&str; 3] = ["codex", "gemini", "pi"];

/// A session with three prompts, in a store and where its client looks.
fn told() -> (Stage, PathBuf) {
    let stage = Stage::new();
    let mut story = Story::new(SESSION, "/home/ann/shop");
    for number in 1..=3 {
        story
            .user(&format!("Glaze the kiln {number} times"))
            .writes("/home/ann/shop/kiln.md", &format!("{number}\n"));
        story.assistant(&format!("It has {number} coats."));
    }
    let path = stage.home.write(&format!("home/.claude/projects/p/{SESSION}.jsonl"), story.text().as_bytes());
    stage.import(&path);
    (stage, path)
}

/// Places a copy for a client, and returns its session.
fn moved(stage: &Stage, client: &str) -> Value {
    let cwd = stage.home.project();
    stage.run(&["resume", SESSION, "--in", client, "--print", "--cwd", cwd.to_str().unwrap()]).ok();
    let all = stage.json(&["list", "--all"]);
    let of_client = |session: &&Value| session["client"] == client;
    all["sessions"].as_array().unwrap().iter().find(of_client).unwrap().clone()
}

#[test]
fn what_a_translation_repeats_is_no_prompt_no_work_and_no_file_once_more() {
    let (stage, _) = told();
    let figures = |of: &str| {
        let overview = stage.json(&["show", of])["overview"].clone();
        let fields = ["turns", "files", "active_seconds", "tokens_counted", "tests"]
            .map(|field| overview[field].clone());
        let prompts: Vec<Value> =
            fields[0].as_array().unwrap().iter().map(|turn| turn["number"].clone()).collect();
        (prompts, fields[1..].to_vec())
    };
    let wanted = figures(SESSION);
    let stats = stage.json(&["stats"])["total"].clone();
    for client in CLIENTS {
        let copy = moved(&stage, client);
        let id = copy["session_id"].as_str().unwrap();
        assert_eq!(figures(id), wanted, "{client}");
        assert_eq!(copy["prompts"], 3, "{client}");
        assert_eq!(stage.json(&["stats"])["total"], stats, "{client}");
        let turn = stage.json(&["show", &format!("{id}:3")])["turn"].clone();
        assert_eq!(turn, stage.json(&["show", &format!("{SESSION}:3")])["turn"], "{client}");
    }
}

#[test]
fn a_fork_within_a_moved_session_has_records_of_one_client() {
    for client in CLIENTS {
        let (stage, _) = told();
        let id = moved(&stage, client)["session_id"].as_str().unwrap().to_owned();
        let cwd = stage.home.project();
        let forked = stage.json(&["fork", &format!("{id}:3"), "--print", "--cwd", cwd.to_str().unwrap()]);
        let path = forked["path"].as_str().unwrap();
        let text = fs::read_to_string(path).unwrap();
        assert!(
            text.contains("Glaze the kiln 2 times") && !text.contains("Glaze the kiln 3 times"),
            "{client}: {text}"
        );
        assert_eq!(text.contains("parentUuid"), path.contains(".claude"), "{client}: {text}");
        assert_eq!(stage.json(&["undo"])["removed"][0]["session"]["path"], path, "the last copy goes first");
    }
}

#[test]
fn a_copy_of_a_compaction_is_a_copy() {
    let (stage, _) = told();
    let made = stage.json(&["compact", SESSION, "--with", "heuristic", "--ratio", "0.9"]);
    let cwd = stage.home.project();
    let id = made["id"].as_str().unwrap();
    stage.run(&["resume", id, "--print", "--cwd", cwd.to_str().unwrap()]).ok();
    assert_eq!(stage.json(&["list"])["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(stage.json(&["undo"])["removed"].as_array().unwrap().len(), 1);
    stage.run(&["undo"]).code(5).complains(&["stemma uncompact"]);
}

#[test]
fn a_session_is_forgotten_with_its_copies_or_not_at_all() {
    let (stage, _) = told();
    moved(&stage, "codex");
    stage
        .run(&["forget", SESSION, "--yes"])
        .code(5)
        .complains(&["a copy of it is placed", "forget --copies"]);
    assert_eq!(stage.json(&["list"])["sessions"].as_array().unwrap().len(), 1);
    stage.run(&["forget", "--copies", "--yes"]).ok();
    stage.run(&["forget", SESSION, "--yes"]).ok();
    assert_eq!(stage.json(&["list", "--all"])["sessions"].as_array().unwrap().len(), 0);
    assert!(stage.json(&["search", "kiln"])["hits"].as_array().unwrap().is_empty());
}

#[test]
fn words_are_the_sessions_that_said_them_first() {
    let (stage, _) = told();
    let copy = moved(&stage, "codex");
    let path = PathBuf::from(copy["path"].as_str().unwrap());
    let mut text = fs::read_to_string(&path).unwrap();
    for (role, kind, said) in
        [("user", "input_text", "And a fourth coat"), ("assistant", "output_text", "Done.")]
    {
        let payload =
            serde_json::json!({"type": "message", "role": role, "content": [{"type": kind, "text": said}]});
        let line = serde_json::json!({"timestamp": "2027-03-09T08:00:00.000Z", "type": "response_item", "payload": payload});
        text.extend([line.to_string().as_str(), "\n"]);
    }
    fs::write(&path, text).unwrap();
    stage.run(&["import"]).ok();
    let found = stage.json(&["search", "Glaze the kiln 2 times", "--literal"]);
    assert_eq!(found["hits"][0]["session_id"], SESSION, "{found}");
    let id = copy["session_id"].as_str().unwrap();
    let known = stage.json(&["list", "--all"]);
    let row =
        known["sessions"].as_array().unwrap().iter().find(|row| row["session_id"] == id).unwrap().clone();
    assert_eq!(row["prompts"], 4, "three that it was given, and its own");
}

#[test]
fn a_commit_has_prompts_and_steps_as_a_session_has() {
    let (stage, _) = told();
    let tip = stage.json(&["list"])["sessions"][0]["tip"].as_str().unwrap().to_owned();
    let short = &tip[..12];
    let turn = |of: &str| stage.json(&["show", of])["turn"].clone();
    assert_eq!(turn(&format!("{short}:2")), turn(&format!("{SESSION}:2")));
    assert_eq!(
        stage.json(&["show", &format!("{short}~1")])["id"].as_str().unwrap(),
        stage.json(&["show", &format!("{SESSION}~1")])["id"].as_str().unwrap()
    );
    stage.run(&["show", &format!("{short}:1..2")]).ok();
    stage.run(&["show", &format!("{short}:9")]).code(3).complains(&["3 prompts"]);
    for tag in ["last", "HEAD", "5e5", &tip[4..9]] {
        stage.run(&["tag", "add", SESSION, tag]).complains(&[tag]);
    }
    assert!(stage.json(&["tag", "list"])["tags"].as_array().unwrap().is_empty());
}

#[test]
fn a_transcript_that_was_cut_within_its_last_turn_means_all_that_was_read() {
    let (stage, path) = told();
    let whole = fs::read_to_string(&path).unwrap();
    let cut: Vec<&str> = whole.lines().collect();
    fs::write(&path, cut[..cut.len() - 1].join("\n") + "\n").unwrap();
    stage.run(&["import"]).ok();
    assert!(
        stage.run(&["show", SESSION]).ok().text().contains("3 coats")
            || stage.run(&["export", SESSION]).ok().text().contains("3 coats")
    );
    assert_eq!(stage.native(SESSION), whole.as_bytes());
    stage.run(&["show", SESSION]).ok().complains(&["was cut"]);
    assert_eq!(stage.json(&["list"])["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn a_session_that_goes_on_behind_a_cut_is_what_its_transcript_says() {
    let (stage, path) = told();
    let whole = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = whole.lines().take(8).collect();
    fs::write(&path, kept.join("\n") + "\n").unwrap();
    stage.run(&["import"]).ok();
    go_on(&path);
    stage.run(&["import"]).ok();
    let cwd = stage.home.project();
    let plan = stage.json(&["resume", SESSION, "--dry-run", "--print", "--cwd", cwd.to_str().unwrap()]);
    let tip = stage.json(&["show", SESSION])["id"].clone();
    assert_eq!(plan["ctx"], tip, "{plan}");
}
