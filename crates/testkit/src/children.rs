//! Child processes that work and say what they were told is stored, until they are killed.
//!
//! What a child does, and what must be there afterwards, is each caller's own.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A child, and what it says.
pub type Working = (Child, BufReader<ChildStdout>);

/// Starts a child.
///
/// # Errors
/// Where the system cannot.
pub fn start(command: &mut Command) -> io::Result<Working> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let out = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    Ok((child, BufReader::new(out)))
}

/// Kills a child after so many acknowledgements (0: while it opens) and what the caller does meanwhile, and returns all
/// that it was told.
///
/// # Errors
/// Where it cannot be heard or killed.
pub fn kill_after<T>(
    (mut child, mut out): Working,
    acknowledgements: u64,
    acknowledged: impl Fn(&str) -> Option<T>,
    meanwhile: impl FnOnce(),
) -> io::Result<Vec<T>> {
    let mut left = acknowledgements;
    let mut told = Vec::new();
    let mut line = String::new();
    while left > 0 && out.read_line(&mut line)? > 0 {
        if let Some(one) = acknowledged(&line) {
            told.push(one);
            left -= 1;
        }
        line.clear();
    }
    meanwhile();
    child.kill()?;
    child.wait()?;
    // What stood in the pipe was acknowledged too; a cut last line was not.
    while out.read_line(&mut line)? > 0 {
        if line.ends_with('\n') {
            told.extend(acknowledged(&line));
        }
        line.clear();
    }
    Ok(told)
}
