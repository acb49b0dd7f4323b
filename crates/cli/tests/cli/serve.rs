//! `serve`, and commands that ask it: they print what they print without.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};

use stemmata_testkit::claude::ClaudeSession;

use crate::stage::Stage;

/// A service that runs, and where.
pub(crate) struct Serve {
    child: Child,
    err: BufReader<ChildStderr>,
    address: String,
}

impl Serve {
    pub(crate) fn start(stage: &Stage) -> Self {
        Self::of(stage.command(&["serve"]))
    }

    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        err.read_line(&mut line).unwrap();
        let address = line.strip_prefix("Answering on ").expect(&line).trim().to_owned();
        assert!(address.starts_with("unix:"), "{address}");
        Self { child, err, address }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        PathBuf::from(self.address.strip_prefix("unix:").unwrap())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and returns what it said then.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let mut said = String::new();
        self.err.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // A test that failed leaves no service behind.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

#[test]
fn a_command_prints_with_a_service_what_it_prints_without() {
    let stage = Stage::new();
    for (seed, turns) in [(1, 4), (2, 2)] {
        let session = ClaudeSession::new(seed).turns(turns).compactions(1).build();
        let text = session.lines.join("\n") + "\n";
        stage.import(&stage.home.write(&format!("{}.jsonl", session.session_id), text.as_bytes()));
    }
    let sessions = stage.json(&["list"]);
    let tip = sessions["sessions"][0]["tip"].as_str().unwrap().to_owned();
    stage.run(&["search", "the"]).ok();
    let serve = Serve::start(&stage);
    let socket = serve.address.strip_prefix("unix:").unwrap().to_owned();
    for command in [
        vec!["list"],
        vec!["list", "--json"],
        vec!["stats"],
        vec!["search", "the", "-n", "3"],
        vec!["search", "the", "--json"],
        vec!["search", ""],
        vec!["show", &tip],
        vec!["show", &tip, "--entries"],
        vec!["show", "nothing"],
        vec!["show", ""],
        vec!["tree", &tip],
        vec!["log", &tip],
        vec!["diff", &tip],
        vec!["tips", "--json"],
        vec!["native", &tip, "--out", "-"],
        vec!["materialize", &tip, "--out", "-"],
        vec!["export", &tip, "--out", "-"],
        vec!["handoff", &tip],
        vec!["guard", &tip],
        vec!["compact", &tip, "--print"],
        vec!["recall", "the"],
        vec!["events", "query", "--ledger", "none"],
        vec!["du", "--json"],
        vec!["verify"],
        vec!["index"],
        vec!["gc", "--dry-run"],
        vec!["forget", &tip, "--dry-run"],
    ] {
        let here = stage.run(&command);
        let there = stage.run(&[&["--server", &serve.address][..], &command].concat());
        let shown = |said: &crate::stage::Said| {
            (said.code, String::from_utf8_lossy(&said.stdout).into_owned(), said.stderr.clone())
        };
        assert_eq!(shown(&there), shown(&here), "{command:?}");
    }
    // What it changes, it changes there.
    stage.run(&["--server", &serve.address, "tag", "add", &tip, "here"]).ok();
    assert!(stage.run(&["tag", "list"]).ok().text().contains("here"));
    let (code, said) = serve.end();
    assert_eq!((code, said.as_str()), (Some(0), "Stopped\n"));
    assert!(!std::path::Path::new(&socket).exists());
    stage
        .run(&["--server", &format!("unix:{socket}"), "list"])
        .code(1)
        .complains(&["cannot ask unix:", "`stemma serve` starts it"]);
}

#[test]
fn a_session_of_another_machine_goes_on_here() {
    let (far, near) = (Stage::new(), Stage::new());
    let session = ClaudeSession::new(3).turns(3).build();
    let text = session.lines.join("\n") + "\n";
    far.import(&far.home.write(&format!("{}.jsonl", session.session_id), text.as_bytes()));
    let serve = Serve::start(&far);
    let far_sessions = far.json(&["list"]);
    let tip = far_sessions["sessions"][0]["tip"].as_str().unwrap();
    far.run(&["tag", "add", tip, "there"]).ok();
    for (command, reference) in [("resume", "there"), ("fork", &*session.session_id)] {
        let placed = near.json(&["--server", &serve.address, command, reference]);
        assert_eq!(placed["ctx"], tip, "{command}: {placed}");
        let path = placed["path"].as_str().unwrap();
        assert!(path.starts_with(near.home.path().to_str().unwrap()), "{path}");
        assert!(std::fs::read_to_string(path).unwrap().lines().count() > 5);
    }
    assert_eq!(near.native(tip), text.as_bytes());
    // What is about this machine asks nobody.
    near.run(&["--server", &serve.address, "status"]).code(2).complains(&["leave `--server` out"]);
    let mut status = near.command(&["status"]);
    assert!(status.env("STEMMATA_SERVER", "no address").output().unwrap().status.success());
    near.run(&["config", "set", "server.url", &serve.address]).ok();
    assert_eq!(near.json(&["list"])["sessions"], far.json(&["list"])["sessions"]);
    near.run(&["config", "unset", "server.url"]).ok();
    assert_eq!(serve.end().0, Some(0));
}

#[test]
fn only_addresses_of_this_machine_are_taken() {
    let stage = Stage::new();
    stage.run(&["serve", "--listen", "0.0.0.0:0"]).code(2).complains(&["use an address of 127.0.0.1"]);
    stage.run(&["--server", "example.org", "list"]).code(2).complains(&["not the address of a service"]);
}
