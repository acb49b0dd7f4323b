//! One project per repository: the sessions of its worktrees, clones and sub-folders are its own, wherever they were, and whether they
//! are there still.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::stage::Stage;
use crate::story::Story;

const REMOTE: &str = "git@github.com:ada/engine.git";

struct World {
    stage: Stage,
}

impl World {
    fn new() -> Self {
        Self { stage: Stage::new() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.stage.home.path().canonicalize().unwrap().join("home/src").join(name)
    }

    fn git(&self, name: &str, args: &[&str]) {
        let at = self.at(name);
        std::fs::create_dir_all(&at).unwrap();
        let mut command = Command::new("git");
        command.env_clear().envs(self.stage.home.environment());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "ada").env(format!("GIT_{who}_EMAIL"), "ada@example.org");
        }
        let out = command.current_dir(at).args(args).output().unwrap();
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }

    /// Makes a repository, with a remote where one is given.
    fn repository(&self, name: &str, remote: Option<&str>) {
        self.git(name, &["init", "-q", "-b", "main"]);
        self.git(name, &["commit", "-q", "--allow-empty", "-m", name]);
        if let Some(remote) = remote {
            self.git(name, &["remote", "add", "origin", remote]);
        }
    }

    /// A session of Claude Code that wrote a file where it worked.
    fn claude(&self, number: u32, cwd: &Path, about: &str) {
        let session = format!("{number:08x}-0000-4000-8000-{number:012x}");
        let mut story = Story::new(&session, cwd.to_str().unwrap());
        let file = cwd.join(format!("{about}.md"));
        story.user(about).writes(file.to_str().unwrap(), &format!("# {about}\n")).assistant("Done.");
        let path = format!("home/.claude/projects/p{number}/{session}.jsonl");
        self.stage.home.write(&path, story.text().as_bytes());
    }

    /// A session of Codex, which writes down the remote.
    fn codex(&self, number: u32, cwd: &Path, remote: &str, about: &str) {
        let id = format!("01a20000-0000-7000-8000-{number:012x}");
        let at = format!("2026-03-09T08:{number:02}:00.000Z");
        let line = |kind: &str, payload: &Value| {
            json!({"timestamp": at, "type": kind, "payload": payload}).to_string() + "\n"
        };
        let said = |role: &str, kind: &str, text: &str| {
            line(
                "response_item",
                &json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}),
            )
        };
        let text = line(
            "session_meta",
            &json!({"id": id, "timestamp": at, "cwd": cwd, "originator": "codex",
            "cli_version": "0.169.0", "model_provider": "openai", "git": {"branch": "b", "repository_url": remote}}),
        ) + &line("event_msg", &json!({"type": "task_started", "turn_id": "t"}))
            + &said("user", "input_text", about)
            + &said("assistant", "output_text", "Done.");
        let path = format!("home/.codex/sessions/2026/03/09/rollout-2026-03-09T08-00-00-{id}.jsonl");
        self.stage.home.write(&path, text.as_bytes());
    }

    fn import(&self) -> String {
        let said = self.run("", &["import"]);
        assert_eq!(said.0, 0, "{}", said.1);
        said.1
    }

    /// Runs the program in a folder, and returns code and all that it said.
    fn run(&self, name: &str, args: &[&str]) -> (i32, String) {
        let mut command = self.stage.command(args);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        std::fs::create_dir_all(self.at(name)).unwrap();
        let out = command.current_dir(self.at(name)).output().unwrap();
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        (out.status.code().unwrap(), text(&out.stdout) + &text(&out.stderr))
    }

    /// Returns the titles that a listing has, in the order of the alphabet.
    fn titles(&self, name: &str, args: &[&str]) -> Vec<String> {
        let (code, text) = self.run(name, &[args, &["--json", "-n", "0"]].concat());
        assert_eq!(code, 0, "{text}");
        let found: Value = serde_json::from_str(text.lines().next().unwrap())
            .unwrap_or_else(|_| serde_json::from_str(&text).unwrap());
        let mut titles: Vec<String> = found["sessions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["title"].as_str().unwrap().to_owned())
            .collect();
        titles.sort();
        titles
    }
}

