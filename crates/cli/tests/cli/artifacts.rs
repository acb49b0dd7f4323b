//! Large outputs of tools as a person and a script meet them: a notice, an artifact in ranges, a file, and nothing after a forget.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::stage::Stage;

/// Ends a turn in which a tool printed this, and returns what is stored of it.
fn printed(stage: &Stage, output: &str) -> String {
    let of = json!({"ledger": "c1", "session": "s1", "agent": "worker", "template": "fixer"});
    let begin = json!({"turn": of, "said": {"id": "u1", "role": "user", "text": "go"}});
    stage.feed(&["turn", "begin"], begin.to_string().as_bytes()).ok();
    let entries = json!([
        {"id": "a1", "role": "assistant", "calls": [{"id": "c1", "name": "bash", "input": {"command": "make"}}]},
        {"id": "r1", "role": "tool", "results": [{"id": "c1", "text": output}]},
    ]);
    let end = json!({"turn": of, "entries": entries});
    let ended = stage.feed(&["turn", "end"], end.to_string().as_bytes()).ok().json();
    assert_eq!(ended["notes"], json!([]), "{ended}");
    let tip = ended["ctx"].as_str().unwrap();
    let native = stage.run(&["native", tip, "--out", "-"]).ok().text();
    let last: Value = serde_json::from_str(native.lines().last().unwrap()).unwrap();
    last["parts"][0]["parts"][0]["text"].as_str().unwrap().to_owned()
}

fn after<'t>(text: &'t str, mark: &str) -> &'t str {
    text.lines().find_map(|line| line.strip_prefix(mark)).unwrap_or_else(|| panic!("{mark}: {text}"))
}

fn big() -> String {
    (1..=20_000).map(|line| format!("line {line} of é\n")).collect()
}

#[test]
fn a_large_output_is_a_notice_an_artifact_and_a_file() {
    let stage = Stage::new();
    let notice = printed(&stage, &big());
    let id = after(&notice, "Reference: ").to_owned();
    let path = PathBuf::from(after(&notice, "Saved to: "));
    assert!(path.starts_with(stage.home.path()), "{}", path.display());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), big());
    insta::assert_snapshot!("artifacts_notice", stage.tame(&notice));
    let read = |args: &[&str]| stage.run(&[&["artifact", "read", &id], args].concat());
    insta::assert_snapshot!("artifacts_read", read(&["--lines", "19999..20000"]).ok().text());
    let json = stage.json(&["artifact", "read", &id, "--lines", "2..2"]);
    insta::assert_snapshot!("artifacts_read_json", serde_json::to_string_pretty(&json).unwrap());
    assert_eq!(read(&[]).ok().text(), big(), "all of it where it fits one answer");
    assert_eq!(read(&["--bytes", "0..4"]).ok().text(), "line");
    assert_eq!(read(&["--chars", "10..11"]).ok().text(), "é");
    for (args, code, reason) in [
        (&["--lines", "30000.."][..], 1, "first line of a range of an artifact is 30000, more than 20001"),
        (&["--lines", "0..3"], 2, "lines count from 1"),
        (&["--bytes", "9..3"], 2, "it ends at 3, before it begins at 9"),
        (&["--bytes", "x"], 2, "a range is two numbers"),
        (&["--bytes", "1..2", "--lines", "1..2"], 2, "cannot be used with"),
    ] {
        read(args).code(code).complains(&[reason]);
    }
    stage.run(&["artifact", "read", "art-zz"]).code(1);
    let absent = format!("art-{}", "0".repeat(64));
    stage.run(&["artifact", "read", &absent]).code(3).complains(&["not in the store"]);
    stage.run(&["forget", "s1", "--yes"]).ok();
    assert!(!Path::new(&path).exists());
    read(&[]).code(3).complains(&["forgotten"]);
}

#[test]
fn a_fork_that_keeps_a_turn_of_a_forgotten_session_is_told_that_its_output_goes() {
    let stage = Stage::new();
    printed(&stage, &big());
    let tip = stage.json(&["tips"])["commits"][0]["id"].as_str().unwrap().to_owned();
    let of = json!({"ledger": "c1", "session": "s2", "agent": "worker", "template": "fixer"});
    let begin = json!({"turn": of, "context": {"fork": {"ctx": tip}}, "said": {"id": "u2", "role": "user", "text": "on"}});
    stage.feed(&["turn", "begin"], begin.to_string().as_bytes()).ok();
    let end = json!({"turn": of, "entries": [{"id": "a2", "role": "assistant", "text": "done"}]});
    stage.feed(&["turn", "end"], end.to_string().as_bytes()).ok();
    let plan = stage.json(&["forget", "s1", "--dry-run"]);
    assert_eq!(plan["without_outputs"], 1, "{plan}");
    let shown = stage.run(&["forget", "s1", "--dry-run"]).ok().text();
    assert!(shown.contains("Without their whole outputs, which go: 1 commit"), "{shown}");
}

#[test]
fn limits_and_files_can_be_configured() {
    let stage = Stage::new();
    stage.run(&["config", "set", "tools.max_lines", "10"]).ok();
    stage.run(&["config", "set", "tools.files", "0"]).ok();
    stage.run(&["config", "set", "tools.spill_chars", "1000"]).ok();
    let notice = printed(&stage, &"four\n".repeat(300));
    assert!(notice.lines().count() <= 10 && !notice.contains("Saved to"), "{notice}");
    insta::assert_snapshot!("artifacts_explain", stage.told(&["config", "explain", "tools.max_lines"]));
    stage.run(&["config", "set", "tools.keep", "tail"]).code(2).complains(&["head_tail, head"]);
}
