//! `git install` and `blame`, with a real git in a home of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::stage::Stage;

/// A session of Claude Code that works in a project now, by the clock of tests.
struct Session {
    lines: Vec<String>,
    cwd: String,
}

const SESSION: &str = "5e55104e-0000-4000-8000-0000000000b1";

impl Session {
    fn new(cwd: &Path) -> Self {
        Self { lines: Vec::new(), cwd: cwd.to_str().unwrap().to_owned() }
    }

    fn line(&mut self, kind: &str, message: &Value) {
        let number = self.lines.len();
        let id = |number: usize| format!("00000000-0000-4000-8000-{number:012x}");
        let line = json!({ "parentUuid": number.checked_sub(1).map(id), "isSidechain": false, "userType": "external",
            "cwd": self.cwd, "sessionId": SESSION, "version": "2.1.330", "gitBranch": "main", "type": kind,
            "message": message, "uuid": id(number), "timestamp": format!("2026-03-09T11:{:02}:00.000Z", number + 10) });
        self.lines.push(line.to_string());
    }

    fn asks(&mut self, text: &str) {
        self.line("user", &json!({ "role": "user", "content": text }));
    }

    fn says(&mut self, text: &str) {
        let content = json!([{ "type": "text", "text": text }]);
        self.line(
            "assistant",
            &json!({ "id": format!("m{}", self.lines.len()), "role": "assistant", "content": content }),
        );
    }

    fn calls(&mut self, name: &str, input: &Value) {
        let id = format!("toolu_{}", self.lines.len());
        let content = json!([{ "type": "tool_use", "id": id, "name": name, "input": input }]);
        self.line("assistant", &json!({ "id": format!("m{id}"), "role": "assistant", "content": content }));
        let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": "ok" }]);
        self.line("user", &json!({ "role": "user", "content": result }));
    }

    fn write(&self, stage: &Stage) -> PathBuf {
        let slug: String = self
            .cwd
            .chars()
            .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
            .collect();
        let path = format!("home/.claude/projects/{slug}/{SESSION}.jsonl");
        stage.home.write(&path, (self.lines.join("\n") + "\n").as_bytes())
    }
}

