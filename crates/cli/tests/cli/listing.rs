//! Lists of sessions, the first page and what completes a command line, as a person sees them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;
use crate::story::{self, SESSION, Story};
use crate::terminal::Terminal;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/claude-code/projects")
}

/// A stage with the example sessions, of which one was forked twice, and a session of its own directory.
fn stage() -> Stage {
    let stage = Stage::new();
    stage.run(&["import", examples().to_str().unwrap()]).ok();
    let here = stage.home.project();
    let mut near = Story::new(SESSION, here.to_str().unwrap());
    near.user("/review the **retry** loop").assistant("Done.");
    let path =
        stage.home.write(&format!("home/.claude/projects/-shop/{SESSION}.jsonl"), near.text().as_bytes());
    stage.import(&path);
    for _ in 0..2 {
        stage.run(&["fork", SESSION, "--print"]).ok();
    }
    stage
}

/// Returns what a command prints in a terminal of so many columns, with its colours as marks.
fn drawn(stage: &Stage, args: &[&str], columns: usize, color: &str) -> String {
    let mut all = args.to_vec();
    all.extend(["--color", color]);
    let mut command = stage.command(&all);
    let output = command.env("COLUMNS", columns.to_string()).output().unwrap();
    let text = format!(
        "{}---\n{}",
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap()
    );
    let mut text = stage.tame(&text).replace('\u{1b}', "␛");
    // The ids of forks are random.
    for session in stage.json(&["list", "--all"])["sessions"].as_array().unwrap() {
        if session["origin"] == "placed" {
            let id = session["short_id"].as_str().unwrap();
            text = text.replace(id, &"x".repeat(id.len()));
        }
    }
    text
}

#[test]
fn lists_and_the_first_page_at_several_widths() {
    let stage = stage();
    for columns in [60, 80, 120, 200] {
        for (name, args) in [("list", &["list"][..]), ("all", &["list", "--all"]), ("home", &["home"])] {
            for color in ["never", "always"] {
                let text = drawn(&stage, args, columns, color);
                if color == "never" {
                    let too_long = text.lines().find(|line| line.chars().count() > columns);
                    assert_eq!(too_long.filter(|_| name != "home"), None, "{columns}");
                }
                insta::assert_snapshot!(format!("{name}_{columns}_{color}"), text);
            }
        }
    }
}

#[test]
fn an_import_ends_with_what_one_has_now() {
    for columns in [60, 80, 120, 200] {
        for color in ["never", "always"] {
            let stage = Stage::new();
            let text = drawn(&stage, &["import", examples().to_str().unwrap()], columns, color);
            let text = text.replace(examples().to_str().unwrap(), "[EXAMPLES]");
            insta::assert_snapshot!(format!("import_{columns}_{color}"), text);
        }
    }
}

#[test]
fn every_listed_id_is_taken_by_commands_and_nothing_is_cut_for_a_program() {
    let stage = stage();
    let all = stage.json(&["list", "--all"]);
    for session in all["sessions"].as_array().unwrap() {
        let id = session["short_id"].as_str().unwrap();
        assert_eq!(stage.json(&["show", &format!("{id}~0")])["id"], session["tip"], "{id}");
    }
    let text =
        String::from_utf8(stage.command(&["list"]).env_remove("COLUMNS").output().unwrap().stdout).unwrap();
    assert!(text.contains("BRANCH") && !text.contains('…'), "{text}");
    let lists = [&["list"][..], &["log"], &["ls"]].map(|args| stage.run(args).ok().text());
    assert!(lists[0].contains("+2 forks") && lists.iter().all(|list| *list == lists[0]), "{lists:?}");
    assert!(lists[0].contains("/review the retry loop"), "{}", lists[0]);
}

