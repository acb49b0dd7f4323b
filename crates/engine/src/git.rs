//! Asks the `git` program a question about a repository, within a time limit and without running a program that the repository's
//! configuration names.
//!
//! The callers say what to ask, and read the answer.

use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::ledger::git_would_wait_for;

/// How long git may take: it walks a million commits in a few seconds.
const GIT_WAIT_MAX: Duration = Duration::from_secs(20);

/// How often a program that closed its output is asked whether it has ended: git closes it as it ends.
const END_POLL: Duration = Duration::from_millis(2);

/// A variable that is empty, for settings that are to be empty.
const EMPTY: &str = "STEMMATA_GIT_EMPTY";

/// Variables of a command of git within which a hook runs: they lead to that one's repository.
const OF_OTHERS: [&str; 6] =
    ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"];

/// What git says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitAnswer {
    /// What it printed.
    Yes(String),
    /// It ended with another number than 0.
    No(Option<i32>),
    /// It was not asked, is not there or did not answer in time: another question would end like this one.
    Silent(String),
}

/// A question to git.
#[derive(Debug, Clone, Copy)]
pub struct GitQuestion<'a> {
    /// The program.
    pub program: &'a Path,
    /// A folder of the repository.
    pub folder: &'a Path,
    /// Bytes of the answer that are read at most.
    pub bytes_max: u64,
    /// Names of settings that are empty for this question, whatever the repository's configuration says.
    pub emptied: &'a [String],
}

impl GitQuestion<'_> {
    /// Asks.
    pub fn ask(&self, args: &[&str]) -> GitAnswer {
        if let Some(file) = git_would_wait_for(self.folder) {
            return GitAnswer::Silent(format!("{} is not a file", file.display()));
        }
        let mut command = Command::new(self.program);
        // The repository's own settings name programs: none of them is run for an answer.
        command.args(["--no-optional-locks", "-c", "core.fsmonitor=", "-c", "log.showSignature=false"]);
        // A git that does not know this option (before 2.31) refuses to run, where it would pass over a variable with settings. By
        // the name of a variable, since the name of a setting may hold `=`.
        command.args(self.emptied.iter().map(|name| format!("--config-env={name}={EMPTY}")));
        command.arg("-C").arg(self.folder).args(args);
        for name in OF_OTHERS {
            command.env_remove(name);
        }
        // Nothing is fetched for an answer: git before 2.44 does not know the first variable, but may use no protocol. And a replaced
        // commit is not the one that others have.
        command
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_ALLOW_PROTOCOL", "")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env(EMPTY, "");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        match command.spawn().and_then(|child| wait(child, self.bytes_max, GIT_WAIT_MAX)) {
            Ok((Some(0), text)) => GitAnswer::Yes(text),
            Ok((code, _)) => GitAnswer::No(code),
            Err(error) => GitAnswer::Silent(format!("git did not answer: {error}")),
        }
    }
}

/// Waits until git has printed its answer and ended, for `wait_max` each at most. Neither end follows from the other: a script in git's
/// place may leave a program that keeps the output open, or close it and go on.
fn wait(mut child: Child, bytes_max: u64, wait_max: Duration) -> io::Result<(Option<i32>, String)> {
    let out = child.stdout.take().ok_or(ErrorKind::BrokenPipe)?;
    let (sender, printed) = mpsc::channel();
    // Nobody waits for this thread: it ends when the last program closes the output.
    let reader = thread::Builder::new().name("git-output".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        let read = out.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map(|_| bytes);
        // Nobody listens any more where it took too long.
        let _told = sender.send(read);
    });
    let printed = reader.and_then(|_| printed.recv_timeout(wait_max).map_err(|_| ErrorKind::TimedOut.into()));
    let closed = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if printed.is_ok() && closed.elapsed() < wait_max => thread::sleep(END_POLL),
            None => {
                child.kill()?;
                child.wait()?;
                return Err(ErrorKind::TimedOut.into());
            }
        }
    };
    let bytes = printed??;
    // The beginning of an answer may say something else than all of it.
    if u64::try_from(bytes.len()).is_ok_and(|length| length > bytes_max) {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it printed more than {bytes_max} bytes"),
        ));
    }
    Ok((status.code(), String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(300);

    fn answer(script: &str, bytes_max: u64) -> Result<(Option<i32>, String), ErrorKind> {
        let mut shell = Command::new("sh");
        let child = shell
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        wait(child.expect("a shell"), bytes_max, SHORT).map_err(|error| error.kind())
    }

    /// A wrapper that left a program with the output open was waited for until that one ended.
    #[test]
    fn nobody_waits_for_what_a_script_in_gits_place_leaves_running() {
        let began = Instant::now();
        for (script, wanted) in [
            ("echo yes", Ok((Some(0), "yes\n".to_owned()))),
            ("exit 3", Ok((Some(3), String::new()))),
            ("echo no; sleep 20 & exit 0", Err(ErrorKind::TimedOut)),
            ("sleep 20 & wait", Err(ErrorKind::TimedOut)),
            ("exec >&-; sleep 20", Err(ErrorKind::TimedOut)),
            ("echo 123456789", Err(ErrorKind::FileTooLarge)),
        ] {
            assert_eq!(answer(script, 9), wanted, "{script}");
        }
        assert!(began.elapsed() < Duration::from_secs(20));
    }

    /// Only git 2.44 knows the variable that forbids to fetch what a partial clone lacks.
    #[test]
    fn an_older_git_fetches_nothing_for_an_answer() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().expect("a folder");
        let (older, ran) = (root.path().join("older-git"), root.path().join("ran"));
        stemmata_store::write_file(&older, b"#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec git \"$@\"\n")
            .expect("written");
        std::fs::set_permissions(&older, std::fs::Permissions::from_mode(0o700)).expect("ours");
        let git = |args: &[&str]| {
            let done = Command::new("git").arg("-C").arg(root.path()).args(args).output();
            done.is_ok_and(|done| done.status.success())
        };
        // Without git there is nothing to ask.
        if !git(&["init", "-q"]) {
            return;
        }
        let upload = format!("touch '{}'; git-upload-pack", ran.display());
        for (name, value) in [
            ("core.repositoryFormatVersion", "1"),
            ("extensions.partialClone", "origin"),
            ("remote.origin.url", "."),
            ("remote.origin.promisor", "true"),
            ("remote.origin.uploadpack", &upload),
        ] {
            assert!(git(&["config", name, value]), "{name}");
        }
        let question = GitQuestion { program: &older, folder: root.path(), bytes_max: 1_024, emptied: &[] };
        assert!(matches!(question.ask(&["cat-file", "-e", &"1".repeat(40)]), GitAnswer::No(_)));
        assert!(!ran.exists(), "a program of the repository was run");
    }
}
