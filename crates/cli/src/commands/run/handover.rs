//! What a command leaves in the background prints on after its end: another process of ours passes it on and records it,
//! so that this one can end as the command did.
//!
//! The other process is this program again, with the same arguments. It is told by a variable which pipe it inherited, and
//! on standard input what the recorder had not given out yet: that may be secrets, and never touches a disk.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};
use stemmata_service::Suspended;

use super::Running;
use crate::args::live::Run;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Says what was left, as JSON.
const VARIABLE: &str = "STEMMATA_RUN_LEFT";

/// Bytes that are passed on of what the recorder had not given out: a line, what is held back, and what JSON makes of them.
const STATE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What the other process is told in its environment.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Inherited {
    /// The session that goes on.
    session: String,
    /// The file of its record; `None` if nothing is recorded.
    path: Option<PathBuf>,
    /// The number of the pipe.
    pipe: i32,
}

/// Starts the other process, with the record and the pipe that stay this one's too.
pub(super) fn start(app: &App, session: &str, record: &Suspended, output: &OwnedFd) -> std::io::Result<()> {
    let state = record.to_bytes(STATE_BYTES_MAX)?;
    let program = app.environment.program.as_ref().ok_or(std::io::ErrorKind::NotFound)?;
    // It keeps the lock on the record for as long as it lives, since it holds the same open file.
    let inherited = record.file.iter().map(AsFd::as_fd).chain([output.as_fd()]);
    for descriptor in inherited {
        fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    let told = Inherited { session: session.to_owned(), path: record.path.clone(), pipe: output.as_raw_fd() };
    let mut other = Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(VARIABLE, serde_json::to_string(&told)?)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        // What the terminal asks its foreground to do is meant for the next command.
        .process_group(0)
        .spawn()?;
    let mut input = other.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    input.write_all(&state)
}

/// Returns what was left, where this is the other process.
pub(super) fn asked(app: &App) -> Option<Inherited> {
    serde_json::from_str(&app.environment.text(VARIABLE)?).ok()
}

/// Goes on with what was left, to the end of the output.
pub(super) fn go_on(app: &App, args: &Run, inherited: Inherited) -> Result<Exit, CliError> {
    let Inherited { session, path, pipe } = inherited;
    let mut state = Vec::new();
    let read = std::io::stdin().take(STATE_BYTES_MAX).read_to_end(&mut state);
    let input = std::path::Path::new("standard input");
    read.map_err(|source| CliError::io("read", input, source))?;
    let pipe = PathBuf::from(format!("/dev/fd/{pipe}"));
    let output = File::open(&pipe).map_err(|source| CliError::io("open", &pipe, source))?;
    let mut running =
        Running::begin(app, args, session, |host, request| host.record_on(request, path.as_deref(), &state));
    running.go_on(output.into())?;
    Ok(Exit::Done)
}