#[test]
fn lists_are_filtered() {
    let stage = stage();
    let ids = |args: &[&str]| {
        let mut all = vec!["list"];
        all.extend(args);
        stage.json(&all)["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["session_id"].to_string())
            .collect::<Vec<_>>()
    };
    let count = ids(&[]).len();
    assert_eq!(ids(&["--here"]).len(), 1);
    assert_eq!(ids(&["--client", "claude"]).len(), count);
    assert_eq!(ids(&["--client", "codex"]).len(), 0);
    stage.run(&["grep", "retry", "--client", "claude"]).ok();
    let unknown = stage.run(&["find", "retry", "--client", "nobody"]).code(2);
    assert!(
        unknown.stderr.contains("claude-code") && !unknown.stderr.contains("ledger"),
        "{}",
        unknown.stderr
    );
    // A filter takes every project that has the name.
    for (place, end) in [("/srv/one/kiln", 3), ("/srv/two/kiln", 4)] {
        let id = format!("07e40000-0000-4000-8000-00000000000{end}");
        let mut story = Story::new(&id, place);
        story.user("Fire it").assistant("At 1250 °C.");
        stage.import(&stage.home.write(&format!("{id}.jsonl"), story.text().as_bytes()));
    }
    assert_eq!(ids(&["--project", "kiln"]).len(), 2);
    let count = count + 2;
    assert_eq!(ids(&["--title", "retry REV"]).len(), 1);
    assert_eq!(ids(&["--branch", "no-such-branch"]).len(), 0);
    assert_eq!(ids(&["--since", "2026-01-01"]).len() + ids(&["--until", "2025-12-31"]).len(), count);
    assert_eq!(ids(&["-n", "2"]), ids(&[])[..2]);
    stage.run(&["list", "--client", "nobody"]).code(2);
    stage.run(&["list", "--title", "no such words"]).ok().complains(&["No sessions match."]);
}

#[test]
fn references_lead_from_what_is_seen() {
    let stage = Stage::new();
    let path =
        stage.home.write("a.jsonl", story::retry(stage.home.project().to_str().unwrap()).text().as_bytes());
    let tip = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    let ctx = |reference: &str| stage.json(&["native", reference, "--out", "/dev/null"])["ctx"].clone();
    let history = stage.json(&["history", &tip]);
    assert_eq!(ctx("@"), tip.as_str());
    assert_eq!(ctx("@~1"), history["commits"][1]["id"]);
    assert_eq!(ctx("retry loop"), tip.as_str());
    stage.run(&["show", "@-"]).code(3);
    stage.run(&["show", "@~99"]).code(3).complains(&["no earlier commit matches `@~99`", "hint:"]);
    let forked = stage.json(&["fork", "@:2", "--print"]);
    assert!(forked["prompt"].as_str().unwrap().contains("wait between"), "{forked}");
    insta::assert_snapshot!("near_names", stage.told(&["show", "retry lop"]));
}

#[test]
fn without_a_reference_a_person_chooses_from_sessions() {
    let stage = stage();
    let mut terminal = Terminal::start(stage.command(&["show"]), (100, 20));
    let first = terminal.until(|screen| screen.says("1 session") && screen.says("Done."));
    assert!(first.says("/review the retry loop") && !first.says("tea"), "{first:#?}");
    terminal.press("\t");
    terminal.until_says("5 sessions");
    terminal.press("rvw");
    terminal.until_says("1 of 5 sessions");
    terminal.press("\r");
    let (status, screen) = terminal.end();
    assert_eq!(status.code(), Some(0), "{screen:#?}");
    assert!(screen.printed.contains("retry"), "{screen:#?}");

    let mut terminal = Terminal::start(stage.command(&["resume", "--print"]), (100, 20));
    terminal.until_says("1 session");
    terminal.press("\r");
    let (status, screen) = terminal.end();
    assert_eq!(status.code(), Some(0), "{screen:#?}");
    assert!(screen.printed.contains("claude --resume "), "{screen:#?}");

    let mut terminal = Terminal::start(stage.command(&["fork"]), (100, 20));
    terminal.until_says("1 session");
    terminal.press("\u{1b}");
    let (status, screen) = terminal.end();
    assert_eq!((status.code(), screen.printed.as_str()), (Some(0), ""));
    for command in ["show", "resume", "fork"] {
        let said =
            stage.run(&[command]).code(2).complains(&["needs a session", &format!("`stemma {command} @`")]);
        assert!(said.text().contains("/review"), "{}", said.text());
    }
}

#[test]
fn the_program_alone_shows_the_first_page_on_a_terminal_and_elsewhere() {
    let stage = stage();
    let terminal = Terminal::start(stage.command::<&str>(&[]), (100, 30));
    let (status, screen) = terminal.end();
    assert_eq!(status.code(), Some(0), "{screen:#?}");
    assert!(
        screen.printed.contains("Newest sessions in") && screen.printed.contains("stemma search"),
        "{screen:#?}"
    );
    let elsewhere = stage.run::<&str>(&[]).ok();
    assert_eq!(elsewhere.text(), stage.run(&["home"]).ok().text());
    assert_eq!(elsewhere.stderr, "");
}

#[test]
fn what_completes_a_command_line_is_offered_and_nothing_is_complained_of() {
    let stage = stage();
    let offered = |words: &[&str]| {
        let mut args = vec!["complete", "--"];
        args.extend(words);
        let said = stage.run(&args).ok();
        assert_eq!(said.stderr, "");
        said.text().lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(offered(&["lis"]), ["list"]);
    assert!(offered(&["list", "--cl"]).contains(&"--client".to_owned()));
    assert!(offered(&["list", "--client", "cod"]).contains(&"codex".to_owned()));
    let id = stage.json(&["list", "--here"])["sessions"][0]["short_id"].as_str().unwrap().to_owned();
    assert_eq!(offered(&["show", ""])[0], id, "those of this directory come first");
    assert!(stage.run(&["complete", "--", "show", &id]).ok().text().contains("/review the retry loop"));
    stage.run(&["tag", &id, "good-one"]).ok();
    for before in [&["resume"][..], &["doctor"], &["repair"], &["recover"], &["diff"], &["diff", &id]] {
        assert_eq!(offered(&[before, &["good"]].concat()), ["good-one"], "{before:?}");
    }
    assert_eq!(offered(&["list", "--no-such", "x"]), Vec::<String>::new());
    let empty = Stage::new();
    assert_eq!(empty.run(&["complete", "--", "show", ""]).ok().text(), "");
}

/// bash with its script, as it would ask.
#[test]
fn bash_completes_sessions() {
    let stage = stage();
    let script = stage.home.write("stemma.bash", &stage.run(&["completions", "bash"]).ok().stdout);
    let id = stage.json(&["list", "--here"])["sessions"][0]["short_id"].as_str().unwrap().to_owned();
    let Some(bash) = ["/bin/bash", "/usr/bin/bash"].into_iter().find(|path| Path::new(path).exists()) else {
        return;
    };
    let folder = Path::new(env!("CARGO_BIN_EXE_stemma")).parent().unwrap().to_owned();
    let ask = format!(
        "source {}; COMP_WORDS=(stemma show {}); COMP_CWORD=2; _stemma; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script.display(),
        &id[..2]
    );
    let output = Command::new(bash)
        .arg("-c")
        .arg(ask)
        .env_clear()
        .envs(stage.home.environment())
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .current_dir(stage.home.project())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.lines().any(|line| line == id), "{said}{}", String::from_utf8_lossy(&output.stderr));
    // Where another shell is not installed, its script is only looked at: a test must not depend on what a machine has.
    asked_by(
        &stage,
        "zsh",
        &format!(
            "compdef() {{ :; }}; compadd() {{ print -l -- $values; }}; source SCRIPT; \
         words=(stemma show {}); CURRENT=3; _stemma",
            &id[..2]
        ),
        &id,
    );
    asked_by(&stage, "fish", &format!("source SCRIPT; complete -C 'stemma show {}'", &id[..2]), &id);
    for (shell, says) in [("zsh", "#compdef stemma"), ("fish", "complete -c stemma"), ("elvish", "stemma")] {
        assert!(stage.run(&["completions", shell]).ok().text().contains(says), "{shell}");
    }
}

/// Runs a shell with its script as it would ask, where the machine has the shell; else says that it was skipped.
fn asked_by(stage: &Stage, shell: &str, ask: &str, id: &str) {
    let places = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];
    let Some(program) = places.iter().map(|folder| Path::new(folder).join(shell)).find(|path| path.exists())
    else {
        let _closed = writeln!(std::io::stderr(), "skipped: {shell} is not installed");
        return;
    };
    let script =
        stage.home.write(&format!("stemma.{shell}"), &stage.run(&["completions", shell]).ok().stdout);
    let folder = Path::new(env!("CARGO_BIN_EXE_stemma")).parent().unwrap();
    let output = Command::new(program)
        .arg("-c")
        .arg(ask.replace("SCRIPT", script.to_str().unwrap()))
        .env_clear()
        .envs(stage.home.environment())
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .current_dir(stage.home.project())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.lines().any(|line| line.split('\t').next() == Some(id)), "{shell}: {said}{output:?}");
}

