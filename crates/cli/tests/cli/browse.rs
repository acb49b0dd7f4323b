//! The commands that look at what is stored, as a person sees them.

use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::story::{self, SESSION, Story};

/// Returns a stage with one session, and its tip.
fn stage() -> (Stage, String) {
    let stage = Stage::new();
    let path = stage.home.write(
        &format!("home/.claude/projects/-home-ann-shop/{SESSION}.jsonl"),
        story::retry("/home/ann/shop").text().as_bytes(),
    );
    let session = stage.import(&path);
    (stage, session["tip"].as_str().unwrap().to_owned())
}

#[test]
fn one_session_from_all_sides() {
    let (stage, tip) = stage();
    for args in [
        vec!["log"],
        vec!["list"],
        vec!["log", &tip],
        vec!["tree", &tip],
        vec!["show", &tip],
        vec!["show", &tip, "--entries"],
        vec!["history", &tip],
        vec!["history", &tip, "-n", "1", "--skip", "1"],
        vec!["children", &tip],
        vec!["tips"],
        vec!["diff", &tip],
        vec!["resolve", "--session", SESSION, "--at", "2026-03-09T09:05:00Z"],
        vec!["list", "--here"],
    ] {
        let name = args.iter().map(|arg| if *arg == tip { "TIP" } else { arg }).collect::<Vec<_>>().join("_");
        let name = name.replace(['-', ':', '.'], "");
        insta::assert_snapshot!(format!("browse_{name}"), stage.told(&args));
    }
}

#[test]
fn a_tree_shows_branches_runs_and_the_commit_that_was_asked_for() {
    let stage = Stage::new();
    let mut base = Story::new(SESSION, "/home/ann/shop");
    base.user("One")
        .assistant("1")
        .user("Two")
        .assistant("2")
        .user("Three")
        .assistant("3")
        .user("Four")
        .assistant("4");
    let path = stage.home.write("a.jsonl", base.text().as_bytes());
    let first = stage.import(&path);
    // The same file with another ending: it branches at the last common commit.
    let mut other = Story::new(SESSION, "/home/ann/shop");
    other
        .user("One")
        .assistant("1")
        .user("Two")
        .assistant("2")
        .user("Other")
        .assistant("o")
        .user("Last")
        .assistant("l");
    stage.home.write("a.jsonl", other.text().as_bytes());
    let second = stage.import(&path);
    let notes = second["notes"].to_string();
    assert!(notes.contains("rewritten"), "{notes}");
    insta::assert_snapshot!("tree_with_a_branch", stage.told(&["tree", first["tip"].as_str().unwrap()]));
    assert_eq!(stage.native(first["tip"].as_str().unwrap()), base.text().as_bytes());
    assert_eq!(stage.native(second["tip"].as_str().unwrap()), other.text().as_bytes());
}

#[test]
fn names_lead_to_commits_by_prefix_session_tag_and_path() {
    let (stage, tip) = stage();
    for bad in ["a b", "a@b", "a~1", "a:2", "", "ctx-1", "5e55104e", "none"] {
        stage.run(&["tag", "add", &tip, bad]).code(2).complains(&["NAME"]);
    }
    for tag in ["done", "v1.2", "review/7"] {
        stage.run(&["tag", "add", &tip, tag]).ok();
    }
    let path = stage.home.claude_config().join(format!("projects/-home-ann-shop/{SESSION}.jsonl"));
    for reference in
        [&tip[..8], &tip[4..12], SESSION, &SESSION[..8], "done", "v1.2", "review/7", path.to_str().unwrap()]
    {
        assert_eq!(stage.json(&["show", reference])["id"], tip.as_str(), "{reference}");
    }
    insta::assert_snapshot!("no_such_commit", stage.told(&["show", "ctx-zzzz"]));
    insta::assert_snapshot!("no_such_name", stage.told(&["show", "nothing"]));
}

#[test]
fn an_ambiguous_name_lists_its_candidates() {
    let stage = Stage::new();
    for (number, text) in ["First", "Second"].into_iter().enumerate() {
        let session = format!("5e55104e-0000-4000-8000-00000000000{number}");
        let mut story = Story::new(&session, "/home/ann/shop");
        story.user(text).assistant("Yes.");
        let path = stage.home.write(&format!("{session}.jsonl"), story.text().as_bytes());
        stage.import(&path);
    }
    insta::assert_snapshot!("ambiguous", stage.told(&["show", "5e55104e"]));
}