/// Runs git in the stage's project, with nothing of the machine's own configuration.
#[track_caller]
fn git(stage: &Stage, args: &[&str]) -> String {
    let out = try_git(stage, args);
    assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

fn try_git(stage: &Stage, args: &[&str]) -> std::process::Output {
    git_command(stage, args).output().expect("git runs")
}

fn git_command(stage: &Stage, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .envs(stage.home.environment())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for (name, value) in [("AUTHOR", "ann"), ("COMMITTER", "ann")] {
        command.env(format!("GIT_{name}_NAME"), value).env(format!("GIT_{name}_EMAIL"), "ann@example.org");
    }
    command.current_dir(stage.home.project()).args(args);
    command
}

/// Runs the program with the path on which git is.
fn stemma(stage: &Stage, args: &[&str]) -> std::process::Output {
    let mut command = stage.command(args);
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("the binary runs")
}

#[track_caller]
fn ok(out: &std::process::Output) -> String {
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// Says whether these tests can be run: without git there is nothing to install into.
fn has_git() -> bool {
    Command::new("git").arg("--version").output().is_ok()
}

const CODE: &str = "fn wait(times: u32) -> u64 {\n    1 << times\n}\n";

fn worked(stage: &Stage) -> Session {
    let project = stage.home.project();
    let file = project.join("src/retry.rs");
    let mut session = Session::new(&project);
    session.asks("Make the retries wait longer each time");
    session.says("Doubling is the usual way: I write a function for it.");
    session.calls("Write", &json!({ "file_path": file, "content": CODE }));
    session.says("Done.");
    stage.home.write("home/project/src/retry.rs", CODE.as_bytes());
    session.write(stage);
    session
}

#[test]
fn a_line_leads_to_the_call_that_wrote_it_and_to_why_without_git() {
    let stage = Stage::new();
    let mut session = worked(&stage);
    session.asks("Never wait longer than a minute");
    session.says("A minimum does it.");
    let edit = json!({ "file_path": stage.home.project().join("src/retry.rs"), "old_string": "    1 << times",
        "new_string": "    (1 << times).min(60)" });
    session.calls("Edit", &edit);
    stage
        .home
        .write("home/project/src/retry.rs", CODE.replace("1 << times", "(1 << times).min(60)").as_bytes());
    stage.import(&session.write(&stage));
    let found: Value =
        serde_json::from_str(&ok(&stemma(&stage, &["blame", "src/retry.rs", "--json"]))).unwrap();
    let lines = found["lines"].as_array().unwrap();
    let told: Vec<(&str, &str)> = lines
        .iter()
        .map(|line| (line["tool"].as_str().unwrap(), line["request"].as_str().unwrap()))
        .collect();
    let first = ("Write", "Make the retries wait longer each time");
    assert_eq!(told, [first, ("Edit", "Never wait longer than a minute"), first]);
    assert_eq!(lines[1]["reasoning"], "A minimum does it.");
    assert_eq!((&lines[0]["via"], lines[0].get("git_commit")), (&json!("search"), None));
    assert_eq!(lines[1]["session_id"], SESSION);
    // From there it goes on: the entry is one of the commit's.
    let shown = stage.json(&["show", lines[1]["ctx"].as_str().unwrap(), "--entries"]);
    assert!(shown.to_string().contains(lines[1]["entry"].as_str().unwrap()), "{shown}");
    let text = ok(&stemma(&stage, &["blame", "src/retry.rs:2", "-v"]));
    assert!(
        text.contains("call   Edit by claude-code in ") && text.contains("prompt Never wait longer"),
        "{text}"
    );
    assert!(
        text.contains("reason A minimum does it.") && text.contains("2)     (1 << times).min(60)"),
        "{text}"
    );
    stage.run(&["blame", "src/retry.rs:99"]).code(3).complains(&["has 3 lines; there is no line 99"]);
    stage.run(&["blame", "src/nowhere.rs:1"]).code(3);
    // What nobody wrote is said to be so.
    stage.home.write("home/project/src/other.rs", b"something else\n");
    let other = ok(&stemma(&stage, &["blame", "src/other.rs"]));
    assert!(other.contains("(unknown)"), "{other}");
}

/// A line each, and what a call is beside its first line; a blank line is its neighbours'.
#[test]
fn blame_is_laid_out_as_git_does_it() {
    let stage = Stage::new();
    let mut session = Session::new(&stage.home.project());
    session.asks("Write two functions");
    let code = "fn one() {}\n\nfn two() {}\n";
    let file = stage.home.project().join("src/two.rs");
    session.calls("Write", &json!({ "file_path": file, "content": code }));
    session.says("Done.");
    stage.home.write("home/project/src/two.rs", format!("{code}\n// by hand\n").as_bytes());
    stage.import(&session.write(&stage));
    let found: Value =
        serde_json::from_str(&ok(&stemma(&stage, &["blame", "src/two.rs", "--json"]))).unwrap();
    let via: Vec<&str> =
        found["lines"].as_array().unwrap().iter().map(|line| line["via"].as_str().unwrap_or("-")).collect();
    assert_eq!(via, ["search", "neighbour", "search", "neighbour", "-"]);
    for columns in ["60", "80", "120", "200"] {
        let mut command = stage.command(&["blame", "src/two.rs"]);
        let out = command.env("COLUMNS", columns).output().unwrap();
        let said = format!("{}---\n{}", ok(&out), String::from_utf8_lossy(&out.stderr));
        assert!(said.contains("4 of 5 lines traced to an agent (80 %); 1 unknown"), "{said}");
        insta::assert_snapshot!(format!("blame_{columns}"), stage.tame(&said));
    }
}

/// A message from an editor gets its trailer once it is written, whatever begins a comment; an empty one stops the commit.
#[test]
fn a_message_from_an_editor_names_its_context_and_an_empty_one_stops_the_commit() {
    if !has_git() {
        return;
    }
    let stage = Stage::new();
    git(&stage, &["init", "-q", "-b", "main"]);
    ok(&stemma(&stage, &["git", "install"]));
    let hooks = stage.home.project().join(".git/hooks");
    pin_clock(&hooks.join("prepare-commit-msg"));
    pin_clock(&hooks.join("commit-msg"));
    worked(&stage);
    let message = |stage: &Stage| git(stage, &["log", "-1", "--format=%B"]);
    let writes = "core.editor=f() { echo 'Fix the loop' > \"$1\"; }; f";
    for mark in ["#", ";", "auto"] {
        let comments = format!("core.commentChar={mark}");
        for words in [&["commit"][..], &["commit", "-s"], &["commit", "-v"]] {
            let made = [&["-c", &comments, "-c", writes], words, &["--allow-empty", "-q"]].concat();
            git(&stage, &made);
            assert_eq!(message(&stage).matches("Context-Id: ctx-").count(), 1, "{mark} {words:?}");
            let empty = [&["-c", &comments, "-c", "core.editor=true"], words, &["--allow-empty"]].concat();
            assert!(!try_git(&stage, &empty).status.success(), "{mark} {words:?} made a commit");
        }
    }
    // What is amended in an editor has what it had; the marks of editors are gone.
    git(&stage, &["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "plain"]);
    git(&stage, &["-c", "core.editor=true", "commit", "-q", "--allow-empty", "--amend"]);
    assert!(!message(&stage).contains("Context-Id"), "amended");
    assert!(!stage.home.project().join(".git/stemma-editor").exists());
    ok(&stemma(&stage, &["git", "uninstall"]));
    assert!(!hooks.join("commit-msg").exists() && !hooks.join("prepare-commit-msg").exists());
}

/// Has the hook go by the clock of tests.
fn pin_clock(hook: &Path) {
    let installed = std::fs::read_to_string(hook).unwrap();
    let program = env!("CARGO_BIN_EXE_stemma");
    let now = format!("'{program}' --test-now {} git trailer", stemmata_testkit::home::NOW);
    let pinned = installed.replace(&format!("'{program}' git trailer"), &now);
    assert_ne!(pinned, installed);
    std::fs::write(hook, pinned).unwrap();
}

/// Found in review: each of these was stamped with what the agent was at just then.
#[test]
fn commits_made_anew_and_messages_that_nobody_wrote_get_no_trailer() {
    if !has_git() {
        return;
    }
    let stage = Stage::new();
    git(&stage, &["init", "-q", "-b", "main"]);
    ok(&stemma(&stage, &["git", "install"]));
    pin_clock(&stage.home.project().join(".git/hooks/prepare-commit-msg"));
    worked(&stage);
    git(&stage, &["commit", "-q", "--allow-empty", "-m", "first"]);
    for name in ["picked", "rebased"] {
        git(&stage, &["checkout", "-q", "-b", name]);
        stage.home.write(&format!("home/project/{name}"), b"old\n");
        git(&stage, &["add", name]);
        git(&stage, &["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", name]);
        git(&stage, &["checkout", "-q", "main"]);
    }
    let traced = |stage: &Stage| git(stage, &["log", "-1", "--format=%B"]).contains("Context-Id: ");
    git(&stage, &["add", "src"]);
    git(&stage, &["commit", "-q", "-m", "second"]);
    assert!(traced(&stage), "the hook works");
    git(&stage, &["cherry-pick", "picked"]);
    assert!(!traced(&stage), "picked");
    git(&stage, &["revert", "--no-edit", "HEAD"]);
    assert!(traced(&stage), "to take a commit back is what the agent does now");
    git(&stage, &["checkout", "-q", "rebased"]);
    git(&stage, &["rebase", "-q", "main"]);
    assert_eq!(git(&stage, &["log", "-1", "--format=%s"]), "rebased\n");
    assert!(!traced(&stage), "rebased");
    // An editor that is left without a word, and one that leaves the template as it was.
    stage.home.write("home/project/template", b"Why:\n");
    for words in [&["commit"][..], &["commit", "-s"], &["commit", "-t", "template"]] {
        let all = [&["-c", "core.editor=true"], words, &["--allow-empty"]].concat();
        let out = try_git(&stage, &all);
        assert!(!out.status.success(), "{words:?} made a commit");
    }
}

/// Found in review: they were cut at a mebibyte and written back so.
#[test]
fn a_hook_or_a_message_beyond_the_bound_is_left_as_it_is() {
    if !has_git() {
        return;
    }
    let stage = Stage::new();
    git(&stage, &["init", "-q", "-b", "main"]);
    let long = "#!/bin/sh\n".to_owned() + &"# x\n".repeat(300_000);
    let hook = stage.home.write("home/project/.git/hooks/prepare-commit-msg", long.as_bytes());
    let refused = stemma(&stage, &["git", "install"]);
    assert_eq!(refused.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("more than 1048576 bytes"), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&hook).unwrap(), long);
    std::fs::remove_file(&hook).unwrap();
    ok(&stemma(&stage, &["git", "install"]));
    pin_clock(&hook);
    worked(&stage);
    git(&stage, &["commit", "-q", "--allow-empty", "-m", "short"]);
    assert!(git(&stage, &["log", "-1", "--format=%B"]).contains("Context-Id: "), "the hook works");
    let message = "A long message\n\n".to_owned() + &"word ".repeat(300_000) + "end\n";
    let file = stage.home.write("home/project/message", message.as_bytes());
    git(&stage, &["commit", "-q", "--allow-empty", "-F", file.to_str().unwrap()]);
    assert_eq!(git(&stage, &["log", "-1", "--format=%B"]).trim_end(), message.trim_end());
}

#[test]
fn commits_name_their_context_and_blame_goes_by_it() {
    if !has_git() {
        return;
    }
    let stage = Stage::new();
    git(&stage, &["init", "-q", "-b", "main"]);
    let hook = stage.home.project().join(".git/hooks/prepare-commit-msg");
    stage
        .home
        .write("home/project/.git/hooks/prepare-commit-msg", b"#!/bin/sh\necho ran >> hook.log\nexit 0\n");
    let before = std::fs::read(&hook).unwrap();
    let shown = ok(&stemma(&stage, &["git", "install", "--dry-run", "--diff"]));
    assert!(shown.contains("+# >>> stemma") && std::fs::read(&hook).unwrap() == before, "{shown}");
    ok(&stemma(&stage, &["git", "install"]));
    let installed = std::fs::read_to_string(&hook).unwrap();
    assert!(
        ok(&stemma(&stage, &["git", "install"])).is_empty()
            && std::fs::read_to_string(&hook).unwrap() == installed
    );
    worked(&stage);
    git(&stage, &["add", "src"]);
    pin_clock(&hook);
    git(&stage, &["commit", "-q", "-m", "Wait longer each time"]);
    assert!(stage.home.project().join("hook.log").exists(), "the hook that was there still runs");
    let message = git(&stage, &["log", "-1", "--format=%B"]);
    assert!(message.starts_with("Wait longer each time\n\nContext-Id: ctx-"), "{message}");
    let found: Value =
        serde_json::from_str(&ok(&stemma(&stage, &["blame", "src/retry.rs:2", "--json"]))).unwrap();
    let line = &found["lines"][0];
    assert_eq!((&line["via"], &line["git_summary"]), (&json!("trailer"), &json!("Wait longer each time")));
    assert_eq!(line["request"], "Make the retries wait longer each time");
    assert!(message.contains(line["context_id"].as_str().unwrap()));
    // An amended commit keeps its trailer, once.
    git(&stage, &["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(git(&stage, &["log", "-1", "--format=%B"]).matches("Context-Id").count(), 1);
    // A line that is not committed yet is found by its text.
    stage.home.write("home/project/src/retry.rs", format!("{CODE}// by hand\n").as_bytes());
    let text = ok(&stemma(&stage, &["blame", "src/retry.rs"]));
    assert!(text.contains("(not committed)"), "{text}");
    ok(&stemma(&stage, &["git", "uninstall"]));
    assert_eq!(std::fs::read(&hook).unwrap(), before, "what was there is there again");
}

/// A repository that somebody else made names programs in its settings: asking who wrote a line runs none of them.
#[test]
fn blame_runs_nothing_that_a_repository_names_and_waits_for_no_pipe() {
    if !has_git() {
        return;
    }
    let stage = Stage::new();
    worked(&stage);
    stage.run(&["import"]).ok();
    git(&stage, &["init", "-q", "-b", "main"]);
    git(&stage, &["add", "."]);
    git(&stage, &["commit", "-q", "-m", "Wait longer"]);
    let ran = stage.home.path().join("ran");
    let program =
        stage.home.write("evil", format!("#!/bin/sh\necho x >> '{}'\ncat\n", ran.display()).as_bytes());
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let program = program.to_str().unwrap();
    for attributes in ["home/project/.gitattributes", "home/project/.git/info/attributes"] {
        stage.home.write(attributes, b"* filter=a=b.c diff=evil\n");
    }
    let config = stage.home.project().join(".git/config");
    let add = |more: &[u8]| {
        let text = [std::fs::read(&config).unwrap(), more.to_owned()].concat();
        std::fs::write(&config, text).unwrap();
    };
    // Settings that come before those that count.
    let many = |filters: usize| {
        let of = |number| format!("[filter \"f{number}\"]\n\tclean = cat\n\tsmudge = cat\n");
        (0..filters).map(of).collect::<String>()
    };
    add(many(600).as_bytes());
    for key in [
        "filter.a=b.c.clean",
        "filter.a=b.c.process",
        "diff.evil.textconv",
        "diff.external",
        "core.fsmonitor",
    ] {
        // A name that holds `=` is not for `git config KEY`.
        let (section, name) = key.rsplit_once('.').unwrap();
        let (section, sub) =
            section.split_once('.').map_or((section, None), |(section, sub)| (section, Some(sub)));
        let head = sub.map_or_else(|| format!("[{section}]"), |sub| format!("[{section} \"{sub}\"]"));
        add(format!("{head}\n\t{name} = {program}\n").as_bytes());
    }
    git(&stage, &["config", "gpg.program", program]);
    git(&stage, &["config", "log.showSignature", "true"]);
    let _forget = std::fs::remove_file(&ran);
    let text = ok(&stemma(&stage, &["blame", "src/retry.rs", "--json"]));
    assert!(text.contains("\"git_summary\": \"Wait longer\""), "{text}");
    assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap());
    // Where not every filter can be switched off git is not asked.
    stage.home.write("home/project/.git/info/attributes", b"* filter=z\xff\n");
    add(&[b"[filter \"z\xff\"]\n\tclean = ", program.as_bytes(), b"\n"].concat());
    for more in [String::new(), many(2_000)] {
        add(more.as_bytes());
        let text = ok(&stemma(&stage, &["blame", "src/retry.rs", "--json"]));
        assert!(!text.contains("git_summary") && text.contains("session_id"), "{text}");
        assert!(!ran.exists(), "{}", std::fs::read_to_string(&ran).unwrap());
    }
    std::fs::remove_file(&config).unwrap();
    assert!(Command::new("mkfifo").arg(&config).status().unwrap().success());
    // Git itself would wait for a writer until somebody ends it.
    ok(&stemma(&stage, &["blame", "src/retry.rs"]));
    let noted = stemma(&stage, &["decide", "Wait longer"]);
    let said = String::from_utf8_lossy(&noted.stderr);
    assert!(said.contains("is not a file") && !said.contains("did not answer"), "{said}");
}

#[test]
fn nothing_of_ours_stops_a_commit() {
    if !has_git() {
        return;
    }
    let stage = Stage::new();
    git(&stage, &["init", "-q", "-b", "main"]);
    git(&stage, &["config", "core.hooksPath", "tools/hooks"]);
    ok(&stemma(&stage, &["git", "install"]));
    let hook = stage.home.project().join("tools/hooks/prepare-commit-msg");
    let installed = std::fs::read_to_string(&hook).unwrap();
    // No session, then a store that cannot be used, then no program at all.
    git(&stage, &["commit", "-q", "--allow-empty", "-m", "one"]);
    stage.home.write("data/stemmata/store/stemmata.db", b"this is not a database");
    git(&stage, &["commit", "-q", "--allow-empty", "-m", "two"]);
    std::fs::write(&hook, installed.replace(env!("CARGO_BIN_EXE_stemma"), "/nowhere/stemma")).unwrap();
    git(&stage, &["commit", "-q", "--allow-empty", "-m", "three"]);
    assert_eq!(git(&stage, &["log", "--format=%B"]).matches("Context-Id").count(), 0);
    let removed = stemma(&stage, &["git", "uninstall"]);
    assert!(ok(&removed).is_empty() && String::from_utf8_lossy(&removed.stderr).contains("Removed "));
    assert!(!hook.exists(), "a hook that was ours alone is gone");
    // Hooks that other repositories have too are left alone.
    let shared = stage.home.path().join("shared-hooks");
    git(&stage, &["config", "core.hooksPath", shared.to_str().unwrap()]);
    let refused = stemma(&stage, &["git", "install"]);
    assert_eq!(refused.status.code(), Some(5), "{}", String::from_utf8_lossy(&refused.stderr));
    // By `..` and by a link as well.
    git(&stage, &["config", "core.hooksPath", "../shared-hooks"]);
    assert_eq!(stemma(&stage, &["git", "install"]).status.code(), Some(5));
    std::fs::create_dir(&shared).unwrap();
    std::os::unix::fs::symlink(&shared, stage.home.project().join("linked")).unwrap();
    git(&stage, &["config", "core.hooksPath", "linked"]);
    assert_eq!(stemma(&stage, &["git", "install"]).status.code(), Some(5));
    assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 0);
    stage.home.write("home/project/tools/hooks/prepare-commit-msg", b"#!/usr/bin/env python3\nprint()\n");
    git(&stage, &["config", "core.hooksPath", "tools/hooks"]);
    assert_eq!(stemma(&stage, &["git", "install"]).status.code(), Some(5));
}

/// Installs the hook in a new repository, and returns the trailer of a commit that is made with it.
fn traced(stage: &Stage, variables: &[(&str, &str)]) -> Option<String> {
    if !stage.home.project().join(".git").exists() {
        git(stage, &["init", "-q", "-b", "main"]);
        ok(&stemma(stage, &["git", "install"]));
        pin_clock(&stage.home.project().join(".git/hooks/prepare-commit-msg"));
    }
    let mut command = git_command(stage, &["commit", "-q", "--allow-empty", "-m", "work"]);
    assert!(command.envs(variables.iter().copied()).status().unwrap().success());
    let message = git(stage, &["log", "-1", "--format=%B"]);
    message.lines().find_map(|line| line.strip_prefix("Context-Id: ")).map(str::to_owned)
}

/// Another session of the same directory than [`worked`] writes, by another client.
fn worked_in_pi(stage: &Stage) -> PathBuf {
    let cwd = stage.home.project();
    let slug = cwd.to_str().unwrap().trim_start_matches('/').replace('/', "-");
    let line = |value: Value| value.to_string() + "\n";
    let text = line(json!({ "type": "session", "version": 3, "id": "0198aaaa-0000-7000-8000-0000000000b2",
        "timestamp": "2026-03-09T11:50:00.000Z", "cwd": cwd }))
        + &line(
            json!({ "type": "message", "id": "aaaaaaa1", "parentId": null, "timestamp": "2026-03-09T11:51:00.000Z",
            "message": { "role": "user", "content": "Ring the bell", "timestamp": 1 } }),
        );
    let name = "2026-03-09T11-50-00-000Z_0198aaaa-0000-7000-8000-0000000000b2.jsonl";
    stage.home.write(&format!("home/.pi/agent/sessions/--{slug}--/{name}"), text.as_bytes())
}

/// Found in review: with two clients in one directory the trailer named the session of the one that did not commit, while
/// `current` named the right one.
#[test]
fn a_commit_names_the_session_that_current_names() {
    if !has_git() {
        return;
    }
    let stage = Stage::new();
    let (own, other) = (worked(&stage).write(&stage), worked_in_pi(&stage));
    stage.run(&["import", own.to_str().unwrap(), other.to_str().unwrap()]).ok();
    let tip = |path: &Path| {
        let list = stage.json(&["list"]);
        let of = |session: &&Value| session["path"] == json!(path.to_str().unwrap());
        list["sessions"].as_array().unwrap().iter().find(of).unwrap()["tip"].as_str().unwrap().to_owned()
    };
    let (own_tip, other_tip) = (tip(&own), tip(&other));
    let current = |variables: &[(&str, &str)]| {
        let mut command = stage.command(&["current"]);
        let out = command.envs(variables.iter().copied()).output().unwrap();
        Some(String::from_utf8(out.stdout).unwrap().trim().to_owned()).filter(|ctx| !ctx.is_empty())
    };
    let by_name = [("CLAUDE_CODE_SESSION_ID", SESSION)];
    for (variables, wanted) in [
        (&by_name[..], Some(own_tip.clone())),
        (&[], Some(other_tip.clone())),
        (&[("CODEX_THREAD_ID", "nobody-knows-it")], None),
    ] {
        assert_eq!(
            (traced(&stage, variables), current(variables)),
            (wanted.clone(), wanted),
            "{variables:?}"
        );
    }
    if !Path::new("/proc/self/stat").exists() {
        return;
    }
    // This test is the client: it calls the hook and commits.
    let nudge = |event: &str, path: &Path| {
        let input = json!({ "transcript_path": path, "hook_event_name": event }).to_string();
        stage.feed(&["hook", "claude-code"], input.as_bytes()).ok();
    };
    nudge("Stop", &own);
    assert_eq!((traced(&stage, &[]), current(&[])), (Some(own_tip.clone()), Some(own_tip)));
    nudge("Stop", &other);
    assert_eq!((traced(&stage, &[]), current(&[])), (None, None), "which of the two it is cannot be told");
}

/// The environment names a session by its id, and a bundle may bring one with that id: it was taken for the caller's own, and
/// the transcript on the disk was not looked at.
#[test]
fn a_session_of_a_bundle_is_not_taken_for_the_one_that_the_environment_names() {
    if !has_git() {
        return;
    }
    let (other, stage) = (Stage::new(), Stage::new());
    let theirs = other.import(&worked(&other).write(&other))["tip"].as_str().unwrap().to_owned();
    let bundle = stage.home.path().join("theirs.bundle").to_str().unwrap().to_owned();
    other.run(&["bundle", "export", "--all", "--out", &bundle]).ok();
    stage.run(&["bundle", "import", &bundle]).ok();
    let by_name = [("CLAUDE_CODE_SESSION_ID", SESSION)];
    let current = || {
        let out = stage.command(&["current"]).envs(by_name).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(out.stdout).trim().to_owned(), text(out.stderr))
    };
    assert_eq!(traced(&stage, &by_name), None, "nobody asked git for a stranger's");
    let (ctx, said) = current();
    assert_eq!(ctx, theirs, "it is the only one of that name");
    assert!(said.contains("was not recorded by this machine"), "{said}");
    // The client's own transcript, which nobody captured yet.
    let mut own = worked(&stage);
    own.asks("Never wait longer than a minute");
    own.says("A minimum does it.");
    own.write(&stage);
    let (ctx, said) = current();
    assert!(!ctx.is_empty());
    assert_ne!(ctx, theirs);
    assert_eq!((said.as_str(), traced(&stage, &by_name)), ("", Some(ctx.clone())));
    assert_eq!(stage.json(&["show", SESSION])["id"], json!(ctx), "the own one goes first by that name");
}

/// Found in review: a commit waited twelve seconds where much was not captured yet, and ten where the store was held.
#[test]
fn a_commit_waits_neither_for_what_is_not_captured_nor_for_the_store() {
    if !has_git() {
        return;
    }
    let stage = Stage::new();
    let mut session = worked(&stage);
    let path = session.write(&stage);
    let known = stage.import(&path)["tip"].as_str().unwrap().to_owned();
    // A little is captured with the commit.
    session.asks("And never longer than a minute");
    session.says("A minimum does it.");
    session.write(&stage);
    let fresh = traced(&stage, &[]).unwrap();
    assert_ne!(fresh, known);
    let tip = |stage: &Stage| stage.json(&["show", SESSION])["id"].as_str().unwrap().to_owned();
    assert_eq!(tip(&stage), fresh);
    // While another process writes, the newest commit that is stored has to do.
    session.asks("And say so");
    session.write(&stage);
    let store = rusqlite::Connection::open(stage.database()).unwrap();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(traced(&stage, &[]), Some(fresh.clone()));
    store.execute_batch("ROLLBACK").unwrap();
    drop(store);
    let left = stage.home.stemmata_home().join("run/pending");
    assert_eq!(std::fs::read_dir(&left).unwrap().count(), 1, "the next command reads the rest");
    let caught_up = tip(&stage);
    assert_ne!(caught_up, fresh);
    // Too much for git to wait for: it is left to an import.
    session.says(&"x ".repeat(700_000));
    let other = worked_in_pi(&stage);
    std::fs::File::options().append(true).open(&other).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    session.write(&stage);
    assert_eq!(traced(&stage, &[("CLAUDE_CODE_SESSION_ID", SESSION)]), Some(caught_up));
    let known = rusqlite::Connection::open(stage.database()).unwrap();
    let others: i64 = known
        .query_row("SELECT count(*) FROM session WHERE path LIKE '%b2.jsonl'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(others, 0, "nothing else of the directory was read");
}
