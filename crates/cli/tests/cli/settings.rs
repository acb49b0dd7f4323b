//! Configuration, completions, and the pages about the program itself.

use crate::stage::Stage;

#[test]
fn configuration_is_shown_explained_and_changed() {
    let stage = Stage::new();
    insta::assert_snapshot!("config_set", stage.told(&["config", "set", "import.threads", "3"]));
    let path = stage.run(&["config", "path"]).ok().text();
    let file = std::path::Path::new(path.trim());
    assert_eq!(std::fs::read_to_string(file).unwrap(), "[import]\nthreads = 3\n");
    let mut command = stage.command(&["config", "explain", "import.threads", "--json"]);
    let output = command.env("STEMMATA_IMPORT_THREADS", "2").output().unwrap();
    let entry: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&entry["value"], &entry["origin"]), (&"2".into(), &"$STEMMATA_IMPORT_THREADS".into()));
    assert_eq!(entry["values"][1]["origin"], path.trim());
    insta::assert_snapshot!("config_explain", stage.told(&["config", "explain", "output.color"]));
    for (args, reason) in [
        (["config", "set", "import.threads", "none"], "a number from 1 to 64"),
        (["config", "set", "import.thread", "1"], "unknown setting"),
    ] {
        stage.run(&args).code(2).complains(&[reason]);
    }
}

#[test]
fn a_configuration_that_cannot_be_read_stops_and_an_unknown_key_only_warns() {
    let stage = Stage::new();
    let path = stage.home.write("home/.config/stemmata/config.toml", b"[output]\ncolour = \"never\"\n");
    stage.run(&["status"]).ok().complains(&[
        "warning:",
        "`output.colour` is not a setting",
        path.to_str().unwrap(),
    ]);
    stage.home.write("home/.config/stemmata/config.toml", b"[output\n");
    stage.run(&["status"]).code(1).complains(&["error:", path.to_str().unwrap(), "hint:"]);
}

#[test]
fn completions_exist_for_every_shell() {
    let stage = Stage::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stage.run(&["completions", shell]).ok().text();
        assert!(script.contains("materialize"), "{shell}");
    }
}

#[test]
fn help_and_version_are_no_errors_and_a_wrong_command_is_one() {
    let stage = Stage::new();
    assert!(stage.run(&["--help"]).ok().text().contains("Start:\n  setup"));
    assert!(stage.run(&["fork", "--help"]).ok().text().contains("Examples:"));
    assert!(stage.run(&["--version"]).ok().text().starts_with("stemma "));
    stage.run(&["frok"]).code(2).complains(&["frok", "fork"]);
    stage.run::<&str>(&[]).code(2).complains(&["Usage: stemma"]);
    // None of these made a data directory.
    assert_eq!(std::fs::read_dir(stage.home.stemmata_home()).unwrap().count(), 0);
}

#[test]
fn without_any_home_the_message_says_what_to_set() {
    let stage = Stage::new();
    let mut command = stage.command(&["list"]);
    for name in ["HOME", "STEMMATA_HOME", "XDG_DATA_HOME"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("STEMMATA_HOME") && said.contains("hint:"), "{said}");
}

#[test]
fn the_log_says_what_ran_and_nothing_of_what_was_said() {
    let stage = Stage::new();
    stage.run(&["update", "ctx-zzzz", "--summary", "a word of mine"]).code(3);
    let log = std::fs::read_to_string(stage.home.stemmata_home().join("logs/stemma.log")).unwrap();
    assert!(log.contains("command=\"update\"") && log.contains("exit=3"), "{log}");
    assert!(!log.contains("a word of mine") && !log.contains("ctx-zzzz"), "{log}");
}

#[test]
fn the_guide_writes_nowhere_but_where_it_says() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guide = std::fs::read_to_string(root.join("docs/guide/first-steps.md")).unwrap();
    for variable in ["STEMMATA_HOME", "CLAUDE_CONFIG_DIR"] {
        assert!(guide.contains(&format!("export {variable}=$(mktemp -d)")), "{variable}");
    }
    // Nothing in it starts a client, and no other client is written for.
    let shown = guide.split("```").skip(1).step_by(2).flat_map(str::lines);
    let places = shown.filter(|line| line.trim_start_matches("$ ").starts_with("stemma resume"));
    let starting: Vec<&str> = places.filter(|line| !line.contains("--print")).collect();
    assert_eq!(starting, Vec::<&str>::new());
    assert!(!guide.contains("--in "));
}

#[test]
fn the_guide_names_commits_that_the_examples_have() {
    let stage = Stage::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    stage.run(&["import", root.join("examples").to_str().unwrap()]).ok();
    let guide = std::fs::read_to_string(root.join("docs/guide/first-steps.md")).unwrap();
    let ids = regex::Regex::new(r"ctx-[0-9a-z]{8}\b").unwrap();
    let mut named: Vec<&str> = ids.find_iter(&guide).map(|found| found.as_str()).collect();
    named.sort_unstable();
    named.dedup();
    assert!(named.len() > 5, "{named:?}");
    // A fork within a commit makes one of its own.
    stage.run(&["fork", "f8j7", "--at", "307f4f0e", "--here"]).ok();
    for id in named {
        stage.run(&["show", id]).ok();
    }
}
