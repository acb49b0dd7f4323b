//! What newcomers typed into `search`: filters without words, ends of time, going on from a hit, and text that is no litter.

use crate::stage::Stage;
use crate::story::{self, SESSION, Story};

/// A stage with one session, which is about retries.
fn told() -> Stage {
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", story::retry("/home/ann/shop").text().as_bytes());
    stage.import(&path);
    stage
}

fn entries(found: &serde_json::Value) -> Vec<&str> {
    found["hits"].as_array().unwrap().iter().map(|hit| hit["entry"].as_str().unwrap()).collect()
}

#[test]
fn a_filter_alone_lists_the_newest_that_pass() {
    let stage = told();
    let found = stage.json(&["search", "--kind", "prompt"]);
    let times: Vec<&str> =
        found["hits"].as_array().unwrap().iter().map(|hit| hit["timestamp"].as_str().unwrap()).collect();
    assert!(times.len() > 1 && times.is_sorted_by(|one, two| one >= two), "{times:?}");
    assert!(found["hits"].as_array().unwrap().iter().all(|hit| hit["role"] == "user"), "{found}");
    // A day ends with its last moment.
    let day = &times[0][..10];
    assert_eq!(stage.json(&["search", "--kind", "prompt", "--until", day]), found);
    assert_eq!(entries(&stage.json(&["search", "--kind", "prompt", "--until", "2020-01-01"])).len(), 0);
    stage.run(&["search", "--until", "soon"]).code(2).complains(&[
        "`soon` is not a time",
        "`3d`",
        "`2026-02-14`",
    ]);
    stage.run(&["search"]).code(2).complains(&["nothing to search for", "--kind decision"]);
}

#[test]
fn none_means_all() {
    let stage = told();
    let all = stage.json(&["search", "retry", "-n", "0"]);
    assert!(entries(&all).len() > 1, "{all}");
    assert_eq!(stage.json(&["search", "retry", "-n", "1000"]), all);
    assert_eq!(entries(&stage.json(&["search", "--literal", "retry", "-n", "0"])).len(), 4);
}

#[test]
fn a_home_where_nothing_was_imported_says_so() {
    let stage = Stage::new();
    for args in
        [vec!["search", "kiln"], vec!["search", "--literal", "kiln"], vec!["search", "--kind", "prompt"]]
    {
        stage.run(&args).ok().complains(&["nothing was imported yet: `stemma import`"]);
    }
}

/// A fork ends at the hit; resuming keeps the turn of the hit whole, and says so.
#[test]
fn going_on_begins_at_the_hit() {
    let stage = told();
    let hit = &stage.json(&["search", "wait between the tries", "--kind", "prompt"])["hits"][0];
    let forked =
        stage.json(&["search", "wait between the tries", "--kind", "prompt", "--fork", "--cwd", "."]);
    let (ctx, entry) = (hit["ctx"].as_str().unwrap(), hit["entry"].as_str().unwrap());
    let by_hand = stage.json(&["fork", ctx, "--at", entry, "--here"]);
    assert_eq!((&forked["ctx"], &forked["prompt"]), (&by_hand["ctx"], &by_hand["prompt"]));
    assert_eq!(forked["prompt"], "Good, and wait between the tries");
    let resumed = stage
        .run(&["search", "wait between the tries", "--kind", "prompt", "--resume", "--cwd", ".", "--print"])
        .ok();
    resumed.complains(&["continues after the turn with this hit"]);
}

#[test]
fn another_client_can_go_on_from_the_hit() {
    let stage = told();
    let placed = stage.json(&["search", "retry", "--fork", "--cwd", ".", "--in", "codex"]);
    assert!(placed["losses"]["to"].as_str().unwrap().starts_with("codex"), "{placed}");
    stage.run(&["search", "retry", "--in", "codex"]).code(2).complains(&["`--in` belongs to"]);
}

#[test]
fn colours_are_no_part_of_a_snippet() {
    let mut story = Story::new(SESSION, "/home/ann/shop");
    story.user("Why?").tool("make", "\u{1b}[31merror\u{1b}[0m: the kiln is cold");
    let stage = Stage::new();
    stage.import(&stage.home.write("one.jsonl", story.text().as_bytes()));
    let found = stage.json(&["search", "kiln"]);
    let snippet = found["hits"][0]["snippet"].as_str().unwrap();
    assert!(snippet.contains("error: the kiln is cold"), "{snippet:?}");
}
