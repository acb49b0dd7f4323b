//! A stage for one test: a home of its own, the binary, and what it said.
//! Not the machine's own home or environment, of which nothing is passed on.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use stemmata_testkit::home::{NOW, TestHome};

/// A home and the command in it.
pub(crate) struct Stage {
    pub(crate) home: TestHome,
}

/// How a command ended, and what it said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Said {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("text on standard output")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| {
            panic!("no JSON ({error}): {}\n{}", String::from_utf8_lossy(&self.stdout), self.stderr)
        })
    }

    /// Asserts that it went well.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}\n{}", String::from_utf8_lossy(&self.stdout), self.stderr);
        self
    }

    /// Asserts an exit code.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", String::from_utf8_lossy(&self.stdout), self.stderr);
        self
    }

    /// Asserts that standard error says all of these.
    #[track_caller]
    pub(crate) fn complains(self, of: &[&str]) -> Self {
        for text in of {
            assert!(self.stderr.contains(text), "`{text}` is not in:\n{}", self.stderr);
        }
        self
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { home: TestHome::new() }
    }

    /// Returns the command with a clean environment and a fixed clock.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stemma"));
        command
            .env_clear()
            .envs(self.home.environment())
            .env("STEMMATA_USER", "ann")
            .env("STEMMATA_MACHINE_LABEL", "box")
            .env("COLUMNS", "80")
            .env("TZ", "UTC")
            .current_dir(self.home.project())
            .arg("--test-now")
            .arg(NOW)
            .args(args)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Said {
        said(self.command(args).output().expect("the binary runs"))
    }

    /// Runs with something on standard input.
    pub(crate) fn feed(&self, args: &[&str], input: &[u8]) -> Said {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        child.stdin.take().expect("a pipe").write_all(input).expect("the command reads");
        said(child.wait_with_output().expect("the command ends"))
    }

    /// Runs a command that must go well and prints JSON.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        self.run(&all).ok().json()
    }

    /// Imports a file and returns its session.
    #[track_caller]
    pub(crate) fn import(&self, path: &Path) -> Value {
        let result = self.json(&["import", path.to_str().expect("a text path")]);
        result["sessions"][0].clone()
    }

    /// Returns the bytes that `native` gives back.
    #[track_caller]
    /// Returns all files in a client's folder.
    pub(crate) fn files_of(&self, client: &str) -> Vec<PathBuf> {
        let (mut folders, mut files) = (vec![self.home.path().join("home").join(client)], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        files
    }

    pub(crate) fn native(&self, reference: &str) -> Vec<u8> {
        self.run(&["native", reference, "--out", "-"]).ok().stdout
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.home.stemmata_home().join("store/stemmata.db")
    }

    /// Returns exit code and both streams as one text without what differs from run to run.
    pub(crate) fn told<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let said = self.run(args);
        self.tame(&format!("exit {}\n{}---\n{}", said.code, said.text(), said.stderr))
    }

    /// Replaces what differs from run to run: places, random ids, durations, sizes of files of the store.
    pub(crate) fn tame(&self, text: &str) -> String {
        let root = self.home.path().to_string_lossy().into_owned();
        let mut text = text.replace(&root, "[ROOT]");
        for (pattern, with) in [
            (r"\b[0-9a-f]{32}\b", "[MACHINE]"),
            (r"\bin \d+(\.\d)? (ms|s)\b", "in [TIME]"),
            (r"[0-9.]+ k?B stored, \d+(\.\d)? (ms|s)\b", "[SIZE] stored, [TIME]"),
            (r"[0-9.]+ [kM]?B on disk", "[SIZE] on disk"),
            (r"ai_tool_outputs-\d+", "ai_tool_outputs-[UID]"),
        ] {
            text = replace_all(&text, pattern, with);
        }
        text
    }
}

pub(crate) fn said(output: Output) -> Said {
    Said {
        code: output.status.code().expect("the command was not killed"),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).expect("text on standard error"),
    }
}

fn replace_all(text: &str, pattern: &str, with: &str) -> String {
    regex::Regex::new(pattern).expect("a pattern of ours").replace_all(text, with).into_owned()
}
