//! Filters of a search as people give them: names with slips, projects by their name, times that make no sense, and what is in the
//! way where nothing is found.

use crate::stage::Stage;
use crate::story::{self, Story};

const OTHER: &str = "5e55104e-0000-4000-8000-000000000002";
const THIRD: &str = "5e55104e-0000-4000-8000-000000000003";

fn kiln(session: &str, cwd: &str) -> String {
    let mut story = Story::new(session, cwd);
    story.user("Heat the kiln in src/parser.rs").assistant("The kiln is hot; we retry in src/lexer.rs.");
    story.text()
}

/// A stage with a session in the project `shop` and one in the project `oven`.
fn told() -> Stage {
    let stage = Stage::new();
    stage.import(&stage.home.write("a.jsonl", story::retry("/home/ann/shop").text().as_bytes()));
    stage.import(&stage.home.write("b.jsonl", kiln(OTHER, "/home/ann/work/oven").as_bytes()));
    stage
}

fn entries(found: &serde_json::Value) -> Vec<&str> {
    found["hits"].as_array().unwrap().iter().map(|hit| hit["entry"].as_str().unwrap()).collect()
}

fn notes(found: &serde_json::Value) -> Vec<&str> {
    let notes = found["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    notes.iter().map(|note| note["code"].as_str().unwrap()).collect()
}

#[test]
fn a_project_goes_by_the_name_that_hits_show() {
    let stage = told();
    let by_dir = stage.json(&["search", "retry", "--project", "/home/ann/work/oven"]);
    assert_eq!(by_dir["hits"][0]["cwd"], "/home/ann/work/oven");
    assert_eq!(stage.json(&["search", "retry", "--project", "oven"]), by_dir);
    let both = stage.json(&["search", "retry", "--project", "oven", "--project", "shop"]);
    assert_eq!(entries(&both).len(), entries(&stage.json(&["search", "retry"])).len());
    let listed = stage.json(&["list", "--project", "oven"]);
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
    // The id of a ledger names its project, too.
    std::fs::create_dir_all(stage.home.project().join(".git")).unwrap();
    stage.run(&["decide", "The retry waits"]).ok();
    let id = stage.json(&["ledger", "list"])["ledgers"][0]["id"].as_str().unwrap().to_owned();
    let found = stage.json(&["search", "retry", "--project", &id]);
    assert_eq!(found["hits"][0]["ledger"], id, "{found}");
    assert!(entries(&found).iter().all(|entry| entry.starts_with("event:")), "{found}");
    // A directory is one, whatever other projects are called.
    std::fs::create_dir_all(stage.home.project().join("oven")).unwrap();
    assert_eq!(entries(&stage.json(&["search", "retry", "--project", "oven"])).len(), 0);
}

#[test]
fn what_a_filter_names_wrongly_is_said_in_one_way() {
    let stage = told();
    stage.import(&stage.home.write("c.jsonl", kiln(THIRD, "/srv/shop").as_bytes()));
    let mut all = String::new();
    for args in [
        &["--project", "ovn"][..],
        &["--client", "claud"],
        &["--role", "assistent"],
        &["--kind", "promt"],
        &["--since", "2026-03-02", "--until", "2026-03-01"],
        &["--since", "soon"],
        &["--until", "2026-02-31"],
    ] {
        let args = [&["search", "retry"], args].concat();
        all.extend(["$ ", &args.join(" "), "\n", &stage.told(&args), "\n"]);
    }
    insta::assert_snapshot!("search_filters_bad", all);
    // Two projects have the name: both are searched.
    assert_eq!(stage.json(&["list", "--project", "shop"])["sessions"].as_array().map(Vec::len), Some(2));
    let both = stage.json(&["search", "kiln loop", "--project", "shop", "--client", "claude"]);
    let dirs: std::collections::BTreeSet<String> =
        both["hits"].as_array().unwrap().iter().map(|hit| hit["cwd"].to_string()).collect();
    assert_eq!(dirs.len(), 2, "{both}");
    // What lies below another directory of the name is found with that.
    stage.import(
        &stage
            .home
            .write("d.jsonl", kiln("5e55104e-0000-4000-8000-000000000004", "/srv/x/oven/oven").as_bytes()),
    );
    stage.import(
        &stage.home.write("e.jsonl", kiln("5e55104e-0000-4000-8000-000000000005", "/srv/x/oven").as_bytes()),
    );
    assert_eq!(stage.json(&["list", "--project", "oven"])["sessions"].as_array().map(Vec::len), Some(3));
    let said = stage.run(&["state", "--project", "oven"]).code(4);
    assert!(said.stderr.contains("  /srv/x/oven  ") && !said.stderr.contains("oven/oven"), "{}", said.stderr);
}

#[test]
fn a_slip_in_the_name_of_a_file_finds_it() {
    let stage = told();
    let right = stage.json(&["search", "kiln", "--file", "parser.rs"]);
    assert_eq!(entries(&right).len(), 1, "{right}");
    for (file, meant) in [
        ("parsr.rs", "parser.rs"),
        ("src/parsr.rs", "src/parser.rs"),
        ("/home/src/prser.rs", "/home/src/parser.rs"),
    ] {
        for words in [&["kiln"][..], &[], &["--literal", "kiln"]] {
            let found = stage.json(&[&["search", "--file", file], words].concat());
            let is_there = !meant.starts_with("/home");
            assert_eq!(entries(&found) == entries(&right), is_there, "{file} {words:?}: {found}");
            assert_eq!(notes(&found)[0], "did_you_mean", "{file}: {found}");
            assert!(found["notes"][0]["message"].as_str().unwrap().ends_with(meant), "{found}");
        }
    }
    let found = stage.json(&["search", "kiln", "--file", "nothinglikeit.rs"]);
    assert_eq!((entries(&found).len(), notes(&found)), (0, vec!["filters_exclude"]), "{found}");
}

#[test]
fn a_filter_that_excludes_everything_is_named() {
    let stage = told();
    for (args, wanted) in [
        (&["retry", "--client", "codex"][..], "without `--client codex` there are hits"),
        (&["retry", "--branch", "nope", "--kind", "prompt"], "without `--branch nope` there are hits"),
        (&["--branch", "nope"], "without `--branch nope` there are hits"),
        (&["retry", "--until", "2020-01-01"], "without `--until 2020-01-01T23:59:59.999999Z` there are hits"),
        (&["retry", "--client", "codex", "--branch", "nope"], "but not without one of them alone"),
        (&["\"the kiln\"", "--project", "shop"], "without `--project /home/ann/shop` there are hits"),
    ] {
        let found = stage.json(&[&["search"], args].concat());
        assert_eq!((entries(&found).len(), notes(&found)), (0, vec!["filters_exclude"]), "{args:?}: {found}");
        let message = found["notes"][0]["message"].as_str().unwrap();
        assert!(message.contains(wanted), "{args:?}: {message}");
    }
    // Words that are nowhere are no filter's fault.
    let found = stage.json(&["search", "nothingofthis", "--client", "codex"]);
    assert_eq!(notes(&found), Vec::<&str>::new(), "{found}");
}

#[test]
fn a_quote_without_its_counterpart_is_said() {
    let stage = told();
    let found = stage.json(&["search", "\"the kiln"]);
    assert_eq!(notes(&found), ["quote_open"]);
    assert!(!entries(&found).is_empty(), "{found}");
    assert_eq!(notes(&stage.json(&["search", "\"the kiln\""])), Vec::<&str>::new());
    assert_eq!(notes(&stage.json(&["search", "--literal", "\"the kiln"])), Vec::<&str>::new());
}

/// Returns the commands of ours that a text has between backticks.
fn commands(text: &str) -> Vec<Vec<String>> {
    let quoted = text.split('`').skip(1).step_by(2);
    let words = |command: &str| command.split_whitespace().skip(1).map(str::to_owned).collect();
    quoted.filter(|command| command.starts_with("stemma ")).map(words).collect()
}

#[test]
fn what_a_search_says_to_type_next_works_as_it_stands() {
    let stage = told();
    stage.run(&["decide", "The kiln is hot"]).ok();
    // No client loads this format itself.
    let line = |id: u32, role: &str, text: &str| {
        format!(
            "{{\"v\":\"stemmata-v1\",\"id\":\"p{id}\",\"role\":\"{role}\",\"parts\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}\n"
        )
    };
    let lines = line(1, "user", "Fire the pottery") + &line(2, "assistant", "The pottery is done.");
    stage.import(&stage.home.write("p.jsonl", lines.as_bytes()));
    let empty = Stage::new();
    let mut tried = 0;
    for (stage, args) in [
        (&stage, &["why", "retry"][..]),
        (&stage, &["--literal", "kiln"]),
        (&stage, &["kiln", "--kind", "decision"]),
        (&stage, &["pottery"]),
        (&stage, &["kiln", "--file", "parsr.rs"]),
        (&stage, &["nothingofthis"]),
        (&stage, &["retry", "--session", "nope"]),
        (&empty, &["retry"]),
        (&empty, &["retry", "--project", "shop"]),
    ] {
        let said = stage.run(&[&["search"], args].concat());
        let next = commands(&said.stderr);
        assert!(!next.is_empty(), "{args:?}: {}", said.stderr);
        for mut command in next {
            // A client is not started by a test.
            if command[0] == "resume" {
                command.extend(["--here", "--print"].map(str::to_owned));
            }
            let run = stage.run(&command);
            let is_known = run.code == 0 || run.code == 3 && command == ["import"];
            assert!(is_known, "{args:?}: {command:?}: {}", run.stderr);
            tried += 1;
        }
    }
    assert!(tried >= 8, "{tried}");
}

#[test]
fn recall_says_what_it_searched_and_how_to_change_that() {
    let stage = told();
    let told = |args: &[&str]| stage.run(&[&["recall", "kiln"], args].concat()).ok().stderr;
    let all = told(&[]);
    assert!(all.contains("searched all projects") && all.contains("`--project DIR`"), "{all}");
    assert_eq!(stage.json(&["recall", "kiln"])["scope"], serde_json::json!({}));
    stage.run(&["decide", "The kiln is hot"]).ok();
    let one = told(&[]);
    assert!(one.contains("searched project ") && one.contains("`--everywhere`"), "{one}");
    let scope = &stage.json(&["recall", "kiln"])["scope"];
    assert_eq!(scope["dir"].as_str(), stage.home.project().to_str());
    assert!(scope["ledger"].is_string(), "{scope}");
    assert!(told(&["--everywhere"]).contains("searched all projects"));
    let found = stage.json(&["recall", "kiln", "--everywhere"]);
    let is_said = |item: &serde_json::Value| item["client"] == "claude-code";
    assert!(found["items"].as_array().unwrap().iter().any(is_said), "{found}");
    stage.run(&["recall", "kiln", "--everywhere", "--project", "."]).code(2);
}
