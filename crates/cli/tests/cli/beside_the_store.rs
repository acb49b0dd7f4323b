//! `pointer`, `jobs` and `audit`: what is kept beside the store, and stays as it is whatever becomes of the store.

use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::story::{self, SESSION};

fn told() -> Stage {
    let stage = Stage::new();
    let path = format!("home/.claude/projects/-home-ann-shop/{SESSION}.jsonl");
    let path = stage.home.write(&path, story::retry("/home/ann/shop").text().as_bytes());
    stage.import(&path);
    stage
}

#[test]
fn a_pointer_is_set_moved_shown_and_deleted() {
    let stage = Stage::new();
    let session = ClaudeSession::new(1).turns(4).build();
    let text = session.lines.join("\n") + "\n";
    stage.import(&stage.home.write(&format!("{}.jsonl", session.session_id), text.as_bytes()));
    let tip = stage.json(&["list"])["sessions"][0]["tip"].as_str().unwrap().to_owned();
    stage.run(&["pointer"]).ok().complains(&["No pointers", "`stemma pointer set NAME REF`"]);
    let set = stage.json(&["pointer", "set", "agents/reviewer", &session.session_id, "--new"]);
    assert_eq!((set["pointer"]["ctx"].as_str(), set["previous"].as_str()), (Some(&*tip), None), "{set}");
    let shown = stage.run(&["pointer", "show", "agents/reviewer"]).ok().text();
    assert_eq!(shown, format!("{tip}\n"));
    let before = stage.json(&["show", &format!("{tip}~1"), "--meta"])["id"].as_str().unwrap().to_owned();
    stage.run(&["pointer", "set", "agents/reviewer", &before, "--new"]).code(1).complains(&[
        "points to",
        &tip,
        "hint: read it again",
    ]);
    stage.run(&["pointer", "set", "agents/reviewer", &before, "--expect", &tip]).ok();
    let list = stage.run(&["pointer", "list", "agents/"]).ok().text();
    assert!(list.starts_with("agents/reviewer  ctx-") && list.lines().count() == 1, "{list}");
    assert!(stage.run(&["pointer", "list", "other/"]).ok().text().is_empty());
    stage
        .run(&["pointer", "show", "other"])
        .code(3)
        .complains(&["no pointer `other`", "`stemma pointer list`"]);
    stage.run(&["pointer", "set", "a//b", &tip]).code(2).complains(&["cannot name a pointer"]);
    stage.run(&["pointer", "delete", "agents/reviewer"]).ok().complains(&["Deleted `agents/reviewer`"]);
    stage.run(&["pointer", "delete", "agents/reviewer"]).ok().complains(&["There is no pointer"]);
}

#[test]
fn a_backup_does_not_hold_what_is_beside_the_store_and_a_restore_leaves_it() {
    let stage = told();
    let backup = stage.home.path().join("backup");
    stage.run(&["pointer", "set", "main", SESSION]).ok();
    stage.run(&["backup", backup.to_str().unwrap()]).ok();
    let names = std::fs::read_dir(&backup).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    assert!(names.contains(&"stemmata.db".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("service") || name == "state"), "{names:?}");
    stage.run(&["pointer", "set", "later", SESSION]).ok();
    stage.run(&["forget", SESSION, "--yes"]).ok();
    stage.run(&["pointer", "show", "main"]).ok().complains(&["is no longer in the store"]);
    let before = stage.json(&["audit"]);
    assert_eq!(before["entries"].as_array().map(Vec::len), Some(2), "{before}");

    stage.run(&["restore", backup.to_str().unwrap(), "--yes"]).ok();
    assert_eq!(stage.json(&["audit"]), before);
    let names = stage.json(&["pointer", "list"]);
    assert_eq!(names["pointers"].as_array().map(Vec::len), Some(2), "{names}");
    let shown = stage.run(&["pointer", "show", "main"]).ok();
    assert!(shown.stderr.is_empty(), "its commit is there again: {}", shown.stderr);
    let text = stage.run(&["audit"]).ok().text();
    assert!(text.contains("maintain.apply_forget") && text.contains("session with ctx-"), "{text}");
    assert!(!text.contains(SESSION), "names of what is forgotten are forgotten too: {text}");
    assert_eq!(stage.run(&["audit", "--by", "nobody"]).ok().text(), "");
    stage.run(&["jobs"]).ok().complains(&["No jobs"]);
}