#[test]
fn listings_fit_eighty_columns_and_have_no_colour_unless_asked() {
    let stage = Stage::new();
    for seed in 0..4 {
        let session = ClaudeSession::new(seed).turns(6).compactions(1).subagents(1).rewinds(1);
        stage.home.write_session(&session.build());
    }
    stage.run(&["import"]).ok();
    let log = stage.json(&["log"]);
    let tip = log["sessions"][0]["tip"].as_str().unwrap();
    for args in [vec!["log"], vec!["list", "--all"], vec!["history", tip], vec!["log", tip]] {
        // What a program reads is never cut, so the width is that of a terminal.
        let output = stage.command(&args).env("COLUMNS", "80").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{args:?}: {line}");
        }
        assert!(!text.contains('\u{1b}'));
        let mut colored = args.clone();
        colored.extend(["--color", "always"]);
        let painted = stage.run(&colored).ok().text();
        assert!(painted.contains('\u{1b}'), "{args:?}");
    }
    assert_eq!(log["sessions"][0]["subagents"], 1);
    assert_eq!(log["sessions"][0]["compactions"], 1);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let stage = Stage::new();
    // More than a pipe and its buffers hold.
    let session = ClaudeSession::new(9).approx_bytes(600_000).build();
    let tip = stage.import(&stage.home.write("a.jsonl", session.text().as_bytes()))["tip"].clone();
    let tip = tip.as_str().unwrap();
    for args in [
        vec!["log"],
        vec!["show", tip, "--json"],
        vec!["native", tip, "--out", "-"],
        vec!["materialize", tip, "--stop", "root", "--out", "-"],
        vec!["export", tip],
        vec!["handoff", tip],
        vec!["bundle", "export", tip, "--out", "-"],
    ] {
        let mut command = stage.command(&args);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = command.stdout(writer).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("error"), "{args:?}: {said}");
    }
}

#[test]
fn a_tag_on_two_commits_is_told() {
    let (stage, tip) = stage();
    let history = stage.json(&["history", &tip]);
    let parent = history["commits"][1]["id"].as_str().unwrap();
    stage.run(&["tag", &tip, "here"]).ok();
    stage.run(&["tag", parent, "here"]).ok().complains(&["warning:", "`here` names 2 commits"]);
    stage.run(&["show", "here"]).code(4).complains(&[&tip, parent, "hint:"]);
    stage.run(&["tag", "remove", parent, "here"]).ok();
    assert_eq!(stage.json(&["show", "here"])["id"], tip.as_str());
}

#[test]
fn a_tag_is_no_id_and_no_place() {
    let (stage, tip) = stage();
    let history = stage.json(&["history", &tip]);
    let parent = history["commits"][1]["id"].as_str().unwrap();
    let session = stage.json(&["list"])["sessions"][0]["session_id"].as_str().unwrap()[..8].to_owned();
    assert_eq!(stage.json(&["handoff", &session])["ctx"], tip.as_str());
    // No tag takes an id away from its session, whichever command sets it.
    for name in [session.as_str(), "@", "a b", "none", ""] {
        for args in [["tag", parent, name].as_slice(), &["update", parent, "--tag", name]] {
            stage.run(args).code(1);
        }
    }
    stage
        .run(&["update", parent, "--tag", "@"])
        .complains(&["`@` cannot be a tag", "a tag has no spaces, `@`"]);
    assert_eq!(stage.json(&["handoff", &session])["ctx"], tip.as_str());
    for verb in ["list", "ls"] {
        let listed = stage.run(&["tag", verb, "name"]).ok();
        assert!(listed.stdout.is_empty() && listed.stderr.contains("No tags"), "a list tags nothing");
    }
}

