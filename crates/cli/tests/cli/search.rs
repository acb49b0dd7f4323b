//! Searching, as people and scripts do: what is found, where to go on, and queries that make no sense.

use crate::stage::Stage;
use crate::story;

/// A stage with one session, which is about retries.
fn told() -> Stage {
    let stage = Stage::new();
    let path = stage.home.write("a.jsonl", story::retry("/home/ann/shop").text().as_bytes());
    stage.import(&path);
    stage
}

#[test]
fn hits_are_shown_with_where_to_go_on() {
    let stage = told();
    insta::assert_snapshot!("search", stage.told(&["search", "why", "does", "it", "retry"]));
    insta::assert_snapshot!("search_literal", stage.told(&["search", "--literal", "retry", "-n", "1"]));
    insta::assert_snapshot!("search_nothing", stage.told(&["search", "nothingofthis"]));
    insta::assert_snapshot!(
        "search_filtered",
        stage.told(&["search", "retry", "--client", "codex", "--kind", "prompt", "--since", "2020-01-01"])
    );
    assert_eq!(stage.json(&["index"])["state"], "whole");
    stage.run(&["index", "rebuild"]).ok();
}

#[test]
fn scripts_get_every_hit_with_its_context() {
    let stage = told();
    let found = stage.json(&["search", "retry"]);
    let hit = &found["hits"][0];
    for key in
        ["ctx", "session_id", "entry", "timestamp", "kind", "client", "score", "reasons", "snippet", "path"]
    {
        assert!(!hit[key].is_null(), "{key} of {hit}");
    }
    assert_eq!(hit["client"], "claude-code");
    let none = stage.json(&["search", "nothingofthis"]);
    assert_eq!(none["hits"].as_array().map(Vec::len), Some(0));
    // The same question has the same answer.
    assert_eq!(stage.json(&["search", "retry"]), found);
    let ctx = hit["ctx"].as_str().unwrap();
    let placed = stage.json(&["search", "retry", "--fork"]);
    assert_eq!(placed["ctx"], ctx);
}

#[test]
fn queries_that_make_no_sense_are_told() {
    let stage = told();
    let long = "x".repeat(100_000);
    let mut all = String::new();
    for args in [
        vec!["search"],
        vec!["search", "  "],
        vec!["search", &long],
        vec!["search", "--regex", "("],
        vec!["search", "--regex", "a{1000}{1000}"],
        vec!["search", "retry", "--role", "nobody"],
        vec!["search", "retry", "--kind", "nothing"],
        vec!["search", "retry", "--since", "yesterday"],
        vec!["search", "retry", "--print"],
        vec!["search", "retry", "--pick"],
        vec!["search", "nothingofthis", "--resume"],
    ] {
        let said = stage.told(&args).replace(&long, "x…");
        let asked = args.join(" ").replace(&long, "x…");
        all.extend(["$ ", &asked, "\n", &said, "\n"]);
    }
    insta::assert_snapshot!("search_bad", all);
    for query in ["&& || --", "🦀", "\"unbalanced", "the of it", "検索", "(a+)+$", "foo::bar"] {
        stage.run(&["search", "--", query]).ok();
    }
    stage.run(&["search", "--literal", "--", "--no-verify"]).ok();
}

/// What was forgotten is not found, and no file below the home has its words.
#[test]
fn what_is_forgotten_is_not_found() {
    let stage = told();
    let found = stage.json(&["search", "retry"]);
    let session = found["hits"][0]["session_id"].as_str().unwrap().to_owned();
    stage.run(&["forget", &session, "--yes"]).ok();
    let found = stage.json(&["search", "retry"]);
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(0), "{found}");
}