/// COMMITS said nothing to a newcomer, who wanted prompts, time, outcome, and which sessions only the store has.
#[test]
fn a_listing_knows_prompts_and_what_is_only_here_and_forgets_with_the_store() {
    let stage = Stage::new();
    let session = ClaudeSession::new(9).turns(3).cwd(stage.home.project().to_str().unwrap());
    let path = stage.home.write_session(&session.build());
    stage.run(&["import", "--quiet"]).ok();
    let listed = || stage.json(&["list"])["sessions"][0].clone();
    let one = listed();
    let prompts = stage.json(&["show", "@"])["overview"]["turns"].as_array().unwrap().len();
    assert_eq!(one["prompts"].as_u64(), Some(prompts as u64), "{one}");
    assert!(one["active_seconds"].as_u64().is_some() && one.get("only_here").is_none(), "{one}");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(listed()["only_here"], true);
    assert!(stage.run(&["list"]).ok().text().contains("only here"));
    let figures = stage.home.stemmata_home().join("cache/list-v1.json");
    assert!(figures.is_file());
    stage.run(&["forget", one["session_id"].as_str().unwrap(), "--yes"]).ok();
    assert!(!figures.exists(), "numbers of what was forgotten are gone, too");
    std::fs::create_dir_all(&figures).unwrap();
    stage.run(&["list"]).ok();
}
