//! Children of tests: this test binary once more, which works and says what it was told is stored, until it is killed.
//!
//! What a child does, and what must be there afterwards, is each test's own.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Starts the binary with one test of it, and orders in a variable of the environment.
pub(crate) fn spawn(test: &str, variable: &str, orders: &str) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().expect("a path"))
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(variable, orders)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    (child, out)
}

/// Kills a child after so many acknowledgements (0: while it opens), and returns all that it was told.
pub(crate) fn kill_after<T>(
    (mut child, mut out): (Child, BufReader<ChildStdout>),
    acknowledgements: u64,
    acknowledged: impl Fn(&str) -> Option<T>,
) -> Vec<T> {
    let mut left = acknowledgements;
    let mut told = Vec::new();
    let mut line = String::new();
    while left > 0 && out.read_line(&mut line).expect("a pipe") > 0 {
        if let Some(one) = acknowledged(&line) {
            told.push(one);
            left -= 1;
        }
        line.clear();
    }
    child.kill().expect("a child");
    child.wait().expect("a child");
    // What stood in the pipe was acknowledged too; a cut last line was not.
    while out.read_line(&mut line).expect("a pipe") > 0 {
        if line.ends_with('\n') {
            told.extend(acknowledged(&line));
        }
        line.clear();
    }
    told
}
