//! `undo` and `forget --copies`: what was placed and never continued goes out of the store and out of the clients' folders, and
//! nothing else does.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::stage::Stage;
use crate::story::{self, SESSION};

const PLACED: &[&[&str]] = &[
    &["resume", SESSION, "--in", "codex"],
    &["resume", SESSION, "--in", "gemini"],
    &["fork", SESSION, "--in", "pi"],
    &["fork", SESSION],
];

/// A session, and the files of all clients.
fn told() -> (Stage, BTreeMap<PathBuf, Vec<u8>>) {
    let stage = Stage::new();
    let path = format!("home/.claude/projects/-home-ann-shop/{SESSION}.jsonl");
    let mut story = story::retry("/home/ann/shop");
    for number in 0..8 {
        story.user(&format!("glaze {number}")).assistant(&format!("the kiln is at {number}. ").repeat(80));
    }
    let path = stage.home.write(&path, story.text().as_bytes());
    stage.import(&path);
    let files = files(&stage);
    (stage, files)
}

fn place(stage: &Stage, command: &[&str]) {
    let cwd = stage.home.project();
    stage.run(&[command, &["--cwd", cwd.to_str().unwrap(), "--print"]].concat()).ok();
}

fn files(stage: &Stage) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = [".claude", ".codex", ".gemini", ".pi"].into_iter().flat_map(|client| stage.files_of(client));
    paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn commits(stage: &Stage) -> usize {
    stage.json(&["tree", SESSION, "--copies"])["nodes"].as_array().unwrap().len()
}

#[test]
fn undo_takes_back_one_placed_copy_after_the_other_and_then_nothing() {
    let (stage, before) = told();
    let whole = commits(&stage);
    for command in PLACED {
        place(&stage, command);
    }
    for left in (0..PLACED.len()).rev() {
        let plan = stage.json(&["undo", "--dry-run"]);
        assert_eq!(stage.json(&["undo"])["removed"], plan["removed"]);
        assert_eq!(files(&stage).len(), before.len() + left);
    }
    assert_eq!(files(&stage), before);
    // No folder is left that was made for a copy.
    for (folder, left) in [(".codex/sessions", 0), (".claude/projects", 1), (".pi/agent/sessions", 0)] {
        let folder = stage.home.path().join("home").join(folder);
        assert_eq!(fs::read_dir(&folder).expect("the client's own").count(), left, "{}", folder.display());
    }
    assert_eq!(
        (commits(&stage), stage.json(&["list", "--all"])["sessions"].as_array().unwrap().len()),
        (whole, 1)
    );
    stage.run(&["undo"]).code(5).complains(&["nobody went on with"]);
    // What was taken back can be placed again.
    place(&stage, PLACED[0]);
    assert_eq!(files(&stage).len(), before.len() + 1);
}

#[test]
fn a_copy_that_somebody_went_on_with_stays_whatever_is_asked() {
    let (stage, before) = told();
    place(&stage, PLACED[1]);
    place(&stage, PLACED[3]);
    let placed = files(&stage);
    let copy = placed
        .keys()
        .find(|path| !before.contains_key(*path) && path.to_string_lossy().contains(".claude"))
        .unwrap();
    let mut text = fs::read_to_string(copy).unwrap();
    let last = text.lines().last().unwrap().to_owned();
    text.extend([last.as_str(), "\n"]);
    fs::write(copy, &text).unwrap();
    stage.run(&["undo"]).code(5).complains(&["not as it was placed"]);
    let plan = stage.json(&["forget", "--copies", "--dry-run"]);
    assert_eq!((plan["removed"].as_array().unwrap().len(), plan["kept"].as_array().unwrap().len()), (1, 1));
    stage.run(&["forget", "--copies"]).code(2);
    let done = stage.json(&["forget", "--copies", "--yes"]);
    assert_eq!((&done["removed"], &done["kept"]), (&plan["removed"], &plan["kept"]));
    assert_eq!(fs::read_to_string(copy).unwrap(), text);
    assert_eq!(files(&stage).len(), before.len() + 1);
}

#[test]
fn after_a_compaction_undo_names_what_leads_back() {
    let (stage, before) = told();
    place(&stage, PLACED[0]);
    let made = stage.json(&["compact", SESSION, "--with", "heuristic"]);
    stage.run(&["undo"]).code(5).complains(&["stemma uncompact", made["id"].as_str().unwrap()]);
    assert_eq!(files(&stage).len(), before.len() + 1);
}

