//! The program `git`, asked a question about a repository. What a repository says runs nothing here, and nobody waits for it without end.
//!
//! What is asked is the callers'.

use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::ledger::git_would_wait_for;

/// How long git may take: it walks a million commits in a few seconds.
const GIT_WAIT_MAX: Duration = Duration::from_secs(20);

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
    /// Settings that count instead of the repository's.
    pub settings: &'a [(String, String)],
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
        command.arg("-C").arg(self.folder).args(args);
        for name in OF_OTHERS {
            command.env_remove(name);
        }
        // By variables, since a name may hold `=`.
        for (number, (name, value)) in self.settings.iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        if !self.settings.is_empty() {
            command.env("GIT_CONFIG_COUNT", self.settings.len().to_string());
        }
        // Nothing is fetched for an answer, and a replaced commit is not the one that others have.
        command
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_TERMINAL_PROMPT", "0");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        match command.spawn().and_then(|child| wait(child, self.bytes_max)) {
            Ok((Some(0), text)) => GitAnswer::Yes(text),
            Ok((code, _)) => GitAnswer::No(code),
            Err(error) => GitAnswer::Silent(format!("git did not answer: {error}")),
        }
    }
}

/// Waits for git and what it prints, but not for ever.
fn wait(mut child: Child, bytes_max: u64) -> io::Result<(Option<i32>, String)> {
    let out = child.stdout.take().ok_or(ErrorKind::BrokenPipe)?;
    let (sender, printed) = mpsc::channel();
    let reader = thread::Builder::new().name("git-output".to_owned()).spawn(move || {
        let mut bytes = Vec::new();
        let read = out.take(bytes_max).read_to_end(&mut bytes).map(|_| bytes);
        // Nobody listens any more where it took too long.
        let _told = sender.send(read);
    })?;
    let printed = printed.recv_timeout(GIT_WAIT_MAX);
    if printed.is_err() {
        // It may have ended just now; what counts is that it is waited for below.
        let _killed = child.kill();
    }
    let status = child.wait()?;
    // Its end of the pipe is closed now, so the reader ends too.
    let _ended = reader.join();
    let bytes = printed.map_err(|_| io::Error::from(ErrorKind::TimedOut))??;
    Ok((status.code(), String::from_utf8_lossy(&bytes).into_owned()))
}