/// The help's own example: a part of a session's id.
#[test]
fn a_part_of_a_sessions_id_is_enough_for_resolve_and_tips() {
    let (stage, tip) = stage();
    let of = &SESSION[..8];
    let resolved = stage.json(&["resolve", "--session", of, "--at", "now"]);
    assert_eq!(resolved["commits"][0]["id"], tip.as_str());
    assert_eq!(stage.json(&["tips", "--session", of])["commits"][0]["id"], tip.as_str());
}

#[test]
fn metadata_changes_leave_a_trail() {
    let (stage, tip) = stage();
    insta::assert_snapshot!(
        "update",
        stage.told(&["update", &tip, "--summary", "the loop is fixed", "--note", "see T-12", "--tag", "v1"])
    );
    stage.run(&["pin", &tip]).ok();
    stage.run(&["update", &tip, "--untag", "v1"]).ok();
    insta::assert_snapshot!("show_after_update", stage.told(&["show", &tip]));
    stage.run(&["unpin", &tip]).ok();
    let shown = stage.json(&["show", &tip]);
    assert_eq!(shown["pinned"], false);
    assert_eq!(shown["summary"], serde_json::json!({"text": "the loop is fixed", "source": "given"}));
    assert_eq!(shown["audit"].as_array().unwrap().len(), 6);
    stage.run(&["update", &tip]).code(2);
}

#[test]
fn entries_are_read_around_one_of_them() {
    let (stage, tip) = stage();
    insta::assert_snapshot!(
        "show_entry_around",
        stage.told(&["show", &tip, "--entry", "@3", "--around", "1"])
    );
    insta::assert_snapshot!(
        "show_entry_cut",
        stage.told(&["show", &tip, "--entry", "@1", "--around", "0", "--max-tokens", "2"])
    );
    insta::assert_snapshot!("show_entry_beyond", stage.told(&["show", &tip, "--entry", "@99"]));
    let page = stage.json(&["show", &tip, "--entry", "@3", "--around", "1"]);
    let ordinals: Vec<u64> =
        page["entries"].as_array().unwrap().iter().map(|entry| entry["ordinal"].as_u64().unwrap()).collect();
    assert_eq!((ordinals, &page["before"], &page["next"]), (vec![2, 3, 4], &"@1".into(), &"@5".into()));
    // What is shown leads back to the same entry.
    let id = page["entries"][1]["id"].as_str().unwrap();
    assert_eq!(stage.json(&["show", &tip, "--entry", id, "--around", "1"]), page);
    // `--around` alone means nothing.
    stage.run(&["show", &tip, "--around", "1"]).code(2);
}

#[test]
fn a_fork_begins_at_an_entry_by_its_number() {
    let (stage, tip) = stage();
    let page = stage.json(&["show", &tip, "--entry", "@2", "--around", "0"]);
    let id = page["entries"][0]["id"].as_str().unwrap();
    let forked = |at: &str| stage.json(&["fork", &tip, "--at", at, "--here", "--print"])["ctx"].clone();
    assert_eq!(forked("@2"), forked(id));
    assert_ne!(forked("@2"), forked("@4"));
    stage.run(&["fork", &tip, "--at", "@99", "--print"]).code(3).complains(&["@99"]);
}

#[test]
fn a_stopped_prompt_is_called_so_in_both_views_and_no_row_shows_what_a_client_wrote() {
    let stage = Stage::new();
    let mut story = Story::new(SESSION, "/home/ann/shop");
    story.user("Run the tests").tool("sleep 60", "").user("[Request interrupted by user]");
    story.user("What next?").assistant("Nothing.");
    story.user("<task-notification> <task-id>b1</task-id> done </task-notification>");
    story.tool("ls", "a").assistant("All is there.");
    stage.import(&stage.home.write("a.jsonl", story.text().as_bytes()));
    for command in ["show", "tree"] {
        let told = stage.told(&[command, SESSION]);
        assert!(told.contains("interrupted") && !told.contains("no answer"), "{told}");
    }
    stage.run(&["show", "Run the tests"]).ok().complains(&["`stemma show 'Run the tests:2'` shows"]);
    for command in ["tree", "log"] {
        let told = stage.told(&[command, SESSION]);
        assert!(told.contains("All is there.") && !told.contains("task-notification"), "{told}");
        assert!(command == "log" || !told.contains("[Bash"), "{told}");
    }
}
