//! Searching, as people and scripts do: what is found, where to go on, and queries that make no sense.

use crate::letting_go::files_with;
use crate::stage::Stage;
use crate::story::{self, SESSION, Story};

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
    for key in [
        "ctx",
        "session_id",
        "entry",
        "timestamp",
        "kind",
        "client",
        "score",
        "reasons",
        "snippet",
        "path",
        "also_in",
    ] {
        assert!(!hit[key].is_null(), "{key} of {hit}");
    }
    assert_eq!(hit["client"], "claude-code");
    let none = stage.json(&["search", "nothingofthis"]);
    assert_eq!(none["hits"].as_array().map(Vec::len), Some(0));
    // The same question has the same answer.
    assert_eq!(stage.json(&["search", "retry"]), found);
    let placed = stage.json(&["search", "retry", "--resume", "--cwd", ".", "--print"]);
    assert_eq!(placed["ctx"], hit["ctx"]);
}

/// A decision may be the best hit, but no client goes on with it.
#[test]
fn going_on_passes_over_what_is_no_session() {
    let stage = told();
    stage.run(&["decide", "retry retry retry"]).ok();
    let found = stage.json(&["search", "retry"]);
    let first = |key: &str| found["hits"].as_array().unwrap().iter().position(|hit| hit[key].is_string());
    assert_eq!(found["hits"][0]["ctx"], serde_json::Value::Null, "{found}");
    let session = first("ctx").unwrap();
    let placed = stage.json(&["search", "retry", "--resume", "--cwd", ".", "--print"]);
    assert_eq!(placed["ctx"], found["hits"][session]["ctx"]);
}

#[test]
fn a_session_that_is_not_there_is_said() {
    let stage = told();
    let found = stage.json(&["search", "retry", "--session", "nope"]);
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(0));
    assert_eq!(found["notes"][0]["code"], "session_unknown", "{found}");
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

/// Imports one session, and returns what a search finds in it first.
fn first_hit(stage: &Stage, text: &str, query: &str) -> serde_json::Value {
    stage.import(&stage.home.write("one.jsonl", text.as_bytes()));
    let found = stage.json(&["search", query]);
    assert!(found["hits"].is_array(), "{found}");
    found["hits"][0].clone()
}

#[test]
fn a_phrase_shows_its_line_and_not_one_with_more_of_its_words() {
    let mut story = Story::new(story::SESSION, "/home/ann/shop");
    let said = "We drop it, or the retries\nand\nthen\nwe drop the retries\nlast";
    story.user("What now?").assistant(said);
    let hit = first_hit(&Stage::new(), &story.text(), "\"drop the retries\" or not");
    assert_eq!(hit["snippet"], "then\nwe drop the retries\nlast");
}

#[test]
fn a_short_id_names_one_entry_where_all_begin_alike() {
    let mut story = Story::new(story::SESSION, "/home/ann/shop");
    story.user("one kiln").assistant("two kilns").user("three").assistant("four kilns");
    let text = story
        .text()
        .replace("-0000-4000-8000-000000000001\",", "\",")
        .replace("\"e00000", "\"synthetic-entry-");
    let stage = Stage::new();
    let hit = first_hit(&stage, &text.replace("5e55104e\"", &format!("{}\"", story::SESSION)), "kiln");
    let (ctx, short) = (hit["ctx"].as_str().unwrap(), hit["short_entry"].as_str().unwrap());
    assert!(short.starts_with("synthetic-entry-"), "{hit}");
    let page = stage.json(&["show", ctx, "--entry", short]);
    let shown = page["entries"].as_array().unwrap().iter().find(|entry| entry["is_match"] == true);
    assert_eq!(shown.unwrap()["id"], hit["entry"]);
}

#[test]
fn a_file_is_found_by_its_folder() {
    let mut story = Story::new(story::SESSION, "/home/ann/shop");
    for folder in ["store", "search", "reduce", "model", "engine"] {
        story.user(&format!("Search crates/prompt/src/{folder}/mod.rs")).assistant("Here it is.");
    }
    let hit = first_hit(&Stage::new(), &story.text(), "search/mod.rs");
    assert!(hit["snippet"].as_str().unwrap().contains("src/search/mod.rs"), "{hit}");
}

#[test]
fn a_scan_says_how_far_it_is_where_a_person_watches() {
    let stage = told();
    let (mut terminal, own) = crate::terminal::open();
    let mut command = stage.command(&["search", "--literal", "retry"]);
    crate::terminal::give(&mut command, &own);
    let mut child = command.env("TERM", "xterm").env("STEMMATA_PAGER", "never").spawn().unwrap();
    drop((command, own));
    let mut got = Vec::new();
    // The end of the other side is an error.
    let _ended = std::io::Read::read_to_end(&mut terminal, &mut got);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let got = String::from_utf8(got).unwrap();
    assert!(got.contains("looked through ") && got.contains("Ctrl-C ends it"), "{got:?}");
}

/// What was forgotten or scrubbed is not found, and no file below the home has it: not the store, the index, nor what a hook
/// left for later.
#[test]
fn what_is_forgotten_is_not_found() {
    const WORD: &str = "zqkilnwright";
    for is_scrubbed in [false, true] {
        let stage = Stage::new();
        let mut story = Story::new(SESSION, "/home/ann/shop");
        story.user(&format!("Ask the {WORD} why")).assistant(&format!("The {WORD} does not know."));
        let path = stage.home.write("a.jsonl", format!("{}\n", story.lines()[..1].join("\n")).as_bytes());
        // The first look is at an open turn.
        let look = stage.import(&path)["tip"].as_str().unwrap().to_owned();
        story.user("Then do without").assistant("It is done without.");
        stage.home.write("a.jsonl", story.text().as_bytes());
        stage.import(&path);
        let found = stage.json(&["search", WORD]);
        assert_eq!(found["hits"].as_array().map(Vec::len), Some(2), "{found}");
        let holding = files_with(&stage, WORD.as_bytes());
        for part in ["/index/", "/store/"] {
            assert!(holding.iter().any(|name| name.contains(part)), "{holding:?}");
        }
        if is_scrubbed {
            let rules = "[[rules]]\nkind = 'craft'\nkeywords = ['zqk']\nregex = 'zqk[i]lnwright'\n";
            std::fs::write(stage.home.stemmata_home().join("secrets.toml"), rules).unwrap();
            stage.run(&["scrub", "--all", "--yes"]).ok();
        } else {
            stage.run(&["forget", SESSION, "--yes"]).ok();
            assert_ne!(stage.run(&["show", &look, "--entries"]).code, 0);
        }
        assert_eq!(files_with(&stage, WORD.as_bytes()), Vec::<String>::new(), "scrubbed: {is_scrubbed}");
        let found = stage.json(&["search", WORD]);
        assert_eq!(found["hits"].as_array().map(Vec::len), Some(0), "{found}");
        let left = if is_scrubbed { 4 } else { 0 };
        assert_eq!(stage.json(&["index"])["entries"], left, "scrubbed: {is_scrubbed}");
        assert_eq!(files_with(&stage, WORD.as_bytes()), Vec::<String>::new(), "scrubbed: {is_scrubbed}");
        stage.run(&["verify"]).ok();
    }
}