/// Repositories, and sessions in and around each; what is to be gone is gone.
fn world() -> World {
    let world = World::new();
    world.repository("engine", Some(REMOTE));
    world.repository("fork", Some("https://github.com/eve/engine"));
    world.repository("engine/vendor/lib", Some("https://github.com/ada/lib"));
    world.repository("plain", None);
    world.git("engine", &["worktree", "add", "-q", "../engine-2"]);
    world.git("engine", &["worktree", "add", "-q", "../engine-3"]);
    world.git("plain", &["worktree", "add", "-q", "../plain-2"]);
    world.repository("clone", Some("ssh://git@GitHub.com:22/ada/engine"));
    std::fs::create_dir_all(world.at("engine/deep/er")).unwrap();
    let codex = world.stage.home.path().canonicalize().unwrap().join("home/.codex/worktrees/ab12/engine");
    world.claude(1, &world.at("engine"), "main");
    world.claude(2, &world.at("engine-2"), "present");
    world.claude(3, &world.at("engine-3"), "removed");
    world.claude(4, &world.at("engine/deep/er"), "subfolder");
    world.claude(5, &world.at("clone"), "clone");
    world.claude(6, &world.at("fork"), "fork");
    world.claude(7, &world.at("engine/vendor/lib"), "nested");
    world.claude(8, &world.at("plain"), "plain");
    world.claude(9, &world.at("plain-2"), "plain-tree");
    world.claude(10, &world.at("engine/.worktrees/2"), "shelf");
    world.claude(11, &world.at("notes"), "notes");
    world.codex(12, &codex, "https://ada:secret@github.com/ada/engine.git", "codex");
    world.codex(13, &world.at("gone/engine"), "https://github.com/eve/engine", "codex-fork");
    world.import();
    world.git("engine", &["worktree", "remove", "--force", "../engine-3"]);
    world.git("plain", &["worktree", "remove", "--force", "../plain-2"]);
    world
}

const ENGINE: [&str; 7] = ["clone", "codex", "main", "present", "removed", "shelf", "subfolder"];