#[test]
fn a_copy_whose_file_its_user_deleted_goes_from_the_store() {
    let (stage, before) = told();
    place(&stage, PLACED[0]);
    let copy = files(&stage).into_keys().find(|path| !before.contains_key(path)).unwrap();
    fs::remove_file(copy).unwrap();
    assert_eq!(stage.json(&["undo"])["removed"].as_array().unwrap().len(), 1);
    assert_eq!(stage.json(&["list", "--all"])["sessions"].as_array().unwrap().len(), 1);
}

/// On a machine that has the clients' folders, and not the store, copies are copies all the same: those of one client by the ids of
/// their records, conversions by how they were made.
#[test]
fn copies_are_known_where_the_store_that_placed_them_is_not() {
    let (stage, before) = told();
    for command in PLACED {
        place(&stage, command);
    }
    let listed = stage.run(&["list"]).ok().stdout;
    let placed = files(&stage);
    fs::remove_dir_all(stage.home.stemmata_home()).unwrap();
    stage.run(&["import"]).ok();
    assert_eq!(
        String::from_utf8(stage.run(&["list"]).ok().stdout).unwrap(),
        String::from_utf8(listed).unwrap()
    );
    assert_eq!(files(&stage), placed, "reading changes nothing");
    let totals = stage.json(&["status"])["sessions"].clone();
    assert_eq!((&totals["listed"], &totals["copies"]), (&1.into(), &4.into()), "{totals}");
    stage.run(&["verify"]).ok();
    // One that somebody went on with is a session, with what came behind the copy as its own.
    let codex = placed.keys().find(|path| path.to_string_lossy().contains("rollout-")).unwrap();
    let mut text = fs::read_to_string(codex).unwrap();
    text.push_str(concat!(
        r#"{"timestamp":"2026-11-30T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","#,
        r#""content":[{"type":"input_text","text":"is the glaze dry?"}]}}"#,
        "\n"
    ));
    fs::write(codex, &text).unwrap();
    stage.run(&["import"]).ok();
    let totals = stage.json(&["status"])["sessions"].clone();
    assert_eq!((&totals["listed"], &totals["copies"]), (&2.into(), &3.into()), "{totals}");
    let hits = stage.json(&["search", "kiln", "--literal"])["hits"].as_array().unwrap().clone();
    assert!(hits.iter().all(|hit| hit["client"] == "claude-code"), "said once: {hits:?}");
    // A file that is not what its mark says is a session like any other.
    let first = text.find("\"stemmata\":{").unwrap();
    let forged = text.replace("kiln is at 3", "kiln is at 9");
    assert!(first < text.find('\n').unwrap() && forged != text);
    fs::write(codex, forged).unwrap();
    fs::remove_dir_all(stage.home.stemmata_home()).unwrap();
    stage.run(&["import"]).ok();
    let totals = stage.json(&["status"])["sessions"].clone();
    assert_eq!(totals["listed"], 2, "{totals}");
    assert!(before.len() < placed.len());
}

/// Found by a newcomer: the first copy took the translation along that the second one had been placed from.
#[test]
fn two_copies_of_one_conversion_go_one_after_the_other() {
    let (stage, before) = told();
    for _ in 0..3 {
        place(&stage, PLACED[0]);
    }
    assert_eq!(stage.json(&["forget", "--copies", "--dry-run"])["removed"].as_array().unwrap().len(), 3);
    stage.run(&["undo"]).ok();
    assert_eq!(stage.json(&["forget", "--copies", "--yes"])["removed"].as_array().unwrap().len(), 2);
    assert_eq!(files(&stage), before);
    stage.run(&["import"]).ok();
    assert_eq!(stage.json(&["list", "--all"])["sessions"].as_array().unwrap().len(), 1);
}

/// Found by a check: once it was read, a copy counted as placed when its conversation began, and another one went.
#[test]
fn the_copy_that_was_placed_last_is_the_last_one_also_where_it_was_read_since() {
    let (stage, _) = told();
    place(&stage, PLACED[0]);
    place(&stage, PLACED[1]);
    let last = stage.json(&["undo", "--dry-run"])["removed"][0]["session"]["path"].clone();
    stage.run(&["import", "--full"]).ok();
    assert_eq!(stage.json(&["undo", "--dry-run"])["removed"][0]["session"]["path"], last);
}
