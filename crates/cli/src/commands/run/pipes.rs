//! The pipes between a command and the world: every byte goes on at once, and a copy of it to the record.
//!
//! What cannot be recorded goes on all the same.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::sync::mpsc::SyncSender;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use stemmata_service::Tape;

use super::Happened;
use crate::errors::CliError;

/// Bytes that are passed on at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes that a pipe which takes anything takes without waiting, on every system.
const TAKEN_AT_ONCE: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// Bytes that a pipe may hold: more than Linux gives a user who asks for a large one.
const PIPE_BYTES_MAX: usize = 2 << 20;

/// The pipe that a command prints to, while a thread passes on what comes through it.
pub(super) struct Output {
    stop: PipeWriter,
    thread: std::thread::JoinHandle<Option<Stopped>>,
}

/// Where passing on was told to stop.
pub(super) struct Stopped {
    from: File,
    /// What was read and recorded, and what nobody took yet.
    untaken: Vec<u8>,
}

impl Stopped {
    /// Returns the pipe, and what nobody took yet is lost.
    pub(super) fn into_pipe(self) -> OwnedFd {
        self.from.into()
    }

    /// Says whether somebody took all that was read.
    pub(super) const fn is_taken(&self) -> bool {
        self.untaken.is_empty()
    }

    /// Records what is in the pipe, without waiting; says whether that is the end of the output.
    pub(super) fn drain(&mut self, tape: &Tape) -> bool {
        let mut chunk = vec![0; CHUNK_BYTES];
        while self.untaken.len() < PIPE_BYTES_MAX {
            match poll(&mut [PollFd::new(&self.from, PollFlags::IN)], Some(&Timespec::default())) {
                Ok(0) => return false,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return true,
            }
            match self.from.read(&mut chunk) {
                Ok(0) => return true,
                Ok(count) => {
                    let bytes = chunk.get(..count).unwrap_or_default();
                    tape.printed(bytes);
                    self.untaken.extend_from_slice(bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
        false
    }

    /// Gives out what nobody took yet, however long that takes; to a pipe that does not block, too.
    pub(super) fn give_out(&mut self) -> io::Result<()> {
        let mut to = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let untaken = std::mem::take(&mut self.untaken);
        let mut rest = untaken.as_slice();
        while !rest.is_empty() {
            match poll(&mut [PollFd::new(&to, PollFlags::OUT)], None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            match to.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Output {
    /// Starts passing on what a command prints.
    pub(super) fn pass_on(
        from: OwnedFd,
        tape: &Tape,
        happens: &SyncSender<Happened>,
    ) -> Result<Self, CliError> {
        let failed = |source| CliError::io("read from", std::path::Path::new("the command"), source);
        let (stopped, stop) = io::pipe().map_err(failed)?;
        let to = io::stdout().as_fd().try_clone_to_owned().map(File::from).map_err(failed)?;
        let (tape, happens) = (tape.clone(), happens.clone());
        let thread = std::thread::Builder::new().name("stemma-output".to_owned()).spawn(move || {
            let mut from = File::from(from);
            // Where nobody reads any more, the command finds that out as it would without us: the pipe closes.
            let untaken = copy_until(&mut from, &to, &stopped, |bytes| {
                tape.printed(bytes);
                let _full = happens.try_send(Happened::News);
            });
            let left = untaken.ok().flatten().map(|untaken| Stopped { from, untaken });
            let _gone = happens.send(Happened::OutputEnded);
            left
        });
        Ok(Self { stop, thread: thread.map_err(failed)? })
    }

    /// Stops passing on; returns what is left where the output is not at its end, or not taken.
    pub(super) fn stop(self) -> Option<Stopped> {
        drop(self.stop);
        self.thread.join().ok().flatten()
    }
}

/// Passes on what a command reads, for as long as this process lives.
pub(super) fn pass_on_input(child: &mut Child, tape: &Tape) -> Result<(), CliError> {
    let Some(input) = child.stdin.take() else { return Ok(()) };
    let tape = tape.clone();
    // Nobody waits for it: it may stand in a read that never ends.
    spawn("stemma-input", move || {
        let _over = copy(io::stdin(), input, |bytes| tape.read(bytes));
    })
}

/// What reading ends with when it was told to stop.
const STOPPED: io::ErrorKind = io::ErrorKind::WouldBlock;

/// A pipe that is read until another one closes.
struct Until<'a> {
    from: &'a mut File,
    stopped: &'a PipeReader,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut ready = [
            PollFd::new(&*self.from, PollFlags::IN),
            PollFd::from_borrowed_fd(self.stopped.as_fd(), PollFlags::IN),
        ];
        poll(&mut ready, None)?;
        // Asked first: what never pauses would be read for ever, and what is left in the pipe is for the next reader.
        let [_, stopped] = &ready;
        if !stopped.revents().is_empty() {
            return Err(STOPPED.into());
        }
        self.from.read(buffer)
    }
}

/// Passes on until there is nothing more, nobody takes it any more, or it is told to stop: then returns what was recorded and
/// nobody took yet. A write that waits for a reader could not be told to stop, so it is asked first whether it would.
fn copy_until(
    from: &mut File,
    to: &File,
    stopped: &PipeReader,
    mut record: impl FnMut(&[u8]),
) -> io::Result<Option<Vec<u8>>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = match (Until { from, stopped }).read(&mut chunk) {
            Ok(0) => return Ok(None),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == STOPPED => return Ok(Some(Vec::new())),
            Err(error) => return Err(error),
        };
        let bytes = chunk.get(..count).unwrap_or_default();
        record(bytes);
        let untaken = bytes.get(write_until(to, stopped, bytes)?..).unwrap_or_default();
        if !untaken.is_empty() {
            return Ok(Some(untaken.to_vec()));
        }
    }
}

/// Writes until it is told to stop where nobody reads; returns how many bytes were taken.
fn write_until(mut to: &File, stopped: &PipeReader, bytes: &[u8]) -> io::Result<usize> {
    let mut taken = 0;
    while taken < bytes.len() {
        let mut ready =
            [PollFd::new(to, PollFlags::OUT), PollFd::from_borrowed_fd(stopped.as_fd(), PollFlags::IN)];
        match poll(&mut ready, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let [reader, stop] = &ready;
        if reader.revents().is_empty() {
            if !stop.revents().is_empty() {
                return Ok(taken);
            }
            continue;
        }
        let piece = bytes.get(taken..bytes.len().min(taken + TAKEN_AT_ONCE)).unwrap_or_default();
        match to.write(piece) {
            Ok(count) => taken += count,
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), CliError> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(|source| CliError::io("read from", std::path::Path::new("the command"), source))
}

/// Passes on until there is nothing more, or nobody takes it. Recorded first: whatever ends this process, what somebody has
/// seen stands in the record.
fn copy(mut from: impl Read, mut to: impl Write, mut record: impl FnMut(&[u8])) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = match from.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let bytes = chunk.get(..count).unwrap_or_default();
        record(bytes);
        to.write_all(bytes)?;
        to.flush()?;
    }
}