#[test]
fn a_repository_lists_its_sessions_wherever_they_worked() {
    let world = world();
    let before = std::fs::read_dir(world.stage.home.stemmata_home().join("store")).unwrap().count();
    for at in ["engine", "engine/deep/er", "engine-2", "clone"] {
        assert_eq!(world.titles(at, &["list", "--here"]), ENGINE, "{at}");
    }
    for (at, wanted) in [
        ("fork", &["codex-fork", "fork"][..]),
        ("engine/vendor/lib", &["nested"]),
        ("plain", &["plain", "plain-tree"]),
        ("notes", &["notes"]),
    ] {
        assert_eq!(world.titles(at, &["list", "--here"]), wanted, "{at}");
    }
    assert_eq!(world.titles("", &["list", "--project", "plain"]), ["plain", "plain-tree"]);
    assert_eq!(world.titles("", &["list", "--project", "engine/engine-2"]), ["present"]);
    assert_eq!(world.titles("", &["list", "--project", "engine/ab12"]), ["codex"]);
    let sub = world.at("engine/deep");
    assert_eq!(
        world.titles("", &["list", "--project", sub.to_str().unwrap()]),
        ["subfolder"],
        "a folder is itself"
    );
    let (_, text) = world.run("", &["list", "-n", "0"]);
    for name in ["engine/ab12", "engine/engine-2", "engine/engine-3", "engine/2 ", "plain/plain-2"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    // Reading made no ledger.
    let (_, text) = world.run("", &["ledger", "list"]);
    assert!(!text.contains("project-"), "{text}");
    assert_eq!(std::fs::read_dir(world.stage.home.stemmata_home().join("store")).unwrap().count(), before);
    // Those of Codex took no time that anybody knows of.
    let (_, text) = world.run("", &["stats", "--by", "project", "--json"]);
    let stats: Value = serde_json::from_str(&text).unwrap();
    let rows = stats["rows"].as_array().unwrap().iter();
    let mut counted: Vec<(String, u64)> = rows
        .map(|row| {
            let key = Path::new(row["key"].as_str().unwrap()).strip_prefix(world.at("")).unwrap();
            (key.to_str().unwrap().to_owned(), row["sessions"].as_u64().unwrap())
        })
        .collect();
    counted.sort();
    let wanted = [("engine", 6), ("engine/vendor/lib", 1), ("fork", 1), ("notes", 1), ("plain", 2)];
    assert_eq!(counted, wanted.map(|(project, sessions)| (project.to_owned(), sessions)));
    let (_, text) = world.run("", &["home"]);
    let (_, alone) = world.run("", &[]);
    assert!((text + &alone).contains("13 sessions in 5 projects"), "{alone}");
}

#[test]
fn state_recall_and_blame_are_over_the_whole_repository() {
    let world = world();
    for at in ["engine", "engine-2", "clone"] {
        let (code, text) = world.run(at, &["state"]);
        assert_eq!(code, 0, "{text}");
        for said in ENGINE {
            assert!(text.contains(said), "{at}: {said} is not in:\n{text}");
        }
        for other in ["nested", "codex-fork", "plain", "notes"] {
            assert!(!text.contains(other), "{at}: {other} is in:\n{text}");
        }
    }
    let (_, text) = world.run("engine", &["ledger", "list"]);
    assert_eq!(text.matches("project-").count(), 1, "{text}");
    // A worktree that is gone has its repository's memory.
    let gone = world.at("engine-3");
    let (code, text) = world.run("notes", &["state", "--project", gone.to_str().unwrap()]);
    assert!(code == 0 && text.contains("codex"), "{text}");
    let (code, text) = world.run("engine-2", &["recall", "removed", "subfolder"]);
    assert!(code == 0 && text.contains("removed") && text.contains("subfolder"), "{text}");
    // What was written at the top of a worktree that is gone, and what is in the main one now.
    std::fs::write(world.at("engine/removed.md"), "# removed\n").unwrap();
    let (code, text) = world.run("engine", &["blame", "removed.md"]);
    assert!(code == 0 && text.contains("1 of 1 line traced"), "{text}");
}

#[test]
fn a_remote_that_only_a_bundle_claims_joins_nothing() {
    let from = World::new();
    from.codex(1, Path::new("/elsewhere/engine"), REMOTE, "foreign");
    from.import();
    let bundle = from.stage.home.path().join("all.stemma-bundle");
    let (code, text) = from.run("", &["bundle", "export", "--all", "--out", bundle.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    let world = World::new();
    world.repository("engine", Some(REMOTE));
    world.claude(1, &world.at("engine"), "main");
    let (code, text) = world.run("", &["bundle", "import", bundle.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    world.import();
    assert_eq!(world.titles("engine", &["list", "--here"]), ["main"]);
    let (_, text) = world.run("engine", &["state"]);
    assert!(text.contains("main") && !text.contains("foreign"), "{text}");
}

#[test]
fn what_an_earlier_version_captured_is_learnt_by_the_next_import() {
    let world = world();
    let database = rusqlite::Connection::open(world.stage.database()).unwrap();
    // As a store of before: nothing is known of any folder.
    let rows = "SELECT value FROM cursor";
    let values: Vec<Vec<u8>> = database
        .prepare(rows)
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for value in values.iter().filter(|value| value.starts_with(b"{\"") || value.as_slice() == [1]) {
        database.execute("DELETE FROM cursor WHERE value = ?1", [value]).unwrap();
    }
    drop(database);
    assert!(!world.titles("engine", &["list", "--here"]).contains(&"codex".to_owned()));
    world.import();
    let known = world.titles("engine", &["list", "--here"]);
    // Of a worktree that was gone by then nobody knows whose it was.
    assert_eq!(known, ["clone", "codex", "main", "present", "shelf", "subfolder"]);
}
