//! What a command leaves in the background prints on after its end: another process of ours passes it on and records it,
//! so that this one can end as the command did.
//!
//! The other process is this program again, with the same arguments. It is told by a variable which pipe it inherited, and
//! on standard input what the recorder had not given out yet: that may be secrets, and never touches a disk.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};
use stemmata_engine::{LineState, StreamForm, StreamRest};
use stemmata_model::FormatId;

use super::Record;
use crate::args::live::Run;
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Says what was left, as JSON.
const VARIABLE: &str = "STEMMATA_RUN_LEFT";

/// Bytes that are passed on of what the recorder had not given out: a line, what is held back, and what JSON makes of them.
const STATE_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The session that goes on, and the file of its record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Left {
    pub(super) session: String,
    /// None where nothing is recorded.
    pub(super) path: Option<PathBuf>,
}

/// What the other process is told in its environment.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Inherited {
    left: Left,
    /// The number of the pipe.
    pipe: i32,
}

/// What a recorder had not given out, on its way through a pipe.
#[derive(Serialize, Deserialize)]
struct State {
    form: StreamForm,
    format: String,
    lines: LineState,
    rest: Vec<u8>,
}

/// The file of a record, and what its recorder had not given out.
pub(super) type Recorded = (Option<File>, Option<StreamRest>);

/// Starts the other process, with the record and the pipe that stay this one's too.
pub(super) fn start(
    app: &App,
    left: &Left,
    (file, rest): &Recorded,
    output: &OwnedFd,
) -> std::io::Result<()> {
    let state = state_of(rest.clone(), STATE_BYTES_MAX)?;
    let program = app.environment.program.as_ref().ok_or(std::io::ErrorKind::NotFound)?;
    // It keeps the lock on the record for as long as it lives, since it holds the same open file.
    let inherited = file.iter().map(AsFd::as_fd).chain([output.as_fd()]);
    for descriptor in inherited {
        fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    let told = Inherited { left: left.clone(), pipe: output.as_raw_fd() };
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

/// Returns what the other process reads: all of it, or this one would wait for ever.
fn state_of(rest: Option<StreamRest>, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    let of =
        |StreamRest { form, format, lines, rest }| State { form, format: format.to_string(), lines, rest };
    let state = serde_json::to_vec(&rest.map(of))?;
    if u64::try_from(state.len()).is_ok_and(|bytes| bytes <= bytes_max) {
        return Ok(state);
    }
    Err(std::io::Error::new(
        std::io::ErrorKind::FileTooLarge,
        "what is held back is too much to be passed on",
    ))
}

/// Returns what was left, where this is the other process.
pub(super) fn asked(app: &App) -> Option<Inherited> {
    serde_json::from_str(&app.environment.text(VARIABLE)?).ok()
}

/// Goes on with what was left, to the end of the output.
pub(super) fn go_on(app: &App, args: &Run, inherited: &Inherited) -> Result<Exit, CliError> {
    let Inherited { left, pipe } = inherited;
    let mut state = Vec::new();
    let read = std::io::stdin().take(STATE_BYTES_MAX).read_to_end(&mut state);
    let input = std::path::Path::new("standard input");
    read.map_err(|source| CliError::io("read", input, source))?;
    let state: Option<State> = serde_json::from_slice(&state).unwrap_or_default();
    let rest = state.and_then(|State { form, format, lines, rest }| {
        Some(StreamRest { form, format: FormatId::new(format.as_str()).ok()?, lines, rest })
    });
    let pipe = PathBuf::from(format!("/dev/fd/{pipe}"));
    let output = File::open(&pipe).map_err(|source| CliError::io("open", &pipe, source))?;
    let mut record = Record::new(app, args, left.session.clone());
    let file = left.path.as_ref().map(|path| OpenOptions::new().append(true).open(path)).transpose();
    let file = match file {
        Ok(file) => file,
        Err(source) => {
            let path = app.home()?.streams().path_of(&left.session);
            record.trouble(&CliError::io("open", &path, source));
            None
        }
    };
    if file.is_some() {
        record.path.clone_from(&left.path);
        record.open_engine();
    }
    record.go_on((file, rest), output.into())?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found in review: what the other process does not read would have held this one for ever.
    #[test]
    fn more_than_is_read_is_not_written() {
        let format = stemmata_engine::timed_format();
        let form = StreamForm::Timed;
        let rest = StreamRest { form, format, lines: LineState::default(), rest: vec![7; 1_000] };
        assert!(state_of(Some(rest.clone()), 1_000).is_err());
        let state = state_of(Some(rest), 10_000).expect("it fits");
        let state: Option<State> = serde_json::from_slice(&state).expect("JSON");
        assert_eq!(state.map(|state| state.rest.len()), Some(1_000));
    }
}
