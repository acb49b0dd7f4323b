//! Rules for secrets that come with a project: they count once somebody trusts them, and as long as they stay as they are.

use crate::stage::Stage;

const RULE: &str = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";

fn write(stage: &Stage, text: &str) -> std::path::PathBuf {
    let folder = stage.home.project().join(".stemmata");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("secrets.toml"), text).unwrap();
    folder.join("secrets.toml").canonicalize().unwrap()
}

fn recorded(stage: &Stage, said: &str) -> String {
    stage.feed(&["run", "--", "cat"], said.as_bytes()).code(0);
    let word = said.split(' ').next().unwrap();
    let all = stage.json(&["list"])["sessions"].as_array().unwrap().clone();
    let is_it = |one: &&serde_json::Value| one["title"].as_str().is_some_and(|title| title.starts_with(word));
    let tip = all.iter().find(is_it).unwrap()["tip"].as_str().unwrap().to_owned();
    String::from_utf8(stage.native(&tip)).unwrap()
}

/// Found in review: the file of any cloned repository decided what was captured there.
#[test]
fn a_projects_rules_count_only_once_they_are_trusted() {
    let stage = Stage::new();
    let path = write(&stage, RULE);
    assert!(recorded(&stage, "see ACME-771234\n").contains("ACME-771234"));
    let status = stage.json(&["status"]);
    assert_eq!(status["untrusted_rules"][0]["path"], path.to_str().unwrap(), "{status}");
    stage.run(&["secrets", "trust", "."]).ok();
    assert_eq!(stage.json(&["status"])["untrusted_rules"], serde_json::json!([]));
    assert!(recorded(&stage, "and ACME-771235\n").contains("[REDACTED:ticket]"));
    // A changed file is another one.
    write(&stage, &format!("{RULE}# more\n"));
    assert_eq!(stage.json(&["secrets", "list"])["trusted"][0]["is_current"], false);
    assert!(recorded(&stage, "or ACME-771236\n").contains("ACME-771236"));
    stage.run(&["secrets", "trust"]).ok();
    assert!(recorded(&stage, "now ACME-771237\n").contains("[REDACTED:ticket]"));
    stage.run(&["secrets", "distrust"]).ok();
    assert!(recorded(&stage, "again ACME-771238\n").contains("ACME-771238"));
    stage.run(&["secrets", "distrust"]).code(2).complains(&["secrets list"]);
    write(&stage, "[[rules]]\nkind = 'x'\nkeywords = ['user']\nregex = 'user'\n");
    stage.run(&["secrets", "trust"]).code(5).complains(&["less than 8 bytes"]);
}

/// Found by a newcomer: `..` was taken as it stands, so that another folder's rules were trusted, and one file had several rows.
#[test]
fn trust_is_for_the_folder_that_is_meant() {
    let stage = Stage::new();
    write(&stage, RULE);
    let other = stage.home.project().parent().unwrap().join("other");
    std::fs::create_dir_all(other.join("sub")).unwrap();
    std::fs::create_dir_all(stage.home.project().join("sub")).unwrap();
    stage.run(&["secrets", "trust", "../other"]).code(3);
    stage.run(&["secrets", "trust", "sub/.."]).ok();
    stage.run(&["secrets", "trust", "."]).ok();
    assert_eq!(stage.json(&["secrets", "list"])["trusted"].as_array().unwrap().len(), 1);
    stage.run(&["secrets", "distrust", "../other"]).code(2);
    stage.run(&["secrets", "distrust", "sub"]).ok();
    assert_eq!(stage.json(&["secrets", "list"])["trusted"], serde_json::json!([]));
}

/// The hint was the one for commits: `stemma log`.
#[test]
fn where_a_project_has_no_rules_the_hint_says_where_they_would_be() {
    let stage = Stage::new();
    let said = stage.run(&["secrets", "trust", "."]);
    let said = said.complains(&["hint: a project's rules are in `.stemmata/secrets.toml`"]);
    assert!(!said.stderr.contains("stemma log"), "{}", said.stderr);
}

/// Found in review: a file that nobody can read kept everything in its repository from being captured.
#[test]
fn a_projects_rules_that_cannot_be_read_stop_no_capture() {
    let bad: [fn(&std::path::Path); 3] = [
        |path| std::fs::write(path, b"[[rules]]\n\xff").unwrap(),
        |path| std::fs::write(path, "é".repeat(300_000)).unwrap(),
        |path| std::os::unix::fs::symlink(path, path).unwrap(),
    ];
    for make in bad {
        let stage = Stage::new();
        let folder = stage.home.project().join(".stemmata");
        std::fs::create_dir_all(&folder).unwrap();
        make(&folder.join("secrets.toml"));
        assert!(recorded(&stage, "hello there\n").contains("hello there"));
        let told = stage.json(&["status"])["untrusted_rules"][0]["reason"].clone();
        // A link to itself is no file that anybody could trust.
        let is_told = told.as_str().is_some_and(|told| told.contains("cannot be read"));
        assert_eq!(is_told, folder.join("secrets.toml").exists(), "{told}");
        stage.run(&["secrets", "trust", "."]).code(1);
    }
}

/// Found in review: `task list` remembered a task named «list».
#[test]
fn words_meant_as_commands_are_not_remembered() {
    let stage = Stage::new();
    for words in [
        vec!["task", "add", "LS"],
        vec!["decision", "add", "show"],
        vec!["decide", "show"],
        vec!["task", "done"],
    ] {
        stage.run(&words).code(2);
    }
    stage.run(&["task", "lsit"]).code(2).complains(&["not a verb", "add"]);
    stage.run(&["exclude", "lsit"]).code(2).complains(&["not a verb", "exclude add"]);
    stage.run(&["task", "list the open files"]).ok();
    assert!(stage.run(&["task", "list"]).ok().text().contains("list the open files"));
}
