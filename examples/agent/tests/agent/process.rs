//! The agent as a process that may be killed, and started again.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The longest wait for a line. Nothing here takes long, but the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// The process at work. The model's script has it too: it decides when to kill.
pub type Running = Arc<Mutex<Option<Child>>>;

/// Kills the process that is at work. It is gone when this returns.
pub fn kill(running: &Running) {
    if let Some(child) = running.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

pub struct Process {
    dir: PathBuf,
    arguments: Vec<String>,
    running: Running,
    output: Receiver<String>,
    pub starts: usize,
}

impl Process {
    pub fn start(dir: &Path, arguments: &[&str], running: &Running) -> Self {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let output = spawn(dir, &arguments, running);
        Self { dir: dir.to_owned(), arguments, running: Arc::clone(running), output, starts: 1 }
    }

    /// Types a line and reads until a line of the answer holds `end`. A process that died is started again, as a user would.
    pub fn say(&mut self, line: &str, end: &str) -> String {
        self.write(line);
        let mut text = String::new();
        while !text.contains(end) {
            match self.output.recv_timeout(PATIENCE) {
                Ok(line) => text.push_str(&line),
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("no `{end}` in time:\n{text}"),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    assert!(self.starts < 50, "the agent dies again and again:\n{text}");
                    kill(&self.running);
                    self.output = spawn(&self.dir, &self.arguments, &self.running);
                    self.starts += 1;
                }
            }
        }
        text
    }

    /// Types a line.
    pub fn write(&self, line: &str) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let input = running.as_mut().and_then(|child| child.stdin.as_mut()).unwrap();
        writeln!(input, "{line}").unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        kill(&self.running);
    }
}

fn spawn(dir: &Path, arguments: &[String], running: &Running) -> Receiver<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agent"));
    command
        .args(arguments)
        .arg("--dir")
        .arg(dir)
        .env("HOME", dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        while output.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            if send.send(std::mem::take(&mut line)).is_err() {
                break;
            }
        }
    });
    *running.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
    lines
}
